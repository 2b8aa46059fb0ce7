// What judgements on a device share (assay/judge.h: struct assay_workbench).
#ifndef JUDGE_WORKBENCH_H
#define JUDGE_WORKBENCH_H

#include "assay/judge.h"
#include "device/compute.h"
#include "device/monitor.h"
#include "runner/device_runner.h"
#include "toolchain/program.h"

struct workbench_times {
  int64_t compute_ns, utility_ns, runner_ns; // the context, the helper code, the child
};

// Starts opening and returns at once; workbench_wait finishes it. The caller's thread is the one that uses it.
enum assay_status workbench_begin(const struct assay_judge_options *o, struct assay_workbench **out,
                                  struct assay_error *err);
enum assay_status workbench_wait(struct assay_workbench *w, struct assay_error *err);

// A second bench on the same device, with a child and buffers of its own, for candidates that stay while others are
// judged: number `index`. Waits; it lives as long as w.
enum { WORKBENCH_BESIDE = 4 };
enum assay_status workbench_beside(struct assay_workbench *w, int index, struct assay_workbench **out,
                                   struct assay_error *err);

// "sm_90a"; known before the rest is open.
enum assay_status workbench_target(struct assay_workbench *w, char target[16], struct assay_error *err);
struct builder *workbench_builder(struct assay_workbench *w);        // may be NULL
struct python_standby *workbench_standby(struct assay_workbench *w); // may be NULL
// Waits until no process that is to record comes up on the device: before something is timed. NULL is fine.
void workbench_settle(struct assay_workbench *w);

// After workbench_wait.
struct compute *workbench_compute(struct assay_workbench *w); // NULL: the device is not a GPU of CUDA
const struct device_facts *workbench_facts(const struct assay_workbench *w);
// What the monitor says now, for the verdict; *slowed: heat, power or the hardware hold the clock down, so that times
// taken around now say nothing. Where there is no monitor, or it fails, nothing changes.
void workbench_watch(struct assay_workbench *w, struct assay_timing *t, bool *slowed);
const struct workbench_times *workbench_times(const struct assay_workbench *w);

// What a call costs without a plan's steps, in ns: between the device's events, by the judge's clock, and by the stamps
// outside of kernels' reach (0: there are none). It is the machine's and not the candidate's: kept for the candidates
// of the next seconds. false: not known, or too old.
struct workbench_null {
  double overhead_ns, wall_ns, outside_ns;
};
bool workbench_null_known(const struct assay_workbench *w, struct workbench_null *out);
void workbench_null_set(struct assay_workbench *w, const struct workbench_null *measured);

// Shared memory for `bytes` of data: input or output number `index`. It is kept for the next that asks for that number,
// since making and mapping memory takes longer than most kernels. Borrowed until then.
enum assay_status workbench_buffer(struct assay_workbench *w, bool input, int index, size_t bytes,
                                   struct shared_memory **out, struct assay_error *err);
// Memory of the device for copies of `bytes` of outputs, beside those (cuda). Borrowed until it is asked for again.
enum assay_status workbench_copies(struct assay_workbench *w, size_t bytes, device_ptr *out, struct assay_error *err);
// Gives back what is kept for inputs and outputs from these numbers on: the task at hand has no more.
void workbench_drop_buffers(struct assay_workbench *w, int from_in, int from_out);

// Leaves `bytes` of a GPU's memory to another process, as far as giving back what is kept does: the oracle's memory,
// inputs, outputs and copies, and if need be the child, which has the last plan's scratch. Nothing of it may be in use.
void workbench_make_room(struct assay_workbench *w, size_t bytes);

// The child, started again if it is gone. workbench_drop_runner ends it: after a fault nothing of it is used again.
enum assay_status workbench_runner(struct assay_workbench *w, struct device_runner **out, struct assay_error *err);
void workbench_drop_runner(struct assay_workbench *w);

// Appends what kernels printed since this was last asked; before the child is dropped, with which it goes.
void workbench_take_log(struct assay_workbench *w, struct buf *log);

#endif
