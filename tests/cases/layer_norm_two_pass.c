// Layer normalisation over the last three dimensions, two sweeps in double precision.
// assay: task kernelbench/1/40
// assay: expect pass
// assay: twin LAST_AXIS expect wrong_value -- normalises rows of the last dimension only
// assay: twin NO_AFFINE expect wrong_value -- ignores gamma and beta
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the sum of squares by n - 1
// assay: twin EPS_1E_3 expect wrong_value -- epsilon 1e-3
// assay: twin EPS_1_PERCENT expect wrong_value|low_precision -- epsilon 1 % off: shows where a variance is about as small
// assay: twin IDENTITY expect wrong_value -- copies x, which is nearly normal already
#include <assay/candidate.h>
#include <math.h>

#ifdef EPS_1E_3
#define EPSILON 1e-3
#elif defined(EPS_1_PERCENT)
#define EPSILON 1.01e-5
#else
#define EPSILON 1e-5
#endif

static void normalise(const float *x, const float *gamma, const float *beta, float *y, int64_t n) {
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < n; i++)
    sum += x[i];
  double mean = sum / (double)n;
  for (int64_t i = 0; i < n; i++)
    squares += (x[i] - mean) * (x[i] - mean);
#ifdef UNBIASED
  double variance = squares / (double)(n - 1);
#else
  double variance = squares / (double)n;
#endif
  double scale = 1 / sqrt(variance + EPSILON);
  for (int64_t i = 0; i < n; i++)
    y[i] = (float)((x[i] - mean) * scale * gamma[i] + beta[i]);
#ifdef NO_AFFINE
  for (int64_t i = 0; i < n; i++)
    y[i] = (float)((x[i] - mean) * scale);
#endif
#ifdef IDENTITY
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i];
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t n = dims[1] * dims[2] * dims[3];
  for (int64_t i = 0; i < dims[0]; i++)
#ifdef LAST_AXIS
    for (int64_t j = 0; j < n; j += dims[3])
      normalise(x + i * n + j, gamma + j, beta + j, y + i * n + j, dims[3]);
#else
    normalise(x + i * n, gamma, beta, y + i * n, n);
#endif
}
