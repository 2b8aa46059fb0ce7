// SPDX-License-Identifier: Apache-2.0
// What is added to a contraction's result right after it: where an honest kernel's sums may begin.
#include "oracle/run.h"

enum { STEPS_MOST = 8 }; // nodes in a row that an addend is followed through

// Whether the value is known before the node runs, and the same in every pass.
static bool is_there(const struct graph *g, int v, int node, int steps) {
  int producer = g->values[v].producer;
  if (g->values[v].constant || producer < 0)
    return true;
  if (steps == 0 || producer >= node || g->nodes[producer].op->errors.rounding != OP_EXACT)
    return false;
  const struct node *n = &g->nodes[producer];
  for (int i = 0; i < n->n_inputs; i++)
    if (n->inputs[i] >= 0 && !is_there(g, n->inputs[i], node, steps - 1))
      return false;
  return true;
}

// The first node after `after` that adds v and another value or subtracts one from the other. *other: that value.
static int next_sum(const struct graph *g, int v, int after, int *other, bool *v_first) {
  for (int i = after + 1; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    bool sums = n->op->errors.sum == OP_SUM_OF_TWO || n->op->errors.sum == OP_DIFFERENCE;
    if (!sums || n->n_inputs != 2 || (n->inputs[0] == v) == (n->inputs[1] == v))
      continue;
    *v_first = n->inputs[0] == v;
    *other = n->inputs[*v_first ? 1 : 0];
    return i;
  }
  return -1;
}

void run_find_starts(const struct graph *g, int node, struct run_starts *out) {
  out->n = 0;
  const struct node *n = &g->nodes[node];
  if (n->op->class != OP_CONTRACTION || n->n_outputs != 1)
    return;
  int v = n->outputs[0], at = node, other;
  double sign = 1; // of the node's result in v
  bool v_first;
  while (v >= 0 && out->n < OP_STARTS && (at = next_sum(g, v, at, &other, &v_first)) >= 0) {
    if (other < 0 || !is_there(g, other, node, STEPS_MOST))
      return;
    // v = sign result + ...; what is added to v is added to the result times that sign.
    bool difference = g->nodes[at].op->errors.sum == OP_DIFFERENCE;
    double of_v = difference && !v_first ? -1 : 1, of_other = difference && v_first ? -1 : 1;
    sign *= of_v;
    out->of[out->n].value = other;
    out->of[out->n++].factor = sign * of_other;
    v = g->nodes[at].outputs[0];
  }
}
