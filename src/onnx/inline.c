// SPDX-License-Identifier: Apache-2.0
// From the model as written to the flat graph: calls of model-local functions are replaced by their bodies (ONNX IR
// specification, "Functions"), and every node is given its operator's row.
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "onnx/build.h"
#include "ops/op.h"

// Expansion can be exponential in the size of the file (f calls g twice, g calls h twice, ...) without making a single
// node, so the work itself is limited, not only its result: about one unit for each value, and some for each call.
enum { MAX_WORK = 1 << 23, CALL_WORK = 16 };

enum { UNMAPPED = -2 }; // no flat value yet; -1 is an input that the caller left out

struct inliner {
  struct model *model;
  struct graph_builder flat;
  struct name_table functions; // "domain:name"
  int64_t work;
  int instances; // calls expanded so far: makes names unique
  struct assay_error *err;
};

// One graph being expanded: the model's own, or the body of a function under a call.
struct frame {
  const struct frame *parent;
  const struct function *function; // NULL for the model's graph
  const struct graph *graph;
  const struct opset_import *opsets;
  int n_opsets, depth, instance;
  int *map;                   // flat value of each value of the graph; NULL: the same numbers
  const struct attr *actuals; // of the call
  int n_actuals;
};

static enum assay_status expand(struct inliner *in, const struct frame *frame);

// Called before the work is done, wherever the amount depends on the file.
static enum assay_status spend(struct inliner *in, int64_t work, const struct source_location *at) {
  in->work += work;
  if (in->work <= MAX_WORK)
    return ASSAY_OK;
  return build_error(in->err, ASSAY_ERR_LIMIT, at,
                     "expanding the model's functions is too much work; they are too many "
                     "or call each other too often");
}

// Functions are known by domain and name together.
static const char *function_key(struct arena *a, const char *domain, const char *name) {
  return arena_printf(a, "%s:%s", domain, name);
}

static enum assay_status index_functions(struct inliner *in) {
  struct model *m = in->model;
  for (int i = 0; i < m->n_functions; i++) {
    const struct function *f = &m->functions[i];
    const char *key = function_key(&m->arena, f->domain, f->name);
    if (!key)
      return error_nomem(in->err, "a table of functions");
    if (name_table_find(&in->functions, key, strlen(key)) >= 0)
      return error_set(in->err, ASSAY_ERR_INVALID, "function '%.200s' of domain \"%.200s\" is defined twice", f->name,
                       f->domain);
    TRY(name_table_add(&in->functions, &m->arena, key, i, in->err));
  }
  return ASSAY_OK;
}

// A model-local function takes precedence over an operator of the same name: a model that has one means it (onnx.proto
// leaves the choice to the reader).
static enum assay_status find_function(struct inliner *in, const struct node *n, const struct function **out) {
  char key[2 * ONNX_MAX_NAME_BYTES + 2];
  *out = NULL;
  if (!in->functions.n)
    return ASSAY_OK;
  int len = snprintf(key, sizeof key, "%s:%s", n->domain, n->op_type);
  if (len < 0 || (size_t)len >= sizeof key)
    return ASSAY_OK; // no function has a name that long
  int i = name_table_find(&in->functions, key, (size_t)len);
  if (i >= 0)
    *out = &in->model->functions[i];
  return ASSAY_OK;
}

// Calls have few attributes; spend() has paid for the search.
static const struct attr *find_actual(const struct frame *frame, const char *name) {
  for (int i = 0; i < frame->n_actuals; i++)
    if (strcmp(frame->actuals[i].name, name) == 0)
      return &frame->actuals[i];
  return NULL;
}

// References to attributes that the function does not declare are mistakes, not absent values.
static bool is_formal(const struct function *f, const char *name) {
  for (int i = 0; i < f->n_attrs; i++)
    if (strcmp(f->attr_names[i], name) == 0)
      return true;
  for (int i = 0; i < f->n_defaults; i++)
    if (strcmp(f->defaults[i].name, name) == 0)
      return true;
  return false;
}

// One reference to a formal attribute: what the call gave, or nothing (*present false) when it gave none.
static enum assay_status resolve_ref(struct inliner *in, const struct frame *frame, const struct attr *a,
                                     struct attr *out, bool *present) {
  if (!frame->function)
    return build_error(in->err, ASSAY_ERR_INVALID, &a->at,
                       "'%.100s' refers to the attribute '%.100s' of a function, "
                       "but stands in no function",
                       a->name, a->ref);
  if (!is_formal(frame->function, a->ref))
    return build_error(in->err, ASSAY_ERR_INVALID, &a->at, "function '%.100s' has no attribute '%.100s'",
                       frame->function->name, a->ref);
  const struct attr *actual = find_actual(frame, a->ref);
  *present = actual != NULL;
  if (!actual)
    return ASSAY_OK;
  if (a->type && a->type != actual->type)
    return build_error(in->err, ASSAY_ERR_INVALID, &actual->at,
                       "attribute '%.100s' of '%.100s' must be of type %s, "
                       "not %s",
                       actual->name, frame->function->name, attr_type_name(a->type), attr_type_name(actual->type));
  *out = *actual;
  out->name = a->name;
  return ASSAY_OK;
}

// The node's attributes with references replaced.
static enum assay_status resolve_attrs(struct inliner *in, const struct frame *frame, const struct node *n,
                                       struct attr **out, int *n_out) {
  bool any = false;
  for (int i = 0; i < n->n_attrs; i++)
    any = any || n->attrs[i].ref;
  *out = n->attrs;
  *n_out = n->n_attrs;
  if (!any)
    return ASSAY_OK;
  TRY(spend(in, (int64_t)n->n_attrs * (1 + frame->n_actuals), &n->at));
  struct attr *attrs = build_alloc(in->flat.arena, (size_t)n->n_attrs, sizeof *attrs, "attributes", in->err);
  if (!attrs)
    return in->err->status;
  int count = 0;
  for (int i = 0; i < n->n_attrs; i++) {
    bool present = true;
    if (n->attrs[i].ref)
      TRY(resolve_ref(in, frame, &n->attrs[i], &attrs[count], &present));
    else
      attrs[count] = n->attrs[i];
    count += present;
  }
  *out = attrs;
  *n_out = count;
  return ASSAY_OK;
}

// A flat value for a value of a function's body, under a name that nobody else has.
static enum assay_status fresh_value(struct inliner *in, const struct frame *frame, int value,
                                     const struct source_location *at, int *out) {
  const char *inner = frame->graph->values[value].name;
  char name[ONNX_MAX_NAME_BYTES];
  for (int again = 0;; again++) { // a clash is contrived, or the model was inlined before
    int len = snprintf(name, sizeof name, "%.1000s.%d.%.1000s", frame->function->name, frame->instance, inner);
    if (again)
      len += snprintf(name + len, sizeof name - (size_t)len, ".%d", again);
    TRY(spend(in, 1, at));
    if (name_table_find(&in->flat.names, name, (size_t)len) < 0)
      return build_value(&in->flat, name, (size_t)len, at, out, in->err);
  }
}

// In a function, an input that the caller left out stays left out: -1 goes down to the operator.
static enum assay_status map_inputs(struct inliner *in, const struct frame *frame, const struct node *n, int **out) {
  int *flat = build_alloc(in->flat.arena, (size_t)n->n_inputs + 1, sizeof *flat, "a node", in->err);
  if (!flat)
    return in->err->status;
  for (int i = 0; i < n->n_inputs; i++) {
    int v = n->inputs[i];
    flat[i] = v < 0 || !frame->map ? v : frame->map[v];
    if (flat[i] == UNMAPPED)
      return build_error(in->err, ASSAY_ERR_INVALID, &n->at, "'%.200s' is used before it is produced",
                         frame->graph->values[v].name);
  }
  *out = flat;
  return ASSAY_OK;
}

// Outputs get their flat values when the node is met, so that their order follows the nodes.
static enum assay_status map_outputs(struct inliner *in, const struct frame *frame, const struct node *n, int **out) {
  int *flat = build_alloc(in->flat.arena, (size_t)n->n_outputs + 1, sizeof *flat, "a node", in->err);
  if (!flat)
    return in->err->status;
  for (int i = 0; i < n->n_outputs; i++) {
    int v = n->outputs[i];
    if (v >= 0 && frame->map && frame->map[v] == UNMAPPED)
      TRY(fresh_value(in, frame, v, &n->at, &frame->map[v]));
    flat[i] = v < 0 || !frame->map ? v : frame->map[v];
  }
  *out = flat;
  return ASSAY_OK;
}

// The opset is that of the model or function in which the node was written: a function has imports of its own, which
// may differ from the model's.
static enum assay_status find_row(struct inliner *in, const struct frame *frame, const struct node *n,
                                  const struct op_def **row, int *version) {
  const struct opset_import *o = NULL;
  for (int i = 0; i < frame->n_opsets && !o; i++)
    if (strcmp(frame->opsets[i].domain, n->domain) == 0)
      o = &frame->opsets[i];
  const char *whose = frame->function ? "function" : "model";
  if (!o)
    return build_error(in->err, ASSAY_ERR_INVALID, &n->at,
                       "operator '%.100s': the %s imports no opset of domain \"%.100s\"; add it to its opset_import",
                       n->op_type, whose, n->domain);
  *version = o->version;
  *row = op_find(n->domain, n->op_type, o->version);
  if (*row)
    return ASSAY_OK;
  const struct op_def *later = op_find(n->domain, n->op_type, INT32_MAX);
  char hint[64] = "";
  if (later) // since is that of the newest row; what matters is that the imported version is too old
    snprintf(hint, sizeof hint, "; it is known from a later version on");
  return build_error(in->err, ASSAY_ERR_UNSUPPORTED, &n->at,
                     "operator '%.100s' of domain \"%.100s\" is not known in "
                     "opset version %d%s",
                     n->op_type, n->domain, o->version, hint);
}

// A node of the flat graph.
static enum assay_status emit(struct inliner *in, const struct frame *frame, const struct node *n) {
  struct node made = {.name = n->name, .op_type = n->op_type, .domain = n->domain, .at = n->at};
  TRY(find_row(in, frame, n, &made.op, &made.opset));
  TRY(resolve_attrs(in, frame, n, &made.attrs, &made.n_attrs));
  TRY(map_inputs(in, frame, n, &made.inputs));
  TRY(map_outputs(in, frame, n, &made.outputs));
  made.n_inputs = n->n_inputs;
  made.n_outputs = n->n_outputs;
  struct node *slot;
  TRY(build_node(&in->flat, &slot, in->err));
  *slot = made;
  build_produced(&in->flat, slot);
  return ASSAY_OK;
}

// An output of a function that is one of its inputs, or is named twice, has no node of its own: copy it.
static enum assay_status emit_copy(struct inliner *in, int from, int to, const struct source_location *at) {
  struct node *n;
  TRY(build_node(&in->flat, &n, in->err));
  *n = (struct node){.name = "", .op_type = "Identity", .domain = "", .opset = OP_NEWEST_OPSET, .at = *at};
  n->op = op_find("", "Identity", OP_NEWEST_OPSET);
  if (!n->op)
    return build_error(in->err, ASSAY_ERR_UNSUPPORTED, at, "operator 'Identity' is not known");
  n->inputs = build_alloc(in->flat.arena, 1, sizeof *n->inputs, "a node", in->err);
  n->outputs = n->inputs ? build_alloc(in->flat.arena, 1, sizeof *n->outputs, "a node", in->err) : NULL;
  if (!n->outputs)
    return in->err->status;
  n->inputs[0] = from;
  n->outputs[0] = to;
  n->n_inputs = n->n_outputs = 1;
  build_produced(&in->flat, n);
  return ASSAY_OK;
}

// Recursion is found by walking up the calls in progress; there are at most ONNX_MAX_DEPTH of them.
static enum assay_status check_call(struct inliner *in, const struct frame *frame, const struct node *n,
                                    const struct function *f) {
  if (n->n_inputs > f->body.n_inputs || n->n_outputs > f->body.n_outputs)
    return build_error(in->err, ASSAY_ERR_INVALID, &n->at,
                       "function '%.100s' has %d inputs and %d outputs, but is called with %d and %d", f->name,
                       f->body.n_inputs, f->body.n_outputs, n->n_inputs, n->n_outputs);
  for (const struct frame *up = frame; up; up = up->parent)
    if (up->function == f)
      return build_error(in->err, ASSAY_ERR_INVALID, &n->at, "function '%.100s' calls itself%s", f->name,
                         up == frame ? "" : " through other functions");
  if (frame->depth >= ONNX_MAX_DEPTH)
    return build_error(in->err, ASSAY_ERR_LIMIT, &n->at, "calls of functions are nested more than %d deep",
                       ONNX_MAX_DEPTH);
  return ASSAY_OK;
}

// The attributes that the body sees: those of the call, and the defaults of those that the call leaves out.
static enum assay_status bind_attrs(struct inliner *in, const struct frame *frame, const struct node *n,
                                    const struct function *f, struct frame *call) {
  struct attr *given;
  int n_given;
  TRY(resolve_attrs(in, frame, n, &given, &n_given));
  TRY(spend(in, (int64_t)(n_given + 1) * (f->n_attrs + f->n_defaults + 1), &n->at));
  for (int i = 0; i < n_given; i++)
    if (!is_formal(f, given[i].name))
      return build_error(in->err, ASSAY_ERR_INVALID, &given[i].at, "function '%.100s' has no attribute '%.100s'",
                         f->name, given[i].name);
  call->actuals = given;
  call->n_actuals = n_given;
  if (!f->n_defaults)
    return ASSAY_OK;
  struct attr *all = build_alloc(in->flat.arena, (size_t)(n_given + f->n_defaults), sizeof *all, "attributes", in->err);
  if (!all)
    return in->err->status;
  if (n_given)
    memcpy(all, given, sizeof *all * (size_t)n_given);
  int count = n_given;
  for (int i = 0; i < f->n_defaults; i++)
    if (!find_actual(call, f->defaults[i].name))
      all[count++] = f->defaults[i];
  call->actuals = all;
  call->n_actuals = count;
  return ASSAY_OK;
}

// Binds the body's inputs and outputs to the caller's values.
static enum assay_status bind_values(struct inliner *in, const struct frame *frame, const struct node *n,
                                     struct frame *call, int *outputs) {
  const struct graph *body = call->graph;
  int *actual;
  TRY(map_inputs(in, frame, n, &actual));
  for (int i = 0; i < body->n_values; i++)
    call->map[i] = UNMAPPED;
  for (int i = 0; i < body->n_inputs; i++)
    call->map[body->inputs[i]] = i < n->n_inputs ? actual[i] : -1;
  for (int i = 0; i < n->n_outputs; i++) {
    int v = n->outputs[i];
    if (v >= 0 && frame->map && frame->map[v] == UNMAPPED)
      TRY(fresh_value(in, frame, v, &n->at, &frame->map[v]));
    outputs[i] = v < 0 || !frame->map ? v : frame->map[v];
    if (outputs[i] >= 0 && call->map[body->outputs[i]] == UNMAPPED)
      call->map[body->outputs[i]] = outputs[i];
  }
  return ASSAY_OK;
}

// Runs after the body, when every output that a node makes is in place.
static enum assay_status copy_outputs(struct inliner *in, const struct frame *call, const struct node *n,
                                      const int *outputs) {
  for (int i = 0; i < n->n_outputs; i++) {
    int from = call->map[call->graph->outputs[i]];
    if (outputs[i] < 0 || from == outputs[i])
      continue;
    if (from < 0)
      return build_error(in->err, ASSAY_ERR_INVALID, &n->at,
                         "output %d of function '%.100s' is an input that this call "
                         "leaves out",
                         i, call->function->name);
    TRY(emit_copy(in, from, outputs[i], &n->at));
  }
  return ASSAY_OK;
}

// The map lives as long as the call, outside the arena: thousands of calls would otherwise leave theirs there.
static enum assay_status expand_call(struct inliner *in, const struct frame *frame, const struct node *n,
                                     const struct function *f) {
  struct frame call = {.parent = frame,
                       .function = f,
                       .graph = &f->body,
                       .opsets = f->opsets,
                       .n_opsets = f->n_opsets,
                       .depth = frame->depth + 1,
                       .instance = ++in->instances};
  enum assay_status status = ASSAY_OK;
  int *outputs = NULL;
  TRY(check_call(in, frame, n, f));
  TRY(spend(in, (int64_t)f->body.n_values + n->n_inputs + n->n_outputs + CALL_WORK, &n->at));
  TRY(bind_attrs(in, frame, n, f, &call));
  call.map = base_calloc((size_t)f->body.n_values + 1, sizeof *call.map);
  outputs = base_calloc((size_t)n->n_outputs + 1, sizeof *outputs);
  status = call.map && outputs ? bind_values(in, frame, n, &call, outputs) : error_nomem(in->err, "a function's call");
  if (!status)
    status = expand(in, &call);
  if (!status)
    status = copy_outputs(in, &call, n, outputs);
  base_free(call.map);
  base_free(outputs);
  return status;
}

static enum assay_status expand(struct inliner *in, const struct frame *frame) {
  for (int i = 0; i < frame->graph->n_nodes; i++) {
    const struct node *n = &frame->graph->nodes[i];
    const struct function *f;
    TRY(find_function(in, n, &f));
    enum assay_status status = f ? expand_call(in, frame, n, f) : emit(in, frame, n);
    if (status && frame->function && frame->parent && !frame->parent->function)
      return error_prefix(in->err, status, "in function '%.100s': ", frame->function->name);
    if (status)
      return status;
  }
  return ASSAY_OK;
}

// The flat graph starts with all values of the model's graph under the same numbers; values from functions follow.
static enum assay_status copy_values(struct inliner *in) {
  const struct graph *from = &in->model->graph;
  struct graph *to = &in->model->flat;
  for (int i = 0; i < from->n_values; i++) {
    const struct value *v = &from->values[i];
    int index;
    TRY(build_value(&in->flat, v->name, strlen(v->name), &v->at, &index, in->err));
    to->values[index] = *v;
    to->values[index].producer = -1;
  }
  to->name = from->name;
  to->inputs = from->inputs;
  to->n_inputs = from->n_inputs;
  to->outputs = from->outputs;
  to->n_outputs = from->n_outputs;
  return ASSAY_OK;
}

// The verifier runs last: only a graph that it accepts is returned.
enum assay_status graph_inline(struct model *m, struct assay_error *err) {
  struct assay_error own = {0};
  struct inliner in = {.model = m, .err = err ? err : &own};
  struct frame top = {.graph = &m->graph, .opsets = m->opsets, .n_opsets = m->n_opsets};
  memset(&m->flat, 0, sizeof m->flat);
  onnx_build_start(&in.flat, &m->arena, &m->flat);
  TRY(copy_values(&in));
  TRY(index_functions(&in));
  TRY(expand(&in, &top));
  return op_verify(&m->flat, in.err);
}
