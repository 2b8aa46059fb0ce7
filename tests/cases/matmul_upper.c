// Product of two upper triangular matrices, which is upper triangular: only terms with i <= p <= j are not zero.
// assay: task kernelbench/1/14
// assay: expect pass
// assay: twin NO_DIAGONAL expect wrong_value -- leaves out the diagonal of b
// assay: twin NO_ZEROS expect unwritten -- does not write the zeros below the diagonal
// assay: twin LOWER expect wrong_value -- fills the lower triangle
#include <assay/candidate.h>

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *a = args->inputs[0].data, *b = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0];
  for (int64_t i = begin; i < end; i++) {
    float *out = y + i * n;
#ifdef NO_ZEROS
    for (int64_t j = i; j < n; j++)
      out[j] = 0;
#else
    for (int64_t j = 0; j < n; j++)
      out[j] = 0;
#endif
#if defined(LOWER)
    for (int64_t p = 0; p <= i; p++)
      for (int64_t j = 0; j <= p; j++)
        out[j] += a[p * n + i] * b[j * n + p];
#elif defined(NO_DIAGONAL)
    for (int64_t p = i; p < n; p++)
      for (int64_t j = p + 1; j < n; j++)
        out[j] += a[i * n + p] * b[p * n + j];
#else
    for (int64_t p = i; p < n; p++)
      for (int64_t j = p; j < n; j++)
        out[j] += a[i * n + p] * b[p * n + j];
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], rows, (void *)args);
}
