// SPDX-License-Identifier: Apache-2.0
// The verifier: a flat graph against the rows of the operator table.
#include "ops/op.h"

static enum assay_status verify_attr(const struct node *n, const struct attr *a, struct assay_error *err) {
  char at[256];
  for (const struct op_attr *d = n->op->attrs; d && d->name; d++) {
    if (strcmp(d->name, a->name) != 0)
      continue;
    // An empty list has no type of its own in the textual syntax.
    if (d->type == a->type || (a->count == 0 && d->type >= ATTR_FLOATS && a->type >= ATTR_FLOATS))
      return ASSAY_OK;
    return error_set(err, ASSAY_ERR_INVALID, "%s: attribute %s of %s must be of type %s, not %s",
                     source_location_text(&a->at, at), a->name, n->op_type, attr_type_name(d->type),
                     attr_type_name(a->type));
  }
  return error_set(err, ASSAY_ERR_INVALID, "%s: %s (since version %d) has no attribute %s",
                   source_location_text(&a->at, at), n->op_type, n->op->since, a->name);
}

static enum assay_status verify_arity(const struct node *n, const char *what, int count, int min, int max,
                                      struct assay_error *err) {
  if (count >= min && count <= max)
    return ASSAY_OK;
  char at[256];
  return error_set(err, ASSAY_ERR_INVALID, "%s: %s takes %s%d %s%s, not %d", source_location_text(&n->at, at),
                   n->op_type, min == max ? "" : "at least ", count > max ? max : min, what, min == 1 ? "" : "s",
                   count);
}

static enum assay_status verify_node(const struct graph *g, int index, unsigned char *made, struct assay_error *err) {
  const struct node *n = &g->nodes[index];
  char at[256];
  if (!n->op)
    return error_set(err, ASSAY_ERR_INVALID, "%s: %s is not resolved to an operator", source_location_text(&n->at, at),
                     n->op_type);
  enum assay_status status = verify_arity(n, "input", n->n_inputs, n->op->min_in, n->op->max_in, err);
  if (!status)
    status = verify_arity(n, "output", n->n_outputs, n->op->min_out, n->op->max_out, err);
  for (int i = 0; i < n->n_attrs && !status; i++)
    status = verify_attr(n, &n->attrs[i], err);
  if (status)
    return status;
  for (const struct op_attr *d = n->op->attrs; d && d->name; d++)
    if (d->required && !node_attr(n, d->name))
      return error_set(err, ASSAY_ERR_INVALID, "%s: %s needs the attribute %s", source_location_text(&n->at, at),
                       n->op_type, d->name);
  for (int i = 0; i < n->n_inputs; i++) {
    int v = n->inputs[i];
    if (v >= g->n_values || (v < 0 && i < n->op->min_in))
      return error_set(err, ASSAY_ERR_INVALID, "%s: input %d of %s is missing", source_location_text(&n->at, at), i,
                       n->op_type);
    if (v >= 0 && !made[v])
      return error_set(err, ASSAY_ERR_INVALID, "%s: %s uses %s before anything produces it",
                       source_location_text(&n->at, at), n->op_type, g->values[v].name);
  }
  for (int i = 0; i < n->n_outputs; i++) {
    int v = n->outputs[i];
    if (v >= g->n_values || (v < 0 && i < n->op->min_out))
      return error_set(err, ASSAY_ERR_INVALID, "%s: output %d of %s is missing", source_location_text(&n->at, at), i,
                       n->op_type);
    if (v < 0)
      continue;
    if (made[v] || g->values[v].producer != index)
      return error_set(err, ASSAY_ERR_INVALID, "%s: %s is produced more than once", source_location_text(&n->at, at),
                       g->values[v].name);
    made[v] = 1;
  }
  return ASSAY_OK;
}

enum assay_status op_verify(const struct graph *g, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  struct arena arena = {0};
  unsigned char *made = arena_alloc(&arena, (size_t)g->n_values + 1);
  if (!made)
    return error_nomem(err, "a graph's verification");
  for (int i = 0; i < g->n_values; i++)
    made[i] = g->values[i].constant != NULL;
  for (int i = 0; i < g->n_inputs && !status; i++) {
    int v = g->inputs[i];
    if (v < 0 || v >= g->n_values || made[v])
      status = error_set(err, ASSAY_ERR_INVALID, "graph input %d is declared twice or is an initializer", i);
    else
      made[v] = 1;
  }
  for (int i = 0; i < g->n_nodes && !status; i++)
    status = verify_node(g, i, made, err);
  for (int i = 0; i < g->n_outputs && !status; i++) {
    int v = g->outputs[i];
    if (v < 0 || v >= g->n_values || !made[v])
      status = error_set(err, ASSAY_ERR_INVALID, "graph output %s is produced by nothing",
                         v >= 0 && v < g->n_values ? g->values[v].name : "?");
  }
  arena_release(&arena);
  return status;
}
