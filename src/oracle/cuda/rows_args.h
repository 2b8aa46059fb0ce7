// SPDX-License-Identifier: Apache-2.0
// Tensors seen as rows, and walks over the elements of one, in a kernel's argument. Read by both sides.
#ifndef ORACLE_CUDA_ROWS_ARGS_H
#define ORACLE_CUDA_ROWS_ARGS_H

// As `struct rows` of ops/loops.h. Row r begins at the sum of its kept indices times their strides; position k of it
// lies the sum of its reduced indices times their strides after that. Dimensions are row-major.
struct gpu_rows {
  int64_t count, length;
  int64_t kept[8], kept_stride[8];
  int64_t reduced[8], reduced_stride[8];
  int32_t n_kept, n_reduced;
};

// The elements of a row-major shape, and up to four offsets that go with each: sums of index times step.
struct gpu_walk {
  int64_t count;
  int64_t dims[16];
  int64_t step[4][16];
  int32_t rank, pad;
};

#endif
