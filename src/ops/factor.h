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
#include "ops/blocked.h"

// What all contract passes find alike of one matrix: the sum of the squared terms of every element of L U, exact ones,
// and which row of A each of their rows is. The exact pass makes it for the others.
struct factor_facts {
  double *products; // NULL: not known
  int *rows;
  bool singular;
};
void factor_facts_release(struct factor_facts *facts);

// PA = LU by partial pivoting.
struct factor {
  int n, threads;
  double *lu;                     // L below its unit diagonal, and U
  double *squares;                // scratch
  double *error, *products, *row; // scratch; products: as in factor_facts
  int *pivots, *rows;             // rows[i]: which row of A row i of the factors is
  bool singular;                  // a pivot is exactly zero; the factors are not to be used
  // By how much the errors drawn move a solution, relative to its size when all columns of the matrix are as long: 1
  // and more means that the matrix cannot be told from a singular one. 0 in an exact pass.
  double lost;
};

// ASSAY_ERR_NOMEM: false. Released also where it fails.
bool factor_init(struct factor *f, int n, int threads);
void factor_release(struct factor *f);

// The matrix whose element (i, j) is a[i * row + j * column].
struct factor_matrix {
  const double *a;
  int64_t row, column;
  const struct factor_facts *facts; // of this matrix, and in this layout; NULL, or empty: found here
};
void factor_make(struct factor *f, const struct factor_matrix *m, const struct arith *arith, struct noise *noise);

// The facts about exact factors. Without memory for them there are none.
void factor_tell(struct factor *f, struct factor_facts *out);

// Sets `rows` to what the pivots come to.
void factor_rows(struct factor *f);

// The determinant as mantissa * 2^*exponent. A contract pass rounds it after every product, to zero or infinity where
// that leaves the format; *exponent is 0 then.
double factor_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, int64_t *exponent);

// The sign and the logarithm of the determinant's size: 0 and -infinity of a singular matrix.
void factor_log_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, double *sign,
                            double *log_size);

// X in place of B, n rows and `columns` columns. scratch: 2 * n * columns doubles. False: no memory.
bool factor_solve(const struct factor *f, int columns, double *x, double *scratch, const struct arith *arith,
                  struct noise *noise);

// A triangular system.
struct triangle {
  struct blocked_triangle of;
  int threads;
};
bool triangle_solve(const struct triangle *t, int columns, double *x, double *scratch, const struct arith *arith,
                    struct noise *noise);

// The lower triangle L of A = L L', row-major in place of A, whose upper triangle is not read; zeros above.
struct cholesky {
  int n, threads;
  double *scratch;        // 2 n^2 doubles
  const double *products; // what cholesky_tell found; NULL: found here
};
// False where A is not positive definite.
bool cholesky_make(const struct cholesky *c, double *a, const struct arith *arith, struct noise *noise);

// What all contract passes find alike of a matrix with this exact factor: the sum of the squared terms of every element
// of L L'. base_free; NULL: no memory.
double *cholesky_tell(int n, const double *l, int threads);

// By how much longer than the least that these formulas give errors are drawn: other algorithms that are as good
// (Gauss-Jordan, Householder's, cofactors of small matrices, other orders) err up to about twice as much. A factor of
// half the significand's bits, which is the least that a lower precision costs, stays visible.
#define FACTOR_FREEDOM 2.0

#endif
