// SELU: scale * (x > 0 ? x : alpha (e^x - 1)).
// assay: task kernelbench/1/27
// assay: expect pass
// assay: twin ELU expect wrong_value -- forgets the scale
// assay: twin POSITIVE_ONLY expect wrong_value -- scale * x, which is right where no input is negative
// assay: twin ALPHA_ONE expect wrong_value -- alpha 1
// assay: twin EXP_MINUS_1 expect low_precision|wrong_value -- e^x - 1 without expm1, in half precision
#include <assay/candidate.h>
#include <math.h>

#define SCALE 1.0507009873554805f
#define ALPHA 1.6732632423543772f

static float selu(float x) {
#if defined(ELU)
  return x > 0 ? x : ALPHA * expm1f(x);
#elif defined(POSITIVE_ONLY)
  return SCALE * x;
#elif defined(ALPHA_ONE)
  return SCALE * (x > 0 ? x : expm1f(x));
#elif defined(EXP_MINUS_1)
  float e = rintf(expf(x) * 2048) / 2048; // 11 bits
  return SCALE * (x > 0 ? x : ALPHA * (e - 1));
#else
  return SCALE * (x > 0 ? x : ALPHA * expm1f(x));
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = selu(x[i]);
}
