// SPDX-License-Identifier: Apache-2.0
// Elements picked by index.
#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/indices.h"
#include "ops/pytorch.h"

enum { GRAIN_ELEMENTS = 1 << 14 };

enum assay_status index_resolve(const struct node *node, int64_t index, int64_t extent, int64_t *out,
                                struct assay_error *err) {
  if (index < -extent || index >= extent)
    return op_invalid(node, err, "index %lld is outside a dimension of %lld elements", (long long)index,
                      (long long)extent);
  *out = index < 0 ? index + extent : index;
  return ASSAY_OK;
}

enum assay_status index_infer_integer(const struct op_infer *c, int i, struct assay_error *err) {
  enum dtype t = c->in[i]->dtype;
  if (t != DTYPE_INT32 && t != DTYPE_INT64)
    return op_invalid(c->node, err, "input %d, the indices, is %s; it must be int32 or int64", i, dtype_name(t));
  return ASSAY_OK;
}

// ---- Gather

static enum assay_status infer_gather(struct op_infer *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status == ASSAY_OK)
    status = index_infer_integer(c, 1, err);
  if (status != ASSAY_OK)
    return status;
  int64_t dims[2 * SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < axis; d++)
    dims[rank++] = data->dims[d];
  for (int d = 0; d < indices->rank; d++)
    dims[rank++] = indices->dims[d];
  for (int d = axis + 1; d < data->rank; d++)
    dims[rank++] = data->dims[d];
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

struct gather {
  const uint64_t *from;
  uint64_t *to;
  const int64_t *indices; // resolved
  int64_t n_indices, extent, inner;
};

// Unit: one index of one outer position.
static void gather_rows(void *arg, int64_t begin, int64_t end) {
  const struct gather *g = arg;
  for (int64_t u = begin; u < end; u++) {
    int64_t row = u / g->n_indices * g->extent + g->indices[u % g->n_indices];
    memcpy(g->to + u * g->inner, g->from + row * g->inner, (size_t)g->inner * sizeof *g->to);
  }
}

static enum assay_status eval_gather(struct op_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status != ASSAY_OK)
    return status;
  struct gather g = {.from = c->in[0]->bits,
                     .to = c->out[0].bits,
                     .n_indices = shape_count(&c->in[1]->shape),
                     .extent = data->dims[axis],
                     .inner = shape_span(data, axis + 1, data->rank)};
  if (shape_count(&c->out[0].shape) == 0)
    return ASSAY_OK;
  int64_t *indices = arena_calloc(c->scratch, (size_t)g.n_indices, sizeof *indices);
  if (!indices)
    return error_nomem(err, "the indices of Gather");
  for (int64_t i = 0; i < g.n_indices; i++) {
    status = index_resolve(c->node, c->in[1]->i64[i], g.extent, &indices[i], err);
    if (status != ASSAY_OK)
      return status;
  }
  g.indices = indices;
  parallel_for(c->threads, shape_span(data, 0, axis) * g.n_indices, GRAIN_ELEMENTS / g.inner + 1, gather_rows, &g);
  return ASSAY_OK;
}

// ---- GatherElements

static enum assay_status infer_gather_elements(struct op_infer *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status == ASSAY_OK)
    status = index_infer_integer(c, 1, err);
  if (status != ASSAY_OK)
    return status;
  if (indices->rank != data->rank)
    return op_invalid(c->node, err, "data has %d dimensions, indices %d", data->rank, indices->rank);
  for (int d = 0; d < data->rank; d++)
    if (d != axis && indices->dims[d] > data->dims[d])
      return op_invalid(c->node, err, "indices are larger than data in dimension %d", d);
  return op_output(c, 0, c->in[0]->dtype, indices->rank, indices->dims, err);
}

void index_walk_next(struct index_walk *w) {
  for (int d = w->shape->rank - 1; d >= 0; d--) {
    if (++w->index[d] < w->shape->dims[d])
      return;
    w->index[d] = 0;
  }
}

// The element of `data` (strides) that index tuple w names, with `chosen` in the place of the axis.
int64_t index_offset(const struct index_walk *w, const int64_t *strides, int axis, int64_t chosen) {
  int64_t offset = chosen * strides[axis];
  for (int d = 0; d < w->shape->rank; d++)
    if (d != axis)
      offset += w->index[d] * strides[d];
  return offset;
}

static enum assay_status eval_gather_elements(struct op_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  int64_t strides[SHAPE_MAX_RANK], n = shape_count(&c->out[0].shape);
  shape_strides(data, strides);
  struct index_walk w = {.shape = &c->out[0].shape};
  for (int64_t i = 0; status == ASSAY_OK && i < n; i++, index_walk_next(&w)) {
    int64_t chosen = 0;
    status = index_resolve(c->node, c->in[1]->i64[i], data->dims[axis], &chosen, err);
    if (status == ASSAY_OK)
      c->out[0].bits[i] = c->in[0]->bits[index_offset(&w, strides, axis, chosen)];
  }
  return status;
}

// ---- GatherND

static enum assay_status infer_gather_nd(struct op_infer *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int64_t batch = node_int(c->node, "batch_dims", 0);
  enum assay_status status = index_infer_integer(c, 1, err);
  if (status != ASSAY_OK)
    return status;
  if (indices->rank < 1 || data->rank < 1 || batch < 0 || batch >= indices->rank || batch >= data->rank)
    return op_invalid(c->node, err, "batch_dims is %lld, data has %d and indices %d dimensions", (long long)batch,
                      data->rank, indices->rank);
  int64_t tuple = indices->dims[indices->rank - 1];
  if (tuple < 1 || tuple > data->rank - batch)
    return op_invalid(c->node, err, "index tuples have %lld entries for %lld dimensions", (long long)tuple,
                      (long long)(data->rank - batch));
  for (int d = 0; d < batch; d++)
    if (data->dims[d] != indices->dims[d])
      return op_invalid(c->node, err, "data and indices differ in batch dimension %d", d);
  int64_t dims[2 * SHAPE_MAX_RANK];
  int rank = 0;
  for (int d = 0; d < indices->rank - 1; d++)
    dims[rank++] = indices->dims[d];
  for (int d = (int)(batch + tuple); d < data->rank; d++)
    dims[rank++] = data->dims[d];
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

enum assay_status index_tuple(const struct node *node, const int64_t *tuple, int n, const int64_t *dims,
                              const int64_t *strides, int64_t *offset, struct assay_error *err) {
  *offset = 0;
  for (int k = 0; k < n; k++) {
    int64_t i = 0;
    enum assay_status status = index_resolve(node, tuple[k], dims[k], &i, err);
    if (status != ASSAY_OK)
      return status;
    *offset += i * strides[k];
  }
  return ASSAY_OK;
}

static enum assay_status eval_gather_nd(struct op_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int batch = (int)node_int(c->node, "batch_dims", 0), tuple = (int)indices->dims[indices->rank - 1];
  int64_t strides[SHAPE_MAX_RANK];
  shape_strides(data, strides);
  int64_t n_batches = shape_span(data, 0, batch), per_batch = shape_span(indices, batch, indices->rank - 1);
  int64_t batch_size = shape_span(data, batch, data->rank), inner = shape_span(data, batch + tuple, data->rank);
  for (int64_t i = 0; i < n_batches * per_batch; i++) {
    int64_t offset = 0;
    enum assay_status status =
        index_tuple(c->node, c->in[1]->i64 + i * tuple, tuple, data->dims + batch, strides + batch, &offset, err);
    if (status != ASSAY_OK)
      return status;
    memcpy(c->out[0].bits + i * inner, c->in[0]->bits + i / per_batch * batch_size + offset,
           (size_t)inner * sizeof(uint64_t));
  }
  return ASSAY_OK;
}

// ---- Compress and NonZero: as many elements as the data says

static enum assay_status count_true(const struct op_infer *c, int i, int64_t limit, int64_t *count,
                                    struct assay_error *err) {
  if (!c->in[i]->bits)
    return op_unsupported(c->node, err, "input %d must be a constant, because the output's shape depends on it", i);
  int64_t n = shape_count(&c->in[i]->shape);
  *count = 0;
  for (int64_t k = 0; k < n && k < limit; k++)
    *count += dtype_is_float(c->in[i]->dtype) ? c->in[i]->f64[k] != 0 : c->in[i]->i64[k] != 0;
  return ASSAY_OK;
}

static enum assay_status infer_compress(struct op_infer *c, struct assay_error *err) {
  struct shape s = c->in[0]->shape;
  const struct attr *axis_attr = node_attr(c->node, "axis");
  int axis = 0;
  int64_t count;
  if (!axis_attr)
    s = (struct shape){.rank = 1, .dims = {shape_count(&s)}};
  enum assay_status status = op_axis(c->node, axis_attr ? axis_attr->ints[0] : 0, s.rank, &axis, err);
  if (status == ASSAY_OK)
    status = count_true(c, 1, s.dims[axis], &count, err);
  if (status != ASSAY_OK)
    return status;
  s.dims[axis] = count;
  return op_output(c, 0, c->in[0]->dtype, s.rank, s.dims, err);
}

static enum assay_status eval_compress(struct op_eval *c, struct assay_error *err) {
  struct shape s = c->in[0]->shape;
  const struct attr *axis_attr = node_attr(c->node, "axis");
  int axis = 0;
  if (!axis_attr)
    s = (struct shape){.rank = 1, .dims = {shape_count(&s)}};
  enum assay_status status = op_axis(c->node, axis_attr ? axis_attr->ints[0] : 0, s.rank, &axis, err);
  if (status != ASSAY_OK)
    return status;
  int64_t inner = shape_span(&s, axis + 1, s.rank), outer = shape_span(&s, 0, axis), extent = s.dims[axis];
  int64_t n_flags = shape_count(&c->in[1]->shape);
  uint64_t *to = c->out[0].bits;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t i = 0; i < extent && i < n_flags; i++)
      if (c->in[1]->i64[i] != 0) {
        memcpy(to, c->in[0]->bits + (o * extent + i) * inner, (size_t)inner * sizeof *to);
        to += inner;
      }
  return ASSAY_OK;
}

static enum assay_status infer_nonzero(struct op_infer *c, struct assay_error *err) {
  int64_t dims[2] = {c->in[0]->shape.rank};
  enum assay_status status = count_true(c, 0, INT64_MAX, &dims[1], err);
  return status == ASSAY_OK ? op_output(c, 0, DTYPE_INT64, 2, dims, err) : status;
}

static enum assay_status eval_nonzero(struct op_eval *c, struct assay_error *err) {
  (void)err;
  const struct array *a = c->in[0];
  struct index_walk w = {.shape = &a->shape};
  int64_t n = shape_count(&a->shape), found = 0, columns = c->out[0].shape.dims[1];
  for (int64_t i = 0; i < n; i++, index_walk_next(&w))
    if (dtype_is_float(a->dtype) ? a->f64[i] != 0 : a->i64[i] != 0) {
      for (int d = 0; d < a->shape.rank; d++)
        c->out[0].i64[d * columns + found] = w.index[d];
      found++;
    }
  return ASSAY_OK;
}

// ---- OneHot

static enum assay_status infer_one_hot(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), s->rank + 1, &axis, err);
  if (status != ASSAY_OK)
    return status;
  const struct array *depth = c->in[1];
  if (!depth->bits)
    return op_unsupported(c->node, err, "input 1, the depth, must be a constant");
  if (shape_count(&depth->shape) != 1 || shape_count(&c->in[2]->shape) != 2)
    return op_invalid(c->node, err, "depth must have one element and values two");
  int64_t dims[SHAPE_MAX_RANK + 1], n = dtype_is_float(depth->dtype) ? (int64_t)depth->f64[0] : depth->i64[0];
  for (int d = 0, next = 0; d < s->rank + 1; d++)
    dims[d] = d == axis ? n : s->dims[next++];
  return op_output(c, 0, c->in[2]->dtype, s->rank + 1, dims, err);
}

static enum assay_status eval_one_hot(struct op_eval *c, struct assay_error *err) {
  const struct shape *s = &c->out[0].shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), s->rank, &axis, err);
  if (status != ASSAY_OK)
    return status;
  int64_t n = shape_count(s), depth = s->dims[axis], inner = shape_span(s, axis + 1, s->rank);
  for (int64_t i = 0; i < n; i++)
    c->out[0].bits[i] = c->in[2]->bits[0];
  for (int64_t i = 0; i < shape_count(&c->in[0]->shape); i++) {
    double index = dtype_is_float(c->in[0]->dtype) ? trunc(c->in[0]->f64[i]) : (double)c->in[0]->i64[i];
    index = index < 0 ? index + (double)depth : index;
    if (index >= 0 && index < (double)depth) // beyond it no element is hot
      c->out[0].bits[(i / inner * depth + (int64_t)index) * inner + i % inner] = c->in[2]->bits[1];
  }
  return ASSAY_OK;
}

static const struct op_attr axis0_attrs[] = {{"axis", ATTR_INT, false, "0"}, {0}};
static const struct op_attr one_hot_attrs[] = {{"axis", ATTR_INT, false, "-1"}, {0}};
static const struct op_attr axis_attrs[] = {{"axis", ATTR_INT, false, NULL}, {0}};
static const struct op_attr batch_attrs[] = {{"batch_dims", ATTR_INT, false, "0"}, {0}};

static const struct op_def rows[] = {
    {OP_ROW("Gather", 1, 2, 2, 1, 1, OP_GATHER), .attrs = axis0_attrs, .infer = infer_gather, .eval = eval_gather,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_gather},
     .doc = "The slices of the first input along an axis that the second input names; negative indices count from the "
            "end.",
     .example = "(float[4,2] a) => (float[3,2] b) { i = Constant<value = int64[3] {3, 0, -1}>() b = Gather(a, i) }"},
    {OP_ROW("GatherElements", 11, 2, 2, 1, 1, OP_GATHER), .attrs = axis0_attrs, .infer = infer_gather_elements,
     .eval = eval_gather_elements, .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "torch.gather($0, {axis}, $1 % $0.shape[{axis}])"},
     .doc = "For every element of the indices, the element of the data at the same place, but with the index in place "
            "of the axis.",
     .example = "(float[2,2] a) => (float[2,2] b) {"
                " i = Constant<value = int64[2,2] {0, 0, 1, 0}>() b = GatherElements<axis = 1>(a, i) }"},
    {OP_ROW("GatherND", 11, 2, 2, 1, 1, OP_GATHER), .attrs = batch_attrs, .infer = infer_gather_nd,
     .eval = eval_gather_nd, .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The slices of the data that tuples of indices, along the last dimension of the second input, name; the "
            "first batch_dims dimensions run along in both.",
     .example = "(float[2,3] a) => (float[2] b) {"
                " i = Constant<value = int64[2,2] {0, 2, 1, 0}>() b = GatherND(a, i) }"},
    {OP_ROW("Compress", 9, 2, 2, 1, 1, OP_GATHER), .attrs = axis_attrs, .infer = infer_compress, .eval = eval_compress,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The slices along an axis (without one: the elements of the flattened input) for which the second input is "
            "true.",
     .example = "(float[3,2] a) => (float[2,2] b) {"
                " keep = Constant<value = bool[3] {1, 0, 1}>() b = Compress<axis = 0>(a, keep) }"},
    {OP_ROW("NonZero", 9, 1, 1, 1, 1, OP_GATHER), .infer = infer_nonzero, .eval = eval_nonzero, .cost = op_cost_none,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The indices of all elements that are not zero, one column each, in row-major order.",
     .example = "() => (int64[2,3] b) { a = Constant<value = float[2,2] {1.0, 0.0, 2.0, 3.0}>() b = NonZero(a) }"},
    {OP_ROW("OneHot", 9, 3, 3, 1, 1, OP_GATHER), .attrs = one_hot_attrs, .infer = infer_one_hot, .eval = eval_one_hot,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "A new dimension in which the element that the index names has the second of the values, all others the "
            "first.",
     .example = "(int64[3] i, float[2] values) => (float[3,4] b) {"
                " depth = Constant<value = int64[1] {4}>() b = OneHot(i, depth, values) }"},
};

const struct op_family ops_gather_family = {"Gathering", rows, sizeof rows / sizeof rows[0]};
