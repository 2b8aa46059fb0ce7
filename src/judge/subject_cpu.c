// SPDX-License-Identifier: Apache-2.0
// C and Python on the CPU: a shared library or a module in a sandboxed process, timed by the judge's own clock.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/machine.h"
#include "judge/overhead.h"
#include "judge/python.h"
#include "judge/streams.h"
#include "judge/subject.h"
#include "stats/stats.h"

// Seeing a flag and setting one: a microsecond or less, and some ten where the runner has to be woken. Reaching the
// start line: some 30 us. What the runner's thread works for a call without a kernel, woken, waiting for the flag and
// stopped again: some 15 us.
static const struct overhead_limits MOST = {.spent_ns = 50000, .arming_ns = 100000, .first_ns = 100000};

// For how long calls are made to find some that nothing disturbs.
static const int64_t CALIBRATION_NS = 50000000;

// A call is dropped when the clock probes around it took this much longer than the best probe of the session.
static const double THROTTLED = 1.3;

// Importing PyTorch takes seconds, and longer when its files are not in the page cache.
static const int64_t WORKER_START_NS = 120000000000;

// So does importing what a module is built of: torch._dynamo alone takes three seconds, and more on a busy machine.
static const int64_t MODULE_LOAD_NS = 60000000000;

// A call of the candidate, and what of its time it was charged for the way to the start line.
struct charged {
  enum runner_cache cache;
  int64_t arming_ns, first_ns, elapsed_ns, charged_ns;
};
enum { MOST_CHARGED = 128 };

struct cpu {
  struct subject base;
  struct build *build;
  bool is_python;
  struct python_build *python_build;
  struct python_place python;
  struct arena arena; // of `python`
  struct runner *runner;
  char *library;
  int64_t best_probe_ns;
  bool steady;
  struct runner_options runner_options;
  struct overhead_usual usual;          // before the candidate was there
  struct charged charged[MOST_CHARGED]; // the candidate's last calls on the timed workload
  int n_charged;
  struct overhead after; // calls without a kernel after the timed ones
};

static struct cpu *of(struct subject *s) {
  return (struct cpu *)s;
}

static const struct cpu *look_at(const struct subject *s) {
  return (const struct cpu *)s;
}

static enum assay_status start_build(struct cpu *c, struct assay_error *err) {
  const struct subject_env *e = &c->base.env;
  const struct assay_judge_options *o = e->options;
  struct build_options b = {.compiler = o->compiler ? o->compiler : "gcc",
                            .path_env = o->paths->path_env,
                            .include_dir = o->paths->include,
                            .folder = e->build_folder,
                            .defines = o->defines,
                            .timeout_ns = o->build_timeout_ns,
                            .memory_bytes = o->build_memory_bytes,
                            .file_bytes = (size_t)64 << 20};
  if (!c->is_python)
    return build_start(&b, e->source, e->source_bytes, &c->build, err);
  enum assay_status status = python_find(o->paths, &c->arena, &c->python, err);
  return status ? status : python_build_start(&c->python, &b, NULL, e->source, e->source_bytes, &c->python_build, err);
}

static void finish(struct subject *s) {
  struct cpu *c = of(s);
  build_cancel(c->build);
  python_build_cancel(c->python_build);
  runner_close(c->runner);
  arena_release(&c->arena);
  base_free(c->library);
  base_free(c);
}

static enum assay_status create(const struct subject_env *env, struct subject **out, struct assay_error *err) {
  struct cpu *c = base_calloc(1, sizeof *c);
  if (!c)
    return error_nomem(err, "a judgement");
  subject_init(&c->base, &subject_cpu, env);
  c->best_probe_ns = INT64_MAX;
  c->is_python = env->choice->form->python;
  c->base.toolchain = env->choice->form->toolchain;
  enum assay_status status = start_build(c, err);
  if (status)
    finish(&c->base);
  else
    *out = &c->base;
  return status;
}

static enum assay_status finish_build(struct subject *s, struct build_result *out, struct assay_error *err) {
  struct cpu *c = of(s);
  enum assay_status status =
      c->is_python ? python_build_finish(c->python_build, out, err) : build_finish(c->build, out, err);
  c->build = NULL;
  c->python_build = NULL;
  if (status)
    return status;
  c->library = out->library;
  out->library = NULL;
  return ASSAY_OK;
}

static enum assay_status bind(struct subject *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  struct cpu *c = of(s);
  enum assay_status status = c->is_python ? judge_python_tell(c->runner, s->env.task, l->workload, err) : ASSAY_OK;
  runner_set_place(c->runner, l->inputs_first);
  status = status ? status : runner_bind(c->runner, l->n_in, l->in, l->n_out, l->out, report, err);
  s->found.wanted_bytes = runner_wanted_bytes(c->runner);
  return status;
}

static enum assay_status fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  void *buffers[RUNNER_MAX_BUFFERS];
  for (int i = 0; i < s->bound->n_in; i++) // runner_bind checked that they fit
    buffers[i] = runner_input(of(s)->runner, i);
  enum assay_status status =
      task_make_inputs(s->env.task, s->bound->workload, probe, key, s->env.options->threads, buffers, err);
  if (!status)
    runner_poison(of(s)->runner, poison);
  return status;
}

static enum assay_status call(struct subject *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  struct cpu *c = of(s);
  int64_t before = machine_clock_probe_ns();
  enum assay_status status = runner_call(c->runner, mode == CALL_HOT ? RUNNER_HOT : RUNNER_COLD, false, report, err);
  if (status || report->event != RUNNER_OK)
    return status;
  int64_t after = machine_clock_probe_ns();
  int64_t probe = before < after ? before : after, slow = before > after ? before : after;
  c->best_probe_ns = probe < c->best_probe_ns ? probe : c->best_probe_ns;
  c->steady = (double)slow <= THROTTLED * (double)c->best_probe_ns;
  if (s->bound == s->timed)
    c->charged[c->n_charged++ % MOST_CHARGED] =
        (struct charged){mode == CALL_HOT ? RUNNER_HOT : RUNNER_COLD, report->arming_ns, report->first_ns,
                         report->elapsed_ns - report->charged_ns, report->charged_ns};
  return ASSAY_OK;
}

// Makes calls without a kernel, otherwise like timed ones, where no candidate could influence them. They measure what
// the protocol costs and how long the runner takes to reach the start line.
static enum assay_status make_null_calls(struct subject *s, struct overhead_usual *usual, struct assay_error *err) {
  enum { COLD_CALLS = 16, HOT_CALLS = 8, WARM_UP = 4 };
  struct overhead_call calls[COLD_CALLS + HOT_CALLS];
  struct runner_report report;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < WARM_UP + COLD_CALLS + HOT_CALLS && !status; i++) {
    const bool hot = i >= WARM_UP + COLD_CALLS;
    status = fill(s, PROBE_DECLARED, rng_secret(rng_derive(s->env.secret, STREAM_CALIBRATION), (uint64_t)i), POISON_NAN,
                  err);
    if (!status)
      status = runner_call(of(s)->runner, hot ? RUNNER_HOT : RUNNER_COLD, true, &report, err);
    if (!status && report.event != RUNNER_OK)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner failed without a kernel: %s", report.detail);
    if (!status && i >= WARM_UP)
      calls[i - WARM_UP] = (struct overhead_call){.spent_ns = (double)report.elapsed_ns,
                                                  .arming_ns = (double)report.arming_ns,
                                                  .first_ns = (double)report.first_ns,
                                                  .waited_ns = (double)report.waited_ns,
                                                  .hot = hot};
  }
  if (!status)
    *usual = overhead_usual_of(calls, COLD_CALLS + HOT_CALLS, &MOST, &overhead_quiet);
  return status;
}

// What disturbs a machine for a moment is over soon: then calls are made again. The timed workload's buffers are bound.
static enum assay_status calibrate(struct subject *s, const struct runner_report *bound, struct overhead_usual *usual,
                                   struct assay_error *err) {
  if (bound->event != RUNNER_OK)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner failed before the candidate was there: %s", bound->detail);
  enum assay_status status;
  const int64_t until = clock_monotonic_ns() + CALIBRATION_NS;
  do
    status = make_null_calls(s, usual, err);
  while (!status && usual->doubtful && clock_monotonic_ns() < until);
  return status;
}

static void allow(const struct cpu *c, const struct overhead_usual *u, struct runner_usual out[RUNNER_CACHES]) {
  const int64_t work_ns = c->is_python ? 0 : (int64_t)u->first_ns; // a Python worker tidies up after a call
  out[RUNNER_COLD] = (struct runner_usual){(int64_t)u->arming_ns, work_ns};
  out[RUNNER_HOT] = (struct runner_usual){(int64_t)u->hot_arming_ns, work_ns};
}

// What the candidate's last calls would have been charged besides, had no more been allowed than this.
static double too_little(const struct cpu *c, const struct overhead_usual *u) {
  struct runner_usual usual[RUNNER_CACHES];
  double most = 0, ns[MOST_CHARGED];
  allow(c, u, usual);
  for (int cache = 0; cache < RUNNER_CACHES; cache++) {
    int n = 0;
    for (int i = 0; i < c->n_charged && i < MOST_CHARGED; i++) {
      const struct charged *k = &c->charged[i];
      if ((int)k->cache == cache)
        ns[n++] = (double)(runner_charge(&usual[cache], k->arming_ns, k->first_ns, k->elapsed_ns) - k->charged_ns);
    }
    const double excess = overhead_excess(ns, n);
    most = excess > most ? excess : most;
  }
  return most;
}

// Where more than usual was allowed, the machine may have been slower while that was measured than it was for the
// timed calls. So it is measured again, in a process in which the candidate never was.
static enum assay_status recheck(struct subject *s, double *excess_ns, double *doubt_ns, struct assay_error *err) {
  struct cpu *c = of(s);
  struct runner *candidates = c->runner;
  struct overhead_usual after;
  struct runner_report report;
  *excess_ns = 0;
  *doubt_ns = c->usual.doubtful ? overhead_most_allowed(&c->usual) : 0;
  if (c->is_python || c->usual.doubtful || !overhead_is_dear(&c->usual))
    return ASSAY_OK;
  enum assay_status status = runner_open(&c->runner_options, &c->runner, err);
  if (!status)
    status = bind(s, s->timed, &report, err);
  if (!status)
    status = calibrate(s, &report, &after, err);
  if (!status && after.doubtful)
    *doubt_ns = overhead_most_allowed(&c->usual);
  else if (!status)
    *excess_ns = too_little(c, &after);
  if (c->runner != candidates)
    runner_close(c->runner);
  c->runner = candidates;
  return status;
}

static enum assay_status null_call(struct subject *s, double *overhead_ns, struct runner_report *report,
                                   struct assay_error *err) {
  struct cpu *c = of(s);
  enum assay_status status = runner_call(c->runner, RUNNER_COLD, true, report, err);
  if (status || report->event != RUNNER_OK)
    return status;
  overhead_add(&c->after, (double)report->elapsed_ns);
  *overhead_ns = overhead_both(c->usual.spent_ns, overhead_of(&c->after, MOST.spent_ns));
  return ASSAY_OK;
}

static int64_t load_timeout(const struct cpu *c, int64_t asked_ns) {
  return c->is_python && asked_ns < MODULE_LOAD_NS ? MODULE_LOAD_NS : asked_ns;
}

// What was drawn for the calibration is no candidate's business: with a seed that can be guessed it would tell the
// seed.
static void wipe(struct subject *s) {
  const struct layout *l = s->bound;
  for (int i = 0; l && i < l->n_in; i++)
    memset(runner_input(of(s)->runner, i), 0, tensor_type_bytes(&l->in[i]));
  if (l)
    runner_poison(of(s)->runner, POISON_NAN);
}

static enum assay_status load(struct subject *s, const struct layout *layouts, int n, struct subject_loaded *out,
                              struct assay_error *err) {
  struct cpu *c = of(s);
  const struct assay_judge_options *o = s->env.options;
  const struct runner_python python = {.interpreter = c->python.interpreter,
                                       .script = c->python.script,
                                       .library = c->python.worker,
                                       .read_paths = c->python.read_paths,
                                       .defines = o->defines,
                                       .start_timeout_ns = WORKER_START_NS,
                                       .device = s->env.choice->form->device};
  c->runner_options = (struct runner_options){.program = o->paths->runner,
                                              .library = c->library,
                                              .python = c->is_python ? &python : NULL,
                                              .folder = s->env.run_folder,
                                              .threads = o->threads,
                                              .load_timeout_ns = load_timeout(c, o->load_timeout_ns),
                                              .call_timeout_ns = o->call_timeout_ns,
                                              .memory_bytes = o->runner_memory_bytes};
  (void)n;
  *out = (struct subject_loaded){.overhead_ns = NAN};
  s->timed = &layouts[0];
  enum assay_status status = runner_open(&c->runner_options, &c->runner, err);
  c->runner_options.python = NULL; // gone when this returns; a second runner is for C alone
  if (!status && o->timing) {
    status = subject_bind(s, s->timed, &out->report, err);
    if (!status)
      status = calibrate(s, &out->report, &c->usual, err);
    out->overhead_ns = c->usual.spent_ns;
  }
  s->found.wanted_bytes = runner_wanted_bytes(c->runner);
  if (!status)
    wipe(s);
  struct runner_usual usual[RUNNER_CACHES];
  allow(c, &c->usual, usual);
  return status ? status : runner_load(c->runner, usual, &out->report, err);
}

static const void *output(const struct subject *s, int o) {
  return runner_output(look_at(s)->runner, o);
}

static enum assay_status read_output(struct subject *s, int o, void *to, struct assay_error *err) {
  (void)err;
  memcpy(to, runner_output(of(s)->runner, o), (size_t)layout_output_bytes(s->bound, o));
  return ASSAY_OK;
}

static bool steady(const struct subject *s) {
  return look_at(s)->steady;
}

static const char *printed(const struct subject *s) {
  return look_at(s)->runner ? runner_log(look_at(s)->runner) : "";
}

const struct subject_ops subject_cpu = {.mode = "process",
                                        .timing_ns = 150000000,
                                        .create = create,
                                        .finish_build = finish_build,
                                        .load = load,
                                        .bind = bind,
                                        .fill = fill,
                                        .call = call,
                                        .null_call = null_call,
                                        .recheck = recheck,
                                        .read_output = read_output,
                                        .output = output,
                                        .steady = steady,
                                        .log = printed,
                                        .close = finish};
