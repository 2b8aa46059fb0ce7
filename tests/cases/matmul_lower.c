// Product of two lower triangular matrices, which is lower triangular: only terms with j <= p <= i are not zero.
// assay: task kernelbench/1/15
// assay: expect pass
// assay: twin STRICT expect wrong_value -- leaves the diagonal of the result zero
// assay: twin NO_ZEROS expect unwritten -- does not write the zeros above the diagonal
// assay: twin SHORT_SUM expect wrong_value -- the sum ends before p = i
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  for (int64_t i = begin; i < end; i++) {
    float *out = y + i * n;
#ifdef NO_ZEROS
    for (int64_t j = 0; j <= i; j++)
      out[j] = 0;
#else
    for (int64_t j = 0; j < n; j++)
      out[j] = 0;
#endif
#ifdef SHORT_SUM
    for (int64_t p = 0; p < i; p++)
#else
    for (int64_t p = 0; p <= i; p++)
#endif
      for (int64_t j = 0; j <= p; j++)
        out[j] += a[i * n + p] * b[p * n + j];
#ifdef STRICT
    out[i] = 0;
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
