// SPDX-License-Identifier: Apache-2.0
// Attention without a softmax, as ops/linear_attention.c; a thread for each column of a state.

// Of the column with the elements of `x` from `at` on.
DEVICE_FN double linear_product(const struct linear_attention_args *a, struct noise *noise, const double *column,
                                const struct gpu_ref *x, int64_t at) {
  double sum = 0, squares = 0;
  for (int64_t d = 0; d < a->key; d++) {
    double term = column[d] * read_f64(x, at + d);
    sum += term;
    squares += term * term;
  }
  return arith_sum(&a->arith, noise, sum, squares, (double)a->key, true);
}

DEVICE_FN void linear_decay(const struct linear_attention_args *a, struct noise *noise, int64_t at, int64_t head,
                            double *column) {
  int64_t first = at * a->decays + (a->decays > a->kv_heads ? head * a->key : head);
  for (int64_t d = 0; d < a->key; d++) {
    double g = read_f64(&a->decay, first + (a->decays > a->kv_heads ? d : 0));
    double kept = arith_round_power(&a->arith, noise, exp(g));
    column[d] = arith_round(&a->arith, noise, column[d] * kept);
  }
}

DEVICE_FN void linear_step(const struct linear_attention_args *a, struct noise *noise, int64_t at, int64_t head,
                           int64_t m, double *column) {
  int64_t key = (at * a->kv_heads + head) * a->key, group = a->q_heads / a->kv_heads;
  double v = read_f64(&a->v, (at * a->kv_heads + head) * a->value + m);
  if (a->decays > 0)
    linear_decay(a, noise, at, head, column);
  if (a->betas > 0) {
    double rest = arith_round(&a->arith, noise, v - linear_product(a, noise, column, &a->k, key));
    v = arith_round(&a->arith, noise, rest * read_f64(&a->beta, at * a->betas + (a->betas > 1 ? head : 0)));
  }
  for (int64_t d = 0; d < a->key; d++) {
    double written = arith_round(&a->arith, noise, v * read_f64(&a->k, key + d));
    column[d] = arith_round(&a->arith, noise, column[d] + written);
  }
  for (int64_t h = at * a->q_heads + head * group, end = h + group; h < end; h++) {
    double read = linear_product(a, noise, column, &a->q, h * a->key);
    ((double *)a->y)[h * a->value + m] = arith_round(&a->arith, noise, a->scale * read);
  }
}

KERNEL(linear_attention, struct linear_attention_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t state = i / a->value, m = i - state * a->value, batch = state / a->kv_heads;
  int64_t head = state - batch * a->kv_heads, place = state * a->key * a->value + m;
  double *column = (double *)a->columns + i * a->key;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  for (int64_t d = 0; d < a->key; d++)
    column[d] = a->past.data ? read_f64(&a->past, place + d * a->value) : 0;
  for (int64_t t = 0; t < a->length; t++)
    linear_step(a, &noise, batch * a->length + t, head, m, column);
  for (int64_t d = 0; a->state && d < a->key; d++)
    ((double *)a->state)[place + d * a->value] = column[d];
}
