// SPDX-License-Identifier: Apache-2.0
// A launch plan on a device. The source becomes a program once; for every layout the program makes a plan, which the
// child executes on buffers that judge and child share. The judge draws the inputs, poisons the outputs and compares in
// its own context. The device's events are the clock; the judge's own clock bounds the times that they may report.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/clock.h"
#include "judge/device_buffers.h"
#include "judge/planning.h"
#include "judge/stamps.h"
#include "judge/subject.h"
#include "judge/workbench.h"

enum { MONITOR_EVERY = 8 };

struct planned {
  struct device_subject on; // its buffers are the workbench's
  struct assay_workbench *bench;
  bool own_bench, cuda;
  struct program_build *build;
  struct program *program;
  struct plan plan; // of the bound layout
  bool has_plan;
  bool libraries_alone;         // the plan launches kernels, and is known to launch none of the candidate's own
  struct stamps_null null_call; // the times of a call without a kernel
  struct stamps_nulls after;    // such calls after the timed ones
  struct stamps stamps;
  struct runner_report failed_early; // the result of the steps that prepare weights
  bool leaves_traces;                // the child must not serve the next candidate
  bool last_counts;                  // the last call's time may be used
  int calls;
  struct buf log; // printed by host code while it was recorded, and by kernels while they ran
};

static struct planned *of(struct subject *s) {
  return (struct planned *)s;
}

static const struct planned *look_at(const struct subject *s) {
  return (const struct planned *)s;
}

static void drop_runner(struct planned *p) {
  workbench_take_log(p->bench, &p->log);
  workbench_drop_runner(p->bench);
}

// ---- building

static enum assay_status start_build(struct planned *p, struct assay_error *err) {
  struct subject *s = &p->on.base;
  const struct subject_env *e = &s->env;
  struct program_options o;
  char target[16];
  enum assay_status status = p->bench ? ASSAY_OK : workbench_begin(e->options, &p->bench, err);
  device_buffers_init(&p->on.buffers, &s->env, p->bench, p->cuda, false);
  if (!status)
    status = workbench_target(p->bench, target, err);
  if (!status)
    status = planning_options(e->options,
                              &(struct planning_build){.source = e->source,
                                                       .n = e->source_bytes,
                                                       .builder = workbench_builder(p->bench),
                                                       .folder = e->build_folder,
                                                       .target = target},
                              e->arena, &o, err);
  if (status)
    return status;
  o.standby = workbench_standby(p->bench);
  o.pauses = workbench_pauses(p->bench);
  s->toolchain = o.toolchain->name;
  return program_start(&o, e->source, e->source_bytes, &p->build, err);
}

static void finish(struct subject *s) {
  struct planned *p = of(s);
  program_cancel(p->build);
  program_release(p->program);
  if (p->has_plan)
    plan_release(&p->plan);
  buf_release(&p->log);
  device_buffers_release(&p->on.buffers);
  if (p->own_bench)
    assay_workbench_close(p->bench);
  base_free(p);
}

static enum assay_status create(const struct subject_env *env, struct subject **out, struct assay_error *err) {
  struct planned *p = base_calloc(1, sizeof *p);
  if (!p)
    return error_nomem(err, "a judgement");
  subject_init(&p->on.base, &subject_plan, env);
  p->cuda = env->choice->form->device->gpu;
  p->bench = env->options->workbench;
  p->own_bench = !p->bench;
  enum assay_status status = start_build(p, err);
  if (status)
    finish(&p->on.base);
  else
    *out = &p->on.base;
  return status;
}

static enum assay_status finish_build(struct subject *s, struct build_result *out, struct assay_error *err) {
  struct program_build *build = of(s)->build;
  of(s)->build = NULL;
  return program_finish(build, out, &of(s)->program, err);
}

// ---- plans

// The kernels' heap belongs to the context: what they do not free is missing for later candidates. (Their other memory
// is freed with the plan.)
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

// What is not known of them is left out: the plan itself was checked.
static void take_needs(const struct plan *p, struct assay_kernels *to) {
  struct plan_need needs[ASSAY_MOST_NEEDS];
  struct assay_error ignored = {0};
  if (plan_needs(p, needs, ASSAY_MOST_NEEDS, &to->n_needs, &ignored) != ASSAY_OK)
    to->n_needs = 0;
  for (int i = 0; i < to->n_needs; i++) {
    const struct plan_need *n = &needs[i];
    to->needs[i] = (struct assay_need){.launches = n->launches,
                                       .registers = n->registers,
                                       .local_bytes = n->local_bytes,
                                       .shared_bytes = n->shared_bytes,
                                       .threads = n->threads,
                                       .blocks = n->blocks,
                                       .occupancy = n->occupancy};
    snprintf(to->needs[i].name, sizeof to->needs[i].name, "%.63s", n->name);
  }
}

// A plan was checked for its kind of device. This checks it against the memory of the device at hand.
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
  return toolchain_uses_device(program_toolchain(p->program));
}

// Makes the plan for the layout; the report says whether there is one.
static enum assay_status make_plan(struct subject *s, const struct layout *l, struct runner_report *report,
                                   struct assay_error *err) {
  struct planned *p = of(s);
  struct plan_report why = {0};
  int64_t start_ns = clock_monotonic_ns(), paused_ns = workbench_paused_ns(p->bench);
  if (p->has_plan)
    plan_release(&p->plan);
  p->has_plan = false;
  if (is_recorded_elsewhere(p) && !s->bound)
    device_buffers_leave_room(&p->on.buffers, l);
  enum assay_status status = planning_make(p->program, s->env.task, l, &p->plan, &why, err);
  if (!status && why.outcome != PLAN_MADE)
    report_no_plan(report, &why);
  if (!status && why.log && !p->log.len)
    buf_puts(&p->log, why.log);
  p->has_plan = !status && why.outcome == PLAN_MADE;
  p->libraries_alone = p->has_plan && why.shares.known && why.shares.launches[PLAN_OWN] == 0;
  if (p->has_plan && l == s->timed) {
    take_shares(&why.shares, &s->found.kernels);
    take_needs(&p->plan, &s->found.kernels);
    s->found.kernels.unsettled_arguments = plan_unsettled(&p->plan);
  }
  const char *tf32 = p->has_plan ? plan_tf32_kernel(&p->plan) : NULL;
  if (tf32)
    snprintf(s->found.kernels.tf32, sizeof s->found.kernels.tf32, "%s", tf32);
  p->leaves_traces = p->leaves_traces || (p->has_plan && uses_heap(&p->plan));
  plan_report_release(&why);
  paused_ns = workbench_paused_ns(p->bench) - paused_ns;
  s->found.plan_ns += clock_monotonic_ns() - start_ns - paused_ns;
  s->found.open_ns += paused_ns;
  return status;
}

static enum assay_status load_plan(struct planned *p, struct device_runner *runner, bool inputs_writable,
                                   struct runner_report *report, struct assay_error *err) {
  struct device_buffers *b = &p->on.buffers;
  const struct shared_buffers shared = {b->n_in, b->n_out, b->in, b->out};
  return device_runner_load(runner, &p->plan, &shared, inputs_writable, report, err);
}

static enum assay_status bind(struct subject *s, const struct layout *l, struct runner_report *report,
                              struct assay_error *err) {
  struct planned *p = of(s);
  struct device_runner *runner;
  memset(report, 0, sizeof *report);
  enum assay_status status = make_plan(s, l, report, err);
  if (status || !p->has_plan || !fits_device(p, report))
    return status;
  int64_t start_ns = clock_monotonic_ns();
  status = device_buffers_make(&p->on.buffers, l, err);
  if (!status)
    status = workbench_runner(p->bench, &runner, err);
  if (!status)
    snprintf(s->found.weakness, sizeof s->found.weakness, "%s", device_runner_weakness(runner));
  if (!status)
    status = load_plan(p, runner, false, report, err);
  if (status || report->event != RUNNER_OK)
    drop_runner(p);
  s->found.bind_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// ---- calls

// Steps that prepare weights run while all other inputs hold the poison, so they cannot compute from data. (If they
// fail, the call fails again and reports it.)
static enum assay_status prepare(struct subject *s, uint32_t poison, struct assay_error *err) {
  struct planned *p = of(s);
  struct device_runner *runner;
  struct runner_report report = {0};
  struct device_times times = {0};
  int64_t wall_ns;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < p->on.buffers.n_in && !status; i++)
    if (!s->env.task->inputs[i].distribution.is_static)
      status = shared_fill(&p->on.buffers.in[i], poison, err);
  if (!status)
    status = device_buffers_settle(&p->on.buffers, err);
  if (!status)
    status = workbench_runner(p->bench, &runner, err);
  if (!status)
    status = device_runner_call(runner, DEVICE_PREPARE, &report, &times, &wall_ns, err);
  p->failed_early = report;
  s->found.prepare_ns = (double)times.prepare_ns;
  return status;
}

// Inputs are drawn where the child sees them, read-only for kernels; outputs are filled with the pattern.
static enum assay_status fill(struct subject *s, enum probe probe, uint64_t key, uint32_t poison,
                              struct assay_error *err) {
  struct planned *p = of(s);
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_draw(&p->on.buffers, s->bound->workload, probe, key, err);
  if (!status && p->plan.n_prepare > 0) {
    status = prepare(s, poison, err);
    if (!status)
      status = device_buffers_draw(&p->on.buffers, s->bound->workload, probe, key, err);
  }
  if (!status)
    status = device_buffers_poison(&p->on.buffers, poison, err);
  s->found.fill_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// Repeats the call in a fresh child.
static enum assay_status call_again(struct planned *p, bool inputs_writable, bool *faults, struct assay_error *err) {
  struct device_runner *runner;
  struct runner_report again = {0};
  struct device_times times;
  int64_t wall_ns;
  drop_runner(p);
  enum assay_status status = workbench_runner(p->bench, &runner, err);
  if (!status)
    status = load_plan(p, runner, inputs_writable, &again, err);
  if (!status && again.event == RUNNER_OK && p->plan.n_prepare > 0)
    status = device_runner_call(runner, DEVICE_PREPARE, &again, &times, &wall_ns, err);
  if (!status && again.event == RUNNER_OK)
    status = device_runner_call(runner, DEVICE_COLD, &again, &times, &wall_ns, err);
  drop_runner(p);
  *faults = again.event != RUNNER_OK;
  return status;
}

// A kernel touched memory that is not its own. If the same call faults with read-only inputs but not with writable
// ones, it was a write to an input. (A kernel that counts its calls may fault with neither.)
static enum assay_status explain_fault(struct subject *s, struct runner_report *report, struct assay_error *err) {
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
    s->found.libraries_fault = p->libraries_alone;
  }
  return ASSAY_OK;
}

// Combines the clocks of a call. Without a GPU there is only one.
static void weigh(struct subject *s, enum call_mode mode, const struct device_times *times, int64_t wall_ns,
                  struct runner_report *report) {
  struct planned *p = of(s);
  const struct stamps_call c = {.as_called = mode == CALL_AS_CALLED,
                                .cold = mode == CALL_COLD && s->bound == s->timed,
                                .repeated = times->repeated,
                                .let_go_early = times->let_go_early,
                                .events_ns = (double)report->elapsed_ns,
                                .outside_ns = (double)times->outside_ns,
                                .wall_ns = (double)wall_ns};
  p->last_counts = !times->repeated;
  if (p->cuda)
    report->elapsed_ns = (int64_t)stamps_take(&p->stamps, &p->null_call, &c, &p->last_counts);
}

static enum assay_status call(struct subject *s, enum call_mode mode, struct runner_report *report,
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
  s->found.call_ns += clock_monotonic_ns() - start_ns;
  if (status || report->event != RUNNER_OK) {
    if (!status && report->event == RUNNER_CRASHED && p->cuda)
      status = explain_fault(s, report, err);
    drop_runner(p);
    return status;
  }
  weigh(s, mode, &times, wall_ns, report);
  if (p->calls++ % MONITOR_EVERY == 0)
    workbench_watch(p->bench, &s->found.condition);
  return ASSAY_OK;
}

static enum assay_status inspect(struct subject *s, struct runner_report *report, struct assay_error *err) {
  int64_t start_ns = clock_monotonic_ns();
  enum assay_status status = device_buffers_inspect(&of(s)->on.buffers, report, err);
  if (!status && report->event != RUNNER_OK)
    drop_runner(of(s));
  s->found.inspect_ns += clock_monotonic_ns() - start_ns;
  return status;
}

// After DEVICE_HELD_STEPS steps the device is at work while the rest is queued.
static struct stamps_facts stamps(const struct subject *s, const double *samples, int n) {
  const struct planned *p = look_at(s);
  int queued = p->plan.n_steps - p->plan.n_prepare;
  struct stamps_null null = p->null_call;
  if (p->after.n > 0) {
    const struct stamps_null after = stamps_null_of(&p->after);
    stamps_null_again(&null, &after);
  }
  return stamps_judge(&p->stamps, &null, samples, n, queued < DEVICE_HELD_STEPS ? queued : DEVICE_HELD_STEPS);
}

static void time_again(struct subject *s) {
  stamps_time_again(&of(s)->stamps);
}

// The protocol's own cost: a call with nothing between its two events (docs/timing.md), and its time by the judge's
// clock.
static enum assay_status measure_null(struct planned *p, struct stamps_nulls *all, struct runner_report *report,
                                      struct assay_error *err) {
  struct device_runner *runner;
  struct device_times times = {0};
  int64_t wall_ns = 0;
  enum assay_status status = workbench_runner(p->bench, &runner, err);
  // The judge uses the device before every call, as it does before those of the candidate: handing it over takes time.
  if (!status)
    status = shared_fill(&p->on.buffers.out[0], POISON_NAN, err);
  if (!status)
    status = device_buffers_settle(&p->on.buffers, err);
  if (!status)
    status = device_runner_call(runner, DEVICE_NULL, report, &times, &wall_ns, err);
  if (!status && report->event == RUNNER_OK)
    stamps_null_add(all, (double)report->elapsed_ns, (double)times.outside_ns, (double)wall_ns);
  return status;
}

static enum assay_status calibrate(struct planned *p, struct assay_error *err) {
  enum { CALLS = 12, WARM_UP = 4 };
  struct stamps_nulls warm_up = {0}, all = {0};
  struct runner_report report = {0};
  enum assay_status status = ASSAY_OK;
  if (workbench_null_known(p->bench, &p->null_call))
    return ASSAY_OK;
  workbench_settle(p->bench);
  subject_turn(&p->on.base, TURN_ALONE);
  status = subject_has_turn(&p->on.base, err);
  for (int i = 0; i < CALLS + WARM_UP && !status; i++) {
    status = measure_null(p, i < WARM_UP ? &warm_up : &all, &report, err);
    if (!status && report.event != RUNNER_OK)
      status = error_set(err, ASSAY_ERR_ENVIRONMENT, "the device failed without a kernel: %s", report.detail);
  }
  subject_turn(&p->on.base, TURN_TOGETHER);
  if (status)
    return status;
  p->null_call = stamps_null_of(&all);
  workbench_null_set(p->bench, &p->null_call);
  return ASSAY_OK;
}

static enum assay_status null_call(struct subject *s, double *overhead_ns, struct runner_report *report,
                                   struct assay_error *err) {
  struct planned *p = of(s);
  enum assay_status status = measure_null(p, &p->after, report, err);
  if (status || report->event != RUNNER_OK) {
    drop_runner(p);
    return status;
  }
  const struct stamps_null after = stamps_null_of(&p->after);
  struct stamps_null both = p->null_call;
  stamps_null_again(&both, &after);
  *overhead_ns = both.events_ns;
  return ASSAY_OK;
}

static enum assay_status load(struct subject *s, const struct layout *layouts, int n, struct subject_loaded *out,
                              struct assay_error *err) {
  struct planned *p = of(s);
  *out = (struct subject_loaded){.overhead_ns = NAN};
  s->timed = &layouts[0];
  enum assay_status status = device_buffers_open(&p->on.buffers, out, &s->found.open_ns, err);
  s->on = p->bench;
  subject_turn(s, TURN_TOGETHER);
  if (!status)
    status = planning_expect(p->program, s->env.task, layouts, n, err);
  if (!status)
    status = subject_bind(s, s->timed, &out->report, err);
  if (status || out->report.event != RUNNER_OK || !s->env.options->timing)
    return status;
  status = calibrate(p, err);
  out->overhead_ns = p->null_call.events_ns;
  return status;
}

static bool steady(const struct subject *s) {
  return !s->found.condition.slowed && look_at(s)->last_counts;
}

static void leave(struct subject *s) {
  struct planned *p = of(s);
  device_buffers_forget(&p->on.buffers);
  if (p->leaves_traces)
    drop_runner(p);
  else
    workbench_take_log(p->bench, &p->log);
  if (!p->cuda) // the candidate's code was in the child before it was locked down, and could write to the folder
    workbench_drop_folder(p->bench);
}

static const char *printed(const struct subject *s) {
  return buf_str(&look_at(s)->log);
}

const struct subject_ops subject_plan = {.mode = "plan",
                                         .without_plan = &subject_process,
                                         .has_as_called = true,
                                         .tick_ns = 32, // of the events of NVIDIA's GPUs
                                         .timing_ns = 60000000,
                                         .create = create,
                                         .finish_build = finish_build,
                                         .load = load,
                                         .bind = bind,
                                         .fill = fill,
                                         .call = call,
                                         .inspect = inspect,
                                         .null_call = null_call,
                                         .stamps = stamps,
                                         .time_again = time_again,
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
