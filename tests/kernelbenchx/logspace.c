// Powers of ten with equal steps between two ends.
// assay: task kernelbenchx/Random/logspace
// assay: expect pass
// assay: twin OPEN expect wrong_value -- n steps in place of n - 1
// assay: twin LINEAR expect wrong_value -- equal steps between the powers themselves
// assay: twin PRODUCTS expect low_precision|wrong_value -- each number the one before times a factor
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  float start = *(const float *)args->inputs[0].data, end = *(const float *)args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->inputs[2].dims[1];
#ifdef OPEN
  float step = (end - start) / (float)n;
#else
  float step = n > 1 ? (end - start) / (float)(n - 1) : 0;
#endif
#if defined(PRODUCTS)
  float factor = powf(10, step);
  y[0] = powf(10, start);
  for (int64_t i = 1; i < n; i++)
    y[i] = y[i - 1] * factor;
#elif defined(LINEAR)
  float a = powf(10, start), b = powf(10, end);
  for (int64_t i = 0; i < n; i++)
    y[i] = a + (b - a) * (n > 1 ? (float)i / (float)(n - 1) : 0);
#else
  for (int64_t i = 0; i < n; i++)
    y[i] = powf(10, 2 * i < n ? start + step * (float)i : end - step * (float)(n - 1 - i));
#endif
}
