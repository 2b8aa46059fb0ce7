// SPDX-License-Identifier: Apache-2.0
// Arguments of the reductions' kernels (reduce.cu). Read by both sides.
#ifndef ORACLE_CUDA_REDUCE_ARGS_H
#define ORACLE_CUDA_REDUCE_ARGS_H

// What becomes of a row's total.
#define REDUCE_FINISH_VALUE 0
#define REDUCE_FINISH_SUM 1
#define REDUCE_FINISH_MEAN 2
#define REDUCE_FINISH_ROOT 3 // of the sum
#define REDUCE_FINISH_LOG 4
#define REDUCE_FINISH_LOG_SHIFTED 5 // plus the row's shift
#define REDUCE_FINISH_FINITE 6      // the value, or 0 where it is not finite
#define REDUCE_FINISH_LOST 7        // the sum's error alone

// How integers are taken in.
#define REDUCE_INT_SUM 0
#define REDUCE_INT_L1 1
#define REDUCE_INT_SQUARES 2
#define REDUCE_INT_PRODUCT 3
#define REDUCE_INT_MAX 4
#define REDUCE_INT_MIN 5

// What a part of a row, or a whole one, has come to: a sum and its sum of squared terms; y alone for the others.
struct reduce_partial {
  double y, t2;
};

// A row is cut into `parts`. Part p takes positions p * lead, p * lead + step, ... before min(length, p * lead + span).
// Thread by thread, parts of a row are neighbours, or with row_fastest rows of a part.
struct reduce_args {
  struct gpu_rows rows;
  struct gpu_ref x;
  struct gpu_arith arith;
  uint64_t shift;    // double a row, or 0: none
  uint64_t terms;    // softmax only: where the terms go, laid out as x
  uint64_t partials; // [row][part] or [part][row]
  uint64_t y;        // double or int64 a row
  int64_t parts, lead, step, span;
  int32_t row_fastest, finish, keep_shifted, kind;
  int32_t one_lane, pad; // how often what one accumulator loses counts; whole rows only
};

// Joins every `to`-th of `from` partials of a row, or finishes the row.
struct reduce_join_args {
  struct gpu_arith arith;
  uint64_t from, to, shift, y;
  int64_t count, length, n_from, n_to;
  int32_t row_fastest, finish, kind, pad;
};

// Sums of squared deviations, a row's mean for each: what one pass over them loses besides (ops/arith.h).
struct reduce_centre_args {
  struct gpu_arith arith;
  struct gpu_ref centre;
  uint64_t y;
  double ulps; // ARITH_CENTRE_ULPS
  int64_t count, length;
  int32_t finish, pad;
};

// Adds a part of `lost` to y (reduce_flatten in ops/reduce.h).
struct reduce_nested_args {
  uint64_t y, lost;
  double part;
  int64_t count;
};

// Integers beyond the sum: mean, order of unsigned 64-bit, width of the type.
struct reduce_int_args {
  struct reduce_args r;
  int64_t start, flip;
  int32_t mean, dtype;
};
struct reduce_int_join_args {
  uint64_t partials, y;
  int64_t count, length, n_from, n_to, flip;
  int32_t row_fastest, kind, mean, dtype;
  uint64_t to;
};

#endif
