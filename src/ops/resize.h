// SPDX-License-Identifier: Apache-2.0
// What a Resize node means, as tables for each axis: for each output index the source indices and their weights. The
// oracle's evaluators on every device start from them.
#ifndef OPS_RESIZE_H
#define OPS_RESIZE_H

#include "ops/op.h"

enum resize_coordinates {
  RESIZE_HALF_PIXEL,
  RESIZE_HALF_PIXEL_SYMMETRIC,
  RESIZE_PYTORCH_HALF_PIXEL,
  RESIZE_ALIGN_CORNERS,
  RESIZE_ASYMMETRIC,
  RESIZE_CROP_AND_RESIZE,
  RESIZE_HALF_PIXEL_FOR_NN,
};
enum resize_mode { RESIZE_NEAREST, RESIZE_LINEAR, RESIZE_CUBIC };
enum resize_nearest { RESIZE_PREFER_FLOOR, RESIZE_PREFER_CEIL, RESIZE_FLOOR, RESIZE_CEIL };

struct resize_axis {
  bool active;
  int64_t in, out;
  double scale, roi_start, roi_end;
};

struct resize_plan {
  enum resize_coordinates coordinates;
  enum resize_mode mode;
  enum resize_nearest nearest;
  bool antialias, exclude_outside;
  double cubic_a, extrapolation;
  struct resize_axis axes[SHAPE_MAX_RANK];
};
enum assay_status resize_read(const struct op_infer *c, struct resize_plan *r, struct assay_error *err);

// Nearest: for each output index of axis d the source index times `stride`, -1 where the element takes the
// extrapolation value. Positions are worked out in `arith`, as implementations do. In the arena; NULL: no memory.
int64_t *resize_nearest_map(const struct resize_plan *r, int d, int64_t stride, const struct arith *arith,
                            struct arena *arena);

// Linear and cubic. Where the image shrinks and antialiasing is on, the kernel is stretched to cover all source
// elements.
struct resize_table {
  int taps;
  int64_t *index; // out * taps, clamped to the input
  double *weight;
  bool *outside; // out: beyond the region, takes the extrapolation value
};
enum assay_status resize_table_make(const struct resize_plan *r, int d, const struct node *node,
                                    const struct arith *arith, struct arena *arena, struct resize_table *t,
                                    struct assay_error *err);

#endif
