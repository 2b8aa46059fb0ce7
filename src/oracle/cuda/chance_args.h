// SPDX-License-Identifier: Apache-2.0
// Arguments of chance.cu. Read by both sides.
#ifndef ORACLE_CUDA_CHANCE_ARGS_H
#define ORACLE_CUDA_CHANCE_ARGS_H

// A number for each of the n places of rows [seed][column].
struct chance_draw_args {
  struct gpu_ref seeds, counts, chances, x; // x: of BinomialPlace
  uint64_t y;                               // double
  int64_t n, columns;
  int32_t rarer, pad;
};

// A look at numbers u in rows of `columns`. Thread t takes the items t, t + threads, ...
struct chance_look_args {
  struct gpu_ref u;
  uint64_t out; // of counts: uint64, to which is added; of sums: double [thread][CHANCE_SUMS]
  int64_t columns, n, threads;
};

// Of two rows.
#define CHANCE_SUMS 8
struct chance_pair_args {
  struct chance_look_args look; // n: columns
  int64_t a, b;                 // where the rows begin
  int64_t shifts[CHANCE_SUMS];
  int32_t n_shifts, pad;
};

// Of rows whose numbers `rows` (int64) has. Cells: copies of all of them, so that threads that count at the same time
// seldom meet in one.
struct chance_list_args {
  struct chance_look_args look; // n: of tuples, or of numbers
  uint64_t rows;
  double scale;
  int64_t each, cells, copies; // each: tuples of a row
  int32_t tuple, bits;
};

// Sums of `threads` threads, by fewer: [target][CHANCE_SUMS].
struct chance_fold_args {
  uint64_t from, to;
  int64_t threads, targets;
};

#endif
