// SPDX-License-Identifier: Apache-2.0
#include "task/check.h"

#include <string.h>

#include "base/alloc.h"
#include "onnx/onnx.h"
#include "oracle/oracle.h"

enum { MOST = 64 }; // parameters, outputs: lists that are searched one by one

static const struct function *function_by_name(const struct model *m, const char *name) {
  for (int i = 0; i < m->n_functions; i++)
    if (strcmp(m->functions[i].name, name) == 0)
      return &m->functions[i];
  return NULL;
}

static int value_by_name(const struct graph *g, const int *list, int n, const char *name) {
  for (int i = 0; i < n; i++)
    if (strcmp(g->values[list[i]].name, name) == 0)
      return list[i];
  return -1;
}

// The graph's values that the function's parameters are named after, in the order of the parameters.
static enum assay_status find_arguments(const struct graph *g, const struct function *f, int *arguments,
                                        struct assay_error *err) {
  const struct graph *body = &f->body;
  for (int i = 0; i < body->n_inputs; i++) {
    const char *name = body->values[body->inputs[i]].name;
    int output = value_by_name(g, g->outputs, g->n_outputs, name);
    arguments[i] = output >= 0 ? output : value_by_name(g, g->inputs, g->n_inputs, name);
    if (arguments[i] < 0)
      return error_set(err, ASSAY_ERR_INVALID,
                       "function '%.80s': its parameter '%.80s' is no input or output of the graph", f->name, name);
  }
  for (int i = 0; i < g->n_outputs; i++) {
    const char *name = g->values[g->outputs[i]].name;
    if (value_by_name(body, body->inputs, body->n_inputs, name) < 0)
      return error_set(err, ASSAY_ERR_INVALID,
                       "function '%.80s' does not judge the output '%.80s': add a parameter of that name", f->name,
                       name);
  }
  return ASSAY_OK;
}

// What is judged is named as the function's outputs are; no other value of the graph may have such a name.
static enum assay_status check_names(const struct graph *g, const struct function *f, struct assay_error *err) {
  const struct graph *body = &f->body;
  if (body->n_inputs > MOST || body->n_outputs > MOST)
    return error_set(err, ASSAY_ERR_LIMIT, "function '%.80s' has more than %d parameters or outputs", f->name, MOST);
  for (int i = 0; i < body->n_outputs; i++) {
    const char *name = body->values[body->outputs[i]].name;
    bool taken = value_by_name(body, body->outputs, i, name) >= 0;
    for (int v = 0; v < g->n_values && !taken; v++)
      taken = strcmp(g->values[v].name, name) == 0;
    if (taken)
      return error_set(err, ASSAY_ERR_INVALID, "function '%.80s': there is another value '%.80s'; rename the output",
                       f->name, name);
  }
  return ASSAY_OK;
}

// Room for what `from` has, the function's outputs and a node that calls it.
static enum assay_status make_room(const struct graph *from, const struct function *f, struct arena *arena,
                                   struct graph *g, struct assay_error *err) {
  *g = *from;
  g->n_values = from->n_values + f->body.n_outputs;
  g->n_nodes = from->n_nodes + 1;
  g->n_outputs = f->body.n_outputs;
  g->values = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *g->values);
  g->nodes = arena_calloc(arena, (size_t)g->n_nodes, sizeof *g->nodes);
  g->outputs = arena_calloc(arena, (size_t)g->n_outputs + 1, sizeof *g->outputs);
  if (!g->values || !g->nodes || !g->outputs)
    return error_nomem(err, "a task's check");
  memcpy(g->values, from->values, (size_t)from->n_values * sizeof *g->values);
  if (from->n_nodes)
    memcpy(g->nodes, from->nodes, (size_t)from->n_nodes * sizeof *g->nodes);
  return ASSAY_OK;
}

// The graph `from`, and at its end a call of the function with these arguments: to->graph, which borrows the model's
// functions and opsets.
static enum assay_status add_call(const struct model *m, const struct graph *from, const struct function *f,
                                  int *arguments, struct model *to, struct assay_error *err) {
  struct graph *g = &to->graph;
  to->source_name = m->source_name;
  to->functions = m->functions;
  to->n_functions = m->n_functions;
  to->opsets = m->opsets;
  to->n_opsets = m->n_opsets;
  enum assay_status status = check_names(from, f, err);
  if (!status)
    status = make_room(from, f, &to->arena, g, err);
  if (status)
    return status;
  for (int i = 0; i < g->n_outputs; i++) {
    g->outputs[i] = from->n_values + i;
    g->values[g->outputs[i]] =
        (struct value){.name = f->body.values[f->body.outputs[i]].name, .rank = -1, .producer = from->n_nodes};
  }
  g->nodes[from->n_nodes] = (struct node){.name = "",
                                          .op_type = f->name,
                                          .domain = f->domain,
                                          .n_inputs = f->body.n_inputs,
                                          .n_outputs = g->n_outputs,
                                          .inputs = arguments,
                                          .outputs = g->outputs};
  return graph_inline(to, err);
}

// A graph without nodes, whose inputs are those of g and then its outputs.
static enum assay_status take_both(const struct graph *g, struct arena *arena, struct graph *out,
                                   struct assay_error *err) {
  *out =
      (struct graph){.name = g->name, .n_values = g->n_inputs + g->n_outputs, .n_inputs = g->n_inputs + g->n_outputs};
  out->values = arena_calloc(arena, (size_t)out->n_values + 1, sizeof *out->values);
  out->inputs = arena_calloc(arena, (size_t)out->n_values + 1, sizeof *out->inputs);
  if (!out->values || !out->inputs)
    return error_nomem(err, "a task's check");
  for (int i = 0; i < out->n_values; i++) {
    out->inputs[i] = i;
    out->values[i] = g->values[i < g->n_inputs ? g->inputs[i] : g->outputs[i - g->n_inputs]];
    out->values[i].producer = -1;
    if (out->values[i].constant || value_by_name(out, out->inputs, i, out->values[i].name) >= 0)
      return error_set(err, ASSAY_ERR_INVALID, "with a check every output must be the result of a node, and no input");
    if (out->values[i].dtype == DTYPE_UNDEFINED || out->values[i].rank < 0)
      return error_set(err, ASSAY_ERR_INVALID, "with a check the output '%.80s' must declare its type and shape",
                       out->values[i].name);
  }
  return ASSAY_OK;
}

static enum assay_status make_check(const struct model *m, const struct function *f, struct model *check,
                                    struct assay_error *err) {
  struct graph both;
  int *arguments = arena_calloc(&check->arena, (size_t)f->body.n_inputs + 1, sizeof *arguments);
  enum assay_status status = arguments ? ASSAY_OK : error_nomem(err, "a task's check");
  if (!status)
    status = take_both(&m->graph, &check->arena, &both, err);
  if (!status)
    status = find_arguments(&both, f, arguments, err);
  return status ? status : add_call(m, &both, f, arguments, check, err);
}

static enum assay_status make_judged(const struct model *m, const struct function *f, struct model *judged,
                                     struct assay_error *err) {
  int *arguments = arena_calloc(&judged->arena, (size_t)f->body.n_inputs + 1, sizeof *arguments);
  enum assay_status status = arguments ? ASSAY_OK : error_nomem(err, "a task's check");
  if (!status)
    status = find_arguments(&m->graph, f, arguments, err);
  if (!status)
    status = add_call(m, &m->graph, f, arguments, judged, err);
  if (!status) // functions are expanded where they are called, so the check's nodes are last
    judged->flat.n_exact = judged->flat.n_nodes - m->flat.n_nodes;
  return status;
}

enum assay_status check_make(const struct model *m, const char *name, struct model *judged, struct model *check,
                             struct assay_error *err) {
  const struct function *f = function_by_name(m, name);
  if (!f)
    return error_set(err, ASSAY_ERR_INVALID, "the file has no function '%.80s'", name);
  *judged = *check = (struct model){0};
  enum assay_status status = make_judged(m, f, judged, err);
  if (!status)
    status = make_check(m, f, check, err);
  if (status) {
    model_release(judged);
    model_release(check);
  }
  return status;
}

enum assay_status check_eval(const struct task *t, const struct array *inputs, const struct array *outputs, int threads,
                             struct array *judged, struct assay_error *err) {
  const size_t n_in = (size_t)t->n_inputs, n_out = (size_t)t->n_outputs;
  struct array *all = base_calloc(n_in + n_out + 1, sizeof *all);
  if (!all)
    return error_nomem(err, "a task's check");
  memcpy(all, inputs, n_in * sizeof *all);
  memcpy(all + n_in, outputs, n_out * sizeof *all);
  const struct oracle_request r = {.graph = &t->check.flat, .inputs = all, .arith = arith_exact(), .threads = threads};
  enum assay_status status = oracle_eval(&r, judged, err);
  base_free(all);
  return status;
}
