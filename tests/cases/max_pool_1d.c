// Max pooling: window 8, stride 1, padding 4, dilation 3. Padding never wins.
// assay: task kernelbench/1/41
// assay: expect pass
// assay: twin ZERO_PADDING expect wrong_value -- pads with 0, which wins over negative elements
// assay: twin NO_DILATION expect wrong_value -- eight neighbours
// assay: twin SHORT_WINDOW expect wrong_value -- seven taps
// assay: twin SHIFTED expect wrong_value -- padding 3: everything one to the right
#include <assay/candidate.h>
#include <math.h>

#ifdef NO_DILATION
#define DILATION 1
#else
#define DILATION 3
#endif
#ifdef SHORT_WINDOW
#define WINDOW 7
#else
#define WINDOW 8
#endif
#ifdef SHIFTED
#define PADDING 3
#else
#define PADDING 4
#endif

static void rows(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  int64_t l = args->inputs[0].dims[2], ol = args->outputs[0].dims[2];
  for (int64_t r = begin; r < end; r++) {
    const float *x = (const float *)args->inputs[0].data + r * l;
    float *y = (float *)args->outputs[0].data + r * ol;
    for (int64_t o = 0; o < ol; o++) {
      float max = -INFINITY;
      for (int64_t k = 0; k < WINDOW; k++) {
        int64_t i = o - PADDING + k * DILATION;
        if (i >= 0 && i < l)
          max = x[i] > max || x[i] != x[i] ? x[i] : max; // a NaN stays
#ifdef ZERO_PADDING
        else
          max = max > 0 ? max : 0;
#endif
      }
      y[o] = max;
    }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], rows, (void *)args);
}
