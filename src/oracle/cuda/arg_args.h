// SPDX-License-Identifier: Apache-2.0
// Arguments of arg.cu. Read by both sides.
#ifndef ORACLE_CUDA_ARG_ARGS_H
#define ORACLE_CUDA_ARG_ARGS_H

// An order of elements: all of them become unsigned numbers of which the greatest is ahead.
struct arg_order {
  int32_t is_float, is_unsigned, largest, nan_ahead;
};

// Part p of a row takes positions p, p + parts, ...
struct arg_args {
  struct gpu_rows rows;
  struct gpu_ref x;
  struct arg_order order;
  uint64_t winners; // int64 [row][part] or [part][row]; of the whole rows where there is one part
  int64_t parts;
  int32_t row_fastest, last;
};
struct arg_join_args {
  struct gpu_rows rows;
  struct gpu_ref x;
  struct arg_order order;
  uint64_t from, to;
  int64_t n_from, n_to;
  int32_t row_fastest, last;
};

// Rows [first, first + n / padded) of the tensor, ready to be sorted: `padded` pairs of key and position each.
struct top_k_args {
  struct gpu_rows in, out;
  struct gpu_ref x;
  struct arg_order order;
  uint64_t keys, positions, values, indices; // values, indices: 0 where not wanted
  int64_t first, n, padded;
};

#endif
