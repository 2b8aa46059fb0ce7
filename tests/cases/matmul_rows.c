// Matrix product, loops ordered i, k, j: the innermost loop runs along rows of b and y, where the compiler vectorises
// it. Rows in parallel.
// assay: task kernelbench/1/8
// assay: expect pass
// assay: twin ROUND_DOWN expect wrong_value -- handles columns in whole groups of 8; the rest keep their first term
// assay: twin SAME_ROW expect wrong_value -- reads row 0 of a for every row
// assay: twin INDEX7 expect wrong_value -- keeps k in 7 bits, which overflow as 32 bits do on bigger tensors
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t k = args->inputs[0].dims[1], n = args->inputs[1].dims[1];
  for (int64_t i = begin; i < end; i++) {
#ifdef SAME_ROW
    const float *row = a;
#else
    const float *row = a + i * k;
#endif
    float *out = y + i * n;
    for (int64_t j = 0; j < n; j++)
      out[j] = row[0] * b[j];
#ifdef INDEX7
    for (int64_t p = 1; p < (k & 127); p++)
#else
    for (int64_t p = 1; p < k; p++)
#endif
#ifdef ROUND_DOWN
      for (int64_t j = 0; j < n / 8 * 8; j++)
#else
      for (int64_t j = 0; j < n; j++)
#endif
        out[j] += row[p] * b[p * n + j];
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
