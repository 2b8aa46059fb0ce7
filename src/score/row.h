// SPDX-License-Identifier: Apache-2.0
// What scores are made of: one verdict as a plain row, the question that is asked of it, and the one function that
// says whether the row answers it. Pure functions of rows: no store, no judge. Command line, site and service all ask
// score_eligible(), so that there is one meaning of "counts".
#ifndef SCORE_ROW_H
#define SCORE_ROW_H

#include <stdbool.h>
#include <stdint.h>

#include "assay/verdict.h"
#include "stats/stats.h"

// What two times must have in common to be ranked together: X(field). As texts; "" where it is not known. (An unknown
// rule or judge, of older verdicts, and a kind of device without a name may be any.)
#define SCORE_SETTINGS(X)                                                                                              \
  X(device)   /* its kind and name: "cuda NVIDIA H200, driver 580.95" */                                               \
  X(workload) /* "full", "M=3, N=4" */                                                                                 \
  X(form)     /* of the task: "default" or "published" */                                                              \
  X(contract) /* where it is not the task's own: "tf32" */                                                             \
  X(rule)     /* that decided: "contract" or "allclose" */                                                             \
  X(judge)    /* version of the judge: "assay 0.1.0" */
struct score_setting {
#define SCORE_SETTING_FIELD(name) const char *name;
  SCORE_SETTINGS(SCORE_SETTING_FIELD)
#undef SCORE_SETTING_FIELD
};

// Times that a row's time is compared with.
struct score_baseline {
  const char *name; // "torch.eager", the name of a run, the path of a file
  double time_ns;   // NaN: unknown
  struct interval time;
  double speedup; // its time over the row's: above 1 the row is faster; NaN: unknown
  struct interval speedup_interval;
};

// Times in nanoseconds, NaN where there is none; intervals of 95 %, NaN to NaN where there is none. Strings are
// borrowed and never NULL; "" where something is not known.
struct score_row {
  int64_t id;                           // of the verdict; 0: none
  int64_t at_ns;                        // when it was judged; 0: unknown
  const char *task;                     // "kernelbench/1/19"
  const char *suite, *level;            // "kernelbench", "kernelbench/1": score_take_names()
  const char *category, *operator_kind; // of the task
  const char *run, *method, *candidate, *candidate_hash;
  struct score_setting setting;
  bool judged; // false: there is no verdict, and reason says nothing; so also where the machine failed
  enum assay_reason reason;
  const char *cheat; // what it was caught at; ""
  bool narrow;       // right at the judged shape alone
  bool suspicious;   // its time is shorter than can be
  bool foreknown;    // its draws could be known beforehand
  bool process;      // judged as a process, not as a plan
  bool unstable;
  bool unranked_device; // times of this device are not ranked
  bool replaced;        // by a newer verdict of the same kernel (newest.h)
  double time_ns, floor_ns;
  double flops, bytes; // least work of the workload; NaN: unknown
  struct interval time;
  int n_baselines;
  const struct score_baseline *baselines;
  const double *samples_ns; // of the judge, protocol included
  int n_samples;
  double overhead_ns; // in every sample
};

// What is asked of rows.
enum score_ask {
  SCORE_ASK_RIGHT, // is it right?
  SCORE_ASK_TIME,  // does its time rank?
  SCORE_ASK_FLOOR, // and what part of it is the floor?
  SCORE_ASK_SPEED, // and how fast is it, compared with the baseline?
};
struct score_question {
  enum score_ask ask;
  struct score_setting at; // NULL: any. Ranks are of one setting: that of a row, for example
  bool stable_only;        // leaves times out that are unstable
  bool plans_only;         // leaves out what was judged as a process
  bool newest_only;        // leaves out what a newer verdict of the same kernel replaces
  const char *baseline;    // by name, of SCORE_ASK_SPEED; other questions may have one, and do not need it
};

// Why a row does not count: X(ID, code, sentence). The codes are published.
#define SCORE_REASONS(X)                                                                                               \
  X(ELIGIBLE, "eligible", "it counts")                                                                                 \
  X(OTHER_DEVICE, "other_device", "it was timed on another device")                                                    \
  X(OTHER_WORKLOAD, "other_workload", "it was judged at another workload")                                             \
  X(OTHER_FORM, "other_form", "it was judged on the other form of the task")                                           \
  X(OTHER_CONTRACT, "other_contract", "it was judged under another contract")                                          \
  X(OTHER_RULE, "other_rule", "another rule decided")                                                                  \
  X(OTHER_JUDGE, "other_judge", "another version of the judge said it")                                                \
  X(REPLACED, "replaced", "a newer verdict of the same kernel counts in its place")                                    \
  X(NOT_JUDGED, "not_judged", "there is no verdict; it counts as failed")                                              \
  X(CHEAT, "cheat", "it was caught at what no kernel may do")                                                          \
  X(NOT_BUILT, "not_built", "it does not build")                                                                       \
  X(NOT_RIGHT, "not_right", "it is not right")                                                                         \
  X(JUDGED_SHAPE_ONLY, "judged_shape_only", "it is right at the judged shape alone")                                   \
  X(SUSPICIOUS, "suspicious", "its time is shorter than the work can take")                                            \
  X(AS_PROCESS, "as_process", "it was judged as a process")                                                            \
  X(FOREKNOWN, "foreknown", "its draws could be known beforehand, so its time does not rank")                          \
  X(UNRANKED_DEVICE, "unranked_device", "times of this device do not rank")                                            \
  X(NO_TIME, "no_time", "it is right, and has no time")                                                                \
  X(UNSTABLE, "unstable", "its time is unstable")                                                                      \
  X(NO_FLOOR, "no_floor", "the floor is not known: the machine is not calibrated")                                     \
  X(NO_BASELINE, "no_baseline", "it was not compared with this baseline")
enum score_reason {
#define SCORE_REASON_ID(id, code, text) SCORE_##id,
  SCORE_REASONS(SCORE_REASON_ID)
#undef SCORE_REASON_ID
      SCORE_N_REASONS
};
const char *score_reason_code(enum score_reason r);
const char *score_reason_text(enum score_reason r);

// SCORE_ELIGIBLE, or the first reason in the list above why the row does not count.
enum score_reason score_eligible(const struct score_row *row, const struct score_question *q);

// Whether it is right, wherever it was judged. (The question SCORE_ASK_RIGHT without a setting.)
bool score_is_right(const struct score_row *row);

// The row's baseline of that name; NULL: it has none, or no name is given.
const struct score_baseline *score_baseline_of(const struct score_row *row, const char *name);

// Whether two settings are the same in every field that both know: a candidate that does not build has met no device
// that could give its name.
bool score_same_setting(const struct score_setting *a, const struct score_setting *b);

// Suite and level of a task's name: the lengths of their texts at its beginning, "kernelbench" and "kernelbench/1". A
// name without a slash is both.
void score_names(const char *task, int *suite, int *level);

// "kernelbench/1/9" before "kernelbench/1/19": numbers in names as numbers. For qsort: -, 0, +.
int score_by_name(const char *a, const char *b);

// Ratios nearer to 1 than this are no difference: two judgements of one kernel differ by as much. 0.01 for a GPU, 0.1
// for a CPU, which is shared with whatever else runs. `device` as in struct score_setting.
double score_resolution(const char *device);

#endif
