// The trigamma function: shifted to arguments from 6 on, then four terms of its series. The task asks above zero, also
// far from its own numbers, which lie between 0.1 and 10.
// assay: task kernelbenchx/Math/polygamma
// assay: expect pass
// assay: twin NARROW expect wrong_value|wrong_class -- right up to 10
// assay: twin NOT_BELOW expect wrong_value|wrong_class -- right from 0.1 on
// assay: twin UNSHIFTED expect wrong_value|wrong_class -- the series alone
#include <assay/candidate.h>
#include <math.h>

static float trigamma(float x) {
  float sum = 0;
#if defined(NARROW)
  if (x > 10)
    return 0.1051663f;
#elif defined(NOT_BELOW)
  if (x < 0.1f)
    return 101.4333f;
#endif
#ifndef UNSHIFTED
  for (; x < 6; x += 1)
    sum += 1 / (x * x);
#endif
  float z = 1 / (x * x);
  return sum + (1 + 0.5f / x + z * (1.0f / 6 - z * (1.0f / 30 - z * (1.0f / 42 - z / 30)))) / x;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = trigamma(x[i]);
}
