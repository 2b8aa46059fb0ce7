// SPDX-License-Identifier: Apache-2.0
// A task as a Python candidate of one workload: what PyTorch does with it, as a baseline. Sizes are numbers; what does
// not depend on inputs is made once and not in every call, as in modules that people write.
#include <string.h>

#include "report/pytorch.h"
#include "report/report.h"

struct constants {
  struct pytorch_module *m;
  struct pytorch_writer *w; // of the module
  bool *constant;           // of every value: it depends on no input
  bool *read;               // of every value: forward reads it by its name
};

static bool is_constant(const struct constants *c, int v) {
  return v < 0 || c->constant[v] || pytorch_known(c->w, v);
}

static void find_constants(struct constants *c) {
  const struct graph *g = c->w->g;
  for (int v = 0; v < g->n_values; v++)
    c->constant[v] = g->values[v].constant != NULL;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    bool constant = true;
    for (int k = 0; k < n->n_inputs; k++)
      constant = constant && is_constant(c, n->inputs[k]);
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        c->constant[n->outputs[k]] = constant || pytorch_known(c->w, n->outputs[k]);
  }
}

static bool made_once(const struct constants *c, const struct node *n) {
  bool once = true;
  for (int k = 0; k < n->n_outputs; k++)
    once = once && is_constant(c, n->outputs[k]);
  return once;
}

static bool is_named(const struct constants *c, const struct node *n) {
  bool named = false;
  for (int k = 0; k < n->n_outputs; k++)
    named = named || (n->outputs[k] >= 0 && c->w->named[n->outputs[k]]);
  return named;
}

// What forward computes. Constants that it reads are noted.
static void put_forward(struct constants *c) {
  const struct graph *g = c->w->g;
  for (int i = 0; i < g->n_nodes; i++)
    if (!made_once(c, &g->nodes[i]))
      pytorch_put_node(c->m, &g->nodes[i]);
}

// Notes, from the last one to the first, which constants those that are read are made of.
static void trace_constants(struct constants *c) {
  const struct graph *g = c->w->g;
  struct buf unused = {0}, *out = c->w->out, *missing = c->w->missing;
  bool complete = c->w->complete;
  c->w->out = &unused;
  c->w->missing = NULL;
  for (int i = g->n_nodes - 1; i >= 0; i--)
    if (made_once(c, &g->nodes[i]) && is_named(c, &g->nodes[i]))
      pytorch_put_node(c->m, &g->nodes[i]);
  buf_release(&unused);
  c->w->out = out;
  c->w->missing = missing;
  c->w->complete = complete;
}

static const char *dtype_argument(enum dtype t) {
  return t == DTYPE_FLOAT16    ? ", dtype=torch.float16"
         : t == DTYPE_BFLOAT16 ? ", dtype=torch.bfloat16"
         : t == DTYPE_DOUBLE   ? ", dtype=torch.float64"
         : t == DTYPE_INT64    ? ", dtype=torch.int64"
         : t == DTYPE_INT32    ? ", dtype=torch.int32"
         : t == DTYPE_BOOL     ? ", dtype=torch.bool"
                               : "";
}

static void put_parameters(struct pytorch_module *m, const struct array *inputs) {
  struct pytorch_writer *w = &m->w;
  for (int i = 0; i < m->task->n_inputs; i++) {
    if (!m->task->inputs[i].distribution.is_static)
      continue;
    buf_puts(w->out, "        self.");
    pytorch_put_name(w, w->g->inputs[i]);
    buf_puts(w->out, " = nn.Parameter(torch.empty(");
    pytorch_put_ints(w, inputs[i].shape.dims, (size_t)inputs[i].shape.rank);
    buf_printf(w->out, "%s), requires_grad=False)\n", dtype_argument(inputs[i].dtype));
  }
}

// In __init__: constants, and those that forward reads as buffers of the module, so that they move to its device.
static void put_constants(struct constants *c) {
  struct pytorch_writer *w = c->w;
  pytorch_put_tables(w);
  for (int i = 0; i < w->g->n_nodes; i++)
    if (made_once(c, &w->g->nodes[i]) && is_named(c, &w->g->nodes[i]))
      pytorch_put_node(c->m, &w->g->nodes[i]);
  for (int v = 0; v < w->g->n_values; v++) {
    if (!c->read[v])
      continue;
    buf_puts(w->out, "        self.register_buffer(\"constant_");
    pytorch_put_name(w, v);
    buf_puts(w->out, "\", ");
    pytorch_put_name(w, v);
    buf_puts(w->out, ", persistent=False)\n");
  }
}

static void put_constants_read(struct constants *c) {
  for (int v = 0; v < c->w->g->n_values; v++)
    if (c->read[v]) {
      buf_puts(c->w->out, "        ");
      pytorch_put_name(c->w, v);
      buf_puts(c->w->out, " = self.constant_");
      pytorch_put_name(c->w, v);
      buf_puts(c->w->out, "\n");
    }
}

// Under the task's contract: sums of half precision in float, and tf32 where the contract is.
static void put_settings(struct pytorch_module *m, bool search) {
  struct pytorch_writer *w = &m->w;
  const char *tf32 = strcmp(m->task->contract.name, "tf32") == 0 ? "True" : "False";
  buf_printf(w->out,
             "\ntorch.backends.cuda.matmul.allow_tf32 = %s\n"
             "torch.backends.cudnn.allow_tf32 = %s\n"
             "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False\n"
             "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False\n"
             "torch.backends.cudnn.benchmark = %s\n",
             tf32, tf32, search ? "True  # the fastest algorithm, not the first" : "False");
  buf_puts(w->out, "\n\n");
}

static void put_candidate(struct constants *c, const struct workload *load, const struct array *inputs,
                          const struct report_pytorch_mode *mode, struct buf *forward) {
  struct pytorch_module *m = c->m;
  struct pytorch_writer *w = c->w;
  struct buf *out = w->out;
  bool whole = model_property(&m->task->model, "assay.pytorch") != NULL;
  w->out = forward;
  if (!whole)
    put_forward(c);
  pytorch_put_return(m);
  w->out = out;
  for (int v = 0; v < w->g->n_values; v++)
    c->read[v] = w->named[v] && is_constant(c, v);
  trace_constants(c);
  buf_printf(out, "# %s with the sizes of workload %s, in PyTorch: docs/baselines.md.\n# assay: task %s\n",
             m->task->name, load->name ? load->name : "-", m->task->name);
  pytorch_put_head(w);
  put_settings(m, mode->search);
  buf_puts(out, whole ? "" : pytorch_preamble(w->g));
  pytorch_put_class(m, "ModelNew");
  buf_puts(out, "    def __init__(self):\n        super().__init__()\n");
  put_parameters(m, inputs);
  put_constants(c);
  if (mode->compile)
    buf_printf(out, "        self.compiled = torch.compile(self.compute, mode=\"%s\", dynamic=False)\n", mode->compile);
  buf_puts(out, "\n");
  pytorch_put_signature(m, mode->compile ? "compute" : "forward");
  pytorch_put_weights(m);
  put_constants_read(c);
  buf_puts(out, buf_str(forward));
  if (mode->compile)
    buf_puts(out, "\n    def forward(self, *inputs):\n        return self.compiled(*inputs)\n");
  buf_puts(out, "\n\ndef get_init_inputs():\n    return []\n");
}

enum assay_status report_pytorch_candidate(const struct task *t, const struct workload *w,
                                           const struct report_pytorch_mode *mode, struct buf *out, struct buf *missing,
                                           struct assay_error *err) {
  struct pytorch_module m = {
      .w = {.g = &t->model.flat, .out = out, .complete = true, .missing = missing, .fixed = true}, .task = t};
  size_t n_values = (size_t)m.w.g->n_values + 1;
  struct arena arena = {0};
  struct buf forward = {0};
  struct array *inputs;
  enum assay_status status = pytorch_open(&m, w, &arena, &inputs, err);
  struct constants constants = {.m = &m,
                                .w = &m.w,
                                .constant = arena_calloc(&arena, n_values, sizeof *constants.constant),
                                .read = arena_calloc(&arena, n_values, sizeof *constants.read)};
  if (!status && (!constants.constant || !constants.read))
    status = error_nomem(err, "a module");
  if (!status) {
    find_constants(&constants);
    put_candidate(&constants, w, inputs, mode, &forward);
    status = forward.failed || missing->failed ? error_nomem(err, "a module") : buf_status(out, err);
  }
  buf_release(&forward);
  arena_release(&arena);
  return status;
}
