// SPDX-License-Identifier: Apache-2.0
// The scalar language of elementwise operators: what one output element is, in terms of x, y, z and attributes.
//
// Grammar, loosest first: `c ? a : b`; `a || b`; `a && b`; comparisons < <= > >= == != (1 or 0); + -; * /; unary - !;
// primary: number, x y z, an attribute's name, `exact`, a function call, parentheses. Functions of one argument: abs
// neg sign sqrt exp expm1 log log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh erf erfc floor ceil
// round (to even) recip isnan isinf, and of ops/special.h gammaln digamma bessel_j1 bessel_i0 airy_ai airy_parts,
// and moved (the argument, with the error of a function of the library); of two: min max (NaN wins) pow fmod polygamma
// zeta; of three: fma. An expression is a
// *straightforward* implementation: in a contract pass each operation rounds once, so its structure sets the error
// scale. Where that structure loses the answer even in double, `exact ? a : b` gives the exact pass another one.
#ifndef OPS_EXPR_H
#define OPS_EXPR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "ops/arith.h"

struct expr;

// Parses text; attribute names become parameters, looked up in names[0..n_names). Lives in the arena.
// ASSAY_ERR_SYNTAX names the column.
enum assay_status expr_parse(const char *text, const char *const *names, int n_names, struct arena *arena,
                             const struct expr **out, struct assay_error *err);

// The number of floating operations for one element (selections and comparisons count one each).
int expr_flops(const struct expr *e);

// Longer or deeper expressions are refused with ASSAY_ERR_LIMIT.
enum {
  EXPR_BLOCK = 256,
  EXPR_MAX_INSTRUCTIONS = 128,
  EXPR_MAX_CONSTANTS = 64,
  EXPR_MAX_PARAMS = 16,
  EXPR_MAX_TEMPORARIES = 16,
  EXPR_MAX_DEPTH = 64,
};

// What n <= EXPR_BLOCK elements are evaluated from. params has one value for each name.
struct expr_block {
  int n;
  const double *in[3]; // x, y, z: arrays of n; NULL: not used
  const double *params;
};
void expr_eval(const struct expr *e, const struct arith *a, struct noise *noise, const struct expr_block *b,
               double *out);

// The same over integers, for tensors of integer type: + - * / (towards zero; 0 when dividing by 0) abs neg sign min
// max pow fmod, comparisons and logic; results wrap to 64 bits and the caller wraps them to the tensor's width.
// `is_unsigned` makes / min max fmod and the order comparisons see unsigned 64-bit numbers. Constants and params must
// be whole numbers. expr_has_integers says whether every operation of the expression is among these.
bool expr_has_integers(const struct expr *e);
struct expr_int_block {
  int n;
  const int64_t *in[3];
  const double *params;
};
void expr_eval_int(const struct expr *e, bool is_unsigned, const struct expr_int_block *b, int64_t *out);

#endif
