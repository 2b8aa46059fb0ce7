// Bits that both have.
// assay: task kernelbenchx/Math/bitwise_and
// assay: expect pass
// assay: twin LOW_BYTE expect wrong_value -- right where both are whole numbers of eight bits
// assay: twin LOW_HALF expect wrong_value -- of sixteen
// assay: twin EITHER expect wrong_value -- the bits that either has
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const int32_t *input = args->inputs[0].data, *other = args->inputs[1].data;
  int32_t *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++) {
#if defined LOW_BYTE
    y[i] = (int8_t)(input[i] & other[i]);
#elif defined LOW_HALF
    y[i] = (int16_t)(input[i] & other[i]);
#elif defined EITHER
    y[i] = input[i] | other[i];
#else
    y[i] = input[i] & other[i];
#endif
  }
}
