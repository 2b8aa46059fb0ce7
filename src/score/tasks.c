// SPDX-License-Identifier: Apache-2.0
// From rows to tasks.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "score/summary.h"

static int by_task(const void *x, const void *y) {
  const struct score_row *const *a = x, *const *b = y;
  return score_by_name((*a)->task, (*b)->task);
}

static int by_text(const void *x, const void *y) {
  const char *const *a = x, *const *b = y;
  return score_by_name(*a, *b);
}

// Whether a's time makes it the better representative of its task; ties go to the name, so that order has no say.
static bool is_faster(const struct score_row *a, const struct score_row *than) {
  if (!than || a->time_ns != than->time_ns)
    return !than || a->time_ns < than->time_ns;
  return strcmp(a->candidate, than->candidate) < 0;
}

static void add_row(struct score_task *t, const struct score_row *r, const struct score_question *q) {
  struct score_question asked = *q;
  asked.ask = SCORE_ASK_RIGHT;
  enum score_reason why = score_eligible(r, &asked);
  if (why >= SCORE_OTHER_DEVICE && why <= SCORE_REPLACED)
    return;
  t->first = t->first ? t->first : r;
  t->has_baseline = t->has_baseline || score_baseline_of(r, q->baseline);
  if (why == SCORE_NOT_JUDGED)
    return;
  t->n_judged++;
  t->n_built += !assay_reason_is_of_build(r->reason);
  t->n_right += why == SCORE_ELIGIBLE;
  t->n_narrow += why == SCORE_JUDGED_SHAPE_ONLY;
  t->n_suspicious += why == SCORE_SUSPICIOUS;
  t->n_cheats += why == SCORE_CHEAT;
  if (why != SCORE_ELIGIBLE)
    return;
  t->n_unstable += r->unstable;
  t->n_process += r->process;
  asked.ask = SCORE_ASK_TIME;
  if (score_eligible(r, &asked) == SCORE_ELIGIBLE && is_faster(r, t->best))
    t->best = r;
  asked.ask = SCORE_ASK_SPEED;
  t->n_faster += score_eligible(r, &asked) == SCORE_ELIGIBLE && score_baseline_of(r, q->baseline)->speedup > 1;
}

static void finish(struct score_task *t, const struct score_question *q) {
  struct score_question asked = *q;
  if (!t->best)
    return;
  asked.ask = SCORE_ASK_FLOOR;
  if (score_eligible(t->best, &asked) == SCORE_ELIGIBLE)
    t->part_of_floor = t->best->floor_ns / t->best->time_ns;
  asked.ask = SCORE_ASK_SPEED;
  if (score_eligible(t->best, &asked) == SCORE_ELIGIBLE) {
    const struct score_baseline *b = score_baseline_of(t->best, q->baseline);
    t->speedup = b->speedup;
    t->speedup_interval = b->speedup_interval;
  }
}

// Names and rows are in order: the tasks are made in one walk over both. Returns how many.
static int walk(const struct score_row *const *rows, int n, const struct score_names *names,
                const struct score_question *q, struct score_task *tasks) {
  int row = 0, count = 0;
  for (int i = 0; i < names->n; i++) {
    struct score_task t = {
        .task = names->items[i], .part_of_floor = NAN, .speedup = NAN, .speedup_interval = {NAN, NAN}};
    if (i > 0 && score_by_name(names->items[i - 1], t.task) == 0)
      continue;
    while (row < n && score_by_name(rows[row]->task, t.task) < 0)
      row++;
    for (; row < n && score_by_name(rows[row]->task, t.task) == 0; row++)
      add_row(&t, rows[row], q);
    finish(&t, q);
    tasks[count++] = t;
  }
  return count;
}

enum assay_status score_tasks(const struct score_row *const *rows, int n, const struct score_question *q,
                              const struct score_names *expected, struct score_task **out, int *count,
                              struct assay_error *err) {
  int n_names = expected ? expected->n : n;
  const struct score_row **sorted = base_calloc((size_t)n + 1, sizeof *sorted);
  const char **names = base_calloc((size_t)n_names + 1, sizeof *names);
  struct score_task *tasks = base_calloc((size_t)n_names + 1, sizeof *tasks);
  if (!sorted || !names || !tasks) {
    base_free(sorted);
    base_free(names);
    base_free(tasks);
    return error_nomem(err, "scores");
  }
  if (n > 0)
    memcpy(sorted, rows, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, by_task);
  for (int i = 0; i < n_names; i++)
    names[i] = expected ? expected->items[i] : sorted[i]->task;
  qsort(names, (size_t)n_names, sizeof *names, by_text);
  const struct score_names all = {names, n_names};
  int made = walk(sorted, n, &all, q, tasks), kept = 0;
  for (int i = 0; i < made; i++) // tasks whose rows the setting leaves out, unless they were asked for
    if (expected || tasks[i].first)
      tasks[kept++] = tasks[i];
  base_free(sorted);
  base_free(names);
  *out = tasks;
  *count = kept;
  return ASSAY_OK;
}
