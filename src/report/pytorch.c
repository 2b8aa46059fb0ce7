// SPDX-License-Identifier: Apache-2.0
// A task as a PyTorch module: for people who read PyTorch, and for the prompts of models that write kernels.
#include <math.h>
#include <string.h>

#include "oracle/oracle.h"
#include "report/pytorch.h"
#include "report/report.h"

// Whether the draw is not yet of the input's type.
static bool needs_cast(const struct distribution *d, enum dtype t) {
  switch (d->kind) {
  case DIST_INTEGERS:
    return t != DTYPE_INT64 || d->scaled;
  case DIST_BERNOULLI:
    return t != DTYPE_BOOL || d->scaled;
  case DIST_CONSTANT: // 1 makes integers, 0.5 does not
    return true;
  default:
    return t != DTYPE_FLOAT;
  }
}

// A draw of an input in PyTorch, close to the task's distribution; Assay's own inputs come from its own generator.
static void put_draw(struct pytorch_writer *w, const struct distribution *d, const struct workload *load,
                     const struct array *a) {
  double lo, hi;
  task_distribution_numbers(d, load, &lo, &hi);
  struct buf shape = {0};
  buf_puts(&shape, "(");
  for (int i = 0; i < a->shape.rank; i++)
    buf_printf(&shape, "%lld, ", (long long)a->shape.dims[i]);
  buf_puts(&shape, ")");
  bool cast = needs_cast(d, a->dtype), wrapped = d->triu || d->tril || d->softmax || cast;
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
  case DIST_SEEDS: // two pairs of neighbours
    buf_printf(w->out, "torch.randint(0, 2**52, (2,))[torch.randint(0, 2, %s)] + torch.randint(0, 2, %s)",
               buf_str(&shape), buf_str(&shape));
    break;
  case DIST_PARTITION: // rises to the total along the last dimension
    buf_printf(w->out, "(lambda s: (s / s[..., -1:] * %.0f).round())(torch.empty(%s).exponential_().cumsum(-1))", hi,
               buf_str(&shape));
    break;
  case DIST_PERMUTATION: // distinct along the first dimension
    buf_printf(w->out, "torch.rand((%.0f, *%s[1:])).argsort(0)[:%lld]", hi, buf_str(&shape),
               (long long)a->shape.dims[0]);
    break;
  }
  buf_release(&shape);
  if (d->scaled)
    buf_printf(w->out, " * torch.empty(()).uniform_(%.9g, %.9g)", d->scale_lo, d->scale_hi);
  buf_puts(w->out, wrapped ? ")" : "");
  buf_printf(w->out, "%s%s%s", d->triu ? ".triu()" : "", d->tril ? ".tril()" : "", d->softmax ? ".softmax(-1)" : "");
  if (cast)
    buf_printf(w->out, ".to(torch.%s)", pytorch_dtype(a->dtype));
}

// After the draw of input i, whose modifiers name it: what makes it symmetric, or far from singular.
static void put_matrix(struct pytorch_writer *w, const struct distribution *d, int v, const struct shape *s) {
  if (!d->symmetric && !d->regular && !d->definite)
    return;
  struct buf name = {0}, *out = w->out;
  w->out = &name;
  pytorch_put_value(w, v);
  w->out = out;
  const char *x = buf_str(&name);
  long long m = s->dims[s->rank - 2], n = s->dims[s->rank - 1];
  bool mirrored = d->symmetric || d->definite;
  if (mirrored)
    buf_printf(out, "    %s = (%s + %s.mT) / 2\n", x, x, x);
  if (d->regular || d->definite)
    buf_printf(out, "    %s = %s / %.9g + torch.eye(%lld)", x, x,
               (d->definite ? 1 : 1.5) * sqrt((mirrored ? 2 : 1) * (double)m), m);
  if (d->regular && d->symmetric)
    buf_puts(out, ".flip(0)");
  else if (d->regular && !d->triu && !d->tril)
    buf_printf(out, "[torch.randperm(%lld)]", m);
  if (d->regular || d->definite)
    buf_printf(out, n == m ? "\n" : "[:, :%lld]\n", n);
  buf_release(&name);
}

// Draws of all weights, or of all other inputs, a line each.
static void put_draws(struct pytorch_module *m, const struct workload *load, const struct array *inputs, bool weights) {
  struct pytorch_writer *w = &m->w;
  for (int i = 0; i < m->task->n_inputs; i++) {
    const struct distribution *d = &m->task->inputs[i].distribution;
    if (d->is_static != weights)
      continue;
    buf_puts(w->out, "    ");
    pytorch_put_value(w, w->g->inputs[i]);
    buf_puts(w->out, " = ");
    put_draw(w, d, load, &inputs[i]);
    buf_puts(w->out, "\n");
    put_matrix(w, d, w->g->inputs[i], &inputs[i].shape);
  }
}

// The names of all weights, or of all other inputs, each with `before` in front, separated by commas.
static int put_names(struct pytorch_module *m, bool weights, const char *before) {
  struct pytorch_writer *w = &m->w;
  int n = 0;
  for (int i = 0; i < m->task->n_inputs; i++)
    if (m->task->inputs[i].distribution.is_static == weights) {
      buf_printf(w->out, "%s%s", n++ ? ", " : "", before);
      pytorch_put_value(w, w->g->inputs[i]);
    }
  return n;
}

bool pytorch_has_weights(const struct pytorch_module *m) {
  bool weights = false;
  for (int i = 0; i < m->task->n_inputs; i++)
    weights = weights || m->task->inputs[i].distribution.is_static;
  return weights;
}

void pytorch_put_head(struct pytorch_writer *w) {
  buf_puts(w->out, "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n");
}

void pytorch_put_class(struct pytorch_module *m, const char *name) {
  struct buf *out = m->w.out;
  buf_printf(out, "class %s(nn.Module):\n    \"\"\"", name);
  pytorch_put_escaped(out, m->task->title);
  buf_puts(out, ".\"\"\"\n\n");
}

void pytorch_put_signature(struct pytorch_module *m, const char *name) {
  struct pytorch_writer *w = &m->w;
  buf_printf(w->out, "    def %s(self%s", name, m->task->n_inputs > 0 ? ", " : "");
  put_names(m, false, "");
  buf_puts(w->out, "):\n");
}

void pytorch_put_weights(struct pytorch_module *m) {
  struct pytorch_writer *w = &m->w;
  for (int i = 0; i < m->task->n_inputs; i++)
    if (m->task->inputs[i].distribution.is_static) {
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

void pytorch_put_return(struct pytorch_module *m) {
  struct pytorch_writer *w = &m->w;
  const char *own = model_property(&m->task->model, "assay.pytorch");
  buf_puts(w->out, "        return ");
  for (int i = 0; i < w->g->n_outputs && !own; i++) {
    buf_puts(w->out, i ? ", " : "");
    pytorch_put_value(w, w->g->outputs[i]);
  }
  for (const char *p = own; p && *p; p++) // one expression, hence one line
    buf_append(w->out, *p == '\n' || *p == '\r' ? " " : p, 1);
  buf_puts(w->out, "\n");
}

// The lines of forward, and before them the constants that they name.
static void put_lines(struct pytorch_module *m) {
  struct pytorch_writer *w = &m->w;
  struct buf lines = {0}, *out = w->out;
  w->out = &lines;
  for (int i = 0; i < w->g->n_nodes; i++)
    pytorch_put_node(m, &w->g->nodes[i]);
  w->out = out;
  pytorch_put_tables(w);
  buf_puts(out, buf_str(&lines));
  out->failed = out->failed || lines.failed;
  buf_release(&lines);
}

static void put_module(struct pytorch_module *m) {
  struct pytorch_writer *w = &m->w;
  bool weights = pytorch_has_weights(m), whole = model_property(&m->task->model, "assay.pytorch") != NULL;
  pytorch_put_head(w);
  buf_printf(w->out, "\n\n%s", whole ? "" : pytorch_preamble(w->g));
  pytorch_put_class(m, "Model");
  buf_puts(w->out, "    def __init__(self");
  buf_puts(w->out, weights ? ", " : "");
  put_names(m, true, "");
  buf_puts(w->out, "):\n        super().__init__()\n");
  for (int i = 0; i < m->task->n_inputs; i++)
    if (m->task->inputs[i].distribution.is_static) {
      buf_puts(w->out, "        self.");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, " = nn.Parameter(");
      pytorch_put_value(w, w->g->inputs[i]);
      buf_puts(w->out, dtype_is_float(w->values[w->g->inputs[i]].dtype) ? ")\n" : ", requires_grad=False)\n");
    }
  buf_puts(w->out, "\n");
  pytorch_put_signature(m, "forward");
  pytorch_put_weights(m);
  if (!whole)
    put_lines(m);
  pytorch_put_return(m);
}

static void put_functions(struct pytorch_module *m, const struct workload *load, const struct array *inputs) {
  struct pytorch_writer *w = &m->w;
  buf_printf(w->out, "\n\ndef get_inputs():  # workload %s\n", load->name);
  put_draws(m, load, inputs, false);
  buf_puts(w->out, "    return [");
  put_names(m, false, "");
  buf_puts(w->out, "]\n\n\ndef get_init_inputs():\n");
  put_draws(m, load, inputs, true);
  buf_puts(w->out, "    return [");
  put_names(m, true, "");
  buf_puts(w->out, "]\n");
}

enum assay_status pytorch_open(struct pytorch_module *m, const struct workload *load, struct arena *arena,
                               struct array **inputs, struct assay_error *err) {
  struct pytorch_writer *w = &m->w;
  struct graph_shapes shapes;
  *inputs = arena_calloc(arena, (size_t)m->task->n_inputs + 1, sizeof **inputs);
  enum assay_status status = *inputs ? task_input_shapes(m->task, load, *inputs, err) : error_nomem(err, "a module");
  if (!status)
    status = oracle_infer(w->g, *inputs, arena, &shapes, err);
  w->values = status ? NULL : shapes.values;
  if (!status)
    status = pytorch_make_names(w->g, arena, &w->names, err);
  w->named = arena_calloc(arena, (size_t)w->g->n_values + 1, sizeof *w->named);
  if (!status && !w->named)
    status = error_nomem(err, "a module");
  return status ? status : pytorch_find_calls(m, arena, err);
}

// def run(inputs in the graph's order): the module, called.
static void put_run(struct pytorch_module *m) {
  struct pytorch_writer *w = &m->w;
  buf_puts(w->out, "\n\n@torch.no_grad()\ndef run(");
  for (int i = 0; i < m->task->n_inputs; i++) {
    buf_puts(w->out, i ? ", " : "");
    pytorch_put_value(w, w->g->inputs[i]);
  }
  buf_puts(w->out, "):\n    return Model(");
  put_names(m, true, "");
  buf_puts(w->out, ")(");
  put_names(m, false, "");
  buf_puts(w->out, ")\n");
}

static enum assay_status write_module(const struct task *t, const struct workload *w, bool is_reference,
                                      struct buf *out, struct buf *missing, struct assay_error *err) {
  struct pytorch_module m = {.w = {.g = &t->model.flat, .out = out, .complete = true, .missing = missing}, .task = t};
  struct array *inputs;
  struct arena arena = {0};
  enum assay_status status = pytorch_open(&m, w, &arena, &inputs, err);
  if (!status) {
    put_module(&m);
    if (is_reference)
      put_run(&m);
    else
      put_functions(&m, w, inputs);
    status = missing->failed ? error_nomem(err, "a module") : buf_status(out, err);
  }
  arena_release(&arena);
  return status;
}

enum assay_status report_pytorch(const struct task *t, const struct workload *w, struct buf *out, struct buf *missing,
                                 struct assay_error *err) {
  return write_module(t, w, false, out, missing, err);
}

enum assay_status report_pytorch_reference(const struct task *t, const struct workload *w, struct buf *out,
                                           struct buf *missing, struct assay_error *err) {
  return write_module(t, w, true, out, missing, err);
}

enum assay_status report_pytorch_everywhere(const struct task *t, struct buf *out, bool *same,
                                            struct assay_error *err) {
  struct buf missing = {0}, other = {0};
  const struct workload *full = &t->workloads[t->n_workloads > 1 ? 1 : 0];
  enum assay_status status = report_pytorch_reference(t, full, out, &missing, err);
  *same = true;
  for (int i = 0; i < t->n_workloads && !status; i++) {
    buf_clear(&other);
    status = report_pytorch_reference(t, &t->workloads[i], &other, &missing, err);
    *same = *same && strcmp(buf_str(&other), buf_str(out)) == 0;
  }
  if (!status && missing.len)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "%s has no reference in PyTorch: there is no translation of %s",
                       t->name, buf_str(&missing));
  buf_release(&missing);
  buf_release(&other);
  return status;
}

enum assay_status report_pytorch_draws(const struct task *t, const struct workload *w, const char *name,
                                       struct buf *out, struct assay_error *err) {
  struct pytorch_module m = {.w = {.g = &t->model.flat, .out = out, .complete = true}, .task = t};
  struct array *inputs;
  struct arena arena = {0};
  enum assay_status status = pytorch_open(&m, w, &arena, &inputs, err);
  if (!status) {
    buf_printf(out, "\n\ndef %s():\n", name);
    put_draws(&m, w, inputs, false);
    put_draws(&m, w, inputs, true);
    buf_puts(out, "    return [");
    for (int i = 0; i < t->n_inputs; i++) {
      buf_puts(out, i ? ", " : "");
      pytorch_put_value(&m.w, m.w.g->inputs[i]);
    }
    buf_puts(out, "]\n");
    status = buf_status(out, err);
  }
  arena_release(&arena);
  return status;
}
