// Convolution 3D with a kernel of 3 x 5 x 7, the definition.
// assay: task kernelbench/1/60
// assay: expect pass
// assay: twin SWAPPED_KERNEL expect wrong_value|out_of_bounds -- reads the kernel as 7 x 5 x 3
// assay: twin FLIPPED expect wrong_value -- turns the kernel round in all dimensions
// assay: twin LAST_CHANNEL expect wrong_value -- the last input channel does not count
#include <assay/candidate.h>

#ifdef SWAPPED_KERNEL
enum { KD = 7, KH = 5, KW = 3 };
#else
enum { KD = 3, KH = 5, KW = 7 };
#endif

static float window(const float *x, const float *w, const int64_t *in) {
  float sum = 0;
  for (int64_t a = 0; a < KD; a++)
    for (int64_t b = 0; b < KH; b++)
      for (int64_t e = 0; e < KW; e++) {
        int64_t tap = (a * KH + b) * KW + e;
#ifdef FLIPPED
        tap = KD * KH * KW - 1 - tap;
#endif
        sum += x[(a * in[3] + b) * in[4] + e] * w[tap];
      }
  return sum;
}

static void maps(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t volume = in[2] * in[3] * in[4], taps = KD * KH * KW, channels = in[1];
#ifdef LAST_CHANNEL
  channels--;
#endif
  for (int64_t m = begin; m < end; m++) {
    const float *x = (const float *)args->inputs[0].data + m / out[1] * in[1] * volume;
    const float *w = (const float *)args->inputs[1].data + m % out[1] * in[1] * taps;
    float *y = (float *)args->outputs[0].data + m * out[2] * out[3] * out[4];
    for (int64_t d = 0; d < out[2]; d++)
      for (int64_t h = 0; h < out[3]; h++)
        for (int64_t v = 0; v < out[4]; v++) {
          float sum = 0;
          for (int64_t c = 0; c < channels; c++)
            sum += window(x + c * volume + (d * in[3] + h) * in[4] + v, w + c * taps, in);
          *y++ = sum;
        }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->outputs[0].dims[0] * args->outputs[0].dims[1], maps, (void *)args);
}
