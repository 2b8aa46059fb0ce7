// SPDX-License-Identifier: Apache-2.0
// Cost next to quality, against figures worked by hand.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "stats/progress.h"

// Six requests: nothing, 100 ns, slower, faster, wrong, fastest. Tokens are 10, 20, 30, ...; the price of the fourth
// request is not known.
static void fill(struct progress_step steps[6]) {
  static const double times[] = {NAN, 100, 120, 52, NAN, 50};
  for (int i = 0; i < 6; i++) {
    steps[i] = (struct progress_step){.time_ns = times[i]};
    steps[i].cost[PROGRESS_REQUESTS] = 1;
    steps[i].cost[PROGRESS_CALLS] = i == 1 ? 3 : 1;
    steps[i].cost[PROGRESS_TOKENS] = 10 * (i + 1);
    steps[i].cost[PROGRESS_USD] = i == 3 ? NAN : 0.5;
    steps[i].cost[PROGRESS_WALL] = 2;
  }
}

static void the_best_so_far(void **state) {
  (void)state;
  struct progress_step steps[6], curve[6];
  fill(steps);
  assert_int_equal(stats_progress_curve(steps, 6, curve), 3);
  static const double times[] = {100, 52, 50}, requests[] = {2, 4, 6}, calls[] = {4, 6, 8}, tokens[] = {30, 100, 210};
  for (int i = 0; i < 3; i++) {
    assert_true(curve[i].time_ns == times[i]);
    assert_true(curve[i].cost[PROGRESS_REQUESTS] == requests[i]);
    assert_true(curve[i].cost[PROGRESS_CALLS] == calls[i]);
    assert_true(curve[i].cost[PROGRESS_TOKENS] == tokens[i]);
    assert_true(curve[i].cost[PROGRESS_WALL] == 2 * requests[i]);
    assert_true(curve[i].cost[PROGRESS_GPU] == 0);
  }
  assert_true(curve[0].cost[PROGRESS_USD] == 1);
  assert_true(isnan(curve[1].cost[PROGRESS_USD]) && isnan(curve[2].cost[PROGRESS_USD])); // unknown, not zero
  assert_int_equal(stats_progress_curve(steps, 1, curve), 0);
}

// The best known is 50 ns: within 10 % is 55, within 5 % 52.5, within 2 % 51.
static void cost_to_a_target(void **state) {
  (void)state;
  struct progress_step steps[6];
  double cost[PROGRESS_AXES];
  fill(steps);
  assert_true(stats_cost_to(steps, 6, 55, cost));
  assert_true(cost[PROGRESS_REQUESTS] == 4 && cost[PROGRESS_TOKENS] == 100);
  assert_true(stats_cost_to(steps, 6, 52.5, cost));
  assert_true(cost[PROGRESS_REQUESTS] == 4);
  assert_true(stats_cost_to(steps, 6, 51, cost));
  assert_true(cost[PROGRESS_REQUESTS] == 6 && cost[PROGRESS_TOKENS] == 210);
  assert_true(stats_cost_to(steps, 6, 50, cost));
  assert_false(stats_cost_to(steps, 6, 49, cost)); // never: all that was spent
  assert_true(cost[PROGRESS_REQUESTS] == 6 && cost[PROGRESS_CALLS] == 8);
  assert_false(stats_cost_to(steps, 6, NAN, cost));
}

// Four tasks took 4, 6 and 10 requests until they were there, and the last gave up after 20: 40 requests for three
// successes.
static void expected_running_time(void **state) {
  (void)state;
  assert_true(stats_ert(4 + 6 + 10 + 20, 3) == 40.0 / 3);
  assert_true(isnan(stats_ert(20, 0)));
}

// Speeds 3, 1, 0, 2. Of one: their mean, 1.5. Of two: the six pairs' highest are 3, 3, 3, 1, 2, 2: 14/6. Of three:
// 3, 3, 3, 2: 11/4. Of four: 3.
static void best_of_k(void **state) {
  (void)state;
  double speeds[] = {3, 1, 0, 2};
  static const double exact[] = {1.5, 14.0 / 6, 11.0 / 4, 3};
  for (int k = 1; k <= 4; k++)
    assert_true(fabs(stats_best_speed_of_k(speeds, 4, k) - exact[k - 1]) < 1e-12);
  assert_true(isnan(stats_best_speed_of_k(speeds, 4, 5)));
  assert_true(isnan(stats_best_speed_of_k(speeds, 4, 0)));
  // One that is not known may be the highest, wherever it stands: it used to be so by where the sort had left it.
  for (int i = 0; i < 3; i++)
    for (int k = 1; k <= 3; k++) {
      double some[] = {3, 2, 1};
      some[i] = NAN;
      assert_true(isnan(stats_best_speed_of_k(some, 3, k)));
    }
  double none[] = {0, 0, 0};
  assert_true(stats_best_speed_of_k(none, 3, 2) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_best_so_far),
      cmocka_unit_test(cost_to_a_target),
      cmocka_unit_test(expected_running_time),
      cmocka_unit_test(best_of_k),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
