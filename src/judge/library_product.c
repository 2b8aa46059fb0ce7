// SPDX-License-Identifier: Apache-2.0
// Products of matrices: MatMul, Gemm and Einsum of two operands, as the one call that cuBLASLt has for them.
//
// Every dimension that occurs is an axis: it belongs to the rows of the result (m), to its columns (n), is summed over
// (k), or counts the products of a batch. Axes of one kind that are adjacent in all tensors are merged. What is left
// must be a strided batch of matrices.
#include <string.h>

#include "judge/library_trace.h"
#include "ops/einsum.h"

struct axis {
  int64_t extent;
  bool in_a, in_b, in_y;
  int64_t a, b, y; // strides; 0 where it is not in the tensor
};

enum kind { ROWS, COLUMNS, SUMMED, BATCH, KINDS };
enum { MOST_AXES = EINSUM_LABELS };

struct contraction {
  int n[KINDS];
  struct axis axes[KINDS][MOST_AXES];
  int a_input, b_input;
};

static enum assay_status unfit(struct assay_error *err) {
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "cuBLASLt has no single call for this product: its dimensions are not a batch of matrices at equal "
                   "distances");
}

// Adds an axis to its list, the outermost first.
static enum assay_status add_axis(struct contraction *c, const struct axis *x, struct assay_error *err) {
  if (x->extent == 1)
    return ASSAY_OK;
  enum kind kind = x->in_y ? x->in_a && x->in_b ? BATCH : x->in_a ? ROWS : COLUMNS : SUMMED;
  if (kind == SUMMED && !(x->in_a && x->in_b))
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline is for products of matrices; this one sums over a dimension of one factor");
  struct axis *list = c->axes[kind];
  int at = c->n[kind]++;
  for (; at > 0 && (kind == SUMMED ? list[at - 1].a < x->a : list[at - 1].y < x->y); at--)
    list[at] = list[at - 1];
  list[at] = *x;
  return ASSAY_OK;
}

static void fuse(struct contraction *c, enum kind kind) {
  struct axis *list = c->axes[kind];
  int kept = 0;
  for (int i = 1; i < c->n[kind]; i++) {
    struct axis *outer = &list[kept];
    const struct axis *inner = &list[i];
    bool one = outer->a == inner->a * inner->extent && outer->b == inner->b * inner->extent &&
               outer->y == inner->y * inner->extent;
    int64_t extent = outer->extent * inner->extent;
    if (one) {
      *outer = *inner;
      outer->extent = extent;
    } else {
      list[++kept] = *inner;
    }
  }
  c->n[kind] = c->n[kind] ? kept + 1 : 0;
}

// Where rows or columns are two axes, the outer one becomes a batch, in which all products share the other factor.
static void move_to_batch(struct contraction *c, enum kind kind) {
  if (c->n[kind] != 2 || c->n[BATCH] != 0)
    return;
  c->axes[BATCH][c->n[BATCH]++] = c->axes[kind][0];
  c->axes[kind][0] = c->axes[kind][1];
  c->n[kind] = 1;
}

// ---- the operators

static void axis_of_views(struct axis *x, const struct library_view *a, int dim_a, const struct library_view *b,
                          int dim_b, const struct library_view *y, int dim_y) {
  *x = (struct axis){.extent = 1};
  x->in_y = dim_y >= 0;
  x->y = dim_y >= 0 ? y->strides[dim_y] : 0;
  if (dim_y >= 0)
    x->extent = y->shape.dims[dim_y];
  else if (dim_a >= 0)
    x->extent = a->shape.dims[dim_a];
  // A dimension that is broadcast has stride 0.
  x->in_a = dim_a >= 0 && a->shape.dims[dim_a] == x->extent;
  x->in_b = dim_b >= 0 && b->shape.dims[dim_b] == x->extent;
  x->a = x->in_a ? a->strides[dim_a] : 0;
  x->b = x->in_b ? b->strides[dim_b] : 0;
}

static enum assay_status read_matmul(const struct library_view *a, const struct library_view *b,
                                     const struct library_view *y, struct contraction *c, struct assay_error *err) {
  int ra = a->shape.rank, rb = b->shape.rank, ry = y->shape.rank;
  int matrix_dims = (ra > 1) + (rb > 1); // of y, where a vector has no such dimension
  struct axis x;
  axis_of_views(&x, a, ra - 1, b, rb > 1 ? rb - 2 : 0, y, -1);
  enum assay_status status = add_axis(c, &x, err);
  if (!status && ra > 1) {
    axis_of_views(&x, a, ra - 2, b, -1, y, ry - matrix_dims);
    status = add_axis(c, &x, err);
  }
  if (!status && rb > 1) {
    axis_of_views(&x, a, -1, b, rb - 1, y, ry - 1);
    status = add_axis(c, &x, err);
  }
  int batch_dims = ry - matrix_dims;
  for (int i = 0; i < batch_dims && !status; i++) {
    axis_of_views(&x, a, ra - 2 - batch_dims + i, b, rb - 2 - batch_dims + i, y, i);
    status = add_axis(c, &x, err);
  }
  return status;
}

static void turn(struct library_view *v) {
  struct library_view old = *v;
  for (int i = 0; i < 2; i++) {
    v->shape.dims[i] = old.shape.dims[1 - i];
    v->strides[i] = old.strides[1 - i];
  }
}

static bool is_input(const struct library_view *v) {
  struct library_view dense = library_dense(v->input, &v->shape);
  return memcmp(dense.strides, v->strides, (size_t)v->shape.rank * sizeof *v->strides) == 0;
}

// The evaluator of Einsum reads the equation, for dense operands.
static enum assay_status read_einsum(const struct library_trace *t, const struct library_view *a,
                                     const struct library_view *b, const struct library_view *y, struct contraction *c,
                                     struct assay_error *err) {
  struct einsum_plan plan;
  const struct array *in[] = {&t->values[t->node->inputs[0]], &t->values[t->node->inputs[1]]};
  const struct op_infer infer = {.node = t->node, .n_in = 2, .in = in};
  enum assay_status status = ASSAY_OK;
  if (!is_input(a) || !is_input(b))
    return unfit(err);
  status = einsum_plan_make(&infer, &plan, err);
  for (int label = 0; label < EINSUM_LABELS && !status; label++) {
    uint64_t bit = (uint64_t)1 << label;
    struct axis x = {.extent = plan.extent[label], .a = plan.in[0].stride[label], .b = plan.in[1].stride[label]};
    if (!((plan.in[0].labels | plan.in[1].labels) & bit))
      continue;
    x.in_a = x.a != 0;
    x.in_b = x.b != 0;
    for (int i = 0; i < plan.n_out; i++)
      if (plan.out[i] == label) {
        x.in_y = true;
        x.y = y->strides[i];
      }
    status = add_axis(c, &x, err);
  }
  return status;
}

// ---- the call

// A matrix of these extents and strides as stored columns. d cannot be transposed.
static bool fit(int64_t rows, int64_t columns, int64_t row_stride, int64_t column_stride, bool may_transpose,
                struct library_matrix *out) {
  if ((rows == 1 || row_stride == 1) && (columns == 1 || column_stride >= rows)) {
    out->transposed = false;
    out->ld = columns == 1 ? rows : column_stride;
    return true;
  }
  if (may_transpose && (columns == 1 || column_stride == 1) && (rows == 1 || row_stride >= columns)) {
    out->transposed = true;
    out->ld = rows == 1 ? columns : row_stride;
    return true;
  }
  return false;
}

// One way to write the product: with the result's columns as BLAS' rows (for a row-major result), or vice versa.
static bool write_call(const struct contraction *c, bool columns_first, struct library_product *p) {
  static const struct axis none = {.extent = 1};
  const struct axis *m = c->n[ROWS] ? &c->axes[ROWS][0] : &none, *n = c->n[COLUMNS] ? &c->axes[COLUMNS][0] : &none;
  const struct axis *k = c->n[SUMMED] ? &c->axes[SUMMED][0] : &none, *z = c->n[BATCH] ? &c->axes[BATCH][0] : &none;
  p->k = k->extent;
  p->batch = z->extent;
  p->m = columns_first ? n->extent : m->extent;
  p->n = columns_first ? m->extent : n->extent;
  p->a =
      (struct library_matrix){.input = columns_first ? c->b_input : c->a_input, .stride = columns_first ? z->b : z->a};
  p->b =
      (struct library_matrix){.input = columns_first ? c->a_input : c->b_input, .stride = columns_first ? z->a : z->b};
  p->d = (struct library_matrix){.input = -1, .stride = z->y};
  if (columns_first)
    return fit(p->m, p->k, n->b, k->b, true, &p->a) && fit(p->k, p->n, k->a, m->a, true, &p->b) &&
           fit(p->m, p->n, n->y, m->y, false, &p->d);
  return fit(p->m, p->k, m->a, k->a, true, &p->a) && fit(p->k, p->n, k->b, n->b, true, &p->b) &&
         fit(p->m, p->n, m->y, n->y, false, &p->d);
}

// A tensor that is added: one number for each of BLAS' rows (a bias), or a matrix with the layout of the result (c).
static bool add_bias(const struct library_finish *f, double factor, struct library_product *p) {
  const struct library_view *bias = &f->bias, *at = &f->at;
  int last = -1, longer = 0, skipped = at->shape.rank - bias->shape.rank;
  bool whole = true;
  for (int i = 0; i < at->shape.rank; i++) {
    int64_t extent = i < skipped ? 1 : bias->shape.dims[i - skipped];
    whole = whole && extent == at->shape.dims[i] && (extent == 1 || bias->strides[i - skipped] == at->strides[i]);
    if (extent == 1)
      continue;
    last = i;
    longer++;
  }
  int64_t count = shape_count(&bias->shape);
  // BLAS' rows are adjacent in the result, and so must be the elements of a bias that has more than one.
  bool by_row = longer <= 1 && count == p->m && factor == 1 &&
                (longer == 0 || (at->strides[last] == 1 && bias->strides[last - skipped] == 1));
  if (by_row) {
    p->bias = bias->input;
    return true;
  }
  if (!whole)
    return false;
  p->beta = factor;
  p->c = p->d;
  p->c.input = bias->input;
  return true;
}

static enum assay_status choose(const struct contraction *c, const struct library_finish *f, double factor,
                                struct library_product *p, struct assay_error *err) {
  // The product of a matrix and a vector is one column in BLAS.
  bool vector = c->n[COLUMNS] == 0 && c->n[ROWS] > 0;
  bool fits = false;
  for (int way = 0; way < 2; way++) {
    p->bias = -1;
    p->beta = 0;
    p->c = (struct library_matrix){.input = -1};
    if (!write_call(c, vector == (way == 1), p))
      continue;
    fits = true;
    if (!f->has_bias || add_bias(f, factor, p))
      return ASSAY_OK;
  }
  return fits ? error_set(err, ASSAY_ERR_UNSUPPORTED,
                          "cuBLASLt adds a vector along the last dimension or a whole matrix to a product; this task "
                          "adds something else")
              : unfit(err);
}

// Reads the attributes of a Gemm. *factor is beta, where something is added.
static enum assay_status read_gemm(const struct library_trace *t, struct library_view *a, struct library_view *b,
                                   struct library_finish *f, double *alpha, double *factor, struct assay_error *err) {
  const struct node *n = t->node;
  double beta = node_float(n, "beta", 1);
  if (node_int(n, "transA", 0))
    turn(a);
  if (node_int(n, "transB", 0))
    turn(b);
  *alpha = node_float(n, "alpha", 1);
  if (!node_has_input(n, 2) || beta == 0)
    return ASSAY_OK;
  if (f->has_bias)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline adds one tensor to a product; this task adds two");
  f->has_bias = true;
  f->at = f->y;
  *factor = beta;
  return library_view_of(t, n->inputs[2], &f->bias, err);
}

// Checks that what is left is a strided batch of matrices.
static enum assay_status settle(struct contraction *c, struct assay_error *err) {
  for (int kind = 0; kind < KINDS; kind++)
    fuse(c, (enum kind)kind);
  move_to_batch(c, ROWS);
  move_to_batch(c, COLUMNS);
  for (int kind = 0; kind < KINDS; kind++)
    if (c->n[kind] > 1)
      return unfit(err);
  return ASSAY_OK;
}

enum assay_status library_product_of(const struct library_trace *t, struct library_product *out,
                                     struct assay_error *err) {
  const struct node *n = t->node;
  struct contraction c = {0};
  struct library_finish f;
  struct library_view a, b;
  double factor = 1;
  bool is_einsum = library_is(n, "Einsum");
  *out = (struct library_product){.alpha = 1};
  if (n->n_inputs < 2 || (is_einsum && n->n_inputs != 2))
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "the library baseline is for products of two tensors; this one has %d",
                     n->n_inputs);
  enum assay_status status = library_finish_of(t, &f, err);
  if (!status)
    status = library_view_of(t, n->inputs[0], &a, err);
  if (!status)
    status = library_view_of(t, n->inputs[1], &b, err);
  if (!status && library_is(n, "Gemm"))
    status = read_gemm(t, &a, &b, &f, &out->alpha, &factor, err);
  if (status)
    return status;
  c.a_input = a.input;
  c.b_input = b.input;
  status = is_einsum ? read_einsum(t, &a, &b, &f.y, &c, err) : read_matmul(&a, &b, &f.y, &c, err);
  if (!status)
    status = settle(&c, err);
  return status ? status : choose(&c, &f, factor, out, err);
}
