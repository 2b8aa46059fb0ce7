// SPDX-License-Identifier: Apache-2.0
// Arguments of move.cu. Read by both sides.
#ifndef ORACLE_CUDA_MOVE_ARGS_H
#define ORACLE_CUDA_MOVE_ARGS_H

// step 0 of the walk: offsets in y; step 1: in x.
struct move_args {
  struct gpu_walk walk;
  struct gpu_ref x;
  uint64_t y;
  int64_t y_begin, x_begin;
};

#define MOVE_PAD_CONSTANT 0
#define MOVE_PAD_REFLECT 1
#define MOVE_PAD_EDGE 2
#define MOVE_PAD_WRAP 3
struct pad_args {
  struct gpu_ref x, fill; // fill.data 0: the word `value`
  uint64_t y, value;
  int64_t count;
  int64_t dims[8], before[8], extents[8], strides[8];
  int32_t rank, mode;
};

// Matrices of rows by columns; diagonal k. trilu: x; eye: `one` on the diagonal.
struct diagonal_args {
  struct gpu_ref x;
  uint64_t y, one;
  int64_t count, rows, columns, k;
  int32_t upper, pad;
};

// Elements [time][batch][inner] or [batch][time][inner], by strides.
struct reverse_args {
  struct gpu_ref x, lengths;
  uint64_t y, bad; // bad: the first sequence of an impossible length
  int64_t count, n_time, n_batch, inner;
  int32_t time_first, pad;
};

struct fill_args {
  uint64_t y, word;
  int64_t count;
};

struct range_args {
  struct gpu_ref start, delta;
  struct gpu_arith arith;
  uint64_t y;
  int64_t count;
};

#define BITS_AND 0
#define BITS_OR 1
#define BITS_XOR 2
#define BITS_NOT 3
#define BITS_LEFT 4
#define BITS_RIGHT 5
// step 0 and 1 of the walk over y: the inputs' offsets.
struct bits_args {
  struct gpu_walk walk;
  struct gpu_ref x, z; // z.data 0: none
  uint64_t y;
  int32_t kind, width, is_unsigned64, dtype;
};

#endif
