// SPDX-License-Identifier: Apache-2.0
// Scores of a set of rows: a run, a level of it, all of a device. Each task counts once, with its fastest row that
// counts; a task without a right row counts as failed, whether it has rows or not.
#ifndef SCORE_SUMMARY_H
#define SCORE_SUMMARY_H

#include "base/error.h"
#include "score/row.h"

enum { SCORE_THRESHOLDS = 6 };
extern const double score_thresholds[SCORE_THRESHOLDS]; // KernelBench's p: 0, 0.5, 0.8, 1, 1.5, 2

// From what was asked for to what is faster than the baseline: each is a part of the one before.
struct score_funnel {
  int asked, built, right, faster;
  bool baseline; // false: none is known, and `faster` says nothing
};

// One task, by its rows. Strings are borrowed from the rows.
struct score_task {
  const char *task;
  const struct score_row *first; // any row of it; NULL: it has none
  const struct score_row *best;  // the fastest whose time ranks; NULL: none
  int n_judged;                  // rows with a verdict; 0: the task is missing, and counts as failed
  int n_built, n_right, n_faster;
  int n_narrow, n_suspicious, n_cheats, n_unstable, n_process; // rows; unstable and as process: of the right ones
  bool has_baseline;
  double part_of_floor;             // floor / time of the best row; NaN: unknown
  double speedup;                   // of the best row over the baseline; NaN: unknown
  struct interval speedup_interval; // NaN to NaN: unknown
};

// The tasks of rows, in the order of score_by_name(). `expected`: names of all tasks that were asked for, NULL: those
// that the rows have; rows of other tasks are left out then. Rows that the question's setting leaves out are no rows of
// their task. *out: heap array (base_free). ASSAY_ERR_NOMEM.
struct score_names {
  const char *const *items;
  int n;
};
enum assay_status score_tasks(const struct score_row *const *rows, int n, const struct score_question *q,
                              const struct score_names *expected, struct score_task **out, int *count,
                              struct assay_error *err);

// Quartiles, and of how many. NaN of none.
struct score_quartiles {
  double q[3];
  int n;
};

struct score_summary {
  int n_tasks;   // the denominator: all that were asked for
  int n_missing; // without a verdict; they count as failed
  int n_right;
  // Tasks, by what keeps them from being right, or what is to be known of their best time.
  int n_narrow, n_suspicious, n_cheats; // not right; with such a row
  int n_unstable;                       // whose best time is unstable, or that have no other and these are left out
  int n_process;                        // whose best row was judged as a process
  struct score_funnel tasks, rows;      // tasks with such a row; and rows, where a missing task is one that was asked
  double pass_at_1;                     // unbiased estimate, mean over tasks; a missing task has 0
  struct score_quartiles part_of_floor; // of the best times
  int n_baseline;                       // tasks that have a time of the baseline
  int n_speedups;                       // and that of a right row next to it
  double geomean_speedup;               // of these; NaN: none
  struct interval geomean_interval;     // bootstrap over tasks; NaN to NaN: too few
  double fast_p[SCORE_THRESHOLDS];      // [0]: the part of right tasks; the others NaN where no speedup is known
  struct interval fast_p_interval[SCORE_THRESHOLDS];
};
enum assay_status score_sum_up(const struct score_task *tasks, int n, const struct score_question *q,
                               struct score_summary *out, struct assay_error *err);

// fast_p for any p >= 0 (KernelBench): the share of all tasks that are right and more than p times as fast as the
// baseline. At 0 those count that are right, timed or not: every speed is above nothing.
double score_fast_p(const struct score_task *tasks, int n, double p);

// The same as a curve: it starts at [0] with p = 0 and falls at each task's speedup; `share` and `interval` hold for
// p from this point's (inclusive) to the next one's (exclusive). `out` has room for n + 1 points. Returns how many:
// none where kernels are right and none has a speed.
struct score_step {
  double p, share;
  struct interval interval; // score_share_interval(), for each p by itself
};
int score_fast_p_curve(const struct score_task *tasks, int n, struct score_step *out);

// pass@k (Chen et al. 2021), the mean over all tasks of 1 - C(n - c, k) / C(n, k) with n rows of which c are right. A
// missing task has 0. NaN where a task has fewer than k rows, or there is no task.
double score_pass_at_k(const struct score_task *tasks, int n, int k);

// The 95 % interval of a share: percentile bootstrap over tasks, which for a share is a binomial distribution and needs
// no drawing. Of none or all, where it would have no width, the exact one-sided bound takes its place: 0 of 20 may be
// 17 %. NaN to NaN where n < 1.
struct interval score_share_interval(int k, int n);

// The 95 % interval of a geometric mean, by 2,000 resamples of the tasks (percentile bootstrap), always the same for
// the same numbers. NaN to NaN of fewer than five, or of any x <= 0.
struct interval score_geomean_interval(const double *x, int n);

struct score_quartiles score_quartiles(const double *x, int n); // NaNs are left out

#endif
