// SPDX-License-Identifier: Apache-2.0
// A node's line in a PyTorch module: its results' names and the expression that its operator's row has for it.
#include "report/pytorch.h"

const char *pytorch_preamble(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++)
    if (g->nodes[i].op->pytorch.helper)
      return g->nodes[i].op->pytorch.helper;
  return "";
}

// The names that a node's expression is assigned to: the first output's, or where it is a tuple, those of all.
static void put_targets(struct pytorch_writer *w, const struct node *n) {
  enum op_pytorch_results results = n->op->pytorch.results;
  bool tuple = results != OP_PYTORCH_ONE;
  int count = !tuple ? 1 : results == OP_PYTORCH_ALL ? n->op->max_out : n->n_outputs;
  buf_puts(w->out, "        ");
  for (int i = 0; i < count; i++) {
    if (i < n->n_outputs && n->outputs[i] >= 0)
      pytorch_put_name(w, n->outputs[i]);
    else
      buf_puts(w->out, "_");
    buf_puts(w->out, i + 1 < count ? ", " : tuple && count == 1 ? "," : "");
  }
  buf_puts(w->out, " = ");
}

static void put_linear(struct pytorch_writer *w, const struct pytorch_call *c) {
  buf_puts(w->out, "F.linear(");
  pytorch_put_value(w, c->x);
  buf_puts(w->out, ", ");
  pytorch_put_value(w, c->weight);
  if (c->bias >= 0) {
    buf_puts(w->out, ", ");
    pytorch_put_value(w, c->bias);
  }
  buf_puts(w->out, ")\n");
}

static bool is_read(const struct graph *g, int v) {
  bool read = false;
  for (int i = 0; i < g->n_nodes && !read; i++)
    for (int k = 0; k < g->nodes[i].n_inputs; k++)
      read = read || g->nodes[i].inputs[k] == v;
  for (int i = 0; i < g->n_outputs; i++)
    read = read || g->outputs[i] == v;
  return read;
}

// Whether somebody reads an output that the expression does not give.
static bool lacks_outputs(const struct pytorch_writer *w, const struct node *n) {
  bool lacks = false;
  for (int i = 1; i < n->n_outputs && n->op->pytorch.results == OP_PYTORCH_ONE; i++)
    lacks = lacks || (n->outputs[i] >= 0 && is_read(w->g, n->outputs[i]));
  return lacks;
}

// Clears `complete` where there is no translation.
static void put_expression(struct pytorch_writer *w, const struct node *n) {
  const struct op_pytorch *form = &n->op->pytorch;
  if (n->n_outputs == 1 && pytorch_known(w, n->outputs[0]) && pytorch_is_short(w, n->outputs[0]))
    pytorch_put_known(w, n->outputs[0]);
  else if (form->write)
    form->write(w, n);
  else if (form->text)
    pytorch_put_template(w, n, form->text);
  else
    buf_printf(w->out, "None  # %s has no translation here", n->op_type);
  w->complete = w->complete && !form->none && !lacks_outputs(w, n);
}

void pytorch_put_node(struct pytorch_module *m, const struct node *n) {
  struct pytorch_writer *w = &m->w;
  const struct op_pytorch *form = &n->op->pytorch;
  const struct pytorch_call *c = &m->calls[n - w->g->nodes];
  if (c->left_out)
    return;
  put_targets(w, n);
  w->numbers = form->takes_numbers;
  if (c->weight >= 0) {
    put_linear(w, c);
    return;
  }
  bool before = w->complete;
  w->complete = true;
  put_expression(w, n);
  if (!w->complete)
    pytorch_miss(w, n->op_type);
  w->complete = w->complete && before;
  buf_puts(w->out, "\n");
}
