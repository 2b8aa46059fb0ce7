// SPDX-License-Identifier: Apache-2.0
// Softmax, LogSoftmax and Hardmax. Up to version 11 an axis splits the shape in two and everything after it is one
// row; from 13 on the axis alone is the row. Either way it is a set of rows.
#include <string.h>

#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/rounding.h"

struct softmax_work {
  const struct arith *arith;
  struct rows rows;
  const double *x;
  double *y;
  bool log;
  int64_t first; // the number of row 0 among those of a whole batch
};

// One tile of rows at work. `lines` and `buffer` are for reading, `made` for what is written.
struct softmax_tile {
  const struct softmax_work *w;
  int64_t row;
  int width;
  struct noise noise[ROWS_WIDTH];
  double max[ROWS_WIDTH];
  struct total sum[ROWS_WIDTH];
  float lane[ROWS_WIDTH]; // the sum by one accumulator, where the pass asks for it
  const double *lines[ROWS_WIDTH];
  double buffer[ROWS_WIDTH * ROWS_CHUNK], made[ROWS_WIDTH * ROWS_CHUNK];
};

static int64_t tile_read(struct softmax_tile *t, const double *from, int64_t at) {
  const struct rows *rows = &t->w->rows;
  struct rows_piece rest = {t->row, t->width, at, rows->length - at};
  return rows_view(rows, from, rest, t->buffer, t->lines);
}

static void tile_maxima(struct softmax_tile *t) {
  int64_t n;
  for (int r = 0; r < t->width; r++)
    t->max[r] = -INFINITY;
  for (int64_t at = 0; at < t->w->rows.length; at += n) {
    n = tile_read(t, t->w->x, at);
    for (int r = 0; r < t->width; r++)
      for (int64_t i = 0; i < n; i++)
        if (t->lines[r][i] > t->max[r] || isnan(t->lines[r][i]))
          t->max[r] = t->lines[r][i];
  }
}

// y becomes x - max, or its exponential; sum becomes the exponentials' total.
static void tile_exponentials(struct softmax_tile *t) {
  const struct arith *a = t->w->arith;
  double terms[ROWS_CHUNK];
  int64_t n;
  for (int64_t at = 0; at < t->w->rows.length; at += n) {
    n = tile_read(t, t->w->x, at);
    for (int r = 0; r < t->width; r++) {
      double *made = t->made + r * ROWS_CHUNK;
      rounding_exponentials(a, &t->noise[r], t->max[r], n, t->lines[r], made, terms);
      if (!t->w->log)
        memcpy(made, terms, (size_t)n * sizeof *made);
      struct total part = loops_total(terms, n);
      t->sum[r].y += part.y;
      t->sum[r].t2 += part.t2;
      for (int64_t i = 0; i < n && a->one_lane; i++)
        t->lane[r] += (float)terms[i];
    }
    rows_store(&t->w->rows, t->w->y, (struct rows_piece){t->row, t->width, at, n}, t->made);
  }
}

static void tile_finish(struct softmax_tile *t) {
  const struct arith *a = t->w->arith;
  int64_t length = t->w->rows.length, n;
  const bool lane = a->one_lane && length <= ARITH_LANE_LENGTH;
  double by[ROWS_WIDTH];
  for (int r = 0; r < t->width; r++) {
    const double y = t->sum[r].y, lost = lane ? (double)t->lane[r] - y : 0;
    by[r] = arith_sum_lost(a, &t->noise[r], y, t->sum[r].t2, (double)length, lost, lane ? ARITH_LOST_SHARED : 0);
    if (t->w->log)
      by[r] = arith_round_ulps(a, &t->noise[r], log(by[r]), 1);
  }
  for (int64_t at = 0; at < length; at += n) {
    n = tile_read(t, t->w->y, at);
    for (int r = 0; r < t->width; r++) {
      double *made = t->made + r * ROWS_CHUNK;
      for (int64_t i = 0; i < n; i++)
        made[i] = t->w->log ? t->lines[r][i] - by[r] : t->lines[r][i] / by[r];
      rounding_run(a, &t->noise[r], (struct rounding_turns){1, 0}, n, made);
      noise_skip(&t->noise[r], n);
    }
    rows_store(&t->w->rows, t->w->y, (struct rows_piece){t->row, t->width, at, n}, t->made);
  }
}

static void softmax_range(void *arg, int64_t begin, int64_t end) {
  const struct softmax_work *w = arg;
  for (int64_t i = begin; i < end; i++) {
    struct softmax_tile t;
    t.w = w;
    rows_tile(&w->rows, i, &t.row, &t.width);
    for (int r = 0; r < t.width; r++) {
      t.noise[r] = noise_at(w->arith->key, (uint64_t)(w->first + t.row + r));
      t.sum[r] = (struct total){0};
      t.lane[r] = 0;
    }
    tile_maxima(&t);
    tile_exponentials(&t);
    tile_finish(&t);
  }
}

// 1 at the first maximum, 0 elsewhere.
static void hardmax_range(void *arg, int64_t begin, int64_t end) {
  const struct softmax_work *w = arg;
  for (int64_t row = begin; row < end; row++) {
    int64_t best = 0;
    double max = -INFINITY;
    for (int64_t i = 0; i < w->rows.length; i++) {
      int64_t at = rows_offset(&w->rows, row, i);
      w->y[at] = 0;
      if (w->x[at] > max || (isnan(w->x[at]) && !isnan(max))) {
        max = w->x[at];
        best = i;
      }
    }
    w->y[rows_offset(&w->rows, row, best)] = 1;
  }
}

// Versions before 13 flatten: default axis 1, and the row is everything from the axis on.
static enum assay_status softmax_axes(const struct op_infer *c, unsigned *axes, struct assay_error *err) {
  int rank = c->in[0]->shape.rank, axis;
  bool flatten = c->node->op->since < 13;
  int64_t fallback = flatten ? (rank > 1 ? 1 : 0) : -1;
  enum assay_status status = op_axis(c->node, node_int(c->node, "axis", fallback), rank, &axis, err);
  if (!status)
    *axes = flatten ? ((1u << rank) - 1) & ~((1u << axis) - 1) : 1u << axis;
  return status;
}

static enum assay_status softmax_infer(struct op_infer *c, struct assay_error *err) {
  unsigned axes;
  enum assay_status status = loops_need_float(c, 0, err);
  if (!status)
    status = softmax_axes(c, &axes, err);
  return status ? status : op_infer_same(c, err);
}

static int64_t softmax_sums(const struct op_infer *c) {
  struct rows rows;
  unsigned axes;
  if (softmax_axes(c, &axes, NULL))
    return 0;
  rows_init(&rows, &c->in[0]->shape, axes, NULL);
  return rows.count;
}

static bool softmax_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  unsigned axes;
  (void)halo;
  return softmax_axes(c, &axes, NULL) == ASSAY_OK && op_apart_along(c, apart, axes);
}

static void softmax_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = 5 * (double)shape_count(&c->in[0]->shape); // maximum, subtraction, exp, sum, division
}

static void hardmax_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = (double)shape_count(&c->in[0]->shape);
}

static enum assay_status run(struct op_eval *c, bool log, parallel_body *body, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct softmax_work w = {.arith = &c->arith, .x = c->in[0]->f64, .y = c->out[0].f64, .log = log};
  unsigned axes = 0;
  enum assay_status status = softmax_axes(&as_infer, &axes, err);
  if (status)
    return status;
  rows_init(&w.rows, &c->in[0]->shape, axes, NULL);
  if (w.rows.length == 0)
    return ASSAY_OK;
  w.first = arith_first(w.arith, w.rows.count, c->in[0]->shape.dims[0]);
  int64_t items = body == hardmax_range ? w.rows.count : rows_tiles(&w.rows);
  parallel_for(c->threads, items, 1 + 2000 / w.rows.length, body, &w);
  return ASSAY_OK;
}

static enum assay_status softmax_eval(struct op_eval *c, struct assay_error *err) {
  return run(c, false, softmax_range, err);
}

static enum assay_status log_softmax_eval(struct op_eval *c, struct assay_error *err) {
  return run(c, true, softmax_range, err);
}

static enum assay_status hardmax_eval(struct op_eval *c, struct assay_error *err) {
  return run(c, false, hardmax_range, err);
}

static const struct op_attr flatten_attrs[] = {{"axis", ATTR_INT, false, "1"}, {NULL, 0, false, NULL}};
static const struct op_attr axis_attrs[] = {{"axis", ATTR_INT, false, "-1"}, {NULL, 0, false, NULL}};

#define ROWS(op, eval_fn, cost_fn, text, ...)                                                                          \
  {.name = op,                                                                                                         \
   .domain = "",                                                                                                       \
   .since = 1,                                                                                                         \
   .min_in = 1,                                                                                                        \
   .max_in = 1,                                                                                                        \
   .min_out = 1,                                                                                                       \
   .max_out = 1,                                                                                                       \
   .class = OP_NORMALIZATION,                                                                                          \
   .attrs = flatten_attrs,                                                                                             \
   .infer = softmax_infer,                                                                                             \
   .eval = eval_fn,                                                                                                    \
   .cost = cost_fn,                                                                                                    \
   .apart = softmax_apart,                                                                                             \
   .doc = text " A row is everything from the axis on.",                                                               \
   __VA_ARGS__},                                                                                                       \
  {                                                                                                                    \
    .name = op, .domain = "", .since = 13, .min_in = 1, .max_in = 1, .min_out = 1, .max_out = 1,                       \
    .class = OP_NORMALIZATION, .attrs = axis_attrs, .infer = softmax_infer, .eval = eval_fn, .cost = cost_fn,          \
    .apart = softmax_apart, .doc = text " A row runs along the axis.",                                                 \
    .example = "(float[2,3,4] x) => (float[2,3,4] y) { y = " op "(x) }\n"                                              \
               "(float[2,3,4] x) => (float[2,3,4] y) { y = " op "<axis = 1>(x) }",                                     \
    __VA_ARGS__                                                                                                        \
  }

static const struct op_def softmax_rows[] = {
    ROWS("Softmax", softmax_eval, softmax_cost, "exp(x - max) over its sum.",
         .errors = {OP_MAY_ROUND, OP_STEEP, OP_SUM_OF_MANY}, .moments = softmax_sums,
         .pytorch = {.text = "torch.softmax($0, dim={axis})"}),
    ROWS("LogSoftmax", log_softmax_eval, softmax_cost, "x - max - log(sum(exp(x - max))).",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .moments = softmax_sums,
         .pytorch = {.text = "torch.log_softmax($0, dim={axis})"}),
    ROWS("Hardmax", hardmax_eval, hardmax_cost, "1 at the first maximum of the row, 0 elsewhere.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = "PyTorch has no such function"}),
};

const struct op_family ops_softmax_family = {
    .name = "Softmax", .rows = softmax_rows, .n_rows = sizeof softmax_rows / sizeof softmax_rows[0]};
