// SPDX-License-Identifier: Apache-2.0
#include "stats/success.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/rng.h"

// The weights of order statistics: the least of k is the i-th of all when the i-1 before it are not drawn.
double stats_best_of_k(const double *sorted, int n, int k) {
  if (k < 1 || k > n)
    return NAN;
  double sum = 0, weight = (double)k / n;
  for (int i = 1; i <= n - k + 1; i++) {
    sum += weight * sorted[i - 1]; // a weight is never 0 here, so that infinity makes no NaN
    weight *= (double)(n - i - k + 1) / (n - i);
  }
  return sum;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

bool stats_paired(const double *a, const double *b, int n, double confidence, int resamples, uint64_t seed,
                  struct paired *out) {
  double sum = 0, *means = n < 2 || resamples < 2 ? NULL : base_alloc((size_t)resamples * sizeof *means);
  if (!means)
    return false;
  for (int i = 0; i < n; i++)
    sum += a[i] - b[i];
  for (int r = 0; r < resamples; r++) {
    double drawn = 0;
    for (int i = 0; i < n; i++) {
      uint64_t bits = rng_mix64(seed + (uint64_t)r * (uint64_t)n + (uint64_t)i);
      int at = (int)(rng_unit(bits) * n);
      drawn += a[at] - b[at];
    }
    means[r] = drawn / n;
  }
  qsort(means, (size_t)resamples, sizeof *means, by_value);
  out->difference = sum / n;
  out->interval.low = stats_quantile(means, resamples, (1 - confidence) / 2);
  out->interval.high = stats_quantile(means, resamples, (1 + confidence) / 2);
  base_free(means);
  return true;
}

// --- deviance

static double term(double k, double n) {
  return (k > 0 ? k * log(k / n) : 0) + (n - k > 0 ? (n - k) * log((n - k) / n) : 0);
}

static double null_deviance(const bool *y, int n) {
  double k = 0;
  for (int i = 0; i < n; i++)
    k += y[i];
  return -2 * term(k, n);
}

static struct deviance of(double null, double model) {
  return (struct deviance){null, model, null > 0 ? 1 - model / null : NAN};
}

struct deviance stats_deviance_grouped(const bool *y, const int *a, int n, int n_a) {
  double *k = base_calloc(2 * (size_t)n_a + 1, sizeof *k), sum = 0;
  if (!k)
    return (struct deviance){NAN, NAN, NAN};
  for (int i = 0; i < n; i++) {
    k[2 * a[i]] += y[i];
    k[2 * a[i] + 1]++;
  }
  for (int g = 0; g < n_a; g++)
    sum += k[2 * g + 1] > 0 ? term(k[2 * g], k[2 * g + 1]) : 0;
  base_free(k);
  return of(null_deviance(y, n), -2 * sum);
}

// Solves the symmetric positive definite system in place: x becomes the solution. False: it is not definite.
static bool solve(double *matrix, double *x, int n) {
  for (int j = 0; j < n; j++) {
    for (int k = 0; k < j; k++)
      for (int i = j; i < n; i++)
        matrix[i * n + j] -= matrix[i * n + k] * matrix[j * n + k];
    if (!(matrix[j * n + j] > 0))
      return false;
    double root = sqrt(matrix[j * n + j]);
    for (int i = j; i < n; i++)
      matrix[i * n + j] /= root;
  }
  for (int i = 0; i < n; i++) {
    for (int k = 0; k < i; k++)
      x[i] -= matrix[i * n + k] * x[k];
    x[i] /= matrix[i * n + i];
  }
  for (int i = n - 1; i >= 0; i--) {
    for (int k = i + 1; k < n; k++)
      x[i] -= matrix[k * n + i] * x[k];
    x[i] /= matrix[i * n + i];
  }
  return true;
}

struct regression {
  const bool *y;
  const int *a, *b;
  int n, n_a, width; // width: a coefficient for each group of a, and for each of b but the first
  double *coefficients, *matrix, *step;
};

static double linear(const struct regression *r, int i) {
  return r->coefficients[r->a[i]] + (r->b[i] > 0 ? r->coefficients[r->n_a + r->b[i] - 1] : 0);
}

static double deviance_now(const struct regression *r) {
  double sum = 0;
  for (int i = 0; i < r->n; i++) {
    double eta = r->y[i] ? linear(r, i) : -linear(r, i);
    sum += eta > 0 ? log1p(exp(-eta)) : -eta + log1p(exp(eta)); // -log of the outcome's probability
  }
  return 2 * sum;
}

// Newton's step for the log-likelihood.
static bool improve(struct regression *r) {
  static const double ridge = 1e-9; // keeps groups that are fitted already from making the system singular
  int w = r->width;
  memset(r->matrix, 0, (size_t)w * (size_t)w * sizeof *r->matrix);
  memset(r->step, 0, (size_t)w * sizeof *r->step);
  for (int i = 0; i < r->n; i++) {
    double p = 1 / (1 + exp(-linear(r, i))), weight = p * (1 - p);
    int at[2] = {r->a[i], r->b[i] > 0 ? r->n_a + r->b[i] - 1 : -1};
    for (int u = 0; u < 2 && at[u] >= 0; u++) {
      r->step[at[u]] += r->y[i] - p;
      for (int v = 0; v < 2 && at[v] >= 0; v++)
        r->matrix[at[u] * w + at[v]] += weight;
    }
  }
  for (int i = 0; i < w; i++)
    r->matrix[i * w + i] += ridge;
  if (!solve(r->matrix, r->step, w))
    return false;
  for (int i = 0; i < w; i++)
    r->coefficients[i] += r->step[i];
  return true;
}

struct deviance stats_deviance_additive(const bool *y, const int *a, int n_a, const int *b, int n_b, int n) {
  enum { MOST_STEPS = 100 };
  static const double enough = 1e-12;
  struct regression r = {.y = y, .a = a, .b = b, .n = n, .n_a = n_a, .width = n_a + n_b - 1};
  size_t w = (size_t)r.width;
  double null = null_deviance(y, n), before = INFINITY, now = NAN;
  r.coefficients = base_calloc(w * w + 2 * w + 1, sizeof *r.coefficients);
  if (!r.coefficients)
    return (struct deviance){NAN, NAN, NAN};
  r.matrix = r.coefficients + w;
  r.step = r.matrix + w * w;
  now = deviance_now(&r);
  for (int i = 0; i < MOST_STEPS && fabs(before - now) > enough * (1 + fabs(now)); i++) {
    before = now;
    if (!improve(&r))
      break;
    now = deviance_now(&r);
  }
  base_free(r.coefficients);
  return of(null, now);
}
