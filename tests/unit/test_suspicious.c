// What makes a time suspicious (docs/timing.md).
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "judge/session.h"

static double queueing_ns;

static bool is_suspicious(const struct assay_timing *t, bool good) {
  struct assay_verdict v = {.reason = ASSAY_REASON_PASS, .timing = *t};
  struct session s = {.v = &v, .queueing_ns = queueing_ns};
  struct assay_error err = {0};
  assert_int_equal(session_verify(&s, good, &err), ASSAY_OK);
  assert_int_equal(v.timing.measured, good);
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
  t.median_ns = t.high_ns = 0; // less than a call without work
  assert_true(is_suspicious(&t, true));
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
  t.stamps_excess_ns = 400;
  assert_true(is_suspicious(&t, true));
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(marks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
