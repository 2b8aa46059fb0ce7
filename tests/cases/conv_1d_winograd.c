// Convolution 1D by Winograd's F(2, 3): two outputs from four products a channel, added up over the channels.
// assay: task kernelbench/1/67
// assay: expect pass
// assay: twin LAST_CHANNEL expect wrong_value -- the last input channel does not count
// assay: twin COEFFICIENT expect wrong_value -- one of the kernel's transforms is off by 2^-16 of itself
// assay: twin TAPS_18_BITS expect wrong_value|low_precision -- transformed kernels have 18 bits
// assay: twin SUMS_20_BITS expect wrong_value|low_precision -- the channels are added up in 20 bits
// assay: twin TF32 expect wrong_value|low_precision -- factors of the products have 11 bits, as on tensor cores
// assay: twin SMALL_TAPS expect wrong_value|low_precision -- taps below 2^-9 of the one before are left out
// assay: twin SMALL_PRODUCTS expect wrong_value|low_precision -- products below 2^-16 of the sum so far are left out
#include <assay/candidate.h>
#include <math.h>

enum { TAPS = 3 };

// x to so many bits, to nearest.
static float cut(float x, int bits) {
  int exponent;
  float fraction = frexpf(x, &exponent);
  return isfinite(x) ? ldexpf(rintf(ldexpf(fraction, bits)), exponent - bits) : x;
}

static void add(float *sum, float x, float w) {
#ifdef TAPS_18_BITS
  w = cut(w, 18);
#endif
#ifdef TF32
  x = cut(x, 11);
  w = cut(w, 11);
#endif
#ifdef SMALL_PRODUCTS
  if (fabsf(x * w) < 0x1p-16f * fabsf(*sum))
    return;
#endif
  *sum += x * w;
#ifdef SUMS_20_BITS
  *sum = cut(*sum, 20);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const int64_t *in = args->inputs[0].dims, *out = args->outputs[0].dims;
  int64_t channels = in[1];
#ifdef LAST_CHANNEL
  channels--;
#endif
#ifdef COEFFICIENT
  const float half = 0.5f + 0x1p-17f;
#else
  const float half = 0.5f;
#endif
  for (int64_t line = 0; line < out[0] * out[1]; line++) {
    const float *x = (const float *)args->inputs[0].data + line / out[1] * in[1] * in[2];
    const float *w = (const float *)args->inputs[1].data + line % out[1] * in[1] * TAPS;
    float *y = (float *)args->outputs[0].data + line * out[2];
    for (int64_t at = 0; at < out[2]; at += 2) {
      float m[4] = {0, 0, 0, 0};
      for (int64_t c = 0; c < channels; c++) {
        const float *d = x + c * in[2] + at;
        float k[TAPS] = {w[c * TAPS], w[c * TAPS + 1], w[c * TAPS + 2]};
#ifdef SMALL_TAPS
        k[2] = fabsf(k[2]) < 0x1p-9f * fabsf(k[1]) ? 0 : k[2];
#endif
        float last = at + 3 < in[2] ? d[3] : 0;
        add(&m[0], d[0] - d[2], k[0]);
        add(&m[1], d[1] + d[2], half * (k[0] + k[1] + k[2]));
        add(&m[2], d[2] - d[1], 0.5f * (k[0] - k[1] + k[2]));
        add(&m[3], d[1] - last, k[2]);
      }
      y[at] = m[0] + m[1] + m[2];
      if (at + 1 < out[2])
        y[at + 1] = m[1] - m[2] - m[3];
    }
  }
}
