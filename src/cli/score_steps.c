// assay score of runs that `assay make` made: what came of the attempts and what they cost, and two runs compared.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/json.h"
#include "cli/score.h"
#include "cli/table.h"
#include "report/view.h"
#include "stats/success.h"
#include "store/step.h"

static const int budgets[] = {1, 5, 10};
enum { N_BUDGETS = sizeof budgets / sizeof *budgets, MOST_TASKS = 4096 };

// A task's attempts, in the order of their numbers.
struct attempts {
  char task[128];
  int asked, code, built, right, fast; // asked: for a kernel
  int requests;                        // those for prose too
  int first_right;                     // number of requests until the first right kernel, that one included; 0: none is
};

struct counting {
  struct store *store;
  const char *baseline; // NULL: no fast_1
  struct attempts *tasks;
  int n;
  int64_t model_ns, judge_ns, own_ns;
  struct assay_error *err;
  enum assay_status status;
};

struct speed {
  const char *baseline;
  bool right, fast, built;
};

static bool see_verdict(void *arg, const struct store_verdict *v) {
  struct speed *s = arg;
  struct verdict_view view;
  struct assay_error ignored = {0};
  s->right = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v);
  s->built = !assay_reason_is_of_build(v->reason);
  if (!s->baseline || !s->right || view_from_store(v, &view, &ignored) != ASSAY_OK)
    return false;
  for (int i = 0; i < view.n_baselines; i++)
    s->fast = s->fast || (strcmp(view.baselines[i].name, s->baseline) == 0 && view.baselines[i].speedup > 1);
  view_release(&view);
  return false;
}

static bool count_step(void *arg, const struct store_step *s) {
  struct counting *c = arg;
  struct speed speed = {.baseline = c->baseline};
  if (s->outcome == STORE_FINAL || s->outcome == STORE_REPLIED)
    return true;
  c->model_ns += s->model_ns;
  c->judge_ns += s->judge_ns;
  c->own_ns += s->own_ns;
  if (c->n == 0 || strcmp(c->tasks[c->n - 1].task, s->task) != 0) {
    if (c->n == MOST_TASKS)
      return false;
    snprintf(c->tasks[c->n++].task, sizeof c->tasks->task, "%s", s->task);
  }
  struct attempts *t = &c->tasks[c->n - 1];
  t->requests++;
  if (s->outcome == STORE_TEXT)
    return true;
  if (s->verdict > 0)
    c->status = store_get(c->store, s->verdict, see_verdict, &speed, c->err);
  t->asked++;
  t->code += s->verdict > 0;
  t->built += s->verdict > 0 && speed.built;
  t->right += speed.right;
  t->fast += speed.fast;
  if (speed.right && !t->first_right)
    t->first_right = t->requests;
  return c->status == ASSAY_OK;
}

static enum assay_status count_run(struct store *store, const char *run, const char *baseline, struct counting *out,
                                   struct assay_error *err) {
  *out = (struct counting){.store = store, .baseline = baseline, .err = err};
  out->tasks = base_calloc(MOST_TASKS, sizeof *out->tasks);
  if (!out->tasks)
    return error_nomem(err, "a run's attempts");
  enum assay_status status = store_each_step(store, run, NULL, count_step, out, err);
  return status ? status : out->status;
}

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
static double mean_at_k(const struct counting *c, int k, bool fast) {
  double sum = 0;
  for (int i = 0; i < c->n; i++)
    sum += stats_pass_at_k(c->tasks[i].asked, fast ? c->tasks[i].fast : c->tasks[i].right, k);
  return c->n ? sum / c->n : NAN;
}

static double right_within(const struct attempts *t, int requests) {
  return t->first_right > 0 && t->first_right <= requests;
}

static double mean_within(const struct counting *c, int requests) {
  double sum = 0;
  for (int i = 0; i < c->n; i++)
    sum += right_within(&c->tasks[i], requests);
  return c->n ? sum / c->n : NAN;
}

struct steps_score {
  int asked, code, built, right, fast, tasks_right;
  double pass[N_BUDGETS], fast_1[N_BUDGETS], within[N_BUDGETS];
  struct store_cost cost;
};

static void sum_up(const struct counting *c, bool independent, struct steps_score *s) {
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
  }
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

static json_t *steps_json(const char *run, const struct counting *c, const struct steps_score *s) {
  json_t *row = json_pack(
      "{s:s, s:i, s:i, s:i, s:i, s:i, s:o, s:i, s:o, s:o, s:o, s:I, s:I, s:o, s:f, s:f, s:f}", "run", run, "tasks",
      c->n, "asked", s->asked, "code", s->code, "builds", s->built, "right", s->right, "faster",
      c->baseline ? json_integer(s->fast) : json_null(), "tasks_right", s->tasks_right, "pass_at", three_json(s->pass),
      "fast_1_at", three_json(s->fast_1), "right_within", three_json(s->within), "calls", (json_int_t)s->cost.calls,
      "tokens", (json_int_t)s->cost.tokens, "usd", s->cost.without_price ? json_null() : json_real(s->cost.usd),
      "model_s", (double)c->model_ns / 1e9, "judge_s", (double)c->judge_ns / 1e9, "own_s", (double)c->own_ns / 1e9);
  return cli_json_of("attempts", row);
}

static void steps_row(struct table *t, const char *run, const struct counting *c, const struct steps_score *s) {
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
  table_row(t,
            (const char *const[]){run, funnel, three(s->pass, pass, sizeof pass), three(s->fast_1, fast, sizeof fast),
                                  three(s->within, within, sizeof within), per, cost, seconds});
}

struct table *score_steps_table(void) {
  static const char *const headers[] = {"run",
                                        "asked > code > builds > right > faster",
                                        "pass@1 5 10",
                                        "fast_1@1 5 10",
                                        "right within 1 5 10 calls",
                                        "calls a right task",
                                        "cost",
                                        "s of model, judge, Assay"};
  return table_create(headers, 8, "llllllll");
}

enum assay_status score_steps(struct store *store, const char *run, const char *baseline, struct table *table,
                              json_t *array, bool *any, struct assay_error *err) {
  struct counting c;
  struct steps_score s = {0};
  enum assay_status status = count_run(store, run, baseline, &c, err);
  if (!status && c.n > 0)
    status = store_sum_steps(store, run, &s.cost, err);
  if (!status && c.n > 0) {
    sum_up(&c, is_independent(store, run), &s);
    *any = true;
    steps_row(table, run, &c, &s);
    json_array_append_new(array, steps_json(run, &c, &s));
  }
  base_free(c.tasks);
  return status;
}

// --- two runs

static const struct attempts *attempts_of(const struct counting *c, const char *task) {
  for (int i = 0; i < c->n; i++)
    if (strcmp(c->tasks[i].task, task) == 0)
      return &c->tasks[i];
  return NULL;
}

struct against {
  const char *run, *other;
  int tasks, requests, only_a, only_b;
  double right_a, right_b;
  struct paired paired;
};

static void print_against(const struct against *a, bool as_json) {
  const struct interval *in = &a->paired.interval;
  double p = stats_sign_test(a->only_a, a->only_b);
  const char *verdict = in->low > 0    ? "the first is better"
                        : in->high < 0 ? "the second is better"
                                       : "no difference shown";
  if (as_json) {
    cli_json_print(cli_json_of("against", json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:f, s:f, s:f, s:i, s:i, s:f, s:s}",
                                                    "run", a->run, "against", a->other, "tasks", a->tasks, "requests",
                                                    a->requests, "right", a->right_a, "right_against", a->right_b,
                                                    "difference", a->paired.difference, "difference_low", in->low,
                                                    "difference_high", in->high, "only_first", a->only_a, "only_second",
                                                    a->only_b, "p", p, "verdict", verdict)));
    return;
  }
  printf("\"%s\" against \"%s\", %d tasks, %d requests each: right on %+.1f %% of the tasks, 95 %% interval %+.1f to "
         "%+.1f (only the first %d, only the second %d; McNemar p = %.3g): %s\n",
         a->run, a->other, a->tasks, a->requests, 100 * a->paired.difference, 100 * in->low, 100 * in->high, a->only_a,
         a->only_b, p, verdict);
}

// As many requests as every task of both runs has had.
static int common_budget(const struct counting *a, const struct counting *b) {
  int budget = INT32_MAX;
  for (int i = 0; i < a->n; i++) {
    const struct attempts *t = attempts_of(b, a->tasks[i].task);
    if (t && a->tasks[i].requests < budget)
      budget = a->tasks[i].requests;
    if (t && t->requests < budget)
      budget = t->requests;
  }
  return budget;
}

// Right within the same number of requests, those for prose included, on the tasks that both have.
static enum assay_status compare(const struct counting *a, const struct counting *b, struct against *out,
                                 struct assay_error *err) {
  double *x = base_calloc(2 * (size_t)a->n + 1, sizeof *x), *y = x ? x + a->n : NULL;
  int n = 0;
  if (!x)
    return error_nomem(err, "a comparison");
  out->requests = common_budget(a, b);
  for (int i = 0; i < a->n; i++) {
    const struct attempts *t = attempts_of(b, a->tasks[i].task);
    if (!t)
      continue;
    x[n] = right_within(&a->tasks[i], out->requests);
    y[n] = right_within(t, out->requests);
    out->right_a += x[n];
    out->right_b += y[n];
    out->only_a += x[n] > y[n];
    out->only_b += y[n] > x[n];
    n++;
  }
  out->tasks = n;
  enum assay_status status = ASSAY_OK;
  if (!stats_paired(x, y, n, 0.95, 10000, 1, &out->paired))
    status = error_set(err, ASSAY_ERR_USAGE, "the runs \"%s\" and \"%s\" have %d task%s in common; two are needed",
                       out->run, out->other, n, n == 1 ? "" : "s");
  out->right_a /= n ? n : 1;
  out->right_b /= n ? n : 1;
  base_free(x);
  return status;
}

enum assay_status score_against(struct store *store, const char *run, const char *other, bool as_json,
                                struct assay_error *err) {
  struct counting a = {0}, b = {0};
  struct against found = {.run = run, .other = other};
  enum assay_status status = count_run(store, run, NULL, &a, err);
  if (!status)
    status = count_run(store, other, NULL, &b, err);
  if (!status && (a.n == 0 || b.n == 0))
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "the store has no attempts of the run \"%s\": --against compares runs of "
                       "assay make",
                       a.n == 0 ? run : other);
  if (!status)
    status = compare(&a, &b, &found, err);
  if (!status)
    print_against(&found, as_json);
  base_free(a.tasks);
  base_free(b.tasks);
  return status;
}
