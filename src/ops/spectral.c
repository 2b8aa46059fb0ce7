// SPDX-License-Identifier: Apache-2.0
// Functions of matrices that kernels find through eigenvalues or singular values, of one matrix or a batch.
//
// What a straightforward implementation gives is the exact function of a matrix that lies near (backward stability:
// Golub and Van Loan, Matrix Computations, chapters 5, 7 and 8). So a contract pass moves every element by a normal
// deviate, and all by a common factor, and takes the function in double precision; what that does, the conditioning,
// comes out by itself. (The factor is for eigenvalues: rotation after rotation errs in their direction, where
// independent deviates cancel.) How far: in units of the Frobenius norm, errors of single precision's algorithms are 1
// to 12 times the unit roundoff for matrices of 4 rows, and grow to 60 times with the root of the extent, or half as
// far again where rotations go on when there is nothing left to turn; factors rounded to 11 bits err by 3400 times.
#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/spectral.h"

// LAPACK's, which OpenBLAS has; Debian's headers for it are a package of their own.
void dsyevr_(const char *jobz, const char *range, const char *uplo, const int *n, double *a, const int *lda,
             const double *vl, const double *vu, const int *il, const int *iu, const double *abstol, int *m, double *w,
             double *z, const int *ldz, int *isuppz, double *work, const int *lwork, int *iwork, const int *liwork,
             int *info);

double *matrix_doubles(struct matrix *x, int64_t rows, int64_t columns) {
  return arena_calloc(&x->arena, (size_t)(rows * columns + 1), sizeof(double));
}

int *matrix_ints(struct matrix *x, int64_t n) {
  return arena_calloc(&x->arena, (size_t)n + 1, sizeof(int));
}

double matrix_unit(const struct matrix *x) {
  return x->c->arith.exact ? 0 : 3 * (2 + sqrt(x->least)) * ldexp(1, -x->c->arith.bits);
}

static void move(struct matrix *x, bool symmetric) {
  size_t all = (size_t)x->m * (size_t)x->n;
  double squares = 0, unit = 1.5 * matrix_unit(x); // the sweeps that come after the last turn
  for (size_t i = 0; i < all; i++)
    squares += x->a[i] * x->a[i];
  double each = unit * sqrt(squares / (double)all), common = 1 + unit * noise_normal(x->noise);
  for (int i = 0; i < x->m; i++)
    for (int j = 0; j < x->n; j++) {
      double *at = &x->a[(size_t)i * (size_t)x->n + (size_t)j];
      *at = symmetric && j > i ? *at : common * *at + each * noise_normal(x->noise);
    }
}

// The upper triangle is not read.
static void mirror(struct matrix *x) {
  for (int i = 0; i < x->m; i++)
    for (int j = 0; j < i; j++)
      x->a[(size_t)j * (size_t)x->n + (size_t)i] = x->a[(size_t)i * (size_t)x->n + (size_t)j];
}

// Eigenvectors, a row each, of the symmetric matrix a (n rows, destroyed) for its `count` largest eigenvalues w, which
// ascend.
static bool symmetric_eigen(struct matrix *x, int n, double *a, int count, double *w, double *v) {
  int first = n - count + 1, found, info, work_n = 26 * n + 64 * n, iwork_n = 10 * n;
  double none = 0, *work = matrix_doubles(x, 1, work_n);
  int *iwork = matrix_ints(x, iwork_n);
  int *support = matrix_ints(x, 2 * (int64_t)n);
  if (!work || !iwork || !support)
    return false;
  dsyevr_("V", "I", "L", &n, a, &n, &none, &none, &first, &n, &none, &found, w, v, &n, support, work, &work_n, iwork,
          &iwork_n, &info);
  return info == 0 && found == count;
}

static bool symmetric_power(struct matrix *x) {
  double k = node_float(x->c->node, "k", 2), *w = matrix_doubles(x, 1, x->n), *v = matrix_doubles(x, x->n, x->n),
         *scaled = matrix_doubles(x, x->n, x->n);
  if (!w || !v || !scaled || !symmetric_eigen(x, x->n, x->a, x->n, w, v))
    return false;
  for (int i = 0; i < x->n; i++)
    for (int j = 0; j < x->n; j++)
      scaled[(size_t)i * (size_t)x->n + (size_t)j] = pow(w[i], k) * v[(size_t)i * (size_t)x->n + (size_t)j];
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, x->n, x->n, x->n, 1, v, x->n, scaled, x->n, 0, x->y[0], x->n);
  return true;
}

static bool spectral_radius(struct matrix *x) {
  int n = x->n, one = 1, info, work_n = 16 * n;
  double *re = matrix_doubles(x, 1, n), *im = matrix_doubles(x, 1, n), *work = matrix_doubles(x, 1, work_n), none;
  if (!re || !im || !work)
    return false;
  dgeev_("N", "N", &n, x->a, &n, re, im, &none, &one, &none, &one, work, &work_n, &info);
  *x->y[0] = 0;
  for (int i = 0; i < n; i++)
    *x->y[0] = fmax(*x->y[0], hypot(re[i], im[i]));
  return info == 0;
}

// The projection on the leading singular vectors of the shorter side, from the eigenvectors of a a' or a' a: the square
// costs digits of the small singular values, which are not asked for.
static bool low_rank(struct matrix *x) {
  int m = x->m, n = x->n, k = (int)node_int(x->c->node, "rank", 1), least = x->least;
  if (k >= least) {
    memcpy(x->y[0], x->a, (size_t)m * (size_t)n * sizeof *x->y[0]);
    return true;
  }
  bool wide = m < n;
  double *square = matrix_doubles(x, least, least), *w = matrix_doubles(x, 1, least), *v = matrix_doubles(x, k, least);
  double *part = matrix_doubles(x, wide ? n : m, k);
  if (!square || !w || !v || !part)
    return false;
  cblas_dgemm(CblasRowMajor, wide ? CblasNoTrans : CblasTrans, wide ? CblasTrans : CblasNoTrans, least, least,
              wide ? n : m, 1, x->a, n, x->a, n, 0, square, least);
  if (!symmetric_eigen(x, least, square, k, w, v))
    return false;
  if (wide) { // v' (v a)
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, k, n, m, 1, v, m, x->a, n, 0, part, n);
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, m, n, k, 1, v, m, part, n, 0, x->y[0], n);
  } else { // (a v') v
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, m, k, n, 1, x->a, n, v, n, 0, part, k);
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, m, n, k, 1, part, k, v, n, 0, x->y[0], n);
  }
  return true;
}

// LAPACK's u and vt of the transposed matrix: a = vt' s u' in its columns, so vt' has the rows' vectors here.
static bool pseudo_inverse(struct matrix *x) {
  int m = x->m, n = x->n, least = x->least, info, work_n = 8 * least * least + 64 * (m + n) + 64;
  double *s = matrix_doubles(x, 1, least), *u = matrix_doubles(x, n, least), *vt = matrix_doubles(x, least, m);
  double *work = matrix_doubles(x, 1, work_n);
  int *iwork = matrix_ints(x, 8 * (int64_t)least);
  if (!s || !u || !vt || !work || !iwork)
    return false;
  dgesdd_("S", &n, &m, x->a, &n, s, u, &n, vt, &least, work, &work_n, iwork, &info);
  double cut = node_float(x->c->node, "rcond", 1e-15) * (least > 0 ? s[0] : 0);
  for (int i = 0; i < least; i++)
    for (int j = 0; j < n; j++)
      u[(size_t)i * (size_t)n + (size_t)j] *= s[i] > cut ? 1 / s[i] : 0;
  cblas_dgemm(CblasRowMajor, CblasTrans, CblasTrans, n, m, least, 1, u, n, vt, least, 0, x->y[0], m);
  return info == 0;
}

// ---- a batch

// What the exact pass made, for contract passes that see the same matrix.
struct kept {
  double *y[MATRIX_OUTPUTS];
};

static void drop_kept(void *arg) {
  struct kept *k = arg;
  for (int o = 0; o < MATRIX_OUTPUTS; o++)
    base_free(k->y[o]);
  base_free(k);
}

// All or nothing; without memory for it there is nothing.
static void keep_outputs(struct op_eval *c) {
  struct kept *k = base_calloc(1, sizeof *k);
  bool made = k != NULL;
  for (int o = 0; o < c->n_out && made; o++) {
    const size_t bytes = (size_t)shape_count(&c->out[o].shape) * sizeof *c->out[o].f64;
    if (!dtype_is_float(c->out[o].dtype) || !c->out[o].f64)
      continue;
    k->y[o] = base_alloc(bytes + 1);
    made = k->y[o] != NULL;
    if (made)
      memcpy(k->y[o], c->out[o].f64, bytes);
  }
  if (made)
    *c->memo = (struct op_memo){.kept = k, .drop = drop_kept};
  else if (k)
    drop_kept(k);
}

struct batch {
  const struct op_eval *c;
  matrix_fn *each;
  enum matrix_move move;
  const struct kept *kept;        // NULL: nothing
  int m, n, threads;              // threads: for one matrix
  int64_t result[MATRIX_OUTPUTS]; // elements of each
  atomic_bool failed;
};

static bool run_one(const struct batch *b, struct matrix *x) {
  const struct op_eval *c = b->c;
  const size_t all = (size_t)b->m * (size_t)b->n;
  for (int o = 0; o < c->n_out; o++) {
    const bool floating = dtype_is_float(c->out[o].dtype);
    x->y[o] = floating && c->out[o].f64 ? c->out[o].f64 + x->at * b->result[o] : NULL;
    x->whole[o] = !floating && c->out[o].i64 ? c->out[o].i64 + x->at * b->result[o] : NULL;
    x->known[o] = b->kept && b->kept->y[o] ? b->kept->y[o] + x->at * b->result[o] : NULL;
  }
  x->a = matrix_doubles(x, b->m, b->n);
  if (!x->a)
    return false;
  memcpy(x->a, c->in[0]->f64 + (size_t)x->at * all, all * sizeof *x->a);
  if (!c->arith.exact && (b->move == MATRIX_MOVES || b->move == MATRIX_SYMMETRIC))
    move(x, b->move == MATRIX_SYMMETRIC);
  if (b->move == MATRIX_SYMMETRIC)
    mirror(x);
  if (!b->each(x))
    return false;
  for (int o = 0; o < c->n_out; o++)
    for (int64_t k = 0; k < b->result[o] && x->y[o]; k++)
      x->y[o][k] = arith_round(&c->arith, x->noise, x->y[o][k]);
  return true;
}

static void batch_range(void *arg, int64_t begin, int64_t end) {
  struct batch *b = arg;
  for (int64_t i = begin; i < end; i++) {
    struct noise noise = noise_at(b->c->arith.key, (uint64_t)i);
    struct matrix x = {.c = b->c,
                       .m = b->m,
                       .n = b->n,
                       .least = b->m < b->n ? b->m : b->n,
                       .threads = b->threads,
                       .at = i,
                       .noise = &noise};
    if (!run_one(b, &x))
      b->failed = true;
    arena_release(&x.arena);
  }
}

enum assay_status matrix_batch_run(struct op_eval *c, matrix_fn *each, enum matrix_move move, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape;
  struct batch b = {.c = c,
                    .each = each,
                    .move = move,
                    .m = (int)a->dims[a->rank - 2],
                    .n = (int)a->dims[a->rank - 1],
                    .failed = false};
  int64_t count = shape_span(a, 0, a->rank - 2);
  if (shape_count(a) == 0)
    return ASSAY_OK;
  for (int o = 0; o < c->n_out; o++)
    b.result[o] = shape_count(&c->out[o].shape) / count;
  b.threads = count < c->threads ? (int)(c->threads / count) : 1;
  b.kept = c->memo && !c->arith.exact ? c->memo->kept : NULL;
  openblas_set_num_threads(1); // see ops/gemm.h
  parallel_for(c->threads, count, 1, batch_range, &b);
  if (c->memo && c->arith.exact && move == MATRIX_SHARED && !b.failed)
    keep_outputs(c);
  return b.failed ? error_nomem(err, "the decomposition of matrices") : ASSAY_OK;
}

static enum assay_status power_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, symmetric_power, MATRIX_SYMMETRIC, err);
}
static enum assay_status radius_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, spectral_radius, MATRIX_MOVES, err);
}
static enum assay_status low_rank_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, low_rank, MATRIX_MOVES, err);
}
static enum assay_status pseudo_inverse_eval(struct op_eval *c, struct assay_error *err) {
  return matrix_batch_run(c, pseudo_inverse, MATRIX_MOVES, err);
}

// ---- shapes and cost

enum assay_status matrix_infer(const struct op_infer *c, bool square, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status && s->rank < 2)
    return op_invalid(c->node, err, "input 0 must be matrices: [..., m, n]");
  for (int d = s->rank - 2; d < s->rank && !status; d++)
    if (s->dims[d] > MATRIX_MOST)
      return op_unsupported(c->node, err, "a matrix with an extent of %lld; at most %d", (long long)s->dims[d],
                            MATRIX_MOST);
  if (!status && square && s->dims[s->rank - 1] != s->dims[s->rank - 2])
    return op_invalid(c->node, err, "input 0 must be square matrices: [..., n, n]");
  return status;
}

static enum assay_status power_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = matrix_infer(c, true, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status radius_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = matrix_infer(c, true, err);
  return status ? status : op_output(c, 0, c->in[0]->dtype, s->rank - 2, s->dims, err);
}

static enum assay_status low_rank_infer(struct op_infer *c, struct assay_error *err) {
  if (node_int(c->node, "rank", 1) < 1 || node_int(c->node, "rank", 1) > MATRIX_MOST)
    return op_invalid(c->node, err, "rank must be between 1 and %d", MATRIX_MOST);
  enum assay_status status = matrix_infer(c, false, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status pseudo_inverse_infer(struct op_infer *c, struct assay_error *err) {
  struct shape s = c->in[0]->shape;
  enum assay_status status = matrix_infer(c, false, err);
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

// Each element of a matrix cut to a rank errs with all of its matrix.
static int64_t low_rank_moments(const struct op_infer *c) {
  return shape_span(&c->in[0]->shape, 0, c->in[0]->shape.rank - 2);
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
  OP_ROW_OF("ai.assay", NAME, 1, 1, 1, 1, 1, OP_FACTORIZATION), .cost = reduction_cost, .matrices = 7,                 \
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
     .moments = low_rank_moments, .pytorch = {.write = pytorch_low_rank},
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
