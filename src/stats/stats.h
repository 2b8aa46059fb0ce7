// SPDX-License-Identifier: Apache-2.0
// Statistics as pure functions of numbers. They refuse (NaN, false) rather than answer from too few samples.
#ifndef STATS_STATS_H
#define STATS_STATS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

// Of n >= 1 samples; NaN when n < 1. The array is not changed. (Quantiles: linear interpolation, Hyndman & Fan type 7.)
double stats_median(const double *x, int n);
double stats_quantile(const double *x, int n, double q);
double stats_mean(const double *x, int n);
double stats_stdev(const double *x, int n);   // n - 1; NaN when n < 2
double stats_geomean(const double *x, int n); // over logarithms; NaN when any x <= 0

struct interval {
  double low, high;
};

// Percentile bootstrap interval of the median (Efron & Tibshirani 1993), seeded: same seed, same interval.
// False when n < 5 or memory fails.
bool stats_median_interval(const double *x, int n, double confidence, int resamples, uint64_t seed,
                           struct interval *out);

// The same for the mean, which few large values may carry.
bool stats_mean_interval(const double *x, int n, double confidence, int resamples, uint64_t seed, struct interval *out);

// Samples of two things that were not taken in turn; `less` is taken off each.
struct stats_samples {
  const double *x;
  int n;
  double less;
};
// The same for the median of `above` over that of `below`, each resampled by itself. False also where a median is not
// positive.
bool stats_ratio_interval(const struct stats_samples *above, const struct stats_samples *below, int resamples,
                          uint64_t seed, struct interval *out); // 95 %

// The 95 % interval of a geometric mean: Student's t over logarithms. False when n < 3 or any x <= 0.
bool stats_geomean_interval(const double *x, int n, struct interval *out);

// How likely a split of a + b is at least as uneven as this one, where either side is as likely: the exact sign test,
// and McNemar's, two-sided. 1 when both are 0.
double stats_sign_test(int a, int b);

// Should sampling go on?
struct stopping_rule {
  int min_samples, max_samples;
  double relative_width; // stop when the interval's width is below this part of the median
  double width;          // or below this: the clock's resolution
  int64_t max_ns;        // total time spent
};
enum stop { STOP_CONTINUE, STOP_PRECISE, STOP_SAMPLES, STOP_TIME, STOP_SLOW };
const char *stop_name(enum stop s);
enum stop stats_stop(const struct stopping_rule *r, const double *x, int n, int64_t spent_ns, uint64_t seed);

// fast_p (KernelBench): the share of tasks that are correct and strictly faster than p times the baseline.
// speedup[i] is baseline time over candidate time; entries of wrong candidates are ignored.
double stats_fast_p(const bool *correct, const double *speedup, int n, double p);

// pass@k, unbiased (Chen et al. 2021): n samples, c correct. NaN when k > n or k < 1.
double stats_pass_at_k(int n, int c, int k);

#endif
