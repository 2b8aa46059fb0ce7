// SPDX-License-Identifier: Apache-2.0
// Answers that are not unique: factors whose signs or order are free, numbers of chance.
//
// The key assay.check names a function of the task's file. Its parameters are named after inputs and outputs of the
// task's graph, and its outputs are what is judged: values that are known whichever right answer it was (what factors
// multiply to, products that are the identity, triangles that are zero). What they should be comes from the oracle's
// own answer, and how far they may be off from its contract passes: the graph errs, the function does not. A
// candidate's outputs go through the same function in double precision. Everything after that is the usual comparison.
#ifndef TASK_CHECK_H
#define TASK_CHECK_H

#include "task/task.h"

// judged: m's graph with the function after it; check: the function alone, whose inputs are the graph's inputs and then
// its outputs. Both borrow from m; model_release. ASSAY_ERR_INVALID: no such function, or it does not fit.
enum assay_status check_make(const struct model *m, const char *name, struct model *judged, struct model *check,
                             struct assay_error *err);

// What the check makes of outputs: judged[i] for each output of task_oracle_graph, the caller's to release. Outputs of
// a candidate may be anything: ASSAY_ERR_INVALID or _UNSUPPORTED where an operator cannot take them.
enum assay_status check_eval(const struct task *t, const struct array *inputs, const struct array *outputs, int threads,
                             struct array *judged, struct assay_error *err);

static inline bool task_has_check(const struct task *t) {
  return t->check.flat.n_nodes > 0;
}

#endif
