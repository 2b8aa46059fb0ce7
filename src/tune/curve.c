// SPDX-License-Identifier: Apache-2.0
#include "tune/curve.h"

#include <math.h>

struct tune_cost tune_cost_of(const struct tune_trial *trials, int64_t n) {
  struct tune_cost c = {.tried = n, .best_ns = NAN};
  for (int64_t i = 0; i < n; i++) {
    c.wall_s = fmax(c.wall_s, trials[i].end_s);
    c.cpu_s += trials[i].cpu_s;
    c.gpu_s += trials[i].gpu_s;
    c.timed += !isnan(trials[i].time_ns);
    c.best_ns = fmin(c.best_ns, trials[i].time_ns); // fmin takes the number of the two
  }
  return c;
}

int64_t tune_first_within(const struct tune_trial *trials, int64_t n, double known_ns, double part) {
  for (int64_t i = 0; i < n; i++)
    if (trials[i].time_ns <= known_ns * (1 + part)) // false for NaN
      return i;
  return -1;
}

double tune_break_even(double tuning_s, double baseline_ns, double tuned_ns) {
  double saved_s = (baseline_ns - tuned_ns) * 1e-9;
  if (isnan(saved_s) || isnan(tuning_s))
    return NAN;
  return saved_s > 0 ? ceil(tuning_s / saved_s) : INFINITY;
}
