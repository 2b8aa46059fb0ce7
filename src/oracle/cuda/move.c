// SPDX-License-Identifier: Apache-2.0
// Movement on a device: the same elements under another shape, in another order, or several times. Operators of one
// kind stand together here; parts, constants and indices have files of their own.
#include "oracle/cuda/move.h"

#include <string.h>

#include "oracle/cuda/gpu_table.h"

extern const char code_move_args[], code_move[];
const struct device_code gpu_move_program = {
    "move", (const char *const[]){GPU_ROWS_TEXTS, code_move_args, code_move, NULL}, false};

enum { TILE = 8, MAX_RANK = 16 };

// Splits dimension d of the walk in two, the second of TILE elements, which goes to place `to` from the end.
static void split_dim(struct gpu_strided *s, int d) {
  int last = s->rank++;
  s->dims[last] = TILE;
  s->to[last] = s->to[d];
  s->from[last] = s->from[d];
  s->dims[d] /= TILE;
  s->to[d] *= TILE;
  s->from[d] *= TILE;
}

static int unit_dim(int rank, const int64_t *dims, const int64_t *strides) {
  for (int d = 0; d < rank; d++)
    if (strides[d] == 1 && dims[d] % TILE == 0 && dims[d] > TILE)
      return d;
  return -1;
}

// A transposition goes by tiles: neighbouring threads then write whole sectors, and read whole ones between them.
static void tile(struct gpu_strided *s) {
  int t = unit_dim(s->rank, s->dims, s->to), f = unit_dim(s->rank, s->dims, s->from);
  if (t < 0 || f < 0 || t == f || s->rank + 2 > MAX_RANK)
    return;
  split_dim(s, f);
  split_dim(s, t);
}

// Without dimensions of one; neighbours that stride as one become one.
static void simplify(struct gpu_strided *s) {
  struct gpu_walk w = gpu_walk_of(s->rank, s->dims, 2, (const int64_t *const[]){s->to, s->from});
  s->rank = w.rank;
  memcpy(s->dims, w.dims, sizeof s->dims);
  memcpy(s->to, w.step[0], sizeof s->to);
  memcpy(s->from, w.step[1], sizeof s->from);
}

enum assay_status gpu_strided_copy(struct gpu_eval *c, const struct gpu_strided *s, const struct gpu_array *x,
                                   device_ptr y, struct assay_error *err) {
  for (int d = 0; d < s->rank; d++)
    if (s->dims[d] == 0)
      return ASSAY_OK;
  struct gpu_strided t = *s;
  simplify(&t);
  tile(&t);
  struct move_args a = {.walk = gpu_walk_of(t.rank, t.dims, 2, (const int64_t *const[]){t.to, t.from}),
                        .x = gpu_ref_of(x),
                        .y = y,
                        .y_begin = s->y_begin,
                        .x_begin = s->x_begin};
  return compute_launch(c->compute, &gpu_move_program, "move_strided", a.walk.count, &a, sizeof a, err);
}

enum assay_status gpu_copy_all(struct gpu_eval *c, const struct gpu_array *x, device_ptr y, struct assay_error *err) {
  int64_t n = shape_count(&x->shape);
  if (n == 0)
    return ASSAY_OK;
  if (gpu_storage_bytes(x->storage) == 8)
    return compute_copy(c->compute, y, x->data, (size_t)n * 8, err);
  struct gpu_strided s = {.rank = 1, .dims = {n}, .to = {1}, .from = {1}};
  return gpu_strided_copy(c, &s, x, y, err);
}

enum assay_status gpu_fill(struct gpu_eval *c, device_ptr y, int64_t n, uint64_t word, struct assay_error *err) {
  struct fill_args a = {.y = y, .word = word, .count = n};
  return compute_launch(c->compute, &gpu_move_program, "move_fill", n, &a, sizeof a, err);
}

enum assay_status gpu_copy_eval(struct gpu_eval *c, struct assay_error *err) {
  return gpu_copy_all(c, c->in[0], c->out[0].data, err);
}

// ---- Transpose, Expand, Tile

enum assay_status gpu_transpose_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *to = &c->out[0].shape;
  const struct attr *perm = node_attr(c->node, "perm");
  int64_t strides[SHAPE_MAX_RANK];
  struct gpu_strided s = {.rank = to->rank};
  shape_strides(&c->in[0]->shape, strides);
  shape_strides(to, s.to);
  for (int d = 0; d < s.rank; d++) {
    s.dims[d] = to->dims[d];
    s.from[d] = strides[perm ? perm->ints[d] : s.rank - 1 - d];
  }
  return gpu_strided_copy(c, &s, c->in[0], c->out[0].data, err);
}

enum assay_status gpu_expand_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *to = &c->out[0].shape;
  struct gpu_strided s = {.rank = to->rank};
  memcpy(s.dims, to->dims, sizeof to->dims);
  shape_strides(to, s.to);
  shape_broadcast_strides(&c->in[0]->shape, to, s.from);
  return gpu_strided_copy(c, &s, c->in[0], c->out[0].data, err);
}

// Each dimension becomes two, the repeats (which do not move in the source) and the elements.
enum assay_status gpu_tile_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *from = &c->in[0]->shape, *to = &c->out[0].shape;
  int64_t from_strides[SHAPE_MAX_RANK], to_strides[SHAPE_MAX_RANK];
  if (shape_count(to) == 0)
    return ASSAY_OK;
  shape_strides(from, from_strides);
  shape_strides(to, to_strides);
  struct gpu_strided s = {.rank = 2 * to->rank};
  for (int d = 0; d < to->rank; d++) {
    s.dims[2 * d] = to->dims[d] / from->dims[d];
    s.to[2 * d] = to_strides[d] * from->dims[d];
    s.dims[2 * d + 1] = from->dims[d];
    s.to[2 * d + 1] = to_strides[d];
    s.from[2 * d + 1] = from_strides[d];
  }
  return gpu_strided_copy(c, &s, c->in[0], c->out[0].data, err);
}

// ---- Concat and Split

static struct gpu_strided part_of(const struct shape *part, const struct shape *to, const struct shape *from) {
  struct gpu_strided s = {.rank = part->rank};
  memcpy(s.dims, part->dims, sizeof part->dims);
  shape_strides(to, s.to);
  shape_strides(from, s.from);
  return s;
}

enum assay_status gpu_concat_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *whole = &c->out[0].shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), whole->rank, &axis, err);
  if (status)
    return status;
  int64_t inner = shape_span(whole, axis + 1, whole->rank), offset = 0;
  for (int i = 0; i < c->n_in && !status; i++) {
    const struct shape *part = &c->in[i]->shape;
    struct gpu_strided s = part_of(part, whole, part);
    s.y_begin = offset * inner;
    status = gpu_strided_copy(c, &s, c->in[i], c->out[0].data, err);
    offset += part->dims[axis];
  }
  return status;
}

// The parts' extents are those of the outputs, which inference has made of the node's.
enum assay_status gpu_split_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *whole = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), whole->rank, &axis, err);
  if (status)
    return status;
  int64_t inner = shape_span(whole, axis + 1, whole->rank), offset = 0;
  for (int i = 0; i < c->n_out && !status; i++) {
    const struct shape *part = &c->out[i].shape;
    struct gpu_strided s = part_of(part, part, whole);
    s.x_begin = offset * inner;
    if (c->out[i].data)
      status = gpu_strided_copy(c, &s, c->in[0], c->out[i].data, err);
    offset += part->dims[axis];
  }
  return status;
}

// ---- DepthToSpace and SpaceToDepth: transpositions of six dimensions (ops/movement.c)

static enum assay_status depth_eval(struct gpu_eval *c, bool to_space, struct assay_error *err) {
  bool channels_first = strcmp(node_string(c->node, "mode", "DCR"), "CRD") == 0;
  const struct shape *space = to_space ? &c->out[0].shape : &c->in[0]->shape;
  int64_t b = node_int(c->node, "blocksize", 1), channels = space->dims[1], h = space->dims[2] / b,
          w = space->dims[3] / b, plane = h * w;
  struct gpu_strided s = {.rank = 6, .dims = {space->dims[0], channels, h, b, w, b}};
  int64_t in_space[6] = {channels * h * b * w * b, h * b * w * b, b * w * b, w * b, b, 1};
  int64_t in_depth[6] = {channels * b * b * plane,
                         channels_first ? b * b * plane : plane,
                         w,
                         channels_first ? b * plane : b * channels * plane,
                         1,
                         channels_first ? plane : channels * plane};
  memcpy(s.to, to_space ? in_space : in_depth, sizeof in_space);
  memcpy(s.from, to_space ? in_depth : in_space, sizeof in_space);
  return gpu_strided_copy(c, &s, c->in[0], c->out[0].data, err);
}

enum assay_status gpu_depth_to_space_eval(struct gpu_eval *c, struct assay_error *err) {
  return depth_eval(c, true, err);
}
enum assay_status gpu_space_to_depth_eval(struct gpu_eval *c, struct assay_error *err) {
  return depth_eval(c, false, err);
}

// ---- Dropout as at inference: the input, and a mask that is true everywhere

enum assay_status gpu_dropout_eval(struct gpu_eval *c, struct assay_error *err) {
  enum assay_status status = gpu_copy_eval(c, err);
  double one = 1;
  uint64_t word = 1;
  if (status || c->n_out < 2 || !c->out[1].data)
    return status;
  if (dtype_is_float(c->out[1].dtype))
    memcpy(&word, &one, sizeof word);
  return gpu_fill(c, c->out[1].data, shape_count(&c->out[1].shape), word, err);
}

// ---- bits of integers

static enum assay_status bits_run(struct gpu_eval *c, int kind, struct assay_error *err) {
  const struct gpu_array *z = c->n_in > 1 ? c->in[1] : NULL;
  const struct shape *to = &c->out[0].shape;
  int64_t x_strides[SHAPE_MAX_RANK], z_strides[SHAPE_MAX_RANK] = {0};
  shape_broadcast_strides(&c->in[0]->shape, to, x_strides);
  if (z)
    shape_broadcast_strides(&z->shape, to, z_strides);
  enum dtype t = c->in[0]->dtype;
  struct bits_args a = {.walk = gpu_walk_of(to->rank, to->dims, 2, (const int64_t *const[]){x_strides, z_strides}),
                        .x = gpu_ref_of(c->in[0]),
                        .z = z ? gpu_ref_of(z) : (struct gpu_ref){0},
                        .y = c->out[0].data,
                        .kind = kind,
                        .width = dtype_bits(t),
                        .is_unsigned64 = t == DTYPE_UINT64,
                        .dtype = t};
  return compute_launch(c->compute, &gpu_move_program, "move_bits", a.walk.count, &a, sizeof a, err);
}

enum assay_status gpu_bitwise_and_eval(struct gpu_eval *c, struct assay_error *err) {
  return bits_run(c, BITS_AND, err);
}
enum assay_status gpu_bitwise_or_eval(struct gpu_eval *c, struct assay_error *err) {
  return bits_run(c, BITS_OR, err);
}
enum assay_status gpu_bitwise_xor_eval(struct gpu_eval *c, struct assay_error *err) {
  return bits_run(c, BITS_XOR, err);
}
enum assay_status gpu_bitwise_not_eval(struct gpu_eval *c, struct assay_error *err) {
  return bits_run(c, BITS_NOT, err);
}

enum assay_status gpu_bit_shift_eval(struct gpu_eval *c, struct assay_error *err) {
  const char *direction = node_string(c->node, "direction", "");
  if (strcmp(direction, "LEFT") == 0)
    return bits_run(c, BITS_LEFT, err);
  if (strcmp(direction, "RIGHT") == 0)
    return bits_run(c, BITS_RIGHT, err);
  return op_invalid(c->node, err, "direction is \"%s\"; it must be LEFT or RIGHT", direction);
}
