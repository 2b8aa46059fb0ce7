// SPDX-License-Identifier: Apache-2.0
// Right-looking: a block is eliminated, then what is left of the matrix is brought up to date, block by block (Golub
// and Van Loan, Matrix Computations, sections 3.2.11, 4.2.9 and 5.2.3).
#include "ops/blocked.h"

#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *pivots, int *info);
void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work, const int *lwork,
             int *info);
void dlarft_(const char *direct, const char *stored, const int *n, const int *k, const double *v, const int *ldv,
             const double *tau, double *t, const int *ldt);
void dlarfb_(const char *side, const char *trans, const char *direct, const char *stored, const int *m, const int *n,
             const int *k, const double *v, const int *ldv, const double *t, const int *ldt, double *c, const int *ldc,
             double *work, const int *ldwork);
void dlaswp_(const int *n, double *a, const int *lda, const int *k1, const int *k2, const int *pivots, const int *step);

enum { BLOCK = 128, TILE = 8 }; // a tile's rows are a cache line each

static int blocks_of(int n) {
  return (n + BLOCK - 1) / BLOCK;
}

static int least(int a, int b) {
  return a < b ? a : b;
}

static double *at(double *a, int n, int i, int j) {
  return a + (size_t)j * (size_t)n + (size_t)i;
}

// ---- elimination

struct step {
  int n, first, width; // the block at hand: columns [first, first + width)
  double *a;
  const int *pivots;
  bool failed;
};

// Exchanges rows of the other columns; brings those after the block up to date.
static void eliminate_range(void *arg, int64_t begin, int64_t end) {
  const struct step *s = arg;
  const int n = s->n, k = s->first, w = s->width, from = k + 1, to = k + w, step = 1, below = n - k - w;
  for (int b = (int)begin; b < (int)end; b++) {
    const int j = b * BLOCK, columns = least(BLOCK, n - j);
    if (j == k)
      continue;
    dlaswp_(&columns, at(s->a, n, 0, j), &n, &from, &to, s->pivots, &step);
    if (j < k)
      continue;
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, w, columns, 1, at(s->a, n, k, k), n,
                at(s->a, n, k, j), n);
    if (below > 0)
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, below, columns, w, -1, at(s->a, n, k + w, k), n,
                  at(s->a, n, k, j), n, 1, at(s->a, n, k + w, j), n);
  }
}

bool blocked_lu(int n, double *a, int *pivots, int threads) {
  bool regular = true;
  for (int k = 0; k < n; k += BLOCK) {
    int info, rows = n - k, w = least(BLOCK, rows);
    dgetrf_(&rows, &w, at(a, n, k, k), &n, pivots + k, &info);
    regular = regular && info == 0;
    for (int i = k; i < k + w; i++)
      pivots[i] += k;
    struct step s = {.n = n, .first = k, .width = w, .a = a, .pivots = pivots};
    parallel_for(threads, blocks_of(n), 1, eliminate_range, &s);
  }
  return regular;
}

// ---- Cholesky

static void divide_range(void *arg, int64_t begin, int64_t end) {
  const struct step *s = arg;
  const int n = s->n, k = s->first, w = s->width;
  for (int b = (int)begin; b < (int)end; b++) {
    const int j = k + w + b * BLOCK, columns = least(BLOCK, n - j);
    cblas_dtrsm(CblasColMajor, CblasLeft, CblasUpper, CblasTrans, CblasNonUnit, w, columns, 1, at(s->a, n, k, k), n,
                at(s->a, n, k, j), n);
  }
}

static void update_range(void *arg, int64_t begin, int64_t end) {
  const struct step *s = arg;
  const int n = s->n, k = s->first, w = s->width, rest = k + w;
  for (int b = (int)begin; b < (int)end; b++) {
    const int j = rest + b * BLOCK, columns = least(BLOCK, n - j);
    if (j > rest)
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, j - rest, columns, w, -1, at(s->a, n, k, rest), n,
                  at(s->a, n, k, j), n, 1, at(s->a, n, rest, j), n);
    cblas_dsyrk(CblasColMajor, CblasUpper, CblasTrans, columns, w, -1, at(s->a, n, k, j), n, 1, at(s->a, n, j, j), n);
  }
}

bool blocked_cholesky(int n, double *a, int threads) {
  for (int k = 0; k < n; k += BLOCK) {
    int info, w = least(BLOCK, n - k);
    dpotrf_("U", &w, at(a, n, k, k), &n, &info);
    if (info != 0)
      return false;
    struct step s = {.n = n, .first = k, .width = w, .a = a};
    parallel_for(threads, blocks_of(n - k - w), 1, divide_range, &s);
    parallel_for(threads, blocks_of(n - k - w), 1, update_range, &s);
  }
  return true;
}

// ---- reflections

// I - V T V' of a block of reflections, which begin at row `first`, for blocks of columns from `from` on.
struct reflecting {
  int m, width, first, from, columns; // columns: where the matrix ends
  const double *v, *t;
  const char *turned; // "T": its transposed
  double *to;
  atomic_bool *failed;
};

static void reflect_range(void *arg, int64_t begin, int64_t end) {
  const struct reflecting *r = arg;
  const int m = r->m, rows = m - r->first, w = r->width, apart = BLOCK;
  double *work = base_alloc((size_t)BLOCK * BLOCK * sizeof *work);
  if (!work)
    *r->failed = true;
  for (int b = (int)begin; b < (int)end && work; b++) {
    const int j = r->from + b * BLOCK, columns = least(BLOCK, r->columns - j);
    dlarfb_("L", r->turned, "F", "C", &rows, &columns, &w, r->v, &m, r->t, &apart, at(r->to, m, r->first, j), &m, work,
            &apart);
  }
  base_free(work);
}

static void reflect(struct reflecting *r, const double *tau, int threads) {
  double t[BLOCK * BLOCK];
  const int rows = r->m - r->first, apart = BLOCK;
  dlarft_("F", "C", &rows, &r->width, r->v, &r->m, tau, t, &apart);
  r->t = t;
  parallel_for(threads, blocks_of(r->columns - r->from), 1, reflect_range, r);
}

bool blocked_qr(int m, int n, double *a, double *tau, int threads) {
  const int all = least(m, n), room = 64 * BLOCK;
  atomic_bool failed = false;
  double *work = base_alloc((size_t)room * sizeof *work);
  failed = !work;
  for (int k = 0; k < all && !failed; k += BLOCK) {
    int info, rows = m - k, w = least(BLOCK, all - k);
    dgeqrf_(&rows, &w, at(a, m, k, k), &m, tau + k, work, &room, &info);
    struct reflecting r = {m, w, k, k + w, n, at(a, m, k, k), NULL, "T", a, &failed};
    if (k + w < n)
      reflect(&r, tau + k, threads);
  }
  base_free(work);
  return !failed;
}

// From the last reflections to the first: columns before those at hand are still the identity's.
bool blocked_q(int m, int columns, const double *a, const double *tau, double *q, int threads) {
  atomic_bool failed = false;
  for (int j = 0; j < columns; j++) {
    memset(at(q, m, 0, j), 0, (size_t)m * sizeof *q);
    *at(q, m, j, j) = 1;
  }
  for (int b = blocks_of(columns) - 1; b >= 0 && !failed; b--) {
    const int k = b * BLOCK, w = least(BLOCK, columns - k);
    struct reflecting r = {m, w, k, k, columns, a + (size_t)k * (size_t)m + (size_t)k, NULL, "N", q, &failed};
    reflect(&r, tau + k, threads);
  }
  return !failed;
}

// ---- copies

struct copying {
  int n;
  const double *from;
  int64_t row, column;
  double *to;
};

// Tiles, so that what is read along one dimension and written along the other stays in the cache.
static void load_range(void *arg, int64_t begin, int64_t end) {
  const struct copying *c = arg;
  const int64_t n = c->n;
  for (int64_t j = begin * TILE; j < end * TILE && j < n; j += TILE)
    for (int64_t i = 0; i < n; i += TILE)
      for (int64_t l = j; l < j + TILE && l < n; l++)
        for (int64_t k = i; k < i + TILE && k < n; k++)
          c->to[l * n + k] = c->from[k * c->row + l * c->column];
}

void blocked_load(int n, const double *a, int64_t row, int64_t column, double *to, int threads) {
  struct copying c = {.n = n, .from = a, .row = row, .column = column, .to = to};
  parallel_for(threads, (n + TILE - 1) / TILE, 1 + (1 << 14) / (TILE * ((int64_t)n + 1)), load_range, &c);
}

// ---- substitution

// Element (i, j) of T, and how BLAS reads what begins there.
static const double *of_triangle(const struct blocked_triangle *t, int i, int j) {
  return t->t + (t->by_rows ? (size_t)i * (size_t)t->n + (size_t)j : (size_t)j * (size_t)t->n + (size_t)i);
}

struct substitution {
  const struct blocked_triangle *t;
  int columns, first, width;
  double *x;
};

// Takes what is known, rows [first, first + width) of x, out of the other rows that are not.
static void subtract_range(void *arg, int64_t begin, int64_t end) {
  const struct substitution *s = arg;
  const int n = s->t->n, offset = s->t->upper ? 0 : s->first + s->width, most = s->t->upper ? s->first : n;
  for (int b = (int)begin; b < (int)end; b++) {
    const int i = offset + b * BLOCK, rows = least(BLOCK, most - i);
    cblas_dgemm(CblasColMajor, s->t->by_rows ? CblasTrans : CblasNoTrans, CblasNoTrans, rows, s->columns, s->width, -1,
                of_triangle(s->t, i, s->first), n, s->x + s->first, n, 1, s->x + i, n);
  }
}

static void substitute_block(const struct substitution *s) {
  const struct blocked_triangle *t = s->t;
  cblas_dtrsm(CblasColMajor, CblasLeft, t->upper != t->by_rows ? CblasUpper : CblasLower,
              t->by_rows ? CblasTrans : CblasNoTrans, t->unit ? CblasUnit : CblasNonUnit, s->width, s->columns, 1,
              of_triangle(t, s->first, s->first), t->n, s->x + s->first, t->n);
}

void blocked_substitute(const struct blocked_triangle *t, int columns, double *x, int threads) {
  const int all = blocks_of(t->n);
  for (int b = 0; b < all && columns > 0; b++) {
    const int first = (t->upper ? all - 1 - b : b) * BLOCK;
    struct substitution s = {t, columns, first, least(BLOCK, t->n - first), x};
    substitute_block(&s);
    const int rest = t->upper ? s.first : t->n - s.first - s.width;
    parallel_for(threads, blocks_of(rest), 2, subtract_range, &s);
  }
}

// ---- sums of squares

struct squaring {
  const struct blocked_triangle *t;
  int columns;
  const double *x;
  double *y;
  atomic_bool failed;
};

// The squares of the block at (i, j), by columns, `rows` apart; zero outside of the triangle.
static void square_block(const struct blocked_triangle *t, int i, int j, int rows, int columns, double *to) {
  const int outer = t->by_rows ? rows : columns, inner = t->by_rows ? columns : rows;
  for (int a = 0; a < outer; a++)
    for (int b = 0; b < inner; b++) {
      const int k = t->by_rows ? a : b, l = t->by_rows ? b : a, row = i + k, column = j + l;
      const bool outside = t->upper ? row > column : row < column;
      const double v = row == column && t->unit ? 1 : outside ? 0 : *of_triangle(t, row, column);
      to[l * rows + k] = v * v;
    }
}

static void square_sums_range(void *arg, int64_t begin, int64_t end) {
  struct squaring *s = arg;
  const int n = s->t->n;
  double *block = base_alloc((size_t)BLOCK * BLOCK * sizeof *block);
  s->failed = s->failed || !block;
  for (int b = (int)begin; b < (int)end && block; b++) {
    const int i = b * BLOCK, rows = least(BLOCK, n - i);
    const int first = s->t->upper ? i : 0, last = s->t->upper ? n : i + rows;
    for (int j = first; j < last; j += BLOCK) {
      const int columns = least(BLOCK, n - j);
      square_block(s->t, i, j, rows, columns, block);
      cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, rows, s->columns, columns, 1, block, rows, s->x + j, n,
                  j > first, s->y + i, n);
    }
  }
  base_free(block);
}

bool blocked_square_sums(const struct blocked_triangle *t, int columns, const double *x, double *y, int threads) {
  struct squaring s = {.t = t, .columns = columns, .x = x, .y = y, .failed = false};
  if (columns > 0)
    parallel_for(threads, blocks_of(t->n), 1, square_sums_range, &s);
  return !s.failed;
}

struct products {
  int n;
  const double *l;
  double *squares, *to;
};

static void square_rows(void *arg, int64_t begin, int64_t end) {
  const struct products *p = arg;
  for (int64_t i = begin * p->n; i < end * p->n; i++)
    p->squares[i] = p->l[i] * p->l[i];
}

// A block of rows; nothing of a row is beyond its diagonal.
static void multiply_range(void *arg, int64_t begin, int64_t end) {
  const struct products *p = arg;
  const int n = p->n;
  for (int b = (int)begin; b < (int)end; b++)
    for (int j = 0, i = b * BLOCK; j <= i; j += BLOCK)
      cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, least(BLOCK, n - i), least(BLOCK, n - j),
                  least(j + BLOCK, n), 1, p->squares + (size_t)i * (size_t)n, n, p->squares + (size_t)j * (size_t)n, n,
                  0, p->to + (size_t)i * (size_t)n + (size_t)j, n);
}

void blocked_square_products(int n, const double *l, double *squares, double *to, int threads) {
  struct products p = {.n = n, .l = l, .squares = squares, .to = to};
  parallel_for(threads, n, 1 + (1 << 14) / ((int64_t)n + 1), square_rows, &p);
  parallel_for(threads, blocks_of(n), 1, multiply_range, &p);
}
