// SPDX-License-Identifier: Apache-2.0
// What the kernels of contraction.cu are given. Read by both sides, as common_args.h.
#ifndef ORACLE_CUDA_CONTRACTION_ARGS_H
#define ORACLE_CUDA_CONTRACTION_ARGS_H

#define PRODUCT_LABELS 60
#define PRODUCT_OPERANDS 16
#define PRODUCT_A_WIDTH 32 // rows of a packed panel of A, for threads that work alone
#define PRODUCT_NARROW 4   // columns of a narrow product

// How far apart in memory neighbours along an index are: a table of offsets (int64), or one stride where it is 0.
struct product_axis {
  uint64_t table;
  int64_t stride;
};

// table[i] = offset of the row-major index i of `extent` in `stride`.
struct product_table_args {
  uint64_t table;
  int64_t count;
  int32_t n, pad;
  int64_t extent[PRODUCT_LABELS], stride[PRODUCT_LABELS];
};

// Copies lines (rows of A, columns of B) into panels of `width` lines in double: to[panel][l][line], lines beyond the
// last zero. Panels are numbered through all batches.
struct product_pack_args {
  struct gpu_ref from;
  struct product_axis batch, line, depth;
  uint64_t to;
  int64_t first_batch, first_line; // of panel 0
  int64_t lines, k;                // lines: of one batch, from first_line on
  int64_t panels, panels_per_batch;
  int32_t width, pad;
};

// Products of panels: y[split][batch][i][j], and t2, the sums of squared terms.
struct product_tile_args {
  uint64_t a, b, y, t2;
  int64_t m, n, k;
  int64_t a_panels, b_panels;     // in a batch
  int64_t a_step, b_step;         // panels from a batch to the next; 0: shared
  int64_t batches, splits, depth; // depth: terms of one split
  int64_t group;                  // panels of A that neighbouring warps (or blocks) take
};

// Products with few columns: of `lines` lines of a with `narrow` of b, straight from where they lie. Element (batch,
// i, j) of split s goes to y[(s * batches + batch) * lines * narrow + i * out_line + j * out_narrow].
struct product_narrow_args {
  struct gpu_ref a, b; // b.data = 0: ones
  struct product_axis a_batch, a_line, a_depth, b_batch, b_line, b_depth;
  uint64_t y, t2; // t2 may be 0
  int64_t lines, narrow, k, batches, splits;
  int64_t out_line, out_narrow;
  int32_t by_depth; // neighbouring threads take neighbouring terms, not neighbouring lines
  int32_t pad;
};

// Adds the splits' parts y[split][batches * rows * columns], makes the arithmetic's result of them and puts it at its
// place in out [..][m][n]: alpha y + beta c where there is a tail.
struct product_finish_args {
  struct gpu_arith arith;
  struct gpu_start start;
  struct gpu_ref c;           // data 0: none
  uint64_t y, t2, out, sigma; // t2, sigma may be 0
  int64_t splits, batches, rows, columns;
  int64_t first_batch, first_row, first_column, m, n;
  int64_t c_row, c_column;
  double terms, alpha, beta;
  int32_t products, pad;
};

// Integer products, one thread an element. An element minus its zero point where there is one.
struct product_integer_args {
  struct gpu_ref a, b, a_zero, b_zero;
  struct product_axis a_batch, b_batch;
  uint64_t out;
  int64_t batches, m, n, k;
  int64_t a_zero_step, b_zero_step;
  int32_t wrap_bits, wrap_signed;
};

// Integer Einsum: strides [operand][label] of the output's labels, then of those summed over.
struct product_einsum_args {
  struct gpu_ref in[PRODUCT_OPERANDS];
  uint64_t extents, strides, out;
  int64_t count, terms;
  int32_t n_in, n_out_labels, n_labels;
  int32_t wrap_bits, wrap_signed, pad;
};

#endif
