// SPDX-License-Identifier: Apache-2.0
#include "ops/apart.h"

#include "ops/expr.h"
#include "ops/pointwise.h"

static bool is_batch(const struct array *a, int64_t members) {
  return a->shape.rank > 0 && a->shape.dims[0] == members;
}

// An expression is evaluated in blocks of elements. One that only a part of is there has other noise, and there is none
// where blocks end with members.
bool op_apart_each(const struct op_infer *c, const bool *apart, int64_t *halo) {
  const struct shape *y = &c->out[0].shape;
  if (y->rank < 1 || c->n_out > 1)
    return false;
  for (int i = 0; i < c->n_in; i++) {
    if (!op_has(c, i))
      continue;
    bool same_rank = c->in[i]->shape.rank == y->rank, along = same_rank && is_batch(c->in[i], y->dims[0]);
    if (apart[i] ? !along : same_rank && c->in[i]->shape.dims[0] != 1)
      return false;
  }
  int64_t inner = shape_span(y, 1, y->rank);
  *halo = inner == 0 || inner % EXPR_BLOCK == 0 ? 0 : EXPR_BLOCK / inner + 1;
  return true;
}

bool op_apart_first(const struct op_infer *c, const bool *apart, int64_t *halo) {
  (void)halo;
  for (int i = 0; i < c->n_in; i++)
    if (apart[i] != (i == 0))
      return false;
  return c->n_out == 1 && is_batch(&c->out[0], c->in[0]->shape.dims[0]);
}

bool op_apart_along(const struct op_infer *c, const bool *apart, unsigned axes) {
  return !(axes & 1) && op_apart_first(c, apart, NULL);
}

op_apart_fn *op_apart_of(const struct node *n) {
  const struct op_def *op = n->op;
  bool expression = op->expr && (op->eval == pointwise_eval || op->errors.rounding == OP_EXACT);
  return op->apart ? op->apart : expression ? op_apart_each : NULL;
}
