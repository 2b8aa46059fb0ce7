// GELU of bf16 numbers: single precision inside, one rounding at the end.
// assay: task kernelbenchx/Activation/gelu_bf16
// assay: expect pass
// assay: twin CUT_OFF expect wrong_value|low_precision -- cuts bits off instead of rounding
// assay: twin SIGMOID_FORM expect wrong_value -- x sigmoid(1.702 x), off by up to 2e-2
// assay: twin RELU expect wrong_value -- its asymptote
// assay: twin INT8 expect wrong_value|low_precision -- three bits fewer than bf16 has
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static float widened(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float x;
  memcpy(&x, &wide, sizeof x);
  return x;
}

static uint16_t narrowed(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if (isnan(x))
    return 0x7fc0;
#ifdef CUT_OFF
  return (uint16_t)(bits >> 16);
#elif defined(INT8)
  return (uint16_t)((bits + 0x3ffff) >> 19 << 3);
#else
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16); // to nearest, ties to even
#endif
}

static float gelu(float x) {
#if defined(SIGMOID_FORM)
  return x / (1 + expf(-1.702f * x));
#elif defined(RELU)
  return x < 0 ? 0 : x;
#else
  return 0.5f * x * erfcf(-x * 0.70710678f);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const uint16_t *x = args->inputs[0].data;
  uint16_t *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = narrowed(gelu(widened(x[i])));
}
