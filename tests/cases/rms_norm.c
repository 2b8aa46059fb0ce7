// RMS normalisation over dimension 1: x / sqrt(mean of x^2 over channels + eps). Channels lie a plane apart, so the
// inner loops run along the plane.
// assay: task kernelbench/1/36
// assay: expect pass
// assay: twin NO_EPS expect wrong_value|wrong_class|low_precision -- epsilon forgotten
// assay: twin SUM expect wrong_value -- sum instead of mean
// assay: twin LAST_AXIS expect wrong_value -- normalises along the width
// assay: twin STANDARDISE expect wrong_value -- subtracts the mean as layer normalisation does
// assay: twin SCALE_STALE expect wrong_value -- images after the first use the first one's scale
// assay: twin EPS_1_PERCENT expect wrong_value|low_precision -- epsilon 1 % off: shows where a variance is about as small
#include <assay/candidate.h>
#include <math.h>

enum { STRIP = 256 };

#ifdef NO_EPS
#define EPSILON 0
#elif defined(EPS_1_PERCENT)
#define EPSILON 1.01e-5f
#else
#define EPSILON 1e-5f
#endif

// `cols` neighbouring positions of a plane: c rows, `plane` elements apart. `from`: where statistics are taken.
static void strip(const float *from, const float *x, float *y, int64_t c, int64_t plane, int64_t cols) {
  float squares[STRIP] = {0}, mean[STRIP] = {0};
  for (int64_t i = 0; i < c; i++)
    for (int64_t p = 0; p < cols; p++)
      squares[p] += from[i * plane + p] * from[i * plane + p];
#ifdef STANDARDISE
  for (int64_t i = 0; i < c; i++)
    for (int64_t p = 0; p < cols; p++)
      mean[p] += from[i * plane + p] / (float)c;
#endif
  for (int64_t p = 0; p < cols; p++)
#ifdef SUM
    squares[p] = sqrtf(squares[p] + EPSILON);
#else
    squares[p] = sqrtf(squares[p] / (float)c + EPSILON);
#endif
  for (int64_t i = 0; i < c; i++)
    for (int64_t p = 0; p < cols; p++)
      y[i * plane + p] = (x[i * plane + p] - mean[p]) / squares[p];
}

static void images(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  const int64_t *dims = args->inputs[0].dims;
  int64_t c = dims[1], plane = dims[2] * dims[3];
#ifdef LAST_AXIS
  // The same arithmetic with the width in the place of the channels.
  for (int64_t i = begin * c * dims[2]; i < end * c * dims[2]; i++)
    strip(x + i * dims[3], x + i * dims[3], y + i * dims[3], dims[3], 1, 1);
  (void)plane;
#else
  for (int64_t i = begin; i < end; i++)
    for (int64_t p = 0; p < plane; p += STRIP) {
      const float *at = x + i * c * plane + p;
#ifdef SCALE_STALE
      const float *from = x + p;
#else
      const float *from = at;
#endif
      strip(from, at, y + i * c * plane + p, c, plane, plane - p < STRIP ? plane - p : STRIP);
    }
#endif
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0], images, (void *)args);
}
