// SPDX-License-Identifier: Apache-2.0
// Sums of squared deviations from a mean, which many kernels make in one pass.
#include <string.h>

#include "oracle/run.h"

static const struct node *made_by(const struct graph *g, int v, const char *op) {
  int producer = v < 0 ? -1 : g->values[v].producer;
  return producer >= 0 && strcmp(g->nodes[producer].op->name, op) == 0 ? &g->nodes[producer] : NULL;
}

bool run_is_sum(const struct node *n) {
  return strcmp(n->op->name, "ReduceSum") == 0 || strcmp(n->op->name, "ReduceMean") == 0;
}

int run_find_centre(const struct graph *g, int node) {
  const struct node *n = &g->nodes[node];
  if (n->op->class != OP_REDUCTION)
    return -1;
  int deviation = n->inputs[0];
  if (strcmp(n->op->name, "ReduceSumSquare") != 0 && strcmp(n->op->name, "ReduceL2") != 0) {
    const struct node *square = run_is_sum(n) ? made_by(g, deviation, "Mul") : NULL;
    if (!square || square->inputs[0] != square->inputs[1])
      return -1;
    deviation = square->inputs[0];
  }
  const struct node *difference = made_by(g, deviation, "Sub");
  const struct node *mean = difference ? made_by(g, difference->inputs[1], "ReduceMean") : NULL;
  return mean && mean->inputs[0] == difference->inputs[0] ? difference->inputs[1] : -1;
}
