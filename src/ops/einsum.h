// SPDX-License-Identifier: Apache-2.0
// Einsum: parsing, shape rule and evaluation. Its row stands with the other contractions (contraction.c). What an
// equation means, as a plan of products, is for every device's evaluator.
#ifndef OPS_EINSUM_H
#define OPS_EINSUM_H

#include "ops/op.h"

op_infer_fn einsum_infer;
op_eval_fn einsum_eval;
op_cost_fn einsum_cost;
op_contracted_fn einsum_contracted; // of two operands without ellipses

enum {
  EINSUM_LETTERS = 52,
  // Behind the letters: the dimensions an ellipsis stands for, right-aligned.
  EINSUM_LABELS = EINSUM_LETTERS + SHAPE_MAX_RANK,
  EINSUM_OPERANDS = 16,
};

// One operand, or an intermediate result: how far apart neighbours along each label are.
struct einsum_view {
  const double *f64;
  const int64_t *i64;
  uint64_t labels;               // bit l: has label l
  int64_t stride[EINSUM_LABELS]; // 0 for labels it does not have or broadcasts
};

struct einsum_plan {
  int n_in, n_out;
  int64_t extent[EINSUM_LABELS];
  struct einsum_view in[EINSUM_OPERANDS];
  int out[SHAPE_MAX_RANK]; // labels of the output, in order
  uint64_t out_labels;
};
enum assay_status einsum_plan_make(const struct op_infer *c, struct einsum_plan *p, struct assay_error *err);

// Labels needed once operands 0..i are combined: the output's and those of operands to come.
uint64_t einsum_needed_after(const struct einsum_plan *p, int i);

// A list of labels as one index, row-major.
struct einsum_group {
  int n, label[EINSUM_LABELS];
  int64_t count;
};
void einsum_group_add(const struct einsum_plan *p, struct einsum_group *g, int label); // not where its extent is 1

// How two views combine: labels of both that stay, of the left one, of the right one, and those that are summed over.
struct einsum_split {
  struct einsum_group batch, m, n, k;
};
void einsum_split_labels(const struct einsum_plan *p, const struct einsum_view *a, const struct einsum_view *b,
                         uint64_t keep, struct einsum_split *s);

// The strides of a dense result [batch][m][n], its number of elements, and whether that is the output's own layout.
int64_t einsum_lay_out(const struct einsum_plan *p, const struct einsum_split *s, struct einsum_view *out,
                       bool *is_output);

#endif
