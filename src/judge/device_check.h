// Answering a question and comparing on the device, where inputs and outputs already are: for tensors that are too
// large for the processor.
#ifndef JUDGE_DEVICE_CHECK_H
#define JUDGE_DEVICE_CHECK_H

#include "device/compute.h"
#include "judge/question.h"

// Whether a layout is large enough that the device answers sooner than the processor.
bool device_check_worth(const struct task *t, const struct layout *l);

// `in` holds the question's inputs, `out` what the candidate made of them. One check for each output, as
// question_check.
enum assay_status device_check(struct compute *c, const struct task *t, const struct question *q, const device_ptr *in,
                               const device_ptr *out, uint32_t poison, const struct assay_judge_options *o,
                               struct assay_check *checks, struct assay_error *err);

#endif
