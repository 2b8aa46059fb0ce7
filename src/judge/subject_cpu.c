// C and Python on the CPU: a shared library or a module in a sandboxed process, timed by the judge's own clock.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/machine.h"
#include "judge/python.h"
#include "judge/session.h"
#include "stats/stats.h"

// Coming to the start line may take this much longer than usual before it counts as the kernel's time.
static const double ARMING_SLACK = 1.25;

// A call is dropped when the clock probes around it took this much longer than the best probe of the session.
static const double THROTTLED = 1.3;

// Importing PyTorch takes seconds, and more when nobody has read its files lately.
static const int64_t WORKER_START_NS = 120000000000;

struct cpu {
  struct build *build;
  bool is_python;
  struct python_build *python_build;
  struct python_place python;
  struct arena arena; // of `python`
  struct runner *runner;
  char *library;
  int64_t best_probe_ns;
  bool steady;
};

static struct cpu *of(struct session *s) {
  return s->state;
}

static enum assay_status start(struct session *s, struct assay_error *err) {
  struct cpu *c = s->state = base_calloc(1, sizeof *c);
  if (!c)
    return error_nomem(err, "a judgement");
  c->best_probe_ns = INT64_MAX;
  c->is_python = judge_is_python(s->o->candidate);
  snprintf(s->v->toolchain, sizeof s->v->toolchain, "%s", c->is_python ? "python" : "cc");
  struct build_options b = {.compiler = s->o->compiler ? s->o->compiler : "gcc",
                            .path_env = s->o->path_env,
                            .include_dir = s->o->include_dir,
                            .folder = s->build_folder,
                            .defines = s->o->defines,
                            .timeout_ns = s->o->build_timeout_ns,
                            .memory_bytes = s->o->build_memory_bytes,
                            .file_bytes = (size_t)64 << 20};
  if (!c->is_python)
    return build_start(&b, s->source, s->source_bytes, &c->build, err);
  enum assay_status status = judge_find_python(s->o, &c->arena, &c->python, err);
  return status ? status : python_build_start(&c->python, &b, true, s->source, s->source_bytes, &c->python_build, err);
}

static enum assay_status finish_build(struct session *s, bool *good, struct assay_error *err) {
  struct build_result r;
  struct cpu *c = of(s);
  enum assay_status status =
      c->is_python ? python_build_finish(c->python_build, &r, err) : build_finish(c->build, &r, err);
  c->build = NULL;
  c->python_build = NULL;
  if (status)
    return status;
  of(s)->library = r.library;
  session_take_build(s, &r, good);
  return ASSAY_OK;
}

static enum assay_status bind(struct session *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  enum assay_status status = of(s)->is_python ? judge_python_tell(of(s)->runner, &s->task, l->workload, err) : ASSAY_OK;
  return status ? status : runner_bind(of(s)->runner, l->n_in, l->in_tensors, l->n_out, l->out_tensors, report, err);
}

static enum assay_status fill(struct session *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  void *buffers[RUNNER_MAX_BUFFERS];
  for (int i = 0; i < s->bound->n_in; i++) // runner_bind has seen to it that they fit
    buffers[i] = runner_input(of(s)->runner, i);
  enum assay_status status = task_make_inputs(&s->task, s->bound->workload, probe, key, s->o->threads, buffers, err);
  if (!status)
    runner_poison(of(s)->runner, poison);
  return status;
}

static enum assay_status call(struct session *s, enum call_mode mode, struct runner_report *report,
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
  return ASSAY_OK;
}

// Calls without a kernel, in every other respect like timed ones, while the candidate is not there to influence them:
// what the protocol costs, and how long the runner takes to come to the start line.
static enum assay_status calibrate(struct session *s, int64_t *arming_ns, struct assay_error *err) {
  enum { CALLS = 16, WARM_UP = 4 };
  double overhead[CALLS], arming[CALLS];
  struct runner_report report;
  enum assay_status status = session_bind(s, &s->layouts[0], &report, err);
  if (!status && report.event != RUNNER_OK)
    status =
        error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner failed before the candidate was there: %s", report.detail);
  for (int i = 0; i < CALLS + WARM_UP && !status; i++) {
    status = fill(s, PROBE_DECLARED, rng_derive(s->v->seed, (uint64_t)i), POISON_NAN, err);
    if (!status)
      status = runner_call(of(s)->runner, RUNNER_COLD, true, &report, err);
    if (!status && report.event != RUNNER_OK)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "the runner failed without a kernel: %s", report.detail);
    if (!status && i >= WARM_UP) {
      overhead[i - WARM_UP] = (double)report.elapsed_ns;
      arming[i - WARM_UP] = (double)report.arming_ns;
    }
  }
  if (status)
    return status;
  s->overhead_ns = stats_median(overhead, CALLS);
  *arming_ns = (int64_t)(ARMING_SLACK * stats_median(arming, CALLS));
  return ASSAY_OK;
}

static enum assay_status load(struct session *s, bool *good, struct assay_error *err) {
  int64_t arming_ns = 0;
  struct cpu *c = of(s);
  const struct runner_python python = {.interpreter = c->python.interpreter,
                                       .script = c->python.script,
                                       .library = c->python.worker,
                                       .read_paths = c->python.read_paths,
                                       .defines = s->o->defines,
                                       .start_timeout_ns = WORKER_START_NS,
                                       .device = "cpu"};
  struct runner_options r = {.program = s->o->runner_program,
                             .library = c->library,
                             .python = c->is_python ? &python : NULL,
                             .folder = s->run_folder,
                             .threads = s->o->threads,
                             .load_timeout_ns = s->o->load_timeout_ns,
                             .call_timeout_ns = s->o->call_timeout_ns,
                             .memory_bytes = s->o->runner_memory_bytes};
  struct runner_report report = {0};
  enum assay_status status = runner_open(&r, &of(s)->runner, err);
  if (!status && s->o->timing)
    status = calibrate(s, &arming_ns, err);
  if (!status)
    status = runner_load(of(s)->runner, arming_ns, &report, err);
  *good = !status && report.event == RUNNER_OK;
  if (!status && !*good)
    session_decide_event(s, &report);
  return status;
}

static const void *output(struct session *s, int o) {
  return runner_output(of(s)->runner, o);
}

static enum assay_status read_output(struct session *s, int o, void *to, struct assay_error *err) {
  (void)err;
  memcpy(to, runner_output(of(s)->runner, o), (size_t)layout_output_bytes(s->bound, o));
  return ASSAY_OK;
}

static bool steady(struct session *s) {
  return of(s)->steady;
}

static const char *printed(struct session *s) {
  return of(s) && of(s)->runner ? runner_log(of(s)->runner) : "";
}

static void finish(struct session *s) {
  struct cpu *c = of(s);
  if (!c)
    return;
  build_cancel(c->build);
  python_build_cancel(c->python_build);
  runner_close(c->runner);
  arena_release(&c->arena);
  base_free(c->library);
  base_free(c);
}

const struct subject_ops subject_cpu = {.mode = "process",
                                        .timing_ns = 150000000,
                                        .start = start,
                                        .finish_build = finish_build,
                                        .load = load,
                                        .bind = bind,
                                        .fill = fill,
                                        .call = call,
                                        .read_output = read_output,
                                        .output = output,
                                        .steady = steady,
                                        .log = printed,
                                        .close = finish};
