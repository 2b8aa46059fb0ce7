// SPDX-License-Identifier: Apache-2.0
// Arguments of loss.cu. Read by both sides.
#ifndef ORACLE_CUDA_LOSS_ARGS_H
#define ORACLE_CUDA_LOSS_ARGS_H

// One row a label: the scores of all classes. step 0 of the walk, over the elements of x: the row's number.
struct loss_args {
  struct gpu_rows rows;
  struct gpu_walk walk;
  struct gpu_ref x, labels, weights; // weights.data 0: none
  struct gpu_arith arith;
  uint64_t max, log_sum;          // doubles a row; 0: x are logarithms of probabilities already
  uint64_t log_probabilities;     // as x, or 0
  uint64_t losses, label_weights; // a double a row; the second 0 where not wanted
  uint64_t bad;                   // the first label that names no class
  int64_t ignored;
  int32_t has_ignored, pad;
};

// The quotient of two numbers, rounded.
struct loss_mean_args {
  struct gpu_arith arith;
  uint64_t sum, by, y;
};

#endif
