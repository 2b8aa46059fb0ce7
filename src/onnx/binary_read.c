// SPDX-License-Identifier: Apache-2.0
// ModelProto: graphs, functions and the model's own fields. protobuf-c has unpacked the bytes (binary_scan.c); here
// they become a graph, with the path of every part ("graph.node[3]") for messages.
#include <stdio.h>
#include <string.h>

#include "onnx/binary.h"

// Fields that came after the schema that Debian ships (IR version 8), and change what a model means.
enum { NODE_OVERLOAD = 8, FUNCTION_ATTRIBUTE_PROTO = 11, FUNCTION_OVERLOAD = 13, TYPE_OPAQUE = 7 };

struct reader {
  struct model *model;
  struct arena *arena;
  struct assay_error *err;
};

// protobuf-c leaves NULL where an optional string is missing.
static const char *text_or(const char *s, const char *fallback) {
  return s ? s : fallback;
}

// Strings are copied to the arena: the unpacked message is freed before the model.
static enum assay_status keep_string(struct reader *r, const char *s, const char *path, const char **out) {
  struct source_location at = {.path = path};
  *out = NULL;
  if (!s)
    return ASSAY_OK;
  return build_string(r->arena, s, strlen(s), &at, out, r->err);
}

// Missing names become "", as the specification reads them.
static enum assay_status keep_name(struct reader *r, const char *s, const struct source_location *at,
                                   const char **out) {
  s = text_or(s, "");
  if (strlen(s) > ONNX_MAX_NAME_BYTES)
    return build_error(r->err, ASSAY_ERR_LIMIT, at, "a name has %zu bytes; at most %d are accepted", strlen(s),
                       ONNX_MAX_NAME_BYTES);
  return build_string(r->arena, s, strlen(s), at, out, r->err);
}

// A dimension with neither value nor name is unknown. A negative one is refused and not taken for unknown: some old
// exporters wrote -1 for that, others by mistake, and a wrong guess would show up far from here.
static enum assay_status read_dims(struct reader *r, const Onnx__TensorShapeProto *p, const struct source_location *at,
                                   struct value_type *out) {
  if (p->n_dim > SHAPE_MAX_RANK)
    return build_error(r->err, ASSAY_ERR_LIMIT, at, "%zu dimensions; at most %d are supported", p->n_dim,
                       SHAPE_MAX_RANK);
  out->rank = (int)p->n_dim;
  for (int i = 0; i < out->rank; i++) {
    const Onnx__TensorShapeProto__Dimension *d = p->dim[i];
    out->dims[i] = (struct dim){.value = -1};
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
      if (d->dim_value < 0)
        return build_error(r->err, ASSAY_ERR_INVALID, at, "dimension %d is %lld; dimensions are not negative", i,
                           (long long)d->dim_value);
      out->dims[i].value = d->dim_value;
    } else if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *text_or(d->dim_param, "")) {
      TRY(keep_name(r, d->dim_param, at, &out->dims[i].symbol));
    }
  }
  return ASSAY_OK;
}

// Anything but a dense tensor of a type that can be computed with is refused where it is declared, because the message
// is clearer there than at the first node that meets it.
static enum assay_status read_type(struct reader *r, const Onnx__TypeProto *p, const struct source_location *at,
                                   struct value_type *out) {
  static const struct {
    Onnx__TypeProto__ValueCase value_case;
    const char *name;
  } others[] = {{ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE, "sequences"},
                {ONNX__TYPE_PROTO__VALUE_MAP_TYPE, "maps"},
                {ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE, "optional values"},
                {ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE, "sparse tensors"}};
  *out = (struct value_type){.dtype = DTYPE_UNDEFINED, .rank = -1};
  if (!p)
    return ASSAY_OK;
  for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
    if (p->value_case == others[i].value_case)
      return build_error(r->err, ASSAY_ERR_UNSUPPORTED, at, "%s are not supported: values are tensors here",
                         others[i].name);
  if (binary_unknown(&p->base, TYPE_OPAQUE, 0))
    return build_error(r->err, ASSAY_ERR_UNSUPPORTED, at, "opaque types are not supported: values are tensors here");
  if (p->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE || !p->tensor_type)
    return ASSAY_OK;
  int32_t number = p->tensor_type->has_elem_type ? p->tensor_type->elem_type : 0;
  if (number == 0)
    return ASSAY_OK;
  if (!dtype_by_number(number, &out->dtype))
    return build_error(r->err, ASSAY_ERR_UNSUPPORTED, at, "element type number %d is not supported", number);
  if (dtype_bytes(out->dtype) == 0)
    return build_error(r->err, ASSAY_ERR_UNSUPPORTED, at, "tensors of type %s are not supported",
                       dtype_name(out->dtype));
  return p->tensor_type->shape ? read_dims(r, p->tensor_type->shape, at, out) : ASSAY_OK;
}

enum list_kind { LIST_INPUTS, LIST_OUTPUTS, LIST_VALUES };

// The three lists of ValueInfoProto differ only in what an entry does to the value of its name.
static enum assay_status read_values(struct reader *r, struct graph_builder *b, enum list_kind kind,
                                     Onnx__ValueInfoProto *const *p, size_t n) {
  static const char *const lists[] = {"input", "output", "value_info"};
  for (size_t i = 0; i < n; i++) {
    struct source_location at;
    struct value_type type;
    const char *name = text_or(p[i]->name, "");
    int index;
    TRY(binary_place(r->arena, &at, r->err, "graph.%s[%zu] (\"%.100s\")", lists[kind], i, name));
    TRY(read_type(r, p[i]->type, &at, &type));
    if (kind == LIST_INPUTS) {
      TRY(build_input(b, name, strlen(name), &type, &at, &index, r->err));
    } else if (kind == LIST_OUTPUTS) {
      TRY(build_output(b, name, strlen(name), &type, &at, r->err));
    } else {
      TRY(build_value(b, name, strlen(name), &at, &index, r->err));
      TRY(build_declare(b, index, &type, &at, r->err));
    }
  }
  return ASSAY_OK;
}

// Tensors are made before their values, so that a damaged one is reported under its own index and not as a clash.
static enum assay_status read_initializers(struct reader *r, struct graph_builder *b, Onnx__TensorProto *const *p,
                                           size_t n) {
  for (size_t i = 0; i < n; i++) {
    struct source_location at;
    const char *name = text_or(p[i]->name, "");
    int index;
    TRY(binary_place(r->arena, &at, r->err, "graph.initializer[%zu] (\"%.100s\")", i, name));
    if (!*name)
      return build_error(r->err, ASSAY_ERR_INVALID, &at, "the initializer has no name");
    struct tensor *t = build_alloc(r->arena, 1, sizeof *t, "an initializer", r->err);
    if (!t)
      return r->err->status;
    TRY(binary_tensor(r->arena, p[i], &at, t, r->err));
    TRY(build_value(b, name, strlen(name), &at, &index, r->err));
    TRY(build_constant(b, index, t, &at, r->err));
  }
  return ASSAY_OK;
}

// Inputs must be defined by now and outputs must not be: ONNX wants its nodes in an order of evaluation.
static enum assay_status read_operands(struct reader *r, struct graph_builder *b, const Onnx__NodeProto *p,
                                       bool outputs, struct node *node) {
  char *const *names = outputs ? p->output : p->input;
  const size_t n = outputs ? p->n_output : p->n_input;
  const struct source_location *at = &node->at;
  if (n > ONNX_MAX_VALUES)
    return build_error(r->err, ASSAY_ERR_LIMIT, at, "a list has more than %d names", ONNX_MAX_VALUES);
  int *indices = build_alloc(r->arena, n + 1, sizeof *indices, "a node", r->err);
  if (!indices)
    return r->err->status;
  for (size_t i = 0; i < n; i++) {
    indices[i] = -1;
    if (!*names[i])
      continue;
    if (outputs)
      TRY(build_define(b, names[i], strlen(names[i]), at, &indices[i], r->err));
    else
      TRY(build_use(b, names[i], strlen(names[i]), at, &indices[i], r->err));
  }
  if (outputs) {
    node->outputs = indices;
    node->n_outputs = (int)n;
  } else {
    node->inputs = indices;
    node->n_inputs = (int)n;
  }
  return ASSAY_OK;
}

// Functions may share a name and differ in their overload since IR version 10.
static enum assay_status refuse_overload(struct reader *r, const ProtobufCMessage *m, uint32_t tag,
                                         const struct source_location *at) {
  const ProtobufCMessageUnknownField *f = binary_unknown(m, tag, 0);
  if (!f || f->len <= 1)
    return ASSAY_OK;
  return build_error(r->err, ASSAY_ERR_UNSUPPORTED, at,
                     "overloads of functions are not supported; give the function a name of its own");
}

// The path of a node is made once and shared by all its messages; attributes extend it.
static enum assay_status read_nodes(struct reader *r, struct graph_builder *b, Onnx__NodeProto *const *p, size_t n,
                                    const char *parent) {
  for (size_t i = 0; i < n; i++) {
    struct node *node;
    struct source_location at;
    TRY(binary_place(r->arena, &at, r->err, "%s.node[%zu]", parent, i));
    TRY(build_node(b, &node, r->err));
    node->at = at;
    TRY(keep_name(r, p[i]->name, &at, &node->name));
    TRY(keep_name(r, p[i]->op_type, &at, &node->op_type));
    TRY(keep_name(r, p[i]->domain, &at, &node->domain));
    node->domain = build_domain(node->domain);
    if (!*node->op_type)
      return build_error(r->err, ASSAY_ERR_INVALID, &at, "the node does not say its operator");
    TRY(refuse_overload(r, &p[i]->base, NODE_OVERLOAD, &at));
    TRY(binary_attrs(r->arena, p[i]->attribute, p[i]->n_attribute, at.path, &node->attrs, &node->n_attrs, r->err));
    TRY(read_operands(r, b, p[i], false, node));
    TRY(read_operands(r, b, p[i], true, node));
    build_produced(b, node);
  }
  return onnx_build_finish(b, r->err);
}

static enum assay_status read_graph(struct reader *r, const Onnx__GraphProto *p) {
  static const struct source_location at = {.path = "graph"};
  struct graph_builder b;
  if (p->n_sparse_initializer)
    return build_error(r->err, ASSAY_ERR_UNSUPPORTED, &at, "sparse initializers are not supported");
  onnx_build_start(&b, r->arena, &r->model->graph);
  TRY(keep_name(r, p->name, &at, &r->model->graph.name));
  TRY(read_values(r, &b, LIST_INPUTS, p->input, p->n_input));
  TRY(read_initializers(r, &b, p->initializer, p->n_initializer));
  TRY(read_values(r, &b, LIST_OUTPUTS, p->output, p->n_output));
  TRY(read_values(r, &b, LIST_VALUES, p->value_info, p->n_value_info));
  return read_nodes(r, &b, p->node, p->n_node, "graph");
}

// Versions are int64 in the file; nothing beyond int makes sense, and a silent cast would turn 2^32 + 1 into 1.
static enum assay_status read_opsets(struct reader *r, Onnx__OperatorSetIdProto *const *p, size_t n, const char *path,
                                     struct opset_import **out, int *n_out) {
  struct source_location at = {.path = path};
  if (n > BUILD_MAX_LIST)
    return build_error(r->err, ASSAY_ERR_LIMIT, &at, "more than %d opsets are imported", BUILD_MAX_LIST);
  struct opset_import *o = build_alloc(r->arena, n + 1, sizeof *o, "imported opsets", r->err);
  if (!o)
    return r->err->status;
  for (size_t i = 0; i < n; i++) {
    if (p[i]->version < 0 || p[i]->version > INT32_MAX)
      return build_error(r->err, ASSAY_ERR_INVALID, &at, "opset version %lld is out of range",
                         (long long)p[i]->version);
    o[i].version = (int)p[i]->version;
    TRY(keep_name(r, p[i]->domain, &at, &o[i].domain));
  }
  *out = o;
  *n_out = (int)n;
  return build_check_opsets(o, (int)n, &at, r->err);
}

// Attributes with defaults are a field that the schema in use does not know: unpack each of them here.
static enum assay_status read_defaults(struct reader *r, const Onnx__FunctionProto *p, const char *path,
                                       struct function *f) {
  size_t capacity = 0;
  for (size_t i = 0; i < p->base.n_unknown_fields; i++) {
    const ProtobufCMessageUnknownField *u = &p->base.unknown_fields[i];
    struct binary_memory mem;
    ProtobufCMessage *m = NULL;
    Onnx__AttributeProto *one;
    struct attr *attr;
    uint64_t len;
    int n;
    if (u->tag != FUNCTION_ATTRIBUTE_PROTO)
      continue;
    struct source_location at = {.path = path};
    size_t prefix = u->wire_type == PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED ? binary_varint(u->data, u->len, &len) : 0;
    if (!prefix || f->n_defaults >= BUILD_MAX_LIST)
      return build_error(r->err, ASSAY_ERR_INVALID, &at, "attribute_proto cannot be decoded");
    TRY(build_grow(r->arena, &f->defaults, (size_t)f->n_defaults, &capacity, sizeof *f->defaults, "a function",
                   r->err));
    TRY(binary_unpack(&onnx__attribute_proto__descriptor, u->data + prefix, u->len - prefix, path, &mem, &m, r->err));
    one = (Onnx__AttributeProto *)m;
    enum assay_status status = binary_attrs(r->arena, &one, 1, path, &attr, &n, r->err);
    protobuf_c_message_free_unpacked(m, &mem.allocator);
    if (status)
      return status;
    if (attr->ref)
      return build_error(r->err, ASSAY_ERR_INVALID, &attr->at, "a default cannot be a reference");
    f->defaults[f->n_defaults++] = *attr;
  }
  return ASSAY_OK;
}

// Formal attributes come from two lists (with and without defaults) that share one name space.
static enum assay_status read_formals(struct reader *r, const Onnx__FunctionProto *p, const struct source_location *at,
                                      struct function *f) {
  if (p->n_attribute > BUILD_MAX_LIST)
    return build_error(r->err, ASSAY_ERR_LIMIT, at, "more than %d attributes", BUILD_MAX_LIST);
  const char **names = build_alloc(r->arena, p->n_attribute + 1, sizeof *names, "a function", r->err);
  if (!names)
    return r->err->status;
  f->attr_names = names;
  for (size_t i = 0; i < p->n_attribute; i++)
    TRY(keep_name(r, p->attribute[i], at, &names[i]));
  f->n_attrs = (int)p->n_attribute;
  TRY(read_defaults(r, p, at->path, f));
  for (int i = 0; i < f->n_attrs + f->n_defaults; i++)
    for (int k = 0; k < i; k++) {
      const char *a = i < f->n_attrs ? names[i] : f->defaults[i - f->n_attrs].name;
      const char *b = k < f->n_attrs ? names[k] : f->defaults[k - f->n_attrs].name;
      if (strcmp(a, b) == 0)
        return build_error(r->err, ASSAY_ERR_INVALID, at, "attribute \"%.100s\" is declared twice", a);
    }
  return ASSAY_OK;
}

// Bodies are read like graphs without types; what their names mean is settled at each call (inline.c).
static enum assay_status read_function(struct reader *r, const Onnx__FunctionProto *p, size_t i, struct function *f) {
  static const struct value_type untyped = {.dtype = DTYPE_UNDEFINED, .rank = -1};
  struct graph_builder b;
  struct source_location at;
  int index;
  TRY(binary_place(r->arena, &at, r->err, "functions[%zu]", i));
  TRY(keep_name(r, p->name, &at, &f->name));
  TRY(keep_name(r, p->domain, &at, &f->domain));
  if (!*f->name)
    return build_error(r->err, ASSAY_ERR_INVALID, &at, "the function has no name");
  f->domain = build_domain(f->domain);
  f->body.name = f->name;
  TRY(refuse_overload(r, &p->base, FUNCTION_OVERLOAD, &at));
  TRY(read_opsets(r, p->opset_import, p->n_opset_import, at.path, &f->opsets, &f->n_opsets));
  TRY(read_formals(r, p, &at, f));
  onnx_build_start(&b, r->arena, &f->body);
  for (size_t k = 0; k < p->n_input; k++)
    TRY(build_input(&b, p->input[k], strlen(p->input[k]), &untyped, &at, &index, r->err));
  for (size_t k = 0; k < p->n_output; k++)
    TRY(build_output(&b, p->output[k], strlen(p->output[k]), &untyped, &at, r->err));
  return read_nodes(r, &b, p->node, p->n_node, at.path);
}

// model_property returns the first of a key, so a second one would be ignored in silence: refuse it.
static enum assay_status read_properties(struct reader *r, const Onnx__ModelProto *p) {
  struct model *m = r->model;
  struct name_table keys = {0};
  m->properties = build_alloc(r->arena, p->n_metadata_props + 1, sizeof *m->properties, "the metadata", r->err);
  if (!m->properties)
    return r->err->status;
  for (size_t i = 0; i < p->n_metadata_props; i++) {
    struct property *q = &m->properties[i];
    const char *key = text_or(p->metadata_props[i]->key, "");
    TRY(binary_place(r->arena, &q->at, r->err, "metadata_props[%zu] (\"%.100s\")", i, key));
    TRY(keep_string(r, key, q->at.path, &q->key));
    TRY(keep_string(r, text_or(p->metadata_props[i]->value, ""), q->at.path, &q->value));
    if (name_table_find(&keys, q->key, strlen(q->key)) >= 0)
      return build_error(r->err, ASSAY_ERR_INVALID, &q->at, "the key is given twice");
    TRY(name_table_add(&keys, r->arena, q->key, (int)i, r->err));
    m->n_properties++;
  }
  return ASSAY_OK;
}

// Cheap checks first: a file of another IR version is better refused for that than for what its graph looks like.
static enum assay_status read_model(struct reader *r, const Onnx__ModelProto *p) {
  static const struct source_location at = {.path = "the model"};
  struct model *m = r->model;
  m->ir_version = p->has_ir_version ? p->ir_version : 0;
  TRY(build_check_ir(m->ir_version, &at, r->err));
  m->model_version = p->has_model_version ? p->model_version : 0;
  TRY(keep_string(r, p->producer_name, "producer_name", &m->producer_name));
  TRY(keep_string(r, p->producer_version, "producer_version", &m->producer_version));
  TRY(keep_string(r, p->domain, "domain", &m->domain));
  TRY(keep_string(r, p->doc_string, "doc_string", &m->doc_string));
  TRY(read_opsets(r, p->opset_import, p->n_opset_import, "opset_import", &m->opsets, &m->n_opsets));
  TRY(read_properties(r, p));
  if (p->n_training_info)
    return build_error(r->err, ASSAY_ERR_UNSUPPORTED, &at, "training_info is not supported");
  if (!p->graph)
    return build_error(r->err, ASSAY_ERR_INVALID, &at, "the model has no graph; is it an ONNX file?");
  TRY(read_graph(r, p->graph));
  m->functions = build_alloc(r->arena, p->n_functions + 1, sizeof *m->functions, "the functions", r->err);
  if (!m->functions)
    return r->err->status;
  for (size_t i = 0; i < p->n_functions; i++) {
    TRY(read_function(r, p->functions[i], i, &m->functions[i]));
    m->n_functions++;
  }
  return ASSAY_OK;
}

// The unpacked message and the model exist together only while one is copied to the other.
enum assay_status onnx_read_binary(const void *bytes, size_t len, const char *name, struct model *m,
                                   struct assay_error *err) {
  struct assay_error own = {0};
  struct binary_memory mem;
  ProtobufCMessage *p = NULL;
  struct reader r = {.model = m, .arena = &m->arena, .err = err ? err : &own};
  build_model_start(m);
  enum assay_status status = binary_unpack(&onnx__model_proto__descriptor, bytes, len, "", &mem, &p, r.err);
  if (!status) {
    status = read_model(&r, (const Onnx__ModelProto *)p);
    protobuf_c_message_free_unpacked(p, &mem.allocator); // before inlining: large initializers are there twice
    if (!status)
      status = graph_inline(m, r.err);
  }
  return build_model_end(m, name, status, r.err);
}
