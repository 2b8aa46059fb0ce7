// SPDX-License-Identifier: Apache-2.0
// Shared by the families that walk over whole tensors: sums in a fixed order, and arrays seen as rows.
//
// Nothing here depends on the number of threads: work is cut by shape alone, and every sum has one order.
#ifndef OPS_LOOPS_H
#define OPS_LOOPS_H

#include "ops/op.h"

// Sum and sum of squares; what arith_sum asks for. Values go to four interleaved lanes, so that the loop is not bound
// by the latency of one addition; the lanes are added pairwise at the end.
struct total {
  double y, t2;
};
struct total loops_total(const double *x, int64_t n);

// One array seen as `count` rows of `length` elements each: the kept dimensions number the rows, the others the
// positions within a row, both row-major. Neighbouring dimensions are merged where strides allow.
struct rows {
  int64_t count, length;
  int n_kept, n_reduced;
  int64_t kept[SHAPE_MAX_RANK], kept_stride[SHAPE_MAX_RANK];
  int64_t reduced[SHAPE_MAX_RANK], reduced_stride[SHAPE_MAX_RANK];
};

enum {
  ROWS_WIDTH = 8,   // rows that are neighbours in memory and are read together: one cache line
  ROWS_CHUNK = 512, // positions read at a time
};

// Bit i of `axes` is set when dimension i runs within a row. strides in elements; NULL: dense.
void rows_init(struct rows *r, const struct shape *s, unsigned axes, const int64_t *strides);

// Rows are visited in tiles of up to ROWS_WIDTH neighbours where elements of one row are not contiguous, alone where
// they are. Tile i covers rows [*row, *row + *width).
int64_t rows_tiles(const struct rows *r);
void rows_tile(const struct rows *r, int64_t i, int64_t *row, int *width);

// Positions [at, at + n) of rows [row, row + width), all of one tile.
struct rows_piece {
  int64_t row;
  int width;
  int64_t at, n;
};

// Points lines[t] at positions [at, at + got) of row + t, for t < width, and returns got, which is at most n and
// ROWS_CHUNK. Elements that are not contiguous are copied to buffer, which has room for ROWS_WIDTH * ROWS_CHUNK.
int64_t rows_view(const struct rows *r, const double *x, struct rows_piece p, double *buffer, const double **lines);

// Copies the piece from lines + t * ROWS_CHUNK, for row + t, to y.
void rows_store(const struct rows *r, double *y, struct rows_piece p, const double *lines);

// The offset of a position of a row in the array.
int64_t rows_offset(const struct rows *r, int64_t row, int64_t at);

// An integer result as its type holds it: wrapped to the type's width.
int64_t loops_wrap(enum dtype t, uint64_t value);

// Dtype checks with the node's name in the message.
enum assay_status loops_need_float(const struct op_infer *c, int i, struct assay_error *err);
enum assay_status loops_need_same(const struct op_infer *c, int i, struct assay_error *err); // dtype of input i and 0

#endif
