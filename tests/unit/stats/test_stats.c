// SPDX-License-Identifier: Apache-2.0
// Known answers (numpy's defaults where a library is the truth), and coverage of the interval by simulation.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assay/verdict.h"
#include "base/rng.h"
#include "stats/stats.h"

#define assert_near(a, b, tol) assert_true(fabs((a) - (b)) <= (tol))

static void quantiles(void **state) {
  (void)state;
  // numpy.quantile([15, 20, 35, 40, 50], q): 0.05 -> 16, 0.3 -> 23, 0.4 -> 29, 0.5 -> 35, 1 -> 50 (type 7)
  const double x[] = {50, 15, 40, 20, 35}; // unsorted on purpose
  assert_near(stats_quantile(x, 5, 0.05), 16, 1e-12);
  assert_near(stats_quantile(x, 5, 0.3), 23, 1e-12);
  assert_near(stats_quantile(x, 5, 0.4), 29, 1e-12);
  assert_near(stats_quantile(x, 5, 0), 15, 0);
  assert_near(stats_quantile(x, 5, 1), 50, 0);
  assert_near(stats_median(x, 5), 35, 0);
  assert_near(stats_median(x, 4), 30, 0); // 15 20 40 50
  assert_near(stats_median(x, 1), 50, 0);
  assert_true(x[0] == 50 && x[4] == 35); // untouched
  assert_true(isnan(stats_median(x, 0)));
  assert_true(isnan(stats_quantile(x, 5, 1.5)) && isnan(stats_quantile(x, 5, NAN)));
  const double with_nan[] = {1, NAN, 3};
  assert_true(isnan(stats_median(with_nan, 3)));
  const double with_inf[] = {INFINITY, 1, INFINITY, INFINITY};
  assert_true(stats_median(with_inf, 4) == INFINITY);
}

static void moments(void **state) {
  (void)state;
  const double x[] = {2, 4, 4, 4, 5, 5, 7, 9};
  assert_near(stats_mean(x, 8), 5, 1e-15);
  assert_near(stats_stdev(x, 8), 2.138089935299395, 1e-14); // numpy.std(ddof=1)
  assert_true(isnan(stats_stdev(x, 1)) && isnan(stats_mean(x, 0)));
  const double far[] = {1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16}; // the textbook formula loses these
  assert_near(stats_stdev(far, 4), sqrt(30), 1e-12);
}

static void geomean(void **state) {
  (void)state;
  const double x[] = {1, 4, 16};
  assert_near(stats_geomean(x, 3), 4, 1e-14);
  double tiny[400], huge[400];
  for (int i = 0; i < 400; i++) {
    tiny[i] = 1e-300;
    huge[i] = 1e300;
  }
  assert_near(stats_geomean(tiny, 400) / 1e-300, 1, 1e-10); // a plain product is 0
  assert_near(stats_geomean(huge, 400) / 1e300, 1, 1e-10);  // and infinite here
  const double zero[] = {1, 0}, negative[] = {2, -2}, nan[] = {1, NAN};
  assert_true(isnan(stats_geomean(zero, 2)) && isnan(stats_geomean(negative, 2)) && isnan(stats_geomean(nan, 2)));
  assert_true(isnan(stats_geomean(x, 0)));
}

// The bootstrap distribution of an odd sample's median is known exactly: P(median* <= x_(j)) = P(Bin(n, j/n) >= m).
static void interval_matches_exact_bootstrap(void **state) {
  (void)state;
  enum { N = 21, M = 11 };
  double x[N];
  for (int i = 0; i < N; i++)
    x[i] = (i * 8) % N + 1; // a permutation of 1..21
  struct interval ci;
  assert_true(stats_median_interval(x, N, 0.90, 200000, 7, &ci));
  double want[2] = {0, 0}, levels[2] = {0.05, 0.95};
  for (int side = 0; side < 2; side++)
    for (int j = 1; j <= N && want[side] == 0; j++) {
      double p = (double)j / N, at_least = 0;
      for (int k = M; k <= N; k++)
        at_least += exp(lgamma(N + 1) - lgamma(k + 1) - lgamma(N - k + 1) + (p > 0 ? k * log(p) : 0) +
                        (k < N ? (N - k) * log1p(-p) : 0));
      if (at_least >= levels[side])
        want[side] = j;
    }
  assert_near(ci.low, want[0], 0);
  assert_near(ci.high, want[1], 0);
}

static void interval_basics(void **state) {
  (void)state;
  double x[200];
  for (int i = 0; i < 200; i++)
    x[i] = 100 + 10 * rng_unit(rng_mix64((uint64_t)i));
  struct interval a, b, c;
  assert_true(stats_median_interval(x, 200, 0.95, 1000, 42, &a));
  assert_true(stats_median_interval(x, 200, 0.95, 1000, 42, &b));
  assert_true(stats_median_interval(x, 200, 0.95, 1000, 43, &c));
  assert_true(a.low == b.low && a.high == b.high); // same seed, same interval
  assert_true(a.low != c.low || a.high != c.high);
  assert_true(a.low <= stats_median(x, 200) && stats_median(x, 200) <= a.high);
  struct interval wide;
  assert_true(stats_median_interval(x, 200, 0.999, 1000, 42, &wide));
  assert_true(wide.high - wide.low > a.high - a.low);
  assert_false(stats_median_interval(x, 4, 0.95, 1000, 42, &a));
  assert_false(stats_median_interval(x, 200, 1.0, 1000, 42, &a));
  assert_false(stats_median_interval(x, 200, 0.95, 0, 42, &a));
  double same[] = {3, 3, 3, 3, 3, 3};
  assert_true(stats_median_interval(same, 6, 0.95, 100, 1, &a));
  assert_true(a.low == 3 && a.high == 3);
}

// The ratio of two medians: what is taken off comes off before the division, and the true ratio is where it should be.
static void ratio_of_medians(void **state) {
  (void)state;
  double x[60], y[60];
  int hits = 0, trials = 1000;
  struct interval ci;
  for (int t = 0; t < trials; t++) {
    for (int i = 0; i < 60; i++) {
      x[i] = 5 + 30 - log1p(-rng_unit(rng_mix64(rng_derive((uint64_t)t, (uint64_t)i))));
      y[i] = 2 + 10 - log1p(-rng_unit(rng_mix64(rng_derive((uint64_t)t, (uint64_t)(100 + i)))));
    }
    const struct stats_samples above = {x, 60, 5}, below = {y, 40, 2};
    assert_true(stats_ratio_interval(&above, &below, 400, (uint64_t)t, &ci));
    hits += ci.low <= (30 + log(2)) / (10 + log(2)) && (30 + log(2)) / (10 + log(2)) <= ci.high;
  }
  assert_true(hits > 0.92 * trials && hits < 0.985 * trials);
  const struct stats_samples good = {x, 60, 0}, few = {x, 4, 0}, nothing = {x, 60, 1000};
  assert_false(stats_ratio_interval(&few, &good, 100, 1, &ci) || stats_ratio_interval(&good, &few, 100, 1, &ci));
  assert_false(stats_ratio_interval(&good, &nothing, 100, 1, &ci) ||
               stats_ratio_interval(&nothing, &good, 100, 1, &ci));
}

static void geomean_intervals(void **state) {
  (void)state;
  struct interval ci;
  // Of the logarithms 0, 1, 2: mean 1, deviation 1, t of two degrees of freedom 4.30265.
  const double x[] = {1, exp(1), exp(2)};
  assert_true(stats_geomean_interval(x, 3, &ci));
  assert_near(log(ci.low), 1 - 4.30265 / sqrt(3), 1e-12);
  assert_near(log(ci.high), 1 + 4.30265 / sqrt(3), 1e-12);
  double more[10];
  for (int i = 0; i < 10; i++)
    more[i] = exp(i % 2 ? 1 : -1);
  assert_true(stats_geomean_interval(more, 10, &ci));
  assert_near(log(ci.high), 2.262157 * stats_stdev((const double[]){1, -1, 1, -1, 1, -1, 1, -1, 1, -1}, 10) / sqrt(10),
              2e-3);
  const double zero[] = {1, 2, 0};
  assert_false(stats_geomean_interval(x, 2, &ci) || stats_geomean_interval(zero, 3, &ci));
}

static void sign_test(void **state) {
  (void)state;
  assert_near(stats_sign_test(1, 7), 0.0703125, 1e-12); // binom.test(1, 8) of R
  assert_near(stats_sign_test(9, 1), 0.021484375, 1e-12);
  assert_near(stats_sign_test(5, 5), 1, 1e-12);
  assert_near(stats_sign_test(0, 0), 1, 1e-12);
  assert_near(stats_sign_test(3, 247) / 2.878954254955859e-69, 1, 1e-9);
}

// Of intervals from skewed timing-like data (a floor plus exponential delays), about 95 % hold the true median.
static void interval_coverage(void **state) {
  (void)state;
  const double truth = 10 + log(2);
  const int sizes[] = {10, 25, 100};
  for (int k = 0; k < 3; k++) {
    int hits = 0, trials = 2000;
    for (int t = 0; t < trials; t++) {
      double x[100];
      for (int i = 0; i < sizes[k]; i++)
        x[i] = 10 - log1p(-rng_unit(rng_mix64(rng_derive((uint64_t)t, (uint64_t)i))));
      struct interval ci;
      assert_true(stats_median_interval(x, sizes[k], 0.95, 500, (uint64_t)t, &ci));
      hits += ci.low <= truth && truth <= ci.high;
    }
    double coverage = (double)hits / trials;
    assert_true(coverage > 0.92 && coverage < 0.985);
  }
}

static void stopping(void **state) {
  (void)state;
  double steady[50], noisy[50];
  for (int i = 0; i < 50; i++) {
    steady[i] = 1000 + i % 3;
    noisy[i] = 1000 + 900 * rng_unit(rng_mix64((uint64_t)i));
  }
  struct stopping_rule r = {.min_samples = 10, .max_samples = 50, .relative_width = 0.01, .max_ns = 1000000};
  assert_int_equal(stats_stop(&r, steady, 0, 0, 1), STOP_CONTINUE);
  assert_int_equal(stats_stop(&r, steady, 9, 0, 1), STOP_CONTINUE); // precise but too few
  assert_int_equal(stats_stop(&r, steady, 10, 0, 1), STOP_PRECISE);
  assert_int_equal(stats_stop(&r, noisy, 30, 0, 1), STOP_CONTINUE);
  assert_int_equal(stats_stop(&r, noisy, 50, 0, 1), STOP_SAMPLES);
  assert_int_equal(stats_stop(&r, steady, 50, 2000000, 1), STOP_PRECISE); // the best reason is reported
  assert_int_equal(stats_stop(&r, noisy, 30, 1000000, 1), STOP_TIME);
  assert_int_equal(stats_stop(&r, noisy, 3, 1000000, 1), STOP_TIME); // time ends it before the minimum too
  r.width = 2000;                                                    // the resolution of the clock
  assert_int_equal(stats_stop(&r, noisy, 30, 0, 1), STOP_PRECISE);
  r.width = 0;
  r.min_samples = 3;
  assert_int_equal(stats_stop(&r, steady, 4, 0, 1), STOP_CONTINUE); // no interval from fewer than five
  assert_string_equal(stop_name(STOP_PRECISE), "precise");
  assert_string_equal(stop_name(STOP_TIME), "time");
}

static void fast_p(void **state) {
  (void)state;
  const bool correct[] = {true, true, false, true, true};
  const double speedup[] = {1.0, 2.0, 9.0, 0.5, NAN};
  assert_near(stats_fast_p(correct, speedup, 5, 1), 0.2, 1e-15); // 1.0 is not strictly faster
  assert_near(stats_fast_p(correct, speedup, 5, 0), 0.6, 1e-15);
  assert_near(stats_fast_p(correct, speedup, 5, 2), 0.0, 0);
  assert_true(isnan(stats_fast_p(correct, speedup, 0, 1)));
}

static double binomial(int n, int k) {
  double r = 1;
  for (int i = 1; i <= k; i++)
    r = r * (n - k + i) / i;
  return r;
}

static void pass_at_k(void **state) {
  (void)state;
  for (int n = 1; n <= 12; n++)
    for (int c = 0; c <= n; c++)
      for (int k = 1; k <= n; k++) {
        double want = 1 - (n - c < k ? 0 : binomial(n - c, k) / binomial(n, k));
        assert_near(stats_pass_at_k(n, c, k), want, 1e-12);
      }
  assert_near(stats_pass_at_k(10, 3, 1), 0.3, 1e-15);
  assert_true(isnan(stats_pass_at_k(5, 2, 6)) && isnan(stats_pass_at_k(5, 2, 0)) && isnan(stats_pass_at_k(5, 6, 1)));
  assert_true(stats_pass_at_k(100000, 1, 50000) > 0.49);
}

static void reasons(void **state) {
  (void)state;
  assert_string_equal(assay_reason_code(ASSAY_REASON_PASS), "pass");
  assert_string_equal(assay_reason_code(ASSAY_REASON_LOW_PRECISION), "low_precision");
  for (int i = 0; i <= ASSAY_REASON_JUDGE_FAILED; i++)
    for (int j = 0; j < i; j++)
      assert_string_not_equal(assay_reason_code((enum assay_reason)i), assay_reason_code((enum assay_reason)j));
  assert_non_null(strstr(assay_reason_text(ASSAY_REASON_TIMEOUT), "time"));
  assert_string_equal(assay_reason_code((enum assay_reason)999), "unknown");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(quantiles),        cmocka_unit_test(moments),
      cmocka_unit_test(geomean),          cmocka_unit_test(interval_matches_exact_bootstrap),
      cmocka_unit_test(interval_basics),  cmocka_unit_test(interval_coverage),
      cmocka_unit_test(stopping),         cmocka_unit_test(fast_p),
      cmocka_unit_test(pass_at_k),        cmocka_unit_test(reasons),
      cmocka_unit_test(ratio_of_medians), cmocka_unit_test(geomean_intervals),
      cmocka_unit_test(sign_test),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
