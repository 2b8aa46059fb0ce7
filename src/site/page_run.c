// SPDX-License-Identifier: Apache-2.0
// One run: how far its kernels came, level by level, and every verdict.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "score/group.h"
#include "site/charts.h"
#include "site/pages.h"

// The rows of a list page: those of a run or a device, or the cheats. Heap; NULL: no memory.
static const struct site_row **choose(const struct site *site, const struct site_file *f, int *n) {
  const struct site_row **rows = base_calloc((size_t)site->n_rows + 1, sizeof *rows);
  *n = 0;
  for (int i = 0; rows && i < site->n_rows; i++) {
    const struct site_row *row = &site->rows[i];
    bool is_on = f->at.place == ADDRESS_METHOD   ? row->run == f->item
                 : f->at.place == ADDRESS_DEVICE ? row->device == f->item
                                                 : row->score.cheat[0] != '\0';
    if (is_on)
      rows[(*n)++] = row;
  }
  return rows;
}

static void put_list(struct html *w, const struct site *site, const struct site_file *f,
                     const struct site_row *const *rows, int n, unsigned columns) {
  const struct rows_table t = {.name = "main", .label = "verdicts", .columns = columns};
  int first, end;
  pages_range(n, f->at.page, &first, &end);
  frame_heading(w, "verdicts", "Verdicts");
  if (first < end)
    rows_table(w, site, &t, rows + first, end - first);
  pages_links(w, &f->at, n);
}

// --- a run

static void put_group_row(struct html *w, struct frame_table *t, const struct site *site, const struct score_group *g,
                          const struct score_summary *s, const char *baseline) {
  char setting[256];
  const struct site_task *task = site_task_of(site, g->rows[0]->task);
  const char *level = task && task->level[0] ? task->level : "tasks of no suite";
  table_row_begin(w, t, NULL);
  table_link(w, t, &(struct address){.place = ADDRESS_LEVEL, .name = level}, level);
  table_text(w, t, frame_setting_text(&g->rows[0]->setting, setting, sizeof setting));
  table_int(w, t, s->tasks.asked);
  table_int(w, t, s->tasks.built);
  table_int(w, t, s->tasks.right);
  if (s->tasks.baseline)
    table_int(w, t, s->tasks.faster);
  else
    table_number(w, t, NAN, 0);
  table_text(w, t, baseline ? baseline : "-");
  table_number(w, t, s->geomean_speedup, 2);
  table_number(w, t, s->part_of_floor.q[1], 2);
  table_row_end(w, t);
}

// A funnel of each level's tasks in the table's order, and fast_p where there is a baseline.
static enum assay_status put_group_charts(struct html *w, const struct site *site, const struct score_group *groups,
                                          const struct score_funnel *funnels, int n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++) {
    char id[32], setting[256];
    const struct chart_fast_p c = {groups[i].rows, groups[i].n, rows_baseline(groups[i].rows, groups[i].n), NULL, id};
    snprintf(id, sizeof id, "fast-p-%d", i);
    html_open(w, EL_H3);
    html_printf(w, "%s, %s", groups[i].rows[0]->level[0] ? groups[i].rows[0]->level : "tasks of no suite",
                frame_setting_text(&groups[i].rows[0]->setting, setting, sizeof setting));
    html_close(w, EL_H3);
    put_funnel(w, &funnels[i], c.baseline);
    if (c.baseline)
      status = chart_put_fast_p(w, site, &c, err);
  }
  return status;
}

// The kinds of a level's tasks that the run has, in one setting.
static enum assay_status put_kinds(struct html *w, const struct site *site, const struct score_group *g, int number,
                                   struct assay_error *err) {
  const char *baseline = rows_baseline(g->rows, g->n);
  const struct site_task **tasks = base_calloc((size_t)g->n + 1, sizeof *tasks);
  char name[32], label[FRAME_TEXT], setting[FRAME_TEXT];
  struct kinds k = {.name = name, .label = label, .category = true, .rows = g->rows, .n = g->n, .tasks = tasks};
  if (!tasks)
    return error_nomem(err, "a run's page");
  for (int i = 0; i < g->n; i++) // rows of a task stand together
    if (i == 0 || strcmp(g->rows[i]->task, g->rows[i - 1]->task) != 0)
      tasks[k.n_tasks++] = site_task_of(site, g->rows[i]->task);
  const char *level = g->rows[0]->level[0] ? g->rows[0]->level : "tasks of no suite";
  snprintf(name, sizeof name, "kinds%d", number);
  snprintf(label, sizeof label, "%s, %s", level, frame_setting_text(&g->rows[0]->setting, setting, sizeof setting));
  k.question = (struct score_question){
      .ask = baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME, .at = g->rows[0]->setting, .baseline = baseline};
  html_element(w, EL_H3, NULL, label);
  enum assay_status status = kinds_table(w, &k, err);
  base_free(tasks);
  return status;
}

static enum assay_status put_groups(struct html *w, const struct site *site, const struct score_row **rows, int n,
                                    struct assay_error *err) {
  static const struct frame_column columns[] = {
      {"level", 'l'},         {"setting", 'w'},      {"tasks asked", 'r'},
      {"build", 'r'},         {"right", 'r'},        {"faster", 'r'},
      {"than baseline", 'l'}, {"mean speedup", 'r'}, {"part of the limit", 'r'}};
  struct frame_table t = {.name = "levels", .label = "levels of the run", .columns = columns, .n = 9};
  struct score_group *groups = NULL;
  int count = 0;
  enum assay_status status = score_group_settings(rows, n, &groups, &count, err);
  struct score_funnel *funnels = status ? NULL : base_calloc((size_t)count + 1, sizeof *funnels);
  if (!status && !funnels)
    status = error_nomem(err, "a run's page");
  frame_heading(w, "levels", "By level");
  table_begin(w, &t);
  for (int i = 0; i < count && !status; i++) {
    const struct score_group *g = &groups[i];
    struct score_summary sum;
    struct score_task *tasks = NULL;
    int n_tasks = 0;
    struct score_question q = {.at = g->rows[0]->setting, .baseline = rows_baseline(g->rows, g->n)};
    q.ask = q.baseline ? SCORE_ASK_SPEED : SCORE_ASK_TIME;
    status = score_tasks(g->rows, g->n, &q, NULL, &tasks, &n_tasks, err);
    if (!status)
      status = score_sum_up(tasks, n_tasks, &q, &sum, err);
    if (!status) {
      put_group_row(w, &t, site, g, &sum, q.baseline);
      funnels[i] = sum.tasks;
    }
    base_free(tasks);
  }
  table_end(w, &t);
  if (!status)
    status = put_group_charts(w, site, groups, funnels, count, err);
  if (!status && count > 0)
    frame_heading(w, "kinds", "By category and kind of operator");
  for (int i = 0; i < count && !status; i++)
    status = put_kinds(w, site, &groups[i], i, err);
  base_free(funnels);
  base_free(groups);
  return status;
}

// What its kernels cost, where they were made by `assay make`.
static void put_cost(struct html *w, const struct site_run *run) {
  const struct store_cost *c = &run->cost;
  frame_heading(w, "cost", "Cost");
  if (c->calls == 0) {
    frame_empty(w, "Its kernels were not made by `assay make`: what they cost is not known.");
    return;
  }
  facts_begin(w);
  facts_text(w, "method and models", run->method);
  facts_printf(w, "requests", "%lld", (long long)c->calls);
  facts_printf(w, "tokens", "%lld", (long long)c->tokens);
  if (c->calls > c->without_price)
    facts_printf(w, "price", "%.4g USD", c->usd);
  if (c->without_price)
    facts_printf(w, "requests without a known price", "%lld", (long long)c->without_price);
  facts_printf(w, "time of processors", "%.3g s", (double)c->cpu_ns / 1e9);
  facts_printf(w, "time of a GPU", "%.3g s", (double)c->gpu_ns / 1e9);
  facts_end(w);
}

enum assay_status page_run(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_run *run = &site->runs[f->item];
  const struct frame frame = {.at = &f->at,
                              .title = run->title,
                              .description = "A run: how many of its kernels build, are right, are fast.",
                              .csv = true,
                              .json = true};
  int n = 0;
  const struct site_row **rows = choose(site, f, &n);
  const struct score_row **scores = base_calloc((size_t)n + 1, sizeof *scores);
  enum assay_status status = rows && scores ? ASSAY_OK : error_nomem(err, "a run's page");
  struct html w;
  for (int i = 0; i < n && !status; i++)
    scores[i] = &rows[i]->score;
  if (!status) {
    frame_begin(&w, out, site, &frame);
    html_open(&w, EL_P);
    html_attr(&w, AT_CLASS, "lead");
    html_printf(&w,
                "%s %s. Tasks that the run was not asked for are not counted here; a level's page counts "
                "them.",
                frame_count(n, "verdict", (char[FRAME_COUNT]){0}), n == 1 ? "stands" : "stand");
    html_close(&w, EL_P);
    if (f->at.page <= 1)
      status = put_groups(&w, site, scores, n, err);
    if (f->at.page <= 1)
      put_cost(&w, run);
    put_list(&w, site, f, rows, n, ROWS_TASK | ROWS_RANK | ROWS_ERROR);
    frame_end(&w, &frame);
  }
  base_free(rows);
  base_free(scores);
  return status ? status : buf_status(out, err);
}

// --- a device

static enum assay_status put_roofline(struct html *w, const struct site *site, const struct score_row *const *rows,
                                      int n, struct assay_error *err) {
  frame_heading(w, "roofline", "Roofline");
  frame_note(w,
             "The fastest right kernel of each task at the workload that most tasks have a time at, by the work that "
             "the task needs, not by traffic that was counted.");
  return chart_put_roofline(w, site, rows, n, err);
}

enum assay_status page_device(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_device *device = &site->devices[f->item];
  const char *kind_ends = strchr(device->name, ' '); // with its driver: another one is another device
  const struct frame frame = {.at = &f->at,
                              .title = kind_ends ? kind_ends + 1 : device->name,
                              .description = "Every verdict of one device.",
                              .csv = true,
                              .json = true};
  int n = 0;
  const struct site_row **rows = choose(site, f, &n);
  struct html w;
  if (!rows)
    return error_nomem(err, "a device's page");
  frame_begin(&w, out, site, &frame);
  facts_begin(&w);
  facts_text(&w, "device", device->name);
  facts_printf(&w, "verdicts", "%d", n);
  facts_end(&w);
  const struct score_row **scores = base_calloc((size_t)n + 1, sizeof *scores);
  enum assay_status status = scores ? ASSAY_OK : error_nomem(err, "a device's page");
  for (int i = 0; i < n && scores; i++)
    scores[i] = &rows[i]->score;
  if (!status && f->at.page <= 1)
    status = put_roofline(&w, site, scores, n, err);
  put_list(&w, site, f, rows, n, ROWS_TASK | ROWS_RANK | ROWS_RUN);
  frame_end(&w, &frame);
  base_free(rows);
  base_free(scores);
  return status ? status : buf_status(out, err);
}

// --- cheats

enum assay_status page_cheats(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct frame frame = {.at = &f->at,
                              .title = "Cheats",
                              .description = "Kernels that were caught at what no kernel may do.",
                              .csv = true,
                              .json = true};
  static const enum assay_reason reasons[] = {ASSAY_REASON_FORBIDDEN_CALL, ASSAY_REASON_LATE_WORK,
                                              ASSAY_REASON_CHANGED_BEHAVIOUR};
  int n = 0;
  const struct site_row **rows = choose(site, f, &n);
  struct html w;
  if (!rows)
    return error_nomem(err, "the page of cheats");
  frame_begin(&w, out, site, &frame);
  html_element(&w, EL_P, "lead",
               "Kernels that did what no honest kernel does by mistake. They stay visible, do not rank, and count as "
               "failed. A kernel that is wrong, on purpose or not, is not among them: it failed, and stands with its "
               "reason on the page of its task.");
  facts_begin(&w);
  for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
    facts_text(&w, assay_reason_code(reasons[i]), assay_reason_text(reasons[i]));
  facts_end(&w);
  if (n == 0)
    frame_empty(&w, "None was caught among the verdicts that stand.");
  else
    put_list(&w, site, f, rows, n, ROWS_TASK | ROWS_RUN | ROWS_DEVICE | ROWS_NO_TIME);
  frame_end(&w, &frame);
  base_free(rows);
  return buf_status(out, err);
}
