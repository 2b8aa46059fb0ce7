// SPDX-License-Identifier: Apache-2.0
// One pass over a graph on a device: as oracle/eval.c, node by node, freeing every value after its last use.
//
// Shapes are inferred on the host, and for that some values must be known there: constants, and what is computed from
// them (shape arithmetic). Those are evaluated twice, by the device for the pass and by the host for inference. A rule
// that asks for more gets the node's inputs from the device.
#include <string.h>

#include "base/alloc.h"
#include "oracle/cuda/gpu_cache.h"
#include "oracle/cuda/gpu_run.h"
#include "oracle/run.h"

// Known values are at most this large, as in oracle/infer.c.
enum { KNOWN_ELEMENTS = 4096 };

struct pass {
  const struct gpu_request *r;
  struct arena arena;
  struct gpu_array *values;
  struct array *known; // the same values for inference; bits NULL where the host does not know them
  bool *known_owned;
  int *last_use;         // node after which the value is not needed; n_nodes for outputs
  bool *steady, *summed; // as in oracle/eval.c
  struct node_io io;
  const struct gpu_array **in;
  struct gpu_array *out, *stored; // stored: of the node's inputs, those that it reads rounded
};

static enum assay_status pass_init(struct pass *p, const struct gpu_request *r, struct assay_error *err) {
  const struct graph *g = r->graph;
  size_t n = (size_t)g->n_values + 1;
  int widest = 1;
  memset(p, 0, sizeof *p);
  p->r = r;
  for (int i = 0; i < g->n_nodes; i++) {
    widest = g->nodes[i].n_inputs > widest ? g->nodes[i].n_inputs : widest;
    widest = g->nodes[i].n_outputs > widest ? g->nodes[i].n_outputs : widest;
  }
  p->values = arena_calloc(&p->arena, n, sizeof *p->values);
  p->known = arena_calloc(&p->arena, n, sizeof *p->known);
  p->known_owned = arena_calloc(&p->arena, n, sizeof *p->known_owned);
  p->last_use = arena_calloc(&p->arena, n, sizeof *p->last_use);
  p->in = arena_calloc(&p->arena, (size_t)widest, sizeof *p->in);
  p->out = arena_calloc(&p->arena, (size_t)widest, sizeof *p->out);
  p->stored = arena_calloc(&p->arena, (size_t)widest, sizeof *p->stored);
  p->steady = arena_calloc(&p->arena, n, sizeof *p->steady);
  p->summed = arena_calloc(&p->arena, n, sizeof *p->summed);
  if (!p->values || !p->known || !p->known_owned || !p->last_use || !p->in || !p->out || !p->stored || !p->steady ||
      !p->summed)
    return error_nomem(err, "an evaluation");
  run_find_steady(g, p->steady);
  run_find_summed(g, p->summed);
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *node = &g->nodes[i];
    for (int k = 0; k < node->n_outputs; k++)
      if (node->outputs[k] >= 0)
        p->last_use[node->outputs[k]] = i;
    for (int k = 0; k < node->n_inputs; k++)
      if (node->inputs[k] >= 0)
        p->last_use[node->inputs[k]] = i;
    int kept[RUN_KEPT], n_kept = run_find_kept(g, i, kept);
    for (int k = 0; k < n_kept; k++)
      p->last_use[kept[k]] = i;
  }
  for (int i = 0; i < g->n_outputs; i++)
    p->last_use[g->outputs[i]] = g->n_nodes;
  for (int i = 0; i < g->n_inputs; i++) {
    int v = g->inputs[i];
    p->values[v] = r->inputs[i];
    p->values[v].owned = false;
    p->known[v] = (struct array){.dtype = r->inputs[i].dtype, .shape = r->inputs[i].shape};
    p->known[v].bits = (uint64_t *)r->inputs[i].host; // only read: no evaluator writes to its inputs
  }
  return node_io_make(g, &p->arena, &p->io, err);
}

static void forget(struct pass *p, int v) {
  gpu_array_release(p->r->compute, &p->values[v]);
  if (p->known_owned[v])
    base_free(p->known[v].bits);
  p->known_owned[v] = false;
  p->known[v].bits = NULL;
}

static void pass_release(struct pass *p) {
  for (int i = 0; p->values && p->known_owned && i < p->r->graph->n_values; i++)
    forget(p, i);
  arena_release(&p->arena);
}

static enum assay_status load_constant(struct pass *p, int v, struct assay_error *err) {
  const struct tensor *t = p->r->graph->values[v].constant;
  enum assay_status status = gpu_array_upload(p->r->compute, t, &p->values[v], err);
  if (status)
    return status;
  if (shape_count(&t->type.shape) > KNOWN_ELEMENTS) {
    p->known[v] = (struct array){.dtype = t->type.dtype, .shape = t->type.shape};
    return ASSAY_OK;
  }
  status = array_from_tensor(t, &p->known[v], err);
  p->known_owned[v] = !status;
  p->values[v].host = p->known[v].bits;
  return status;
}

static enum assay_status load_constants(struct pass *p, const struct node *n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n->n_inputs && !status; i++) {
    int v = n->inputs[i];
    if (v >= 0 && !p->values[v].data && p->r->graph->values[v].constant)
      status = load_constant(p, v, err);
  }
  return status;
}

// Brings the node's inputs to the host. False when they are there already.
static bool know_inputs(struct pass *p, const struct node *n, enum assay_status *status, struct assay_error *err) {
  bool more = false;
  *status = ASSAY_OK;
  for (int i = 0; i < n->n_inputs && !*status; i++) {
    int v = n->inputs[i];
    if (v < 0 || p->known[v].bits)
      continue;
    *status = gpu_array_download(p->r->compute, &p->values[v], &p->known[v].bits, err);
    p->known_owned[v] = !*status;
    p->values[v].host = p->known[v].bits;
    more = true;
  }
  return more;
}

static enum assay_status infer_node(struct pass *p, int index, struct assay_error *err) {
  const struct node *n = &p->r->graph->nodes[index];
  struct assay_error first = {0};
  enum assay_status status = run_infer_node(p->r->graph, index, p->known, &p->io, &first);
  if (status == ASSAY_ERR_UNSUPPORTED && know_inputs(p, n, &status, err)) {
    if (!status)
      status = run_infer_node(p->r->graph, index, p->known, &p->io, err);
    return status;
  }
  if (first.status && err)
    *err = first;
  return first.status;
}

// What the host can know of the outputs, for later inference. The outputs own io->out[i].bits afterwards.
static enum assay_status fold_node(struct pass *p, const struct node *n, struct assay_error *err) {
  struct node_io *io = &p->io;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n->n_inputs && !n->op->reads_shapes_only; i++)
    if (io->in[i] && !io->in[i]->bits)
      return ASSAY_OK;
  for (int i = 0; i < n->n_outputs; i++)
    if (n->outputs[i] >= 0 && shape_count(&io->out[i].shape) > KNOWN_ELEMENTS)
      return ASSAY_OK;
  for (int i = 0; i < n->n_outputs && !status; i++) {
    int v = n->outputs[i];
    if (v < 0)
      continue;
    status = array_create(io->out[i].dtype, &io->out[i].shape, &p->known[v], err);
    p->known_owned[v] = !status;
    io->out[i].bits = p->known[v].bits;
    p->values[v].host = p->known[v].bits;
  }
  if (status)
    return status;
  struct arena scratch = {0};
  struct op_eval c = {.node = n,
                      .n_in = n->n_inputs,
                      .n_out = n->n_outputs,
                      .in = io->in,
                      .out = io->out,
                      .arith = arith_exact(),
                      .threads = 1,
                      .scratch = &scratch};
  status = n->op->eval(&c, err);
  arena_release(&scratch);
  return status;
}

static void drop_dead(struct pass *p, int index) {
  const struct node *n = &p->r->graph->nodes[index];
  int kept[RUN_KEPT];
  const int *const lists[] = {n->inputs, n->outputs, kept};
  const int counts[] = {n->n_inputs, n->n_outputs, run_find_kept(p->r->graph, index, kept)};
  for (int side = 0; side < 3; side++)
    for (int i = 0; i < counts[side]; i++)
      if (lists[side][i] >= 0 && p->last_use[lists[side][i]] <= index)
        forget(p, lists[side][i]);
}

static enum assay_status make_outputs(struct pass *p, const struct node *n, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < n->n_outputs && !status; i++) {
    int v = n->outputs[i];
    p->out[i] = (struct gpu_array){.dtype = p->io.out[i].dtype, .shape = p->io.out[i].shape};
    if (v < 0)
      continue;
    status = gpu_array_create(p->r->compute, p->io.out[i].dtype, &p->io.out[i].shape, &p->values[v], err);
    p->known[v] = (struct array){.dtype = p->io.out[i].dtype, .shape = p->io.out[i].shape};
    p->out[i] = p->values[v];
  }
  return status;
}

// As find_starts of oracle/eval.c.
static enum assay_status find_starts(struct pass *p, int index, struct gpu_eval *c, struct assay_error *err) {
  struct run_starts starts;
  enum assay_status status = ASSAY_OK;
  run_find_starts(p->r->graph, index, &starts);
  for (int i = 0; i < starts.n && !status; i++) {
    int v = starts.of[i].value;
    if (!p->values[v].data && p->r->graph->values[v].constant)
      status = load_constant(p, v, err);
    const struct gpu_array *of = &p->values[v];
    struct shape joint;
    if (status || !of->data || !dtype_is_float(of->dtype) ||
        shape_broadcast(&of->shape, &c->out[0].shape, &joint, NULL) != ASSAY_OK ||
        !shape_equal(&joint, &c->out[0].shape))
      break;
    c->starts[c->n_starts].of = of;
    c->starts[c->n_starts++].factor = starts.of[i].factor;
  }
  return status;
}

// As store_inputs of oracle/eval.c.
static enum assay_status store_inputs(struct pass *p, const struct run_reader *reader, struct assay_error *err) {
  const struct node *n = &reader->g->nodes[reader->node];
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < n->n_inputs && !status; k++) {
    const int v = n->inputs[k];
    struct arith how;
    int same;
    if (v < 0 || !run_rounds_input(reader, k, p->values[v].dtype, &how, &same))
      continue;
    if (same == k)
      status = gpu_array_round(p->r->compute, &p->values[v], &how, &p->stored[k], err);
    p->in[k] = &p->stored[same];
  }
  return status;
}

// As in oracle/eval.c. An answer that keeps what nodes made may have dropped the terms.
static void set_nested(struct pass *p, int index, struct gpu_eval *c) {
  const struct graph *g = p->r->graph;
  int nested[OP_NESTED], n = run_find_nested(g, index, nested);
  if (n == 0 && run_products(g, index, p->r->products) == 0)
    return;
  c->terms = &p->values[g->nodes[n > 0 ? nested[0] : index].inputs[0]];
  if (c->terms->data)
    run_set_nested(g, index, p->known, p->r->products, &c->nested);
}

// sigma, has_sigma: as in gpu_eval. The nodes of a task's check round nothing in any pass.
static enum assay_status run_on_device(struct pass *p, int index, const struct arith *pass, device_ptr sigma,
                                       bool *has_sigma, struct assay_error *err) {
  const struct arith exact = arith_exact(), *arith = run_is_exact(p->r->graph, index) ? &exact : pass;
  const struct node *n = &p->r->graph->nodes[index];
  gpu_eval_fn *eval = gpu_find(n->op);
  if (!eval)
    return error_set(err, ASSAY_ERR_UNSUPPORTED, "the operator has no device code; judge this task on the CPU");
  for (int i = 0; i < n->n_inputs; i++)
    p->in[i] = n->inputs[i] < 0 ? NULL : &p->values[n->inputs[i]];
  struct gpu_eval c = {.compute = p->r->compute,
                       .node = n,
                       .n_in = n->n_inputs,
                       .n_out = n->n_outputs,
                       .in = p->in,
                       .out = p->out,
                       .arith = *arith,
                       .sigma = sigma};
  c.arith.key = noise_derive(pass->key, (uint64_t)index);
  if (p->r->cache && p->r->cache->remembers[index])
    c.memo = &p->r->cache->memos[index];
  const int centre = run_find_centre(p->r->graph, index);
  if (!arith->exact && centre >= 0 && p->values[centre].data)
    c.centre = &p->values[centre];
  if (!arith->exact && arith->one_lane)
    set_nested(p, index, &c);
  enum assay_status status = arith->exact ? ASSAY_OK : find_starts(p, index, &c, err);
  const struct run_reader reader = {p->r->graph, arith, p->steady, index,
                                    !sigma && run_rounds_factors(p->r->graph, arith, p->summed, index)};
  if (!status)
    status = store_inputs(p, &reader, err);
  if (reader.factors)
    c.arith = run_without_factors(p->r->graph, &c.arith, index);
  if (!status)
    status = eval(&c, err);
  *has_sigma = c.has_sigma;
  for (int i = 0; i < c.n_temporaries; i++)
    compute_free(p->r->compute, c.temporaries[i]);
  for (int i = 0; i < n->n_inputs; i++)
    gpu_array_release(p->r->compute, &p->stored[i]);
  return status;
}

// In the exact pass: a node's result with the standard deviation of its error, kept for the passes that follow. *kept
// is false where the operator has no such form, or it takes too much memory.
static enum assay_status run_and_keep(struct pass *p, int index, bool *kept, struct assay_error *err) {
  struct gpu_cache *cache = p->r->cache;
  struct gpu_array *y = &p->values[p->r->graph->nodes[index].outputs[0]];
  device_ptr sigma;
  *kept = false;
  enum assay_status status = gpu_cache_reserve(cache, index, y, &sigma, err);
  if (!status && sigma)
    status = run_on_device(p, index, &cache->contract, sigma, kept, err);
  if (status || !*kept) {
    compute_free(p->r->compute, sigma);
    return status;
  }
  cache->nodes[index] = (struct gpu_kept){.y = *y, .sigma = sigma};
  y->owned = false;
  return ASSAY_OK;
}

static enum assay_status run_fresh(struct pass *p, int index, struct assay_error *err) {
  const struct gpu_request *r = p->r;
  bool asks = r->sigma && index == r->sigma_node, has_sigma = false, kept = false;
  enum assay_status status = ASSAY_OK;
  if (r->cache && r->arith.exact && r->cache->wanted[index])
    status = run_and_keep(p, index, &kept, err);
  if (!status && !kept)
    status = run_on_device(p, index, &r->arith, asks ? r->sigma : 0, &has_sigma, err);
  if (asks)
    *r->has_sigma = has_sigma;
  return status;
}

// In a contract pass: the result of a node that is kept. Its inputs may not be there.
static enum assay_status draw_kept(struct pass *p, int index, struct assay_error *err) {
  const struct gpu_array *exact = &p->r->cache->nodes[index].y;
  int v = p->r->graph->nodes[index].outputs[0];
  struct arith arith = p->r->arith;
  arith.key = noise_derive(arith.key, (uint64_t)index);
  p->known[v] = (struct array){.dtype = exact->dtype, .shape = exact->shape};
  enum assay_status status = gpu_array_create(p->r->compute, exact->dtype, &exact->shape, &p->values[v], err);
  return status ? status : gpu_cache_draw(p->r->cache, index, &arith, &p->values[v], err);
}

static enum assay_status evaluate(struct pass *p, int index, struct assay_error *err) {
  const struct node *n = &p->r->graph->nodes[index];
  const struct gpu_cache *cache = p->r->arith.exact ? NULL : p->r->cache;
  if (cache && cache->nodes[index].y.data)
    return draw_kept(p, index, err);
  enum assay_status status = load_constants(p, n, err);
  if (!status)
    status = infer_node(p, index, err);
  if (!status)
    status = make_outputs(p, n, err);
  if (!status)
    status = fold_node(p, n, err);
  if (status)
    return status;
  char at[256];
  status = run_fresh(p, index, err);
  return status ? error_prefix(err, status, "%s, %s: ", source_location_text(&n->at, at), n->op_type) : ASSAY_OK;
}

static enum assay_status run_node(struct pass *p, int index, struct assay_error *err) {
  if (p->r->cache && !p->r->arith.exact && p->r->cache->skipped[index])
    return ASSAY_OK;
  enum assay_status status = evaluate(p, index, err);
  if (!status)
    drop_dead(p, index);
  return status;
}

// Hands an output to the caller: moved if no other output is the same value and it is stored as an output must be,
// copied otherwise.
static enum assay_status take_output(struct pass *p, int v, struct gpu_array *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  if (!p->values[v].data && p->r->graph->values[v].constant)
    status = load_constant(p, v, err);
  if (status)
    return status;
  const struct gpu_array *from = &p->values[v];
  if (from->owned && (from->storage == GPU_F64 || from->storage == GPU_I64)) {
    *out = *from;
    out->host = NULL;           // goes with the pass
    p->values[v].owned = false; // a second claim finds it not owned and copies
    return ASSAY_OK;
  }
  status = gpu_array_create(p->r->compute, from->dtype, &from->shape, out, err);
  if (!status)
    status = gpu_array_widen(p->r->compute, from, out, err);
  if (status)
    gpu_array_release(p->r->compute, out);
  return status;
}

enum assay_status gpu_oracle_eval(const struct gpu_request *r, struct gpu_array *outputs, struct assay_error *err) {
  struct pass p;
  int taken = 0;
  enum assay_status status = pass_init(&p, r, err);
  for (int i = 0; i < r->graph->n_nodes && !status; i++)
    status = run_node(&p, i, err);
  for (; taken < r->graph->n_outputs && !status; taken++)
    status = take_output(&p, r->graph->outputs[taken], &outputs[taken], err);
  if (status)
    for (int i = 0; i + 1 < taken; i++)
      gpu_array_release(r->compute, &outputs[i]);
  pass_release(&p);
  return status;
}
