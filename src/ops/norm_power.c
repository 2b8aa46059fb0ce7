// SPDX-License-Identifier: Apache-2.0
#include "ops/norm_power.h"

#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/loops.h"

// LpNormalization: x over its 1-norm or 2-norm along an axis.

struct lp_work {
  const struct arith *arith;
  struct rows rows;
  const double *x;
  double *y;
  bool squares;
  int64_t first; // the number of row 0 among those of a whole batch
};

struct lp_tile {
  const struct lp_work *w;
  int64_t row;
  int width;
  struct noise noise[ROWS_WIDTH];
  double norm[ROWS_WIDTH];
  const double *lines[ROWS_WIDTH];
  double buffer[ROWS_WIDTH * ROWS_CHUNK], made[ROWS_WIDTH * ROWS_CHUNK];
};

static int64_t lp_read(struct lp_tile *t, int64_t at) {
  const struct rows *rows = &t->w->rows;
  struct rows_piece rest = {t->row, t->width, at, rows->length - at};
  return rows_view(rows, t->w->x, rest, t->buffer, t->lines);
}

static void lp_norms(struct lp_tile *t) {
  const struct arith *a = t->w->arith;
  struct total sum[ROWS_WIDTH] = {{0}};
  double terms[ROWS_CHUNK];
  int64_t n;
  for (int64_t at = 0; at < t->w->rows.length; at += n) {
    n = lp_read(t, at);
    for (int r = 0; r < t->width; r++) {
      for (int64_t i = 0; i < n; i++) {
        double v = t->lines[r][i];
        terms[i] = t->w->squares ? arith_round(a, &t->noise[r], v * v) : fabs(v);
      }
      struct total part = loops_total(terms, n);
      sum[r].y += part.y;
      sum[r].t2 += part.t2;
    }
  }
  for (int r = 0; r < t->width; r++) {
    t->norm[r] = arith_sum(a, &t->noise[r], sum[r].y, sum[r].t2, (double)t->w->rows.length, false);
    if (t->w->squares)
      t->norm[r] = arith_round(a, &t->noise[r], sqrt(t->norm[r]));
  }
}

static void lp_range(void *arg, int64_t begin, int64_t end) {
  struct lp_tile t;
  t.w = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t n;
    rows_tile(&t.w->rows, i, &t.row, &t.width);
    for (int r = 0; r < t.width; r++)
      t.noise[r] = noise_at(t.w->arith->key, (uint64_t)(t.w->first + t.row + r));
    lp_norms(&t);
    for (int64_t at = 0; at < t.w->rows.length; at += n) {
      n = lp_read(&t, at);
      for (int r = 0; r < t.width; r++)
        for (int64_t k = 0; k < n; k++)
          t.made[r * ROWS_CHUNK + k] =
              t.norm[r] == 0 ? 0 : arith_round(t.w->arith, &t.noise[r], t.lines[r][k] / t.norm[r]);
      rows_store(&t.w->rows, t.w->y, (struct rows_piece){t.row, t.width, at, n}, t.made);
    }
  }
}

enum assay_status lp_normalization_infer(struct op_infer *c, struct assay_error *err) {
  int axis;
  int64_t p = node_int(c->node, "p", 2);
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status)
    status = op_axis(c->node, node_int(c->node, "axis", -1), c->in[0]->shape.rank, &axis, err);
  if (!status && p != 1 && p != 2)
    return op_invalid(c->node, err, "p = %lld is neither 1 nor 2", (long long)p);
  return status ? status : op_infer_same(c, err);
}

enum assay_status lp_normalization_eval(struct op_eval *c, struct assay_error *err) {
  int axis;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", -1), c->in[0]->shape.rank, &axis, err);
  if (status)
    return status;
  struct lp_work w = {
      .arith = &c->arith, .x = c->in[0]->f64, .y = c->out[0].f64, .squares = node_int(c->node, "p", 2) == 2};
  rows_init(&w.rows, &c->in[0]->shape, 1u << axis, NULL);
  w.first = arith_first(w.arith, w.rows.count, c->in[0]->shape.dims[0]);
  parallel_for(c->threads, rows_tiles(&w.rows), 1 + 5000 / (w.rows.length + 1), lp_range, &w);
  return ASSAY_OK;
}

bool lp_normalization_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  int axis;
  (void)halo;
  return op_axis(c->node, node_int(c->node, "axis", -1), c->in[0]->shape.rank, &axis, NULL) == ASSAY_OK &&
         op_apart_along(c, apart, 1u << axis);
}

void lp_normalization_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = 3 * (double)shape_count(&c->in[0]->shape);
}

// LRN: every element over a power of the squares in a window of channels around its own.

struct lrn_work {
  const struct arith *arith;
  int64_t channels, inner; // elements after the channel dimension
  int64_t before, after;   // channels of the window on either side
  double alpha, beta, bias, size;
  const double *x;
  double *y;
};

static double lrn_element(const struct lrn_work *w, struct noise *noise, int64_t channel, const double *x) {
  const struct arith *a = w->arith;
  int64_t from = channel < w->before ? -channel : -w->before;
  int64_t to = w->channels - 1 - channel < w->after ? w->channels - 1 - channel : w->after;
  double sum = 0, t2 = 0;
  for (int64_t k = from; k <= to; k++) {
    double square = arith_round(a, noise, x[k * w->inner] * x[k * w->inner]);
    sum += square;
    t2 += square * square;
  }
  sum = arith_sum(a, noise, sum, t2, (double)(to - from + 1), false);
  double scaled = arith_round(a, noise, arith_round(a, noise, w->alpha / w->size) * sum);
  double base = arith_round(a, noise, w->bias + scaled);
  return arith_round(a, noise, x[0] / arith_round_ulps(a, noise, pow(base, w->beta), 2));
}

// Items: [image][channel].
static void lrn_range(void *arg, int64_t begin, int64_t end) {
  const struct lrn_work *w = arg;
  for (int64_t item = begin; item < end; item++) {
    struct noise noise = noise_at(w->arith->key, (uint64_t)item);
    for (int64_t i = 0; i < w->inner; i++) {
      int64_t at = item * w->inner + i;
      w->y[at] = lrn_element(w, &noise, item % w->channels, w->x + at);
    }
  }
}

enum assay_status lrn_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status && c->in[0]->shape.rank < 2)
    return op_invalid(c->node, err, "the input must have at least 2 dimensions (N, C, ...)");
  int64_t size = node_int(c->node, "size", 0);
  if (!status && (size < 1 || size > (1 << 20)))
    return op_invalid(c->node, err, "size = %lld is not between 1 and 2^20", (long long)size);
  return status ? status : op_infer_same(c, err);
}

enum assay_status lrn_eval(struct op_eval *c, struct assay_error *err) {
  (void)err;
  const struct shape *x = &c->in[0]->shape;
  int64_t size = node_int(c->node, "size", 1);
  struct lrn_work w = {.arith = &c->arith,
                       .channels = x->dims[1],
                       .inner = shape_span(x, 2, x->rank),
                       .before = (size - 1) / 2,
                       .after = size - 1 - (size - 1) / 2,
                       .alpha = node_float(c->node, "alpha", 1e-4),
                       .beta = node_float(c->node, "beta", 0.75),
                       .bias = node_float(c->node, "bias", 1),
                       .size = (double)size,
                       .x = c->in[0]->f64,
                       .y = c->out[0].f64};
  parallel_for(c->threads, x->dims[0] * w.channels, 1 + 5000 / (w.inner * size + 1), lrn_range, &w);
  return ASSAY_OK;
}

void lrn_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = (2 * (double)node_int(c->node, "size", 1) + 4) * (double)shape_count(&c->in[0]->shape);
}
