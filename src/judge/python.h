// What judging a Python candidate needs beside what all candidates do.
#ifndef JUDGE_PYTHON_H
#define JUDGE_PYTHON_H

#include "assay/judge.h"
#include "base/buf.h"
#include "task/task.h"
#include "toolchain/python.h"

bool judge_is_python(const char *candidate); // by its ending

// The interpreter that these options name.
enum assay_status judge_find_python(const struct assay_judge_options *o, struct arena *a, struct python_place *out,
                                    struct assay_error *err);

// What a worker is told of a workload, as JSON: {"task", "symbols": {"M": 3}, "inputs": [{"name", "static"}],
// "outputs": ["y"]}. The names of the workload and of the probe are not told.
enum assay_status judge_python_sheet(const struct task *t, const struct workload *w, struct buf *out,
                                     struct assay_error *err);

#endif
