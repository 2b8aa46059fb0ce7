// SPDX-License-Identifier: Apache-2.0
// modules: tune
// Early stopping compares a time with one of another moment: when it says nothing of the configuration.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "tune/outcome.h"

static const struct tune_limits limits = {.give_up_ns = 1500, .best_high_ns = 1040};

// Right, on two processors of which others had so many, in 2000 ns of which 1900 to 2100 are likely.
static struct assay_verdict timed(const char *mode, double others) {
  struct assay_verdict v = {.reason = ASSAY_REASON_PASS,
                            .timing = {.measured = true,
                                       .median_ns = 2000,
                                       .low_ns = 1900,
                                       .high_ns = 2100,
                                       .load = {.known = true, .cpus = 2, .average = 1, .others = others}}};
  snprintf(v.mode, sizeof v.mode, "%s", mode);
  return v;
}

static void a_quiet_machine(void **state) {
  (void)state;
  struct assay_verdict v = timed("process", 0.1);
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_SLOW);
  v.timing.median_ns = 1500;
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_OK);
  v.timing.median_ns = 2000;
  const struct tune_limits never = {.give_up_ns = 0, .best_high_ns = NAN};
  assert_int_equal(tune_outcome(&v, &never), STORE_TRIAL_OK);
  const struct tune_limits unknown = {.give_up_ns = 1500, .best_high_ns = NAN};
  assert_int_equal(tune_outcome(&v, &unknown), STORE_TRIAL_SLOW);
  v.timing.measured = false;
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_FAILED);
}

// What a wrong configuration cut off is tried again, if it is near what is the best then.
static void cut_by_what_was_wrong(void **state) {
  (void)state;
  struct store_trial t = {.status = STORE_TRIAL_SLOW, .time_ns = 1090};
  assert_true(tune_was_cut_in_vain(&t, 1000, 1.5));
  assert_true(tune_was_cut_in_vain(&t, NAN, 1.5)); // nothing is left
  assert_false(tune_was_cut_in_vain(&t, 980, 1.5));
  assert_false(tune_was_cut_in_vain(&t, 1000, 1.05)); // as slow as that it would be cut off again
  t.status = STORE_TRIAL_OK;
  assert_false(tune_was_cut_in_vain(&t, 1000, 1.5));
  t = (struct store_trial){.status = STORE_TRIAL_WRONG, .time_ns = NAN};
  assert_false(tune_was_cut_in_vain(&t, 1000, 1.5));
}

// Others had a quarter of the processors: the time is not held against the configuration.
static void a_busy_machine(void **state) {
  (void)state;
  struct assay_verdict v = timed("process", 0.5);
  assert_true(tune_is_doubtful(&v, &limits));
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_FAILED);
  v.timing.median_ns = 1400; // below what it is given up at: it has a time, busy or not
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_OK);
}

// Of a plan on a GPU no work of the host is in the time; of one on the CPU (PoCL) there is.
static void a_plan(void **state) {
  (void)state;
  struct assay_verdict v = timed("plan", 1.5);
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_SLOW);
  v.times_rank_nothing = true;
  assert_int_equal(tune_outcome(&v, &limits), STORE_TRIAL_FAILED);
}

// A best time that is not known to be below.
static void intervals_that_overlap(void **state) {
  (void)state;
  struct assay_verdict v = timed("plan", 0);
  const struct tune_limits wide = {.give_up_ns = 1500, .best_high_ns = 1900};
  assert_int_equal(tune_outcome(&v, &wide), STORE_TRIAL_FAILED);
  v.timing.low_ns = 1901;
  assert_int_equal(tune_outcome(&v, &wide), STORE_TRIAL_SLOW);
}

static void what_is_not_right(void **state) {
  (void)state;
  static const struct {
    enum assay_reason reason;
    enum store_trial_status status;
  } rows[] = {
      {ASSAY_REASON_BUILD_FAILED, STORE_TRIAL_COMPILE_ERROR}, {ASSAY_REASON_TIMEOUT, STORE_TRIAL_TIMEOUT},
      {ASSAY_REASON_WRONG_VALUE, STORE_TRIAL_WRONG},          {ASSAY_REASON_CHANGED_BEHAVIOUR, STORE_TRIAL_WRONG},
      {ASSAY_REASON_CRASHED, STORE_TRIAL_LAUNCH_ERROR},       {ASSAY_REASON_LAUNCH_FAILED, STORE_TRIAL_LAUNCH_ERROR}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    struct assay_verdict v = timed("process", 2);
    v.reason = rows[i].reason;
    assert_int_equal(tune_outcome(&v, &limits), rows[i].status);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_quiet_machine), cmocka_unit_test(cut_by_what_was_wrong),  cmocka_unit_test(a_busy_machine),
      cmocka_unit_test(a_plan),          cmocka_unit_test(intervals_that_overlap), cmocka_unit_test(what_is_not_right),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
