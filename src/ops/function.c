// SPDX-License-Identifier: Apache-2.0
// The functions of one variable that every mathematics library has.
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

// Examples stay inside the function's domain for any input; HOW makes p from a.
#define FUNCTION(NAME, SINCE, EXPR, DOC, ...)                                                                          \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, pointwise_infer_float, EXPR, DOC),                                                    \
        .example = "(float[2,3] a) => (float[2,3] b) { b = " NAME "(a) }",                                             \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                    \
  }
#define FUNCTION_WITHIN(NAME, SINCE, EXPR, HOW, DOC, ...)                                                              \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, pointwise_infer_float, EXPR, DOC),                                                    \
        .example = "(float[2,3] a) => (float[2,3] b) { p = " HOW "(a) b = " NAME "(p) }",                              \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                    \
  }
// One that ONNX lacks.
#define FUNCTION_OWN(NAME, EXPR, HOW, DOC, ...)                                                                        \
  {                                                                                                                    \
    POINTWISE_UNARY_OF("ai.assay", NAME, 1, pointwise_infer_float, EXPR, DOC),                                         \
        .example = "(float[2,3] a) => (float[2,3] b) { p = " HOW "(a) b = ai.assay." NAME "(p) }",                     \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                    \
  }

static const struct op_def rows[] = {
    FUNCTION_WITHIN("Sqrt", 6, "sqrt(x)", "Abs", "The square root; NaN below zero.",
                    .pytorch = {.text = "torch.sqrt($0)"}),
    FUNCTION_WITHIN("Reciprocal", 6, "recip(x)", "Cosh", "One divided by the input.",
                    .pytorch = {.text = "torch.reciprocal($0)"}),
    {POINTWISE_UNARY("Exp", 6, pointwise_infer_float, "exp(x)", "e raised to the input."),
     .example = "(float[2,3] a) => (float[2,3] b) { b = Exp(a) }", .errors = {OP_MAY_ROUND, OP_STEEP, OP_NO_SUM},
     .pytorch = {.text = "torch.exp($0)"}},
    FUNCTION_WITHIN("Log", 6, "log(x)", "Abs", "The natural logarithm; NaN below zero.",
                    .pytorch = {.text = "torch.log($0)"}),
    FUNCTION("Erf", 9, "erf(x)", "The error function.", .pytorch = {.text = "torch.erf($0)"}),
    FUNCTION("Sin", 7, "sin(x)", "The sine of an angle in radians.", .pytorch = {.text = "torch.sin($0)"}),
    FUNCTION("Cos", 7, "cos(x)", "The cosine of an angle in radians.", .pytorch = {.text = "torch.cos($0)"}),
    FUNCTION("Tan", 7, "tan(x)", "The tangent of an angle in radians.", .pytorch = {.text = "torch.tan($0)"}),
    FUNCTION_WITHIN("Asin", 7, "asin(x)", "Sin", "The arc sine, in radians; NaN outside [-1, 1].",
                    .pytorch = {.text = "torch.asin($0)"}),
    FUNCTION_WITHIN("Acos", 7, "acos(x)", "Sin", "The arc cosine, in radians; NaN outside [-1, 1].",
                    .pytorch = {.text = "torch.acos($0)"}),
    FUNCTION("Atan", 7, "atan(x)", "The arc tangent, in radians.", .pytorch = {.text = "torch.atan($0)"}),
    FUNCTION("Sinh", 9, "sinh(x)", "The hyperbolic sine.", .pytorch = {.text = "torch.sinh($0)"}),
    FUNCTION("Cosh", 9, "cosh(x)", "The hyperbolic cosine.", .pytorch = {.text = "torch.cosh($0)"}),
    FUNCTION("Tanh", 6, "tanh(x)", "The hyperbolic tangent.", .pytorch = {.text = "torch.tanh($0)"}),
    FUNCTION("Asinh", 9, "asinh(x)", "The inverse hyperbolic sine.", .pytorch = {.text = "torch.asinh($0)"}),
    FUNCTION_WITHIN("Acosh", 9, "acosh(x)", "Cosh", "The inverse hyperbolic cosine; NaN below 1.",
                    .pytorch = {.text = "torch.acosh($0)"}),
    FUNCTION_WITHIN("Atanh", 9, "atanh(x)", "Tanh", "The inverse hyperbolic tangent; NaN outside [-1, 1].",
                    .pytorch = {.text = "torch.atanh($0)"}),
    FUNCTION_OWN("Erfc", "erfc(x)", "Identity",
                 "One minus the error function of the input, also where that difference would cancel.",
                 .pytorch = {.text = "torch.erfc($0)"}),
    FUNCTION_OWN("Log1p", "log1p(x)", "Abs",
                 "The natural logarithm of one plus the input, also where that sum would lose it; NaN below -1.",
                 .pytorch = {.text = "torch.log1p($0)"}),
};

const struct op_family ops_function_family = {"Functions", rows, sizeof rows / sizeof rows[0]};
