// SPDX-License-Identifier: Apache-2.0
// assay score of runs that `assay make` made: what came of the attempts and what they cost, and two runs compared.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/attempts.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "stats/progress.h"
#include "stats/success.h"
#include "store/step.h"

static const int budgets[] = {1, 5, 10};
enum { N_BUDGETS = sizeof budgets / sizeof *budgets };

// Attempts that do not depend on each other: only of these is pass@k the chance of k.
static bool is_independent(struct store *store, const char *run) {
  char *settings = NULL;
  struct assay_error ignored = {0};
  if (store_get_making(store, run, &settings, &ignored) != ASSAY_OK || !settings)
    return false;
  json_t *j = json_loads(settings, 0, NULL);
  const char *method = json_string_value(json_object_get(j, "method"));
  bool is = method && strcmp(method, "sample") == 0;
  json_decref(j);
  base_free(settings);
  return is;
}

// The mean over tasks of pass@k, or of fast_1@k; NaN where a task has fewer attempts.
static double mean_at_k(const struct attempts_run *c, int k, bool fast) {
  double sum = 0;
  for (int i = 0; i < c->n; i++)
    sum += stats_pass_at_k(c->tasks[i].asked, fast ? c->tasks[i].fast : c->tasks[i].right, k);
  return c->n ? sum / c->n : NAN;
}

static double mean_within(const struct attempts_run *c, int requests) {
  double sum = 0;
  for (int i = 0; i < c->n; i++)
    sum += attempts_right_within(&c->tasks[i], requests);
  return c->n ? sum / c->n : NAN;
}

// The mean over tasks of the expected highest speed of k attempts; NaN where a task has fewer, or one has no time.
static double mean_best_of(const struct attempts_run *c, int k) {
  double sum = 0;
  for (int i = 0; i < c->n; i++)
    sum += stats_best_speed_of_k(c->tasks[i].speeds, c->tasks[i].asked, k);
  return c->n ? sum / c->n : NAN;
}

// Kernels near the best known: how many tasks have one, and what one costs.
static const int nears[] = {10, 5, 2}; // percent
enum { N_NEARS = sizeof nears / sizeof *nears };
struct near {
  int known, reached; // tasks whose best time is known; of these
  double ert[PROGRESS_AXES];
};

static struct near near_best(const struct attempts_run *c, int percent) {
  struct near n = {0};
  double spent[PROGRESS_AXES] = {0};
  for (int i = 0; i < c->n; i++) {
    const struct attempts_task *t = &c->tasks[i];
    double cost[PROGRESS_AXES];
    n.reached += stats_cost_to(t->steps, t->requests, t->best_known_ns * (1 + percent / 100.0), cost);
    n.known += !isnan(t->best_known_ns);
    for (int a = 0; a < PROGRESS_AXES; a++)
      spent[a] += cost[a];
  }
  for (int a = 0; a < PROGRESS_AXES; a++)
    n.ert[a] = stats_ert(spent[a], n.reached);
  return n;
}

struct steps_score {
  int asked, code, built, right, fast, tasks_right;
  double pass[N_BUDGETS], fast_1[N_BUDGETS], within[N_BUDGETS], best_of[N_BUDGETS];
  struct near near[N_NEARS];
  struct store_cost cost;
};

static void sum_up(const struct attempts_run *c, bool independent, struct steps_score *s) {
  for (int i = 0; i < c->n; i++) {
    s->asked += c->tasks[i].asked;
    s->code += c->tasks[i].code;
    s->built += c->tasks[i].built;
    s->right += c->tasks[i].right;
    s->fast += c->tasks[i].fast;
    s->tasks_right += c->tasks[i].right > 0;
  }
  for (int i = 0; i < N_BUDGETS; i++) {
    s->pass[i] = independent ? mean_at_k(c, budgets[i], false) : NAN;
    s->fast_1[i] = independent && c->baseline ? mean_at_k(c, budgets[i], true) : NAN;
    s->within[i] = mean_within(c, budgets[i]);
    s->best_of[i] = independent ? mean_best_of(c, budgets[i]) : NAN;
  }
  for (int i = 0; i < N_NEARS; i++)
    s->near[i] = near_best(c, nears[i]);
}

static const char *three(const double *x, char *text, size_t size) {
  size_t used = 0;
  for (int i = 0; i < N_BUDGETS && used < size; i++)
    used += (size_t)snprintf(text + used, size - used, isnan(x[i]) ? "%s-" : "%s%.3g", i ? " " : "", x[i]);
  return text;
}

static json_t *three_json(const double *x) {
  json_t *j = json_object();
  for (int i = 0; i < N_BUDGETS; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", budgets[i]);
    json_object_set_new(j, key, cli_json_real(x[i]));
  }
  return j;
}

static const char *const axes[] = {
#define NAME(id, name) [PROGRESS_##id] = name,
    PROGRESS_AXES_LIST(NAME)
#undef NAME
};

static void put_costs(json_t *j, const double cost[PROGRESS_AXES]) {
  for (int a = 0; a < PROGRESS_AXES; a++)
    json_object_set_new(j, axes[a], cli_json_real(cost[a]));
}

static json_t *near_json(const struct steps_score *s) {
  json_t *all = json_object();
  for (int i = 0; i < N_NEARS; i++) {
    char key[16];
    snprintf(key, sizeof key, "%d", nears[i]);
    json_t *j = json_pack("{s:i, s:i}", "tasks", s->near[i].known, "reached", s->near[i].reached);
    put_costs(j, s->near[i].ert);
    json_object_set_new(all, key, j);
  }
  return all;
}

// The best so far of a task, against all costs.
static json_t *curve_json(const struct attempts_task *t) {
  struct progress_step *curve = base_calloc((size_t)t->requests + 1, sizeof *curve);
  json_t *points = json_array();
  int n = curve ? stats_progress_curve(t->steps, t->requests, curve) : 0;
  for (int i = 0; i < n; i++) {
    json_t *point = json_pack("{s:f}", "time_ns", curve[i].time_ns);
    put_costs(point, curve[i].cost);
    json_array_append_new(points, point);
  }
  base_free(curve);
  return json_pack("{s:s, s:i, s:i, s:o, s:o}", "task", t->task, "requests", t->requests, "right", t->right,
                   "best_known_ns", cli_json_real(t->best_known_ns), "curve", points);
}

static json_t *curves_json(const struct attempts_run *c) {
  json_t *all = json_array();
  for (int i = 0; i < c->n; i++)
    json_array_append_new(all, curve_json(&c->tasks[i]));
  return all;
}

static json_t *steps_json(const char *run, const struct attempts_run *c, const struct steps_score *s) {
  json_t *row = json_pack(
      "{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:o, s:o, s:o, s:I, s:I, s:o, s:f, s:f, s:f, s:o, s:o, s:o}", "run",
      run, "tasks", c->n, "asked", s->asked, "code", s->code, "builds", s->built, "right", s->right, "faster",
      c->baseline ? json_integer(s->fast) : json_null(), "tasks_right", s->tasks_right, "pass_at", three_json(s->pass),
      "fast_1_at", three_json(s->fast_1), "right_within", three_json(s->within), "calls", (json_int_t)s->cost.calls,
      "tokens", (json_int_t)s->cost.tokens, "usd", s->cost.without_price ? json_null() : json_real(s->cost.usd),
      "model_s", (double)c->model_ns / 1e9, "judge_s", (double)c->judge_ns / 1e9, "own_s", (double)c->own_ns / 1e9,
      "best_of", three_json(s->best_of), "near_best", near_json(s), "by_task", curves_json(c));
  return cli_json_of("attempts", row);
}

static void steps_row(struct table *t, const char *run, const struct attempts_run *c, const struct steps_score *s) {
  char funnel[96], faster[24] = "", pass[64], fast[64], within[64], per[32] = "-", cost[64], seconds[64];
  if (c->baseline)
    snprintf(faster, sizeof faster, " > %d", s->fast);
  snprintf(funnel, sizeof funnel, "%d > %d > %d > %d%s", s->asked, s->code, s->built, s->right, faster);
  if (s->tasks_right)
    snprintf(per, sizeof per, "%.3g", (double)s->cost.calls / s->tasks_right);
  if (s->cost.without_price)
    snprintf(cost, sizeof cost, "%lld tokens", (long long)s->cost.tokens);
  else
    snprintf(cost, sizeof cost, "%lld tokens, %.4f USD", (long long)s->cost.tokens, s->cost.usd);
  snprintf(seconds, sizeof seconds, "%.1f %.1f %.1f", (double)c->model_ns / 1e9, (double)c->judge_ns / 1e9,
           (double)c->own_ns / 1e9);
  char best[64], near[128] = "-";
  size_t used = 0;
  for (int i = 0; i < N_NEARS && s->near[0].known > 0 && used < sizeof near; i++)
    used += (size_t)snprintf(near + used, sizeof near - used, "%s%d/%d", i ? " " : "", s->near[i].reached, c->n);
  for (int i = 0; i < N_NEARS && s->near[0].known > 0 && used < sizeof near; i++)
    used += (size_t)snprintf(near + used, sizeof near - used, isnan(s->near[i].ert[0]) ? "%s-" : "%s%.3g",
                             i ? " " : ", ", s->near[i].ert[0]);
  table_row(t, (const char *const[]){run, funnel, three(s->pass, pass, sizeof pass),
                                     three(s->fast_1, fast, sizeof fast), three(s->within, within, sizeof within), per,
                                     cost, seconds, three(s->best_of, best, sizeof best), near});
}

struct table *score_steps_table(void) {
  static const char *const headers[] = {"run",
                                        "asked > code > builds > right > faster",
                                        "pass@1 5 10",
                                        "fast_1@1 5 10",
                                        "right within 1 5 10 calls",
                                        "calls a right task",
                                        "cost",
                                        "s of model, judge, Assay",
                                        "best of 1 5 10",
                                        "within 10 5 2 % of the best, calls"};
  return table_create(headers, 10, "llllllllll");
}

enum assay_status score_steps(struct store *store, const char *run, const char *baseline, struct table *table,
                              json_t *array, bool *any, struct assay_error *err) {
  struct attempts_run c;
  struct steps_score s = {0};
  enum assay_status status = attempts_read(store, run, baseline, &c, err);
  if (!status && c.n > 0)
    status = store_sum_steps(store, run, &s.cost, err);
  if (!status && c.n > 0) {
    sum_up(&c, is_independent(store, run), &s);
    *any = true;
    steps_row(table, run, &c, &s);
    json_array_append_new(array, steps_json(run, &c, &s));
  }
  attempts_release(&c);
  return status;
}
