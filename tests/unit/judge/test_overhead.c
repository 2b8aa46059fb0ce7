// SPDX-License-Identifier: Apache-2.0
// What the protocol costs, by calls without a kernel.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "judge/overhead.h"

// Half of the calls were disturbed: a median would take 300 ns to 50 us off the candidate's times.
static void a_disturbed_machine(void **state) {
  (void)state;
  struct overhead o = {0};
  for (int i = 0; i < 16; i++)
    overhead_add(&o, i % 2 ? 300 + i : 50000);
  double cost = overhead_of(&o, 200000);
  assert_true(cost >= 300 && cost <= 316);
}

static void never_more_than_is_sane(void **state) {
  (void)state;
  struct overhead o = {0};
  assert_true(isnan(overhead_of(&o, 1000)));
  for (int i = 0; i < OVERHEAD_MOST_CALLS + 5; i++)
    overhead_add(&o, 5e6);
  assert_int_equal(o.n, OVERHEAD_MOST_CALLS);
  assert_true(overhead_of(&o, 200000) == 200000);
}

static void before_and_after(void **state) {
  (void)state;
  assert_true(overhead_both(900, 400) == 400);
  assert_true(overhead_both(400, 100000) == 400); // what makes such calls slow gains nothing
  assert_true(overhead_both(400, NAN) == 400);
  assert_true(overhead_both(NAN, 400) == 400);
  assert_true(isnan(overhead_both(NAN, NAN)));
}

static void on_the_way_to_the_start(void **state) {
  (void)state;
  double arming[16];
  for (int i = 0; i < 16; i++)
    arming[i] = i < 6 ? 20000 : 3e6; // a busy machine
  assert_true(overhead_allowance(arming, 16, 500000) == 25000);
  assert_true(overhead_allowance(arming + 6, 10, 500000) == 625000);
  for (int i = 0; i < 16; i++)
    arming[i] = i < 3 ? 16000 : 200000; // of processor time: a few calls that nothing disturbed are enough
  assert_true(overhead_work_allowance(arming, 16, 30000) == 20000);
  assert_true(overhead_work_allowance(arming + 3, 13, 30000) == 37500);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_disturbed_machine), cmocka_unit_test(never_more_than_is_sane),
                                     cmocka_unit_test(before_and_after), cmocka_unit_test(on_the_way_to_the_start)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
