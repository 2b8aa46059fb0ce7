// SPDX-License-Identifier: Apache-2.0
// Elements read as another type of the same width.
#ifndef OPS_BITCAST_H
#define OPS_BITCAST_H

#include "ops/op.h"

// n elements: words as struct array holds them, doubles or int64, of both types. A value that the type it has cannot
// hold is rounded to nearest first.
void bitcast_words(enum dtype from, enum dtype to, int64_t n, const uint64_t *in, uint64_t *out);

op_infer_fn bitcast_infer;
op_eval_fn bitcast_eval;

#endif
