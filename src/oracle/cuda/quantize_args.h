// SPDX-License-Identifier: Apache-2.0
// Arguments of quantize.cu. Read by both sides.
#ifndef ORACLE_CUDA_QUANTIZE_ARGS_H
#define ORACLE_CUDA_QUANTIZE_ARGS_H

// As struct quantize_groups of ops/quantize.h.
struct quantize_scales {
  int64_t inner, extent, groups, block;
  int32_t per_axis, pad;
};

struct quantize_args {
  struct gpu_ref x, scale, zero; // zero.data 0: there is none
  struct gpu_arith arith;
  struct gpu_narrowing narrowing; // of a floating result
  struct convert_type quotient;   // the precision of the division, in the exact pass
  struct quantize_scales scales;
  uint64_t y;
  int64_t count;
  double low, high; // of an integer result
  int32_t to_float, pad;
};

#endif
