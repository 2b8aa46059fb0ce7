// What judging a Python candidate needs beside what all candidates do.
#ifndef JUDGE_PYTHON_H
#define JUDGE_PYTHON_H

#include "assay/judge.h"
#include "runner/runner.h"
#include "task/task.h"
#include "toolchain/python.h"

bool judge_is_python(const char *candidate); // by its ending

// The interpreter that these options name.
enum assay_status judge_find_python(const struct assay_judge_options *o, struct arena *a, struct python_place *out,
                                    struct assay_error *err);

// What the suite's own module of this task is made with, in the task's dimensions: "K, N, (N,)", from the file
// init_arguments.txt beside the task's. *out: in the arena; NULL where nobody says.
enum assay_status judge_init_arguments(const struct task *t, struct arena *a, const char **out,
                                       struct assay_error *err);

// Tells a worker about the workload whose buffers the next runner_bind brings (python_sheet).
enum assay_status judge_python_tell(struct runner *r, const struct task *t, const struct workload *w,
                                    struct assay_error *err);

#endif
