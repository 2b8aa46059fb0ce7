// SPDX-License-Identifier: Apache-2.0
// Shape inference over a whole graph, with the few values that shapes depend on computed along the way.
#include <stdio.h>
#include <string.h>

#include "oracle/run.h"

// Values up to this many elements are computed during inference when everything they need is known: shape arithmetic.
enum { FOLD_ELEMENTS = 4096 };

struct symbol {
  const char *name;
  int64_t value;
};

struct symbols {
  struct symbol *items;
  size_t n, capacity;
  struct arena *arena;
};

static enum assay_status symbol_unify(struct symbols *s, const char *name, int64_t value, int64_t *bound,
                                      struct assay_error *err) {
  for (size_t i = 0; i < s->n; i++)
    if (strcmp(s->items[i].name, name) == 0) {
      *bound = s->items[i].value;
      return ASSAY_OK;
    }
  if (s->n == s->capacity) {
    struct symbol *more = arena_grow(s->arena, s->items, s->n, &s->capacity, sizeof *more);
    if (!more)
      return error_nomem(err, "a table of dimensions");
    s->items = more;
  }
  s->items[s->n++] = (struct symbol){name, value};
  *bound = value;
  return ASSAY_OK;
}

// Holds what was inferred against what the file declares.
static enum assay_status check_declared(const struct value *v, const struct array *a, struct symbols *symbols,
                                        struct assay_error *err) {
  char shape[SHAPE_TEXT_BYTES], at[256];
  if (v->dtype != DTYPE_UNDEFINED && v->dtype != a->dtype)
    return error_set(err, ASSAY_ERR_INVALID, "%s: %s is declared %s but is %s", source_location_text(&v->at, at),
                     v->name, dtype_name(v->dtype), dtype_name(a->dtype));
  if (v->rank < 0)
    return ASSAY_OK;
  if (v->rank != a->shape.rank)
    return error_set(err, ASSAY_ERR_INVALID, "%s: %s is declared with %d dimensions but has shape %s",
                     source_location_text(&v->at, at), v->name, v->rank, shape_text(&a->shape, shape));
  for (int i = 0; i < v->rank; i++) {
    int64_t want = v->dims[i].value;
    if (v->dims[i].symbol) {
      enum assay_status status = symbol_unify(symbols, v->dims[i].symbol, a->shape.dims[i], &want, err);
      if (status)
        return status;
    }
    if (want >= 0 && want != a->shape.dims[i])
      return error_set(err, ASSAY_ERR_INVALID, "%s: dimension %d of %s is declared %s%s%lld but the shape is %s",
                       source_location_text(&v->at, at), i, v->name, v->dims[i].symbol ? v->dims[i].symbol : "",
                       v->dims[i].symbol ? " = " : "", (long long)want, shape_text(&a->shape, shape));
  }
  return ASSAY_OK;
}

enum assay_status run_infer_node(const struct graph *g, int index, struct array *values, struct node_io *io,
                                 struct assay_error *err) {
  const struct node *n = &g->nodes[index];
  for (int i = 0; i < n->n_inputs; i++)
    io->in[i] = n->inputs[i] < 0 ? NULL : &values[n->inputs[i]];
  memset(io->out, 0, sizeof *io->out * (size_t)n->n_outputs);
  struct op_infer c = {.node = n, .n_in = n->n_inputs, .n_out = n->n_outputs, .in = io->in, .out = io->out};
  enum assay_status status = n->op->infer(&c, err);
  for (int i = 0; i < n->n_outputs && !status; i++)
    if (n->outputs[i] >= 0)
      status = shape_check(&io->out[i].shape, err);
  char at[256];
  return status ? error_prefix(err, status, "%s, %s: ", source_location_text(&n->at, at), n->op_type) : ASSAY_OK;
}

enum assay_status node_io_make(const struct graph *g, struct arena *arena, struct node_io *io,
                               struct assay_error *err) {
  int widest = 1;
  for (int i = 0; i < g->n_nodes; i++) {
    widest = g->nodes[i].n_inputs > widest ? g->nodes[i].n_inputs : widest;
    widest = g->nodes[i].n_outputs > widest ? g->nodes[i].n_outputs : widest;
  }
  io->in = arena_calloc(arena, (size_t)widest, sizeof *io->in);
  io->out = arena_calloc(arena, (size_t)widest, sizeof *io->out);
  io->stored = arena_calloc(arena, (size_t)widest, sizeof *io->stored);
  return io->in && io->out && io->stored ? ASSAY_OK : error_nomem(err, "an evaluation");
}

// Computes a small value whose inputs are all known; leaves bits NULL when it cannot.
static enum assay_status fold_node(const struct node *n, struct node_io *io, struct arena *arena,
                                   struct assay_error *err) {
  for (int i = 0; i < n->n_inputs && !n->op->reads_shapes_only; i++)
    if (io->in[i] && !io->in[i]->bits)
      return ASSAY_OK;
  for (int i = 0; i < n->n_outputs; i++)
    if (n->outputs[i] >= 0 && shape_count(&io->out[i].shape) > FOLD_ELEMENTS)
      return ASSAY_OK;
  for (int i = 0; i < n->n_outputs; i++) {
    if (n->outputs[i] < 0)
      continue;
    io->out[i].bits = arena_calloc(arena, (size_t)shape_count(&io->out[i].shape), sizeof *io->out[i].bits);
    if (!io->out[i].bits)
      return error_nomem(err, "shape inference");
  }
  struct arena scratch = {0};
  struct op_eval c = {.node = n,
                      .n_in = n->n_inputs,
                      .n_out = n->n_outputs,
                      .in = io->in,
                      .out = io->out,
                      .arith = arith_exact(),
                      .threads = 1,
                      .scratch = &scratch};
  enum assay_status status = n->op->eval(&c, err);
  arena_release(&scratch);
  return status;
}

static enum assay_status load_constant(const struct tensor *t, struct arena *arena, struct array *out,
                                       struct assay_error *err) {
  int64_t n = shape_count(&t->type.shape);
  *out = (struct array){.dtype = t->type.dtype, .shape = t->type.shape};
  if (n > FOLD_ELEMENTS || (!dtype_is_float(t->type.dtype) && !dtype_is_integer(t->type.dtype)))
    return ASSAY_OK;
  out->bits = arena_calloc(arena, (size_t)n, sizeof *out->bits);
  if (!out->bits)
    return error_nomem(err, "a constant");
  if (dtype_is_float(t->type.dtype))
    dtype_to_f64(t->type.dtype, t->data, n, out->f64);
  else
    dtype_to_i64(t->type.dtype, t->data, n, out->i64);
  return ASSAY_OK;
}

enum assay_status oracle_infer(const struct graph *g, const struct array *inputs, struct arena *arena,
                               struct graph_shapes *out, struct assay_error *err) {
  struct symbols symbols = {.arena = arena};
  struct node_io io;
  struct array *values = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *values);
  if (!values)
    return error_nomem(err, "shape inference");
  memset(&out->cost, 0, sizeof out->cost);
  enum assay_status status = node_io_make(g, arena, &io, err);
  for (int i = 0; i < g->n_values && !status; i++)
    if (g->values[i].constant)
      status = load_constant(g->values[i].constant, arena, &values[i], err);
  for (int i = 0; i < g->n_inputs && !status; i++) {
    values[g->inputs[i]] = inputs[i];
    status = check_declared(&g->values[g->inputs[i]], &inputs[i], &symbols, err);
  }
  for (int i = 0; i < g->n_nodes && !status; i++) {
    const struct node *n = &g->nodes[i];
    status = run_infer_node(g, i, values, &io, err);
    if (!status)
      status = fold_node(n, &io, arena, err);
    if (status)
      break;
    struct op_infer c = {.node = n, .n_in = n->n_inputs, .n_out = n->n_outputs, .in = io.in, .out = io.out};
    struct op_cost cost = {0};
    if (n->op->cost)
      n->op->cost(&c, &cost);
    else
      cost.flops = dtype_is_float(io.out[0].dtype) ? (double)shape_count(&io.out[0].shape) : 0;
    if (cost.no_memory)
      status = error_nomem(err, "what an operator costs");
    out->cost.flops += cost.flops;
    out->cost.contraction_flops += cost.contraction_flops;
    for (int o = 0; o < n->n_outputs && !status; o++) {
      if (n->outputs[o] < 0)
        continue;
      values[n->outputs[o]] = io.out[o];
      status = check_declared(&g->values[n->outputs[o]], &io.out[o], &symbols, err);
    }
  }
  if (!status)
    out->values = values;
  return status;
}
