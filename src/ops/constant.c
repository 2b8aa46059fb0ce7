// SPDX-License-Identifier: Apache-2.0
// Tensors out of nothing but attributes and shapes.
#include <math.h>
#include <string.h>

#include "ops/families.h"
#include "ops/pytorch.h"

// ---- Constant

// The one attribute that holds the value; the names say which (ONNX, Constant).
static enum assay_status find_value(const struct node *node, const struct attr **out, struct assay_error *err) {
  static const char *const names[] = {"value", "value_float", "value_floats", "value_int", "value_ints"};
  *out = NULL;
  for (int i = 0; i < 5; i++) {
    const struct attr *a = node_attr(node, names[i]);
    if (a && *out)
      return op_invalid(node, err, "both %s and %s are given", (*out)->name, a->name);
    *out = a ? a : *out;
  }
  if (!*out)
    return op_unsupported(node, err, "no numeric value: use value, value_float(s) or value_int(s)");
  return ASSAY_OK;
}

static enum assay_status infer_constant(struct op_infer *c, struct assay_error *err) {
  const struct attr *a;
  enum assay_status status = find_value(c->node, &a, err);
  if (status != ASSAY_OK)
    return status;
  if (a->tensor) {
    if (dtype_bytes(a->tensor->type.dtype) == 0)
      return op_unsupported(c->node, err, "a constant of type %s", dtype_name(a->tensor->type.dtype));
    return op_output(c, 0, a->tensor->type.dtype, a->tensor->type.shape.rank, a->tensor->type.shape.dims, err);
  }
  bool list = a->type == ATTR_FLOATS || a->type == ATTR_INTS;
  int64_t count = (int64_t)a->count;
  return op_output(c, 0, a->floats ? DTYPE_FLOAT : DTYPE_INT64, list ? 1 : 0, &count, err);
}

static void read_tensor(const struct tensor *t, int64_t n, struct array *out) {
  if (dtype_is_float(t->type.dtype))
    dtype_to_f64(t->type.dtype, t->data, n, out->f64);
  else
    dtype_to_i64(t->type.dtype, t->data, n, out->i64);
}

static enum assay_status eval_constant(struct op_eval *c, struct assay_error *err) {
  const struct attr *a;
  enum assay_status status = find_value(c->node, &a, err);
  if (status != ASSAY_OK)
    return status;
  int64_t n = shape_count(&c->out[0].shape);
  if (a->tensor)
    read_tensor(a->tensor, n, &c->out[0]);
  else if (n > 0)
    memcpy(c->out[0].bits, a->floats ? (const void *)a->floats : (const void *)a->ints, (size_t)n * sizeof(uint64_t));
  return ASSAY_OK;
}

// ---- ConstantOfShape

static enum assay_status infer_constant_of_shape(struct op_infer *c, struct assay_error *err) {
  int64_t dims[SHAPE_MAX_RANK];
  int rank;
  const struct attr *value = node_attr(c->node, "value");
  enum assay_status status = op_ints(c, 0, NULL, dims, &rank, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  if (value && (dtype_bytes(value->tensor->type.dtype) == 0 || shape_count(&value->tensor->type.shape) != 1))
    return op_invalid(c->node, err, "value must be a tensor of one number");
  return op_output(c, 0, value ? value->tensor->type.dtype : DTYPE_FLOAT, rank, dims, err);
}

static enum assay_status eval_constant_of_shape(struct op_eval *c, struct assay_error *err) {
  (void)err;
  const struct attr *value = node_attr(c->node, "value");
  uint64_t word = 0;
  struct array one = {.bits = &word};
  if (value)
    read_tensor(value->tensor, 1, &one);
  int64_t n = shape_count(&c->out[0].shape);
  for (int64_t i = 0; i < n; i++)
    c->out[0].bits[i] = word;
  return ASSAY_OK;
}

// ---- Shape and Size

static enum assay_status shape_part(const struct op_infer *c, int *start, int *end) {
  int rank = c->in[0]->shape.rank;
  int64_t bounds[2] = {node_int(c->node, "start", 0), node_int(c->node, "end", rank)};
  int clamped[2];
  for (int i = 0; i < 2; i++) {
    int64_t b = bounds[i] < 0 ? bounds[i] + rank : bounds[i];
    clamped[i] = b < 0 ? 0 : b > rank ? rank : (int)b;
  }
  *start = clamped[0];
  *end = clamped[1] < clamped[0] ? clamped[0] : clamped[1];
  return ASSAY_OK;
}

static enum assay_status infer_shape(struct op_infer *c, struct assay_error *err) {
  int start, end;
  shape_part(c, &start, &end);
  return op_output(c, 0, DTYPE_INT64, 1, (const int64_t[]){end - start}, err);
}

static enum assay_status eval_shape(struct op_eval *c, struct assay_error *err) {
  (void)err;
  int start, end;
  struct op_infer infer = op_infer_of(c);
  shape_part(&infer, &start, &end);
  for (int d = start; d < end; d++)
    c->out[0].i64[d - start] = c->in[0]->shape.dims[d];
  return ASSAY_OK;
}

static enum assay_status infer_size(struct op_infer *c, struct assay_error *err) {
  return op_output(c, 0, DTYPE_INT64, 0, NULL, err);
}

static enum assay_status eval_size(struct op_eval *c, struct assay_error *err) {
  (void)err;
  c->out[0].i64[0] = shape_count(&c->in[0]->shape);
  return ASSAY_OK;
}

// ---- EyeLike

static enum assay_status infer_eye(struct op_infer *c, struct assay_error *err) {
  enum dtype t = c->in[0]->dtype;
  const struct attr *a = node_attr(c->node, "dtype");
  if (c->in[0]->shape.rank != 2)
    return op_invalid(c->node, err, "the input must be a matrix");
  if (a && (!dtype_by_number(a->ints[0], &t) || dtype_bytes(t) == 0))
    return op_unsupported(c->node, err, "type number %lld", (long long)a->ints[0]);
  return op_output(c, 0, t, 2, c->in[0]->shape.dims, err);
}

static enum assay_status eval_eye(struct op_eval *c, struct assay_error *err) {
  (void)err;
  struct array *out = &c->out[0];
  int64_t rows = out->shape.dims[0], columns = out->shape.dims[1], k = node_int(c->node, "k", 0);
  memset(out->bits, 0, (size_t)(rows * columns) * sizeof *out->bits);
  for (int64_t r = 0; r < rows; r++) {
    if (k < -r || k >= columns - r)
      continue;
    if (dtype_is_float(out->dtype))
      out->f64[r * columns + r + k] = 1;
    else
      out->i64[r * columns + r + k] = 1;
  }
  return ASSAY_OK;
}

// ---- Range

static enum assay_status infer_range(struct op_infer *c, struct assay_error *err) {
  for (int i = 0; i < 3; i++) {
    if (shape_count(&c->in[i]->shape) != 1 || c->in[i]->dtype != c->in[0]->dtype)
      return op_invalid(c->node, err, "start, limit and delta must be single numbers of one type");
    if (!c->in[i]->bits)
      return op_unsupported(c->node, err, "input %d must be a constant, because the output's shape depends on it", i);
  }
  double count;
  if (dtype_is_float(c->in[0]->dtype)) {
    count = ceil((c->in[1]->f64[0] - c->in[0]->f64[0]) / c->in[2]->f64[0]);
  } else {
    int64_t start = c->in[0]->i64[0], limit = c->in[1]->i64[0], delta = c->in[2]->i64[0];
    count = delta == 0 ? NAN : ceil(((double)limit - (double)start) / (double)delta);
  }
  if (!(count <= (double)SHAPE_MAX_ELEMENTS))
    return op_invalid(c->node, err, "the delta is zero, or leads nowhere near the limit");
  int64_t n = count < 0 ? 0 : (int64_t)count;
  return op_output(c, 0, c->in[0]->dtype, 1, &n, err);
}

// start + i * delta, which rounds twice; adding up deltas would be a worse implementation, not a straightforward one.
static enum assay_status eval_range(struct op_eval *c, struct assay_error *err) {
  (void)err;
  int64_t n = shape_count(&c->out[0].shape);
  struct noise noise = noise_at(c->arith.key, 0);
  for (int64_t i = 0; i < n; i++) {
    if (dtype_is_float(c->out[0].dtype)) {
      double step = arith_round(&c->arith, &noise, (double)i * c->in[2]->f64[0]);
      c->out[0].f64[i] = arith_round(&c->arith, &noise, c->in[0]->f64[0] + step);
    } else {
      c->out[0].i64[i] = (int64_t)((uint64_t)c->in[0]->i64[0] + (uint64_t)i * (uint64_t)c->in[2]->i64[0]);
    }
  }
  return ASSAY_OK;
}

static const struct op_attr constant_attrs[] = {
    {"value", ATTR_TENSOR, false, NULL},          {"value_float", ATTR_FLOAT, false, NULL},
    {"value_floats", ATTR_FLOATS, false, NULL},   {"value_int", ATTR_INT, false, NULL},
    {"value_ints", ATTR_INTS, false, NULL},       {"value_string", ATTR_STRING, false, NULL},
    {"value_strings", ATTR_STRINGS, false, NULL}, {0}};
static const struct op_attr of_shape_attrs[] = {{"value", ATTR_TENSOR, false, "0.0"}, {0}};
static const struct op_attr part_attrs[] = {{"end", ATTR_INT, false, "rank"}, {"start", ATTR_INT, false, "0"}, {0}};
static const struct op_attr eye_attrs[] = {
    {"dtype", ATTR_INT, false, "as the input"}, {"k", ATTR_INT, false, "0"}, {0}};

static const struct op_attr range_attrs[] = {{"stash_type", ATTR_INT, false, "ignored: the contract decides"}, {0}};

static const struct op_def rows[] = {
    {OP_ROW("Constant", 1, 0, 0, 1, 1, OP_CONSTANT), .attrs = constant_attrs, .infer = infer_constant,
     .eval = eval_constant, .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.write = pytorch_constant}, .doc = "A tensor, a number or a list of numbers given in the graph.",
     .example = "(float[3] a) => (float[3] b) { k = Constant<value = float[3] {1.0, 2.5, -3.0}>() b = Add(a, k) }"},
    {OP_ROW("ConstantOfShape", 9, 1, 1, 1, 1, OP_CONSTANT), .attrs = of_shape_attrs, .infer = infer_constant_of_shape,
     .eval = eval_constant_of_shape, .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.write = pytorch_constant_of_shape},
     .doc = "A tensor of the shape that the input gives, filled with one value.",
     .example = "() => (float[2,3] b) { s = Constant<value = int64[2] {2, 3}>()"
                " b = ConstantOfShape<value = float[1] {0.5}>(s) }"},
    {OP_ROW("Shape", 1, 1, 1, 1, 1, OP_CONSTANT), .infer = infer_shape, .eval = eval_shape, .reads_shapes_only = true,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_shape},
     .doc = "The extents of the input."},
    {OP_ROW("Shape", 15, 1, 1, 1, 1, OP_CONSTANT), .attrs = part_attrs, .infer = infer_shape, .eval = eval_shape,
     .reads_shapes_only = true, .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.write = pytorch_shape}, .doc = "The extents of the input, from dimension start to before end.",
     .example = "(float[2,3,4] a) => (int64[2] b) { b = Shape<start = 1>(a) }"},
    {OP_ROW("Size", 1, 1, 1, 1, 1, OP_CONSTANT), .infer = infer_size, .eval = eval_size, .reads_shapes_only = true,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "torch.tensor($0.numel())"}, .doc = "The number of elements of the input.",
     .example = "(float[2,3] a) => (int64 b) { b = Size(a) }"},
    {OP_ROW("EyeLike", 9, 1, 1, 1, 1, OP_CONSTANT), .attrs = eye_attrs, .infer = infer_eye, .eval = eval_eye,
     .cost = op_cost_none, .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_eye},
     .doc = "A matrix as large as the input with ones on diagonal k and zeros elsewhere.",
     .example = "(float[3,4] a) => (float[3,4] b) { b = EyeLike<k = 1>(a) }"},
    {OP_ROW("Range", 11, 3, 3, 1, 1, OP_CONSTANT), .infer = infer_range, .eval = eval_range,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "torch.arange($0, $1, $2)", .takes_numbers = true},
     .doc = "The numbers start, start + delta, ... that come before the limit."},
    {OP_ROW("Range", 27, 3, 3, 1, 1, OP_CONSTANT), .attrs = range_attrs, .infer = infer_range, .eval = eval_range,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "torch.arange($0, $1, $2)", .takes_numbers = true},
     .doc = "The numbers start, start + delta, ... that come before the limit.",
     .example = "() => (float[4] b) { s = Constant<value_float = 1.0>() l = Constant<value_float = 2.0>()"
                " d = Constant<value_float = 0.3>() b = Range(s, l, d) }"},
};

const struct op_family ops_constant_family = {"Constants and shapes", rows, sizeof rows / sizeof rows[0]};
