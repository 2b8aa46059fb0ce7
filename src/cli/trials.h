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

struct trials {
  struct arena arena;
  size_t n, capacity;
  struct trials_group *groups;
  bool failed;
};

// Everything that the store has. False and a message on stderr: it could not be read. arena_release(&all->arena) in any
// case.
bool trials_gather(struct store *s, struct trials *all);
// The best that the store has of the group's task, workload and device: of all runs' trials and verdicts. NaN: none.
double trials_known(struct store *s, const struct trials *all, const struct trials_group *g);

// What many runs of a maker come to: a row for each maker, device and task, of the groups of a run (NULL: of all), with
// how many launches pay for the tuning next to `baseline`, a maker (NULL: none). trials_summary.c
void trials_summary_print(const struct trials *all, const char *run, const char *baseline, FILE *to);
// Of tables of times, which cost no seconds: how fast each maker is next to the baseline.
json_t *trials_speeds_json(const struct trials *all, const char *run, const char *baseline);
json_t *trials_summary_json(const struct trials *all, const char *run, const char *baseline);

// The curves of a run (NULL: of all): for each task, workload, device and maker the best so far, and what it cost.
// known_ns: the best that anybody has, for T10, T5 and T2; NaN: the least time of the same task, workload and device in
// the store, trials and judgements.
void cli_trials_print(struct store *s, const char *run, double known_ns, FILE *to);
json_t *cli_trials_json(struct store *s, const char *run, double known_ns);

#endif
