// A task as a PyTorch module: for people who read PyTorch, and for the prompts of models that write kernels.
#include <string.h>

#include "oracle/oracle.h"
#include "report/pytorch.h"
#include "report/report.h"

// A draw of an input in PyTorch, close to the task's distribution; Assay's own inputs come from its own generator.
static void put_draw(struct pytorch_writer *w, const struct distribution *d, const struct workload *load,
                     const struct array *a) {
  double lo = d->a, hi = d->b;
  for (int i = 0; i < load->n; i++) {
    if (d->a_symbol && strcmp(d->a_symbol, load->bindings[i].symbol) == 0)
      lo = (double)load->bindings[i].value;
    if (d->b_symbol && strcmp(d->b_symbol, load->bindings[i].symbol) == 0)
      hi = (double)load->bindings[i].value;
  }
  struct buf shape = {0};
  buf_puts(&shape, "(");
  for (int i = 0; i < a->shape.rank; i++)
    buf_printf(&shape, "%lld, ", (long long)a->shape.dims[i]);
  buf_puts(&shape, ")");
  bool wrapped = d->triu || d->tril || d->softmax;
  buf_puts(w->out, wrapped ? "(" : "");
  switch (d->kind) {
  case DIST_UNIFORM:
    buf_printf(w->out, "torch.empty(%s).uniform_(%.9g, %.9g)", buf_str(&shape), lo, hi);
    break;
  case DIST_NORMAL:
    buf_printf(w->out, "torch.empty(%s).normal_(%.9g, %.9g)", buf_str(&shape), lo, hi);
    break;
  case DIST_CONSTANT:
    buf_printf(w->out, "torch.full(%s, %.9g)", buf_str(&shape), lo);
    break;
  case DIST_INTEGERS:
    buf_printf(w->out, "torch.randint(%.0f, %.0f, %s)", lo, hi, buf_str(&shape));
    break;
  case DIST_BERNOULLI:
    buf_printf(w->out, "torch.rand(%s) < %.9g", buf_str(&shape), lo);
    break;
  case DIST_SLASH: // one uniform draw over another: heavy tails
    buf_printf(w->out, "torch.empty(%s).uniform_(%.9g, %.9g) / (1 - torch.rand(%s))", buf_str(&shape), -lo, lo,
               buf_str(&shape));
    break;
  case DIST_SIGNS:
    buf_printf(w->out, "torch.randint(0, 2, %s) * 2.0 - 1.0", buf_str(&shape));
    break;
  }
  buf_release(&shape);
  if (d->scaled)
    buf_printf(w->out, " * torch.empty(()).uniform_(%.9g, %.9g)", d->scale_lo, d->scale_hi);
  buf_puts(w->out, wrapped ? ")" : "");
  buf_printf(w->out, "%s%s%s", d->triu ? ".triu()" : "", d->tril ? ".tril()" : "", d->softmax ? ".softmax(-1)" : "");
}

// Draws of all weights, or of all other inputs, a line each.
static void put_draws(struct pytorch_writer *w, const struct workload *load, const struct array *inputs, bool weights) {
  for (int i = 0; i < w->task->n_inputs; i++) {
    const struct distribution *d = &w->task->inputs[i].distribution;
    if (d->is_static != weights)
      continue;
    buf_puts(w->out, "    ");
    pytorch_put_value(w, w->g->inputs[i]);
    buf_puts(w->out, " = ");
    put_draw(w, d, load, &inputs[i]);
    buf_puts(w->out, "\n");
    if (d->symmetric) {
      buf_puts(w->out, "    ");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = (");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " + ");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, ".mT) / 2\n");
    }
  }
}

// The names of all weights, or of all other inputs, each with `before` in front, separated by commas.
static int put_names(struct pytorch_writer *w, bool weights, const char *before) {
  int n = 0;
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static == weights) {
      buf_printf(w->out, "%s%s", n++ ? ", " : "", before);
      pytorch_put_value(w, w->g->inputs[i]);
    }
  return n;
}

bool pytorch_has_weights(const struct pytorch_writer *w) {
  bool weights = false;
  for (int i = 0; i < w->task->n_inputs; i++)
    weights = weights || w->task->inputs[i].distribution.is_static;
  return weights;
}

void pytorch_put_head(struct pytorch_writer *w) {
  buf_puts(w->out, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n");
}

void pytorch_put_signature(struct pytorch_writer *w, const char *name) {
  buf_printf(w->out, "    def %s(self%s", name, w->task->n_inputs > 0 ? ", " : "");
  put_names(w, false, "");
  buf_puts(w->out, "):\n");
}

void pytorch_put_weights(struct pytorch_writer *w) {
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static) {
      buf_puts(w->out, "        ");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = self.");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, "\n");
    }
}

void pytorch_put_tables(struct pytorch_writer *w) {
  for (int v = 0; v < w->g->n_values; v++)
    if (w->named[v] && w->g->values[v].constant) {
      buf_puts(w->out, "        ");
      pytorch_put_name(w, v);
      buf_puts(w->out, " = ");
      pytorch_put_known(w, v);
      buf_puts(w->out, "\n");
    }
}

void pytorch_put_return(struct pytorch_writer *w) {
  const char *own = model_property(&w->task->model, "assay.pytorch");
  buf_puts(w->out, "        return ");
  for (int i = 0; i < w->g->n_outputs && !own; i++) {
    buf_puts(w->out, i ? ", " : "");
    pytorch_put_value(w, w->g->outputs[i]);
  }
  buf_printf(w->out, "%s\n", own ? own : "");
}

// The lines of forward, and before them the constants that they name.
static void put_lines(struct pytorch_writer *w) {
  struct buf lines = {0}, *out = w->out;
  w->out = &lines;
  for (int i = 0; i < w->g->n_nodes; i++)
    pytorch_put_node(w, &w->g->nodes[i]);
  w->out = out;
  pytorch_put_tables(w);
  buf_puts(out, buf_str(&lines));
  out->failed = out->failed || lines.failed;
  buf_release(&lines);
}

static void put_module(struct pytorch_writer *w) {
  bool weights = pytorch_has_weights(w), whole = model_property(&w->task->model, "assay.pytorch") != NULL;
  pytorch_put_head(w);
  buf_printf(w->out, "\n\n%s", whole ? "" : pytorch_preamble(w->g));
  buf_printf(w->out, "class Model(nn.Module):\n    \"\"\"%s.\"\"\"\n\n    def __init__(self", w->task->title);
  buf_puts(w->out, weights ? ", " : "");
  put_names(w, true, "");
  buf_puts(w->out, "):\n        super().__init__()\n");
  for (int i = 0; i < w->task->n_inputs; i++)
    if (w->task->inputs[i].distribution.is_static) {
      buf_puts(w->out, "        self.");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = nn.Parameter(");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, dtype_is_float(w->values[w->g->inputs[i]].dtype) ? ")\n" : ", requires_grad=False)\n");
    }
  buf_puts(w->out, "\n");
  pytorch_put_signature(w, "forward");
  pytorch_put_weights(w);
  if (!whole)
    put_lines(w);
  pytorch_put_return(w);
}

static void put_functions(struct pytorch_writer *w, const struct workload *load, const struct array *inputs) {
  buf_printf(w->out, "\n\ndef get_inputs():  # workload %s\n", load->name);
  put_draws(w, load, inputs, false);
  buf_puts(w->out, "    return [");
  put_names(w, false, "");
  buf_puts(w->out, "]\n\n\ndef get_init_inputs():\n");
  put_draws(w, load, inputs, true);
  buf_puts(w->out, "    return [");
  put_names(w, true, "");
  buf_puts(w->out, "]\n");
}

enum assay_status pytorch_open(struct pytorch_writer *w, const struct workload *load, struct arena *arena,
                               struct array **inputs, struct assay_error *err) {
  struct graph_shapes shapes;
  *inputs = arena_calloc(arena, (size_t)w->task->n_inputs + 1, sizeof **inputs);
  enum assay_status status = *inputs ? task_input_shapes(w->task, load, *inputs, err) : error_nomem(err, "a module");
  if (!status)
    status = oracle_infer(w->g, *inputs, arena, &shapes, err);
  w->values = status ? NULL : shapes.values;
  w->named = arena_calloc(arena, (size_t)w->g->n_values + 1, sizeof *w->named);
  if (!status && !w->named)
    status = error_nomem(err, "a module");
  return status ? status : pytorch_find_calls(w, arena, err);
}

enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, bool *complete,
                                 struct assay_error *err) {
  struct pytorch_writer writer = {.task = t, .g = &t->model.flat, .out = out, .complete = true};
  struct array *inputs;
  struct arena arena = {0};
  enum assay_status status = pytorch_open(&writer, w, &arena, &inputs, err);
  if (!status) {
    put_module(&writer);
    put_functions(&writer, w, inputs);
    *complete = writer.complete;
    status = buf_status(out, err);
  }
  arena_release(&arena);
  return status;
}
