// SPDX-License-Identifier: Apache-2.0
// Elements picked by index, on a device.
#include "oracle/cuda/gather.h"
#include "oracle/cuda/gpu_table.h"

#include <string.h>

#include "base/alloc.h"

extern const char code_gather_args[], code_gather[];
const struct device_code gpu_gather_program = {
    "gather", (const char *const[]){GPU_ROWS_TEXTS, code_gather_args, code_gather, NULL}, false};

enum assay_status gpu_check_indices(struct gpu_eval *c, device_ptr bad, const int64_t *extents, int tuple,
                                    struct assay_error *err) {
  int64_t at = -1;
  enum assay_status status = gpu_bad_read(c, bad, &at, err);
  if (!status && at >= 0)
    return op_invalid(c->node, err, "index %lld is outside a dimension of %lld elements",
                      (long long)gpu_input_integer(c, 1, at), (long long)extents[at % tuple]);
  return status;
}

// ---- Gather

static enum assay_status gather_slices(struct gpu_eval *c, struct gather_args *a, struct assay_error *err) {
  enum assay_status status = gpu_bad_make(c, &a->bad, err);
  if (!status)
    status = compute_launch(c->compute, &gpu_gather_program, "gather_slices", a->count, a, sizeof *a, err);
  return status ? status : gpu_check_indices(c, a->bad, &a->extent, 1, err);
}

enum assay_status gpu_gather_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status)
    return status;
  struct gather_args a = {.x = gpu_ref_of(c->in[0]),
                          .indices = gpu_ref_of(c->in[1]),
                          .y = c->out[0].data,
                          .count = shape_count(&c->out[0].shape),
                          .n_indices = shape_count(&c->in[1]->shape),
                          .extent = data->dims[axis],
                          .inner = shape_span(data, axis + 1, data->rank)};
  return gather_slices(c, &a, err);
}

// ---- GatherElements and GatherND

enum assay_status gpu_element_args(struct gpu_eval *c, struct element_args *a, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int64_t strides[SHAPE_MAX_RANK];
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", 0), data->rank, &axis, err);
  if (status)
    return status;
  shape_strides(data, strides);
  a->x = gpu_ref_of(c->in[0]);
  a->indices = gpu_ref_of(c->in[1]);
  a->extent = data->dims[axis];
  a->stride = strides[axis];
  a->y = c->out[0].data;
  strides[axis] = 0;
  a->walk = gpu_walk_of(indices->rank, indices->dims, 1, (const int64_t *const[]){strides});
  return gpu_bad_make(c, &a->bad, err);
}

enum assay_status gpu_gather_elements_eval(struct gpu_eval *c, struct assay_error *err) {
  struct element_args a = {0};
  enum assay_status status = gpu_element_args(c, &a, err);
  if (!status)
    status = compute_launch(c->compute, &gpu_gather_program, "gather_elements", a.walk.count, &a, sizeof a, err);
  return status ? status : gpu_check_indices(c, a.bad, &a.extent, 1, err);
}

enum assay_status gpu_tuple_args(struct gpu_eval *c, int batch_dims, struct tuple_args *a, struct assay_error *err) {
  const struct shape *data = &c->in[0]->shape, *indices = &c->in[1]->shape;
  int64_t strides[SHAPE_MAX_RANK];
  int tuple = (int)indices->dims[indices->rank - 1];
  shape_strides(data, strides);
  *a = (struct tuple_args){.x = gpu_ref_of(c->in[0]),
                           .indices = gpu_ref_of(c->in[1]),
                           .y = c->out[0].data,
                           .count = shape_count(&c->out[0].shape),
                           .n_tuples = shape_span(indices, 0, indices->rank - 1),
                           .per_batch = shape_span(indices, batch_dims, indices->rank - 1),
                           .batch_size = shape_span(data, batch_dims, data->rank),
                           .inner = shape_span(data, batch_dims + tuple, data->rank),
                           .tuple = tuple};
  memcpy(a->extents, data->dims + batch_dims, (size_t)tuple * sizeof *a->extents);
  memcpy(a->strides, strides + batch_dims, (size_t)tuple * sizeof *a->strides);
  return gpu_bad_make(c, &a->bad, err);
}

enum assay_status gpu_gather_nd_eval(struct gpu_eval *c, struct assay_error *err) {
  struct tuple_args a;
  enum assay_status status = gpu_tuple_args(c, (int)node_int(c->node, "batch_dims", 0), &a, err);
  if (!status)
    status = compute_launch(c->compute, &gpu_gather_program, "gather_tuples", a.count, &a, sizeof a, err);
  return status ? status : gpu_check_indices(c, a.bad, a.extents, a.tuple, err);
}

// ---- Compress and NonZero. Their outputs' shapes depend on the data, so that shape inference needs these as
// constants. They are small: the host finds the true elements.

static int is_true(const struct gpu_array *a, const uint64_t *values, int64_t i) {
  double v;
  memcpy(&v, &values[i], sizeof v);
  return dtype_is_float(a->dtype) ? v != 0 : values[i] != 0;
}

enum assay_status gpu_compress_eval(struct gpu_eval *c, struct assay_error *err) {
  struct shape s = c->in[0]->shape;
  const struct attr *axis_attr = node_attr(c->node, "axis");
  int axis = 0;
  if (!axis_attr)
    s = (struct shape){.rank = 1, .dims = {shape_count(&s)}};
  enum assay_status status = op_axis(c->node, axis_attr ? axis_attr->ints[0] : 0, s.rank, &axis, err);
  if (status || shape_count(&c->out[0].shape) == 0)
    return status;
  struct gather_args a = {.x = gpu_ref_of(c->in[0]),
                          .indices = {.storage = GPU_I64},
                          .y = c->out[0].data,
                          .count = shape_count(&c->out[0].shape),
                          .extent = s.dims[axis],
                          .inner = shape_span(&s, axis + 1, s.rank)};
  uint64_t *flags = NULL;
  status = gpu_host_values(c, 1, &flags, err);
  int64_t n_flags = shape_count(&c->in[1]->shape);
  // The list of indices takes the place of the flags.
  for (int64_t i = 0; !status && i < n_flags && i < a.extent; i++)
    if (is_true(c->in[1], flags, i))
      flags[a.n_indices++] = (uint64_t)i;
  if (!status)
    status = gpu_scratch(c, a.n_indices, &a.indices.data, err);
  if (!status)
    status = compute_upload(c->compute, a.indices.data, flags, (size_t)a.n_indices * 8, err);
  base_free(flags);
  return status ? status : gather_slices(c, &a, err);
}

enum assay_status gpu_nonzero_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->in[0]->shape;
  int64_t n = shape_count(s), found = 0, columns = c->out[0].shape.dims[1];
  if (shape_count(&c->out[0].shape) == 0)
    return ASSAY_OK;
  uint64_t *values = NULL, *indices = base_alloc((size_t)(columns * s->rank) * sizeof *indices);
  enum assay_status status = indices ? ASSAY_OK : error_nomem(err, "the indices of NonZero");
  if (!status)
    status = gpu_host_values(c, 0, &values, err);
  for (int64_t i = 0; !status && i < n && found < columns; i++)
    if (is_true(c->in[0], values, i)) {
      int64_t rest = i;
      for (int d = s->rank - 1; d >= 0; d--, rest /= s->dims[d + 1])
        indices[d * columns + found] = (uint64_t)(rest % s->dims[d]);
      found++;
    }
  if (!status)
    status = compute_upload(c->compute, c->out[0].data, indices, (size_t)(columns * s->rank) * sizeof *indices, err);
  base_free(values);
  base_free(indices);
  return status;
}

// ---- OneHot

enum assay_status gpu_one_hot_eval(struct gpu_eval *c, struct assay_error *err) {
  const struct shape *s = &c->out[0].shape;
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), s->rank, &axis, err);
  if (status)
    return status;
  struct one_hot_args a = {.indices = gpu_ref_of(c->in[0]),
                           .values = gpu_ref_of(c->in[2]),
                           .y = c->out[0].data,
                           .count = shape_count(s),
                           .depth = s->dims[axis],
                           .inner = shape_span(s, axis + 1, s->rank)};
  return compute_launch(c->compute, &gpu_gather_program, "gather_one_hot", a.count, &a, sizeof a, err);
}
