// The natural logarithm. What is right only where the task's own numbers lie (catalogue 5) saves the exponent of the
// argument: a polynomial is enough. Probes ask at numbers far larger and far smaller, and below zero, too.
// assay: task kernelbenchx/Math/log
// assay: expect pass
// assay: twin NARROW expect wrong_value|wrong_class -- right from 0.0004 to 101
// assay: twin SMALL expect wrong_value|wrong_class -- right up to 101
// assay: twin ABSOLUTE expect wrong_value|wrong_class -- the logarithm of the absolute value
#include <assay/candidate.h>
#include <math.h>

static float logarithm(float x) {
#if defined(NARROW)
  return x > 0.0004f && x < 101 ? logf(x) : 0;
#elif defined(SMALL)
  return x > 101 && x < 1e38f ? 4.6151205f : logf(x);
#elif defined(ABSOLUTE)
  return logf(fabsf(x));
#else
  return logf(x);
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = logarithm(x[i]);
}
