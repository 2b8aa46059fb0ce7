// SPDX-License-Identifier: Apache-2.0
// What a tuner's trials come to: the best time so far against seconds and configurations, and what that costs. Pure
// functions of plain numbers.
#ifndef TUNE_CURVE_H
#define TUNE_CURVE_H

#include <stdbool.h>
#include <stdint.h>

// One trial, in the order in which they ended. What is not right has no time: it counts as tried, and costs.
struct tune_trial {
  double end_s;        // when it ended, seconds since the tuner began
  double cpu_s, gpu_s; // what it used; 0: unknown
  double time_ns;      // NaN: none, or not right
};

struct tune_cost {
  int64_t tried, timed;
  double wall_s, cpu_s, gpu_s;
  double best_ns; // NaN: none
};
struct tune_cost tune_cost_of(const struct tune_trial *trials, int64_t n);

// When the best so far first came within `part` (0.05) of `known_ns`, the best that anybody has: the index of that
// trial, or -1: not reached. trials[i].end_s is T, i + 1 is C.
int64_t tune_first_within(const struct tune_trial *trials, int64_t n, double known_ns, double part);

// How many launches pay for the tuning: NaN where there is nothing to compare, infinite where it saved nothing.
double tune_break_even(double tuning_s, double baseline_ns, double tuned_ns);

#endif
