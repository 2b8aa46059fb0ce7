// Hyperbolic tangent.
// assay: task kernelbench/1/22
// assay: expect pass
// assay: twin EXP_FORM expect wrong_class|wrong_value -- (e^2x - 1) / (e^2x + 1): Inf / Inf for large x, cancels near 0
// assay: twin PADE expect wrong_value -- x (27 + x^2) / (27 + 9 x^2), good to two digits near 0 only
// assay: twin CLAMP expect wrong_value -- hard tanh: x clamped to [-1, 1]
#include <assay/candidate.h>
#include <math.h>

static float hyperbolic_tangent(float x) {
#if defined(EXP_FORM)
  float e = expf(2 * x);
  return (e - 1) / (e + 1);
#elif defined(PADE)
  float s = fminf(x * x, 9); // 1 at |x| = 3
  return fmaxf(fminf(x * (27 + s) / (27 + 9 * s), 1), -1);
#elif defined(CLAMP)
  return fmaxf(fminf(x, 1), -1);
#else
  return tanhf(x);
#endif
}

static void span(void *arg, int64_t begin, int64_t end) {
  const struct assay_args *args = arg;
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = begin; i < end; i++)
    y[i] = hyperbolic_tangent(x[i]);
}

void assay_kernel(const struct assay_args *args) {
  args->parallel(args, assay_count(&args->inputs[0]), span, (void *)args);
}
