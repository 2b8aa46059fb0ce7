// A Python candidate in a process that has a GPU: for those whose launches cannot be recorded, so that there is no
// plan. The process is that of runner.c (frozen between calls, let go at a start line, under the judge's clock); its
// buffers are memory of the GPU, which the judge draws, poisons and compares in a context of its own. There is no
// trusted code beside the candidate's, so that what the GPU does behind the judge's back is found out from outside
// (gpu_probe.h), and the clock of a call stops when the judge's own work there is done. docs/python-candidates.md says
// what this is worth.
//
// On the device cpu, which only tests ask for (judge_begin_as), all of it happens over ordinary memory.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/device_buffers.h"
#include "judge/gpu_probe.h"
#include "judge/python.h"
#include "judge/session.h"
#include "judge/workbench.h"
#include "sandbox/sandbox.h"
#include "stats/stats.h"

enum { MONITOR_EVERY = 8, FLUSH_CACHES = 4, MOST_THREADS = 16 };
#define LEAST_FLUSH_BYTES ((size_t)128 << 20) // on a GPU; elsewhere the probe stands in for one
#define HOST_FLUSH_BYTES ((size_t)4 << 20)
#define SMALL_BYTES ((size_t)4 << 10)
#define WARM_BYTES ((size_t)1 << 20)

// Coming to the start line may take this much longer than usual before it counts as the candidate's time.
static const double ARMING_SLACK = 1.25;

// Importing PyTorch and opening a GPU takes seconds; loading may compile extensions, and binding what Triton and
// torch.compile make.
static const int64_t WORKER_START_NS = 180000000000, LOAD_NS = 900000000000;

struct hosted {
  struct assay_workbench *bench; // NULL on the device cpu
  bool own_bench, cuda;
  struct python_build *build;
  struct python_place python;
  struct arena arena; // of `python`
  char *library;
  struct runner *runner; // NULL: not there, or gone
  struct device_buffers buffers;
  struct gpu_probe probe;
  device_ptr flush; // what the probe fills
  unsigned char *host_flush;
  size_t flush_bytes;
  uint32_t fills;
  bool slowed;    // by what the monitor last said
  bool unsettled; // the probe before the last call was slow: its time says nothing
  int calls;
  struct buf log;
};

static struct hosted *of(struct session *s) {
  return s->state;
}

// ---- building

static enum assay_status start(struct session *s, struct assay_error *err) {
  struct hosted *h = s->state = base_calloc(1, sizeof *h);
  if (!h)
    return error_nomem(err, "a judgement");
  h->cuda = strcmp(s->o->device, "cuda") == 0;
  h->bench = s->o->workbench;
  h->own_bench = h->cuda && !h->bench;
  enum assay_status status = h->own_bench ? workbench_begin(s->o, &h->bench, err) : ASSAY_OK;
  device_buffers_init(&h->buffers, s, h->bench, h->cuda, true);
  snprintf(s->v->toolchain, sizeof s->v->toolchain, "python");
  const struct build_options b = {.path_env = s->o->path_env,
                                  .folder = s->build_folder,
                                  .defines = s->o->defines,
                                  .timeout_ns = s->o->build_timeout_ns,
                                  .memory_bytes = s->o->build_memory_bytes,
                                  .file_bytes = (size_t)64 << 20};
  if (!status)
    status = judge_find_python(s->o, &h->arena, &h->python, err);
  // Extensions are compiled where the device is: their source may ask what it is.
  return status ? status : python_build_start(&h->python, &b, false, s->source, s->source_bytes, &h->build, err);
}

static enum assay_status finish_build(struct session *s, bool *good, struct assay_error *err) {
  struct build_result r;
  struct python_build *build = of(s)->build;
  of(s)->build = NULL;
  enum assay_status status = python_build_finish(build, &r, err);
  if (status)
    return status;
  of(s)->library = r.library;
  session_take_build(s, &r, good);
  return ASSAY_OK;
}

// ---- the judge's own work on the device

// Values that no memory can compress away from one fill to the next.
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
    status = device_buffers_settle(&h->buffers, err);
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

// Reads the inputs, so that what of them fits is in the cache again.
static enum assay_status warm(struct hosted *h, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < h->buffers.n_in && h->cuda && !status; i++) {
    const struct shared_memory *m = &h->buffers.in[i];
    for (size_t at = 0; at < m->bytes && !status; at += WARM_BYTES) {
      size_t n = m->bytes - at < WARM_BYTES ? m->bytes - at : WARM_BYTES;
      status = compute_copy(workbench_compute(h->bench), h->flush, m->device + m->offset + at, n, err);
    }
  }
  return status ? status : device_buffers_settle(&h->buffers, err);
}

// ---- buffers and calls

static void drop_runner(struct hosted *h) {
  if (h->runner)
    buf_puts(&h->log, runner_log(h->runner));
  runner_close(h->runner);
  h->runner = NULL;
}

static enum assay_status bind(struct session *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  int64_t start_ns = clock_monotonic_ns();
  if (!s->bound)
    device_buffers_leave_room(&h->buffers, l);
  enum assay_status status = judge_python_tell(h->runner, &s->task, l->workload, err);
  if (!status)
    status = device_buffers_make(&h->buffers, l, err);
  if (!status)
    status = device_buffers_settle(&h->buffers, err);
  if (!status)
    status = runner_bind_shared(h->runner, l->n_in, l->in_tensors, h->buffers.in, l->n_out, l->out_tensors,
                                h->buffers.out, report, err);
  s->v->durations.bind_ns += clock_monotonic_ns() - start_ns;
  return status;
}

static enum assay_status fill(struct session *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_draw(&h->buffers, s, probe, key, err);
  if (!status)
    status = device_buffers_poison(&h->buffers, poison, err);
  s->v->durations.fill_ns += clock_monotonic_ns() - start_ns;
  return status;
}

struct probed {
  int64_t before_ns, after_ns; // of the probes
};

// Probe, call, probe; report->elapsed_ns is from the start line to the end of the last probe that had to wait.
static enum assay_status call_between(struct session *s, bool hot, bool null_call, struct probed *probed,
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
    return ASSAY_OK;
  }
  if (!status && hot)
    status = warm(h, err);
  if (!status)
    status = runner_call(h->runner, RUNNER_COLD, null_call, report, err);
  if (status || report->event != RUNNER_OK)
    return status;
  int64_t deadline_ns = clock_monotonic_ns() + s->o->call_timeout_ns;
  status = gpu_probe_after(&h->probe, deadline_ns, &end_ns, &probed->after_ns, &late, err);
  report->elapsed_ns = end_ns - report->began_ns;
  if (!status && late) {
    report->event = RUNNER_TIMED_OUT;
    snprintf(report->detail, sizeof report->detail, "forward returned, and its work on the GPU did not end in time");
  }
  return status;
}

static enum assay_status call(struct session *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  struct hosted *h = of(s);
  struct probed probed = {0};
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = call_between(s, mode == CALL_HOT, false, &probed, report, err);
  s->v->durations.call_ns += clock_monotonic_ns() - start_ns;
  if (status || report->event != RUNNER_OK)
    drop_runner(h);
  else if (h->cuda && h->calls++ % MONITOR_EVERY == 0)
    workbench_watch(h->bench, &s->v->timing, &h->slowed);
  return status;
}

static enum assay_status inspect(struct session *s, struct runner_report *report, struct assay_error *err) {
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_inspect(&of(s)->buffers, report, err);
  if (status || report->event != RUNNER_OK)
    drop_runner(of(s));
  s->v->durations.inspect_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// ---- loading

// A driver may want files that the rules do not name.
static enum assay_status open_runner(struct session *s, struct assay_error *err) {
  struct hosted *h = of(s);
  struct runner_python python = {.interpreter = h->python.interpreter,
                                 .script = h->python.script,
                                 .library = h->python.worker,
                                 .read_paths = h->python.read_paths,
                                 .defines = s->o->defines,
                                 .start_timeout_ns = WORKER_START_NS,
                                 .device = h->cuda ? "cuda" : "cpu",
                                 .unlocked = true,
                                 .path_env = s->o->path_env,
                                 .device_index = s->o->device_index};
  const struct runner_options r = {.program = s->o->runner_program,
                                   .library = h->library,
                                   .python = &python,
                                   .folder = s->run_folder,
                                   .threads = s->o->threads < MOST_THREADS ? s->o->threads : MOST_THREADS,
                                   .load_timeout_ns = s->o->load_timeout_ns > LOAD_NS ? s->o->load_timeout_ns : LOAD_NS,
                                   .call_timeout_ns = s->o->call_timeout_ns};
  struct assay_error second = {0};
  enum assay_status status = runner_open(&r, &h->runner, err);
  if (status == ASSAY_ERR_ENVIRONMENT && h->cuda) {
    python.without_landlock = true;
    status = runner_open(&r, &h->runner, &second); // where this fails too, the first failure is told
  }
  snprintf(s->weakness, sizeof s->weakness,
           "the candidate's process with no system call filter and no pid namespace%s: a GPU's driver needs what they "
           "forbid",
           python.without_landlock ? ", without landlock" : "");
  return status;
}

// Calls without a candidate, in every other respect like its own, while it is not there to influence them: what the
// protocol costs, how long the process takes to the start line, and how long the judge's own work on the device takes
// when nobody else has any.
static enum assay_status calibrate(struct session *s, int64_t *arming_ns, struct assay_error *err) {
  enum { CALLS = 16, WARM_UP = 4 };
  double overhead[CALLS], arming[CALLS], before[CALLS], after[CALLS];
  struct runner_report report = {0};
  enum assay_status status = session_bind(s, &s->layouts[0], &report, err);
  workbench_settle(s->o->workbench);
  for (int i = 0; i < CALLS + WARM_UP && !status && report.event == RUNNER_OK; i++) {
    struct probed probed = {0};
    status = fill(s, PROBE_DECLARED, rng_derive(s->v->seed, (uint64_t)i), POISON_NAN, err);
    if (!status)
      status = call_between(s, false, true, &probed, &report, err);
    if (i < WARM_UP)
      continue;
    overhead[i - WARM_UP] = (double)report.elapsed_ns;
    arming[i - WARM_UP] = (double)report.arming_ns;
    before[i - WARM_UP] = (double)probed.before_ns;
    after[i - WARM_UP] = (double)probed.after_ns;
  }
  if (status)
    return status;
  if (report.event != RUNNER_OK)
    return error_set(err, ASSAY_ERR_ENVIRONMENT, "the Python worker failed before the candidate was there: %s (%s)",
                     report.detail, runner_event_name(report.event));
  s->overhead_ns = stats_median(overhead, CALLS);
  *arming_ns = (int64_t)(ARMING_SLACK * stats_median(arming, CALLS));
  if (of(s)->cuda) { // elsewhere nobody's work is in the way of ours
    of(s)->probe.usual_ns[GPU_PROBE_LARGE] = stats_median(before, CALLS);
    of(s)->probe.usual_ns[GPU_PROBE_SMALL] = stats_median(after, CALLS);
  }
  return ASSAY_OK;
}

static enum assay_status load(struct session *s, bool *good, struct assay_error *err) {
  struct hosted *h = of(s);
  struct runner_report report = {0};
  int64_t arming_ns = 0;
  enum assay_status status = device_buffers_open(s, err);
  if (!status)
    status = make_probe(h, err);
  if (!status)
    status = open_runner(s, err);
  if (!status)
    status = calibrate(s, &arming_ns, err);
  // What the process is not held back from here, and answers are to be had in this process's memory.
  sandbox_hide_self();
  if (!status)
    status = runner_load(h->runner, arming_ns, &report, err);
  *good = !status && report.event == RUNNER_OK;
  if (!status && !*good)
    session_decide_event(s, &report);
  return status;
}

// ---- the rest

static bool steady(struct session *s) {
  return !of(s)->slowed && !of(s)->unsettled;
}

// The process first: then nobody else has the buffers.
static void leave(struct session *s) {
  struct hosted *h = of(s);
  drop_runner(h);
  device_buffers_forget(&h->buffers);
  device_buffers_drop(&h->buffers);
  if (h->flush)
    compute_free(workbench_compute(h->bench), h->flush);
  h->flush = 0;
}

static const char *printed(struct session *s) {
  return buf_str(&of(s)->log);
}

static void finish(struct session *s) {
  struct hosted *h = of(s);
  leave(s);
  python_build_cancel(h->build);
  device_buffers_release(&h->buffers);
  buf_release(&h->log);
  arena_release(&h->arena);
  base_free(h->library);
  base_free(h->host_flush);
  if (h->own_bench)
    assay_workbench_close(h->bench);
  base_free(h);
}

const struct subject_ops subject_process = {.mode = "process",
                                            .timing_ns = 150000000,
                                            .start = start,
                                            .finish_build = finish_build,
                                            .load = load,
                                            .bind = bind,
                                            .fill = fill,
                                            .call = call,
                                            .inspect = inspect,
                                            .read_output = device_buffers_read,
                                            .keep_outputs = device_buffers_keep,
                                            .read_kept = device_buffers_read_kept,
                                            .output = device_buffers_output,
                                            .answers = device_buffers_answer,
                                            .check = device_buffers_check,
                                            .steady = steady,
                                            .leave = leave,
                                            .log = printed,
                                            .close = finish};
