// SPDX-License-Identifier: Apache-2.0
#include "stats/stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

enum { MIN_FOR_INTERVAL = 5, STOP_RESAMPLES = 500 };
static const double STOP_CONFIDENCE = 0.95;

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// A sorted copy, or NULL: no samples, no memory, or a NaN among them (which cannot be sorted).
static double *sorted_copy(const double *x, int n) {
  if (n < 1)
    return NULL;
  for (int i = 0; i < n; i++)
    if (isnan(x[i]))
      return NULL;
  double *s = base_alloc((size_t)n * sizeof *s);
  if (!s)
    return NULL;
  memcpy(s, x, (size_t)n * sizeof *s);
  qsort(s, (size_t)n, sizeof *s, by_value);
  return s;
}

// Type 7: the value at position (n - 1) q between order statistics.
static double sorted_quantile(const double *s, int n, double q) {
  double position = q * (n - 1);
  int below = (int)floor(position);
  if (below >= n - 1)
    return s[n - 1];
  double part = position - below;
  // Equal neighbours first: infinities have no difference to interpolate over.
  return part == 0 || s[below] == s[below + 1] ? s[below] : s[below] + part * (s[below + 1] - s[below]);
}

double stats_quantile(const double *x, int n, double q) {
  if (!(q >= 0 && q <= 1))
    return NAN;
  double *s = sorted_copy(x, n);
  if (!s)
    return NAN;
  double r = sorted_quantile(s, n, q);
  base_free(s);
  return r;
}

double stats_median(const double *x, int n) {
  return stats_quantile(x, n, 0.5);
}

double stats_mean(const double *x, int n) {
  if (n < 1)
    return NAN;
  double sum = 0;
  for (int i = 0; i < n; i++)
    sum += x[i];
  return sum / n;
}

// Welford's update: sums of squares of nanoseconds would cancel.
double stats_stdev(const double *x, int n) {
  if (n < 2)
    return NAN;
  double mean = 0, m2 = 0;
  for (int i = 0; i < n; i++) {
    double delta = x[i] - mean;
    mean += delta / (i + 1);
    m2 += delta * (x[i] - mean);
  }
  return sqrt(m2 / (n - 1));
}

double stats_geomean(const double *x, int n) {
  if (n < 1)
    return NAN;
  double sum = 0;
  for (int i = 0; i < n; i++) {
    if (!(x[i] > 0))
      return NAN;
    sum += log(x[i]);
  }
  return exp(sum / n);
}

static double next_unit(uint64_t *state) {
  return rng_unit(rng_mix64(*state += 0x9E3779B97F4A7C15u));
}

static double next_normal(uint64_t *state) {
  double u = 1 - next_unit(state);
  return sqrt(-2 * log(u)) * cos(6.283185307179586477 * next_unit(state));
}

// A gamma deviate of shape a >= 1 (Marsaglia & Tsang 2000).
static double next_gamma(uint64_t *state, double a) {
  double d = a - 1.0 / 3, c = 1 / sqrt(9 * d);
  for (;;) {
    double x = next_normal(state), v = 1 + c * x;
    if (v <= 0)
      continue;
    v = v * v * v;
    if (log(1 - next_unit(state)) < 0.5 * x * x + d - d * v + d * log(v))
      return d * v;
  }
}

// The median of n draws with replacement from sorted s, without drawing them: the r-th smallest of n uniforms is
// Beta(r, n + 1 - r), a draw is s[floor(n u)], and the next larger uniform is the least of n - r on what is left.
static double resampled_median(const double *s, int n, uint64_t *state) {
  int r = (n + 1) / 2;
  double a = next_gamma(state, r), b = next_gamma(state, n + 1 - r);
  double u = a / (a + b);
  int low = (int)(u * n);
  low = low < n ? low : n - 1;
  if (n % 2)
    return s[low];
  double above = 1 - (1 - u) * pow(1 - next_unit(state), 1.0 / (n - r));
  int high = (int)(above * n);
  high = high < n ? high : n - 1;
  return s[low] + (s[high] - s[low]) / 2;
}

// Medians of resamples, unsorted; false when n < 5 or memory fails.
static bool resample(const struct stats_samples *from, int resamples, uint64_t *state, double *medians) {
  double *s = from->n >= MIN_FOR_INTERVAL ? sorted_copy(from->x, from->n) : NULL;
  for (int i = 0; s && i < resamples; i++)
    medians[i] = resampled_median(s, from->n, state) - from->less;
  base_free(s);
  return s != NULL;
}

static struct interval middle_of(double *values, int n, double confidence) {
  qsort(values, (size_t)n, sizeof *values, by_value);
  return (struct interval){sorted_quantile(values, n, (1 - confidence) / 2),
                           sorted_quantile(values, n, (1 + confidence) / 2)};
}

bool stats_ratio_interval(const struct stats_samples *above, const struct stats_samples *below, int resamples,
                          uint64_t seed, struct interval *out) {
  uint64_t state = rng_mix64(seed);
  double *a = base_calloc((size_t)resamples + 1, sizeof *a), *b = base_calloc((size_t)resamples + 1, sizeof *b);
  bool ok = a && b && resamples > 0 && resample(above, resamples, &state, a) && resample(below, resamples, &state, b);
  for (int i = 0; i < resamples && ok; i++) {
    ok = a[i] > 0 && b[i] > 0;
    a[i] /= b[i];
  }
  if (ok)
    *out = middle_of(a, resamples, 0.95);
  base_free(a);
  base_free(b);
  return ok;
}

// The upper 2.5 % point of Student's t: Cornish and Fisher's expansion, within 0.2 % from five degrees of freedom on,
// and the table below that.
static double t_point(int freedom) {
  static const double few[] = {12.7062, 4.30265, 3.18245, 2.77645};
  if (freedom <= (int)(sizeof few / sizeof *few))
    return few[freedom - 1];
  double z = 1.959964, n = freedom, z3 = z * z * z, z5 = z3 * z * z, z7 = z5 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n) +
         (3 * z7 + 19 * z5 + 17 * z3 - 15 * z) / (384 * n * n * n);
}

bool stats_geomean_interval(const double *x, int n, struct interval *out) {
  enum { LEAST = 3 };
  double *logs = n >= LEAST ? base_calloc((size_t)n, sizeof *logs) : NULL;
  bool ok = logs != NULL;
  for (int i = 0; i < n && ok; i++) {
    ok = x[i] > 0;
    logs[i] = log(x[i]);
  }
  if (ok) {
    double mean = stats_mean(logs, n), half = t_point(n - 1) * stats_stdev(logs, n) / sqrt(n);
    *out = (struct interval){exp(mean - half), exp(mean + half)};
  }
  base_free(logs);
  return ok;
}

// Through logarithms of factorials, so that hundreds of tasks do not overflow.
double stats_sign_test(int a, int b) {
  int n = a + b, fewer = a < b ? a : b;
  double p = 0;
  for (int i = 0; i <= fewer; i++)
    p += exp(lgamma(n + 1.0) - lgamma(i + 1.0) - lgamma(n - i + 1.0) - n * log(2));
  return fmin(1, 2 * p);
}

static double resampled_mean(const double *x, int n, uint64_t *state) {
  double sum = 0;
  for (int i = 0; i < n; i++) {
    int at = (int)(next_unit(state) * n);
    sum += x[at < n ? at : n - 1];
  }
  return sum / n;
}

// `draw`: the statistic of one resample of x, which is sorted.
static bool bootstrap(const double *x, int n, double confidence, int resamples, uint64_t seed,
                      double (*draw)(const double *x, int n, uint64_t *state), struct interval *out) {
  bool ok = false;
  double *s = NULL, *drawn = NULL;
  if (n < MIN_FOR_INTERVAL || resamples < 1 || !(confidence > 0 && confidence < 1))
    return false;
  s = sorted_copy(x, n);
  drawn = base_alloc((size_t)resamples * sizeof *drawn);
  if (!s || !drawn)
    goto out;
  uint64_t state = rng_mix64(seed);
  for (int i = 0; i < resamples; i++)
    drawn[i] = draw(s, n, &state);
  *out = middle_of(drawn, resamples, confidence);
  ok = true;
out:
  base_free(s);
  base_free(drawn);
  return ok;
}

bool stats_median_interval(const double *x, int n, double confidence, int resamples, uint64_t seed,
                           struct interval *out) {
  return bootstrap(x, n, confidence, resamples, seed, resampled_median, out);
}

bool stats_mean_interval(const double *x, int n, double confidence, int resamples, uint64_t seed,
                         struct interval *out) {
  return bootstrap(x, n, confidence, resamples, seed, resampled_mean, out);
}

const char *stop_name(enum stop s) {
  switch (s) {
  case STOP_CONTINUE:
    return "continue";
  case STOP_PRECISE:
    return "precise";
  case STOP_SAMPLES:
    return "samples";
  case STOP_TIME:
    return "time";
  case STOP_SLOW:
    return "slow";
  }
  return "unknown";
}

enum stop stats_stop(const struct stopping_rule *r, const double *x, int n, int64_t spent_ns, uint64_t seed) {
  struct interval ci;
  if (n >= r->min_samples && stats_median_interval(x, n, STOP_CONFIDENCE, STOP_RESAMPLES, seed, &ci) &&
      ci.high - ci.low <= fmax(r->width, r->relative_width * fabs(stats_median(x, n))))
    return STOP_PRECISE;
  if (n >= r->max_samples)
    return STOP_SAMPLES;
  return spent_ns >= r->max_ns ? STOP_TIME : STOP_CONTINUE;
}

double stats_fast_p(const bool *correct, const double *speedup, int n, double p) {
  if (n < 1)
    return NAN;
  int fast = 0;
  for (int i = 0; i < n; i++)
    fast += correct[i] && speedup[i] > p;
  return (double)fast / n;
}

// 1 - C(n-c, k) / C(n, k) as a product, which cannot overflow.
double stats_pass_at_k(int n, int c, int k) {
  if (k < 1 || k > n || c < 0 || c > n)
    return NAN;
  if (n - c < k)
    return 1;
  double miss = 1;
  for (int i = n - c + 1; i <= n; i++)
    miss *= 1 - (double)k / i;
  return 1 - miss;
}
