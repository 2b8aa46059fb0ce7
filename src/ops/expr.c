// SPDX-License-Identifier: Apache-2.0
// Runs expressions a block at a time: each instruction is one tight loop; in a contract pass a second loop over the
// block, still in the first-level cache, adds the operation's error.
#include "ops/expr.h"

#include <math.h>
#include <string.h>

#include "ops/expr_program.h"
#include "ops/rounding.h"
#include "ops/special.h"

int expr_arity(enum expr_operation op) {
  static const uint8_t arity[] = {
#define EXPR_ARITY(name, spelling, n, ...) n,
      EXPR_OPERATIONS(EXPR_ARITY)
#undef EXPR_ARITY
  };
  return arity[op];
}

const char *expr_spelling(enum expr_operation op) {
  static const char *const spelling[] = {
#define EXPR_SPELLING(name, text, ...) text,
      EXPR_OPERATIONS(EXPR_SPELLING)
#undef EXPR_SPELLING
  };
  return spelling[op];
}

int expr_flops(const struct expr *e) {
  int count = 0;
  for (int i = 0; i < e->n_instructions; i++)
    count += e->code[i].guard == 0 || e->code[i].guard_if_zero; // of two forms, the one by default
  return count;
}

// A place that operands are read from. The mask makes one loop serve arrays (all ones) and single values (zero).
struct source {
  const double *p;
  size_t mask;
};

typedef void block_fn(const struct source *from, int n, double *out);

#define EXPR_BLOCK_LOOP(name, spelling, arity, error, value, ...)                                                      \
  static void block_##name(const struct source *from, int n, double *out) {                                            \
    const double *pa = from[0].p, *pb = from[1].p, *pc = from[2].p;                                                    \
    size_t ma = from[0].mask, mb = from[1].mask, mc = from[2].mask;                                                    \
    for (size_t i = 0; i < (size_t)n; i++) {                                                                           \
      double a = pa[i & ma], b = (arity) > 1 ? pb[i & mb] : 0, c = (arity) > 2 ? pc[i & mc] : 0;                       \
      (void)b, (void)c;                                                                                                \
      out[i] = (value);                                                                                                \
    }                                                                                                                  \
  }
EXPR_OPERATIONS(EXPR_BLOCK_LOOP)

struct operation_row {
  block_fn *run;
  enum expr_error error;
};

static const struct operation_row operations[] = {
#define EXPR_ROW(name, spelling, arity, error, ...) {block_##name, EXPR_##error},
    EXPR_OPERATIONS(EXPR_ROW)
#undef EXPR_ROW
};

static void bound_block(int n, double *v) {
  for (int i = 0; i < n; i++)
    v[i] = arith_reflect(v[i]);
}

static void add_error(enum expr_error error, const struct arith *a, struct noise *noise, int n, double *v) {
  if (error == EXPR_ROUNDED) {
    rounding_run(a, noise, (struct rounding_turns){1, 0}, n, v);
    noise_skip(noise, n);
  } else if (error == EXPR_POWER) {
    rounding_power(a, noise, n, v);
  } else if (error != EXPR_EXACT) {
    rounding_ulps(a, noise, ARITH_LIBRARY_ULPS, n, v);
    if (error == EXPR_BOUNDED)
      bound_block(n, v);
  }
}

static struct source resolve(struct operand o, const double *const *inputs, double (*temporaries)[EXPR_BLOCK],
                             const double *constants, const double *params) {
  switch ((enum operand_kind)o.kind) {
  case OPERAND_INPUT:
    return (struct source){inputs[o.index], SIZE_MAX};
  case OPERAND_TEMPORARY:
    return (struct source){temporaries[o.index], SIZE_MAX};
  case OPERAND_CONSTANT:
    return (struct source){&constants[o.index], 0};
  case OPERAND_PARAM:
    break;
  }
  return (struct source){&params[o.index], 0};
}

static void copy_block(struct source from, int n, double *out) {
  for (size_t i = 0; i < (size_t)n; i++)
    out[i] = from.p[i & from.mask];
}

void expr_eval(const struct expr *e, const struct arith *a, struct noise *noise, const struct expr_block *b,
               double *out) {
  double temporaries[EXPR_MAX_TEMPORARIES][EXPR_BLOCK];
  double rounded[EXPR_MAX_CONSTANTS + EXPR_MAX_PARAMS];
  const double *constants = e->constants, *params = b->params;
  if (!a->exact) {
    // A contract's implementation has its constants and attributes in the contract's format.
    const struct rounder r = arith_rounder(a);
    for (int i = 0; i < e->n_constants; i++)
      rounded[i] = rounder_nearest(&r, e->constants[i]);
    for (int i = 0; i < e->n_params; i++)
      rounded[EXPR_MAX_CONSTANTS + i] = rounder_nearest(&r, params[i]);
    constants = rounded;
    params = &rounded[EXPR_MAX_CONSTANTS];
  }
  if (e->n_instructions == 0) {
    copy_block(resolve(e->result, b->in, temporaries, constants, params), b->n, out);
    return;
  }
  for (int i = 0; i < e->n_instructions; i++) {
    const struct instruction *in = &e->code[i];
    if (in->guard && (params[in->guard - 1] != 0) == in->guard_if_zero)
      continue;
    struct source from[3] = {{0}};
    for (int k = 0; k < expr_arity((enum expr_operation)in->operation); k++)
      from[k] = resolve(in->from[k], b->in, temporaries, constants, params);
    double *target = i + 1 == e->n_instructions ? out : temporaries[in->target];
    operations[in->operation].run(from, b->n, target);
    if (!a->exact)
      add_error(operations[in->operation].error, a, noise, b->n, target);
  }
}
