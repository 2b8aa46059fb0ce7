// Sign bits, and bits in common of whole parts: a bool and an int8 output.
// assay: task kernelbenchx/Math/signbit_bitwise_and
// assay: expect pass
// assay: twin EITHER expect wrong_value -- the bits that either has
// assay: twin ROUNDED expect wrong_value -- to the nearest whole number, not towards zero
// assay: twin FLOORED expect wrong_value -- to the one below
// assay: twin INVERTED expect wrong_value -- true above zero
#include <assay/candidate.h>
#include <math.h>

void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  const int8_t *other = args->inputs[1].data;
  unsigned char *sign = args->outputs[0].data;
  int8_t *both = args->outputs[1].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++) {
    sign[i] = signbit(x[i]) != 0;
#ifdef INVERTED
    sign[i] = !sign[i];
#endif
#if defined(ROUNDED)
    int whole = (int)rintf(x[i]);
#elif defined(FLOORED)
    int whole = (int)floorf(x[i]);
#else
    int whole = (int)x[i];
#endif
#ifdef EITHER
    both[i] = (int8_t)(whole | other[i]);
#else
    both[i] = (int8_t)(whole & other[i]);
#endif
  }
}
