// SPDX-License-Identifier: Apache-2.0
// A candidate's inputs and outputs in memory that judge and candidate share: memory of the GPU, or ordinary memory
// where the device has none of its own. The judge draws inputs, poisons outputs, checks the bands and compares here.
// The process that runs the candidate maps the same memory by its descriptors (device/shared.h).
#ifndef JUDGE_DEVICE_BUFFERS_H
#define JUDGE_DEVICE_BUFFERS_H

#include "device/shared.h"
#include "judge/device_check.h"
#include "judge/subject.h"
#include "judge/workbench.h"

struct device_buffers {
  const struct subject_env *env;
  struct assay_workbench *bench; // open; NULL: ordinary memory, without a device
  bool cuda;                     // it is memory of the GPU
  // The memory belongs to this candidate and is freed with it, because a process that has its descriptors may hold it
  // for ever. Otherwise it belongs to the bench, which keeps it for the next candidate.
  bool own;
  uint32_t bands; // the pattern around outputs
  int n_in, n_out;
  struct shared_memory in[RUNNER_MAX_BUFFERS], out[RUNNER_MAX_BUFFERS];
  unsigned char *copies; // of outputs of timed calls, in ordinary memory
  struct device_scales scales;
};

// A subject with such buffers begins with this.
struct device_subject {
  struct subject base;
  struct device_buffers buffers;
};

// Allocates nothing yet. `env` and `bench` are borrowed; `bench` may be opened later.
void device_buffers_init(struct device_buffers *b, const struct subject_env *env, struct assay_workbench *bench,
                         bool cuda, bool own);
// Frees memory of its own. Called by the thread that uses the device.
void device_buffers_drop(struct device_buffers *b);
// Frees what is kept from check to check. Called by the same thread.
void device_buffers_forget(struct device_buffers *b);
void device_buffers_release(struct device_buffers *b); // the rest; after both

// Called before another process allocates memory of the GPU for the layout's tensors: two sets of them, and its
// intermediate results. Where the tensors are large, frees what the bench keeps of earlier candidates. No layout may be
// bound.
void device_buffers_leave_room(struct device_buffers *b, const struct layout *l);

// Makes buffers for the layout in place of those before. The bands of outputs are poisoned here, once: the judge does
// not write to them again.
enum assay_status device_buffers_make(struct device_buffers *b, const struct layout *l, struct assay_error *err);

// Draws the inputs of the layout that the buffers are made for (subject_ops.fill). Does not wait.
enum assay_status device_buffers_draw(struct device_buffers *b, const struct workload *w, enum probe probe,
                                      uint64_t key, struct assay_error *err);
// Leaves nothing of what was drawn before, and waits.
enum assay_status device_buffers_wipe(struct device_buffers *b, struct assay_error *err);
// Fills the outputs, and waits for all of the judge's work on the device.
enum assay_status device_buffers_poison(struct device_buffers *b, uint32_t poison, struct assay_error *err);
enum assay_status device_buffers_settle(struct device_buffers *b, struct assay_error *err);

// Checks the bands of outputs; the report says where they are damaged. Inputs need no check: no process that runs a
// candidate maps them for writing.
enum assay_status device_buffers_inspect(struct device_buffers *b, struct runner_report *report,
                                         struct assay_error *err);

// Waits for the device and names it in *out. *waited_ns: for how long. Does nothing without a bench.
enum assay_status device_buffers_open(struct device_buffers *b, struct subject_loaded *out, int64_t *waited_ns,
                                      struct assay_error *err);

// Slots of subject_ops, for a struct device_subject.
const void *device_buffers_output(const struct subject *s, int o);
enum assay_status device_buffers_read(struct subject *s, int o, void *to, struct assay_error *err);
enum assay_status device_buffers_keep(struct subject *s, int slot, struct assay_error *err);
enum assay_status device_buffers_read_kept(struct subject *s, int slot, int o, void *to, struct assay_error *err);
bool device_buffers_answer(const struct subject *s, const struct layout *l);
// A candidate's own process can reach buffers of its own during the check; a plan's kernels cannot. For such buffers,
// the outputs are first copied, and the inputs are drawn again into memory of the judge: the candidate may have written
// to those that it was called with.
enum assay_status device_buffers_check(struct subject *s, const struct question *q, uint32_t poison,
                                       struct assay_check *checks, struct assay_error *err);

#endif
