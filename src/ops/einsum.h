// Einsum: parsing, shape rule and evaluation. Its row stands with the other contractions (contraction.c).
#ifndef OPS_EINSUM_H
#define OPS_EINSUM_H

#include "ops/op.h"

op_infer_fn einsum_infer;
op_eval_fn einsum_eval;
op_cost_fn einsum_cost;

#endif
