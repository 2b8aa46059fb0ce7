// Depthwise convolution 2D, 3 x 3, the definition.
// assay: task kernelbench/1/84
// assay: expect pass
// assay: twin FLIPPED expect wrong_value -- turns the kernel by 180 degrees
// assay: twin WINDOW_2 expect wrong_value -- the window is 2 x 2
// assay: twin BF16_INPUTS expect low_precision -- rounds x and w to bfloat16
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };
#ifdef WINDOW_2
enum { TAPS = 2 };
#else
enum { TAPS = 3 };
#endif

static float prepare(float x) {
#ifdef BF16_INPUTS
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0x7FFF + (u >> 16 & 1)) & 0xFFFF0000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

static void planes(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  for (int64_t p = begin; p < end; p++) {
    const float *x = (const float *)args->inputs[0].data + p * in[2] * in[3];
    const float *w = (const float *)args->inputs[1].data + p % in[1] * K * K;
    float *y = (float *)args->outputs[0].data + p * out[2] * out[3];
    for (int64_t h = 0; h < out[2]; h++)
      for (int64_t v = 0; v < out[3]; v++) {
        float sum = 0;
        for (int64_t i = 0; i < TAPS; i++)
          for (int64_t j = 0; j < TAPS; j++)
#ifdef FLIPPED
            sum += prepare(x[(h + i) * in[3] + v + j]) * prepare(w[(K - 1 - i) * K + K - 1 - j]);
#else
            sum += prepare(x[(h + i) * in[3] + v + j]) * prepare(w[i * K + j]);
#endif
        *y++ = sum;
      }
  }
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, args->inputs[0].dims[0] * args->inputs[0].dims[1], planes, (void *)args);
}
