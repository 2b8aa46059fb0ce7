// SPDX-License-Identifier: Apache-2.0
// The sizes at which KernelBench-X times a task. Its files know a size by the shapes of the tensors that are timed
// ("input_size": [[1024, 512], [512]]), Assay by the name of a workload.
#ifndef REPORT_KERNELBENCHX_SIZES_H
#define REPORT_KERNELBENCHX_SIZES_H

#include <jansson.h>
#include <stdbool.h>

#include "base/error.h"

struct kernelbenchx_size {
  char workload[16];
  json_t *shapes; // [[1024, 512], [512]]
};

struct kernelbenchx_ladder {
  char task[128];    // "kernelbenchx/Math/abs"
  char file[128];    // "Math/abs.py"
  const char *dtype; // "float32", as their files have it
  int n;
  struct kernelbenchx_size *sizes; // smallest first
};

// The ladder of a task below the folder `tasks`. ASSAY_ERR_NOT_FOUND: there is no such task.
enum assay_status kernelbenchx_ladder(const char *tasks, const char *task, struct kernelbenchx_ladder *out,
                                      struct assay_error *err);
void kernelbenchx_ladder_release(struct kernelbenchx_ladder *l);

// The size of a workload's shapes: "full" is the largest, or one of the others. -1: it is none of the ladder's.
int kernelbenchx_size_of(const struct kernelbenchx_ladder *l, const char *workload);

// The size of a row of theirs: the one whose shapes are among the row's, in order. A row that names no shapes counts by
// its place, if the file has as many rows as the ladder. -1: none.
int kernelbenchx_size_of_row(const struct kernelbenchx_ladder *l, const json_t *rows, size_t i);

// A list of objects, as rows of timings are.
bool kernelbenchx_are_rows(const json_t *rows);

// The milliseconds of each size in a file of timings, a list of {"input_size", "ms"}; NaN: no row. ms[l->n]. A row that
// fits no size, or has no positive time, is left out.
void kernelbenchx_read_rows(const struct kernelbenchx_ladder *l, const json_t *rows, double *ms);

#endif
