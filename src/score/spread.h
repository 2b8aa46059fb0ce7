// SPDX-License-Identifier: Apache-2.0
// A handful of speeds, as they should be told: a mean of few never without what stands behind it.
#ifndef SCORE_SPREAD_H
#define SCORE_SPREAD_H

#include "stats/stats.h"

// All are NaN where n does not suffice: one value for the averages, five for the interval of the mean (a bootstrap over
// values, seeded: the same values, the same interval), three positive ones for that of the geometric mean.
struct score_spread {
  int n, slower; // slower: values below 1, strictly
  double mean, median, geomean, least, most;
  struct interval mean_interval, geomean_interval; // 95 %
};

// x: speeds, or other ratios; those that are NaN are left out.
struct score_spread score_spread_of(const double *x, int n);

// Two rounds of one method on the same tasks, or any two that are before and after.
struct score_change {
  bool before, after;               // right then
  double speed_before, speed_after; // baseline over time; NaN: none
};

// What became of the tasks: rescued (wrong, then right), persistent (right in both), lost, and failing. Speeds are of
// those that are right and have one; `before` and `after`: of all that were right then.
struct score_transitions {
  int n, rescued, persistent, lost, failing;
  struct score_spread rescued_speed, persistent_before, persistent_after, lost_speed, before, after;
};

// False: no memory.
bool score_transitions_of(const struct score_change *changes, int n, struct score_transitions *out);

#endif
