// SPDX-License-Identifier: Apache-2.0
// (x - mean) / sqrt(variance + epsilon) over rows of any shape: what all normalizations by moments come down to.
#ifndef OPS_NORMALIZE_H
#define OPS_NORMALIZE_H

#include "ops/op.h"

// A factor or an addend for every element: strides over the view's dimensions, 0 where it broadcasts.
struct affine {
  const double *values; // NULL: none
  int64_t strides[SHAPE_MAX_RANK];
};

struct normalize {
  const struct arith *arith;
  int threads;
  struct shape view; // the tensor, its dimensions split or merged as the operator likes
  unsigned axes;     // bit i: dimension i runs within a row; moments are taken over rows
  const double *x;
  double *y;                                 // NULL: moments only
  bool center;                               // false: the root mean square, x is not shifted
  double epsilon;                            // added to the variance
  double epsilon_after;                      // added to its root
  const double *given_mean, *given_variance; // one a row, instead of the row's own; NULL: the row's own
  struct affine scale, bias;
  double *mean, *variance, *inverse; // one a row: found moments, 1 / root; each may be NULL
};

// Two passes: the mean first, then the mean of squared deviations from it; each step rounds in a contract pass.
void normalize_run(const struct normalize *n);

#endif
