// SPDX-License-Identifier: Apache-2.0
// CausalConvWithState's parameters, for both forms of it.
#ifndef OPS_CAUSAL_CONV_H
#define OPS_CAUSAL_CONV_H

#include "ops/op.h"

enum { CAUSAL_X, CAUSAL_W, CAUSAL_BIAS, CAUSAL_PAST };

struct causal_conv {
  int64_t batch, channels, length, taps;
  bool swish; // of the result
};

// Checks the shapes, too.
enum assay_status causal_conv_read(const struct op_infer *c, struct causal_conv *v, struct assay_error *err);

#endif
