// SPDX-License-Identifier: Apache-2.0
// Evaluation element by element over broadcast inputs, in blocks and in parallel: what the elementwise families share.
#ifndef OPS_POINTWISE_H
#define OPS_POINTWISE_H

#include "ops/op.h"

// Shape rules. All broadcast the inputs that are there and want one dtype among them.
enum assay_status pointwise_infer_float(struct op_infer *c, struct assay_error *err);   // floating only
enum assay_status pointwise_infer_number(struct op_infer *c, struct assay_error *err);  // floating or integer, not bool
enum assay_status pointwise_infer_compare(struct op_infer *c, struct assay_error *err); // any; the output is bool

// The expression of the row for the inputs that the node has (op_expr); inputs 0, 1, 2 are x, y, z. Rows of any number
// of inputs are folded (op_def.expr_finish). Works in double if any input is floating, else in integers. Attributes
// become parameters: numbers as they are, strings as 0 when they have their default and 1 otherwise.
enum assay_status pointwise_eval(struct op_eval *c, struct assay_error *err);

// What pointwise_eval gives the expression for a node's attributes, and after them whether this is the exact pass:
// names and values, with room for EXPR_MAX_PARAMS each. Returns their number.
int pointwise_params(const struct node *node, bool exact, const char **names, double *values);

// Whether an attribute makes the operator compute in double even where all inputs are integers (Shrink).
bool pointwise_fractional(const struct op_def *row);

// A function of two integers (b is 0 when there is one input).
typedef int64_t pointwise_int_fn(int64_t a, int64_t b, enum dtype t);
enum assay_status pointwise_eval_int(struct op_eval *c, pointwise_int_fn *fn, struct assay_error *err);

// Operations of the row's expression, for each output element.
void pointwise_cost(const struct op_infer *c, struct op_cost *cost);

// The part of a row that all operators of one or two inputs have in common here.
#define POINTWISE_UNARY(NAME, SINCE, INFER, EXPR, DOC) POINTWISE_UNARY_OF("", NAME, SINCE, INFER, EXPR, DOC)
#define POINTWISE_UNARY_OF(DOMAIN, NAME, SINCE, INFER, EXPR, DOC)                                                      \
  OP_ROW_OF(DOMAIN, NAME, SINCE, 1, 1, 1, 1, OP_ELEMENTWISE)                                                           \
  , .infer = INFER, .eval = pointwise_eval, .cost = pointwise_cost, .expr = EXPR, .doc = DOC
#define POINTWISE_BINARY(NAME, SINCE, INFER, EXPR, DOC) POINTWISE_BINARY_OF("", NAME, SINCE, INFER, EXPR, DOC)
#define POINTWISE_BINARY_OF(DOMAIN, NAME, SINCE, INFER, EXPR, DOC)                                                     \
  OP_ROW_OF(DOMAIN, NAME, SINCE, 2, 2, 1, 1, OP_ELEMENTWISE)                                                           \
  , .infer = INFER, .eval = pointwise_eval, .cost = pointwise_cost, .expr = EXPR, .doc = DOC

// v as an element of an integer type: cut to its width, sign or zero extended; bool is v != 0.
int64_t pointwise_wrap(enum dtype t, int64_t v);

// v converted to an integer type: towards zero, at the ends of int64's range where it does not fit, then wrapped;
// bool is v != 0.
int64_t pointwise_truncate(enum dtype t, double v);

// Whether the integer type holds v, rounded towards zero. Elsewhere languages and processors differ in what a cast
// makes: CPUs wrap or give the smallest number, GPUs the nearest.
bool pointwise_holds(enum dtype t, double v);

#endif
