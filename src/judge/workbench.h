// SPDX-License-Identifier: Apache-2.0
// What judgements on a device share (assay/judge.h: struct assay_workbench).
#ifndef JUDGE_WORKBENCH_H
#define JUDGE_WORKBENCH_H

#include "assay/judge.h"
#include "compute/compute.h"
#include "device/monitor.h"
#include "device/turn.h"
#include "judge/stamps.h"
#include "runner/device_runner.h"
#include "toolchain/program.h"

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
// Gives back the turn on the device and takes this one (device/turn.h), after workbench_wait; returns how long it
// waited, in ns. One that belongs to another bench has no turns of its own, and NULL is fine.
int64_t workbench_turn(struct assay_workbench *w, enum turn_kind kind);
// Whether others wait whom its turn together with others keeps waiting (turn_is_wanted). NULL is fine.
bool workbench_turn_is_wanted(const struct assay_workbench *w);
// Whether the last turn did not come in ten minutes, because others have the device. NULL is fine.
bool workbench_turn_missed(const struct assay_workbench *w);
// While a candidate is recorded, which may take minutes, those who wait for a turn pass: what records stands still
// meanwhile. Borrowed. The second is how long it has in all, in ns.
const struct sandbox_pauses *workbench_pauses(struct assay_workbench *w);
int64_t workbench_paused_ns(const struct assay_workbench *w);

// After workbench_wait.
struct compute *workbench_compute(struct assay_workbench *w); // NULL: the device is not a GPU of CUDA
const struct device_facts *workbench_facts(const struct assay_workbench *w);
// Reads the monitor. Without one, or when it fails, *c does not change.
void workbench_watch(struct assay_workbench *w, struct device_condition *c);

// The times of a call without a plan's steps. They depend on the machine and not on the candidate, so they are kept for
// the candidates of the next seconds. false: unknown, or too old.
bool workbench_null_known(const struct assay_workbench *w, struct stamps_null *out);
void workbench_null_set(struct assay_workbench *w, const struct stamps_null *measured);

// Shared memory for `bytes` of data: input or output number `index`. It is kept for the next that asks for that number,
// since making and mapping memory takes longer than most kernels. Borrowed until then.
enum assay_status workbench_buffer(struct assay_workbench *w, bool input, int index, size_t bytes,
                                   struct shared_memory **out, struct assay_error *err);
// Memory of the device for copies of `bytes` of outputs (cuda). Borrowed until it is asked for again.
enum assay_status workbench_copies(struct assay_workbench *w, size_t bytes, device_ptr *out, struct assay_error *err);
// Frees what is kept for inputs and outputs from these numbers on: the current task has no more.
void workbench_drop_buffers(struct assay_workbench *w, int from_in, int from_out);

// Frees up to `bytes` of a GPU's memory for another process: the oracle's memory, inputs, outputs and copies that are
// kept, and if necessary the child, which has the last plan's scratch. None of it may be in use.
void workbench_make_room(struct assay_workbench *w, size_t bytes);

// The child, started again if it is gone. workbench_drop_runner ends it: after a fault nothing of it is used again.
enum assay_status workbench_runner(struct assay_workbench *w, struct device_runner **out, struct assay_error *err);
void workbench_drop_runner(struct assay_workbench *w);
// Ends the child and removes its folder, where its compiler keeps code; the next child gets another one.
void workbench_drop_folder(struct assay_workbench *w);

// Appends what kernels printed since the last call. Call it before the child is dropped, which drops its log.
void workbench_take_log(struct assay_workbench *w, struct buf *log);

#endif
