// SPDX-License-Identifier: Apache-2.0
// Pairs of a candidate's call and a baseline's: nothing is verified between the two, since that may take minutes, but
// of a candidate that may still be at work.
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "judge/baseline.h"
#include "judge/timing.h"

// What was done, in order: c a call of the candidate, p one on a probe's inputs, b one of the baseline, v the last
// call of the candidate was verified.
static char done[4096];
static int n_done;
static enum probe filled;
static uint64_t filled_with;

static void note(char what) {
  assert_in_range(n_done, 0, (int)sizeof done - 2);
  done[n_done++] = what;
}

// In place of baseline.c's.
struct assay_baselines {
  int n;
};

int baselines_count(const struct assay_baselines *b) {
  return b ? b->n : 0;
}

enum assay_status baselines_call(struct assay_baselines *b, double samples_ns[MOST_BASELINES],
                                 struct assay_error *err) {
  (void)b, (void)err;
  note('b');
  samples_ns[0] = 1e6;
  return ASSAY_OK;
}

enum assay_status baselines_null_call(struct assay_baselines *b, struct assay_error *err) {
  (void)b, (void)err;
  return ASSAY_OK;
}

void baselines_describe(const struct assay_baselines *b, int i, struct assay_comparison *out) {
  (void)b, (void)i, (void)out;
}

double baselines_overhead_ns(const struct assay_baselines *b, int i) {
  (void)b, (void)i;
  return 0;
}

static enum assay_status fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  (void)s, (void)poison, (void)err;
  filled = probe;
  filled_with = key;
  return ASSAY_OK;
}

static enum assay_status call(struct subject *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  (void)s, (void)mode, (void)err;
  note(filled == PROBE_DECLARED ? 'c' : 'p');
  *report = (struct runner_report){.elapsed_ns = 1000000};
  return ASSAY_OK;
}

static bool steady(const struct subject *s) {
  (void)s;
  return true;
}

static bool answers(const struct subject *s, const struct layout *l) {
  (void)s, (void)l;
  return true;
}

static enum assay_status verify(void *arg, enum probe probe, uint64_t key, uint32_t poison, struct assay_error *err) {
  (void)arg, (void)poison, (void)err;
  assert_int_equal(probe, filled);
  assert_true(key == filled_with);
  note('v');
  return ASSAY_OK;
}

static bool idle(struct subject *s) {
  (void)s;
  return true;
}

static void run(uint64_t secret, bool may_go_on) {
  const struct subject_ops ops = {.fill = fill,
                                  .call = call,
                                  .steady = steady,
                                  .answers = answers,
                                  .idle = may_go_on ? idle : NULL,
                                  .timing_ns = INT64_MAX};
  const struct assay_judge_options o = {
      .min_samples = 30, .max_samples = 200, .hot_samples = 15, .relative_width = 0.02, .verified_calls = 10};
  struct assay_baselines baselines = {1};
  struct assay_comparison comparison = {.reason = ASSAY_REASON_PASS};
  comparison.samples_ns = calloc((size_t)o.max_samples + 1, sizeof(double));
  comparison.candidate_ns = calloc((size_t)o.max_samples + 1, sizeof(double));
  struct assay_timing t = {.median_ns = NAN, .low_ns = NAN, .high_ns = NAN};
  struct layout layout = {0};
  struct subject subject = {.ops = &ops};
  struct timing_session timing = {.subject = &subject,
                                  .baselines = &baselines,
                                  .comparisons = &comparison,
                                  .layout = &layout,
                                  .options = &o,
                                  .timing = &t,
                                  .secret = secret,
                                  .probes = 1u << PROBE_ZERO_MEAN,
                                  .verify = verify,
                                  .left_ns = INT64_MAX};
  struct runner_report report;
  struct assay_error err;
  n_done = 0;
  memset(done, 0, sizeof done);
  assert_int_equal(timing_run(&timing, &report, &err), ASSAY_OK);
  assert_int_equal(report.event, RUNNER_OK);
  assert_true(timing.n_probed >= 2 && timing.n_kept >= 8);
  timed_calls_release(timing.kept, 0, 0);
  free(comparison.samples_ns);
  free(comparison.candidate_ns);
  free(t.samples_ns);
  free(t.hot_samples_ns);
}

// The pairs come first: cb, bc, cb, ... with nothing in between, and v after some, pv before some.
static void nothing_is_verified_within_a_pair(void **state) {
  (void)state;
  enum { WARM_UP = 3 }; // then the turns begin again
  for (uint64_t secret = 0; secret < 200; secret++) {
    int at = 0, pairs = 0, verified = 0;
    run(secret, false);
    for (; strchr(done + at, 'b') && strncmp(done + at, "bbbbbbbb", 8) != 0; pairs++) {
      if (strncmp(done + at, "pv", 2) == 0)
        at += 2;
      if (strncmp(done + at, (pairs - (pairs < WARM_UP ? 0 : WARM_UP)) % 2 == 0 ? "cb" : "bc", 2) != 0)
        break;
      at += 2;
      if (done[at] == 'v') {
        verified++;
        at++;
      }
    }
    if (pairs < 13 || strspn(done + at, "cpv") + 8 < strlen(done + at))
      fail_msg("secret %d: pair %d is not one: %s", (int)secret, pairs, done);
    assert_true(verified > 0);
  }
}

// A baseline's call would give late work that much longer.
static void what_may_go_on_is_verified_at_once(void **state) {
  (void)state;
  for (uint64_t secret = 0; secret < 50; secret++) {
    run(secret, true);
    for (const char *v = strchr(done, 'v'); v; v = strchr(v + 1, 'v'))
      assert_true(v > done && (v[-1] == 'c' || v[-1] == 'p'));
    assert_non_null(strstr(done, "cvb"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(nothing_is_verified_within_a_pair),
                                     cmocka_unit_test(what_may_go_on_is_verified_at_once)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
