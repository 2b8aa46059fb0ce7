// Scores of runs, and tasks as PyTorch modules.
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "store/store.h"
#include "task/task.h"

enum { SCORE_THRESHOLDS = 6 };
extern const double score_thresholds[SCORE_THRESHOLDS]; // KernelBench's p: 0, 0.5, 0.8, 1, 1.5, 2

// One run, or one level of it: each task counts with its fastest correct candidate.
struct score {
  char run[256], group[64]; // group: "kernelbench/1"; under another contract than the tasks' own "kernelbench/1 (tf32)"
  int n_tasks;              // with a verdict
  int n_correct;
  int n_suspicious; // with a pass whose time is suspicious; it is none of the correct ones
  int n_unstable;   // whose best time is unstable; where such times are left out: that have no other
  int n_narrow;     // tasks with candidates that are right at the judged shape alone; not among the correct ones
  int n_verdicts, n_verdicts_correct;
  double pass_at_1;                // unbiased estimate, mean over tasks
  double part_of_floor[3];         // quartiles of floor / time over correct tasks; NaN when unknown
  double geomean_speedup;          // over the baseline, correct tasks; NaN without one
  double fast_p[SCORE_THRESHOLDS]; // [0]: the part of correct tasks; the others NaN where no speedup is known
  int n_baseline;                  // tasks that have a baseline time
};

// Scores of a run by group, of its verdicts that stand (store_each_standing). *scores: heap array of *count. baseline:
// the name of a run whose times are the baseline, the path of KernelBench's file of baseline times (it ends with
// ".json"), the name of a baseline that was timed in turn with the run's candidates ("torch.eager"), or NULL. `stable`
// leaves out times that are unstable. ASSAY_ERR_NOT_FOUND when there is no such run.
enum assay_status score_run(struct store *s, const char *run, const char *baseline, bool stable, struct score **scores,
                            int *count, struct assay_error *err);

// A PyTorch module that computes the task, for people and prompts: Model, get_inputs, get_init_inputs. `missing` gets
// the names of operators without a translation; unless it stays empty, the module cannot run.
enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, struct buf *missing,
                                 struct assay_error *err);

// The same as a Python candidate of this workload (docs/baselines.md): ModelNew in the precision of the task's
// contract.
struct report_pytorch_mode {
  const char *compile; // a mode of torch.compile; NULL: eager
  bool search;         // let cuDNN search for its fastest algorithm
};
enum assay_status report_pytorch_candidate(const struct task *t, const struct workload *w,
                                           const struct report_pytorch_mode *mode, struct buf *out, struct buf *missing,
                                           struct assay_error *err);

#endif
