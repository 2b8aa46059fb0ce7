// SPDX-License-Identifier: Apache-2.0
// Resize and Upsample on the device, through the tables of ops/resize.h: they are small, and made on the host.
#include "ops/resize.h"

#include <string.h>

#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"

#include "oracle/cuda/resize_args.h"

_Static_assert((int)RESIZE_RANK >= (int)SHAPE_MAX_RANK, "all dimensions fit");

extern const char code_resize_args[], code_resize[];
static const struct device_code resize_code = {
    "resize", (const char *const[]){GPU_COMMON_TEXTS, code_resize_args, code_resize, NULL}, false};

static enum assay_status upload(struct gpu_eval *c, const void *from, size_t bytes, device_ptr *out,
                                struct assay_error *err) {
  enum assay_status status = gpu_temporary(c, bytes + 1, out, err);
  return status || bytes == 0 ? status : compute_upload(c->compute, *out, from, bytes, err);
}

static enum assay_status run_nearest(struct gpu_eval *c, const struct resize_plan *r, struct arena *arena,
                                     struct assay_error *err) {
  const struct shape *y = &c->out[0].shape;
  struct resize_nearest_args a = {
      .x = gpu_ref_of(c->in[0]), .y = c->out[0].data, .count = shape_count(y), .rank = y->rank};
  int64_t strides[SHAPE_MAX_RANK];
  enum assay_status status = ASSAY_OK;
  shape_strides(&c->in[0]->shape, strides);
  for (int d = 0; d < y->rank && !status; d++) {
    const int64_t *map = resize_nearest_map(r, d, strides[d], &c->arith, arena);
    if (!map)
      return error_nomem(err, "the indices of Resize");
    a.dims[d] = y->dims[d];
    status = upload(c, map, (size_t)y->dims[d] * sizeof *map, &a.map[d], err);
  }
  a.fill = (uint64_t)(int64_t)r->extrapolation;
  if (dtype_is_float(c->in[0]->dtype))
    memcpy(&a.fill, &r->extrapolation, sizeof a.fill);
  return status ? status : compute_launch(c->compute, &resize_code, "resize_nearest", a.count, &a, sizeof a, err);
}

// An axis' table on the device, in one piece: indices, weights, marks.
static enum assay_status upload_table(struct gpu_eval *c, const struct resize_table *t, int64_t out,
                                      struct resize_weighted_args *a, device_ptr *outside, struct assay_error *err) {
  size_t n = (size_t)(out * t->taps) * 8;
  device_ptr at = 0;
  enum assay_status status = gpu_temporary(c, 2 * n + (size_t)out + 1, &at, err);
  a->index = at;
  a->weight = at + n;
  *outside = at + 2 * n;
  if (!status)
    status = compute_upload(c->compute, a->index, t->index, n, err);
  if (!status)
    status = compute_upload(c->compute, a->weight, t->weight, n, err);
  return status ? status : compute_upload(c->compute, *outside, t->outside, (size_t)out, err);
}

static enum assay_status extrapolate(struct gpu_eval *c, const struct resize_plan *r, const device_ptr *outside,
                                     struct assay_error *err) {
  const struct shape *y = &c->out[0].shape;
  struct resize_extrapolate_args a = {
      .y = c->out[0].data, .value = r->extrapolation, .count = shape_count(y), .rank = y->rank};
  for (int d = 0; d < y->rank; d++) {
    a.dims[d] = y->dims[d];
    a.outside[d] = outside[d];
  }
  return compute_launch(c->compute, &resize_code, "resize_extrapolate", a.count, &a, sizeof a, err);
}

static enum assay_status run_weighted(struct gpu_eval *c, const struct resize_plan *r, int first, struct arena *arena,
                                      struct assay_error *err) {
  struct shape now = c->in[0]->shape;
  device_ptr outside[SHAPE_MAX_RANK] = {0};
  struct resize_weighted_args a = {.arith = gpu_arith_of(&c->arith), .x = gpu_ref_of(c->in[0])};
  enum assay_status status = ASSAY_OK;
  for (int d = now.rank - 1; d >= first && !status; d--) {
    if (!r->axes[d].active)
      continue;
    struct resize_table t;
    status = resize_table_make(r, d, c->node, &c->arith, arena, &t, err);
    if (status)
      break;
    a.in = now.dims[d];
    a.out = now.dims[d] = r->axes[d].out;
    a.outer = shape_span(&now, 0, d);
    a.inner = shape_span(&now, d + 1, now.rank);
    a.taps = t.taps;
    a.arith.key = c->arith.key + (uint64_t)d + 1;
    status = upload_table(c, &t, a.out, &a, &outside[d], err);
    a.y = c->out[0].data;
    if (!status && d > first)
      status = gpu_scratch(c, shape_count(&now), &a.y, err);
    if (!status)
      status = compute_launch(c->compute, &resize_code, "resize_weighted", shape_count(&now), &a, sizeof a, err);
    a.x = gpu_ref_f64(a.y);
  }
  return status || r->coordinates != RESIZE_CROP_AND_RESIZE ? status : extrapolate(c, r, outside, err);
}

// The first axis that is resampled at all; the rank: none.
static int first_active(const struct resize_plan *r, int rank) {
  int d = 0;
  while (d < rank && !r->axes[d].active)
    d++;
  return d;
}

enum assay_status gpu_resize_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  struct resize_plan r;
  struct arena arena = {0};
  enum assay_status status = gpu_node_view_init(&v, c, 0xeu, err); // regions, scales, sizes
  if (status)
    return status;
  status = resize_read(&v.infer, &r, err);
  gpu_node_view_release(&v);
  if (status || shape_count(&c->out[0].shape) == 0)
    return status;
  if (shape_count(&c->in[0]->shape) == 0)
    return op_invalid(c->node, err, "an empty image cannot be made larger");
  int rank = c->in[0]->shape.rank, first = first_active(&r, rank);
  // With nothing to resample, nearest copies.
  if (r.mode == RESIZE_NEAREST || first == rank)
    status = run_nearest(c, &r, &arena, err);
  else
    status = run_weighted(c, &r, first, &arena, err);
  arena_release(&arena);
  return status;
}
