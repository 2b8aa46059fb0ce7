// SPDX-License-Identifier: Apache-2.0
// Scores of sets, against examples worked by hand and against the neighbours' definitions, written here in another
// way: KernelBench's fast_p by a count over problems, HumanEval's pass@k by looking at every choice of k samples, the
// bootstrap of a share by drawing.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "score/summary.h"
#include "score_rows.h"

static void near(double x, double y, double within) {
  if (!(fabs(x - y) <= within))
    fail_msg("%.17g is not %.17g", x, y);
}

// Rows by hand, with baselines: time 100 and the speedup that is given.
struct sample {
  struct score_row rows[64];
  struct score_baseline baselines[64];
  const struct score_row *all[64];
  int n;
};

static struct score_row *put(struct sample *s, const char *task, enum assay_reason reason, double speedup) {
  struct score_row *r = &s->rows[s->n];
  *r = reason ? score_failed_row(task, "k.cu", reason)
              : score_row_of(task, "k.cu", 100 / (isnan(speedup) ? 1 : speedup));
  s->baselines[s->n] = (struct score_baseline){"eager", 100, {99, 101}, reason ? NAN : speedup, {NAN, NAN}};
  r->baselines = &s->baselines[s->n];
  r->n_baselines = isnan(speedup) ? 0 : 1;
  s->all[s->n++] = r;
  return r;
}

static const struct score_question over_eager = {.baseline = "eager"};

static int tasks_of(const struct sample *s, const struct score_question *q, const struct score_names *expected,
                    struct score_task **tasks) {
  struct assay_error err = {0};
  int n = 0;
  assert_int_equal(score_tasks(s->all, s->n, q, expected, tasks, &n, &err), ASSAY_OK);
  return n;
}

static struct score_summary sum_up(const struct sample *s, const struct score_question *q,
                                   const struct score_names *expected) {
  struct score_task *tasks;
  struct score_summary out;
  struct assay_error err = {0};
  int n = tasks_of(s, q, expected, &tasks);
  assert_int_equal(score_sum_up(tasks, n, q, &out, &err), ASSAY_OK);
  base_free(tasks);
  return out;
}

// Ten problems, of which two have no verdict; every figure follows by counting.
static void by_hand(void **state) {
  (void)state;
  static const char *const names[] = {"k/1/1", "k/1/2", "k/1/3", "k/1/4", "k/1/5",
                                      "k/1/6", "k/1/7", "k/1/8", "k/1/9", "k/1/10"};
  const struct score_names expected = {names, 10};
  struct sample s = {0};
  put(&s, "k/1/1", ASSAY_REASON_PASS, 4)->floor_ns = 20; // time 25
  put(&s, "k/1/1", ASSAY_REASON_PASS, 2)->floor_ns = 20; // slower: does not count again
  put(&s, "k/1/2", ASSAY_REASON_PASS, 1)->floor_ns = 50;
  put(&s, "k/1/2", ASSAY_REASON_CRASHED, 1);
  put(&s, "k/1/3", ASSAY_REASON_PASS, 0.25);
  put(&s, "k/1/4", ASSAY_REASON_PASS, NAN); // right, with no baseline
  put(&s, "k/1/5", ASSAY_REASON_BUILD_FAILED, 1);
  put(&s, "k/1/6", ASSAY_REASON_WRONG_VALUE, 1);
  put(&s, "k/1/7", ASSAY_REASON_PASS, 8)->suspicious = true;
  put(&s, "k/1/8", ASSAY_REASON_PASS, 8)->narrow = true;
  put(&s, "k/9/9", ASSAY_REASON_PASS, 8); // was not asked for
  struct score_summary got = sum_up(&s, &over_eager, &expected);
  assert_int_equal(got.n_tasks, 10);
  assert_int_equal(got.n_missing, 2);
  assert_int_equal(got.n_right, 4);
  assert_true(got.n_narrow == 1 && got.n_suspicious == 1 && got.n_cheats == 0 && got.n_unstable == 0);
  assert_true(got.tasks.asked == 10 && got.tasks.built == 7 && got.tasks.right == 4 && got.tasks.faster == 1);
  assert_true(got.rows.asked == 12 && got.rows.built == 9 && got.rows.right == 5 && got.rows.faster == 2);
  near(got.fast_p[0], 0.4, 1e-15);
  near(got.fast_p[1], 0.2, 1e-15); // above 0.5: 4 and 1
  near(got.fast_p[3], 0.1, 1e-15); // above 1: one time as fast is not faster
  near(got.fast_p[5], 0.1, 1e-15);
  near(got.geomean_speedup, 1, 1e-12); // of 4, 1 and 0.25
  assert_true(got.n_speedups == 3 && got.n_baseline == 7 && isnan(got.geomean_interval.low));
  near(got.pass_at_1, (1 + 0.5 + 1 + 1) / 10, 1e-15);
  assert_int_equal(got.part_of_floor.n, 2);
  near(got.part_of_floor.q[1], (0.8 + 0.5) / 2, 1e-12);
  // Without the list, what was not asked for is unknown: nine tasks have rows.
  got = sum_up(&s, &over_eager, NULL);
  assert_true(got.n_tasks == 9 && got.n_missing == 0 && got.n_right == 5);
  // Where the machine failed nothing is known of the kernel; the task counts as failed.
  put(&s, "k/1/9", ASSAY_REASON_JUDGE_FAILED, 1);
  got = sum_up(&s, &over_eager, &expected);
  assert_true(got.n_tasks == 10 && got.n_missing == 2);
}

static void empty_and_unknown(void **state) {
  (void)state;
  struct sample s = {0};
  struct score_summary got = sum_up(&s, &over_eager, NULL);
  assert_true(got.n_tasks == 0 && isnan(got.fast_p[0]) && isnan(got.pass_at_1) && isnan(got.part_of_floor.q[0]));
  assert_int_equal(score_fast_p_curve(NULL, 0, NULL), 0);
  put(&s, "k/1/1", ASSAY_REASON_PASS, NAN);
  got = sum_up(&s, &over_eager, NULL); // right, and of its speed nothing is known
  near(got.fast_p[0], 1, 0);
  assert_true(isnan(got.fast_p[3]) && isnan(got.geomean_speedup) && !got.tasks.baseline);
  struct score_task *tasks;
  struct score_step curve[2];
  int n = tasks_of(&s, &over_eager, NULL, &tasks);
  assert_int_equal(score_fast_p_curve(tasks, n, curve), 0);
  base_free(tasks);
}

static void unstable_and_elsewhere(void **state) {
  (void)state;
  struct sample s = {0};
  put(&s, "k/1/1", ASSAY_REASON_PASS, 4)->unstable = true;
  put(&s, "k/1/1", ASSAY_REASON_PASS, 2)->process = true;
  put(&s, "k/1/2", ASSAY_REASON_PASS, 2)->unstable = true;
  put(&s, "k/1/3", ASSAY_REASON_PASS, 2)->setting.workload = "small";
  struct score_question q = over_eager;
  q.at.workload = "full";
  struct score_summary got = sum_up(&s, &q, NULL);
  assert_true(got.n_tasks == 2 && got.n_unstable == 2 && got.n_process == 0);
  near(got.geomean_speedup, sqrt(8), 1e-12);
  q.stable_only = true;
  got = sum_up(&s, &q, NULL);
  assert_true(got.n_right == 2 && got.n_unstable == 1 && got.n_process == 1 && got.n_speedups == 1);
  near(got.geomean_speedup, 2, 1e-12);
}

// KernelBench: fast_p = (1/N) sum over problems of [correct and speedup > p].
static void fast_p_by_counting(void **state) {
  (void)state;
  enum { N = 50 };
  struct sample s = {0};
  char names[N][16];
  double speedups[N];
  for (int i = 0; i < N; i++) {
    double u = rng_unit(rng_derive(7, (uint64_t)i));
    bool correct = i % 3 != 0;
    bool timed = i % 5 != 0;                                                 // what has no time is above 0 alone
    speedups[i] = !correct ? -1 : timed ? round(40 * u) / 10 + 0.1 : 1e-300; // ties on purpose
    snprintf(names[i], sizeof names[i], "k/1/%d", i);
    put(&s, names[i], correct ? ASSAY_REASON_PASS : ASSAY_REASON_WRONG_VALUE, !timed ? NAN : correct ? speedups[i] : 1);
  }
  struct score_task *tasks;
  struct score_step curve[N + 1];
  int n = tasks_of(&s, &over_eager, NULL, &tasks), points = score_fast_p_curve(tasks, n, curve);
  for (double p = 0; p < 5; p += 0.05) {
    int count = 0, at = 0;
    for (int i = 0; i < N; i++)
      count += speedups[i] > p;
    near(score_fast_p(tasks, n, p), (double)count / N, 1e-15);
    while (at + 1 < points && curve[at + 1].p <= p)
      at++;
    near(curve[at].share, (double)count / N, 1e-15);
    assert_true(curve[at].interval.low <= curve[at].share && curve[at].share <= curve[at].interval.high);
  }
  base_free(tasks);
}

// HumanEval: the chance that of k samples drawn without replacement at least one is right.
static void pass_at_k_by_every_choice(void **state) {
  (void)state;
  enum { N = 6 };
  struct sample s = {0};
  for (int t = 0; t < 2; t++)
    for (int i = 0; i < N; i++)
      put(&s, t ? "k/1/2" : "k/1/1", i <= t ? ASSAY_REASON_PASS : ASSAY_REASON_CRASHED, 1);
  struct score_task *tasks;
  int n = tasks_of(&s, &over_eager, NULL, &tasks);
  for (int k = 1; k <= N; k++) {
    double sum = 0;
    for (int t = 0; t < 2; t++) {
      int hit = 0, all = 0;
      for (unsigned set = 0; set < 1u << N; set++)
        if (__builtin_popcount(set) == k) {
          all++;
          hit += (set & ((1u << (t + 1)) - 1)) != 0;
        }
      sum += (double)hit / all;
    }
    near(score_pass_at_k(tasks, n, k), sum / 2, 1e-12);
  }
  assert_true(isnan(score_pass_at_k(tasks, n, N + 1)) && isnan(score_pass_at_k(tasks, n, 0)));
  base_free(tasks);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The exact bootstrap of a share against 20,000 resamples.
static void share_by_drawing(void **state) {
  (void)state;
  enum { RESAMPLES = 20000 };
  static const int cases[][2] = {{3, 10}, {50, 100}, {1, 40}, {99, 100}};
  static double shares[RESAMPLES];
  for (int c = 0; c < 4; c++) {
    int k = cases[c][0], n = cases[c][1];
    for (int r = 0; r < RESAMPLES; r++) {
      int hits = 0;
      for (int i = 0; i < n; i++)
        hits += rng_unit(rng_derive((uint64_t)(c + 1), (uint64_t)(r * n + i))) * n < k;
      shares[r] = (double)hits / n;
    }
    qsort(shares, RESAMPLES, sizeof *shares, by_value);
    struct interval in = score_share_interval(k, n);
    near(in.low, shares[RESAMPLES / 40], 1.01 / n);
    near(in.high, shares[RESAMPLES - RESAMPLES / 40], 1.01 / n);
  }
  near(score_share_interval(0, 20).high, 0.1684, 1e-4); // Clopper and Pearson
  near(score_share_interval(20, 20).low, 1 - 0.1684, 1e-4);
  near(score_share_interval(10000, 20000).low, 0.5 - 1.96 * 0.5 / sqrt(20000), 1e-4);
  assert_true(isnan(score_share_interval(0, 0).low));
}

static void geomean_interval(void **state) {
  (void)state;
  double x[40], logs = 0, square = 0;
  for (int i = 0; i < 40; i++) {
    x[i] = exp(rng_unit(rng_derive(3, (uint64_t)i)) - 0.5);
    logs += log(x[i]) / 40;
    square += log(x[i]) * log(x[i]) / 40;
  }
  struct interval in = score_geomean_interval(x, 40);
  double half = 1.96 * sqrt((square - logs * logs) / 40); // the normal approximation is good to a tenth here
  near(log(in.low), logs - half, 0.1 * half);
  near(log(in.high), logs + half, 0.1 * half);
  assert_true(isnan(score_geomean_interval(x, 4).low));
  x[0] = 0;
  assert_true(isnan(score_geomean_interval(x, 40).low));
  struct score_quartiles q = score_quartiles((const double[]){NAN, 1, 2, 3, NAN}, 5);
  assert_true(q.n == 3 && q.q[0] == 1.5 && q.q[1] == 2 && q.q[2] == 2.5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(by_hand),
      cmocka_unit_test(empty_and_unknown),
      cmocka_unit_test(unstable_and_elsewhere),
      cmocka_unit_test(fast_p_by_counting),
      cmocka_unit_test(pass_at_k_by_every_choice),
      cmocka_unit_test(share_by_drawing),
      cmocka_unit_test(geomean_interval),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
