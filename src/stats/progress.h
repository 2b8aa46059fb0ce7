// SPDX-License-Identifier: Apache-2.0
// What attempts cost until they were good enough. Pure functions of numbers, as stats.h.
#ifndef STATS_PROGRESS_H
#define STATS_PROGRESS_H

#include <stdbool.h>

// What progress is held against: X(ID, name in JSON).
#define PROGRESS_AXES_LIST(X)                                                                                          \
  X(REQUESTS, "requests") /* all that a method asked */                                                                \
  X(CALLS, "calls")       /* with those that were sent again */                                                        \
  X(TOKENS, "tokens")                                                                                                  \
  X(USD, "usd")                                                                                                        \
  X(WALL, "wall_s") /* of model, judging and Assay, one step after the other */                                        \
  X(CPU, "cpu_s")                                                                                                      \
  X(GPU, "gpu_s")
enum progress_axis {
#define PROGRESS_AXIS_ID(id, name) PROGRESS_##id,
  PROGRESS_AXES_LIST(PROGRESS_AXIS_ID)
#undef PROGRESS_AXIS_ID
      PROGRESS_AXES
};

// A request: its own cost, and the time of its kernel; NaN: it is not right, or has no time. A cost may be NaN:
// unknown.
struct progress_step {
  double cost[PROGRESS_AXES], time_ns;
};

// The best so far: a point for every request whose kernel is faster than all before, with all that was spent until
// then. `out` has room for n. Returns how many.
int stats_progress_curve(const struct progress_step *steps, int n, struct progress_step *out);

// What was spent until the first kernel whose time is at most `target_ns`, or, where there is none, in all. Returns
// whether there is one.
bool stats_cost_to(const struct progress_step *steps, int n, double target_ns, double cost[PROGRESS_AXES]);

// Expected cost of a success when attempts are repeated until there is one (Hansen et al.'s ERT): all that was spent,
// failures included, over the number of successes. NaN without any.
double stats_ert(double spent, int successes);

// The expected highest of k of n speeds drawn without replacement; failures are 0, or what one falls back on. The array
// is put in order. NaN unless 1 <= k <= n, and where a speed is not known (NaN).
double stats_best_speed_of_k(double *speeds, int n, int k);

#endif
