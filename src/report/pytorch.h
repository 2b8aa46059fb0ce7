// Inside report_pytorch (report.h): a task's graph as Python text. pytorch.c writes the module, pytorch_ops.c the
// translation of each operator, pytorch_write.c what both write with.
#ifndef REPORT_PYTORCH_H
#define REPORT_PYTORCH_H

#include "base/buf.h"
#include "task/task.h"

struct pytorch_writer { // all borrowed
  const struct task *task;
  const struct graph *g;
  const struct array *values; // dtype and shape of every value under the workload
  struct buf *out;            // errors stay in it
  bool complete;              // false once something had no translation
};

// The text in front of a module of this graph, which translations call; "" where none does.
const char *pytorch_preamble(const struct graph *g);

// The node's line in forward, with an indent and a line end.
void pytorch_put_node(struct pytorch_writer *w, const struct node *n);

// The shortest number that is this one as a float: ONNX keeps 1e-5 as 9.99999975e-06.
void pytorch_put_float(struct pytorch_writer *w, double x);

// "(1, 2)", and "(1,)" of one.
void pytorch_put_ints(struct pytorch_writer *w, const int64_t *v, size_t n);

// A value's Python name: names of ONNX may hold characters that Python's may not. A constant scalar: its number.
void pytorch_put_value(struct pytorch_writer *w, int v);

// The same of a node's input; None where it is left out.
void pytorch_put_input(struct pytorch_writer *w, const struct node *n, int i);

// A template: $0 $1 ... are the inputs' Python expressions, $* all of them, {name} an attribute's value (a scalar, a
// tuple or a string; its default where the node has none), and the rest is literal.
void pytorch_put_template(struct pytorch_writer *w, const struct node *n, const char *text);

// The integers of an input that is a constant of the graph, or of one of its functions: how many, in out; -1: it is
// not, or has more than `capacity`.
int pytorch_constant_ints(const struct pytorch_writer *w, const struct node *n, int input, int64_t *out, int capacity);

// Element i of an attribute of integers; `fallback` where it has none.
int pytorch_int_at(const struct node *n, const char *name, size_t i, int fallback);

int pytorch_rank(const struct pytorch_writer *w, int v);

#endif
