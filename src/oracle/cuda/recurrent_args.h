// SPDX-License-Identifier: Apache-2.0
// Arguments of recurrent.cu. Read by both sides.
#ifndef ORACLE_CUDA_RECURRENT_ARGS_H
#define ORACLE_CUDA_RECURRENT_ARGS_H

// As enum recurrent_kind (ops/recurrent.h).
#define FUNCTION_RELU 0
#define FUNCTION_TANH 1
#define FUNCTION_SIGMOID 2
#define FUNCTION_AFFINE 3
#define FUNCTION_LEAKY_RELU 4
#define FUNCTION_THRESHOLDED_RELU 5
#define FUNCTION_SCALED_TANH 6
#define FUNCTION_HARD_SIGMOID 7
#define FUNCTION_ELU 8
#define FUNCTION_SOFTSIGN 9
#define FUNCTION_SOFTPLUS 10

#define SINGLE_BITS 24 // as RECURRENT_SINGLE_BITS and RECURRENT_LIBRARY_ULPS there
#define FUNCTION_ULPS 128.0

// Places where values may be stored, as in ops/recurrent.h.
#define AT_INPUT 0
#define AT_STATE 1
#define AT_SUM 2
#define AT_GATE 3
#define AT_PRODUCT 4
#define AT_CELL 5
#define AT_SEEN 6
#define AT_HIDDEN 7
#define PLACES 8

#define RECURRENT_LANES 4 // batches that one thread multiplies by the weights it reads

// Products of states [direction][batch][hidden] with columns [first_column, +columns) of weights
// [direction][hidden][width]: sums [split][direction][batch][column], and of the terms' squares unless squares is 0.
// Split s takes terms [s * depth, +depth).
struct recurrent_sum_args {
  uint64_t state, weights, sums, squares;
  int64_t directions, batch, hidden, width;
  int64_t first_column, columns, splits, depth;
};

// One step of every direction. What lies by direction and batch has `hidden` elements after them.
struct recurrent_args {
  struct gpu_ref bias, lengths, peepholes; // data 0: none
  struct gpu_arith arith;
  uint64_t from_x;        // [direction][position][width]
  uint64_t sums, squares; // of recurrent_sum_args
  uint64_t h, state;      // the states; state: an LSTM's cell
  uint64_t gates;         // [2][direction][batch][hidden]: of a GRU, the reset state and the update gate
  uint64_t y;             // 0: not wanted
  int64_t directions, steps, batch, hidden, step;
  int64_t width, columns, splits; // columns: of the sums
  int64_t y_step, y_direction, y_batch;
  double clip;
  double alpha[2][3], beta[2][3];
  int32_t functions[2][3];
  int32_t reverse, batch_first, coupled;
  uint32_t stores; // bit i: the pass stores at place i, as storing[i] says
  struct gpu_narrowing storing[PLACES];
};

#endif
