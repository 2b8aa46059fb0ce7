// SPDX-License-Identifier: Apache-2.0
#include "ops/factor.h"

#include <cblas.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"

enum { GRAIN = 1 << 12 }; // elements for each of which a deviate is drawn, from which on a thread of its own pays

bool factor_init(struct factor *f, int n, int threads) {
  size_t all = (size_t)n * (size_t)n + 1;
  *f = (struct factor){.n = n, .threads = threads};
  f->lu = base_alloc(all * sizeof *f->lu);
  f->squares = base_alloc(all * sizeof *f->squares);
  f->error = base_alloc(all * sizeof *f->error);
  f->products = base_alloc(all * sizeof *f->products);
  f->row = base_alloc(5 * ((size_t)n + 1) * sizeof *f->row);
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

void factor_facts_release(struct factor_facts *facts) {
  base_free(facts->products);
  base_free(facts->rows);
  *facts = (struct factor_facts){0};
}

static void square_all(double *to, const double *from, size_t n) {
  for (size_t i = 0; i < n; i++)
    to[i] = from[i] * from[i];
}

// A deviate of this variance; nothing where squares have left double's range.
static double deviate(struct noise *noise, double variance) {
  return variance > 0 && isfinite(variance) ? FACTOR_FREEDOM * sqrt(variance) * noise_normal(noise) : 0;
}

static int64_t grain_of(int n) {
  return 1 + GRAIN / ((int64_t)n + 1);
}

// ---- substitution

struct right {
  const struct triangle *t;
  const double *b, *squares;
  double *x;
  const struct arith *arith;
  const struct noise *noise;
};

// Row i's sum has i + 1 terms, b and the products, and a division after it.
static void move_range(void *arg, int64_t begin, int64_t end) {
  const struct right *r = arg;
  const struct blocked_triangle *t = &r->t->of;
  const size_t n = (size_t)t->n;
  for (size_t j = (size_t)begin; j < (size_t)end; j++) {
    struct noise noise = noise_part(r->noise, j);
    for (size_t i = 0; i < n; i++) {
      size_t at = j * n + i;
      double terms = (double)(t->upper ? n - i : i + 1) + !t->unit;
      r->x[at] = r->b[at] + deviate(&noise, arith_sum_variance(r->arith, r->b[at], r->squares[at], terms, true));
    }
  }
}

bool triangle_solve(const struct triangle *t, int columns, double *x, double *scratch, const struct arith *arith,
                    struct noise *noise) {
  size_t n = (size_t)t->of.n, all = n * (size_t)columns;
  double *b = scratch, *squares = scratch + all;
  if (n == 0 || columns == 0)
    return true;
  if (!arith->exact)
    memcpy(b, x, all * sizeof *b);
  blocked_substitute(&t->of, columns, x, t->threads);
  if (arith->exact)
    return true;
  square_all(x, x, all);
  if (!blocked_square_sums(&t->of, columns, x, squares, t->threads))
    return false;
  struct right r = {.t = t, .b = b, .squares = squares, .x = x, .arith = arith, .noise = noise};
  parallel_for(t->threads, columns, grain_of(t->of.n), move_range, &r);
  noise_next(noise);
  blocked_substitute(&t->of, columns, x, t->threads);
  return true;
}

// ---- LU

static void load(struct factor *f, const struct factor_matrix *m) {
  blocked_load(f->n, m->a, m->row, m->column, f->lu, f->threads);
}

static void decompose(struct factor *f) {
  f->singular = !blocked_lu(f->n, f->lu, f->pivots, f->threads);
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

struct elements {
  struct factor *f;
  const struct factor_facts *facts;
  const struct arith *arith;
  const struct noise *noise;
};

static void square_columns(void *arg, int64_t begin, int64_t end) {
  struct factor *f = ((struct elements *)arg)->f;
  size_t n = (size_t)f->n;
  square_all(f->squares + (size_t)begin * n, f->lu + (size_t)begin * n, (size_t)(end - begin) * n);
  for (size_t j = (size_t)begin; j < (size_t)end; j++)
    for (size_t i = 0; i < n; i++)
      f->products[j * n + i] = i <= j ? f->squares[j * n + i] : 0;
}

static void multiply_columns(void *arg, int64_t begin, int64_t end) {
  struct factor *f = ((struct elements *)arg)->f;
  enum { WIDTH = 128 };
  for (int64_t j = begin * WIDTH; j < end * WIDTH && j < f->n; j += WIDTH) {
    const int columns = f->n - j < WIDTH ? (int)(f->n - j) : WIDTH;
    cblas_dtrmm(CblasColMajor, CblasLeft, CblasLower, CblasNoTrans, CblasUnit, f->n, columns, 1, f->squares, f->n,
                f->products + j * f->n, f->n);
  }
}

// The sum of the squared terms of every element of L U: (L o L)(U o U).
static void square_products(struct factor *f) {
  struct elements e = {.f = f};
  parallel_for(f->threads, f->n, grain_of(f->n), square_columns, &e);
  parallel_for(f->threads, (f->n + 127) / 128, 1, multiply_columns, &e);
}

void factor_tell(struct factor *f, struct factor_facts *out) {
  const size_t n = (size_t)f->n, all = n * n;
  *out = (struct factor_facts){.products = base_alloc((all + 1) * sizeof *out->products),
                               .rows = base_alloc((n + 1) * sizeof *out->rows),
                               .singular = f->singular};
  if (!out->products || !out->rows) {
    factor_facts_release(out);
    return;
  }
  double *own = f->products;
  f->products = out->products;
  square_products(f);
  f->products = own;
  factor_rows(f);
  memcpy(out->rows, f->rows, n * sizeof *out->rows);
}

// ---- the errors of elimination, column by column of f->lu, which holds the matrix

// The sums of the squares of all rows and columns.
static void square_sums(const struct factor *f, double *of_rows, double *of_columns) {
  size_t n = (size_t)f->n;
  memset(of_rows, 0, n * sizeof *of_rows);
  for (size_t j = 0; j < n; j++) {
    const double *column = f->lu + j * n;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
      double square = column[i] * column[i];
      of_rows[i] += square;
      sum += square;
    }
    of_columns[j] = sum;
  }
}

// What elimination loses, as a change of A. Elements below the diagonal are divided besides. No element is better known
// than an average one of its row or its column, the lesser: reflections and iterations mix these, and leave nothing
// zero that was (Higham, Accuracy and Stability of Numerical Algorithms, theorem 19.4).
static void disturb_columns(void *arg, int64_t begin, int64_t end) {
  const struct elements *e = arg;
  struct factor *f = e->f;
  const int n = f->n, *rows = e->facts->rows;
  const double *of_rows = f->row, *of_columns = f->row + n;
  for (int j = (int)begin; j < (int)end; j++) {
    struct noise noise = noise_part(e->noise, (uint64_t)j);
    double *column = f->lu + (size_t)j * (size_t)n, *error = f->error + (size_t)j * (size_t)n;
    const double *products = e->facts->products + (size_t)j * (size_t)n;
    for (int i = 0; i < n; i++) {
      double terms = (i < j ? i : j) + 1 + (i > j), value = column[rows[i]];
      double variance = arith_sum_variance(e->arith, value, products[i], terms, true);
      double average = fmin(of_rows[rows[i]], of_columns[j]) / n,
             least = arith_sum_variance(e->arith, sqrt(average), average, 2, true);
      error[rows[i]] = deviate(&noise, fmax(variance, least));
    }
    for (int i = 0; i < n; i++)
      column[i] += error[i];
  }
}

// How far the errors move a solution whose parts are all as long as one column of A or another. f->row: as square_sums
// left it.
static double measure_loss(struct factor *f, struct noise *noise) {
  int n = f->n;
  double *length = f->row + n, *x = f->row + 2 * n, *moved = f->row, sum = 0;
  struct arith exact = {.exact = true};
  for (int j = 0; j < n; j++) {
    length[j] = sqrt(length[j]);
    x[j] = length[j] > 0 ? (noise_next(noise) >> 63 ? 1 : -1) / length[j] : 0;
  }
  cblas_dgemv(CblasColMajor, CblasNoTrans, n, n, 1, f->error, n, x, 1, 0, moved, 1);
  factor_solve(f, 1, moved, f->row + 3 * n, &exact, noise);
  for (int i = 0; i < n; i++)
    sum += moved[i] * length[i] * moved[i] * length[i];
  return n > 0 ? sqrt(sum / n) : 0;
}

// The factors of the matrix with errors.
static void make_disturbed(struct factor *f, const struct factor_matrix *m, const struct factor_facts *facts,
                           const struct arith *arith, struct noise *noise) {
  struct elements e = {.f = f, .facts = facts, .arith = arith, .noise = noise};
  load(f, m);
  square_sums(f, f->row, f->row + f->n);
  parallel_for(f->threads, f->n, grain_of(f->n), disturb_columns, &e);
  noise_next(noise);
  decompose(f);
  f->singular = f->singular || facts->singular;
  if (!f->singular)
    f->lost = measure_loss(f, noise);
}

void factor_make(struct factor *f, const struct factor_matrix *m, const struct arith *arith, struct noise *noise) {
  struct factor_facts own = {0};
  f->lost = 0;
  if (!arith->exact && m->facts && m->facts->products) {
    make_disturbed(f, m, m->facts, arith, noise);
    return;
  }
  load(f, m);
  decompose(f);
  if (arith->exact)
    return;
  square_products(f);
  factor_rows(f);
  own = (struct factor_facts){.products = f->products, .rows = f->rows, .singular = f->singular};
  make_disturbed(f, m, &own, arith, noise);
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

bool factor_solve(const struct factor *f, int columns, double *x, double *scratch, const struct arith *arith,
                  struct noise *noise) {
  size_t n = (size_t)f->n;
  struct triangle lower = {.of = {.n = f->n, .t = f->lu, .unit = true}, .threads = f->threads};
  struct triangle upper = {.of = {.n = f->n, .t = f->lu, .upper = true}, .threads = f->threads};
  for (size_t j = 0; j < (size_t)columns; j++)
    for (size_t i = 0; i < n; i++) {
      size_t other = (size_t)f->pivots[i] - 1;
      double value = x[j * n + i];
      x[j * n + i] = x[j * n + other];
      x[j * n + other] = value;
    }
  return triangle_solve(&lower, columns, x, scratch, arith, noise) &&
         triangle_solve(&upper, columns, x, scratch, arith, noise);
}

// ---- Cholesky

struct lower {
  int n;
  double *a;
  const double *products;
  const struct arith *arith;
  const struct noise *noise;
};

static void disturb_rows(void *arg, int64_t begin, int64_t end) {
  const struct lower *c = arg;
  size_t width = (size_t)c->n;
  for (size_t i = (size_t)begin; i < (size_t)end; i++) {
    struct noise noise = noise_part(c->noise, i);
    for (size_t j = 0; j <= i; j++) {
      double t2 = c->products[i * width + j], *value = &c->a[i * width + j];
      *value += deviate(&noise, arith_sum_variance(c->arith, *value, t2, (double)j + 2, true));
    }
  }
}

// Row-major's lower triangle is column-major's upper one of the transposed matrix, and L' L'' is its own transposed.
bool cholesky_make(const struct cholesky *c, double *a, const struct arith *arith, struct noise *noise) {
  size_t width = (size_t)c->n, all = width * width;
  double *l = c->scratch, *squares = c->scratch + all;
  const double *products = c->products;
  bool made = true;
  if (!arith->exact && !products) {
    memcpy(l, a, all * sizeof *l);
    made = blocked_cholesky(c->n, l, c->threads);
    for (size_t i = 0; i < width; i++)
      memset(l + i * width + i + 1, 0, (width - i - 1) * sizeof *l);
    if (made)
      blocked_square_products(c->n, l, squares, l, c->threads);
    products = l;
  }
  if (!arith->exact && made) {
    struct lower lower = {.n = c->n, .a = a, .products = products, .arith = arith, .noise = noise};
    parallel_for(c->threads, c->n, grain_of(c->n), disturb_rows, &lower);
    noise_next(noise);
  }
  made = made && blocked_cholesky(c->n, a, c->threads);
  for (size_t i = 0; i < width; i++)
    for (size_t j = i + 1; j < width; j++)
      a[i * width + j] = 0;
  return made;
}

double *cholesky_tell(int n, const double *l, int threads) {
  const size_t bytes = ((size_t)n * (size_t)n + 1) * sizeof(double);
  double *products = base_alloc(bytes), *squares = base_alloc(bytes);
  if (products && squares)
    blocked_square_products(n, l, squares, products, threads);
  if (!squares) {
    base_free(products);
    products = NULL;
  }
  base_free(squares);
  return products;
}
