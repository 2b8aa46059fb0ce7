// SPDX-License-Identifier: Apache-2.0
// What the kernels of pool.cu are given. Read by both sides, as common_args.h.
#ifndef ORACLE_CUDA_POOL_ARGS_H
#define ORACLE_CUDA_POOL_ARGS_H

#define POOL_DIMS 6 // spatial dimensions, right-aligned in the arrays below; missing ones have extent 1

// Windows over the planes of [N, C, D1, ...]; one thread an output.
struct pool_args {
  struct gpu_arith arith;
  struct gpu_ref x;
  uint64_t y, index; // index: 0 where it is not wanted
  int64_t planes, in_size, out_size;
  int64_t in[POOL_DIMS], out[POOL_DIMS], kernel[POOL_DIMS], stride[POOL_DIMS], dilation[POOL_DIMS];
  int64_t pad_begin[POOL_DIMS], pad_end[POOL_DIMS];
  double power;
  int64_t nothing; // what an integer window without elements gives
  int32_t n, count_padding, column_major, pad;
};

// One window over a whole plane, in `parts` parts: first part [plane][part], then the result of them.
struct global_args {
  struct gpu_arith arith;
  struct gpu_ref x;
  uint64_t y, part, part_t2;
  int64_t planes, size, parts;
  double power;
};

#endif
