// SPDX-License-Identifier: Apache-2.0
// Answers a question and compares on the device, where inputs and outputs already are. For tensors that would take the
// CPU too long.
#ifndef JUDGE_DEVICE_CHECK_H
#define JUDGE_DEVICE_CHECK_H

#include "compute/compute.h"
#include "judge/question.h"
#include "oracle/cuda/gpu.h"

// Whether a layout is so large that the device answers sooner than the CPU, and all of the task's check, where there is
// one, is the device's (device_judged.h).
bool device_check_worth(const struct task *t, const struct layout *l);

// What earlier checks of the same layout and probe showed about the error scale. Start with {0}.
struct device_scales {
  struct gpu_scales kept;
  int unsettled; // checks that the borrowed scale did not settle
  int n_few;     // of these, checks that a few passes settled
  bool uneven;   // few passes were not enough
};

// What to check, and where its tensors are. All of it is borrowed.
struct device_check_request {
  struct compute *compute;
  const struct task *task;
  const struct question *question;
  const device_ptr *in, *out; // the question's inputs, and the candidate's outputs
  uint32_t poison;            // what the outputs held before the call
  const struct assay_judge_options *options;
  struct device_scales *scales; // of the checks before this one; it adds to them
};

// One check for each value that is judged, as question_check. The hashes of rows go where the question wants them.
//
// Most of the cost of an answer is its error scale. With SCALE_BORROW, and where earlier checks of the same layout and
// probe left scales, outputs are first compared with the truth under a few times those. If all elements are within
// that, the check passes and says that its scale is borrowed. Otherwise the answer gets a scale of its own (and, if few
// elements fail, once more with more passes). So a borrowed scale may let pass errors of a few times what the contract
// allows (more only where an element errs far less than its neighbours), and only in timed calls. SCALE_FEW takes half
// as many passes first, which are enough to show that an output is right, as SCALE_BORROW does where nothing was kept.
enum assay_status device_check(const struct device_check_request *r, struct assay_check *checks,
                               struct assay_error *err);
void device_scales_release(struct compute *c, struct device_scales *s);

#endif
