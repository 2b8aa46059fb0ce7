// SPDX-License-Identifier: Apache-2.0
#include "task/safetensors.h"

#include <jansson.h>
#include <string.h>

#include "base/alloc.h"

static const struct {
  const char *name;
  enum dtype dtype;
} types[] = {
    {"F64", DTYPE_DOUBLE},         {"F32", DTYPE_FLOAT},
    {"F16", DTYPE_FLOAT16},        {"BF16", DTYPE_BFLOAT16},
    {"I64", DTYPE_INT64},          {"I32", DTYPE_INT32},
    {"I16", DTYPE_INT16},          {"I8", DTYPE_INT8},
    {"U64", DTYPE_UINT64},         {"U32", DTYPE_UINT32},
    {"U16", DTYPE_UINT16},         {"U8", DTYPE_UINT8},
    {"BOOL", DTYPE_BOOL},          {"F8_E4M3", DTYPE_FLOAT8E4M3FN},
    {"F8_E5M2", DTYPE_FLOAT8E5M2},
};

static enum dtype type_named(const char *name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strcmp(types[i].name, name) == 0)
      return types[i].dtype;
  return DTYPE_UNDEFINED;
}

static enum assay_status read_shape(const json_t *dims, struct shape *out, struct assay_error *err) {
  size_t rank = json_array_size(dims), i;
  const json_t *dim;
  if (!json_is_array(dims))
    return error_set(err, ASSAY_ERR_SYNTAX, "its shape is no array");
  if (rank > SHAPE_MAX_RANK)
    return error_set(err, ASSAY_ERR_LIMIT, "it has more than %d dimensions", SHAPE_MAX_RANK);
  *out = (struct shape){.rank = (int)rank};
  json_array_foreach(dims, i, dim) {
    if (!json_is_integer(dim) || json_integer_value(dim) < 0)
      return error_set(err, ASSAY_ERR_SYNTAX, "its shape has an extent that is no whole number");
    out->dims[i] = json_integer_value(dim);
  }
  return shape_check(out, err);
}

// Where the tensors' bytes are in the file: after the header.
struct data {
  uint64_t at, bytes;
};

// The header's entry of one tensor.
static enum assay_status read_entry(const json_t *entry, const struct data *data, struct safetensor *out,
                                    struct assay_error *err) {
  const json_t *offsets = json_object_get(entry, "data_offsets");
  const json_t *from = json_array_get(offsets, 0), *to = json_array_get(offsets, 1);
  const char *dtype = json_string_value(json_object_get(entry, "dtype"));
  if (!dtype || json_array_size(offsets) != 2 || !json_is_integer(from) || !json_is_integer(to))
    return error_set(err, ASSAY_ERR_SYNTAX, "it lacks a dtype or two data_offsets");
  json_int_t begin = json_integer_value(from), end = json_integer_value(to);
  if (begin < 0 || end < begin || (uint64_t)end > data->bytes)
    return error_set(err, ASSAY_ERR_SYNTAX, "its data_offsets %lld and %lld do not lie within %llu bytes of data",
                     (long long)begin, (long long)end, (unsigned long long)data->bytes);
  enum assay_status status = read_shape(json_object_get(entry, "shape"), &out->shape, err);
  if (status)
    return status;
  out->dtype = type_named(dtype);
  out->at = data->at + (uint64_t)begin;
  out->bytes = (size_t)(end - begin);
  if (out->dtype != DTYPE_UNDEFINED && out->bytes != (uint64_t)shape_count(&out->shape) * dtype_bytes(out->dtype))
    return error_set(err, ASSAY_ERR_SYNTAX, "its shape and dtype %s need another number of bytes than its %zu", dtype,
                     out->bytes);
  return ASSAY_OK;
}

static enum assay_status add_tensor(const char *name, const json_t *entry, const struct data *data,
                                    struct safetensors *s, struct assay_error *err) {
  struct safetensor *t = &s->tensors[s->n];
  enum assay_status status = read_entry(entry, data, t, err);
  if (status)
    return error_prefix(err, status, "tensor '%.100s': ", name);
  t->name = base_strndup(name, strlen(name));
  if (!t->name)
    return error_nomem(err, "a tensor's name");
  s->n++;
  return ASSAY_OK;
}

static const char METADATA[] = "__metadata__";

static enum assay_status read_all(json_t *header, const struct data *data, struct safetensors *s,
                                  struct assay_error *err) {
  const char *name;
  json_t *entry, *notes = json_object_get(header, METADATA);
  size_t room = json_object_size(header) + json_object_size(notes);
  enum assay_status status = ASSAY_OK;
  if (room > SAFETENSORS_MAX_TENSORS)
    return error_set(err, ASSAY_ERR_LIMIT, "more than %d tensors", SAFETENSORS_MAX_TENSORS);
  s->tensors = base_calloc(room + 1, sizeof *s->tensors);
  if (!s->tensors)
    return error_nomem(err, "a file's tensors");
  json_object_foreach(header, name, entry) {
    if (!status && strcmp(name, METADATA) != 0)
      status = add_tensor(name, entry, data, s, err);
  }
  // Notes of what was left out as the same as another tensor.
  json_object_foreach(notes, name, entry) {
    const char *same = json_string_value(entry);
    const json_t *tensor = same && strcmp(same, METADATA) != 0 ? json_object_get(header, same) : NULL;
    if (!status && tensor && !json_object_get(header, name))
      status = add_tensor(name, tensor, data, s, err);
  }
  return status;
}

enum assay_status safetensors_head_bytes(const void *bytes, uint64_t file_bytes, const char *name, size_t *head,
                                         struct assay_error *err) {
  const unsigned char *at = bytes;
  uint64_t length = 0;
  for (int i = SAFETENSORS_LENGTH_BYTES - 1; i >= 0 && file_bytes >= SAFETENSORS_LENGTH_BYTES; i--)
    length = length << 8 | at[i];
  if (file_bytes < SAFETENSORS_LENGTH_BYTES || length > file_bytes - SAFETENSORS_LENGTH_BYTES)
    return error_set(err, ASSAY_ERR_SYNTAX, "%s: this is no safetensors file, or it is cut short", name);
  if (length > SAFETENSORS_MAX_HEADER)
    return error_set(err, ASSAY_ERR_LIMIT, "%s: its header has more than %d bytes", name, SAFETENSORS_MAX_HEADER);
  *head = SAFETENSORS_LENGTH_BYTES + (size_t)length;
  return ASSAY_OK;
}

enum assay_status safetensors_read(const void *head, size_t head_bytes, uint64_t file_bytes, const char *name,
                                   struct safetensors *out, struct assay_error *err) {
  const struct data data = {head_bytes, file_bytes - head_bytes};
  struct safetensors s = {0};
  json_error_t problem;
  json_t *header = json_loadb((const char *)head + SAFETENSORS_LENGTH_BYTES, head_bytes - SAFETENSORS_LENGTH_BYTES,
                              JSON_REJECT_DUPLICATES, &problem);
  enum assay_status status = ASSAY_OK;
  if (!header && json_error_code(&problem) == json_error_out_of_memory)
    status = error_nomem(err, "a file's header");
  else if (!json_is_object(header))
    status = error_set(err, ASSAY_ERR_SYNTAX, "its header is no JSON object%s%s", header ? "" : ": ",
                       header ? "" : problem.text);
  if (!status)
    status = read_all(header, &data, &s, err);
  json_decref(header);
  if (status) {
    safetensors_release(&s);
    return error_prefix(err, status, "%s: ", name);
  }
  *out = s;
  return ASSAY_OK;
}

void safetensors_release(struct safetensors *s) {
  for (int i = 0; i < s->n; i++)
    base_free(s->tensors[i].name);
  base_free(s->tensors);
  *s = (struct safetensors){0};
}
