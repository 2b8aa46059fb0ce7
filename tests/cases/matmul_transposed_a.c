// Product of a transposed matrix and a matrix: y = a^T b, where a is stored with k rows and m columns.
// assay: task kernelbench/1/16
// assay: expect pass
// assay: twin NOT_TRANSPOSED expect wrong_value|out_of_bounds -- reads a as if its rows had k elements
// assay: twin SKIPS_FIRST expect wrong_value -- the first term is lost
// assay: twin LAST_COLUMN expect unwritten -- the last column is left out
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[0], m = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
#ifdef LAST_COLUMN
  int64_t cols = n - 1;
#else
  int64_t cols = n;
#endif
  (void)m;
  for (int64_t i = begin; i < end; i++) {
    float *out = y + i * n;
    for (int64_t j = 0; j < cols; j++)
      out[j] = 0;
#ifdef SKIPS_FIRST
    for (int64_t p = 1; p < k; p++)
#else
    for (int64_t p = 0; p < k; p++)
#endif
      for (int64_t j = 0; j < cols; j++)
#ifdef NOT_TRANSPOSED
        out[j] += a[i * k + p] * b[p * n + j];
#else
        out[j] += a[p * m + i] * b[p * n + j];
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[1], rows, (void *)args);
}
