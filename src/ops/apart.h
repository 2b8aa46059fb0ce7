// SPDX-License-Identifier: Apache-2.0
// Which operators keep the members of a batch apart: what they make of one member, they make of it alone, whatever the
// others are. Such a row also promises that its evaluator draws for a part of a batch (arith.part) the noise that it
// draws for these members among all, except `halo` members at either end.
#ifndef OPS_APART_H
#define OPS_APART_H

#include "ops/op.h"

// The rule for a node, or NULL where its operator mixes members, or nothing is known.
op_apart_fn *op_apart_of(const struct node *n);

// Rules that more than one family has. A batch is dimension 0.
//
// Elementwise: whatever is not the batch broadcasts along it.
bool op_apart_each(const struct op_infer *c, const bool *apart, int64_t *halo);
// Input 0 alone is the batch, and output 0 the only output: convolutions and pooling of images.
bool op_apart_first(const struct op_infer *c, const bool *apart, int64_t *halo);
// The same, and the operator works along `axes`.
bool op_apart_along(const struct op_infer *c, const bool *apart, unsigned axes);

#endif
