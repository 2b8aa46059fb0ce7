// SPDX-License-Identifier: Apache-2.0
#include "cli/attempts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "report/view.h"

struct reading {
  struct store *store;
  struct attempts_run *run;
  struct assay_error *err;
  enum assay_status status;
  struct {
    char task[256];
    double calls, tokens, usd, wall_s, cpu_s;
  } unserved; // of requests that were made again, before the next attempt of the task
};

// What a step's verdict says.
struct found {
  struct reading *reading;
  bool right, fast, built;
  double time_ns, speed;
  struct attempts_task *task;
};

static double paired_speed(const struct verdict_view *view, const char *baseline) {
  double speed = NAN;
  for (int i = 0; i < view->n_baselines; i++)
    if (strcmp(view->baselines[i].name, baseline) == 0 && !isnan(view->baselines[i].speedup))
      speed = view->baselines[i].speedup;
  return speed;
}

static bool see_verdict(void *arg, const struct store_verdict *v) {
  struct found *f = arg;
  struct verdict_view view;
  struct reading *r = f->reading;
  f->right = v->reason == ASSAY_REASON_PASS && !store_is_suspicious(v);
  f->built = !assay_reason_is_of_build(v->reason);
  if (!f->right)
    return false;
  r->status = view_from_store(v, &view, r->err);
  if (r->status)
    return false;
  f->time_ns = view_ranked_ns(&view);
  f->speed = r->run->baseline ? paired_speed(&view, r->run->baseline) : v->floor_ns / f->time_ns;
  f->fast = r->run->baseline && f->speed > 1;
  view_release(&view);
  if (isnan(f->task->best_known_ns))
    r->status = store_least_time(r->store, v, &f->task->best_known_ns, r->err);
  return false;
}

static bool grow(struct attempts_task *t) {
  if (t->requests < t->capacity)
    return true;
  int capacity = 2 * t->capacity + 16;
  struct progress_step *steps = base_realloc(t->steps, (size_t)capacity * sizeof *steps);
  t->steps = steps ? steps : t->steps;
  double *speeds = steps ? base_realloc(t->speeds, (size_t)capacity * sizeof *speeds) : NULL;
  t->speeds = speeds ? speeds : t->speeds;
  t->capacity = speeds ? capacity : t->capacity;
  return speeds != NULL;
}

// The task of a step: steps come task by task.
static struct attempts_task *task_of(struct attempts_run *run, const char *name) {
  if (run->n > 0 && strcmp(run->tasks[run->n - 1].task, name) == 0)
    return &run->tasks[run->n - 1];
  if (run->n == run->capacity) {
    int capacity = 2 * run->capacity + 64;
    struct attempts_task *more = base_realloc(run->tasks, (size_t)capacity * sizeof *more);
    if (!more)
      return NULL;
    run->tasks = more;
    run->capacity = capacity;
  }
  struct attempts_task *t = &run->tasks[run->n++];
  *t = (struct attempts_task){.best_known_ns = NAN};
  snprintf(t->task, sizeof t->task, "%s", name);
  return t;
}

static double tokens_of(const struct store_step *s) {
  return (double)((s->input_tokens > 0 ? s->input_tokens : 0) + (s->output_tokens > 0 ? s->output_tokens : 0));
}

// A request that the endpoint did not serve is no attempt of the model's, but was paid for: it belongs to the next one.
// What was under way when a process ended is known to nobody.
static bool is_no_attempt(struct reading *r, const struct store_step *s) {
  bool unserved = s->outcome == STORE_NO_REPLY && strcmp(s->finish, STORE_UNSERVED) == 0;
  if (unserved && s->calls > 0) {
    if (strcmp(r->unserved.task, s->task) != 0)
      r->unserved.calls = r->unserved.tokens = r->unserved.usd = r->unserved.wall_s = r->unserved.cpu_s = 0;
    snprintf(r->unserved.task, sizeof r->unserved.task, "%s", s->task);
    r->unserved.calls += (double)s->calls;
    r->unserved.tokens += tokens_of(s);
    r->unserved.usd += s->usd;
    r->unserved.wall_s += (double)s->model_ns / 1e9;
    r->unserved.cpu_s += (double)s->cpu_ns / 1e9;
  }
  return unserved || s->outcome == STORE_FINAL || s->outcome == STORE_REPLIED ||
         strcmp(s->finish, STORE_UNDER_WAY) == 0;
}

static void add_unserved(struct reading *r, const char *task, struct progress_step *step) {
  if (strcmp(r->unserved.task, task) != 0)
    return;
  step->cost[PROGRESS_CALLS] += r->unserved.calls;
  step->cost[PROGRESS_TOKENS] += r->unserved.tokens;
  step->cost[PROGRESS_USD] += r->unserved.usd;
  step->cost[PROGRESS_WALL] += r->unserved.wall_s;
  step->cost[PROGRESS_CPU] += r->unserved.cpu_s;
  r->unserved.task[0] = '\0';
}

static bool count_step(void *arg, const struct store_step *s) {
  struct reading *r = arg;
  if (is_no_attempt(r, s))
    return true;
  struct attempts_task *t = task_of(r->run, s->task);
  struct found f = {.reading = r, .task = t, .time_ns = NAN, .speed = r->run->baseline ? 1 : 0};
  if (!t || !grow(t)) {
    r->status = error_nomem(r->err, "a run's attempts");
    return false;
  }
  r->run->model_ns += s->model_ns;
  r->run->judge_ns += s->judge_ns;
  r->run->own_ns += s->own_ns;
  if (s->verdict > 0 && s->outcome != STORE_TEXT)
    r->status = store_get(r->store, s->verdict, see_verdict, &f, r->err);
  struct progress_step *step = &t->steps[t->requests++];
  *step = (struct progress_step){.time_ns = f.time_ns};
  step->cost[PROGRESS_REQUESTS] = 1;
  step->cost[PROGRESS_CALLS] = (double)s->calls;
  step->cost[PROGRESS_TOKENS] = tokens_of(s);
  step->cost[PROGRESS_USD] = s->usd;
  step->cost[PROGRESS_WALL] = (double)(s->model_ns + s->judge_ns + s->own_ns) / 1e9;
  step->cost[PROGRESS_CPU] = (double)s->cpu_ns / 1e9;
  step->cost[PROGRESS_GPU] = (double)s->gpu_ns / 1e9;
  add_unserved(r, s->task, step);
  if (s->outcome == STORE_TEXT)
    return !r->status;
  t->speeds[t->asked++] = f.speed;
  t->code += s->verdict > 0;
  t->built += s->verdict > 0 && f.built;
  t->right += f.right;
  t->fast += f.fast;
  if (f.right && !t->first_right)
    t->first_right = t->requests;
  return !r->status;
}

enum assay_status attempts_read(struct store *store, const char *run, const char *baseline, struct attempts_run *out,
                                struct assay_error *err) {
  *out = (struct attempts_run){.baseline = baseline};
  struct reading r = {.store = store, .run = out, .err = err};
  enum assay_status status = store_each_step(store, run, NULL, count_step, &r, err);
  status = r.status ? r.status : status;
  if (status)
    attempts_release(out);
  return status;
}

void attempts_release(struct attempts_run *r) {
  for (int i = 0; i < r->n; i++) {
    base_free(r->tasks[i].steps);
    base_free(r->tasks[i].speeds);
  }
  base_free(r->tasks);
  r->tasks = NULL;
  r->n = r->capacity = 0;
}

double attempts_right_within(const struct attempts_task *t, int requests) {
  return t->first_right > 0 && t->first_right <= requests;
}
