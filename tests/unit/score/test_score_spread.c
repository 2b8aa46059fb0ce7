// SPDX-License-Identifier: Apache-2.0
#include "score/spread.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void spread_tells_all(void **state) {
  (void)state;
  const double x[] = {0.5, NAN, 1, 2, 4, 8};
  const struct score_spread s = score_spread_of(x, 6);
  assert_int_equal(s.n, 5);
  assert_int_equal(s.slower, 1); // 1 is not below 1
  assert_true(s.mean == 3.1 && s.median == 2 && fabs(s.geomean - 2) < 1e-12 && s.least == 0.5 && s.most == 8);
  assert_true(s.mean_interval.low > 0.5 && s.mean_interval.low < s.mean && s.mean_interval.high > s.mean);
  assert_true(s.geomean_interval.low < 2 && s.geomean_interval.high > 2);
  const struct score_spread again = score_spread_of(x, 6);
  assert_true(again.mean_interval.low == s.mean_interval.low);
}

static void few_values_have_no_interval(void **state) {
  (void)state;
  const double x[] = {2, 3, 4, 5};
  struct score_spread s = score_spread_of(x, 4);
  assert_true(isnan(s.mean_interval.low) && !isnan(s.geomean_interval.low) && s.mean == 3.5);
  s = score_spread_of(x, 2);
  assert_true(isnan(s.geomean_interval.low) && s.n == 2);
  s = score_spread_of(x, 0);
  assert_true(s.n == 0 && isnan(s.mean) && isnan(s.median) && isnan(s.geomean) && isnan(s.least));
}

static void tasks_change(void **state) {
  (void)state;
  const struct score_change changes[] = {
      {false, true, NAN, 0.5}, {false, true, 9, 1.5},  {true, true, 2, 3},
      {true, true, 1, NAN},    {true, false, 0.25, 7}, {false, false, NAN, NAN},
  };
  struct score_transitions t;
  assert_true(score_transitions_of(changes, 6, &t));
  assert_true(t.n == 6 && t.rescued == 2 && t.persistent == 2 && t.lost == 1 && t.failing == 1);
  assert_true(t.rescued_speed.n == 2 && t.rescued_speed.mean == 1 && t.rescued_speed.slower == 1);
  assert_true(t.persistent_before.n == 2 && t.persistent_before.mean == 1.5);
  assert_true(t.persistent_after.n == 1 && t.persistent_after.mean == 3); // a time may be missing
  assert_true(t.lost_speed.n == 1 && t.lost_speed.slower == 1);
  assert_true(t.before.n == 3 && t.after.n == 3);
  assert_true(score_transitions_of(changes, 0, &t) && t.n == 0 && t.after.n == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(spread_tells_all),
      cmocka_unit_test(few_values_have_no_interval),
      cmocka_unit_test(tasks_change),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
