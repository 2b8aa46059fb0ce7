// SPDX-License-Identifier: Apache-2.0
// Two runs, task by task.
#ifndef REPORT_COMPARE_H
#define REPORT_COMPARE_H

#include "base/error.h"
#include "stats/stats.h"
#include "store/store.h"

// What a run has of a task: its fastest right candidate, else a right one, else its newest verdict.
struct compare_side {
  bool there; // it has a verdict that stands
  bool right, unstable;
  enum assay_reason reason;
  char candidate[256], workload[128], form[16], device[160];
  double time_ns; // NaN: none that ranks
  struct interval time;
  double overhead_ns; // in every sample
  double *samples_ns; // of the judge's; heap
  int n_samples;
};

enum compare_verdict {
  COMPARE_NO_DIFFERENCE, // as far as these samples show
  COMPARE_A,             // A is faster, or alone right
  COMPARE_B,
  COMPARE_UNKNOWN, // a side is missing, both are wrong, a time is, or they cannot be compared
};

struct compare_task {
  char task[128];
  struct compare_side a, b;
  double ratio; // of times, A's over B's: above 1 B is faster. NaN: unknown
  struct interval ratio_interval;
  enum compare_verdict verdict;
  char why[160]; // one line
};

struct comparison {
  struct compare_task *tasks; // sorted by name, numbers in it as numbers; heap
  int n, capacity;
  int n_both, only_in_a, only_in_b;                 // tasks
  int right_a, right_b, only_a_right, only_b_right; // of those in both
  double right_p;                                   // how likely such a split is by chance
  enum compare_verdict right;
  int n_times;  // tasks with comparable times
  double ratio; // their geometric mean; NaN
  struct interval ratio_interval;
  enum compare_verdict faster;
};

// Compares the verdicts that stand. *out: compare_release(). ASSAY_ERR_NOT_FOUND: the store has no such run, or the two
// have no task in common.
enum assay_status compare_runs(struct store *s, const char *a, const char *b, struct comparison *out,
                               struct assay_error *err);
void compare_release(struct comparison *c);

#endif
