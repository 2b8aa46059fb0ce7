// The whole road: build, exam, timing, verification, verdict. While the compiler works, the oracle answers the
// questions; the candidate's code is loaded only when everything about the exam is decided.
#include "assay/judge.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "judge/baseline.h"
#include "judge/printable.h"
#include "judge/python.h"
#include "judge/session.h"
#include "sandbox/sandbox.h"

void assay_judge_defaults(struct assay_judge_options *o) {
  *o = (struct assay_judge_options){.workload = "small",
                                    .device = "cpu",
                                    .path_env = "/usr/local/bin:/usr/bin:/bin",
                                    .temporary_dir = "/tmp",
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
                                    .build_memory_bytes = (size_t)2 << 30,
                                    .runner_memory_bytes = (size_t)1 << 30};
}

static void tell(const struct session *s, const char *stage, int done) {
  enum { STAGES = 5 };
  if (s->o->progress)
    s->o->progress(s->o->progress_arg, stage, done, STAGES);
}

// What needs no device: the oracle answers while the compiler works.
static enum assay_status begin(struct session *s, bool *good, struct assay_error *err) {
  tell(s, "reading", 0);
  enum assay_status status = session_prepare(s, err);
  if (!status)
    status = session_read_source(s, err);
  if (!status)
    status = s->subject->start(s, err);
  if (status)
    return status;
  tell(s, "building", 1);
  int64_t start = clock_monotonic_ns();
  status = session_make_exam(s, err);
  s->v->durations.oracle_ns = clock_monotonic_ns() - start;
  return status ? status : s->subject->finish_build(s, good, err);
}

static bool wants(const struct assay_judge_options *o, const char *mode) {
  return o->mode && strcmp(o->mode, mode) == 0;
}

// There is no plan, and another subject needs none.
static bool gives_way(const struct session *s) {
  return s->v->reason == ASSAY_REASON_UNRECORDABLE && s->subject->without_plan && !wants(s->o, "plan") &&
         judge_is_python(s->o->candidate);
}

// From the build on with that subject. The questions stay where nothing of the candidate's has seen one; else kernels
// may have left them where the process finds them.
static enum assay_status start_over(struct session *s, bool *good, struct assay_error *err) {
  struct assay_verdict *v = s->v;
  const bool asked = v->n_checks > 0 || s->bound;
  if (asked && s->subject->leave)
    s->subject->leave(s);
  snprintf(v->no_plan, sizeof v->no_plan, "%.255s", v->detail);
  v->reason = ASSAY_REASON_PASS;
  v->detail[0] = s->weakness[0] = '\0';
  v->kernels = (struct assay_kernels){0};
  s->subject->close(s);
  s->state = NULL;
  s->buffers = NULL;
  s->bound = NULL;
  s->subject = s->subject->without_plan;
  snprintf(v->mode, sizeof v->mode, "%s", s->subject->mode);
  if (asked)
    session_drop_exam(s);
  enum assay_status status = s->subject->start(s, err);
  if (!status && asked)
    status = session_make_exam(s, err);
  if (!status)
    status = s->subject->finish_build(s, good, err);
  return status || !*good ? status : s->subject->load(s, good, err);
}

static enum assay_status examine(struct session *s, bool *good, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  int64_t start = clock_monotonic_ns();
  if (*good)
    status = s->subject->load(s, good, err);
  if (!status && !*good && gives_way(s))
    status = start_over(s, good, err);
  s->v->durations.load_ns = clock_monotonic_ns() - start;
  tell(s, "checking", 2);
  if (!status && *good)
    status = session_take_exam(s, good, err);
  if (!status && !*good && gives_way(s)) { // another than the timed workload has none
    status = start_over(s, good, err);
    if (!status && *good)
      status = session_take_exam(s, good, err);
  }
  return status;
}

static enum assay_status test(struct session *s, bool *good, struct assay_error *err) {
  bool loaded = *good, timed;
  enum assay_status status = examine(s, good, err);
  tell(s, "timing", 3);
  timed = !status && *good && s->o->timing;
  if (timed && s->o->baselines)
    status = baselines_use(s->o->baselines, s->o, err);
  if (timed && !status)
    status = session_time(s, good, err);
  if (loaded && s->subject->leave)
    s->subject->leave(s);
  return status;
}

// What the kernel printed, behind what the compiler said.
static void add_log(struct session *s) {
  const char *log = s->state ? s->subject->log(s) : "";
  if (!log[0])
    return;
  struct buf text = {0};
  buf_printf(&text, "%s--- printed by the kernel ---\n%s", s->v->diagnostics, log);
  char *joined = text.failed ? NULL : base_strndup(buf_str(&text), text.len);
  buf_release(&text);
  if (!joined)
    return;
  base_free(s->v->diagnostics);
  s->v->diagnostics = joined;
}

void session_release(struct session *s) {
  if (s->state)
    s->subject->close(s);
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
  task_release(&s->task);
  arena_release(&s->arena);
}

// Strings that a verdict promises never to be NULL.
static enum assay_status fill_strings(struct assay_verdict *v, const char *weakness, struct assay_error *err) {
  struct sandbox_strength strength;
  struct buf sandbox = {0};
  sandbox_measure(&strength);
  if (!v->diagnostics)
    v->diagnostics = base_strndup("", 0);
  if (!v->build_command)
    v->build_command = base_strndup("", 0);
  if (!v->compiler_version)
    v->compiler_version = base_strndup("", 0);
  buf_printf(&sandbox, "%s%s%s", strength.text, weakness[0] ? "; " : "", weakness);
  v->sandbox = sandbox.failed ? NULL : base_strndup(buf_str(&sandbox), sandbox.len);
  buf_release(&sandbox);
  return v->diagnostics && v->build_command && v->compiler_version && v->sandbox ? ASSAY_OK
                                                                                 : error_nomem(err, "a verdict");
}

struct assay_job {
  struct assay_judge_options options;
  struct session session;
  struct assay_verdict verdict;
  bool good;         // there is something to judge
  int64_t worked_ns; // in the steps so far
};

enum assay_status judge_keep(struct assay_job *job, bool *good, struct assay_error *err) {
  enum assay_status status = examine(&job->session, &job->good, err);
  *good = !status && job->good;
  return status;
}

void judge_leave(struct assay_job *job) {
  struct session *s = &job->session;
  if (s->bound && s->subject->leave)
    s->subject->leave(s);
}

struct session *judge_session(struct assay_job *job) {
  return &job->session;
}

static enum assay_status job_make(const struct assay_judge_options *o, const struct subject_ops *subject,
                                  struct assay_job **out, struct assay_error *err) {
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
  v->timing.stop = "not measured";
  v->timing.floor_ns = v->timing.median_ns = v->timing.low_ns = v->timing.high_ns = NAN;
  v->timing.hot_ns = v->timing.overhead_ns = v->timing.called_ns = v->timing.prepare_ns = NAN;
  v->timing.wall_ns = NAN;
  snprintf(v->mode, sizeof v->mode, "%s", subject->mode);
  job->session.o = &job->options;
  job->session.v = v;
  job->session.subject = subject;
  *out = job;
  return ASSAY_OK;
}

enum assay_status judge_begin_as(const struct assay_judge_options *o, const struct subject_ops *subject,
                                 struct assay_job **out, struct assay_error *err) {
  struct assay_job *job = NULL;
  int64_t start = clock_monotonic_ns();
  enum assay_status status = job_make(o, subject, &job, err);
  if (status)
    return status;
  if (!o->seed)
    status = rng_entropy(&job->verdict.seed, err);
  job->verdict.seed &= INT64_MAX; // SQLite and JSON readers have signed integers
  if (!status)
    status = begin(&job->session, &job->good, err);
  job->worked_ns = clock_monotonic_ns() - start;
  if (status)
    assay_judge_drop(job);
  else
    *out = job;
  return status;
}

enum assay_status assay_judge_begin(const struct assay_judge_options *o, struct assay_job **out,
                                    struct assay_error *err) {
  if (o->mode && !wants(o, "plan") && !wants(o, "process"))
    return error_set(err, ASSAY_ERR_USAGE, "there is no mode %s; modes: plan, process", o->mode);
  const struct subject_ops *subject = &subject_plan;
  if (strcmp(o->device, "cpu") == 0)
    subject = &subject_cpu;
  else if (wants(o, "process") && strcmp(o->device, "cuda") == 0 && judge_is_python(o->candidate))
    subject = &subject_process;
  return judge_begin_as(o, subject, out, err);
}

enum assay_status assay_judge_test(struct assay_job *job, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = test(&job->session, &job->good, err);
  if (!status) {
    add_log(&job->session);
    printable(job->verdict.detail);
    printable(job->verdict.no_plan);
    if (job->verdict.diagnostics)
      printable(job->verdict.diagnostics);
  }
  job->worked_ns += clock_monotonic_ns() - start;
  return status;
}

enum assay_status assay_judge_conclude(struct assay_job *job, struct assay_verdict *v, struct assay_error *err) {
  int64_t start = clock_monotonic_ns();
  enum assay_status status = session_verify(&job->session, job->good, err);
  tell(&job->session, "done", 5);
  int64_t closing = clock_monotonic_ns();
  session_release(&job->session);
  *v = job->verdict;
  v->durations.close_ns = clock_monotonic_ns() - closing;
  if (!status)
    status = fill_strings(v, job->session.weakness, err);
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

void assay_verdict_release(struct assay_verdict *v) {
  for (int i = 0; i < v->n_checks; i++)
    base_free(v->checks[i].description);
  base_free(v->checks);
  base_free(v->diagnostics);
  base_free(v->build_command);
  base_free(v->compiler_version);
  base_free(v->sandbox);
  base_free(v->timing.samples_ns);
  base_free(v->timing.hot_samples_ns);
  for (int i = 0; i < v->n_comparisons; i++) {
    base_free(v->comparisons[i].samples_ns);
    base_free(v->comparisons[i].candidate_ns);
  }
  base_free(v->comparisons);
  memset(v, 0, sizeof *v);
}
