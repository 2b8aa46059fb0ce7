// SPDX-License-Identifier: Apache-2.0
// Directive lines: tensor maps, descriptors of the copy engine of sm_90 and later.
//
// The rules are those of cuTensorMapEncodeTiled in the driver's manual; here they are said with the line that breaks
// them, before there is a device.
#include <inttypes.h>
#include <string.h>

#include "toolchain/directive/private.h"

// Bytes of an element, by the driver's number of the type.
static uint32_t map_element_size(uint32_t data_type) {
  static const uint8_t sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return sizes[data_type];
}

// All numbers of a list, each in a range.
static enum assay_status numbers(struct evaluation *e, const struct expr_list *list, const char *what, int64_t least,
                                 int64_t most, int64_t out[MAP_MAX_RANK]) {
  for (int i = 0; i < list->n; i++) {
    enum assay_status status = eval_integer(e, list->items[i], &out[i]);
    if (status != ASSAY_OK)
      return status;
    if (out[i] < least || out[i] > most)
      return eval_error(e, list->items[i]->at,
                        "%s %" PRId64 " of the tensor map: %" PRId64 " to %" PRId64 " is allowed", what, out[i], least,
                        most);
  }
  return ASSAY_OK;
}

static enum assay_status same_rank(struct evaluation *e, const struct expr_list *list, const char *what, int rank) {
  if (list->n == rank)
    return ASSAY_OK;
  return eval_error(e, list->at, "%d %s for a tensor map of %d dimensions (the innermost comes first)", list->n, what,
                    rank);
}

static enum assay_status eval_shape(struct evaluation *e, const struct directive *d, struct plan_tensor_map *m) {
  int64_t dims[MAP_MAX_RANK], box[MAP_MAX_RANK], steps[MAP_MAX_RANK] = {1, 1, 1, 1, 1};
  enum assay_status status = numbers(e, &d->dims, "dimension", 1, INT64_C(1) << 32, dims);
  if (status == ASSAY_OK)
    status = same_rank(e, &d->box, "box extents", d->dims.n);
  if (status == ASSAY_OK)
    status = numbers(e, &d->box, "box extent", 1, 256, box);
  if (status == ASSAY_OK && d->element_strides.n > 0)
    status = same_rank(e, &d->element_strides, "element strides", d->dims.n);
  if (status == ASSAY_OK)
    status = numbers(e, &d->element_strides, "element stride", 1, 8, steps);
  m->rank = (uint32_t)d->dims.n;
  for (int i = 0; i < d->dims.n && status == ASSAY_OK; i++) {
    m->dims[i] = (uint64_t)dims[i];
    m->box[i] = (uint32_t)box[i];
    m->element_strides[i] = (uint32_t)steps[i];
  }
  return status;
}

// Strides in bytes of all dimensions but the innermost; dense ones when none are given.
static enum assay_status eval_strides(struct evaluation *e, const struct directive *d, struct plan_tensor_map *m) {
  const int64_t size = map_element_size(m->data_type), limit = INT64_C(1) << 40;
  int64_t strides[MAP_MAX_RANK] = {0}, dense = size;
  enum assay_status status = ASSAY_OK;
  if (d->strides.n > 0 && d->strides.n != d->dims.n - 1)
    return eval_error(e, d->strides.at,
                      "%d strides for a tensor map of %d dimensions: %d are wanted, the innermost one is 1 and is not "
                      "written",
                      d->strides.n, d->dims.n, d->dims.n - 1);
  if (status == ASSAY_OK)
    status = numbers(e, &d->strides, "stride", 0, limit / size, strides);
  for (int i = 0; i + 1 < d->dims.n && status == ASSAY_OK; i++) {
    struct place at = d->strides.n > 0 ? d->strides.items[i]->at : d->dims.items[i]->at;
    if (dense > limit / (int64_t)m->dims[i])
      return eval_error(e, at, "the tensor map spans more than 2^40 bytes");
    dense *= (int64_t)m->dims[i];
    int64_t bytes = d->strides.n > 0 ? strides[i] * size : dense;
    if (bytes % 16 != 0)
      return eval_error(e, at,
                        "a row of the tensor map is %" PRId64 " bytes apart from the next: it must be a multiple "
                        "of 16 (refuse such workloads with `require`, or copy to padded scratch first)",
                        bytes);
    m->strides[i] = (uint64_t)bytes;
  }
  return status;
}

static enum assay_status check_box(struct evaluation *e, const struct directive *d, const struct plan_tensor_map *m) {
  uint64_t inner = (uint64_t)m->box[0] * map_element_size(m->data_type);
  if (m->interleave == 0 && inner % 16 != 0)
    return eval_error(e, d->box.at, "the box is %" PRIu64 " bytes wide: it must be a multiple of 16", inner);
  static const uint32_t spans[] = {0, 32, 64, 128};
  if (m->interleave == 0 && m->swizzle > 0 && inner > spans[m->swizzle])
    return eval_error(e, d->box.at, "the box is %" PRIu64 " bytes wide: with swizzle=%" PRIu32 " at most that many",
                      inner, spans[m->swizzle]);
  if (m->interleave > 0 && m->rank < 3)
    return eval_error(e, d->at, "interleave= needs at least 3 dimensions");
  return ASSAY_OK;
}

// The last element that the map reaches must lie in the buffer.
static enum assay_status check_extent(struct evaluation *e, const struct directive *d,
                                      const struct plan_tensor_map *m) {
  const struct plan_buffer *b = &e->buffers[m->buffer];
  uint64_t size = map_element_size(m->data_type);
  uint64_t end = (uint64_t)m->offset;
  bool over = __builtin_add_overflow(end, m->dims[0] * size, &end);
  for (uint32_t i = 1; i < m->rank; i++) {
    uint64_t span;
    over |= __builtin_mul_overflow(m->dims[i] - 1, m->strides[i - 1], &span);
    over |= __builtin_add_overflow(end, span, &end);
  }
  if (over || end > b->bytes)
    return eval_error(e, d->from.at, "the tensor map reaches beyond %s, which has %" PRIu64 " bytes", b->name,
                      b->bytes);
  return ASSAY_OK;
}

enum assay_status eval_tensor_map(struct evaluation *e, const struct directive *d) {
  struct plan_place from;
  if (e->opencl)
    return eval_error(e, d->at, "tensor_map is for CUDA");
  if (eval_find_map(e, d->name) || eval_find_buffer(e, d->name) >= 0)
    return eval_error(e, d->at, "the name %s is taken already", d->name);
  struct plan_tensor_map *m = arena_calloc(e->arena, 1, sizeof *m);
  if (!m)
    return eval_nomem(e);
  m->data_type = d->data_type;
  m->swizzle = d->swizzle;
  m->interleave = d->interleave;
  m->l2_promotion = d->l2;
  m->oob_fill = d->oob;
  enum assay_status status = eval_place(e, &d->from, &from);
  if (status != ASSAY_OK)
    return status;
  m->buffer = from.buffer;
  m->offset = from.offset;
  if (from.offset % 16 != 0)
    return eval_error(e, d->from.at,
                      "the tensor map begins %" PRId64 " bytes after the start of %s: it must be a "
                      "multiple of 16",
                      from.offset, d->from.name);
  status = eval_shape(e, d, m);
  if (status == ASSAY_OK)
    status = eval_strides(e, d, m);
  if (status == ASSAY_OK)
    status = check_box(e, d, m);
  if (status == ASSAY_OK)
    status = check_extent(e, d, m);
  if (status != ASSAY_OK)
    return status;
  if ((size_t)e->n_maps == e->map_capacity) {
    struct map_binding *more = arena_grow(e->arena, e->maps, (size_t)e->n_maps, &e->map_capacity, sizeof *more);
    if (!more)
      return eval_nomem(e);
    e->maps = more;
  }
  e->maps[e->n_maps++] = (struct map_binding){d->name, m};
  return ASSAY_OK;
}
