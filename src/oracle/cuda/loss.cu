// SPDX-License-Identifier: Apache-2.0
// Losses over class labels, as ops/loss.c.

DEVICE_FN double log_probability(const struct loss_args *a, struct noise *n, double x, int64_t row) {
  double max = ((const double *)a->max)[row], log_sum = ((const double *)a->log_sum)[row];
  if (a->arith.exact)
    return x - max - log_sum;
  return arith_round(&a->arith, n, x - arith_round(&a->arith, n, max + log_sum));
}

KERNEL(loss_log_probabilities, struct loss_args) {
  int64_t i = THREAD, row;
  if (i >= a->walk.count)
    return;
  walk_find(&a->walk, 1, i, &row);
  struct noise n = noise_at(a->arith.key ^ 0x9E3779B97F4A7C15u, (uint64_t)i);
  ((double *)a->log_probabilities)[i] = log_probability(a, &n, read_f64(&a->x, i), row);
}

KERNEL(loss_rows, struct loss_args) {
  int64_t row = THREAD;
  if (row >= a->rows.count)
    return;
  struct noise n = noise_at(a->arith.key, (uint64_t)row);
  int64_t label = read_i64(&a->labels, row);
  double weight = 0, value = 0;
  if (!(a->has_ignored && label == a->ignored)) {
    if (label < 0 || label >= a->rows.length) {
      ATOMIC_MIN_U64((uint64_t *)a->bad, (uint64_t)row);
      return;
    }
    int64_t at = rows_begin(&a->rows, row) + rows_ahead(&a->rows, label);
    if (a->log_probabilities)
      value = ((const double *)a->log_probabilities)[at];
    else if (a->max)
      value = log_probability(a, &n, read_f64(&a->x, at), row);
    else
      value = read_f64(&a->x, at);
    weight = a->weights.data ? read_f64(&a->weights, label) : 1;
    value = -(a->weights.data ? arith_round(&a->arith, &n, value * weight) : value);
  }
  ((double *)a->losses)[row] = value;
  if (a->label_weights)
    ((double *)a->label_weights)[row] = weight;
}

KERNEL(loss_mean, struct loss_mean_args) {
  if (THREAD > 0)
    return;
  struct noise n = noise_at(a->arith.key, 0);
  *(double *)a->y = arith_round(&a->arith, &n, *(const double *)a->sum / *(const double *)a->by);
}
