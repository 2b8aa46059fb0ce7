// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor, and borders around it.
#include <string.h>

#include "ops/families.h"
#include "ops/pytorch.h"
#include "ops/strided.h"

// ---- Slice

struct range {
  int64_t start, step, count;
};

// Python's rules (ONNX, Slice): indices below zero count from the end, everything is clamped to the extent.
static struct range slice_range(int64_t start, int64_t end, int64_t step, int64_t extent) {
  if (start < 0)
    start += extent;
  if (end < 0)
    end = end < -extent ? -1 : end + extent; // far below zero: before the first
  int64_t low = step > 0 ? 0 : -1, high = step > 0 ? extent : extent - 1;
  start = start < 0 ? 0 : start;
  start = start > high ? high : start;
  end = end < low ? low : end > high ? high : end;
  int64_t span = step > 0 ? end - start : start - end;
  uint64_t stride = step > 0 ? (uint64_t)step : -(uint64_t)step;
  int64_t count = span <= 0 ? 0 : (int64_t)(((uint64_t)span - 1) / stride) + 1;
  return (struct range){start, step, count};
}

static enum assay_status read_ranges(const struct op_infer *c, struct range *ranges, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t starts[SHAPE_MAX_RANK], ends[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
  int n_starts, n_ends, n_axes, n_steps;
  enum assay_status status = op_ints(c, 1, "starts", starts, &n_starts, SHAPE_MAX_RANK, err);
  if (status == ASSAY_OK)
    status = op_ints(c, 2, "ends", ends, &n_ends, SHAPE_MAX_RANK, err);
  if (status == ASSAY_OK)
    status = op_ints(c, 3, "axes", axes, &n_axes, SHAPE_MAX_RANK, err);
  if (status == ASSAY_OK)
    status = op_ints(c, 4, NULL, steps, &n_steps, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  if (n_starts < 0 || n_starts > s->rank || n_ends != n_starts || (n_axes >= 0 && n_axes != n_starts) ||
      (n_steps >= 0 && n_steps != n_starts))
    return op_invalid(c->node, err, "starts, ends, axes and steps must have equally many entries, at most %d", s->rank);
  for (int d = 0; d < s->rank; d++)
    ranges[d] = (struct range){0, 1, s->dims[d]};
  for (int i = 0; i < n_starts; i++) {
    int axis;
    status = op_axis(c->node, n_axes < 0 ? i : axes[i], s->rank, &axis, err);
    if (status != ASSAY_OK)
      return status;
    if (n_steps >= 0 && steps[i] == 0)
      return op_invalid(c->node, err, "the step of axis %d is 0", axis);
    ranges[axis] = slice_range(starts[i], ends[i], n_steps < 0 ? 1 : steps[i], s->dims[axis]);
  }
  return ASSAY_OK;
}

static enum assay_status infer_slice(struct op_infer *c, struct assay_error *err) {
  struct range ranges[SHAPE_MAX_RANK];
  int64_t dims[SHAPE_MAX_RANK];
  enum assay_status status = read_ranges(c, ranges, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0; d < c->in[0]->shape.rank; d++)
    dims[d] = ranges[d].count;
  return op_output(c, 0, c->in[0]->dtype, c->in[0]->shape.rank, dims, err);
}

static enum assay_status eval_slice(struct op_eval *c, struct assay_error *err) {
  struct range ranges[SHAPE_MAX_RANK];
  int64_t strides[SHAPE_MAX_RANK], offset = 0;
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = read_ranges(&infer, ranges, err);
  if (status != ASSAY_OK || shape_count(&c->out[0].shape) == 0)
    return status;
  struct strided s = {.rank = c->out[0].shape.rank};
  shape_strides(&c->in[0]->shape, strides);
  shape_strides(&c->out[0].shape, s.to);
  for (int d = 0; d < s.rank; d++) {
    s.dims[d] = ranges[d].count;
    s.from[d] = ranges[d].count == 1 ? 0 : strides[d] * ranges[d].step;
    offset += strides[d] * ranges[d].start;
  }
  strided_copy(&s, c->out[0].bits, c->in[0]->bits + offset, c->threads);
  return ASSAY_OK;
}

// ---- Pad

enum pad_mode { PAD_CONSTANT, PAD_REFLECT, PAD_EDGE, PAD_WRAP };

static enum assay_status read_pad_mode(const struct node *node, enum pad_mode *mode, struct assay_error *err) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  const char *name = node_string(node, "mode", "constant");
  for (int i = 0; i < 4; i++)
    if (strcmp(name, names[i]) == 0) {
      *mode = (enum pad_mode)i;
      return ASSAY_OK;
    }
  return op_invalid(node, err, "mode is \"%s\"; it must be constant, reflect, edge or wrap", name);
}

// Elements to add before and after each dimension; negative numbers remove elements.
static enum assay_status read_pads(const struct op_infer *c, int64_t *before, int64_t *after, struct assay_error *err) {
  int rank = c->in[0]->shape.rank;
  int64_t pads[2 * SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK];
  int n_pads, n_axes;
  enum assay_status status = op_ints(c, 1, "pads", pads, &n_pads, 2 * SHAPE_MAX_RANK, err);
  if (status == ASSAY_OK)
    status = op_ints(c, 3, NULL, axes, &n_axes, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  int n = n_axes < 0 ? rank : n_axes;
  if (n_pads != 2 * n)
    return op_invalid(c->node, err, "pads has %d entries, %d are needed: one before and one after each axis", n_pads,
                      2 * n);
  for (int d = 0; d < rank; d++)
    before[d] = after[d] = 0;
  for (int i = 0; i < n; i++) {
    int axis;
    status = op_axis(c->node, n_axes < 0 ? i : axes[i], rank, &axis, err);
    if (status != ASSAY_OK)
      return status;
    if (pads[i] > SHAPE_MAX_ELEMENTS || pads[i + n] > SHAPE_MAX_ELEMENTS || pads[i] < -SHAPE_MAX_ELEMENTS ||
        pads[i + n] < -SHAPE_MAX_ELEMENTS)
      return op_invalid(c->node, err, "the padding of axis %d is absurd", axis);
    before[axis] = pads[i];
    after[axis] = pads[i + n];
  }
  return ASSAY_OK;
}

static enum assay_status infer_pad(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK], dims[SHAPE_MAX_RANK];
  enum pad_mode mode = PAD_CONSTANT;
  enum assay_status status = read_pad_mode(c->node, &mode, err);
  if (status == ASSAY_OK)
    status = read_pads(c, before, after, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0; d < s->rank; d++) {
    dims[d] = s->dims[d] + before[d] + after[d];
    if (mode != PAD_CONSTANT && s->dims[d] == 0 && dims[d] > 0)
      return op_invalid(c->node, err, "dimension %d is empty and has nothing to pad with", d);
  }
  return op_output(c, 0, c->in[0]->dtype, s->rank, dims, err);
}

// Which element of a dimension of `extent` stands at place i, that may lie outside; -1: none does.
static int64_t pad_source(enum pad_mode mode, int64_t i, int64_t extent) {
  if (i >= 0 && i < extent)
    return i;
  int64_t period;
  switch (mode) {
  case PAD_EDGE:
    return i < 0 ? 0 : extent - 1;
  case PAD_WRAP:
    i %= extent;
    return i < 0 ? i + extent : i;
  case PAD_REFLECT: // the border elements are not repeated
    period = extent == 1 ? 1 : 2 * (extent - 1);
    i %= period;
    i = i < 0 ? i + period : i;
    return i < extent ? i : period - i;
  case PAD_CONSTANT:
    break;
  }
  return -1;
}

static enum assay_status eval_pad(struct op_eval *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape, *to = &c->out[0].shape;
  int64_t before[SHAPE_MAX_RANK], after[SHAPE_MAX_RANK], strides[SHAPE_MAX_RANK];
  int64_t *map[SHAPE_MAX_RANK] = {0};
  const int64_t *tables[SHAPE_MAX_RANK] = {0};
  enum pad_mode mode = PAD_CONSTANT;
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = read_pad_mode(c->node, &mode, err);
  if (status == ASSAY_OK)
    status = read_pads(&infer, before, after, err);
  if (status != ASSAY_OK)
    return status;
  shape_strides(from, strides);
  for (int d = 0; d < to->rank; d++) {
    tables[d] = map[d] = arena_calloc(c->scratch, (size_t)to->dims[d] + 1, sizeof *map[d]);
    if (!map[d])
      return error_nomem(err, "the index table of Pad");
    for (int64_t i = 0; i < to->dims[d]; i++) {
      int64_t source = pad_source(mode, i - before[d], from->dims[d]);
      map[d][i] = source < 0 ? -1 : source * strides[d];
    }
  }
  // Zero is all zero bits in both representations.
  uint64_t fill = 0;
  double value = node_float(c->node, "value", 0);
  if (op_has(&infer, 2))
    fill = c->in[2]->bits[0];
  else if (dtype_is_float(c->in[0]->dtype))
    memcpy(&fill, &value, sizeof fill);
  strided_gather(to, tables, fill, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

// ---- Trilu

static enum assay_status infer_trilu(struct op_infer *c, struct assay_error *err) {
  if (c->in[0]->shape.rank < 2)
    return op_invalid(c->node, err, "the input must have at least two dimensions");
  return op_infer_same(c, err);
}

static enum assay_status eval_trilu(struct op_eval *c, struct assay_error *err) {
  (void)err;
  struct op_infer infer = op_infer_of(c);
  const struct shape *s = &c->out[0].shape;
  int64_t columns = s->dims[s->rank - 1], rows = s->dims[s->rank - 2], n = shape_span(s, 0, s->rank - 1);
  int64_t k = op_has(&infer, 1) ? c->in[1]->i64[0] : 0;
  bool upper = node_int(c->node, "upper", 1) != 0;
  // Beyond the corners a diagonal changes nothing more; clamped, it cannot overflow below.
  k = k > columns ? columns : k < -rows ? -rows : k;
  for (int64_t r = 0; r < n; r++) {
    int64_t diagonal = r % rows + k; // first column kept (upper), last column kept (lower)
    int64_t first = upper ? diagonal : 0, end = upper ? columns : diagonal + 1;
    first = first < 0 ? 0 : first > columns ? columns : first;
    end = end < first ? first : end > columns ? columns : end;
    uint64_t *to = c->out[0].bits + r * columns;
    memset(to, 0, (size_t)first * sizeof *to);
    memcpy(to + first, c->in[0]->bits + r * columns + first, (size_t)(end - first) * sizeof *to);
    memset(to + end, 0, (size_t)(columns - end) * sizeof *to);
  }
  return ASSAY_OK;
}

// ---- ReverseSequence

static enum assay_status infer_reverse(struct op_infer *c, struct assay_error *err) {
  int64_t time = node_int(c->node, "time_axis", 0), batch = node_int(c->node, "batch_axis", 1);
  const struct shape *s = &c->in[0]->shape;
  if (s->rank < 2 || time + batch != 1 || time < 0 || time > 1)
    return op_invalid(c->node, err, "time_axis and batch_axis must be 0 and 1, of an input with both");
  if (c->in[1]->shape.rank != 1 || c->in[1]->shape.dims[0] != s->dims[batch])
    return op_invalid(c->node, err, "one length is needed for each of the batch's %lld sequences",
                      (long long)s->dims[batch]);
  return op_infer_same(c, err);
}

static enum assay_status eval_reverse(struct op_eval *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t time = node_int(c->node, "time_axis", 0);
  int64_t inner = shape_span(s, 2, s->rank), n_time = s->dims[time], n_batch = s->dims[1 - time];
  int64_t time_stride = time == 0 ? n_batch * inner : inner, batch_stride = time == 0 ? inner : n_time * inner;
  for (int64_t b = 0; b < n_batch; b++) {
    int64_t len = c->in[1]->i64[b];
    if (len < 0 || len > n_time)
      return op_invalid(c->node, err, "length %lld of sequence %lld is not in 0..%lld", (long long)len, (long long)b,
                        (long long)n_time);
    for (int64_t t = 0; t < n_time; t++) {
      int64_t source = t < len ? len - 1 - t : t;
      memcpy(c->out[0].bits + b * batch_stride + t * time_stride,
             c->in[0]->bits + b * batch_stride + source * time_stride, (size_t)inner * sizeof(uint64_t));
    }
  }
  return ASSAY_OK;
}

static const struct op_attr slice1_attrs[] = {
    {"axes", ATTR_INTS, false, NULL}, {"ends", ATTR_INTS, true, NULL}, {"starts", ATTR_INTS, true, NULL}, {0}};
static const struct op_attr pad2_attrs[] = {{"mode", ATTR_STRING, false, "constant"},
                                            {"pads", ATTR_INTS, true, NULL},
                                            {"value", ATTR_FLOAT, false, "0.0"},
                                            {0}};
static const struct op_attr pad11_attrs[] = {{"mode", ATTR_STRING, false, "constant"}, {0}};
static const struct op_attr trilu_attrs[] = {{"upper", ATTR_INT, false, "1"}, {0}};
static const struct op_attr reverse_attrs[] = {
    {"batch_axis", ATTR_INT, false, "1"}, {"time_axis", ATTR_INT, false, "0"}, {0}};

#define SLICE_DOC                                                                                                      \
  "The elements from start to before end, in steps, along the given axes (the first ones by default), by Python's "    \
  "rules: negative indices count from the end, and a negative step walks backwards."
#define PAD_DOC                                                                                                        \
  "The input with elements added before and after each dimension: a constant, the input mirrored (reflect), its "      \
  "border (edge) or the input again (wrap). Negative numbers remove elements."

static const struct op_def rows[] = {
    {OP_ROW("Slice", 1, 1, 1, 1, 1, OP_MOVEMENT), .attrs = slice1_attrs, .infer = infer_slice, .eval = eval_slice,
     .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_slice},
     .doc = SLICE_DOC},
    {OP_ROW("Slice", 10, 3, 5, 1, 1, OP_MOVEMENT), .infer = infer_slice, .eval = eval_slice, .cost = op_cost_none,
     .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_slice}, .doc = SLICE_DOC,
     .example = "(float[3,5] a) => (float[2,5] b) {"
                " start = Constant<value = int64[2] {1, -1}>() end = Constant<value = int64[2] {3, -9}>()"
                " axes = Constant<value = int64[2] {0, 1}>() step = Constant<value = int64[2] {1, -1}>()"
                " b = Slice(a, start, end, axes, step) }"},
    {OP_ROW("Pad", 2, 1, 1, 1, 1, OP_MOVEMENT), .attrs = pad2_attrs, .infer = infer_pad, .eval = eval_pad,
     .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_pad},
     .doc = PAD_DOC},
    {OP_ROW("Pad", 11, 2, 3, 1, 1, OP_MOVEMENT), .attrs = pad11_attrs, .infer = infer_pad, .eval = eval_pad,
     .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_pad},
     .doc = PAD_DOC},
    {OP_ROW("Pad", 18, 2, 4, 1, 1, OP_MOVEMENT), .attrs = pad11_attrs, .infer = infer_pad, .eval = eval_pad,
     .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_pad},
     .doc = PAD_DOC " The fourth input lists the axes that the numbers are for.",
     .example = "(float[2,3] a, float v) => (float[2,6] b) {"
                " pads = Constant<value = int64[2] {1, 2}>() axes = Constant<value = int64[1] {1}>()"
                " b = Pad(a, pads, v, axes) }\n"
                "(float[2,3] a) => (float[2,7] b) {"
                " pads = Constant<value = int64[4] {0, 2, 0, 2}>() b = Pad<mode = \"reflect\">(a, pads) }"},
    {OP_ROW("Trilu", 14, 1, 2, 1, 1, OP_MOVEMENT), .attrs = trilu_attrs, .infer = infer_trilu, .eval = eval_trilu,
     .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_trilu},
     .doc = "The upper (or with upper = 0 lower) triangle of each matrix, zeros elsewhere; the second input moves the "
            "diagonal.",
     .example = "(float[2,3,3] a) => (float[2,3,3] b) { b = Trilu<upper = 0>(a) }"},
    {OP_ROW("ReverseSequence", 10, 2, 2, 1, 1, OP_MOVEMENT), .attrs = reverse_attrs, .infer = infer_reverse,
     .eval = eval_reverse, .cost = op_cost_none, .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "Each sequence of a batch with its first elements, as many as the second input says, in reverse order.",
     .example = "(float[3,2] a) => (float[3,2] b) {"
                " len = Constant<value = int64[2] {3, 2}>() b = ReverseSequence(a, len) }"},
};

const struct op_family ops_slice_family = {"Parts and borders", rows, sizeof rows / sizeof rows[0]};
