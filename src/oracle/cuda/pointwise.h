// SPDX-License-Identifier: Apache-2.0
// Elementwise operators: what those who evaluate a row's expression on a device share, be it node by node (pointwise.c)
// or many nodes at once (fused.c).
#ifndef ORACLE_CUDA_POINTWISE_H
#define ORACLE_CUDA_POINTWISE_H

#include "oracle/cuda/gpu.h"
#include "ops/expr.h"
#include "ops/expr_program.h"

// Texts of a program, after those of convert_type: the list of operations as a macro for the device's compiler, and
// what they mean. Each line is a text of its own, because C promises strings of 4095 characters only.
extern const char code_special[], code_expression[];
#define GPU_OPERATION_TEXT(name, spelling, arity, error, value, integer)                                               \
  "  X(" #name ", " #arity ", " #error ", (" #value "), (" #integer ")) \\\n",
#define GPU_EXPRESSION_TEXTS                                                                                           \
  code_special, "#define EXPR_OPERATIONS(X) \\\n", EXPR_OPERATIONS(GPU_OPERATION_TEXT) "\n", code_expression

// Whether the operator runs on the device as its row's expression.
bool gpu_pointwise_covers(const struct op_def *op);

// Which error an operation makes in a contract pass: enum expr_error.
int gpu_pointwise_error(int operation);

#endif
