// SPDX-License-Identifier: Apache-2.0
// A task as prompts describe it: values for the templates.
#ifndef METHOD_BRIEF_H
#define METHOD_BRIEF_H

#include "assay/judge.h"
#include "base/arena.h"
#include "method/form.h"
#include "method/template.h"

// Strings are the arena's. Shapes are those of the judged workload alone: what the judge asks elsewhere is not told.
struct brief {
  const char *task, *title, *module, *graph, *buffers, *workload, *contract, *device, *floor, *bound, *work;
  double floor_ns; // NaN: unknown
};

// ASSAY_ERR_USAGE where the workload is not one of the task.
enum assay_status brief_make(const char *task_path, const struct assay_judge_options *o, struct arena *arena,
                             struct brief *out, struct assay_error *err);

// The values of the brief and the form; `values` has room for BRIEF_VALUES. Returns how many.
enum { BRIEF_VALUES = 16 };
int brief_values(const struct brief *b, const struct answer_form *form, struct template_value *values);

#endif
