// SPDX-License-Identifier: Apache-2.0
// What remains of a softmax or a normalization when its rows are reduced, as ops/softmax.c, normalize.c, norm_power.c.

// x are the terms, or x - max for a logarithm.
KERNEL(softmax_finish, struct softmax_args) {
  int64_t i = THREAD, row;
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 1, i, &row);
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double x = read_f64(&a->x, i), by = ((const double *)a->by)[row];
  ((double *)a->y)[i] = arith_round(&a->arith, &n, a->log ? x - by : x / by);
}

KERNEL(hardmax_finish, struct softmax_args) {
  int64_t i = THREAD, at[2];
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 2, i, at);
  ((double *)a->y)[i] = ((const int64_t *)a->by)[at[0]] == at[1] ? 1 : 0;
}

// x over its row's norm; zeros stay zeros.
KERNEL(lp_finish, struct softmax_args) {
  int64_t i = THREAD, row;
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 1, i, &row);
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double norm = ((const double *)a->by)[row];
  ((double *)a->y)[i] = norm == 0 ? 0 : arith_round(&a->arith, &n, read_f64(&a->x, i) / norm);
}

KERNEL(norm_roots, struct root_args) {
  int64_t row = THREAD;
  if (row >= a->count)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)row);
  double variance = read_f64(&a->variance, row), v = variance;
  if (a->epsilon != 0)
    v = arith_round(&a->arith, &n, v + a->epsilon);
  v = arith_round(&a->arith, &n, sqrt(v));
  if (a->epsilon_after != 0)
    v = arith_round(&a->arith, &n, v + a->epsilon_after);
  ((double *)a->root)[row] = v;
  if (a->y_mean)
    ((double *)a->y_mean)[row] = a->mean.data ? read_f64(&a->mean, row) : 0;
  if (a->y_variance)
    ((double *)a->y_variance)[row] = variance;
  if (a->y_inverse)
    ((double *)a->y_inverse)[row] = arith_round(&a->arith, &n, 1 / v);
}

KERNEL(norm_write, struct normalize_args) {
  int64_t i = THREAD, at[3];
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 3, i, at);
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double v = read_f64(&a->x, i);
  if (a->mean.data)
    v = arith_round(&a->arith, &n, v - arith_round_ulps(&a->arith, &n, read_f64(&a->mean, at[0]), 1));
  v = arith_round(&a->arith, &n, v / ((const double *)a->root)[at[0]]);
  if (a->scale.data)
    v = arith_round(&a->arith, &n, v * read_f64(&a->scale, at[1]));
  if (a->bias.data)
    v = arith_round(&a->arith, &n, v + read_f64(&a->bias, at[2]));
  ((double *)a->y)[i] = v;
}

KERNEL(norm_running, struct running_args) {
  int64_t i = THREAD;
  if (i >= a->n)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  double kept = arith_round(&a->arith, &n, read_f64(&a->running, i) * a->momentum);
  double found = arith_round(&a->arith, &n, ((const double *)a->found)[i] * (1 - a->momentum));
  ((double *)a->y)[i] = arith_round(&a->arith, &n, kept + found);
}

KERNEL(lrn, struct lrn_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)i);
  int64_t channel = i / a->inner % a->channels;
  int64_t from = channel < a->before ? -channel : -a->before;
  int64_t to = a->channels - 1 - channel < a->after ? a->channels - 1 - channel : a->after;
  double sum = 0, t2 = 0;
  for (int64_t k = from; k <= to; k++) {
    double x = read_f64(&a->x, i + k * a->inner);
    double square = arith_round(&a->arith, &n, x * x);
    sum += square;
    t2 += square * square;
  }
  sum = arith_sum(&a->arith, &n, sum, t2, (double)(to - from + 1), false);
  double scaled = arith_round(&a->arith, &n, arith_round(&a->arith, &n, a->alpha / a->size) * sum);
  double base = arith_round(&a->arith, &n, a->bias + scaled);
  double divisor = arith_round_ulps(&a->arith, &n, pow(base, a->beta), 2);
  ((double *)a->y)[i] = arith_round(&a->arith, &n, read_f64(&a->x, i) / divisor);
}
