// SPDX-License-Identifier: Apache-2.0
// Arguments of gather.cu. Read by both sides.
#ifndef ORACLE_CUDA_GATHER_ARGS_H
#define ORACLE_CUDA_GATHER_ARGS_H

// Slices of `inner` elements: [outer][index][inner] of [outer][extent][inner].
struct gather_args {
  struct gpu_ref x, indices;
  uint64_t y, bad; // bad: the least position in the indices of one that is outside
  int64_t count, n_indices, extent, inner;
};

// step 0 of the walk, over the indices' shape: the offset in the data without the axis.
struct element_args {
  struct gpu_walk walk;
  struct gpu_ref x, indices;
  uint64_t y, bad;
  int64_t extent, stride; // of the axis
};

// Tuples of indices, each naming a slice of `inner` elements; per_batch tuples for each batch_size elements.
struct tuple_args {
  struct gpu_ref x, indices;
  uint64_t y, bad;
  int64_t count; // of elements of y
  int64_t n_tuples, per_batch, batch_size, inner;
  int64_t extents[8], strides[8];
  int32_t tuple, pad;
};

// [outer][depth][inner]; values: off and on.
struct one_hot_args {
  struct gpu_ref indices, values;
  uint64_t y;
  int64_t count, depth, inner;
};

#define SCATTER_NONE 0
#define SCATTER_ADD 1
#define SCATTER_MUL 2
#define SCATTER_MAX 3
#define SCATTER_MIN 4

// Where each update goes: keys are offsets in the output, values the updates' numbers. Padded for sorting.
struct scatter_element_args {
  struct element_args e;
  uint64_t keys, values;
  int64_t padded;
};
struct scatter_tuple_args {
  struct tuple_args t;
  uint64_t keys, values;
  int64_t padded;
};
// The sorted updates, slices of `inner` elements, put where they go in their own order.
struct scatter_args {
  struct gpu_ref updates;
  struct gpu_arith arith;
  uint64_t keys, values, y;
  int64_t n, inner;
  int32_t reduction, is_float, is_unsigned64, dtype;
};

#endif
