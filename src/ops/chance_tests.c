// SPDX-License-Identifier: Apache-2.0
// Chances are held against 10^-9: a judgement makes some thousand tests, so that honest numbers fail one in a million
// judgements. What is only nearly normal or chi-square is tested from so many numbers on that the tail is right within
// a small factor.
#include "ops/chance_tests.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

#define LEVEL (-9.0) // logarithm to base 10

enum {
  LEAST = 1024,     // numbers, for tests by a normal distribution
  CELL = 16,        // expected in a cell
  BINS = 1 << 16,   // of the distance
  SORTED = 1 << 20, // numbers that are looked through for repeats
  NEAR_LAGS = 32,   // distances
  SHIFTS = 4,       // of rows
  MOST_FAR = 20,    // 2^20
  MOST_PAIRS = 6,   // of rows
};

// What is tested, of rows of different seeds only.
struct sample {
  const struct chance_rows *r;
  int64_t n_rows, n; // n: numbers in all
  int64_t *rows;
};

static const double *row_of(const struct sample *s, int64_t i) {
  return s->r->u + s->rows[i] * s->r->columns;
}

// ---- logarithms to base 10 of chances

// Of being as far from 0 as z, either way.
static double log_normal(double z) {
  z = fabs(z);
  if (z < 30)
    return log10(erfc(z / sqrt(2)));
  return (-z * z / 2 - log(z * sqrt(acos(-1) / 2))) / log(10);
}

// Of a gamma variable with shape a to be above x (above its mean) or below it, natural logarithm (Abramowitz and Stegun
// 6.5.29 and 6.5.31).
static double log_gamma_tail(double a, double x, bool upper) {
  const double front = a * log(x) - x - lgamma(a);
  if (!upper) {
    double term = 1 / a, sum = term;
    for (int k = 1; k < 100000 && term > 1e-17 * sum; k++) {
      term *= x / (a + k);
      sum += term;
    }
    return front + log(sum);
  }
  double b = x + 1 - a, c = 1e300, d = 1 / b, h = d; // Lentz's continued fraction
  for (int k = 1; k < 100000; k++) {
    double an = -(double)k * (k - a), delta;
    b += 2;
    d = 1 / (an * d + b);
    c = b + an / c;
    delta = c * d;
    h *= delta;
    if (fabs(delta - 1) < 1e-14)
      break;
  }
  return front + log(h);
}

// Of a chi-square with so many degrees of freedom, too large or too small.
static double log_chi_square(double x, int freedom) {
  const double a = freedom / 2.0;
  if (x <= 0)
    return -1e6;
  return (log_gamma_tail(a, x / 2, x > freedom) + log(2)) / log(10);
}

// Of k or more (or k or fewer) where so many are expected.
static double log_poisson(int64_t k, double expected, bool more) {
  if (more)
    return (double)k <= expected ? 0 : log_gamma_tail((double)k, expected, false) / log(10);
  return (double)k >= expected ? 0 : log_gamma_tail((double)k + 1, expected, true) / log(10);
}

// ---- tests

static int64_t count_outside(const struct chance_rows *r) {
  int64_t n = 0;
  for (int64_t i = 0; i < r->rows * r->columns; i++)
    n += !(r->u[i] >= 0 && r->u[i] < 1);
  return n;
}

// Of rows that have the seed of an earlier one.
static int64_t count_changed(const struct chance_rows *r, struct sample *s) {
  int64_t changed = 0;
  for (int64_t i = 0; i < r->rows; i++) {
    int64_t first = 0;
    while (r->seeds[first] != r->seeds[i])
      first++;
    if (first == i)
      s->rows[s->n_rows++] = i;
    for (int64_t j = 0; j < r->columns && first < i; j++)
      changed += r->u[i * r->columns + j] != r->u[first * r->columns + j];
  }
  s->n = s->n_rows * r->columns;
  return changed;
}

static double test_distance(const struct sample *s, int64_t *bins) {
  int64_t below = 0;
  double most = 0;
  memset(bins, 0, BINS * sizeof *bins);
  for (int64_t i = 0; i < s->n_rows; i++)
    for (int64_t j = 0; j < s->r->columns; j++)
      bins[(int64_t)(row_of(s, i)[j] * BINS)]++;
  for (int64_t k = 0; k < BINS; k++) {
    below += bins[k];
    most = fmax(most, fabs((double)below / (double)s->n - (double)(k + 1) / BINS));
  }
  return (log(2) - 2 * (double)s->n * most * most) / log(10);
}

static void test_moments(const struct sample *s, double *logs) {
  double sum = 0, squares = 0, n = (double)s->n;
  for (int64_t i = 0; i < s->n_rows; i++)
    for (int64_t j = 0; j < s->r->columns; j++) {
      const double x = row_of(s, i)[j] - 0.5;
      sum += x;
      squares += x * x;
    }
  logs[CHANCE_MEAN] = log_normal(sum / sqrt(n / 12));
  logs[CHANCE_SPREAD] = log_normal((squares - n / 12) / sqrt(n / 180));
}

static double chi_square(const int64_t *cells, int n_cells, int64_t n) {
  const double expected = (double)n / n_cells;
  double x = 0;
  for (int k = 0; k < n_cells; k++)
    x += ((double)cells[k] - expected) * ((double)cells[k] - expected) / expected;
  return log_chi_square(x, n_cells - 1);
}

// `tuple` numbers side by side, of each the `bits` bits after the first `skipped`, are a cell's number.
static double test_cells(const struct sample *s, int tuple, int skipped, int bits, int64_t *cells) {
  const int n_cells = 1 << (bits * tuple);
  const int64_t each = s->r->columns / tuple, n = each * s->n_rows;
  const double scale = ldexp(1, skipped + bits);
  if (n < (int64_t)CELL * n_cells)
    return 0;
  memset(cells, 0, (size_t)n_cells * sizeof *cells);
  for (int64_t i = 0; i < s->n_rows; i++)
    for (int64_t j = 0; j < each; j++) {
      int64_t cell = 0;
      for (int k = 0; k < tuple; k++)
        cell = cell << bits | ((int64_t)(row_of(s, i)[j * tuple + k] * scale) & ((1 << bits) - 1));
      cells[cell]++;
    }
  return chi_square(cells, n_cells, n);
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Numbers of 23 bits are the fewest that are allowed; from 1/2 on, a float cannot have more than 24.
static bool test_repeats(const struct sample *s, double *log_p) {
  const int64_t n = s->n < SORTED ? s->n : SORTED, columns = s->r->columns;
  double *sorted = base_alloc((size_t)n * sizeof *sorted + 1);
  int64_t pairs = 0, run = 0;
  if (!sorted)
    return false;
  for (int64_t i = 0; i < n; i++)
    sorted[i] = row_of(s, i / columns)[i % columns];
  qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  for (int64_t i = 1; i < n; i++) {
    run = sorted[i] == sorted[i - 1] ? run + 1 : 0;
    pairs += run;
  }
  base_free(sorted);
  const double two = (double)n * ((double)n - 1) / 2;
  const double many = log_poisson(pairs, two * 0x1p-23, true), few = log_poisson(pairs, two * 0x1p-25, false);
  *log_p = fmin(many, few) + log10(2);
  return true;
}

// Of the products of numbers with those `shift` places on in another row (or the same).
static double correlation(const double *a, const double *b, int64_t columns, int64_t shift) {
  const int64_t n = columns - shift;
  double sum = 0;
  for (int64_t i = 0; i < n; i++)
    sum += (a[i] - 0.5) * (b[i + shift] - 0.5);
  return 12 * sum / sqrt((double)n);
}

static void test_rows(const struct sample *s, double *logs) {
  const int64_t columns = s->r->columns;
  int64_t same = 0;
  int pairs = 0, tests = 0;
  double most = 0;
  for (int64_t i = 0; i < s->n_rows; i++)
    for (int64_t k = i + 1; k < s->n_rows && pairs < MOST_PAIRS; k++, pairs++) {
      const double *a = row_of(s, i), *b = row_of(s, k);
      for (int64_t j = 0; j < columns; j++)
        same += a[j] == b[j];
      for (int64_t shift = 0; shift <= SHIFTS && columns - shift >= LEAST; shift++, tests += 2)
        most = fmax(most, fmax(fabs(correlation(a, b, columns, shift)), fabs(correlation(b, a, columns, shift))));
    }
  if (tests > 0)
    logs[CHANCE_ACROSS] = log_normal(most) + log10(tests);
  if (s->r->grid)
    logs[CHANCE_SAME] = log_poisson(same, (double)pairs * (double)columns * 0x1p-23, true);
}

static double test_lags(const struct sample *s, bool far) {
  double most = 0;
  int tests = 0;
  for (int k = far ? 6 : 1; k <= (far ? MOST_FAR : NEAR_LAGS); k++) {
    const int64_t lag = far ? INT64_C(1) << k : k;
    double sum = 0;
    if (s->r->columns - lag < LEAST)
      break;
    for (int64_t i = 0; i < s->n_rows; i++)
      sum += correlation(row_of(s, i), row_of(s, i), s->r->columns, lag);
    most = fmax(most, fabs(sum / sqrt((double)s->n_rows)));
    tests++;
  }
  return tests > 0 ? log_normal(most) + log10(tests) : 0;
}

static bool test_all(const struct sample *s, double *logs) {
  int64_t *cells = base_alloc(BINS * sizeof *cells);
  if (!cells)
    return false;
  logs[CHANCE_DISTANCE] = test_distance(s, cells);
  if (s->n >= LEAST)
    test_moments(s, logs);
  logs[CHANCE_HIGH_BITS] = test_cells(s, 1, 0, 8, cells);
  logs[CHANCE_NEXT_BITS] = test_cells(s, 1, 8, 8, cells);
  logs[CHANCE_PAIRS] = test_cells(s, 2, 0, 4, cells);
  logs[CHANCE_TRIPLES] = test_cells(s, 3, 0, 3, cells);
  if (s->r->grid) {
    logs[CHANCE_LOW_BITS] = test_cells(s, 1, 16, 4, cells);
    logs[CHANCE_LOWEST_BITS] = test_cells(s, 1, 20, 3, cells);
  }
  base_free(cells);
  test_rows(s, logs);
  logs[CHANCE_NEAR_LAGS] = test_lags(s, false);
  logs[CHANCE_FAR_LAGS] = test_lags(s, true);
  return !s->r->grid || test_repeats(s, &logs[CHANCE_REPEATS]);
}

bool chance_logs(const struct chance_rows *r, double logs[CHANCE_COUNT]) {
  struct sample s = {.r = r, .rows = base_alloc((size_t)r->rows * sizeof *s.rows + 1)};
  for (int i = 0; i < CHANCE_COUNT; i++)
    logs[i] = 0;
  if (!s.rows)
    return false;
  logs[CHANCE_OUTSIDE] = (double)count_outside(r);
  logs[CHANCE_REPLAY] = (double)count_changed(r, &s);
  bool made = s.n == 0 || logs[CHANCE_OUTSIDE] > 0 || test_all(&s, logs);
  base_free(s.rows);
  return made;
}

bool chance_test(const struct chance_rows *r, int64_t out[CHANCE_COUNT]) {
  double logs[CHANCE_COUNT];
  if (!chance_logs(r, logs))
    return false;
  for (int i = 0; i < CHANCE_COUNT; i++)
    if (i == CHANCE_OUTSIDE || i == CHANCE_REPLAY)
      out[i] = (int64_t)logs[i];
    else
      out[i] = logs[i] < LEVEL ? (int64_t)fmin(floor(-logs[i]), 1e6) : 0;
  return true;
}
