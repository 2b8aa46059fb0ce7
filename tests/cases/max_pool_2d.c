// Max pooling: window 4 x 4, stride 1, padding 1. The maximum of a window is the maximum over its rows of the maximum
// along each row: 8 comparisons instead of 16.
// assay: task kernelbench/1/42
// assay: expect pass
// assay: twin ZERO_PADDING expect wrong_value -- pads with 0, which wins over negative elements
// assay: twin WINDOW_3 expect wrong_value -- 3 x 3
// assay: twin FLT_MIN_START expect wrong_value -- starts at the smallest positive number
// assay: twin LAST_ROW expect unwritten -- one row of the output too few
#include <assay/candidate.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

#ifdef WINDOW_3
#define WINDOW 3
#else
#define WINDOW 4
#endif
#define PADDING 1

static float larger(float a, float b) {
  return b > a || b != b ? b : a; // a NaN stays
}

static int64_t clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

// along[i][o]: the maximum of the window at column o in row i alone.
static void plane(const float *x, float *y, int64_t h, int64_t w, int64_t oh, int64_t ow, float *along) {
#if defined(ZERO_PADDING)
  const float start = 0;
#elif defined(FLT_MIN_START)
  const float start = FLT_MIN;
#else
  const float start = -INFINITY;
#endif
  for (int64_t i = 0; i < h; i++)
    for (int64_t o = 0; o < ow; o++) {
      float max = start;
      for (int64_t j = clamp(o - PADDING, 0, w); j < clamp(o - PADDING + WINDOW, 0, w); j++)
        max = larger(max, x[i * w + j]);
      along[i * ow + o] = max;
    }
  for (int64_t o = 0; o < oh; o++) {
    for (int64_t j = 0; j < ow; j++)
      y[o * ow + j] = start;
    for (int64_t i = clamp(o - PADDING, 0, h); i < clamp(o - PADDING + WINDOW, 0, h); i++)
      for (int64_t j = 0; j < ow; j++)
        y[o * ow + j] = larger(y[o * ow + j], along[i * ow + j]);
  }
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t rows = out[2];
#ifdef LAST_ROW
  rows--;
#endif
  float *along = malloc((size_t)(in[2] * out[3]) * sizeof *along);
  for (int64_t p = begin; p < end; p++)
    plane((const float *)args->inputs[0].data + p * in[2] * in[3], (float *)args->outputs[0].data + p * out[2] * out[3],
          in[2], in[3], rows, out[3], along);
  free(along);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
