// SPDX-License-Identifier: Apache-2.0
// What the kernels of resize.cu are given. Read by both sides, as common_args.h.
#ifndef ORACLE_CUDA_RESIZE_ARGS_H
#define ORACLE_CUDA_RESIZE_ARGS_H

#define RESIZE_RANK 8

// Each dimension of the output is indexed through a table: the offset that an index contributes in the input, -1 where
// the element is `fill` instead.
struct resize_nearest_args {
  struct gpu_ref x;
  uint64_t y, fill;
  int64_t count;
  int64_t dims[RESIZE_RANK];
  uint64_t map[RESIZE_RANK];
  int32_t rank, pad;
};

// One axis resampled: [outer][in][inner] to [outer][out][inner]. Tables: index and weight [out][taps].
struct resize_weighted_args {
  struct gpu_arith arith;
  struct gpu_ref x;
  uint64_t y, index, weight;
  int64_t outer, in, out, inner, taps;
};

// Elements that any axis' table of bytes (0: none) marks take the value.
struct resize_extrapolate_args {
  uint64_t y;
  double value;
  int64_t count;
  int64_t dims[RESIZE_RANK];
  uint64_t outside[RESIZE_RANK];
  int32_t rank, pad;
};

#endif
