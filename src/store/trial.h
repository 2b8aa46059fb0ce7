// SPDX-License-Identifier: Apache-2.0
// Trials of tuners: every configuration that was tried, what came of it and what it cost. Our own tuner writes them one
// by one; those of others are read from their logs (tune/log.h).
#ifndef STORE_TRIAL_H
#define STORE_TRIAL_H

#include "store/store.h"

// What came of a trial: X(ID, name as stored).
#define STORE_TRIAL_STATUSES(X)                                                                                        \
  X(TRIAL_OK, "ok")     /* it has a time */                                                                            \
  X(TRIAL_SLOW, "slow") /* timing ended early: slower than the best by far; it has a rough time */                     \
  X(TRIAL_COMPILE_ERROR, "compile_error")                                                                              \
  X(TRIAL_LAUNCH_ERROR, "launch_error") /* no plan, a fault, out of resources */                                       \
  X(TRIAL_WRONG, "wrong")                                                                                              \
  X(TRIAL_TIMEOUT, "timeout")                                                                                          \
  X(TRIAL_DUPLICATE, "duplicate") /* built to the same as an earlier one */                                            \
  X(TRIAL_FAILED, "failed")       /* the tuner says no more than that */                                               \
  X(TRIAL_SUMMARY, "summary")     /* no trial: all that a log says of a whole run */

enum store_trial_status {
#define STORE_TRIAL_ID(id, name) STORE_##id,
  STORE_TRIAL_STATUSES(STORE_TRIAL_ID)
#undef STORE_TRIAL_ID
};
const char *store_trial_status_name(enum store_trial_status s);
bool store_trial_status_by_name(const char *name, enum store_trial_status *out);

// The columns of a trial in addition to id and status, by type; each is a field of struct store_trial.
#define TRIAL_TEXTS(X) X(run) X(task) X(workload) X(device) X(maker) X(candidate) X(configuration) X(detail)
#define TRIAL_NUMBERS(X) X(number) X(start_ns) X(compile_ns) X(bench_ns) X(cpu_ns) X(gpu_ns) X(verdict) X(at_ns)
#define TRIAL_REALS(X) X(time_ns) X(tuner_ns)

// Strings are borrowed on the way in, and live until the visitor returns on the way out.
struct store_trial {
  int64_t id;
  enum store_trial_status status;
  const char *run, *task, *workload, *device;
  const char *maker;         // "tune", "triton", "helion", ...
  const char *candidate;     // the file that was tuned, or the log
  const char *configuration; // "TILE_M=128,TILE_N=64"
  const char *detail;        // one line
  int64_t number;            // within the run, from 0
  int64_t start_ns;          // since the tuner began; of a trial that was made after a pause, the pause not counted
  int64_t compile_ns, bench_ns, cpu_ns, gpu_ns; // 0: unknown
  int64_t verdict;                              // id; 0: none
  int64_t at_ns;                                // wall clock
  double time_ns;                               // as our harness has it; NaN: none
  double tuner_ns;                              // as the tuner has it; NaN: none
};

// Stores a trial, in the place of one with the same run, task, workload, device, maker and number.
enum assay_status store_put_trial(struct store *s, const struct store_trial *t, struct assay_error *err);

// Trials that are put between these two are stored together, which takes a fraction of the time: all of them, or none
// where `status`, what came of putting them, is a failure. store_end_trials returns the first failure.
enum assay_status store_begin_trials(struct store *s, struct assay_error *err);
enum assay_status store_end_trials(struct store *s, enum assay_status status, struct assay_error *err);

// Calls visit for the trials of a run (NULL: of all), by task, workload, device and maker, in the order in which they
// ended (one may be tried again at the end), those that ended at once by number; stops when it returns false.
typedef bool store_visit_trial(void *arg, const struct store_trial *t);
enum assay_status store_each_trial(struct store *s, const char *run, store_visit_trial *visit, void *arg,
                                   struct assay_error *err);

#endif
