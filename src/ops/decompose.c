// SPDX-License-Identifier: Apache-2.0
// Factors of matrices that are not unique: orthogonal ones have free signs, eigenvectors a free phase, and pivots are
// the kernel's choice. A task with one of these has a check (task/check.h), which judges what does not depend on that.
//
// What a contract pass gives is what a backward stable algorithm in the contract's precision does, in the units of
// matrix_unit. Where a factor is orthogonal, it gets errors of its own besides, which no choice of the matrix nearby
// would make: as large, of equal size in all elements.
#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/blocked.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/spectral.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dsytrf_(const char *uplo, const int *n, double *a, const int *lda, int *ipiv, double *work, const int *lwork,
             int *info);

static bool is_finite(const struct matrix *x) {
  for (int64_t i = 0; i < (int64_t)x->m * x->n; i++)
    if (!isfinite(x->a[i]))
      return false;
  return true;
}

// What a matrix with elements that are no numbers gives.
static bool give_nothing(struct matrix *x) {
  for (int o = 0; o < x->c->n_out; o++) {
    const struct array *y = &x->c->out[o];
    int64_t n = shape_count(&y->shape) / (shape_count(&x->c->in[0]->shape) / ((int64_t)x->m * x->n));
    for (int64_t i = 0; i < n; i++) {
      if (x->y[o])
        x->y[o][i] = NAN;
      if (x->whole[o])
        x->whole[o][i] = 0;
    }
  }
  return true;
}

static void add_noise(struct matrix *x, double *y, int64_t n, double size) {
  for (int64_t i = 0; i < n && size > 0 && y; i++)
    y[i] += size * noise_normal(x->noise);
}

// ---- Q R

// Errors in the size of the columns of the triangle.
static void move_triangle(struct matrix *x, double *r) {
  const int n = x->n, k = x->least;
  const double unit = matrix_unit(x) / sqrt(k > 0 ? k : 1);
  for (int j = 0; j < n && unit > 0 && r; j++) {
    double squares = 0;
    for (int i = 0; i < k && i <= j; i++)
      squares += r[(int64_t)i * n + j] * r[(int64_t)i * n + j];
    for (int i = 0; i < k && i <= j; i++)
      r[(int64_t)i * n + j] += unit * sqrt(squares) * noise_normal(x->noise);
  }
}

// Errors within the space of the columns, Q F: where there are far more rows than columns, errors in all directions
// hardly turn one column towards another, and sums of many products do.
static bool turn_columns(struct matrix *x, double *q) {
  const int m = x->m, k = x->least;
  const double size = matrix_unit(x) / sqrt(k);
  const struct arith exact = {.exact = true};
  double *f = matrix_doubles(x, k, k), *turned = matrix_doubles(x, m, k);
  if (!f || !turned)
    return false;
  add_noise(x, f, (int64_t)k * k, size);
  const struct gemm_batch product = {
      .g = {.m = m, .n = k, .k = k, .a = q, .b = f, .a_row = k, .a_col = 1, .b_row = k, .b_col = 1},
      .count = 1,
      .c = turned,
      .arith = &exact,
      .threads = x->threads};
  if (gemm_run(&product, NULL))
    return false;
  for (int64_t i = 0; i < (int64_t)m * k; i++)
    q[i] += turned[i];
  return true;
}

static bool qr_exact(struct matrix *x) {
  const int m = x->m, n = x->n, k = x->least;
  double *f = matrix_doubles(x, m, n), *tau = matrix_doubles(x, 1, k), *q = matrix_doubles(x, m, k);
  if (!f || !tau || !q)
    return false;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++)
      f[(int64_t)j * m + i] = x->a[(int64_t)i * n + j];
  if (!blocked_qr(m, n, f, tau, x->threads))
    return false;
  for (int i = 0; i < k && x->y[1]; i++)
    for (int j = 0; j < n; j++)
      x->y[1][(int64_t)i * n + j] = i <= j ? f[(int64_t)j * m + i] : 0;
  if (!x->y[0])
    return true;
  if (!blocked_q(m, k, f, tau, q, x->threads))
    return false;
  for (int i = 0; i < m; i++)
    for (int j = 0; j < k; j++)
      x->y[0][(int64_t)i * k + j] = q[(int64_t)j * m + i];
  return true;
}

// Whether the exact pass made all outputs; they are copied then.
static bool copy_known(struct matrix *x, const int64_t *elements, int n) {
  for (int o = 0; o < n; o++)
    if (x->y[o] && !x->known[o])
      return false;
  for (int o = 0; o < n; o++)
    if (x->y[o])
      memcpy(x->y[o], x->known[o], (size_t)elements[o] * sizeof *x->y[o]);
  return true;
}

static bool qr(struct matrix *x) {
  const int64_t m = x->m, n = x->n, k = x->least;
  const int64_t elements[] = {m * k, k * n};
  if (!is_finite(x))
    return give_nothing(x);
  if (!copy_known(x, elements, 2) && !qr_exact(x))
    return false;
  if (x->c->arith.exact)
    return true;
  move_triangle(x, x->y[1]);
  if (!x->y[0])
    return true;
  add_noise(x, x->y[0], m * k, matrix_unit(x) / sqrt((double)m));
  return turn_columns(x, x->y[0]);
}

// ---- U S V'

// LAPACK's matrix is the transposed one: its V' is our U, its U our V', in the same memory.
static bool svd_exact(struct matrix *x, double *u, double *s, double *v) {
  const int m = x->m, n = x->n, k = x->least, work_n = 8 * k * k + 64 * (m + n) + 64;
  int info = 0;
  double *work = matrix_doubles(x, 1, work_n);
  int *iwork = matrix_ints(x, 8 * (int64_t)k);
  if (!work || !iwork)
    return false;
  dgesdd_("A", &n, &m, x->a, &n, s, v, &n, u, &m, work, &work_n, iwork, &info);
  return info == 0;
}

static bool svd(struct matrix *x) {
  const int m = x->m, n = x->n, k = x->least;
  const int64_t elements[] = {(int64_t)m * m, k, (int64_t)n * n};
  double squares = 0, unit = 2 * matrix_unit(x); // of more rotations than other decompositions take
  double *s = x->y[1] ? x->y[1] : matrix_doubles(x, 1, k);
  double *u = x->y[0] ? x->y[0] : matrix_doubles(x, m, m), *v = x->y[2] ? x->y[2] : matrix_doubles(x, n, n);
  if (!s || !u || !v)
    return false;
  if (!is_finite(x))
    return give_nothing(x);
  if (!(x->y[1] && copy_known(x, elements, 3)) && !svd_exact(x, u, s, v))
    return false;
  for (int i = 0; i < k; i++)
    squares += s[i] * s[i];
  // Rotation after rotation errs in the values' direction; independent errors are as large in all of them.
  const double each = unit * sqrt(squares / (k > 0 ? k : 1)),
               common = 1 + (unit > 0 ? unit * noise_normal(x->noise) : 0);
  for (int i = 0; i < k; i++)
    s[i] = unit > 0 ? fabs(common * s[i] + each * noise_normal(x->noise)) : s[i];
  add_noise(x, u, (int64_t)m * m, unit / sqrt(m));
  add_noise(x, v, (int64_t)n * n, unit / sqrt(n));
  return true;
}

// ---- eigenvalues and their vectors

// Numbers and unit vectors of a pair are next to each other in LAPACK: real and imaginary part of the first; the second
// is conjugate. It sees the transposed matrix, whose left vectors are conjugate to ours.
struct pairs {
  double *re, *im, *left; // n, n, n * n and room for one vector
};

static void put_pair(const struct matrix *x, const struct pairs *p, int from, int to, const double phase[2]) {
  const int n = x->n;
  const bool second = p->im[from] < 0, pair = p->im[from] != 0;
  const double *re = p->left + (int64_t)(second ? from - 1 : from) * n;
  if (x->y[0]) {
    x->y[0][2 * to] = p->re[from];
    x->y[0][2 * to + 1] = p->im[from];
  }
  for (int i = 0; i < n && x->y[1]; i++) {
    double *at = &x->y[1][2 * ((int64_t)i * n + to)], a = re[i], b = !pair ? 0 : second ? re[n + i] : -re[n + i];
    at[0] = phase[0] * a - phase[1] * b;
    at[1] = phase[0] * b + phase[1] * a;
  }
}

// In a contract pass the pairs are in any order, the vectors have any phase, and lengths that are slightly off: what
// element errs how much depends on all that, and a kernel is free to choose.
static bool put_pairs(struct matrix *x, const struct pairs *p) {
  const bool exact = x->c->arith.exact;
  const double length = 4 * ldexp(1, -x->c->arith.bits);
  int *order = matrix_ints(x, x->n);
  if (!order)
    return false;
  for (int i = 0; i < x->n; i++) {
    int other = exact ? i : (int)(noise_next(x->noise) % (uint64_t)(i + 1));
    order[i] = order[other];
    order[other] = i;
  }
  for (int i = 0; i < x->n; i++) {
    double phase[2] = {1, 0};
    if (!exact) {
      const double a = noise_normal(x->noise), b = noise_normal(x->noise);
      const double factor = (1 + length * noise_normal(x->noise)) / hypot(a, b);
      phase[0] = factor * a;
      phase[1] = factor * b;
    }
    put_pair(x, p, order[i], i, phase);
  }
  return true;
}

// Reductions and hundreds of rotations of both sides: an honest result's residual is two or three times as large as
// those of other decompositions.
static void move_eigen(struct matrix *x) {
  const double factor = 2.5;
  const int64_t all = (int64_t)x->n * x->n;
  double squares = 0;
  for (int64_t i = 0; i < all; i++)
    squares += x->a[i] * x->a[i];
  add_noise(x, x->a, all, factor * matrix_unit(x) * sqrt(squares) / x->n);
}

static bool eig(struct matrix *x) {
  const int n = x->n, one = 1, work_n = 64 * n + 1;
  int info = 0;
  const struct pairs p = {
      .re = matrix_doubles(x, 1, n), .im = matrix_doubles(x, 1, n), .left = matrix_doubles(x, n, n + 1)};
  double *work = matrix_doubles(x, 1, work_n), none;
  if (!p.re || !p.im || !p.left || !work)
    return false;
  if (!is_finite(x))
    return give_nothing(x);
  move_eigen(x);
  dgeev_("V", "N", &n, x->a, &n, p.re, p.im, p.left, &n, &none, &one, work, &work_n, &info);
  return info == 0 && put_pairs(x, &p);
}

// ---- L D L'

static bool ldl(struct matrix *x) {
  const int n = x->n, work_n = 64 * n + 1;
  int info = 0, *pivots = matrix_ints(x, n);
  double *work = matrix_doubles(x, 1, work_n);
  if (!pivots || !work)
    return false;
  if (!is_finite(x))
    return give_nothing(x);
  dsytrf_("L", &n, x->a, &n, pivots, work, &work_n, &info); // info above 0: a block of D is singular
  for (int i = 0; i < n; i++) {
    if (x->whole[1])
      x->whole[1][i] = pivots[i];
    for (int j = 0; j < n && x->y[0]; j++)
      x->y[0][(int64_t)i * n + j] = j <= i ? x->a[(int64_t)j * n + i] : 0;
  }
  return info >= 0;
}

// The blocks of D that the pivots say: sizes[k] is 1 or 2 where one begins, 0 within it. False: these are no pivots.
static bool read_blocks(const int64_t *pivots, int n, int *sizes) {
  for (int k = 0; k < n; k += sizes[k]) {
    const bool two = pivots[k] < 0;
    const int first = two ? k + 1 : k; // what changes places is at this row or below
    if (two && (k + 1 == n || pivots[k + 1] != pivots[k]))
      return false;
    if (pivots[k] == INT64_MIN || llabs(pivots[k]) < first + 1 || llabs(pivots[k]) > n)
      return false;
    sizes[k] = two ? 2 : 1;
  }
  return true;
}

static void swap_both(double *y, int n, int i, int j) {
  for (int k = 0; k < n && i != j; k++) {
    double row = y[(int64_t)i * n + k];
    y[(int64_t)i * n + k] = y[(int64_t)j * n + k];
    y[(int64_t)j * n + k] = row;
  }
  for (int k = 0; k < n && i != j; k++) {
    double column = y[(int64_t)k * n + i];
    y[(int64_t)k * n + i] = y[(int64_t)k * n + j];
    y[(int64_t)k * n + j] = column;
  }
}

// Puts the block at k and its multipliers around what y has of the rows after it: undoes one step of elimination.
static void grow_product(const struct matrix *x, int k, int size, double *y, double *scaled) {
  const int n = x->n, rest = k + size;
  const double *ld = x->a;
  for (int a = k; a < rest; a++)
    for (int b = k; b < rest; b++)
      y[(int64_t)a * n + b] = a >= b ? ld[(int64_t)a * n + b] : ld[(int64_t)b * n + a];
  for (int i = rest; i < n; i++)
    for (int b = 0; b < size; b++) {
      double sum = 0;
      for (int a = 0; a < size; a++)
        sum += ld[(int64_t)i * n + k + a] * y[(int64_t)(k + a) * n + k + b];
      scaled[2 * i + b] = sum;
      y[(int64_t)i * n + k + b] = y[(int64_t)(k + b) * n + i] = sum;
    }
  for (int i = rest; i < n; i++)
    for (int j = rest; j < n; j++)
      for (int b = 0; b < size; b++)
        y[(int64_t)i * n + j] += scaled[2 * i + b] * ld[(int64_t)j * n + k + b];
}

static bool ldl_product(struct matrix *x) {
  const int n = x->n;
  const int64_t *pivots = x->c->in[1]->i64 + x->at * n;
  int *sizes = matrix_ints(x, n);
  double *scaled = matrix_doubles(x, 2, n);
  if (!sizes || !scaled)
    return false;
  if (!read_blocks(pivots, n, sizes))
    return give_nothing(x);
  memset(x->y[0], 0, (size_t)n * (size_t)n * sizeof *x->y[0]);
  for (int k = n - 1; k >= 0; k--) {
    if (sizes[k] == 0)
      continue;
    grow_product(x, k, sizes[k], x->y[0], scaled);
    swap_both(x->y[0], n, k + sizes[k] - 1, (int)llabs(pivots[k]) - 1);
  }
  return true;
}

static enum assay_status qr_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, qr, MATRIX_SHARED, err);
}
static enum assay_status svd_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, svd, MATRIX_SHARED, err);
}
static enum assay_status eig_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, eig, MATRIX_STAYS, err);
}
static enum assay_status ldl_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, ldl, MATRIX_SYMMETRIC, err);
}
static enum assay_status ldl_product_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, ldl_product, MATRIX_STAYS, err);
}

// ---- shapes and cost

// Output i: the batch of input 0, and then these extents (-1: there is no such dimension).
static enum assay_status give(struct op_infer *c, int i, enum dtype dtype, const int64_t extents[3],
                              struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t dims[SHAPE_MAX_RANK + 1];
  int rank = s->rank - 2;
  memcpy(dims, s->dims, (size_t)rank * sizeof *dims);
  for (int k = 0; k < 3 && extents[k] >= 0 && rank <= SHAPE_MAX_RANK; k++)
    dims[rank++] = extents[k];
  return op_output(c, i, dtype, rank, dims, err);
}

static void extents_of(const struct op_infer *c, int64_t *m, int64_t *n, int64_t *k) {
  const struct shape *s = &c->in[0]->shape;
  *m = s->dims[s->rank - 2];
  *n = s->dims[s->rank - 1];
  *k = *m < *n ? *m : *n;
}

static enum assay_status qr_infer(struct op_infer *c, struct assay_error *err) {
  int64_t m, n, k;
  enum assay_status status = matrix_infer(c, false, err);
  if (status)
    return status;
  extents_of(c, &m, &n, &k);
  status = give(c, 0, c->in[0]->dtype, (int64_t[]){m, k, -1}, err);
  return status ? status : give(c, 1, c->in[0]->dtype, (int64_t[]){k, n, -1}, err);
}

static enum assay_status svd_infer(struct op_infer *c, struct assay_error *err) {
  int64_t m, n, k;
  enum assay_status status = matrix_infer(c, false, err);
  if (status)
    return status;
  extents_of(c, &m, &n, &k);
  status = give(c, 0, c->in[0]->dtype, (int64_t[]){m, m, -1}, err);
  if (!status)
    status = give(c, 1, c->in[0]->dtype, (int64_t[]){k, -1, -1}, err);
  return status ? status : give(c, 2, c->in[0]->dtype, (int64_t[]){n, n, -1}, err);
}

static enum assay_status eig_infer(struct op_infer *c, struct assay_error *err) {
  int64_t m, n, k;
  enum assay_status status = matrix_infer(c, true, err);
  if (status)
    return status;
  extents_of(c, &m, &n, &k);
  status = give(c, 0, c->in[0]->dtype, (int64_t[]){n, 2, -1}, err);
  return status ? status : give(c, 1, c->in[0]->dtype, (int64_t[]){n, n, 2}, err);
}

static enum assay_status ldl_infer(struct op_infer *c, struct assay_error *err) {
  int64_t m, n, k;
  enum assay_status status = matrix_infer(c, true, err);
  if (status)
    return status;
  extents_of(c, &m, &n, &k);
  status = give(c, 0, c->in[0]->dtype, (int64_t[]){n, n, -1}, err);
  return status ? status : give(c, 1, DTYPE_INT32, (int64_t[]){n, -1, -1}, err);
}

static enum assay_status ldl_product_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape, *p = &c->in[1]->shape;
  enum assay_status status = matrix_infer(c, true, err);
  if (status)
    return status;
  bool fits = dtype_is_integer(c->in[1]->dtype) && p->rank == a->rank - 1;
  for (int d = 0; d < p->rank && fits; d++)
    fits = p->dims[d] == a->dims[d];
  if (!fits)
    return op_invalid(c->node, err, "input 1 must be whole numbers [..., n], with the batch of input 0, [..., n, n]");
  return op_infer_same(c, err);
}

static void cost_of(const struct op_infer *c, double factor, struct op_cost *cost) {
  int64_t m, n, k;
  extents_of(c, &m, &n, &k);
  cost->contraction_flops = factor * (double)shape_count(&c->in[0]->shape) * (double)k;
}
// As many operations as Householder's reductions and the forming of what they multiplied take for square matrices.
static void qr_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, 8.0 / 3, cost);
}
static void svd_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, 16.0 / 3, cost);
}
static void eig_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, 14.0 / 3, cost);
}
static void ldl_cost(const struct op_infer *c, struct op_cost *cost) {
  cost_of(c, 1.0 / 3, cost);
}

#define DECOMPOSE_ROW(NAME, INPUTS, OUTPUTS)                                                                           \
  OP_ROW_OF("ai.assay", NAME, 1, INPUTS, INPUTS, 1, OUTPUTS, OP_FACTORIZATION),                                        \
      .matrices = 7, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}

static const struct op_def rows[] = {
    {DECOMPOSE_ROW("QR", 1, 2), .infer = qr_infer, .eval = qr_eval, .cost = qr_cost, .free = 1 << 0 | 1 << 1,
     .pytorch = {.text = "torch.linalg.qr($0)", .results = OP_PYTORCH_ALL},
     .doc = "Q [..., m, k] with orthonormal columns and an upper triangle R [..., k, n] with Q R = A, for matrices "
            "[..., m, n] and k the smaller extent. Signs of columns of Q and rows of R are free.",
     .example = "(float[3,5,4] x) => (float[3,5,4] q, float[3,4,4] r) { q, r = ai.assay.QR(x) }"},
    {DECOMPOSE_ROW("SVD", 1, 3), .infer = svd_infer, .eval = svd_eval, .cost = svd_cost, .free = 1 << 0 | 1 << 2,
     .pytorch = {.text = "torch.linalg.svd($0)", .results = OP_PYTORCH_ALL},
     .doc =
         "Orthogonal U [..., m, m], singular values S [..., k] that descend, and orthogonal V' [..., n, n], with U S "
         "V' = A, for matrices [..., m, n] and k the smaller extent.",
     .example = "(float[3,5,4] x) => (float[3,5,5] u, float[3,4] s, float[3,4,4] v) { a, s, b = ai.assay.SVD(x) "
                "u = Mul(a, a) v = Mul(b, b) }"},
    {DECOMPOSE_ROW("Eig", 1, 2), .infer = eig_infer, .eval = eig_eval, .cost = eig_cost, .free = 1 << 0 | 1 << 1,
     .pytorch = {.text = "tuple(torch.view_as_real(t) for t in torch.linalg.eig($0))", .results = OP_PYTORCH_ALL},
     .doc =
         "Eigenvalues [..., n, 2] and eigenvectors [..., n, n, 2], the columns, of length 1, of square matrices. The "
         "last dimension has real and imaginary part. Their order is free, and so is each vector's phase.",
     .example =
         "(float[3,4,4] x) => (float[3] all, float[3] lengths) { w, v = ai.assay.Eig(x) ww = Mul(w, w) vv = Mul(v, "
         "v) parts = Constant<value_ints = [1, 2]>() all = ReduceSum<keepdims = 0>(ww, parts) "
         "each = Constant<value_ints = [1, 2, 3]>() lengths = ReduceSum<keepdims = 0>(vv, each) }"},
    {DECOMPOSE_ROW("LDL", 1, 2), .infer = ldl_infer, .eval = ldl_eval, .cost = ldl_cost, .free = 1 << 0 | 1 << 1,
     .pytorch = {.text = "torch.linalg.ldl_factor($0)", .results = OP_PYTORCH_ALL},
     .doc =
         "Factors of symmetric matrices by elimination with diagonal pivots (Bunch and Kaufman), packed as LAPACK's "
         "sytrf does for the lower triangle, and the pivots, int32 [..., n]. The upper triangle of the matrices is not "
         "read.",
     .example = "(float[3,4,4] x) => (float[3,4,4] f, int32[3,4] p) { t = Transpose<perm = [0, 2, 1]>(x) s = Add(x, t) "
                "f, p = ai.assay.LDL(s) }"},
    {DECOMPOSE_ROW("LDLProduct", 2, 1), .infer = ldl_product_infer, .eval = ldl_product_eval, .cost = ldl_cost,
     .pytorch = {.none = "a check of LDL's factors, which no kernel computes"},
     .doc = "The symmetric matrices whose factors input 0 and input 1 are, packed as LDL gives them; what is above the "
            "diagonal is not read. NaN where input 1 cannot be pivots.",
     .example = "(float[3,4,4] x) => (float[3,4,4] y) { t = Transpose<perm = [0, 2, 1]>(x) s = Add(x, t) "
                "f, p = ai.assay.LDL(s) y = ai.assay.LDLProduct(f, p) }"},
};

const struct op_family ops_decompose_family = {"Factors that are not unique", rows, sizeof rows / sizeof rows[0]};
