// SPDX-License-Identifier: Apache-2.0
#include "report/compare.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "report/view.h"
#include "score/row.h"

enum { RESAMPLES = 2000, SEED = 20261123 };

// A split of right and wrong answers, or a mean over tasks, is a difference when chance makes it in fewer cases.
static const double CHANCE = 0.05;

// ---- reading the runs

struct reading {
  struct comparison *c;
  bool second; // run B
  bool failed; // no memory
  int n_seen;
};

static struct compare_task *task_of(struct comparison *c, const char *name) {
  for (int i = 0; i < c->n; i++)
    if (strcmp(c->tasks[i].task, name) == 0)
      return &c->tasks[i];
  if (c->n == c->capacity) {
    int capacity = 2 * c->capacity + 64;
    struct compare_task *more = base_realloc(c->tasks, (size_t)capacity * sizeof *more);
    if (!more)
      return NULL;
    c->tasks = more;
    c->capacity = capacity;
  }
  struct compare_task *t = &c->tasks[c->n++];
  *t = (struct compare_task){.a = {.time_ns = NAN}, .b = {.time_ns = NAN}};
  snprintf(t->task, sizeof t->task, "%s", name);
  return t;
}

// Whether a verdict says more of the run than the one before: a faster right one, a right one, a newer one.
static bool is_better(const struct compare_side *than, bool right, double time_ns) {
  if (!than->there || (right && !than->right))
    return true;
  if (right != than->right)
    return false;
  return !right || time_ns < than->time_ns || (isnan(than->time_ns) && !isnan(time_ns));
}

static enum assay_status take_side(struct compare_side *side, const struct verdict_view *view, double time_ns,
                                   struct assay_error *err) {
  const struct store_verdict *v = &view->stored;
  double *samples = base_calloc((size_t)v->n_samples + 1, sizeof *samples);
  if (!samples)
    return error_nomem(err, "a comparison");
  if (v->n_samples > 0)
    memcpy(samples, v->samples_ns, (size_t)v->n_samples * sizeof *samples);
  base_free(side->samples_ns);
  *side = (struct compare_side){.there = true,
                                .right = view_is_right(view),
                                .unstable = v->unstable,
                                .reason = v->reason,
                                .time_ns = time_ns,
                                .time = {v->time_low_ns, v->time_high_ns},
                                .overhead_ns = view->overhead_ns,
                                .samples_ns = samples,
                                .n_samples = v->n_samples};
  snprintf(side->candidate, sizeof side->candidate, "%s", v->candidate);
  snprintf(side->workload, sizeof side->workload, "%s", v->workload);
  snprintf(side->form, sizeof side->form, "%s", v->form);
  // Without a name of its own, the device is the machine's processor.
  snprintf(side->device, sizeof side->device, "%s %s", v->device,
           view->device_name[0] ? view->device_name : view->processor);
  return ASSAY_OK;
}

static bool read_verdict(void *arg, const struct store_verdict *v) {
  struct reading *r = arg;
  struct verdict_view view;
  struct assay_error ignored = {0};
  char label[VIEW_LABEL];
  r->failed = view_from_store(v, &view, &ignored) != ASSAY_OK;
  if (r->failed)
    return false;
  struct compare_task *t = task_of(r->c, view_task_label(&view, label, sizeof label));
  if (!t) {
    view_release(&view);
    r->failed = true;
    return false;
  }
  struct compare_side *side = r->second ? &t->b : &t->a;
  double time_ns = view_ranked_ns(&view);
  if (is_better(side, view_is_right(&view), time_ns))
    r->failed = take_side(side, &view, time_ns, &ignored) != ASSAY_OK;
  view_release(&view);
  r->n_seen++;
  return !r->failed;
}

static enum assay_status read_run(struct store *s, const char *run, bool second, struct comparison *c,
                                  struct assay_error *err) {
  struct reading r = {.c = c, .second = second};
  enum assay_status status = store_each_standing(s, run, NULL, read_verdict, &r, err);
  if (!status && r.failed)
    status = error_nomem(err, "a comparison");
  if (!status && r.n_seen == 0)
    status = store_no_run(s, run, err);
  return status;
}

static int by_name(const void *x, const void *y) {
  return score_by_name(((const struct compare_task *)x)->task, ((const struct compare_task *)y)->task);
}

// ---- verdicts

static void decide(struct compare_task *t, enum compare_verdict verdict, const char *why) {
  t->verdict = verdict;
  snprintf(t->why, sizeof t->why, "%s", why);
}

// Times of another device, or of other sizes, say nothing of the kernels. NULL: they can be compared.
static const char *not_comparable(const struct compare_side *a, const struct compare_side *b) {
  if (strcmp(a->workload, b->workload) != 0)
    return "judged at different workloads";
  if (strcmp(a->form, b->form) != 0)
    return "one is the published form of the task";
  return strcmp(a->device, b->device) != 0 ? "timed on different devices" : NULL;
}

static enum compare_verdict verdict_of(const struct interval *ratio, double resolution) {
  if (ratio->low > 1 + resolution)
    return COMPARE_B;
  return ratio->high < 1 / (1 + resolution) ? COMPARE_A : COMPARE_NO_DIFFERENCE;
}

static bool has_interval(const struct compare_side *s) {
  return s->time.low > 0 && s->time.low <= s->time_ns && s->time_ns <= s->time.high && s->time.low < s->time.high &&
         isfinite(s->time.high);
}

// Of the samples; of a verdict that came without them, of the times' intervals, which is wider than need be.
static bool find_ratio_interval(const struct compare_side *a, const struct compare_side *b, struct interval *out) {
  const struct stats_samples above = {a->samples_ns, a->n_samples, a->overhead_ns},
                             below = {b->samples_ns, b->n_samples, b->overhead_ns};
  if (stats_ratio_interval(&above, &below, RESAMPLES, SEED, out))
    return true;
  if (!has_interval(a) || !has_interval(b))
    return false;
  *out = (struct interval){a->time.low / b->time.high, a->time.high / b->time.low};
  return true;
}

static void compare_times(struct compare_task *t) {
  const struct compare_side *a = &t->a, *b = &t->b;
  const char *why = not_comparable(a, b);
  if (why) {
    decide(t, COMPARE_UNKNOWN, why);
  } else if (isnan(a->time_ns) || isnan(b->time_ns)) {
    decide(t, COMPARE_UNKNOWN,
           !isnan(b->time_ns)   ? "both are right; A has no time"
           : !isnan(a->time_ns) ? "both are right; B has no time"
                                : "both are right, without times");
  } else if (!find_ratio_interval(a, b, &t->ratio_interval)) {
    decide(t, COMPARE_UNKNOWN, "too few samples for an interval, and none is known");
  } else {
    static const char *const words[] = {"no difference shown", "A is faster", "B is faster"};
    t->ratio = a->time_ns / b->time_ns;
    t->verdict = verdict_of(&t->ratio_interval, score_resolution(a->device));
    snprintf(t->why, sizeof t->why, "%s%s", words[t->verdict], a->unstable || b->unstable ? " (unstable)" : "");
  }
}

static void compare_task(struct compare_task *t) {
  t->ratio = t->ratio_interval.low = t->ratio_interval.high = NAN;
  if (!t->a.there || !t->b.there)
    decide(t, COMPARE_UNKNOWN, t->a.there ? "only in A" : "only in B");
  else if (t->a.right && t->b.right)
    compare_times(t);
  else if (t->a.right || t->b.right)
    decide(t, t->a.right ? COMPARE_A : COMPARE_B, t->a.right ? "only A is right" : "only B is right");
  else
    decide(t, COMPARE_UNKNOWN, "neither is right");
}

static enum assay_status sum_up(struct comparison *c, struct assay_error *err) {
  double *ratios = base_calloc((size_t)c->n + 1, sizeof *ratios), resolution = 0;
  if (!ratios)
    return error_nomem(err, "a comparison");
  for (int i = 0; i < c->n; i++) {
    const struct compare_task *t = &c->tasks[i];
    bool both = t->a.there && t->b.there;
    c->n_both += both;
    c->only_in_a += !t->b.there;
    c->only_in_b += !t->a.there;
    c->right_a += both && t->a.right;
    c->right_b += both && t->b.right;
    c->only_a_right += both && t->a.right && !t->b.right;
    c->only_b_right += both && t->b.right && !t->a.right;
    if (isnan(t->ratio))
      continue;
    ratios[c->n_times++] = t->ratio;
    resolution = fmax(resolution, score_resolution(t->a.device));
  }
  c->right_p = stats_sign_test(c->only_a_right, c->only_b_right);
  c->right = c->right_p >= CHANCE ? COMPARE_NO_DIFFERENCE : c->only_a_right > c->only_b_right ? COMPARE_A : COMPARE_B;
  c->ratio = stats_geomean(ratios, c->n_times);
  c->faster = COMPARE_UNKNOWN;
  if (stats_geomean_interval(ratios, c->n_times, &c->ratio_interval))
    c->faster = verdict_of(&c->ratio_interval, resolution);
  else
    c->ratio_interval = (struct interval){NAN, NAN};
  base_free(ratios);
  return ASSAY_OK;
}

enum assay_status compare_runs(struct store *s, const char *a, const char *b, struct comparison *out,
                               struct assay_error *err) {
  struct comparison c = {0};
  enum assay_status status = read_run(s, a, false, &c, err);
  if (!status)
    status = read_run(s, b, true, &c, err);
  if (!status && c.n > 0)
    qsort(c.tasks, (size_t)c.n, sizeof *c.tasks, by_name);
  for (int i = 0; i < c.n && !status; i++)
    compare_task(&c.tasks[i]);
  if (!status)
    status = sum_up(&c, err);
  if (!status && c.n_both == 0)
    status = error_set(err, ASSAY_ERR_NOT_FOUND, "the runs \"%s\" and \"%s\" have no task in common", a, b);
  if (status)
    compare_release(&c);
  else
    *out = c;
  return status;
}

void compare_release(struct comparison *c) {
  for (int i = 0; i < c->n; i++) {
    base_free(c->tasks[i].a.samples_ns);
    base_free(c->tasks[i].b.samples_ns);
  }
  base_free(c->tasks);
  *c = (struct comparison){0};
}
