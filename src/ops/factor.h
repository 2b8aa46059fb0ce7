// SPDX-License-Identifier: Apache-2.0
// One matrix factorized, and systems solved with its factors: in double by LAPACK, or with the errors that a
// straightforward implementation in the contract's arithmetic makes.
//
// Those errors are drawn, not performed. What elimination loses in each element of the matrix has the variance of a sum
// of products (arith_sum_variance) of the factors' elements, so the factors are exact ones of a matrix that lies as far
// away (Wilkinson 1963: the backward error is at most n u |L||U|); substitution errs in the same way on the right. What
// that does to the result, the conditioning, is then computed in double, not estimated.
//
// Matrices are column-major in here.
#ifndef OPS_FACTOR_H
#define OPS_FACTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "ops/arith.h"

// PA = LU by partial pivoting.
struct factor {
  int n;
  double *lu;                     // L below its unit diagonal, and U
  double *squares;                // of the elements of lu, where errors are drawn
  double *error, *products, *row; // scratch
  int *pivots, *rows;             // rows[i]: which row of A row i of the factors is
  bool singular;                  // a pivot is exactly zero; the factors are not to be used
  // By how much the errors drawn move a solution, relative to its size when all columns of the matrix are as long: 1
  // and more means that the matrix cannot be told from a singular one. 0 in an exact pass.
  double lost;
};

// ASSAY_ERR_NOMEM: false. Released also where it fails.
bool factor_init(struct factor *f, int n);
void factor_release(struct factor *f);

// Of the matrix whose element (i, j) is a[i * row + j * column].
void factor_make(struct factor *f, const double *a, int64_t row, int64_t column, const struct arith *arith,
                 struct noise *noise);

// Sets `rows` to what the pivots come to.
void factor_rows(struct factor *f);

// The determinant as mantissa * 2^*exponent. A contract pass rounds it after every product, to zero or infinity where
// that leaves the format; *exponent is 0 then.
double factor_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, int64_t *exponent);

// The sign and the logarithm of the determinant's size: 0 and -infinity of a singular matrix.
void factor_log_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, double *sign,
                            double *log_size);

// X in place of B, n rows and `columns` columns. scratch: 2 * n * columns doubles.
void factor_solve(const struct factor *f, int columns, double *x, double *scratch, const struct arith *arith,
                  struct noise *noise);

// A triangular system.
struct triangle {
  int n;
  const double *t, *squares; // squares: of the elements of t; NULL in an exact pass
  bool upper, unit;          // unit: the diagonal counts as ones and is not read
};
void triangle_solve(const struct triangle *t, int columns, double *x, double *scratch, const struct arith *arith,
                    struct noise *noise);

// The lower triangle L of A = L L', row-major in place of A, whose upper triangle is not read; zeros above. False where
// A is not positive definite. scratch: 2 n^2 doubles.
bool cholesky_make(int n, double *a, double *scratch, const struct arith *arith, struct noise *noise);

// By how much longer than the least that these formulas give errors are drawn: other algorithms that are as good
// (Gauss-Jordan, Householder's, cofactors of small matrices, other orders) err up to about twice as much. A factor of
// half the significand's bits, which is the least that a lower precision costs, stays visible.
#define FACTOR_FREEDOM 2.0

#endif
