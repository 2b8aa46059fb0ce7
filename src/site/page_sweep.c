// SPDX-License-Identifier: Apache-2.0
// A comparison of makers over a suite's shapes: a sweep for each task and device, who is fastest where, what each maker
// came to, what tuning found, and published figures beside, where they were imported.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "site/charts.h"
#include "site/data.h"
#include "site/pages.h"
#include "site/sweep.h"
#include "store/trial.h"

// A rate in TFLOP/s where arithmetic is what there is to do, else in GB/s.
static bool counts_flops(const struct sweep_shape *s) {
  return s->flops > 20 * s->bytes;
}

static double rate_of(const struct sweep_shape *s, double ns, bool flops) {
  return flops ? s->flops / ns / 1e3 : s->bytes / ns;
}

// ---- the chart of a task on a device

struct lines {
  struct draw_sweep_line lines[SITE_SWEEP_MAKERS];
  int n;
  struct draw_sweep chart;
  char title[FRAME_TEXT];
};

static void draw_lines(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_sweep(chart, page, out);
}

static void put_chart(struct html *w, const struct sweep *all_shapes, const struct sweep_shape *shapes, int n,
                      int number) {
  const struct site_sweep *s = all_shapes->of;
  struct draw_sweep_point *points = base_calloc((size_t)n * SITE_SWEEP_MAKERS + 1, sizeof *points);
  struct lines all = {0};
  char device[FRAME_TEXT], id[32];
  bool flops = counts_flops(&shapes[n - 1]);
  w->out->failed = w->out->failed || !points;
  for (int m = 0; m < s->n && points; m++) {
    struct draw_sweep_point *own = points + (size_t)m * (size_t)n;
    int k = 0;
    for (int i = 0; i < n; i++)
      if (sweep_time(shapes[i].cells[m]) > 0)
        own[k++] = (struct draw_sweep_point){flops ? shapes[i].flops / 1e9 : shapes[i].bytes / 1e6,
                                             rate_of(&shapes[i], sweep_time(shapes[i].cells[m]), flops)};
    if (k > 0)
      all.lines[all.n++] = (struct draw_sweep_line){s->makers[m], own, k, all_shapes->looks[m]};
  }
  snprintf(id, sizeof id, "sweep-%d", number);
  snprintf(all.title, sizeof all.title, "%s, %s", shapes[0].task,
           frame_device_text(shapes[0].device, device, sizeof device));
  all.chart = (struct draw_sweep){all.title,
                                  flops ? "GFLOP of the shape" : "MB that the shape moves at least",
                                  flops ? "TFLOP/s" : "GB/s",
                                  false,
                                  all.lines,
                                  all.n};
  chart_put(w, id, draw_lines, &all.chart);
  base_free(points);
}

// ---- the table of its shapes

// Makers that have a time at one of these shapes.
struct present {
  int makers[SITE_SWEEP_MAKERS], n;
};

static struct present present_of(const struct site_sweep *s, const struct sweep_shape *shapes, int n) {
  struct present p = {.n = 0};
  for (int m = 0; m < s->n; m++)
    for (int i = 0; i < n; i++)
      if (sweep_time(shapes[i].cells[m]) > 0) {
        p.makers[p.n++] = m;
        break;
      }
  return p;
}

// Makers that were asked and have no time at any of these shapes, with what became of the first.
static void put_without(struct html *w, const struct site_sweep *s, const struct sweep_shape *shapes, int n,
                        const struct present *with) {
  int put = 0;
  for (int m = 0, next = 0; m < s->n; m++) {
    const struct sweep_cell *cell = NULL;
    if (next < with->n && with->makers[next] == m) {
      next++;
      continue;
    }
    for (int i = 0; i < n && !cell; i++)
      cell = shapes[i].cells[m];
    if (!cell)
      continue;
    if (put++ == 0) {
      html_open(w, EL_P);
      html_attr(w, AT_CLASS, "note");
      html_text(w, "Without a time here: ");
    } else
      html_text(w, ", ");
    html_element(w, EL_BDI, NULL, s->makers[m]);
    html_printf(w, " (%s)", cell->right ? "right" : assay_reason_code(cell->reason));
  }
  if (put) {
    html_text(w, ".");
    html_close(w, EL_P);
  }
}

// The winner, and those whose time cannot be told from its.
static void put_fastest(struct html *w, struct frame_table *t, const struct site_sweep *s,
                        const struct sweep_shape *shape) {
  table_cell_begin(w, t, shape->winner < 0 ? "" : s->makers[shape->winner]);
  html_open(w, EL_SPAN); // one piece: on narrow screens what a cell has stands in lines of its own
  html_element(w, EL_BDI, NULL, shape->winner < 0 ? "-" : s->makers[shape->winner]);
  for (int m = 0; m < s->n; m++)
    if (m != shape->winner && sweep_is_fastest(shape, m)) {
      html_text(w, ", ");
      html_element(w, EL_BDI, NULL, s->makers[m]);
    }
  html_close(w, EL_SPAN);
  table_cell_end(w, t);
}

static void put_shape(struct html *w, struct frame_table *t, const struct site_sweep *s, const struct present *makers,
                      const struct sweep_shape *shape, bool flops) {
  static const struct score_unit us = {"us", 1e3};
  table_row_begin(w, t, NULL);
  table_text(w, t, shape->workload);
  put_fastest(w, t, s, shape);
  double rate = shape->winner < 0 ? NAN : rate_of(shape, sweep_best(shape), flops);
  table_number(w, t, rate, rate < 1 ? score_decimals(rate, NAN) : 1);
  double floor_ns = shape->winner < 0 ? NAN : shape->cells[shape->winner]->floor_ns;
  table_number(w, t, floor_ns > 0 ? floor_ns / sweep_best(shape) : NAN, 2);
  for (int i = 0; i < makers->n; i++) {
    const struct sweep_cell *cell = shape->cells[makers->makers[i]];
    if (!cell)
      table_text(w, t, "-");
    else if (isnan(sweep_time(cell)))
      table_text(w, t, cell->right ? "right, no time" : assay_reason_code(cell->reason));
    else
      table_time(w, t, cell->time_ns, &cell->time, &us);
  }
  table_row_end(w, t);
}

static void put_shapes(struct html *w, const struct site_sweep *s, const struct sweep_shape *shapes, int n,
                       int number) {
  enum { OWN = 4, MOST = OWN + SITE_SWEEP_MAKERS };
  bool flops = counts_flops(&shapes[n - 1]);
  struct frame_column columns[MOST] = {
      {"workload", 'l'}, {"fastest", 'w'}, {flops ? "TFLOP/s" : "GB/s", 'r'}, {"floor / time", 'r'}};
  char name[32], label[2 * FRAME_TEXT];
  const struct present makers = present_of(s, shapes, n);
  for (int i = 0; i < makers.n; i++)
    columns[OWN + i] = (struct frame_column){s->makers[makers.makers[i]], 'r'};
  snprintf(name, sizeof name, "shapes%d", number);
  snprintf(label, sizeof label, "%s on %s", shapes[0].task, shapes[0].device);
  struct frame_table t = {.name = name, .label = label, .columns = columns, .n = OWN + makers.n};
  table_begin(w, &t);
  for (int i = 0; i < n; i++)
    put_shape(w, &t, s, &makers, &shapes[i], flops);
  table_end(w, &t);
  put_without(w, s, shapes, n, &makers);
}

// ---- published figures

struct published {
  struct html *w;
  struct frame_table *t;
  const struct sweep_shape *shapes;
  int n, rows;
};

// A time that somebody published: of a table, which cost no seconds, for a task of this comparison.
static bool put_published(void *arg, const struct store_trial *t) {
  struct published *p = arg;
  static const struct score_unit us = {"us", 1e3};
  const struct interval none = {NAN, NAN};
  bool known = false;
  for (int i = 0; i < p->n && !known; i++)
    known = strcmp(p->shapes[i].task, t->task) == 0;
  if (!known || t->bench_ns != 0 || strcmp(t->detail, "a published time") != 0 || p->rows++ >= SITE_ROWS_A_PAGE)
    return true;
  if (p->rows == 1)
    table_begin(p->w, p->t);
  table_row_begin(p->w, p->t, NULL);
  table_text(p->w, p->t, t->task);
  table_text(p->w, p->t, t->workload);
  table_text(p->w, p->t, t->device);
  table_text(p->w, p->t, t->maker);
  table_time(p->w, p->t, t->tuner_ns, &none, &us);
  table_row_end(p->w, p->t);
  return true;
}

static enum assay_status put_all_published(struct html *w, struct site *site, const struct sweep_shape *shapes, int n,
                                           struct assay_error *err) {
  static const struct frame_column columns[] = {
      {"task", 'l'}, {"shape", 'l'}, {"device", 'w'}, {"maker", 'l'}, {"us", 'r'}};
  struct frame_table t = {.name = "published", .label = "published times", .columns = columns, .n = 5};
  struct published p = {.w = w, .t = &t, .shapes = shapes, .n = n};
  frame_heading(w, "published", "Published times of the same tasks");
  enum assay_status status = store_each_trial(site->store, NULL, put_published, &p, err);
  if (p.rows > 0)
    table_end(w, &t);
  else
    frame_empty(w, "None were imported (assay trials --read published_results.csv).");
  if (p.rows > 0)
    frame_note(w,
               "Another harness took them, warm or flushed and with the host's part of a call: not to be ranked with "
               "the times above.");
  if (p.rows > SITE_ROWS_A_PAGE) {
    char text[96];
    snprintf(text, sizeof text, "The first %d of %d; `assay trials` has all.", SITE_ROWS_A_PAGE, p.rows);
    frame_note(w, text);
  }
  return status;
}

// ---- the page

static void put_lead(struct html *w, const struct sweep *all) {
  const struct site_sweep *s = all->of;
  const struct sweep_shape *shapes = all->shapes;
  int tasks = 0, won = 0, first = 0, wins = 0, n = all->n;
  for (int m = 0; m < s->n; m++)
    if (all->looks[m] == 1)
      first = m;
  for (int i = 0; i < n; i++) {
    tasks += i == 0 || strcmp(shapes[i].task, shapes[i - 1].task) != 0;
    won += shapes[i].winner >= 0;
    wins += sweep_is_fastest(&shapes[i], first);
  }
  html_open(w, EL_P);
  html_attr(w, AT_CLASS, "lead");
  html_printf(w, "%s of kernels at %s of %s, each device's counted apart; at %d somebody is right and has a time.",
              frame_count(s->n, "maker", (char[FRAME_COUNT]){0}), frame_count(n, "shape", (char[FRAME_COUNT]){0}),
              frame_count(tasks, "task", (char[FRAME_COUNT]){0}), won);
  if (wins) {
    html_text(w, " Fastest at most shapes, or not told from the fastest: ");
    html_element(w, EL_BDI, NULL, s->makers[first]);
    html_printf(w, ", at %d. Not every maker was asked at every shape; a dash says so.", wins);
  }
  html_close(w, EL_P);
  frame_note(w, "Times in the tables are microseconds, the median of cold calls with its 95 % interval.");
}

static void put_sections(struct html *w, const struct sweep *all) {
  const struct site_sweep *s = all->of;
  const struct sweep_shape *shapes = all->shapes;
  const int n = all->n;
  for (int i = 0, number = 1; i < n; number++) {
    int end = i + 1;
    char id[32], device[FRAME_TEXT], title[FRAME_TEXT];
    while (end < n && strcmp(shapes[end].task, shapes[i].task) == 0 &&
           strcmp(shapes[end].device, shapes[i].device) == 0)
      end++;
    snprintf(id, sizeof id, "task-%d", number);
    snprintf(title, sizeof title, "%s on %s", shapes[i].task,
             frame_device_text(shapes[i].device, device, sizeof device));
    frame_heading(w, id, title);
    put_chart(w, all, shapes + i, end - i, number);
    put_shapes(w, s, shapes + i, end - i, number);
    i = end;
  }
}

enum assay_status page_sweep(struct site *site, const struct site_file *f, struct buf *out, struct assay_error *err) {
  const struct site_sweep *of = &site->sweeps[f->item];
  struct sweep s;
  struct html w;
  const struct frame frame = {.at = &f->at,
                              .title = of->title,
                              .description = "Makers of kernels side by side over the shapes of a suite.",
                              .csv = true,
                              .json = true};
  enum assay_status status = sweep_read(site, of, &s, err);
  if (!status)
    status = sweep_read_making(site, &s, err);
  if (!status) {
    frame_begin(&w, out, site, &frame);
    put_lead(&w, &s);
    sweep_put_makers(&w, site, &s);
    put_sections(&w, &s);
    status = sweep_put_curves(&w, site, of, err);
    sweep_put_portability(&w, &s);
    if (!status)
      status = put_all_published(&w, site, s.shapes, s.n, err);
    frame_end(&w, &frame);
  }
  sweep_release(&s);
  return status ? status : buf_status(out, err);
}

enum assay_status sweep_data(struct site *site, const struct site_file *f, struct data_table *t,
                             struct assay_error *err) {
  static const char *const names[] = {"task",    "workload", "device",  "maker",    "candidate", "verdict",
                                      "time_ns", "low_ns",   "high_ns", "floor_ns", "flops",     "bytes"};
  const struct site_sweep *of = &site->sweeps[f->item];
  struct sweep s;
  enum assay_status status = sweep_read(site, of, &s, err);
  t->names = names;
  t->n = sizeof names / sizeof *names;
  data_begin(t);
  for (int i = 0; !status && i < s.n_cells; i++) {
    const struct sweep_cell *c = &s.cells[i];
    const char *const texts[] = {
        c->task, c->workload, c->device, of->makers[c->maker], c->candidate, assay_reason_code(c->reason)};
    const double numbers[] = {c->time_ns, c->time.low, c->time.high, c->floor_ns, c->flops, c->bytes};
    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
      data_text(t, texts[k]);
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++)
      data_number(t, numbers[k]);
    data_end_row(t);
  }
  data_end(t);
  sweep_release(&s);
  return status;
}
