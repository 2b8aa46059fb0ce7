// SPDX-License-Identifier: Apache-2.0
// A graph's output whose whole making is elementwise, in one launch for the truth and another for every FUSED_PASSES
// contract passes (or for both, where these are all), instead of one a node and pass. The noise is the same, and so is
// every bit of what comes out.
#ifndef ORACLE_CUDA_FUSED_H
#define ORACLE_CUDA_FUSED_H

#include "oracle/cuda/convert.h"
#include "oracle/cuda/fused_args.h"

struct gpu_fused {
  struct compute *compute;
  struct arith contract;
  struct tensor_type type;
  bool steady; // every pass is the truth
  struct fused_args args;
  int n_keys;
  struct fused_source {
    int node, step; // step: of an operator of any number of inputs; -1: the node's own noise
  } sources[FUSED_KEYS];
  struct gpu_array constants[FUSED_INPUTS];
};

// *planned is false where the output is not elementwise, or takes more than fits. Release it also where this fails.
enum assay_status gpu_fused_plan(const struct gpu_request *r, const struct graph_shapes *shapes, int output,
                                 const struct arith *contract, struct gpu_fused *out, bool *planned,
                                 struct assay_error *err);
void gpu_fused_release(struct gpu_fused *f);

// The truth into y, an array of gpu_array_create, and unless 0 into `sigma` either the error scale (steady) or the sum
// of the passes' absolute deviations. broken: a word that is set where a pass is of another class than the truth.
enum assay_status gpu_fused_run(const struct gpu_fused *f, int replicas, const struct gpu_array *y, device_ptr sigma,
                                device_ptr broken, struct assay_error *err);

#endif
