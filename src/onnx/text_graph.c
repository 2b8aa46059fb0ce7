// SPDX-License-Identifier: Apache-2.0
// Graphs of ONNX's textual syntax: declarations, constants and nodes.
#include <string.h>

#include "onnx/text.h"

// Names of a node's inputs or outputs, any of which may be left out. As in onnx.parser, a comma counts as an empty
// name when none stands before it, and one trailing comma means nothing: "(x,)" is one name, "(x, , w)" three.
struct name_list {
  const char **names;
  struct source_location *at;
  int n;
  size_t cap_names, cap_at;
};

static enum assay_status parse_names(struct parser *p, const char *what, struct name_list *list) {
  struct arena *a = &p->model->arena;
  for (bool more = true; more;) {
    const char *name;
    struct source_location at;
    bool found = p->token.kind == TOKEN_STRING || p->token.kind == TOKEN_IDENTIFIER || text_is(p, ',');
    if (!found)
      return ASSAY_OK;
    TRY(text_name(p, what, true, &name, &at));
    if (list->n >= ONNX_MAX_VALUES)
      return build_error(p->err, ASSAY_ERR_LIMIT, &at, "a list has more than %d names", ONNX_MAX_VALUES);
    TRY(build_grow(a, &list->names, (size_t)list->n, &list->cap_names, sizeof *list->names, "a list of names", p->err));
    TRY(build_grow(a, &list->at, (size_t)list->n, &list->cap_at, sizeof *list->at, "a list of names", p->err));
    list->names[list->n] = name;
    list->at[list->n++] = at;
    TRY(text_accept(p, ',', &more));
  }
  return ASSAY_OK;
}

// Operator and domain: everything before the last point is the domain.
static enum assay_status parse_operator(struct parser *p, struct node *n) {
  struct source_location at;
  const char *domain = "", *name;
  for (bool more = true; more;) {
    TRY(text_name(p, "an operator's name", false, &name, &at));
    TRY(text_accept(p, '.', &more));
    if (!more)
      break;
    if (strlen(domain) + strlen(name) > ONNX_MAX_NAME_BYTES)
      return build_error(p->err, ASSAY_ERR_LIMIT, &at, "a domain has more than %d bytes", ONNX_MAX_NAME_BYTES);
    const char *joint = arena_printf(&p->model->arena, "%s%s%s", domain, *domain ? "." : "", name);
    if (!joint)
      return error_nomem(p->err, "a domain");
    domain = joint;
  }
  if (*name == '\0')
    return build_error(p->err, ASSAY_ERR_SYNTAX, &at, "expected an operator's name, found \"\"");
  n->domain = build_domain(domain);
  n->op_type = name;
  if (text_is(p, ':'))
    return build_error(p->err, ASSAY_ERR_UNSUPPORTED, &p->token.at,
                       "overloads of functions are not supported; give the function a name of its own");
  return ASSAY_OK;
}

// Inputs before outputs: a node that reads its own output is an error at the input.
static enum assay_status link_node(struct parser *p, struct graph_builder *b, struct node *n,
                                   const struct name_list *in, const struct name_list *out) {
  n->inputs = build_alloc(b->arena, (size_t)in->n + 1, sizeof *n->inputs, "a node", p->err);
  n->outputs = n->inputs ? build_alloc(b->arena, (size_t)out->n + 1, sizeof *n->outputs, "a node", p->err) : NULL;
  if (!n->outputs)
    return p->err->status;
  n->n_inputs = in->n;
  n->n_outputs = out->n;
  for (int i = 0; i < in->n; i++) {
    n->inputs[i] = -1;
    if (*in->names[i])
      TRY(build_use(b, in->names[i], strlen(in->names[i]), &in->at[i], &n->inputs[i], p->err));
  }
  for (int i = 0; i < out->n; i++) {
    n->outputs[i] = -1;
    if (*out->names[i])
      TRY(build_define(b, out->names[i], strlen(out->names[i]), &out->at[i], &n->outputs[i], p->err));
  }
  build_produced(b, n);
  return ASSAY_OK;
}

// Attributes stand before or after the operands; onnx.printer writes subgraphs after them.
static enum assay_status parse_node(struct parser *p, struct graph_builder *b) {
  struct name_list in = {0}, out = {0};
  struct source_location ignored;
  struct node *n;
  bool named;
  TRY(build_node(b, &n, p->err));
  n->name = "";
  n->at = p->token.at;
  TRY(text_accept(p, '[', &named));
  if (named) {
    TRY(text_name(p, "the node's name", true, &n->name, &ignored));
    TRY(text_expect(p, ']', "after the node's name"));
  }
  if (p->token.kind != TOKEN_IDENTIFIER && p->token.kind != TOKEN_STRING && !text_is(p, ',') && !text_is(p, '='))
    return text_expected(p, "a node, as in 'y = Relu(x)', or '}' at the end of the nodes");
  TRY(parse_names(p, "the name of an output", &out));
  TRY(text_expect(p, '=', "between a node's outputs and its operator"));
  TRY(parse_operator(p, n));
  TRY(text_attrs(p, &n->attrs, &n->n_attrs));
  TRY(text_expect(p, '(', "before the operator's inputs"));
  TRY(parse_names(p, "the name of an input", &in));
  if (!text_is(p, ')'))
    return text_expected(p, "',' or ')' after the operator's inputs");
  TRY(text_advance(p));
  if (n->n_attrs == 0)
    TRY(text_attrs(p, &n->attrs, &n->n_attrs));
  return link_node(p, b, n, &in, &out);
}

// No separator: a node ends where its parenthesis or its attributes end.
static enum assay_status parse_nodes(struct parser *p, struct graph_builder *b) {
  TRY(text_expect(p, '{', "before the nodes"));
  while (!text_is(p, '}'))
    TRY(parse_node(p, b));
  TRY(text_advance(p));
  return onnx_build_finish(b, p->err);
}

struct declaration {
  struct value_type type;
  const char *name;
  struct source_location type_at, name_at;
};

// "float[M, N] x", or a name alone.
static enum assay_status parse_declaration(struct parser *p, struct declaration *d) {
  *d = (struct declaration){.type = {.dtype = DTYPE_UNDEFINED, .rank = -1}, .type_at = p->token.at};
  if (text_at_type(p))
    TRY(text_type(p, &d->type));
  return text_name(p, "a type or a name", false, &d->name, &d->name_at);
}

// An initializer's value, or a default of an input: "= {1, 2}" after the declaration.
static enum assay_status parse_constant(struct parser *p, struct graph_builder *b, const struct declaration *d,
                                        int index) {
  const struct tensor *t;
  if (d->type.dtype == DTYPE_UNDEFINED)
    return build_error(p->err, ASSAY_ERR_SYNTAX, &d->name_at, "'%.200s' has a value but no type; write one before it",
                       d->name);
  TRY(text_tensor(p, &d->type, &d->type_at, d->name, &t));
  return build_constant(b, index, t, &d->name_at, p->err);
}

enum list_kind { LIST_INPUTS, LIST_OUTPUTS, LIST_VALUES };

// One entry of inputs, outputs or "<initializers and types>". Types inside functions (typed == false) are checked and
// dropped: they are documentation, and their symbols would mean something else at every call.
static enum assay_status parse_entry(struct parser *p, struct graph_builder *b, enum list_kind kind, bool typed) {
  static const struct value_type nothing = {.dtype = DTYPE_UNDEFINED, .rank = -1};
  struct declaration d;
  int index;
  bool assigned = false;
  TRY(parse_declaration(p, &d));
  const struct value_type *type = typed ? &d.type : &nothing;
  if (kind == LIST_OUTPUTS)
    return build_output(b, d.name, strlen(d.name), type, &d.name_at, p->err);
  if (kind == LIST_INPUTS)
    TRY(build_input(b, d.name, strlen(d.name), type, &d.name_at, &index, p->err));
  if (typed)
    TRY(text_accept(p, '=', &assigned));
  if (kind == LIST_VALUES && !typed)
    return ASSAY_OK;
  if (kind == LIST_VALUES)
    TRY(build_value(b, d.name, strlen(d.name), &d.name_at, &index, p->err));
  return assigned ? parse_constant(p, b, &d, index) : build_declare(b, index, type, &d.name_at, p->err);
}

// The messages name the list, because a missing parenthesis shows up far from where it belongs.
static enum assay_status parse_list(struct parser *p, struct graph_builder *b, enum list_kind kind, bool typed) {
  static const char *const before[] = {"before the inputs", "before the outputs", "before initializers and types"};
  static const char *const after[] = {"inputs", "outputs", "initializers and types"};
  char open = kind == LIST_VALUES ? '<' : '(', close = kind == LIST_VALUES ? '>' : ')';
  TRY(text_expect(p, open, before[kind]));
  bool more = !text_is(p, close);
  while (more) {
    TRY(parse_entry(p, b, kind, typed));
    TRY(text_accept(p, ',', &more));
  }
  if (!text_is(p, close))
    return text_expected(p, "',' or '%c' after the %s", close, after[kind]);
  return text_advance(p);
}

enum assay_status text_body(struct parser *p, struct graph *g, bool typed) {
  struct graph_builder b;
  onnx_build_start(&b, &p->model->arena, g);
  TRY(parse_list(p, &b, LIST_INPUTS, typed));
  if (p->token.kind != TOKEN_ARROW)
    return text_expected(p, "'=>' between inputs and outputs");
  TRY(text_advance(p));
  TRY(parse_list(p, &b, LIST_OUTPUTS, typed));
  if (text_is(p, '<'))
    TRY(parse_list(p, &b, LIST_VALUES, typed));
  return parse_nodes(p, &b);
}
