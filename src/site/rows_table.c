// SPDX-License-Identifier: Apache-2.0
// Verdicts as rows of a table: on the pages of tasks, runs, devices and cheats.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "site/pages.h"
#include "report/publish.h"

int pages_of(int n) {
  return n <= SITE_ROWS_A_PAGE ? 1 : (n + SITE_ROWS_A_PAGE - 1) / SITE_ROWS_A_PAGE;
}

void pages_range(int n, int p, int *first, int *end) {
  *first = p > 1 ? (p - 1) * SITE_ROWS_A_PAGE : 0;
  *end = *first + SITE_ROWS_A_PAGE < n ? *first + SITE_ROWS_A_PAGE : n;
}

void pages_links(struct html *w, const struct address *at, int n) {
  const int pages = pages_of(n), here = at->page > 1 ? at->page : 1;
  if (pages < 2)
    return;
  html_open(w, EL_NAV);
  html_attr(w, AT_ARIA_LABEL, "pages");
  html_open(w, EL_P);
  html_printf(w, "Page %d of %d, %d rows each at most: ", here, pages, SITE_ROWS_A_PAGE);
  for (int p = 1; p <= pages; p++) {
    struct address to = *at;
    char number[16];
    to.page = p;
    snprintf(number, sizeof number, "%d", p);
    if (p > 1)
      html_text(w, " ");
    if (p == here)
      html_element(w, EL_STRONG, NULL, number);
    else
      html_link(w, &to, number);
  }
  html_close(w, EL_P);
  html_close(w, EL_NAV);
}

enum { MOST_COLUMNS = 12 };

struct layout {
  struct frame_column columns[MOST_COLUMNS];
  char time[32], speed[160];
  struct score_unit unit;
  int n;
  bool error, what; // some row has one; a column without any is left out
};

static void add(struct layout *l, const char *text, char align) {
  l->columns[l->n++] = (struct frame_column){text, align};
}

static bool has_error(const struct site_row *row) {
  return isfinite(row->error_z) && isfinite(row->error_limit) && row->error_limit > 0;
}

static void lay_out(const struct rows_table *t, const struct site_row *const *rows, int n, struct layout *l) {
  double least = NAN;
  *l = (struct layout){.n = 0};
  for (int i = 0; i < n; i++) {
    if (rows[i]->score.time_ns > 0 && !(least <= rows[i]->score.time_ns))
      least = rows[i]->score.time_ns;
    l->error = l->error || ((t->columns & ROWS_ERROR) && has_error(rows[i]));
    l->what = l->what || rows[i]->detail[0] || rows[i]->rank.why;
  }
  l->unit = score_time_unit(&least, isnan(least) ? 0 : 1);
  snprintf(l->time, sizeof l->time, "time, %s", l->unit.name);
  snprintf(l->speed, sizeof l->speed, "speedup over %s", t->baseline ? t->baseline : "");
  add(l, "kernel", 'l');
  if (t->columns & ROWS_RANK)
    add(l, "rank", 'l');
  if (t->columns & ROWS_TASK)
    add(l, "task", 'l');
  add(l, "verdict", 'l');
  if (!(t->columns & ROWS_NO_TIME)) {
    add(l, l->time, 'r');
    add(l, "x floor", 'r');
  }
  if (t->baseline)
    add(l, l->speed, 'r');
  if (l->error)
    add(l, "error / allowed", 'r');
  if (t->columns & ROWS_RUN)
    add(l, "run", 'w');
  if (t->columns & ROWS_DEVICE)
    add(l, "device, workload", 'l');
  if (l->what)
    add(l, "what", 'w');
}

static void put_rank(struct html *w, struct frame_table *t, const struct score_rank *r) {
  char value[16];
  snprintf(value, sizeof value, "%d", r->order);
  table_cell_begin(w, t, r->why ? "" : value);
  if (r->why)
    html_text(w, "-");
  else if (r->first == r->last)
    html_printf(w, "%d", r->first);
  else
    html_printf(w, "%d\xE2\x80\x93%d", r->first, r->last);
  table_cell_end(w, t);
}

static void put_error(struct html *w, struct frame_table *t, const struct site_row *row) {
  char value[48];
  const bool known = has_error(row);
  table_cell_begin(w, t, known ? score_number(row->error_z / row->error_limit, 6, value, sizeof value) : "");
  if (known)
    html_printf(w, "%s%s%.2g / %.3g", row->gate, row->gate[0] ? " " : "", row->error_z, row->error_limit);
  else
    html_text(w, "-");
  table_cell_end(w, t);
}

// Why it failed or has no place, in words.
static void put_what(struct html *w, struct frame_table *t, const struct site_row *row) {
  table_cell_begin(w, t, NULL);
  if (row->detail[0])
    html_element(w, EL_BDI, NULL, row->detail);
  else if (row->rank.why)
    html_element(w, EL_SPAN, NULL, score_reason_text(row->rank.why));
  table_cell_end(w, t);
}

static void put_row(struct html *w, const struct site *site, const struct rows_table *options, struct frame_table *t,
                    const struct layout *l, const struct site_row *row) {
  const struct score_row *s = &row->score;
  const struct address kernel = frame_kernel(row);
  char setting[256];
  table_row_begin(w, t, s->replaced ? "older" : score_is_right(s) ? NULL : "failed");
  table_link(w, t, &kernel, row->candidate);
  if (options->columns & ROWS_RANK)
    put_rank(w, t, &row->rank);
  if (options->columns & ROWS_TASK) {
    const struct address task = frame_task(&site->tasks[row->task]);
    table_link(w, t, &task, s->task);
  }
  table_verdict(w, t, row);
  if (!(options->columns & ROWS_NO_TIME)) {
    table_time(w, t, s->time_ns, &s->time, &l->unit);
    table_ratio(w, t, s->time_ns > 0 ? s->time_ns / s->floor_ns : NAN);
  }
  if (options->baseline) {
    const struct score_baseline *b = score_baseline_of(s, options->baseline);
    table_ratio(w, t, b ? b->speedup : NAN);
  }
  if (l->error)
    put_error(w, t, row);
  if (options->columns & ROWS_RUN) {
    const struct address run = frame_run(&site->runs[row->run]);
    table_link(w, t, &run, site->runs[row->run].title);
  }
  if (options->columns & ROWS_DEVICE)
    table_text(w, t, frame_setting_text(&s->setting, setting, sizeof setting));
  if (l->what)
    put_what(w, t, row);
  table_row_end(w, t);
}

void rows_table(struct html *w, const struct site *site, const struct rows_table *t, const struct site_row *const *rows,
                int n) {
  struct layout l;
  lay_out(t, rows, n, &l);
  struct frame_table table = {.name = t->name, .label = t->label, .columns = l.columns, .n = l.n};
  table_begin(w, &table);
  for (int i = 0; i < n; i++)
    put_row(w, site, t, &table, &l, rows[i]);
  table_end(w, &table);
}
