// log(1 + x) without the sum.
// assay: task kernelbenchx/Math/log1p
// assay: expect pass
// assay: twin OF_SUM expect wrong_value|low_precision -- log(1 + x), which loses the digits of small numbers
// assay: twin LINEAR expect wrong_value -- x, its tangent at zero
// assay: twin HALVES expect low_precision|wrong_value -- the result in half precision
#include <assay/candidate.h>
#include <math.h>

#ifdef HALVES
// x rounded to 11 significant bits.
static float narrowed(float x) {
  int e;
  frexpf(x, &e);
  return ldexpf(rintf(ldexpf(x, 11 - e)), e - 11);
}
#endif

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
#if defined(OF_SUM)
    y[i] = logf(1 + x[i]);
#elif defined(LINEAR)
    y[i] = x[i];
#elif defined(HALVES)
    y[i] = narrowed(log1pf(x[i]));
#else
    y[i] = log1pf(x[i]);
#endif
}
