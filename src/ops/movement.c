// SPDX-License-Identifier: Apache-2.0
// Elements in another order, or several times: transposition, repetition, joining and splitting.
#include <string.h>

#include "ops/apart.h"
#include "ops/families.h"
#include "ops/pytorch.h"
#include "ops/strided.h"

// ---- Transpose

static enum assay_status read_perm(const struct op_infer *c, int *perm, struct assay_error *err) {
  int rank = c->in[0]->shape.rank;
  int64_t values[SHAPE_MAX_RANK];
  int n;
  enum assay_status status = op_ints(c, -1, "perm", values, &n, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  bool seen[SHAPE_MAX_RANK] = {0};
  if (n >= 0 && n != rank)
    return op_invalid(c->node, err, "perm has %d entries, the input %d dimensions", n, rank);
  for (int d = 0; d < rank; d++) {
    int64_t p = n < 0 ? rank - 1 - d : values[d];
    if (p < 0 || p >= rank || seen[p])
      return op_invalid(c->node, err, "perm is not a permutation of 0..%d", rank - 1);
    seen[p] = true;
    perm[d] = (int)p;
  }
  return ASSAY_OK;
}

static enum assay_status infer_transpose(struct op_infer *c, struct assay_error *err) {
  int perm[SHAPE_MAX_RANK];
  int64_t dims[SHAPE_MAX_RANK];
  enum assay_status status = read_perm(c, perm, err);
  if (status != ASSAY_OK)
    return status;
  for (int d = 0; d < c->in[0]->shape.rank; d++)
    dims[d] = c->in[0]->shape.dims[perm[d]];
  return op_output(c, 0, c->in[0]->dtype, c->in[0]->shape.rank, dims, err);
}

static bool transpose_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  int perm[SHAPE_MAX_RANK];
  return read_perm(c, perm, NULL) == ASSAY_OK && perm[0] == 0 && op_apart_first(c, apart, halo);
}

static enum assay_status eval_transpose(struct op_eval *c, struct assay_error *err) {
  int perm[SHAPE_MAX_RANK];
  int64_t strides[SHAPE_MAX_RANK];
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = read_perm(&infer, perm, err);
  if (status != ASSAY_OK)
    return status;
  struct strided s = {.rank = c->out[0].shape.rank};
  shape_strides(&c->in[0]->shape, strides);
  shape_strides(&c->out[0].shape, s.to);
  for (int d = 0; d < s.rank; d++) {
    s.dims[d] = c->out[0].shape.dims[d];
    s.from[d] = strides[perm[d]];
  }
  strided_copy(&s, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

// ---- Expand and Tile

static enum assay_status infer_expand(struct op_infer *c, struct assay_error *err) {
  int64_t dims[SHAPE_MAX_RANK];
  int rank;
  enum assay_status status = op_ints(c, 1, NULL, dims, &rank, SHAPE_MAX_RANK, err);
  if (status == ASSAY_OK)
    status = op_output(c, 0, c->in[0]->dtype, rank, dims, err);
  if (status != ASSAY_OK)
    return status;
  struct shape wanted = c->out[0].shape, joint;
  status = shape_broadcast(&c->in[0]->shape, &wanted, &joint, err);
  return status == ASSAY_OK ? op_output(c, 0, c->in[0]->dtype, joint.rank, joint.dims, err) : status;
}

static enum assay_status eval_expand(struct op_eval *c, struct assay_error *err) {
  (void)err;
  const struct shape *to = &c->out[0].shape;
  struct strided s = {.rank = to->rank};
  memcpy(s.dims, to->dims, sizeof to->dims);
  shape_strides(to, s.to);
  shape_broadcast_strides(&c->in[0]->shape, to, s.from);
  strided_copy(&s, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

static enum assay_status infer_tile(struct op_infer *c, struct assay_error *err) {
  int64_t dims[SHAPE_MAX_RANK];
  int n, rank = c->in[0]->shape.rank;
  enum assay_status status = op_ints(c, 1, NULL, dims, &n, SHAPE_MAX_RANK, err);
  if (status != ASSAY_OK)
    return status;
  if (n != rank)
    return op_invalid(c->node, err, "%d repeats for %d dimensions", n, rank);
  for (int d = 0; d < rank; d++) {
    if (dims[d] < 0 || dims[d] > SHAPE_MAX_ELEMENTS / (c->in[0]->shape.dims[d] + 1))
      return op_invalid(c->node, err, "repeat %d is %lld", d, (long long)dims[d]);
    dims[d] *= c->in[0]->shape.dims[d];
  }
  return op_output(c, 0, c->in[0]->dtype, rank, dims, err);
}

// Each dimension becomes two, the repeats (which do not move in the source) and the elements.
static enum assay_status eval_tile(struct op_eval *c, struct assay_error *err) {
  (void)err;
  const struct shape *from = &c->in[0]->shape, *to = &c->out[0].shape;
  int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
  if (shape_count(to) == 0)
    return ASSAY_OK;
  shape_strides(from, from_strides);
  shape_strides(to, to_strides);
  struct strided s = {.rank = 2 * to->rank};
  for (int d = 0; d < to->rank; d++) {
    s.dims[2 * d] = to->dims[d] / from->dims[d];
    s.to[2 * d] = to_strides[d] * from->dims[d];
    s.dims[2 * d + 1] = from->dims[d];
    s.to[2 * d + 1] = to_strides[d];
    s.from[2 * d + 1] = from_strides[d];
  }
  strided_copy(&s, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

// ---- Concat and Split

static enum assay_status infer_concat(struct op_infer *c, struct assay_error *err) {
  struct shape shape = c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), shape.rank, &axis, err);
  if (status != ASSAY_OK)
    return status;
  for (int i = 1; i < c->n_in; i++) {
    struct shape other = c->in[i]->shape;
    int64_t extent = axis < other.rank ? other.dims[axis] : 0;
    other.dims[axis] = shape.dims[axis];
    if (!shape_equal(&other, &shape) || c->in[i]->dtype != c->in[0]->dtype) {
      char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
      return op_invalid(c->node, err, "input %d is %s%s, which cannot be joined with %s%s along axis %d", i,
                        dtype_name(c->in[i]->dtype), shape_text(&c->in[i]->shape, a), dtype_name(c->in[0]->dtype),
                        shape_text(&shape, b), axis);
    }
    shape.dims[axis] += extent;
  }
  return op_output(c, 0, c->in[0]->dtype, shape.rank, shape.dims, err);
}

// Copies `part`, a part of `whole` that begins at `offset` along the axis, in or out.
static void copy_part(const struct shape *part, uint64_t *to, const struct shape *to_shape, const uint64_t *from,
                      const struct shape *from_shape, int threads) {
  struct strided s = {.rank = part->rank};
  memcpy(s.dims, part->dims, sizeof part->dims);
  shape_strides(to_shape, s.to);
  shape_strides(from_shape, s.from);
  strided_copy(&s, to, from, threads);
}

static bool concat_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  int axis;
  bool all = op_axis(c->node, node_int(c->node, "axis", 0), c->out[0].shape.rank, &axis, NULL) == ASSAY_OK && axis != 0;
  (void)halo;
  for (int i = 0; i < c->n_in; i++)
    all = all && apart[i];
  return all;
}

static enum assay_status eval_concat(struct op_eval *c, struct assay_error *err) {
  const struct shape *whole = &c->out[0].shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), whole->rank, &axis, err);
  if (status != ASSAY_OK)
    return status;
  int64_t inner = shape_span(whole, axis + 1, whole->rank), offset = 0;
  for (int i = 0; i < c->n_in; i++) {
    const struct shape *part = &c->in[i]->shape;
    copy_part(part, c->out[0].bits + offset * inner, whole, c->in[i]->bits, part, c->threads);
    offset += part->dims[axis];
  }
  return ASSAY_OK;
}

// The extents of the parts: given, or even (from version 18 on the last may be smaller).
static enum assay_status split_extents(const struct op_infer *c, int64_t extent, int64_t *parts,
                                       struct assay_error *err) {
  int n;
  enum assay_status status = op_ints(c, 1, "split", parts, &n, c->n_out, err);
  if (status != ASSAY_OK)
    return status;
  if (n >= 0 && n != c->n_out)
    return op_invalid(c->node, err, "split has %d entries for %d outputs", n, c->n_out);
  int64_t count = node_int(c->node, "num_outputs", c->n_out), sum = 0;
  if (n < 0 && (count != c->n_out || (c->node->op->since < 18 && extent % c->n_out != 0)))
    return op_invalid(c->node, err, "%lld elements cannot be split evenly into %d outputs", (long long)extent,
                      c->n_out);
  int64_t even = (extent + c->n_out - 1) / c->n_out;
  for (int i = 0; i < c->n_out; i++) {
    if (n < 0)
      parts[i] = extent - sum < even ? extent - sum : even;
    if (parts[i] < 0 || parts[i] > extent - sum)
      return op_invalid(c->node, err, "part %d has %lld elements of the %lld that are left", i, (long long)parts[i],
                        (long long)(extent - sum));
    sum += parts[i];
  }
  return sum == extent ? ASSAY_OK
                       : op_invalid(c->node, err, "the parts have %lld elements, the input %lld", (long long)sum,
                                    (long long)extent);
}

enum { SPLIT_MAX_OUTPUTS = 1024 };

static enum assay_status infer_split(struct op_infer *c, struct assay_error *err) {
  int axis;
  int64_t parts[SPLIT_MAX_OUTPUTS];
  struct shape shape = c->in[0]->shape;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), shape.rank, &axis, err);
  if (status == ASSAY_OK && c->n_out > SPLIT_MAX_OUTPUTS)
    return op_unsupported(c->node, err, "more than %d outputs", SPLIT_MAX_OUTPUTS);
  if (status == ASSAY_OK)
    status = split_extents(c, shape.dims[axis], parts, err);
  for (int i = 0; status == ASSAY_OK && i < c->n_out; i++) {
    shape.dims[axis] = parts[i];
    status = op_output(c, i, c->in[0]->dtype, shape.rank, shape.dims, err);
  }
  return status;
}

static enum assay_status eval_split(struct op_eval *c, struct assay_error *err) {
  const struct shape *whole = &c->in[0]->shape;
  int axis;
  int64_t parts[SPLIT_MAX_OUTPUTS], offset = 0;
  struct op_infer infer = op_infer_of(c);
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), whole->rank, &axis, err);
  if (status == ASSAY_OK)
    status = split_extents(&infer, whole->dims[axis], parts, err);
  if (status != ASSAY_OK)
    return status;
  int64_t inner = shape_span(whole, axis + 1, whole->rank);
  for (int i = 0; i < c->n_out; i++) {
    const struct shape *part = &c->out[i].shape;
    if (c->out[i].bits)
      copy_part(part, c->out[i].bits, part, c->in[0]->bits + offset * inner, whole, c->threads);
    offset += parts[i];
  }
  return ASSAY_OK;
}

// ---- DepthToSpace and SpaceToDepth

static enum assay_status infer_depth(struct op_infer *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t b = node_int(c->node, "blocksize", 0);
  bool to_space = strcmp(c->node->op->name, "DepthToSpace") == 0;
  const char *mode = node_string(c->node, "mode", "DCR");
  if (strcmp(mode, "DCR") != 0 && strcmp(mode, "CRD") != 0)
    return op_invalid(c->node, err, "mode is \"%s\"; it must be DCR or CRD", mode);
  if (s->rank != 4 || b < 1 || b > 1 << 15)
    return op_invalid(c->node, err, "the input must have 4 dimensions and blocksize be positive");
  if (to_space ? s->dims[1] % (b * b) != 0 : s->dims[2] % b != 0 || s->dims[3] % b != 0)
    return op_invalid(c->node, err, "blocksize %lld does not divide the input's shape", (long long)b);
  int64_t dims[4] = {s->dims[0], to_space ? s->dims[1] / (b * b) : s->dims[1] * b * b,
                     to_space ? s->dims[2] * b : s->dims[2] / b, to_space ? s->dims[3] * b : s->dims[3] / b};
  return op_output(c, 0, c->in[0]->dtype, 4, dims, err);
}

// Both are transpositions of six dimensions: n, c, h, w and the place within a block, by, bx. On the side of space the
// tensor is [n, c, h*by, w*bx]; on the side of depth [n, by, bx, c, h, w], or [n, c, by, bx, h, w] in mode CRD.
static enum assay_status eval_depth(struct op_eval *c, struct assay_error *err) {
  (void)err;
  bool to_space = strcmp(c->node->op->name, "DepthToSpace") == 0;
  bool channels_first = strcmp(node_string(c->node, "mode", "DCR"), "CRD") == 0;
  const struct shape *space = to_space ? &c->out[0].shape : &c->in[0]->shape;
  int64_t b = node_int(c->node, "blocksize", 1), channels = space->dims[1], h = space->dims[2] / b,
          w = space->dims[3] / b;
  struct strided s = {.rank = 6, .dims = {space->dims[0], channels, h, b, w, b}};
  int64_t in_space[6] = {channels * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1};
  int64_t plane = h * w;
  int64_t in_depth[6] = {channels * b * b * plane,
                         channels_first ? b * b * plane : plane,
                         w,
                         channels_first ? b * plane : b * channels * plane,
                         1,
                         channels_first ? plane : channels * plane};
  memcpy(s.to, to_space ? in_space : in_depth, sizeof in_space);
  memcpy(s.from, to_space ? in_depth : in_space, sizeof in_space);
  strided_copy(&s, c->out[0].bits, c->in[0]->bits, c->threads);
  return ASSAY_OK;
}

static const struct op_attr perm_attrs[] = {{"perm", ATTR_INTS, false, "reversed"}, {0}};
static const struct op_attr concat_attrs[] = {{"axis", ATTR_INT, true, NULL}, {0}};
static const struct op_attr split2_attrs[] = {{"axis", ATTR_INT, false, "0"}, {"split", ATTR_INTS, false, NULL}, {0}};
static const struct op_attr split13_attrs[] = {{"axis", ATTR_INT, false, "0"}, {0}};
static const struct op_attr split18_attrs[] = {
    {"axis", ATTR_INT, false, "0"}, {"num_outputs", ATTR_INT, false, NULL}, {0}};
static const struct op_attr depth_attrs[] = {
    {"blocksize", ATTR_INT, true, NULL}, {"mode", ATTR_STRING, false, "DCR"}, {0}};
static const struct op_attr block_attrs[] = {{"blocksize", ATTR_INT, true, NULL}, {0}};

#define MOVEMENT(NAME, SINCE, MIN_IN, MAX_IN, MAX_OUT, ATTRS, INFER, EVAL, DOC, EXAMPLE, ...)                          \
  {                                                                                                                    \
    OP_ROW(NAME, SINCE, MIN_IN, MAX_IN, 1, MAX_OUT, OP_MOVEMENT),                                                      \
        .attrs = (ATTRS), .infer = INFER, .eval = EVAL, .cost = op_cost_none, .doc = DOC, .example = (EXAMPLE),        \
        .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                        \
  }
#define SPLIT_DOC "The input cut along an axis into the given parts, or into even ones."

static const struct op_def rows[] = {
    MOVEMENT("Transpose", 1, 1, 1, 1, perm_attrs, infer_transpose, eval_transpose,
             "The input with its dimensions in another order: dimension i of the output is dimension perm[i] of the "
             "input.",
             "(float[2,3,4] a) => (float[4,2,3] b) { b = Transpose<perm = [2, 0, 1]>(a) }", .apart = transpose_apart,
             .pytorch = {.text = "$0.permute({perm})"}),
    MOVEMENT("Expand", 8, 2, 2, 1, NULL, infer_expand, eval_expand,
             "The input broadcast together with a shape, which the second input gives.",
             "(float[3,1] a) => (float[2,3,4] b) { s = Constant<value = int64[3] {2, 1, 4}>() b = Expand(a, s) }",
             .pytorch = {.write = pytorch_expand}),
    MOVEMENT("Tile", 6, 2, 2, 1, NULL, infer_tile, eval_tile,
             "The input repeated along every dimension, as often as the second input says.",
             "(float[2,3] a) => (float[4,3] b) { r = Constant<value = int64[2] {2, 1}>() b = Tile(a, r) }",
             .pytorch = {.text = "$0.repeat(tuple($1.tolist()))"}),
    MOVEMENT("Concat", 4, 1, OP_VARIADIC, 1, concat_attrs, infer_concat, eval_concat,
             "The inputs joined along an axis.",
             "(float[2,3] a, float[2,1] b) => (float[2,4] c) { c = Concat<axis = 1>(a, b) }", .apart = concat_apart,
             .pytorch = {.text = "torch.cat(($*), dim={axis})"}),
    MOVEMENT("Split", 2, 1, 1, OP_VARIADIC, split2_attrs, infer_split, eval_split, SPLIT_DOC, NULL,
             .pytorch = {.write = pytorch_split, .results = OP_PYTORCH_OUTPUTS}),
    MOVEMENT("Split", 13, 1, 2, OP_VARIADIC, split13_attrs, infer_split, eval_split, SPLIT_DOC, NULL,
             .pytorch = {.write = pytorch_split, .results = OP_PYTORCH_OUTPUTS}),
    MOVEMENT("Split", 18, 1, 2, OP_VARIADIC, split18_attrs, infer_split, eval_split,
             SPLIT_DOC " With num_outputs the last part may be smaller.",
             "(float[5,2] a) => (float[3,2] b, float[2,2] c) { b, c = Split<num_outputs = 2>(a) }",
             .pytorch = {.write = pytorch_split, .results = OP_PYTORCH_OUTPUTS}),
    MOVEMENT("DepthToSpace", 1, 1, 1, 1, block_attrs, infer_depth, eval_depth,
             "Channels rearranged into blocksize by blocksize blocks of space.", NULL,
             .pytorch = {.write = pytorch_depth_to_space}),
    MOVEMENT("DepthToSpace", 11, 1, 1, 1, depth_attrs, infer_depth, eval_depth,
             "Channels rearranged into blocksize by blocksize blocks of space. A channel's number is (row in block, "
             "column in block, channel) in mode DCR and (channel, row, column) in mode CRD.",
             "(float[1,8,2,3] a) => (float[1,2,4,6] b) { b = DepthToSpace<blocksize = 2, mode = \"CRD\">(a) }",
             .pytorch = {.write = pytorch_depth_to_space}),
    MOVEMENT("SpaceToDepth", 1, 1, 1, 1, block_attrs, infer_depth, eval_depth,
             "Blocks of space rearranged into channels; the inverse of DepthToSpace in mode DCR.", NULL,
             .pytorch = {.write = pytorch_space_to_depth}),
    MOVEMENT("SpaceToDepth", 28, 1, 1, 1, depth_attrs, infer_depth, eval_depth,
             "Blocks of space rearranged into channels; the inverse of DepthToSpace in the same mode.",
             "(float[1,2,4,6] a) => (float[1,8,2,3] b) { b = SpaceToDepth<blocksize = 2>(a) }\n"
             "(float[1,2,4,6] a) => (float[1,8,2,3] b) { b = SpaceToDepth<blocksize = 2, mode = \"CRD\">(a) }",
             .pytorch = {.write = pytorch_space_to_depth}),
};

const struct op_family ops_movement_family = {"Movement", rows, sizeof rows / sizeof rows[0]};
