// SPDX-License-Identifier: Apache-2.0
#include "ops/normalize.h"

#include <string.h>

#include "base/parallel.h"
#include "ops/loops.h"
#include "ops/rounding.h"

struct work {
  const struct normalize *n;
  struct rows x, scale, bias;
  int64_t first; // the number of row 0 among those of a whole batch
};

// One tile of rows. Each line's noise, moments and divisor.
struct tile {
  const struct work *w;
  int64_t row;
  int width;
  struct noise noise[ROWS_WIDTH];
  double mean[ROWS_WIDTH], variance[ROWS_WIDTH], root[ROWS_WIDTH];
  const double *lines[ROWS_WIDTH];
  double buffer[ROWS_WIDTH * ROWS_CHUNK], made[ROWS_WIDTH * ROWS_CHUNK];
};

static int64_t read_x(struct tile *t, int64_t at) {
  const struct rows *x = &t->w->x;
  struct rows_piece rest = {t->row, t->width, at, x->length - at};
  return rows_view(x, t->w->n->x, rest, t->buffer, t->lines);
}

// A row's sum so far: of terms, of their squares, and by one accumulator, where the pass asks for it.
struct sum {
  struct total total;
  float lane;
};

static void add_terms(const struct tile *t, struct sum *sum, const double *terms, int64_t n) {
  struct total part = loops_total(terms, n);
  sum->total.y += part.y;
  sum->total.t2 += part.t2;
  for (int64_t i = 0; i < n && t->w->n->arith->one_lane; i++)
    sum->lane += (float)terms[i];
}

static double finish_mean(const struct tile *t, const struct sum *sum, struct noise *noise) {
  const struct arith *a = t->w->n->arith;
  double length = (double)t->w->x.length, y = sum->total.y;
  bool lane = a->one_lane && t->w->x.length <= ARITH_LANE_LENGTH;
  double made = arith_sum_lost(a, noise, y, sum->total.t2, length, lane ? (double)sum->lane - y : 0,
                               lane ? ARITH_LOST_SHARED : 0);
  return arith_round(a, noise, made / length);
}

static void find_means(struct tile *t) {
  struct sum sum[ROWS_WIDTH] = {0};
  int64_t n;
  for (int64_t at = 0; at < t->w->x.length; at += n) {
    n = read_x(t, at);
    for (int r = 0; r < t->width; r++)
      add_terms(t, &sum[r], t->lines[r], n);
  }
  for (int r = 0; r < t->width; r++)
    t->mean[r] = finish_mean(t, &sum[r], &t->noise[r]);
}

// What is read of row r, less its mean where that is wanted.
static void read_centred(const struct tile *t, int r, int64_t n, struct rounding_turns turns, double *d) {
  memcpy(d, t->lines[r], (size_t)n * sizeof *d);
  if (!t->w->n->center)
    return;
  for (int64_t i = 0; i < n; i++)
    d[i] -= t->mean[r];
  rounding_run(t->w->n->arith, &t->noise[r], turns, n, d);
}

static void square_terms(struct tile *t, int r, int64_t n, double *squares) {
  const struct arith *a = t->w->n->arith;
  const int of = t->w->n->center ? 2 : 1;
  read_centred(t, r, n, (struct rounding_turns){of, 0}, squares);
  for (int64_t i = 0; i < n; i++)
    squares[i] *= squares[i];
  rounding_run(a, &t->noise[r], (struct rounding_turns){of, of - 1}, n, squares);
  noise_skip(&t->noise[r], of * n);
}

static void find_variances(struct tile *t) {
  struct sum sum[ROWS_WIDTH] = {0};
  double squares[ROWS_CHUNK];
  int64_t n;
  for (int64_t at = 0; at < t->w->x.length; at += n) {
    n = read_x(t, at);
    for (int r = 0; r < t->width; r++) {
      square_terms(t, r, n, squares);
      add_terms(t, &sum[r], squares, n);
    }
  }
  for (int r = 0; r < t->width; r++)
    t->variance[r] = finish_mean(t, &sum[r], &t->noise[r]);
}

// Rows of scale and bias are as long as x's, wherever they lie.
static const double *read_affine(const struct affine *f, const struct rows *rows, int64_t row, int64_t at, int64_t n,
                                 double *buffer) {
  const double *line;
  for (int64_t done = 0; done < n;) {
    double part[ROWS_CHUNK];
    int64_t got = rows_view(rows, f->values, (struct rows_piece){row, 1, at + done, n - done}, part, &line);
    for (int64_t i = 0; i < got; i++)
      buffer[done + i] = line[i];
    done += got;
  }
  return buffer;
}

// Row r's elements as they are written, each rounded after every step.
static void write_row(struct tile *t, int r, int64_t at, int64_t n) {
  const struct normalize *job = t->w->n;
  double factor[ROWS_CHUNK], *y = t->made + r * ROWS_CHUNK;
  struct rounding_turns turns = {.of = job->center + 1 + (job->scale.values != NULL) + (job->bias.values != NULL)};
  read_centred(t, r, n, turns, y);
  turns.place += job->center;
  for (int64_t i = 0; i < n; i++)
    y[i] /= t->root[r];
  rounding_run(job->arith, &t->noise[r], turns, n, y);
  if (job->scale.values) {
    read_affine(&job->scale, &t->w->scale, t->row + r, at, n, factor);
    for (int64_t i = 0; i < n; i++)
      y[i] *= factor[i];
    turns.place++;
    rounding_run(job->arith, &t->noise[r], turns, n, y);
  }
  if (job->bias.values) {
    read_affine(&job->bias, &t->w->bias, t->row + r, at, n, factor);
    for (int64_t i = 0; i < n; i++)
      y[i] += factor[i];
    turns.place++;
    rounding_run(job->arith, &t->noise[r], turns, n, y);
  }
  noise_skip(&t->noise[r], turns.of * n);
}

static void write_rows(struct tile *t) {
  int64_t n;
  for (int64_t at = 0; at < t->w->x.length; at += n) {
    n = read_x(t, at);
    for (int r = 0; r < t->width; r++)
      write_row(t, r, at, n);
    rows_store(&t->w->x, t->w->n->y, (struct rows_piece){t->row, t->width, at, n}, t->made);
  }
}

static void find_roots(struct tile *t) {
  const struct normalize *job = t->w->n;
  const struct arith *a = job->arith;
  for (int r = 0; r < t->width; r++) {
    struct noise *noise = &t->noise[r];
    double v = t->variance[r];
    if (job->epsilon != 0)
      v = arith_round(a, noise, v + job->epsilon);
    v = arith_round(a, noise, sqrt(v));
    if (job->epsilon_after != 0)
      v = arith_round(a, noise, v + job->epsilon_after);
    t->root[r] = v;
    if (job->mean)
      job->mean[t->row + r] = t->mean[r];
    if (job->variance)
      job->variance[t->row + r] = t->variance[r];
    if (job->inverse)
      job->inverse[t->row + r] = arith_round(a, noise, 1 / v);
  }
}

// Common code folds the mean into one number after the factor, x * f + (bias - mean * f), or multiplies a sum by a
// rounded 1 / n. So there is an error in the mean also where it is exact, as it is among small integers: in a group
// whose values are all the same, nothing else would err, and 1 / sqrt(epsilon) magnifies what does.
static void unsettle_means(struct tile *t) {
  for (int r = 0; r < t->width; r++)
    t->mean[r] = arith_round_ulps(t->w->n->arith, &t->noise[r], t->mean[r], 1);
}

static void run_tile(struct tile *t) {
  const struct normalize *job = t->w->n;
  for (int r = 0; r < t->width; r++) {
    t->noise[r] = noise_at(job->arith->key, (uint64_t)(t->w->first + t->row + r));
    t->mean[r] = job->given_mean ? job->given_mean[t->row + r] : 0;
    t->variance[r] = job->given_variance ? job->given_variance[t->row + r] : 0;
  }
  if (job->center && !job->given_mean)
    find_means(t);
  if (!job->given_variance)
    find_variances(t);
  find_roots(t);
  if (job->center)
    unsettle_means(t);
  if (job->y)
    write_rows(t);
}

static void run_range(void *arg, int64_t begin, int64_t end) {
  struct tile t;
  t.w = arg;
  for (int64_t i = begin; i < end; i++) {
    rows_tile(&t.w->x, i, &t.row, &t.width);
    run_tile(&t);
  }
}

void normalize_run(const struct normalize *n) {
  struct work w = {.n = n};
  rows_init(&w.x, &n->view, n->axes, NULL);
  rows_init(&w.scale, &n->view, n->axes, n->scale.strides);
  rows_init(&w.bias, &n->view, n->axes, n->bias.strides);
  w.first = arith_first(n->arith, w.x.count, n->view.dims[0]);
  parallel_for(n->threads, rows_tiles(&w.x), 1 + 5000 / (w.x.length + 1), run_range, &w);
}
