// The files in which KernelBench keeps results and baseline times, read and written (its scripts eval_from_generations,
// generate_baseline_time and benchmark_eval_analysis say what is in them).
#ifndef REPORT_KERNELBENCH_H
#define REPORT_KERNELBENCH_H

#include "base/error.h"
#include "store/store.h"

// One problem's time in a baseline file, results/timing/HARDWARE/BASELINE.json.
struct kernelbench_time {
  int level, problem;
  double ns;
};

// Reads a baseline file: the mean of each problem. Heap array. ASSAY_ERR_SYNTAX/_INVALID say where it is not one.
enum assay_status kernelbench_read_times(const char *path, struct kernelbench_time **times, int *count,
                                         struct assay_error *err);

// "kernelbench/1/19": 1 and 19. false: it is no task of KernelBench's.
bool kernelbench_task(const char *task, int *level, int *problem);
// "level_1_problem_19_sample_3_kernel.cu": 3; -1: the name has none.
int kernelbench_sample(const char *candidate);

// A candidate on one problem, as KernelBench's harness saw it (eval_results.json) and as we did (the newest verdict of
// the run).
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

// Whether both know it and do not say the same: a pass that is not suspicious is correct.
bool kernelbench_differ(const struct kernelbench_pair *p);

// All samples that one of the two knows, by problem and sample. A file of results is of one level; 0: the only one that
// the run has. Heap array. ASSAY_ERR_SYNTAX/_INVALID say where it is no such file.
enum assay_status kernelbench_beside(struct store *s, const char *run, int level, const char *path,
                                     struct kernelbench_pair **pairs, int *count, struct assay_error *err);

// What a run adds up to, for a message.
struct kernelbench_export {
  int level, problems, samples, correct, without_time;
  int not_full; // samples at another workload than full, whose times are not to be held against others' baselines
};

// Writes the run's verdicts on one level (0: the only one that it has) as FOLDER/NAME/eval_results.json, in place of
// what is there. A candidate whose time is suspicious is not correct there, and `metadata` says why.
// ASSAY_ERR_NOT_FOUND: no such run, or none of its verdicts is on that level; ASSAY_ERR_INVALID: several levels and
// none was chosen.
enum assay_status kernelbench_write_run(struct store *s, const char *run, int level, const char *folder,
                                        const char *name, struct kernelbench_export *out, struct assay_error *err);

#endif
