// How many calls the sampling loop takes, by how long they take and how well they agree.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "judge/session.h"

static struct {
  double call_ns, spread; // of the calls' times; relative
  int calls;
} kernel;

static enum assay_status fill(struct session *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  (void)s, (void)probe, (void)key, (void)poison, (void)err;
  return ASSAY_OK;
}

static enum assay_status call(struct session *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  (void)s, (void)mode, (void)err;
  static const double places[] = {-1, 0.9, -0.3, 0.5, -0.7, 0.1, 1, -0.9}; // anything without order
  double place = places[kernel.calls++ % 8];
  *report = (struct runner_report){.elapsed_ns = (int64_t)(kernel.call_ns * (1 + kernel.spread * place))};
  return ASSAY_OK;
}

static bool steady(struct session *s) {
  (void)s;
  return true;
}

static struct assay_timing run(double call_ns, double spread) {
  static const struct subject_ops subject = {
      .fill = fill, .call = call, .steady = steady, .has_as_called = true, .tick_ns = 32, .timing_ns = INT64_MAX};
  struct assay_judge_options o;
  assay_judge_defaults(&o);
  o.verified_calls = 0;
  struct assay_verdict v = {0};
  struct layout layout = {0};
  struct session s = {.o = &o, .v = &v, .subject = &subject};
  int64_t kernel_ns = 0;
  struct timing_session timing = {
      .session = &s, .layout = &layout, .options = &o, .timing = &v.timing, .kernel_ns = &kernel_ns};
  struct runner_report report;
  struct assay_error err;
  kernel.call_ns = call_ns;
  kernel.spread = spread;
  kernel.calls = 0;
  assert_int_equal(timing_run(&timing, &report, &err), ASSAY_OK);
  assert_true(v.timing.measured);
  timed_calls_release(timing.kept, 0, 0);
  struct assay_timing t = v.timing;
  free(t.samples_ns);
  free(t.hot_samples_ns);
  t.samples_ns = t.hot_samples_ns = NULL;
  return t;
}

static void short_calls(void **state) {
  (void)state;
  struct assay_timing t = run(1e6, 1e-4);
  assert_in_range(t.n_samples, 30, 40);
  assert_int_equal(t.n_hot, 15);
  assert_string_equal(t.stop, "precise");
}

// Calls that take long and agree need not be many.
static void long_calls(void **state) {
  (void)state;
  struct assay_timing t = run(100e6, 1e-4);
  assert_int_equal(t.n_samples, 10);
  assert_int_equal(t.n_hot, 5);
  assert_int_equal(kernel.calls, 3 + 10 + 5 + 5);
  assert_string_equal(t.stop, "precise");
  t = run(25e6, 1e-4); // half a second is 20 calls
  assert_in_range(t.n_samples, 19, 21);
  assert_int_equal(t.n_hot, 15);
}

static void long_calls_that_scatter(void **state) {
  (void)state;
  struct assay_timing t = run(100e6, 0.01);
  assert_in_range(t.n_samples, 30, 40);
  t = run(100e6, 0.2);
  assert_int_equal(t.n_samples, 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(short_calls), cmocka_unit_test(long_calls),
                                     cmocka_unit_test(long_calls_that_scatter)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
