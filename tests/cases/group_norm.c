// Group normalisation with 8 groups: mean and (biased) variance over the channels of a group and the plane.
// assay: task kernelbench/1/35
// assay: expect pass
// assay: twin INTERLEAVED expect wrong_value -- channel c belongs to group c mod 8 instead of 8 c / C
// assay: twin GAMMA_PER_GROUP expect wrong_value -- scale and shift of the group's first channel for all of them
// assay: twin UNBIASED expect wrong_value|wrong_class -- divides the sum of squares by n - 1
// assay: twin NO_EPS expect wrong_value|wrong_class|low_precision -- epsilon forgotten
// assay: twin INSTANCE expect wrong_value -- each channel has its own statistics
// assay: twin EPS_1_PERCENT expect wrong_value|low_precision -- epsilon 1 % off: shows where a variance is about as small
#include <assay/candidate.h>
#include <math.h>

#define GROUPS 8
#ifdef NO_EPS
#define EPSILON 0
#elif defined(EPS_1_PERCENT)
#define EPSILON 1.01e-5
#else
#define EPSILON 1e-5
#endif

// Mean and 1 / deviation of `count` channels that lie `step` channels apart, each of `plane` elements.
static void statistics(const float *x, int64_t count, int64_t step, int64_t plane, double *mean, double *inverse) {
  double n = (double)(count * plane), sum = 0, squares = 0;
  for (int64_t c = 0; c < count; c++)
    for (int64_t p = 0; p < plane; p++)
      sum += x[c * step * plane + p];
  *mean = sum / n;
  for (int64_t c = 0; c < count; c++)
    for (int64_t p = 0; p < plane; p++) {
      double d = x[c * step * plane + p] - *mean;
      squares += d * d;
    }
#ifdef UNBIASED
  *inverse = 1 / sqrt(squares / (n - 1) + EPSILON);
#else
  *inverse = 1 / sqrt(squares / n + EPSILON);
#endif
}

static void groups(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data, *gamma = args->inputs[1].data, *beta = args->inputs[2].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t channels = dims[1], plane = dims[2] * dims[3], size = channels / GROUPS;
  for (int64_t i = begin; i < end; i++) {
    int64_t image = i / GROUPS, group = i % GROUPS;
#ifdef INTERLEAVED
    int64_t first = group, step = GROUPS;
#else
    int64_t first = group * size, step = 1;
#endif
    double mean, inverse;
    statistics(x + (image * channels + first) * plane, size, step, plane, &mean, &inverse);
    for (int64_t c = 0; c < size; c++) {
      int64_t channel = first + c * step, at = (image * channels + channel) * plane;
#ifdef INSTANCE
      statistics(x + at, 1, 1, plane, &mean, &inverse);
#endif
#ifdef GAMMA_PER_GROUP
      channel = first;
#endif
      double scale = gamma[channel] * inverse, shift = beta[channel];
      for (int64_t p = 0; p < plane; p++)
        y[at + p] = (float)((x[at + p] - mean) * scale + shift);
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * GROUPS, groups, (void *)args);
}
