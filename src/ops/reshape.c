// SPDX-License-Identifier: Apache-2.0
// The same elements in the same order under another shape.
#include <string.h>

#include "ops/apart.h"
#include "ops/families.h"
#include "ops/pytorch.h"

static enum assay_status eval_copy(struct op_eval *c, struct assay_error *err) {
  (void)err;
  memcpy(c->out[0].bits, c->in[0]->bits, (size_t)shape_count(&c->out[0].shape) * sizeof *c->out[0].bits);
  return ASSAY_OK;
}

// n * dim, or something beyond every valid count.
static int64_t times(int64_t n, int64_t dim) {
  return dim > 0 && n > SHAPE_MAX_ELEMENTS / dim ? SHAPE_MAX_ELEMENTS + 1 : n * dim;
}

static enum assay_status infer_reshape(struct op_infer *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape;
  int64_t dims[SHAPE_MAX_RANK];
  int rank;
  enum assay_status status = op_ints(c, 1, NULL, dims, &rank, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  bool allow_zero = node_int(c->node, "allowzero", 0) != 0;
  int unknown = -1;
  int64_t count = shape_count(from), known = 1;
  for (int d = 0; d < rank; d++) {
    if (dims[d] == 0 && !allow_zero) {
      if (d >= from->rank)
        return op_invalid(c->node, err, "dimension %d of the shape is 0, but the input has only %d", d, from->rank);
      dims[d] = from->dims[d];
    }
    if (dims[d] == -1 && unknown < 0)
      unknown = d;
    else if (dims[d] < 0)
      return op_invalid(c->node, err, "dimension %d of the shape is %lld; one may be -1, none else negative", d,
                        (long long)dims[d]);
    else
      known = times(known, dims[d]);
  }
  if (unknown >= 0) {
    if (known == 0 || count % known != 0)
      return op_invalid(c->node, err, "%lld elements cannot be divided among the other dimensions (%lld)",
                        (long long)count, (long long)known);
    dims[unknown] = count / known;
    known *= dims[unknown];
  }
  if (known != count)
    return op_invalid(c->node, err, "the shape has %lld elements, the input %lld", (long long)known, (long long)count);
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

static enum assay_status infer_flatten(struct op_infer *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape;
  int64_t axis = node_int(c->node, "axis", 1);
  if (axis < -from->rank || axis > from->rank)
    return op_invalid(c->node, err, "axis is %lld, the input has %d dimensions", (long long)axis, from->rank);
  int at = (int)(axis < 0 ? axis + from->rank : axis);
  int64_t dims[2] = {shape_span(from, 0, at), shape_span(from, at, from->rank)};
  return op_output(c, 0, c->in[0]->dtype, 2, dims, err);
}

// The axes as flags over `rank` dimensions; *count is -1 when none are given.
static enum assay_status read_axes(const struct op_infer *c, int rank, bool *flags, int *count,
                                   struct assay_error *err) {
  int64_t axes[SHAPE_MAX_RANK];
  enum assay_status status = op_ints(c, 1, "axes", axes, count, SHAPE_MAX_RANK, err);
  for (int i = 0; status == ASSAY_OK && i < *count; i++) {
    int axis;
    status = op_axis(c->node, axes[i], rank, &axis, err);
    if (status != ASSAY_OK)
      return status;
    if (flags[axis])
      return op_invalid(c->node, err, "axis %d is named twice", axis);
    flags[axis] = true;
  }
  return status;
}

static enum assay_status infer_squeeze(struct op_infer *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape;
  bool drop[SHAPE_MAX_RANK] = {0};
  int n_axes, rank = 0;
  int64_t dims[SHAPE_MAX_RANK];
  enum assay_status status = read_axes(c, from->rank, drop, &n_axes, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0; d < from->rank; d++) {
    if (drop[d] && from->dims[d] != 1)
      return op_invalid(c->node, err, "dimension %d has %lld elements and cannot be squeezed", d,
                        (long long)from->dims[d]);
    if (!(n_axes < 0 ? from->dims[d] == 1 : drop[d]))
      dims[rank++] = from->dims[d];
  }
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

static enum assay_status infer_unsqueeze(struct op_infer *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape;
  int64_t axes[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
  bool insert[SHAPE_MAX_RANK] = {0};
  int n_axes;
  enum assay_status status = op_ints(c, 1, "axes", axes, &n_axes, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  if (n_axes < 0)
    return op_invalid(c->node, err, "axes are missing");
  int rank = from->rank + n_axes;
  if (rank > SHAPE_MAX_RANK)
    return op_output(c, 0, c->in[0]->dtype, rank, dims, err); // says so
  status = read_axes(c, rank, insert, &n_axes, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0, next = 0; d < rank; d++)
    dims[d] = insert[d] ? 1 : from->dims[next++];
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

static const struct op_attr allowzero_attrs[] = {{"allowzero", ATTR_INT, false, "0"}, {0}};
static const struct op_attr axis_attrs[] = {{"axis", ATTR_INT, false, "1"}, {0}};
static const struct op_attr axes_attrs[] = {{"axes", ATTR_INTS, false, NULL}, {0}};

#define RESHAPE(NAME, SINCE, MIN_IN, MAX_IN, ATTRS, INFER, DOC, EXAMPLE, ...)                                          \
  {                                                                                                                    \
    OP_ROW(NAME, SINCE, MIN_IN, MAX_IN, 1, 1, OP_MOVEMENT),                                                            \
        .attrs = (ATTRS), .infer = INFER, .eval = eval_copy, .cost = op_cost_none, .doc = DOC, .example = (EXAMPLE),   \
        .apart = op_apart_first, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                               \
  }

static const struct op_def rows[] = {
    RESHAPE("Reshape", 5, 2, 2, NULL, infer_reshape,
            "The input under the shape given by the second input; 0 keeps a dimension, one -1 stands for what is left.",
            NULL, .pytorch = {.write = pytorch_reshape}),
    RESHAPE("Reshape", 14, 2, 2, allowzero_attrs, infer_reshape,
            "The input under the shape given by the second input; 0 keeps a dimension (with allowzero = 1 it means 0), "
            "one -1 stands for what is left.",
            "(float[2,6] a) => (float[2,3,2] b) { s = Constant<value = int64[3] {0, -1, 2}>() b = Reshape(a, s) }",
            .pytorch = {.write = pytorch_reshape}),
    RESHAPE("Flatten", 1, 1, 1, axis_attrs, infer_flatten,
            "The input as a matrix: dimensions before axis are its rows, the others its columns.",
            "(float[2,3,4] a) => (float[6,4] b) { b = Flatten<axis = 2>(a) }", .pytorch = {.write = pytorch_flatten}),
    RESHAPE("Squeeze", 1, 1, 1, axes_attrs, infer_squeeze,
            "The input without the given dimensions, which must have one element; without all such dimensions if none "
            "are given.",
            NULL, .pytorch = {.write = pytorch_squeeze}),
    RESHAPE("Squeeze", 13, 1, 2, NULL, infer_squeeze,
            "The input without the dimensions of one element that the second input lists; without any such if it is "
            "left out.",
            "(float[2,1,3] a) => (float[2,3] b) { axes = Constant<value = int64[1] {1}>() b = Squeeze(a, axes) }",
            .pytorch = {.write = pytorch_squeeze}),
    RESHAPE("Unsqueeze", 1, 1, 1, axes_attrs, infer_unsqueeze,
            "The input with dimensions of one element inserted at the given places of the output.", NULL,
            .pytorch = {.write = pytorch_unsqueeze}),
    RESHAPE("Unsqueeze", 13, 2, 2, NULL, infer_unsqueeze,
            "The input with dimensions of one element inserted, so that they stand at the places that the second input "
            "lists.",
            "(float[2,3] a) => (float[1,2,3,1] b) { axes = Constant<value = int64[2] {0, -1}>() "
            "b = Unsqueeze(a, axes) }",
            .pytorch = {.write = pytorch_unsqueeze}),
};

const struct op_family ops_reshape_family = {"Reshaping", rows, sizeof rows / sizeof rows[0]};
