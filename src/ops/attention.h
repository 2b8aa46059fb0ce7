// SPDX-License-Identifier: Apache-2.0
// What the evaluators of attention, here and on a device, have in common.
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

#include <math.h>

// Where a pass may round to the storage type inside the operator (arith_stores_inside): after the product of queries
// and keys (which may overflow there), its scale, the soft cap and the mask where there is one of them, the softmax;
// and queries and keys that are scaled before their product.
enum { ATTENTION_PRODUCT, ATTENTION_SCORES, ATTENTION_MASKED, ATTENTION_WEIGHTS, ATTENTION_QUERIES, ATTENTION_KEYS };

// What each of queries and keys is multiplied with, where both are scaled.
static inline double attention_half_scale(double scale) {
  double root = sqrt(fabs(scale));
  return root > 0 && isfinite(root) ? root : 1;
}

#endif
