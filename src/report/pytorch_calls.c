// SPDX-License-Identifier: Apache-2.0
// Groups of nodes that PyTorch has one call for: a programmer writes F.linear where a graph has a transposition, a
// product and an addition.
#include <string.h>

#include "report/pytorch.h"

static bool is(const struct node *n, const char *op) {
  return strcmp(n->op_type, op) == 0;
}

// How many inputs of nodes and outputs of the graph it is.
static int readers(const struct graph *g, int v) {
  int count = 0;
  for (int i = 0; i < g->n_nodes; i++)
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      count += g->nodes[i].inputs[k] == v;
  for (int i = 0; i < g->n_outputs; i++)
    count += g->outputs[i] == v;
  return count;
}

// The node that makes the value for one reader only, or -1.
static int maker(const struct graph *g, int v, const char *op) {
  int i = v >= 0 ? g->values[v].producer : -1;
  return i >= 0 && is(&g->nodes[i], op) && readers(g, v) == 1 ? i : -1;
}

static bool turns_matrix(const struct pytorch_writer *w, const struct node *n) {
  return pytorch_rank(w, n->inputs[0]) == 2 && pytorch_int_at(n, "perm", 0, 1) == 1;
}

// x @ weight.T + bias
static void find_linear(struct pytorch_module *m, int product) {
  const struct pytorch_writer *w = &m->w;
  const struct graph *g = w->g;
  const struct node *n = &g->nodes[product];
  int turned = maker(g, n->inputs[1], "Transpose");
  if (turned < 0 || !turns_matrix(w, &g->nodes[turned]) || pytorch_rank(w, n->inputs[0]) < 2)
    return;
  struct pytorch_call call = {.x = n->inputs[0], .weight = g->nodes[turned].inputs[0], .bias = -1};
  m->calls[turned].left_out = true;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *sum = &g->nodes[i];
    for (int k = 0; is(sum, "Add") && k < 2; k++)
      if (maker(g, sum->inputs[k], "MatMul") == product && pytorch_rank(w, sum->inputs[1 - k]) == 1 &&
          g->values[sum->inputs[1 - k]].producer < 0) {
        call.bias = sum->inputs[1 - k];
        m->calls[i] = call;
        m->calls[product].left_out = true;
        return;
      }
  }
  m->calls[product] = call;
}

enum assay_status pytorch_find_calls(struct pytorch_module *m, struct arena *arena, struct assay_error *err) {
  m->calls = arena_calloc(arena, (size_t)m->w.g->n_nodes + 1, sizeof *m->calls);
  if (!m->calls)
    return error_nomem(err, "a module");
  for (int i = 0; i < m->w.g->n_nodes; i++)
    m->calls[i].weight = m->calls[i].bias = -1;
  for (int i = 0; i < m->w.g->n_nodes; i++)
    if (is(&m->w.g->nodes[i], "MatMul"))
      find_linear(m, i);
  return ASSAY_OK;
}
