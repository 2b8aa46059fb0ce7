// SPDX-License-Identifier: Apache-2.0
#include "tune/tuner.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/thread.h"
#include "judge/form.h"
#include "judge/load.h"
#include "judge/record.h"
#include "task/task.h"
#include "tune/outcome.h"

// What a trial asks: enough to tell a wrong configuration, and to rank times. The finalists are asked everything.
enum {
  TRIAL_CHECKS = 1,
  TRIAL_VERIFIED = 2,
  TRIAL_SAMPLES = 10,
  TRIAL_MOST_SAMPLES = 40,
  TRIAL_HOT = 1,
  MOST_PARALLEL = 64
};
static const double TRIAL_WIDTH = 0.02;

// A configuration on its way: begun in a thread of its own, then tested and concluded by the caller.
struct work {
  const struct tuner_options *o;
  int64_t trial; // its place in the order
  char file[4096], name[512];
  struct assay_judge_options options;
  struct tune_limits limits; // of its time
  struct assay_job *job;
  int64_t begin_ns; // wall clock that beginning took
  int64_t cpu_ns;   // of this thread; children apart
  pthread_t thread;
  bool threaded;
  enum assay_status status;
  struct assay_error error;
};

struct tuner {
  const struct tuner_options *o;
  struct tuner_result *result;
  struct arena arena;
  struct task task;
  struct tune_space space;
  struct assay_answers *answers;
  char *source;
  size_t n_source;
  int64_t *order, count;
  struct store_trial *trials;   // by number; at_ns 0: to be tried. Strings: configuration alone, the arena's
  int64_t spent_ns;             // of processes before this one, and of this one
  double best_ns, best_high_ns; // of the best so far; best_high_ns is known of this process's trials alone
  bool ended;                   // with the last trial: what else the batch has compiled is dropped
};

// What compiling a batch took for each, and how many of it come after the one at hand.
struct share {
  int64_t compile_ns, cpu_ns;
  int left;
};

static int64_t cpu_now_ns(void) {
  int64_t ns = 0;
  for (int children = 0; children < 2; children++) {
    struct rusage u = {0};
    getrusage(children ? RUSAGE_CHILDREN : RUSAGE_SELF, &u);
    ns += (int64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000000 +
          (int64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000;
  }
  return ns;
}

// ---- the space

// A line with the mark of another language's comments would become code of that language.
static enum assay_status check_marks(const struct assay_judge_options *j, const struct tune_space *s,
                                     struct assay_error *err) {
  struct form_choice c;
  enum assay_status status = form_choose(j, &c, err);
  for (int i = 0; i < s->n && !status; i++)
    if (s->parameters[i].python != c.form->python) {
      const char *mark = c.form->python ? "#" : "//";
      status = error_set(err, ASSAY_ERR_SYNTAX, "%s:%d: a comment begins with %s here: write `%s assay: tune %s ...`",
                         j->candidate, s->parameters[i].line, mark, mark, s->parameters[i].name);
    }
  return status;
}

static enum assay_status read_space(struct tuner *t, struct assay_error *err) {
  const struct assay_judge_options *j = t->o->judging;
  struct workload w;
  enum assay_status status = file_read(j->candidate, FORM_MOST_BYTES, &t->source, &t->n_source, err);
  if (!status)
    status = tune_space_read(j->candidate, t->source, t->n_source, &t->arena, &t->space, err);
  if (!status)
    status = check_marks(j, &t->space, err);
  if (!status)
    status = task_read(j->task, j->as_published, &t->task, err);
  if (!status)
    status = task_parse_workload(&t->task, j->workload, &t->arena, &w, err);
  if (status)
    return status;
  struct plan_symbol *symbols = arena_calloc(&t->arena, (size_t)w.n + 1, sizeof *symbols);
  if (!symbols)
    return error_nomem(err, "a tuner's symbols");
  for (int i = 0; i < w.n; i++)
    symbols[i] = (struct plan_symbol){w.bindings[i].symbol, w.bindings[i].value};
  const struct tune_order order = {.file = j->candidate, .symbols = symbols, .n_symbols = w.n, .seed = t->o->seed};
  status = tune_space_order(&t->space, &order, &t->arena, &t->order, &t->count, err);
  if (status)
    return status;
  if (t->o->most_trials > 0 && t->count > t->o->most_trials)
    t->count = t->o->most_trials;
  t->trials = arena_calloc(&t->arena, (size_t)t->count, sizeof *t->trials);
  return t->trials ? ASSAY_OK : error_nomem(err, "a tuner's trials");
}

static enum assay_status name_of(const struct tuner *t, int64_t trial, char *name, size_t size,
                                 struct assay_error *err) {
  const char *values[TUNE_MOST_PARAMETERS];
  struct buf text = {0};
  tune_space_pick(&t->space, t->order[trial], values);
  tune_space_name(&t->space, values, &text);
  enum assay_status status = buf_status(&text, err);
  if (!status && text.len >= size)
    status = error_set(err, ASSAY_ERR_LIMIT, "a configuration's values are longer than %zu bytes", size - 1);
  if (!status)
    snprintf(name, size, "%s", buf_str(&text));
  buf_release(&text);
  return status;
}

// Writes the source of a configuration: NAME.values.ENDING.
static enum assay_status write_source(const struct tuner *t, int64_t trial, char *file, size_t size,
                                      struct assay_error *err) {
  const char *values[TUNE_MOST_PARAMETERS], *candidate = t->o->judging->candidate;
  const char *slash = strrchr(candidate, '/'), *base = slash ? slash + 1 : candidate, *dot = strrchr(base, '.');
  int stem = dot ? (int)(dot - base) : (int)strlen(base);
  struct buf text = {0};
  tune_space_pick(&t->space, t->order[trial], values);
  tune_space_source(&t->space, t->source, t->n_source, values, &text);
  enum assay_status status = buf_status(&text, err);
  if (!status && (size_t)snprintf(file, size, "%s/%.*s.%lld%s", t->o->folder, stem, base, (long long)t->order[trial],
                                  dot ? dot : "") >= size)
    status = error_set(err, ASSAY_ERR_LIMIT, "the path of a configuration is too long: %s", t->o->folder);
  if (!status)
    status = file_write(file, text.data, text.len, err);
  buf_release(&text);
  return status;
}

// ---- trials that are there

struct reading {
  struct tuner *t;
  enum assay_status status;
  struct assay_error *err;
};

static bool is_better(const struct store_trial *t, double best_ns) {
  return t->status == STORE_TRIAL_OK && !isnan(t->time_ns) && !(t->time_ns >= best_ns);
}

// `high_ns`: the upper end of its time's interval; NaN: unknown.
static void keep(struct tuner *t, const struct store_trial *trial, double high_ns) {
  int64_t end = trial->start_ns + trial->compile_ns + trial->bench_ns;
  t->trials[trial->number] = *trial;
  t->trials[trial->number].configuration = arena_strdup(&t->arena, trial->configuration);
  t->spent_ns = end > t->spent_ns ? end : t->spent_ns;
  if (!is_better(trial, t->best_ns))
    return;
  t->best_ns = trial->time_ns;
  t->best_high_ns = high_ns;
}

static bool take_trial(void *arg, const struct store_trial *trial) {
  struct reading *r = arg;
  struct tuner *t = r->t;
  const struct assay_judge_options *j = t->o->judging;
  char name[512];
  if (strcmp(trial->maker, TUNE_MAKER) != 0 || strcmp(trial->task, t->o->task_name) != 0 ||
      strcmp(trial->workload, j->workload) != 0 || strcmp(trial->device, j->device) != 0 || trial->number < 0 ||
      trial->number >= t->count)
    return true;
  r->status = name_of(t, trial->number, name, sizeof name, r->err);
  if (!r->status && strcmp(name, trial->configuration) != 0)
    r->status = error_set(r->err, ASSAY_ERR_CORRUPT,
                          "the run \"%s\" has tried %s where this file and seed come to %s: give another --run",
                          t->o->run, trial->configuration, name);
  if (r->status)
    return false;
  keep(t, trial, NAN);
  t->result->tried_before++;
  if (trial->status == STORE_TRIAL_FAILED) // right, and no time: the machine was not steady, so it is tried again
    t->trials[trial->number].at_ns = 0;
  return true;
}

static enum assay_status read_trials(struct tuner *t, struct assay_error *err) {
  struct reading r = {.t = t, .err = err};
  enum assay_status status = store_each_trial(t->o->store, t->o->run, take_trial, &r, err);
  return status ? status : r.status;
}

// ---- a batch

static void *begin(void *arg) {
  struct work *w = arg;
  int64_t start = clock_monotonic_ns();
  w->status = assay_judge_begin(&w->options, &w->job, &w->error);
  w->begin_ns = clock_monotonic_ns() - start;
  return NULL;
}

// The children that a thread starts end with it, and compilers have ended when a job has begun: so the thread may, too.
static void begin_all(struct work *batch, int n) {
  for (int i = 0; i < n; i++)
    if (!batch[i].status)
      batch[i].threaded = thread_start(&batch[i].thread, begin, &batch[i]) == 0;
  for (int i = 0; i < n; i++)
    if (batch[i].threaded)
      pthread_join(batch[i].thread, NULL);
    else if (!batch[i].status)
      begin(&batch[i]);
}

static enum assay_status prepare_work(struct tuner *t, int64_t trial, struct work *w, struct assay_error *err) {
  *w = (struct work){.o = t->o, .trial = trial, .options = *t->o->judging};
  struct assay_judge_options *j = &w->options;
  enum assay_status status = name_of(t, trial, w->name, sizeof w->name, err);
  if (!status)
    status = write_source(t, trial, w->file, sizeof w->file, err);
  j->candidate = w->file;
  j->baselines = NULL;
  j->answers = t->answers; // the same questions for all: the oracle answers once
  j->seed = rng_derive(t->o->seed, 1) >> 1 | 1;
  j->secret = rng_derive(t->o->seed, 2) >> 1 | 1;
  j->probes = false;
  j->declared_checks = TRIAL_CHECKS;
  j->verified_calls = TRIAL_VERIFIED;
  j->min_samples = j->min_samples < TRIAL_SAMPLES ? j->min_samples : TRIAL_SAMPLES;
  j->max_samples = j->max_samples < TRIAL_MOST_SAMPLES ? j->max_samples : TRIAL_MOST_SAMPLES;
  j->hot_samples = TRIAL_HOT;
  j->relative_width = TRIAL_WIDTH;
  j->give_up_ns = t->o->give_up > 1 && !isnan(t->best_ns) ? t->o->give_up * t->best_ns : 0;
  w->limits = (struct tune_limits){j->give_up_ns, t->best_high_ns};
  return status;
}

// Why a time is not held against a configuration.
static void describe_doubt(const struct assay_verdict *v, const struct tune_limits *limits, char *text, size_t size) {
  char load[128];
  if (load_shows_in(v) && load_is_felt(&v->timing.load))
    snprintf(text, size, "slow while the machine was busy (%s)", load_text(&v->timing.load, load, sizeof load));
  else
    snprintf(text, size, "slow, but its interval reaches that of the best: %.4g of %.4g us", v->timing.low_ns / 1e3,
             limits->best_high_ns / 1e3);
}

static struct store_trial trial_of(const struct tuner *t, const struct work *w, const struct assay_verdict *v) {
  const enum store_trial_status status = tune_outcome(v, &w->limits);
  const bool timed = status == STORE_TRIAL_OK || status == STORE_TRIAL_SLOW;
  return (struct store_trial){.status = status,
                              .run = t->o->run,
                              .task = t->o->task_name,
                              .workload = w->options.workload,
                              .device = w->options.device,
                              .maker = TUNE_MAKER,
                              .candidate = t->o->judging->candidate,
                              .configuration = w->name,
                              .detail = v->detail,
                              .number = w->trial,
                              .start_ns = t->spent_ns,
                              .gpu_ns = strcmp(w->options.device, "cpu") == 0 ? 0 : v->durations.kernel_ns,
                              .at_ns = clock_wall_ns(),
                              .time_ns = timed ? v->timing.median_ns : NAN,
                              .tuner_ns = NAN};
}

static bool is_stopped(const struct tuner *t) {
  return t->o->stop && atomic_load(t->o->stop);
}

static bool is_spent(const struct tuner *t, int64_t spent_ns) {
  return t->o->budget_ns > 0 && spent_ns >= t->o->budget_ns;
}

static bool is_over(const struct tuner *t) {
  return is_stopped(t) || is_spent(t, t->spent_ns);
}

// The trial's share of the batch's compiling; all that is left of it where the search ends with this trial.
static void charge(struct tuner *t, struct store_trial *trial, const struct share *share) {
  trial->compile_ns = share->compile_ns;
  trial->cpu_ns += share->cpu_ns;
  t->ended = is_stopped(t) || is_spent(t, trial->start_ns + trial->compile_ns + trial->bench_ns);
  if (!t->ended)
    return;
  trial->compile_ns += share->left * share->compile_ns;
  trial->cpu_ns += share->left * share->cpu_ns;
}

// Tests a configuration that has begun, and stores its trial.
static enum assay_status finish_work(struct tuner *t, struct work *w, const struct share *share,
                                     struct assay_error *err) {
  struct assay_verdict v;
  char doubt[200] = "";
  int64_t start = clock_monotonic_ns(), cpu = cpu_now_ns();
  enum assay_status status =
      w->status ? error_set(err, w->status, "%s: %s", w->name, w->error.message) : assay_judge_test(w->job, err);
  if (status) {
    assay_judge_drop(w->job);
    w->job = NULL;
    return status;
  }
  status = assay_judge_conclude(w->job, &v, err);
  w->job = NULL;
  if (status)
    return status;
  struct store_trial trial = trial_of(t, w, &v);
  if (trial.status == STORE_TRIAL_FAILED && v.timing.measured) {
    describe_doubt(&v, &w->limits, doubt, sizeof doubt);
    trial.detail = doubt;
  }
  trial.bench_ns = clock_monotonic_ns() - start;
  trial.cpu_ns = cpu_now_ns() - cpu;
  charge(t, &trial, share);
  if (v.reason == ASSAY_REASON_JUDGE_FAILED)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s cannot be judged here: %s", w->name, v.detail);
  if (!status)
    status = store_put_trial(t->o->store, &trial, err);
  if (!status) {
    keep(t, &trial, v.timing.high_ns);
    if (t->o->progress)
      t->o->progress(t->o->progress_arg, &trial, t->best_ns, t->count);
  }
  assay_verdict_release(&v);
  return status;
}

// Compiles the batch side by side, then times one after the other: nothing else runs while a kernel is timed. What is
// compiled when the search is over is left for another time: each of them may wait for its limit. Its seconds are the
// last trial's, or tuning would seem to cost less than it did.
static enum assay_status run_batch(struct tuner *t, struct work *batch, int n, struct assay_error *err) {
  int64_t start = clock_monotonic_ns(), cpu = cpu_now_ns();
  begin_all(batch, n);
  struct share share = {(clock_monotonic_ns() - start) / n, (cpu_now_ns() - cpu) / n, 0};
  enum assay_status status = ASSAY_OK;
  t->ended = is_stopped(t);
  for (int i = 0; i < n; i++) {
    share.left = n - 1 - i;
    if (!status && !t->ended)
      status = finish_work(t, &batch[i], &share, err);
    else
      assay_judge_drop(batch[i].job);
  }
  return status;
}

static enum assay_status search(struct tuner *t, struct assay_error *err) {
  int most = t->o->parallel < 1 ? 1 : t->o->parallel > MOST_PARALLEL ? MOST_PARALLEL : t->o->parallel;
  struct work *batch = base_calloc((size_t)most, sizeof *batch);
  enum assay_status status = batch ? ASSAY_OK : error_nomem(err, "a tuner's batch");
  for (int64_t next = 0; !status && next < t->count && !is_over(t);) {
    int n = 0;
    for (; n < most && next < t->count && !status; next++)
      if (t->trials[next].at_ns == 0)
        status = prepare_work(t, next, &batch[n++], err);
    if (!status && n > 0)
      status = run_batch(t, batch, n, err);
    for (int i = 0; i < n; i++)
      remove(batch[i].file);
  }
  base_free(batch);
  return status;
}

// The best time that the search itself has seen: a point that was judged in full since (retime) has another.
static double best_of_search(const struct tuner *t) {
  double best_ns = NAN;
  for (int64_t i = 0; i < t->count; i++) {
    const struct store_trial *trial = &t->trials[i];
    if (trial->at_ns && trial->status == STORE_TRIAL_OK)
      best_ns =
          fmin(best_ns, isnan(trial->tuner_ns) ? trial->time_ns : trial->tuner_ns); // of a number and NaN: the number
  }
  return best_ns;
}

// What was cut off as slow next to a configuration that turned out to be wrong: it is to be tried again.
static bool forget_cut_in_vain(struct tuner *t) {
  double best_ns = best_of_search(t);
  bool any = false;
  for (int64_t i = 0; i < t->count; i++)
    if (t->trials[i].at_ns && tune_was_cut_in_vain(&t->trials[i], best_ns, t->o->give_up)) {
      t->trials[i].at_ns = 0;
      any = true;
    }
  return any;
}

// Configurations that are right and have no time, since the machine was not steady then: the best may be among them.
static bool forget_untimed(struct tuner *t) {
  bool any = false;
  for (int64_t i = 0; i < t->count; i++)
    if (t->trials[i].at_ns && t->trials[i].status == STORE_TRIAL_FAILED) {
      t->trials[i].at_ns = 0;
      any = true;
    }
  return any;
}

// All that is left to try; what has no time then, once more.
static enum assay_status search_twice(struct tuner *t, struct assay_error *err) {
  enum assay_status status = search(t, err);
  return !status && !is_over(t) && forget_untimed(t) ? search(t, err) : status;
}

// The best was wrong: what was held against it, and not what is the best now, is tried again; so is what has no time,
// which may be for its interval's reaching that of the wrong one.
static enum assay_status search_after_wrong(struct tuner *t, struct assay_error *err) {
  t->best_ns = best_of_search(t);
  t->best_high_ns = NAN;
  bool cut = forget_cut_in_vain(t), untimed = forget_untimed(t);
  return (cut || untimed) && !is_over(t) ? search(t, err) : ASSAY_OK;
}

// ---- the finalists

static const struct store_trial *fastest(const struct tuner *t, const bool *taken) {
  const struct store_trial *best = NULL;
  for (int64_t i = 0; i < t->count; i++)
    if (t->trials[i].at_ns && !taken[i] && is_better(&t->trials[i], best ? best->time_ns : INFINITY))
      best = &t->trials[i];
  return best;
}

struct finalist {
  char file[4096];
  bool right;
  double ns; // NaN: it has no time, and `why`
  int64_t id;
  char why[256];
};

static bool take_verdict(void *arg, const struct store_verdict *v) {
  struct finalist *f = arg;
  f->right = v->reason == ASSAY_REASON_PASS;
  f->ns = v->time_ns;
  return true;
}

// The run's own verdict of the same source under the same settings: with it nothing is judged again. One that is right
// and has no time is none, since the machine was not steady.
static enum assay_status find_finalist(struct tuner *t, const struct assay_judge_options *o, struct finalist *f,
                                       bool *found, struct assay_error *err) {
  struct record_hashes hashes;
  struct store_verdict key;
  enum assay_status status = record_key_of_file(t->o->run, o, t->o->task_name, f->file, &hashes, &key, err);
  if (!status)
    status = store_find(t->o->store, &key, &f->id, err);
  if (!status && f->id)
    status = store_get(t->o->store, f->id, take_verdict, f, err);
  *found = !status && f->id && !(f->right && isnan(f->ns));
  return status;
}

// Judges a configuration in full, with fresh entropy; the verdict goes to the store under the run's name.
static enum assay_status judge_finalist(struct tuner *t, int64_t number, struct finalist *f, struct assay_error *err) {
  struct assay_judge_options o = *t->o->judging;
  struct assay_verdict v;
  struct store_verdict key;
  enum assay_status status = write_source(t, number, f->file, sizeof f->file, err);
  o.candidate = f->file;
  o.seed = o.secret = 0;
  bool found = false;
  if (!status)
    status = find_finalist(t, &o, f, &found, err);
  if (!status && !found)
    status = assay_judge(&o, &v, err);
  if (status || found)
    return status;
  record_key(t->o->run, &o, t->o->task_name, f->file, v.candidate_hash, v.settings_hash, &key);
  char *command = t->o->command ? t->o->command(t->o->command_arg, &o, &v) : NULL;
  status = record_put(t->o->store, &key, &v, command ? command : "", err);
  if (!status)
    status = store_find(t->o->store, &key, &f->id, err);
  base_free(command);
  f->right = v.reason == ASSAY_REASON_PASS;
  f->ns = v.timing.measured ? v.timing.median_ns : NAN;
  snprintf(f->why, sizeof f->why, "%.250s", v.detail);
  if (!status && v.reason == ASSAY_REASON_JUDGE_FAILED)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT, "%s cannot be judged here: %s", f->file, v.detail);
  assay_verdict_release(&v);
  return status;
}

// Stores a trial again, whose status and times the caller has changed.
static enum assay_status put_again(struct tuner *t, int64_t number, const char *detail, struct assay_error *err) {
  struct store_trial fixed = t->trials[number];
  fixed.run = t->o->run;
  fixed.task = t->o->task_name;
  fixed.workload = t->o->judging->workload;
  fixed.device = t->o->judging->device;
  fixed.maker = TUNE_MAKER;
  fixed.candidate = t->o->judging->candidate;
  fixed.detail = detail;
  return store_put_trial(t->o->store, &fixed, err);
}

// A trial that was taken for right, and is wrong when it is asked everything, is no longer one of the curve.
static enum assay_status mark_wrong(struct tuner *t, int64_t number, struct assay_error *err) {
  t->trials[number].status = STORE_TRIAL_WRONG;
  t->trials[number].time_ns = NAN;
  return put_again(t, number, "wrong when it was asked everything", err);
}

static void take_best(struct tuner *t, int64_t number, const char *file, double ns, int64_t id) {
  struct tuner_result *r = t->result;
  if (r->best >= 0 && !(ns < r->best_ns))
    return;
  if (r->best >= 0)
    remove(r->file);
  r->best = number;
  r->best_ns = ns;
  r->verdict = id;
  snprintf(r->configuration, sizeof r->configuration, "%s", t->trials[number].configuration);
  snprintf(r->file, sizeof r->file, "%s", file);
}

// The fastest few, judged in full; more of them while none is right. The best of these times, not the luckiest of many.
static enum assay_status judge_finalists(struct tuner *t, struct assay_error *err) {
  bool *taken = arena_calloc(&t->arena, (size_t)t->count + 1, sizeof *taken);
  enum assay_status status = taken ? ASSAY_OK : error_nomem(err, "a tuner's finalists");
  const struct store_trial *next;
  for (int judged = 0; !status && (judged < t->o->finalists || t->result->best < 0); judged++) {
    struct finalist f = {.ns = NAN};
    if (is_stopped(t) || !(next = fastest(t, taken)))
      break;
    int64_t number = next->number;
    taken[number] = true;
    status = judge_finalist(t, number, &f, err);
    if (status)
      break;
    if (f.right && !isnan(f.ns))
      take_best(t, number, f.file, f.ns, f.id);
    else if (!f.right) {
      status = mark_wrong(t, number, err);
      if (!status)
        status = search_after_wrong(t, err);
    } else if (!t->result->untimed_best[0])
      snprintf(t->result->untimed_best, sizeof t->result->untimed_best, "%.300s is right, and judged in full it has %s",
               t->trials[number].configuration, f.why);
    if (t->result->best != number)
      remove(f.file);
  }
  return status;
}

static enum assay_status retime_point(struct tuner *t, int64_t number, struct assay_error *err) {
  struct store_trial *trial = &t->trials[number];
  struct finalist f = {.ns = NAN};
  enum assay_status status = judge_finalist(t, number, &f, err);
  if (t->result->best != number) // else it is the file that the caller gets
    remove(f.file);
  if (status || (f.right && isnan(f.ns)))
    return status;
  if (!f.right)
    return mark_wrong(t, number, err);
  trial->tuner_ns = trial->time_ns;
  trial->time_ns = f.ns;
  trial->verdict = f.id;
  return put_again(t, number, "timed anew, judged in full", err);
}

// Judges in full whatever was the best so far when it was tried: a search finds lucky times. Its own time stays next to
// the new one (tuner_ns), which also says what is done. A point that is slower than it was lets later ones take part.
static enum assay_status retime(struct tuner *t, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  double best_ns = NAN;
  for (int64_t i = 0; i < t->count && !status && !is_stopped(t); i++) {
    struct store_trial *trial = &t->trials[i];
    if (!trial->at_ns || !is_better(trial, best_ns))
      continue;
    if (isnan(trial->tuner_ns))
      status = retime_point(t, i, err);
    if (!status && is_better(trial, best_ns))
      best_ns = trial->time_ns;
  }
  return status;
}

static void count_trials(const struct tuner *t) {
  struct tuner_result *r = t->result;
  int64_t left = 0;
  for (int64_t i = 0; t->trials && i < t->count; i++) {
    left += t->trials[i].at_ns == 0;
    r->untimed += t->trials[i].status == STORE_TRIAL_FAILED;
    r->tried += t->trials[i].at_ns != 0 || t->trials[i].status == STORE_TRIAL_FAILED ||
                t->trials[i].status == STORE_TRIAL_SLOW; // to be tried again
  }
  r->count = t->count;
  r->complete = left == 0;
}

// Holds the folder until this process ends or `*fd` is closed. Two searches at once would take each other's sources
// away.
static enum assay_status hold_folder(const char *folder, int *fd, struct assay_error *err) {
  struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
  char path[4096];
  if ((size_t)snprintf(path, sizeof path, "%s/.lock", folder) >= sizeof path)
    return error_set(err, ASSAY_ERR_LIMIT, "the path of the folder is too long: %s", folder);
  *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (*fd < 0)
    return error_set(err, ASSAY_ERR_IO, "%s: cannot be written: %s", path, strerror(errno));
  if (fcntl(*fd, F_SETLK, &all) == 0 || (errno != EACCES && errno != EAGAIN))
    return ASSAY_OK; // some file systems know no locks
  return error_set(err, ASSAY_ERR_BUSY,
                   "another process is tuning in %s: wait for it, or give this search another --run (and --out)",
                   folder);
}

// What the trials of one search are kept under. Two searches at once, in whatever folders, would each go on with trials
// that the other has written.
static struct store_verdict run_key(const struct tuner_options *o) {
  return (struct store_verdict){.run = o->run,
                                .task = o->task_name,
                                .form = "",
                                .workload = o->judging->workload,
                                .device = o->judging->device,
                                .candidate_hash = TUNE_MAKER,
                                .settings_hash = ""};
}

static enum assay_status hold_run(const struct tuner_options *o, bool *held, struct assay_error *err) {
  const struct store_verdict key = run_key(o);
  enum assay_status status = store_claim(o->store, &key, held, err);
  if (status || *held)
    return status;
  return error_set(
      err, ASSAY_ERR_BUSY,
      "another process is tuning into the run \"%s\" of this store (%s, %s, %s): wait for it, or give this "
      "search another --run",
      o->run, key.task, key.workload, key.device);
}

enum assay_status tuner_run(const struct tuner_options *o, struct tuner_result *out, struct assay_error *err) {
  struct tuner t = {.o = o, .result = out, .best_ns = NAN, .best_high_ns = NAN};
  enum { ANSWER_BYTES = 256 << 20 };
  *out = (struct tuner_result){.best = -1, .best_ns = NAN};
  int held = -1;
  bool holds_run = false;
  enum assay_status status = read_space(&t, err);
  if (!status)
    status = hold_folder(o->folder, &held, err);
  if (!status)
    status = hold_run(o, &holds_run, err);
  if (!status)
    status = assay_answers_open(ANSWER_BYTES, &t.answers, err);
  if (!status)
    status = read_trials(&t, err);
  if (!status) {
    forget_cut_in_vain(&t); // a process before this one may have ended when it had found the best wrong
    status = search_twice(&t, err);
  }
  if (!status)
    status = judge_finalists(&t, err);
  count_trials(&t);
  out->spent_ns = t.spent_ns;
  if (!status && o->retime)
    status = retime(&t, err);
  assay_answers_close(t.answers);
  if (holds_run) {
    const struct store_verdict key = run_key(o);
    struct assay_error ignored; // it ends with this process anyway
    (void)store_unclaim(o->store, &key, &ignored);
  }
  if (held >= 0)
    close(held);
  if (t.task.name)
    task_release(&t.task);
  base_free(t.source);
  arena_release(&t.arena);
  return status;
}
