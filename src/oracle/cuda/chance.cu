// SPDX-License-Identifier: Apache-2.0
// Numbers of chance, and what the tests of them count and sum up. Every sum has one order, whatever the device.

KERNEL(chance_draw_uniform, struct chance_draw_args) {
  int64_t i = THREAD;
  if (i < a->n)
    ((double *)a->y)[i] = chance_uniform(read_i64(&a->seeds, i / a->columns), i % a->columns);
}

KERNEL(chance_draw_binomial, struct chance_draw_args) {
  int64_t i = THREAD, column = i % a->columns;
  if (i < a->n)
    ((double *)a->y)[i] = chance_binomial(read_i64(&a->counts, column), read_f64(&a->chances, column),
                                          read_i64(&a->seeds, i / a->columns), column);
}

KERNEL(chance_find_places, struct chance_draw_args) {
  int64_t i = THREAD, column = i % a->columns;
  if (i >= a->n)
    return;
  int64_t n = read_i64(&a->counts, column);
  double x = read_f64(&a->x, i), p = read_f64(&a->chances, column);
  double part = chance_part(read_i64(&a->seeds, i / a->columns), column);
  ((double *)a->y)[i] = a->rarer ? chance_rarer_place(x, n, p, part) : chance_place(x, n, p, part);
}

// ---- looks

KERNEL(chance_outside, struct chance_look_args) {
  int64_t thread = THREAD;
  if (thread >= a->threads)
    return;
  uint64_t count = 0;
  for (int64_t i = thread; i < a->n; i += a->threads) {
    double x = read_f64(&a->u, i);
    count += !(x >= 0 && x < 1);
  }
  if (count > 0)
    ATOMIC_ADD_U64((uint64_t *)a->out, count);
}

KERNEL(chance_unlike, struct chance_pair_args) {
  int64_t thread = THREAD;
  if (thread >= a->look.threads)
    return;
  uint64_t count = 0;
  for (int64_t i = thread; i < a->look.n; i += a->look.threads)
    count += read_f64(&a->look.u, a->a + i) != read_f64(&a->look.u, a->b + i);
  if (count > 0)
    ATOMIC_ADD_U64((uint64_t *)a->look.out, count);
}

KERNEL(chance_cells, struct chance_list_args) {
  int64_t thread = THREAD;
  if (thread >= a->look.threads)
    return;
  uint64_t *cells = (uint64_t *)a->look.out + thread % a->copies * a->cells;
  int64_t mask = ((int64_t)1 << a->bits) - 1;
  for (int64_t i = thread; i < a->look.n; i += a->look.threads) {
    int64_t row = i / a->each, from = ((const int64_t *)a->rows)[row] * a->look.columns + (i - row * a->each) * a->tuple;
    int64_t cell = 0;
    for (int k = 0; k < a->tuple; k++)
      cell = cell << a->bits | ((int64_t)(read_f64(&a->look.u, from + k) * a->scale) & mask);
    ATOMIC_ADD_U64(&cells[cell], 1);
  }
}

KERNEL(chance_moments, struct chance_list_args) {
  int64_t thread = THREAD;
  if (thread >= a->look.threads)
    return;
  double sum = 0, squares = 0;
  for (int64_t i = thread; i < a->look.n; i += a->look.threads) {
    int64_t row = i / a->each;
    double x = read_f64(&a->look.u, ((const int64_t *)a->rows)[row] * a->look.columns + (i - row * a->each)) - 0.5;
    sum += x;
    squares += x * x;
  }
  double *out = (double *)a->look.out + thread * CHANCE_SUMS;
  for (int k = 0; k < CHANCE_SUMS; k++)
    out[k] = k == 0 ? sum : k == 1 ? squares : 0;
}

KERNEL(chance_multiply, struct chance_pair_args) {
  int64_t thread = THREAD;
  if (thread >= a->look.threads)
    return;
  double sums[CHANCE_SUMS];
  for (int k = 0; k < CHANCE_SUMS; k++)
    sums[k] = 0;
  for (int64_t i = thread; i < a->look.n; i += a->look.threads) {
    double x = read_f64(&a->look.u, a->a + i) - 0.5;
    UNROLL_ALL
    for (int k = 0; k < CHANCE_SUMS; k++)
      if (k < a->n_shifts && i + a->shifts[k] < a->look.n)
        sums[k] += x * (read_f64(&a->look.u, a->b + i + a->shifts[k]) - 0.5);
  }
  double *out = (double *)a->look.out + thread * CHANCE_SUMS;
  UNROLL_ALL
  for (int k = 0; k < CHANCE_SUMS; k++)
    out[k] = sums[k];
}

KERNEL(chance_fold, struct chance_fold_args) {
  int64_t target = THREAD;
  if (target >= a->targets)
    return;
  for (int k = 0; k < CHANCE_SUMS; k++) {
    double sum = 0;
    for (int64_t t = target; t < a->threads; t += a->targets)
      sum += ((const double *)a->from)[t * CHANCE_SUMS + k];
    ((double *)a->to)[target * CHANCE_SUMS + k] = sum;
  }
}

KERNEL(chance_first, struct chance_list_args) {
  int64_t i = THREAD;
  if (i < a->look.n)
    ((double *)a->look.out)[i] =
        read_f64(&a->look.u, ((const int64_t *)a->rows)[i / a->each] * a->look.columns + i % a->each);
}
