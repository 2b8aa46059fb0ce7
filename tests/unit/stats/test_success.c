// SPDX-License-Identifier: Apache-2.0
// Statistics of attempts, against enumeration and against simulated models whose answers are known exactly.
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "stats/success.h"

static void near(double x, double y, double within) {
  if (!(fabs(x - y) <= within))
    fail_msg("%.17g is not %.17g", x, y);
}

// All subsets of k of n.
static double enumerate(const double *sorted, int n, int k) {
  double sum = 0;
  int count = 0;
  for (unsigned set = 0; set < 1u << n; set++) {
    if (__builtin_popcount(set) != k)
      continue;
    sum += sorted[__builtin_ctz(set)];
    count++;
  }
  return sum / count;
}

static void best_of_k_by_enumeration(void **state) {
  (void)state;
  static const double times[] = {1, 2.5, 2.5, 4, 7, 11, 30};
  for (int n = 1; n <= 7; n++)
    for (int k = 1; k <= n; k++)
      near(stats_best_of_k(times, n, k), enumerate(times, n, k), 1e-12);
  assert_true(isnan(stats_best_of_k(times, 3, 4)) && isnan(stats_best_of_k(times, 3, 0)));
  static const double failed[] = {1, 2, INFINITY};
  near(stats_best_of_k(failed, 3, 2), (1 + 1 + 2) / 3.0, 1e-12); // two attempts cannot both fail
  assert_true(isinf(stats_best_of_k(failed, 3, 1)));
}

// pass@k is the part of subsets with a success; fast_p@k the same with another count.
static void pass_at_k_by_enumeration(void **state) {
  (void)state;
  for (int n = 1; n <= 10; n++)
    for (int c = 0; c <= n; c++)
      for (int k = 1; k <= n; k++) {
        int hit = 0, all = 0;
        for (unsigned set = 0; set < 1u << n; set++)
          if (__builtin_popcount(set) == k) {
            all++;
            hit += (set & ((1u << c) - 1)) != 0;
          }
        near(stats_pass_at_k(n, c, k), (double)hit / all, 1e-12);
      }
}

// A model that succeeds with probability p: the estimate's mean is 1 - (1 - p)^k, for each k. Exact over all outcomes.
static void pass_at_k_is_unbiased(void **state) {
  (void)state;
  static const double ps[] = {0.04, 0.3, 0.9};
  for (size_t i = 0; i < sizeof ps / sizeof *ps; i++)
    for (int n = 1; n <= 12; n++)
      for (int k = 1; k <= n; k++) {
        double mean = 0;
        for (int c = 0; c <= n; c++) {
          double ways = exp(lgamma(n + 1.0) - lgamma(c + 1.0) - lgamma(n - c + 1.0));
          mean += ways * pow(ps[i], c) * pow(1 - ps[i], n - c) * stats_pass_at_k(n, c, k);
        }
        near(mean, 1 - pow(1 - ps[i], k), 1e-9);
      }
}

static void paired_comparison(void **state) {
  (void)state;
  enum { N = 100 };
  double a[N], b[N];
  struct paired p;
  for (int i = 0; i < N; i++) {
    a[i] = i % 2;
    b[i] = i % 10 == 0 ? 1 - a[i] : a[i]; // 10 tasks only a gets wrong
  }
  assert_true(stats_paired(a, b, N, 0.95, 2000, 1, &p));
  near(p.difference, -0.1, 1e-12);
  assert_true(p.interval.high < 0 && p.interval.low > -0.2);
  struct paired again;
  assert_true(stats_paired(a, b, N, 0.95, 2000, 1, &again));
  assert_memory_equal(&p, &again, sizeof p);
  assert_true(stats_paired(a, a, N, 0.95, 2000, 1, &p));
  assert_true(p.difference == 0 && p.interval.low == 0 && p.interval.high == 0);
  assert_false(stats_paired(a, b, 1, 0.95, 2000, 1, &p));
  near(stats_sign_test(0, 10), 2 * pow(0.5, 10), 1e-12);
  near(stats_sign_test(3, 3), 1, 0);
  near(stats_sign_test(0, 0), 1, 0);
  near(stats_sign_test(1, 5), 2 * (1 + 6) / 64.0, 1e-12);
}

// Two methods that are equally good: the interval has 0 in it about as often as it says.
static void no_difference_is_said(void **state) {
  (void)state;
  enum { N = 100, TRIALS = 200 };
  int shown = 0;
  for (int t = 0; t < TRIALS; t++) {
    double a[N], b[N];
    struct paired p;
    for (int i = 0; i < N; i++) {
      double skill = rng_unit(rng_mix64((uint64_t)(t * N + i)));
      a[i] = rng_unit(rng_mix64((uint64_t)(t * N + i) + 1000000)) < skill;
      b[i] = rng_unit(rng_mix64((uint64_t)(t * N + i) + 2000000)) < skill;
    }
    assert_true(stats_paired(a, b, N, 0.95, 400, (uint64_t)t, &p));
    shown += p.interval.low > 0 || p.interval.high < 0;
  }
  assert_in_range(shown, 1, 22); // 10 expected of 200
}

enum { MOST_ROWS = 1000, MOST_NAMES = 400 };
struct table {
  bool y[MOST_ROWS];
  int category[MOST_ROWS], method[MOST_ROWS], n, n_categories, n_methods;
};

static int index_of(char names[][64], int *n, const char *name) {
  for (int i = 0; i < *n; i++)
    if (strcmp(names[i], name) == 0)
      return i;
  snprintf(names[*n], 64, "%s", name);
  return (*n)++;
}

static void read_table(struct table *t) {
  static char categories[MOST_NAMES][64], methods[MOST_NAMES][64];
  char line[512];
  FILE *f = fopen(ASSAY_SOURCE_DIR "/tests/unit/stats/deviance.csv", "r");
  assert_non_null(f);
  assert_non_null(fgets(line, sizeof line, f));
  while (fgets(line, sizeof line, f)) {
    char task[200], category[64], method[64];
    int y;
    assert_int_equal(sscanf(line, "%199[^,],%63[^,],%63[^,],%d", task, category, method, &y), 4);
    t->category[t->n] = index_of(categories, &t->n_categories, category);
    t->method[t->n] = index_of(methods, &t->n_methods, method);
    t->y[t->n++] = y == 1;
  }
  fclose(f);
}

// Outcomes of 880 attempts; the figures are statsmodels' and the closed form's.
static void deviance_of_the_fixture(void **state) {
  (void)state;
  static struct table t;
  read_table(&t);
  assert_int_equal(t.n, 880);
  struct deviance d = stats_deviance_grouped(t.y, t.category, t.n, t.n_categories);
  near(d.null, 1205.6457574526617, 1e-9);
  near(d.model, 836.9622520984954, 1e-9);
  near(d.explained, 0.3057975388501645, 1e-12);
  d = stats_deviance_grouped(t.y, t.method, t.n, t.n_methods);
  near(d.model, 1174.460145185496, 1e-9);
  near(d.explained, 0.025866314441362892, 1e-12);
  d = stats_deviance_additive(t.y, t.category, t.n_categories, t.method, t.n_methods, t.n);
  near(d.model, 785.772852, 1e-6);
  near(d.explained, 0.34825562, 1e-8);
  // One factor of two alone: the regression agrees with the closed form.
  static int one[MOST_ROWS];
  struct deviance single = stats_deviance_additive(t.y, t.method, t.n_methods, one, 1, t.n);
  near(single.model, 1174.460145185496, 1e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(best_of_k_by_enumeration), cmocka_unit_test(pass_at_k_by_enumeration),
      cmocka_unit_test(pass_at_k_is_unbiased),    cmocka_unit_test(paired_comparison),
      cmocka_unit_test(no_difference_is_said),    cmocka_unit_test(deviance_of_the_fixture),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
