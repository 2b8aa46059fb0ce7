// SPDX-License-Identifier: Apache-2.0
// What kinds of tasks rows are of.
#include <string.h>

#include "base/alloc.h"
#include "report/rows.h"
#include "task/kind.h"

enum assay_status rows_kind_of(const char *path, const char *name, struct arena *arena, struct rows_kind *out,
                               struct assay_error *err) {
  struct assay_error ignored = {0};
  struct task t;
  char category[TASK_CATEGORY_BYTES];
  out->category = arena_strdup(arena, task_category(name, category));
  out->operator_kind = "";
  if (path && task_read(path, false, &t, &ignored) == ASSAY_OK) {
    out->operator_kind = task_kind(&t);
    task_release(&t);
  }
  return out->category ? ASSAY_OK : error_nomem(err, "the kinds of tasks");
}

enum assay_status rows_kind_by_name(const char *tasks_root, const char *name, struct arena *arena,
                                    struct rows_kind *out, struct assay_error *err) {
  struct assay_error ignored = {0};
  char *path = NULL;
  if (task_find(tasks_root, name, &path, &ignored) != ASSAY_OK)
    path = NULL;
  enum assay_status status = rows_kind_of(path, name, arena, out, err);
  base_free(path);
  return status;
}

enum assay_status rows_add_kinds(struct report_rows *rows, const char *tasks_root, struct assay_error *err) {
  struct rows_kind *known = arena_calloc(&rows->arena, (size_t)rows->n + 1, sizeof *known); // at a task's first row
  enum assay_status status = known ? ASSAY_OK : error_nomem(err, "the kinds of tasks");
  for (int i = 0; i < rows->n && !status; i++) {
    int first = 0;
    while (strcmp(rows->items[first].task, rows->items[i].task) != 0)
      first++;
    if (first == i)
      status = rows_kind_by_name(tasks_root, rows->items[i].task, &rows->arena, &known[i], err);
    rows->items[i].category = status ? "" : known[first].category;
    rows->items[i].operator_kind = status ? "" : known[first].operator_kind;
  }
  return status;
}
