// SPDX-License-Identifier: Apache-2.0
#include "graph/graph.h"

#include <stdio.h>
#include <string.h>

void model_release(struct model *m) {
  arena_release(&m->arena);
  memset(m, 0, sizeof *m);
}

const char *model_property(const struct model *m, const char *key) {
  for (int i = 0; i < m->n_properties; i++)
    if (strcmp(m->properties[i].key, key) == 0)
      return m->properties[i].value;
  return NULL;
}

const char *attr_type_name(enum attr_type t) {
  static const char *const names[] = {
      [ATTR_FLOAT] = "float", [ATTR_INT] = "int",       [ATTR_STRING] = "string", [ATTR_TENSOR] = "tensor",
      [ATTR_GRAPH] = "graph", [ATTR_FLOATS] = "floats", [ATTR_INTS] = "ints",     [ATTR_STRINGS] = "strings"};
  return t >= ATTR_FLOAT && t <= ATTR_STRINGS ? names[t] : "?";
}

const struct attr *node_attr(const struct node *n, const char *name) {
  for (int i = 0; i < n->n_attrs; i++)
    if (strcmp(n->attrs[i].name, name) == 0)
      return &n->attrs[i];
  return NULL;
}

int64_t node_int(const struct node *n, const char *name, int64_t fallback) {
  const struct attr *a = node_attr(n, name);
  return a && a->type == ATTR_INT ? a->ints[0] : fallback;
}

double node_float(const struct node *n, const char *name, double fallback) {
  const struct attr *a = node_attr(n, name);
  return a && a->type == ATTR_FLOAT ? a->floats[0] : fallback;
}

const char *node_string(const struct node *n, const char *name, const char *fallback) {
  const struct attr *a = node_attr(n, name);
  return a && a->type == ATTR_STRING ? a->strings[0] : fallback;
}

bool node_has_input(const struct node *n, int i) {
  return i < n->n_inputs && n->inputs[i] >= 0;
}

bool node_is_one_of(const struct node *n, const char *const *op_types) {
  for (; *op_types; op_types++)
    if (strcmp(n->op_type, *op_types) == 0)
      return true;
  return false;
}

const char *source_location_text(const struct source_location *at, char *text) {
  if (at->line > 0)
    snprintf(text, 256, "line %d, column %d", at->line, at->column);
  else
    snprintf(text, 256, "%s", at->path ? at->path : "the model");
  return text;
}
