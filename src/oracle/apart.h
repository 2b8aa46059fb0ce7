// SPDX-License-Identifier: Apache-2.0
// Large batches a few members at a time: whether a graph keeps the members of a batch apart from its inputs to its
// outputs. The first dimension of some inputs is the batch, that of every output must be. A value is apart when its
// first dimension is the batch and no member of it depends on another; an operator that sums, scans, picks or
// normalizes along that dimension ends it (ops/apart.h).
#ifndef ORACLE_APART_H
#define ORACLE_APART_H

#include "oracle/oracle.h"

struct oracle_apart {
  int64_t members;    // of the batch; 0: the graph mixes them, or there is no batch
  const bool *inputs; // for each input of the graph whether its first dimension is the batch
  const bool *values; // for each value
  int64_t halo; // of an answer for some members, so many at either end may have another error scale than among all
};

// values: all shapes, as of oracle_infer. In the arena. Contracts that round to a storage type between operators judge
// an answer as a whole (RUN_LOST in run.h); for those nothing is apart.
enum assay_status oracle_find_apart(const struct graph *g, const struct array *values, const struct arith *contract,
                                    struct arena *arena, struct oracle_apart *out, struct assay_error *err);

#endif
