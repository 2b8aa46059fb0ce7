// SPDX-License-Identifier: Apache-2.0
// What a contraction's sums may begin with.
//
// A bias, and whatever else is added to a sum after it, may be added last or be what the sum begins with: many kernels
// fill their accumulators with it. Then it is in all partial sums (arith_sum_variance_from).
#ifndef OPS_START_H
#define OPS_START_H

#include "ops/op.h"

// Several tensors that broadcast to the output, each times a factor; the start is their sum.
enum { START_PARTS = OP_STARTS + 1 };
struct start {
  int n;
  struct shape shape; // of the output
  struct {
    const double *from; // borrowed
    double factor;
    int64_t strides[SHAPE_MAX_RANK];
  } part[START_PARTS];
};

// The starts that the evaluation was given (op_eval.starts) times `factor`.
void start_init(struct start *s, const struct op_eval *c, double factor);

// One part more. `shape` must broadcast to the output's.
void start_add(struct start *s, const double *from, const struct shape *shape, double factor);

// A bias of one element for each channel, seen as what broadcasts to [batch, channels, ...] of `rank` dimensions.
struct shape start_channels(int64_t channels, int rank);

// The starts of `n` elements of the output, row-major from `at` on and `step` apart, all in one row of the last
// dimension.
void start_fill(const struct start *s, int64_t at, int64_t step, int64_t n, double *to);

#endif
