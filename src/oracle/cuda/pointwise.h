// Elementwise operators: what those who evaluate a row's expression on a device share, be it node by node (pointwise.c)
// or many nodes at once (fused.c).
#ifndef ORACLE_CUDA_POINTWISE_H
#define ORACLE_CUDA_POINTWISE_H

#include "oracle/cuda/gpu.h"
#include "ops/expr.h"
#include "ops/expr_program.h"

// Texts of a program, behind those of convert_type: the list of operations as a macro for the device's compiler, and
// what they mean. Each line is a text of its own, because C promises strings of 4095 characters only.
extern const char code_expression[];
#define GPU_OPERATION_TEXT(name, spelling, arity, error, value, integer)                                               \
  "  X(" #name ", " #arity ", " #error ", (" #value "), (" #integer ")) \\\n",
#define GPU_EXPRESSION_TEXTS                                                                                           \
  "#define EXPR_OPERATIONS(X) \\\n", EXPR_OPERATIONS(GPU_OPERATION_TEXT) "\n", code_expression

// The expression of a node, as far as its inputs are there; NULL: the node is not elementwise. Operators of any number
// of inputs apply it to the result so far and each further input, then (*finish, where not NULL) to the result and
// `count`.
const char *gpu_pointwise_text(const struct node *n, const char **finish);

// The node's attributes, and behind them whether this is the exact pass: parameters of its expression, with room for
// EXPR_MAX_PARAMS. Returns their number.
int gpu_pointwise_params(const struct node *n, bool exact, const char **names, double *values);

// Whether the node has an attribute that makes it compute in double, be its inputs integers.
bool gpu_pointwise_fractional(const struct node *n);

// Which error an operation makes in a contract pass: enum expr_error.
int gpu_pointwise_error(int operation);

#endif
