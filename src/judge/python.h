// SPDX-License-Identifier: Apache-2.0
// What judging a Python candidate needs in addition to what all candidates do.
#ifndef JUDGE_PYTHON_H
#define JUDGE_PYTHON_H

#include "assay/judge.h"
#include "runner/runner.h"
#include "task/task.h"
#include "toolchain/python.h"

// What the suite's own module of this task is made with, in the task's dimensions: "K, N, (N,)", from the file
// init_arguments.txt next to the task's. *out: in the arena; NULL where the file does not say.
enum assay_status judge_init_arguments(const struct task *t, struct arena *a, const char **out,
                                       struct assay_error *err);

// The workload as whoever makes a plan or serves a module is told of it: dimensions, names, which inputs are weights
// and how those are drawn for which not any data will do, the module's arguments. What it points to lives in the arena
// and in the task; `inputs` and `outputs` (the types) stay NULL.
enum assay_status judge_describe(const struct task *t, const struct workload *w, struct arena *a,
                                 struct plan_subject *out, struct assay_error *err);

// Sends a worker the workload whose buffers the next runner_bind brings (python_workload).
enum assay_status judge_python_tell(struct runner *r, const struct task *t, const struct workload *w,
                                    struct assay_error *err);

#endif
