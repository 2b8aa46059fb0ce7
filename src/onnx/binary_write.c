// SPDX-License-Identifier: Apache-2.0
// Models as binary files, through protobuf-c. The message structs are made in an arena of their own and borrow names
// and elements from the model, so large tensors are not copied before they are packed.
#include <stdio.h>
#include <string.h>

#include "onnx/binary.h"

struct writer {
  struct arena arena;
  struct assay_error *err;
};

// n messages and the array of pointers to them that protobuf-c wants.
// Items are contiguous in one allocation; protobuf-c wants pointers to them and an initialiser run on each.
static void **make_list(struct writer *w, size_t n, size_t size, ProtobufCMessageInit init) {
  void **list = build_alloc(&w->arena, n + 1, sizeof *list, "a binary model", w->err);
  unsigned char *items = list ? build_alloc(&w->arena, n + 1, size, "a binary model", w->err) : NULL;
  if (!items)
    return NULL;
  for (size_t i = 0; i < n; i++) {
    list[i] = items + i * size;
    init(list[i]);
  }
  return list;
}

static void *make_one(struct writer *w, size_t size, ProtobufCMessageInit init) {
  void **list = make_list(w, 1, size, init);
  return list ? list[0] : NULL;
}

#define MAKE(w, type, init) ((type *)make_one(w, sizeof(type), (ProtobufCMessageInit)(init)))
#define MAKE_LIST(w, n, type, init) ((type **)make_list(w, n, sizeof(type), (ProtobufCMessageInit)(init)))

// protobuf-c's structs are not const-correct; packing only reads.
static char *borrow(const char *s) {
  return (char *)(uintptr_t)s;
}

// A rank of -1 is the absence of a shape, which is not the same as a shape without dimensions (a scalar).
static Onnx__TypeProto *write_type(struct writer *w, const struct value *v) {
  Onnx__TypeProto *type = MAKE(w, Onnx__TypeProto, onnx__type_proto__init);
  Onnx__TypeProto__Tensor *tensor = MAKE(w, Onnx__TypeProto__Tensor, onnx__type_proto__tensor__init);
  if (!type || !tensor)
    return NULL;
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  tensor->has_elem_type = 1;
  tensor->elem_type = v->dtype;
  if (v->rank < 0)
    return type;
  tensor->shape = MAKE(w, Onnx__TensorShapeProto, onnx__tensor_shape_proto__init);
  Onnx__TensorShapeProto__Dimension **dims =
      MAKE_LIST(w, (size_t)v->rank, Onnx__TensorShapeProto__Dimension, onnx__tensor_shape_proto__dimension__init);
  if (!tensor->shape || !dims)
    return NULL;
  for (int i = 0; i < v->rank; i++) {
    if (v->dims[i].symbol) {
      dims[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
      dims[i]->dim_param = borrow(v->dims[i].symbol);
    } else if (v->dims[i].value >= 0) {
      dims[i]->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
      dims[i]->dim_value = v->dims[i].value;
    }
  }
  tensor->shape->n_dim = (size_t)v->rank;
  tensor->shape->dim = dims;
  return type;
}

static enum assay_status write_value(struct writer *w, const struct value *v, Onnx__ValueInfoProto *out) {
  out->name = borrow(v->name);
  if (v->dtype == DTYPE_UNDEFINED)
    return ASSAY_OK;
  out->type = write_type(w, v);
  return out->type ? ASSAY_OK : ASSAY_ERR_NOMEM;
}

static enum assay_status write_values(struct writer *w, const struct graph *g, const int *indices, int n,
                                      Onnx__ValueInfoProto ***out, size_t *n_out) {
  *out = MAKE_LIST(w, (size_t)n, Onnx__ValueInfoProto, onnx__value_info_proto__init);
  if (!*out)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < n; i++)
    TRY(write_value(w, &g->values[indices[i]], (*out)[i]));
  *n_out = (size_t)n;
  return ASSAY_OK;
}

// Always raw: it is the shortest form and the only one that has every type.
static enum assay_status write_tensor(struct writer *w, const struct tensor *t, const char *name,
                                      Onnx__TensorProto *out) {
  out->name = borrow(name);
  out->has_data_type = 1;
  out->data_type = t->type.dtype;
  out->n_dims = (size_t)t->type.shape.rank;
  out->dims = (int64_t *)(uintptr_t)t->type.shape.dims;
  out->has_raw_data = 1;
  out->raw_data.len = tensor_type_bytes(&t->type);
  out->raw_data.data = (uint8_t *)(uintptr_t)t->data;
  if (dtype_bits(t->type.dtype) >= 8)
    return ASSAY_OK;
  out->raw_data.len = binary_packed_bytes(&t->type);
  out->raw_data.data = build_alloc(&w->arena, out->raw_data.len + 1, 1, "a binary model", w->err);
  if (!out->raw_data.data)
    return ASSAY_ERR_NOMEM;
  binary_pack(t, out->raw_data.data);
  return ASSAY_OK;
}

// Constants, and types of values that are in no other list.
static enum assay_status write_constants(struct writer *w, const struct graph *g, Onnx__GraphProto *out) {
  unsigned char *listed = build_alloc(&w->arena, (size_t)g->n_values + 1, 1, "a binary model", w->err);
  out->initializer = MAKE_LIST(w, (size_t)g->n_values, Onnx__TensorProto, onnx__tensor_proto__init);
  out->value_info = MAKE_LIST(w, (size_t)g->n_values, Onnx__ValueInfoProto, onnx__value_info_proto__init);
  if (!listed || !out->initializer || !out->value_info)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < g->n_inputs; i++)
    listed[g->inputs[i]] = 1;
  for (int i = 0; i < g->n_outputs; i++)
    listed[g->outputs[i]] = 1;
  for (int i = 0; i < g->n_values; i++) {
    const struct value *v = &g->values[i];
    if (v->constant)
      TRY(write_tensor(w, v->constant, v->name, out->initializer[out->n_initializer++]));
    else if (!listed[i] && v->dtype != DTYPE_UNDEFINED)
      TRY(write_value(w, v, out->value_info[out->n_value_info++]));
  }
  return ASSAY_OK;
}

// Attributes hold strings as bytes with a length.
static enum assay_status write_strings(struct writer *w, const char *const *from, size_t n, ProtobufCBinaryData **out) {
  *out = build_alloc(&w->arena, n + 1, sizeof **out, "a binary model", w->err);
  if (!*out)
    return ASSAY_ERR_NOMEM;
  for (size_t i = 0; i < n; i++)
    (*out)[i] = (ProtobufCBinaryData){.len = strlen(from[i]), .data = (uint8_t *)borrow(from[i])};
  return ASSAY_OK;
}

static enum assay_status write_floats(struct writer *w, const struct attr *a, Onnx__AttributeProto *out) {
  out->floats = build_alloc(&w->arena, a->count + 1, sizeof *out->floats, "a binary model", w->err);
  if (!out->floats)
    return ASSAY_ERR_NOMEM;
  for (size_t i = 0; i < a->count; i++)
    out->floats[i] = (float)a->floats[i]; // exact: the readers round to float
  out->n_floats = a->count;
  return ASSAY_OK;
}

static enum assay_status write_attr(struct writer *w, const struct attr *a, Onnx__AttributeProto *out) {
  ProtobufCBinaryData *strings;
  out->name = borrow(a->name);
  out->has_type = 1;
  out->type = (Onnx__AttributeProto__AttributeType)a->type; // our numbers are ONNX's for the types that we have
  out->ref_attr_name = borrow(a->ref);
  if (a->ref)
    return ASSAY_OK;
  switch (a->type) {
  case ATTR_FLOAT:
    out->has_f = 1;
    out->f = (float)a->floats[0];
    return ASSAY_OK;
  case ATTR_INT:
    out->has_i = 1;
    out->i = a->ints[0];
    return ASSAY_OK;
  case ATTR_FLOATS:
    return write_floats(w, a, out);
  case ATTR_INTS:
    out->n_ints = a->count;
    out->ints = (int64_t *)(uintptr_t)a->ints;
    return ASSAY_OK;
  case ATTR_TENSOR:
    out->t = MAKE(w, Onnx__TensorProto, onnx__tensor_proto__init);
    if (!out->t)
      return ASSAY_ERR_NOMEM;
    return write_tensor(w, a->tensor, a->tensor->name, out->t);
  default: // ATTR_STRING(S); the readers refuse graphs
    TRY(write_strings(w, a->strings, a->count, &strings));
    out->n_strings = a->type == ATTR_STRINGS ? a->count : 0;
    out->strings = strings;
    out->has_s = a->type == ATTR_STRING;
    if (out->has_s)
      out->s = strings[0];
    return ASSAY_OK;
  }
}

// An operand that is left out is an empty name.
static enum assay_status write_names(struct writer *w, const struct graph *g, const int *indices, int n, char ***out,
                                     size_t *n_out) {
  *out = build_alloc(&w->arena, (size_t)n + 1, sizeof **out, "a binary model", w->err);
  if (!*out)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < n; i++)
    (*out)[i] = borrow(indices[i] < 0 ? "" : g->values[indices[i]].name);
  *n_out = (size_t)n;
  return ASSAY_OK;
}

// Empty names and the standard domain are left out, as ONNX's own helpers do.
static enum assay_status write_nodes(struct writer *w, const struct graph *g, Onnx__NodeProto ***out, size_t *n_out) {
  *out = MAKE_LIST(w, (size_t)g->n_nodes, Onnx__NodeProto, onnx__node_proto__init);
  if (!*out)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    Onnx__NodeProto *p = (*out)[i];
    p->name = *n->name ? borrow(n->name) : NULL;
    p->op_type = borrow(n->op_type);
    p->domain = *n->domain ? borrow(n->domain) : NULL;
    TRY(write_names(w, g, n->inputs, n->n_inputs, &p->input, &p->n_input));
    TRY(write_names(w, g, n->outputs, n->n_outputs, &p->output, &p->n_output));
    p->attribute = MAKE_LIST(w, (size_t)n->n_attrs, Onnx__AttributeProto, onnx__attribute_proto__init);
    if (!p->attribute)
      return ASSAY_ERR_NOMEM;
    p->n_attribute = (size_t)n->n_attrs;
    for (int k = 0; k < n->n_attrs; k++)
      TRY(write_attr(w, &n->attrs[k], p->attribute[k]));
  }
  *n_out = (size_t)g->n_nodes;
  return ASSAY_OK;
}

static enum assay_status write_opsets(struct writer *w, const struct opset_import *o, int n,
                                      Onnx__OperatorSetIdProto ***out, size_t *n_out) {
  *out = MAKE_LIST(w, (size_t)n, Onnx__OperatorSetIdProto, onnx__operator_set_id_proto__init);
  if (!*out)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < n; i++) {
    (*out)[i]->domain = borrow(o[i].domain);
    (*out)[i]->has_version = 1;
    (*out)[i]->version = o[i].version;
  }
  *n_out = (size_t)n;
  return ASSAY_OK;
}

// Field 11 of FunctionProto (attribute_proto), which the schema in use does not have: packed here with its length
// prefix.
static enum assay_status write_default(struct writer *w, const struct attr *a, ProtobufCMessageUnknownField *out) {
  Onnx__AttributeProto *p = MAKE(w, Onnx__AttributeProto, onnx__attribute_proto__init);
  if (!p)
    return ASSAY_ERR_NOMEM;
  TRY(write_attr(w, a, p));
  size_t len = protobuf_c_message_get_packed_size(&p->base), n = 0;
  uint8_t *data = build_alloc(&w->arena, len + 10, 1, "a binary model", w->err);
  if (!data)
    return ASSAY_ERR_NOMEM;
  for (size_t rest = len; rest || n == 0; rest >>= 7)
    data[n++] = (uint8_t)((rest & 0x7F) | (rest > 0x7F ? 0x80 : 0));
  protobuf_c_message_pack(&p->base, data + n);
  *out = (ProtobufCMessageUnknownField){
      .tag = 11, .wire_type = PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED, .len = n + len, .data = data};
  return ASSAY_OK;
}

static enum assay_status write_function(struct writer *w, const struct function *f, Onnx__FunctionProto *out) {
  out->name = borrow(f->name);
  out->domain = borrow(f->domain);
  out->n_attribute = (size_t)f->n_attrs;
  out->attribute = (char **)(uintptr_t)f->attr_names;
  TRY(write_opsets(w, f->opsets, f->n_opsets, &out->opset_import, &out->n_opset_import));
  TRY(write_names(w, &f->body, f->body.inputs, f->body.n_inputs, &out->input, &out->n_input));
  TRY(write_names(w, &f->body, f->body.outputs, f->body.n_outputs, &out->output, &out->n_output));
  ProtobufCMessageUnknownField *more =
      build_alloc(&w->arena, (size_t)f->n_defaults + 1, sizeof *more, "a binary model", w->err);
  if (!more)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < f->n_defaults; i++)
    TRY(write_default(w, &f->defaults[i], &more[i]));
  out->base.n_unknown_fields = (unsigned)f->n_defaults;
  out->base.unknown_fields = more;
  return write_nodes(w, &f->body, &out->node, &out->n_node);
}

// Strings that were not given are not written: NULL is absent, "" is present and empty.
static enum assay_status write_header(struct writer *w, const struct model *m, Onnx__ModelProto *out) {
  out->has_ir_version = 1;
  out->ir_version = m->ir_version;
  out->has_model_version = m->model_version != 0;
  out->model_version = m->model_version;
  out->producer_name = borrow(m->producer_name);
  out->producer_version = borrow(m->producer_version);
  out->domain = borrow(m->domain);
  out->doc_string = borrow(m->doc_string);
  TRY(write_opsets(w, m->opsets, m->n_opsets, &out->opset_import, &out->n_opset_import));
  out->metadata_props =
      MAKE_LIST(w, (size_t)m->n_properties, Onnx__StringStringEntryProto, onnx__string_string_entry_proto__init);
  if (!out->metadata_props)
    return ASSAY_ERR_NOMEM;
  for (int i = 0; i < m->n_properties; i++) {
    out->metadata_props[i]->key = borrow(m->properties[i].key);
    out->metadata_props[i]->value = borrow(m->properties[i].value);
  }
  out->n_metadata_props = (size_t)m->n_properties;
  return ASSAY_OK;
}

static enum assay_status write_model(struct writer *w, const struct model *m, Onnx__ModelProto *out) {
  const struct graph *g = &m->graph;
  TRY(write_header(w, m, out));
  out->graph = MAKE(w, Onnx__GraphProto, onnx__graph_proto__init);
  out->functions = MAKE_LIST(w, (size_t)m->n_functions, Onnx__FunctionProto, onnx__function_proto__init);
  if (!out->graph || !out->functions)
    return ASSAY_ERR_NOMEM;
  out->graph->name = borrow(g->name);
  TRY(write_values(w, g, g->inputs, g->n_inputs, &out->graph->input, &out->graph->n_input));
  TRY(write_values(w, g, g->outputs, g->n_outputs, &out->graph->output, &out->graph->n_output));
  TRY(write_constants(w, g, out->graph));
  TRY(write_nodes(w, g, &out->graph->node, &out->graph->n_node));
  for (int i = 0; i < m->n_functions; i++)
    TRY(write_function(w, &m->functions[i], out->functions[i]));
  out->n_functions = (size_t)m->n_functions;
  return ASSAY_OK;
}

struct sink {
  ProtobufCBuffer base;
  struct buf *out;
};

// Packing goes straight into the caller's buffer, without a second copy of a large model.
static void sink_append(ProtobufCBuffer *base, size_t len, const uint8_t *data) {
  buf_append(((struct sink *)base)->out, data, len);
}

enum assay_status onnx_write_binary(const struct model *m, struct buf *out, struct assay_error *err) {
  struct writer w = {.err = err};
  Onnx__ModelProto p = ONNX__MODEL_PROTO__INIT;
  struct sink sink = {.base = {.append = sink_append}, .out = out};
  enum assay_status status = write_model(&w, m, &p);
  if (!status) {
    protobuf_c_message_pack_to_buffer(&p.base, &sink.base);
    status = buf_status(out, err);
  }
  arena_release(&w.arena);
  return status;
}
