// Max pooling: window 3 x 3 x 3, stride 2, padding 1, dilation 3.
// assay: task kernelbench/1/43
// assay: expect pass
// assay: twin STRIDE_3 expect wrong_value|wrong_class -- stride 3
// assay: twin ZERO_PADDING expect wrong_value -- pads with 0, which wins over negative elements
// assay: twin FLAT_WINDOW expect wrong_class -- no taps in depth
// assay: twin AVERAGE expect wrong_value -- the mean of the window
#include <assay/candidate.h>
#include <math.h>

#ifdef STRIDE_3
#define STRIDE 3
#else
#define STRIDE 2
#endif
#ifdef FLAT_WINDOW
#define DEPTH 1
#else
#define DEPTH 3
#endif
#define WINDOW 3
#define PADDING 1
#define DILATION 3

static int64_t tap(int64_t o, int64_t k) {
  return o * STRIDE - PADDING + k * DILATION;
}

static float window(const float *x, const int64_t *dims, int64_t od, int64_t oh, int64_t ow) {
  float max = -INFINITY, sum = 0;
  int64_t count = 0;
  for (int64_t a = 0; a < DEPTH; a++)
    for (int64_t b = 0; b < WINDOW; b++)
      for (int64_t c = 0; c < WINDOW; c++) {
        int64_t d = tap(od, a), h = tap(oh, b), w = tap(ow, c);
        float v = 0;
        if (d >= 0 && d < dims[0] && h >= 0 && h < dims[1] && w >= 0 && w < dims[2])
          v = x[(d * dims[1] + h) * dims[2] + w];
#ifndef ZERO_PADDING
        else
          continue;
#endif
        max = v > max || v != v ? v : max; // a NaN stays
        sum += v, count++;
      }
#ifdef AVERAGE
  return sum / (float)count;
#else
  (void)sum, (void)count;
  return max;
#endif
}

static void volumes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims + 2, *out = args->outputs[0].dims + 2;
  for (int64_t v = begin; v < end; v++) {
    const float *x = (const float *)args->inputs[0].data + v * in[0] * in[1] * in[2];
    float *y = (float *)args->outputs[0].data + v * out[0] * out[1] * out[2];
    for (int64_t d = 0; d < out[0]; d++)
      for (int64_t h = 0; h < out[1]; h++)
        for (int64_t w = 0; w < out[2]; w++)
          *y++ = window(x, in, d, h, w);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], volumes, (void *)args);
}
