// Depthwise convolution 2D with a kernel of 3 x 7.
// assay: task kernelbench/1/85
// assay: expect pass
// assay: twin SWAPPED_KERNEL expect wrong_value|out_of_bounds -- reads the kernel as 7 x 3
// assay: twin DENSE expect wrong_value -- sums over all channels as an ordinary convolution does
// assay: twin CENTRED expect wrong_value -- pads, as if the output were as wide as the input
#include <assay/candidate.h>
#include <string.h>

enum { KH = 3, KW = 7 };

static void add_plane(const float *x, const float *w, float *y, const int64_t *in, const int64_t *out) {
  for (int64_t h = 0; h < out[2]; h++)
    for (int64_t i = 0; i < KH; i++)
      for (int64_t j = 0; j < KW; j++) {
#ifdef SWAPPED_KERNEL
        float k = w[j * KH + i];
#else
        float k = w[i * KW + j];
#endif
        for (int64_t v = 0; v < out[3]; v++) {
#ifdef CENTRED
          int64_t at = v + j - KW / 2;
          y[h * out[3] + v] += at >= 0 ? k * x[(h + i) * in[3] + at] : 0;
#else
          y[h * out[3] + v] += k * x[(h + i) * in[3] + v + j];
#endif
        }
      }
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  const float *w = args->inputs[1].data;
  for (int64_t p = begin; p < end; p++) {
    const float *x = (const float *)args->inputs[0].data + p * in[2] * in[3];
    float *y = (float *)args->outputs[0].data + p * out[2] * out[3];
    memset(y, 0, (size_t)(out[2] * out[3]) * sizeof *y);
#ifdef DENSE
    const float *image = x - p % in[1] * in[2] * in[3];
    for (int64_t c = 0; c < in[1]; c++)
      add_plane(image + c * in[2] * in[3], w + p % in[1] * KH * KW, y, in, out);
#else
    add_plane(x, w + p % in[1] * KH * KW, y, in, out);
#endif
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
