// A linear layer whose sums begin with the bias or end with it, in one sum or in several. Under the row_scales probe
// the bias is far larger than the products, and under the declared inputs 25 times as large: a sum that
// begins with it is rounded as coarsely as the bias with every term.
// assay: task kernelbench/2/76
// assay: expect pass
// assay: twin LAST expect pass
// assay: twin LANES expect pass -- eight sums that begin with the bias and with zeros
// assay: twin FUSED expect pass
// assay: twin BACKWARDS expect pass
// assay: twin NO_BIAS expect wrong_value
// assay: twin DROP_TERM expect wrong_value
// assay: twin TF32 expect low_precision|wrong_value -- factors rounded to 11 bits
// assay: twin BF16_BIAS expect low_precision|wrong_value
// assay: twin HALF_SUM expect low_precision|wrong_value -- sums of the first half kept in 16 bits
#include <math.h>
#include <string.h>

#include <assay/candidate.h>

// x with so many significand bits, to nearest, ties away.
static inline float kept(float x, int bits) {
  uint32_t u, half = 1u << (23 - bits);
  memcpy(&u, &x, 4);
  u = (u + half) & ~(2 * half - 1);
  memcpy(&x, &u, 4);
  return x;
}

#ifdef TF32
#define FACTOR(X) kept(X, 11)
#else
#define FACTOR(X) (X)
#endif

static float dot(const float *x, const float *w, int64_t k, float bias) {
#ifdef DROP_TERM
  k -= k > 1;
#endif
#if defined NO_BIAS
  bias = 0;
#elif defined BF16_BIAS
  bias = kept(bias, 8);
#endif
#ifdef LANES
  float lanes[8] = {bias};
  for (int64_t l = 0; l < k; l++)
    lanes[l % 8] += x[l] * w[l];
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
#endif
  float sum = bias;
#if defined LAST || defined HALF_SUM
  sum = 0;
#endif
#ifdef BACKWARDS
  for (int64_t l = k; l-- > 0;)
#else
  for (int64_t l = 0; l < k; l++)
#endif
  {
#ifdef FUSED
    sum = fmaf(x[l], w[l], sum);
#else
    sum += FACTOR(x[l]) * FACTOR(w[l]);
#endif
#ifdef HALF_SUM
    if (l == k / 2)
      sum = kept(sum, 16);
#endif
  }
#if defined LAST || defined HALF_SUM
  sum += bias;
#endif
  return sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data, *bias = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], k = args->inputs[0].dims[1], n = args->inputs[1].dims[0];
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float sum = dot(x + i * k, w + j * k, k, bias[j]);
      y[i * n + j] = sum < 0 ? 0 : sum;
    }
}
