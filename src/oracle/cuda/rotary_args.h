// SPDX-License-Identifier: Apache-2.0
// Arguments of rotary.cu. Read by both sides.
#ifndef ORACLE_CUDA_ROTARY_ARGS_H
#define ORACLE_CUDA_ROTARY_ARGS_H

// As struct rotary of ops/rotary.h.
struct rotary_args {
  struct gpu_ref x, cos, sin, positions; // positions.data 0: a row of the caches for each batch and position
  struct gpu_arith arith;
  uint64_t y, bad;
  int64_t count, heads, length, size, rotated, half, rows;
  int32_t heads_inside, interleaved;
};

#endif
