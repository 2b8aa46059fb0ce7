// SPDX-License-Identifier: Apache-2.0
// Pooling. Comes after common.cuh and pool_args.h.
#if defined(__CUDACC__) || defined(__CUDACC_RTC__)
#define UNROLL_ALL _Pragma("unroll")
#else
#define UNROLL_ALL
#endif

// One output's window: along each dimension the taps [first, end) that lie in the input, and where tap 0 would be.
struct pool_window {
  int64_t plane, q[POOL_DIMS], at[POOL_DIMS], first[POOL_DIMS], end[POOL_DIMS];
  int64_t taps; // of the dimensions but the last
};

DEVICE_FN struct pool_window pool_window_of(const struct pool_args *a, int64_t i) {
  struct pool_window w;
  w.plane = i / a->out_size;
  w.taps = 1;
  int64_t rest = i - w.plane * a->out_size;
  UNROLL_ALL
  for (int d = POOL_DIMS - 1; d >= 0; d--) {
    w.q[d] = w.at[d] = w.first[d] = 0;
    w.end[d] = 1;
    if (d >= POOL_DIMS - a->n) {
      int64_t next = rest / a->out[d], dilation = a->dilation[d];
      w.q[d] = rest - next * a->out[d];
      rest = next;
      int64_t at = w.q[d] * a->stride[d] - a->pad_begin[d];
      int64_t first = at < 0 ? (-at + dilation - 1) / dilation : 0, room = a->in[d] - at;
      int64_t end = room > 0 ? (room - 1) / dilation + 1 : 0;
      w.at[d] = at;
      w.end[d] = end < a->kernel[d] ? end : a->kernel[d];
      w.first[d] = first < w.end[d] ? first : w.end[d];
      if (d < POOL_DIMS - 1)
        w.taps *= w.end[d] - w.first[d];
    }
  }
  return w;
}

// Where combination `tap` of the outer dimensions' taps begins in the plane.
DEVICE_FN int64_t pool_row(const struct pool_args *a, const struct pool_window *w, int64_t tap) {
  int64_t at = 0, step = a->in[POOL_DIMS - 1];
  UNROLL_ALL
  for (int d = POOL_DIMS - 2; d >= 0; d--)
    if (d >= POOL_DIMS - a->n) {
      int64_t n = w->end[d] - w->first[d], next = tap / n;
      at += (w->at[d] + (w->first[d] + tap - next * n) * a->dilation[d]) * step;
      tap = next;
      step *= a->in[d];
    }
  return at;
}

// Runs BODY for every element of the window, in order; `v` is its value and `at` its offset in the plane. The inner
// loop is written once for floats, which nearly all inputs are, and once for the rest.
#define POOL_LOOP(BODY)                                                                                                \
  for (int64_t tap = 0; tap < w.taps; tap++) {                                                                         \
    int64_t at = pool_row(a, &w, tap) + w.at[LAST] + w.first[LAST] * a->dilation[LAST];                                \
    for (int64_t k = w.first[LAST]; k < w.end[LAST]; k++, at += a->dilation[LAST]) {                                   \
      double v = plain ? (double)plain[base + at] : read_f64(&a->x, base + at);                                        \
      BODY                                                                                                             \
    }                                                                                                                  \
  }
#define LAST (POOL_DIMS - 1)

// Elements of the window inside the input.
DEVICE_FN double pool_inside(const struct pool_window *w) {
  return (double)(w->taps * (w->end[LAST] - w->first[LAST]));
}

// The same with those in the padding. ceil_mode lets the last window hang over even the padding.
DEVICE_FN double pool_padded(const struct pool_args *a, const struct pool_window *w) {
  double count = 1;
  UNROLL_ALL
  for (int d = 0; d < POOL_DIMS; d++)
    if (d >= POOL_DIMS - a->n) {
      int64_t room = a->in[d] + a->pad_end[d] - w->at[d], fit = room > 0 ? (room - 1) / a->dilation[d] + 1 : 0;
      count *= (double)(fit < a->kernel[d] ? fit : a->kernel[d]);
    }
  return count;
}

#define POOL_BEGIN                                                                                                     \
  int64_t i = THREAD;                                                                                                  \
  if (i >= a->planes * a->out_size)                                                                                    \
    return;                                                                                                            \
  struct pool_window w = pool_window_of(a, i);                                                                         \
  const float *plain = (const float *)(a->x.storage == STORAGE_F32 ? a->x.data : 0);                                   \
  int64_t base = w.plane * a->in_size;

KERNEL(pool_average, struct pool_args) {
  POOL_BEGIN
  double y = 0, t2 = 0;
  POOL_LOOP(y += v; t2 += v * v;)
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  double inside = pool_inside(&w), by = a->count_padding ? pool_padded(a, &w) : inside;
  y = arith_sum(&a->arith, &noise, y, t2, inside, false) / by;
  ((double *)a->y)[i] = arith_round(&a->arith, &noise, y);
}

// |v|^p as one term, rounded as it would be.
DEVICE_FN double power_term(const struct gpu_arith *a, struct noise *noise, double v, double power) {
  v = fabs(v);
  if (power == 2)
    return arith_round(a, noise, v * v);
  return power == 1 ? v : arith_round_ulps(a, noise, pow(v, power), 2);
}

DEVICE_FN double power_root(const struct gpu_arith *a, struct noise *noise, double y, double power) {
  if (power == 2)
    return arith_round(a, noise, sqrt(y));
  return power == 1 ? y : arith_round_ulps(a, noise, pow(y, 1 / power), 2);
}

KERNEL(pool_power, struct pool_args) {
  POOL_BEGIN
  double y = 0, t2 = 0;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  POOL_LOOP(double term = power_term(&a->arith, &noise, v, a->power); y += term; t2 += term * term;)
  y = arith_sum(&a->arith, &noise, y, t2, pool_inside(&w), false);
  ((double *)a->y)[i] = power_root(&a->arith, &noise, y, a->power);
}

// The position in the input of an element of the plane, as the output of indices has it.
DEVICE_FN int64_t pool_index_of(const struct pool_args *a, int64_t plane, int64_t at) {
  if (!a->column_major)
    return plane * a->in_size + at;
  int64_t turned = 0;
  UNROLL_ALL
  for (int d = POOL_DIMS - 1; d >= 0; d--)
    if (d >= POOL_DIMS - a->n) {
      int64_t next = at / a->in[d];
      turned = turned * a->in[d] + at - next * a->in[d];
      at = next;
    }
  return plane * a->in_size + turned;
}

// The first maximum; where there is a NaN, the first NaN.
KERNEL(pool_max, struct pool_args) {
  POOL_BEGIN
  double y = -F64_INFINITY;
  int64_t best = -1;
  POOL_LOOP(if (best < 0 || v > y || (IS_NAN(v) && !IS_NAN(y))) {
    y = v;
    best = at;
  })
  ((double *)a->y)[i] = y;
  if (a->index)
    ((int64_t *)a->index)[i] = best < 0 ? -1 : pool_index_of(a, w.plane, best);
}

KERNEL(pool_max_integer, struct pool_args) {
  int64_t i = THREAD;
  if (i >= a->planes * a->out_size)
    return;
  struct pool_window w = pool_window_of(a, i);
  int64_t y = a->nothing, best = -1;
  for (int64_t tap = 0; tap < w.taps; tap++) {
    int64_t at = pool_row(a, &w, tap) + w.at[LAST] + w.first[LAST] * a->dilation[LAST];
    for (int64_t k = w.first[LAST]; k < w.end[LAST]; k++, at += a->dilation[LAST]) {
      int64_t v = read_i64(&a->x, w.plane * a->in_size + at);
      if (best < 0 || v > y) {
        y = v;
        best = at;
      }
    }
  }
  ((int64_t *)a->y)[i] = y;
  if (a->index)
    ((int64_t *)a->index)[i] = best < 0 ? -1 : pool_index_of(a, w.plane, best);
}

// ---- one window over a whole plane

#define GLOBAL_BEGIN                                                                                                   \
  int64_t i = THREAD, plane = i / a->parts, first = i - plane * a->parts;                                              \
  if (plane >= a->planes)                                                                                              \
    return;                                                                                                            \
  double y = 0;

KERNEL(global_sum_part, struct global_args) {
  GLOBAL_BEGIN
  double t2 = 0;
  for (int64_t k = first; k < a->size; k += a->parts) {
    double v = read_f64(&a->x, plane * a->size + k);
    y += v;
    t2 += v * v;
  }
  ((double *)a->part)[i] = y;
  ((double *)a->part_t2)[i] = t2;
}

KERNEL(global_power_part, struct global_args) {
  GLOBAL_BEGIN
  double t2 = 0;
  struct noise noise = noise_at(a->arith.key, (uint64_t)(a->planes + i));
  for (int64_t k = first; k < a->size; k += a->parts) {
    double v = power_term(&a->arith, &noise, read_f64(&a->x, plane * a->size + k), a->power);
    y += v;
    t2 += v * v;
  }
  ((double *)a->part)[i] = y;
  ((double *)a->part_t2)[i] = t2;
}

KERNEL(global_max_part, struct global_args) {
  GLOBAL_BEGIN
  y = -F64_INFINITY;
  for (int64_t k = first; k < a->size; k += a->parts) {
    double v = read_f64(&a->x, plane * a->size + k);
    y = v > y || IS_NAN(v) ? v : y; // once NaN, nothing is greater
  }
  ((double *)a->part)[i] = y;
}

// The parts of plane i added up.
DEVICE_FN void global_add(const struct global_args *a, int64_t i, double *y, double *t2) {
  *y = *t2 = 0;
  for (int64_t k = 0; k < a->parts; k++) {
    *y += ((const double *)a->part)[i * a->parts + k];
    *t2 += ((const double *)a->part_t2)[i * a->parts + k];
  }
}

KERNEL(global_mean, struct global_args) {
  int64_t i = THREAD;
  if (i >= a->planes)
    return;
  double y, t2;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  global_add(a, i, &y, &t2);
  y = arith_sum(&a->arith, &noise, y, t2, (double)a->size, false) / (double)a->size;
  ((double *)a->y)[i] = arith_round(&a->arith, &noise, y);
}

KERNEL(global_root, struct global_args) {
  int64_t i = THREAD;
  if (i >= a->planes)
    return;
  double y, t2;
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  global_add(a, i, &y, &t2);
  y = arith_sum(&a->arith, &noise, y, t2, (double)a->size, false);
  ((double *)a->y)[i] = power_root(&a->arith, &noise, y, a->power);
}

KERNEL(global_max, struct global_args) {
  int64_t i = THREAD;
  if (i >= a->planes)
    return;
  double y = -F64_INFINITY;
  for (int64_t k = 0; k < a->parts; k++) {
    double v = ((const double *)a->part)[i * a->parts + k];
    y = v > y || IS_NAN(v) ? v : y;
  }
  ((double *)a->y)[i] = y;
}
