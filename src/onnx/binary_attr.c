// SPDX-License-Identifier: Apache-2.0
// AttributeProto.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "onnx/binary.h"

// Paths are cut at 2 kB: they are for people, and names inside them may be long.
enum assay_status binary_place(struct arena *a, struct source_location *out, struct assay_error *err, const char *fmt,
                               ...) {
  char text[2 * ASSAY_ERROR_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  char *path = build_alloc(a, strlen(text) + 1, 1, "a path", err);
  if (!path)
    return err->status;
  strcpy(path, text);
  *out = (struct source_location){.path = path};
  return ASSAY_OK;
}

// One more element than asked for, so that an empty list still has an address: NULL would mean "not a list of
// floats" to readers that look at the pointer.
static enum assay_status read_floats(struct arena *a, const float *from, size_t n, struct attr *out,
                                     struct assay_error *err) {
  double *to = build_alloc(a, n + 1, sizeof *to, "an attribute", err);
  if (!to)
    return err->status;
  for (size_t i = 0; i < n; i++)
    to[i] = (double)from[i];
  out->floats = to;
  out->count = n;
  return ASSAY_OK;
}

static enum assay_status read_ints(struct arena *a, const int64_t *from, size_t n, struct attr *out,
                                   struct assay_error *err) {
  int64_t *to = build_alloc(a, n + 1, sizeof *to, "an attribute", err);
  if (!to)
    return err->status;
  if (n)
    memcpy(to, from, n * sizeof *to);
  out->ints = to;
  out->count = n;
  return ASSAY_OK;
}

// Strings are bytes in ONNX; a NUL inside one would cut it short here, so build_string refuses it.
static enum assay_status read_strings(struct arena *a, const ProtobufCBinaryData *from, size_t n, struct attr *out,
                                      struct assay_error *err) {
  const char **to = build_alloc(a, n + 1, sizeof *to, "an attribute", err);
  if (!to)
    return err->status;
  for (size_t i = 0; i < n; i++)
    TRY(build_string(a, (const char *)from[i].data, from[i].len, &out->at, &to[i], err));
  out->strings = to;
  out->count = n;
  return ASSAY_OK;
}

static enum assay_status read_tensor(struct arena *a, const Onnx__AttributeProto *p, struct attr *out,
                                     struct assay_error *err) {
  if (!p->t)
    return build_error(err, ASSAY_ERR_INVALID, &out->at, "the attribute has type TENSOR but no tensor");
  struct tensor *t = build_alloc(a, 1, sizeof *t, "an attribute", err);
  if (!t)
    return err->status;
  out->tensor = t;
  out->count = 1;
  return binary_tensor(a, p->t, &out->at, t, err);
}

// Names the kind, because "not supported" alone does not tell the author what to rewrite.
static enum assay_status refuse(const Onnx__AttributeProto *p, const struct source_location *at,
                                struct assay_error *err) {
  const ProtobufCEnumValue *e =
      protobuf_c_enum_descriptor_get_value(&onnx__attribute_proto__attribute_type__descriptor, (int)p->type);
  if (p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH)
    return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "graphs as attributes (If, Loop, Scan) are not supported");
  return build_error(err, ASSAY_ERR_UNSUPPORTED, at, "attributes of type %s (%d) are not supported",
                     e ? e->name : "unknown", (int)p->type);
}

static enum assay_status read_value(struct arena *a, const Onnx__AttributeProto *p, struct attr *out,
                                    struct assay_error *err) {
  static const ProtobufCBinaryData empty = {0};
  switch (p->type) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
    return read_floats(a, &p->f, 1, out, err); // a missing value is the default, 0
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    return read_floats(a, p->floats, p->n_floats, out, err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
    return read_ints(a, &p->i, 1, out, err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    return read_ints(a, p->ints, p->n_ints, out, err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    return read_strings(a, p->has_s ? &p->s : &empty, 1, out, err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    return read_strings(a, p->strings, p->n_strings, out, err);
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
    return read_tensor(a, p, out, err);
  default:
    return refuse(p, &out->at, err);
  }
}

// Our numbers of attribute types, where ONNX's differ.
static enum attr_type attr_type(Onnx__AttributeProto__AttributeType t) {
  switch (t) {
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOAT:
    return ATTR_FLOAT;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT:
    return ATTR_INT;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING:
    return ATTR_STRING;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR:
    return ATTR_TENSOR;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__GRAPH:
    return ATTR_GRAPH;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS:
    return ATTR_FLOATS;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS:
    return ATTR_INTS;
  case ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRINGS:
    return ATTR_STRINGS;
  default:
    return 0;
  }
}

enum assay_status binary_attr(struct arena *a, const Onnx__AttributeProto *p, const struct source_location *at,
                              struct attr *out, struct assay_error *err) {
  *out = (struct attr){.at = *at, .type = p->has_type ? attr_type(p->type) : 0};
  TRY(build_string(a, p->name, strlen(p->name), at, &out->name, err));
  if (p->ref_attr_name && *p->ref_attr_name)
    return build_string(a, p->ref_attr_name, strlen(p->ref_attr_name), at, &out->ref, err);
  if (!p->has_type || p->type == ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__UNDEFINED)
    return build_error(err, ASSAY_ERR_INVALID, at, "the attribute does not say its type");
  return read_value(a, p, out, err);
}

enum assay_status binary_attrs(struct arena *a, Onnx__AttributeProto *const *p, size_t n, const char *parent,
                               struct attr **out, int *n_out, struct assay_error *err) {
  struct source_location at = {.path = parent};
  if (n > BUILD_MAX_LIST)
    return build_error(err, ASSAY_ERR_LIMIT, &at, "%zu attributes; at most %d are accepted", n, BUILD_MAX_LIST);
  struct attr *attrs = build_alloc(a, n + 1, sizeof *attrs, "attributes", err);
  if (!attrs)
    return err->status;
  // Quadratic in the number of attributes, which BUILD_MAX_LIST keeps small.
  for (size_t i = 0; i < n; i++) {
    if (!p[i]->name || !*p[i]->name)
      return build_error(err, ASSAY_ERR_INVALID, &at, "attribute[%zu] has no name", i);
    TRY(binary_place(a, &at, err, "%s.attribute[\"%.200s\"]", parent, p[i]->name));
    if (strlen(p[i]->name) > ONNX_MAX_NAME_BYTES)
      return build_error(err, ASSAY_ERR_LIMIT, &at, "the name has more than %d bytes", ONNX_MAX_NAME_BYTES);
    TRY(binary_attr(a, p[i], &at, &attrs[i], err));
    for (size_t k = 0; k < i; k++)
      if (strcmp(attrs[k].name, attrs[i].name) == 0)
        return build_error(err, ASSAY_ERR_INVALID, &at, "the attribute is given twice");
  }
  *out = attrs;
  *n_out = (int)n;
  return ASSAY_OK;
}
