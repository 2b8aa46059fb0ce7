// SPDX-License-Identifier: Apache-2.0
// Arithmetic: operators that combine two or more tensors with broadcasting, and the simplest functions of one.
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

// Base and exponent may differ in type; the result has the base's.
static enum assay_status infer_pow(struct op_infer *c, struct assay_error *err) {
  if (c->in[0]->dtype == DTYPE_BOOL || c->in[1]->dtype == DTYPE_BOOL)
    return op_invalid(c->node, err, "bool has no powers; insert a Cast");
  c->out[0].dtype = c->in[0]->dtype;
  return shape_broadcast(&c->in[0]->shape, &c->in[1]->shape, &c->out[0].shape, err);
}

static const struct op_attr mod_attrs[] = {{"fmod", ATTR_INT, false, "0"}, {0}};

#define BINARY(NAME, SINCE, EXPR, DOC, ...)                                                                            \
  {                                                                                                                    \
    POINTWISE_BINARY(NAME, SINCE, pointwise_infer_number, EXPR, DOC),                                                  \
        .example = "(float[2,3] a, float[3] b) => (float[2,3] c) { c = " NAME "(a, b) }", __VA_ARGS__                  \
  }
#define UNARY(NAME, SINCE, INFER, EXPR, DOC, ...)                                                                      \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, INFER, EXPR, DOC), .example = "(float[2,3] a) => (float[2,3] b) { b = " NAME "(a) }", \
                                                    __VA_ARGS__                                                        \
  }
#define VARIADIC(NAME, SINCE, INFER, EXPR, DOC, ...)                                                                   \
  {                                                                                                                    \
    OP_ROW(NAME, SINCE, 1, OP_VARIADIC, 1, 1, OP_ELEMENTWISE),                                                         \
        .infer = INFER, .eval = pointwise_eval, .cost = pointwise_cost, .expr = EXPR, .doc = DOC,                      \
        .example = "(float[2,3] a, float[3] b, float[2,1] c) => (float[2,3] d) { d = " NAME "(a, b, c) }", __VA_ARGS__ \
  }

static const struct op_def rows[] = {
    BINARY("Add", 7, "x + y", "The sum of two tensors, broadcast. Integers wrap to the width of their type.",
           .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_TWO}, .passes = 3,
           .pytorch = {.text = "$0 + $1", .takes_numbers = true}),
    BINARY("Sub", 7, "x - y", "The difference of two tensors, broadcast. Integers wrap to the width of their type.",
           .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_DIFFERENCE}, .passes = 3,
           .pytorch = {.text = "$0 - $1", .takes_numbers = true}),
    BINARY("Mul", 7, "x * y", "The product of two tensors, broadcast. Integers wrap to the width of their type.",
           .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .passes = 3, .multiplies = true,
           .pytorch = {.text = "$0 * $1", .takes_numbers = true}),
    BINARY("Div", 7, "x / y",
           "The quotient of two tensors, broadcast. Integer division truncates towards zero; dividing by zero gives 0.",
           .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .passes = 1,
           .pytorch = {.write = pytorch_div, .takes_numbers = true}),
    {POINTWISE_BINARY("Mod", 10, pointwise_infer_number,
                      "fmod ? fmod(x, y) : fmod(x, y) == 0 ? y < 0 ? -0 : 0"
                      " : (fmod(x, y) < 0) == (y < 0) ? fmod(x, y) : fmod(x, y) + y",
                      "The remainder of a division. It has the sign of the divisor, also where it is zero, or with "
                      "fmod = 1 that of the dividend, as C's fmod."),
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_mod}, .attrs = mod_attrs,
     .example = "(float[2,3] a, float[3] b) => (float[2,3] c) { c = Mod<fmod = 1>(a, b) }"},
    {POINTWISE_BINARY("Pow", 7, infer_pow, "pow(x, y)",
                      "The base raised to the exponent, broadcast; the result has the type of the base."),
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.pow($0, $1)", .takes_numbers = true},
     .example = "(float[2,3] a, float[3] b) => (float[2,3] c) { p = Abs(a) c = Pow(p, b) }"},
    VARIADIC("Sum", 6, pointwise_infer_float, "x + y", "The sum of any number of tensors, broadcast.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
    VARIADIC("Mean", 6, pointwise_infer_float, "x + y",
             "The mean of any number of tensors, broadcast: their sum divided by their number.",
             .expr_finish = "x / count", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
             .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
    VARIADIC("Max", 6, pointwise_infer_number, "max(x, y)",
             "The greatest of any number of tensors, broadcast; NaN wins.", .errors = {OP_EXACT, OP_KINK, OP_NO_SUM},
             .pytorch = {.text = "max", .write = pytorch_max_min}),
    VARIADIC("Min", 6, pointwise_infer_number, "min(x, y)", "The least of any number of tensors, broadcast; NaN wins.",
             .errors = {OP_EXACT, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "min", .write = pytorch_max_min}),
    UNARY("Abs", 6, pointwise_infer_number, "abs(x)", "The absolute value.", .errors = {OP_EXACT, OP_KINK, OP_NO_SUM},
          .pytorch = {.text = "torch.abs($0)"}),
    UNARY("Neg", 6, pointwise_infer_number, "-x", "The negated value.", .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM},
          .passes = 1, .pytorch = {.text = "-$0"}),
    UNARY("Sign", 9, pointwise_infer_number, "sign(x)", "-1, 0 or 1; NaN stays NaN.",
          .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true, .pytorch = {.text = "torch.sign($0)"}),
    UNARY("Floor", 6, pointwise_infer_float, "floor(x)", "The greatest whole number not above the input.",
          .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true, .pytorch = {.text = "torch.floor($0)"}),
    UNARY("Ceil", 6, pointwise_infer_float, "ceil(x)", "The least whole number not below the input.",
          .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true, .pytorch = {.text = "torch.ceil($0)"}),
    UNARY("Round", 11, pointwise_infer_float, "round(x)", "The nearest whole number; halves go to the even one.",
          .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true, .pytorch = {.text = "torch.round($0)"}),
};

const struct op_family ops_elementwise_family = {"Arithmetic", rows, sizeof rows / sizeof rows[0]};
