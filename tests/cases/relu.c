// ReLU, the simplest kernel there is.
// assay: task kernelbench/1/19
// assay: expect pass
// assay: twin IDENTITY expect wrong_value -- returns its input, which is right for inputs that are never negative
// assay: twin ABSOLUTE expect wrong_value -- |x| instead of max(x, 0)
// assay: twin DROP_LAST expect unwritten -- the loop ends one element early
// assay: twin ZEROS expect wrong_value -- does no work at all
#include <assay/candidate.h>
#include <math.h>

static float relu(float x) {
#if defined(IDENTITY)
  return x;
#elif defined(ABSOLUTE)
  return fabsf(x);
#elif defined(ZEROS)
  return 0 * (x > 0);
#else
  return x < 0 ? 0 : x; // written this way round, a NaN stays a NaN
#endif
}

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
#ifdef DROP_LAST
  n--;
#endif
  for (int64_t i = 0; i < n; i++)
    y[i] = relu(x[i]);
}
