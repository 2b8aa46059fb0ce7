// SPDX-License-Identifier: Apache-2.0
// What makes a time suspicious (docs/timing.md).
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "judge/session.h"

static double queueing_ns;

static const struct assay_judge_options options = {.timing = true};

static bool is_suspicious(const struct assay_timing *t, bool good) {
  struct assay_verdict v = {
      .reason = good ? ASSAY_REASON_PASS : ASSAY_REASON_WRONG_VALUE, .timing = *t, .mode = "plan"};
  struct session s = {.v = &v, .o = &options, .queueing_ns = queueing_ns};
  struct assay_error err = {0};
  assert_int_equal(session_verify(&s, &err), ASSAY_OK);
  bool nothing = t->median_ns <= 0;
  assert_int_equal(v.timing.measured, good && !nothing);
  assert_int_equal(isnan(v.timing.median_ns), good && nothing); // never 0, of which no row can give a width
  assert_int_equal(strncmp(v.detail, "no time: ", 9) == 0, good && nothing);
  return v.timing.suspicious;
}

static void marks(void **state) {
  (void)state;
  const struct assay_timing honest = {
      .measured = true, .median_ns = 1e6, .high_ns = 1.01e6, .floor_ns = 9e5, .wall_ns = 1.05e6, .stamps_compared = 30};
  struct assay_timing t = honest;
  assert_false(is_suspicious(&t, true));
  t.floor_ns = t.wall_ns = NAN; // unknown
  assert_false(is_suspicious(&t, true));
  t.median_ns = t.high_ns = 0; // less than a call without work: no time, and nothing that a kernel did
  assert_false(is_suspicious(&t, true));
  assert_false(is_suspicious(&t, false)); // a wrong kernel has no time
  t = honest;
  t.floor_ns = 1.5e6;
  assert_true(is_suspicious(&t, true));
  t = honest;
  t.wall_ns = 1.4e6;
  assert_true(is_suspicious(&t, true));
  queueing_ns = 1e5; // of ten steps
  assert_false(is_suspicious(&t, true));
  queueing_ns = 0;
  t = honest;
  t.stamps_apart = 6;
  assert_false(is_suspicious(&t, true));
  t.stamps_apart = 7;
  assert_true(is_suspicious(&t, true));
  t = honest;
  t.stamps_excess_ns = 400; // is in the time already
  assert_false(is_suspicious(&t, true));
}

// Hot calls have a floor, too: what no cache can deliver.
static void hot_calls(void **state) {
  (void)state;
  struct assay_timing t = {.measured = true, .median_ns = 1e6, .high_ns = 1.01e6, .floor_ns = 9e5, .wall_ns = NAN};
  struct assay_verdict v = {.timing = t, .mode = "process"};
  struct session s = {.v = &v, .o = &options, .hot_high_ns = 29, .hot_floor_ns = 3e4};
  struct assay_error err = {0};
  assert_int_equal(session_verify(&s, &err), ASSAY_OK);
  assert_true(v.timing.suspicious);
  v.timing = t;
  s.hot_high_ns = 2.2e4;
  assert_int_equal(session_verify(&s, &err), ASSAY_OK);
  assert_false(v.timing.suspicious);
  s.hot_high_ns = NAN;
  assert_int_equal(session_verify(&s, &err), ASSAY_OK);
  assert_false(v.timing.suspicious);
}

// A pass that was timed in this way, on a machine that did so much besides.
static struct assay_verdict timed(const char *mode, double others, const struct assay_timing *t) {
  struct assay_verdict v = {.timing = *t};
  struct session s = {.v = &v, .o = &options};
  struct assay_error err = {0};
  snprintf(v.mode, sizeof v.mode, "%s", mode);
  v.timing.load = (struct assay_load){.known = true, .cpus = 2, .average = 11, .others = others};
  assert_int_equal(session_verify(&s, &err), ASSAY_OK);
  assert_int_equal(v.reason, ASSAY_REASON_PASS);
  return v;
}

// What a busy machine does to a time is not the kernel's doing: there is none, and it is not suspicious.
static void busy_machine(void **state) {
  (void)state;
  const struct assay_timing usual = {
      .measured = true, .median_ns = 1e6, .high_ns = 1.01e6, .floor_ns = 9e5, .wall_ns = NAN};
  struct assay_timing fast = usual, nothing = usual, unmeasured = {.stop = "few calls were steady"};
  fast.floor_ns = 9e6;
  nothing.median_ns = nothing.high_ns = 0;
  const struct assay_timing *const all[] = {&usual, &fast, &nothing, &unmeasured};
  for (int i = 0; i < 4; i++) {
    struct assay_verdict v = timed("process", 1.6, all[i]);
    assert_string_equal(v.detail, "no time: machine too busy (load 11 on 2 CPUs)");
    assert_false(v.timing.measured || v.timing.suspicious || v.timing.unstable || !isnan(v.timing.median_ns));
  }
  struct assay_verdict v = timed("process", 0.7, &usual); // felt
  assert_true(v.timing.measured && v.timing.unstable && !v.timing.suspicious && v.detail[0] == '\0');
  v = timed("process", 0.1, &usual);
  assert_true(v.timing.measured && !v.timing.unstable);
  assert_true(timed("process", 0.1, &fast).timing.suspicious);
  v = timed("plan", 1.9, &usual); // a GPU's time has no part of the host's
  assert_true(v.timing.measured && !v.timing.unstable);
  struct assay_timing late = usual; // but the judge's clock has
  late.wall_ns = 1.7e6;
  v = timed("plan", 0.7, &late);
  assert_string_equal(v.detail, "no time: machine too busy (load 11 on 2 CPUs)");
  assert_false(v.timing.measured || v.timing.suspicious);
  assert_true(timed("plan", 0.1, &late).timing.suspicious);
  late.floor_ns = 9e6; // too fast as well, which no load explains
  assert_true(timed("plan", 0.7, &late).timing.suspicious);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(marks), cmocka_unit_test(hot_calls),
                                     cmocka_unit_test(busy_machine)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
