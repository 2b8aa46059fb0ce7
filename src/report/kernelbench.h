// SPDX-License-Identifier: Apache-2.0
// KernelBench's files of results and of baseline times. Their format is what its scripts eval_from_generations,
// generate_baseline_time and benchmark_eval_analysis write and read.
#ifndef REPORT_KERNELBENCH_H
#define REPORT_KERNELBENCH_H

#include "base/error.h"
#include "store/store.h"

// One problem's time in a baseline file, results/timing/HARDWARE/BASELINE.json.
struct kernelbench_time {
  int level, problem;
  double ns;
};

// Reads a baseline file: the mean time of each problem. Heap array. ASSAY_ERR_SYNTAX, _INVALID: it is not such a file,
// and the message says where.
enum assay_status kernelbench_read_times(const char *path, struct kernelbench_time **times, int *count,
                                         struct assay_error *err);

// "kernelbench/1/19": 1 and 19. False: not a task of KernelBench.
bool kernelbench_task(const char *task, int *level, int *problem);
// "level_1_problem_19_sample_3_kernel.cu": 3; -1: none in the name.
int kernelbench_sample(const char *candidate);

// A candidate for one problem, as KernelBench's harness judged it (`there`, eval_results.json) and as Assay did
// (`here`, the newest verdict of the run).
struct kernelbench_pair {
  int level, problem, sample;
  bool there, here;
  bool compiled, correct; // there
  double runtime_ms;      // there; NaN: none
  enum assay_reason reason;
  bool suspicious;
  char detail[256];
  double time_ns; // here; NaN: none
};

// Whether both judged it and disagree. For Assay, a pass that is not suspicious is correct.
bool kernelbench_differ(const struct kernelbench_pair *p);

// All samples that at least one of the two judged, sorted by problem and sample. A file of results has one level; 0:
// the only level of the run. Heap array. ASSAY_ERR_SYNTAX, _INVALID: it is not such a file, and the message says where.
enum assay_status kernelbench_compare(struct store *s, const char *run, int level, const char *path,
                                      struct kernelbench_pair **pairs, int *count, struct assay_error *err);

// What was written, for a message.
struct kernelbench_export {
  int level, problems, samples, correct, without_time;
  int judged_shape_only; // of the correct ones, right at the judged shape alone: `metadata` has their scope
  int not_full; // samples at another workload than full: their times cannot be compared with published baselines
};

// Writes the run's verdicts that stand (store_each_standing) on one level (0: its only one) as
// FOLDER/NAME/eval_results.json, replacing that file. A candidate whose time is suspicious is written as incorrect, and
// `metadata` says why.
// ASSAY_ERR_NOT_FOUND: no such run, or it has no verdict on that level; ASSAY_ERR_INVALID: several levels and none was
// chosen.
enum assay_status kernelbench_write_run(struct store *s, const char *run, int level, const char *folder,
                                        const char *name, struct kernelbench_export *out, struct assay_error *err);

#endif
