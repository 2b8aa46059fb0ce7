// SPDX-License-Identifier: Apache-2.0
// Products of matrices, with what the error of a rounded product needs: for every element the sum of its terms'
// squares.
//
// Two ways to the same numbers: loops in a fixed order, for small products and as the reference, and OpenBLAS for big
// ones. OpenBLAS runs single-threaded on blocks whose extents depend on the shapes alone; the blocks are spread over
// threads here. So results do not depend on the number of threads, and its own threads, a process-wide setting, are
// not used (openblas_set_num_threads(1) before every product; a thread-local setter came only with 0.3.27).
#ifndef OPS_GEMM_H
#define OPS_GEMM_H

#include "ops/start.h"

enum { GEMM_BLOCK = 512 }; // rows and columns of a product that go together, at most

// C[i,j] = sum over l of A[i,l] B[l,j]; strides in elements.
struct gemm {
  int64_t m, n, k;
  const double *a, *b;
  int64_t a_row, a_col, b_row, b_col;
};

// Fixed order: every element adds its terms by ascending l. c and t2 are row-major with leading dimension ld; t2[i,j]
// is the sum of squared terms, or t2 is NULL.
void gemm_loops(const struct gemm *g, double *c, double *t2, int64_t ld);

// The same through OpenBLAS. t2 is good to about 1e-5 relative (it is a scale, and single precision halves its cost).
// Whether OpenBLAS can read the strides: gemm_blas_can.
bool gemm_blas_can(const struct gemm *g);
enum assay_status gemm_blas(const struct gemm *g, double *c, double *t2, int64_t ld, struct assay_error *err);

// The better one of the two for these extents.
enum assay_status gemm_block(const struct gemm *g, double *c, double *t2, int64_t ld, struct assay_error *err);

// A batch of products of the same extents. Batch b reads a + a_offset[b] and b + b_offset[b] and fills c + b * m * n,
// dense and row-major. In a contract pass every element is the rounded sum, then `finish` (may be NULL) sees it.
struct gemm_batch {
  struct gemm g; // of the first product; offsets are relative to its pointers
  int64_t count;
  const int64_t *a_offset, *b_offset; // NULL: all zero
  double *c;
  const struct arith *arith;
  const struct start *start; // what the sums may begin with, or NULL; not added
  int64_t members; // of a batch: so many times some products, or some rows where in_rows; 0: there is no batch
  bool in_rows;
  float *sigma; // where not NULL: c stays exact, and this gets the standard deviation of every element's error
  int threads;
  // Called for elements [at, at + n) of c, all of one row; j is their first column.
  void (*finish)(void *arg, struct noise *noise, int64_t row, int64_t j, int64_t n, double *c);
  void *finish_arg;
};
enum assay_status gemm_run(const struct gemm_batch *batch, struct assay_error *err);

#endif
