// GELU's approximation by tanh in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/88
// assay: expect pass -- 0.5 x (1 + tanh u)
// assay: twin HORNER expect pass -- u by Horner, fused
// assay: twin BY_EXP expect pass -- tanh u = 1 - 2 / (1 + e^2u)
// assay: twin SIGMOID expect pass -- x / (1 + e^-2u)
// assay: twin SIGMOID_EXP2 expect pass -- x / (1 + 2^(-2 u log2 e))
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
  for (int64_t i = 0; i < n; i++) {
    float v = x[i];
#ifdef HORNER
    float u = v * fmaf(0.044715f * 0.79788456080286535588f, v * v, 0.79788456080286535588f);
#else
    float u = 0.79788456080286535588f * (v + 0.044715f * v * v * v);
#endif
#if defined BY_EXP
    float t = 1 - 2 / (1 + expf(2 * u)); // tanh
    y[i] = 0.5f * v * (1 + t);
#elif defined SIGMOID
    y[i] = v / (1 + expf(-2 * u)); // the same function
#elif defined SIGMOID_EXP2
    y[i] = v / (1 + exp2f(-2 * LOG2E * u));
#else
    y[i] = 0.5f * v * (1 + tanhf(u));
#endif
  }
}
