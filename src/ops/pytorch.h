// SPDX-License-Identifier: Apache-2.0
// Writing one node of a graph as Python that calls PyTorch: what the rows' translations (op_def.pytorch) are made with.
// pytorch.c writes numbers, names and templates; pytorch_forms.c has the translations that need code. Which task it is
// for and what stands around a node's line is report/pytorch.h's business.
#ifndef OPS_PYTORCH_H
#define OPS_PYTORCH_H

#include "ops/op.h"

struct pytorch_writer { // all borrowed
  const struct graph *g;
  const struct array *values; // dtype and shape of every value
  struct buf *out;            // errors stay in it
  bool complete;              // false once something had no translation
  struct buf *missing;        // what had none: names of operators, each once; NULL: nobody asks
  bool *named;                // of every value: its name was written; NULL: nobody asks
  const char *const *names;   // of every value: a name that Python takes and no other has; NULL: as the graph has them
  bool fixed;                 // for a candidate of one workload: sizes are numbers
  bool numbers;               // the call being written takes numbers as well as tensors
};

// A reason for op_pytorch.none where nothing stands in the way.
#define PYTORCH_NOT_WRITTEN "no task has needed it yet"

// The shortest number that is this one as a float: ONNX keeps 1e-5 as 9.99999975e-06.
void pytorch_put_float(struct pytorch_writer *w, double x);

// Notes that something has no translation: "RMSNormalization".
void pytorch_miss(struct pytorch_writer *w, const char *what);

// Inside a string between double quotes: quotes, backslashes and control characters become escapes. The text comes from
// a task's file, which may be a stranger's.
void pytorch_put_escaped(struct buf *out, const char *text);

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

// The same of a node's input; None where it is left out. A number that comes first, of a call that takes tensors only,
// is written as a tensor: `0.expand(3)` would not even parse.
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

const char *pytorch_dtype(enum dtype t); // "float32"

// pytorch_forms.c: translations that rows point at.
op_pytorch_fn pytorch_conv, pytorch_pool, pytorch_reduce, pytorch_reshape, pytorch_expand, pytorch_squeeze,
    pytorch_gemm, pytorch_unsqueeze, pytorch_cumulative, pytorch_batch_norm, pytorch_layer_norm, pytorch_arg,
    pytorch_cast, pytorch_flatten, pytorch_attention, pytorch_trilu, pytorch_gelu, pytorch_max_min, pytorch_shape,
    pytorch_constant_of_shape, pytorch_gather, pytorch_slice, pytorch_split, pytorch_constant, pytorch_hard_sigmoid,
    pytorch_recurrent, pytorch_space_to_depth, pytorch_depth_to_space, pytorch_grid_sample, pytorch_eye, pytorch_mod,
    pytorch_div, pytorch_scatter;
// pytorch_image.c: borders and resampling.
op_pytorch_fn pytorch_pad, pytorch_resize;

extern const char pytorch_recurrent_helper[]; // the Python function that pytorch_recurrent calls

#endif
