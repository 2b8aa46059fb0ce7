// SPDX-License-Identifier: Apache-2.0
// Operators that honest implementations in half precision carry out in several steps, each of which rounds.
#ifndef TASK_STEPS_H
#define TASK_STEPS_H

#include "graph/graph.h"

// Of a model that has been read and whose contract stores values in half precision: makes `steps`, whose flat graph
// computes the same with these operators written out (its inputs and outputs are the model's, in their order), so that
// what goes from one step to the next may be rounded. steps->flat.n_nodes is 0 where there is no such operator. `steps`
// borrows from the model; model_release.
enum assay_status steps_make(const struct model *m, struct model *steps, struct assay_error *err);

#endif
