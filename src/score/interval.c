// SPDX-License-Identifier: Apache-2.0
// Intervals over tasks, and quartiles.
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"
#include "score/summary.h"

enum { RESAMPLES = 2000, LEAST = 5, SEED = 20261123 };
static const struct interval NO_INTERVAL = {NAN, NAN};
static const double TAIL = 0.025;

// The least k whose cumulative probability among n tries of share p is at least q. (A resample of n tasks with share p
// has Binomial(n, p) successes.)
static int binomial_quantile(int n, double p, double q) {
  double sum = 0, above = log(p), below = log1p(-p);
  for (int k = 0; k < n; k++) {
    sum += exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0) + k * above + (n - k) * below);
    if (sum >= q)
      return k;
  }
  return n;
}

struct interval score_share_interval(int k, int n) {
  if (n < 1 || k < 0 || k > n)
    return NO_INTERVAL;
  double edge = 1 - pow(TAIL, 1.0 / n); // a share this large is 0 of n in 2.5 % of all cases
  if (k == 0)
    return (struct interval){0, edge};
  if (k == n)
    return (struct interval){1 - edge, 1};
  double share = (double)k / n;
  return (struct interval){(double)binomial_quantile(n, share, TAIL) / n,
                           (double)binomial_quantile(n, share, 1 - TAIL) / n};
}

struct interval score_geomean_interval(const double *x, int n) {
  struct interval out = NO_INTERVAL;
  double *logs = n >= LEAST ? base_calloc((size_t)n + RESAMPLES, sizeof *logs) : NULL, *means = logs ? logs + n : NULL;
  bool ok = logs != NULL;
  for (int i = 0; i < n && ok; i++) {
    ok = x[i] > 0 && isfinite(x[i]);
    logs[i] = ok ? log(x[i]) : 0;
  }
  for (int r = 0; r < RESAMPLES && ok; r++) {
    double sum = 0;
    for (int i = 0; i < n; i++)
      sum += logs[(int)(rng_unit(rng_mix64(SEED + (uint64_t)r * (uint64_t)n + (uint64_t)i)) * n)];
    means[r] = sum / n;
  }
  if (ok)
    out =
        (struct interval){exp(stats_quantile(means, RESAMPLES, TAIL)), exp(stats_quantile(means, RESAMPLES, 1 - TAIL))};
  base_free(logs);
  return out;
}

struct score_quartiles score_quartiles(const double *x, int n) {
  struct score_quartiles out = {.q = {NAN, NAN, NAN}};
  double *known = base_calloc((size_t)n + 1, sizeof *known);
  for (int i = 0; i < n && known; i++)
    if (!isnan(x[i]))
      known[out.n++] = x[i];
  for (int i = 0; i < 3 && known; i++)
    out.q[i] = stats_quantile(known, out.n, 0.25 * (i + 1));
  base_free(known);
  return out;
}
