// SPDX-License-Identifier: Apache-2.0
// Types of directive lines, and numbers as their bits.
#include <inttypes.h>
#include <string.h>

#include "toolchain/directive/private.h"

// The first name of a type is what messages call it.
static const struct element_type types[] = {
    {"float", 1, 4, KIND_FLOAT},      {"half", 10, 2, KIND_SMALL},      {"bf16", 16, 2, KIND_SMALL},
    {"double", 11, 8, KIND_DOUBLE},   {"bool", 9, 1, KIND_BOOL},        {"int8", 3, 1, KIND_SIGNED},
    {"uint8", 2, 1, KIND_UNSIGNED},   {"int16", 5, 2, KIND_SIGNED},     {"uint16", 4, 2, KIND_UNSIGNED},
    {"int32", 6, 4, KIND_SIGNED},     {"uint32", 12, 4, KIND_UNSIGNED}, {"int64", 7, 8, KIND_SIGNED},
    {"uint64", 13, 8, KIND_UNSIGNED}, {"char", 3, 1, KIND_SIGNED},      {"uchar", 2, 1, KIND_UNSIGNED},
    {"short", 5, 2, KIND_SIGNED},     {"ushort", 4, 2, KIND_UNSIGNED},  {"int", 6, 4, KIND_SIGNED},
    {"uint", 12, 4, KIND_UNSIGNED},   {"long", 7, 8, KIND_SIGNED},      {"ulong", 13, 8, KIND_UNSIGNED},
    {"float16", 10, 2, KIND_SMALL},   {"bfloat16", 16, 2, KIND_SMALL},  {"float32", 1, 4, KIND_FLOAT},
    {"float64", 11, 8, KIND_DOUBLE},  {"e4m3", 17, 1, KIND_SMALL},      {"e5m2", 19, 1, KIND_SMALL},
};
enum { N_TYPES = sizeof types / sizeof *types };

const struct element_type *type_find(const char *name, size_t length) {
  for (int i = 0; i < N_TYPES; i++)
    if (strlen(types[i].name) == length && !memcmp(types[i].name, name, length))
      return &types[i];
  return NULL;
}

const struct element_type *type_of_dtype(enum dtype dtype) {
  for (int i = 0; i < N_TYPES; i++)
    if (types[i].dtype == dtype)
      return &types[i];
  return NULL;
}

static enum assay_status encode_integer(struct evaluation *e, const struct element_type *t, const struct expr *x,
                                        uint8_t bytes[8]) {
  int64_t v = 0;
  enum assay_status status = eval_integer(e, x, &v);
  if (status != ASSAY_OK)
    return status;
  int bits = (int)t->size * 8;
  int64_t least = t->kind != KIND_SIGNED ? 0 : bits == 64 ? INT64_MIN : -(INT64_C(1) << (bits - 1));
  int64_t most = t->kind == KIND_BOOL ? 1
                 : bits == 64         ? INT64_MAX
                                      : (INT64_C(1) << (t->kind == KIND_SIGNED ? bits - 1 : bits)) - 1;
  if (t->kind == KIND_BOOL)
    v = v != 0;
  if (v < least || v > most)
    return eval_error(e, x->at, "%" PRId64 " does not fit into %s (%" PRId64 " to %" PRId64 ")", v, t->name, least,
                      most);
  uint64_t u = (uint64_t)v;
  for (uint32_t i = 0; i < 8; i++)
    bytes[i] = (uint8_t)(u >> (8 * i));
  return ASSAY_OK;
}

enum assay_status type_encode(struct evaluation *e, const struct element_type *t, const struct expr *x,
                              uint8_t bytes[8]) {
  double v = 0;
  memset(bytes, 0, 8);
  if (t->kind == KIND_SIGNED || t->kind == KIND_UNSIGNED || t->kind == KIND_BOOL)
    return encode_integer(e, t, x, bytes);
  enum assay_status status = eval_real(e, x, &v);
  if (status != ASSAY_OK)
    return status;
  if (t->kind == KIND_DOUBLE) {
    memcpy(bytes, &v, sizeof v);
  } else if (t->kind == KIND_FLOAT) {
    float f = (float)v;
    memcpy(bytes, &f, sizeof f);
  } else {
    dtype_from_f64(t->dtype, &v, 1, bytes);
  }
  return ASSAY_OK;
}
