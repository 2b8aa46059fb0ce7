// SPDX-License-Identifier: Apache-2.0
// Reductions for other families' use: input 0 over chosen dimensions into output 0, whatever its shape says.
#ifndef OPS_REDUCE_H
#define OPS_REDUCE_H

#include "ops/op.h"

struct reduction;
extern const struct reduction reduce_mean, reduce_max, reduce_l1, reduce_l2;

// Whether `centre` has one element for each row of x, 1 where x is reduced.
bool reduce_is_centred(const struct shape *x, const struct shape *centre, unsigned axes);

// The streams of what a sum of squared deviations errs more, and a sum of sums.
#define REDUCE_CENTRE 3
#define REDUCE_NESTED 4

// Whether one accumulator may be for more than the terms of the sum itself.
bool reduce_is_nested(const struct op_nested *nested);

// The dimensions of the innermost sum's terms that a sum of sums over `axes` of its input goes over, and what an error
// of their sum in one accumulator counts in its result: the part that this is of their sum, where means are among them,
// and the root of how many products make a term, since each is added to a sum as large as the terms' and errs as much.
// False where they are not known, are too many for one accumulator, or nothing is left to be summed.
bool reduce_flatten(const struct op_nested *nested, const struct node *node, const struct shape *x, unsigned axes,
                    unsigned *flat, double *part);

// Bit i of `axes`: dimension i of input 0 is reduced. Output 0 has room for one element a row.
enum assay_status reduce_over(struct op_eval *c, const struct reduction *r, unsigned axes, struct assay_error *err);

#endif
