// SPDX-License-Identifier: Apache-2.0
// What a kernel of the oracle is given about its inputs and about the arithmetic of the pass. Read by both sides: by
// the C compiler as a header (after <stdint.h>) and by the device's compiler as the first text of a program, so there
// is nothing here but structs of scalars.
#ifndef ORACLE_CUDA_COMMON_ARGS_H
#define ORACLE_CUDA_COMMON_ARGS_H

// A tensor that a kernel reads: its address and how its elements lie.
struct gpu_ref {
  uint64_t data;
  int32_t storage; // STORAGE_F64 and so on (common.cuh), which is enum gpu_storage
  int32_t pad;
};

// struct arith (ops/arith.h), flattened.
struct gpu_arith {
  int32_t exact, bits, min_exponent, product_bits, block, cut_bits, cut_steps, pad;
  double max;
  uint64_t key;
};

// What the sums of a contraction may begin with (ops/start.h): `n` tensors, each times a factor and with a stride for
// every dimension of the output.
#define GPU_START_PARTS 4
#define GPU_START_DIMS 8
struct gpu_start {
  struct gpu_ref from[GPU_START_PARTS];
  double factor[GPU_START_PARTS];
  int64_t stride[GPU_START_PARTS][GPU_START_DIMS];
  int64_t extent[GPU_START_DIMS];
  int32_t n, rank;
};

#endif
