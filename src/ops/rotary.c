// SPDX-License-Identifier: Apache-2.0
// Rotary position embedding (Su et al. 2021): pairs of elements turned by an angle that grows with the position.
#include "ops/rotary.h"

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum { GRAIN_ELEMENTS = 1 << 13 };

static enum assay_status check_caches(const struct op_infer *c, const struct rotary *r, struct assay_error *err) {
  const struct shape *cos = &c->in[ROTARY_COS]->shape, *sin = &c->in[ROTARY_SIN]->shape;
  char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
  int rank = r->indexed ? 2 : 3;
  bool fits = shape_equal(cos, sin) && cos->rank == rank && cos->dims[rank - 1] == r->half;
  if (!r->indexed)
    fits = fits && cos->dims[0] == r->batch && cos->dims[1] == r->length;
  if (!fits)
    return op_invalid(c->node, err, "the caches have the shapes %s and %s; %s with %lld entries in a row are needed",
                      shape_text(cos, a), shape_text(sin, b),
                      r->indexed ? "positions" : "batches and positions of the input", (long long)r->half);
  if (!r->indexed)
    return ASSAY_OK;
  const struct shape *at = &c->in[ROTARY_POSITIONS]->shape;
  if (at->rank != 2 || at->dims[0] != r->batch || at->dims[1] != r->length)
    return op_invalid(c->node, err, "the positions have the shape %s, not [%lld,%lld]", shape_text(at, a),
                      (long long)r->batch, (long long)r->length);
  return index_infer_integer(c, ROTARY_POSITIONS, err);
}

enum assay_status rotary_read(const struct op_infer *c, struct rotary *r, struct assay_error *err) {
  const struct shape *x = &c->in[ROTARY_X]->shape;
  int64_t heads = node_int(c->node, "num_heads", 0), rotated = node_int(c->node, "rotary_embedding_dim", 0);
  enum assay_status status = loops_need_float(c, ROTARY_X, err);
  for (int i = ROTARY_COS; i <= ROTARY_SIN && !status; i++)
    status = loops_need_same(c, i, err);
  if (status)
    return status;
  if (x->rank != 4 && (x->rank != 3 || heads < 1 || x->dims[2] % heads != 0))
    return op_invalid(c->node, err,
                      "the input must be [batch, heads, length, size], or [batch, length, heads * size] "
                      "with num_heads given");
  bool inside = x->rank == 3;
  *r = (struct rotary){.batch = x->dims[0],
                       .heads = inside ? heads : x->dims[1],
                       .length = x->dims[inside ? 1 : 2],
                       .size = inside ? x->dims[2] / heads : x->dims[3],
                       .heads_inside = inside,
                       .interleaved = node_int(c->node, "interleaved", 0) != 0,
                       .indexed = op_has(c, ROTARY_POSITIONS)};
  r->rotated = rotated == 0 ? r->size : rotated;
  r->half = r->rotated / 2;
  r->positions = c->in[ROTARY_COS]->shape.rank > 0 ? c->in[ROTARY_COS]->shape.dims[0] : 0;
  if (r->rotated < 0 || r->rotated > r->size || r->rotated % 2 != 0)
    return op_invalid(c->node, err, "%lld elements of a head of %lld cannot be rotated in pairs", (long long)r->rotated,
                      (long long)r->size);
  return check_caches(c, r, err);
}

static enum assay_status rotary_infer(struct op_infer *c, struct assay_error *err) {
  struct rotary r;
  enum assay_status status = rotary_read(c, &r, err);
  return status ? status : op_infer_same(c, err);
}

struct job {
  const struct op_eval *c;
  struct rotary r;
  const int64_t *rows; // of the caches, for each batch and position
};

// Unit: a head of a position. The second of a pair is the first one's turned by a right angle.
static void turn(void *arg, int64_t begin, int64_t end) {
  const struct job *j = arg;
  const struct rotary *r = &j->r;
  const struct arith *a = &j->c->arith;
  int64_t apart = r->interleaved ? 1 : r->half;
  for (int64_t u = begin; u < end; u++) {
    int64_t batch = u / (r->heads * r->length), in = u % (r->heads * r->length);
    int64_t row = j->rows[batch * r->length + (r->heads_inside ? in / r->heads : in % r->length)];
    const double *cos = j->c->in[ROTARY_COS]->f64 + row * r->half, *sin = j->c->in[ROTARY_SIN]->f64 + row * r->half;
    const double *x = j->c->in[ROTARY_X]->f64 + u * r->size;
    double *y = j->c->out[0].f64 + u * r->size;
    struct noise n = noise_at(a->key, (uint64_t)u);
    for (int64_t k = 0; k < r->half; k++) {
      int64_t at = r->interleaved ? 2 * k : k;
      double first = x[at], second = x[at + apart];
      double real = arith_round(a, &n, cos[k] * first) - arith_round(a, &n, sin[k] * second);
      double imaginary = arith_round(a, &n, sin[k] * first) + arith_round(a, &n, cos[k] * second);
      y[at] = arith_round(a, &n, real);
      y[at + apart] = arith_round(a, &n, imaginary);
    }
    for (int64_t k = r->rotated; k < r->size; k++)
      y[k] = x[k];
  }
}

static enum assay_status rotary_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  struct job j = {.c = c};
  enum assay_status status = rotary_read(&infer, &j.r, err);
  if (status)
    return status;
  int64_t n = j.r.batch * j.r.length, *rows = arena_calloc(c->scratch, (size_t)n + 1, sizeof *rows);
  if (!rows)
    return error_nomem(err, "the positions of RotaryEmbedding");
  for (int64_t i = 0; i < n && !status; i++) {
    rows[i] = i;
    if (j.r.indexed)
      status = index_resolve(c->node, c->in[ROTARY_POSITIONS]->i64[i], j.r.positions, &rows[i], err);
  }
  j.rows = rows;
  if (!status)
    parallel_for(c->threads, n * j.r.heads, GRAIN_ELEMENTS / (j.r.size + 1) + 1, turn, &j);
  return status;
}

// Two multiplications and an addition for each rotated element.
static void rotary_cost(const struct op_infer *c, struct op_cost *cost) {
  struct rotary r;
  if (rotary_read(c, &r, NULL) == ASSAY_OK)
    cost->flops = 3 * (double)r.batch * (double)r.length * (double)r.heads * (double)r.rotated;
}

static const struct op_attr attrs[] = {{"interleaved", ATTR_INT, false, "0"},
                                       {"num_heads", ATTR_INT, false, "the second dimension of an input of four"},
                                       {"rotary_embedding_dim", ATTR_INT, false, "0: the size of a head"},
                                       {0}};

static const struct op_def rows[] = {
    {OP_ROW("RotaryEmbedding", 23, 3, 4, 1, 1, OP_ELEMENTWISE), .attrs = attrs, .infer = rotary_infer,
     .eval = rotary_eval, .cost = rotary_cost, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc =
         "Pairs of each head's elements turned by angles whose cosines and sines are inputs 1 and 2: (x1, x2) becomes "
         "(cos x1 - sin x2, sin x1 + cos x2). A pair is two neighbours if interleaved, else one of each half. With "
         "positions (input 3) these choose rows of the caches. What rotary_embedding_dim leaves out is copied.",
     .example = "(float[2,3,4] x, float[5,2] c, float[5,2] s, int64[2,3] p) => (float[2,3,4] y) "
                "{ y = RotaryEmbedding<num_heads = 1>(x, c, s, p) }\n"
                "(float[1,2,3,6] x, float[1,3,2] c, float[1,3,2] s) => (float[1,2,3,6] y) "
                "{ y = RotaryEmbedding<interleaved = 1, rotary_embedding_dim = 4>(x, c, s) }"},
};

const struct op_family ops_rotary_family = {"Position embeddings", rows, sizeof rows / sizeof rows[0]};
