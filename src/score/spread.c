// SPDX-License-Identifier: Apache-2.0
#include "score/spread.h"

#include <math.h>
#include <stddef.h>

#include "base/alloc.h"

static const uint64_t SEED = 20261124;
enum { RESAMPLES = 2000 };

// Of n values, none of them NaN.
static struct score_spread spread_of_numbers(const double *x, int n) {
  const struct interval none = {NAN, NAN};
  struct score_spread s = {.n = n, .mean_interval = none, .geomean_interval = none};
  s.mean = n ? stats_mean(x, n) : NAN;
  s.median = stats_median(x, n);
  s.geomean = n ? stats_geomean(x, n) : NAN;
  s.least = stats_quantile(x, n, 0);
  s.most = stats_quantile(x, n, 1);
  for (int i = 0; i < n; i++)
    s.slower += x[i] < 1;
  if (!stats_mean_interval(x, n, 0.95, RESAMPLES, SEED, &s.mean_interval))
    s.mean_interval = none;
  if (!stats_geomean_interval(x, n, &s.geomean_interval))
    s.geomean_interval = none;
  return s;
}

struct score_spread score_spread_of(const double *x, int n) {
  double *kept = base_alloc(((size_t)n + 1) * sizeof *kept);
  int count = 0;
  for (int i = 0; i < n && kept; i++)
    if (!isnan(x[i]))
      kept[count++] = x[i];
  struct score_spread s = spread_of_numbers(kept, count);
  base_free(kept);
  return s;
}

enum which { RESCUED, STAYED_BEFORE, STAYED_AFTER, LOST, ALL_BEFORE, ALL_AFTER };

static double speed_of(const struct score_change *c, enum which which) {
  switch (which) {
  case RESCUED:
    return !c->before && c->after ? c->speed_after : NAN;
  case STAYED_BEFORE:
    return c->before && c->after ? c->speed_before : NAN;
  case STAYED_AFTER:
    return c->before && c->after ? c->speed_after : NAN;
  case LOST:
    return c->before && !c->after ? c->speed_before : NAN;
  case ALL_BEFORE:
    return c->before ? c->speed_before : NAN;
  case ALL_AFTER:
    return c->after ? c->speed_after : NAN;
  }
  return NAN;
}

bool score_transitions_of(const struct score_change *changes, int n, struct score_transitions *out) {
  struct score_transitions t = {.n = n};
  struct score_spread *const spreads[] = {
      &t.rescued_speed, &t.persistent_before, &t.persistent_after, &t.lost_speed, &t.before, &t.after};
  double *speeds = base_alloc(((size_t)n + 1) * sizeof *speeds);
  if (!speeds)
    return false;
  for (int i = 0; i < n; i++) {
    t.rescued += !changes[i].before && changes[i].after;
    t.persistent += changes[i].before && changes[i].after;
    t.lost += changes[i].before && !changes[i].after;
    t.failing += !changes[i].before && !changes[i].after;
  }
  for (int which = RESCUED; which <= ALL_AFTER; which++) {
    for (int i = 0; i < n; i++)
      speeds[i] = speed_of(&changes[i], (enum which)which);
    *spreads[which] = score_spread_of(speeds, n);
  }
  base_free(speeds);
  *out = t;
  return true;
}
