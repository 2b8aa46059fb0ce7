// SPDX-License-Identifier: Apache-2.0
// A plan from JSON. Strict: what is not understood is an error that names its place, because a plan that means
// something else to its writer than to its reader would be judged as something else.
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/file.h"
#include "plan/base64.h"
#include "plan/names.h"

// A place in the text: a chain from the value to the root, each link a member's name or an index.
struct where {
  const struct where *up;
  const char *key; // NULL: an element
  int index;
};

struct reader {
  struct plan *p;
  struct arena *arena;
  size_t module_bytes, constant_bytes;
  const uint8_t *packed; // bytes after the text, or NULL: all of it is in the text
  size_t packed_bytes;
  struct assay_error *err;
};

static void put_where(struct buf *out, const struct where *w) {
  if (w->up)
    put_where(out, w->up);
  if (w->key)
    buf_printf(out, "%s%s", out->len ? "." : "", w->key);
  else if (w->up)
    buf_printf(out, "[%d]", w->index);
}

static enum assay_status fail(struct reader *r, const struct where *w, enum assay_status status, const char *fmt, ...)
    ASSAY_PRINTF(4, 5);
static enum assay_status fail(struct reader *r, const struct where *w, enum assay_status status, const char *fmt, ...) {
  struct buf place = {0};
  char message[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(message, sizeof message, fmt, ap);
  va_end(ap);
  put_where(&place, w);
  error_set(r->err, status, "%s: %s", place.len ? buf_str(&place) : "the plan", message);
  buf_release(&place);
  return status;
}

static enum assay_status nomem(struct reader *r) {
  return error_nomem(r->err, "a plan");
}

// --- one value -------------------------------------------------------------------------------------------------------

// An object with no other members than `keys`.
static enum assay_status check_object(struct reader *r, const struct where *w, json_t *v, const char *const *keys) {
  if (!json_is_object(v))
    return fail(r, w, ASSAY_ERR_INVALID, "must be an object");
  const char *key;
  json_t *member;
  json_object_foreach(v, key, member) {
    char shown[PLAN_SHOWN_BYTES];
    if (plan_name_index(keys, key) < 0)
      return fail(r, w, ASSAY_ERR_INVALID, "has a member \"%s\" that this version of plans does not know",
                  plan_shown(key, shown));
  }
  return ASSAY_OK;
}

static enum assay_status check_array(struct reader *r, const struct where *w, json_t *v, size_t most) {
  if (!json_is_array(v))
    return fail(r, w, ASSAY_ERR_INVALID, v ? "must be a list" : "is missing; it must be a list");
  if (json_array_size(v) > most)
    return fail(r, w, ASSAY_ERR_LIMIT, "has %zu elements; at most %zu are allowed", json_array_size(v), most);
  return ASSAY_OK;
}

static enum assay_status read_integer(struct reader *r, const struct where *w, json_t *v, int64_t least, int64_t most,
                                      int64_t *out) {
  if (!json_is_integer(v))
    return fail(r, w, ASSAY_ERR_INVALID, "%s an integer from %" PRId64 " to %" PRId64,
                v ? "must be" : "is missing; it must be", least, most);
  int64_t i = json_integer_value(v);
  if (i < least || i > most)
    return fail(r, w, ASSAY_ERR_INVALID, "is %" PRId64 "; it must be from %" PRId64 " to %" PRId64, i, least, most);
  *out = i;
  return ASSAY_OK;
}

// --- members of an object --------------------------------------------------------------------------------------------

static enum assay_status get_integer(struct reader *r, const struct where *w, json_t *object, const char *key,
                                     int64_t least, int64_t most, int64_t *out) {
  return read_integer(r, &(struct where){w, key, 0}, json_object_get(object, key), least, most, out);
}

static enum assay_status get_u32(struct reader *r, const struct where *w, json_t *object, const char *key, int64_t most,
                                 uint32_t *out) {
  int64_t i = 0;
  enum assay_status status = get_integer(r, w, object, key, 0, most, &i);
  if (!status)
    *out = (uint32_t)i;
  return status;
}

static enum assay_status get_int(struct reader *r, const struct where *w, json_t *object, const char *key, int least,
                                 int most, int *out) {
  int64_t i = 0;
  enum assay_status status = get_integer(r, w, object, key, least, most, &i);
  if (!status)
    *out = (int)i;
  return status;
}

static enum assay_status get_bool(struct reader *r, const struct where *w, json_t *object, const char *key, bool *out) {
  json_t *v = json_object_get(object, key);
  if (v && !json_is_boolean(v))
    return fail(r, &(struct where){w, key, 0}, ASSAY_ERR_INVALID, "must be true or false");
  *out = v && json_is_true(v);
  return ASSAY_OK;
}

static enum assay_status get_string(struct reader *r, const struct where *w, json_t *object, const char *key,
                                    size_t least, const char **out) {
  const struct where here = {w, key, 0};
  json_t *v = json_object_get(object, key);
  if (!json_is_string(v))
    return fail(r, &here, ASSAY_ERR_INVALID, v ? "must be a string" : "is missing; it must be a string");
  size_t n = json_string_length(v);
  if (n < least)
    return fail(r, &here, ASSAY_ERR_INVALID, "must not be empty");
  if (n > PLAN_MAX_NAME)
    return fail(r, &here, ASSAY_ERR_LIMIT, "has %zu bytes; at most %d are allowed", n, PLAN_MAX_NAME);
  *out = arena_strndup(r->arena, json_string_value(v), n);
  return *out ? ASSAY_OK : nomem(r);
}

// One of the names; the answer is its index.
static enum assay_status get_name(struct reader *r, const struct where *w, json_t *object, const char *key,
                                  const char *const *names, int *out) {
  const char *name;
  char shown[PLAN_SHOWN_BYTES], all[128] = "";
  enum assay_status status = get_string(r, w, object, key, 1, &name);
  if (status)
    return status;
  *out = plan_name_index(names, name);
  if (*out >= 0)
    return ASSAY_OK;
  for (size_t i = 0, used = 0; names[i] && used < sizeof all; i++)
    used += (size_t)snprintf(all + used, sizeof all - used, "%s%s", i ? ", " : "", names[i]);
  return fail(r, &(struct where){w, key, 0}, ASSAY_ERR_INVALID, "is \"%s\"; it must be one of %s",
              plan_shown(name, shown), all);
}

// A device that carries out plans.
static enum assay_status get_device(struct reader *r, const struct where *w, json_t *object, const char *key,
                                    const struct plan_device **out) {
  const char *name;
  char shown[PLAN_SHOWN_BYTES], all[128];
  struct assay_error unknown = {0};
  const struct plan_device *device = NULL;
  enum assay_status status = get_string(r, w, object, key, 1, &name);
  if (status)
    return status;
  if (plan_device_parse(name, &device, &unknown) != ASSAY_OK || device->dialect == PLAN_NO_LAUNCHES)
    return fail(r, &(struct where){w, key, 0}, ASSAY_ERR_INVALID, "is \"%s\"; it must be one of %s",
                plan_shown(name, shown), plan_device_names(true, all, sizeof all));
  *out = device;
  return ASSAY_OK;
}

// How many bytes may be read: `most`, or, where `used` counts them, `most` of all together.
struct allowance {
  size_t most, *used;
};

static enum assay_status check_size(struct reader *r, const struct where *w, size_t n, struct allowance a) {
  if (n > a.most - (a.used ? *a.used : 0))
    return fail(r, w, ASSAY_ERR_LIMIT, "at most %zu bytes are allowed%s", a.most, a.used ? " together" : "");
  if (a.used)
    *a.used += n;
  return ASSAY_OK;
}

struct bytes {
  const uint8_t *data;
  size_t size;
};

// Bytes written as base64, with a NUL after them.
static enum assay_status get_bytes(struct reader *r, const struct where *w, json_t *object, const char *key,
                                   struct allowance allowed, struct bytes *bytes) {
  const struct where here = {w, key, 0};
  json_t *v = json_object_get(object, key);
  if (!json_is_string(v))
    return fail(r, &here, ASSAY_ERR_INVALID, v ? "must be a string" : "is missing; it must be bytes in base64");
  const char *text = json_string_value(v);
  size_t length = json_string_length(v), n = base64_decoded_size(text, length);
  if (n == SIZE_MAX)
    return fail(r, &here, ASSAY_ERR_INVALID, "is not base64: it has %zu characters, not a multiple of 4", length);
  enum assay_status status = check_size(r, &here, n, allowed);
  if (status)
    return status;
  uint8_t *out = arena_alloc(r->arena, n + 1);
  if (!out)
    return nomem(r);
  if (!base64_decode(text, length, out))
    return fail(r, &here, ASSAY_ERR_INVALID, "is not base64");
  *bytes = (struct bytes){.data = out, .size = n};
  return ASSAY_OK;
}

// What a module or a constant holds: base64, or a place after the text.
static enum assay_status get_large(struct reader *r, const struct where *w, json_t *object, struct allowance allowed,
                                   struct bytes *bytes) {
  const struct where here = {w, "packed", 0};
  json_t *v = json_object_get(object, "packed");
  int64_t at = 0, n = 0;
  if (!v)
    return get_bytes(r, w, object, "base64", allowed, bytes);
  if (!r->packed)
    return fail(r, &here, ASSAY_ERR_INVALID, "needs bytes after the text, and this plan is only text");
  if (json_object_get(object, "base64"))
    return fail(r, &here, ASSAY_ERR_INVALID, "is given together with base64; only one of them may be");
  enum assay_status status = check_array(r, &here, v, 2);
  if (!status)
    status = read_integer(r, &(struct where){&here, NULL, 0}, json_array_get(v, 0), 0, (int64_t)r->packed_bytes, &at);
  if (!status)
    status =
        read_integer(r, &(struct where){&here, NULL, 1}, json_array_get(v, 1), 0, (int64_t)r->packed_bytes - at, &n);
  if (!status)
    status = check_size(r, &here, (size_t)n, allowed);
  if (status)
    return status;
  bytes->data = (const uint8_t *)arena_strndup(r->arena, (const char *)r->packed + at, (size_t)n);
  bytes->size = (size_t)n;
  return bytes->data ? ASSAY_OK : nomem(r);
}

static enum assay_status get_code(struct reader *r, const struct where *w, json_t *object, struct plan_module *m) {
  struct bytes code = {0};
  enum assay_status status =
      get_large(r, w, object, (struct allowance){PLAN_MAX_MODULE_BYTES, &r->module_bytes}, &code);
  m->bytes = code.data;
  m->size = code.size;
  return status;
}

// A list of exactly n integers.
static enum assay_status get_u64s(struct reader *r, const struct where *w, json_t *object, const char *key,
                                  int64_t most, int n, uint64_t *out) {
  const struct where here = {w, key, 0};
  json_t *v = json_object_get(object, key);
  enum assay_status status = check_array(r, &here, v, INT_MAX);
  if (!status && json_array_size(v) != (size_t)n)
    return fail(r, &here, ASSAY_ERR_INVALID, "has %zu elements; it must have %d", json_array_size(v), n);
  for (int i = 0; i < n && !status; i++) {
    int64_t value = 0;
    status = read_integer(r, &(struct where){&here, NULL, i}, json_array_get(v, (size_t)i), 0, most, &value);
    out[i] = (uint64_t)value;
  }
  return status;
}

static enum assay_status get_u32s(struct reader *r, const struct where *w, json_t *object, const char *key, int n,
                                  uint32_t *out) {
  uint64_t wide[5] = {0};
  enum assay_status status = get_u64s(r, w, object, key, UINT32_MAX, n, wide);
  for (int i = 0; i < n && !status; i++)
    out[i] = (uint32_t)wide[i];
  return status;
}

// --- modules and buffers ---------------------------------------------------------------------------------------------

// Device code as a string, for people; or as base64 when it is not UTF-8.
static enum assay_status read_text(struct reader *r, const struct where *w, json_t *v, struct plan_module *m) {
  json_t *text = json_object_get(v, "text");
  enum assay_status status = get_string(r, w, v, "options", 0, &m->options);
  if (status)
    return status;
  if (!text) {
    status = get_code(r, w, v, m);
    if (!status && memchr(m->bytes, 0, m->size))
      return fail(r, &(struct where){w, "base64", 0}, ASSAY_ERR_INVALID, "a source text must not contain a NUL");
    return status;
  }
  const struct where here = {w, "text", 0};
  if (!json_is_string(text))
    return fail(r, &here, ASSAY_ERR_INVALID, "must be a string");
  if (json_object_get(v, "base64") || json_object_get(v, "packed"))
    return fail(r, &here, ASSAY_ERR_INVALID, "is given together with base64; only one of them may be");
  m->size = json_string_length(text);
  if (m->size > PLAN_MAX_MODULE_BYTES - r->module_bytes)
    return fail(r, &here, ASSAY_ERR_LIMIT, "at most %zu bytes are allowed together", PLAN_MAX_MODULE_BYTES);
  r->module_bytes += m->size;
  m->bytes = (const uint8_t *)arena_strndup(r->arena, json_string_value(text), m->size);
  return m->bytes ? ASSAY_OK : nomem(r);
}

static enum assay_status read_module(struct reader *r, const struct where *w, json_t *v, void *out) {
  static const char *const text_keys[] = {"name", "code", "options", "text", "base64", "packed", NULL};
  static const char *const binary_keys[] = {"name", "code", "base64", "packed", NULL};
  struct plan_module *m = out;
  int code = 0;
  enum assay_status status = check_object(r, w, v, text_keys);
  if (!status)
    status = get_string(r, w, v, "name", 1, &m->name);
  if (!status)
    status = get_name(r, w, v, "code", plan_code_names, &code);
  if (status)
    return status;
  m->code = (enum plan_code)code;
  m->options = "";
  if (plan_code_is_text(m->code))
    return read_text(r, w, v, m);
  status = check_object(r, w, v, binary_keys);
  if (!status)
    status = get_code(r, w, v, m);
  return status;
}

static enum assay_status read_tensor(struct reader *r, const struct where *w, json_t *v, struct tensor_type *t) {
  const struct where here = {w, "dims", 0};
  char shown[PLAN_SHOWN_BYTES];
  const char *dtype;
  json_t *dims = json_object_get(v, "dims");
  enum assay_status status = get_string(r, w, v, "dtype", 1, &dtype);
  if (!status && (!dtype_by_name(dtype, strlen(dtype), &t->dtype) || dtype_bytes(t->dtype) == 0))
    return fail(r, &(struct where){w, "dtype", 0}, ASSAY_ERR_INVALID, "\"%s\" is not an element type that plans know",
                plan_shown(dtype, shown));
  if (!status)
    status = check_array(r, &here, dims, SHAPE_MAX_RANK);
  for (size_t i = 0; !status && i < json_array_size(dims); i++)
    status =
        read_integer(r, &(struct where){&here, NULL, (int)i}, json_array_get(dims, i), 0, INT64_MAX, &t->shape.dims[i]);
  if (!status)
    t->shape.rank = (int)json_array_size(dims);
  return status;
}

static enum assay_status read_buffer(struct reader *r, const struct where *w, json_t *v, void *out) {
  static const char *const keys[][9] = {
      [PLAN_INPUT] = {"name", "role", "index", "dtype", "dims", "bytes", "alignment", NULL},
      [PLAN_OUTPUT] = {"name", "role", "index", "dtype", "dims", "bytes", "alignment", NULL},
      [PLAN_SCRATCH] = {"name", "role", "bytes", "alignment", "zeroed", NULL},
      [PLAN_CONSTANT] = {"name", "role", "bytes", "alignment", "base64", "packed", NULL},
  };
  struct plan_buffer *b = out;
  int role = 0;
  int64_t bytes = 0;
  if (!json_is_object(v))
    return fail(r, w, ASSAY_ERR_INVALID, "must be an object");
  enum assay_status status = get_name(r, w, v, "role", plan_role_names, &role);
  if (!status)
    status = check_object(r, w, v, keys[role]);
  if (!status)
    status = get_string(r, w, v, "name", 1, &b->name);
  if (!status)
    status = get_integer(r, w, v, "bytes", role == PLAN_INPUT ? 0 : 1, INT64_MAX, &bytes);
  if (!status)
    status = get_u32(r, w, v, "alignment", UINT32_MAX, &b->alignment);
  b->role = (enum plan_role)role;
  b->bytes = (uint64_t)bytes;
  if (!status)
    status = get_bool(r, w, v, "zeroed", &b->zeroed);
  if (!status && (b->role == PLAN_INPUT || b->role == PLAN_OUTPUT)) {
    status = get_int(r, w, v, "index", 0, INT_MAX, &b->index);
    if (!status)
      status = read_tensor(r, w, v, &b->tensor);
  }
  if (!status && b->role == PLAN_CONSTANT) {
    struct bytes held = {0};
    status = get_large(r, w, v, (struct allowance){PLAN_MAX_CONSTANT_BYTES, &r->constant_bytes}, &held);
    b->data = held.data;
    if (!status && held.size != b->bytes)
      return fail(r, &(struct where){w, "base64", 0}, ASSAY_ERR_INVALID, "has %zu bytes, the buffer has %" PRIu64,
                  held.size, b->bytes);
  }
  return status;
}

// --- arguments -------------------------------------------------------------------------------------------------------

static enum assay_status read_pointer(struct reader *r, const struct where *w, json_t *v, struct plan_pointer *out) {
  static const char *const keys[] = {"at", "buffer", "offset", NULL};
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = get_u32(r, w, v, "at", UINT32_MAX, &out->at);
  if (!status)
    status = get_int(r, w, v, "buffer", 0, r->p->n_buffers - 1, &out->buffer);
  if (!status)
    status = get_integer(r, w, v, "offset", 0, INT64_MAX, &out->offset);
  return status;
}

static enum assay_status read_bytes(struct reader *r, const struct where *w, json_t *v, struct plan_argument *a) {
  static const char *const keys[] = {"bytes", "pointers", "unsettled", NULL};
  const struct where here = {w, "pointers", 0};
  json_t *list = json_object_get(v, "pointers");
  struct bytes b = {0};
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = get_bytes(r, w, v, "bytes", (struct allowance){PLAN_MAX_ARGUMENT_BYTES, NULL}, &b);
  a->kind = PLAN_BYTES;
  a->bytes = b.data;
  a->size = (uint32_t)b.size;
  if (!status && json_object_get(v, "unsettled"))
    status = get_u32(r, w, v, "unsettled", (int64_t)b.size, &a->unsettled);
  if (status || !list)
    return status;
  status = check_array(r, &here, list, PLAN_MAX_ARGUMENT_BYTES / 8);
  if (status)
    return status;
  size_t n = json_array_size(list);
  struct plan_pointer *pointers = arena_calloc(r->arena, n + 1, sizeof *pointers);
  if (!pointers)
    return nomem(r);
  for (size_t i = 0; i < n && !status; i++)
    status = read_pointer(r, &(struct where){&here, NULL, (int)i}, json_array_get(list, i), &pointers[i]);
  a->n_pointers = (int)n;
  a->pointers = pointers;
  return status;
}

enum { LAST_DATA_TYPE = 15, LAST_INTERLEAVE = 2, LAST_SWIZZLE = 6, LAST_PROMOTION = 3, LAST_FILL = 1 };

static enum assay_status read_map(struct reader *r, const struct where *w, json_t *v, struct plan_argument *a) {
  static const char *const keys[] = {"buffer", "offset",          "data_type",  "rank",    "dims",         "strides",
                                     "box",    "element_strides", "interleave", "swizzle", "l2_promotion", "oob_fill",
                                     NULL};
  struct plan_tensor_map *m = arena_calloc(r->arena, 1, sizeof *m);
  int rank = 0;
  if (!m)
    return nomem(r);
  a->kind = PLAN_TENSOR_MAP;
  a->size = 128;
  a->map = m;
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = get_int(r, w, v, "buffer", 0, r->p->n_buffers - 1, &m->buffer);
  if (!status)
    status = get_integer(r, w, v, "offset", 0, INT64_MAX, &m->offset);
  if (!status)
    status = get_u32(r, w, v, "data_type", LAST_DATA_TYPE, &m->data_type);
  if (!status)
    status = get_int(r, w, v, "rank", 1, 5, &rank);
  if (!status)
    status = get_u64s(r, w, v, "dims", INT64_MAX, rank, m->dims);
  if (!status)
    status = get_u64s(r, w, v, "strides", INT64_MAX, rank - 1, m->strides);
  if (!status)
    status = get_u32s(r, w, v, "box", rank, m->box);
  if (!status)
    status = get_u32s(r, w, v, "element_strides", rank, m->element_strides);
  if (!status)
    status = get_u32(r, w, v, "interleave", LAST_INTERLEAVE, &m->interleave);
  if (!status)
    status = get_u32(r, w, v, "swizzle", LAST_SWIZZLE, &m->swizzle);
  if (!status)
    status = get_u32(r, w, v, "l2_promotion", LAST_PROMOTION, &m->l2_promotion);
  if (!status)
    status = get_u32(r, w, v, "oob_fill", LAST_FILL, &m->oob_fill);
  m->rank = (uint32_t)rank;
  return status;
}

static enum assay_status read_argument(struct reader *r, const struct where *w, json_t *v, struct plan_argument *a) {
  static const char *const map_keys[] = {"tensor_map", NULL}, *const local_keys[] = {"local_memory", NULL};
  if (json_object_get(v, "tensor_map")) {
    enum assay_status status = check_object(r, w, v, map_keys);
    return status ? status : read_map(r, &(struct where){w, "tensor_map", 0}, json_object_get(v, "tensor_map"), a);
  }
  if (json_object_get(v, "local_memory")) {
    enum assay_status status = check_object(r, w, v, local_keys);
    a->kind = PLAN_LOCAL_MEMORY;
    return status ? status : get_u32(r, w, v, "local_memory", UINT32_MAX, &a->size);
  }
  return read_bytes(r, w, v, a);
}

// --- steps -----------------------------------------------------------------------------------------------------------

static enum assay_status read_launch(struct reader *r, const struct where *w, json_t *v, struct plan_step *s) {
  static const char *const keys[] = {"step",    "module",       "kernel",      "label",        "grid",     "block",
                                     "cluster", "shared_bytes", "cooperative", "programmatic", "carveout", "arguments",
                                     NULL};
  const struct where here = {w, "arguments", 0};
  json_t *list = json_object_get(v, "arguments");
  int carveout = -1;
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = get_int(r, w, v, "module", 0, r->p->n_modules - 1, &s->module);
  if (!status)
    status = get_string(r, w, v, "kernel", 1, &s->kernel);
  if (!status && json_object_get(v, "label"))
    status = get_string(r, w, v, "label", 0, &s->label);
  if (!status)
    status = get_u32s(r, w, v, "grid", 3, s->grid);
  if (!status)
    status = get_u32s(r, w, v, "block", 3, s->block);
  if (!status && json_object_get(v, "cluster"))
    status = get_u32s(r, w, v, "cluster", 3, s->cluster);
  if (!status && json_object_get(v, "shared_bytes"))
    status = get_u32(r, w, v, "shared_bytes", UINT32_MAX, &s->shared_bytes);
  if (!status)
    status = get_bool(r, w, v, "cooperative", &s->cooperative);
  if (!status)
    status = get_bool(r, w, v, "programmatic", &s->programmatic);
  if (!status && json_object_get(v, "carveout"))
    status = get_int(r, w, v, "carveout", -1, 100, &carveout);
  if (!status)
    status = check_array(r, &here, list, PLAN_MAX_ARGUMENTS);
  if (status)
    return status;
  size_t n = json_array_size(list);
  struct plan_argument *arguments = arena_calloc(r->arena, n + 1, sizeof *arguments);
  if (!arguments)
    return nomem(r);
  for (size_t i = 0; i < n && !status; i++)
    status = read_argument(r, &(struct where){&here, NULL, (int)i}, json_array_get(list, i), &arguments[i]);
  s->carveout = carveout;
  s->n_arguments = (int)n;
  s->arguments = arguments;
  return status;
}

static enum assay_status read_place(struct reader *r, const struct where *w, json_t *v, const char *key,
                                    struct plan_place *out) {
  static const char *const keys[] = {"buffer", "offset", NULL};
  const struct where here = {w, key, 0};
  json_t *place = json_object_get(v, key);
  enum assay_status status = check_object(r, &here, place, keys);
  if (!status)
    status = get_int(r, &here, place, "buffer", 0, r->p->n_buffers - 1, &out->buffer);
  if (!status)
    status = get_integer(r, &here, place, "offset", 0, INT64_MAX, &out->offset);
  return status;
}

static enum assay_status read_count(struct reader *r, const struct where *w, json_t *v, struct plan_step *s) {
  int64_t bytes = 0;
  enum assay_status status = get_integer(r, w, v, "bytes", 1, INT64_MAX, &bytes);
  s->bytes = (uint64_t)bytes;
  return status;
}

static enum assay_status read_fill(struct reader *r, const struct where *w, json_t *v, struct plan_step *s) {
  static const char *const keys[] = {"step", "to", "bytes", "value", "width", NULL};
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = read_place(r, w, v, "to", &s->to);
  if (!status)
    status = read_count(r, w, v, s);
  if (!status)
    status = get_u32(r, w, v, "value", UINT32_MAX, &s->value);
  if (!status)
    status = get_u32(r, w, v, "width", 4, &s->width);
  return status;
}

static enum assay_status read_copy(struct reader *r, const struct where *w, json_t *v, struct plan_step *s) {
  static const char *const keys[] = {"step", "to", "from", "bytes", NULL};
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = read_place(r, w, v, "to", &s->to);
  if (!status)
    status = read_place(r, w, v, "from", &s->from);
  return status ? status : read_count(r, w, v, s);
}

static enum assay_status read_set_symbol(struct reader *r, const struct where *w, json_t *v, struct plan_step *s) {
  static const char *const keys[] = {"step", "module", "symbol", "offset", "from", "bytes", NULL};
  enum assay_status status = check_object(r, w, v, keys);
  if (!status)
    status = get_int(r, w, v, "module", 0, r->p->n_modules - 1, &s->module);
  if (!status)
    status = get_string(r, w, v, "symbol", 1, &s->symbol);
  if (!status)
    status = get_integer(r, w, v, "offset", 0, INT64_MAX, &s->to.offset);
  if (!status)
    status = read_place(r, w, v, "from", &s->from);
  return status ? status : read_count(r, w, v, s);
}

static enum assay_status read_step(struct reader *r, const struct where *w, json_t *v, void *out) {
  struct plan_step *s = out;
  int kind = 0;
  if (!json_is_object(v))
    return fail(r, w, ASSAY_ERR_INVALID, "must be an object");
  enum assay_status status = get_name(r, w, v, "step", plan_step_names, &kind);
  if (status)
    return status;
  s->kind = (enum plan_step_kind)kind;
  s->carveout = -1;
  switch (s->kind) {
  case PLAN_LAUNCH:
    return read_launch(r, w, v, s);
  case PLAN_FILL:
    return read_fill(r, w, v, s);
  case PLAN_COPY:
    return read_copy(r, w, v, s);
  case PLAN_SET_SYMBOL:
    return read_set_symbol(r, w, v, s);
  }
  return ASSAY_OK;
}

// --- the whole -------------------------------------------------------------------------------------------------------

typedef enum assay_status read_fn(struct reader *r, const struct where *w, json_t *v, void *out);

// A member that is a list, each element read into one struct of `size` bytes.
struct list_kind {
  const char *key;
  size_t most;
  read_fn *read;
  size_t size; // of an element
};

static enum assay_status read_list(struct reader *r, const struct where *w, json_t *object,
                                   const struct list_kind *kind, int *n, void **out) {
  const struct where here = {w, kind->key, 0};
  json_t *list = json_object_get(object, kind->key);
  enum assay_status status = check_array(r, &here, list, kind->most);
  if (status)
    return status;
  size_t count = json_array_size(list);
  char *elements = arena_calloc(r->arena, count + 1, kind->size);
  if (!elements)
    return nomem(r);
  for (size_t i = 0; i < count && !status; i++)
    status = kind->read(r, &(struct where){&here, NULL, (int)i}, json_array_get(list, i), elements + i * kind->size);
  *n = (int)count;
  *out = elements;
  return status;
}

static enum assay_status read_plan(struct reader *r, json_t *v) {
  static const char *const keys[] = {"assay_plan", "task",    "workload",      "device", "target", "toolchain",
                                     "modules",    "buffers", "prepare_steps", "steps",  NULL};
  static const struct list_kind module_list = {.key = "modules",
                                               .most = PLAN_MAX_MODULES,
                                               .read = read_module,
                                               .size = sizeof(struct plan_module)},
                                buffer_list = {.key = "buffers",
                                               .most = PLAN_MAX_BUFFERS,
                                               .read = read_buffer,
                                               .size = sizeof(struct plan_buffer)},
                                step_list = {.key = "steps",
                                             .most = PLAN_MAX_STEPS,
                                             .read = read_step,
                                             .size = sizeof(struct plan_step)};
  const struct where root = {NULL, NULL, 0};
  struct plan *p = r->p;
  int format = 0;
  void *modules = NULL, *buffers = NULL, *steps = NULL;
  enum assay_status status = check_object(r, &root, v, keys);
  if (!status)
    status = get_int(r, &root, v, "assay_plan", PLAN_FORMAT, PLAN_FORMAT, &format);
  if (!status)
    status = get_string(r, &root, v, "task", 0, &p->task);
  if (!status)
    status = get_string(r, &root, v, "workload", 0, &p->workload);
  if (!status)
    status = get_device(r, &root, v, "device", &p->device);
  if (!status)
    status = get_string(r, &root, v, "target", 0, &p->target);
  if (!status)
    status = get_string(r, &root, v, "toolchain", 0, &p->toolchain);
  if (!status)
    status = read_list(r, &root, v, &module_list, &p->n_modules, &modules);
  if (!status)
    status = read_list(r, &root, v, &buffer_list, &p->n_buffers, &buffers);
  if (!status)
    status = read_list(r, &root, v, &step_list, &p->n_steps, &steps);
  if (!status)
    status = get_int(r, &root, v, "prepare_steps", 0, p->n_steps, &p->n_prepare);
  p->modules = modules;
  p->buffers = buffers;
  p->steps = steps;
  return status;
}

// Whether the text has at most so many values: every one but the first has a comma or an opening bracket before it.
static bool has_few_values(const char *s, size_t n) {
  size_t values = 1;
  bool quoted = false;
  for (size_t i = 0; i < n; i++) {
    if (s[i] == '"')
      quoted = !quoted;
    else if (quoted && s[i] == '\\')
      i++;
    else if (!quoted && (s[i] == ',' || s[i] == '[' || s[i] == '{' || s[i] == ':'))
      values++;
  }
  return values <= PLAN_MAX_JSON_VALUES;
}

static enum assay_status load(const char *json, size_t n, json_t **out, struct assay_error *err) {
  json_error_t e;
  char shown[PLAN_SHOWN_BYTES];
  if (n > PLAN_MAX_JSON_BYTES)
    return error_set(err, ASSAY_ERR_LIMIT, "the plan's text has %zu bytes; at most %zu are read", n,
                     PLAN_MAX_JSON_BYTES);
  if (!has_few_values(json, n))
    return error_set(err, ASSAY_ERR_LIMIT, "the plan's text has more than %zu values", PLAN_MAX_JSON_VALUES);
  *out = json_loadb(json, n, JSON_REJECT_DUPLICATES, &e);
  if (*out)
    return ASSAY_OK;
  if (json_error_code(&e) == json_error_out_of_memory)
    return error_nomem(err, "a plan");
  return error_set(err, ASSAY_ERR_SYNTAX, "the plan's text is not JSON: line %d, column %d: %s", e.line, e.column,
                   plan_shown(e.text, shown));
}

static enum assay_status parse(const char *json, size_t n, const uint8_t *packed, size_t packed_bytes, struct plan *out,
                               struct assay_error *err) {
  json_t *v = NULL;
  struct plan p = {0};
  struct reader r = {.p = &p, .arena = &p.arena, .packed = packed, .packed_bytes = packed_bytes, .err = err};
  enum assay_status status = load(json, n, &v, err);
  if (status)
    return status;
  status = read_plan(&r, v);
  json_decref(v);
  if (status)
    plan_release(&p);
  else
    *out = p;
  return status;
}

enum assay_status plan_parse(const char *json, size_t n, struct plan *out, struct assay_error *err) {
  return parse(json, n, NULL, 0, out, err);
}

enum assay_status plan_unpack(const void *bytes, size_t n, struct plan *out, struct assay_error *err) {
  uint64_t text_bytes = 0;
  if (n >= sizeof text_bytes)
    memcpy(&text_bytes, bytes, sizeof text_bytes);
  if (n < sizeof text_bytes || text_bytes > n - sizeof text_bytes)
    return error_set(err, ASSAY_ERR_INVALID, "a packed plan is cut off");
  const char *text = (const char *)bytes + sizeof text_bytes;
  return parse(text, text_bytes, (const uint8_t *)text + text_bytes, n - sizeof text_bytes - text_bytes, out, err);
}

enum assay_status plan_read(const char *path, struct plan *out, struct assay_error *err) {
  char *text;
  size_t n;
  enum assay_status status = file_read(path, PLAN_MAX_JSON_BYTES, &text, &n, err);
  if (status)
    return status;
  status = plan_parse(text, n, out, err);
  base_free(text);
  return status ? error_prefix(err, status, "%s: ", path) : ASSAY_OK;
}

void plan_release(struct plan *p) {
  arena_release(&p->arena);
  memset(p, 0, sizeof *p);
}
