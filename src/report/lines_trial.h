// SPDX-License-Identifier: Apache-2.0
// Private to src/report: a tuner's trials in files of verdicts (lines.h). A line that has the member "trial", which is
// its status, is one; its other members are the columns of a trial (store/trial.h) but for the verdict's number, which
// means something in one store alone.
#ifndef REPORT_LINES_TRIAL_H
#define REPORT_LINES_TRIAL_H

#include <jansson.h>

#include "base/buf.h"
#include "store/trial.h"

enum { LINES_RUN_BYTES = 4096 };

// Writes an object as a line and lets go of it. One with fewer members could not be made, and fails the buffer.
void lines_put(json_t *line, size_t members, struct buf *out);

// Appends the run's trials, with texts as they may be published where it is compact. *n: how many.
enum assay_status lines_write_trials(struct store *s, const char *run, bool is_compact, struct buf *out, int64_t *n,
                                     struct assay_error *err);

bool lines_is_trial(const json_t *object);

// Stores a trial. `run`: that of the trial before, "" at first. ASSAY_ERR_INVALID says what is wrong with it;
// ASSAY_ERR_USAGE: the store has trials of a run of this name.
enum assay_status lines_take_trial(struct store *s, json_t *object, char run[LINES_RUN_BYTES], struct assay_error *err);

#endif
