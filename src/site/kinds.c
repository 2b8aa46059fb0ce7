// SPDX-License-Identifier: Apache-2.0
// Tasks by the kind of their greatest operator.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "site/pages.h"

static int by_kind(const void *x, const void *y) {
  const struct site_task *const *a = x, *const *b = y;
  const int order = strcmp((*a)->kind, (*b)->kind);
  return order ? order : score_by_name((*a)->name, (*b)->name);
}

static void put_row(struct html *w, struct frame_table *t, const struct kinds *k, const struct site_task *task,
                    const struct score_summary *sum) {
  table_row_begin(w, t, NULL);
  table_text(w, t, task->kind[0] ? task->kind : "unknown");
  if (k->category)
    table_text(w, t, task->category[0] ? task->category : "-");
  table_int(w, t, sum->tasks.asked);
  table_int(w, t, sum->tasks.built);
  table_int(w, t, sum->tasks.right);
  if (sum->tasks.baseline)
    table_int(w, t, sum->tasks.faster);
  else
    table_number(w, t, NAN, 0);
  table_number(w, t, sum->geomean_speedup, 2);
  table_number(w, t, sum->part_of_floor.q[1], 2);
  table_row_end(w, t);
}

// The tasks [0, n) are of one kind.
static enum assay_status put_kind(struct html *w, struct frame_table *t, const struct kinds *k,
                                  const struct site_task *const *tasks, int n, struct assay_error *err) {
  const char **names = base_calloc((size_t)n + 1, sizeof *names);
  struct score_task *scored = NULL;
  struct score_summary sum;
  int count = 0;
  if (!names)
    return error_nomem(err, "a table of kinds");
  for (int i = 0; i < n; i++)
    names[i] = tasks[i]->name;
  const struct score_names expected = {names, n};
  enum assay_status status = score_tasks(k->rows, k->n, &k->question, &expected, &scored, &count, err);
  if (!status)
    status = score_sum_up(scored, count, &k->question, &sum, err);
  if (!status)
    put_row(w, t, k, tasks[0], &sum);
  base_free(scored);
  base_free(names);
  return status;
}

enum assay_status kinds_table(struct html *w, const struct kinds *k, struct assay_error *err) {
  const struct frame_column columns[] = {{"operator kind", 'l'},
                                         {k->category ? "category" : "tasks", k->category ? 'l' : 'r'},
                                         {k->category ? "tasks" : "build", 'r'},
                                         {k->category ? "build" : "right", 'r'},
                                         {k->category ? "right" : "faster", 'r'},
                                         {k->category ? "faster" : "mean speedup", 'r'},
                                         {k->category ? "mean speedup" : "part of the limit", 'r'},
                                         {"part of the limit", 'r'}};
  struct frame_table t = {.name = k->name, .label = k->label, .columns = columns, .n = k->category ? 8 : 7};
  const struct site_task **sorted = base_calloc((size_t)k->n_tasks + 1, sizeof *sorted);
  enum assay_status status = sorted ? ASSAY_OK : error_nomem(err, "a table of kinds");
  for (int i = 0; i < k->n_tasks && sorted; i++)
    sorted[i] = k->tasks[i];
  if (sorted && k->n_tasks)
    qsort(sorted, (size_t)k->n_tasks, sizeof *sorted, by_kind);
  table_begin(w, &t);
  for (int i = 0, end; i < k->n_tasks && !status; i = end) {
    for (end = i + 1; end < k->n_tasks && strcmp(sorted[end]->kind, sorted[i]->kind) == 0;)
      end++;
    status = put_kind(w, &t, k, sorted + i, end - i, err);
  }
  table_end(w, &t);
  base_free(sorted);
  return status;
}
