// SPDX-License-Identifier: Apache-2.0
// Linear algebra: inverses, systems of equations, determinants, factors by elimination and Cholesky's factor, of one
// matrix or a batch of them. What errs, and by how much: ops/factor.h.
#include <cblas.h>
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/factor.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

// A matrix so near to a singular one that errors of the contract's arithmetic move solutions by more than the part
// CLOSE of their size has no answer in that arithmetic that says much of a kernel. A pass then gives one that is far
// away, which excuses the matrix. From SINGULAR on a kernel may as well find infinity: such a question is not asked.
#define CLOSE (1.0 / 32)
#define SINGULAR 1.0
#define FAR_AWAY 8.0

// Kernels for matrices up to this size divide cofactors by the determinant: its error is in all elements, also in those
// that elimination finds more exactly.
enum { COFACTORS = 4 };

enum { MOST = 1 << 15 }; // rows

// One thread's part of a batch: the matrix at hand.
struct place {
  const struct op_eval *c;
  int n, columns, threads;
  bool failed;       // for lack of memory
  struct kept *kept; // what the passes share; NULL: nothing
  struct factor factor;
  double *x, *scratch; // n * columns, and twice that
  struct noise noise;
};

typedef void matrix_fn(struct place *p, int64_t at);

// What an operator needs: nothing, Cholesky's factor, PA = LU, or that of the transposed matrix, too.
enum factors { FACTORS_NONE, FACTORS_CHOLESKY, FACTORS_STRAIGHT, FACTORS_TURNED };

// What the passes share of each matrix (op_memo). Two layouts of one: see is_turned.
struct kept {
  int64_t count;
  struct kept_matrix {
    struct factor_facts facts[2];
    double *products; // of Cholesky's factor
  } of[];
};

static void drop_kept(void *arg) {
  struct kept *k = arg;
  for (int64_t i = 0; i < k->count; i++) {
    factor_facts_release(&k->of[i].facts[0]);
    factor_facts_release(&k->of[i].facts[1]);
    base_free(k->of[i].products);
  }
  base_free(k);
}

// In the exact pass new; without memory for it nothing is shared.
static struct kept *find_kept(const struct op_eval *c, int64_t count) {
  if (c->memo && c->arith.exact && !c->memo->kept) {
    struct kept *k = base_calloc(1, sizeof *k + (size_t)count * sizeof k->of[0]);
    if (k)
      k->count = count;
    *c->memo = (struct op_memo){.kept = k, .drop = drop_kept};
  }
  return c->memo ? c->memo->kept : NULL;
}

struct batch {
  const struct op_eval *c;
  matrix_fn *each;
  int n, columns, threads; // columns: of the right-hand side; threads: for one matrix
  enum factors factors;
  struct kept *kept;
  atomic_bool failed; // for lack of memory
};

static void tell_turned(struct place *p, int64_t at);

static void batch_range(void *arg, int64_t begin, int64_t end) {
  struct batch *b = arg;
  struct place p = {.c = b->c, .n = b->n, .columns = b->columns, .threads = b->threads, .kept = b->kept};
  size_t all = (size_t)p.n * (size_t)p.columns;
  double *memory = base_alloc((3 * all + 1) * sizeof *memory);
  bool made = memory && (b->factors < FACTORS_STRAIGHT || factor_init(&p.factor, p.n, p.threads));
  p.x = memory;
  p.scratch = memory + all;
  for (int64_t i = begin; i < end && made; i++) {
    p.noise = noise_at(b->c->arith.key, (uint64_t)i);
    b->each(&p, i);
    if (p.kept && b->c->arith.exact && b->factors == FACTORS_TURNED)
      tell_turned(&p, i);
  }
  if (!made || p.failed)
    b->failed = true;
  factor_release(&p.factor);
  base_free(memory);
}

static enum assay_status batch_run(struct op_eval *c, matrix_fn *each, enum factors factors, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape, *last = &c->in[c->n_in - 1]->shape;
  struct batch b = {.c = c,
                    .each = each,
                    .n = (int)a->dims[a->rank - 1],
                    .columns = (int)last->dims[last->rank - 1],
                    .factors = factors,
                    .failed = false};
  int64_t count = 1;
  for (int d = 0; d + 2 < a->rank; d++)
    count *= a->dims[d];
  double work = (double)b.n * b.n * ((double)b.n + b.columns) + 1;
  b.threads = count < c->threads ? (int)(c->threads / (count > 0 ? count : 1)) : 1;
  b.kept = factors == FACTORS_NONE ? NULL : find_kept(c, count);
  openblas_set_num_threads(1); // see ops/gemm.h
  parallel_for(c->threads, count, 1 + (int64_t)(1e6 / work), batch_range, &b);
  return b.failed ? error_nomem(err, "matrices") : ASSAY_OK;
}

// Column-major `from`, n rows, to y, rounded. `from` is not used where the matrix is singular.
static void put(struct place *p, const double *from, double *y, int64_t row, int64_t column) {
  const struct arith *arith = &p->c->arith;
  double most = 0, lost = p->factor.lost;
  double common = p->n <= COFACTORS && lost > 0 ? 1 + FACTOR_FREEDOM * lost * noise_normal(&p->noise) : 1;
  bool singular = p->factor.singular;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->columns; j++) {
      double v = common * from[(size_t)j * (size_t)p->n + (size_t)i];
      y[i * row + j * column] = singular ? arith->exact ? (double)NAN : 0 : arith_round(arith, &p->noise, v);
      most = fmax(most, fabs(v));
    }
  for (int64_t i = 0; i < (int64_t)p->n * p->columns && lost > CLOSE; i++)
    y[i] = lost >= SINGULAR ? (double)NAN : y[i] + (noise_next(&p->noise) >> 63 ? FAR_AWAY : -FAR_AWAY) * most;
}

static const double *matrix(const struct place *p, int64_t at) {
  return p->c->in[0]->f64 + at * p->n * p->n;
}

// Kernels have both layouts, and a matrix read in the other one is the transposed one with other pivots: half of a
// contract's passes begin with that.
static bool is_turned(struct place *p) {
  return !p->c->arith.exact && noise_next(&p->noise) >> 63;
}

static struct factor_matrix matrix_of(const struct place *p, int64_t at, bool turned) {
  return (struct factor_matrix){.a = matrix(p, at),
                                .row = turned ? 1 : p->n,
                                .column = turned ? p->n : 1,
                                .facts = p->kept ? &p->kept->of[at].facts[turned] : NULL};
}

static void decompose(struct place *p, int64_t at, bool turned) {
  const struct arith *arith = &p->c->arith;
  const struct factor_matrix m = matrix_of(p, at, turned);
  factor_make(&p->factor, &m, arith, &p->noise);
  if (arith->exact && p->kept)
    factor_tell(&p->factor, &p->kept->of[at].facts[turned]);
}

// After the exact factors: those of the transposed matrix, for the passes that have it.
static void tell_turned(struct place *p, int64_t at) {
  decompose(p, at, true);
}

static void solve(struct place *p) {
  const bool solved =
      p->factor.singular || factor_solve(&p->factor, p->columns, p->x, p->scratch, &p->c->arith, &p->noise);
  p->failed = p->failed || !solved;
}

static void inverse_each(struct place *p, int64_t at) {
  bool turned = is_turned(p);
  size_t n = (size_t)p->n;
  decompose(p, at, turned);
  memset(p->x, 0, n * n * sizeof *p->x);
  for (size_t i = 0; i < n; i++)
    p->x[i * n + i] = 1;
  solve(p);
  put(p, p->x, p->c->out[0].f64 + at * p->n * p->n, turned ? 1 : p->n, turned ? p->n : 1);
}

// The right-hand side, column-major.
static void load_right(struct place *p, int64_t at) {
  const double *b = p->c->in[1]->f64 + at * p->n * p->columns;
  for (int i = 0; i < p->n; i++)
    for (int j = 0; j < p->columns; j++)
      p->x[(size_t)j * (size_t)p->n + (size_t)i] = *b++;
}

static void solve_each(struct place *p, int64_t at) {
  decompose(p, at, false);
  load_right(p, at);
  solve(p);
  put(p, p->x, p->c->out[0].f64 + at * p->n * p->columns, p->columns, 1);
}

static void triangular_each(struct place *p, int64_t at) {
  const struct node *node = p->c->node;
  const double *a = matrix(p, at);
  size_t n = (size_t)p->n;
  struct triangle t = {.of = {.n = p->n,
                              .t = a,
                              .by_rows = true,
                              .upper = node_int(node, "upper", 0) != 0,
                              .unit = node_int(node, "unit", 0) != 0},
                       .threads = p->threads};
  p->factor.singular = false;
  for (size_t i = 0; i < n && !t.of.unit; i++)
    p->factor.singular = p->factor.singular || a[i * n + i] == 0;
  load_right(p, at);
  const bool solved = p->factor.singular || triangle_solve(&t, p->columns, p->x, p->scratch, &p->c->arith, &p->noise);
  p->failed = p->failed || !solved;
  put(p, p->x, p->c->out[0].f64 + at * p->n * p->columns, p->columns, 1);
}

static void cholesky_each(struct place *p, int64_t at) {
  const struct arith *arith = &p->c->arith;
  struct kept_matrix *kept = p->kept ? &p->kept->of[at] : NULL;
  const struct cholesky c = {
      .n = p->n, .threads = p->threads, .scratch = p->scratch, .products = kept ? kept->products : NULL};
  size_t all = (size_t)p->n * (size_t)p->n;
  double *y = p->c->out[0].f64 + (size_t)at * all;
  memcpy(y, matrix(p, at), all * sizeof *y);
  bool made = cholesky_make(&c, y, arith, &p->noise);
  if (made && arith->exact && kept)
    kept->products = cholesky_tell(p->n, y, p->threads);
  for (size_t i = 0; i < all; i++)
    y[i] = made ? arith_round(arith, &p->noise, y[i]) : arith->exact ? (double)NAN : 0;
}

static void determinant_each(struct place *p, int64_t at) {
  int64_t exponent;
  decompose(p, at, is_turned(p));
  double y = factor_determinant(&p->factor, &p->c->arith, &p->noise, &exponent);
  p->c->out[0].f64[at] = ldexp(y, (int)exponent);
}

static void log_determinant_each(struct place *p, int64_t at) {
  double sign, log_size;
  decompose(p, at, is_turned(p));
  factor_log_determinant(&p->factor, &p->c->arith, &p->noise, &sign, &log_size);
  if (p->factor.lost > CLOSE) { // the determinant may have either sign, and be far smaller
    sign = noise_next(&p->noise) >> 63 ? 1 : -1;
    log_size -= p->factor.lost >= SINGULAR ? (double)INFINITY : FAR_AWAY;
  }
  p->c->out[0].f64[at] = sign;
  if (p->c->n_out > 1 && p->c->out[1].f64)
    p->c->out[1].f64[at] = log_size;
}

// P, L and U with A = P L U, of which any may be left out.
static void factors_each(struct place *p, int64_t at) {
  const struct op_eval *c = p->c;
  const struct arith *arith = &c->arith;
  size_t n = (size_t)p->n, all = n * n;
  double *y[3];
  for (int k = 0; k < 3; k++)
    y[k] = k < c->n_out && c->out[k].f64 ? c->out[k].f64 + (size_t)at * all : NULL;
  decompose(p, at, false);
  factor_rows(&p->factor);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) {
      double v = p->factor.singular ? (double)NAN : p->factor.lu[j * n + i];
      if (y[0])
        y[0][(size_t)p->factor.rows[i] * n + j] = i == j;
      if (y[1])
        y[1][i * n + j] = i > j ? arith_round(arith, &p->noise, v) : i == j;
      if (y[2])
        y[2][i * n + j] = i <= j ? arith_round(arith, &p->noise, v) : 0;
    }
}

static enum assay_status inverse_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, inverse_each, FACTORS_TURNED, err);
}
static enum assay_status factors_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, factors_each, FACTORS_STRAIGHT, err);
}
static enum assay_status solve_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, solve_each, FACTORS_STRAIGHT, err);
}
static enum assay_status triangular_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, triangular_each, FACTORS_NONE, err);
}
static enum assay_status cholesky_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, cholesky_each, FACTORS_CHOLESKY, err);
}
static enum assay_status determinant_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, determinant_each, FACTORS_TURNED, err);
}
static enum assay_status log_determinant_eval(struct op_eval *c, struct assay_error *err) {
  return batch_run(c, log_determinant_each, FACTORS_TURNED, err);
}

// ---- shapes

static enum assay_status need_square(const struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status && (s->rank < 2 || s->dims[s->rank - 1] != s->dims[s->rank - 2]))
    return op_invalid(c->node, err, "input 0 must be square matrices: [..., n, n]");
  if (!status && s->dims[s->rank - 1] > MOST)
    return op_unsupported(c->node, err, "a matrix of %lld rows; at most %d are factorized",
                          (long long)s->dims[s->rank - 1], MOST);
  return status;
}

static enum assay_status square_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = need_square(c, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status system_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  enum assay_status status = need_square(c, err);
  if (!status)
    status = loops_need_same(c, 1, err);
  bool fits = !status && a->rank == b->rank && b->dims[b->rank - 1] <= INT32_MAX;
  for (int d = 0; d + 1 < a->rank && fits; d++)
    fits = a->dims[d] == b->dims[d];
  if (!status && !fits)
    return op_invalid(c->node, err, "input 1 must be [..., n, k], with the batch of input 0, [..., n, n]");
  return status ? status : op_output(c, 0, c->in[0]->dtype, b->rank, b->dims, err);
}

static enum assay_status factors_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = need_square(c, err);
  for (int i = 0; i < 3 && !status; i++)
    status = op_output(c, i, c->in[0]->dtype, s->rank, s->dims, err);
  return status;
}

static enum assay_status determinant_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  enum assay_status status = need_square(c, err);
  for (int i = 0; i < 2 && !status; i++)
    status = op_output(c, i, c->in[0]->dtype, s->rank - 2, s->dims, err);
  return status;
}

// ---- cost: a multiply-add is two operations

static double each_n(const struct op_infer *c, double power) {
  const struct shape *s = &c->in[0]->shape;
  double n = (double)s->dims[s->rank - 1];
  return n > 0 ? (double)shape_count(s) / (n * n) * pow(n, power) : 0;
}

static double columns_of(const struct op_infer *c) {
  return (double)c->in[1]->shape.dims[c->in[1]->shape.rank - 1];
}

static void inverse_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->contraction_flops = 2 * each_n(c, 3);
}
static void solve_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->contraction_flops = each_n(c, 3) * 2 / 3 + 2 * each_n(c, 2) * columns_of(c);
}
static void triangular_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->contraction_flops = each_n(c, 2) * columns_of(c);
}
static void cholesky_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->contraction_flops = each_n(c, 3) / 3;
}
static void determinant_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->contraction_flops = each_n(c, 3) * 2 / 3;
}

static const struct op_attr triangular_attrs[] = {
    {"unit", ATTR_INT, false, "0"},
    {"upper", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};

static void pytorch_triangular(struct pytorch_writer *w, const struct node *n) {
  pytorch_put_template(w, n, "torch.linalg.solve_triangular($0, $1, ");
  buf_printf(w->out, "upper=%s%s)", node_int(n, "upper", 0) ? "True" : "False",
             node_int(n, "unit", 0) ? ", unitriangular=True" : "");
}

#define LINALG_ROW(NAME, DOMAIN, SINCE, INPUTS, OUTPUTS, MATRICES)                                                     \
  .name = NAME, .domain = DOMAIN, .since = SINCE, .min_in = INPUTS, .max_in = INPUTS, .min_out = 1,                    \
  .max_out = OUTPUTS, .class = OP_FACTORIZATION, .matrices = MATRICES,                                                 \
  .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}

static const struct op_def rows[] = {
    {LINALG_ROW("Det", "", 11, 1, 1, 7), .infer = determinant_infer, .eval = determinant_eval, .cost = determinant_cost,
     .pytorch = {.text = "torch.linalg.det($0)"},
     .doc = "The determinants of square matrices, the last two dimensions. That of a singular matrix is 0.",
     .example = "(float[3,4,4] x) => (float[3] y) { y = Det(x) }"},
    {LINALG_ROW("Inverse", "ai.assay", 1, 1, 1, 7), .infer = square_infer, .eval = inverse_eval, .cost = inverse_cost,
     .pytorch = {.text = "torch.linalg.inv($0)"},
     .doc = "The inverses of square matrices, the last two dimensions. Those of singular ones are NaN, and of no use: "
            "questions with a matrix that the contract's precision cannot tell from a singular one are not asked.",
     .example = "(float[3,4,4] x) => (float[3,4,4] y) { y = ai.assay.Inverse(x) }"},
    {LINALG_ROW("LU", "ai.assay", 1, 1, 3, 7), .infer = factors_infer, .eval = factors_eval, .cost = determinant_cost,
     .pytorch = {.text = "torch.linalg.lu($0)", .results = OP_PYTORCH_ALL},
     .doc =
         "A permutation matrix P, a lower triangle L with ones on its diagonal and an upper triangle U whose product "
         "P L U is the matrix, for square matrices, the last two dimensions: by partial pivoting, so that no element "
         "of "
         "L is above 1. NaN below and above the diagonal of a matrix for which elimination ends early.",
     .example = "(float[3,4,4] x) => (float[3,4,4] p, float[3,4,4] l, float[3,4,4] u) { p, l, u = ai.assay.LU(x) }"},
    {LINALG_ROW("Solve", "ai.assay", 1, 2, 1, 7), .infer = system_infer, .eval = solve_eval, .cost = solve_cost,
     .pytorch = {.text = "torch.linalg.solve($0, $1)"},
     .doc = "X with A X = B for square matrices A (input 0, [..., n, n]) and B (input 1, [..., n, k]) of the same "
            "batch. Singular ones as for Inverse.",
     .example = "(float[3,4,4] a, float[3,4,2] b) => (float[3,4,2] x) { x = ai.assay.Solve(a, b) }"},
    {LINALG_ROW("SolveTriangular", "ai.assay", 1, 2, 1, 0), .attrs = triangular_attrs, .infer = system_infer,
     .eval = triangular_eval, .cost = triangular_cost, .pytorch = {.write = pytorch_triangular},
     .doc =
         "X with T X = B, where T is the lower triangle of input 0, or with upper = 1 the upper one; the rest is not "
         "read, and with unit = 1 neither is the diagonal, which then counts as ones. Input 1 is B.",
     .example = "(float[3,4,4] t, float[3,4,2] b) => (float[3,4,2] x) "
                "{ x = ai.assay.SolveTriangular<unit = 1>(t, b) }"},
    {LINALG_ROW("Cholesky", "ai.assay", 1, 1, 1, 3), .infer = square_infer, .eval = cholesky_eval,
     .cost = cholesky_cost, .pytorch = {.text = "torch.linalg.cholesky($0)"},
     .doc =
         "The lower triangle L with L L' = A and a positive diagonal, zeros above it, for symmetric positive definite "
         "matrices A, of which the upper triangle is not read. NaN where A is not positive definite.",
     .example = "(float[3,4,4] x) => (float[3,4,4] y) "
                "{ t = Transpose<perm = [0, 2, 1]>(x) p = MatMul(x, t) y = ai.assay.Cholesky(p) }"},
    {LINALG_ROW("SlogDet", "ai.assay", 1, 1, 2, 7), .infer = determinant_infer, .eval = log_determinant_eval,
     .cost = determinant_cost, .pytorch = {.text = "torch.linalg.slogdet($0)", .results = OP_PYTORCH_ALL},
     .doc = "The sign of the determinant and the logarithm of its size (output 1), for square matrices, the last two "
            "dimensions. 0 and -infinity of a singular matrix.",
     .example = "(float[3,4,4] x) => (float[3] s, float[3] l) { s, l = ai.assay.SlogDet(x) }"},
};

const struct op_family ops_linalg_family = {"Linear algebra", rows, sizeof rows / sizeof rows[0]};
