// SPDX-License-Identifier: Apache-2.0
// torch.logsumexp is one function for its caller and six operators inside (ATen's ReduceOps.cpp): amax, sub, exp, sum,
// log and add, each of which stores its result in the tensors' type. A kernel of one's own does all in single
// precision. Both are right, so the oracle may round between these steps as it may between nodes.
//
// The steps are a function of that name: a model's own functions go before operators (onnx/inline.c).
#include "task/steps.h"

#include <string.h>

#include "base/error.h"
#include "onnx/onnx.h"
#include "ops/op.h"

static const char steps_text[] =
    "<ir_version: 10, opset_import: [\"\" : 23]>\n"
    "steps (float[N] x) => (float[N] y) { y = Identity(x) }\n"
    "<domain: \"\", opset_import: [\"\" : 23]>\n"
    "ReduceLogSumExp <keepdims: int = 1, noop_with_empty_axes: int = 0> (x, axes) => (y) {\n"
    "  largest = ReduceMax <noop_with_empty_axes: int = @noop_with_empty_axes> (x, axes)\n"
    "  endless = IsInf (largest)\n"
    "  nothing = Constant <value_float = 0.0> ()\n"
    "  zero = CastLike (nothing, largest)\n"
    "  taken = Where (endless, zero, largest)\n" // Inf - Inf would be NaN
    "  less = Sub (x, taken)\n"
    "  powers = Exp (less)\n"
    "  sum = ReduceSum <noop_with_empty_axes: int = @noop_with_empty_axes> (powers, axes)\n"
    "  logarithm = Log (sum)\n"
    "  all = Add (logarithm, taken)\n"
    "  y = ReduceMax <keepdims: int = @keepdims, noop_with_empty_axes: int = @noop_with_empty_axes> (all, axes)\n"
    "}\n";

// Whether the graph has the operator, and always in a form that the function takes: axes as an input.
static bool has_steps(const struct graph *g, const char *name) {
  bool any = false;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    if (strcmp(n->op_type, name) != 0 || n->domain[0])
      continue;
    if (n->op->max_in < 2)
      return false;
    any = true;
  }
  return any;
}

// The model's functions, and ours.
static enum assay_status add_functions(const struct model *m, struct model *steps, struct assay_error *err) {
  struct function *all = arena_calloc(&steps->arena, (size_t)(m->n_functions + steps->n_functions), sizeof *all);
  if (!all)
    return error_nomem(err, "the steps of a task's operators");
  if (m->n_functions)
    memcpy(all, m->functions, (size_t)m->n_functions * sizeof *all);
  memcpy(all + m->n_functions, steps->functions, (size_t)steps->n_functions * sizeof *all);
  steps->functions = all;
  steps->n_functions += m->n_functions;
  return ASSAY_OK;
}

enum assay_status steps_make(const struct model *m, struct model *steps, struct assay_error *err) {
  *steps = (struct model){0};
  if (!has_steps(&m->flat, "ReduceLogSumExp"))
    return ASSAY_OK;
  enum assay_status status = onnx_parse_text(steps_text, sizeof steps_text - 1, "steps", steps, err);
  if (status)
    return status;
  status = add_functions(m, steps, err);
  steps->source_name = m->source_name;
  steps->graph = m->graph;
  steps->opsets = m->opsets;
  steps->n_opsets = m->n_opsets;
  if (!status)
    status = graph_inline(steps, err);
  if (status)
    model_release(steps);
  return status;
}
