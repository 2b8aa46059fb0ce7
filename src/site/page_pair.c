// SPDX-License-Identifier: Apache-2.0
// Two runs, task by task: which is better, and what no difference is shown of.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/compare.h"
#include "report/publish.h"
#include "score/figure.h"
#include "site/charts.h"
#include "site/data.h"
#include "site/pages.h"

static const char *const verdicts[] = {[COMPARE_NO_DIFFERENCE] = "no difference shown",
                                       [COMPARE_A] = "A",
                                       [COMPARE_B] = "B",
                                       [COMPARE_UNKNOWN] = "unknown"};

// A page and both files of its data are made of one comparison: that of the pair that was asked for last.
struct compared {
  int pair;
  bool is_there; // of that pair
  struct comparison c;
};

// A task that is somebody's file is called as on its page, without the folder.
static enum assay_status publish_tasks(struct comparison *c, struct assay_error *err) {
  struct arena arena = {0};
  bool ok = true;
  for (int i = 0; i < c->n && ok; i++) {
    const char *fit = publish_text(&arena, c->tasks[i].task);
    ok = fit != NULL;
    if (ok)
      snprintf(c->tasks[i].task, sizeof c->tasks[i].task, "%s", fit);
  }
  arena_release(&arena);
  return ok ? ASSAY_OK : error_nomem(err, "a comparison");
}

static enum assay_status compare(struct site *site, const struct site_file *f, const struct comparison **out,
                                 struct assay_error *err) {
  const struct site_pair *pair = &site->pairs[f->item];
  struct compared *held = site->held_pair;
  if (!held && !(held = site->held_pair = base_calloc(1, sizeof *held)))
    return error_nomem(err, "a comparison");
  if (!held->is_there || held->pair != f->item) {
    compare_release(&held->c);
    held->is_there = false;
    enum assay_status status =
        compare_runs(site->store, site->runs[pair->a].name, site->runs[pair->b].name, &held->c, err);
    if (status && status != ASSAY_ERR_NOT_FOUND) // that one has no task, and the page says so
      return status;
    status = publish_tasks(&held->c, err);
    if (status)
      return status;
    held->pair = f->item;
    held->is_there = true;
  }
  *out = &held->c;
  return ASSAY_OK;
}

void pair_let_go(struct site *site) {
  if (site->held_pair)
    compare_release(&site->held_pair->c);
  base_free(site->held_pair);
  site->held_pair = NULL;
}

// --- the chart: tasks with a ratio, the greatest gain of B first

enum { MOST_RATIOS = 60 };

static int by_ratio(const void *x, const void *y) {
  const struct draw_ratio *a = x, *b = y;
  if (a->ratio != b->ratio)
    return a->ratio > b->ratio ? -1 : 1;
  return strcmp(a->label, b->label);
}

struct ratios {
  struct draw_ratio *items;
  int n;
};

static void draw_chart(const void *chart, const struct draw_page *page, struct buf *out) {
  const struct ratios *r = chart;
  draw_ratios(&(struct draw_ratios){"times, A over B", "A", "B", r->items, r->n}, page, out);
}

// The tasks whose ratios are furthest from 1, where there are too many for one picture.
static int keep_furthest(struct draw_ratio *items, int n) {
  const int low = MOST_RATIOS / 2;
  if (n <= MOST_RATIOS)
    return n;
  memmove(items + low, items + n - low, (size_t)low * sizeof *items);
  return 2 * low;
}

static int faster_of(enum compare_verdict v) {
  return v == COMPARE_A ? 1 : v == COMPARE_B ? 2 : 0;
}

static void put_chart(struct html *w, const struct comparison *c) {
  struct ratios r = {.items = base_calloc((size_t)c->n + 1, sizeof *r.items)};
  w->out->failed = w->out->failed || !r.items;
  for (int i = 0; i < c->n && r.items; i++)
    if (isfinite(c->tasks[i].ratio))
      r.items[r.n++] = (struct draw_ratio){c->tasks[i].task, c->tasks[i].ratio, c->tasks[i].ratio_interval,
                                           faster_of(c->tasks[i].verdict)};
  if (r.n == 0) {
    frame_empty(w, "No task has comparable times in both: nothing is drawn.");
  } else {
    const int all = r.n;
    qsort(r.items, (size_t)r.n, sizeof *r.items, by_ratio);
    r.n = keep_furthest(r.items, r.n);
    chart_put(w, "ratios", draw_chart, &r);
    if (r.n < all)
      frame_note(w, "The thirty tasks at either end are drawn; the table has all.");
  }
  base_free(r.items);
}

// --- words and table

static const char *conclusion(enum compare_verdict v, const char *a, const char *b) {
  return v == COMPARE_A ? a : v == COMPARE_B ? b : v == COMPARE_NO_DIFFERENCE ? "no difference shown" : "unknown";
}

static void put_names(struct html *w, const struct site *site, const struct site_pair *pair) {
  const struct address a = frame_run(&site->runs[pair->a]), b = frame_run(&site->runs[pair->b]);
  html_open(w, EL_P);
  html_text(w, "A: ");
  html_link(w, &a, site->runs[pair->a].title);
  html_text(w, ". B: ");
  html_link(w, &b, site->runs[pair->b].title);
  html_text(w, ".");
  html_close(w, EL_P);
}

// "0.162 (0.160 to 0.163)": all with the digits that the interval allows; three, where it spans orders of magnitude.
enum { RATIO_TEXT = 160 };
static const char *ratio_text(double ratio, const struct interval *in, char *text, size_t size) {
  char shown[3][48];
  const double x[] = {ratio, in->low, in->high};
  const int decimals = score_decimals(ratio, fmax((in->high - in->low) / 2, 1e-3 * ratio));
  const bool plain = in->high < 2 * in->low && ratio > 1e-3 && ratio < 1e6;
  for (int i = 0; i < 3; i++)
    if (plain)
      score_number(x[i], decimals, shown[i], sizeof shown[i]);
    else
      snprintf(shown[i], sizeof shown[i], in->high < 2 * in->low ? "%.4g" : "%.3g", x[i]);
  snprintf(text, size, "%s (%s to %s)", shown[0], shown[1], shown[2]);
  return text;
}

static void put_answer(struct html *w, const struct comparison *c) {
  int a = 0, b = 0, none = 0, wrong = 0, unknown = 0;
  for (int i = 0; i < c->n; i++) {
    a += c->tasks[i].verdict == COMPARE_A;
    b += c->tasks[i].verdict == COMPARE_B;
    none += c->tasks[i].verdict == COMPARE_NO_DIFFERENCE;
    if (c->tasks[i].verdict == COMPARE_UNKNOWN && c->tasks[i].a.there && c->tasks[i].b.there) {
      const bool right = c->tasks[i].a.right || c->tasks[i].b.right;
      wrong += !right;
      unknown += right;
    }
  }
  char ratio[RATIO_TEXT];
  html_open(w, EL_P);
  html_attr(w, AT_CLASS, "lead");
  html_printf(w, "B better %d, A better %d, no difference shown %d", b, a, none);
  if (unknown)
    html_printf(w, ", both right and not comparable %d", unknown);
  if (wrong)
    html_printf(w, ", neither right %d", wrong);
  html_printf(w, "; only in A %d, only in B %d.", c->only_in_a, c->only_in_b);
  html_close(w, EL_P);
  facts_begin(w);
  facts_printf(w, "right, of tasks in both", "A %d, B %d of %d: %s (p = %.2g)", c->right_a, c->right_b, c->n_both,
               conclusion(c->right, "A is right more often", "B is right more often"), c->right_p);
  if (isfinite(c->ratio_interval.low))
    facts_printf(w, "times, A over B", "%s over %s: %s", ratio_text(c->ratio, &c->ratio_interval, ratio, sizeof ratio),
                 frame_count(c->n_times, "task", (char[FRAME_COUNT]){0}),
                 conclusion(c->faster, "A is faster", "B is faster"));
  else
    facts_printf(w, "times, A over B", "too few tasks with comparable times (%d)", c->n_times);
  facts_end(w);
}

static const char *side_text(const struct compare_side *s) {
  return !s->there ? "-" : assay_reason_code(s->reason);
}

// A side without a verdict has no time to be measured.
static void put_side_time(struct html *w, struct frame_table *t, const struct compare_side *s) {
  static const struct score_unit us = {"us", 1e3};
  if (s->there) {
    table_time(w, t, s->time_ns, &s->time, &us);
    return;
  }
  table_cell_begin(w, t, "");
  html_text(w, "-");
  table_cell_end(w, t);
}

static void put_task(struct html *w, struct frame_table *t, const struct compare_task *task, struct arena *arena) {
  char value[48];
  const struct address at = {.place = ADDRESS_TASK, .name = task->task};
  const char *why = publish_text(arena, task->why);
  char ratio[RATIO_TEXT] = "-";
  table_row_begin(w, t, NULL);
  table_link(w, t, &at, task->task);
  table_text(w, t, side_text(&task->a));
  put_side_time(w, t, &task->a);
  table_text(w, t, side_text(&task->b));
  put_side_time(w, t, &task->b);
  if (isfinite(task->ratio))
    ratio_text(task->ratio, &task->ratio_interval, ratio, sizeof ratio);
  table_cell_begin(w, t, isfinite(task->ratio) ? score_number(task->ratio, 6, value, sizeof value) : "");
  html_text(w, ratio);
  table_cell_end(w, t);
  table_text(w, t, why ? why : "");
  table_row_end(w, t);
}

static void put_table(struct html *w, const struct comparison *c) {
  static const struct frame_column columns[] = {{"task", 'l'},  {"A", 'l'},        {"A, us", 'r'}, {"B", 'l'},
                                                {"B, us", 'r'}, {"A over B", 'r'}, {"what", 'w'}};
  struct frame_table t = {.name = "main", .label = "tasks of both runs", .columns = columns, .n = 7};
  struct arena arena = {0};
  table_begin(w, &t);
  for (int i = 0; i < c->n && i < SITE_ROWS_A_PAGE; i++)
    put_task(w, &t, &c->tasks[i], &arena);
  table_end(w, &t);
  if (c->n > SITE_ROWS_A_PAGE)
    frame_note(w, "The first 1,000 tasks are listed; the data of this page have all.");
  arena_release(&arena);
}

enum assay_status page_pair(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_pair *pair = &site->pairs[f->item];
  char title[FRAME_TEXT];
  const struct comparison *c = NULL;
  enum assay_status status = compare(site, f, &c, err);
  if (status)
    return status;
  snprintf(title, sizeof title, "%s and %s", site->runs[pair->a].title, site->runs[pair->b].title);
  const struct frame frame = {
      .at = &f->at, .title = title, .description = "Two runs compared, task by task.", .csv = true, .json = true};
  struct html w;
  frame_begin(&w, out, site, &frame);
  put_names(&w, site, pair);
  if (c->n == 0) {
    frame_empty(&w, "The two have no task in common: there is nothing to compare.");
  } else {
    put_answer(&w, c);
    put_chart(&w, c);
    put_table(&w, c);
  }
  frame_end(&w, &frame);
  return buf_status(out, err);
}

enum assay_status pair_data(struct site *site, const struct site_file *f, struct data_table *t,
                            struct assay_error *err) {
  static const char *const names[] = {"task",     "a_verdict", "a_time_ns", "b_verdict", "b_time_ns",
                                      "a_over_b", "low",       "high",      "better"};
  const struct comparison *c = NULL;
  enum assay_status status = compare(site, f, &c, err);
  t->names = names;
  t->n = sizeof names / sizeof *names;
  data_begin(t);
  for (int i = 0; !status && i < c->n; i++) {
    const struct compare_task *task = &c->tasks[i];
    data_text(t, task->task);
    data_text(t, task->a.there ? assay_reason_code(task->a.reason) : NULL);
    data_number(t, task->a.time_ns);
    data_text(t, task->b.there ? assay_reason_code(task->b.reason) : NULL);
    data_number(t, task->b.time_ns);
    data_number(t, task->ratio);
    data_number(t, task->ratio_interval.low);
    data_number(t, task->ratio_interval.high);
    data_text(t, verdicts[task->verdict]);
    data_end_row(t);
  }
  data_end(t);
  return status;
}
