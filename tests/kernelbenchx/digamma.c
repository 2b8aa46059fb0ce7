// The digamma function: shifted to arguments from 6 on, then four terms of Stirling's series.
// assay: task kernelbenchx/Math/digamma
// assay: expect pass
// assay: twin UNSHIFTED expect wrong_value -- the series alone, which is of use for large numbers only
// assay: twin ONE_TERM expect low_precision|wrong_value -- the first term of the series
// assay: twin LOGARITHM expect wrong_value -- log(x - 1/2), the function for large numbers
#include <assay/candidate.h>
#include <math.h>

static float digamma(float x) {
  float sum = 0;
#ifdef LOGARITHM
  return logf(fmaxf(x - 0.5f, 0.01f));
#endif
#ifndef UNSHIFTED
  for (; x < 6; x += 1)
    sum += 1 / x;
#endif
  float z = 1 / (x * x);
#ifdef ONE_TERM
  float tail = z / 12;
#else
  float tail = z * (1.0f / 12 - z * (1.0f / 120 - z * (1.0f / 252 - z / 240)));
#endif
  return logf(x) - 0.5f / x - tail - sum;
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = digamma(x[i]);
}
