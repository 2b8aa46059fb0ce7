// Instance normalisation: every plane of height times width has its own mean and (biased) variance. Two sweeps in
// single precision with partial sums in 32 lanes, which vectorise and keep rounding errors small.
// assay: task kernelbench/1/34
// assay: expect pass
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the sum of squares by n - 1
// assay: twin EPS_OUTSIDE expect wrong_value|low_precision -- adds epsilon to the deviation, not to the variance
// assay: twin NO_MEAN expect wrong_value -- does not subtract the mean
// assay: twin PREVIOUS_PLANE expect wrong_value -- normalises each plane with the statistics of the one before
// assay: twin EPS_1_PERCENT expect wrong_value|low_precision -- epsilon 1 % off: shows where a variance is about as small
#include <assay/candidate.h>
#include <math.h>

#ifdef EPS_1_PERCENT
#define EPSILON 1.01e-5f
#else
#define EPSILON 1e-5f
#endif
enum { LANES = 32 };

// The sum of (x - centre)^power for power 1 and 2.
static float sum_of(const float *x, int64_t n, float centre, int power) {
  float part[LANES] = {0}, sum = 0;
  int64_t whole = n - n % LANES;
  for (int64_t i = 0; i < whole; i += LANES)
    for (int l = 0; l < LANES; l++) {
      float d = x[i + l] - centre;
      part[l] += power == 2 ? d * d : d;
    }
  for (int64_t i = whole; i < n; i++)
    sum += power == 2 ? (x[i] - centre) * (x[i] - centre) : x[i] - centre;
  for (int step = LANES / 2; step; step /= 2)
    for (int l = 0; l < step; l++)
      part[l] += part[l + step];
  return sum + part[0];
}

static void normalise(const float *from, const float *x, float *y, int64_t n) {
  float mean = sum_of(from, n, 0, 1) / (float)n;
  mean += sum_of(from, n, mean, 1) / (float)n; // what rounding lost
#if defined(ONE_PASS)
  float variance = sum_of(from, n, 0, 2) / (float)n - mean * mean;
#elif defined(UNBIASED)
  float variance = sum_of(from, n, mean, 2) / (float)(n - 1);
#else
  float variance = sum_of(from, n, mean, 2) / (float)n;
#endif
#ifdef EPS_OUTSIDE
  float scale = 1 / (sqrtf(variance) + EPSILON);
#else
  float scale = 1 / sqrtf(variance + EPSILON);
#endif
#ifdef NO_MEAN
  mean = 0;
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = (x[i] - mean) * scale;
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[2] * args->inputs[0].dims[3];
  for (int64_t i = begin; i < end; i++) {
#ifdef PREVIOUS_PLANE
    const float *from = x + (i > 0 ? i - 1 : 0) * n;
#else
    const float *from = x + i * n;
#endif
    normalise(from, x + i * n, y + i * n, n);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
