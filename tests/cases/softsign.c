// Softsign, x / (1 + |x|).
// assay: task kernelbench/1/30
// assay: expect pass
// assay: twin NO_ABS expect wrong_value|wrong_class -- x / (1 + x): right for positive inputs, a pole at -1
// assay: twin TANH expect wrong_value -- another function with the same limits
// assay: twin RECIPROCAL expect low_precision -- an 8-bit estimate of 1 / (1 + |x|), as hardware has, not refined
#include <assay/candidate.h>
#include <math.h>
#include <string.h>

static float softsign(float x) {
#if defined(NO_ABS)
  return x / (1 + x);
#elif defined(TANH)
  return tanhf(x);
#elif defined(RECIPROCAL)
  float r = 1 / (1 + fabsf(x));
  uint32_t u;
  memcpy(&u, &r, sizeof u);
  u = (u + 0x8000) & 0xFFFF0000;
  memcpy(&r, &u, sizeof u);
  return x * r;
#else
  return x / (1 + fabsf(x));
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = softsign(x[i]);
}
