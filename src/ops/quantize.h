// SPDX-License-Identifier: Apache-2.0
// What quantization shares with its form on a device: which scale an element has, and the range of its type.
#ifndef OPS_QUANTIZE_H
#define OPS_QUANTIZE_H

#include "ops/narrow.h"

// Element i of the tensor has scale quantize_scale_index(i). One for all: groups is 0.
struct quantize_groups {
  int64_t inner, extent; // elements after the axis, and along it
  int64_t groups, block; // along the axis: scales, and elements that share one
  bool per_axis;         // the scales are those of the axis alone; else every other dimension has its own
};

enum assay_status quantize_groups_read(const struct op_infer *c, struct quantize_groups *out, struct assay_error *err);

static inline int64_t quantize_scale_index(const struct quantize_groups *g, int64_t i) {
  if (g->groups == 0)
    return 0;
  int64_t outer = i / g->inner, at = outer % g->extent / g->block;
  return g->per_axis ? at : ((outer / g->extent) * g->groups + at) * g->inner + i % g->inner;
}

// The type in whose precision the exact pass divides.
enum assay_status quantize_precision(const struct op_infer *c, enum dtype *out, struct assay_error *err);

// The values of an integer type, of at most 32 bits.
void quantize_range(enum dtype t, double *low, double *high);

// DynamicQuantizeLinear: the scale and the zero point for numbers from `least` to `most`, which are made to include 0.
double quantize_dynamic(const struct arith *a, double least, double most, double *zero);

#endif
