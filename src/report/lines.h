// SPDX-License-Identifier: Apache-2.0
// Verdicts as JSON Lines, to be carried from one store to another or kept with a repository: a first line that says
// what the file is, then one verdict a line. The members are the store's columns; times in nanoseconds, null for what
// is not known, the seed and the date as texts because 64 bits do not fit into JavaScript's numbers.
#ifndef REPORT_LINES_H
#define REPORT_LINES_H

#include "base/buf.h"
#include "store/store.h"

enum { LINES_VERSION = 1, LINES_MOST_BYTES = 1 << 30, LINES_MOST_LINE_BYTES = 16 << 20 };

// Appends the run's verdicts, all or those that stand at each workload (is_compact): those with samples rounded to a
// ten-thousandth of their median, and with texts as they may be published (publish.h); its tuner's trials, each a line
// of its own (lines_trial.h); and what is known of its devices' peaks (lines_peaks.h). *n: how many verdicts.
// ASSAY_ERR_NOT_FOUND: there is no such run; ASSAY_ERR_NOMEM and the store's.
enum assay_status lines_write(struct store *s, const char *run, bool is_compact, struct buf *out, int64_t *n,
                              struct assay_error *err);

// Stores the verdicts of such a text, all or none. *n: how many. ASSAY_ERR_INVALID for a text that is none, with the
// number of the line; ASSAY_ERR_USAGE where the store has a run of a name that occurs in it; the store's.
enum assay_status lines_read(struct store *s, const char *text, size_t len, int64_t *n, struct assay_error *err);

#endif
