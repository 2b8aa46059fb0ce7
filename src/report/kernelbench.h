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
