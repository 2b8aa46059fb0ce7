// Batch normalisation in training mode: mean and (biased) variance of each channel over batch, height and width.
// Two sweeps in double precision; channels in parallel.
// assay: task kernelbench/1/33
// assay: expect pass
// assay: twin EVALUATION_MODE expect wrong_value -- normalises with running statistics, mean 0 and variance 1
// assay: twin UNBIASED expect wrong_value -- divides the sum of squares by n - 1
// assay: twin ONE_PASS expect wrong_value|wrong_class|low_precision -- variance as E[x^2] - E[x]^2 in single precision
// assay: twin PER_IMAGE expect wrong_value -- statistics of each image apart, as instance normalisation has them
// assay: twin NO_SHIFT expect wrong_value -- forgets beta
// assay: twin EPS_1_PERCENT expect wrong_value|low_precision -- epsilon 1 % off: shows where a variance is about as small
#include <assay/candidate.h>
#include <math.h>

#ifdef EPS_1_PERCENT
#define EPSILON 1.01e-5
#else
#define EPSILON 1e-5
#endif

struct extent {
  int64_t n, c, plane;
};

// Mean and variance of channel c of images [first, first + count).
static void statistics(const float *x, struct extent e, int64_t c, int64_t first, int64_t count, double *mean,
                       double *variance) {
  double n = (double)(count * e.plane);
#ifdef ONE_PASS
  float sum = 0, squares = 0;
  for (int64_t i = first; i < first + count; i++)
    for (int64_t p = 0; p < e.plane; p++) {
      float v = x[(i * e.c + c) * e.plane + p];
      sum += v, squares += v * v;
    }
  *mean = sum / n;
  *variance = squares / (float)n - (float)*mean * (float)*mean;
#else
  double sum = 0, squares = 0;
  for (int64_t i = first; i < first + count; i++)
    for (int64_t p = 0; p < e.plane; p++)
      sum += x[(i * e.c + c) * e.plane + p];
  *mean = sum / n;
  for (int64_t i = first; i < first + count; i++)
    for (int64_t p = 0; p < e.plane; p++) {
      double d = x[(i * e.c + c) * e.plane + p] - *mean;
      squares += d * d;
    }
#ifdef UNBIASED
  *variance = squares / (n - 1);
#else
  *variance = squares / n;
#endif
#endif
}

static void channels(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  struct extent e = {dims[0], dims[1], dims[2] * dims[3]};
  for (int64_t c = begin; c < end; c++) {
    double mean, variance;
    statistics(x, e, c, 0, e.n, &mean, &variance);
#ifdef EVALUATION_MODE
    mean = 0, variance = 1;
#endif
    for (int64_t i = 0; i < e.n; i++) {
#ifdef PER_IMAGE
      statistics(x, e, c, i, 1, &mean, &variance);
#endif
      double scale = gamma[c] / sqrt(variance + EPSILON), shift = beta[c];
#ifdef NO_SHIFT
      shift = 0;
#endif
      for (int64_t p = 0; p < e.plane; p++) {
        int64_t at = (i * e.c + c) * e.plane + p;
        y[at] = (float)((x[at] - mean) * scale + shift);
      }
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[1], channels, (void *)args);
}
