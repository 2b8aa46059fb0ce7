// A launch plan on a device. The source becomes a program once; for every layout the program makes a plan, which the
// child carries out on buffers that judge and child share. The judge draws the inputs, poisons the outputs and compares
// in its own context; the device's events are the clock, and the judge's own clock bounds what they may say.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/device_buffers.h"
#include "judge/planning.h"
#include "judge/session.h"
#include "judge/workbench.h"
#include "stats/stats.h"

enum { MONITOR_EVERY = 8, MOST_WALLS = 1024 };

// The time by stamps outside of kernels' reach scatters more than that between events (99 % within 1 us, medians of 30
// within 0.1; on some machines they come in two heaps, 0.5 us apart): by how much it must be longer in one call to be
// believed instead, and by how much in the median, with a part of the time itself.
static const double STAMPS_APART_NS = 1000, MEDIANS_APART_NS = 300, MEDIANS_APART_PART = 0.001;
// Where the stream was let go early, the host's way from the second event to the stamp is in the time, too.
static const double LATE_STAMP_NS = 50000;
// What queueing a step may take by the judge's clock, which runs from before the first is queued; some 4 us are usual.
// Behind DEVICE_HELD_STEPS the device is at work meanwhile.
static const double QUEUEING_NS = 10000;

struct planned {
  struct assay_workbench *bench;
  bool own_bench, cuda;
  struct program_build *build;
  struct program *program;
  struct plan plan; // of the bound layout
  bool has_plan;
  struct device_buffers buffers; // the workbench's
  double null_wall_ns;           // by the judge's clock: a call without a kernel
  int n_walls;
  double walls_ns[MOST_WALLS];       // and cold ones
  struct runner_report failed_early; // what became of the steps that prepare
  bool leaves_traces;                // the child is not to be the next candidate's
  bool slowed;                       // by what the monitor last said
  bool repeated;                     // the last call's steps ran twice on the same inputs: its time says nothing
  bool unproven;                     // the last call's time has no stamps outside of the kernels' reach beside it
  double null_outside_ns;            // by those stamps: a call without a kernel
  int n_apart, n_compared;           // calls whose events told less than the stamps outside, of so many
  double excess_ns[MOST_WALLS];      // of cold calls: by how much the stamps outside told more
  int n_excess;
  int calls;
  struct buf log; // what host code printed while it was recorded, and kernels while they ran
};

static struct planned *of(struct session *s) {
  return s->state;
}

static void drop_runner(struct planned *p) {
  workbench_take_log(p->bench, &p->log);
  workbench_drop_runner(p->bench);
}

// ---- building

static enum assay_status start(struct session *s, struct assay_error *err) {
  struct planned *p = s->state = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "a judgement");
  p->cuda = strcmp(s->o->device, "cuda") == 0;
  p->bench = s->o->workbench;
  p->own_bench = !p->bench;
  enum assay_status status = p->bench ? ASSAY_OK : workbench_begin(s->o, &p->bench, err);
  device_buffers_init(&p->buffers, s, p->bench, p->cuda, false);
  struct program_options o;
  char target[16];
  if (!status)
    status = workbench_target(p->bench, target, err);
  if (!status)
    status = planning_options(s->o, s->source, s->source_bytes, workbench_builder(p->bench), s->build_folder, target,
                              &s->arena, &o, err);
  o.standby = workbench_standby(p->bench);
  if (!status)
    snprintf(s->v->toolchain, sizeof s->v->toolchain, "%s", toolchain_name(o.toolchain));
  return status ? status : program_start(&o, s->source, s->source_bytes, &p->build, err);
}

static enum assay_status finish_build(struct session *s, bool *good, struct assay_error *err) {
  struct build_result r;
  struct program_build *build = of(s)->build;
  of(s)->build = NULL;
  enum assay_status status = program_finish(build, &r, &of(s)->program, err);
  if (!status)
    session_take_build(s, &r, good);
  return status;
}

// ---- plans

// Kernels' heap is the context's: what they do not free is missing for those who come after them. (Their other memory
// goes with the plan.)
static bool uses_heap(const struct plan *p) {
  static const char name[] = "malloc";
  for (int i = 0; i < p->n_modules; i++)
    if (memmem(p->modules[i].bytes, p->modules[i].size, name, strlen(name)))
      return true;
  return false;
}

static void report_no_plan(struct runner_report *report, struct plan_report *why) {
  static const enum runner_event events[] = {RUNNER_OK,        RUNNER_UNRECORDABLE, RUNNER_CRASHED,
                                             RUNNER_TIMED_OUT, RUNNER_INVALID_PLAN, RUNNER_RAISED};
  report->event = events[why->outcome];
  snprintf(report->detail, sizeof report->detail, "%.250s", why->detail);
}

static void take_shares(const struct plan_shares *from, struct assay_kernels *to) {
  _Static_assert((int)PLAN_ORIGINS == (int)ASSAY_ORIGINS && (int)PLAN_PYTORCH == (int)ASSAY_PYTORCH_KERNELS,
                 "one list");
  double sum = 0;
  for (int i = 0; i < ASSAY_ORIGINS; i++)
    sum += (double)from->ns[i];
  to->known = from->known;
  for (int i = 0; i < ASSAY_ORIGINS; i++) {
    to->launches[i] = from->launches[i];
    to->part[i] = (double)from->ns[i] / sum;
  }
}

// A plan was checked for its kind of device; this holds it against the device at hand, whose memory is finite.
static bool fits_device(const struct planned *p, struct runner_report *report) {
  struct assay_error why = {0};
  enum assay_status status = plan_check(&p->plan, &workbench_facts(p->bench)->limits, NULL, &why);
  if (!status)
    return true;
  report->event = status == ASSAY_ERR_LIMIT ? RUNNER_OUT_OF_MEMORY : RUNNER_INVALID_PLAN;
  snprintf(report->detail, sizeof report->detail, "%.250s", why.message);
  return false;
}

// Recording takes place in another process.
static bool is_recorded_elsewhere(const struct planned *p) {
  enum toolchain toolchain = program_toolchain(p->program);
  return toolchain == TOOLCHAIN_PYTHON || toolchain == TOOLCHAIN_LIBRARY;
}

static enum assay_status bind(struct session *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  struct planned *p = of(s);
  struct plan_report why = {0};
  struct device_runner *runner;
  memset(report, 0, sizeof *report);
  if (p->has_plan)
    plan_release(&p->plan);
  p->has_plan = false;
  int64_t start_ns = clock_monotonic_ns();
  if (is_recorded_elsewhere(p) && !s->bound)
    device_buffers_leave_room(&p->buffers, l);
  enum assay_status status = planning_make(p->program, &s->task, l, &p->plan, &why, err);
  if (!status && why.outcome != PLAN_MADE)
    report_no_plan(report, &why);
  if (!status && why.log && !p->log.len)
    buf_puts(&p->log, why.log);
  p->has_plan = !status && why.outcome == PLAN_MADE;
  if (p->has_plan && l == &s->layouts[0]) {
    take_shares(&why.shares, &s->v->kernels);
    s->v->kernels.unsettled_arguments = plan_unsettled(&p->plan);
  }
  p->leaves_traces = p->leaves_traces || (p->has_plan && uses_heap(&p->plan));
  plan_report_release(&why);
  s->v->durations.plan_ns += clock_monotonic_ns() - start_ns;
  if (status || !p->has_plan)
    return status;
  if (!fits_device(p, report))
    return ASSAY_OK;
  start_ns = clock_monotonic_ns();
  status = device_buffers_make(&p->buffers, l, err);
  if (!status)
    status = workbench_runner(p->bench, &runner, err);
  if (!status)
    snprintf(s->weakness, sizeof s->weakness, "%s", device_runner_weakness(runner));
  if (!status)
    status = device_runner_load(runner, &p->plan, p->buffers.n_in, p->buffers.in, false, p->buffers.n_out,
                                p->buffers.out, report, err);
  if (status || report->event != RUNNER_OK)
    drop_runner(p);
  s->v->durations.bind_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// ---- calls

// Steps that prepare weights run while all other inputs hold the poison: whatever they compute, it is not from data. (A
// failure shows again in the call, which reports it.)
static enum assay_status prepare(struct session *s, uint32_t poison, struct assay_error *err) {
  struct planned *p = of(s);
  struct device_runner *runner;
  struct runner_report report = {0};
  struct device_times times = {0};
  int64_t wall_ns;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < p->buffers.n_in && !status; i++)
    if (!s->task.inputs[i].distribution.is_static)
      status = shared_fill(&p->buffers.in[i], poison, err);
  if (!status)
    status = device_buffers_settle(&p->buffers, err);
  if (!status)
    status = workbench_runner(p->bench, &runner, err);
  if (!status)
    status = device_runner_call(runner, DEVICE_PREPARE, &report, &times, &wall_ns, err);
  p->failed_early = report;
  s->v->timing.prepare_ns = (double)times.prepare_ns;
  return status;
}

// Inputs are drawn where the child sees them, read-only for kernels; outputs are filled with the pattern.
static enum assay_status fill(struct session *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  struct planned *p = of(s);
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_draw(&p->buffers, s, probe, key, err);
  if (!status && p->plan.n_prepare > 0) {
    status = prepare(s, poison, err);
    if (!status)
      status = device_buffers_draw(&p->buffers, s, probe, key, err);
  }
  if (!status)
    status = device_buffers_poison(&p->buffers, poison, err);
  s->v->durations.fill_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// The same call once more, in a fresh child.
static enum assay_status call_again(struct planned *p, bool inputs_writable, bool *faults, struct assay_error *err) {
  struct device_runner *runner;
  struct runner_report again = {0};
  struct device_times times;
  int64_t wall_ns;
  drop_runner(p);
  enum assay_status status = workbench_runner(p->bench, &runner, err);
  if (!status)
    status = device_runner_load(runner, &p->plan, p->buffers.n_in, p->buffers.in, inputs_writable, p->buffers.n_out,
                                p->buffers.out, &again, err);
  if (!status && again.event == RUNNER_OK && p->plan.n_prepare > 0)
    status = device_runner_call(runner, DEVICE_PREPARE, &again, &times, &wall_ns, err);
  if (!status && again.event == RUNNER_OK)
    status = device_runner_call(runner, DEVICE_COLD, &again, &times, &wall_ns, err);
  drop_runner(p);
  *faults = again.event != RUNNER_OK;
  return status;
}

// A kernel touched memory that is not its own. If nothing faults with writable inputs, and the same call does with
// read-only ones, it was a write to an input. (A kernel that counts its calls may fault in neither.)
static enum assay_status explain_fault(struct session *s, struct runner_report *report, struct assay_error *err) {
  struct planned *p = of(s);
  bool faults = true, faults_read_only = false;
  enum assay_status status = call_again(p, true, &faults, err);
  if (!status && !faults)
    status = call_again(p, false, &faults_read_only, err);
  if (status)
    return status;
  if (faults_read_only) {
    report->event = RUNNER_WROTE_INPUT;
    snprintf(report->detail, sizeof report->detail,
             "a kernel wrote to an input: it faults with inputs mapped read-only and does not with writable ones");
  } else if (strstr(report->detail, "ILLEGAL_ADDRESS")) {
    report->event = RUNNER_OUT_OF_BOUNDS;
  }
  return ASSAY_OK;
}

// The judge's own clock as a witness of one cold call.
static void witness(struct planned *p, int64_t wall_ns) {
  if (p->n_walls < MOST_WALLS)
    p->walls_ns[p->n_walls++] = (double)wall_ns;
}

// Events' stamps can be forged by a kernel, those outside cannot (device/cuda_flush.c): where these say that it took
// longer, they are right. They scatter more, so that less than that shows in the median only: inspect.
static void believe(struct session *s, const struct device_times *times, struct runner_report *report, bool cold) {
  struct planned *p = of(s);
  double outside_ns = (double)times->outside_ns - p->null_outside_ns + s->overhead_ns;
  if (times->outside_ns == 0 || p->null_outside_ns <= 0)
    return;
  double excess_ns = outside_ns - (double)report->elapsed_ns;
  p->n_compared++;
  if (excess_ns <= STAMPS_APART_NS) {
    if (cold && s->bound == &s->layouts[0] && p->n_excess < MOST_WALLS && !times->let_go_early)
      p->excess_ns[p->n_excess++] = excess_ns;
    return;
  }
  p->n_apart += !times->let_go_early || excess_ns > LATE_STAMP_NS;
  report->elapsed_ns = (int64_t)outside_ns;
}

static enum assay_status call(struct session *s, enum call_mode mode, struct runner_report *report,
                              struct assay_error *err) {
  static const enum device_mode modes[] = {DEVICE_COLD, DEVICE_HOT, DEVICE_AS_CALLED};
  struct planned *p = of(s);
  struct device_runner *runner;
  struct device_times times = {0};
  int64_t wall_ns = 0;
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = ASSAY_OK;
  if (p->failed_early.event != RUNNER_OK) { // in a step that prepares; the child is gone
    *report = p->failed_early;
    p->failed_early = (struct runner_report){0};
  } else {
    status = workbench_runner(p->bench, &runner, err);
    if (!status)
      status = device_runner_call(runner, modes[mode], report, &times, &wall_ns, err);
  }
  s->v->durations.call_ns += clock_monotonic_ns() - start_ns;
  if (status || report->event != RUNNER_OK) {
    if (!status && report->event == RUNNER_CRASHED && p->cuda)
      status = explain_fault(s, report, err);
    drop_runner(p);
    return status;
  }
  p->repeated = times.repeated;
  p->unproven = p->cuda && mode != CALL_AS_CALLED && times.outside_ns == 0;
  if (p->cuda && mode == CALL_COLD && s->bound == &s->layouts[0] && !p->repeated)
    witness(p, wall_ns);
  if (p->cuda && mode != CALL_AS_CALLED)
    believe(s, &times, report, mode == CALL_COLD);
  if (p->calls++ % MONITOR_EVERY == 0)
    workbench_watch(p->bench, &s->v->timing, &p->slowed);
  return ASSAY_OK;
}

static enum assay_status inspect(struct session *s, struct runner_report *report, struct assay_error *err) {
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_inspect(&of(s)->buffers, report, err);
  if (!status && report->event != RUNNER_OK)
    drop_runner(of(s));
  struct planned *p = of(s);
  if (p->n_walls > 0)
    s->v->timing.wall_ns = fmax(0, stats_median(p->walls_ns, p->n_walls) - p->null_wall_ns);
  s->v->timing.stamps_apart = p->n_apart;
  s->v->timing.stamps_compared = p->n_compared;
  s->queueing_ns = QUEUEING_NS * fmin(p->plan.n_steps - p->plan.n_prepare, DEVICE_HELD_STEPS);
  double excess_ns = p->n_excess > 0 ? stats_median(p->excess_ns, p->n_excess) : 0;
  double time_ns = s->v->timing.n_samples > 0 ? stats_median(s->v->timing.samples_ns, s->v->timing.n_samples) : 0;
  s->v->timing.stamps_excess_ns = excess_ns > MEDIANS_APART_NS + MEDIANS_APART_PART * time_ns ? excess_ns : 0;
  s->v->durations.inspect_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// The protocol's own cost: the time between the events with nothing between them (docs/timing.md), and what such a call
// takes by the judge's clock.
static enum assay_status measure_null(struct session *s, struct workbench_null *out, struct assay_error *err) {
  enum { CALLS = 12, WARM_UP = 4 };
  double overhead[CALLS], walls[CALLS], outside[CALLS];
  int n_outside = 0;
  struct runner_report report = {0};
  struct device_runner *runner;
  enum assay_status status = workbench_runner(of(s)->bench, &runner, err);
  workbench_settle(of(s)->bench);
  for (int i = 0; i < CALLS + WARM_UP && !status; i++) {
    struct device_times times;
    int64_t wall_ns = 0;
    // The judge uses the device before every call, as it does before those of the candidate: handing it over takes
    // time.
    status = shared_fill(&of(s)->buffers.out[0], POISON_NAN, err);
    if (!status)
      status = device_buffers_settle(&of(s)->buffers, err);
    if (!status)
      status = device_runner_call(runner, DEVICE_NULL, &report, &times, &wall_ns, err);
    if (!status && report.event != RUNNER_OK)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "the device failed without a kernel: %s", report.detail);
    if (!status && i >= WARM_UP) {
      overhead[i - WARM_UP] = (double)report.elapsed_ns;
      walls[i - WARM_UP] = (double)wall_ns;
      if (times.outside_ns > 0)
        outside[n_outside++] = (double)times.outside_ns;
    }
  }
  if (status)
    return status;
  *out = (struct workbench_null){.overhead_ns = stats_median(overhead, CALLS),
                                 .wall_ns = stats_median(walls, CALLS),
                                 .outside_ns = n_outside > 0 ? stats_median(outside, n_outside) : 0};
  return ASSAY_OK;
}

static enum assay_status calibrate(struct session *s, struct assay_error *err) {
  struct workbench_null null_call;
  if (!workbench_null_known(of(s)->bench, &null_call)) {
    enum assay_status status = measure_null(s, &null_call, err);
    if (status)
      return status;
    workbench_null_set(of(s)->bench, &null_call);
  }
  s->overhead_ns = null_call.overhead_ns;
  of(s)->null_wall_ns = null_call.wall_ns;
  of(s)->null_outside_ns = null_call.outside_ns;
  return ASSAY_OK;
}

static enum assay_status load(struct session *s, bool *good, struct assay_error *err) {
  struct planned *p = of(s);
  struct runner_report report = {0};
  enum assay_status status = device_buffers_open(s, err);
  if (!status)
    status = planning_expect(p->program, &s->task, s->layouts, s->n_layouts, err);
  if (!status)
    status = session_bind(s, &s->layouts[0], &report, err);
  *good = !status && report.event == RUNNER_OK;
  if (!status && !*good)
    session_decide_event(s, &report);
  if (!status && *good && s->o->timing)
    status = calibrate(s, err);
  return status;
}

static bool steady(struct session *s) {
  return !of(s)->slowed && !of(s)->repeated && !of(s)->unproven;
}

static void leave(struct session *s) {
  struct planned *p = of(s);
  device_buffers_forget(&p->buffers);
  if (p->leaves_traces)
    drop_runner(p);
  else
    workbench_take_log(p->bench, &p->log);
}

static const char *printed(struct session *s) {
  return buf_str(&of(s)->log);
}

static void finish(struct session *s) {
  struct planned *p = of(s);
  program_cancel(p->build);
  program_release(p->program);
  if (p->has_plan)
    plan_release(&p->plan);
  buf_release(&p->log);
  device_buffers_release(&p->buffers);
  if (p->own_bench)
    assay_workbench_close(p->bench);
  base_free(p);
}

const struct subject_ops subject_plan = {.mode = "plan",
                                         .without_plan = &subject_process,
                                         .has_as_called = true,
                                         .tick_ns = 32, // of the events of NVIDIA's GPUs
                                         .timing_ns = 60000000,
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
