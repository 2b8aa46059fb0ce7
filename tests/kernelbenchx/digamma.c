// The digamma function: shifted to arguments from 6 on, then four terms of Stirling's series; below zero reflected.
// Probes ask at numbers far larger and smaller than the task's own, and below zero, where it has poles.
// assay: task kernelbenchx/Math/digamma
// assay: expect pass
// assay: twin UNSHIFTED expect wrong_value|wrong_class -- the series alone, which is of use for large numbers only
// assay: twin ONE_TERM expect low_precision|wrong_value -- the first term of the series
// assay: twin LOGARITHM expect wrong_value|wrong_class -- log(x - 1/2), the function for large numbers
// assay: twin NARROW expect wrong_value|wrong_class -- right up to 20, the greatest of the task's own numbers
// assay: twin ABOVE_ZERO expect wrong_value|wrong_class -- right above zero
#include <assay/candidate.h>
#include <math.h>

static float above_zero(float x) {
  float sum = 0;
#ifdef LOGARITHM
  return logf(fmaxf(x - 0.5f, 0.01f));
#endif
#ifdef NARROW
  if (x > 20)
    x = 20;
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

static float digamma(float x) {
  if (x >= 0)
    return above_zero(x);
#ifdef ABOVE_ZERO
  return above_zero(-x);
#endif
  if (x == truncf(x))
    return NAN;
  // pi / tan(pi x), of the fraction alone
  double pi = 3.14159265358979323846, fraction = (double)x - trunc((double)x);
  return (float)((double)above_zero(1 - x) - pi / tan(pi * fraction));
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++)
    y[i] = digamma(x[i]);
}
