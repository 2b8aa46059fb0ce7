// SPDX-License-Identifier: Apache-2.0
// What the evaluators of attention, here and on a device, have in common.
#ifndef OPS_ATTENTION_H
#define OPS_ATTENTION_H

// Where a pass may round to the storage type inside the operator (arith_stores_inside): after the product of queries
// and keys (which may overflow there), its scale, the soft cap and the mask where there is one of them, the softmax.
enum { ATTENTION_PRODUCT, ATTENTION_SCORES, ATTENTION_MASKED, ATTENTION_WEIGHTS };

#endif
