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

// A sorted copy, or NULL: no samples, no memory, or a NaN among them (which has no place in an order).
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

double stats_mad(const double *x, int n) {
  double center = stats_median(x, n);
  if (isnan(center))
    return NAN;
  double *d = base_alloc((size_t)n * sizeof *d);
  if (!d)
    return NAN;
  for (int i = 0; i < n; i++)
    d[i] = fabs(x[i] - center);
  double r = stats_median(d, n);
  base_free(d);
  return r;
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

bool stats_median_interval(const double *x, int n, double confidence, int resamples, uint64_t seed,
                           struct interval *out) {
  bool ok = false;
  double *s = NULL, *medians = NULL;
  if (n < MIN_FOR_INTERVAL || resamples < 1 || !(confidence > 0 && confidence < 1))
    return false;
  s = sorted_copy(x, n);
  medians = base_alloc((size_t)resamples * sizeof *medians);
  if (!s || !medians)
    goto out;
  uint64_t state = rng_mix64(seed);
  for (int i = 0; i < resamples; i++)
    medians[i] = resampled_median(s, n, &state);
  qsort(medians, (size_t)resamples, sizeof *medians, by_value);
  *out = (struct interval){sorted_quantile(medians, resamples, (1 - confidence) / 2),
                           sorted_quantile(medians, resamples, (1 + confidence) / 2)};
  ok = true;
out:
  base_free(s);
  base_free(medians);
  return ok;
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
