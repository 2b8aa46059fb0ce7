// SPDX-License-Identifier: Apache-2.0
// Rows by what they have in common.
#ifndef SCORE_GROUP_H
#define SCORE_GROUP_H

#include "base/error.h"
#include "score/row.h"

// X(ID, code, field of struct score_row)
#define SCORE_GROUPINGS(X)                                                                                             \
  X(SUITE, "suite", suite)                                                                                             \
  X(LEVEL, "level", level)                                                                                             \
  X(CATEGORY, "category", category)                                                                                    \
  X(OPERATOR_KIND, "operator_kind", operator_kind)                                                                     \
  X(DEVICE, "device", setting.device)                                                                                  \
  X(METHOD, "method", method)                                                                                          \
  X(TASK, "task", task)
enum score_by {
#define SCORE_BY_ID(id, code, field) SCORE_BY_##id,
  SCORE_GROUPINGS(SCORE_BY_ID)
#undef SCORE_BY_ID
      SCORE_N_BY
};
const char *score_by_code(enum score_by by);
const char *score_key(const struct score_row *row, enum score_by by); // "": the row does not say

// Rows of the same key: `rows` points into the array that was sorted.
struct score_group {
  const char *key; // borrowed from a row
  const struct score_row **rows;
  int n;
};

// Sorts `rows` by the key (score_by_name), then by task, candidate and id, and gives the groups. *out: heap array
// (base_free). ASSAY_ERR_NOMEM.
enum assay_status score_group(const struct score_row **rows, int n, enum score_by by, struct score_group **out,
                              int *count, struct assay_error *err);

// The same by setting: rows that may be ranked together (score_same_setting()). The key is the task's level.
// Rows
// that do not know all of their setting (a candidate that did not build has met no device) stand with the only group
// that they may belong to, where there is one.
enum assay_status score_group_settings(const struct score_row **rows, int n, struct score_group **out, int *count,
                                       struct assay_error *err);

#endif
