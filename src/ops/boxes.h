// SPDX-License-Identifier: Apache-2.0
// Non-maximum suppression on the host, where both forms of it run: how many boxes there are depends on their values.
#ifndef OPS_BOXES_H
#define OPS_BOXES_H

#include "ops/op.h"

// The boxes that are kept: their number, and where `out` is not NULL three indices of each (batch, class, box). All
// inputs have their elements.
enum assay_status boxes_select(const struct op_infer *c, int64_t *count, int64_t *out, struct assay_error *err);

#endif
