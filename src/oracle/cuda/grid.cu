// SPDX-License-Identifier: Apache-2.0
// Images sampled where a grid says, as ops/grid.c; a thread for each element.

DEVICE_FN double grid_position(const struct grid_args *a, struct noise *noise, double at, double n) {
  double ahead = arith_round(&a->arith, noise, at + 1);
  if (a->align_corners)
    return arith_round(&a->arith, noise, ahead / 2 * (n - 1));
  ahead = arith_round(&a->arith, noise, ahead * n);
  return arith_round(&a->arith, noise, ahead - 1) / 2;
}

DEVICE_FN double grid_reflect(double x, double low, double high) {
  double range = high - low, over = x < low ? low - x : x - high;
  if (over <= 0)
    return x;
  if (!IS_FINITE(over))
    return high;
  double times = range > 0 ? floor(over / range) : 0, rest = range > 0 ? over - times * range : 0;
  return (x < low) == (fmod(times, 2.0) == 0) ? low + rest : high - rest;
}

DEVICE_FN double grid_clamp(double x, double low, double high) { return x < low ? low : x > high ? high : x; }

DEVICE_FN double grid_place(const struct grid_args *a, double x, double n) {
  if (a->padding == GRID_SAMPLE_ZEROS || a->padding == GRID_SAMPLE_BORDER)
    return grid_clamp(x, -3, n + 2);
  return grid_reflect(x, a->align_corners ? 0 : -0.5, n - (a->align_corners ? 1 : 0.5));
}

DEVICE_FN int64_t grid_pixel(const struct grid_args *a, double i, double n) {
  if (a->padding == GRID_SAMPLE_ZEROS)
    return i >= 0 && i < n ? (int64_t)i : -1;
  if (a->padding != GRID_SAMPLE_BORDER)
    i = grid_reflect(i, a->align_corners ? 0 : -0.5, n - (a->align_corners ? 1 : 0.5));
  return (int64_t)grid_clamp(i, 0, n - 1);
}

DEVICE_FN double grid_cubic(double x) {
  double a = -0.75;
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

struct grid_taps {
  int n;
  int64_t index[GRID_SAMPLE_DIMS][4];
  double weight[GRID_SAMPLE_DIMS][4];
};

DEVICE_FN void grid_find(const struct grid_args *a, struct noise *noise, int64_t place, struct grid_taps *t) {
  t->n = a->mode == GRID_SAMPLE_NEAREST ? 1 : a->mode == GRID_SAMPLE_LINEAR ? 2 : 4;
  for (int d = 0; d < a->dims; d++) {
    double n = (double)a->extent[d];
    double x = grid_position(a, noise, read_f64(&a->at, place * a->dims + a->dims - 1 - d), n);
    int nowhere = IS_NAN(x);
    x = nowhere ? 0 : grid_place(a, t->n == 1 ? rint(x) : x, n);
    double first = floor(x) - (t->n == 4 ? 1 : 0);
    for (int k = 0; k < t->n; k++) {
      double off = fabs(x - (first + k)), weight = 1;
      if (t->n > 1)
        weight = arith_round(&a->arith, noise, t->n == 2 ? 1 - off : grid_cubic(off));
      t->index[d][k] = grid_pixel(a, first + k, n);
      t->weight[d][k] = nowhere && t->n > 1 ? F64_NAN : weight;
    }
  }
}

DEVICE_FN double grid_sum(const struct grid_args *a, const struct grid_taps *t, struct noise *noise, int64_t channel) {
  double sum = 0, squares = 0, terms = 0;
  int64_t combinations = 1;
  for (int d = 0; d < a->dims; d++)
    combinations *= t->n;
  for (int64_t c = 0; c < combinations; c++) {
    int64_t offset = channel, rest = c;
    double weight = 1, v = 0;
    int outside = 0;
    for (int d = a->dims - 1; d >= 0; d--) {
      int k = (int)(rest % t->n);
      rest /= t->n;
      int64_t i = t->index[d][k];
      outside |= i < 0;
      offset += i * a->stride[d];
      weight = d < a->dims - 1 ? arith_round(&a->arith, noise, weight * t->weight[d][k]) : t->weight[d][k];
    }
    if (!outside)
      v = read_f64(&a->x, offset);
    sum += weight * v;
    squares += weight * v * (weight * v);
    terms += weight != 0 ? 1 : 0;
  }
  return t->n == 1 ? sum : arith_sum(&a->arith, noise, sum, squares, terms, false);
}

KERNEL(grid_sample, struct grid_args) {
  int64_t i = THREAD;
  if (i >= a->count)
    return;
  int64_t channel = i / a->places, place = channel / a->channels * a->places + (i - channel * a->places);
  struct noise noise = noise_at(a->arith.key, (uint64_t)i);
  struct grid_taps t;
  grid_find(a, &noise, place, &t);
  double v = grid_sum(a, &t, &noise, channel * a->space);
  if (a->to_float)
    ((double *)a->y)[i] = v;
  else
    ((int64_t *)a->y)[i] = truncate_to_integer(a->to_bits, a->to_unsigned, v);
}
