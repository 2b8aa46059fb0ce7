// SPDX-License-Identifier: Apache-2.0
// Statistics of attempts: what k of n would have brought, how two methods differ on the same tasks, and what explains
// success. Pure functions of numbers, as stats.h.
#ifndef STATS_SUCCESS_H
#define STATS_SUCCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/stats.h"

// The expected least of k of n values drawn without replacement. `sorted` ascends; attempts that failed are the
// baseline's time, or infinity: then the result is, unless k attempts cannot all have failed. NaN unless 1 <= k <= n.
double stats_best_of_k(const double *sorted, int n, int k);

// Whether two methods differ on the same n tasks: the mean of a - b, and its percentile bootstrap interval over tasks
// (not over attempts: tasks are what differs most). False when n < 2 or memory fails. An interval with 0 in it shows no
// difference.
struct paired {
  double difference;
  struct interval interval;
};
bool stats_paired(const double *a, const double *b, int n, double confidence, int resamples, uint64_t seed,
                  struct paired *out);

// The part of the binomial deviance that groups explain: 1 - D / D0 (McFadden). y[i] is success of observation i, which
// is in group a[i] of n_a (from 0), and b[i] of n_b.
//   _grouped   one factor: fitted probabilities are the groups' means (closed form)
//   _additive  both, without interaction: logistic regression by reweighted least squares, which stops when the
//   deviance
//              does: coefficients of a group without any success go to infinity and may
// NaN when all outcomes are alike, or memory fails.
struct deviance {
  double null, model, explained;
};
struct deviance stats_deviance_grouped(const bool *y, const int *a, int n, int n_a);
struct deviance stats_deviance_additive(const bool *y, const int *a, int n_a, const int *b, int n_b, int n);

#endif
