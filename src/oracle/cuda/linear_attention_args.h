// SPDX-License-Identifier: Apache-2.0
// Arguments of linear_attention.cu. Read by both sides.
#ifndef ORACLE_CUDA_LINEAR_ATTENTION_ARGS_H
#define ORACLE_CUDA_LINEAR_ATTENTION_ARGS_H

// As struct linear_attention of ops/linear_attention.h.
struct linear_attention_args {
  struct gpu_ref q, k, v, past, decay, beta; // past.data 0: zeros
  struct gpu_arith arith;
  uint64_t y, state, columns; // state 0: not wanted; columns: of the states, [column][key]
  int64_t count, length, q_heads, kv_heads, key, value, decays, betas;
  double scale;
};

#endif
