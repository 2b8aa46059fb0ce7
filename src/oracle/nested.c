// SPDX-License-Identifier: Apache-2.0
// Sums of sums, which many kernels make in one, and all that a node reads besides its inputs.
#include "oracle/run.h"

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

void run_set_nested(const struct graph *g, int node, const struct array *values, struct op_nested *out) {
  int nested[OP_NESTED];
  out->n = run_find_nested(g, node, nested);
  for (int i = 0; i < out->n; i++) {
    const struct node *n = &g->nodes[nested[i]];
    out->of[i].node = n;
    for (int k = 0; k < OP_NESTED_INPUTS; k++)
      out->of[i].in[k] = k < n->n_inputs && n->inputs[k] >= 0 ? &values[n->inputs[k]] : NULL;
  }
}
