// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState: sequences in one call and in several, states longer than the input, activations, errors.
#include "op_call.h"

// A whole sequence, and the same in two calls with the state handed on; the last tap meets the present.
static void test_causal_conv(void **state) {
  (void)state;
  static const double x[] = {1, 2, 3, 4, 5, 10, 20, 30, 40, 50}, w[] = {100, 10, 1, 0, 0, 2};
  struct call c;
  call_begin(&c, "CausalConvWithState", 27);
  call_f(&c, "1,2,5", x);
  call_f(&c, "2,1,3", w);
  call_f(&c, "2", D(0.5, -1));
  call_run(&c, 2);
  call_check_f(&c, 0, "1,2,5", D(1.5, 12.5, 123.5, 234.5, 345.5, 19, 39, 59, 79, 99));
  call_check_f(&c, 1, "1,2,2", D(4, 5, 40, 50));
  call_end(&c);
  call_begin(&c, "CausalConvWithState", 27); // shorter than the state
  call_f(&c, "1,2,1", D(7, 8));
  call_f(&c, "2,1,3", w);
  call_none(&c);
  call_f(&c, "1,2,2", D(4, 5, 40, 50));
  call_run(&c, 2);
  call_check_f(&c, 0, "1,2,1", D(457, 16));
  call_check_f(&c, 1, "1,2,2", D(5, 7, 50, 8));
  call_end(&c);
  call_begin(&c, "CausalConvWithState", 27); // one tap: no state; an activation
  call_attr_string(&c, "activation", "swish");
  call_f(&c, "1,1,2", D(1, -2));
  call_f(&c, "1,1,1", D(2));
  call_run(&c, 2);
  call_check_f(&c, 0, "1,1,2", D(2 / (1 + exp(-2)), -4 / (1 + exp(4))));
  call_check_shape(&c, 1, "1,1,0");
  call_end(&c);
  call_begin(&c, "CausalConvWithState", 27); // nothing new
  call_f(&c, "1,1,0", D(0));
  call_f(&c, "1,1,3", w);
  call_none(&c);
  call_f(&c, "1,1,2", D(4, 5));
  call_run(&c, 2);
  call_check_f(&c, 1, "1,1,2", D(4, 5));
  call_end(&c);
}

static void test_causal_conv_errors(void **state) {
  (void)state;
  struct call c;
  static const double zeros[16] = {0};
  call_begin(&c, "CausalConvWithState", 27);
  call_f(&c, "1,2,5", zeros);
  call_f(&c, "2,2,3", zeros);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "[channels, 1, taps]");
  call_begin(&c, "CausalConvWithState", 27);
  call_f(&c, "1,2,5", zeros);
  call_f(&c, "2,1,3", zeros);
  call_f(&c, "3", zeros);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "the bias must have the shape [2]");
  call_begin(&c, "CausalConvWithState", 27);
  call_f(&c, "1,2,5", zeros);
  call_f(&c, "2,1,3", zeros);
  call_none(&c);
  call_f(&c, "1,2,3", zeros);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "[1,2,2]");
  call_begin(&c, "CausalConvWithState", 27);
  call_attr_string(&c, "activation", "relu");
  call_f(&c, "1,2,5", zeros);
  call_f(&c, "2,1,3", zeros);
  call_fails(&c, 1, ASSAY_ERR_INVALID, "relu");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_causal_conv),
      cmocka_unit_test(test_causal_conv_errors),
  };
  return cmocka_run_group_tests_name("CausalConvWithState", tests, NULL, NULL);
}
