// SPDX-License-Identifier: Apache-2.0
// Parts of a comparison's page: what each maker came to, what its tuner tried, and one file on several devices.
#include <math.h>
#include <stdio.h>
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

void sweep_put_makers(struct html *w, const struct sweep *s, const double *making_s) {
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
    put_letter(w, &t, LETTER_COST, c.asked && making_s[m] > 0 ? making_s[m] / c.asked : NAN);
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
  frame_note(w, "cost counts what tuners left as trials; ease is in assay compare --scorecard.");
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

struct curve {
  char label[160];
  const char *task, *workload, *run;
  struct draw_sweep_point points[MOST_POINTS];
  int n;
  double best_ns;
};

struct curves {
  struct site *site;
  const struct site_sweep *sweep;
  double *making_s;
  struct arena arena;
  const char *task, *workload, *run; // of the last trial
  int maker;
  double end_s; // of the group at hand
  struct curve *items;
  int n, left_out; // searches that are drawn, and that are not
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

static void end_group(struct curves *c) {
  if (c->run && c->maker >= 0 && !strstr(c->run, ", tuning ")) // further orders are no cost of the candidate
    c->making_s[c->maker] += c->end_s;
  c->end_s = 0;
}

static void begin_group(struct curves *c, const struct store_trial *t) {
  const char *order = strstr(t->run, ", tuning ");
  end_group(c);
  c->run = arena_strdup(&c->arena, t->run);
  c->task = arena_strdup(&c->arena, t->task);
  c->workload = arena_strdup(&c->arena, t->workload);
  c->maker = maker_of(c, t->run);
  c->failed = c->failed || !c->run || !c->task || !c->workload;
  c->left_out += !c->failed && c->maker >= 0 && c->n == MOST_LINES;
  if (c->failed || c->maker < 0 || !c->items || c->n == MOST_LINES)
    return;
  struct curve *k = &c->items[c->n++];
  *k = (struct curve){.task = c->task, .workload = c->workload, .run = c->run, .best_ns = INFINITY};
  const char *task = strrchr(t->task, '/');
  // What tells lines apart first: a narrow page cuts the rest.
  snprintf(k->label, sizeof k->label, "%.30s %.40s%s%.8s, %.60s", t->workload, task ? task + 1 : t->task,
           order ? ", order " : "", order ? order + strlen(", tuning ") : "", c->sweep->makers[c->maker]);
}

static bool take_trial(void *arg, const struct store_trial *t) {
  struct curves *c = arg;
  double end_s = (double)(t->start_ns + t->compile_ns + t->bench_ns) / 1e9;
  bool right = t->status == STORE_TRIAL_OK || t->status == STORE_TRIAL_SUMMARY;
  double ns = isnan(t->time_ns) ? t->tuner_ns : t->time_ns;
  if (!c->run || strcmp(c->run, t->run) != 0 || strcmp(c->task, t->task) != 0 || strcmp(c->workload, t->workload) != 0)
    begin_group(c, t);
  if (c->failed)
    return false;
  c->end_s = c->maker >= 0 ? fmax(c->end_s, end_s) : 0;
  struct curve *k =
      c->maker >= 0 && c->n > 0 && c->items && c->items[c->n - 1].run == c->run ? &c->items[c->n - 1] : NULL;
  if (k && right && ns < k->best_ns && k->n < MOST_POINTS) {
    k->best_ns = ns;
    k->points[k->n++] = (struct draw_sweep_point){fmax(end_s, 1e-3), ns / 1e3};
  }
  return true;
}

static void draw_curves(const void *chart, const struct draw_page *page, struct buf *out) {
  draw_sweep(chart, page, out);
}

static void put_chart(struct html *w, const struct curves *c) {
  struct draw_sweep_line lines[MOST_LINES];
  for (int i = 0; i < c->n; i++)
    lines[i] = (struct draw_sweep_line){c->items[i].label, c->items[i].points, c->items[i].n, 0};
  frame_heading(w, "curves", "What tuning found, and when");
  if (c->n == 0) {
    frame_empty(w, "No maker's tuner has left trials.");
    return;
  }
  chart_put(w, "curves", draw_curves,
            &(struct draw_sweep){"Best time so far", "seconds of tuning", "us", true, lines, c->n});
  frame_note(w, "Right configurations alone. Points that were judged in full (--retime) have the judge's time.");
  if (c->left_out > 0) {
    char text[96];
    snprintf(text, sizeof text, "The first %d searches are drawn, of %d; `assay trials` has all.", c->n,
             c->n + c->left_out);
    frame_note(w, text);
  }
}

enum assay_status sweep_put_curves(struct html *w, struct site *site, const struct site_sweep *s, double *making_s,
                                   bool draw, struct assay_error *err) {
  struct curves c = {.site = site, .sweep = s, .making_s = making_s, .maker = -1};
  if (draw && !(c.items = base_calloc(MOST_LINES, sizeof *c.items)))
    return error_nomem(err, "a comparison's page");
  enum assay_status status = store_each_trial(site->store, NULL, take_trial, &c, err);
  end_group(&c);
  if (!status && c.failed)
    status = error_nomem(err, "a comparison's page");
  if (!status && draw)
    put_chart(w, &c);
  base_free(c.items);
  arena_release(&c.arena);
  return status;
}
