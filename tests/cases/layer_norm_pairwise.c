// Layer normalisation in single precision throughout, with pairwise sums (their error grows with log n, not with n).
// assay: task kernelbench/1/40
// assay: expect pass
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2, summed up in order
// assay: twin ODD_HALF expect low_precision|wrong_value -- halves of odd length lose their last element
// assay: twin BF16_RESULT expect low_precision -- rounds the result to bfloat16
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#define EPSILON 1e-5f

// The sum of (x - centre)^power, power 1 or 2.
static float sum_of(const float *x, int64_t n, float centre, int power) {
  if (n > 64) {
    int64_t half = n / 2;
#ifdef ODD_HALF
    return sum_of(x, half, centre, power) + sum_of(x + half, half, centre, power);
#else
    return sum_of(x, half, centre, power) + sum_of(x + half, n - half, centre, power);
#endif
  }
  float sum = 0;
  for (int64_t i = 0; i < n; i++) {
    float d = x[i] - centre;
    sum += power == 2 ? d * d : d;
  }
  return sum;
}

#ifdef BF16_RESULT
static float result(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
  return x;
}
#else
static float result(float x) {
  return x;
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t n = dims[1] * dims[2] * dims[3];
  for (int64_t s = 0; s < dims[0]; s++) {
    const float *x = (const float *)args->inputs[0].data + s * n;
    float *y = (float *)args->outputs[0].data + s * n;
    float mean = sum_of(x, n, 0, 1) / (float)n;
#ifdef ONE_PASS
    float squares = 0;
    for (int64_t i = 0; i < n; i++)
      squares += x[i] * x[i];
    float variance = squares / (float)n - mean * mean;
#else
    float variance = sum_of(x, n, mean, 2) / (float)n;
#endif
    float scale = 1 / sqrtf(variance + EPSILON);
    for (int64_t i = 0; i < n; i++)
      y[i] = result((x[i] - mean) * scale * gamma[i] + beta[i]);
  }
}
