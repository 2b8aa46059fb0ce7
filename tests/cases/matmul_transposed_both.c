// Product of two transposed matrices: y = a^T b^T. Computes b a, row by row, and stores columns.
// assay: task kernelbench/1/18
// assay: expect pass
// assay: twin ROWS expect wrong_value|out_of_bounds -- stores b a itself, without transposing
// assay: twin ONLY_A expect wrong_value|out_of_bounds -- computes a^T b
// assay: twin LAST_TERM expect wrong_value -- one term too few
#include <assay/candidate.h>
#include <stdlib.h>

// Row j of b a is column j of the result.
static void columns(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[0], m = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  (void)n;
  float *sum = malloc((size_t)m * sizeof *sum);
  for (int64_t j = begin; j < end; j++) {
    for (int64_t i = 0; i < m; i++)
      sum[i] = 0;
#ifdef LAST_TERM
    for (int64_t p = 0; p < k - 1; p++) {
#else
    for (int64_t p = 0; p < k; p++) {
#endif
#ifdef ONLY_A
      float v = b[p * n + j];
#else
      float v = b[j * k + p];
#endif
      for (int64_t i = 0; i < m; i++)
        sum[i] += v * a[p * m + i];
    }
    for (int64_t i = 0; i < m; i++)
#ifdef ROWS
      y[j * m + i] = sum[i];
#else
      y[i * n + j] = sum[i];
#endif
  }
  free(sum);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[1].dims[0], columns, (void *)args);
}
