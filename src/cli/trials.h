// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: what the trials of tuners come to, as text and as JSON.
#ifndef CLI_TRIALS_H
#define CLI_TRIALS_H

#include <jansson.h>
#include <stdio.h>

#include "base/arena.h"
#include "store/trial.h"
#include "tune/curve.h"

// The trials of one run, task, workload, device and maker.
struct trials_group {
  const char *run, *task, *workload, *device, *maker;
  int64_t n, tried; // tried: more than n where the log says no more of some
  bool whole;       // it says what the whole took, so that places in the order mean nothing
  size_t capacity, capacity_names;
  struct tune_trial *trials;
  const char **names; // of the configurations
};

// How near to the best: 10, 5 and 2 per cent.
enum { TRIALS_PARTS = 3 };
extern const double trials_parts[TRIALS_PARTS];

struct trials {
  struct arena arena;
  size_t n, capacity;
  struct trials_group *groups;
  bool failed;
};

// Seconds of processors or of the GPU; null where no log said any.
json_t *trials_seconds(double seconds);

// Everything that the store has. arena_release(&all->arena) in any case.
enum assay_status trials_gather(struct store *s, struct trials *all, struct assay_error *err);

// What many runs of a maker come to: a row for each maker, device and task, of the groups of a run (NULL: of all), with
// how many launches pay for the tuning next to `baseline`, a maker (NULL: none). trials_summary.c
void trials_summary_print(const struct trials *all, const char *run, const char *baseline, FILE *to);
// Of tables of times, which cost no seconds: how fast each maker is next to the baseline.
json_t *trials_speeds_json(const struct trials *all, const char *run, const char *baseline);
json_t *trials_summary_json(const struct trials *all, const char *run, const char *baseline);

// The curves of a run (NULL: of all): for each task, workload, device and maker the best so far, and what it cost; T10,
// T5 and T2 next to the least time of the same task, workload and device in the store, trials and judgements.
void cli_trials_print(struct store *s, const struct trials *all, const char *run, FILE *to);
json_t *cli_trials_json(struct store *s, const struct trials *all, const char *run);

#endif
