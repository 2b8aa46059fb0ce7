// SPDX-License-Identifier: Apache-2.0
// Arguments of causal_conv.cu. Read by both sides.
#ifndef ORACLE_CUDA_CAUSAL_CONV_ARGS_H
#define ORACLE_CUDA_CAUSAL_CONV_ARGS_H

// As struct causal_conv of ops/causal_conv.h.
struct causal_conv_args {
  struct gpu_ref x, w, bias, past; // data 0: there is none
  struct gpu_arith arith;
  struct gpu_start start; // the bias among it
  uint64_t y, state;
  int64_t count, channels, length, taps; // count: of elements of the result
  int64_t states;                        // elements of the state
  int32_t swish, pad;
};

#endif
