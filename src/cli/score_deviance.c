// SPDX-License-Identifier: Apache-2.0
// assay score RUN RUN... --deviance: how much of success and failure the kind of task explains, and how much the run.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/json.h"
#include "cli/score.h"
#include "stats/success.h"

enum { MOST_NAME = 128 };

struct outcome {
  char task[MOST_NAME];
  int category, run;
  bool right;
};

struct outcomes {
  struct outcome *rows;
  int n, capacity, run;
  bool failed;
};

// The task's row for the run that is read.
static struct outcome *row_of(struct outcomes *o, const char *task) {
  for (int i = o->n - 1; i >= 0 && o->rows[i].run == o->run; i--)
    if (strcmp(o->rows[i].task, task) == 0)
      return &o->rows[i];
  if (o->n == o->capacity) {
    int capacity = 2 * o->capacity + 256;
    struct outcome *more = base_realloc(o->rows, (size_t)capacity * sizeof *more);
    o->failed = !more;
    if (!more)
      return NULL;
    o->rows = more;
    o->capacity = capacity;
  }
  struct outcome *r = &o->rows[o->n++];
  *r = (struct outcome){.run = o->run};
  snprintf(r->task, sizeof r->task, "%s", task);
  return r;
}

static bool take_verdict(void *arg, const struct store_verdict *v) {
  struct outcomes *o = arg;
  struct outcome *r = row_of(o, v->task);
  if (r)
    r->right = r->right || (v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v));
  return r != NULL;
}

// "kernelbench/1" of "kernelbench/1/19": numbered by its first task. Returns how many there are.
static int number_categories(struct outcomes *o) {
  int n = 0;
  for (int i = 0; i < o->n; i++) {
    const char *slash = strrchr(o->rows[i].task, '/');
    size_t len = slash ? (size_t)(slash - o->rows[i].task) + 1 : 0;
    o->rows[i].category = n;
    for (int k = 0; k < i && o->rows[i].category == n; k++) {
      const char *its = strrchr(o->rows[k].task, '/');
      size_t its_len = its ? (size_t)(its - o->rows[k].task) + 1 : 0;
      if (its_len == len && strncmp(o->rows[k].task, o->rows[i].task, len) == 0)
        o->rows[i].category = o->rows[k].category;
    }
    n += o->rows[i].category == n;
  }
  return n;
}

struct explained {
  int outcomes, runs, kinds;
  double null, by_kind, by_run, by_both;
};

static void print(const struct explained *e, bool as_json) {
  if (as_json)
    cli_json_print(
        cli_json_of("deviance", json_pack("{s:i, s:i, s:i, s:f, s:f, s:f, s:f}", "outcomes", e->outcomes, "runs",
                                          e->runs, "kinds", e->kinds, "null_deviance", e->null, "explained_by_kind",
                                          e->by_kind, "explained_by_run", e->by_run, "explained_by_both", e->by_both)));
  else
    printf(
        "%d outcomes of %d runs and %d kinds of task, null deviance %.3f: the kind of task explains %.1f %%, the run "
        "%.1f %%, both %.1f %%\n",
        e->outcomes, e->runs, e->kinds, e->null, 100 * e->by_kind, 100 * e->by_run, 100 * e->by_both);
}

static enum assay_status explain(struct outcomes *o, int n_runs, struct explained *out, struct assay_error *err) {
  int n_categories = number_categories(o), *factors = base_calloc(2 * (size_t)o->n + 1, sizeof *factors);
  bool *y = base_calloc((size_t)o->n + 1, sizeof *y);
  enum assay_status status = factors && y ? ASSAY_OK : error_nomem(err, "an analysis of deviance");
  for (int i = 0; i < o->n && !status; i++) {
    factors[i] = o->rows[i].category;
    factors[o->n + i] = o->rows[i].run;
    y[i] = o->rows[i].right;
  }
  if (!status) {
    struct deviance by_category = stats_deviance_grouped(y, factors, o->n, n_categories);
    struct deviance by_run = stats_deviance_grouped(y, factors + o->n, o->n, n_runs);
    struct deviance both = stats_deviance_additive(y, factors, n_categories, factors + o->n, n_runs, o->n);
    *out = (struct explained){
        o->n, n_runs, n_categories, by_category.null, by_category.explained, by_run.explained, both.explained};
    if (isnan(by_category.explained))
      status =
          error_set(err, ASSAY_ERR_USAGE, "all tasks of these runs have the same outcome: there is nothing to explain");
  }
  base_free(factors);
  base_free(y);
  return status;
}

enum assay_status score_deviance(struct store *store, char *const *runs, int n, bool as_json, struct assay_error *err) {
  struct outcomes o = {0};
  struct explained found = {0};
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n && !status; i++) {
    o.run = i;
    status = store_each(store, runs[i], take_verdict, &o, err);
  }
  if (!status && o.failed)
    status = error_nomem(err, "an analysis of deviance");
  if (!status)
    status = explain(&o, n, &found, err);
  if (!status)
    print(&found, as_json);
  base_free(o.rows);
  return status;
}
