// Inside report_pytorch (report.h): a task's graph as Python text. pytorch.c writes the module for people,
// pytorch_candidate.c the one that is judged, pytorch_calls.c finds groups of nodes that PyTorch has one call for,
// pytorch_ops.c translates each operator, and pytorch_write.c has what all write with.
#ifndef REPORT_PYTORCH_H
#define REPORT_PYTORCH_H

#include "base/arena.h"
#include "base/buf.h"
#include "task/task.h"

struct pytorch_writer { // all borrowed
  const struct task *task;
  const struct graph *g;
  const struct array *values; // dtype and shape of every value under the workload
  struct buf *out;            // errors stay in it
  bool complete;              // false once something had no translation
  struct pytorch_call *calls; // of every node
  bool *named;                // of every value: its name was written
  bool fixed;                 // for a candidate of one workload: sizes are numbers
  bool numbers;               // the call at hand takes numbers as well as tensors
};

// A node that is written otherwise than by itself.
struct pytorch_call {
  bool left_out;       // it is part of another's call
  int x, weight, bias; // values of a linear layer; weight < 0: none, bias < 0: without one
};

// Fills the calls of all nodes, in the arena.
enum assay_status pytorch_find_calls(struct pytorch_writer *w, struct arena *arena, struct assay_error *err);

// pytorch.c: shapes under the workload, in the arena; and parts of both modules.
enum assay_status pytorch_open(struct pytorch_writer *w, const struct workload *load, struct arena *arena,
                               struct array **inputs, struct assay_error *err);
bool pytorch_has_weights(const struct pytorch_writer *w);
void pytorch_put_head(struct pytorch_writer *w);                        // imports
void pytorch_put_signature(struct pytorch_writer *w, const char *name); // of a method that gets the inputs
void pytorch_put_weights(struct pytorch_writer *w);                     // as local names
void pytorch_put_tables(struct pytorch_writer *w);                      // constants of the graph that have a name
void pytorch_put_return(struct pytorch_writer *w);

// The text in front of a module of this graph, which translations call; "" where none does.
const char *pytorch_preamble(const struct graph *g);

// The node's line in forward, with an indent and a line end; nothing where it is left out.
void pytorch_put_node(struct pytorch_writer *w, const struct node *n);

// The shortest number that is this one as a float: ONNX keeps 1e-5 as 9.99999975e-06.
void pytorch_put_float(struct pytorch_writer *w, double x);

// "(1, 2)", and "(1,)" of one.
void pytorch_put_ints(struct pytorch_writer *w, const int64_t *v, size_t n);

// A value's Python name: names of ONNX may hold characters that Python's may not. A constant scalar: its number.
void pytorch_put_value(struct pytorch_writer *w, int v);
void pytorch_put_name(struct pytorch_writer *w, int v); // the name of any value

// Whether a candidate of one workload knows the value's elements, whatever its inputs hold.
bool pytorch_known(const struct pytorch_writer *w, int v);
bool pytorch_is_short(const struct pytorch_writer *w, int v); // its elements fit in a line
// "torch.tensor([1, 2])" of elements that are known; incomplete where they are not, or not short.
void pytorch_put_known(struct pytorch_writer *w, int v);

// The same of a node's input; None where it is left out.
void pytorch_put_input(struct pytorch_writer *w, const struct node *n, int i);

// A template: $0 $1 ... are the inputs' Python expressions, $* all of them, {name} an attribute's value (a scalar, a
// tuple or a string; its default where the node has none), and the rest is literal.
void pytorch_put_template(struct pytorch_writer *w, const struct node *n, const char *text);

// The integers of an input that is a constant of the graph, or of one of its functions, or known: how many, in out; -1:
// it is not, or has more than `capacity`.
int pytorch_constant_ints(const struct pytorch_writer *w, const struct node *n, int input, int64_t *out, int capacity);

// Element i of an attribute of integers; `fallback` where it has none.
int pytorch_int_at(const struct node *n, const char *name, size_t i, int fallback);

int pytorch_rank(const struct pytorch_writer *w, int v);

#endif
