// SPDX-License-Identifier: Apache-2.0
// Where the extremes are: ArgMax, ArgMin, TopK. Order is that of NumPy: NaN counts as beyond every number.
#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

// An order of elements: is a strictly ahead of b?
struct order {
  enum dtype dtype;
  bool largest;
};

static bool ahead(const struct order *o, const uint64_t *a, const uint64_t *b) {
  if (dtype_is_float(o->dtype)) {
    double x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    if (isnan(x) || isnan(y))
      return o->largest ? isnan(x) && !isnan(y) : !isnan(x) && isnan(y);
    return o->largest ? x > y : x < y;
  }
  uint64_t flip = o->dtype == DTYPE_UINT64 ? 0 : (uint64_t)1 << 63;
  return o->largest ? (*a ^ flip) > (*b ^ flip) : (*a ^ flip) < (*b ^ flip);
}

// ArgMax and ArgMin.

struct arg {
  struct order order;
  struct rows rows;
  const uint64_t *x;
  int64_t *y;
  bool last;
};

// For ArgMin too NaN wins, as in NumPy.
static bool wins(const struct arg *a, const uint64_t *x, const uint64_t *best) {
  if (dtype_is_float(a->order.dtype)) {
    double v, b;
    memcpy(&v, x, sizeof v);
    memcpy(&b, best, sizeof b);
    if (isnan(v) || isnan(b))
      return isnan(v) && (a->last || !isnan(b));
  }
  return ahead(&a->order, x, best) || (a->last && !ahead(&a->order, best, x));
}

static void arg_range(void *arg, int64_t begin, int64_t end) {
  const struct arg *a = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t row, best[ROWS_WIDTH] = {0};
    int width;
    rows_tile(&a->rows, i, &row, &width);
    const uint64_t *first = a->x + rows_offset(&a->rows, row, 0);
    int64_t step = a->rows.n_reduced ? a->rows.reduced_stride[0] : 1;
    for (int64_t k = 1; k < a->rows.length; k++)
      for (int r = 0; r < width; r++)
        if (wins(a, first + k * step + r, first + best[r] * step + r))
          best[r] = k;
    for (int r = 0; r < width; r++)
      a->y[row + r] = best[r];
  }
}

static enum assay_status arg_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), x->rank, &axis, err);
  if (status)
    return status;
  if (x->dims[axis] == 0)
    return op_invalid(c->node, err, "axis %d has no elements to choose from", axis);
  bool keep = node_int(c->node, "keepdims", 1) != 0;
  struct shape y = {.rank = 0};
  for (int i = 0; i < x->rank; i++)
    if (i != axis)
      y.dims[y.rank++] = x->dims[i];
    else if (keep)
      y.dims[y.rank++] = 1;
  c->out[0].dtype = DTYPE_INT64;
  c->out[0].shape = y;
  return ASSAY_OK;
}

static bool arg_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  int axis;
  (void)halo;
  return op_axis(c->node, node_int(c->node, "axis", 0), c->in[0]->shape.rank, &axis, NULL) == ASSAY_OK &&
         op_apart_along(c, apart, 1u << axis);
}

static void arg_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = (double)shape_count(&c->in[0]->shape);
}

static enum assay_status arg_run(struct op_eval *c, bool largest, struct assay_error *err) {
  const struct array *x = c->in[0];
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), x->shape.rank, &axis, err);
  if (status)
    return status;
  struct arg a = {.order = {.dtype = x->dtype, .largest = largest},
                  .x = x->bits,
                  .y = c->out[0].i64,
                  .last = node_int(c->node, "select_last_index", 0) != 0};
  rows_init(&a.rows, &x->shape, 1u << axis, NULL);
  parallel_for(c->threads, rows_tiles(&a.rows), 1 + 10000 / (a.rows.length + 1), arg_range, &a);
  return ASSAY_OK;
}

static enum assay_status arg_max_eval(struct op_eval *c, struct assay_error *err) {
  return arg_run(c, true, err);
}
static enum assay_status arg_min_eval(struct op_eval *c, struct assay_error *err) {
  return arg_run(c, false, err);
}

// TopK: a heap of the k best so far with the worst of them on top.

struct top_k {
  struct order order;
  struct rows in, out;
  const uint64_t *x;
  uint64_t *values;
  int64_t *indices;
  atomic_bool failed;
};

struct heap {
  const struct order *order;
  const uint64_t *row;
  int64_t *at; // positions in the row
  int64_t n;
};

// Equal elements come in the order of their positions.
static bool heap_ahead(const struct heap *h, int64_t a, int64_t b) {
  if (ahead(h->order, &h->row[a], &h->row[b]))
    return true;
  return !ahead(h->order, &h->row[b], &h->row[a]) && a < b;
}

static void heap_sink(struct heap *h, int64_t i, int64_t n) {
  for (;;) {
    int64_t worst = i;
    for (int64_t child = 2 * i + 1; child <= 2 * i + 2 && child < n; child++)
      if (heap_ahead(h, h->at[worst], h->at[child]))
        worst = child;
    if (worst == i)
      return;
    int64_t swap = h->at[i];
    h->at[i] = h->at[worst];
    h->at[worst] = swap;
    i = worst;
  }
}

static void heap_select(struct heap *h, int64_t length) {
  for (int64_t i = 0; i < h->n; i++)
    h->at[i] = i;
  for (int64_t i = h->n / 2 - 1; i >= 0; i--)
    heap_sink(h, i, h->n);
  for (int64_t i = h->n; i < length && h->n > 0; i++)
    if (heap_ahead(h, i, h->at[0])) {
      h->at[0] = i;
      heap_sink(h, 0, h->n);
    }
  // Taking the worst off to the end leaves them best first.
  for (int64_t i = h->n - 1; i > 0; i--) {
    int64_t swap = h->at[0];
    h->at[0] = h->at[i];
    h->at[i] = swap;
    heap_sink(h, 0, i);
  }
}

static void top_k_range(void *arg, int64_t begin, int64_t end) {
  struct top_k *t = arg;
  int64_t length = t->in.length;
  uint64_t *row = base_alloc((size_t)(length + t->out.length + 1) * sizeof *row);
  if (!row) {
    t->failed = true;
    return;
  }
  for (int64_t r = begin; r < end; r++) {
    struct heap h = {.order = &t->order, .row = row, .at = (int64_t *)(row + length), .n = t->out.length};
    for (int64_t i = 0; i < length; i++)
      row[i] = t->x[rows_offset(&t->in, r, i)];
    heap_select(&h, length);
    for (int64_t i = 0; i < h.n; i++) {
      int64_t to = rows_offset(&t->out, r, i);
      if (t->values)
        t->values[to] = row[h.at[i]];
      if (t->indices)
        t->indices[to] = h.at[i];
    }
  }
  base_free(row);
}

static enum assay_status top_k_infer(struct op_infer *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t k;
  int axis, count;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), x->rank, &axis, err);
  if (!status)
    status = op_ints(c, 1, NULL, &k, &count, 1, err);
  if (status)
    return status;
  if (count < 0)
    k = node_int(c->node, "k", -1);
  else if (count == 0)
    return op_invalid(c->node, err, "k (input 1) is empty");
  if (k < 0 || k > x->dims[axis])
    return op_invalid(c->node, err, "k = %lld of the %lld elements along axis %d", (long long)k,
                      (long long)x->dims[axis], axis);
  for (int i = 0; i < c->n_out; i++) {
    c->out[i].dtype = i == 0 ? c->in[0]->dtype : DTYPE_INT64;
    c->out[i].shape = *x;
    c->out[i].shape.dims[axis] = k;
  }
  return ASSAY_OK;
}

static enum assay_status top_k_eval(struct op_eval *c, struct assay_error *err) {
  const struct array *x = c->in[0];
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), x->shape.rank, &axis, err);
  if (status)
    return status;
  struct top_k t = {.order = {.dtype = x->dtype, .largest = node_int(c->node, "largest", 1) != 0},
                    .x = x->bits,
                    .values = c->out[0].bits,
                    .indices = c->n_out > 1 ? c->out[1].i64 : NULL};
  rows_init(&t.in, &x->shape, 1u << axis, NULL);
  rows_init(&t.out, &c->out[0].shape, 1u << axis, NULL);
  parallel_for(c->threads, t.in.count, 1 + 5000 / (t.in.length + 1), top_k_range, &t);
  return t.failed ? error_nomem(err, "the rows of a TopK") : ASSAY_OK;
}

static const struct op_attr arg_attrs[] = {
    {"axis", ATTR_INT, false, "0"},
    {"keepdims", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};
static const struct op_attr arg_attrs_12[] = {
    {"axis", ATTR_INT, false, "0"},
    {"keepdims", ATTR_INT, false, "1"},
    {"select_last_index", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};
static const struct op_attr top_k_attrs[] = {
    {"axis", ATTR_INT, false, "-1"},
    {"k", ATTR_INT, true, NULL},
    {NULL, 0, false, NULL},
};
static const struct op_attr top_k_attrs_10[] = {{"axis", ATTR_INT, false, "-1"}, {NULL, 0, false, NULL}};
static const struct op_attr top_k_attrs_11[] = {
    {"axis", ATTR_INT, false, "-1"},
    {"largest", ATTR_INT, false, "1"},
    {"sorted", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};

#define ARG(op, version, attributes, fn)                                                                               \
  .name = op, .domain = "", .since = version, .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                    \
  .class = OP_REDUCTION, .attrs = attributes, .infer = arg_infer, .eval = fn, .cost = arg_cost, .apart = arg_apart
#define TOP_K(version, inputs, attributes)                                                                             \
  .name = "TopK", .domain = "", .since = version, .min_in = inputs, .max_in = inputs, .min_out = 2, .max_out = 2,      \
  .class = OP_REDUCTION, .attrs = attributes, .infer = top_k_infer, .eval = top_k_eval, .cost = arg_cost,              \
  .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}

static const struct op_def arg_rows[] = {
    {ARG("ArgMax", 1, arg_attrs, arg_max_eval), .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.text = "torch.argmax", .write = pytorch_arg},
     .doc = "The index of the first maximum along the axis."},
    {ARG("ArgMax", 12, arg_attrs_12, arg_max_eval), .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.text = "torch.argmax", .write = pytorch_arg},
     .doc = "The index of the first maximum along the axis, of the last one with select_last_index = 1. NaN wins.",
     .example = "(float[2,5] x) => (int64[2] y) { y = ArgMax<axis = 1, keepdims = 0>(x) }"},
    {ARG("ArgMin", 1, arg_attrs, arg_min_eval), .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.text = "torch.argmin", .write = pytorch_arg},
     .doc = "The index of the first minimum along the axis."},
    {ARG("ArgMin", 12, arg_attrs_12, arg_min_eval), .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true,
     .pytorch = {.text = "torch.argmin", .write = pytorch_arg},
     .doc = "The index of the first minimum along the axis, of the last one with select_last_index = 1. NaN wins.",
     .example = "(float[2,5] x) => (int64[1,5] y) { y = ArgMin<select_last_index = 1>(x) }"},
    {TOP_K(1, 1, top_k_attrs), .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The k largest elements along the axis, and their indices."},
    {TOP_K(10, 2, top_k_attrs_10), .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The k (input 1) largest elements along the axis, and their indices."},
    {TOP_K(11, 2, top_k_attrs_11),
     .pytorch = {.text = "torch.topk($0, int($1), dim={axis}, largest=bool({largest}))", .results = OP_PYTORCH_ALL},
     .doc = "The k (input 1) largest elements along the axis, or the smallest, best first, and their indices. Of equal "
            "elements the first come first; NaN is larger than every number.",
     .example = "(float[2,5] x) => (float[2,3] v, int64[2,3] i) <int64[1] k = {3}> { v, i = TopK(x, k) }"},
};

const struct op_family ops_arg_family = {
    .name = "Extremes", .rows = arg_rows, .n_rows = sizeof arg_rows / sizeof arg_rows[0]};
