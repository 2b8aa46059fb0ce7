// SPDX-License-Identifier: Apache-2.0
#include "judge/library_call.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "judge/library_trace.h"
#include "ops/conv_core.h"

static bool is_product(const struct node *n) {
  return library_is(n, "MatMul") || library_is(n, "Gemm") || library_is(n, "Einsum");
}

static bool is_convolution(const struct node *n) {
  return library_is(n, "Conv") || library_is(n, "ConvTranspose");
}

// "Mul, Softmax, 2 Conv" into `text`: what the task consists of.
static void list_operators(const struct graph *g, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (int i = 0; i < g->n_nodes && used + 64 < size; i++) {
    int count = 0;
    bool earlier = false;
    for (int k = 0; k < g->n_nodes; k++)
      if (strcmp(g->nodes[k].op_type, g->nodes[i].op_type) == 0) {
        count++;
        earlier = earlier || k < i;
      }
    if (earlier)
      continue;
    char number[16] = "";
    if (count > 1)
      snprintf(number, sizeof number, "%d ", count);
    used += (size_t)snprintf(text + used, size - used, "%s%s%.32s", used ? ", " : "", number, g->nodes[i].op_type);
  }
}

// Finds the only product or convolution.
static enum assay_status find_node(const struct graph *g, const struct node **out, struct assay_error *err) {
  char operators[256];
  int found = 0;
  for (int i = 0; i < g->n_nodes; i++)
    if (is_product(&g->nodes[i]) || is_convolution(&g->nodes[i])) {
      *out = &g->nodes[i];
      found++;
    }
  if (found == 1 && g->n_outputs == 1)
    return ASSAY_OK;
  list_operators(g, operators, sizeof operators);
  return error_set(
      err, ASSAY_ERR_UNSUPPORTED,
      "the library baseline is for one matrix product or one convolution with one output; this task has %s", operators);
}

// ---- convolutions

static enum assay_status direct_input(const struct library_trace *t, int i, int *out, struct assay_error *err) {
  struct library_view v;
  enum assay_status status = library_view_of(t, t->node->inputs[i], &v, err);
  if (!status && t->graph->values[t->node->inputs[i]].producer >= 0)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "the library baseline is for a convolution of the task's own tensors; here %s is made from one",
                       t->graph->values[t->node->inputs[i]].name);
  *out = status ? -1 : v.input;
  return status;
}

static void spread(const struct shape *s, int64_t *out) {
  int lines = s->rank == 3; // a line is an image of height 1
  out[0] = s->dims[0];
  out[1] = s->dims[1];
  if (lines)
    out[2] = 1;
  for (int i = 2; i < s->rank; i++)
    out[i + lines] = s->dims[i];
}

// cuDNN has one padding for both sides. A different padding at the end is fine if the window has the same number of
// positions with either.
static enum assay_status check_padding(const struct window_dim *d, bool transposed, struct assay_error *err) {
  int64_t read = transposed ? d->out : d->in, written = transposed ? d->in : d->out;
  int64_t room = read + 2 * d->pad_begin - d->dilation * (d->kernel - 1) - 1;
  if (room >= 0 && d->pad_begin >= 0 && room / d->stride + 1 == written)
    return ASSAY_OK;
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "cuDNN pads both sides by the same amount; this convolution has padding %lld before and %lld after",
                   (long long)d->pad_begin, (long long)d->pad_end);
}

static enum assay_status convolution_of(const struct library_trace *t, struct library_convolution *out,
                                        struct assay_error *err) {
  const struct node *n = t->node;
  const struct array *in[3] = {NULL};
  struct conv conv;
  struct library_finish f;
  bool transposed = library_is(n, "ConvTranspose");
  for (int i = 0; i < n->n_inputs && i < 3; i++)
    in[i] = node_has_input(n, i) ? &t->values[n->inputs[i]] : NULL;
  const struct op_infer infer = {.node = n, .n_in = n->n_inputs, .in = in};
  enum assay_status status = conv_setup(&infer, transposed, &conv, err);
  if (!status)
    status = library_finish_of(t, &f, err);
  if (!status && (f.has_bias || t->graph->outputs[0] != n->outputs[0]))
    status = error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "the library baseline is for one convolution; this task has more after it");
  if (!status && conv.window.n > LIBRARY_SPACE)
    status = error_set(err, ASSAY_ERR_UNSUPPORTED, "cuDNN has convolutions of up to 3 spatial dimensions, not of %d",
                       conv.window.n);
  *out = (struct library_convolution){.transposed = transposed, .groups = conv.groups, .bias = -1};
  if (!status)
    status = direct_input(t, 0, &out->x_input, err);
  if (!status)
    status = direct_input(t, 1, &out->w_input, err);
  if (!status && in[2])
    status = direct_input(t, 2, &out->bias, err);
  if (status)
    return status;
  int lines = conv.window.n == 1;
  out->space = conv.window.n + lines;
  out->strides[0] = out->dilations[0] = 1;
  for (int i = 0; i < conv.window.n && !status; i++) {
    const struct window_dim *d = &conv.window.d[i];
    out->pads[i + lines] = d->pad_begin;
    out->strides[i + lines] = d->stride;
    out->dilations[i + lines] = d->dilation;
    status = check_padding(d, transposed, err);
  }
  spread(&in[0]->shape, out->x);
  spread(&in[1]->shape, out->w);
  spread(&t->values[n->outputs[0]].shape, out->y);
  return status;
}

static bool is_pointwise(const struct library_convolution *c) {
  bool pointwise = !c->transposed && c->groups == 1 && c->bias < 0;
  for (int i = 0; i < c->space; i++)
    pointwise = pointwise && c->w[i + 2] == 1 && c->strides[i] == 1 && c->pads[i] == 0 && c->x[i + 2] == c->y[i + 2];
  return pointwise;
}

// A convolution with one point as a product for each image: its points are BLAS' rows, its channels BLAS' columns.
static struct library_product product_of_points(const struct library_convolution *c) {
  int64_t points = 1;
  for (int i = 0; i < c->space; i++)
    points *= c->x[i + 2];
  struct library_product p = {.m = points, .n = c->y[1], .k = c->x[1], .batch = c->x[0], .alpha = 1, .bias = -1};
  bool several = p.batch > 1;
  p.a = (struct library_matrix){.input = c->x_input, .ld = points, .stride = several ? points * p.k : 0};
  p.b = (struct library_matrix){.input = c->w_input, .ld = p.k};
  p.c = (struct library_matrix){.input = -1};
  p.d = (struct library_matrix){.input = -1, .ld = points, .stride = several ? points * p.n : 0};
  return p;
}

// ---- all

static bool same_dtypes(const struct library_trace *t) {
  enum dtype dtype = t->values[t->graph->outputs[0]].dtype;
  for (int i = 0; i < t->node->n_inputs; i++)
    if (node_has_input(t->node, i) && t->values[t->node->inputs[i]].dtype != dtype)
      return false;
  return dtype == DTYPE_FLOAT || dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
}

static enum assay_status trace(struct library_trace *t, struct library_call *out, struct assay_error *err) {
  enum assay_status status = find_node(t->graph, &t->node, err);
  if (status)
    return status;
  *out = (struct library_call){.dtype = t->values[t->graph->outputs[0]].dtype,
                               .has_product = is_product(t->node),
                               .has_convolution = is_convolution(t->node)};
  if (!same_dtypes(t))
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline is for tensors that are all float, float16 or bfloat16");
  // Inputs in half precision have no more bits than TF32 keeps.
  out->tf32 = out->dtype == DTYPE_FLOAT && strcmp(t->task->contract.name, "fp32") != 0;
  if (out->has_product)
    return library_product_of(t, &out->product, err);
  status = convolution_of(t, &out->convolution, err);
  out->has_product = !status && is_pointwise(&out->convolution);
  if (out->has_product)
    out->product = product_of_points(&out->convolution);
  return status;
}

enum assay_status library_call_of(const struct task *t, const struct workload *w, struct library_call *out,
                                  struct assay_error *err) {
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  enum assay_status status = inputs ? task_input_shapes(t, w, inputs, err) : error_nomem(err, "the call of a library");
  if (!status)
    status = oracle_infer(&t->model.flat, inputs, &arena, &shapes, err);
  if (!status) {
    struct library_trace all = {.task = t, .graph = &t->model.flat, .values = shapes.values};
    status = trace(&all, out, err);
  }
  arena_release(&arena);
  return status;
}

// ---- as JSON

static json_t *numbers(const int64_t *values, int n) {
  json_t *list = json_array();
  for (int i = 0; i < n; i++)
    json_array_append_new(list, json_integer(values[i]));
  return list;
}

static json_t *matrix_json(const struct library_matrix *m) {
  return json_pack("{s:i, s:b, s:I, s:I}", "input", m->input, "transposed", m->transposed, "ld", (json_int_t)m->ld,
                   "stride", (json_int_t)m->stride);
}

static json_t *product_json(const struct library_product *p) {
  return json_pack("{s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:f, s:f, s:i}", "m", (json_int_t)p->m, "n",
                   (json_int_t)p->n, "k", (json_int_t)p->k, "batch", (json_int_t)p->batch, "a", matrix_json(&p->a), "b",
                   matrix_json(&p->b), "c", matrix_json(&p->c), "d", matrix_json(&p->d), "alpha", p->alpha, "beta",
                   p->beta, "bias", p->bias);
}

static json_t *convolution_json(const struct library_convolution *c) {
  return json_pack("{s:b, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:i, s:i, s:i}", "transposed", c->transposed, "groups",
                   (json_int_t)c->groups, "x", numbers(c->x, c->space + 2), "w", numbers(c->w, c->space + 2), "y",
                   numbers(c->y, c->space + 2), "pads", numbers(c->pads, c->space), "strides",
                   numbers(c->strides, c->space), "dilations", numbers(c->dilations, c->space), "x_input", c->x_input,
                   "w_input", c->w_input, "bias", c->bias);
}

enum assay_status library_call_print(const struct library_call *c, struct buf *out, struct assay_error *err) {
  json_t *product = c->has_product ? product_json(&c->product) : NULL;
  json_t *convolution = c->has_convolution ? convolution_json(&c->convolution) : NULL;
  json_t *all = json_pack("{s:s, s:b, s:o*, s:o*}", "type", dtype_name(c->dtype), "tf32", c->tf32, "product", product,
                          "convolution", convolution);
  char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
  if (text)
    buf_puts(out, text);
  free(text);
  json_decref(all);
  return text ? buf_status(out, err) : error_nomem(err, "the call of a library");
}
