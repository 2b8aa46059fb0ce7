// SPDX-License-Identifier: Apache-2.0
// One kernel, judged in several runs: the newest verdict is the one that ranks.
#ifndef SCORE_NEWEST_H
#define SCORE_NEWEST_H

#include "base/error.h"
#include "score/row.h"

// The name of a candidate's file, without its folder and with the macro of a twin (whose slashes are none of a path).
const char *score_file_of(const char *candidate);

// Whether two rows, of one task and setting, are verdicts of one kernel: of one file (by its path in a repository: a
// name without a folder says too little, and so does a path from the root), or of one text under one name. What a
// method made is never another's: each run of it is a draw of its own.
bool score_same_kernel(const struct score_row *a, const struct score_row *b);

// Sets `replaced` in rows of one task and setting: another run has a newer verdict of the same kernel, right or wrong.
// One that is right and cannot rank (no time, a given seed, the judged shape alone) takes no ranked verdict's place.
// ASSAY_ERR_NOMEM.
enum assay_status score_mark_replaced(struct score_row *const *rows, int n, struct assay_error *err);

#endif
