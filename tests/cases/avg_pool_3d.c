// Average pooling: window 3 x 3 x 3, stride 2, padding 1. Padding counts as zeros (PyTorch's count_include_pad).
// assay: task kernelbench/1/46
// assay: expect pass
// assay: twin EXCLUDE_PADDING expect wrong_value -- divides by the number of elements inside
// assay: twin SWAPPED_AXES expect wrong_value|out_of_bounds -- mixes up the strides of depth and height
// assay: twin NO_PADDING expect wrong_value|out_of_bounds -- windows start at the element itself
// assay: twin MAX expect wrong_value -- the maximum of the window
#include <assay/candidate.h>

#define WINDOW 3
#define STRIDE 2
#ifdef NO_PADDING
#define PADDING 0
#else
#define PADDING 1
#endif

struct range {
  int64_t first, stop;
};

static struct range inside(int64_t o, int64_t extent) {
  int64_t first = o * STRIDE - PADDING, stop = first + WINDOW;
  return (struct range){first < 0 ? 0 : first, stop > extent ? extent : stop};
}

static float window(const float *x, const int64_t *dims, struct range d, struct range h, struct range w) {
#ifdef SWAPPED_AXES
  int64_t step_d = dims[2], step_h = dims[0] * dims[2];
#else
  int64_t step_d = dims[1] * dims[2], step_h = dims[2];
#endif
  float sum = 0, max = x[d.first * step_d + h.first * step_h + w.first];
  for (int64_t a = d.first; a < d.stop; a++)
    for (int64_t b = h.first; b < h.stop; b++)
      for (int64_t c = w.first; c < w.stop; c++) {
        float v = x[a * step_d + b * step_h + c];
        sum += v;
        max = v > max ? v : max;
      }
#ifdef MAX
  sum = max * WINDOW * WINDOW * WINDOW;
#endif
#if defined(EXCLUDE_PADDING)
  return sum / (float)((d.stop - d.first) * (h.stop - h.first) * (w.stop - w.first));
#else
  (void)max;
  return sum / (WINDOW * WINDOW * WINDOW);
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
          *y++ = window(x, in, inside(d, in[0]), inside(h, in[1]), inside(w, in[2]));
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], volumes, (void *)args);
}
