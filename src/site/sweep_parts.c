// SPDX-License-Identifier: Apache-2.0
// Parts of a comparison's page: what each maker came to, what its tuner tried, and one file on several devices.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "score/letters.h"
#include "site/charts.h"
#include "site/sweep.h"
#include "stats/stats.h"
#include "store/trial.h"

// ---- makers

struct counts {
  int asked, right, wins, alone, n; // wins: nobody is surely faster; alone: and all others are surely slower
  double *parts;                    // the fastest time over its own
};

static void count(const struct sweep *s, int maker, struct counts *c) {
  for (int i = 0; i < s->n; i++) {
    const struct sweep_cell *cell = s->shapes[i].cells[maker];
    double part = sweep_best(&s->shapes[i]) / sweep_time(cell);
    c->asked += cell != NULL;
    c->right += cell && cell->right;
    int fastest = 0;
    for (int m = 0; m < s->of->n; m++)
      fastest += sweep_is_fastest(&s->shapes[i], m);
    c->wins += sweep_is_fastest(&s->shapes[i], maker);
    c->alone += s->shapes[i].winner == maker && fastest == 1;
    if (part > 0)
      c->parts[c->n++] = part;
  }
}

// The part of a device's shapes where the maker is right; NaN: it was not asked there.
static double right_part(const struct sweep *s, int maker, const char *device) {
  int asked = 0, right = 0;
  for (int i = 0; i < s->n; i++)
    if (s->shapes[i].cells[maker] && strcmp(s->shapes[i].device, device) == 0) {
      asked++;
      right += s->shapes[i].cells[maker]->right;
    }
  return asked ? (double)right / asked : NAN;
}

// That of the worst device; NaN with fewer than two.
static double portable(const struct sweep *s, int maker) {
  double worst = 1;
  const char *one = NULL;
  bool two = false;
  for (int i = 0; i < s->n; i++)
    if (s->shapes[i].cells[maker]) {
      two = two || (one && strcmp(one, s->shapes[i].device) != 0);
      one = s->shapes[i].device;
      worst = fmin(worst, right_part(s, maker, one));
    }
  return two ? worst : NAN;
}

static void put_letter(struct html *w, struct frame_table *t, enum letter_criterion c, double number) {
  char text[48] = "-";
  if (!isnan(number))
    snprintf(text, sizeof text, "%c (%.3g)", letter_of(c, number), number);
  table_text(w, t, text);
}

// What a kernel's making took is not among what the store has of it: a compiler that did not say it, a tuner without
// trials (Python may have one of its own), or a verdict made of other results.
static bool is_unknown(const struct sweep_cell *c, const char *maker) {
  size_t n = strlen(c->candidate);
  return c->making_s == 0 &&
         (c->cut || strncmp(maker, "tune", 4) == 0 || (n > 3 && strcmp(c->candidate + n - 3, ".py") == 0));
}

static bool is_compiled(const struct sweep_cell *c) {
  return strncmp(c->candidate, "torch.compile", strlen("torch.compile")) == 0;
}

// Seconds a shape; NaN: not known.
static double making_of(struct site *site, const struct sweep *s, int maker) {
  const struct site_run *run = &site->runs[s->of->runs[maker]];
  double sum = 0;
  int n = 0;
  bool unknown = run->cost.calls > 0; // a model wrote the kernels
  for (int i = 0; i < s->n; i++) {
    const struct sweep_cell *c = s->shapes[i].cells[maker];
    if (!c)
      continue;
    if (is_compiled(c) && c->right && c->making_s == 0)
      return NAN;
    n++;
    sum += c->making_s;
    unknown = unknown || is_unknown(c, s->of->makers[maker]);
  }
  return n == 0 || (sum == 0 && unknown) ? NAN : sum / n;
}

void sweep_put_makers(struct html *w, struct site *site, const struct sweep *s) {
  static const struct frame_column columns[] = {{"maker", 'w'},       {"right", 'r'},       {"of", 'r'},
                                                {"fastest at", 'r'},  {"alone at", 'r'},    {"correctness", 'l'},
                                                {"performance", 'l'}, {"portability", 'l'}, {"cost", 'l'}};
  static const enum letter_criterion shown[] = {LETTER_CORRECTNESS, LETTER_PERFORMANCE, LETTER_PORTABILITY,
                                                LETTER_COST};
  struct frame_table t = {.label = "makers", .columns = columns, .n = 9};
  double *parts = base_calloc((size_t)s->n + 1, sizeof *parts);
  w->out->failed = w->out->failed || !parts;
  frame_heading(w, "makers", "Makers");
  table_begin(w, &t);
  for (int m = 0; m < s->of->n && parts; m++) {
    struct counts c = {.parts = parts};
    count(s, m, &c);
    table_row_begin(w, &t, NULL);
    table_text(w, &t, s->of->makers[m]);
    table_int(w, &t, c.right);
    table_int(w, &t, c.asked);
    table_int(w, &t, c.wins);
    table_int(w, &t, c.alone);
    put_letter(w, &t, LETTER_CORRECTNESS, c.asked ? (double)c.right / c.asked : NAN);
    put_letter(w, &t, LETTER_PERFORMANCE, c.n ? stats_geomean(parts, c.n) : NAN);
    put_letter(w, &t, LETTER_PORTABILITY, portable(s, m));
    put_letter(w, &t, LETTER_COST, making_of(site, s, m));
    table_row_end(w, &t);
  }
  table_end(w, &t);
  frame_note(
      w, "Fastest at: shapes where no other maker is surely faster. Alone at: where all others are surely slower, or "
         "have no time. Surely: the intervals lie apart by more than two judgements of one kernel differ by.");
  for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
    char text[160];
    snprintf(text, sizeof text, "%s: %s", letter_rules[shown[i]].name, letter_rules[shown[i]].rule);
    frame_note(w, text);
  }
  frame_note(w, "cost counts what tuners left as trials and what torch.compile said that it took; a dash: it is not "
                "known. ease is in assay compare --scorecard.");
  base_free(parts);
}

// ---- one file on several devices

static bool same_file(const struct sweep_cell *a, const struct sweep_cell *b) {
  return strcmp(a->workload, b->workload) == 0 && strcmp(a->task, b->task) == 0 && a->hash[0] &&
         strcmp(a->hash, b->hash) == 0;
}

// On how many devices the file of cell `first` has a time at its workload, and the extremes; 0: an earlier cell is of
// the same file, and says it.
static int spread_of(const struct sweep *s, int first, const struct sweep_cell **fastest,
                     const struct sweep_cell **slowest) {
  int n = 1;
  *fastest = *slowest = &s->cells[first];
  for (int i = 0; i < s->n_cells; i++) {
    const struct sweep_cell *o = &s->cells[i];
    if (i == first || isnan(sweep_time(o)) || !same_file(&s->cells[first], o))
      continue;
    if (i < first)
      return 0;
    n += strcmp(o->device, s->cells[first].device) != 0;
    *fastest = sweep_time(o) < sweep_time(*fastest) ? o : *fastest;
    *slowest = sweep_time(o) > sweep_time(*slowest) ? o : *slowest;
  }
  return n;
}

static void put_device(struct html *w, struct frame_table *t, const struct sweep_cell *c) {
  static const struct score_unit us = {"us", 1e3};
  char device[FRAME_TEXT];
  table_text(w, t, frame_device_text(c->device, device, sizeof device));
  table_time(w, t, c->time_ns, &c->time, &us);
  table_number(w, t, c->floor_ns > 0 ? c->floor_ns / c->time_ns : NAN, 2);
}

void sweep_put_portability(struct html *w, const struct sweep *s) {
  static const struct frame_column columns[] = {
      {"candidate", 'w'}, {"task", 'l'},         {"workload", 'l'},         {"devices", 'r'},
      {"fastest", 'w'},   {"us", 'r'},           {"floor / time", 'r'},     {"slowest", 'w'},
      {"us", 'r'},        {"floor / time", 'r'}, {"slowest / fastest", 'r'}};
  struct frame_table t = {.name = "devices", .label = "one file on several devices", .columns = columns, .n = 11};
  bool any = false;
  frame_heading(w, "portability", "One file on several devices");
  for (int i = 0; i < s->n_cells; i++) {
    const struct sweep_cell *fast, *slow;
    int n = isnan(sweep_time(&s->cells[i])) ? 0 : spread_of(s, i, &fast, &slow);
    if (n < 2)
      continue;
    if (!any)
      table_begin(w, &t);
    any = true;
    table_row_begin(w, &t, NULL);
    table_text(w, &t, s->cells[i].candidate);
    table_text(w, &t, s->cells[i].task);
    table_text(w, &t, s->cells[i].workload);
    table_int(w, &t, n);
    put_device(w, &t, fast);
    put_device(w, &t, slow);
    table_number(w, &t, slow->time_ns / fast->time_ns, 2);
    table_row_end(w, &t);
  }
  if (any)
    table_end(w, &t);
  else
    frame_empty(w, "No file was right and timed at one workload on two devices.");
}

// ---- curves

enum { MOST_LINES = 2 * DRAW_MOST_CURVES, MOST_POINTS = 256 }; // more would look like others

// A search: a maker's trials at a shape.
struct curve {
  char label[160];
  const char *task, *workload, *run;
  struct draw_sweep_point *points;
  size_t capacity;
  int n, maker;
  double best_ns, end_s;
};

struct curves {
  struct site *site;
  const struct site_sweep *sweep;
  struct arena arena;
  struct curve *items;
  size_t capacity;
  int n;
  bool failed;
};

// The maker whose tuning the run is: "NAME, MAKER, tuning", or "... tuning 2"; -1: of none.
static int maker_of(const struct curves *c, const char *run) {
  for (int m = 0; m < c->sweep->n; m++) {
    const char *own = c->site->runs[c->sweep->runs[m]].name;
    size_t n = strlen(own);
    if (strncmp(run, own, n) == 0 && strncmp(run + n, ", tuning", strlen(", tuning")) == 0)
      return m;
  }
  return -1;
}

static bool same_search(const struct curve *k, const struct store_trial *t) {
  return strcmp(k->run, t->run) == 0 && strcmp(k->task, t->task) == 0 && strcmp(k->workload, t->workload) == 0;
}

static bool grow_items(struct curves *c) {
  if ((size_t)c->n < c->capacity)
    return true;
  struct curve *more = arena_grow(&c->arena, c->items, (size_t)c->n, &c->capacity, sizeof *more);
  c->items = more ? more : c->items;
  return more != NULL;
}

static struct curve *begin_search(struct curves *c, const struct store_trial *t, int maker) {
  const char *order = strstr(t->run, ", tuning "), *task = strrchr(t->task, '/');
  if (!grow_items(c))
    return NULL;
  struct curve *k = &c->items[c->n++];
  *k = (struct curve){.task = arena_strdup(&c->arena, t->task),
                      .workload = arena_strdup(&c->arena, t->workload),
                      .run = arena_strdup(&c->arena, t->run),
                      .maker = maker,
                      .best_ns = INFINITY};
  // What tells lines apart first: a narrow page cuts the rest.
  snprintf(k->label, sizeof k->label, "%.30s %.40s%s%.8s, %.60s", t->workload, task ? task + 1 : t->task,
           order ? ", order " : "", order ? order + strlen(", tuning ") : "", c->sweep->makers[maker]);
  return k->task && k->workload && k->run ? k : NULL;
}

static bool add_point(struct curves *c, struct curve *k, double s, double ns) {
  if ((size_t)k->n == k->capacity) {
    struct draw_sweep_point *more = arena_grow(&c->arena, k->points, (size_t)k->n, &k->capacity, sizeof *more);
    if (!more)
      return false;
    k->points = more;
  }
  k->best_ns = ns;
  k->points[k->n++] = (struct draw_sweep_point){fmax(s, 1e-3), ns / 1e3};
  return true;
}

// Trials come by run, task and shape.
static bool take_trial(void *arg, const struct store_trial *t) {
  struct curves *c = arg;
  const int maker = maker_of(c, t->run);
  const double end_s = (double)(t->start_ns + t->compile_ns + t->bench_ns) / 1e9;
  const bool right = t->status == STORE_TRIAL_OK || t->status == STORE_TRIAL_SUMMARY;
  const double ns = isnan(t->time_ns) ? t->tuner_ns : t->time_ns;
  if (maker < 0)
    return true;
  struct curve *k = c->n > 0 && same_search(&c->items[c->n - 1], t) ? &c->items[c->n - 1] : begin_search(c, t, maker);
  c->failed = !k;
  if (k) {
    k->end_s = fmax(k->end_s, end_s);
    if (right && ns < k->best_ns && k->n < MOST_POINTS)
      c->failed = !add_point(c, k, end_s, ns);
  }
  return !c->failed;
}

static enum assay_status read_searches(struct curves *c, struct assay_error *err) {
  enum assay_status status = store_each_trial(c->site->store, NULL, take_trial, c, err);
  return !status && c->failed ? error_nomem(err, "a comparison's page") : status;
}

// The newest verdict of the search's maker at its shape, whatever the device: a trial knows its kind alone.
static struct sweep_cell *made_by(struct sweep *s, const struct curve *k) {
  struct sweep_cell *newest = NULL;
  for (int i = 0; i < s->n_cells; i++) {
    struct sweep_cell *cell = &s->cells[i];
    if (cell->maker == k->maker && strcmp(cell->workload, k->workload) == 0 && strcmp(cell->task, k->task) == 0 &&
        (!newest || cell->age > newest->age))
      newest = cell;
  }
  return newest;
}

enum assay_status sweep_read_making(struct site *site, struct sweep *s, struct assay_error *err) {
  struct curves c = {.site = site, .sweep = s->of};
  enum assay_status status = read_searches(&c, err);
  for (int i = 0; i < c.n && !status; i++) {
    struct sweep_cell *cell = made_by(s, &c.items[i]);
    if (cell && !strstr(c.items[i].run, ", tuning ")) // further orders are no cost of the candidate
      cell->making_s = fmax(cell->making_s, c.items[i].end_s);
  }
  arena_release(&c.arena);
  return status;
}

// Searches with most steps first; of as many, as they come.
static int by_steps(const void *x, const void *y) {
  const struct curve *a = x, *b = y;
  int order = (b->n > a->n) - (b->n < a->n);
  if (!order)
    order = strcmp(a->run, b->run);
  if (!order)
    order = strcmp(a->task, b->task);
  return order ? order : strcmp(a->workload, b->workload);
}

static void draw_curves(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_sweep(chart, page, out);
}

static void put_chart(struct html *w, const struct curves *c) {
  struct draw_sweep_line lines[MOST_LINES];
  int n = 0;
  for (int i = 0; i < c->n && n < MOST_LINES; i++)
    if (c->items[i].n > 0)
      lines[n++] = (struct draw_sweep_line){c->items[i].label, c->items[i].points, c->items[i].n, 0};
  frame_heading(w, "curves", "What tuning found, and when");
  if (n == 0) {
    frame_empty(w, "No maker's tuner has left trials.");
    return;
  }
  chart_put(w, "curves", draw_curves,
            &(struct draw_sweep){"Best time so far", "seconds of tuning", "us", true, lines, n});
  frame_note(w, "Right configurations alone. Points that were judged in full (--retime) have the judge's time; of a "
                "tuner whose log has no moments the best stands where its search ended.");
  if (c->n > n) {
    char text[128];
    snprintf(text, sizeof text, "The %d searches with most steps are drawn, of %d; `assay trials` has all.", n, c->n);
    frame_note(w, text);
  }
}

enum assay_status sweep_put_curves(struct html *w, struct site *site, const struct site_sweep *s,
                                   struct assay_error *err) {
  struct curves c = {.site = site, .sweep = s};
  enum assay_status status = read_searches(&c, err);
  if (!status && c.n > 0)
    qsort(c.items, (size_t)c.n, sizeof *c.items, by_steps);
  if (!status)
    put_chart(w, &c);
  arena_release(&c.arena);
  return status;
}
