// SPDX-License-Identifier: Apache-2.0
// What normalizations, softmax, losses and attention share on a device.
#ifndef ORACLE_CUDA_NORM_H
#define ORACLE_CUDA_NORM_H

#include "oracle/cuda/reduce.h"

#include "oracle/cuda/norm_args.h"

extern const struct device_code gpu_norm_program;

// exp(x - max) over its row's sum, or the logarithm of that: shape's dimensions `axes` run within a row. x and y may be
// one.
struct gpu_softmax {
  struct shape shape;
  unsigned axes;
  struct gpu_ref x;
  bool log;
  device_ptr y;
  uint64_t phase; // phases [phase, phase + 4) of the node's noise are the softmax's
};
enum assay_status gpu_softmax(struct gpu_eval *c, const struct gpu_softmax *s, struct assay_error *err);

#endif
