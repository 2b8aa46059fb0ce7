// GELU with the error function: x/2 (1 + erf(x / sqrt 2)).
// assay: task kernelbench/1/26
// assay: expect pass
// assay: twin TANH_FORM expect wrong_value -- the tanh approximation, off by up to 5e-4
// assay: twin SIGMOID_FORM expect wrong_value -- x sigmoid(1.702 x), off by up to 2e-2
// assay: twin RELU expect wrong_value -- its asymptote
// assay: twin NO_SQRT2 expect wrong_value -- erf(x) instead of erf(x / sqrt 2)
// assay: twin FP16_RESULT expect low_precision -- rounds the result to half precision
#include <assay/candidate.h>
#include <math.h>

#ifdef FP16_RESULT
// x rounded to 11 significant bits, or to half precision's subnormal grid of 2^-24; overflow does not matter here.
static float to_fp16(float x) {
  int e;
  frexpf(x, &e);
  e = e < -13 ? -13 : e;
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#endif

static float gelu(float x) {
#if defined(TANH_FORM)
  return 0.5f * x * (1 + tanhf(0.7978845608f * (x + 0.044715f * x * x * x)));
#elif defined(SIGMOID_FORM)
  return x / (1 + expf(-1.702f * x));
#elif defined(RELU)
  return x < 0 ? 0 : x;
#elif defined(NO_SQRT2)
  return 0.5f * x * (1 + erff(x));
#elif defined(FP16_RESULT)
  return to_fp16(0.5f * x * (1 + erff(x * 0.70710678118f)));
#else
  return 0.5f * x * (1 + erff(x * 0.70710678118f));
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = gelu(x[i]);
}
