// SPDX-License-Identifier: Apache-2.0
// What a trial came to, as its verdict says. Pure functions.
#ifndef TUNE_OUTCOME_H
#define TUNE_OUTCOME_H

#include "assay/judge.h"
#include "store/trial.h"

// Against what a configuration was timed.
struct tune_limits {
  double give_up_ns;   // timing ended early where every sample was above it; 0: it never does
  double best_high_ns; // upper end of the interval of the best time until then; NaN: unknown
};

// A time above give_up_ns is `slow`. It was compared with one of another moment: where that may be the machine's doing
// (tune_is_doubtful) it is no time, and the trial `failed`, which means that it is tried again.
enum store_trial_status tune_outcome(const struct assay_verdict *v, const struct tune_limits *limits);

// Whether a time that is above give_up_ns says little of the configuration: others had a quarter of the processors
// meanwhile (where the host's work is in a time), or its interval reaches down to that of the best.
bool tune_is_doubtful(const struct assay_verdict *v, const struct tune_limits *limits);

// Whether a `slow` trial was held against a time that is none any more: it took at most a tenth longer than what is now
// the best of the search (NaN: nothing is), and less than it would be given up at today.
bool tune_was_cut_in_vain(const struct store_trial *t, double best_ns, double give_up);

#endif
