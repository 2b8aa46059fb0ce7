// SPDX-License-Identifier: Apache-2.0
// What ease is made of, for each maker: lines that somebody wrote, knobs that its tuner turns, and failures. The letter
// is of the lines alone; the rest stands below.
#include <string.h>

#include "cli/json.h"
#include "cli/side.h"
#include "store/trial.h"

struct trials {
  const struct side *side;
  int knobs, all, failed, untimed;
};

// The run may have trials of what earlier comparisons asked.
static bool is_compared(const struct side *s, const struct store_trial *t) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->shapes[i].task, t->task) == 0 && strcmp(s->shapes[i].workload, t->workload) == 0)
      return true;
  return false;
}

static bool count_trial(void *arg, const struct store_trial *t) {
  struct trials *c = arg;
  int knobs = 0;
  if (t->status == STORE_TRIAL_SUMMARY || !is_compared(c->side, t))
    return true;
  for (const char *p = t->configuration; p && *p; p++)
    knobs += *p == '=';
  if (knobs == 0 && t->configuration && t->configuration[0])
    knobs = 1; // a choice by its name
  c->knobs = knobs > c->knobs ? knobs : c->knobs;
  c->all++;
  c->untimed += t->status == STORE_TRIAL_FAILED; // right without a time, or one that a log does not have
  c->failed += t->status == STORE_TRIAL_COMPILE_ERROR || t->status == STORE_TRIAL_LAUNCH_ERROR ||
               t->status == STORE_TRIAL_WRONG || t->status == STORE_TRIAL_TIMEOUT;
  return true;
}

// Whether the search of an earlier shape is in the same run as the nth's.
static bool is_counted(const struct side *s, int maker, size_t nth) {
  for (size_t i = 0; i < nth; i++)
    if (s->shapes[i].results[maker].seed == s->shapes[nth].results[maker].seed)
      return true;
  return false;
}

struct scorecard_ease scorecard_ease_of(const struct side *s, int maker) {
  struct scorecard_ease e = {0};
  struct trials t = {.side = s};
  struct assay_error ignored = {0};
  char run[SIDE_RUN_BYTES];
  for (size_t i = 0; i < s->n; i++) {
    const struct side_result *r = &s->shapes[i].results[maker];
    if (!is_counted(s, maker, i)) {
      side_tuning_run_of(s, maker, r->seed, run);
      (void)store_each_trial(s->store, run, count_trial, &t, &ignored);
    }
    e.refused += r->asked && r->refusal && !r->not_judged;
    e.failed += r->asked && !r->refusal && r->reason != ASSAY_REASON_PASS;
  }
  e.knobs = t.knobs;
  e.trials = t.all;
  e.failed_trials = t.failed;
  e.untimed_trials = t.untimed;
  return e;
}

void scorecard_ease_print(const struct side *s, FILE *to) {
  static const char *const headers[] = {"maker",  "knobs",         "no kernel", "not right",
                                        "trials", "failed trials", "no time"};
  struct table *t = table_create(headers, 7, "lrrrrrr");
  for (int m = 0; m < s->n_makers && t; m++) {
    struct scorecard_ease e = scorecard_ease_of(s, m);
    const int numbers[] = {e.knobs, e.refused, e.failed, e.trials, e.failed_trials, e.untimed_trials};
    const char *row[7] = {s->makers[m].name};
    char cells[6][16];
    for (int i = 0; i < 6; i++) {
      snprintf(cells[i], sizeof cells[i], "%d", numbers[i]);
      row[i + 1] = cells[i];
    }
    table_row(t, row);
  }
  fprintf(to, "\n");
  if (t)
    table_print(t, to);
  table_destroy(t);
  cells_printf(to,
               "\nease, besides lines: knobs that a tuner turned, shapes without a kernel or with a wrong one, failed "
               "trials and\n"
               "trials of which no time is known (a log names the choice and no more, or the machine was too busy)\n");
}

json_t *scorecard_ease_json(const struct side *s) {
  json_t *rows = json_array();
  for (int m = 0; m < s->n_makers; m++) {
    struct scorecard_ease e = scorecard_ease_of(s, m);
    json_array_append_new(rows, json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i}", "maker", s->makers[m].name, "knobs",
                                          e.knobs, "no_kernel", e.refused, "not_right", e.failed, "trials", e.trials,
                                          "failed_trials", e.failed_trials, "untimed_trials", e.untimed_trials));
  }
  return rows;
}
