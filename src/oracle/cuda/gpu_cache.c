// SPDX-License-Identifier: Apache-2.0
#include "oracle/cuda/gpu_cache.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "oracle/cuda/cache_args.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/run.h"

extern const char code_cache_args[], code_cache[];

static const struct device_code program = {
    "cache", (const char *const[]){GPU_COMMON_TEXTS, code_cache_args, code_cache, NULL}, false};

enum { SHARE = 4 }; // of the free memory, that one node's values may take

static bool contracts_steady(const struct node *n, const bool *steady) {
  return n->op->class == OP_CONTRACTION && n->n_outputs == 1 && n->outputs[0] >= 0 && run_is_steady(n, steady);
}

enum assay_status gpu_cache_init(struct gpu_cache *cache, struct compute *c, const struct graph *g,
                                 const struct arith *contract, struct assay_error *err) {
  size_t n = (size_t)g->n_nodes + 1;
  bool *steady = base_calloc((size_t)g->n_values + 1, sizeof *steady);
  bool *summed = base_calloc((size_t)g->n_values + 1, sizeof *summed);
  *cache = (struct gpu_cache){.compute = c, .graph = g, .contract = *contract};
  cache->nodes = base_calloc(n, sizeof *cache->nodes);
  cache->wanted = base_calloc(n, sizeof *cache->wanted);
  cache->skipped = base_calloc(n, sizeof *cache->skipped);
  cache->memos = run_memos_make(g);
  cache->remembers = base_calloc(n, sizeof *cache->remembers);
  bool made = steady && summed && cache->nodes && cache->wanted && cache->skipped && cache->memos && cache->remembers;
  enum assay_status status = made ? ASSAY_OK : error_nomem(err, "what an answer's passes share");
  if (!status) {
    run_find_steady(g, steady);
    run_find_summed(g, summed);
  }
  for (int i = 0; !status && i < g->n_nodes; i++) {
    cache->wanted[i] = !run_is_exact(g, i) && contracts_steady(&g->nodes[i], steady) &&
                       !run_rounds_factors(g, contract, summed, i); // other results in every pass then
    cache->remembers[i] = !run_is_exact(g, i) && run_is_steady(&g->nodes[i], steady);
  }
  cache->steady = !status;
  for (int i = 0; !status && i < g->n_outputs; i++)
    cache->steady = cache->steady && steady[g->outputs[i]];
  base_free(steady);
  base_free(summed);
  return status;
}

void gpu_cache_release(struct gpu_cache *cache) {
  for (int i = 0; cache->nodes && i < cache->graph->n_nodes; i++) {
    gpu_array_release(cache->compute, &cache->nodes[i].y);
    compute_free(cache->compute, cache->nodes[i].sigma);
  }
  run_memos_release(cache->graph, cache->memos);
  base_free(cache->remembers);
  base_free(cache->nodes);
  base_free(cache->wanted);
  base_free(cache->skipped);
  memset(cache, 0, sizeof *cache);
}

enum assay_status gpu_cache_reserve(struct gpu_cache *cache, int node, const struct gpu_array *y, device_ptr *sigma,
                                    struct assay_error *err) {
  struct compute_memory memory;
  size_t n = (size_t)shape_count(&y->shape);
  compute_memory(cache->compute, &memory);
  *sigma = 0;
  // Values that inference knows are few, and belong to the pass.
  if (!dtype_is_float(y->dtype) || y->host || n * (sizeof(double) + sizeof(float)) > memory.available / SHARE) {
    cache->wanted[node] = false;
    return ASSAY_OK;
  }
  return compute_alloc(cache->compute, n * sizeof(float), sigma, err);
}

// From the outputs backwards: a node is needed where something needed reads it, and one that is kept reads nothing.
enum assay_status gpu_cache_settle(struct gpu_cache *cache, struct assay_error *err) {
  const struct graph *g = cache->graph;
  bool *needed = base_calloc((size_t)g->n_values + 1, sizeof *needed);
  if (!needed)
    return error_nomem(err, "what an answer's passes share");
  for (int i = 0; i < g->n_outputs; i++)
    needed[g->outputs[i]] = true;
  for (int i = g->n_nodes - 1; i >= 0; i--) {
    const struct node *n = &g->nodes[i];
    bool any = false;
    for (int k = 0; k < n->n_outputs; k++)
      any = any || (n->outputs[k] >= 0 && needed[n->outputs[k]]);
    cache->skipped[i] = !any;
    for (int k = 0; any && !cache->nodes[i].y.data && k < n->n_inputs; k++)
      if (n->inputs[k] >= 0)
        needed[n->inputs[k]] = true;
  }
  base_free(needed);
  return ASSAY_OK;
}

static int format_bits(const struct arith *a) {
  return a->bits < 52 ? a->bits : 52;
}

enum assay_status gpu_cache_draw(const struct gpu_cache *cache, int node, const struct arith *arith,
                                 const struct gpu_array *y, struct assay_error *err) {
  const struct gpu_kept *kept = &cache->nodes[node];
  struct cache_draw_args a = {.arith = gpu_arith_of(arith),
                              .exact = kept->y.data,
                              .sigma = kept->sigma,
                              .y = y->data,
                              .n = shape_count(&y->shape),
                              .wider = ldexp(1, format_bits(&cache->contract) - format_bits(arith))};
  return compute_launch(cache->compute, &program, "cache_draw", a.n, &a, sizeof a, err);
}
