// What verdicts add up to, and tasks in other people's languages.
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "store/store.h"
#include "task/task.h"

enum { SCORE_THRESHOLDS = 6 };
extern const double score_thresholds[SCORE_THRESHOLDS]; // KernelBench's p: 0, 0.5, 0.8, 1, 1.5, 2

// One run (or one level of it), the newest verdict of each task, the best candidate first.
struct score {
  char run[256], group[64]; // group: "kernelbench/1"
  int n_tasks;              // with at least one verdict
  int n_correct, n_suspicious, n_unstable;
  int n_verdicts, n_verdicts_correct;
  double pass_at_1;                // unbiased, over tasks
  double part_of_floor[3];         // quartiles of floor / time over correct tasks; NaN when unknown
  double geomean_speedup;          // against the baseline run, correct tasks; NaN without one
  double fast_p[SCORE_THRESHOLDS]; // NaN without a baseline
  int n_baseline;                  // tasks that have a baseline time
};

// Scores of a run by group. *scores: heap array of *count. baseline: the name of the run whose times are the baseline,
// the path of a file of baseline times as KernelBench keeps them (it ends with ".json"), the name of a baseline that
// was timed in turn with the run's candidates ("torch.eager"), or NULL. ASSAY_ERR_NOT_FOUND when there is no such run.
enum assay_status score_run(struct store *s, const char *run, const char *baseline, struct score **scores, int *count,
                            struct assay_error *err);

// A PyTorch module that computes the task, for people and prompts: Model, get_inputs, get_init_inputs. Operators
// without a translation become a comment that names them and *complete is false.
enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, bool *complete,
                                 struct assay_error *err);

// The same as a Python candidate of this workload (docs/baselines.md): ModelNew in the precision of the task's
// contract.
struct report_pytorch_mode {
  const char *compile; // a mode of torch.compile; NULL: eager
  bool search;         // for cuDNN's fastest algorithm
};
enum assay_status report_pytorch_candidate(const struct task *t, const struct workload *w,
                                           const struct report_pytorch_mode *mode, struct buf *out, bool *complete,
                                           struct assay_error *err);

#endif
