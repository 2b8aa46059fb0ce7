// SPDX-License-Identifier: Apache-2.0
#include "score/summary.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "base/alloc.h"

const double score_thresholds[SCORE_THRESHOLDS] = {0, 0.5, 0.8, 1, 1.5, 2};

static const struct interval NO_INTERVAL = {NAN, NAN};

static bool is_missing(const struct score_task *t) {
  return t->n_judged == 0;
}

static void count_task(const struct score_task *t, const struct score_question *q, struct score_summary *s) {
  bool right = t->n_right > 0;
  s->n_missing += is_missing(t);
  s->n_right += right;
  s->n_narrow += !right && t->n_narrow > 0;
  s->n_suspicious += t->n_suspicious > 0;
  s->n_cheats += t->n_cheats > 0;
  s->n_unstable += t->best ? t->best->unstable : q->stable_only && t->n_unstable > 0;
  s->n_process += t->best ? t->best->process : t->n_process > 0 && t->n_process == t->n_right;
  s->n_baseline += t->has_baseline;
  s->n_speedups += !isnan(t->speedup);
  s->tasks.built += t->n_built > 0;
  s->tasks.faster += t->speedup > 1;
  s->rows.asked += is_missing(t) ? 1 : t->n_judged;
  s->rows.built += t->n_built;
  s->rows.right += t->n_right;
  s->rows.faster += t->n_faster;
}

// Of speeds that nobody knows, of no row that is right or of no baseline, there is no part.
static void fill_fast_p(const struct score_task *tasks, int n, struct score_summary *s) {
  bool known = s->n_baseline > 0 && (s->n_speedups > 0 || s->n_right == 0);
  for (int i = 0; i < SCORE_THRESHOLDS; i++) {
    bool counts = known || score_thresholds[i] == 0;
    s->fast_p[i] = counts ? score_fast_p(tasks, n, score_thresholds[i]) : NAN;
    s->fast_p_interval[i] = counts ? score_share_interval((int)lround(s->fast_p[i] * n), n) : NO_INTERVAL;
  }
}

enum assay_status score_sum_up(const struct score_task *tasks, int n, const struct score_question *q,
                               struct score_summary *out, struct assay_error *err) {
  struct score_summary s = {.n_tasks = n};
  double *parts = base_calloc(2 * (size_t)n + 1, sizeof *parts), *speedups = parts ? parts + n : NULL;
  if (!parts)
    return error_nomem(err, "scores");
  int n_speedups = 0;
  for (int i = 0; i < n; i++) {
    count_task(&tasks[i], q, &s);
    parts[i] = tasks[i].part_of_floor;
    if (!isnan(tasks[i].speedup))
      speedups[n_speedups++] = tasks[i].speedup;
  }
  s.tasks.asked = n;
  s.tasks.right = s.n_right;
  s.tasks.baseline = s.rows.baseline = s.n_baseline > 0;
  s.pass_at_1 = score_pass_at_k(tasks, n, 1);
  s.part_of_floor = score_quartiles(parts, n);
  s.geomean_speedup = stats_geomean(speedups, n_speedups);
  s.geomean_interval = score_geomean_interval(speedups, n_speedups);
  if (n > 0)
    fill_fast_p(tasks, n, &s);
  for (int i = 0; i < SCORE_THRESHOLDS && n == 0; i++) {
    s.fast_p[i] = NAN;
    s.fast_p_interval[i] = NO_INTERVAL;
  }
  base_free(parts);
  *out = s;
  return ASSAY_OK;
}

double score_fast_p(const struct score_task *tasks, int n, double p) {
  int count = 0;
  for (int i = 0; i < n; i++)
    count += p > 0 ? tasks[i].speedup > p : tasks[i].n_right > 0;
  return n > 0 ? (double)count / n : NAN;
}

static void add_step(struct score_step *out, int *count, double p, int faster, int n) {
  if (*count > 0 && out[*count - 1].p == p) // tasks with the same speedup fall together
    (*count)--;
  out[(*count)++] = (struct score_step){p, (double)faster / n, score_share_interval(faster, n)};
}

int score_fast_p_curve(const struct score_task *tasks, int n, struct score_step *out) {
  int count = 0, right = 0, n_speedups = 0;
  for (int i = 0; i < n; i++) {
    right += tasks[i].n_right > 0;
    n_speedups += !isnan(tasks[i].speedup);
  }
  if (n < 1 || (right > 0 && n_speedups == 0))
    return 0;
  add_step(out, &count, 0, right, n);
  if (n_speedups < right) // beyond 0 only what was timed counts, as in score_fast_p
    add_step(out, &count, DBL_MIN, n_speedups, n);
  // Each next higher speedup, by a look at all: a few hundred tasks.
  double last = 0;
  for (int left = n_speedups; left > 0;) {
    double next = INFINITY;
    int here = 0;
    for (int i = 0; i < n; i++)
      if (tasks[i].speedup > last && tasks[i].speedup < next)
        next = tasks[i].speedup;
    for (int i = 0; i < n; i++)
      here += tasks[i].speedup == next;
    if (here == 0)
      break;
    left -= here;
    add_step(out, &count, next, left, n);
    last = next;
  }
  return count;
}

double score_pass_at_k(const struct score_task *tasks, int n, int k) {
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += is_missing(&tasks[i]) && k > 0 ? 0 : stats_pass_at_k(tasks[i].n_judged, tasks[i].n_right, k);
  return n > 0 && k > 0 ? sum / n : NAN;
}
