// Transposed convolution 3D, 3 x 3 x 3, stride 2, padding 1: every output gathers what reaches it.
// assay: task kernelbench/1/73
// assay: expect pass
// assay: twin NO_STRIDE expect wrong_value -- stride 1
// assay: twin NO_PADDING expect wrong_value -- padding 0
// assay: twin LONG_KERNEL expect wrong_value|out_of_bounds -- a kernel of 4 along the width
#include <assay/candidate.h>

#ifdef NO_STRIDE
enum { STRIDE = 1 };
#else
enum { STRIDE = 2 };
#endif
#ifdef NO_PADDING
enum { PADDING = 0 };
#else
enum { PADDING = 1 };
#endif
#ifdef LONG_KERNEL
enum { KD = 3, KH = 3, KW = 4 };
#else
enum { KD = 3, KH = 3, KW = 3 };
#endif

// Which input reaches output o through tap k: o = i stride - padding + k. -1: none.
static int64_t source(int64_t o, int64_t k, int64_t extent) {
  int64_t at = o + PADDING - k;
  return at >= 0 && at % STRIDE == 0 && at / STRIDE < extent ? at / STRIDE : -1;
}

static float gather(const float *x, const float *w, const int64_t *in, int64_t step, int64_t d, int64_t h, int64_t v) {
  float sum = 0;
  for (int64_t i = 0; i < KD; i++)
    for (int64_t j = 0; j < KH; j++)
      for (int64_t k = 0; k < KW; k++) {
        int64_t a = source(d, i, in[2]), b = source(h, j, in[3]), e = source(v, k, in[4]);
        if (a < 0 || b < 0 || e < 0)
          continue;
        for (int64_t c = 0; c < in[1]; c++)
          sum += x[((c * in[2] + a) * in[3] + b) * in[4] + e] * w[c * step + (i * KH + j) * KW + k];
      }
  return sum;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t taps = KD * KH * KW, volume = in[2] * in[3] * in[4];
  for (int64_t m = begin; m < end; m++) {
    const float *x = (const float *)args->inputs[0].data + m / out[1] * in[1] * volume;
    const float *w = (const float *)args->inputs[1].data + m % out[1] * taps;
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3] * out[4];
    for (int64_t d = 0; d < out[2]; d++)
      for (int64_t h = 0; h < out[3]; h++)
        for (int64_t v = 0; v < out[4]; v++)
          *y++ = gather(x, w, in, out[1] * taps, d, h, v);
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
