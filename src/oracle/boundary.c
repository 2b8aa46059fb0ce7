// SPDX-License-Identifier: Apache-2.0
// Boundaries: where a value goes from one operator to the next, and may be rounded to the storage type on its way.
//
// PyTorch rounds the result of every operator to the tensors' type, fused kernels keep it in single precision, and some
// do both with one value: they store it and go on with what is in the register. So a boundary is where one node reads
// one value, and a pass decides for each whether the node reads it rounded. However many read it so, they read the same
// number.
//
// Rounding before an operator that only picks or moves values is rounding after it, so there is no boundary before
// those. And there is none where values are on the type's grid anyway: inputs, constants, and what is moved from them.
//
// Factors of products that tensor cores round (TF32) are rounded where a node reads them, too, inputs and constants as
// well: run_rounds_factors.
//
// Some operators are several for PyTorch, and have boundaries inside (op_def.stores_inside): arith_stores_inside.
#include <float.h>

#include "base/alloc.h"
#include "base/memory.h"
#include "base/parallel.h"
#include "oracle/run.h"

// Streams of a pass's key, apart from those of nodes.
static const uint64_t STORE_VALUES = 0x73746f7265u, STORE_PLACES = 0x706c61636573u, FACTORS = 0x666163746f7273u;

enum { GRAIN = 1 << 14 };

// Of a value that declares no type its node says it (Cast); where not, it may be an integer.
static bool casts_to_integers(const struct graph *g, const struct node *n) {
  enum dtype t = n->outputs[0] >= 0 ? g->values[n->outputs[0]].dtype : DTYPE_UNDEFINED;
  if (t == DTYPE_UNDEFINED && !dtype_by_number(node_int(n, "to", 0), &t))
    return true;
  return !dtype_is_float(t) && t != DTYPE_BOOL;
}

// types: of all values; NULL: unknown.
static bool has_casts(const struct graph *g, const struct array *types) {
  bool any = false;
  for (int i = 0; i < g->n_nodes - g->n_exact && !any; i++) {
    const struct node *n = &g->nodes[i];
    any = n->op && n->op->casts && casts_to_integers(g, n) &&
          (!types || n->inputs[0] < 0 || dtype_is_float(types[n->inputs[0]].dtype));
  }
  return any;
}

bool run_casts_to_integers(const struct graph *g, const struct array *inputs) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct assay_error unknown = {0};
  bool any = has_casts(g, NULL);
  if (any && inputs && oracle_infer(g, inputs, &arena, &shapes, &unknown) == ASSAY_OK)
    any = has_casts(g, shapes.values);
  arena_release(&arena);
  return any;
}

void run_find_steady(const struct graph *g, bool *steady) {
  for (int v = 0; v < g->n_values; v++)
    steady[v] = g->values[v].constant != NULL;
  for (int i = 0; i < g->n_inputs; i++)
    steady[g->inputs[i]] = true;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    bool same = n->op->errors.rounding == OP_EXACT;
    for (int k = 0; k < n->n_inputs && same; k++)
      same = n->inputs[k] < 0 || steady[n->inputs[k]];
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        steady[n->outputs[k]] = same;
  }
}

bool run_is_steady(const struct node *n, const bool *steady) {
  for (int k = 0; k < n->n_inputs; k++)
    if (n->inputs[k] >= 0 && !steady[n->inputs[k]])
      return false;
  return true;
}

struct op_memo *run_memos_make(const struct graph *g) {
  return base_calloc((size_t)g->n_nodes + 1, sizeof(struct op_memo));
}

void run_memos_release(const struct graph *g, struct op_memo *memos) {
  for (int i = 0; memos && i < g->n_nodes; i++)
    op_memo_release(&memos[i]);
  base_free(memos);
}

int64_t run_factor_bytes(const struct node *n, const struct shape *matrices, const struct shape *right) {
  enum { SIDES = 3 }; // a right-hand side's columns three times, as in ops/linalg.c
  if (n->op->class != OP_FACTORIZATION || shape_count(matrices) == 0)
    return 0;
  const int64_t batch = shape_span(matrices, 0, matrices->rank - 2), cpus = parallel_cpus();
  const int64_t at_once = batch < cpus ? batch : cpus; // a thread works on one of them
  const int64_t doubles = shape_count(matrices) * n->op->matrices + (right ? shape_count(right) * SIDES : 0);
  return doubles / batch * at_once * (int64_t)sizeof(double);
}

bool run_memo_fits(const struct op_eval *c, int64_t needed) {
  enum { MATRICES = 3, HEADS = 256, PART = 4 }; // two layouts of a matrix and their rows; what is noted of each matrix
  if (c->node->op->class != OP_FACTORIZATION)
    return true; // nothing is kept
  const struct shape *a = &c->in[0]->shape;
  int64_t total, doubles = shape_count(a) * MATRICES;
  for (int o = 0; o < c->n_out; o++) // of QR and SVD the outputs are kept
    doubles += c->out[o].bits ? shape_count(&c->out[o].shape) : 0;
  const int64_t bytes = doubles * (int64_t)sizeof(double) + (a->rank > 2 ? shape_span(a, 0, a->rank - 2) : 1) * HEADS;
  return bytes <= (memory_available("", &total) - needed) / PART;
}

bool run_is_boundary(const struct graph *g, const bool *steady, int node, int v) {
  const struct op_def *op = g->nodes[node].op;
  return v >= 0 && !steady[v] && (op->errors.rounding != OP_EXACT || op->steps);
}

bool run_has_boundary(const struct graph *g, const bool *steady) {
  for (int i = 0; i < g->n_nodes; i++) {
    if (g->nodes[i].op->stores_inside)
      return true;
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      if (run_is_boundary(g, steady, i, g->nodes[i].inputs[k]))
        return true;
  }
  return false;
}

// Whether this pass rounds there, a boundary. dtype: of the value, which may be another type than the contract's.
static bool rounds_at(const struct arith *a, int node, int v, enum dtype dtype) {
  uint64_t stream = noise_derive(noise_derive(a->key, STORE_PLACES), (uint64_t)node);
  return arith_stores_at(a, stream, (uint64_t)v, dtype);
}

// How the pass rounds value v: element i with noise_at(key, i), or to nearest with ties to even where `exact`, and what
// overflows to NaN.
static struct arith storing_of(const struct arith *a, int v) {
  return arith_storing(a, noise_derive(noise_derive(a->key, STORE_VALUES), (uint64_t)v));
}

void run_find_summed(const struct graph *g, bool *summed) {
  for (int v = 0; v < g->n_values; v++)
    summed[v] = false;
  for (int i = g->n_nodes - 1; i >= 0; i--) {
    const struct node *n = &g->nodes[i];
    bool sums = n->op->errors.sum == OP_SUM_OF_MANY;
    for (int k = 0; k < n->n_outputs; k++)
      sums = sums || (n->outputs[k] >= 0 && summed[n->outputs[k]]);
    for (int k = 0; k < n->n_inputs && sums; k++)
      if (n->inputs[k] >= 0)
        summed[n->inputs[k]] = true;
  }
}

bool run_rounds_factors(const struct graph *g, const struct arith *a, const bool *summed, int node) {
  const struct node *n = &g->nodes[node];
  bool rounds = n->op->factors_inside;
  for (int k = 0; k < n->n_outputs; k++)
    rounds = rounds || (n->outputs[k] >= 0 && summed[n->outputs[k]]);
  return rounds && n->op->factors > 0 && !a->exact && a->product_bits < 53 && !run_is_exact(g, node);
}

bool run_is_factor(const struct graph *g, int node, int k, enum dtype dtype) {
  return k < g->nodes[node].op->factors && dtype == DTYPE_FLOAT;
}

// Beyond the largest number of these bits there is no infinity: what overflows are products.
static struct arith rounding_factor(const struct arith *a, int v) {
  return (struct arith){.bits = a->product_bits,
                        .min_exponent = a->min_exponent,
                        .max = DBL_MAX,
                        .key = noise_derive(noise_derive(a->key, FACTORS), (uint64_t)v)};
}

struct arith run_without_factors(const struct graph *g, const struct arith *a, int node) {
  const struct op_def *op = g->nodes[node].op;
  struct arith without = *a;
  if (!op->factors_inside)
    without.product_bits = 53;
  return without;
}

bool run_rounds_input(const struct run_reader *r, int k, enum dtype dtype, struct arith *how, int *same) {
  const int *inputs = r->g->nodes[r->node].inputs, v = inputs[k];
  const bool factor = r->factors && run_is_factor(r->g, r->node, k, dtype);
  if (!factor && (!run_is_boundary(r->g, r->steady, r->node, v) || !rounds_at(r->arith, r->node, v, dtype)))
    return false;
  *how = factor ? rounding_factor(r->arith, v) : storing_of(r->arith, v);
  for (*same = 0; inputs[*same] != v; ++*same)
    continue;
  return true;
}

struct storing {
  struct arith arith;
  const double *from;
  double *to;
  int64_t first;
};

static void store_range(void *arg, int64_t begin, int64_t end) {
  const struct storing *s = arg;
  for (int64_t i = begin; i < end; i++)
    s->to[i] = arith_store(&s->arith, (uint64_t)(s->first + i), s->from[i]);
}

enum assay_status run_store(const struct array *from, const struct arith *rounding, int64_t first, int threads,
                            struct array *to, struct assay_error *err) {
  enum assay_status status = array_create(from->dtype, &from->shape, to, err);
  if (status)
    return status;
  struct storing s = {.arith = *rounding, .from = from->f64, .to = to->f64, .first = first};
  parallel_for(threads, shape_count(&from->shape), GRAIN, store_range, &s);
  return ASSAY_OK;
}
