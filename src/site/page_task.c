// SPDX-License-Identifier: Apache-2.0
// One task: who ranks where, at each setting.
#include <math.h>
#include <stdio.h>

#include "base/alloc.h"
#include "site/charts.h"
#include "site/pages.h"
#include "site/task_parts.h"

static void put_counts(struct html *w, const struct site_group *g) {
  html_open(w, EL_P);
  html_printf(w, "Ranked %d of %d. Failed %d, cheats %d, unstable %d.", g->n_ranked, g->n, g->n_failed, g->n_cheats,
              g->n_unstable);
  if (g->n_replaced)
    html_printf(w, " %d %s a newer verdict of the same kernel in its place.", g->n_replaced,
                g->n_replaced == 1 ? "has" : "have each");
  if (g->n_ranked == 0)
    html_text(w, " No kernel has a time that ranks here.");
  html_close(w, EL_P);
}

enum { MOST_DOTS = 40 };

enum { MOST_LEVELS = 4 };

static void draw_dots(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_intervals(chart, page, out);
}

// The floor, and the baselines of the fastest row that has any: they took turns with it.
static int put_levels(const struct site_row *const *rows, int n, double unit_ns, struct draw_level *out) {
  int n_levels = 0;
  if (rows[0]->score.floor_ns > 0)
    out[n_levels++] = (struct draw_level){"floor", rows[0]->score.floor_ns / unit_ns, {NAN, NAN}};
  for (int i = 0; i < n; i++) {
    const struct score_row *s = &rows[i]->score;
    for (int b = 0; b < s->n_baselines && n_levels < MOST_LEVELS; b++)
      if (s->baselines[b].time_ns > 0)
        out[n_levels++] =
            (struct draw_level){s->baselines[b].name,
                                s->baselines[b].time_ns / unit_ns,
                                {s->baselines[b].time.low / unit_ns, s->baselines[b].time.high / unit_ns}};
    if (s->n_baselines)
      break;
  }
  return n_levels;
}

// The fastest that rank, with the floor and what they were compared with.
static void put_chart(struct html *w, const struct site_row *const *rows, const struct site_group *g, int number) {
  struct draw_dot dots[MOST_DOTS];
  const int n = g->n_ranked < MOST_DOTS ? g->n_ranked : MOST_DOTS;
  if (n == 0)
    return;
  const struct score_unit unit =
      score_time_unit(&rows[0]->score.time_ns, 1); // ranked rows come first, the fastest first
  struct draw_level levels[MOST_LEVELS];
  const int n_levels = put_levels(rows, n, unit.ns, levels);
  char id[32];
  bool intervals = false;
  for (int i = 0; i < n; i++) {
    const struct score_row *s = &rows[i]->score;
    intervals = intervals || s->time.low < s->time.high;
    dots[i] = (struct draw_dot){.label = rows[i]->candidate,
                                .value = s->time_ns / unit.ns,
                                .interval = {s->time.low / unit.ns, s->time.high / unit.ns},
                                .mark = s->unstable ? DRAW_UNSTABLE : DRAW_RIGHT};
  }
  snprintf(id, sizeof id, "times-%d", number);
  const char *title = intervals ? "times, with 95 % intervals" : "times, medians alone";
  chart_put(w, id, draw_dots, &(struct draw_intervals){title, unit.name, dots, n, levels, n_levels});
  if (n < g->n_ranked) {
    html_open(w, EL_P);
    html_attr(w, AT_CLASS, "note");
    html_printf(w, "The %d fastest of %d are drawn.", n, g->n_ranked);
    html_close(w, EL_P);
  }
}

static enum assay_status put_group(struct html *w, const struct site *site, const struct site_file *f, int group,
                                   struct assay_error *err) {
  const struct site_group *g = &site->groups[group];
  const struct site_task *task = &site->tasks[f->item];
  const struct site_row **rows = base_calloc((size_t)g->n + 1, sizeof *rows);
  const struct score_row **scores = base_calloc((size_t)g->n + 1, sizeof *scores);
  char title[FRAME_TEXT], name[16];
  int first, end, number = group - task->first_group, n_scores = 0;
  if (!rows || !scores) {
    base_free(rows);
    base_free(scores);
    return error_nomem(err, "a task's page");
  }
  for (int i = 0; i < g->n; i++) {
    rows[i] = &site->rows[g->first + i];
    if (!rows[i]->score.replaced) // what ranks says what it is compared with
      scores[n_scores++] = &rows[i]->score;
  }
  struct score_setting at = rows[0]->score.setting;
  at.device = site->devices[rows[0]->device].name;
  frame_setting_text(&at, title, sizeof title);
  snprintf(name, sizeof name, number ? "g%d" : "main", number);
  html_open(w, EL_H2);
  html_attr_printf(w, AT_ID, "g%d", number);
  html_text(w, title);
  html_close(w, EL_H2);
  put_counts(w, g);
  put_chart(w, rows, g, number);
  pages_range(g->n, f->at.page, &first, &end);
  const struct rows_table t = {.name = name,
                               .label = title,
                               .columns = ROWS_RANK | ROWS_ERROR | ROWS_RUN,
                               .baseline = rows_baseline(scores, n_scores)};
  if (first < end)
    rows_table(w, site, &t, rows + first, end - first);
  base_free(rows);
  base_free(scores);
  return ASSAY_OK;
}

// How much a setting says of the task: speeds first, then a floor, then how many rank.
static int says(const struct site *site, const struct site_group *g) {
  enum { SPEED = 1 << 30, FLOOR = 1 << 29 };
  bool speed = false;
  for (int i = 0; i < g->n_ranked; i++)
    speed = speed || site->rows[g->first + i].score.n_baselines > 0;
  return (speed ? SPEED : 0) + (g->n_ranked > 0 && site->rows[g->first].score.floor_ns > 0 ? FLOOR : 0) + g->n_ranked;
}

// The task's groups, the one that says most first. ASSAY_ERR_NOMEM.
static enum assay_status order_groups(const struct site *site, const struct site_task *task, int **out,
                                      struct assay_error *err) {
  int *order = base_calloc((size_t)task->n_groups + 1, sizeof *order);
  if (!order)
    return error_nomem(err, "a task's page");
  for (int i = 0; i < task->n_groups; i++) {
    const int own = says(site, &site->groups[task->first_group + i]);
    int k = i;
    for (; k > 0 && own > says(site, &site->groups[order[k - 1]]); k--)
      order[k] = order[k - 1];
    order[k] = task->first_group + i;
  }
  *out = order;
  return ASSAY_OK;
}

// The answer, where there is one: the fastest in the setting that comes first.
static void put_fastest(struct html *w, const struct site *site, const struct site_group *g) {
  const struct site_row *row = &site->rows[g->first];
  const struct score_row *s = &row->score;
  const struct address kernel = frame_kernel(row);
  struct score_setting at = s->setting;
  char setting[FRAME_TEXT];
  at.device = site->devices[row->device].name;
  html_open(w, EL_P);
  html_text(w, "Fastest right kernel: ");
  html_open(w, EL_A);
  html_address(w, AT_HREF, &kernel);
  html_element(w, EL_BDI, NULL, row->candidate);
  html_close(w, EL_A);
  html_text(w, ", ");
  frame_time(w, s->time_ns, &s->time);
  if (s->floor_ns > 0)
    html_printf(w, ", %.3g times the floor", s->time_ns / s->floor_ns);
  const struct score_row *scores[] = {s};
  const char *baseline = rows_baseline(scores, 1);
  const struct score_baseline *b = baseline ? score_baseline_of(s, baseline) : NULL;
  if (b && isfinite(b->speedup))
    html_printf(w, ", %.3g times as fast as %s", b->speedup, baseline);
  html_printf(w, " (%s).", frame_setting_text(&at, setting, sizeof setting));
  html_close(w, EL_P);
}

enum assay_status page_task(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_task *task = &site->tasks[f->item];
  const struct site_level *level = NULL;
  struct frame frame = {.at = &f->at,
                        .title = task->name,
                        .description = "Every kernel judged for the task, ranked, with those that failed.",
                        .csv = true,
                        .json = true};
  struct html w;
  int most = 0, *order = NULL;
  enum assay_status status = order_groups(site, task, &order, err);
  if (status)
    return status;
  for (int i = 0; i < site->n_levels; i++)
    if (f->item >= site->levels[i].first && f->item < site->levels[i].first + site->levels[i].n)
      level = &site->levels[i];
  if (level)
    frame.crumbs[frame.n_crumbs++] = (struct frame_crumb){level->title, frame_level(level)};
  frame_begin(&w, out, site, &frame);
  if (task->title[0])
    html_element(&w, EL_P, "lead", task->title);
  if (task->n_groups > 0 && site->groups[order[0]].n_ranked > 0)
    put_fastest(&w, site, &site->groups[order[0]]);
  if (task->kind[0]) {
    facts_begin(&w);
    facts_text(&w, "kind of operator", task->kind);
    facts_text(&w, "category", task->category);
    facts_end(&w);
  }
  if (task->n == 0)
    frame_empty(&w, "No kernel was judged for this task. In scores it counts as failed.");
  for (int i = 0; i < task->n_groups && !status; i++) {
    status = put_group(&w, site, f, order[i], err);
    most = site->groups[task->first_group + i].n > most ? site->groups[task->first_group + i].n : most;
  }
  pages_links(&w, &f->at, most);
  if (f->at.page <= 1)
    task_put_parts(&w, task);
  frame_end(&w, &frame);
  base_free(order);
  return status ? status : buf_status(out, err);
}
