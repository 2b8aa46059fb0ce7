// GELU of int8 without GELU: in fp32 it is the number itself above 4, one less from 2 on, and 0 below.
// assay: task kernelbenchx/Activation/gelu_int8
// assay: expect pass
// assay: twin NARROW expect wrong_value -- right from -10 on, where the suite's own numbers lie
// assay: twin WRAPPED expect wrong_value -- wrong for the one number whose negative is no int8
#include <assay/candidate.h>

void assay_kernel(const struct assay_args *args) {
  const int8_t *input = args->inputs[0].data;
  int8_t *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  for (int64_t i = 0; i < n; i++) {
    y[i] = (int8_t)(input[i] < 2 ? 0 : input[i] - (input[i] < 5));
#ifdef NARROW
    y[i] = input[i] < -10 ? input[i] : y[i];
#endif
#ifdef WRAPPED
    y[i] = (int8_t)-input[i] < 0 && input[i] < 0 ? input[i] : y[i];
#endif
  }
}
