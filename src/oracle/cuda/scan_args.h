// SPDX-License-Identifier: Apache-2.0
// Arguments of scan.cu. Read by both sides.
#ifndef ORACLE_CUDA_SCAN_ARGS_H
#define ORACLE_CUDA_SCAN_ARGS_H

#define SCAN_SUM 0
#define SCAN_PRODUCT 1
#define SCAN_SUM_INTEGERS 2
#define SCAN_PRODUCT_INTEGERS 3

// What a stretch of a row comes to: a double's bits or an integer, and the sum of its squares.
struct scan_total {
  uint64_t value;
  double t2;
};

// Chunk c of a row covers positions c * chunk to before (c + 1) * chunk, counted in the scan's direction.
struct scan_args {
  struct gpu_rows rows;
  struct gpu_ref x;
  struct gpu_arith arith;
  uint64_t y, totals; // totals: [row][chunk] or [chunk][row]; 0 with one chunk
  int64_t chunk, chunks;
  int32_t row_fastest, exclusive, reverse, dtype;
};

// Groups of `fan` totals.
struct scan_level_args {
  struct gpu_arith arith;
  uint64_t lower, upper; // n_lower and n_upper totals a row; upper 0: nothing comes before a row's first
  int64_t count, n_lower, n_upper, fan;
  int32_t row_fastest, kind;
};

#endif
