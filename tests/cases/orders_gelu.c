// GELU by the error function in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/26
// assay: expect pass -- 0.5 x (1 + erf(x / sqrt 2))
// assay: twin CDF_FIRST expect pass -- x (0.5 (1 + erf))
// assay: twin DIVISION expect pass -- erf(x / 1.414)
// assay: twin FUSED expect pass -- fused
// assay: twin ERFC expect pass -- 0.5 x erfc(-x / sqrt 2)
// assay: twin ERF_7_1_26 expect pass|wrong_value -- erf by Abramowitz and Stegun 7.1.26, good to 1.5e-7
#include <math.h>

#include <assay/candidate.h>

// Abramowitz and Stegun 7.1.26, good to 1.5e-7: one of the approximations that kernels have instead of erff.
static inline float erf_7_1_26(float x) {
  float t = 1 / (1 + 0.3275911f * fabsf(x));
  float p = t * (0.254829592f + t * (-0.284496736f + t * (1.421413741f + t * (-1.453152027f + t * 1.061405429f))));
  return copysignf(1 - p * expf(-x * x), x);
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
  for (int64_t i = 0; i < n; i++) {
    float v = x[i];
#if defined CDF_FIRST
    float cdf = 0.5f * (1 + erff(v * 0.70710678118654752440f));
    y[i] = v * cdf;
#elif defined DIVISION
    y[i] = v * 0.5f * (1.0f + erff(v / 1.41421356237309504880f));
#elif defined FUSED
    float half = 0.5f * v;
    y[i] = fmaf(half, erff(v * 0.70710678118654752440f), half);
#elif defined ERFC
    y[i] = 0.5f * v * erfcf(-v * 0.70710678118654752440f);
#elif defined ERF_7_1_26
    y[i] = 0.5f * v * (1 + erf_7_1_26(v * 0.70710678118654752440f));
#else
    y[i] = 0.5f * v * (1 + erff(v * 0.70710678118654752440f));
#endif
  }
}
