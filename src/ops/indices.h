// SPDX-License-Identifier: Apache-2.0
// Indices as data: what gathering and scattering share.
#ifndef OPS_INDICES_H
#define OPS_INDICES_H

#include "ops/op.h"

// An index into a dimension, negative from its end. ASSAY_ERR_INVALID outside of it.
enum assay_status index_resolve(const struct node *node, int64_t index, int64_t extent, int64_t *out,
                                struct assay_error *err);

// The offset that a tuple of n indices names.
enum assay_status index_tuple(const struct node *node, const int64_t *tuple, int n, const int64_t *dims,
                              const int64_t *strides, int64_t *offset, struct assay_error *err);

// Checks that input i is int32 or int64.
enum assay_status index_infer_integer(const struct op_infer *c, int i, struct assay_error *err);

// The index tuples of a shape in row-major order.
struct index_walk {
  const struct shape *shape;
  int64_t index[SHAPE_MAX_RANK];
};
void index_walk_next(struct index_walk *w);

// The offset of the tuple's place, with `chosen` instead of its entry for `axis`.
int64_t index_offset(const struct index_walk *w, const int64_t *strides, int axis, int64_t chosen);

#endif
