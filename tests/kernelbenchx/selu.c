// Scaled exponential linear unit, as its description has it.
// assay: task kernelbenchx/Activation/selu
// assay: expect pass
// assay: twin AS_PUBLISHED expect wrong_value -- the smaller of x and alpha (exp(x) - 1), which doubles what is above zero
// assay: twin NO_SCALE expect wrong_value
// assay: twin ELU expect wrong_value -- alpha is 1
#include <assay/candidate.h>
#include <math.h>

static float selu(float x) {
  float alpha = 1.67326319f, scale = 1.05070102f;
#if defined(AS_PUBLISHED)
  float a = alpha * expm1f(x);
  return scale * ((x > 0 ? x : 0) + (x < a ? x : a));
#elif defined(NO_SCALE)
  scale = 1;
#elif defined(ELU)
  alpha = 1;
#endif
  return scale * (x > 0 ? x : alpha * expm1f(x));
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = selu(x[i]);
}
