// SPDX-License-Identifier: Apache-2.0
// Arguments of norm.cu. Read by both sides.
#ifndef ORACLE_CUDA_NORM_ARGS_H
#define ORACLE_CUDA_NORM_ARGS_H

// Elements of a dense tensor and the number of their row. step 0 of the walk: the row's number; step 1: the position.
struct softmax_args {
  struct gpu_walk walk;
  struct gpu_ref x;
  struct gpu_arith arith;
  uint64_t by; // double a row; hardmax: int64, the position of the one
  uint64_t y;
  int32_t log, pad;
};

// One a row.
struct root_args {
  struct gpu_ref mean, variance; // mean.data 0: none
  struct gpu_arith arith;
  uint64_t root, y_mean, y_variance, y_inverse; // doubles; the last three 0 where not wanted
  int64_t count;
  double epsilon, epsilon_after;
};

// step 0: the row's number; 1 and 2: the offsets in scale and bias. data 0: none.
struct normalize_args {
  struct gpu_walk walk;
  struct gpu_ref x, mean, scale, bias;
  struct gpu_arith arith;
  uint64_t root, y;
};

// running * momentum + found * (1 - momentum)
struct running_args {
  struct gpu_ref running;
  struct gpu_arith arith;
  uint64_t found, y;
  int64_t n;
  double momentum;
};

struct lrn_args {
  struct gpu_ref x;
  struct gpu_arith arith;
  uint64_t y;
  int64_t count, channels, inner, before, after;
  double alpha, beta, bias, size;
};

#endif
