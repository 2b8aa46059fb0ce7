// SPDX-License-Identifier: Apache-2.0
// A Python candidate in a process that has a GPU: for those whose launches cannot be recorded, so that there is no
// plan. The process is that of runner.c (frozen between calls, released at a start line, timed by the judge's clock);
// its buffers are memory of the GPU, which the judge draws, poisons and compares in a context of its own. No trusted
// code runs in the process, so work on the GPU is detected from outside (gpu_probe.h), and the clock of a call stops
// when the judge's own work there is done. docs/python-candidates.md says how far this can be trusted.
//
// On the device cpu, which only tests use (judge_begin_as), the buffers are ordinary memory.
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/device_buffers.h"
#include "judge/gpu_probe.h"
#include "judge/overhead.h"
#include "judge/python.h"
#include "judge/streams.h"
#include "judge/subject.h"
#include "judge/workbench.h"
#include "runner/threads.h"
#include "stats/stats.h"

enum { MONITOR_EVERY = 8, FLUSH_CACHES = 4, MOST_THREADS = 16 };
#define LEAST_FLUSH_BYTES ((size_t)128 << 20) // on a GPU; elsewhere the probe stands in for one
#define HOST_FLUSH_BYTES ((size_t)4 << 20)
#define SMALL_BYTES ((size_t)4 << 10)
#define WARM_BYTES ((size_t)1 << 20)

// A flag and a small piece of work on the GPU: 300 to 420 us on an H200. Reaching the start line takes as long as
// without a GPU. (Of the work of the process's first thread nothing is charged: a Python worker tidies up after a
// call.)
static const struct overhead_limits MOST = {.spent_ns = 2e6, .arming_ns = 100000, .first_ns = 100000},
                                    QUIET = {.spent_ns = 500000, .arming_ns = 32000, .first_ns = 20000};

// For how long calls are made to find some that nothing disturbs.
static const int64_t CALIBRATION_NS = 200000000;

// Importing PyTorch and opening a GPU takes seconds; loading may compile extensions, and binding what Triton and
// torch.compile make.
static const int64_t WORKER_START_NS = 180000000000, LOAD_NS = 900000000000;

struct hosted {
  struct device_subject on;      // its buffers are the candidate's alone
  struct assay_workbench *bench; // NULL on the device cpu
  bool own_bench, cuda;
  struct python_build *build;
  struct python_place python;
  struct arena arena; // of `python`
  char *library;
  struct runner *runner; // NULL: not there, or gone
  struct gpu_probe probe;
  device_ptr flush; // what the probe fills
  unsigned char *host_flush;
  size_t flush_bytes;
  uint32_t fills;
  bool unsettled; // the probe before the last call was slow: its time must not be used
  int calls;
  struct overhead_usual usual; // before the candidate was there
  struct overhead after;       // calls without it after the timed ones
  struct buf log;
};

static struct hosted *of(struct subject *s) {
  return (struct hosted *)s;
}

static const struct hosted *look_at(const struct subject *s) {
  return (const struct hosted *)s;
}

static void drop_runner(struct hosted *h) {
  if (h->runner)
    buf_puts(&h->log, runner_log(h->runner));
  runner_close(h->runner);
  h->runner = NULL;
}

// Ends the process first: then nobody else has the buffers.
static void leave(struct subject *s) {
  struct hosted *h = of(s);
  drop_runner(h);
  device_buffers_forget(&h->on.buffers);
  device_buffers_drop(&h->on.buffers);
  if (h->flush)
    compute_free(workbench_compute(h->bench), h->flush);
  h->flush = 0;
}

static void finish(struct subject *s) {
  struct hosted *h = of(s);
  leave(s);
  python_build_cancel(h->build);
  device_buffers_release(&h->on.buffers);
  buf_release(&h->log);
  arena_release(&h->arena);
  base_free(h->library);
  base_free(h->host_flush);
  if (h->own_bench)
    assay_workbench_close(h->bench);
  base_free(h);
}

// ---- building

static enum assay_status start_build(struct hosted *h, struct assay_error *err) {
  const struct subject_env *e = &h->on.base.env;
  const struct assay_judge_options *o = e->options;
  enum assay_status status = h->own_bench ? workbench_begin(o, &h->bench, err) : ASSAY_OK;
  device_buffers_init(&h->on.buffers, e, h->bench, h->cuda, true);
  const struct build_options b = {.path_env = o->paths->path_env,
                                  .folder = e->build_folder,
                                  .defines = o->defines,
                                  .timeout_ns = o->build_timeout_ns,
                                  .memory_bytes = o->build_memory_bytes,
                                  .file_bytes = (size_t)64 << 20};
  if (!status)
    status = python_find(o->paths, &h->arena, &h->python, err);
  // Extensions are compiled where the device is, because their source may ask for its properties.
  char gpu[16] = "";
  if (!status && h->cuda)
    status = workbench_target(h->bench, gpu, err);
  return status ? status : python_build_start(&h->python, &b, gpu, e->source, e->source_bytes, &h->build, err);
}

static enum assay_status create(const struct subject_env *env, struct subject **out, struct assay_error *err) {
  struct hosted *h = base_calloc(1, sizeof *h);
  if (!h)
    return error_nomem(err, "a judgement");
  subject_init(&h->on.base, &subject_process, env);
  h->on.base.toolchain = toolchain_python.name;
  h->cuda = env->choice->form->device->gpu;
  h->bench = env->options->workbench;
  h->own_bench = h->cuda && !h->bench;
  enum assay_status status = start_build(h, err);
  if (status)
    finish(&h->on.base);
  else
    *out = &h->on.base;
  return status;
}

static enum assay_status finish_build(struct subject *s, struct build_result *out, struct assay_error *err) {
  struct python_build *build = of(s)->build;
  of(s)->build = NULL;
  enum assay_status status = python_build_finish(build, out, err);
  if (status)
    return status;
  of(s)->library = out->library;
  out->library = NULL;
  return ASSAY_OK;
}

// ---- the judge's own work on the device

// Random values, so that no memory can compress them away.
static enum assay_status run_probe(void *arg, enum gpu_probe_kind kind, int64_t *ns, struct assay_error *err) {
  struct hosted *h = arg;
  size_t bytes = kind == GPU_PROBE_LARGE ? h->flush_bytes : SMALL_BYTES;
  uint32_t value = ++h->fills * 0x9E3779B1u;
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = ASSAY_OK;
  if (h->cuda)
    status = compute_set32(workbench_compute(h->bench), h->flush, value, bytes / sizeof value, err);
  else
    memset(h->host_flush, (int)(value >> 24), bytes);
  if (!status)
    status = device_buffers_settle(&h->on.buffers, err);
  *ns = clock_monotonic_ns() - start_ns;
  return status;
}

static enum assay_status make_probe(struct hosted *h, struct assay_error *err) {
  h->probe = (struct gpu_probe){.run = run_probe, .arg = h};
  if (!h->cuda) {
    h->flush_bytes = HOST_FLUSH_BYTES;
    h->host_flush = base_alloc(h->flush_bytes);
    return h->host_flush ? ASSAY_OK : error_nomem(err, "a probe");
  }
  h->flush_bytes = (size_t)workbench_facts(h->bench)->l2_bytes * FLUSH_CACHES;
  if (h->flush_bytes < LEAST_FLUSH_BYTES)
    h->flush_bytes = LEAST_FLUSH_BYTES;
  return compute_alloc(workbench_compute(h->bench), h->flush_bytes, &h->flush, err);
}

// Reads the inputs, so that as much of them as fits is in the cache again.
static enum assay_status warm(struct hosted *h, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < h->on.buffers.n_in && h->cuda && !status; i++) {
    const struct shared_memory *m = &h->on.buffers.in[i];
    for (size_t at = 0; at < m->bytes && !status; at += WARM_BYTES) {
      size_t n = m->bytes - at < WARM_BYTES ? m->bytes - at : WARM_BYTES;
      status = compute_copy(workbench_compute(h->bench), h->flush, m->device + m->offset + at, n, err);
    }
  }
  return status ? status : device_buffers_settle(&h->on.buffers, err);
}

// ---- buffers and calls

static enum assay_status bind(struct subject *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  const struct shared_buffers shared = {l->n_in, l->n_out, h->on.buffers.in, h->on.buffers.out};
  int64_t start_ns = clock_monotonic_ns();
  if (!s->bound)
    device_buffers_leave_room(&h->on.buffers, l);
  enum assay_status status = judge_python_tell(h->runner, s->env.task, l->workload, err);
  if (!status)
    status = device_buffers_make(&h->on.buffers, l, err);
  if (!status)
    status = device_buffers_settle(&h->on.buffers, err);
  if (!status)
    status = runner_bind_shared(h->runner, l->in, l->out, &shared, report, err);
  s->found.bind_ns += clock_monotonic_ns() - start_ns;
  return status;
}

static enum assay_status fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_draw(&h->on.buffers, s->bound->workload, probe, key, err);
  if (!status)
    status = device_buffers_poison(&h->on.buffers, poison, err);
  s->found.fill_ns += clock_monotonic_ns() - start_ns;
  return status;
}

struct probed {
  int64_t before_ns, after_ns; // of the probes
};

// Work went on for too long: of another process, or of the candidate, which is ended to find out.
static enum assay_status find_whose_work(struct hosted *h, struct assay_error *err) {
  bool others = false;
  if (!h->cuda)
    return ASSAY_OK;
  drop_runner(h);
  enum assay_status status = gpu_probe_whose(&h->probe, &others, err);
  if (!status && others)
    status = error_set(err, ASSAY_ERR_ENVIRONMENT,
                       "another process uses the GPU: its work went on when the candidate had ended; judge again when "
                       "the GPU is free");
  return status;
}

// Probe, call, probe; report->elapsed_ns is from the start line to the end of the last probe that had to wait.
static enum assay_status call_between(struct subject *s, bool hot, bool null_call, struct probed *probed,
                                      struct runner_report *report, struct assay_error *err) {
  struct hosted *h = of(s);
  bool busy = false, late = false;
  int64_t end_ns = 0;
  memset(report, 0, sizeof *report);
  enum assay_status status = gpu_probe_before(&h->probe, &h->unsettled, &busy, &probed->before_ns, err);
  if (!status && busy) {
    report->event = RUNNER_LATE_WORK;
    snprintf(
        report->detail, sizeof report->detail,
        "work of the candidate was on the GPU between calls: a fill of the judge's took %.2f ms, and %.2f ms before "
        "the candidate was there",
        (double)probed->before_ns * 1e-6, h->probe.usual_ns[GPU_PROBE_LARGE] * 1e-6);
    return find_whose_work(h, err);
  }
  if (!status && hot)
    status = warm(h, err);
  if (!status)
    status = runner_call(h->runner, RUNNER_COLD, null_call, report, err);
  if (status || report->event != RUNNER_OK)
    return status;
  int64_t deadline_ns = clock_monotonic_ns() + s->env.options->call_timeout_ns;
  const int64_t waited_ns = null_call ? threads_ready_ns(getpid(), gettid()) : 0;
  status = gpu_probe_after(&h->probe, deadline_ns, &end_ns, &probed->after_ns, &late, err);
  if (null_call)
    report->waited_ns += threads_ready_ns(getpid(), gettid()) - waited_ns;
  report->elapsed_ns = end_ns - report->began_ns;
  if (!status && late) {
    report->event = RUNNER_TIMED_OUT;
    snprintf(report->detail, sizeof report->detail, "forward returned, and its work on the GPU did not end in time");
    status = find_whose_work(h, err);
  }
  return status;
}

static enum assay_status call(struct subject *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  struct probed probed = {0};
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = call_between(s, mode == CALL_HOT, false, &probed, report, err);
  s->found.call_ns += clock_monotonic_ns() - start_ns;
  if (status || report->event != RUNNER_OK)
    drop_runner(h);
  else if (h->cuda && h->calls++ % MONITOR_EVERY == 0)
    workbench_watch(h->bench, &s->found.condition);
  return status;
}

static enum assay_status null_call(struct subject *s, double *overhead_ns, struct runner_report *report,
                                   struct assay_error *err) {
  struct hosted *h = of(s);
  struct probed probed = {0};
  enum assay_status status = call_between(s, false, true, &probed, report, err);
  if (status || report->event != RUNNER_OK) {
    drop_runner(h);
    return status;
  }
  overhead_add(&h->after, (double)report->elapsed_ns);
  *overhead_ns = overhead_both(h->usual.spent_ns, overhead_of(&h->after, MOST.spent_ns));
  return ASSAY_OK;
}

static enum assay_status inspect(struct subject *s, struct runner_report *report, struct assay_error *err) {
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_inspect(&of(s)->on.buffers, report, err);
  if (status || report->event != RUNNER_OK)
    drop_runner(of(s));
  s->found.inspect_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// ---- loading

// A driver may need files that the rules do not name.
static enum assay_status open_runner(struct subject *s, struct assay_error *err) {
  struct hosted *h = of(s);
  const struct assay_judge_options *o = s->env.options;
  struct runner_python python = {.interpreter = h->python.interpreter,
                                 .script = h->python.script,
                                 .library = h->python.worker,
                                 .read_paths = h->python.read_paths,
                                 .defines = o->defines,
                                 .start_timeout_ns = WORKER_START_NS,
                                 .device = s->env.choice->form->device,
                                 .unlocked = true,
                                 .path_env = h->python.path_env,
                                 .environment = h->python.environment,
                                 .device_index = o->device_index};
  const struct runner_options r = {.program = o->paths->runner,
                                   .library = h->library,
                                   .python = &python,
                                   .folder = s->env.run_folder,
                                   .threads = o->threads < MOST_THREADS ? o->threads : MOST_THREADS,
                                   .load_timeout_ns = o->load_timeout_ns > LOAD_NS ? o->load_timeout_ns : LOAD_NS,
                                   .call_timeout_ns = o->call_timeout_ns};
  struct assay_error second = {0};
  enum assay_status status = runner_open(&r, &h->runner, err);
  if (status == ASSAY_ERR_ENVIRONMENT && h->cuda) {
    python.without_landlock = true;
    status = runner_open(&r, &h->runner, &second); // where this fails too, the first failure is reported
  }
  snprintf(s->found.weakness, sizeof s->found.weakness,
           "the candidate's process with no system call filter and no pid namespace%s: a GPU's driver needs what they "
           "forbid",
           python.without_landlock ? ", without landlock" : "");
  return status;
}

// Makes calls without a candidate, otherwise like its own, before it is loaded and could influence them. They measure
// what the protocol costs, how long the process takes to reach the start line, and how long the judge's work on the
// device takes when nobody else uses it.
static enum assay_status make_null_calls(struct subject *s, struct runner_report *report, struct assay_error *err) {
  enum { CALLS = 16, WARM_UP = 4 };
  struct hosted *h = of(s);
  struct overhead_call calls[CALLS];
  double before[CALLS], after[CALLS];
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < CALLS + WARM_UP && !status && report->event == RUNNER_OK; i++) {
    struct probed probed = {0};
    status = fill(s, PROBE_DECLARED, rng_secret(rng_derive(s->env.secret, STREAM_CALIBRATION), (uint64_t)i), POISON_NAN,
                  err);
    if (!status)
      status = call_between(s, false, true, &probed, report, err);
    if (i < WARM_UP)
      continue;
    calls[i - WARM_UP] = (struct overhead_call){.spent_ns = (double)report->elapsed_ns,
                                                .arming_ns = (double)report->arming_ns,
                                                .first_ns = (double)report->first_ns,
                                                .waited_ns = (double)report->waited_ns};
    before[i - WARM_UP] = (double)probed.before_ns;
    after[i - WARM_UP] = (double)probed.after_ns;
  }
  if (status || report->event != RUNNER_OK)
    return status;
  h->usual = overhead_usual_of(calls, CALLS, &MOST, &QUIET);
  if (h->cuda) { // on other devices no other work delays ours
    h->probe.usual_ns[GPU_PROBE_LARGE] = stats_median(before, CALLS);
    h->probe.usual_ns[GPU_PROBE_SMALL] = stats_median(after, CALLS);
  }
  return ASSAY_OK;
}

// What disturbs a machine for a moment is over soon: then calls are made again.
static enum assay_status calibrate(struct subject *s, struct assay_error *err) {
  struct hosted *h = of(s);
  struct runner_report report = {0};
  enum assay_status status = subject_bind(s, s->timed, &report, err);
  workbench_settle(s->env.options->workbench);
  subject_turn(s, TURN_ALONE);
  if (!status)
    status = subject_has_turn(s, err);
  const int64_t until = clock_monotonic_ns() + CALIBRATION_NS;
  do {
    memset(h->probe.usual_ns, 0, sizeof h->probe.usual_ns); // no probe is slow
    if (!status && report.event == RUNNER_OK)
      status = make_null_calls(s, &report, err);
  } while (!status && report.event == RUNNER_OK && h->usual.doubtful && clock_monotonic_ns() < until);
  if (status)
    return status;
  if (report.event != RUNNER_OK)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the Python worker failed before the candidate was there: %s (%s)",
                     report.detail, runner_event_name(report.event));
  return ASSAY_OK;
}

// Starting another process takes too long to measure anything again; what is not known is said.
static enum assay_status recheck(struct subject *s, double *excess_ns, double *doubt_ns, struct assay_error *err) {
  const struct overhead_usual *u = &of(s)->usual;
  (void)err;
  *excess_ns = 0;
  *doubt_ns = u->doubtful ? overhead_most_allowed(u) : 0;
  return ASSAY_OK;
}

static enum assay_status load(struct subject *s, const struct layout *layouts, int n, struct subject_loaded *out,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  struct runner_usual usual[RUNNER_CACHES] = {0}; // all calls are cold ones for the process
  (void)n;
  *out = (struct subject_loaded){.overhead_ns = NAN};
  s->timed = &layouts[0];
  enum assay_status status = device_buffers_open(&h->on.buffers, out, &s->found.open_ns, err);
  s->on = h->bench;
  subject_turn(s, TURN_TOGETHER);
  if (!status)
    status = make_probe(h, err);
  if (!status)
    status = open_runner(s, err);
  if (!status)
    status = calibrate(s, err);
  out->overhead_ns = status ? NAN : h->usual.spent_ns;
  usual[RUNNER_COLD].arming_ns = (int64_t)h->usual.arming_ns;
  if (!status)
    status = device_buffers_wipe(&h->on.buffers, err);
  subject_turn(s, TURN_TOGETHER); // to compile takes as long as it takes
  if (!status)
    status = runner_load(h->runner, usual, &out->report, err);
  // Also for calls that nobody times: a neighbour's kernels would slow their probes, and look like the candidate's.
  // What the host does for long between calls is done without a turn (subject_rest).
  subject_turn(s, TURN_ALONE);
  return status ? status : subject_has_turn(s, err);
}

// ---- the rest

// Nobody else is at work while this has its turn: a fill that stays slow shows work of the candidate. Only work that
// goes on at this moment is seen. What waits on the device for something else (an event, a value in memory) is no work
// until that comes: then it is in the times of others, who drop what they see, and in the probe before the next call of
// this candidate, which is made alone again. So nothing is asked when the turn is taken again.
static bool is_idle(struct subject *s) {
  struct hosted *h = of(s);
  bool slow = false, busy = false;
  int64_t ns = 0;
  if (!h->runner || !h->cuda)
    return true;
  return gpu_probe_before(&h->probe, &slow, &busy, &ns, NULL) == ASSAY_OK && !busy;
}

static bool steady(const struct subject *s) {
  return !s->found.condition.slowed && !look_at(s)->unsettled;
}

static const char *printed(const struct subject *s) {
  return buf_str(&look_at(s)->log);
}

const struct subject_ops subject_process = {.mode = "process",
                                            .unconfined = true,
                                            .timing_ns = 150000000,
                                            .create = create,
                                            .finish_build = finish_build,
                                            .load = load,
                                            .bind = bind,
                                            .fill = fill,
                                            .call = call,
                                            .inspect = inspect,
                                            .null_call = null_call,
                                            .recheck = recheck,
                                            .read_output = device_buffers_read,
                                            .keep_outputs = device_buffers_keep,
                                            .read_kept = device_buffers_read_kept,
                                            .output = device_buffers_output,
                                            .answers = device_buffers_answer,
                                            .check = device_buffers_check,
                                            .idle = is_idle,
                                            .steady = steady,
                                            .leave = leave,
                                            .log = printed,
                                            .close = finish};
