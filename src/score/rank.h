// SPDX-License-Identifier: Apache-2.0
// Ranks as ranges: times whose intervals overlap have no order.
#ifndef SCORE_RANK_H
#define SCORE_RANK_H

#include "base/error.h"
#include "score/row.h"

// The place of a row among those that rank.
struct score_rank {
  enum score_reason why; // SCORE_ELIGIBLE: it has a place
  int first, last;       // 1 + rivals surely faster .. rivals and itself - rivals surely slower; 0: no place
  int order;             // from 0: by time, then by candidate; those without a place follow, as they came
};

// Ranks rows of one task by time, as the question says (its `ask` is taken for SCORE_ASK_TIME). `out` has room for n.
// A rival is surely faster when its interval lies below the row's by more than score_resolution(); a time without an
// interval is its own. The question should fix the setting: rows of another one then say so, and have no place.
// ASSAY_ERR_NOMEM.
enum assay_status score_rank(const struct score_row *const *rows, int n, const struct score_question *q,
                             struct score_rank *out, struct assay_error *err);

#endif
