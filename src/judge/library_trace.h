// SPDX-License-Identifier: Apache-2.0
// Private to src/judge: the graph around a product or convolution, read as views of the task's own tensors.
#ifndef JUDGE_LIBRARY_TRACE_H
#define JUDGE_LIBRARY_TRACE_H

#include "judge/library_call.h"
#include "oracle/oracle.h"

struct library_trace {
  const struct task *task;
  const struct graph *graph;
  const struct array *values; // shapes
  const struct node *node;    // the product or convolution
};

// A tensor as elements of an input of the task, or of its output: element i0, i1, ... lies at the sum of i * stride.
struct library_view {
  int input;
  struct shape shape;
  int64_t strides[SHAPE_MAX_RANK];
};

bool library_is(const struct node *n, const char *op_type); // an operator of ONNX's own domain
struct library_view library_dense(int input, const struct shape *shape);

// The value as a view of an input, through Transpose, Reshape and the like. ASSAY_ERR_UNSUPPORTED names the operator
// that makes it something else.
enum assay_status library_view_of(const struct library_trace *t, int value, struct library_view *out,
                                  struct assay_error *err);

// What stands between the product and the task's output.
struct library_finish {
  struct library_view y;    // the product's result, in the output's memory
  bool has_bias;            // a tensor is added
  struct library_view bias; // that tensor, with its strides in the input
  struct library_view at;   // what it is added to, in the output's memory
};
enum assay_status library_finish_of(const struct library_trace *t, struct library_finish *out, struct assay_error *err);

// library_product.c
enum assay_status library_product_of(const struct library_trace *t, struct library_product *out,
                                     struct assay_error *err);

#endif
