// SPDX-License-Identifier: Apache-2.0
// RotaryEmbedding's parameters, for both forms of it.
#ifndef OPS_ROTARY_H
#define OPS_ROTARY_H

#include "ops/op.h"

enum { ROTARY_X, ROTARY_COS, ROTARY_SIN, ROTARY_POSITIONS };

struct rotary {
  int64_t batch, heads, length, size; // of a head
  int64_t rotated, half;              // elements of a head that are rotated, and pairs of them
  bool heads_inside;                  // [batch, length, heads, size]; else [batch, heads, length, size]
  bool interleaved;                   // a pair lies together; else its halves lie `half` apart
  bool indexed;                       // the caches are [positions, half]; else [batch, length, half]
  int64_t positions;                  // that the caches have
};

// Checks the shapes, too.
enum assay_status rotary_read(const struct op_infer *c, struct rotary *r, struct assay_error *err);

#endif
