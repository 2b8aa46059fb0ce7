// SPDX-License-Identifier: Apache-2.0
// LinearAttention's parameters, for both forms of it.
#ifndef OPS_LINEAR_ATTENTION_H
#define OPS_LINEAR_ATTENTION_H

#include "ops/op.h"

enum { LINEAR_Q, LINEAR_K, LINEAR_V, LINEAR_PAST, LINEAR_DECAY, LINEAR_BETA };

struct linear_attention {
  int64_t batch, length, q_heads, kv_heads, key, value; // key, value: elements of a head
  int64_t decays, betas;                                // in a position of all heads; 0: none
  double scale;
};

// Checks shapes and which inputs the rule needs.
enum assay_status linear_attention_read(const struct op_infer *c, struct linear_attention *l, struct assay_error *err);

#endif
