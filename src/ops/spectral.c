// SPDX-License-Identifier: Apache-2.0
// Functions of matrices that kernels find through eigenvalues or singular values, of one matrix or a batch.
//
// What a straightforward implementation gives is the exact function of a matrix that lies near (backward stability:
// Golub and Van Loan, Matrix Computations, chapters 5, 7 and 8). So a contract pass moves every element by a normal
// deviate, and all by a common factor, and takes the function in double precision; what that does, the conditioning,
// comes out by itself. (The factor is for eigenvalues: rotation after rotation errs in their direction, where
// independent deviates cancel.) How far: in units of the Frobenius norm, errors of single precision's algorithms are 1
// to 12 times the unit roundoff for matrices of 4 rows, and grow to 60 times with the root of the extent; factors
// rounded to 11 bits err by 3400 times.
#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *a, const int *lda,
             const double *vl, const double *vu, const int *il, const int *iu, const double *abstol, int *m, double *w,
             double *z, const int *ldz, int *isuppz, double *work, const int *lwork, int *iwork, const int *liwork,
             int *info);
void dgeev_(const char *jobvl, const char *jobvr, const int *n, double *a, const int *lda, double *wr, double *wi,
            double *vl, const int *ldvl, double *vr, const int *ldvr, double *work, const int *lwork, int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s, double *u,
             const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork, int *iwork, int *info);

// One matrix of m rows and n columns at work, row-major: LAPACK sees it transposed.
struct matrix {
  const struct op_eval *c;
  int m, n, least; // least: min(m, n)
  double *a;       // the matrix, moved in a contract pass
  double *y;       // the result
  struct arena arena;
};
typedef bool matrix_fn(struct matrix *x); // false: no memory, or no convergence

static double *doubles(struct matrix *x, int64_t rows, int64_t columns) {
  return arena_calloc(&x->arena, (size_t)(rows * columns + 1), sizeof(double));
}

static void move(struct matrix *x, struct noise *noise, bool symmetric) {
  const struct arith *arith = &x->c->arith;
  size_t all = (size_t)x->m * (size_t)x->n;
  double squares = 0, unit = 3 * (2 + sqrt(x->least)) * ldexp(1, -arith->bits);
  for (size_t i = 0; i < all; i++)
    squares += x->a[i] * x->a[i];
  double each = arith->exact ? 0 : unit * sqrt(squares / (double)all);
  double common = arith->exact ? 1 : 1 + unit * noise_normal(noise);
  for (int i = 0; i < x->m && !arith->exact; i++)
    for (int j = 0; j < x->n; j++) {
      double *at = &x->a[(size_t)i * (size_t)x->n + (size_t)j];
      *at = symmetric && j > i ? *at : common * *at + each * noise_normal(noise);
    }
  for (int i = 0; i < x->m && symmetric; i++) // the upper triangle is not read
    for (int j = 0; j < i; j++)
      x->a[(size_t)j * (size_t)x->n + (size_t)i] = x->a[(size_t)i * (size_t)x->n + (size_t)j];
}

// Eigenvectors, a row each, of the symmetric matrix a (n rows, destroyed) for its `count` largest eigenvalues w, which
// ascend.
static bool symmetric_eigen(struct matrix *x, int n, double *a, int count, double *w, double *v) {
  int first = n - count + 1, found, info, work_n = 26 * n + 64 * n, iwork_n = 10 * n;
  double none = 0, *work = doubles(x, 1, work_n);
  int *iwork = arena_calloc(&x->arena, (size_t)iwork_n + 1, sizeof *iwork);
  int *support = arena_calloc(&x->arena, 2 * (size_t)n + 1, sizeof *support);
  if (!work || !iwork || !support)
    return false;
  dsyevr_("V", "I", "L", &n, a, &n, &none, &none, &first, &n, &none, &found, w, v, &n, support, work, &work_n, iwork,
          &iwork_n, &info);
  return info == 0 && found == count;
}

static bool symmetric_power(struct matrix *x) {
  double k = node_float(x->c->node, "k", 2), *w = doubles(x, 1, x->n), *v = doubles(x, x->n, x->n),
         *scaled = doubles(x, x->n, x->n);
  if (!w || !v || !scaled || !symmetric_eigen(x, x->n, x->a, x->n, w, v))
    return false;
  for (int i = 0; i < x->n; i++)
    for (int j = 0; j < x->n; j++)
      scaled[(size_t)i * (size_t)x->n + (size_t)j] = pow(w[i], k) * v[(size_t)i * (size_t)x->n + (size_t)j];
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, x->n, x->n, x->n, 1, v, x->n, scaled, x->n, 0, x->y, x->n);
  return true;
}

static bool spectral_radius(struct matrix *x) {
  int n = x->n, one = 1, info, work_n = 16 * n;
  double *re = doubles(x, 1, n), *im = doubles(x, 1, n), *work = doubles(x, 1, work_n), none;
  if (!re || !im || !work)
    return false;
  dgeev_("N", "N", &n, x->a, &n, re, im, &none, &one, &none, &one, work, &work_n, &info);
  *x->y = 0;
  for (int i = 0; i < n; i++)
    *x->y = fmax(*x->y, hypot(re[i], im[i]));
  return info == 0;
}

// The projection on the leading singular vectors of the shorter side, from the eigenvectors of a a' or a' a: the square
// costs digits of the small singular values, which are not asked for.
static bool low_rank(struct matrix *x) {
  int m = x->m, n = x->n, k = (int)node_int(x->c->node, "rank", 1), least = x->least;
  if (k >= least) {
    memcpy(x->y, x->a, (size_t)m * (size_t)n * sizeof *x->y);
    return true;
  }
  bool wide = m < n;
  double *square = doubles(x, least, least), *w = doubles(x, 1, least), *v = doubles(x, k, least);
  double *part = doubles(x, wide ? n : m, k);
  if (!square || !w || !v || !part)
    return false;
  cblas_dgemm(CblasRowMajor, wide ? CblasNoTrans : CblasTrans, wide ? CblasTrans : CblasNoTrans, least, least,
              wide ? n : m, 1, x->a, n, x->a, n, 0, square, least);
  if (!symmetric_eigen(x, least, square, k, w, v))
    return false;
  if (wide) { // v' (v a)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, n, m, 1, v, m, x->a, n, 0, part, n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, v, m, part, n, 0, x->y, n);
  } else { // (a v') v
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, n, 1, x->a, n, v, n, 0, part, k);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, part, k, v, n, 0, x->y, n);
  }
  return true;
}

// LAPACK's u and vt of the transposed matrix: a = vt' s u' in its columns, so vt' has the rows' vectors here.
static bool pseudo_inverse(struct matrix *x) {
  int m = x->m, n = x->n, least = x->least, info, work_n = 8 * least * least + 64 * (m + n) + 64;
  double *s = doubles(x, 1, least), *u = doubles(x, n, least), *vt = doubles(x, least, m);
  double *work = doubles(x, 1, work_n);
  int *iwork = arena_calloc(&x->arena, 8 * (size_t)least + 1, sizeof *iwork);
  if (!s || !u || !vt || !work || !iwork)
    return false;
  dgesdd_("S", &n, &m, x->a, &n, s, u, &n, vt, &least, work, &work_n, iwork, &info);
  double cut = node_float(x->c->node, "rcond", 1e-15) * (least > 0 ? s[0] : 0);
  for (int i = 0; i < least; i++)
    for (int j = 0; j < n; j++)
      u[(size_t)i * (size_t)n + (size_t)j] *= s[i] > cut ? 1 / s[i] : 0;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, n, m, least, 1, u, n, vt, least, 0, x->y, m);
  return info == 0;
}

// ---- a batch

struct batch {
  const struct op_eval *c;
  matrix_fn *each;
  bool symmetric;
  int m, n;
  int64_t result; // elements of each
  atomic_bool failed;
};

static void batch_range(void *arg, int64_t begin, int64_t end) {
  struct batch *b = arg;
  size_t all = (size_t)b->m * (size_t)b->n;
  for (int64_t i = begin; i < end; i++) {
    struct noise noise = noise_at(b->c->arith.key, (uint64_t)i);
    struct matrix x = {
        .c = b->c, .m = b->m, .n = b->n, .least = b->m < b->n ? b->m : b->n, .y = b->c->out[0].f64 + i * b->result};
    x.a = doubles(&x, b->m, b->n);
    if (x.a) {
      memcpy(x.a, b->c->in[0]->f64 + (size_t)i * all, all * sizeof *x.a);
      move(&x, &noise, b->symmetric);
    }
    if (!x.a || !b->each(&x))
      b->failed = true;
    for (int64_t k = 0; k < b->result; k++)
      x.y[k] = arith_round(&b->c->arith, &noise, x.y[k]);
    arena_release(&x.arena);
  }
}

static enum assay_status batch_run(struct op_eval *c, matrix_fn *each, bool symmetric, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape;
  struct batch b = {.c = c,
                    .each = each,
                    .symmetric = symmetric,
                    .m = (int)a->dims[a->rank - 2],
                    .n = (int)a->dims[a->rank - 1],
                    .failed = false};
  int64_t count = shape_span(a, 0, a->rank - 2);
  if (shape_count(a) == 0)
    return ASSAY_OK;
  b.result = shape_count(&c->out[0].shape) / count;
  openblas_set_num_threads(1); // see ops/gemm.h
  parallel_for(c->threads, count, 1, batch_range, &b);
  return b.failed ? error_nomem(err, "the eigenvalues of matrices") : ASSAY_OK;
}

static enum assay_status power_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, symmetric_power, true, err);
}
static enum assay_status radius_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, spectral_radius, false, err);
}
static enum assay_status low_rank_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, low_rank, false, err);
}
static enum assay_status pseudo_inverse_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, pseudo_inverse, false, err);
}

// ---- shapes and cost

enum { MOST = 8192 }; // rows and columns: beyond it a pass takes minutes

static enum assay_status need_matrices(const struct op_infer *c, bool square, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status && s->rank < 2)
    return op_invalid(c->node, err, "input 0 must be matrices: [..., m, n]");
  for (int d = s->rank - 2; d < s->rank && !status; d++)
    if (s->dims[d] > MOST)
      return op_unsupported(c->node, err, "a matrix with an extent of %lld; at most %d", (long long)s->dims[d], MOST);
  if (!status && square && s->dims[s->rank - 1] != s->dims[s->rank - 2])
    return op_invalid(c->node, err, "input 0 must be square matrices: [..., n, n]");
  return status;
}

static enum assay_status power_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = need_matrices(c, true, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status radius_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = need_matrices(c, true, err);
  return status ? status : op_output(c, 0, c->in[0]->dtype, s->rank - 2, s->dims, err);
}

static enum assay_status low_rank_infer(struct op_infer *c, struct assay_error *err) {
  if (node_int(c->node, "rank", 1) < 1 || node_int(c->node, "rank", 1) > MOST)
    return op_invalid(c->node, err, "rank must be between 1 and %d", MOST);
  enum assay_status status = need_matrices(c, false, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status pseudo_inverse_infer(struct op_infer *c, struct assay_error *err) {
  struct shape s = c->in[0]->shape;
  enum assay_status status = need_matrices(c, false, err);
  if (status)
    return status;
  s.dims[s.rank - 1] = c->in[0]->shape.dims[s.rank - 2];
  s.dims[s.rank - 2] = c->in[0]->shape.dims[s.rank - 1];
  return op_output(c, 0, c->in[0]->dtype, s.rank, s.dims, err);
}

// As many operations as the reduction to a tridiagonal, bidiagonal or triangular form takes at least.
static void reduction_cost(const struct op_infer *c, struct op_cost *cost) {
  const struct shape *s = &c->in[0]->shape;
  double least = (double)(s->dims[s->rank - 1] < s->dims[s->rank - 2] ? s->dims[s->rank - 1] : s->dims[s->rank - 2]);
  cost->contraction_flops = 4.0 / 3 * (double)shape_count(s) * least;
}

static const struct op_attr power_attrs[] = {{"k", ATTR_FLOAT, false, "2.0"}, {0}};
static const struct op_attr rank_attrs[] = {{"rank", ATTR_INT, false, "1"}, {0}};
static const struct op_attr rcond_attrs[] = {{"rcond", ATTR_FLOAT, false, "1e-15"}, {0}};

static void pytorch_power(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n, "(lambda w, v: (v * (w ** {k}).unsqueeze(-2)) @ v.mT)(*torch.linalg.eigh($0))");
}
static void pytorch_low_rank(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n,
                       "(lambda u, s, v: (u[..., :{rank}] * s[..., None, :{rank}]) @ v[..., :{rank}, :])"
                       "(*torch.linalg.svd($0, full_matrices=False))");
}

#define SPECTRAL_ROW(NAME)                                                                                             \
  OP_ROW_OF("ai.assay", NAME, 1, 1, 1, 1, 1, OP_FACTORIZATION), .cost = reduction_cost,                                \
                                                                .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}
#define OF_MATRICES " => (float[3,5,5] y) { t = Transpose<perm = [0, 2, 1]>(x) p = MatMul(x, t) "

static const struct op_def rows[] = {
    {SPECTRAL_ROW("SymmetricPower"), .attrs = power_attrs, .infer = power_infer, .eval = power_eval,
     .pytorch = {.write = pytorch_power},
     .doc = "Powers V W^k V' of symmetric matrices V W V', the last two dimensions, of which the upper triangle is not "
            "read. NaN where a power of an eigenvalue is.",
     .example = "(float[3,5,5] x)" OF_MATRICES "y = ai.assay.SymmetricPower<k = 2.5>(p) }"},
    {SPECTRAL_ROW("SpectralRadius"), .infer = radius_infer, .eval = radius_eval,
     .pytorch = {.text = "torch.linalg.eigvals($0).abs().amax(-1)"},
     .doc = "The largest magnitude of an eigenvalue of square matrices, the last two dimensions.",
     .example = "(float[3,5,5] x) => (float[3] y) { y = ai.assay.SpectralRadius(x) }"},
    {SPECTRAL_ROW("LowRank"), .attrs = rank_attrs, .infer = low_rank_infer, .eval = low_rank_eval,
     .pytorch = {.write = pytorch_low_rank},
     .doc =
         "The nearest matrices of a rank (or less) to given ones, the last two dimensions: what is left of their "
         "singular value decomposition without all but the `rank` largest singular values. With a rank not below the "
         "shorter extent that is the matrix itself, with the error of a decomposition.",
     .example = "(float[3,5,7] x) => (float[3,5,7] y) { y = ai.assay.LowRank<rank = 2>(x) }"},
    {SPECTRAL_ROW("PseudoInverse"), .attrs = rcond_attrs, .infer = pseudo_inverse_infer, .eval = pseudo_inverse_eval,
     .pytorch = {.text = "torch.linalg.pinv($0, rtol={rcond})"},
     .doc = "Moore and Penrose's inverses [..., n, m] of matrices [..., m, n]. Singular values up to rcond times the "
            "largest count as zero.",
     .example = "(float[3,7,5] x) => (float[3,5,7] y) { y = ai.assay.PseudoInverse(x) }"},
};

const struct op_family ops_spectral_family = {"Matrix functions", rows, sizeof rows / sizeof rows[0]};
