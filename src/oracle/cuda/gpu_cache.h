// SPDX-License-Identifier: Apache-2.0
// What the passes of one answer share. Values are steady that are the same in every pass: inputs, constants, and what
// is made of them without rounding. A contraction of steady values has one exact sum and one variance of its error:
// contract passes then differ only by a deviate for each element. The exact pass finds both; the others draw, and leave
// out what only fed such nodes.
#ifndef ORACLE_CUDA_GPU_CACHE_H
#define ORACLE_CUDA_GPU_CACHE_H

#include "oracle/cuda/gpu.h"

struct gpu_kept {
  struct gpu_array y; // exact; data 0: nothing is kept
  device_ptr sigma;   // float an element
};

struct gpu_cache {
  struct compute *compute;
  const struct graph *graph;
  struct arith contract;
  struct gpu_kept *nodes; // one each
  bool *wanted;           // the node may be kept
  bool *skipped;          // contract passes do without it
  struct op_memo *memos;  // of each node, for those that the host runs
  bool *remembers;        // the node's inputs are steady: it may use its memo
  bool steady;            // all outputs are the same in every pass
};

// Finds the nodes that may be kept. Release it also where this fails.
enum assay_status gpu_cache_init(struct gpu_cache *cache, struct compute *c, const struct graph *g,
                                 const struct arith *contract, struct assay_error *err);
void gpu_cache_release(struct gpu_cache *cache);

// Memory for a node's standard deviations; 0 where it should not be kept, because memory is short.
enum assay_status gpu_cache_reserve(struct gpu_cache *cache, int node, const struct gpu_array *y, device_ptr *sigma,
                                    struct assay_error *err);
// After the exact pass: finds what contract passes can leave out.
enum assay_status gpu_cache_settle(struct gpu_cache *cache, struct assay_error *err);
// The node's result in a contract pass: y has memory.
enum assay_status gpu_cache_draw(const struct gpu_cache *cache, int node, const struct arith *arith,
                                 const struct gpu_array *y, struct assay_error *err);

#endif
