// Layer normalisation in the orders that kernels for GPUs have; what the error scale makes of each.
// assay: task kernelbench/1/40
// assay: expect pass -- two passes, 64 sums joined by halves, (x - mean) rstd gamma + beta
// assay: twin WELFORD expect pass -- Welford, lanes joined by Chan, Golub and LeVeque
// assay: twin ONE_PASS_DOUBLE expect pass -- E[x^2] - E[x]^2 in double
// assay: twin FOLDED expect pass -- x a + b, a = gamma rstd, b = beta - mean a
// assay: twin DIVISION expect pass -- divided by the root
// assay: twin FACTOR_FIRST expect pass -- (x - mean) (rstd gamma) + beta, fused
// assay: twin RSQRT_ULP expect pass -- the inverse root off by one unit
// assay: twin ONE_PASS expect wrong_value|low_precision|wrong_class -- E[x^2] - E[x]^2 in single precision
// assay: twin SHIFTED expect pass|wrong_value|low_precision -- the same of differences from the first element
// assay: twin ONE_SUM expect pass|wrong_value|low_precision -- two passes, one accumulator for all
#include <math.h>

#include <assay/candidate.h>

static float inverse_root(float v) {
#ifdef RSQRT_ULP
  return nextafterf(1 / sqrtf(v), INFINITY);
#else
  return 1 / sqrtf(v);
#endif
}

// Sums of n terms as a block of threads makes them: each lane its own, then by halves.
enum { LANES = 64 };
#ifdef ONE_SUM
#define LANE(i) 0
#else
#define LANE(i) ((i) % LANES)
#endif

static float joined(float *lanes) {
  for (int width = LANES / 2; width; width /= 2)
    for (int i = 0; i < width; i++)
      lanes[i] += lanes[i + width];
  return lanes[0];
}

static void statistics(const float *x, int64_t n, float *mean, float *variance) {
  float s[LANES] = {0}, q[LANES] = {0};
#if defined ONE_PASS || defined SHIFTED
  float first = 0;
#ifdef SHIFTED
  first = x[0]; // differences from the first element
#endif
  for (int64_t i = 0; i < n; i++) {
    float d = x[i] - first;
    s[LANE(i)] += d;
    q[LANE(i)] += d * d;
  }
  float m = joined(s) / (float)n;
  *mean = first + m;
  *variance = fmaxf(0, joined(q) / (float)n - m * m);
#elif defined ONE_PASS_DOUBLE
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++) {
    sum += (double)x[i];
    squares += (double)x[i] * (double)x[i];
  }
  double m = sum / (double)n;
  *mean = (float)m;
  *variance = (float)fmax(0, squares / (double)n - m * m);
#elif defined WELFORD
  float count[LANES] = {0};
  for (int64_t i = 0; i < n; i++) {
    int l = LANE(i);
    float d = x[i] - s[l];
    count[l]++;
    s[l] += d / count[l];
    q[l] += d * (x[i] - s[l]);
  }
  for (int width = LANES / 2; width; width /= 2) // Chan, Golub and LeVeque
    for (int i = 0; i < width; i++) {
      float all = count[i] + count[i + width], d = s[i + width] - s[i];
      if (all == 0)
        continue;
      s[i] += d * (count[i + width] / all);
      q[i] += q[i + width] + d * d * (count[i] * count[i + width] / all);
      count[i] = all;
    }
  *mean = s[0];
  *variance = q[0] / (float)n;
#else
  for (int64_t i = 0; i < n; i++)
    s[LANE(i)] += x[i];
  *mean = joined(s) / (float)n;
  for (int64_t i = 0; i < n; i++)
    q[LANE(i)] += (x[i] - *mean) * (x[i] - *mean);
  *variance = joined(q) / (float)n;
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  float *y = args->outputs[0].data;
  int64_t rows = args->inputs[0].dims[0],
          n = args->inputs[0].dims[1] * args->inputs[0].dims[2] * args->inputs[0].dims[3];
  for (int64_t r = 0; r < rows; r++, x += n, y += n) {
    float mean, variance;
    statistics(x, n, &mean, &variance);
    float by = inverse_root(variance + 1e-5f);
    for (int64_t i = 0; i < n; i++) {
#if defined FOLDED
      float a = gamma[i] * by, b = beta[i] - mean * a;
      y[i] = fmaf(x[i], a, b);
#elif defined DIVISION
      y[i] = (x[i] - mean) / sqrtf(variance + 1e-5f) * gamma[i] + beta[i];
#elif defined FACTOR_FIRST
      y[i] = fmaf(x[i] - mean, by * gamma[i], beta[i]);
#else
      y[i] = (x[i] - mean) * by * gamma[i] + beta[i];
#endif
    }
  }
}
