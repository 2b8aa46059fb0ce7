// SPDX-License-Identifier: Apache-2.0
// The list of families, the search for a row, and what rows share.
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/families.h"

// In the order of the operator page.
// clang-format off
static const struct op_family *const families[] = {
    &ops_elementwise_family,
    &ops_function_family,
    &ops_special_family,
    &ops_activation_family,
    &ops_logic_family,
    &ops_convert_family,
    &ops_quantize_family,
    &ops_reshape_family,
    &ops_movement_family,
    &ops_slice_family,
    &ops_gather_family,
    &ops_scatter_family,
    &ops_resize_family,
    &ops_grid_family,
    &ops_constant_family,
    &ops_contraction_family,
    &ops_grouped_family,
    &ops_conv_family,
    &ops_conv_integer_family,
    &ops_causal_conv_family,
    &ops_linalg_family,
    &ops_spectral_family,
    &ops_decompose_family,
    &ops_chance_family,
    &ops_fourier_family,
    &ops_reduce_family,
    &ops_softmax_family,
    &ops_pool_family,
    &ops_norm_family,
    &ops_scan_family,
    &ops_arg_family,
    &ops_loss_family,
    &ops_attention_family,
    &ops_linear_attention_family,
    &ops_recurrent_family,
    &ops_rotary_family,
    &ops_boxes_family,
};
// clang-format on

const struct op_family *const *op_families(int *count) {
  *count = (int)(sizeof families / sizeof families[0]);
  return families;
}

const char *op_class_name(enum op_class c) {
  static const char *const names[] = {
      [OP_ELEMENTWISE] = "elementwise", [OP_REDUCTION] = "reduction",         [OP_SCAN] = "scan",
      [OP_CONTRACTION] = "contraction", [OP_FACTORIZATION] = "factorization", [OP_NORMALIZATION] = "normalization",
      [OP_POOLING] = "pooling",         [OP_MOVEMENT] = "movement",           [OP_GATHER] = "gather",
      [OP_CONSTANT] = "constant",
  };
  return names[c];
}

void op_find_sums(const struct graph *g, bool *adds) {
  memset(adds, 0, (size_t)g->n_values * sizeof *adds);
  for (int i = 0; i < g->n_nodes; i++) { // in an order in which they can be evaluated
    const struct node *n = &g->nodes[i];
    bool any = n->op->errors.sum == OP_SUM_OF_MANY;
    for (int k = 0; k < n->n_inputs && !n->op->reads_shapes_only; k++)
      any = any || (n->inputs[k] >= 0 && adds[n->inputs[k]]);
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        adds[n->outputs[k]] = any;
  }
}

void op_find_free(const struct graph *g, int *free_by) {
  for (int i = 0; i < g->n_values; i++)
    free_by[i] = -1;
  for (int i = 0; i < g->n_nodes; i++) { // in an order in which they can be evaluated
    const struct node *n = &g->nodes[i];
    int from = -1;
    for (int k = 0; k < n->n_inputs && from < 0 && !n->op->reads_shapes_only; k++)
      from = n->inputs[k] >= 0 ? free_by[n->inputs[k]] : -1;
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        free_by[n->outputs[k]] = from < 0 && n->op->free >> k & 1 ? i : from;
  }
}

const struct op_def *op_find(const char *domain, const char *name, int version) {
  if (strcmp(domain, "ai.onnx") == 0)
    domain = "";
  const struct op_def *best = NULL;
  int n_families;
  const struct op_family *const *all = op_families(&n_families);
  for (int f = 0; f < n_families; f++)
    for (int r = 0; r < all[f]->n_rows; r++) {
      const struct op_def *d = &all[f]->rows[r];
      if (d->since <= version && (!best || d->since > best->since) && strcmp(d->name, name) == 0 &&
          strcmp(d->domain, domain) == 0)
        best = d;
    }
  return best;
}

const char *op_expr(const struct node *n) {
  if (!n->op->expr_given)
    return n->op->expr;
  bool second = node_has_input(n, 1), third = node_has_input(n, 2);
  if (second && third)
    return n->op->expr;
  return n->op->expr_given[second ? 1 : third ? 2 : 0];
}

struct op_infer op_infer_of(const struct op_eval *c) {
  return (struct op_infer){.node = c->node, .n_in = c->n_in, .n_out = c->n_out, .in = c->in, .out = c->out};
}

bool op_has(const struct op_infer *c, int i) {
  return i < c->n_in && c->in[i];
}

// The message of a node: where it stands and which operator it is come first.
static enum assay_status node_error(const struct node *node, enum assay_status status, struct assay_error *err,
                                    const char *message) {
  char place[256];
  return error_set(err, status, "%s: %s: %s", source_location_text(&node->at, place), node->op_type, message);
}

enum assay_status op_invalid(const struct node *node, struct assay_error *err, const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return node_error(node, ASSAY_ERR_INVALID, err, message);
}

enum assay_status op_unsupported(const struct node *node, struct assay_error *err, const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return node_error(node, ASSAY_ERR_UNSUPPORTED, err, message);
}

// Puts the node's place in front of a message that somebody else made.
static enum assay_status node_prefix(const struct node *node, enum assay_status status, struct assay_error *err) {
  char place[256];
  return error_prefix(err, status, "%s: %s: ", source_location_text(&node->at, place), node->op_type);
}

enum assay_status op_output(struct op_infer *c, int i, enum dtype dtype, int rank, const int64_t *dims,
                            struct assay_error *err) {
  if (i >= c->n_out)
    return ASSAY_OK;
  if (rank > SHAPE_MAX_RANK) {
    enum assay_status status = error_set(err, ASSAY_ERR_LIMIT, "output %d would have %d dimensions; %d are supported",
                                         i, rank, SHAPE_MAX_RANK);
    return node_prefix(c->node, status, err);
  }
  struct shape shape = shape_of(rank, dims);
  enum assay_status status = shape_check(&shape, err);
  if (status != ASSAY_OK)
    return node_prefix(c->node, status, err);
  c->out[i].dtype = dtype;
  c->out[i].shape = shape;
  return ASSAY_OK;
}

enum assay_status op_axis(const struct node *node, int64_t axis, int rank, int *out, struct assay_error *err) {
  enum assay_status status = shape_axis(axis, rank, out, err);
  return status == ASSAY_OK ? status : node_prefix(node, status, err);
}

int64_t op_moments(const struct op_infer *c) {
  if (c->node->op->moments)
    return c->node->op->moments(c);
  return c->node->op->class == OP_REDUCTION ? shape_count(&c->out[0].shape) : 0;
}

void op_cost_none(const struct op_infer *c, struct op_cost *cost) {
  (void)c, (void)cost;
}

enum assay_status op_infer_same(struct op_infer *c, struct assay_error *err) {
  (void)err;
  c->out[0].dtype = c->in[0]->dtype;
  c->out[0].shape = c->in[0]->shape;
  return ASSAY_OK;
}

enum assay_status op_infer_broadcast(struct op_infer *c, struct assay_error *err) {
  struct shape shape = c->in[0]->shape;
  for (int i = 1; i < c->n_in; i++) {
    if (!c->in[i])
      continue;
    if (c->in[i]->dtype != c->in[0]->dtype)
      return op_invalid(c->node, err, "input %d is %s but input 0 is %s; insert a Cast", i, dtype_name(c->in[i]->dtype),
                        dtype_name(c->in[0]->dtype));
    struct shape joint;
    enum assay_status status = shape_broadcast(&shape, &c->in[i]->shape, &joint, err);
    if (status != ASSAY_OK)
      return node_prefix(c->node, status, err);
    shape = joint;
  }
  c->out[0].dtype = c->in[0]->dtype;
  c->out[0].shape = shape;
  return ASSAY_OK;
}

enum assay_status op_ints(const struct op_infer *c, int i, const char *attribute, int64_t *values, int *count,
                          int capacity, struct assay_error *err) {
  const int64_t *from = NULL;
  int64_t n = -1;
  if (i >= 0 && op_has(c, i)) {
    const struct array *a = c->in[i];
    if (!dtype_is_integer(a->dtype) || a->shape.rank > 1)
      return op_invalid(c->node, err, "input %d must be a list of integers", i);
    if (!a->bits)
      return op_unsupported(c->node, err, "input %d must be a constant, because the output's shape depends on it", i);
    n = shape_count(&a->shape);
    from = a->i64;
  } else if (attribute) {
    const struct attr *at = node_attr(c->node, attribute);
    if (at) {
      n = (int64_t)at->count;
      from = at->ints;
    }
  }
  if (n > capacity)
    return op_invalid(c->node, err, "%lld values given where at most %d make sense", (long long)n, capacity);
  for (int64_t k = 0; k < n; k++)
    values[k] = from[k];
  *count = (int)n;
  return ASSAY_OK;
}

bool op_takes_epsilon(const struct op_def *op) {
  for (const struct op_attr *a = op->attrs; a && a->name; a++)
    if (strcmp(a->name, "epsilon") == 0)
      return true;
  return false;
}
