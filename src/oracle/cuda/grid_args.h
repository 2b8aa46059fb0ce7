// SPDX-License-Identifier: Apache-2.0
// Arguments of grid.cu. Read by both sides.
#ifndef ORACLE_CUDA_GRID_ARGS_H
#define ORACLE_CUDA_GRID_ARGS_H

// As ops/grid.h.
#define GRID_SAMPLE_NEAREST 0
#define GRID_SAMPLE_LINEAR 1
#define GRID_SAMPLE_ZEROS 0
#define GRID_SAMPLE_BORDER 1
#define GRID_SAMPLE_DIMS 6

struct grid_args {
  struct gpu_ref x, at;
  struct gpu_arith arith;
  uint64_t y;
  int64_t count, channels, space, places;
  int64_t extent[GRID_SAMPLE_DIMS], stride[GRID_SAMPLE_DIMS];
  int32_t dims, mode, padding, align_corners;
  int32_t to_float, to_bits, to_unsigned, pad;
};

#endif
