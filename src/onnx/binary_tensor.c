// SPDX-License-Identifier: Apache-2.0
// TensorProto: constants with their elements, from raw bytes or from one of the typed lists.
#include <stdio.h>
#include <string.h>

#include "onnx/binary.h"

// The enumeration in Debian's schema ends at bfloat16, but the field is a plain number: newer types pass through it.
static enum assay_status tensor_dtype(const Onnx__TensorProto *p, const struct source_location *at, enum dtype *out,
                                      struct assay_error *err) {
  if (!p->has_data_type || p->data_type == 0)
    return build_error(err, ASSAY_ERR_INVALID, at, "the tensor does not say its data type");
  if (!dtype_by_number(p->data_type, out))
    return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "data type number %d is not supported", p->data_type);
  if (dtype_bytes(*out) == 0)
    return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "tensors of type %s are not supported", dtype_name(*out));
  return ASSAY_OK;
}

// Checked before any product of extents is formed, so that nothing after it can overflow.
static enum assay_status tensor_shape(const Onnx__TensorProto *p, const struct source_location *at, struct shape *out,
                                      struct assay_error *err) {
  struct assay_error inner = {0};
  if (p->n_dims > SHAPE_MAX_RANK)
    return build_error(err, ASSAY_ERR_LIMIT, at, "%zu dimensions; at most %d are supported", p->n_dims, SHAPE_MAX_RANK);
  *out = shape_of((int)p->n_dims, p->dims);
  if (shape_check(out, &inner))
    return build_error(err, inner.status, at, "%s", inner.message);
  return ASSAY_OK;
}

// int32_data holds the small types, one element a number: the value of integers, the bit pattern of floats.
static enum assay_status narrow(const Onnx__TensorProto *p, enum dtype t, unsigned char *data,
                                const struct source_location *at, struct assay_error *err) {
  size_t bytes = dtype_bytes(t);
  int64_t top = t == DTYPE_BOOL ? 2 : (int64_t)1 << dtype_bits(t);
  int64_t low = dtype_is_signed(t) ? -top / 2 : 0, high = (dtype_is_signed(t) ? top / 2 : top) - 1;
  for (size_t i = 0; i < p->n_int32_data; i++) {
    int32_t v = p->int32_data[i];
    if (bytes < 4 && (v < low || v > high))
      return build_error(err, ASSAY_ERR_INVALID, at, "element %zu is %d, which does not fit in %s (%lld..%lld)", i, v,
                         dtype_name(t), (long long)low, (long long)high);
    uint8_t u8 = (uint8_t)v;
    uint16_t u16 = (uint16_t)v;
    memcpy(data + i * bytes, bytes == 1 ? (void *)&u8 : bytes == 2 ? (void *)&u16 : (void *)&v, bytes);
  }
  return ASSAY_OK;
}

// Elements of less than 8 bits lie one after the other in a file, the first one lowest in its byte, and may go over
// from one byte to the next (6 bits). Here each has a byte.
size_t binary_packed_bytes(const struct tensor_type *t) {
  return ((size_t)shape_count(&t->shape) * (size_t)dtype_bits(t->dtype) + 7) / 8;
}

static void unpack(const uint8_t *packed, const struct tensor_type *t, unsigned char *data) {
  int bits = dtype_bits(t->dtype);
  size_t count = (size_t)shape_count(&t->shape), whole = binary_packed_bytes(t);
  for (size_t i = 0; i < count; i++) {
    size_t at = i * (size_t)bits;
    unsigned word = packed[at / 8] | (at / 8 + 1 < whole ? (unsigned)packed[at / 8 + 1] << 8 : 0);
    unsigned code = word >> at % 8 & ((1u << bits) - 1);
    bool negative = dtype_is_signed(t->dtype) && code >> (bits - 1);
    data[i] = (unsigned char)(negative ? code | ~((1u << bits) - 1) : code);
  }
}

void binary_pack(const struct tensor *t, unsigned char *packed) {
  int bits = dtype_bits(t->type.dtype);
  const uint8_t *data = t->data;
  memset(packed, 0, binary_packed_bytes(&t->type));
  for (size_t i = 0; i < (size_t)shape_count(&t->type.shape); i++) {
    size_t at = i * (size_t)bits;
    unsigned code = (data[i] & ((1u << bits) - 1)) << at % 8;
    packed[at / 8] |= (unsigned char)code;
    if (code >> 8)
      packed[at / 8 + 1] |= (unsigned char)(code >> 8);
  }
}

// Types of less than 8 bits. Of those of 4 and 2 bits, each number of int32_data is a byte as in raw_data; of those of
// 6 bits, an element.
static enum assay_status tensor_packed(struct arena *a, const Onnx__TensorProto *p, const struct tensor *t,
                                       const struct source_location *at, const void **out, struct assay_error *err) {
  char shape[SHAPE_TEXT_BYTES];
  size_t lists = p->n_float_data + p->n_double_data + p->n_int32_data + p->n_int64_data + p->n_uint64_data;
  bool raw = p->has_raw_data && (p->raw_data.len || !lists), one_each = !raw && dtype_bits(t->type.dtype) == 6;
  size_t count = (size_t)shape_count(&t->type.shape), need = one_each ? count : binary_packed_bytes(&t->type);
  if ((raw && lists) || (!raw && lists != p->n_int32_data))
    return build_error(err, ASSAY_ERR_INVALID, at,
                       "elements are given in several places; %s tensors have int32_data or raw_data",
                       dtype_name(t->type.dtype));
  size_t given = raw ? p->raw_data.len : p->n_int32_data;
  if (given != need)
    return build_error(err, ASSAY_ERR_INVALID, at, "%s has %zu numbers, but %s%s needs %zu",
                       raw ? "raw_data" : "int32_data", given, dtype_name(t->type.dtype),
                       shape_text(&t->type.shape, shape), need);
  unsigned char *data = build_alloc(a, count + 1, 1, "a tensor's elements", err);
  unsigned char *bytes = raw || one_each ? data : build_alloc(a, need + 1, 1, "a tensor's elements", err);
  if (!data || !bytes)
    return err ? err->status : ASSAY_ERR_NOMEM;
  *out = data;
  if (one_each)
    return narrow(p, t->type.dtype, data, at, err);
  for (size_t i = 0; !raw && i < need; i++) {
    if (p->int32_data[i] < -128 || p->int32_data[i] > 255)
      return build_error(err, ASSAY_ERR_INVALID, at, "number %zu of int32_data is %d, which is not a byte", i,
                         p->int32_data[i]);
    bytes[i] = (unsigned char)p->int32_data[i];
  }
  unpack(raw ? p->raw_data.data : bytes, &t->type, data);
  return ASSAY_OK;
}

// uint32 travels in 64-bit numbers.
static enum assay_status narrow_uint32(const Onnx__TensorProto *p, unsigned char *data,
                                       const struct source_location *at, struct assay_error *err) {
  for (size_t i = 0; i < p->n_uint64_data; i++) {
    uint32_t v = (uint32_t)p->uint64_data[i];
    if (v != p->uint64_data[i])
      return build_error(err, ASSAY_ERR_INVALID, at, "element %zu is %llu, which does not fit in uint32", i,
                         (unsigned long long)p->uint64_data[i]);
    memcpy(data + i * sizeof v, &v, sizeof v);
  }
  return ASSAY_OK;
}

// The typed list that holds elements of this type.
struct typed_list {
  const char *name;
  size_t n;
  const void *data;
  bool wide; // its elements are wider than the type's and need narrowing
};

static struct typed_list typed_list(const Onnx__TensorProto *p, enum dtype t) {
  switch (t) {
  case DTYPE_FLOAT:
    return (struct typed_list){"float_data", p->n_float_data, p->float_data, false};
  case DTYPE_DOUBLE:
    return (struct typed_list){"double_data", p->n_double_data, p->double_data, false};
  case DTYPE_INT64:
    return (struct typed_list){"int64_data", p->n_int64_data, p->int64_data, false};
  case DTYPE_UINT64:
    return (struct typed_list){"uint64_data", p->n_uint64_data, p->uint64_data, false};
  case DTYPE_UINT32:
    return (struct typed_list){"uint64_data", p->n_uint64_data, p->uint64_data, true};
  default:
    return (struct typed_list){"int32_data", p->n_int32_data, p->int32_data, true};
  }
}

// Elements stand in raw_data or in the list of their type, whole and nowhere else. The memory asked for is bounded by
// what the file holds, because the count is compared before anything is allocated.
static enum assay_status tensor_data(struct arena *a, const Onnx__TensorProto *p, const struct tensor *t,
                                     const struct source_location *at, const void **out, struct assay_error *err) {
  char shape[SHAPE_TEXT_BYTES];
  if (dtype_bits(t->type.dtype) < 8)
    return tensor_packed(a, p, t, at, out, err);
  struct typed_list list = typed_list(p, t->type.dtype);
  size_t unit = dtype_bytes(t->type.dtype), count = (size_t)shape_count(&t->type.shape); // at most 2^40: no overflow
  size_t lists = p->n_float_data + p->n_double_data + p->n_int32_data + p->n_int64_data + p->n_uint64_data;
  bool raw = p->has_raw_data && (p->raw_data.len || !lists);
  if ((raw && lists) || (!raw && lists != list.n))
    return build_error(err, ASSAY_ERR_INVALID, at,
                       "elements are given in several places; %s tensors have %s or "
                       "raw_data",
                       dtype_name(t->type.dtype), list.name);
  if (raw && p->raw_data.len != count * unit)
    return build_error(err, ASSAY_ERR_INVALID, at, "raw_data has %zu bytes, but %s%s needs %zu", p->raw_data.len,
                       dtype_name(t->type.dtype), shape_text(&t->type.shape, shape), count * unit);
  if (!raw && list.n != count)
    return build_error(err, ASSAY_ERR_INVALID, at, "%s has %zu elements, but %s%s needs %zu", list.name, list.n,
                       dtype_name(t->type.dtype), shape_text(&t->type.shape, shape), count);
  unsigned char *data = build_alloc(a, count + 1, unit, "a tensor's elements", err);
  if (!data)
    return err ? err->status : ASSAY_ERR_NOMEM;
  *out = data;
  if (raw || !list.wide) {
    if (count)
      memcpy(data, raw ? p->raw_data.data : list.data, count * unit);
    return ASSAY_OK;
  }
  return t->type.dtype == DTYPE_UINT32 ? narrow_uint32(p, data, at, err) : narrow(p, t->type.dtype, data, at, err);
}

// Raw bytes of bool may be anything; here they are 0 and 1, so that equal tensors are equal bytes.
static void normalise_bool(const struct tensor *t, unsigned char *data) {
  int64_t n = t->type.dtype == DTYPE_BOOL ? shape_count(&t->type.shape) : 0;
  for (int64_t i = 0; i < n; i++)
    data[i] = data[i] != 0;
}

enum assay_status binary_tensor(struct arena *a, const Onnx__TensorProto *p, const struct source_location *at,
                                struct tensor *out, struct assay_error *err) {
  struct tensor t = {0};
  if (p->n_external_data || (p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL))
    return build_error(err, ASSAY_ERR_UNSUPPORTED, at,
                       "tensors in external files are not supported; store them in the model");
  if (p->segment)
    return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "tensors in segments are not supported");
  TRY(tensor_dtype(p, at, &t.type.dtype, err));
  TRY(tensor_shape(p, at, &t.type.shape, err));
  TRY(tensor_data(a, p, &t, at, &t.data, err));
  if (p->name && *p->name)
    TRY(build_string(a, p->name, strlen(p->name), at, &t.name, err));
  normalise_bool(&t, (unsigned char *)(uintptr_t)t.data);
  *out = t;
  return ASSAY_OK;
}

enum assay_status onnx_read_tensor(const void *bytes, size_t len, const char *name, struct arena *arena,
                                   struct tensor *out, struct assay_error *err) {
  static const struct source_location at = {.path = "the tensor"};
  struct assay_error own = {0};
  struct binary_memory mem;
  ProtobufCMessage *p = NULL;
  if (!err)
    err = &own;
  enum assay_status status = binary_unpack(&onnx__tensor_proto__descriptor, bytes, len, "", &mem, &p, err);
  if (!status) {
    status = binary_tensor(arena, (const Onnx__TensorProto *)p, &at, out, err);
    protobuf_c_message_free_unpacked(p, &mem.allocator);
  }
  return status ? error_prefix(err, status, "%s: ", name) : ASSAY_OK;
}
