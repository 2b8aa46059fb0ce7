// SPDX-License-Identifier: Apache-2.0
// Tensor maps: the rules that cuTensorMapEncodeTiled's documentation gives (cuda.h, CUDA 13.0), and that the memory
// which the map describes lies inside its buffer.
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "plan/check.h"

enum { U4_ALIGN8B = 13, U4_ALIGN16B = 14, U6_ALIGN16B = 15, DATA_TYPES = 16 };
enum { INTERLEAVE_NONE, INTERLEAVE_16B, INTERLEAVE_32B };
enum { SWIZZLE_NONE, SWIZZLE_32B, SWIZZLE_64B, SWIZZLE_128B, SWIZZLE_LAST = 6 };
enum { PROMOTION_LAST = 3, FILL_NAN = 1, NEEDS_TARGET = 90 };

// Bits of an element in memory, and which types are floating.
static const uint8_t bits_of[DATA_TYPES] = {8, 16, 32, 32, 64, 64, 16, 32, 64, 16, 32, 32, 32, 4, 4, 6};
static const bool is_float[DATA_TYPES] = {
    [6] = true, [7] = true, [8] = true, [9] = true, [10] = true, [11] = true, [12] = true};

struct map_checker {
  struct checker *c;
  const struct plan_tensor_map *m;
  int step, argument;
};

static enum assay_status fail(const struct map_checker *k, const char *fmt, ...) ASSAY_PRINTF(2, 3);
static enum assay_status fail(const struct map_checker *k, const char *fmt, ...) {
  char message[256];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  return check_fail(k->c, "steps", k->step, "arguments[%d]: tensor map: %s", k->argument, message);
}

static bool is_packed16(const struct plan_tensor_map *m) {
  return m->data_type == U4_ALIGN16B || m->data_type == U6_ALIGN16B;
}

static enum assay_status check_enumerators(const struct map_checker *k) {
  const struct plan_tensor_map *m = k->m;
  if (m->data_type >= DATA_TYPES)
    return fail(k, "data type %" PRIu32 " is not known", m->data_type);
  if (m->interleave > INTERLEAVE_32B || m->swizzle > SWIZZLE_LAST || m->l2_promotion > PROMOTION_LAST ||
      m->oob_fill > FILL_NAN)
    return fail(k, "interleave, swizzle, l2_promotion or oob_fill is not known");
  if (m->rank < 1 || m->rank > 5)
    return fail(k, "rank %" PRIu32 " is not from 1 to 5", m->rank);
  if (m->interleave != INTERLEAVE_NONE && m->rank < 3)
    return fail(k, "interleaved layouts need a rank of at least 3");
  if (m->interleave == INTERLEAVE_32B && m->swizzle != SWIZZLE_32B)
    return fail(k, "interleave 32B needs swizzle 32B");
  if (m->data_type == U6_ALIGN16B && m->interleave != INTERLEAVE_NONE)
    return fail(k, "values of 6 bits cannot be interleaved");
  if (is_packed16(m) && m->swizzle != SWIZZLE_NONE && m->swizzle != SWIZZLE_128B && m->swizzle != SWIZZLE_128B + 1 &&
      !(m->swizzle == SWIZZLE_LAST && m->data_type == U6_ALIGN16B))
    return fail(k, "packed values do not go with swizzle %" PRIu32, m->swizzle);
  if (m->oob_fill == FILL_NAN && !is_float[m->data_type])
    return fail(k, "NaN outside the bounds needs a floating type");
  return ASSAY_OK;
}

// Address, dims and strides.
static enum assay_status check_layout(const struct map_checker *k) {
  const struct plan_tensor_map *m = k->m;
  uint64_t unit = m->interleave == INTERLEAVE_32B || is_packed16(m) ? 32 : 16;
  uint64_t start = check_alignment(&k->c->p->buffers[m->buffer]);
  if (start < unit || (uint64_t)m->offset % unit)
    return fail(k,
                "the address must be a multiple of %" PRIu64 " (offset %" PRId64 ", a buffer aligned to %" PRIu64 ")",
                unit, m->offset, start);
  for (uint32_t i = 0; i < m->rank; i++)
    if (m->dims[i] < 1 || m->dims[i] > (uint64_t)1 << 32)
      return fail(k, "dims[%" PRIu32 "] is %" PRIu64 ", not from 1 to 2^32", i, m->dims[i]);
  if ((is_packed16(m) && m->dims[0] % 128) || (m->data_type == U4_ALIGN8B && m->dims[0] % 2))
    return fail(k, "dims[0] of packed values must be a multiple of %d", is_packed16(m) ? 128 : 2);
  for (uint32_t i = 0; i + 1 < m->rank; i++)
    if (m->strides[i] % unit || m->strides[i] >= (uint64_t)1 << 40)
      return fail(k, "strides[%" PRIu32 "] is %" PRIu64 "; it must be a multiple of %" PRIu64 " below 2^40", i,
                  m->strides[i], unit);
  return ASSAY_OK;
}

static enum assay_status check_box(const struct map_checker *k) {
  const struct plan_tensor_map *m = k->m;
  for (uint32_t i = 0; i < m->rank; i++) {
    if (m->box[i] < 1 || m->box[i] > 256)
      return fail(k, "box[%" PRIu32 "] is %" PRIu32 ", not from 1 to 256", i, m->box[i]);
    if (m->element_strides[i] < 1 || m->element_strides[i] > 8)
      return fail(k, "element_strides[%" PRIu32 "] is %" PRIu32 ", not from 1 to 8", i, m->element_strides[i]);
  }
  if (is_packed16(m))
    return m->box[0] == 128 ? ASSAY_OK : fail(k, "box[0] of these packed values must be 128");
  if (m->interleave != INTERLEAVE_NONE)
    return ASSAY_OK;
  uint32_t bits = m->box[0] * bits_of[m->data_type];
  if (bits % 128)
    return fail(k, "box[0] is %" PRIu32 " elements of %d bits; it must fill a multiple of 16 bytes", m->box[0],
                bits_of[m->data_type]);
  uint32_t span = m->swizzle == SWIZZLE_32B ? 32 : m->swizzle == SWIZZLE_64B ? 64 : 128;
  if (m->swizzle != SWIZZLE_NONE && bits / 8 > span)
    return fail(k, "box[0] has %" PRIu32 " bytes, the swizzle pattern %" PRIu32, bits / 8, span);
  return ASSAY_OK;
}

// The farthest byte that an element within dims can have.
static enum assay_status check_region(const struct map_checker *k) {
  const struct plan_tensor_map *m = k->m;
  uint64_t bits = m->dims[0] * bits_of[m->data_type], bytes = bits / 8 + (bits % 8 != 0), more;
  bool fits = true;
  for (uint32_t i = 1; i < m->rank; i++)
    fits = fits && !__builtin_mul_overflow(m->dims[i] - 1, m->strides[i - 1], &more) &&
           !__builtin_add_overflow(bytes, more, &bytes);
  if (!fits || !check_within(k->c, m->buffer, m->offset, bytes)) {
    char shown[PLAN_SHOWN_BYTES];
    return fail(k, "it describes memory beyond the end of buffer \"%s\"",
                plan_shown(k->c->p->buffers[m->buffer].name, shown));
  }
  return ASSAY_OK;
}

enum assay_status check_map(struct checker *c, int step, int argument) {
  const struct map_checker k = {c, c->p->steps[step].arguments[argument].map, step, argument};
  if (!k.m)
    return fail(&k, "is missing");
  if (c->target.number && c->target.number < NEEDS_TARGET)
    return fail(&k, "tensor maps need sm_90 or newer");
  if (k.m->buffer < 0 || k.m->buffer >= c->p->n_buffers)
    return fail(&k, "there is no buffer %d", k.m->buffer);
  if (k.m->offset < 0)
    return fail(&k, "offset %" PRId64 " is negative", k.m->offset);
  enum assay_status status = check_enumerators(&k);
  if (!status)
    status = check_layout(&k);
  if (!status)
    status = check_box(&k);
  return status ? status : check_region(&k);
}
