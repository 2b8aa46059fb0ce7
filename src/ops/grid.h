// SPDX-License-Identifier: Apache-2.0
// GridSample's parameters, for both forms of it.
#ifndef OPS_GRID_H
#define OPS_GRID_H

#include "ops/op.h"

enum grid_mode { GRID_NEAREST, GRID_LINEAR, GRID_CUBIC };
enum grid_padding { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };

enum { GRID_MAX_DIMS = SHAPE_MAX_RANK - 2, GRID_TAPS = 4 };

struct grid {
  enum grid_mode mode;
  enum grid_padding padding;
  bool align_corners;
  int dims;                       // of space
  int64_t batch, channels, space; // space: elements of one channel of the input
  int64_t extent[GRID_MAX_DIMS], stride[GRID_MAX_DIMS];
  int64_t places; // of one channel of the output
};

// Checks the shapes, too.
enum assay_status grid_read(const struct op_infer *c, struct grid *g, struct assay_error *err);

#endif
