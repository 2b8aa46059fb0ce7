// SPDX-License-Identifier: Apache-2.0
// Parts of a tensor, and borders around it, on a device.
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/move.h"

#include <string.h>

// ---- Slice

// The first element and how far the next one is. Python's rules (ops/slice.c); inference has found how many there are.
static int64_t slice_start(int64_t start, int64_t step, int64_t extent) {
  int64_t high = step > 0 ? extent : extent - 1;
  start += start < 0 ? extent : 0;
  start = start < 0 ? 0 : start;
  return start > high ? high : start;
}

static enum assay_status read_slice(const struct op_infer *c, struct gpu_strided *s, const int64_t *strides,
                                    struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  int64_t starts[SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK], steps[SHAPE_MAX_RANK];
  int n_starts, n_axes = -1, n_steps = -1, axis;
  enum assay_status status = op_ints(c, 1, "starts", starts, &n_starts, SHAPE_MAX_RANK, err);
  if (!status)
    status = op_ints(c, 3, "axes", axes, &n_axes, SHAPE_MAX_RANK, err);
  if (!status)
    status = op_ints(c, 4, NULL, steps, &n_steps, SHAPE_MAX_RANK, err);
  int64_t begin[SHAPE_MAX_RANK] = {0}; // of an axis that is named twice the last one holds
  for (int i = 0; i < n_starts && !status; i++) {
    status = op_axis(c->node, n_axes < 0 ? i : axes[i], x->rank, &axis, err);
    if (status)
      return status;
    int64_t step = n_steps < 0 ? 1 : steps[i];
    begin[axis] = slice_start(starts[i], step, x->dims[axis]);
    // A step that leads nowhere may be too large to multiply.
    s->from[axis] = s->dims[axis] == 1 ? 0 : strides[axis] * step;
  }
  for (int d = 0; d < x->rank; d++)
    s->x_begin += strides[d] * begin[d];
  return status;
}

enum assay_status gpu_slice_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *to = &c->out[0].shape;
  int64_t strides[SHAPE_MAX_RANK];
  struct gpu_node_view v;
  if (shape_count(to) == 0)
    return ASSAY_OK;
  struct gpu_strided s = {.rank = to->rank};
  memcpy(s.dims, to->dims, sizeof to->dims);
  shape_strides(&c->in[0]->shape, strides);
  memcpy(s.from, strides, sizeof strides);
  shape_strides(to, s.to);
  enum assay_status status = gpu_node_view_init(&v, c, 0x1e, err);
  if (!status)
    status = read_slice(&v.infer, &s, strides, err);
  gpu_node_view_release(&v);
  return status ? status : gpu_strided_copy(c, &s, c->in[0], c->out[0].data, err);
}

// ---- Pad

static int pad_mode(const struct node *node) {
  static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
  const char *name = node_string(node, "mode", "constant");
  int mode = 0;
  while (strcmp(names[mode], name) != 0)
    mode++; // inference knows no others
  return mode;
}

// Elements added before each dimension; negative: removed.
static enum assay_status read_pads(const struct op_infer *c, int64_t *before, struct assay_error *err) {
  int rank = c->in[0]->shape.rank, n_pads, n_axes, axis;
  int64_t pads[2 * SHAPE_MAX_RANK], axes[SHAPE_MAX_RANK];
  enum assay_status status = op_ints(c, 1, "pads", pads, &n_pads, 2 * SHAPE_MAX_RANK, err);
  if (!status)
    status = op_ints(c, 3, NULL, axes, &n_axes, SHAPE_MAX_RANK, err);
  for (int i = 0; !status && i < (n_axes < 0 ? rank : n_axes); i++) {
    status = op_axis(c->node, n_axes < 0 ? i : axes[i], rank, &axis, err);
    if (!status)
      before[axis] = pads[i];
  }
  return status;
}

enum assay_status gpu_pad_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *to = &c->out[0].shape;
  struct gpu_node_view v;
  double value = node_float(c->node, "value", 0);
  struct pad_args a = {.x = gpu_ref_of(c->in[0]),
                       .y = c->out[0].data,
                       .count = shape_count(to),
                       .rank = to->rank,
                       .mode = pad_mode(c->node)};
  if (c->n_in > 2 && c->in[2])
    a.fill = gpu_ref_of(c->in[2]);
  else if (dtype_is_float(c->in[0]->dtype))
    memcpy(&a.value, &value, sizeof value);
  memcpy(a.dims, to->dims, sizeof a.dims);
  memcpy(a.extents, c->in[0]->shape.dims, sizeof a.extents);
  shape_strides(&c->in[0]->shape, a.strides);
  enum assay_status status = gpu_node_view_init(&v, c, 1u << 1 | 1u << 3, err);
  if (!status)
    status = read_pads(&v.infer, a.before, err);
  gpu_node_view_release(&v);
  return status ? status : compute_launch(c->compute, &gpu_move_program, "move_pad", a.count, &a, sizeof a, err);
}

// ---- Trilu

enum assay_status gpu_trilu_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->out[0].shape;
  struct diagonal_args a = {.x = gpu_ref_of(c->in[0]),
                            .y = c->out[0].data,
                            .count = shape_count(s),
                            .rows = s->dims[s->rank - 2],
                            .columns = s->dims[s->rank - 1],
                            .upper = node_int(c->node, "upper", 1) != 0};
  struct gpu_node_view v;
  enum assay_status status = gpu_node_view_init(&v, c, 1u << 1, err);
  if (!status && op_has(&v.infer, 1))
    a.k = v.in[1].i64[0];
  gpu_node_view_release(&v);
  // Beyond the corners a diagonal changes nothing more; clamped, it cannot overflow.
  a.k = a.k > a.columns ? a.columns : a.k < -a.rows ? -a.rows : a.k;
  return status ? status : compute_launch(c->compute, &gpu_move_program, "move_trilu", a.count, &a, sizeof a, err);
}

// ---- ReverseSequence

enum assay_status gpu_reverse_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t time = node_int(c->node, "time_axis", 0), bad = -1;
  struct reverse_args a = {.x = gpu_ref_of(c->in[0]),
                           .lengths = gpu_ref_of(c->in[1]),
                           .y = c->out[0].data,
                           .count = shape_count(s),
                           .n_time = s->dims[time],
                           .n_batch = s->dims[1 - time],
                           .inner = shape_span(s, 2, s->rank),
                           .time_first = time == 0};
  enum assay_status status = gpu_bad_make(c, &a.bad, err);
  if (!status)
    status = compute_launch(c->compute, &gpu_move_program, "move_reverse", a.count, &a, sizeof a, err);
  if (!status)
    status = gpu_bad_read(c, a.bad, &bad, err);
  if (!status && bad >= 0)
    return op_invalid(c->node, err, "length %lld of sequence %lld is not in 0..%lld",
                      (long long)gpu_input_integer(c, 1, bad), (long long)bad, (long long)a.n_time);
  return status;
}
