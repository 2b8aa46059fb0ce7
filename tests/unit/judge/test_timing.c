// SPDX-License-Identifier: Apache-2.0
// How many calls the sampling loop takes, by how long they take and how well they agree; and that no two of them are
// alike.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/rng.h"

#include "judge/timing.h"

enum { MOST = 1024, OVERHEAD_NS = 500 };

static struct {
  double call_ns, spread; // of the calls' times; relative
  int slow_call;          // takes half a second more; -1: none
  int unsteady_from;      // from this call on the clock is not steady
  int calls;
  bool in_place;
  bool verified[MOST]; // by call
  int n_verified;
  unsigned probes;        // asked for
  bool is_probe[MOST];    // by call
  enum probe filled;      // of the last call
  uint64_t keys[MOST];    // by call: what its inputs were drawn with
  uint32_t pattern;       // of the last call's outputs
  int asked[PROBE_COUNT]; // verified calls by probe
  double null_ns;         // of a call without a kernel, after the others; 0: none is made
  int nulls, calls_before_nulls;
  double excess_ns, doubt_ns; // that calls were charged too little, and may have been
  int64_t left_ns;            // of the budget
  int disturbed;              // so many series take twice the time by another clock; -1: there is none
  int series;                 // that were forgotten
  int64_t timing_ns, wait_ns; // how long a series may take; to verify waits so long for other judges
  double hot_high_ns;         // what came of it
  enum runner_event event;
} kernel;

static enum assay_status fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  (void)s, (void)err;
  assert_in_range(kernel.calls, 0, MOST - 1);
  for (int i = 0; i < kernel.calls; i++)
    assert_true(kernel.keys[i] != key);         // every call has inputs of its own,
  assert_int_not_equal(poison, kernel.pattern); // and outputs that do not hold what they held
  kernel.keys[kernel.calls] = key;
  kernel.pattern = poison;
  kernel.filled = probe;
  return ASSAY_OK;
}

static enum assay_status call(struct subject *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  (void)s, (void)mode, (void)err;
  static const double places[] = {-1, 0.9, -0.3, 0.5, -0.7, 0.1, 1, -0.9}; // anything without order
  double place = places[kernel.calls % 8], slow_ns = kernel.calls == kernel.slow_call ? 500e6 : 0;
  *report = (struct runner_report){.elapsed_ns = (int64_t)(kernel.call_ns * (1 + kernel.spread * place) + slow_ns)};
  assert_in_range(kernel.calls, 0, MOST - 1);
  kernel.is_probe[kernel.calls++] = kernel.filled != PROBE_DECLARED;
  return ASSAY_OK;
}

static enum assay_status null_call(struct subject *s, double *overhead_ns, struct runner_report *report,
                                   struct assay_error *err) {
  (void)s, (void)err;
  kernel.calls_before_nulls = kernel.calls;
  kernel.nulls++;
  *report = (struct runner_report){0};
  *overhead_ns = kernel.null_ns;
  return ASSAY_OK;
}

static enum assay_status recheck(struct subject *s, double *excess_ns, double *doubt_ns, struct assay_error *err) {
  (void)s, (void)err;
  *excess_ns = kernel.excess_ns;
  *doubt_ns = kernel.doubt_ns;
  return ASSAY_OK;
}

static bool steady(const struct subject *s) {
  (void)s;
  return kernel.calls <= kernel.unsteady_from;
}

static bool answers(const struct subject *s, const struct layout *l) {
  (void)s, (void)l;
  return kernel.in_place;
}

static enum assay_status verify(void *arg, enum probe probe, uint64_t key, uint32_t poison, struct assay_error *err) {
  struct subject *s = arg;
  (void)err;
  if (kernel.wait_ns) {
    nanosleep(&(struct timespec){0, kernel.wait_ns}, NULL);
    s->found.open_ns += kernel.wait_ns;
  }
  assert_int_equal(probe, kernel.filled);
  assert_int_equal(poison, kernel.pattern);
  kernel.asked[probe]++;
  assert_in_range(kernel.calls, 1, MOST);
  assert_true(key == kernel.keys[kernel.calls - 1]);
  kernel.verified[kernel.calls - 1] = true;
  kernel.n_verified++;
  return ASSAY_OK;
}

static struct stamps_facts stamps(const struct subject *s, const double *samples, int n) {
  (void)s;
  assert_true(n > 0);
  return (struct stamps_facts){.wall_ns = samples[0] * (kernel.series < kernel.disturbed ? 2 : 1)};
}

static void time_again(struct subject *s) {
  (void)s;
  kernel.series++;
}

static struct assay_timing run_with(uint64_t secret) {
  static struct subject_ops ops = {
      .fill = fill,
      .recheck = recheck,
      .call = call,
      .steady = steady,
      .answers = answers,
      .has_as_called = true,
      .tick_ns = 32,
  };
  ops.timing_ns = kernel.timing_ns;
  ops.null_call = kernel.null_ns > 0 ? null_call : NULL;
  ops.stamps = kernel.disturbed >= 0 ? stamps : NULL;
  ops.time_again = time_again;
  struct assay_judge_options o;
  assay_judge_defaults(&o);
  o.verified_calls = kernel.in_place ? 10 : 0;
  struct assay_timing t = {.median_ns = NAN, .low_ns = NAN, .high_ns = NAN};
  struct layout layout = {0};
  struct subject subject = {.ops = &ops};
  struct timing_session timing = {.subject = &subject,
                                  .layout = &layout,
                                  .options = &o,
                                  .timing = &t,
                                  .secret = secret,
                                  .probes = kernel.probes,
                                  .verify = verify,
                                  .verify_arg = &subject,
                                  .left_ns = kernel.left_ns,
                                  .overhead_ns = OVERHEAD_NS};
  struct runner_report report;
  struct assay_error err;
  kernel.calls = kernel.n_verified = kernel.nulls = kernel.series = 0;
  memset(kernel.asked, 0, sizeof kernel.asked);
  memset(kernel.is_probe, 0, sizeof kernel.is_probe);
  memset(kernel.verified, 0, sizeof kernel.verified);
  assert_int_equal(timing_run(&timing, &report, &err), ASSAY_OK);
  assert_int_equal(t.measured, t.n_samples >= 5);
  assert_int_equal(isnan(t.median_ns), !t.measured);
  assert_int_equal(isnan(t.high_ns), !t.measured);
  kernel.hot_high_ns = timing.hot_high_ns;
  kernel.event = report.event;
  timed_calls_release(timing.kept, 0, 0);
  free(t.samples_ns);
  free(t.hot_samples_ns);
  t.samples_ns = t.hot_samples_ns = NULL;
  return t;
}

static void kernel_is(double call_ns, double spread) {
  kernel.call_ns = call_ns;
  kernel.spread = spread;
  kernel.slow_call = -1;
  kernel.unsteady_from = INT32_MAX;
  kernel.in_place = false;
  kernel.probes = 0;
  kernel.null_ns = kernel.excess_ns = kernel.doubt_ns = 0;
  kernel.disturbed = -1;
  kernel.left_ns = kernel.timing_ns = INT64_MAX;
  kernel.wait_ns = 0;
}

static struct assay_timing run(double call_ns, double spread) {
  kernel_is(call_ns, spread);
  return run_with(0);
}

static void short_calls(void **state) {
  (void)state;
  struct assay_timing t = run(1e6, 1e-4);
  assert_in_range(t.n_samples, 30, 40);
  assert_int_equal(t.n_hot, 15);
  assert_string_equal(t.stop, "precise");
}

// The protocol's cost is measured again after the last call, and that is taken off.
static void the_protocol_again(void **state) {
  (void)state;
  struct assay_timing t = run(1e6, 0);
  assert_true(t.overhead_ns == OVERHEAD_NS && t.median_ns == 1e6 - OVERHEAD_NS);
  kernel_is(1e6, 0);
  kernel.null_ns = 200;
  t = run_with(0);
  assert_in_range(kernel.nulls, 5, 20);
  assert_int_equal(kernel.calls_before_nulls, kernel.calls);
  assert_true(t.overhead_ns == 200 && t.median_ns == 1e6 - 200 && t.hot_ns == 1e6 - 200);
  assert_true(kernel.hot_high_ns == 1e6 - 200);
}

// Calls that were charged too little for the way to the start line have that added; and where the machine was too
// disturbed to know, a time that this would matter to is unstable.
static void charged_too_little(void **state) {
  (void)state;
  kernel_is(1e6, 0);
  kernel.excess_ns = 40000;
  struct assay_timing t = run_with(0);
  assert_true(t.median_ns == 1e6 - OVERHEAD_NS + 40000 && t.low_ns == t.median_ns && t.hot_ns == t.median_ns);
  assert_true(t.overhead_ns == OVERHEAD_NS && !t.unstable);
  kernel.doubt_ns = 25000;
  assert_true(run_with(0).unstable);
  kernel_is(1e6, 0);
  kernel.doubt_ns = 25000;
  assert_false(run_with(0).unstable);
  kernel.call_ns = 2e5;
  assert_true(run_with(0).unstable);
}

// Where the judge's clock disagrees, a second series counts, whatever it shows.
static void a_second_series(void **state) {
  (void)state;
  int calls[3];
  for (int disturbed = 0; disturbed < 3; disturbed++) {
    kernel_is(1e6, 0);
    kernel.disturbed = disturbed;
    kernel.in_place = true;
    struct assay_timing t = run_with(9);
    assert_int_equal(kernel.series, disturbed > 0);
    assert_int_equal(t.left_out.n_samples > 0, disturbed > 0);
    assert_true(disturbed == 0 || (t.left_out.wall_ns == 2e6 && t.left_out.median_ns == 1e6 - OVERHEAD_NS));
    assert_true(t.median_ns == 1e6 - OVERHEAD_NS);
    assert_true(t.wall_ns == (disturbed == 2 ? 2e6 : 1e6));
    assert_in_range(t.n_samples, 30, 40);
    assert_in_range(kernel.n_verified, 10, 40);
    calls[disturbed] = kernel.calls;
  }
  assert_int_equal(calls[2], calls[1]);
  assert_in_range(calls[1], calls[0] + 30, calls[0] + 50);
}

// A hot time that is nothing is none, and never one of 0 ns.
static void hot_calls_of_nothing(void **state) {
  (void)state;
  struct assay_timing t = run(OVERHEAD_NS, 0);
  assert_true(isnan(t.hot_ns) && isnan(kernel.hot_high_ns));
}

// Calls that take long and agree need not be many.
static void long_calls(void **state) {
  (void)state;
  struct assay_timing t = run(120e6, 1e-4);
  assert_int_equal(t.n_samples, 10);
  assert_int_equal(t.n_hot, 5);
  assert_int_equal(kernel.calls, 3 + 10 + 5 + 5);
  assert_string_equal(t.stop, "precise");
  t = run(25e6, 1e-4); // half a second is 20 calls
  assert_in_range(t.n_samples, 20, 21);
  assert_int_equal(t.n_hot, 15);
}

static void long_calls_that_scatter(void **state) {
  (void)state;
  struct assay_timing t = run(120e6, 0.01);
  assert_in_range(t.n_samples, 30, 40);
  t = run(120e6, 0.2);
  assert_int_equal(t.n_samples, 200);
}

// One sample does not decide how many are taken: a long one among short ones does not make them few.
static void one_slow_call(void **state) {
  (void)state;
  kernel_is(1e5, 1e-4);
  for (kernel.slow_call = 3; kernel.slow_call < 13; kernel.slow_call++)
    assert_in_range(run_with(0).n_samples, 30, 40);
}

// A candidate that is fast in the warm-up and slow afterwards uses up its budget.
static void the_budget_ends_it(void **state) {
  (void)state;
  kernel_is(1e9, 1e-4);
  run_with(0);
  assert_int_equal(kernel.event, RUNNER_OK);
  kernel.left_ns = 4000000000;
  run_with(0);
  assert_int_equal(kernel.event, RUNNER_TIMED_OUT);
  assert_in_range(kernel.calls, 4, 5);
}

static void an_unsteady_clock_ends_it(void **state) {
  (void)state;
  kernel_is(120e6, 0.1);
  kernel.unsteady_from = 15;
  struct assay_timing t = run_with(0);
  assert_int_equal(t.n_samples, 12);
  assert_true(t.unstable);
  assert_in_range(kernel.calls, 400, 440);
}

// Too few calls for an interval are not a time, and 0 is none either.
static void a_clock_that_is_never_steady(void **state) {
  (void)state;
  for (int steady = 0; steady <= 5; steady++) {
    kernel_is(120e6, 0.1);
    kernel.unsteady_from = 3 + steady; // after the warm-up
    struct assay_timing t = run_with(0);
    assert_int_equal(t.n_samples, steady);
    assert_int_equal(t.measured, steady == 5);
    assert_int_equal(strcmp(t.stop, "samples") == 0, steady == 5);
  }
}

// As many as are wanted, chosen in secret among the calls of the run, which are as many as there were to be: three
// quarters of them and more among those that are ranked.
static void verified_in_place(void **state) {
  (void)state;
  static const struct {
    double call_ns;
    int calls, cold_from, cold_to, planned;
  } cases[] = {{1e6, 3 + 32 + 15 + 9, 3, 35, 30}, {120e6, 3 + 10 + 5 + 5, 3, 13, 10}};
  for (size_t k = 0; k < 2; k++) {
    enum { RUNS = 400 };
    int by_call[MOST] = {0}, in_samples = 0;
    for (int i = 0; i < RUNS; i++) {
      kernel_is(cases[k].call_ns, 1e-4);
      kernel.in_place = true;
      run_with(rng_derive(7, (uint64_t)i));
      assert_in_range(kernel.n_verified, 10, 10 + (k == 0 ? 2 : 0)); // a few calls more than usual: a few more
      assert_int_equal(kernel.calls, cases[k].calls);
      for (int c = 0; c < kernel.calls; c++) {
        by_call[c] += kernel.verified[c];
        in_samples += c >= cases[k].cold_from && c < cases[k].cold_to && kernel.verified[c];
      }
    }
    const double each = 8.0 / cases[k].planned * RUNS;
    const double other = 2.0 / (cases[k].calls - cases[k].cold_to) * RUNS;
    for (int c = 0; c < cases[k].calls; c++) {
      double expected = c < 3 ? 0 : c < cases[k].cold_to ? each : other;
      assert_in_range(by_call[c], (int)(expected - 5 * sqrt(expected)), (int)(expected + 5 * sqrt(expected)));
    }
    int wanted = (int)(each * (cases[k].cold_to - cases[k].cold_from));
    assert_in_range(in_samples, wanted * 9 / 10, wanted * 11 / 10);
  }
}

// What others had the device for is not time of the series: it is as long as without them.
static void waits_do_not_shorten_it(void **state) {
  (void)state;
  kernel_is(120e6, 0.2);
  kernel.in_place = true;
  kernel.timing_ns = 2000000000;
  kernel.wait_ns = 400000000; // eight of the ranked calls are verified, most of them among the first ten
  struct assay_timing t = run_with(0);
  assert_true(kernel.n_verified * kernel.wait_ns > kernel.timing_ns);
  assert_string_equal(t.stop, "samples");
  assert_int_equal(t.n_samples, 200);
}

// Two of the verified calls are probes, one of which tells precisions apart. They come anywhere among the calls, and
// add nothing to the samples.
static void probes_among_the_calls(void **state) {
  (void)state;
  enum { RUNS = 300 };
  int early = 0, late = 0, by_probe[PROBE_COUNT] = {0};
  for (uint64_t secret = 0; secret < RUNS; secret++) {
    kernel_is(1e9, 0); // 10 samples, with 3 calls before and 5 + 5 after them
    kernel.in_place = true;
    struct assay_timing without = run_with(secret);
    int calls = kernel.calls;
    kernel.probes = 1u << PROBE_ZERO_MEAN | 1u << PROBE_ROW_SCALES | 1u << PROBE_INTEGERS | 1u << PROBE_SUBNORMAL;
    struct assay_timing t = run_with(secret);
    assert_int_equal(t.n_samples, without.n_samples);
    assert_int_equal(kernel.calls, calls + 2);
    assert_int_equal(kernel.n_verified, 10);
    assert_int_equal(kernel.asked[PROBE_DECLARED], 8);
    assert_true(kernel.asked[PROBE_ZERO_MEAN] + kernel.asked[PROBE_ROW_SCALES] >= 1);
    assert_int_equal(kernel.asked[PROBE_HEAVY_MEAN] + kernel.asked[PROBE_SPECIAL], 0);
    for (int p = 0; p < PROBE_COUNT; p++)
      by_probe[p] += kernel.asked[p];
    for (int c = 0; c < kernel.calls; c++) {
      early += kernel.is_probe[c] && c < kernel.calls / 2;
      late += kernel.is_probe[c] && c >= kernel.calls / 2;
    }
  }
  assert_in_range(early, RUNS * 7 / 10, RUNS * 13 / 10);
  assert_in_range(late, RUNS * 7 / 10, RUNS * 13 / 10);
  assert_true(by_probe[PROBE_ZERO_MEAN] > RUNS / 3 && by_probe[PROBE_ROW_SCALES] > RUNS / 3);
  assert_true(by_probe[PROBE_INTEGERS] > RUNS / 10 && by_probe[PROBE_SUBNORMAL] > RUNS / 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(short_calls),
                                     cmocka_unit_test(the_protocol_again),
                                     cmocka_unit_test(charged_too_little),
                                     cmocka_unit_test(a_second_series),
                                     cmocka_unit_test(hot_calls_of_nothing),
                                     cmocka_unit_test(long_calls),
                                     cmocka_unit_test(long_calls_that_scatter),
                                     cmocka_unit_test(one_slow_call),
                                     cmocka_unit_test(an_unsteady_clock_ends_it),
                                     cmocka_unit_test(the_budget_ends_it),
                                     cmocka_unit_test(a_clock_that_is_never_steady),
                                     cmocka_unit_test(verified_in_place),
                                     cmocka_unit_test(waits_do_not_shorten_it),
                                     cmocka_unit_test(probes_among_the_calls)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
