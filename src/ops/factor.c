// SPDX-License-Identifier: Apache-2.0
#include "ops/factor.h"

#include <cblas.h>
#include <string.h>

#include "base/alloc.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);

bool factor_init(struct factor *f, int n) {
  size_t all = (size_t)n * (size_t)n + 1;
  *f = (struct factor){.n = n};
  f->lu = base_alloc(all * sizeof *f->lu);
  f->squares = base_alloc(all * sizeof *f->squares);
  f->error = base_alloc(all * sizeof *f->error);
  f->products = base_alloc(all * sizeof *f->products);
  f->row = base_alloc(3 * ((size_t)n + 1) * sizeof *f->row);
  f->pivots = base_alloc(2 * ((size_t)n + 1) * sizeof *f->pivots);
  f->rows = f->pivots ? f->pivots + n + 1 : NULL;
  return f->lu && f->squares && f->error && f->products && f->row && f->pivots;
}

void factor_release(struct factor *f) {
  base_free(f->lu);
  base_free(f->squares);
  base_free(f->error);
  base_free(f->products);
  base_free(f->row);
  base_free(f->pivots);
  *f = (struct factor){0};
}

static void square_all(double *to, const double *from, size_t n) {
  for (size_t i = 0; i < n; i++)
    to[i] = from[i] * from[i];
}

// A deviate of this variance; nothing where squares have left double's range.
static double deviate(struct noise *noise, double variance) {
  return variance > 0 && isfinite(variance) ? FACTOR_FREEDOM * sqrt(variance) * noise_normal(noise) : 0;
}

// ---- substitution

static void substitute(const struct triangle *t, int columns, double *x) {
  cblas_dtrsm(CblasColMajor, CblasLeft, t->upper ? CblasUpper : CblasLower, CblasNoTrans,
              t->unit ? CblasUnit : CblasNonUnit, t->n, columns, 1, t->t, t->n, x, t->n);
}

// Row i's sum has i + 1 terms, b and the products, and a division after it.
void triangle_solve(const struct triangle *t, int columns, double *x, double *scratch, const struct arith *arith,
                    struct noise *noise) {
  size_t n = (size_t)t->n, all = n * (size_t)columns;
  double *b = scratch, *squares = scratch + all;
  if (t->n == 0 || columns == 0)
    return;
  if (!arith->exact)
    memcpy(b, x, all * sizeof *b);
  substitute(t, columns, x);
  if (arith->exact)
    return;
  square_all(squares, x, all);
  cblas_dtrmm(CblasColMajor, CblasLeft, t->upper ? CblasUpper : CblasLower, CblasNoTrans,
              t->unit ? CblasUnit : CblasNonUnit, t->n, columns, 1, t->squares, t->n, squares, t->n);
  for (size_t j = 0; j < (size_t)columns; j++)
    for (size_t i = 0; i < n; i++) {
      size_t at = j * n + i;
      double terms = (double)(t->upper ? n - i : i + 1) + !t->unit;
      x[at] = b[at] + deviate(noise, arith_sum_variance(arith, b[at], squares[at], terms, true));
    }
  substitute(t, columns, x);
}

// ---- LU

static void load(double *to, int n, const double *a, int64_t row, int64_t column) {
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      to[(size_t)j * (size_t)n + (size_t)i] = a[i * row + j * column];
}

static void decompose(struct factor *f) {
  int info;
  dgetrf_(&f->n, &f->n, f->lu, &f->n, f->pivots, &info);
  f->singular = info != 0;
}

void factor_rows(struct factor *f) {
  int *rows = f->rows;
  for (int i = 0; i < f->n; i++)
    rows[i] = i;
  for (int i = 0; i < f->n; i++) {
    int other = f->pivots[i] - 1, row = rows[i];
    rows[i] = rows[other];
    rows[other] = row;
  }
}

// The sum of the squared terms of every element of L U: (L o L)(U o U).
static void square_products(struct factor *f) {
  size_t n = (size_t)f->n;
  square_all(f->squares, f->lu, n * n);
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++)
      f->products[j * n + i] = i <= j ? f->squares[j * n + i] : 0;
  cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, f->n, f->n, 1, f->squares, f->n,
              f->products, f->n);
}

// The sum of the squares of n numbers, `step` apart.
static double square_sum(const double *a, int n, int64_t step) {
  double square = 0;
  for (int i = 0; i < n; i++)
    square += a[i * step] * a[i * step];
  return square;
}

// What elimination loses, as a change of A. Elements below the diagonal are divided besides. No element is better known
// than an average one of its row or its column, the lesser: reflections and iterations mix these, and leave nothing
// zero that was (Higham, Accuracy and Stability of Numerical Algorithms, theorem 19.4).
static void draw_errors(struct factor *f, const double *a, int64_t row, int64_t column, const struct arith *arith,
                        struct noise *noise) {
  int n = f->n;
  double *of_rows = f->row;
  for (int i = 0; i < n; i++)
    of_rows[i] = square_sum(a + f->rows[i] * row, n, column);
  for (int j = 0; j < n; j++) {
    double of_column = square_sum(a + j * column, n, row);
    for (int i = 0; i < n; i++) {
      double terms = (i < j ? i : j) + 1 + (i > j), value = a[f->rows[i] * row + j * column];
      double variance = arith_sum_variance(arith, value, f->products[(size_t)j * (size_t)n + (size_t)i], terms, true);
      double average = fmin(of_rows[i], of_column) / n,
             least = arith_sum_variance(arith, sqrt(average), average, 2, true);
      f->error[(size_t)j * (size_t)n + (size_t)f->rows[i]] = deviate(noise, fmax(variance, least));
    }
  }
}

// How far the errors move a solution whose parts are all as long as one column of A or another.
static double measure_loss(struct factor *f, const double *a, int64_t row, int64_t column, struct noise *noise) {
  int n = f->n;
  double *length = f->row, *x = f->row + n, *moved = f->row + 2 * n, sum = 0;
  struct arith exact = {.exact = true};
  for (int j = 0; j < n; j++) {
    length[j] = sqrt(square_sum(a + j * column, n, row));
    x[j] = length[j] > 0 ? (noise_next(noise) >> 63 ? 1 : -1) / length[j] : 0;
  }
  cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1, f->error, n, x, 1, 0, moved, 1);
  factor_solve(f, 1, moved, f->products, &exact, noise);
  for (int i = 0; i < n; i++)
    sum += moved[i] * length[i] * moved[i] * length[i];
  return n > 0 ? sqrt(sum / n) : 0;
}

void factor_make(struct factor *f, const double *a, int64_t row, int64_t column, const struct arith *arith,
                 struct noise *noise) {
  size_t all = (size_t)f->n * (size_t)f->n;
  f->lost = 0;
  load(f->lu, f->n, a, row, column);
  decompose(f);
  if (arith->exact)
    return;
  bool singular = f->singular;
  square_products(f);
  factor_rows(f);
  draw_errors(f, a, row, column, arith, noise);
  load(f->lu, f->n, a, row, column);
  for (size_t i = 0; i < all; i++)
    f->lu[i] += f->error[i];
  decompose(f);
  square_all(f->squares, f->lu, all);
  f->singular = f->singular || singular;
  if (!f->singular)
    f->lost = measure_loss(f, a, row, column, noise);
}

static int pivot_sign(const struct factor *f) {
  int sign = 1;
  for (int i = 0; i < f->n; i++)
    sign = f->pivots[i] != i + 1 ? -sign : sign;
  return sign;
}

static double diagonal(const struct factor *f, int i) {
  return f->lu[(size_t)i * (size_t)f->n + (size_t)i];
}

double factor_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, int64_t *exponent) {
  double product = pivot_sign(f);
  *exponent = 0;
  for (int i = 0; i < f->n; i++) {
    int e = 0;
    product *= diagonal(f, i);
    if (arith->exact)
      product = frexp(product, &e);
    else
      product = arith_round(arith, noise, product);
    *exponent += e;
  }
  return product;
}

void factor_log_determinant(const struct factor *f, const struct arith *arith, struct noise *noise, double *sign,
                            double *log_size) {
  double sum = 0, t2 = 0;
  *sign = pivot_sign(f);
  for (int i = 0; i < f->n; i++) {
    double term = arith_round_ulps(arith, noise, log(fabs(diagonal(f, i))), ARITH_LIBRARY_ULPS);
    *sign *= (diagonal(f, i) > 0) - (diagonal(f, i) < 0);
    sum += term;
    t2 += term * term;
  }
  *log_size = arith_sum(arith, noise, sum, t2, f->n, false);
}

void factor_solve(const struct factor *f, int columns, double *x, double *scratch, const struct arith *arith,
                  struct noise *noise) {
  size_t n = (size_t)f->n;
  struct triangle lower = {.n = f->n, .t = f->lu, .squares = f->squares, .unit = true};
  struct triangle upper = {.n = f->n, .t = f->lu, .squares = f->squares, .upper = true};
  for (size_t j = 0; j < (size_t)columns; j++)
    for (size_t i = 0; i < n; i++) {
      size_t other = (size_t)f->pivots[i] - 1;
      double value = x[j * n + i];
      x[j * n + i] = x[j * n + other];
      x[j * n + other] = value;
    }
  triangle_solve(&lower, columns, x, scratch, arith, noise);
  triangle_solve(&upper, columns, x, scratch, arith, noise);
}

// ---- Cholesky

// Row-major's lower triangle is column-major's upper one of the transposed matrix, and L' L'' is its own transposed.
static bool cholesky_decompose(int n, double *a) {
  int info;
  dpotrf_("U", &n, a, &n, &info);
  return info == 0;
}

static void cholesky_disturb(int n, double *a, const double *l, double *squares, const struct arith *arith,
                             struct noise *noise) {
  size_t width = (size_t)n;
  for (size_t i = 0; i < width; i++)
    for (size_t j = 0; j < width; j++)
      squares[i * width + j] = j <= i ? l[i * width + j] * l[i * width + j] : 0;
  for (size_t i = 0; i < width; i++)
    for (size_t j = 0; j <= i; j++) {
      double t2 = cblas_ddot((int)j + 1, squares + i * width, 1, squares + j * width, 1), value = a[i * width + j];
      a[i * width + j] += deviate(noise, arith_sum_variance(arith, value, t2, (double)j + 2, true));
    }
}

bool cholesky_make(int n, double *a, double *scratch, const struct arith *arith, struct noise *noise) {
  size_t width = (size_t)n, all = width * width;
  double *l = scratch, *squares = scratch + all;
  bool made = true;
  if (!arith->exact) {
    memcpy(l, a, all * sizeof *l);
    made = cholesky_decompose(n, l);
    if (made)
      cholesky_disturb(n, a, l, squares, arith, noise);
  }
  made = made && cholesky_decompose(n, a);
  for (size_t i = 0; i < width; i++)
    for (size_t j = i + 1; j < width; j++)
      a[i * width + j] = 0;
  return made;
}
