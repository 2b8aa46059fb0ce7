// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax on a device: rows are reduced twice, to their maxima and to the sums of exponentials,
// which wait in the output itself until they are divided.
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/norm.h"

enum { PHASE_MAX, PHASE_SUM, PHASE_FINISH };

// Row numbers, and positions, of the elements in memory's order.
static struct gpu_walk walk_of(const struct shape *shape, unsigned axes) {
  int64_t row[SHAPE_MAX_RANK], position[SHAPE_MAX_RANK];
  gpu_row_numbers(shape, axes, row);
  gpu_row_numbers(shape, ~axes, position);
  return gpu_walk_of(shape->rank, shape->dims, 2, (const int64_t *const[]){row, position});
}

enum assay_status gpu_softmax(struct gpu_eval *c, const struct gpu_softmax *s, struct assay_error *err) {
  struct gpu_reduction max = {.rows = gpu_rows_of(&s->shape, s->axes, NULL),
                              .x = s->x,
                              .term = GPU_TERM_MAX,
                              .finish = REDUCE_FINISH_VALUE,
                              .phase = s->phase + PHASE_MAX};
  size_t bytes = (size_t)max.rows.count * sizeof(double);
  enum assay_status status = compute_alloc(c->compute, bytes, &max.y, err);
  if (!status)
    status = gpu_reduce(c, &max, err);
  struct gpu_reduction sum = max;
  sum.term = GPU_TERM_SOFTMAX;
  sum.finish = s->log ? REDUCE_FINISH_LOG : REDUCE_FINISH_SUM;
  sum.phase = s->phase + PHASE_SUM;
  sum.y = 0;
  sum.shift = max.y;
  sum.terms = s->y;
  sum.keep_shifted = s->log;
  sum.one_lane = ARITH_LOST_SHARED;
  if (!status)
    status = compute_alloc(c->compute, bytes, &sum.y, err);
  if (!status)
    status = gpu_reduce(c, &sum, err);
  struct softmax_args a = {.walk = walk_of(&s->shape, s->axes),
                           .x = gpu_ref_f64(s->y),
                           .arith = gpu_arith_phase(c, s->phase + PHASE_FINISH),
                           .by = sum.y,
                           .y = s->y,
                           .log = s->log};
  if (!status)
    status = compute_launch(c->compute, &gpu_norm_program, "softmax_finish", a.walk.count, &a, sizeof a, err);
  compute_free(c->compute, max.y);
  compute_free(c->compute, sum.y);
  return status;
}

// Versions before 13 flatten: default axis 1, and the row is everything from the axis on.
static enum assay_status softmax_axes(const struct gpu_eval *c, unsigned *axes, struct assay_error *err) {
  int rank = c->in[0]->shape.rank, axis;
  bool flatten = c->node->op->since < 13;
  int64_t fallback = flatten ? (rank > 1 ? 1 : 0) : -1;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", fallback), rank, &axis, err);
  if (!status)
    *axes = flatten ? ((1u << rank) - 1) & ~((1u << axis) - 1) : 1u << axis;
  return status;
}

static enum assay_status run(struct gpu_eval *c, bool log, struct assay_error *err) {
  struct gpu_softmax s = {.shape = c->in[0]->shape, .x = gpu_ref_of(c->in[0]), .log = log, .y = c->out[0].data};
  enum assay_status status = softmax_axes(c, &s.axes, err);
  if (status || shape_count(&s.shape) == 0)
    return status;
  return gpu_softmax(c, &s, err);
}

enum assay_status gpu_softmax_eval(struct gpu_eval *c, struct assay_error *err) {
  return run(c, false, err);
}
enum assay_status gpu_log_softmax_eval(struct gpu_eval *c, struct assay_error *err) {
  return run(c, true, err);
}

enum assay_status gpu_hardmax_eval(struct gpu_eval *c, struct assay_error *err) {
  unsigned axes;
  device_ptr best;
  enum assay_status status = softmax_axes(c, &axes, err);
  if (status || shape_count(&c->in[0]->shape) == 0)
    return status;
  struct gpu_extreme largest = {.rows = gpu_rows_of(&c->in[0]->shape, axes, NULL),
                                .x = gpu_ref_of(c->in[0]),
                                .dtype = c->in[0]->dtype,
                                .largest = true};
  status = gpu_scratch(c, largest.rows.count, &best, err);
  if (!status)
    status = gpu_arg(c, &largest, best, err);
  if (status)
    return status;
  struct softmax_args a = {.walk = walk_of(&c->in[0]->shape, axes),
                           .x = largest.x,
                           .arith = gpu_arith_phase(c, 0),
                           .by = best,
                           .y = c->out[0].data};
  return compute_launch(c->compute, &gpu_norm_program, "hardmax_finish", a.walk.count, &a, sizeof a, err);
}
