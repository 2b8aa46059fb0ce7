// SPDX-License-Identifier: Apache-2.0
// Matrix products: MatMul, Gemm, MatMulInteger; Einsum's row (einsum.c).
#include <string.h>

#include "base/parallel.h"
#include "ops/einsum.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/matmul.h"
#include "ops/pytorch.h"

enum assay_status matmul_split(const struct node *node, const struct shape *a, const struct shape *b,
                               struct matmul *out, struct assay_error *err) {
  char ta[SHAPE_TEXT_BYTES], tb[SHAPE_TEXT_BYTES];
  struct matmul s = {.a_vector = a->rank == 1, .b_vector = b->rank == 1};
  if (a->rank == 0 || b->rank == 0)
    return op_invalid(node, err, "operands of shapes %s and %s: scalars are not allowed; use Mul", shape_text(a, ta),
                      shape_text(b, tb));
  s.m = s.a_vector ? 1 : a->dims[a->rank - 2];
  s.k = a->dims[a->rank - 1];
  s.k_b = s.b_vector ? b->dims[0] : b->dims[b->rank - 2];
  s.n = s.b_vector ? 1 : b->dims[b->rank - 1];
  if (s.k != s.k_b)
    return op_invalid(node, err, "shapes %s and %s: %lld columns meet %lld rows", shape_text(a, ta), shape_text(b, tb),
                      (long long)s.k, (long long)s.k_b);
  s.a_batch = shape_of(s.a_vector ? 0 : a->rank - 2, a->dims);
  s.b_batch = shape_of(s.b_vector ? 0 : b->rank - 2, b->dims);
  struct assay_error inner = {0};
  if (shape_broadcast(&s.a_batch, &s.b_batch, &s.batch, &inner) != ASSAY_OK)
    return op_invalid(node, err, "batch dimensions: %s", inner.message);
  *out = s;
  return ASSAY_OK;
}

static enum assay_status matmul_shape(struct op_infer *c, enum dtype dtype, struct assay_error *err) {
  struct matmul s;
  enum assay_status status = matmul_split(c->node, &c->in[0]->shape, &c->in[1]->shape, &s, err);
  if (status)
    return status;
  int64_t dims[SHAPE_MAX_RANK + 2];
  int rank = s.batch.rank;
  for (int i = 0; i < rank; i++)
    dims[i] = s.batch.dims[i];
  if (!s.a_vector)
    dims[rank++] = s.m;
  if (!s.b_vector)
    dims[rank++] = s.n;
  return op_output(c, 0, dtype, rank, dims, err);
}

static enum assay_status matmul_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = loops_need_same(c, 1, err);
  return status ? status : matmul_shape(c, c->in[0]->dtype, err);
}

static void matmul_cost(const struct op_infer *c, struct op_cost *cost) {
  const struct shape *a = &c->in[0]->shape;
  cost->contraction_flops = 2.0 * (double)shape_count(&c->out[0].shape) * (double)a->dims[a->rank - 1];
}

// Where each batch's matrix starts, in matrices of `size` elements.
static int64_t *batch_offsets(const struct shape *own, const struct shape *batch, int64_t size, struct arena *scratch) {
  int64_t n = shape_count(batch), strides[SHAPE_MAX_RANK];
  int64_t *offsets = arena_calloc(scratch, (size_t)n + 1, sizeof *offsets);
  if (!offsets)
    return NULL;
  shape_broadcast_strides(own, batch, strides);
  for (int64_t i = 0; i < n; i++) {
    int64_t rest = i;
    for (int d = batch->rank - 1; d >= 0; d--) {
      offsets[i] += rest % batch->dims[d] * strides[d] * size;
      rest /= batch->dims[d];
    }
  }
  return offsets;
}

// Products of integers wrap as their type does.
struct integer_product {
  const struct matmul *s;
  const int64_t *a, *b, *a_offset, *b_offset;
  const int64_t *a_zero, *b_zero; // per row of A, per column of B (MatMulInteger), or NULL
  int64_t a_zero_step, b_zero_step;
  enum dtype dtype;
  int64_t *c;
};

static void integer_rows(void *arg, int64_t begin, int64_t end) {
  const struct integer_product *p = arg;
  int64_t m = p->s->m, n = p->s->n, k = p->s->k;
  for (int64_t row = begin; row < end; row++) {
    const int64_t *a = p->a + p->a_offset[row / m] + row % m * k, *b = p->b + p->b_offset[row / m];
    int64_t *c = p->c + row * n;
    uint64_t a_zero = p->a_zero ? (uint64_t)p->a_zero[row % m * p->a_zero_step] : 0;
    memset(c, 0, (size_t)n * sizeof *c);
    for (int64_t l = 0; l < k; l++)
      for (int64_t j = 0; j < n; j++) {
        uint64_t b_zero = p->b_zero ? (uint64_t)p->b_zero[j * p->b_zero_step] : 0;
        c[j] = (int64_t)((uint64_t)c[j] + ((uint64_t)a[l] - a_zero) * ((uint64_t)b[l * n + j] - b_zero));
      }
    for (int64_t j = 0; j < n; j++)
      c[j] = loops_wrap(p->dtype, (uint64_t)c[j]);
  }
}

// Rows of the left operand, or a batch of pairs of matrices. Rows go in blocks, and a part of one may be added in
// another order.
static bool matmul_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  const struct shape *a = &c->in[0]->shape, *b = &c->in[1]->shape, *y = &c->out[0].shape;
  if (!apart[0] || a->rank < 2 || a->rank != y->rank || a->dims[0] != y->dims[0])
    return false;
  if (apart[1])
    return y->rank > 2 && b->rank == y->rank && b->dims[0] == y->dims[0];
  int64_t rows = shape_span(y, 1, y->rank - 1);
  *halo = rows > 0 ? GEMM_BLOCK / rows + 1 : 0;
  return b->rank <= 2;
}

static enum assay_status matmul_eval(struct op_eval *c, struct assay_error *err) {
  const struct array *a = c->in[0], *b = c->in[1];
  struct matmul s;
  enum assay_status status = matmul_split(c->node, &a->shape, &b->shape, &s, err);
  if (status)
    return status;
  int64_t *a_offset = batch_offsets(&s.a_batch, &s.batch, s.m * s.k, c->scratch);
  int64_t *b_offset = batch_offsets(&s.b_batch, &s.batch, s.k * s.n, c->scratch);
  if (!a_offset || !b_offset)
    return error_nomem(err, "a product's batch");
  if (dtype_is_integer(a->dtype)) {
    struct integer_product p = {.s = &s,
                                .a = a->i64,
                                .b = b->i64,
                                .a_offset = a_offset,
                                .b_offset = b_offset,
                                .dtype = a->dtype,
                                .c = c->out[0].i64};
    parallel_for(c->threads, shape_count(&s.batch) * s.m, 1 + 100000 / (s.n * s.k + 1), integer_rows, &p);
    return ASSAY_OK;
  }
  struct start start;
  start_init(&start, c, 1);
  struct gemm_batch batch = {
      .g = {.m = s.m, .n = s.n, .k = s.k, .a = a->f64, .b = b->f64, .a_row = s.k, .a_col = 1, .b_row = s.n, .b_col = 1},
      .count = shape_count(&s.batch),
      .a_offset = a_offset,
      .b_offset = b_offset,
      .c = c->out[0].f64,
      .arith = &c->arith,
      .start = &start,
      .members = c->out[0].shape.rank ? c->out[0].shape.dims[0] : 0,
      .sigma = c->sigma,
      .threads = c->threads};
  c->has_sigma = c->sigma != NULL;
  const bool pairs = c->arith.part && b->shape.rank > 2; // also where the part is a single one
  if (!pairs && shape_count(&s.b_batch) == 1 && shape_equal(&s.a_batch, &s.batch)) {
    // One right-hand side for all: the batch is only more rows.
    batch.in_rows = true;
    batch.g.m *= batch.count;
    batch.count = 1;
  }
  return gemm_run(&batch, err);
}

// Gemm: Y = alpha A' B' + beta C.

struct gemm_tail {
  const struct arith *arith;
  double alpha, beta;
  const double *c;
  int64_t c_row, c_col;
};

static void gemm_tail_run(void *arg, struct noise *noise, int64_t row, int64_t j, int64_t n, double *y) {
  const struct gemm_tail *t = arg;
  for (int64_t i = 0; i < n; i++) {
    if (t->alpha != 1)
      y[i] = arith_round(t->arith, noise, t->alpha * y[i]);
    if (!t->c)
      continue;
    double c = t->c[row * t->c_row + (j + i) * t->c_col];
    if (t->beta != 1)
      c = arith_round(t->arith, noise, t->beta * c);
    y[i] = arith_round(t->arith, noise, y[i] + c);
  }
}

void gemm_extents(const struct node *node, const struct shape *a, const struct shape *b, struct gemm *g, int64_t *k_b) {
  bool ta = node_int(node, "transA", 0) != 0, tb = node_int(node, "transB", 0) != 0;
  g->m = a->dims[ta];
  g->k = a->dims[!ta];
  *k_b = b->dims[tb];
  g->n = b->dims[!tb];
  g->a_row = ta ? 1 : g->k;
  g->a_col = ta ? g->m : 1;
  g->b_row = tb ? 1 : g->n;
  g->b_col = tb ? g->k : 1;
}

static enum assay_status gemm_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *a = &c->in[0]->shape, *b = &c->in[1]->shape;
  char ta[SHAPE_TEXT_BYTES], tb[SHAPE_TEXT_BYTES];
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < 3 && !status; i++) {
    status = loops_need_float(c, i, err);
    if (!status)
      status = loops_need_same(c, i, err);
  }
  if (status)
    return status;
  if (a->rank != 2 || b->rank != 2)
    return op_invalid(c->node, err, "operands of shapes %s and %s must be matrices", shape_text(a, ta),
                      shape_text(b, tb));
  struct gemm g;
  int64_t k_b;
  gemm_extents(c->node, a, b, &g, &k_b);
  if (g.k != k_b)
    return op_invalid(c->node, err, "shapes %s and %s (transA=%d, transB=%d): %lld columns meet %lld rows",
                      shape_text(a, ta), shape_text(b, tb), (int)node_int(c->node, "transA", 0),
                      (int)node_int(c->node, "transB", 0), (long long)g.k, (long long)k_b);
  struct shape joint, y = {.rank = 2, .dims = {g.m, g.n}};
  if (op_has(c, 2) && (shape_broadcast(&c->in[2]->shape, &y, &joint, NULL) != ASSAY_OK || !shape_equal(&joint, &y)))
    return op_invalid(c->node, err, "C of shape %s does not broadcast to %s", shape_text(&c->in[2]->shape, ta),
                      shape_text(&y, tb));
  return op_output(c, 0, c->in[0]->dtype, 2, y.dims, err);
}

static bool gemm_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  const bool plain = !node_int(c->node, "transA", 0) && (!op_has(c, 2) || !apart[2]);
  *halo = GEMM_BLOCK;
  return plain && apart[0] && !apart[1] && (!op_has(c, 2) || c->in[2]->shape.rank < 2 || c->in[2]->shape.dims[0] == 1);
}

static void gemm_cost(const struct op_infer *c, struct op_cost *cost) {
  struct gemm g;
  int64_t k_b;
  gemm_extents(c->node, &c->in[0]->shape, &c->in[1]->shape, &g, &k_b);
  double mn = (double)g.m * (double)g.n;
  cost->contraction_flops = 2 * mn * (double)g.k;
  cost->flops += node_float(c->node, "alpha", 1) != 1 ? mn : 0;
  if (op_has(c, 2))
    cost->flops += mn + (node_float(c->node, "beta", 1) != 1 ? (double)shape_count(&c->in[2]->shape) : 0);
}

static enum assay_status gemm_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct gemm_tail tail = {
      .arith = &c->arith, .alpha = node_float(c->node, "alpha", 1), .beta = node_float(c->node, "beta", 1)};
  // A sum that is to be multiplied by alpha begins with what becomes the start then.
  struct start start;
  double part = tail.alpha != 0 ? 1 / tail.alpha : 0;
  start_init(&start, c, part);
  if (op_has(&as_infer, 2)) {
    int64_t strides[SHAPE_MAX_RANK];
    shape_broadcast_strides(&c->in[2]->shape, &c->out[0].shape, strides);
    tail.c = c->in[2]->f64;
    tail.c_row = strides[0];
    tail.c_col = strides[1];
    start_add(&start, tail.c, &c->in[2]->shape, part * tail.beta);
  }
  struct gemm_batch batch = {.count = 1,
                             .members = c->out[0].shape.dims[0],
                             .in_rows = true,
                             .c = c->out[0].f64,
                             .arith = &c->arith,
                             .start = &start,
                             .threads = c->threads,
                             .finish = tail.c || tail.alpha != 1 ? gemm_tail_run : NULL,
                             .finish_arg = &tail};
  int64_t k_b;
  gemm_extents(c->node, &c->in[0]->shape, &c->in[1]->shape, &batch.g, &k_b);
  batch.g.a = c->in[0]->f64;
  batch.g.b = c->in[1]->f64;
  return gemm_run(&batch, err);
}

// MatMulInteger: eight-bit operands minus their zero points, products in int32.

static enum assay_status matmul_integer_infer(struct op_infer *c, struct assay_error *err) {
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i] && c->in[i]->dtype != DTYPE_INT8 && c->in[i]->dtype != DTYPE_UINT8)
      return op_invalid(c->node, err, "input %d must be int8 or uint8, not %s", i, dtype_name(c->in[i]->dtype));
  enum assay_status status = matmul_shape(c, DTYPE_INT32, err);
  if (status)
    return status;
  struct matmul s;
  matmul_split(c->node, &c->in[0]->shape, &c->in[1]->shape, &s, NULL);
  for (int i = 2; i < c->n_in; i++) {
    int64_t n = c->in[i] ? shape_count(&c->in[i]->shape) : 1, want = i == 2 ? s.m : s.n;
    if (n != 1 && n != want)
      return op_invalid(c->node, err, "the zero point (input %d) has %lld elements, not 1 or %lld", i, (long long)n,
                        (long long)want);
  }
  return ASSAY_OK;
}

static enum assay_status matmul_integer_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct matmul s;
  enum assay_status status = matmul_split(c->node, &c->in[0]->shape, &c->in[1]->shape, &s, err);
  if (status)
    return status;
  struct integer_product p = {
      .s = &s, .a = c->in[0]->i64, .b = c->in[1]->i64, .dtype = DTYPE_INT32, .c = c->out[0].i64};
  p.a_offset = batch_offsets(&s.a_batch, &s.batch, s.m * s.k, c->scratch);
  p.b_offset = batch_offsets(&s.b_batch, &s.batch, s.k * s.n, c->scratch);
  if (!p.a_offset || !p.b_offset)
    return error_nomem(err, "a product's batch");
  if (op_has(&as_infer, 2)) {
    p.a_zero = c->in[2]->i64;
    p.a_zero_step = shape_count(&c->in[2]->shape) > 1;
  }
  if (op_has(&as_infer, 3)) {
    p.b_zero = c->in[3]->i64;
    p.b_zero_step = shape_count(&c->in[3]->shape) > 1;
  }
  parallel_for(c->threads, shape_count(&s.batch) * s.m, 1 + 100000 / (s.n * s.k + 1), integer_rows, &p);
  return ASSAY_OK;
}

// PyTorch has no such product; in double precision it is exact.
static void pytorch_matmul_integer(struct pytorch_writer *w, const struct node *n) {
  if (n->n_inputs > 2)
    pytorch_miss(w, "MatMulInteger with zero points");
  pytorch_put_template(w, n, "torch.matmul($0.double(), $1.double()).to(torch.int32)");
}

static const struct op_attr gemm_attrs[] = {
    {"alpha", ATTR_FLOAT, false, "1.0"},
    {"beta", ATTR_FLOAT, false, "1.0"},
    {"transA", ATTR_INT, false, "0"},
    {"transB", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};

static bool matmul_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  const int rank = c->in[0]->shape.rank, other = c->in[1]->shape.rank;
  *out = (struct op_contracted){.axis = {rank - 1, other > 1 ? other - 2 : 0}};
  return which == 0 && rank > 0 && other > 0;
}

static bool gemm_contracted(const struct op_infer *c, int which, struct op_contracted *out) {
  const bool turned = node_int(c->node, "transA", 0), other = node_int(c->node, "transB", 0);
  *out = (struct op_contracted){.axis = {turned ? 0 : 1, other ? 1 : 0}};
  return which == 0;
}

static const struct op_attr einsum_attrs[] = {{"equation", ATTR_STRING, true, NULL}, {NULL, 0, false, NULL}};

static const struct op_def contraction_rows[] = {
    {.name = "MatMul",
     .domain = "",
     .since = 1,
     .min_in = 2,
     .max_in = 2,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .infer = matmul_infer,
     .eval = matmul_eval,
     .cost = matmul_cost,
     .apart = matmul_apart,
     .contracted = matmul_contracted,
     .factors = 2,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "torch.matmul($0, $1)"},
     .doc = "Matrix product over the last two dimensions, the others broadcast, as numpy.matmul.",
     .example = "(float[3,4] a, float[4,5] b) => (float[3,5] y) { y = MatMul(a, b) }\n"
                "(float[2,1,3,4] a, float[5,4,2] b) => (float[2,5,3,2] y) { y = MatMul(a, b) }\n"
                "(float[4] a, float[4,2] b) => (float[2] y) { y = MatMul(a, b) }\n"
                "(int32[3,4] a, int32[4,5] b) => (int32[3,5] y) { y = MatMul(a, b) }"},
    {.name = "MatMulInteger",
     .domain = "",
     .since = 10,
     .min_in = 2,
     .max_in = 4,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .infer = matmul_integer_infer,
     .eval = matmul_integer_eval,
     .cost = matmul_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.write = pytorch_matmul_integer},
     .doc = "Matrix product of eight-bit integers, each minus its zero point (a scalar, or one for each row of A and "
            "column of B), in int32.",
     .example = "(uint8[4,3] a, uint8[3,2] b) => (int32[4,2] y) { y = MatMulInteger(a, b) }"},
    {.name = "Gemm",
     .domain = "",
     .since = 7,
     .min_in = 2,
     .max_in = 3,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .attrs = gemm_attrs,
     .infer = gemm_infer,
     .eval = gemm_eval,
     .cost = gemm_cost,
     .apart = gemm_apart,
     .contracted = gemm_contracted,
     .factors = 2,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.write = pytorch_gemm},
     .doc = "alpha * A' * B' + beta * C for matrices, where A' and B' are optionally transposed and C broadcasts.",
     .example = "(float[3,4] a, float[4,5] b, float[5] c) => (float[3,5] y) { y = Gemm(a, b, c) }\n"
                "(float[4,3] a, float[5,4] b, float[3,1] c) => (float[3,5] y) "
                "{ y = Gemm<alpha = 0.5, beta = 2.0, transA = 1, transB = 1>(a, b, c) }"},
    {.name = "Einsum",
     .domain = "",
     .since = 12,
     .min_in = 1,
     .max_in = OP_VARIADIC,
     .min_out = 1,
     .max_out = 1,
     .class = OP_CONTRACTION,
     .attrs = einsum_attrs,
     .infer = einsum_infer,
     .eval = einsum_eval,
     .cost = einsum_cost,
     .contracted = einsum_contracted,
     .factors = OP_VARIADIC,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "torch.einsum({equation}, $*)"},
     .doc = "Sums of products by Einstein's convention, as numpy.einsum, with ellipses, diagonals and any number of "
            "operands, which are combined from left to right.",
     .example = "(float[2,3,4] a, float[4,5] b) => (float[2,3,5] y) { y = Einsum<equation = \"bil,lk->bik\">(a, b) }\n"
                "(float[3,3] a) => (float y) { y = Einsum<equation = \"ii->\">(a) }\n"
                "(float[5,2,3] a, float[5,3,4] b, float[4] c) => (float[5,2] y) "
                "{ y = Einsum<equation = \"...ij, ...jk, k -> ...i\">(a, b, c) }"},
};

const struct op_family ops_contraction_family = {
    .name = "Contractions", .rows = contraction_rows, .n_rows = sizeof contraction_rows / sizeof contraction_rows[0]};
