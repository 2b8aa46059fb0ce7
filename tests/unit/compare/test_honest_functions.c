// SPDX-License-Identifier: Apache-2.0
// The functions that bench/honest.py gives honest kernels are honest: as near as stated, and in the function's range.
#define FUNCTIONS_STATED
#include "../../../bench/honest_functions.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static double units_off(float got, double want) {
  int e;
  frexp(want, &e);
  return fabs((double)got - want) / ldexp(1, e - 24);
}

// Over -13 to 13, and far out where they saturate.
static void test_ranges(void **state) {
  (void)state;
  for (int i = -130000; i <= 130000; i++) {
    float x = (float)i * (i % 2 ? 1e-4f : 1e-2f);
    float c = stated_erfc(x), e = stated_erf(x), t = stated_tanh(x), m = stated_expm1(x);
    assert_true(c >= 0 && c <= 2 && (x > -4 || c == 2));
    assert_true(e >= -1 && e <= 1 && t >= -1 && t <= 1 && m >= -1);
    if (x < 9)
      assert_true(units_off(c, erfc((double)x)) < 6.5); // four units and the library's own error
    assert_true(units_off(e, erf((double)x)) < 3.5 && units_off(t, tanh((double)x)) < 4);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_ranges)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
