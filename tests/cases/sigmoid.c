// Sigmoid that neither overflows for large |x| nor loses the small results of very negative x.
// assay: task kernelbench/1/21
// assay: expect pass
// assay: twin OVERFLOWS expect wrong_class -- e^x / (1 + e^x) for every x: Inf / Inf from x = 89 on
// assay: twin HARD expect wrong_value -- the piecewise linear "hard" sigmoid
// assay: twin TANH expect wrong_value -- tanh instead of sigmoid
// assay: twin BF16_INPUT expect low_precision -- rounds x to bfloat16 first
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

#ifdef BF16_INPUT
static float to_bf16(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  u += 0x7FFF + (u >> 16 & 1); // to nearest, ties to even
  u &= 0xFFFF0000;
  memcpy(&x, &u, sizeof x);
  return x;
}
#endif

static float sigmoid(float x) {
#ifdef BF16_INPUT
  x = to_bf16(x);
#endif
#if defined(OVERFLOWS)
  return expf(x) / (1 + expf(x));
#elif defined(HARD)
  return fminf(fmaxf(x / 6 + 0.5f, 0), 1);
#elif defined(TANH)
  return tanhf(x);
#else
  float e = expf(-fabsf(x)); // in (0, 1]
  return (x < 0 ? e : 1) / (1 + e);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = sigmoid(x[i]);
}
