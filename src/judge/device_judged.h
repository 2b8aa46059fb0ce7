// SPDX-License-Identifier: Apache-2.0
// What is compared on a device with the oracle's answer: a candidate's outputs, or what the task's check makes of them.
// As judged.h, with everything where it is.
#ifndef JUDGE_DEVICE_JUDGED_H
#define JUDGE_DEVICE_JUDGED_H

#include "judge/device_check.h"

extern const struct device_code device_judged_code;

struct device_judged {
  const struct layout *layout;
  const device_ptr *out;    // the candidate's outputs
  bool checked;             // the task has a check
  struct gpu_array *values; // of the check; NULL: there is none, or it takes no such outputs
  int64_t unwritten;        // elements of the outputs that still hold the poison, counted where there is a check
};

// Whether what the task judges can be made on a device, without the host: the task has no check, or the device runs all
// of its operators and holds values of such types.
bool device_judged_can(const struct task *t, const struct layout *l);

// inputs: the question's. What a check cannot take at all becomes values none of which is the answer's.
enum assay_status device_judged_make(const struct device_check_request *r, const struct gpu_array *inputs,
                                     struct device_judged *j, struct assay_error *err);
void device_judged_release(struct compute *c, struct device_judged *j);

// The bytes of value i, of the type that the answer y has. The caller frees *own, which is 0 where that is an output.
enum assay_status device_judged_value(struct compute *c, const struct device_judged *j, int i,
                                      const struct gpu_array *y, device_ptr *at, device_ptr *own,
                                      struct assay_error *err);

// draws_hash, of outputs on the device.
enum assay_status device_judged_hash(struct compute *c, const struct layout *l, const device_ptr *out, uint64_t *rows,
                                     struct assay_error *err);

#endif
