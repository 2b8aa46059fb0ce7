// SPDX-License-Identifier: Apache-2.0
// The autotuner: every configuration of a candidate is compiled, checked and timed by the judge; the fastest are judged
// in full. Each trial is in the store as soon as it ended, so that a run goes on where it was, whatever ended it.
#ifndef TUNE_TUNER_H
#define TUNE_TUNER_H

#include <stdatomic.h>

#include "assay/judge.h"
#include "store/store.h"
#include "store/trial.h"
#include "tune/space.h"

#define TUNE_MAKER "tune"

struct tuner_options {
  struct store *store;
  const char *run;
  const char *task_name;
  const char *folder;                        // for the sources of the configurations; it is there
  const struct assay_judge_options *judging; // the candidate with its parameters, task, workload, device
  int parallel;                              // configurations compiled at once
  int64_t most_trials;                       // 0: all
  int64_t budget_ns;                         // of the search, earlier processes included; 0: none
  double give_up;                            // timing ends when a configuration is so many times slower than the best
  int finalists;                             // so many of the fastest are judged in full
  uint64_t seed;                             // of the order, and of the inputs of all trials
  bool retime;                               // judge every point of the curve of best times in full
  const atomic_bool *stop;                   // set from outside: what is under way is finished
  // After each trial; best_ns: so far, NaN. May be NULL.
  void (*progress)(void *arg, const struct store_trial *t, double best_ns, int64_t count);
  void *progress_arg;
  // The command that repeats a full judgement; heap string or NULL.
  char *(*command)(void *arg, const struct assay_judge_options *o, const struct assay_verdict *v);
  void *command_arg;
};

struct tuner_result {
  int64_t count, tried, tried_before;  // configurations that are allowed; tried in all; by earlier processes
  int64_t untimed;                     // of these: right, and without a time
  bool complete;                       // nothing is left to try
  int64_t best;                        // number of the trial whose full judgement is the fastest right one; -1: none
  int64_t verdict;                     // of that judgement
  int64_t spent_ns;                    // of the search, earlier processes included
  double best_ns;                      // its time; NaN
  char configuration[512], file[4096]; // of the best, and its source
  char untimed_best[600];              // the first that would have been, had its full judgement a time; "": none
};

// ASSAY_OK also where no configuration is right, or it was stopped. ASSAY_ERR_CORRUPT: the run has trials of other
// parameters.
enum assay_status tuner_run(const struct tuner_options *o, struct tuner_result *out, struct assay_error *err);

#endif
