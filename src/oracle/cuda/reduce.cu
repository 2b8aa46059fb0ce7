// SPDX-License-Identifier: Apache-2.0
// Reductions of rows to one number each, as ops/reduce.c: the same terms, the same error of their sum.

#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif
#define SEVERAL 4 // elements that a thread reads at a time

struct reduce_state {
  struct reduce_partial p;
  struct noise noise;
  double shift;
  float lane; // the sum by one accumulator (ops/reduce.c)
};

// How one element is taken in, by kind; `kind` is a constant wherever this is expanded.
#define KIND_SUM 0
#define KIND_MAGNITUDES 1
#define KIND_SQUARES 2
#define KIND_EXPONENTIALS 3
#define KIND_MAX 4
#define KIND_MIN 5
#define KIND_PRODUCT 6
#define KIND_DEVIATIONS 7 // squares of x - shift
#define KIND_SOFTMAX 8 // exponentials, kept

DEVICE_FN double exponential(const struct gpu_arith *a, struct noise *n, double shifted) {
  return arith_round_power(a, n, exp(shifted));
}

DEVICE_FN void add_term(const struct reduce_args *a, struct reduce_state *s, double term) {
  s->p.y += term;
  s->p.t2 += term * term;
  if (a->one_lane)
    s->lane += (float)term;
}

DEVICE_FN void take(int kind, const struct reduce_args *a, struct reduce_state *s, double x, int64_t at) {
  const struct gpu_arith *arith = &a->arith;
  double d;
  switch (kind) {
  case KIND_SUM:
    add_term(a, s, x);
    return;
  case KIND_MAGNITUDES:
    add_term(a, s, fabs(x));
    return;
  case KIND_SQUARES:
    add_term(a, s, arith_round(arith, &s->noise, x * x));
    return;
  case KIND_DEVIATIONS:
    d = arith_round(arith, &s->noise, x - s->shift);
    add_term(a, s, arith_round(arith, &s->noise, d * d));
    return;
  case KIND_EXPONENTIALS:
  case KIND_SOFTMAX:
    d = arith_round(arith, &s->noise, x - s->shift);
    x = exponential(arith, &s->noise, d);
    if (kind == KIND_SOFTMAX)
      ((double *)a->terms)[at] = a->keep_shifted ? d : x;
    add_term(a, s, x);
    return;
  case KIND_MAX:
    s->p.y = x > s->p.y || IS_NAN(x) ? x : s->p.y; // once NaN, nothing is greater
    return;
  case KIND_MIN:
    s->p.y = x < s->p.y || IS_NAN(x) ? x : s->p.y;
    return;
  case KIND_PRODUCT:
    s->p.y = arith_round(arith, &s->noise, s->p.y * x);
    return;
  }
}

// The same for two partial results.
DEVICE_FN void take_partial(int kind, const struct gpu_arith *arith, struct reduce_state *s,
                            const struct reduce_partial *p) {
  double x = p->y;
  if (kind == KIND_MAX)
    s->p.y = x > s->p.y || IS_NAN(x) ? x : s->p.y;
  else if (kind == KIND_MIN)
    s->p.y = x < s->p.y || IS_NAN(x) ? x : s->p.y;
  else if (kind == KIND_PRODUCT)
    s->p.y = arith_round(arith, &s->noise, s->p.y * x);
  else {
    s->p.y += p->y;
    s->p.t2 += p->t2;
  }
}

DEVICE_FN struct reduce_state start_of(int kind, uint64_t key, int64_t stream) {
  struct reduce_state s;
  s.p.t2 = 0;
  s.p.y = kind == KIND_MAX ? -F64_INFINITY : kind == KIND_MIN ? F64_INFINITY : kind == KIND_PRODUCT ? 1 : 0;
  s.noise = noise_at(key, (uint64_t)stream);
  s.shift = 0;
  s.lane = 0;
  return s;
}

// On a copy: what a function that is not inlined can reach does not stay in registers.
DEVICE_FN_LARGE double finish_copy(int finish, const struct gpu_arith *arith, struct reduce_state *s, int64_t length,
                                   int one_lane) {
  if (finish == REDUCE_FINISH_VALUE)
    return s->p.y;
  if (finish == REDUCE_FINISH_FINITE)
    return IS_FINITE(s->p.y) ? s->p.y : 0;
  double lost = one_lane ? (double)s->lane - s->p.y : 0;
  double y = arith_sum_lost(arith, &s->noise, s->p.y, s->p.t2, (double)length, lost, one_lane);
  if (finish == REDUCE_FINISH_MEAN)
    return arith_round(arith, &s->noise, y / (double)length);
  if (finish == REDUCE_FINISH_ROOT)
    return arith_round(arith, &s->noise, sqrt(y));
  if (finish == REDUCE_FINISH_SUM)
    return y;
  if (finish == REDUCE_FINISH_LOST)
    return IS_FINITE(y - s->p.y) ? y - s->p.y : 0;
  y = arith_round_ulps(arith, &s->noise, log(y), 1);
  return finish == REDUCE_FINISH_LOG_SHIFTED ? arith_round(arith, &s->noise, y + s->shift) : y;
}

DEVICE_FN double finish_row(int finish, const struct gpu_arith *arith, const struct reduce_state *s, int64_t length,
                            int one_lane) {
  struct reduce_state copy = *s;
  return finish_copy(finish, arith, &copy, length, one_lane);
}

DEVICE_FN double shift_of(uint64_t shift, int64_t row) {
  return shift ? ((const double *)shift)[row] : 0;
}

DEVICE_FN int64_t part_end(const struct reduce_args *a, int64_t part) {
  int64_t end = part * a->lead + a->span;
  return end < a->rows.length ? end : a->rows.length;
}

// Rare types are read by a function that is not inlined: inlined everywhere it would take long to compile.
DEVICE_FN_LARGE double read_rare(uint64_t data, int32_t storage, int64_t at) {
  struct gpu_ref r;
  r.data = data;
  r.storage = storage;
  return read_f64(&r, at);
}

DEVICE_FN double read_one(const struct gpu_ref *r, int64_t at) {
  if (r->storage == STORAGE_F32)
    return (double)((const float *)r->data)[at];
  if (r->storage == STORAGE_F64)
    return ((const double *)r->data)[at];
  return read_rare(r->data, r->storage, at);
}

// Several elements are read before the first is needed: one at a time, a thread would wait for memory after each.
DEVICE_FN void read_several(const struct gpu_ref *r, const int64_t *at, double *x) {
  if (r->storage == STORAGE_F32) {
    UNROLL
    for (int k = 0; k < SEVERAL; k++)
      x[k] = (double)((const float *)r->data)[at[k]];
  } else if (r->storage == STORAGE_F64) {
    UNROLL
    for (int k = 0; k < SEVERAL; k++)
      x[k] = ((const double *)r->data)[at[k]];
  } else {
    UNROLL
    for (int k = 0; k < SEVERAL; k++)
      x[k] = read_rare(r->data, r->storage, at[k]);
  }
}

DEVICE_FN void reduce_part(int kind, const struct reduce_args *a, int64_t t) {
  int64_t row, part;
  if (t >= a->rows.count * a->parts)
    return;
  rows_place(t, a->row_fastest, a->rows.count, a->parts, &row, &part);
  struct reduce_state s = start_of(kind, a->arith.key, row * a->parts + part);
  s.shift = shift_of(a->shift, row);
  int64_t begin = rows_begin(&a->rows, row), end = part_end(a, part), i = part * a->lead, at[SEVERAL];
  double x[SEVERAL];
  for (; i + (SEVERAL - 1) * a->step < end; i += SEVERAL * a->step) {
    UNROLL
    for (int k = 0; k < SEVERAL; k++)
      at[k] = begin + rows_ahead(&a->rows, i + k * a->step);
    read_several(&a->x, at, x);
    UNROLL
    for (int k = 0; k < SEVERAL; k++)
      take(kind, a, &s, x[k], at[k]);
  }
  for (; i < end; i += a->step) {
    at[0] = begin + rows_ahead(&a->rows, i);
    take(kind, a, &s, read_one(&a->x, at[0]), at[0]);
  }
  if (a->parts > 1)
    ((struct reduce_partial *)a->partials)[t] = s.p;
  else
    ((double *)a->y)[row] = finish_row(a->finish, &a->arith, &s, a->rows.length, a->one_lane);
}

KERNEL(reduce_sum, struct reduce_args) { reduce_part(KIND_SUM, a, THREAD); }
KERNEL(reduce_magnitudes, struct reduce_args) { reduce_part(KIND_MAGNITUDES, a, THREAD); }
KERNEL(reduce_squares, struct reduce_args) { reduce_part(KIND_SQUARES, a, THREAD); }
KERNEL(reduce_exponentials, struct reduce_args) { reduce_part(KIND_EXPONENTIALS, a, THREAD); }
KERNEL(reduce_max, struct reduce_args) { reduce_part(KIND_MAX, a, THREAD); }
KERNEL(reduce_min, struct reduce_args) { reduce_part(KIND_MIN, a, THREAD); }
KERNEL(reduce_product, struct reduce_args) { reduce_part(KIND_PRODUCT, a, THREAD); }
KERNEL(reduce_deviations, struct reduce_args) { reduce_part(KIND_DEVIATIONS, a, THREAD); }
KERNEL(reduce_softmax, struct reduce_args) { reduce_part(KIND_SOFTMAX, a, THREAD); }

// Thread: one of n_to joint results of a row. With one left the row is done.
KERNEL(reduce_join, struct reduce_join_args) {
  int64_t t = THREAD, row, part;
  if (t >= a->count * a->n_to)
    return;
  rows_place(t, a->row_fastest, a->count, a->n_to, &row, &part);
  struct reduce_state s = start_of(a->kind, a->arith.key ^ 0x9E3779B97F4A7C15u, row * a->n_to + part);
  s.shift = shift_of(a->shift, row);
  const struct reduce_partial *from = (const struct reduce_partial *)a->from;
  for (int64_t i = part; i < a->n_from; i += a->n_to)
    take_partial(a->kind, &a->arith, &s, &from[a->row_fastest ? i * a->count + row : row * a->n_from + i]);
  if (a->n_to > 1)
    ((struct reduce_partial *)a->to)[t] = s.p;
  else
    ((double *)a->y)[row] = finish_row(a->finish, &a->arith, &s, a->length, 0);
}

KERNEL(reduce_centre, struct reduce_centre_args) {
  int64_t row = THREAD;
  if (row >= a->count)
    return;
  struct noise noise = noise_at(a->arith.key, (uint64_t)row);
  double *y = (double *)a->y + row, n = (double)a->length;
  double squares = a->finish == REDUCE_FINISH_ROOT ? *y * *y : a->finish == REDUCE_FINISH_MEAN ? *y * n : *y;
  double ulps = squares > 0 ? a->ulps * fabs(read_f64(&a->centre, row)) * sqrt(n / squares) : 0;
  *y = arith_round_ulps(&a->arith, &noise, *y, a->finish == REDUCE_FINISH_ROOT ? ulps / 2 : ulps);
}

KERNEL(reduce_nested, struct reduce_nested_args) {
  int64_t row = THREAD;
  if (row < a->count)
    ((double *)a->y)[row] += a->part * ((const double *)a->lost)[row];
}

// Integers: one step is exact but for wrapping, so any order will do.

DEVICE_FN uint64_t step_integer(int kind, uint64_t y, uint64_t x) {
  switch (kind) {
  case REDUCE_INT_SUM:
    return y + x;
  case REDUCE_INT_L1:
    return y + ((int64_t)x < 0 ? 0 - x : x);
  case REDUCE_INT_SQUARES:
    return y + x * x;
  case REDUCE_INT_PRODUCT:
    return y * x;
  case REDUCE_INT_MAX:
    return (int64_t)x > (int64_t)y ? x : y;
  default:
    return (int64_t)x < (int64_t)y ? x : y;
  }
}

DEVICE_FN int64_t finish_integer(uint64_t y, int64_t length, int64_t flip, int32_t mean, int32_t dtype) {
  if (mean)
    y = length ? (uint64_t)((int64_t)y / length) : 0;
  return rows_wrap(dtype, y ^ (uint64_t)flip);
}

KERNEL(reduce_integers, struct reduce_int_args) {
  const struct reduce_args *r = &a->r;
  int64_t t = THREAD, row, part;
  if (t >= r->rows.count * r->parts)
    return;
  rows_place(t, r->row_fastest, r->rows.count, r->parts, &row, &part);
  uint64_t y = (uint64_t)a->start;
  int64_t begin = rows_begin(&r->rows, row), end = part_end(r, part);
  for (int64_t i = part * r->lead; i < end; i += r->step)
    y = step_integer(r->kind, y, (uint64_t)(read_i64(&r->x, begin + rows_ahead(&r->rows, i)) ^ a->flip));
  if (r->parts > 1)
    ((uint64_t *)r->partials)[t] = y;
  else
    ((int64_t *)r->y)[row] = finish_integer(y, r->rows.length, a->flip, a->mean, a->dtype);
}

KERNEL(reduce_join_integers, struct reduce_int_join_args) {
  int64_t t = THREAD, row, part;
  if (t >= a->count * a->n_to)
    return;
  rows_place(t, a->row_fastest, a->count, a->n_to, &row, &part);
  const uint64_t *from = (const uint64_t *)a->partials;
  // Magnitudes and squares are taken already.
  int kind = a->kind == REDUCE_INT_L1 || a->kind == REDUCE_INT_SQUARES ? REDUCE_INT_SUM : a->kind;
  uint64_t y = from[a->row_fastest ? part * a->count + row : row * a->n_from + part];
  for (int64_t i = part + a->n_to; i < a->n_from; i += a->n_to)
    y = step_integer(kind, y, from[a->row_fastest ? i * a->count + row : row * a->n_from + i]);
  if (a->n_to > 1)
    ((uint64_t *)a->to)[t] = y;
  else
    ((int64_t *)a->y)[row] = finish_integer(y, a->length, a->flip, a->mean, a->dtype);
}
