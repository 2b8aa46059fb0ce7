// SPDX-License-Identifier: Apache-2.0
// Where the extremes are, as ops/arg.c.

// A double's bits in the order of its value, both zeros alike.
DEVICE_FN uint64_t ordered(double x) {
  uint64_t bits = x == 0 ? 0 : F64_BITS(x);
  return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

DEVICE_FN uint64_t rank_of(const struct arg_order *o, const struct gpu_ref *x, int64_t at) {
  uint64_t key;
  if (o->is_float) {
    double v = read_f64(x, at);
    if (IS_NAN(v))
      return o->nan_ahead ? ~(uint64_t)0 : 0;
    key = ordered(v);
  } else {
    key = (uint64_t)read_i64(x, at) ^ (o->is_unsigned ? 0 : (uint64_t)1 << 63);
  }
  return o->largest ? key : ~key;
}

// Whether position i replaces the best one so far.
DEVICE_FN int wins(uint64_t rank, int64_t i, uint64_t best_rank, int64_t best, int32_t last) {
  return rank > best_rank || (rank == best_rank && (last ? i > best : i < best));
}

KERNEL(arg_part, struct arg_args) {
  int64_t t = THREAD, row, part;
  if (t >= a->rows.count * a->parts)
    return;
  rows_place(t, a->row_fastest, a->rows.count, a->parts, &row, &part);
  int64_t begin = rows_begin(&a->rows, row), best = part;
  uint64_t best_rank = rank_of(&a->order, &a->x, begin + rows_ahead(&a->rows, part));
  for (int64_t i = part + a->parts; i < a->rows.length; i += a->parts) {
    uint64_t rank = rank_of(&a->order, &a->x, begin + rows_ahead(&a->rows, i));
    if (wins(rank, i, best_rank, best, a->last)) {
      best = i;
      best_rank = rank;
    }
  }
  ((int64_t *)a->winners)[t] = best;
}

KERNEL(arg_join, struct arg_join_args) {
  int64_t t = THREAD, row, part;
  if (t >= a->rows.count * a->n_to)
    return;
  rows_place(t, a->row_fastest, a->rows.count, a->n_to, &row, &part);
  const int64_t *from = (const int64_t *)a->from;
  int64_t begin = rows_begin(&a->rows, row), best = 0;
  uint64_t best_rank = 0;
  for (int64_t p = part; p < a->n_from; p += a->n_to) {
    int64_t i = from[a->row_fastest ? p * a->rows.count + row : row * a->n_from + p];
    uint64_t rank = rank_of(&a->order, &a->x, begin + rows_ahead(&a->rows, i));
    if (p == part || wins(rank, i, best_rank, best, a->last)) {
      best = i;
      best_rank = rank;
    }
  }
  ((int64_t *)a->to)[t] = best;
}

// Sorting puts the least first, and of equal keys the lower position.
KERNEL(top_k_fill, struct top_k_args) {
  int64_t t = THREAD;
  if (t >= a->n)
    return;
  int64_t row = a->first + t / a->padded, i = t % a->padded;
  ((uint64_t *)a->keys)[t] =
      i < a->in.length ? ~rank_of(&a->order, &a->x, rows_begin(&a->in, row) + rows_ahead(&a->in, i)) : ~(uint64_t)0;
  ((int64_t *)a->positions)[t] = i;
}

KERNEL(top_k_take, struct top_k_args) {
  int64_t t = THREAD, k = a->out.length;
  if (t >= a->n / a->padded * k)
    return;
  int64_t row = t / k, i = t - row * k, best = ((const int64_t *)a->positions)[row * a->padded + i];
  row += a->first;
  int64_t to = rows_begin(&a->out, row) + rows_ahead(&a->out, i);
  if (a->values)
    ((uint64_t *)a->values)[to] = read_bits(&a->x, rows_begin(&a->in, row) + rows_ahead(&a->in, best));
  if (a->indices)
    ((int64_t *)a->indices)[to] = best;
}
