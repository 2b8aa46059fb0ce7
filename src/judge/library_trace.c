// SPDX-License-Identifier: Apache-2.0
#include "judge/library_trace.h"

#include <string.h>

bool library_is(const struct node *n, const char *op_type) {
  return n->domain[0] == '\0' && strcmp(n->op_type, op_type) == 0;
}

struct library_view library_dense(int input, const struct shape *shape) {
  struct library_view v = {.input = input, .shape = *shape};
  shape_strides(shape, v.strides);
  return v;
}

static bool is_dense(const struct library_view *v) {
  int64_t strides[SHAPE_MAX_RANK];
  shape_strides(&v->shape, strides);
  for (int i = 0; i < v->shape.rank; i++)
    if (v->shape.dims[i] != 1 && v->strides[i] != strides[i])
      return false;
  return true;
}

// Operators that change only the shape: the elements keep their order.
static bool keeps_order(const struct node *n) {
  static const char *const names[] = {"Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (library_is(n, names[i]))
      return true;
  return false;
}

// The input's dimension that becomes dimension i of a Transpose.
static int permuted(const struct node *n, int rank, int i) {
  const struct attr *perm = node_attr(n, "perm");
  return perm ? (int)perm->ints[i] : rank - 1 - i;
}

static enum assay_status not_in_order(const struct node *n, struct assay_error *err) {
  return error_set(err, ASSAY_ERR_UNSUPPORTED,
                   "the library baseline does not copy tensors: this task has %s of what is "
                   "transposed",
                   n->op_type);
}

static int input_of(const struct graph *g, int value) {
  for (int i = 0; i < g->n_inputs; i++)
    if (g->inputs[i] == value)
      return i;
  return -1;
}

enum assay_status library_view_of(const struct library_trace *t, int value, struct library_view *out,
                                  struct assay_error *err) {
  const struct value *v = &t->graph->values[value];
  const struct shape *shape = &t->values[value].shape;
  int input = input_of(t->graph, value);
  if (input >= 0) {
    *out = library_dense(input, shape);
    return ASSAY_OK;
  }
  if (v->producer < 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline takes tensors of the task: %s is a constant of the graph", v->name);
  const struct node *n = &t->graph->nodes[v->producer];
  bool transpose = library_is(n, "Transpose");
  struct library_view from;
  if (!transpose && !keeps_order(n))
    return error_set(
        err, ASSAY_ERR_UNSUPPORTED,
        "the library baseline is for one matrix product or one convolution; this task has %s in front of it",
        n->op_type);
  enum assay_status status = library_view_of(t, n->inputs[0], &from, err);
  if (status)
    return status;
  if (!transpose && !is_dense(&from))
    return not_in_order(n, err);
  *out = library_dense(from.input, shape);
  for (int i = 0; transpose && i < shape->rank; i++)
    out->strides[i] = from.strides[permuted(n, shape->rank, i)];
  return ASSAY_OK;
}

// ---- after the product

// A product of two upper triangular matrices is upper triangular, so taking that triangle of it changes nothing. The
// same holds for lower ones.
static bool triangle_is_there(const struct library_trace *t, const struct node *trilu) {
  bool upper = node_int(trilu, "upper", 1) != 0;
  if (node_has_input(trilu, 1) || !library_is(t->node, "MatMul"))
    return false;
  for (int i = 0; i < 2; i++) {
    int input = input_of(t->graph, t->node->inputs[i]);
    const struct distribution *d = input >= 0 ? &t->task->inputs[input].distribution : NULL;
    if (!d || !(upper ? d->triu : d->tril))
      return false;
  }
  return true;
}

// One summand comes from the product, the other must be a tensor of the task.
static enum assay_status step_over_add(const struct library_trace *t, const struct node *n, struct library_finish *f,
                                       int *value, struct assay_error *err) {
  struct assay_error ignored = {0};
  int other = 2;
  if (f->has_bias)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline adds one tensor to a product; this task adds two");
  while (other > 0 && library_view_of(t, n->inputs[other - 1], &f->bias, &ignored) != ASSAY_OK)
    other--;
  if (other-- == 0)
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline is for one matrix product or one convolution; this task has Add after it");
  f->has_bias = true;
  f->at = f->y;
  *value = n->inputs[1 - other];
  if (!shape_equal(&t->values[*value].shape, &f->y.shape))
    return error_set(err, ASSAY_ERR_UNSUPPORTED,
                     "the library baseline adds to a product what fits into it; here the sum is larger");
  return ASSAY_OK;
}

enum assay_status library_finish_of(const struct library_trace *t, struct library_finish *out,
                                    struct assay_error *err) {
  const struct graph *g = t->graph;
  int value = g->outputs[0];
  memset(out, 0, sizeof *out);
  out->y = library_dense(-1, &t->values[value].shape);
  for (;;) {
    int producer = g->values[value].producer;
    const struct node *n = producer >= 0 ? &g->nodes[producer] : NULL;
    if (n == t->node)
      return ASSAY_OK;
    if (n && library_is(n, "Add")) {
      enum assay_status status = step_over_add(t, n, out, &value, err);
      if (status)
        return status;
    } else if (n && library_is(n, "Trilu") && triangle_is_there(t, n)) {
      value = n->inputs[0];
    } else if (n && library_is(n, "Transpose")) {
      struct library_view result = out->y;
      value = n->inputs[0];
      out->y = library_dense(-1, &t->values[value].shape);
      for (int i = 0; i < result.shape.rank; i++)
        out->y.strides[permuted(n, result.shape.rank, i)] = result.strides[i];
    } else if (n && keeps_order(n)) {
      if (!is_dense(&out->y))
        return not_in_order(n, err);
      value = n->inputs[0];
      out->y = library_dense(-1, &t->values[value].shape);
    } else {
      return error_set(err, ASSAY_ERR_UNSUPPORTED,
                       "the library baseline is for one matrix product or one convolution; this task has %s after it",
                       n ? n->op_type : "another output");
    }
  }
}
