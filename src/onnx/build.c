// SPDX-License-Identifier: Apache-2.0
// Putting graphs together: memory, names, definitions.
#include "onnx/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ops/op.h"

void *build_alloc(struct arena *a, size_t n, size_t size, const char *what, struct assay_error *err) {
  void *p = arena_calloc(a, n, size);
  if (p)
    return p;
  // The arena refuses for two reasons; the user can do something about one of them only.
  if (a->limit_bytes && (size && n > (a->limit_bytes - a->used_bytes) / size))
    error_set(err, ASSAY_ERR_LIMIT, "%s would need %zu elements of %zu bytes; a model may occupy %zu bytes", what, n,
              size, a->limit_bytes);
  else
    error_nomem(err, what);
  return NULL;
}

// The status that build_alloc left; err may be NULL.
static enum assay_status alloc_status(const struct assay_error *err) {
  return err && err->status ? err->status : ASSAY_ERR_NOMEM;
}

// Arrays double, and the old ones stay in the arena until the model goes: at most as much again as is used.
enum assay_status build_grow(struct arena *a, void *items, size_t n, size_t *capacity, size_t size, const char *what,
                             struct assay_error *err) {
  if (n < *capacity)
    return ASSAY_OK;
  size_t more = *capacity < 8 ? 8 : *capacity * 2;
  void *old, *p = build_alloc(a, more, size, what, err);
  if (!p)
    return alloc_status(err);
  memcpy(&old, items, sizeof old); // items is the address of some typed pointer
  if (n)
    memcpy(p, old, n * size);
  memcpy(items, &p, sizeof p);
  *capacity = more;
  return ASSAY_OK;
}

enum assay_status build_error(struct assay_error *err, enum assay_status status, const struct source_location *at,
                              const char *fmt, ...) {
  char message[ASSAY_ERROR_MESSAGE_BYTES], place[256];
  va_list args;
  va_start(args, fmt);
  vsnprintf(message, sizeof message, fmt, args);
  va_end(args);
  return error_set(err, status, "%s: %s", source_location_text(at, place), message);
}

enum assay_status build_string(struct arena *a, const char *s, size_t n, const struct source_location *at,
                               const char **out, struct assay_error *err) {
  if (n && memchr(s, '\0', n))
    return build_error(err, ASSAY_ERR_INVALID, at, "a string contains a NUL byte; remove it");
  char *p = build_alloc(a, n + 1, 1, "a string", err);
  if (!p)
    return alloc_status(err);
  if (n)
    memcpy(p, s, n);
  *out = p;
  return ASSAY_OK;
}

// FNV-1a with a final mix (Fowler, Noll, Vo): short keys, power-of-two tables.
static size_t name_hash(const char *s, size_t len) {
  uint64_t h = 0xcbf29ce484222325u;
  for (size_t i = 0; i < len; i++)
    h = (h ^ (unsigned char)s[i]) * 0x100000001b3u;
  return (size_t)(h ^ (h >> 29));
}

// Linear probing: the slot that has the key, or the free one where it would go.
static struct name_slot *name_slot(const struct name_table *t, const char *s, size_t len) {
  size_t i = name_hash(s, len) & (t->n_slots - 1);
  while (t->slots[i].key && (strlen(t->slots[i].key) != len || memcmp(t->slots[i].key, s, len) != 0))
    i = (i + 1) & (t->n_slots - 1);
  return &t->slots[i];
}

// Every name of a file is looked up at least once, in lists of any length: hence a hash table and not a search.
int name_table_find(const struct name_table *t, const char *s, size_t len) {
  if (!t->n_slots)
    return -1;
  const struct name_slot *slot = name_slot(t, s, len);
  return slot->key ? slot->index : -1;
}

enum assay_status name_table_add(struct name_table *t, struct arena *a, const char *key, int index,
                                 struct assay_error *err) {
  if (2 * (t->n + 1) > t->n_slots) { // at most half full, so that probing ends and stays short
    struct name_table more = {.n = t->n, .n_slots = t->n_slots ? t->n_slots * 2 : 64};
    more.slots = build_alloc(a, more.n_slots, sizeof *more.slots, "a table of names", err);
    if (!more.slots)
      return alloc_status(err);
    for (size_t i = 0; i < t->n_slots; i++)
      if (t->slots[i].key)
        *name_slot(&more, t->slots[i].key, strlen(t->slots[i].key)) = t->slots[i];
    *t = more;
  }
  *name_slot(t, key, strlen(key)) = (struct name_slot){key, index};
  t->n++;
  return ASSAY_OK;
}

void onnx_build_start(struct graph_builder *b, struct arena *arena, struct graph *graph) {
  *b = (struct graph_builder){.arena = arena, .graph = graph};
}

// The one place where values come into being, and where their number and the length of their names are limited.
enum assay_status build_value(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                              int *index, struct assay_error *err) {
  struct graph *g = b->graph;
  if (len > ONNX_MAX_NAME_BYTES)
    return build_error(err, ASSAY_ERR_LIMIT, at, "a name has %zu bytes; at most %d are accepted", len,
                       ONNX_MAX_NAME_BYTES);
  int found = name_table_find(&b->names, name, len);
  if (found >= 0) {
    *index = found;
    return ASSAY_OK;
  }
  if (g->n_values >= ONNX_MAX_VALUES)
    return build_error(err, ASSAY_ERR_LIMIT, at, "the graph has more than %d values", ONNX_MAX_VALUES);
  size_t n = (size_t)g->n_values;
  TRY(build_grow(b->arena, &g->values, n, &b->cap_values, sizeof *g->values, "the values of a graph", err));
  TRY(build_grow(b->arena, &b->defined, n, &b->cap_defined, 1, "the values of a graph", err));
  struct value *v = &g->values[n];
  *v = (struct value){.dtype = DTYPE_UNDEFINED, .rank = -1, .producer = -1, .at = *at};
  TRY(build_string(b->arena, name, len, at, &v->name, err));
  TRY(name_table_add(&b->names, b->arena, v->name, g->n_values, err));
  b->defined[n] = 0;
  *index = g->n_values++;
  return ASSAY_OK;
}

enum assay_status build_use(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                            int *index, struct assay_error *err) {
  *index = name_table_find(&b->names, name, len);
  if (*index >= 0 && b->defined[*index])
    return ASSAY_OK;
  return build_error(err, ASSAY_ERR_INVALID, at,
                     "'%.*s' is not defined up to here: it must be an input, an initializer or the output of an "
                     "earlier node",
                     len > 200 ? 200 : (int)len, name);
}

// Single assignment: ONNX wants each name defined once in a graph, inputs and initializers included.
enum assay_status build_define(struct graph_builder *b, const char *name, size_t len, const struct source_location *at,
                               int *index, struct assay_error *err) {
  TRY(build_value(b, name, len, at, index, err));
  struct value *v = &b->graph->values[*index];
  if (b->defined[*index]) {
    char first[256];
    return build_error(err, ASSAY_ERR_INVALID, at, "'%.200s' is defined a second time (first at %s)", v->name,
                       source_location_text(&v->at, first));
  }
  b->defined[*index] = 1;
  v->at = *at;
  return ASSAY_OK;
}

// A value may be declared several times (as output and as intermediate, as input and initializer). The sum of what
// the declarations say counts; the first symbol given for a dimension wins, since two names for one extent are fine.
enum assay_status build_declare(struct graph_builder *b, int index, const struct value_type *type,
                                const struct source_location *at, struct assay_error *err) {
  struct value *v = &b->graph->values[index];
  if (type->dtype == DTYPE_UNDEFINED)
    return ASSAY_OK;
  if (v->dtype != DTYPE_UNDEFINED && v->dtype != type->dtype)
    return build_error(err, ASSAY_ERR_INVALID, at, "'%.200s' is declared %s here and %s before", v->name,
                       dtype_name(type->dtype), dtype_name(v->dtype));
  v->dtype = type->dtype;
  if (type->rank < 0)
    return ASSAY_OK;
  if (v->rank >= 0 && v->rank != type->rank)
    return build_error(err, ASSAY_ERR_INVALID, at, "'%.200s' is declared with %d dimensions here and %d before",
                       v->name, type->rank, v->rank);
  for (int i = 0; i < type->rank; i++) {
    bool known = v->rank >= 0 && (v->dims[i].symbol || v->dims[i].value >= 0);
    if (known && v->dims[i].value >= 0 && type->dims[i].value >= 0 && v->dims[i].value != type->dims[i].value)
      return build_error(err, ASSAY_ERR_INVALID, at, "dimension %d of '%.200s' is declared %lld here and %lld before",
                         i, v->name, (long long)type->dims[i].value, (long long)v->dims[i].value);
    if (!known)
      v->dims[i] = type->dims[i];
  }
  v->rank = type->rank;
  return ASSAY_OK;
}

enum assay_status build_constant(struct graph_builder *b, int index, const struct tensor *t,
                                 const struct source_location *at, struct assay_error *err) {
  struct graph *g = b->graph;
  struct value *v = &g->values[index];
  struct value_type type = {.dtype = t->type.dtype, .rank = t->type.shape.rank};
  for (int i = 0; i < t->type.shape.rank; i++)
    type.dims[i] = (struct dim){.value = t->type.shape.dims[i]};
  if (v->constant || v->producer >= 0)
    return build_error(err, ASSAY_ERR_INVALID, at, "'%.200s' is defined a second time", v->name);
  TRY(build_declare(b, index, &type, at, err));
  if (v->rank == type.rank) // the numbers say more than symbols declared for the same name
    memcpy(v->dims, type.dims, sizeof type.dims);
  v->constant = t;
  b->defined[index] = 1;
  return ASSAY_OK;
}

enum assay_status build_input(struct graph_builder *b, const char *name, size_t len, const struct value_type *type,
                              const struct source_location *at, int *index, struct assay_error *err) {
  struct graph *g = b->graph;
  if (len == 0)
    return build_error(err, ASSAY_ERR_INVALID, at, "an input has no name");
  TRY(build_define(b, name, len, at, index, err));
  TRY(build_declare(b, *index, type, at, err));
  TRY(build_grow(b->arena, &g->inputs, (size_t)g->n_inputs, &b->cap_inputs, sizeof *g->inputs, "the inputs", err));
  g->inputs[g->n_inputs++] = *index;
  return ASSAY_OK;
}

enum assay_status build_output(struct graph_builder *b, const char *name, size_t len, const struct value_type *type,
                               const struct source_location *at, struct assay_error *err) {
  struct graph *g = b->graph;
  int index;
  if (len == 0)
    return build_error(err, ASSAY_ERR_INVALID, at, "an output has no name");
  TRY(build_value(b, name, len, at, &index, err));
  TRY(build_declare(b, index, type, at, err));
  TRY(build_grow(b->arena, &g->outputs, (size_t)g->n_outputs, &b->cap_outputs, sizeof *g->outputs, "the outputs", err));
  g->outputs[g->n_outputs++] = index;
  return ASSAY_OK;
}

// Nodes move when the array grows: pointers to them hold until the next call only.
enum assay_status build_node(struct graph_builder *b, struct node **out, struct assay_error *err) {
  struct graph *g = b->graph;
  if (g->n_nodes >= ONNX_MAX_NODES)
    return error_set(err, ASSAY_ERR_LIMIT, "the graph has more than %d nodes", ONNX_MAX_NODES);
  TRY(build_grow(b->arena, &g->nodes, (size_t)g->n_nodes, &b->cap_nodes, sizeof *g->nodes, "the nodes", err));
  *out = &g->nodes[g->n_nodes++];
  memset(*out, 0, sizeof **out);
  return ASSAY_OK;
}

void build_produced(struct graph_builder *b, const struct node *n) {
  for (int i = 0; i < n->n_outputs; i++)
    if (n->outputs[i] >= 0)
      b->graph->values[n->outputs[i]].producer = (int)(n - b->graph->nodes);
}

enum assay_status onnx_build_finish(struct graph_builder *b, struct assay_error *err) {
  struct graph *g = b->graph;
  int kept = 0;
  for (int i = 0; i < g->n_inputs; i++) // here and not in build_constant, so that many of them cost no more
    if (!g->values[g->inputs[i]].constant)
      g->inputs[kept++] = g->inputs[i];
  g->n_inputs = kept;
  for (int i = 0; i < g->n_outputs; i++)
    if (!b->defined[g->outputs[i]])
      return build_error(err, ASSAY_ERR_INVALID, &g->values[g->outputs[i]].at, "output '%.200s' is produced by no node",
                         g->values[g->outputs[i]].name);
  return ASSAY_OK;
}
