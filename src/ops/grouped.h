// SPDX-License-Identifier: Apache-2.0
// Products of groups of rows, each with a matrix of its own; the oracle's evaluators on every device start from it.
#ifndef OPS_GROUPED_H
#define OPS_GROUPED_H

#include <stdint.h>

// The inputs.
enum { GROUPED_X, GROUPED_W, GROUPED_ENDS };

// Rows [begin, end) of group `g`: from the end of the group before to ends[g], within `rows`. An end before the one of
// the group before makes an empty group.
struct grouped_rows {
  int64_t begin, end;
};
struct grouped_rows grouped_rows_of(const int64_t *ends, int64_t group, int64_t rows, int64_t begin);

#endif
