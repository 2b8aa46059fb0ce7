// SPDX-License-Identifier: Apache-2.0
// One level of a suite: a row a task, one table for each setting.
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "site/charts.h"
#include "site/pages.h"

static const struct site_row *row_of(const struct score_row *score) {
  return (const struct site_row *)(const void *)score; // its first member
}

static struct score_unit unit_of(const struct section *s) {
  double least = NAN;
  for (int i = 0; i < s->n_tasks; i++)
    if (s->tasks[i].best && !(least <= s->tasks[i].best->time_ns))
      least = s->tasks[i].best->time_ns;
  return score_time_unit(&least, isnan(least) ? 0 : 1);
}

static void put_best(struct html *w, struct frame_table *t, const struct score_task *task,
                     const struct score_unit *unit) {
  static const struct interval unknown = {NAN, NAN};
  if (task->best) {
    const struct site_row *row = row_of(task->best);
    const struct address kernel = frame_kernel(row);
    table_link(w, t, &kernel, row->candidate);
    table_time(w, t, task->best->time_ns, &task->best->time, unit);
  } else {
    table_text(w, t, task->n_judged == 0 ? "no verdict" : task->n_right ? "right, not timed" : "none is right");
    table_time(w, t, NAN, &unknown, unit);
  }
}

static void put_task(struct html *w, const struct site *site, const struct section *s, struct frame_table *t,
                     const struct score_task *task, const struct score_unit *unit) {
  const struct site_task *known = site_task_of(site, task->task);
  const struct address at = {.place = ADDRESS_TASK, .name = task->task};
  table_row_begin(w, t, task->n_right ? NULL : "failed");
  table_link(w, t, &at, task->task);
  table_text(w, t, known ? known->title : "");
  table_text(w, t, known && known->kind[0] ? known->kind : "-");
  put_best(w, t, task, unit);
  table_ratio(w, t, 1 / task->part_of_floor);
  if (s->baseline)
    table_ratio(w, t, task->speedup);
  table_int(w, t, task->n_right);
  table_int(w, t, task->n_judged);
  table_int(w, t, task->n_cheats);
  table_row_end(w, t);
}

static enum assay_status put_kinds(struct html *w, const struct site *site, const struct site_level *level,
                                   const struct section *s, int number, struct assay_error *err) {
  const struct site_task **tasks = base_calloc((size_t)level->n + 1, sizeof *tasks);
  char name[16], label[FRAME_TEXT + 24];
  if (!tasks)
    return error_nomem(err, "a level's page");
  for (int i = 0; i < level->n; i++)
    tasks[i] = &site->tasks[level->first + i];
  snprintf(name, sizeof name, "k%d", number);
  snprintf(label, sizeof label, "kinds of operators, %s", s->title);
  const struct kinds k = {
      .name = name,
      .label = label,
      .rows = s->rows,
      .n = s->n,
      .question = {.ask = s->baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME, .at = s->at, .baseline = s->baseline},
      .tasks = tasks,
      .n_tasks = level->n};
  html_element(w, EL_H3, NULL, "By kind of operator");
  enum assay_status status = kinds_table(w, &k, err);
  base_free(tasks);
  return status;
}

static enum assay_status put_section(struct html *w, const struct site *site, const struct site_file *f,
                                     const struct section *s, int number, struct assay_error *err) {
  const struct score_unit unit = unit_of(s);
  char time[32], speed[160], name[16], label[FRAME_TEXT + 24];
  int first, end;
  snprintf(time, sizeof time, "time, %s", unit.name);
  snprintf(speed, sizeof speed, "speedup over %s", s->baseline ? s->baseline : "");
  snprintf(name, sizeof name, number ? "s%d" : "main", number);
  snprintf(label, sizeof label, "tasks, %s", s->title);
  const struct frame_column columns[] = {{"task", 'l'},
                                         {"what", 'w'},
                                         {"kind", 'l'},
                                         {"fastest right kernel", 'w'},
                                         {time, 'r'},
                                         {"x floor", 'r'},
                                         {s->baseline ? speed : "right", 'r'},
                                         {s->baseline ? "right" : "verdicts", 'r'},
                                         {s->baseline ? "verdicts" : "cheats", 'r'},
                                         {"cheats", 'r'}};
  struct frame_table t = {.name = name, .label = label, .columns = columns, .n = s->baseline ? 10 : 9};
  html_open(w, EL_H2);
  html_attr_printf(w, AT_ID, "s%d", number);
  html_text(w, s->title);
  html_close(w, EL_H2);
  html_open(w, EL_P);
  html_printf(w, "%d of %s", s->sum.n_right, frame_count(s->sum.n_tasks, "task", (char[FRAME_COUNT]){0}));
  html_text(w, s->sum.n_right == 1 ? " has a right kernel" : " have a right kernel");
  if (s->sum.n_missing)
    html_printf(w, "; %d %s no verdict and %s as failed", s->sum.n_missing, s->sum.n_missing == 1 ? "has" : "have",
                s->sum.n_missing == 1 ? "counts" : "count");
  if (isfinite(s->sum.geomean_speedup))
    html_printf(w, ". Geometric mean speedup over %s: %.3g, of %s", s->baseline, s->sum.geomean_speedup,
                frame_count(s->sum.n_speedups, "task", (char[FRAME_COUNT]){0}));
  html_text(w, ".");
  html_close(w, EL_P);
  put_funnel(w, &s->sum.tasks, s->baseline);
  char id[32];
  snprintf(id, sizeof id, "fast-p-%d", number);
  enum assay_status status = f->at.page > 1 ? ASSAY_OK : put_curves(w, site, &site->levels[f->item], s, id, err);
  if (!status && f->at.page <= 1)
    status = put_kinds(w, site, &site->levels[f->item], s, number, err);
  pages_range(s->n_tasks, f->at.page, &first, &end);
  html_element(w, EL_H3, NULL, "Tasks");
  table_begin(w, &t);
  for (int i = first; i < end; i++)
    put_task(w, site, s, &t, &s->tasks[i], &unit);
  table_end(w, &t);
  return status;
}

enum assay_status page_level(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_level *level = &site->levels[f->item];
  const struct frame frame = {.at = &f->at,
                              .title = level->title,
                              .description = "Every task of the level with its fastest right kernel.",
                              .csv = true,
                              .json = true};
  struct sections s = {0};
  struct html w;
  enum assay_status status = sections_make(site, level, &s, err);
  if (status)
    return status;
  frame_begin(&w, out, site, &frame);
  if (s.n == 0)
    frame_empty(&w, "No verdict on this level stands in the store.");
  if (s.n > 1)
    frame_note(&w, "Times are compared within one device, workload, form of the task, contract and rule; each has a "
                   "table of its own. The one that says most comes first: speeds, then floors, then right kernels.");
  for (int i = 0; i < s.n && !status; i++)
    status = put_section(&w, site, f, &s.items[i], i, err);
  pages_links(&w, &f->at, level->n);
  frame_end(&w, &frame);
  sections_release(&s);
  return status ? status : buf_status(out, err);
}
