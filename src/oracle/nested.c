// SPDX-License-Identifier: Apache-2.0
// Sums of sums and of products, which many kernels make in one, and all that a node reads besides its inputs.
#include "base/alloc.h"
#include "oracle/run.h"

// The node with the shapes of its inputs and outputs.
static struct op_infer infer_of(const struct node *n, const struct array *values, struct node_io *io) {
  for (int k = 0; k < n->n_inputs; k++)
    io->in[k] = n->inputs[k] < 0 ? NULL : &values[n->inputs[k]];
  for (int k = 0; k < n->n_outputs; k++)
    io->out[k] = n->outputs[k] < 0 ? (struct array){0} : values[n->outputs[k]];
  return (struct op_infer){.node = n, .n_in = n->n_inputs, .n_out = n->n_outputs, .in = io->in, .out = io->out};
}

enum assay_status oracle_moments(const struct graph *g, const struct array *values, struct arena *arena,
                                 int64_t *moments, struct assay_error *err) {
  struct node_io io;
  *moments = 0;
  enum assay_status status = node_io_make(g, arena, &io, err);
  for (int i = 0; i < g->n_nodes - g->n_exact && !status; i++) {
    struct op_infer c = infer_of(&g->nodes[i], values, &io);
    const int64_t of = op_moments(&c), length = of > 0 ? shape_count(&c.in[0]->shape) / of : 0;
    if (length > 1 && length <= ARITH_LANE_LENGTH && (*moments == 0 || of < *moments))
      *moments = of;
  }
  return status;
}

int run_find_nested(const struct graph *g, int node, int nested[OP_NESTED]) {
  int n = 0, inner[OP_NESTED];
  for (int at = node; run_is_sum(&g->nodes[at]) && n < OP_NESTED; inner[n++] = at) {
    at = g->values[g->nodes[at].inputs[0]].producer;
    if (at < 0 || !run_is_sum(&g->nodes[at]))
      break;
  }
  for (int i = 0; i < n; i++)
    nested[i] = inner[n - 1 - i];
  return n;
}

int run_find_kept(const struct graph *g, int node, int kept[RUN_KEPT]) {
  int nested[OP_NESTED], n = 0, centre = run_find_centre(g, node);
  if (centre >= 0)
    kept[n++] = centre;
  const int count = run_find_nested(g, node, nested);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < g->nodes[nested[i]].n_inputs; k++)
      if (g->nodes[nested[i]].inputs[k] >= 0)
        kept[n++] = g->nodes[nested[i]].inputs[k];
  return n;
}

// Whether each element of the node's result is one of input k's, but for a factor and an addend from elsewhere.
static bool passes_on(const struct node *n, int k) {
  bool moves = n->op->class == OP_MOVEMENT && n->op->errors.rounding == OP_EXACT && n->op->errors.kink == OP_SMOOTH;
  return (k == 0 && moves) || (k < 2 && (n->op->passes >> k & 1));
}

// The products that each element of the contraction's result is the sum of, on average.
static double products_of(const struct node *n, const struct array *values, struct node_io *io) {
  struct op_cost cost = {0};
  if (n->op->class != OP_CONTRACTION || n->n_outputs != 1 || n->op->errors.kink != OP_SMOOTH || !n->op->cost)
    return 0;
  struct op_infer c = infer_of(n, values, io);
  n->op->cost(&c, &cost);
  double count = (double)shape_count(&values[n->outputs[0]].shape);
  return count > 0 && !cost.no_memory ? cost.contraction_flops / 2 / count : 0;
}

static double products_passed_on(const struct graph *g, const struct node *n, const bool *steady,
                                 const double *products) {
  int from = -1;
  for (int k = 0; k < n->n_inputs; k++) {
    int v = n->inputs[k];
    if (v < 0 || steady[v])
      continue;
    if (from >= 0 || !passes_on(n, k))
      return 0;
    from = v;
  }
  return from >= 0 && g->values[from].producer >= 0 ? products[from] : 0;
}

enum assay_status run_find_products(const struct graph *g, const struct array *inputs, double **products,
                                    struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct node_io io;
  struct assay_error why = {0};
  *products = NULL;
  enum assay_status status = oracle_infer(g, inputs, &arena, &shapes, &why);
  if (status && status != ASSAY_ERR_NOMEM) { // where shapes depend on data there is no such number
    arena_release(&arena);
    return ASSAY_OK;
  }
  bool *steady = arena_calloc(&arena, (size_t)g->n_values + 1, sizeof *steady);
  double *found = base_calloc((size_t)g->n_values + 1, sizeof *found);
  if (status || !steady || !found || node_io_make(g, &arena, &io, err)) {
    arena_release(&arena);
    base_free(found);
    return error_nomem(err, "the products of sums");
  }
  run_find_steady(g, steady);
  for (int i = 0; i < g->n_nodes - g->n_exact; i++) {
    const struct node *n = &g->nodes[i];
    double of = products_of(n, shapes.values, &io);
    if (n->outputs[0] >= 0)
      found[n->outputs[0]] = of > 0 ? of : products_passed_on(g, n, steady, found);
  }
  arena_release(&arena);
  *products = found;
  return ASSAY_OK;
}

double run_products(const struct graph *g, int node, const double *products) {
  int nested[OP_NESTED], n = run_find_nested(g, node, nested);
  const struct node *inner = &g->nodes[n > 0 ? nested[0] : node];
  return products && run_is_sum(inner) ? products[inner->inputs[0]] : 0;
}

void run_set_nested(const struct graph *g, int node, const struct array *values, const double *products,
                    struct op_nested *out) {
  int nested[OP_NESTED];
  out->n = run_find_nested(g, node, nested);
  out->products = run_products(g, node, products);
  for (int i = 0; i < out->n; i++) {
    const struct node *n = &g->nodes[nested[i]];
    out->of[i].node = n;
    for (int k = 0; k < OP_NESTED_INPUTS; k++)
      out->of[i].in[k] = k < n->n_inputs && n->inputs[k] >= 0 ? &values[n->inputs[k]] : NULL;
  }
}
