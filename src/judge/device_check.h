// Answering a question and comparing on the device, where inputs and outputs already are: for tensors that are too
// large for the processor.
#ifndef JUDGE_DEVICE_CHECK_H
#define JUDGE_DEVICE_CHECK_H

#include "device/compute.h"
#include "judge/question.h"
#include "oracle/cuda/gpu.h"

// Whether a layout is large enough that the device answers sooner than the processor.
bool device_check_worth(const struct task *t, const struct layout *l);

// What is known of a question's error scale from checks of other inputs to it, drawn alike. Empty ({0}) at first.
struct device_scales {
  struct gpu_scales kept;
  int unsettled; // first looks that left it open
  int n_few;     // those that few passes settled then
  bool uneven;   // few passes were not enough
};

// `in` holds the question's inputs, `out` what the candidate made of them. One check for each output, as
// question_check.
//
// The scale costs most of an answer. Where q->scale says SCALE_BORROW and there are scales of other checks of the same
// layout and probe, outputs are held against the truth with a few times those; only what is further off anywhere is
// asked for with a scale of its own (and then, if it fails at few elements, once more as ever). A check that was
// settled so says that its scale is borrowed. What it lets pass that another check would not errs a few times as much
// as the contract allows (more only where an element errs far less than its neighbours), in timed calls alone.
enum assay_status device_check(struct compute *c, const struct task *t, const struct question *q, const device_ptr *in,
                               const device_ptr *out, uint32_t poison, const struct assay_judge_options *o,
                               struct device_scales *scales, struct assay_check *checks, struct assay_error *err);
void device_scales_release(struct compute *c, struct device_scales *s);

#endif
