// SPDX-License-Identifier: Apache-2.0
// Private to src/cli: `assay compare SUITE --with MAKER,...`. side.c judges, side_print.c prints.
#ifndef CLI_SIDE_H
#define CLI_SIDE_H

#include <jansson.h>

#include "cli/interrupt.h"
#include "cli/maker.h"

enum { SIDE_MOST_MAKERS = 16, SIDE_MOST_SEEDS = 16, SIDE_MOST_SECONDS = 86400 };

// What a maker came to at one shape.
struct side_result {
  bool asked;
  const char *refusal; // why it has no candidate; NULL: it has one
  bool not_judged;     // this machine cannot judge it, or making it was cut off: refusal says why, no letter counts it
  const char *label, *file; // of the candidate
  enum assay_reason reason;
  const char *detail;
  double time_ns, floor_ns; // NaN: none
  double low_ns, high_ns;   // the time's interval
  double called_ns;         // with the host's part of launching; NaN: not known
  double making_s;
  uint64_t seed;             // of its search, where the program itself tunes; 0: 1
  bool making_unknown;       // what the store has is without what the maker printed of it
  const char *device_name;   // "NVIDIA H200, driver 580.95"; NULL or "": not known
  bool unstable, not_ranked; // not_ranked: no GPU's time
};

// One shape, all makers.
struct side_shape {
  const char *task, *workload, *device;
  double flops, bytes; // all that must be computed and moved
  struct side_result results[SIDE_MOST_MAKERS];
  int winner; // index of the fastest right one; -1: none
};

struct side_maker {
  const struct maker *maker;
  const char *argument, *name; // name: as it was given
};

struct side {
  struct cli_judging judging;
  const char *suite, *with, *run;
  bool one_task;                  // the suite is a task
  bool scorecard, retime, stored; // stored: nothing is made or judged, the store's verdicts are read
  int seeds, seconds;             // of the maker tune; 0 seconds: as many as it takes
  struct store *store;
  struct arena arena;
  struct cli_interrupt interrupt;
  int n_makers;
  struct side_maker makers[SIDE_MOST_MAKERS];
  size_t n, capacity;
  struct side_shape *shapes;
  char *folder;
};

// The run of a maker's verdicts.
enum { SIDE_RUN_BYTES = 1024 };
void side_run_of(const struct side *s, int maker, char run[SIDE_RUN_BYTES]);
// The run of what its tuning tried. `seed`: of the search, where the program itself tunes; 0 and 1 are the same one.
void side_tuning_run_of(const struct side *s, int maker, uint64_t seed, char run[SIDE_RUN_BYTES]);

// Fills the maker's result of the shape from a verdict of the store; what its tuner printed becomes trials
// (side_read.c).
enum assay_status side_read(struct side *s, int m, struct side_shape *shape, int64_t id, struct assay_error *err);

// Fills it from the newest verdict that the maker's run has of the shape, on --device if that is given, with the
// seconds that the maker tune spent (side_read.c). Where the store has none it is not judged.
enum assay_status side_read_newest(struct side *s, int m, struct side_shape *shape, struct assay_error *err);

// How fast next to the first maker, over the shapes where both are right; NaN: none.
double side_geomean(const struct side *s, int maker, int *n);
int side_wins(const struct side *s, int maker);

void side_print(const struct side *s);
json_t *side_json(const struct side *s);

// The scorecard (scorecard.c).
void scorecard_print(const struct side *s, FILE *to);
json_t *scorecard_json(const struct side *s);
// What ease is made of besides lines (scorecard_ease.c).
struct scorecard_ease {
  int knobs;           // that its tuner turned; 0: it has none, or none was tried
  int refused, failed; // shapes without a kernel, and with one that is not right
  int trials, failed_trials, untimed_trials;
};
struct scorecard_ease scorecard_ease_of(const struct side *s, int maker);
void scorecard_ease_print(const struct side *s, FILE *to);
json_t *scorecard_ease_json(const struct side *s);
// What the published comparison says of the tasks that are compared (scorecard_published.c).
void scorecard_published_print(const struct side *s, FILE *to);
json_t *scorecard_published_json(const struct side *s);

#endif
