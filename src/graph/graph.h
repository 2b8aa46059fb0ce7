// SPDX-License-Identifier: Apache-2.0
// The graph: values, nodes and attributes of one computation, as read from ONNX, before and after names are resolved
// to operators. Everything a model points at lives in the model's arena and is dropped with it.
//
// A graph is flat once graph_inline (onnx/onnx.h) has run: model-local functions are expanded, every node points at
// its operator's row (ops/op.h), values are numbered, nodes are in an order in which they can be evaluated.
#ifndef GRAPH_GRAPH_H
#define GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/tensor_type.h"

struct op_def; // ops/op.h

// One declared extent: a number, a symbol, or nothing known.
struct dim {
  int64_t value;      // >= 0 when known, -1 otherwise
  const char *symbol; // NULL unless symbolic
};

// Where something stands in its file: line and column for text (from 1), 0 and a path for binary models
// ("graph.node[3].attribute[0]").
struct source_location {
  int line, column;
  const char *path;
};

// A constant with its elements in their own type, row-major, in native byte order.
struct tensor {
  const char *name; // may be NULL
  struct tensor_type type;
  const void *data; // tensor_type_bytes
};

enum attr_type { ATTR_FLOAT = 1, ATTR_INT, ATTR_STRING, ATTR_TENSOR, ATTR_GRAPH, ATTR_FLOATS, ATTR_INTS, ATTR_STRINGS };
const char *attr_type_name(enum attr_type t); // "floats"; "?" for an unknown kind

// One attribute of a node. Scalars are arrays of one, so that readers need not distinguish.
struct attr {
  const char *name;
  enum attr_type type;
  size_t count;
  const double *floats;        // ATTR_FLOAT(S)
  const int64_t *ints;         // ATTR_INT(S)
  const char *const *strings;  // ATTR_STRING(S), NUL-terminated
  const struct tensor *tensor; // ATTR_TENSOR
  const char *ref;             // the name of the function's attribute this one stands for (ref_attr_name), or NULL
  struct source_location at;
};

// What flows along an edge. Its index in graph.values is its identity.
struct value {
  const char *name;
  enum dtype dtype; // DTYPE_UNDEFINED: not declared
  int rank;         // -1: shape not declared
  struct dim dims[SHAPE_MAX_RANK];
  const struct tensor *constant; // an initializer's content, or NULL
  int producer;                  // node index; -1 for graph inputs and initializers
  struct source_location at;
};

struct node {
  const char *name; // may be ""
  const char *op_type;
  const char *domain;      // "" for the standard operators
  const struct op_def *op; // NULL while it calls a model-local function
  int opset;               // version of its domain in force where the node was written
  int n_inputs, n_outputs, n_attrs;
  int *inputs;  // indices of values; -1 where an optional input is left out
  int *outputs; // likewise
  struct attr *attrs;
  struct source_location at;
};

struct graph {
  const char *name;
  int n_values, n_nodes, n_inputs, n_outputs;
  struct value *values;
  struct node *nodes;
  int *inputs; // value indices: inputs without initializers, in declared order
  int *outputs;
  int n_exact; // the last nodes, which judge what the others make: they round nothing in any pass (task/check.h)
};

struct property {
  const char *key, *value;
  struct source_location at;
};

struct opset_import {
  const char *domain;
  int version;
};

// A model-local function: its body is a graph whose inputs and outputs have no types.
struct function {
  const char *domain, *name;
  int n_attrs;
  const char *const *attr_names; // formal attributes without defaults
  int n_defaults;
  struct attr *defaults; // formal attributes with defaults
  int n_opsets;
  struct opset_import *opsets;
  struct graph body;
};

struct model {
  struct arena arena;      // owns everything below
  const char *source_name; // the file, for messages
  int64_t ir_version;
  int64_t model_version;                                              // 0: not given
  const char *producer_name, *producer_version, *domain, *doc_string; // NULL: not given; kept for writing only
  int n_opsets, n_properties, n_functions;
  struct opset_import *opsets;
  struct property *properties;
  struct function *functions;
  struct graph graph; // as written: may call functions
  struct graph flat;  // functions inlined, operators resolved; the form that is evaluated
};

void model_release(struct model *m);

// The value of metadata_props[key], or NULL.
const char *model_property(const struct model *m, const char *key);

// The attribute or NULL; typed readers fall back to the default when it is absent. The verifier has checked types
// against the operator's row before an evaluator sees the node.
const struct attr *node_attr(const struct node *n, const char *name);
int64_t node_int(const struct node *n, const char *name, int64_t fallback);
double node_float(const struct node *n, const char *name, double fallback);
const char *node_string(const struct node *n, const char *name, const char *fallback);
bool node_has_input(const struct node *n, int i);
bool node_is_one_of(const struct node *n, const char *const *op_types); // of a list that ends with NULL

// "line 3, column 7" or the path; for messages. `text` has room for 256 bytes; returns it.
const char *source_location_text(const struct source_location *at, char *text);

#endif
