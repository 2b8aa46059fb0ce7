// SPDX-License-Identifier: Apache-2.0
// Linear algebra next to a device: factorizations are long chains of small steps that a host does well, so the host
// does them, and matrices travel. So are convolutions of integers, which few tasks have. The same function as on the
// CPU, with the same noise.
#include <assert.h>

#include "base/parallel.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/rows.h"
#include "oracle/run.h"

enum { OUTPUTS = 3 };

// From so many operations, or elements of a matrix, on others may have the device meanwhile: a second, or a part of
// one. Below that it would take longer to have it again.
#define LONG_WORK 5e9
enum { LONG_READING = 1 << 28 };

static bool takes_long(const struct op_infer *c) {
  const struct op_def *op = c->node->op;
  struct op_cost cost = {0};
  if (op->class != OP_FACTORIZATION || !op->cost)
    return false;
  op->cost(c, &cost);
  return cost.contraction_flops > LONG_WORK || shape_count(&c->in[0]->shape) >= LONG_READING;
}

static enum assay_status outputs_make(const struct gpu_eval *c, struct array *out, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < c->n_out && !status; i++)
    if (c->out[i].data)
      status = array_create(c->out[i].dtype, &c->out[i].shape, &out[i], err);
  return status;
}

enum assay_status gpu_host_eval(struct gpu_eval *c, struct assay_error *err) {
  struct gpu_node_view v;
  struct array out[OUTPUTS] = {0};
  struct arena scratch = {0};
  assert(c->n_in <= GPU_NODE_INPUTS && c->n_out <= OUTPUTS);
  enum assay_status status = gpu_node_view_init(&v, c, (1U << GPU_NODE_INPUTS) - 1, err);
  if (status)
    return status;
  status = outputs_make(c, out, err);
  if (!status) {
    struct op_eval e = {.node = c->node,
                        .n_in = c->n_in,
                        .n_out = c->n_out,
                        .in = v.infer.in,
                        .out = out,
                        .arith = c->arith,
                        .threads = parallel_cpus(),
                        .scratch = &scratch,
                        .memo = c->memo};
    const bool right = c->n_in > 1 && v.infer.in[1];
    if (e.memo && e.arith.exact &&
        !run_memo_fits(&e, run_factor_bytes(c->node, &v.infer.in[0]->shape, right ? &v.infer.in[1]->shape : NULL)))
      e.memo = NULL;
    const bool waits = takes_long(&v.infer);
    if (waits)
      compute_waits(c->compute, true);
    status = c->node->op->eval(&e, err);
    if (waits)
      compute_waits(c->compute, false);
  }
  for (int i = 0; i < c->n_out && i < OUTPUTS; i++) {
    int64_t n = out[i].bits ? shape_count(&out[i].shape) : 0;
    if (!status && n > 0)
      status = compute_upload(c->compute, c->out[i].data, out[i].bits, (size_t)n * sizeof *out[i].bits, err);
    array_release(&out[i]);
  }
  arena_release(&scratch);
  gpu_node_view_release(&v);
  return status;
}
