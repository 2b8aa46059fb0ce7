// SPDX-License-Identifier: Apache-2.0
// Arguments of attention.cu. Read by both sides.
#ifndef ORACLE_CUDA_ATTENTION_ARGS_H
#define ORACLE_CUDA_ATTENTION_ARGS_H

// A slab of scores: [batches][heads][queries][keys], from batch first_batch and head first_head of `all_heads` on.
struct attention_args {
  struct gpu_ref mask, lengths; // data 0: none
  struct gpu_arith arith;
  uint64_t scores, exposed; // exposed: [batch][all_heads][queries][keys], or 0
  int64_t batches, heads, queries, keys;
  int64_t first_batch, first_head, all_heads;
  int64_t mask_strides[4], mask_length;
  int64_t past;          // -1: none
  int64_t left, right;   // window; -1: open
  double softcap, scale; // scale: of attention_scale alone
  int32_t causal, exposed_mode;
};

#endif
