// The functions of one variable that every mathematics library has.
#include "ops/families.h"
#include "ops/pointwise.h"

// Examples stay inside the function's domain for any input; HOW makes p from a.
#define FUNCTION(NAME, SINCE, EXPR, DOC)                                                                               \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, pointwise_infer_float, EXPR, DOC),                                                    \
        .example = "(float[2,3] a) => (float[2,3] b) { b = " NAME "(a) }"                                              \
  }
#define FUNCTION_WITHIN(NAME, SINCE, EXPR, HOW, DOC)                                                                   \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, pointwise_infer_float, EXPR, DOC),                                                    \
        .example = "(float[2,3] a) => (float[2,3] b) { p = " HOW "(a) b = " NAME "(p) }"                               \
  }

static const struct op_def rows[] = {
    FUNCTION_WITHIN("Sqrt", 6, "sqrt(x)", "Abs", "The square root; NaN below zero."),
    FUNCTION_WITHIN("Reciprocal", 6, "recip(x)", "Cosh", "One divided by the input."),
    FUNCTION("Exp", 6, "exp(x)", "e raised to the input."),
    FUNCTION_WITHIN("Log", 6, "log(x)", "Abs", "The natural logarithm; NaN below zero."),
    FUNCTION("Erf", 9, "erf(x)", "The error function."),
    FUNCTION("Sin", 7, "sin(x)", "The sine of an angle in radians."),
    FUNCTION("Cos", 7, "cos(x)", "The cosine of an angle in radians."),
    FUNCTION("Tan", 7, "tan(x)", "The tangent of an angle in radians."),
    FUNCTION_WITHIN("Asin", 7, "asin(x)", "Sin", "The arc sine, in radians; NaN outside [-1, 1]."),
    FUNCTION_WITHIN("Acos", 7, "acos(x)", "Sin", "The arc cosine, in radians; NaN outside [-1, 1]."),
    FUNCTION("Atan", 7, "atan(x)", "The arc tangent, in radians."),
    FUNCTION("Sinh", 9, "sinh(x)", "The hyperbolic sine."),
    FUNCTION("Cosh", 9, "cosh(x)", "The hyperbolic cosine."),
    FUNCTION("Tanh", 6, "tanh(x)", "The hyperbolic tangent."),
    FUNCTION("Asinh", 9, "asinh(x)", "The inverse hyperbolic sine."),
    FUNCTION_WITHIN("Acosh", 9, "acosh(x)", "Cosh", "The inverse hyperbolic cosine; NaN below 1."),
    FUNCTION_WITHIN("Atanh", 9, "atanh(x)", "Tanh", "The inverse hyperbolic tangent; NaN outside [-1, 1]."),
};

const struct op_family ops_function_family = {"Functions", rows, sizeof rows / sizeof rows[0]};
