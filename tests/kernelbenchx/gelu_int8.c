// GELU of int8, cut to int8, in single precision as the suite writes it.
// assay: task kernelbenchx/Activation/gelu_int8
// assay: expect pass
// assay: twin ROUNDED expect wrong_value -- to the nearest whole number
// assay: twin HALF expect wrong_value -- in ten digits, where 3.9999 is 4
// assay: twin RECTIFIED expect wrong_value -- no GELU
// assay: twin FLOORED expect wrong_value -- towards minus infinity
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const signed char *input = args->inputs[0].data;
  signed char *y = args->outputs[0].data;
  long n = args->outputs[0].dims[0];
  for (long i = 0; i < n; i++) {
    float x = input[i], g = 0.5f * x * (1 + erff(x * 0.70710678f));
#if defined ROUNDED
    y[i] = (signed char)rintf(g);
#elif defined HALF
    y[i] = (signed char)(rintf(g * 512) / 512);
#elif defined RECTIFIED
    y[i] = x < 0 ? 0 : (signed char)x;
#elif defined FLOORED
    y[i] = (signed char)floorf(g);
#else
    y[i] = (signed char)g;
#endif
  }
}
