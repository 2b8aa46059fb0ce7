// SPDX-License-Identifier: Apache-2.0
// Inside report_pytorch (report.h): a task's graph as Python text. pytorch.c writes the module for people,
// pytorch_candidate.c the one that is judged, pytorch_calls.c finds groups of nodes that PyTorch has one call for, and
// pytorch_node.c writes a node's line with the translation that its operator's row has (ops/pytorch.h).
#ifndef REPORT_PYTORCH_H
#define REPORT_PYTORCH_H

#include "base/arena.h"
#include "ops/pytorch.h"
#include "task/task.h"

struct pytorch_module { // all borrowed
  struct pytorch_writer w;
  const struct task *task;
  struct pytorch_call *calls; // of every node
};

// How a node is written, where not with its own operator's translation.
struct pytorch_call {
  bool left_out;       // it is part of another's call
  int x, weight, bias; // values of a linear layer; weight < 0: none, bias < 0: without one
};

// Fills the calls of all nodes, in the arena.
enum assay_status pytorch_find_calls(struct pytorch_module *m, struct arena *arena, struct assay_error *err);

// pytorch.c: shapes under the workload, in the arena; and parts of both modules.
enum assay_status pytorch_open(struct pytorch_module *m, const struct workload *load, struct arena *arena,
                               struct array **inputs, struct assay_error *err);
bool pytorch_has_weights(const struct pytorch_module *m);
void pytorch_put_head(struct pytorch_writer *w);                        // imports
void pytorch_put_class(struct pytorch_module *m, const char *name);     // its first line and its description
void pytorch_put_signature(struct pytorch_module *m, const char *name); // of a method that gets the inputs
void pytorch_put_weights(struct pytorch_module *m);                     // as local names
void pytorch_put_tables(struct pytorch_writer *w);                      // constants of the graph that have a name
void pytorch_put_return(struct pytorch_module *m);

// pytorch_names.c: a name in Python for each value of the graph, in the arena.
enum assay_status pytorch_make_names(const struct graph *g, struct arena *arena, const char *const **out,
                                     struct assay_error *err);

// The text before a module of this graph, which translations call; "" where none does.
const char *pytorch_preamble(const struct graph *g);

// The node's line in forward, with an indent and a line end; nothing where it is left out.
void pytorch_put_node(struct pytorch_module *m, const struct node *n);

#endif
