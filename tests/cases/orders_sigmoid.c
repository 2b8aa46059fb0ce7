// The logistic function in the forms that kernels have; what the error scale makes of each.
// assay: task kernelbench/1/21
// assay: expect pass -- 1 / (1 + e^-x)
// assay: twin TWO_SIDES expect pass -- e^x / (1 + e^x) below 0
// assay: twin EXP2 expect pass -- 1 / (1 + 2^(-x log2 e)), as Triton and __expf do
// assay: twin EXP2_2ULP expect pass -- the same off by two units more
// assay: twin TANH expect wrong_value|low_precision -- 0.5 + 0.5 tanh(x / 2): nothing is left of the small answers
#include <math.h>

#include <assay/candidate.h>

#define LOG2E 1.44269504088896340736f

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];
  for (int64_t i = 0; i < n; i++) {
    float v = x[i];
#if defined TANH
    y[i] = 0.5f * tanhf(0.5f * v) + 0.5f;
#elif defined EXP2
    y[i] = 1 / (1 + exp2f(-LOG2E * v));
#elif defined EXP2_2ULP
    y[i] = nextafterf(1 / (1 + nextafterf(nextafterf(exp2f(-LOG2E * v), INFINITY), INFINITY)), 2);
#elif defined TWO_SIDES
    float e = expf(-fabsf(v));
    y[i] = v >= 0 ? 1 / (1 + e) : e / (1 + e);
#else
    y[i] = 1 / (1 + expf(-v));
#endif
  }
}
