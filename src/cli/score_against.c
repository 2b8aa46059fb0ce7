// SPDX-License-Identifier: Apache-2.0
// assay score RUN --against OTHER: two runs of `assay make`, with as many requests.
#include <jansson.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "cli/attempts.h"
#include "cli/json.h"
#include "cli/score.h"
#include "stats/success.h"

static const struct attempts_task *attempts_of(const struct attempts_run *c, const char *task) {
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
static int common_budget(const struct attempts_run *a, const struct attempts_run *b) {
  int budget = INT32_MAX;
  for (int i = 0; i < a->n; i++) {
    const struct attempts_task *t = attempts_of(b, a->tasks[i].task);
    if (t && a->tasks[i].requests < budget)
      budget = a->tasks[i].requests;
    if (t && t->requests < budget)
      budget = t->requests;
  }
  return budget;
}

// Right within the same number of requests, those for prose included, on the tasks that both have.
static enum assay_status compare(const struct attempts_run *a, const struct attempts_run *b, struct against *out,
                                 struct assay_error *err) {
  double *x = base_calloc(2 * (size_t)a->n + 1, sizeof *x), *y = x ? x + a->n : NULL;
  int n = 0;
  if (!x)
    return error_nomem(err, "a comparison");
  out->requests = common_budget(a, b);
  for (int i = 0; i < a->n; i++) {
    const struct attempts_task *t = attempts_of(b, a->tasks[i].task);
    if (!t)
      continue;
    x[n] = attempts_right_within(&a->tasks[i], out->requests);
    y[n] = attempts_right_within(t, out->requests);
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
  struct attempts_run a = {0}, b = {0};
  struct against found = {.run = run, .other = other};
  enum assay_status status = attempts_read(store, run, NULL, &a, err);
  if (!status)
    status = attempts_read(store, other, NULL, &b, err);
  if (!status && (a.n == 0 || b.n == 0))
    status = error_set(err, ASSAY_ERR_NOT_FOUND,
                       "the store has no attempts of the run \"%s\": --against compares runs of "
                       "assay make",
                       a.n == 0 ? run : other);
  if (!status)
    status = compare(&a, &b, &found, err);
  if (!status)
    print_against(&found, as_json);
  attempts_release(&a);
  attempts_release(&b);
  return status;
}
