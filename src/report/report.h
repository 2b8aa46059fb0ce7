// SPDX-License-Identifier: Apache-2.0
// Scores of runs, and tasks as PyTorch modules.
#ifndef REPORT_REPORT_H
#define REPORT_REPORT_H

#include "base/buf.h"
#include "report/rows.h"
#include "score/group.h"
#include "score/summary.h"
#include "store/store.h"
#include "task/task.h"

// One level of a run, in one setting: what may be ranked together; with score_options.by one kind of its tasks.
struct score {
  char run[256], level[128];
  char kind[64]; // "matmul"; "" without score_options.by, or unknown
  // "kernelbench/1"; under another contract than the tasks' own "kernelbench/1 (tf32)". Where the run has the level in
  // several settings, what differs follows: "kernelbench/1 at small". Of one kind: "kernelbench/1, matmul".
  char group[320];
  char device[176], workload[128], form[16], contract[16], rule[16], judge[32]; // struct score_setting; "": unknown
  struct score_summary sum;
};

// baseline: the name of a run whose times are the baseline, the path of KernelBench's file of baseline times (it ends
// with ".json"), the name of a baseline that was timed in turn with the run's candidates ("torch.eager"), or NULL.
struct score_options {
  const char *baseline;
  bool stable;                        // leaves out times that are unstable
  const struct score_names *expected; // all tasks that count, by name; NULL: those with a verdict
  // Splits each level by SCORE_BY_CATEGORY or SCORE_BY_OPERATOR_KIND, which the tasks' files below `tasks` say. NULL:
  // no
  const enum score_by *by;
  const char *tasks;
};

// The run's verdicts that stand (store_each_standing), each with its baseline. `out`: zero or rows to add to.
// ASSAY_ERR_NOT_FOUND when there is no such run, or no such baseline.
enum assay_status score_read(struct store *s, const char *run, const struct score_options *o, struct report_rows *out,
                             struct assay_error *err);

// Scores of a run by level and setting. *scores: heap array of *count. The statuses of score_read().
enum assay_status score_run(struct store *s, const char *run, const struct score_options *o, struct score **scores,
                            int *count, struct assay_error *err);

// A PyTorch module that computes the task, for people and prompts: Model, get_inputs, get_init_inputs. `missing` gets
// the names of operators without a translation; unless it stays empty, the module cannot run.
enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, struct buf *missing,
                                 struct assay_error *err);

// The module, and a function run() that takes all inputs in the graph's order, weights included, and returns what the
// module returns. It may hold sizes of the workload: compare the texts of several.
enum assay_status report_pytorch_reference(const struct task *t, const struct workload *w, struct buf *out,
                                           struct buf *missing, struct assay_error *err);

// That text under the workload full, and whether it is the same under all. ASSAY_ERR_UNSUPPORTED, with the names of
// operators, where one has no translation.
enum assay_status report_pytorch_everywhere(const struct task *t, struct buf *out, bool *same, struct assay_error *err);

// A function NAME that draws all inputs under the workload, and returns them as a list in the graph's order.
enum assay_status report_pytorch_draws(const struct task *t, const struct workload *w, const char *name,
                                       struct buf *out, struct assay_error *err);

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
