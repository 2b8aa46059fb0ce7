// SPDX-License-Identifier: Apache-2.0
// The device's clock compared with others, with numbers that one can follow by hand. All in ns.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "judge/stamps.h"

// A call without a kernel: 2 us between the events, 5 us between the stamps outside, 40 us by the judge's clock.
static const struct stamps_null null_call = {.events_ns = 2000, .outside_ns = 5000, .wall_ns = 40000};

// A cold call: the stamps outside say `excess` more than the events.
static struct stamps_call cold_call(double events_ns, double excess_ns) {
  return (struct stamps_call){
      .cold = true, .events_ns = events_ns, .outside_ns = events_ns + 3000 + excess_ns, .wall_ns = events_ns + 50000};
}

static struct stamps seen;

static double take(struct stamps_call c, bool expected_to_count) {
  bool counts;
  double time_ns = stamps_take(&seen, &null_call, &c, &counts);
  assert_int_equal(counts, expected_to_count);
  return time_ns;
}

static void close_to(double x, double y) {
  if (!(fabs(x - y) < 1e-6))
    fail_msg("%g, not %g", x, y);
}

// Ten calls of 100 us. The clocks agree: eight times within 50 ns, twice within 900.
static void honest(void **state) {
  (void)state;
  double samples[10];
  seen = (struct stamps){0};
  for (int i = 0; i < 10; i++)
    close_to(samples[i] = take(cold_call(100000, i < 8 ? 50 : 900), true), 100000);
  struct stamps_facts f = stamps_judge(&seen, &null_call, samples, 10, 1);
  assert_int_equal(f.n_compared, 10);
  assert_int_equal(f.n_apart, 0);
  close_to(f.excess_ns, 0);       // the median is 50
  close_to(f.wall_ns, 110000);    // 150 us, less 40
  close_to(f.queueing_ns, 10000); // one step
  assert_false(stamps_are_suspicious(&f, 98000));
}

// A kernel works for 100 us and moves the stamp of its start: the events say 20 us.
static void forged_by_much(void **state) {
  (void)state;
  double samples[10];
  seen = (struct stamps){0};
  for (int i = 0; i < 10; i++)
    close_to(samples[i] = take(cold_call(20000, 80000), true), 100000); // the stamps outside are believed
  struct stamps_facts f = stamps_judge(&seen, &null_call, samples, 10, 1);
  assert_int_equal(f.n_apart, 10);
  close_to(f.excess_ns, 0); // in single calls, so not added once more
  assert_true(stamps_are_suspicious(&f, 98000));
}

// A fifth of the calls is chance; more is not.
static void forged_now_and_then(void **state) {
  (void)state;
  struct stamps_facts f = {.wall_ns = NAN, .n_compared = 10, .n_apart = 2};
  assert_false(stamps_are_suspicious(&f, 1e5));
  f.n_apart = 3;
  assert_true(stamps_are_suspicious(&f, 1e5));
}

// By 0.8 us, which does not show in one call, and shows in the median: more than 0.3 us and 0.1 % of 100 us. It is
// added, so nothing is gained.
static void forged_by_little(void **state) {
  (void)state;
  double samples[11];
  seen = (struct stamps){0};
  for (int i = 0; i < 11; i++)
    close_to(samples[i] = take(cold_call(100000, 750 + 10 * i), true), 100000);
  struct stamps_facts f = stamps_judge(&seen, &null_call, samples, 11, 1);
  assert_int_equal(f.n_apart, 0);
  close_to(f.excess_ns, 800);
  assert_false(stamps_are_suspicious(&f, 98000));
  for (int i = 0; i < 11; i++)
    samples[i] = 500000; // 0.1 % of these is 0.5 us: 0.8 us is no more than chance
  close_to(stamps_judge(&seen, &null_call, samples, 11, 1).excess_ns, 0);
}

// An honest plan of many small launches, as seen on an H200: the clock's step of 512 ns shows in most of its calls.
static void the_clocks_step(void **state) {
  (void)state;
  double samples[11];
  seen = (struct stamps){0};
  for (int i = 0; i < 11; i++)
    samples[i] = take(cold_call(40000, i < 3 ? 0 : 512), true);
  struct stamps_facts f = stamps_judge(&seen, &null_call, samples, 11, 100);
  close_to(f.excess_ns, 512);
  assert_int_equal(f.n_apart, 0);
  assert_false(stamps_are_suspicious(&f, 38000));
}

// Calls without a kernel: the cost is a low quantile of the events, with what the stamps outside say more in the usual
// call; a disturbed machine does not make it large.
static void the_protocols_cost(void **state) {
  (void)state;
  struct stamps_nulls all = {0};
  for (int i = 0; i < 11; i++)
    stamps_null_add(&all, 2000 + 100 * i, 5000 + 100 * i, 40000 + 1000 * i);
  struct stamps_null null = stamps_null_of(&all);
  close_to(null.events_ns, 2100);
  close_to(null.outside_ns, 5100);
  close_to(null.wall_ns, 45000);
  all = (struct stamps_nulls){0};
  for (int i = 0; i < STAMPS_NULLS + 3; i++)
    stamps_null_add(&all, 3e5, 3e5 + 3000, 4e5);
  assert_int_equal(all.n, STAMPS_NULLS);
  null = stamps_null_of(&all);
  close_to(null.events_ns, 20000);
  close_to(null.outside_ns, 23000);
  all = (struct stamps_nulls){0};
  for (int i = 0; i < 5; i++)
    stamps_null_add(&all, 3e5, 0, 4e5); // no GPU
  null = stamps_null_of(&all);
  close_to(null.events_ns, 3e5);
  close_to(null.outside_ns, 0);
}

// Measured again after the calls: the cheaper one is the cost, and what keeps the device from the judge, by its clock,
// is nothing that a kernel did.
static void measured_again(void **state) {
  (void)state;
  struct stamps_null null = null_call, after = {.events_ns = 1500, .outside_ns = 4900, .wall_ns = 600000};
  struct stamps one_wall = {.n_walls = 1, .walls_ns = {700000}};
  const double sample = 100000;
  struct stamps_facts f = stamps_judge(&one_wall, &null, &sample, 1, 1);
  assert_true(stamps_are_suspicious(&f, sample));
  stamps_null_again(&null, &after);
  close_to(null.events_ns, 1500);
  close_to(null.outside_ns, 4500); // what it says more than the events stays
  close_to(null.wall_ns, 600000);
  f = stamps_judge(&one_wall, &null, &sample, 1, 1);
  assert_false(stamps_are_suspicious(&f, sample));
  after = (struct stamps_null){.events_ns = 9000, .outside_ns = 99000, .wall_ns = 10000};
  stamps_null_again(&null, &after);
  close_to(null.events_ns, 1500);
  close_to(null.outside_ns, 4500);
  close_to(null.wall_ns, 600000);
}

// Work outside of the events: 100 us by them, 350 by the judge's clock. The bound is 1.25 times the median and 0.1 ms.
static void work_elsewhere(void **state) {
  (void)state;
  struct stamps_facts f = {.wall_ns = 350000, .queueing_ns = 10000, .n_compared = 10};
  assert_true(stamps_are_suspicious(&f, 100000));  // 350 > 125 + 100 + 10
  assert_false(stamps_are_suspicious(&f, 200000)); // 350 < 250 + 100 + 10
}

// 100 steps are queued before the device begins, which takes the host time on the judge's clock.
static void bound_by_queueing(void **state) {
  (void)state;
  double samples[5];
  seen = (struct stamps){0};
  for (int i = 0; i < 5; i++) {
    struct stamps_call c = cold_call(100000, 0);
    c.wall_ns += 400000;
    samples[i] = take(c, true);
  }
  struct stamps_facts f = stamps_judge(&seen, &null_call, samples, 5, 100);
  close_to(f.wall_ns, 510000);
  close_to(f.queueing_ns, 1e6);
  assert_false(stamps_are_suspicious(&f, 98000)); // 510 < 122.5 + 100 + 1000
  f = stamps_judge(&seen, &null_call, samples, 5, 1);
  assert_true(stamps_are_suspicious(&f, 98000)); // 510 > 122.5 + 100 + 10
}

// Where the stream was let go early, the host's way to the stamp is in the time, and does not count as excess.
static void let_go_early(void **state) {
  (void)state;
  struct stamps_call c = cold_call(100000, 40000);
  seen = (struct stamps){0};
  c.let_go_early = true;
  close_to(take(c, true), 140000);
  assert_int_equal(seen.n_apart, 0);
  c = cold_call(100000, 60000);
  c.let_go_early = true;
  close_to(take(c, true), 160000);
  assert_int_equal(seen.n_apart, 1);
  c = cold_call(100000, 500);
  c.let_go_early = true;
  take(c, true);
  assert_int_equal(seen.n_excess, 0); // no part of the median
  assert_int_equal(seen.n_compared, 3);
}

// Calls that say nothing, and calls of other kinds.
static void which_calls_count(void **state) {
  (void)state;
  struct stamps_call c = cold_call(100000, 0);
  seen = (struct stamps){0};
  c.repeated = true;
  take(c, false);
  assert_int_equal(seen.n_walls, 0);
  c = cold_call(100000, 0);
  c.outside_ns = 0;
  close_to(take(c, false), 100000); // unproven
  assert_int_equal(seen.n_walls, 1);
  c.as_called = true;
  close_to(take(c, true), 100000);
  c = cold_call(100000, 0);
  c.cold = false; // hot, or another workload: compared, and in no median
  take(c, true);
  assert_int_equal(seen.n_walls, 1);
  assert_int_equal(seen.n_excess, 1);
  assert_int_equal(seen.n_compared, 2);
}

// A device without such stamps, and no calls at all.
static void too_few(void **state) {
  (void)state;
  const struct stamps_null without = {.events_ns = 2000, .wall_ns = 40000};
  struct stamps_call c = cold_call(100000, 80000);
  bool counts;
  seen = (struct stamps){0};
  close_to(stamps_take(&seen, &without, &c, &counts), 100000);
  assert_int_equal(seen.n_compared, 0);
  seen = (struct stamps){0};
  struct stamps_facts f = stamps_judge(&seen, &null_call, NULL, 0, 0);
  assert_true(isnan(f.wall_ns));
  close_to(f.excess_ns, 0);
  assert_false(stamps_are_suspicious(&f, 100000));
  // Beyond the room there is, calls are compared and counted, and not kept.
  for (int i = 0; i < STAMPS_MOST + 10; i++)
    take(cold_call(100000, 0), true);
  assert_int_equal(seen.n_walls, STAMPS_MOST);
  assert_int_equal(seen.n_excess, STAMPS_MOST);
  assert_int_equal(seen.n_compared, STAMPS_MOST + 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(honest),           cmocka_unit_test(forged_by_much),     cmocka_unit_test(forged_now_and_then),
      cmocka_unit_test(forged_by_little), cmocka_unit_test(work_elsewhere),     cmocka_unit_test(bound_by_queueing),
      cmocka_unit_test(let_go_early),     cmocka_unit_test(which_calls_count),  cmocka_unit_test(too_few),
      cmocka_unit_test(the_clocks_step),  cmocka_unit_test(the_protocols_cost), cmocka_unit_test(measured_again)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
