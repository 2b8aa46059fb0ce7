// Sum over the middle dimension, one column after the other. Simple, and slow because of its strides.
// assay: task kernelbench/1/47
// assay: expect pass
// assay: twin DROP_LAST expect wrong_value -- forgets the last term
// assay: twin MEAN expect wrong_value -- divides by the number of terms
// assay: twin FIRST_BATCH expect wrong_value -- repeats the sums of the first batch
// assay: twin FLUSHED_PARTS expect pass -- eight partial sums meet as in a GPU's atomicAdd: subnormal ones are flushed
// assay: twin BF16_SUM expect low_precision|wrong_value -- keeps the running sum in bfloat16
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#ifdef BF16_SUM
static float partial(double x) {
  float f = (float)x;
  uint32_t u;
  memcpy(&u, &f, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&f, &u, sizeof f);
  return f;
}
#else
static double partial(double x) {
  return x;
}
#endif

#ifdef FLUSHED_PARTS
static float flushed(float x) {
  return fabsf(x) < 0x1p-126f ? copysignf(0, x) : x;
}

static double sum_of(const float *x, int64_t m, int64_t step) {
  float sum = 0;
  for (int64_t p = 0; p < 8; p++) {
    double part = 0;
    for (int64_t i = p * m / 8; i < (p + 1) * m / 8; i++)
      part = partial(part + x[i * step]);
    sum = flushed(sum + flushed((float)part));
  }
  return sum;
}
#else
static double sum_of(const float *x, int64_t m, int64_t step) {
  double sum = 0;
#ifdef DROP_LAST
  for (int64_t i = 0; i < m - 1; i++)
#else
  for (int64_t i = 0; i < m; i++)
#endif
    sum = partial(sum + x[i * step]);
  return sum;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t batches = args->inputs[0].dims[0], m = args->inputs[0].dims[1], n = args->inputs[0].dims[2];
  for (int64_t b = 0; b < batches; b++)
    for (int64_t j = 0; j < n; j++) {
#ifdef FIRST_BATCH
      const float *column = x + j;
#else
      const float *column = x + b * m * n + j;
#endif
      double sum = sum_of(column, m, n);
#ifdef MEAN
      sum /= (double)m;
#endif
      y[b * n + j] = (float)sum;
    }
}
