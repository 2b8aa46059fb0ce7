// SPDX-License-Identifier: Apache-2.0
// What spectral.c and decompose.c share: functions of one matrix or a batch of them, input 0, by LAPACK.
#ifndef OPS_SPECTRAL_H
#define OPS_SPECTRAL_H

#include "ops/op.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda, double *wr, double *wi,
            double *vl, const int *ldvl, double *vr, const int *ldvr, double *work, const int *lwork, int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);

enum { MATRIX_OUTPUTS = 3, MATRIX_MOST = 8192 }; // rows and columns: beyond it a pass takes minutes

// One matrix of m rows and n columns at work, row-major: LAPACK sees it transposed.
struct matrix {
  const struct op_eval *c;
  int m, n, least;                     // least: min(m, n)
  int threads;                         // for this matrix
  const double *known[MATRIX_OUTPUTS]; // in a contract pass: what the exact one made, as y; NULL where unknown
  int64_t at;                          // its number in the batch
  double *a;                           // a copy of the matrix, moved in a contract pass where that is asked for
  double *y[MATRIX_OUTPUTS];           // its part of floating outputs; NULL: an output of integers, or none
  int64_t *whole[MATRIX_OUTPUTS];      // likewise of outputs of integers
  struct noise *noise;
  struct arena arena;
};
typedef bool matrix_fn(struct matrix *x); // false: no memory, or no convergence

// How a contract pass moves the matrix before the function sees it: not at all, every element, or the lower triangle
// and the upper one alike. MATRIX_SHARED: not at all, and it begins with the exact outputs (matrix.known).
enum matrix_move { MATRIX_STAYS, MATRIX_MOVES, MATRIX_SYMMETRIC, MATRIX_SHARED };

// Evaluates an operator matrix by matrix. Floating outputs are rounded afterwards.
enum assay_status matrix_batch_run(struct op_eval *c, matrix_fn *each, enum matrix_move move, struct assay_error *err);

// Zeroed; of the matrix' own arena. NULL: no memory.
double *matrix_doubles(struct matrix *x, int64_t rows, int64_t columns);
int *matrix_ints(struct matrix *x, int64_t n);

// How far an error of the contract's arithmetic moves a matrix, in units of its Frobenius norm; 0 in an exact pass.
double matrix_unit(const struct matrix *x);

// Input 0 is matrices, of at most MATRIX_MOST rows and columns; square: with as many of both.
enum assay_status matrix_infer(const struct op_infer *c, bool square, struct assay_error *err);

#endif
