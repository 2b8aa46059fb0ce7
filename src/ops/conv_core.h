// SPDX-License-Identifier: Apache-2.0
// The sums of products under a sliding window that Conv and ConvTranspose come down to.
//
// Outputs fall into sets that see the same taps (window.h). For each set the work is a matrix product of weights
// [M, C * taps] and the windows' contents [C * taps, positions]; positions are taken in tiles small enough that the
// copied contents stay in cache, so that scratch does not grow with the tensor. Narrow products (depthwise ones above
// all) go through plain loops over the inputs instead, which are also the reference for the other way.
#ifndef OPS_CONV_CORE_H
#define OPS_CONV_CORE_H

#include "ops/start.h"
#include "ops/window.h"

struct conv {
  int64_t batch, groups;
  int64_t c, m; // channels of one group: read, written
  struct window window;
  bool transposed;
  // Weights: [groups * m, c, kernel...], or transposed [groups * c, m, kernel...].
  const double *x, *w, *bias; // bias of groups * m, or NULL
  double *y;
  const struct start *start; // what the sums may begin with, the bias among it; NULL: nothing; not added
  const struct arith *arith;
  float *sigma; // where not NULL: y stays exact, and this gets the standard deviation of every element's error
  int threads;
  int64_t tile; // positions that the product takes at a time; 0: as many as stay in cache. Tests make it small.
};

// Everything but pointers to data, from a node's attributes and shapes (conv.c); also what the shape rules need.
enum assay_status conv_setup(const struct op_infer *c, bool transposed, struct conv *out, struct assay_error *err);

extern const struct op_attr conv_attrs[]; // of Conv and ConvInteger

// Whether its window is of up to three taps along each dimension, side by side and of unit stride, more than one in
// all.
bool conv_small_tiles(const struct conv *c);

// Whether a pass allows for what a transform of tiles errs by (arith_tile_variance): a second look in single precision
// at such windows.
bool conv_allows_tiles(const struct conv *c, const struct arith *a);

enum conv_way { CONV_BEST, CONV_LOOPS, CONV_PRODUCT };

enum assay_status conv_run(const struct conv *c, enum conv_way way, struct assay_error *err);

#endif
