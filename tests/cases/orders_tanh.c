// tanh in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/22
// assay: expect pass -- tanhf
// assay: twin EXPM1 expect pass -- by expm1
// assay: twin TWO_BRANCHES expect pass -- a polynomial near 0, 1 - 2 / (e^2x + 1) elsewhere (Cephes)
// assay: twin SIGMOID expect wrong_value|wrong_class|low_precision -- 2 / (1 + e^-2x) - 1: cancels near 0
// assay: twin TANH_11_BITS expect low_precision|wrong_value -- as coarse as tanh.approx.f32, 11 bits
#include <math.h>

#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
  for (int64_t i = 0; i < n; i++) {
    float v = x[i];
#if defined EXPM1
    float e = expm1f(-2 * fabsf(v));
    y[i] = copysignf(-e / (e + 2), v);
#elif defined SIGMOID
    y[i] = 2 / (1 + expf(-2 * v)) - 1;
#elif defined TWO_BRANCHES
    float a = fabsf(v), s = v * v; // as Cephes' tanhf
    if (a < 0.625f)
      y[i] = v +
             v * s *
                 ((((-5.70498872745e-3f * s + 2.06390887954e-2f) * s - 5.37397155531e-2f) * s + 1.33314422036e-1f) * s -
                  3.33332819422e-1f);
    else
      y[i] = copysignf(1 - 2 / (expf(2 * a) + 1), v);
#elif defined TANH_11_BITS
    y[i] = tanhf(v) * (1 + 0x1p-12f); // as coarse as the hardware's tanh.approx, 2^-11 at worst
#else
    y[i] = tanhf(v);
#endif
  }
}
