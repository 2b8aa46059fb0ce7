// SPDX-License-Identifier: Apache-2.0
// Expressions over integer tensors. Signed overflow is undefined in C and wraps in ONNX's reference, so the arithmetic
// goes through unsigned numbers.
#include "ops/expr.h"

#include <math.h>

#include "ops/expr_program.h"

static int64_t wrap_add(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a + (uint64_t)b);
}
static int64_t wrap_sub(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a - (uint64_t)b);
}
static int64_t wrap_mul(int64_t a, int64_t b) {
  return (int64_t)((uint64_t)a * (uint64_t)b);
}

static bool less(int64_t a, int64_t b, bool is_unsigned) {
  return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}

static int64_t quotient(int64_t a, int64_t b, bool is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a / (uint64_t)b);
  return b == -1 ? wrap_sub(0, a) : a / b; // INT64_MIN / -1 would trap
}

static int64_t remainder_of(int64_t a, int64_t b, bool is_unsigned) {
  if (b == 0)
    return 0;
  if (is_unsigned)
    return (int64_t)((uint64_t)a % (uint64_t)b);
  return b == -1 ? 0 : a % b;
}

// Exponentiation by squaring; a negative exponent leaves an integer only for the bases 1 and -1.
static int64_t power(int64_t a, int64_t b) {
  if (b < 0)
    return a == 1 ? 1 : a == -1 ? (b % 2 ? -1 : 1) : 0;
  uint64_t result = 1, base = (uint64_t)a;
  for (uint64_t e = (uint64_t)b; e; e >>= 1) {
    if (e & 1)
      result *= base;
    base *= base;
  }
  return (int64_t)result;
}

typedef int64_t int_fn(int64_t a, int64_t b, int64_t c, bool is_unsigned);

// NONE in the list of operations names nothing over integers; here it gives 0 and expr_has_integers keeps it from
// being reached.
#define NONE 0
#define EXPR_INT_FUNCTION(name, spelling, arity, error, value, integer)                                                \
  static int64_t int_##name(int64_t a, int64_t b, int64_t c, bool is_unsigned) {                                       \
    (void)a, (void)b, (void)c, (void)is_unsigned;                                                                      \
    return (integer);                                                                                                  \
  }
EXPR_OPERATIONS(EXPR_INT_FUNCTION)

static int_fn *const functions[] = {
#define EXPR_INT_ROW(name, ...) int_##name,
    EXPR_OPERATIONS(EXPR_INT_ROW)
#undef EXPR_INT_ROW
};

static bool has_integers(enum expr_operation op) {
  static const char *const values[] = {
#define EXPR_INT_TEXT(name, spelling, arity, error, value, integer) #integer,
      EXPR_OPERATIONS(EXPR_INT_TEXT)
#undef EXPR_INT_TEXT
  };
  return values[op][0] != 'N';
}

bool expr_has_integers(const struct expr *e) {
  for (int i = 0; i < e->n_instructions; i++)
    if (!has_integers((enum expr_operation)e->code[i].operation))
      return false;
  for (int i = 0; i < e->n_constants; i++)
    if (e->constants[i] != rint(e->constants[i]) || fabs(e->constants[i]) > 0x1p53)
      return false;
  return true;
}

// One element at a time: integer tensors are small (indices, masks, shapes), so clarity wins over speed.
static int64_t eval_one(const struct expr *e, bool is_unsigned, const int64_t *inputs, const double *params) {
  int64_t temporaries[EXPR_MAX_TEMPORARIES] = {0};
  int64_t value[3] = {0};
  for (int i = 0; i <= e->n_instructions; i++) {
    bool last = i == e->n_instructions;
    int arity = last ? 1 : expr_arity((enum expr_operation)e->code[i].operation);
    for (int k = 0; k < arity; k++) {
      struct operand o = last ? e->result : e->code[i].from[k];
      value[k] = o.kind == OPERAND_INPUT       ? inputs[o.index]
                 : o.kind == OPERAND_TEMPORARY ? temporaries[o.index]
                 : o.kind == OPERAND_CONSTANT  ? (int64_t)e->constants[o.index]
                                               : (int64_t)params[o.index];
    }
    if (!last)
      temporaries[e->code[i].target] = functions[e->code[i].operation](value[0], value[1], value[2], is_unsigned);
  }
  return value[0];
}

void expr_eval_int(const struct expr *e, bool is_unsigned, const struct expr_int_block *b, int64_t *out) {
  for (int i = 0; i < b->n; i++) {
    int64_t inputs[3];
    for (int k = 0; k < 3; k++)
      inputs[k] = b->in[k] ? b->in[k][i] : 0;
    out[i] = eval_one(e, is_unsigned, inputs, b->params);
  }
}
