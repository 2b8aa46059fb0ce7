// Convolution 2D, the definition: every output is a sum over input channels and a 3 x 3 window.
// assay: task kernelbench/1/63
// assay: expect pass
// assay: twin FLIPPED expect wrong_value -- turns the kernel by 180 degrees, as mathematicians' convolution does
// assay: twin LAST_CHANNEL expect wrong_value -- the last input channel does not count
// assay: twin TF32_INPUTS expect low_precision -- rounds x and w to 10 bits, as tensor cores do by default
// assay: twin TRANSPOSED_KERNEL expect wrong_value -- swaps height and width of the kernel
#include <assay/candidate.h>
#include <string.h>

enum { K = 3 };

static float prepare(float x) {
#ifdef TF32_INPUTS
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u = (u + 0xFFF + (u >> 13 & 1)) & 0xFFFFE000; // to nearest, ties to even
  memcpy(&x, &u, sizeof x);
#endif
  return x;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data, *w = args->inputs[1].data;
  float *y = args->outputs[0].data;
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t channels = in[1];
#ifdef LAST_CHANNEL
  channels--;
#endif
  for (int64_t n = 0; n < out[0]; n++)
    for (int64_t o = 0; o < out[1]; o++)
      for (int64_t h = 0; h < out[2]; h++)
        for (int64_t v = 0; v < out[3]; v++) {
          float sum = 0;
          for (int64_t c = 0; c < channels; c++)
            for (int64_t i = 0; i < K; i++)
              for (int64_t j = 0; j < K; j++) {
                float pixel = x[((n * in[1] + c) * in[2] + h + i) * in[3] + v + j];
                const float *kernel = w + (o * in[1] + c) * K * K;
#if defined(FLIPPED)
                sum += prepare(pixel) * prepare(kernel[(K - 1 - i) * K + K - 1 - j]);
#elif defined(TRANSPOSED_KERNEL)
                sum += prepare(pixel) * prepare(kernel[j * K + i]);
#else
                sum += prepare(pixel) * prepare(kernel[i * K + j]);
#endif
              }
          y[((n * out[1] + o) * out[2] + h) * out[3] + v] = sum;
        }
}
