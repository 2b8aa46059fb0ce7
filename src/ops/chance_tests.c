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
  LEAST = 1024,  // numbers, for tests by a normal distribution
  CELL = 16,     // expected in a cell
  BIN_BITS = 16, // of the distance
  BINS = 1 << BIN_BITS,
  MOST_CELLS = 512, // of the others
  SORTED = 1 << 20, // numbers that are looked through for repeats
  NEAR_LAGS = 32,   // distances
  SHIFTS = 4,       // of rows
  FIRST_FAR = 6,    // 2^6
  MOST_FAR = 20,    // 2^20
  MOST_PAIRS = 6,   // of rows
};

// What is tested, of rows of different seeds only.
struct sample {
  const struct chance_numbers *u;
  int64_t n_rows, n; // n: numbers in all
  int64_t *rows;
};

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

// *changed: of rows that have the seed of an earlier one.
static enum assay_status count_changed(struct sample *s, int64_t *changed, struct assay_error *err) {
  const struct chance_numbers *u = s->u;
  enum assay_status status = ASSAY_OK;
  *changed = 0;
  for (int64_t i = 0; i < u->rows && !status; i++) {
    int64_t first = 0, count = 0;
    while (u->seeds[first] != u->seeds[i])
      first++;
    if (first == i)
      s->rows[s->n_rows++] = i;
    else
      status = u->reader->unlike(u->of, i, first, &count, err);
    *changed += count;
  }
  s->n = s->n_rows * u->columns;
  return status;
}

static double test_distance(const struct sample *s, const int64_t *bins) {
  int64_t below = 0;
  double most = 0;
  for (int64_t k = 0; k < BINS; k++) {
    below += bins[k];
    most = fmax(most, fabs((double)below / (double)s->n - (double)(k + 1) / BINS));
  }
  return (log(2) - 2 * (double)s->n * most * most) / log(10);
}

static enum assay_status test_moments(const struct sample *s, double *logs, struct assay_error *err) {
  double sums[2], n = (double)s->n;
  if (s->n < LEAST)
    return ASSAY_OK;
  enum assay_status status = s->u->reader->moments(s->u->of, s->rows, s->n_rows, sums, err);
  if (status)
    return status;
  logs[CHANCE_MEAN] = log_normal(sums[0] / sqrt(n / 12));
  logs[CHANCE_SPREAD] = log_normal((sums[1] - n / 12) / sqrt(n / 180));
  return ASSAY_OK;
}

static double chi_square(const int64_t *cells, int n_cells, int64_t n) {
  const double expected = (double)n / n_cells;
  double x = 0;
  for (int k = 0; k < n_cells; k++)
    x += ((double)cells[k] - expected) * ((double)cells[k] - expected) / expected;
  return log_chi_square(x, n_cells - 1);
}

// Bits 1 to 8 and 9 to 16 are those of the bins of the distance.
static double test_bytes(const struct sample *s, const int64_t *bins, bool high) {
  enum { BYTES = 256 };
  int64_t cells[BYTES] = {0};
  for (int k = 0; k < BINS; k++)
    cells[high ? k / BYTES : k % BYTES] += bins[k];
  return s->n < (int64_t)CELL * BYTES ? 0 : chi_square(cells, BYTES, s->n);
}

static enum assay_status look_at_cells(const struct sample *s, int tuple, int skipped, int bits, int64_t *cells,
                                       struct assay_error *err) {
  const struct chance_cells look = {
      .rows = s->rows, .n_rows = s->n_rows, .tuple = tuple, .skipped = skipped, .bits = bits};
  return s->u->reader->cells(s->u->of, &look, cells, err);
}

static enum assay_status test_cells(const struct sample *s, int tuple, int skipped, int bits, double *log_p,
                                    struct assay_error *err) {
  int64_t cells[MOST_CELLS];
  const int n_cells = 1 << (bits * tuple);
  const int64_t n = s->u->columns / tuple * s->n_rows;
  if (n < (int64_t)CELL * n_cells)
    return ASSAY_OK;
  enum assay_status status = look_at_cells(s, tuple, skipped, bits, cells, err);
  if (!status)
    *log_p = chi_square(cells, n_cells, n);
  return status;
}

static enum assay_status test_all_cells(const struct sample *s, double *logs, struct assay_error *err) {
  int64_t *bins = base_alloc(BINS * sizeof *bins);
  enum assay_status status = bins ? look_at_cells(s, 1, 0, BIN_BITS, bins, err) : error_nomem(err, "tests of chance");
  if (!status) {
    logs[CHANCE_DISTANCE] = test_distance(s, bins);
    logs[CHANCE_HIGH_BITS] = test_bytes(s, bins, true);
    logs[CHANCE_NEXT_BITS] = test_bytes(s, bins, false);
    status = test_cells(s, 2, 0, 4, &logs[CHANCE_PAIRS], err);
  }
  base_free(bins);
  if (!status)
    status = test_cells(s, 3, 0, 3, &logs[CHANCE_TRIPLES], err);
  if (!status && s->u->grid)
    status = test_cells(s, 1, 16, 4, &logs[CHANCE_LOW_BITS], err);
  if (!status && s->u->grid)
    status = test_cells(s, 1, 20, 3, &logs[CHANCE_LOWEST_BITS], err);
  return status;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Numbers of 23 bits are the fewest that are allowed; from 1/2 on, a float cannot have more than 24.
static enum assay_status test_repeats(const struct sample *s, double *log_p, struct assay_error *err) {
  const int64_t n = s->n < SORTED ? s->n : SORTED;
  double *sorted = base_alloc((size_t)n * sizeof *sorted + 1);
  int64_t pairs = 0, run = 0;
  enum assay_status status =
      sorted ? s->u->reader->first(s->u->of, s->rows, n, sorted, err) : error_nomem(err, "tests of chance");
  if (!status)
    qsort(sorted, (size_t)n, sizeof *sorted, by_size);
  for (int64_t i = 1; i < n && !status; i++) {
    run = sorted[i] == sorted[i - 1] ? run + 1 : 0;
    pairs += run;
  }
  base_free(sorted);
  const double two = (double)n * ((double)n - 1) / 2;
  const double many = log_poisson(pairs, two * 0x1p-23, true), few = log_poisson(pairs, two * 0x1p-25, false);
  *log_p = fmin(many, few) + log10(2);
  return status;
}

// Of a sum of products of so many numbers less 1/2 with others, in units of its standard deviation.
static double correlation(double sum, int64_t n) {
  return 12 * sum / sqrt((double)n);
}

// The shifts for which there are enough products are the first; how many.
static int usable(const struct sample *s, const int64_t *shifts, int n) {
  int usable = 0;
  while (usable < n && s->u->columns - shifts[usable] >= LEAST)
    usable++;
  return usable;
}

static enum assay_status test_pair(const struct sample *s, int64_t a, int64_t b, double *most, int *tests,
                                   struct assay_error *err) {
  static const int64_t shifts[SHIFTS + 1] = {0, 1, 2, 3, 4};
  const int n = usable(s, shifts, SHIFTS + 1);
  enum assay_status status = ASSAY_OK;
  for (int turn = 0; turn < 2 && n > 0 && !status; turn++) {
    const struct chance_products look = {.a = turn ? b : a, .b = turn ? a : b, .shifts = shifts, .n = n};
    double sums[SHIFTS + 1];
    status = s->u->reader->products(s->u->of, &look, sums, err);
    for (int k = 0; k < n && !status; k++, ++*tests)
      *most = fmax(*most, fabs(correlation(sums[k], s->u->columns - shifts[k])));
  }
  return status;
}

static enum assay_status test_rows(const struct sample *s, double *logs, struct assay_error *err) {
  const int64_t columns = s->u->columns;
  int64_t same = 0;
  int pairs = 0, tests = 0;
  double most = 0;
  enum assay_status status = ASSAY_OK;
  for (int64_t i = 0; i < s->n_rows; i++)
    for (int64_t k = i + 1; k < s->n_rows && pairs < MOST_PAIRS && !status; k++, pairs++) {
      int64_t unlike = columns;
      if (s->u->grid)
        status = s->u->reader->unlike(s->u->of, s->rows[i], s->rows[k], &unlike, err);
      if (!status)
        status = test_pair(s, s->rows[i], s->rows[k], &most, &tests, err);
      same += columns - unlike;
    }
  if (tests > 0)
    logs[CHANCE_ACROSS] = log_normal(most) + log10(tests);
  if (s->u->grid)
    logs[CHANCE_SAME] = log_poisson(same, (double)pairs * (double)columns * 0x1p-23, true);
  return status;
}

static enum assay_status test_lags(const struct sample *s, bool far, double *log_p, struct assay_error *err) {
  int64_t lags[NEAR_LAGS];
  double sums[NEAR_LAGS], all[NEAR_LAGS] = {0}, most = 0;
  int n = far ? MOST_FAR - FIRST_FAR + 1 : NEAR_LAGS;
  enum assay_status status = ASSAY_OK;
  for (int k = 0; k < n; k++)
    lags[k] = far ? INT64_C(1) << (FIRST_FAR + k) : k + 1;
  n = usable(s, lags, n);
  for (int64_t i = 0; i < s->n_rows && n > 0 && !status; i++) {
    const struct chance_products look = {.a = s->rows[i], .b = s->rows[i], .shifts = lags, .n = n};
    status = s->u->reader->products(s->u->of, &look, sums, err);
    for (int k = 0; k < n && !status; k++)
      all[k] += correlation(sums[k], s->u->columns - lags[k]);
  }
  for (int k = 0; k < n; k++)
    most = fmax(most, fabs(all[k] / sqrt((double)s->n_rows)));
  *log_p = n > 0 ? log_normal(most) + log10(n) : 0;
  return status;
}

static enum assay_status test_all(const struct sample *s, double *logs, struct assay_error *err) {
  enum assay_status status = test_all_cells(s, logs, err);
  if (!status)
    status = test_moments(s, logs, err);
  if (!status)
    status = test_rows(s, logs, err);
  if (!status)
    status = test_lags(s, false, &logs[CHANCE_NEAR_LAGS], err);
  if (!status)
    status = test_lags(s, true, &logs[CHANCE_FAR_LAGS], err);
  return status || !s->u->grid ? status : test_repeats(s, &logs[CHANCE_REPEATS], err);
}

enum assay_status chance_logs_of(const struct chance_numbers *u, double logs[CHANCE_COUNT], struct assay_error *err) {
  struct sample s = {.u = u, .rows = base_alloc((size_t)u->rows * sizeof *s.rows + 1)};
  int64_t outside = 0, changed = 0;
  for (int i = 0; i < CHANCE_COUNT; i++)
    logs[i] = 0;
  enum assay_status status = s.rows ? u->reader->outside(u->of, &outside, err) : error_nomem(err, "tests of chance");
  if (!status)
    status = count_changed(&s, &changed, err);
  logs[CHANCE_OUTSIDE] = (double)outside;
  logs[CHANCE_REPLAY] = (double)changed;
  if (!status && s.n > 0 && outside == 0)
    status = test_all(&s, logs, err);
  base_free(s.rows);
  return status;
}

enum assay_status chance_test_of(const struct chance_numbers *u, int64_t out[CHANCE_COUNT], struct assay_error *err) {
  double logs[CHANCE_COUNT];
  enum assay_status status = chance_logs_of(u, logs, err);
  for (int i = 0; i < CHANCE_COUNT && !status; i++)
    if (i == CHANCE_OUTSIDE || i == CHANCE_REPLAY)
      out[i] = (int64_t)logs[i];
    else
      out[i] = logs[i] < LEVEL ? (int64_t)fmin(floor(-logs[i]), 1e6) : 0;
  return status;
}

// ---- numbers in the host's memory

static const double *row_of(const struct chance_rows *r, int64_t row) {
  return r->u + row * r->columns;
}

static enum assay_status read_outside(void *of, int64_t *count, struct assay_error *err) {
  const struct chance_rows *r = of;
  (void)err;
  *count = 0;
  for (int64_t i = 0; i < r->rows * r->columns; i++)
    *count += !(r->u[i] >= 0 && r->u[i] < 1);
  return ASSAY_OK;
}

static enum assay_status read_unlike(void *of, int64_t a, int64_t b, int64_t *count, struct assay_error *err) {
  const struct chance_rows *r = of;
  (void)err;
  *count = 0;
  for (int64_t i = 0; i < r->columns; i++)
    *count += row_of(r, a)[i] != row_of(r, b)[i];
  return ASSAY_OK;
}

static enum assay_status read_cells(void *of, const struct chance_cells *look, int64_t *cells,
                                    struct assay_error *err) {
  const struct chance_rows *r = of;
  const double scale = ldexp(1, look->skipped + look->bits);
  (void)err;
  memset(cells, 0, (size_t)(1 << (look->bits * look->tuple)) * sizeof *cells);
  for (int64_t i = 0; i < look->n_rows; i++) {
    const double *u = row_of(r, look->rows[i]);
    for (int64_t j = 0; j < r->columns / look->tuple; j++) {
      int64_t cell = 0;
      for (int k = 0; k < look->tuple; k++)
        cell = cell << look->bits | ((int64_t)(u[j * look->tuple + k] * scale) & ((1 << look->bits) - 1));
      cells[cell]++;
    }
  }
  return ASSAY_OK;
}

static enum assay_status read_moments(void *of, const int64_t *rows, int64_t n_rows, double sums[2],
                                      struct assay_error *err) {
  const struct chance_rows *r = of;
  (void)err;
  sums[0] = sums[1] = 0;
  for (int64_t i = 0; i < n_rows; i++)
    for (int64_t j = 0; j < r->columns; j++) {
      const double x = row_of(r, rows[i])[j] - 0.5;
      sums[0] += x;
      sums[1] += x * x;
    }
  return ASSAY_OK;
}

static enum assay_status read_products(void *of, const struct chance_products *look, double *sums,
                                       struct assay_error *err) {
  const struct chance_rows *r = of;
  const double *a = row_of(r, look->a), *b = row_of(r, look->b);
  (void)err;
  for (int k = 0; k < look->n; k++) {
    const int64_t shift = look->shifts[k];
    double sum = 0;
    for (int64_t i = 0; i < r->columns - shift; i++)
      sum += (a[i] - 0.5) * (b[i + shift] - 0.5);
    sums[k] = sum;
  }
  return ASSAY_OK;
}

static enum assay_status read_first(void *of, const int64_t *rows, int64_t n, double *out, struct assay_error *err) {
  const struct chance_rows *r = of;
  (void)err;
  for (int64_t i = 0; i < n; i++)
    out[i] = row_of(r, rows[i / r->columns])[i % r->columns];
  return ASSAY_OK;
}

static const struct chance_reader host_reader = {.outside = read_outside,
                                                 .unlike = read_unlike,
                                                 .cells = read_cells,
                                                 .moments = read_moments,
                                                 .products = read_products,
                                                 .first = read_first};

static struct chance_numbers numbers_of(struct chance_rows *r) {
  return (struct chance_numbers){
      .rows = r->rows, .columns = r->columns, .seeds = r->seeds, .grid = r->grid, .reader = &host_reader, .of = r};
}

bool chance_logs(const struct chance_rows *r, double logs[CHANCE_COUNT]) {
  struct chance_rows rows = *r;
  const struct chance_numbers u = numbers_of(&rows);
  return chance_logs_of(&u, logs, NULL) == ASSAY_OK;
}

bool chance_test(const struct chance_rows *r, int64_t out[CHANCE_COUNT]) {
  struct chance_rows rows = *r;
  const struct chance_numbers u = numbers_of(&rows);
  return chance_test_of(&u, out, NULL) == ASSAY_OK;
}
