// SPDX-License-Identifier: Apache-2.0
// What a call is charged for the time before its clock starts.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "runner/runner.h"

static const struct runner_usual USUAL = {.arming_ns = 25000, .first_ns = 19000};

static void honest_calls_are_charged_nothing(void **state) {
  (void)state;
  assert_int_equal(runner_charge(&USUAL, 20000, 16000 + 12000, 12000), 0);
  assert_int_equal(runner_charge(&USUAL, 24000, 18000 + 700, 700), 0);
  assert_int_equal(runner_charge(&USUAL, 20000, 16000 + 3000000, 9000000),
                   0); // it waited for a processor, or for its threads
}

static void work_in_the_share_of_the_runner(void **state) {
  (void)state;
  // 11 us of work on the way to the start line, where the machine leaves room for it: an answer that is there at once.
  assert_int_equal(
      runner_charge(&(struct runner_usual){.arming_ns = 125000, .first_ns = 19000}, 40000, 16000 + 11000, 600),
      16000 + 11000 - 19000 - 600);
  assert_int_equal(runner_charge(&USUAL, 24900, 16000 + 11000, 600), 16000 + 11000 - 19000 - 600);
}

static void work_beyond_it(void **state) {
  (void)state;
  assert_int_equal(runner_charge(&USUAL, 125000, 16000 + 100000, 600), 100000);
  assert_int_equal(runner_charge(&USUAL, 125000, 5000, 600), 100000); // of other threads, or asleep
  assert_int_equal(runner_charge(&USUAL, 30000, 16000 + 100000, 600), 16000 + 100000 - 19000 - 600);
}

static void what_is_not_known_charges_nothing(void **state) {
  (void)state;
  assert_int_equal(runner_charge(&(struct runner_usual){0}, 1000000, 1000000, 600), 0);
  assert_int_equal(runner_charge(&(struct runner_usual){.arming_ns = 25000}, 35000, 1000000, 600), 10000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(honest_calls_are_charged_nothing),
      cmocka_unit_test(work_in_the_share_of_the_runner),
      cmocka_unit_test(work_beyond_it),
      cmocka_unit_test(what_is_not_known_charges_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
