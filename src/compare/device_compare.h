// SPDX-License-Identifier: Apache-2.0
// compare_outputs on a device: the same facts from the same formulas, with the tensors where they are.
#ifndef COMPARE_DEVICE_COMPARE_H
#define COMPARE_DEVICE_COMPARE_H

#include "compare/compare.h"
#include "compute/compute.h"

// What struct compare_input holds, with tensors of the device.
struct compare_device_input {
  struct compare_input terms; // without tensors: got, want, want_int and sigma are not read
  device_ptr got;             // bytes of dtype
  device_ptr want;            // double when dtype is floating, else int64
  device_ptr sigma;           // float; 0 for integers
};

// Counts, extremes, gates and the worst elements are those that compare_outputs finds, sums up to their rounding; among
// elements that are equally bad (of another class, or wrong integers) it may list others. The hint is worked out only
// when something is wrong: from the whole output if it is small, else from a part.
enum assay_status compare_on_device(struct compute *c, const struct compare_device_input *in,
                                    struct compare_facts *facts, struct assay_error *err);

extern const struct device_code device_compare_code;

#endif
