// SPDX-License-Identifier: Apache-2.0
// One pass over a graph: node by node, freeing every intermediate after its last use.
#include <string.h>

#include "base/alloc.h"
#include "oracle/run.h"

struct arith arith_exact(void) {
  return (struct arith){
      .exact = true, .bits = 53, .min_exponent = -1022, .max = 0x1.fffffffffffffp1023, .product_bits = 53, .block = 1};
}

struct arith arith_truth(const struct arith *contract) {
  struct arith a = arith_exact();
  a.stored = contract->stored;
  return a;
}

// Every element of an intermediate value, whatever its type.
static const int64_t VALUE_BYTES = sizeof(double);

struct pass {
  const struct oracle_request *r;
  struct arena arena;
  struct array *values;
  int *last_use; // node after which the value is not needed; n_nodes for outputs
  bool *owned;   // we allocated bits
  bool *steady;  // the value is the same in every pass
  bool *summed;  // as of run_find_summed
  struct node_io io;
};

static void find_last_uses(const struct graph *g, int *last_use) {
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        last_use[n->outputs[k]] = i;
    for (int k = 0; k < n->n_inputs; k++)
      if (n->inputs[k] >= 0)
        last_use[n->inputs[k]] = i;
    int kept[RUN_KEPT], n_kept = run_find_kept(g, i, kept);
    for (int k = 0; k < n_kept; k++)
      last_use[kept[k]] = i;
  }
  for (int i = 0; i < g->n_outputs; i++)
    last_use[g->outputs[i]] = g->n_nodes;
}

static enum assay_status pass_init(struct pass *p, const struct oracle_request *r, struct assay_error *err) {
  const struct graph *g = r->graph;
  memset(p, 0, sizeof *p);
  p->r = r;
  p->values = arena_calloc(&p->arena, (size_t)g->n_values + 1, sizeof *p->values);
  p->last_use = arena_calloc(&p->arena, (size_t)g->n_values + 1, sizeof *p->last_use);
  p->owned = arena_calloc(&p->arena, (size_t)g->n_values + 1, sizeof *p->owned);
  p->steady = arena_calloc(&p->arena, (size_t)g->n_values + 1, sizeof *p->steady);
  p->summed = arena_calloc(&p->arena, (size_t)g->n_values + 1, sizeof *p->summed);
  if (!p->values || !p->last_use || !p->owned || !p->steady || !p->summed)
    return error_nomem(err, "an evaluation");
  run_find_steady(g, p->steady);
  run_find_summed(g, p->summed);
  find_last_uses(g, p->last_use);
  for (int i = 0; i < g->n_inputs; i++)
    p->values[g->inputs[i]] = r->inputs[i];
  return node_io_make(g, &p->arena, &p->io, err);
}

static void pass_release(struct pass *p) {
  for (int i = 0; p->owned && i < p->r->graph->n_values; i++)
    if (p->owned[i])
      base_free(p->values[i].bits);
  arena_release(&p->arena);
}

static enum assay_status load_constant(struct pass *p, int v, struct assay_error *err) {
  if (v < 0 || p->values[v].bits || !p->r->graph->values[v].constant)
    return ASSAY_OK;
  enum assay_status status = array_from_tensor(p->r->graph->values[v].constant, &p->values[v], err);
  p->owned[v] = !status;
  return status;
}

static enum assay_status load_constants(struct pass *p, const struct node *n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n->n_inputs && !status; i++)
    status = load_constant(p, n->inputs[i], err);
  return status;
}

// What the node's sums may begin with, as far as it has the output's extents: a larger one stretches the result first.
static enum assay_status find_starts(struct pass *p, int index, struct op_eval *c, struct assay_error *err) {
  struct run_starts starts;
  enum assay_status status = ASSAY_OK;
  run_find_starts(p->r->graph, index, &starts);
  for (int i = 0; i < starts.n && !status; i++) {
    status = load_constant(p, starts.of[i].value, err);
    const struct array *of = &p->values[starts.of[i].value];
    struct shape joint;
    if (status || !dtype_is_float(of->dtype) ||
        shape_broadcast(&of->shape, &c->out[0].shape, &joint, NULL) != ASSAY_OK ||
        !shape_equal(&joint, &c->out[0].shape))
      break;
    c->starts[c->n_starts++] = (struct op_start){.of = of, .factor = starts.of[i].factor};
  }
  return status;
}

// How many elements of value v are before those of the batch's members that are evaluated.
static int64_t first_of(const struct pass *p, int v) {
  const struct arith_part *part = p->r->arith.part;
  const struct shape *shape = &p->values[v].shape;
  return part && part->apart[v] ? part->first * shape_span(shape, 1, shape->rank) : 0;
}

// Rounds what the node reads rounded; factors: those of its products, too. release_stored afterwards, also where this
// fails.
static enum assay_status store_inputs(struct pass *p, int index, bool factors, struct assay_error *err) {
  const struct oracle_request *r = p->r;
  const struct node *n = &r->graph->nodes[index];
  const struct run_reader reader = {r->graph, &r->arith, p->steady, index, factors};
  struct arith how;
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < n->n_inputs && !status; k++) {
    int v = n->inputs[k], same;
    if (v < 0 || !run_rounds_input(&reader, k, p->values[v].dtype, &how, &same))
      continue;
    if (same == k)
      status = run_store(&p->values[v], &how, first_of(p, v), r->threads, &p->io.stored[k], err);
    p->io.in[k] = &p->io.stored[same];
  }
  return status;
}

static void release_stored(struct pass *p, const struct node *n) {
  for (int k = 0; k < n->n_inputs; k++)
    array_release(&p->io.stored[k]);
}

static void drop_dead(struct pass *p, int index) {
  const struct node *n = &p->r->graph->nodes[index];
  int kept[RUN_KEPT];
  const int *const lists[] = {n->inputs, n->outputs, kept};
  const int counts[] = {n->n_inputs, n->n_outputs, run_find_kept(p->r->graph, index, kept)};
  for (int side = 0; side < 3; side++) {
    const int *list = lists[side];
    for (int i = 0; i < counts[side]; i++) {
      int v = list[i];
      if (v >= 0 && p->owned[v] && p->last_use[v] <= index) {
        array_release(&p->values[v]);
        p->owned[v] = false;
      }
    }
  }
}

static enum assay_status run_node(struct pass *p, int index, struct assay_error *err) {
  const struct graph *g = p->r->graph;
  const struct node *n = &g->nodes[index];
  char at[256];
  enum assay_status status = load_constants(p, n, err);
  if (!status)
    status = run_infer_node(g, index, p->values, &p->io, err);
  for (int i = 0; i < n->n_outputs && !status; i++) {
    int v = n->outputs[i];
    if (v < 0)
      continue;
    status = array_create(p->io.out[i].dtype, &p->io.out[i].shape, &p->values[v], err);
    p->owned[v] = !status;
    p->io.out[i].bits = p->values[v].bits;
  }
  if (status)
    return status;
  struct arena scratch = {0};
  struct op_eval c = {.node = n,
                      .n_in = n->n_inputs,
                      .n_out = n->n_outputs,
                      .in = p->io.in,
                      .out = p->io.out,
                      .arith = run_is_exact(g, index) ? arith_exact() : p->r->arith,
                      .threads = p->r->threads,
                      .scratch = &scratch};
  c.arith.key = noise_derive(p->r->arith.key, (uint64_t)index);
  if (p->r->memos && !run_is_exact(g, index) && run_is_steady(n, p->steady) &&
      (!c.arith.exact || run_memo_fits(&c, p->r->pass_bytes)))
    c.memo = &p->r->memos[index];
  if (c.arith.part && (n->outputs[0] < 0 || !c.arith.part->apart[n->outputs[0]]))
    c.arith.part = NULL;
  const int centre = run_find_centre(g, index);
  if (!c.arith.exact && centre >= 0)
    c.centre = &p->values[centre];
  if (!c.arith.exact && c.arith.one_lane)
    run_set_nested(g, index, p->values, p->r->products, &c.nested);
  if (!c.arith.exact)
    status = find_starts(p, index, &c, err);
  if (p->r->sigma && index == p->r->sigma_node)
    c.sigma = p->r->sigma;
  const bool factors = !c.sigma && run_rounds_factors(g, &c.arith, p->summed, index);
  if (!status && !run_is_exact(g, index))
    status = store_inputs(p, index, factors, err);
  if (factors)
    c.arith = run_without_factors(g, &c.arith, index);
  if (!status)
    status = n->op->eval(&c, err);
  release_stored(p, n);
  if (c.sigma)
    *p->r->has_sigma = c.has_sigma;
  arena_release(&scratch);
  if (status)
    return error_prefix(err, status, "%s, %s: ", source_location_text(&n->at, at), n->op_type);
  drop_dead(p, index);
  return ASSAY_OK;
}

// Hands an output to the caller: moved if this is its only claim, copied otherwise (an input or constant that is an
// output, or a value that is an output twice).
static enum assay_status take_output(struct pass *p, int v, struct array *out, struct assay_error *err) {
  const struct array *from = &p->values[v];
  if (!from->bits && p->r->graph->values[v].constant)
    return array_from_tensor(p->r->graph->values[v].constant, out, err);
  if (p->owned[v]) {
    *out = *from;
    p->owned[v] = false; // a second claim finds it not owned and copies
    return ASSAY_OK;
  }
  enum assay_status status = array_create(from->dtype, &from->shape, out, err);
  if (!status)
    memcpy(out->bits, from->bits, (size_t)shape_count(&from->shape) * sizeof *out->bits);
  return status;
}

enum assay_status oracle_eval(const struct oracle_request *r, struct array *outputs, struct assay_error *err) {
  struct pass p;
  int taken = 0;
  enum assay_status status = pass_init(&p, r, err);
  for (int i = 0; i < r->graph->n_nodes && !status; i++)
    status = run_node(&p, i, err);
  for (; taken < r->graph->n_outputs && !status; taken++)
    status = take_output(&p, r->graph->outputs[taken], &outputs[taken], err);
  if (status)
    for (int i = 0; i + 1 < taken; i++)
      array_release(&outputs[i]);
  pass_release(&p);
  return status;
}

static int64_t factor_bytes(const struct node *n, const struct array *values) {
  const bool right = n->n_inputs > 1 && n->inputs[1] >= 0;
  return n->op->class != OP_FACTORIZATION
             ? 0
             : run_factor_bytes(n, &values[n->inputs[0]].shape, right ? &values[n->inputs[1]].shape : NULL);
}

// Of the copies that store_inputs makes of factors.
static int64_t rounded_bytes(const struct graph *g, int index, const struct array *values) {
  const struct node *n = &g->nodes[index];
  int64_t bytes = 0;
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0 && run_is_factor(g, index, k, values[n->inputs[k]].dtype))
      bytes += VALUE_BYTES * shape_count(&values[n->inputs[k]].shape);
  return bytes;
}

// Walks the graph as a pass does: what a node needs is taken when it runs and dropped after its last use.
enum assay_status oracle_answer_bytes(const struct graph *g, const struct array *values, const struct arith *contract,
                                      struct oracle_bytes *out, struct assay_error *err) {
  struct arena arena = {0};
  struct oracle_bytes b = {0};
  int64_t live = 0, most = 0;
  int *last_use = arena_calloc(&arena, (size_t)g->n_values + 1, sizeof *last_use);
  bool *owned = arena_calloc(&arena, (size_t)g->n_values + 1, sizeof *owned);
  bool *summed = arena_calloc(&arena, (size_t)g->n_values + 1, sizeof *summed);
  if (!last_use || !owned || !summed) {
    arena_release(&arena);
    return error_nomem(err, "the oracle's need of memory");
  }
  find_last_uses(g, last_use);
  run_find_summed(g, summed);
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    for (int k = 0; k < n->n_inputs + n->n_outputs; k++) {
      int v = k < n->n_inputs ? n->inputs[k] : n->outputs[k - n->n_inputs];
      if (v < 0 || owned[v] || (k < n->n_inputs && !g->values[v].constant))
        continue;
      owned[v] = true;
      live += VALUE_BYTES * shape_count(&values[v].shape);
    }
    const bool rounds = contract && run_rounds_factors(g, contract, summed, i);
    const int64_t at_work = live + factor_bytes(n, values) + (rounds ? rounded_bytes(g, i, values) : 0);
    most = at_work > most ? at_work : most;
    int kept[RUN_KEPT], n_kept = run_find_kept(g, i, kept);
    for (int k = 0; k < n->n_inputs + n->n_outputs + n_kept; k++) {
      int v = k < n->n_inputs                  ? n->inputs[k]
              : k < n->n_inputs + n->n_outputs ? n->outputs[k - n->n_inputs]
                                               : kept[k - n->n_inputs - n->n_outputs];
      if (v < 0 || !owned[v] || last_use[v] > i)
        continue;
      owned[v] = false;
      live -= VALUE_BYTES * shape_count(&values[v].shape);
    }
  }
  for (int i = 0; i < g->n_inputs; i++)
    b.working += VALUE_BYTES * shape_count(&values[g->inputs[i]].shape);
  for (int i = 0; i < g->n_outputs; i++)
    b.answer += (VALUE_BYTES + (dtype_is_float(values[g->outputs[i]].dtype) ? (int64_t)sizeof(float) : 0)) *
                shape_count(&values[g->outputs[i]].shape);
  b.working += most;
  *out = b;
  arena_release(&arena);
  return ASSAY_OK;
}
