// Batch normalisation with one accumulator in single precision for each channel's mean, and one for its variance, in
// two sweeps. Where images differ in scale that loses more than sums in lanes do; a second look counts it.
// assay: task kernelbench/1/33
// assay: expect pass
// assay: twin DROP_LAST expect wrong_value|low_precision -- a channel's last element is not in its mean
// assay: twin DROP_SQUARE expect wrong_value|low_precision -- nor in its variance
// assay: twin UNBIASED expect wrong_value|low_precision -- divides the sum of squares by n - 1
// assay: twin ONE_SWEEP expect wrong_value|wrong_class|low_precision -- E[x^2] - E[x]^2 in single precision
// assay: twin BITS_18 expect low_precision|wrong_value -- accumulators of 18 bits
// assay: twin TF32 expect low_precision|wrong_value -- elements of 11 bits in the mean
#include <assay/candidate.h>
#include <math.h>

#if defined(BITS_18) || defined(TF32)
static float rounded(float x, int bits) {
  int e;
  float m = frexpf(x, &e);
  return isfinite(x) ? ldexpf(rintf(ldexpf(m, bits)), e - bits) : x;
}
#endif

static float add(float sum, float x) {
#ifdef BITS_18
  return rounded(sum + x, 18);
#else
  return sum + x;
#endif
}

static void normalize(const float *x, float *y, const int64_t *dims, int64_t channel, float gamma, float beta) {
  int64_t plane = dims[2] * dims[3], count = dims[0] * plane, first = channel * plane, image = dims[1] * plane;
  float sum = 0, squares = 0;
#if defined(DROP_LAST) || defined(DROP_SQUARE)
  int64_t left = count - (count > 1);
#endif
#ifdef DROP_LAST
  int64_t terms = left;
#else
  int64_t terms = count;
#endif
  for (int64_t k = 0; k < terms; k++) {
    float v = x[k / plane * image + first + k % plane];
#ifdef TF32
    v = rounded(v, 11);
#endif
    sum = add(sum, v);
  }
  float mean = sum / (float)count;
#ifdef DROP_SQUARE
  terms = left;
#else
  terms = count;
#endif
  for (int64_t k = 0; k < terms; k++) {
#ifdef ONE_SWEEP
    float d = x[k / plane * image + first + k % plane];
#else
    float d = x[k / plane * image + first + k % plane] - mean;
#endif
    squares = add(squares, d * d);
  }
#if defined(ONE_SWEEP)
  float variance = squares / (float)count - mean * mean;
#elif defined(UNBIASED)
  float variance = squares / (float)(count > 1 ? count - 1 : 1);
#else
  float variance = squares / (float)count;
#endif
  float scale = 1 / sqrtf(variance + 1e-5f);
  for (int64_t k = 0; k < count; k++) {
    int64_t at = k / plane * image + first + k % plane;
    y[at] = (x[at] - mean) * scale * gamma + beta;
  }
}

void assay_kernel(const struct assay_args *args) {
  const float *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  for (int64_t c = 0; c < args->inputs[0].dims[1]; c++)
    normalize(args->inputs[0].data, args->outputs[0].data, args->inputs[0].dims, c, gamma[c], beta[c]);
}
