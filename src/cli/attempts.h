// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: the attempts of a run of `assay make`, task by task, as `assay score` counts them.
#ifndef CLI_ATTEMPTS_H
#define CLI_ATTEMPTS_H

#include "stats/progress.h"
#include "store/step.h"

struct attempts_task {
  char task[128];
  int asked, code, built, right, fast; // asked: for a kernel
  int first_right;                     // number of requests until the first right kernel, that one included; 0: none is
  double best_known_ns; // the least time that ranks in the whole store, of the same task, workload and device; NaN
  // All requests, those for prose too, in the order of their numbers; and of those for a kernel its speed: over the
  // baseline, where a failure is 1, or as a part of the floor, where it is 0. NaN: right, and without a time.
  int requests, capacity;
  struct progress_step *steps;
  double *speeds;
};

struct attempts_run {
  struct attempts_task *tasks;
  int n, capacity;
  const char *baseline; // NULL: none
  int64_t model_ns, judge_ns, own_ns;
};

// `baseline`: NULL, or the name of one that was timed in turn with the candidates. No tasks where the run has no
// attempts.
enum assay_status attempts_read(struct store *store, const char *run, const char *baseline, struct attempts_run *out,
                                struct assay_error *err);
void attempts_release(struct attempts_run *r);

// 1 where the task was right within so many requests, prose included; else 0.
double attempts_right_within(const struct attempts_task *t, int requests);

#endif
