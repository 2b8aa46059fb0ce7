// A candidate's inputs and outputs where judge and candidate both see them: memory of the GPU, or ordinary memory where
// the device has none of its own. The judge draws, poisons, looks at the bands and compares here; what runs the
// candidate maps the same memory by its descriptors (device/shared.h).
#ifndef JUDGE_DEVICE_BUFFERS_H
#define JUDGE_DEVICE_BUFFERS_H

#include "device/shared.h"
#include "judge/device_check.h"
#include "judge/workbench.h"

struct session;

struct device_buffers {
  struct assay_workbench *bench; // open; NULL: ordinary memory, without a device
  bool cuda;                     // the memory is the GPU's
  // The memory is this candidate's alone and goes with it: whoever had its descriptors may hold it for ever. Otherwise
  // it is the bench's, which keeps it for the next candidate.
  bool own;
  uint32_t bands; // the pattern around outputs
  int n_in, n_out;
  struct shared_memory in[RUNNER_MAX_BUFFERS], out[RUNNER_MAX_BUFFERS];
  unsigned char *copies; // of outputs of timed calls, in ordinary memory
  struct device_scales scales;
};

// Takes nothing yet. `bench` may be opened later.
// They become the session's.
void device_buffers_init(struct device_buffers *b, struct session *s, struct assay_workbench *bench, bool cuda,
                         bool own);
// Gives back memory of its own; from the thread that uses the device.
void device_buffers_drop(struct device_buffers *b);
// Gives back what is kept from check to check; from the same thread.
void device_buffers_forget(struct device_buffers *b);
void device_buffers_release(struct device_buffers *b); // the rest; after both

// Before another process takes a GPU's memory for the layout's tensors (two sets of them, and what it makes between
// them): gives back what the bench keeps of earlier candidates, where the tensors are large. No layout may be bound.
void device_buffers_leave_room(struct device_buffers *b, const struct layout *l);

// Buffers for the layout in place of those before, with the bands of outputs poisoned: once, since nobody changes them
// again.
enum assay_status device_buffers_make(struct device_buffers *b, const struct layout *l, struct assay_error *err);

// Draws the inputs of the bound layout (subject_ops.fill). Does not wait.
enum assay_status device_buffers_draw(struct device_buffers *b, struct session *s, enum probe probe, uint64_t key,
                                      struct assay_error *err);
// Fills the outputs; waits for all that the judge has under way on the device.
enum assay_status device_buffers_poison(struct device_buffers *b, uint32_t poison, struct assay_error *err);
enum assay_status device_buffers_settle(struct device_buffers *b, struct assay_error *err);

// Looks at the bands of outputs; the report says where they are damaged. Nothing that runs a candidate maps inputs
// for writing.
enum assay_status device_buffers_inspect(struct device_buffers *b, struct runner_report *report,
                                         struct assay_error *err);

// For a session whose subject has such buffers: waits for the device, and puts down in the verdict which it is.
enum assay_status device_buffers_open(struct session *s, struct assay_error *err);

// Slots of subject_ops.
const void *device_buffers_output(struct session *s, int o);
enum assay_status device_buffers_read(struct session *s, int o, void *to, struct assay_error *err);
enum assay_status device_buffers_keep(struct session *s, int slot, struct assay_error *err);
enum assay_status device_buffers_read_kept(struct session *s, int slot, int o, void *to, struct assay_error *err);
bool device_buffers_answer(struct session *s, const struct layout *l);
// Where the buffers are the candidate's own, its process can still reach them (a plan's kernels cannot). Then the
// outputs are copied first, so that all that is compared was read once, and the answer is made from inputs that are
// drawn once more, in memory of the judge's own: the candidate may have written to those that it was called with.
enum assay_status device_buffers_check(struct session *s, const struct question *q, uint32_t poison,
                                       struct assay_check *checks, struct assay_error *err);

#endif
