// SPDX-License-Identifier: Apache-2.0
// Inside of ops/expr.h: the program that the parser makes and the evaluators run. Each instruction works on a whole
// block, so that the interpreter's own cost is paid once in EXPR_BLOCK elements.
#ifndef OPS_EXPR_PROGRAM_H
#define OPS_EXPR_PROGRAM_H

#include <stdint.h>

#include "ops/expr.h"

// How an operation errs in a contract pass.
enum expr_error {
  EXPR_EXACT,   // selections, comparisons, sign changes, rounding to integers
  EXPR_ROUNDED, // every good implementation rounds these correctly: + - * / sqrt fma
  EXPR_LIBRARY, // a function of the mathematics library: up to ARITH_LIBRARY_ULPS
  EXPR_BOUNDED, // likewise, and every implementation keeps the result within [-1, 1] (arith_reflect)
  EXPR_POWER,   // e^x: arith_power_ulps
};

// X(enumerator, spelling, operands, error, value over doubles a b c, value over integers a b c). NONE marks operations
// that have no meaning over integers. The spelling of a function is its name in expressions; operators have theirs in
// the parser's tables too.
#define EXPR_OPERATIONS(X)                                                                                             \
  X(ADD, "+", 2, ROUNDED, a + b, wrap_add(a, b))                                                                       \
  X(SUB, "-", 2, ROUNDED, a - b, wrap_sub(a, b))                                                                       \
  X(MUL, "*", 2, ROUNDED, a *b, wrap_mul(a, b))                                                                        \
  X(DIV, "/", 2, ROUNDED, a / b, quotient(a, b, is_unsigned))                                                          \
  X(LT, "<", 2, EXACT, a < b, less(a, b, is_unsigned))                                                                 \
  X(LE, "<=", 2, EXACT, a <= b, !less(b, a, is_unsigned))                                                              \
  X(GT, ">", 2, EXACT, a > b, less(b, a, is_unsigned))                                                                 \
  X(GE, ">=", 2, EXACT, a >= b, !less(a, b, is_unsigned))                                                              \
  X(EQ, "==", 2, EXACT, a == b, a == b)                                                                                \
  X(NE, "!=", 2, EXACT, a != b, a != b)                                                                                \
  X(AND, "&&", 2, EXACT, a != 0 && b != 0, a != 0 && b != 0)                                                           \
  X(OR, "||", 2, EXACT, a != 0 || b != 0, a != 0 || b != 0)                                                            \
  X(NOT, "!", 1, EXACT, a == 0, a == 0)                                                                                \
  X(SELECT, "?", 3, EXACT, a != 0 ? b : c, a != 0 ? b : c)                                                             \
  X(NEG, "neg", 1, EXACT, -a, wrap_sub(0, a))                                                                          \
  X(ABS, "abs", 1, EXACT, fabs(a), a < 0 && !is_unsigned ? wrap_sub(0, a) : a)                                         \
  X(SIGN, "sign", 1, EXACT, a > 0 ? 1 : a < 0 ? -1 : a, is_unsigned ? a != 0 : (a > 0) - (a < 0))                      \
  X(FLOOR, "floor", 1, EXACT, floor(a), a)                                                                             \
  X(CEIL, "ceil", 1, EXACT, ceil(a), a)                                                                                \
  X(ROUND, "round", 1, EXACT, rint(a), a)                                                                              \
  X(ISNAN, "isnan", 1, EXACT, isnan(a) != 0, a * 0)                                                                    \
  X(ISINF, "isinf", 1, EXACT, isinf(a) != 0, a * 0)                                                                    \
  X(MIN, "min", 2, EXACT, a < b || isnan(a) ? a : b, less(a, b, is_unsigned) ? a : b)                                  \
  X(MAX, "max", 2, EXACT, a > b || isnan(a) ? a : b, less(b, a, is_unsigned) ? a : b)                                  \
  X(FMOD, "fmod", 2, EXACT, fmod(a, b), remainder_of(a, b, is_unsigned))                                               \
  X(SQRT, "sqrt", 1, ROUNDED, sqrt(a), NONE)                                                                           \
  X(RECIP, "recip", 1, ROUNDED, 1 / a, NONE)                                                                           \
  X(FMA, "fma", 3, ROUNDED, fma(a, b, c), wrap_add(wrap_mul(a, b), c))                                                 \
  X(EXP, "exp", 1, POWER, exp(a), NONE)                                                                                \
  X(EXPM1, "expm1", 1, LIBRARY, expm1(a), NONE)                                                                        \
  X(LOG, "log", 1, LIBRARY, log(a), NONE)                                                                              \
  X(LOG1P, "log1p", 1, LIBRARY, log1p(a), NONE)                                                                        \
  X(SIN, "sin", 1, BOUNDED, sin(a), NONE)                                                                              \
  X(COS, "cos", 1, BOUNDED, cos(a), NONE)                                                                              \
  X(TAN, "tan", 1, LIBRARY, tan(a), NONE)                                                                              \
  X(ASIN, "asin", 1, LIBRARY, asin(a), NONE)                                                                           \
  X(ACOS, "acos", 1, LIBRARY, acos(a), NONE)                                                                           \
  X(ATAN, "atan", 1, LIBRARY, atan(a), NONE)                                                                           \
  X(SINH, "sinh", 1, LIBRARY, sinh(a), NONE)                                                                           \
  X(COSH, "cosh", 1, LIBRARY, cosh(a), NONE)                                                                           \
  X(TANH, "tanh", 1, BOUNDED, tanh(a), NONE)                                                                           \
  X(ASINH, "asinh", 1, LIBRARY, asinh(a), NONE)                                                                        \
  X(ACOSH, "acosh", 1, LIBRARY, acosh(a), NONE)                                                                        \
  X(ATANH, "atanh", 1, LIBRARY, atanh(a), NONE)                                                                        \
  X(ERF, "erf", 1, BOUNDED, erf(a), NONE)                                                                              \
  X(ERFC, "erfc", 1, LIBRARY, erfc(a), NONE)                                                                           \
  X(MOVED, "moved", 1, LIBRARY, a, NONE)                                                                               \
  X(GAMMALN, "gammaln", 1, LIBRARY, special_gammaln(a), NONE)                                                          \
  X(DIGAMMA, "digamma", 1, LIBRARY, special_digamma(a), NONE)                                                          \
  X(POLYGAMMA, "polygamma", 2, LIBRARY, special_polygamma(a, b), NONE)                                                 \
  X(ZETA, "zeta", 2, LIBRARY, special_zeta(a, b), NONE)                                                                \
  X(BESSEL_J1, "bessel_j1", 1, LIBRARY, special_j1(a), NONE)                                                           \
  X(BESSEL_I0, "bessel_i0", 1, LIBRARY, special_i0(a), NONE)                                                           \
  X(AIRY_AI, "airy_ai", 1, LIBRARY, special_airy(a), NONE)                                                             \
  X(AIRY_PARTS, "airy_parts", 1, EXACT, special_airy_parts(a), NONE)                                                   \
  X(POW, "pow", 2, LIBRARY, pow(a, b), power(a, b))

enum expr_operation {
#define EXPR_ENUM(name, spelling, arity, error, value, ...) EXPR_##name,
  EXPR_OPERATIONS(EXPR_ENUM)
#undef EXPR_ENUM
      EXPR_OPERATION_COUNT
};

enum operand_kind { OPERAND_INPUT, OPERAND_TEMPORARY, OPERAND_CONSTANT, OPERAND_PARAM };

struct operand {
  uint8_t kind;  // enum operand_kind
  uint8_t index; // inputs: 0 x, 1 y, 2 z
};

struct instruction {
  uint8_t operation;
  uint8_t target; // a temporary; the last instruction writes the result instead
  // Inside a branch of `attribute ? a : b`: the attribute's index + 1, and on which value of it the branch is needed.
  // The branch not taken need not run, so that an operator with two forms costs only the one chosen.
  uint8_t guard;
  bool guard_if_zero;
  struct operand from[3];
};

struct expr {
  int n_instructions; // 0: the result is `result` itself
  struct operand result;
  const struct instruction *code;
  int n_constants, n_params;
  const double *constants;
};

int expr_arity(enum expr_operation op);
const char *expr_spelling(enum expr_operation op);

#endif
