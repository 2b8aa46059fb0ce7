// SPDX-License-Identifier: Apache-2.0
// Sums of squared deviations from a mean, which many kernels make in one pass.
#include "oracle/run.h"

// The node that makes a value; NULL: none does.
static const struct node *maker(const struct graph *g, int v) {
  const int producer = v < 0 ? -1 : g->values[v].producer;
  return producer < 0 ? NULL : &g->nodes[producer];
}

bool run_is_sum(const struct node *n) {
  return n->op->total == OP_TOTAL_SUM || n->op->total == OP_TOTAL_MEAN;
}

int run_find_centre(const struct graph *g, int node) {
  const struct node *n = &g->nodes[node];
  if (n->op->total == OP_NO_TOTAL)
    return -1;
  int deviation = n->inputs[0];
  if (n->op->total != OP_TOTAL_SQUARES) {
    const struct node *square = maker(g, deviation);
    if (!square || !square->op->multiplies || square->inputs[0] != square->inputs[1])
      return -1;
    deviation = square->inputs[0];
  }
  const struct node *difference = maker(g, deviation);
  if (!difference || difference->op->errors.sum != OP_DIFFERENCE)
    return -1;
  const struct node *mean = maker(g, difference->inputs[1]);
  return mean && mean->op->total == OP_TOTAL_MEAN && mean->inputs[0] == difference->inputs[0] ? difference->inputs[1]
                                                                                              : -1;
}
