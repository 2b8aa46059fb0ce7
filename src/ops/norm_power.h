// SPDX-License-Identifier: Apache-2.0
// LpNormalization and LRN: division by a norm, not by a deviation. Their rows stand with the others (norm.c).
#ifndef OPS_NORM_POWER_H
#define OPS_NORM_POWER_H

#include "ops/op.h"

op_infer_fn lp_normalization_infer, lrn_infer;
op_eval_fn lp_normalization_eval, lrn_eval;
op_cost_fn lp_normalization_cost, lrn_cost;
op_apart_fn lp_normalization_apart;

#endif
