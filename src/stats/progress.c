// SPDX-License-Identifier: Apache-2.0
#include "stats/progress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "stats/success.h"

static void add(double sum[PROGRESS_AXES], const struct progress_step *s) {
  for (int i = 0; i < PROGRESS_AXES; i++)
    sum[i] += s->cost[i];
}

int stats_progress_curve(const struct progress_step *steps, int n, struct progress_step *out) {
  double spent[PROGRESS_AXES] = {0}, best = INFINITY;
  int points = 0;
  for (int i = 0; i < n; i++) {
    add(spent, &steps[i]);
    if (!(steps[i].time_ns < best))
      continue;
    best = out[points].time_ns = steps[i].time_ns;
    memcpy(out[points++].cost, spent, sizeof spent);
  }
  return points;
}

bool stats_cost_to(const struct progress_step *steps, int n, double target_ns, double cost[PROGRESS_AXES]) {
  memset(cost, 0, PROGRESS_AXES * sizeof *cost);
  for (int i = 0; i < n; i++) {
    add(cost, &steps[i]);
    if (steps[i].time_ns <= target_ns)
      return true;
  }
  return false;
}

double stats_ert(double spent, int successes) {
  return successes > 0 ? spent / successes : NAN;
}

static int downwards(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x < y) - (x > y);
}

// The highest of speeds is the least of their negatives.
double stats_best_speed_of_k(double *speeds, int n, int k) {
  for (int i = 0; i < n; i++)
    if (isnan(speeds[i])) // it has no place among the others
      return NAN;
  qsort(speeds, (size_t)n, sizeof *speeds, downwards);
  for (int i = 0; i < n; i++)
    speeds[i] = -speeds[i];
  double best = -stats_best_of_k(speeds, n, k);
  for (int i = 0; i < n; i++)
    speeds[i] = -speeds[i];
  return best;
}
