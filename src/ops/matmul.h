// SPDX-License-Identifier: Apache-2.0
// What the shapes and attributes of matrix products mean; the oracle's evaluators on every device start from it.
#ifndef OPS_MATMUL_H
#define OPS_MATMUL_H

#include "ops/gemm.h"

// A MatMul's operands as batches of matrices (numpy.matmul: a vector counts as a row on the left, a column on the
// right, and that extent of 1 is dropped from the result).
struct matmul {
  struct shape batch; // broadcast
  struct shape a_batch, b_batch;
  int64_t m, k, k_b, n;
  bool a_vector, b_vector;
};
enum assay_status matmul_split(const struct node *node, const struct shape *a, const struct shape *b,
                               struct matmul *out, struct assay_error *err);

// Extents and strides of a Gemm; *k_b: rows of B' as its own shape has them.
void gemm_extents(const struct node *node, const struct shape *a, const struct shape *b, struct gemm *g, int64_t *k_b);

#endif
