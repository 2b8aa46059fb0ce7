// SPDX-License-Identifier: Apache-2.0
// Elimination, Cholesky's factor, Householder's reflections and substitution for large matrices, by blocks that are
// spread over threads.
//
// OpenBLAS works single-threaded on each block, as in ops/gemm.h; blocks depend on the extents alone, so that results
// do not depend on the number of threads. Matrices are column-major in here, n rows apart, but for `struct
// blocked_triangle`.
#ifndef OPS_BLOCKED_H
#define OPS_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

// PA = LU by partial pivoting, as LAPACK's dgetrf leaves it; pivots count from 1. False: a pivot is exactly zero.
bool blocked_lu(int n, double *a, int *pivots, int threads);

// The upper triangle U of A = U' U in place of A's; what is below it is not read, nor written. False: A is not positive
// definite.
bool blocked_cholesky(int n, double *a, int threads);

// A = Q R of m rows and n columns by Householder's reflections, as LAPACK's dgeqrf leaves it: R, and below it the
// reflections, with min(m, n) factors in `tau`. False: no memory.
bool blocked_qr(int m, int n, double *a, double *tau, int threads);

// The first `columns` columns of Q, of as many reflections, m rows apart. False: no memory.
bool blocked_q(int m, int columns, const double *a, const double *tau, double *q, int threads);

// to[j n + i] = a[i row + j column].
void blocked_load(int n, const double *a, int64_t row, int64_t column, double *to, int threads);

// A triangle in memory by columns or, `by_rows`, by rows; the other one is not read.
struct blocked_triangle {
  int n;
  const double *t;
  bool by_rows, upper, unit; // unit: the diagonal counts as ones and is not read
};

// X with T X = B in place of B, `columns` columns.
void blocked_substitute(const struct blocked_triangle *t, int columns, double *x, int threads);

// y = (T o T) x: the sum of the squares of T's elements times x, for `columns` columns. False: no memory.
bool blocked_square_sums(const struct blocked_triangle *t, int columns, const double *x, double *y, int threads);

// For a lower triangle L in memory by rows, with zeros above it, (L o L) (L o L)' in place of `to`'s lower triangle, by
// rows; above it stands anything. `squares` gets L o L.
void blocked_square_products(int n, const double *l, double *squares, double *to, int threads);

#endif
