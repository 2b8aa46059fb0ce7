// SPDX-License-Identifier: Apache-2.0
// The store's verdicts as rows of scores (score/row.h).
#ifndef REPORT_ROWS_H
#define REPORT_ROWS_H

#include "base/arena.h"
#include "report/view.h"
#include "score/row.h"

// A row of one verdict. Strings and samples are borrowed from the view; what has to be made is in the arena. What only
// the task file knows (category, operator_kind: rows_add_kinds()) and the run's method stay "". ASSAY_ERR_NOMEM.
enum assay_status row_from_view(const struct verdict_view *view, struct arena *arena, struct score_row *out,
                                struct assay_error *err);

// The same of a verdict of a run, for keeping: everything is copied into the arena.
enum assay_status row_keep(const struct score_row *row, struct arena *arena, struct score_row *out,
                           struct assay_error *err);

// Rows in memory of their own. Zero-initialise.
struct report_rows {
  struct score_row *items;
  int n, capacity;
  struct arena arena;
};
void rows_release(struct report_rows *rows);

// The method and the models of a run of `assay make`, "refine, NAME"; "" of another. In the arena. ASSAY_ERR_NOMEM and
// the store's.
enum assay_status rows_method(struct store *s, const char *run, struct arena *arena, const char **out,
                              struct assay_error *err);

// Adds the verdicts of the run that stand (store_each_standing), with the method of a run of `assay make`.
// ASSAY_ERR_NOMEM and the store's.
enum assay_status rows_read(struct store *s, const char *run, struct report_rows *rows, struct assay_error *err);

// The rows as pointers, as the functions of src/score take them. Heap (base_free); NULL: no memory.
const struct score_row **rows_pointers(const struct report_rows *rows);

// What views of many tasks group them by (task/kind.h): of the file; "" where it is unknown or cannot be read. In the
// arena. ASSAY_ERR_NOMEM.
struct rows_kind {
  const char *category, *operator_kind;
};
enum assay_status rows_kind_of(const char *path, const char *name, struct arena *arena, struct rows_kind *out,
                               struct assay_error *err);
// Of the task of that name, from the files below the folder of suites.
enum assay_status rows_kind_by_name(const char *tasks_root, const char *name, struct arena *arena,
                                    struct rows_kind *out, struct assay_error *err);
// Gives the rows both, from the files below the folder of suites. ASSAY_ERR_NOMEM.
enum assay_status rows_add_kinds(struct report_rows *rows, const char *tasks_root, struct assay_error *err);

// Gives every row one more baseline: `name`, with the times of other rows (a run) or of a file. The speedup is that of
// the medians, its interval goes from the least to the largest ratio that both intervals allow. A row gets the fastest
// of the task's times that rank in its own setting; `file` are times that hold at `full`, on the user's word.
struct rows_time {
  const char *task;
  double ns;
};
enum assay_status rows_add_baseline(struct report_rows *rows, const char *name, const struct report_rows *others,
                                    bool stable_only, struct assay_error *err);
enum assay_status rows_add_times(struct report_rows *rows, const char *name, const struct rows_time *file, int n,
                                 struct assay_error *err);

#endif
