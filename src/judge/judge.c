// SPDX-License-Identifier: Apache-2.0
// A judgement from files to a verdict. The table `road` below lists all steps in order.
#include "assay/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "device/device.h"
#include "judge/baseline.h"
#include "judge/python.h"
#include "judge/session.h"
#include "judge/verdict.h"
#include "sandbox/sandbox.h"

void assay_judge_defaults(struct assay_judge_options *o) {
  static const struct assay_paths usual = {.path_env = "/usr/local/bin:/usr/bin:/bin", .temporary = "/tmp"};
  *o = (struct assay_judge_options){.workload = "small",
                                    .device = "cpu",
                                    .paths = &usual,
                                    .rule = ASSAY_RULE_CONTRACT,
                                    .declared_checks = 3,
                                    .probes = true,
                                    .replicas = 16,
                                    .timing = true,
                                    .min_samples = 30,
                                    .max_samples = 200,
                                    .hot_samples = 15,
                                    .relative_width = 0.02,
                                    .verified_calls = 10,
                                    .build_timeout_ns = 30000000000,
                                    .load_timeout_ns = 5000000000,
                                    .call_timeout_ns = 10000000000,
                                    .budget_ns = 900000000000,
                                    .build_memory_bytes = (size_t)2 << 30,
                                    .runner_memory_bytes = (size_t)1 << 30};
}

void session_release(struct session *s) {
  if (s->subject)
    s->subject->ops->close(s->subject);
  s->subject = NULL;
  timed_calls_release(s->kept, s->kept_slots, s->n_layouts > 0 ? s->layouts[0].n_out : 0);
  for (int i = 0; i < s->n_questions; i++)
    question_release(&s->questions[i]);
  for (int i = 0; i < s->n_layouts; i++)
    layout_release(&s->layouts[i]);
  char *folders[] = {s->build_folder, s->run_folder};
  for (int i = 0; i < 2; i++)
    if (folders[i]) {
      sandbox_folder_remove(folders[i]);
      base_free(folders[i]);
    }
  base_free(s->source);
  draws_release(&s->draws);
  task_release(&s->task);
  arena_release(&s->arena);
}

// ---- the steps

static enum assay_status start_build(struct session *s, struct assay_error *err) {
  const struct subject_env env = {.options = s->o,
                                  .choice = &s->choice,
                                  .task = &s->task,
                                  .source = s->source,
                                  .source_bytes = s->source_bytes,
                                  .build_folder = s->build_folder,
                                  .run_folder = s->run_folder,
                                  .arena = &s->arena,
                                  .secret = s->v->secret};
  enum assay_status status = s->kind->create(&env, &s->subject, err);
  if (!status)
    snprintf(s->v->toolchain, sizeof s->v->toolchain, "%s", s->subject->toolchain);
  return status;
}

static enum assay_status make_exam(struct session *s, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = session_make_exam(s, err);
  s->v->durations.oracle_ns += clock_monotonic_ns() - start;
  return status;
}

static enum assay_status finish_build(struct session *s, struct assay_error *err) {
  struct build_result r = {0};
  enum assay_status status = s->subject->ops->finish_build(s->subject, &r, err);
  if (!status)
    session_take_build(s, &r);
  return status;
}

static enum assay_status load(struct session *s, struct assay_error *err) {
  struct assay_verdict *v = s->v;
  struct subject_loaded loaded = {.overhead_ns = NAN};
  int64_t start = clock_monotonic_ns();
  s->loaded = true;
  load_look(s->o->paths->proc, &s->load);
  enum assay_status status = s->subject->ops->load(s->subject, s->layouts, s->n_layouts, &loaded, err);
  v->durations.load_ns += clock_monotonic_ns() - start;
  if (status)
    return status;
  s->overhead_ns = loaded.overhead_ns;
  if (loaded.device[0])
    memcpy(v->device, loaded.device, sizeof v->device);
  v->times_rank_nothing = v->times_rank_nothing || loaded.not_a_gpu;
  v->reaches_host = v->reaches_host || loaded.reaches_host;
  if (loaded.report.event != RUNNER_OK)
    session_decide_event(s, &loaded.report);
  return ASSAY_OK;
}

static enum assay_status open_baselines(struct session *s, struct assay_error *err) {
  return baselines_use(s->o->baselines, s->o, err);
}

// Adds the subject's own durations. A judgement may use two subjects (change_subject).
static void add_durations(struct session *s) {
  const struct subject_findings *f = &s->subject->found;
  struct assay_durations *d = &s->v->durations;
  d->open_ns += f->open_ns;
  d->plan_ns += f->plan_ns;
  d->bind_ns += f->bind_ns;
  d->fill_ns += f->fill_ns;
  d->call_ns += f->call_ns;
  d->inspect_ns += f->inspect_ns;
}

int64_t session_left_ns(const struct session *s) {
  const struct assay_durations *d = &s->v->durations;
  const struct subject_findings *f = &s->subject->found;
  int64_t calls_ns = d->call_ns + f->call_ns; // a C candidate's subject does not count them
  calls_ns = calls_ns > d->kernel_ns ? calls_ns : d->kernel_ns;
  int64_t spent_ns = d->build_ns + d->plan_ns + f->plan_ns + d->bind_ns + f->bind_ns + calls_ns;
  return s->o->budget_ns > 0 ? s->o->budget_ns - spent_ns : INT64_MAX;
}

bool session_overdrawn(const struct session *s, struct runner_report *report) {
  if (session_left_ns(s) > 0)
    return false;
  report->event = RUNNER_TIMED_OUT;
  snprintf(report->detail, sizeof report->detail,
           "building, recording, loading and calling it took longer than its budget of %.0f s (--budget)",
           (double)s->o->budget_ns * 1e-9);
  return true;
}

static enum assay_status leave(struct session *s, struct assay_error *err) {
  struct assay_timing *t = &s->v->timing;
  (void)err;
  if (!s->subject) // creating the second subject failed
    return ASSAY_OK;
  const struct subject_findings *f = &s->subject->found;
  if (s->loaded)
    subject_leave(s->subject);
  subject_turn(s->subject, TURN_NONE);
  add_durations(s);
  memcpy(s->weakness, f->weakness, sizeof s->weakness);
  memcpy(t->throttle, f->condition.throttle, sizeof t->throttle);
  t->clock_mhz = f->condition.clock_mhz;
  t->temperature_c = f->condition.temperature_c;
  t->power_w = f->condition.power_w;
  t->prepare_ns = isnan(t->prepare_ns) ? f->prepare_ns : t->prepare_ns; // of the timed workload, if it was timed
  s->v->kernels = f->kernels;
  return ASSAY_OK;
}

static enum assay_status conclude(struct session *s, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  session_release(s);
  s->v->durations.close_ns = clock_monotonic_ns() - start;
  return verdict_fill_strings(s->v, s->weakness, err);
}

// ---- the road

enum step_name {
  PREPARE,
  READ_SOURCE,
  START_BUILD,
  MAKE_EXAM,
  FINISH_BUILD,
  LOAD,
  TAKE_EXAM,
  OPEN_BASELINES,
  TIME,
  ELSEWHERE,
  LEAVE,
  BLAME,
  VERIFY,
  CONCLUDE
};

// The condition for a step.
enum need {
  NOTHING,
  GOOD,      // the candidate has not failed
  NO_EXAM,   // the same, and no exam was made yet, or the last one was dropped
  TIMED,     // the same, and the options ask for times
  BASELINES, // the same, and there are baselines
  FAILED,    // the candidate has failed
};

struct step {
  enum need need;
  enum assay_status (*take)(struct session *s, struct assay_error *err);
  bool may_lack_plan; // may find that there is no plan; then another subject takes over (change_subject)
  bool after_error;   // runs even when an earlier step returned an error
  const char *begins; // shown as progress from here on
  int done;           // of STAGES
};

enum { STAGES = 5 };

static const struct step road[] = {
    // assay_judge_begin. No device is needed.
    // The task, the workload, hashes of what is judged, the floor.
    [PREPARE] = {.need = NOTHING, .take = session_prepare, .begins = "reading", .done = 0},
    // The candidate's text, and empty folders to build and to run in.
    [READ_SOURCE] = {.need = NOTHING, .take = session_read_source},
    // Creates the subject, which starts the compiler in a process of its own.
    [START_BUILD] = {.need = GOOD, .take = start_build},
    // Chooses the questions. The oracle answers them while the compiler works.
    [MAKE_EXAM] = {.need = NO_EXAM, .take = make_exam, .begins = "building", .done = 1},
    // Waits for the compiler.
    [FINISH_BUILD] = {.need = GOOD, .take = finish_build},

    // assay_judge_test. Needs the device.
    // The candidate's code runs here for the first time. By now the whole exam is fixed.
    [LOAD] = {.need = GOOD, .take = load, .may_lack_plan = true},
    // One call for each question, and its comparison with the answer.
    [TAKE_EXAM] = {.need = GOOD, .take = session_take_exam, .may_lack_plan = true, .begins = "checking", .done = 2},
    // Judges the baselines, unless those at hand are the right ones.
    [OPEN_BASELINES] = {.need = BASELINES, .take = open_baselines, .begins = "timing", .done = 3},
    // Takes samples, in turn with the baselines; keeps secretly chosen calls.
    [TIME] = {.need = TIMED, .take = session_time},
    // Where only the judged shape counts: the questions about others, which decide the scope.
    [ELSEWHERE] = {.need = GOOD, .take = session_look_elsewhere},
    // Frees the device for the next candidate; the subject's findings go into the verdict.
    [LEAVE] = {.need = NOTHING, .take = leave, .after_error = true},
    // Whether it failed for want of something that this machine lacks.
    [BLAME] = {.need = FAILED, .take = session_blame_machine},

    // assay_judge_conclude. Needs no device, and may run in another thread.
    // Compares the kept calls with the oracle's answers; decides whether the time counts.
    [VERIFY] = {.need = NOTHING, .take = session_verify},
    // Ends processes, removes folders.
    [CONCLUDE] = {.need = NOTHING, .take = conclude, .after_error = true, .begins = "done", .done = STAGES},
};

static bool is_needed(const struct session *s, const struct step *step) {
  switch (step->need) {
  case NOTHING:
    return true;
  case NO_EXAM:
    return s->n_layouts == 0 && session_is_good(s);
  case GOOD:
    return session_is_good(s);
  case TIMED:
    return session_is_good(s) && s->o->timing;
  case BASELINES:
    return session_is_good(s) && s->o->timing && s->o->baselines;
  case FAILED:
    return !session_is_good(s);
  }
  return false;
}

// Reports each step once: steps that are repeated with another subject do not go back.
static void announce(struct session *s, enum step_name at) {
  if (!road[at].begins || !s->o->progress || s->announced > (int)at)
    return;
  s->announced = (int)at + 1;
  s->o->progress(s->o->progress_arg, road[at].begins, road[at].done, STAGES);
}

// Whether there is no plan, or none that works, but another kind of subject that does without one.
static bool gives_way(const struct session *s) {
  const bool lacks = s->v->reason == ASSAY_REASON_UNRECORDABLE ||
                     (s->v->reason == ASSAY_REASON_OUT_OF_BOUNDS && s->subject->found.libraries_fault);
  return lacks && s->kind->without_plan && s->choice.form->python && s->choice.mode != FORM_PLAN;
}

// Replaces the subject by one that works without a plan. The questions stay, unless the candidate has seen one: its
// kernels may have stored what they saw where the new process can find it.
static void change_subject(struct session *s) {
  struct assay_verdict *v = s->v;
  const bool asked = v->n_checks > 0 || s->subject->bound;
  if (asked)
    subject_leave(s->subject);
  snprintf(v->no_plan, sizeof v->no_plan, "%.255s", v->detail);
  v->reason = ASSAY_REASON_PASS;
  v->scope = ASSAY_SCOPE_NONE;
  v->detail[0] = v->elsewhere[0] = '\0';
  add_durations(s);
  s->subject->ops->close(s->subject);
  s->subject = NULL;
  s->kind = s->kind->without_plan;
  snprintf(v->mode, sizeof v->mode, "%s", s->kind->mode);
  if (asked)
    session_drop_exam(s);
}

// Runs the steps from `first` to `last`.
static enum assay_status walk(struct session *s, enum step_name first, enum step_name last, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (enum step_name at = first; at <= last; at++) {
    const struct step *step = &road[at];
    if (status && !step->after_error)
      continue;
    announce(s, at);
    if (!is_needed(s, step))
      continue;
    enum assay_status failure = step->take(s, status ? NULL : err);
    status = status ? status : failure;
    if (!status && s->subject)
      status = subject_has_turn(s->subject, err);
    if (!status && step->may_lack_plan && gives_way(s)) { // repeats the steps up to here with the other subject
      change_subject(s);
      status = walk(s, START_BUILD, at, err);
    }
  }
  return status;
}

struct assay_job {
  struct assay_judge_options options;
  struct session session;
  struct assay_verdict verdict;
  int64_t worked_ns; // time in the steps so far
};

enum assay_status judge_keep(struct assay_job *job, struct assay_error *err) {
  return walk(&job->session, LOAD, TAKE_EXAM, err);
}

void judge_leave(struct assay_job *job) {
  struct subject *s = job->session.subject;
  if (s && s->bound)
    subject_leave(s);
}

struct session *judge_session(struct assay_job *job) {
  return &job->session;
}

static enum assay_status job_make(const struct assay_judge_options *o, const struct subject_ops *subject,
                                  struct assay_job **out, struct assay_error *err) {
  struct form_choice choice;
  enum assay_status status = form_choose(o, &choice, err);
  if (status)
    return status;
  if (!subject)
    subject = form_subject(&choice);
  struct assay_job *job = base_calloc(1, sizeof *job);
  if (!job)
    return error_nomem(err, "a judgement");
  job->options = *o;
  if (job->options.threads <= 0)
    job->options.threads = parallel_cpus();
  if (job->options.declared_checks < 1)
    job->options.declared_checks = 1;
  struct assay_verdict *v = &job->verdict;
  v->worst_check = -1;
  v->seed = o->seed;
  v->secret = o->secret;
  v->foreknown = o->seed || o->secret;
  v->timing.stop = "not measured";
  v->timing.floor_ns = v->timing.median_ns = v->timing.low_ns = v->timing.high_ns = NAN;
  v->timing.hot_ns = v->timing.overhead_ns = v->timing.called_ns = v->timing.prepare_ns = NAN;
  v->timing.wall_ns = NAN;
  snprintf(v->mode, sizeof v->mode, "%s", subject->mode);
  job->session.o = &job->options;
  job->session.choice = choice;
  job->session.v = v;
  job->session.kind = subject;
  job->session.overhead_ns = job->session.hot_high_ns = job->session.hot_floor_ns = NAN;
  *out = job;
  return ASSAY_OK;
}

// Whether the candidate may run in a process of this user without a system call filter.
static bool may_run_unconfined(const struct session *s) {
  const struct subject_ops *instead = s->kind->without_plan;
  return s->kind->unconfined ||
         (instead && instead->unconfined && s->choice.mode != FORM_PLAN && s->choice.form->python);
}

enum assay_status judge_begin_as(const struct assay_judge_options *o, const struct subject_ops *subject,
                                 struct assay_job **out, struct assay_error *err) {
  struct assay_job *job = NULL;
  int64_t start = clock_monotonic_ns();
  enum assay_status status = job_make(o, subject, &job, err);
  if (status)
    return status;
  if (may_run_unconfined(&job->session)) // before the first answer is in this process's memory
    sandbox_hide_self();
  if (!o->seed)
    status = rng_entropy(&job->verdict.seed, err);
  if (!o->secret && !status)
    status = rng_entropy(&job->verdict.secret, err);
  job->verdict.seed &= INT64_MAX; // SQLite and JSON readers have signed integers
  job->verdict.secret &= INT64_MAX;
  if (!status)
    status = walk(&job->session, PREPARE, FINISH_BUILD, err);
  job->worked_ns = clock_monotonic_ns() - start;
  if (status)
    assay_judge_drop(job);
  else
    *out = job;
  return status;
}

enum assay_status assay_judge_begin(const struct assay_judge_options *o, struct assay_job **out,
                                    struct assay_error *err) {
  return judge_begin_as(o, NULL, out, err);
}

const char *assay_job_built(const struct assay_job *job) {
  return job->verdict.built_hash;
}

static void take_words(struct assay_verdict *v, const char *contract) {
  verdict_take_weights(v);
  verdict_take_kept(v);
  verdict_take_changed(v);
  verdict_take_evaluation(v);
  verdict_take_reduced(v, contract);
  verdict_take_tf32(v, contract);
}

enum assay_status assay_judge_test(struct assay_job *job, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = walk(&job->session, LOAD, BLAME, err);
  if (!status) {
    const struct subject *subject = job->session.subject;
    verdict_add_log(&job->verdict, subject ? subject->ops->log(subject) : "");
    if (job->session.choice.form->python) // others have no worker that says such things
      take_words(&job->verdict, job->session.task.contract.name);
    if (job->session.choice.form->python && job->session.source)
      verdict_explain_half(&job->verdict, job->session.task.contract.name, job->session.source,
                           job->session.source_bytes);
    verdict_explain_tf32(&job->verdict, job->session.task.contract.name);
    verdict_make_printable(&job->verdict);
  }
  job->worked_ns += clock_monotonic_ns() - start;
  return status;
}

enum assay_status assay_judge_conclude(struct assay_job *job, struct assay_verdict *v, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = walk(&job->session, VERIFY, CONCLUDE, err);
  *v = job->verdict;
  v->durations.total_ns = job->worked_ns + clock_monotonic_ns() - start;
  if (status)
    assay_verdict_release(v);
  base_free(job);
  return status;
}

void assay_judge_drop(struct assay_job *job) {
  if (!job)
    return;
  session_release(&job->session);
  assay_verdict_release(&job->verdict);
  base_free(job);
}

enum assay_status assay_judge(const struct assay_judge_options *o, struct assay_verdict *v, struct assay_error *err) {
  struct assay_job *job;
  enum assay_status status = assay_judge_begin(o, &job, err);
  if (status)
    return status;
  status = assay_judge_test(job, err);
  if (!status)
    return assay_judge_conclude(job, v, err);
  assay_judge_drop(job);
  return status;
}
