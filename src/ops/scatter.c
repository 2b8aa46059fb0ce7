// SPDX-License-Identifier: Apache-2.0
// Elements placed by index, alone or combined with what is there. Updates are applied in their own order: ONNX leaves
// duplicates undefined without a reduction, and here the last one wins.
#include <math.h>
#include <string.h>

#include "ops/families.h"
#include "ops/indices.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

enum reduction { REDUCE_NONE, REDUCE_ADD, REDUCE_MUL, REDUCE_MAX, REDUCE_MIN };

static enum assay_status read_reduction(const struct node *node, enum reduction *out, struct assay_error *err) {
  static const char *const names[] = {"none", "add", "mul", "max", "min"};
  const char *name = node_string(node, "reduction", "none");
  for (int i = 0; i < 5; i++)
    if (strcmp(name, names[i]) == 0) {
      *out = (enum reduction)i;
      return ASSAY_OK;
    }
  return op_invalid(node, err, "reduction is \"%s\"; it must be none, add, mul, max or min", name);
}

static double combine(enum reduction r, double old, double update) {
  switch (r) {
  case REDUCE_ADD:
    return old + update;
  case REDUCE_MUL:
    return old * update;
  case REDUCE_MAX:
    return update > old || isnan(update) ? update : old;
  case REDUCE_MIN:
    return update < old || isnan(update) ? update : old;
  case REDUCE_NONE:
    break;
  }
  return update;
}

static int64_t combine_int(enum reduction r, enum dtype t, int64_t old, int64_t update) {
  bool less = t == DTYPE_UINT64 ? (uint64_t)update < (uint64_t)old : update < old;
  switch (r) {
  case REDUCE_ADD:
    return pointwise_wrap(t, (int64_t)((uint64_t)old + (uint64_t)update));
  case REDUCE_MUL:
    return pointwise_wrap(t, (int64_t)((uint64_t)old * (uint64_t)update));
  case REDUCE_MAX:
    return less ? old : update;
  case REDUCE_MIN:
    return less ? update : old;
  case REDUCE_NONE:
    break;
  }
  return update;
}

// Puts `n` updates to `offset`. In a contract pass sums and products round at every step, as atomics do.
static void put(const struct op_eval *c, enum reduction r, int64_t offset, const struct array *updates, int64_t first,
                int64_t n) {
  struct array *out = &c->out[0];
  struct noise noise = noise_at(c->arith.key, (uint64_t)first);
  if (r == REDUCE_NONE) {
    memcpy(out->bits + offset, updates->bits + first, (size_t)n * sizeof *out->bits);
    return;
  }
  for (int64_t i = 0; i < n; i++) {
    if (dtype_is_float(out->dtype)) {
      double v = combine(r, out->f64[offset + i], updates->f64[first + i]);
      out->f64[offset + i] = arith_round(&c->arith, &noise, v);
    } else {
      out->i64[offset + i] = combine_int(r, out->dtype, out->i64[offset + i], updates->i64[first + i]);
    }
  }
}

static void copy_data(struct op_eval *c) {
  memcpy(c->out[0].bits, c->in[0]->bits, (size_t)shape_count(&c->in[0]->shape) * sizeof *c->out[0].bits);
}

static enum assay_status infer_scatter_elements(struct op_infer *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status == ASSAY_OK)
    status = index_infer_integer(c, 1, err);
  if (status != ASSAY_OK)
    return status;
  if (indices->rank != data->rank || !shape_equal(indices, &c->in[2]->shape))
    return op_invalid(c->node, err, "indices and updates must have one shape, of as many dimensions as the data");
  for (int d = 0; d < data->rank; d++)
    if (d != axis && indices->dims[d] > data->dims[d])
      return op_invalid(c->node, err, "indices are larger than data in dimension %d", d);
  return op_infer_same(c, err);
}

static enum assay_status eval_scatter_elements(struct op_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape;
  int axis;
  enum reduction r = REDUCE_NONE;
  int64_t strides[SHAPE_MAX_RANK], n = shape_count(&c->in[1]->shape);
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status == ASSAY_OK)
    status = read_reduction(c->node, &r, err);
  copy_data(c);
  shape_strides(data, strides);
  struct index_walk w = {.shape = &c->in[1]->shape};
  for (int64_t i = 0; status == ASSAY_OK && i < n; i++, index_walk_next(&w)) {
    int64_t chosen = 0;
    status = index_resolve(c->node, c->in[1]->i64[i], data->dims[axis], &chosen, err);
    if (status == ASSAY_OK)
      put(c, r, index_offset(&w, strides, axis, chosen), c->in[2], i, 1);
  }
  return status;
}

static enum assay_status infer_scatter_nd(struct op_infer *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape, *updates = &c->in[2]->shape;
  enum assay_status status = index_infer_integer(c, 1, err);
  if (status != ASSAY_OK)
    return status;
  int64_t tuple = indices->rank > 0 ? indices->dims[indices->rank - 1] : 0;
  if (tuple < 1 || tuple > data->rank)
    return op_invalid(c->node, err, "index tuples have %lld entries, data has %d dimensions", (long long)tuple,
                      data->rank);
  int lead = indices->rank - 1;
  bool fits = updates->rank == lead + data->rank - (int)tuple;
  for (int d = 0; fits && d < updates->rank; d++)
    fits = updates->dims[d] == (d < lead ? indices->dims[d] : data->dims[d - lead + (int)tuple]);
  if (!fits) {
    char text[SHAPE_TEXT_BYTES];
    return op_invalid(c->node, err, "the shape of updates, %s, is not that of the slices that indices name",
                      shape_text(updates, text));
  }
  return op_infer_same(c, err);
}

static enum assay_status eval_scatter_nd(struct op_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int tuple = (int)indices->dims[indices->rank - 1];
  int64_t strides[SHAPE_MAX_RANK], inner = shape_span(data, tuple, data->rank);
  int64_t n = shape_span(indices, 0, indices->rank - 1);
  enum reduction r = REDUCE_NONE;
  enum assay_status status = read_reduction(c->node, &r, err);
  copy_data(c);
  shape_strides(data, strides);
  for (int64_t i = 0; status == ASSAY_OK && i < n; i++) {
    int64_t offset = 0;
    status = index_tuple(c->node, c->in[1]->i64 + i * tuple, tuple, data->dims, strides, &offset, err);
    if (status == ASSAY_OK)
      put(c, r, offset, c->in[2], i * inner, inner);
  }
  return status;
}

static const struct op_attr axis_attrs[] = {{"axis", ATTR_INT, false, "0"}, {0}};
static const struct op_attr elements_attrs[] = {
    {"axis", ATTR_INT, false, "0"}, {"reduction", ATTR_STRING, false, "none"}, {0}};
static const struct op_attr nd_attrs[] = {{"reduction", ATTR_STRING, false, "none"}, {0}};

#define ELEMENTS_DOC                                                                                                   \
  "The data with the updates put where the indices say, along an axis: the inverse of GatherElements."
#define ND_DOC "The data with slices put where tuples of indices say: the inverse of GatherND."
#define REDUCTION_DOC " With a reduction (add, mul, max, min) an update is combined with what is there."
#define SCATTER(NAME, SINCE, ATTRS, INFER, EVAL, DOC, EXAMPLE, ...)                                                    \
  {                                                                                                                    \
    OP_ROW(NAME, SINCE, 3, 3, 1, 1, OP_GATHER), .attrs = (ATTRS), .infer = INFER, .eval = EVAL, .cost = op_cost_none,  \
                                                .doc = DOC, .example = (EXAMPLE), __VA_ARGS__                          \
  }

static const struct op_def rows[] = {
    SCATTER("Scatter", 9, axis_attrs, infer_scatter_elements, eval_scatter_elements,
            ELEMENTS_DOC " Deprecated: use ScatterElements.",
            "(float[3,2] a, float[1,2] u) => (float[3,2] b) {"
            " i = Constant<value = int64[1,2] {2, 0}>() b = Scatter(a, i, u) }",
            .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_scatter}),
    SCATTER("ScatterElements", 11, axis_attrs, infer_scatter_elements, eval_scatter_elements, ELEMENTS_DOC, NULL,
            .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_scatter}),
    SCATTER("ScatterElements", 16, elements_attrs, infer_scatter_elements, eval_scatter_elements,
            ELEMENTS_DOC REDUCTION_DOC,
            "(float[3,2] a, float[1,2] u) => (float[3,2] b) {"
            " i = Constant<value = int64[1,2] {2, 0}>() b = ScatterElements<reduction = \"add\">(a, i, u) }",
            .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.write = pytorch_scatter}),
    SCATTER("ScatterND", 11, NULL, infer_scatter_nd, eval_scatter_nd, ND_DOC, NULL,
            .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
    SCATTER("ScatterND", 16, nd_attrs, infer_scatter_nd, eval_scatter_nd, ND_DOC REDUCTION_DOC,
            "(float[3,2] a, float[2,2] u) => (float[3,2] b) {"
            " i = Constant<value = int64[2,1] {2, 0}>() b = ScatterND(a, i, u) }",
            .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
};

const struct op_family ops_scatter_family = {"Scattering", rows, sizeof rows / sizeof rows[0]};
