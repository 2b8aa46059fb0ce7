// SPDX-License-Identifier: Apache-2.0
// Many tuning runs as a few rows: medians over the shapes of one maker, device and task.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/printable.h"
#include "cli/json.h"
#include "cli/table.h"
#include "cli/trials.h"
#include "stats/stats.h"

// What a row is of: a task on a device, all tasks on a device, or all that a maker did.
enum level { OF_TASK, OF_DEVICE, OF_MAKER, LEVELS };

// The numbers of one row; each array has room for all groups.
struct row {
  const struct trials_group *first;
  enum level level;
  int runs, n_within[TRIALS_PARTS], n_even, n_pairs; // pairs: with times of both the maker and the baseline
  double *seconds, *tried, *within[TRIALS_PARTS], *even;
  double total_s, total_tried, cpu_s, gpu_s;
};

static bool alike(const struct trials_group *a, const struct trials_group *b, enum level level) {
  return strcmp(a->maker, b->maker) == 0 && (level >= OF_MAKER || strcmp(a->device, b->device) == 0) &&
         (level >= OF_DEVICE || strcmp(a->task, b->task) == 0);
}

// A maker's time for the group's shape: one that another harness than the tuner's took (it cost no seconds), else the
// tuner's own best.
static double time_of(const struct trials *all, const struct trials_group *g, const char *maker) {
  double outside = NAN, own = NAN;
  for (size_t i = 0; i < all->n; i++) {
    const struct trials_group *o = &all->groups[i];
    if (strcmp(o->maker, maker) != 0 || strcmp(o->task, g->task) != 0 || strcmp(o->workload, g->workload) != 0 ||
        strcmp(o->device, g->device) != 0)
      continue;
    struct tune_cost c = tune_cost_of(o->trials, o->n);
    if (c.wall_s > 0)
      own = fmin(own, c.best_ns);
    else
      outside = fmin(outside, c.best_ns);
  }
  return isnan(outside) ? own : outside;
}

// What took no time is no tuning: a time that was read from a table.
static void add(struct row *r, const struct trials *all, const struct trials_group *g, const char *baseline) {
  struct tune_cost c = tune_cost_of(g->trials, g->n);
  r->seconds[r->runs] = c.wall_s;
  r->tried[r->runs++] = (double)g->tried;
  r->total_s += c.wall_s;
  r->total_tried += (double)g->tried;
  r->cpu_s += c.cpu_s;
  r->gpu_s += c.gpu_s;
  for (int p = 0; p < TRIALS_PARTS && !isnan(c.best_ns); p++) {
    int64_t at = tune_first_within(g->trials, g->n, c.best_ns, trials_parts[p] + 1e-9);
    if (at >= 0)
      r->within[p][r->n_within[p]++] = g->trials[at].end_s / c.wall_s;
  }
  if (!baseline || strcmp(baseline, g->maker) == 0)
    return;
  double even = tune_break_even(c.wall_s, time_of(all, g, baseline), time_of(all, g, g->maker));
  r->n_pairs += !isnan(even);
  if (isfinite(even))
    r->even[r->n_even++] = even;
}

static bool wanted(const struct trials *all, size_t i, const char *run) {
  const struct trials_group *g = &all->groups[i];
  size_t n = run ? strlen(run) : 0;
  // "RUN 2" is a repetition of what a table has twice.
  bool named = !run || strcmp(run, g->run) == 0 || (strncmp(run, g->run, n) == 0 && g->run[n] == ' ');
  return named && tune_cost_of(g->trials, g->n).wall_s > 0;
}

static bool seen_before(const struct trials *all, size_t i, const char *run, enum level level) {
  for (size_t k = 0; k < i; k++)
    if (wanted(all, k, run) && alike(&all->groups[k], &all->groups[i], level))
      return true;
  return false;
}

typedef void row_visit(void *arg, const struct row *r);
struct visit {
  const struct trials *all;
  const char *run, *baseline;
  row_visit *each;
  void *arg;
  double *numbers; // of all arrays of a row
};

static void visit_level(const struct visit *v, enum level level) {
  const struct trials *all = v->all;
  for (size_t i = 0; i < all->n; i++) {
    if (!wanted(all, i, v->run) || seen_before(all, i, v->run, level))
      continue;
    struct row r = {.first = &all->groups[i],
                    .level = level,
                    .seconds = v->numbers,
                    .tried = v->numbers + all->n,
                    .even = v->numbers + 2 * all->n};
    for (int p = 0; p < TRIALS_PARTS; p++)
      r.within[p] = v->numbers + (size_t)(3 + p) * all->n;
    for (size_t k = i; k < all->n; k++)
      if (wanted(all, k, v->run) && alike(r.first, &all->groups[k], level))
        add(&r, all, &all->groups[k], v->baseline);
    v->each(v->arg, &r);
  }
}

static void each_row(const struct trials *all, const char *run, const char *baseline, row_visit *each, void *arg) {
  struct visit v = {all, run, baseline, each, arg, base_calloc((3 + TRIALS_PARTS) * (all->n + 1), sizeof(double))};
  for (int level = 0; level < LEVELS && v.numbers; level++)
    visit_level(&v, (enum level)level);
  base_free(v.numbers);
}

static void put_row(void *arg, const struct row *r) {
  char runs[32], seconds[32], tried[32], hours[32], rate[32], within[64], even[64], device[128];
  snprintf(runs, sizeof runs, "%d", r->runs);
  snprintf(seconds, sizeof seconds, "%.4g", stats_median(r->seconds, r->runs));
  snprintf(tried, sizeof tried, "%.5g", stats_median(r->tried, r->runs));
  snprintf(hours, sizeof hours, "%.3g", r->total_s / 3600);
  snprintf(rate, sizeof rate, "%.3g", r->total_s / r->total_tried);
  snprintf(within, sizeof within, "-");
  if (r->n_within[0] > 0 && r->n_within[1] > 0 && r->n_within[2] > 0)
    snprintf(within, sizeof within, "%.0f %.0f %.0f %%", 100 * stats_median(r->within[0], r->n_within[0]),
             100 * stats_median(r->within[1], r->n_within[1]), 100 * stats_median(r->within[2], r->n_within[2]));
  snprintf(even, sizeof even, "-");
  if (r->n_even > 0)
    snprintf(even, sizeof even, "%.2g (%d of %d)", stats_median(r->even, r->n_even), r->n_even, r->n_pairs);
  else if (r->n_pairs > 0)
    snprintf(even, sizeof even, "never (0 of %d)", r->n_pairs);
  printable_line(r->first->device, device, sizeof device);
  table_row(arg, (const char *const[]){r->first->maker, r->level == OF_MAKER ? "all" : device,
                                       r->level == OF_TASK ? r->first->task : "all", runs, seconds, tried, hours, rate,
                                       within, even});
}

// ---- times from tables, which cost no seconds: how fast a maker is next to the baseline

struct speed {
  int n, wins, slower; // shapes with both times; where it is the fastest of all makers; where it loses to the baseline
  double *ratios;
};

static bool is_table(const struct trials_group *g, const char *run) {
  return (!run || strcmp(run, g->run) == 0) && tune_cost_of(g->trials, g->n).wall_s <= 0;
}

static bool is_fastest(const struct trials *all, const struct trials_group *g, double own_ns) {
  for (size_t i = 0; i < all->n; i++) {
    const struct trials_group *o = &all->groups[i];
    if (strcmp(o->run, g->run) == 0 && strcmp(o->task, g->task) == 0 && strcmp(o->workload, g->workload) == 0 &&
        strcmp(o->device, g->device) == 0 && tune_cost_of(o->trials, o->n).best_ns < own_ns)
      return false;
  }
  return true;
}

static void add_speed(struct speed *s, const struct trials *all, const struct trials_group *g, const char *baseline) {
  double own = tune_cost_of(g->trials, g->n).best_ns, other = time_of(all, g, baseline);
  if (!(own > 0) || !(other > 0))
    return;
  s->ratios[s->n++] = other / own;
  s->wins += is_fastest(all, g, own);
  s->slower += other < own;
}

// Calls `each` for every maker, device and task of the run's tables.
static void each_speed(const struct trials *all, const char *run, const char *baseline,
                       void (*each)(void *arg, const struct trials_group *g, const struct speed *s), void *arg) {
  struct speed s = {.ratios = base_calloc(all->n + 1, sizeof(double))};
  for (size_t i = 0; i < all->n && s.ratios && baseline; i++) {
    const struct trials_group *g = &all->groups[i];
    bool before = !is_table(g, run);
    for (size_t k = 0; k < i && !before; k++)
      before = is_table(&all->groups[k], run) && alike(&all->groups[k], g, OF_TASK);
    s.n = s.wins = s.slower = 0;
    for (size_t k = i; k < all->n && !before; k++)
      if (is_table(&all->groups[k], run) && alike(&all->groups[k], g, OF_TASK))
        add_speed(&s, all, &all->groups[k], baseline);
    if (s.n > 0)
      each(arg, g, &s);
  }
  base_free(s.ratios);
}

static void put_speed(void *arg, const struct trials_group *g, const struct speed *s) {
  char shapes[32], ratio[32], wins[32], device[128];
  snprintf(shapes, sizeof shapes, "%d", s->n);
  snprintf(ratio, sizeof ratio, "%.3g", stats_geomean(s->ratios, s->n));
  snprintf(wins, sizeof wins, "%d", s->wins);
  table_row(arg, (const char *const[]){g->maker, printable_line(g->device, device, sizeof device), g->task, shapes,
                                       ratio, wins});
}

static void print_speeds(const struct trials *all, const char *run, const char *baseline, FILE *to) {
  static const char *const headers[] = {"maker", "device", "task", "shapes", "speed", "fastest at"};
  struct table *t = table_create(headers, 6, "lllrrr");
  if (!t)
    return;
  each_speed(all, run, baseline, put_speed, t);
  table_print(t, to);
  table_destroy(t);
  fprintf(to, "\nspeed: next to %s, geometric mean over the shapes that both have\n", baseline);
}

static void put_speed_json(void *arg, const struct trials_group *g, const struct speed *s) {
  json_array_append_new(arg, json_pack("{s:o, s:o, s:o, s:i, s:o, s:i, s:i}", "maker", cli_json_text(g->maker),
                                       "device", cli_json_text(g->device), "task", cli_json_text(g->task), "shapes",
                                       s->n, "speed", cli_json_real(stats_geomean(s->ratios, s->n)), "fastest_at",
                                       s->wins, "slower", s->slower));
}

json_t *trials_speeds_json(const struct trials *all, const char *run, const char *baseline) {
  json_t *rows = json_array();
  each_speed(all, run, baseline, put_speed_json, rows);
  return rows;
}

static bool has_tables_alone(const struct trials *all, const char *run) {
  bool tables = false, tuning = false;
  for (size_t i = 0; i < all->n; i++) {
    tables = tables || is_table(&all->groups[i], run);
    tuning = tuning || wanted(all, i, run);
  }
  return tables && !tuning;
}

void trials_summary_print(const struct trials *all, const char *run, const char *baseline, FILE *to) {
  static const char *const headers[] = {"maker",   "device", "task",       "runs",         "median s",
                                        "configs", "hours",  "s a config", "own 10 5 2 %", "break-even launches"};
  if (baseline && has_tables_alone(all, run)) {
    print_speeds(all, run, baseline, to);
    return;
  }
  struct table *t = table_create(headers, 10, "lllrrrrrrr");
  if (!t)
    return;
  each_row(all, run, baseline, put_row, t);
  table_print(t, to);
  table_destroy(t);
  cells_printf(to, "\nown: at which part of its seconds a run came within so much of its own best, median over runs\n");
  if (baseline)
    cells_printf(
        to, "break-even: launches that pay for the seconds next to %s, median over the shapes where it is faster\n",
        baseline);
}

static void put_json(void *arg, const struct row *r) {
  json_t *within = json_array();
  for (int p = 0; p < TRIALS_PARTS; p++)
    json_array_append_new(within, cli_json_real(stats_median(r->within[p], r->n_within[p])));
  json_array_append_new(arg, json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:f, s:f, s:o, s:o, s:o, s:o, s:i, s:i}",
                                       "maker", cli_json_text(r->first->maker), "device",
                                       r->level == OF_MAKER ? json_null() : cli_json_text(r->first->device), "task",
                                       r->level == OF_TASK ? cli_json_text(r->first->task) : json_null(), "runs",
                                       r->runs, "median_seconds", cli_json_real(stats_median(r->seconds, r->runs)),
                                       "median_tried", cli_json_real(stats_median(r->tried, r->runs)), "seconds",
                                       r->total_s, "tried", r->total_tried, "cpu_seconds", trials_seconds(r->cpu_s),
                                       "gpu_seconds", trials_seconds(r->gpu_s), "own_within", within,
                                       "break_even_launches", cli_json_real(stats_median(r->even, r->n_even)), "faster",
                                       r->n_even, "pairs", r->n_pairs));
}

json_t *trials_summary_json(const struct trials *all, const char *run, const char *baseline) {
  json_t *rows = json_array();
  each_row(all, run, baseline, put_json, rows);
  return rows;
}
