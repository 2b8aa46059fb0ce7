// SPDX-License-Identifier: Apache-2.0
// Pooling: a window slides over the spatial dimensions of [N, C, D1, ...] and each of its places becomes one element.
#include <string.h>

#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/reduce.h"
#include "ops/window.h"

enum { LINE = 512 }; // outputs of one row that are made at a time

struct pool;

// What a pooling operator does with a line of windows: takes in one tap of each, then finishes them.
struct pool_kind {
  double start;
  void (*tap)(const struct pool *p, struct noise *noise, const double *x, int64_t step, int64_t n, double *y,
              double *z);
  void (*finish)(const struct pool *p, struct noise *noise, const int64_t *outer, int64_t j, int64_t n, double *y,
                 const double *z);
};

struct pool {
  const struct pool_kind *kind;
  const struct arith *arith;
  struct window window;
  struct taps t[WINDOW_MAX_DIMS];
  int64_t planes, in_size, out_size, rows; // N * C; elements of a plane of input and output; rows of an output plane
  const double *x;
  double *y;
  bool count_padding;
  double power;
  int64_t first; // the number of item 0 among those of a whole batch
};

// q[0..n-1): position in the outer dimensions of a plane's row.
static void outer_index(const struct pool *p, int64_t row, int64_t *q) {
  for (int i = p->window.n - 2; i >= 0; i--) {
    q[i] = row % p->t[i].count;
    row /= p->t[i].count;
  }
}

static int64_t outer_taps(const struct pool *p) {
  int64_t n = 1;
  for (int i = 0; i < p->window.n - 1; i++)
    n *= p->t[i].n;
  return n;
}

// Where in the input's plane the row begins that combination `tap` of the outer dimensions' taps reads; -1: in padding.
static int64_t input_row(const struct pool *p, const int64_t *q, int64_t tap) {
  int64_t at = 0, step = p->window.d[p->window.n - 1].in;
  for (int i = p->window.n - 2; i >= 0; i--) {
    int64_t in = q[i] * p->t[i].in_step + p->t[i].offset[tap % p->t[i].n];
    tap /= p->t[i].n;
    if (in < 0 || in >= p->t[i].in)
      return -1;
    at += in * step;
    step *= p->t[i].in;
  }
  return at;
}

// Outputs [j, j + n) of the row at q of one plane, n <= LINE.
struct pool_piece {
  int64_t plane;
  const int64_t *q;
  int64_t j, n;
  double *y;
};

static void pool_line(const struct pool *p, struct noise *noise, const struct pool_piece *piece) {
  const struct taps *last = &p->t[p->window.n - 1];
  int64_t outer = outer_taps(p), j = piece->j, n = piece->n;
  double *y = piece->y, z[LINE];
  for (int64_t i = 0; i < n; i++) {
    y[i] = p->kind->start;
    z[i] = 0;
  }
  for (int64_t o = 0; o < outer; o++) {
    int64_t row = input_row(p, piece->q, o);
    for (int64_t i = 0; i < last->n && row >= 0; i++) {
      int64_t from, to;
      taps_range(last, i, j, j + n, &from, &to);
      if (from < to)
        p->kind->tap(p, noise, p->x + piece->plane * p->in_size + row + from * last->in_step + last->offset[i],
                     last->in_step, to - from, y + (from - j), z + (from - j));
    }
  }
  p->kind->finish(p, noise, piece->q, j, n, y, z);
}

// Items: [plane][row of the output].
static void pool_range(void *arg, int64_t begin, int64_t end) {
  const struct pool *p = arg;
  int64_t count = p->t[p->window.n - 1].count, q[WINDOW_MAX_DIMS];
  for (int64_t item = begin; item < end; item++) {
    struct noise noise = noise_at(p->arith->key, (uint64_t)(p->first + item));
    outer_index(p, item % p->rows, q);
    for (int64_t j = 0; j < count; j += LINE) {
      struct pool_piece piece = {.plane = item / p->rows, .q = q, .j = j, .y = p->y + item * count + j};
      piece.n = count - j < LINE ? count - j : LINE;
      pool_line(p, &noise, &piece);
    }
  }
}

static enum assay_status pool_setup(struct pool *p, const struct op_eval *c, struct assay_error *err) {
  const struct shape *x = &c->in[0]->shape;
  p->arith = &c->arith;
  p->planes = x->dims[0] * x->dims[1];
  p->in_size = p->out_size = 1;
  for (int i = 0; i < p->window.n; i++) {
    if (!taps_forward(&p->window.d[i], c->scratch, &p->t[i]))
      return error_nomem(err, "a pooling window");
    p->in_size *= p->window.d[i].in;
    p->out_size *= p->window.d[i].out;
  }
  p->rows = p->out_size / p->t[p->window.n - 1].count;
  p->first = arith_first(p->arith, p->planes * p->rows, x->dims[0]);
  return ASSAY_OK;
}

static int64_t pool_grain(const struct pool *p) {
  double work = (double)outer_taps(p) * (double)p->t[p->window.n - 1].n * (double)p->t[p->window.n - 1].count;
  return 1 + (int64_t)(50000 / (work + 1));
}

static void pool_run(struct pool *p, const struct op_eval *c) {
  p->x = c->in[0]->f64;
  p->y = c->out[0].f64;
  parallel_for(c->threads, p->planes * p->rows, pool_grain(p), pool_range, p);
}

static enum assay_status pool_infer(struct op_infer *c, struct assay_error *err) {
  struct window w;
  enum assay_status status = window_read(c, NULL, &w, err);
  if (status)
    return status;
  int64_t dims[SHAPE_MAX_RANK] = {c->in[0]->shape.dims[0], c->in[0]->shape.dims[1]};
  for (int i = 0; i < w.n; i++)
    dims[i + 2] = w.d[i].out;
  status = op_output(c, 0, c->in[0]->dtype, w.n + 2, dims, err);
  return status ? status : op_output(c, 1, DTYPE_INT64, w.n + 2, dims, err);
}

static enum assay_status pool_infer_float(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = loops_need_float(c, 0, err);
  return status ? status : pool_infer(c, err);
}

static void pool_cost(const struct op_infer *c, struct op_cost *cost) {
  struct window w;
  double kernel = 1;
  if (window_read(c, NULL, &w, NULL) == ASSAY_OK)
    for (int i = 0; i < w.n; i++)
      kernel *= (double)w.d[i].kernel;
  cost->flops = (double)shape_count(&c->out[0].shape) * kernel;
}

// AveragePool.

static void average_tap(const struct pool *p, struct noise *noise, const double *x, int64_t step, int64_t n, double *y,
                        double *z) {
  (void)noise;
  bool squares = !p->arith->exact;
  for (int64_t i = 0; i < n; i++) {
    double v = x[i * step];
    y[i] += v;
    if (squares)
      z[i] += v * v;
  }
}

// How many elements of window q along a dimension lie inside the input; with the padding, if that counts.
static double window_count(const struct pool *p, int i, int64_t q, bool padding) {
  const struct window_dim *d = &p->window.d[i];
  if (!padding)
    return (double)taps_inside(&p->t[i], q);
  // ceil_mode lets the last window hang over even the padding.
  int64_t first = q * d->stride - d->pad_begin, room = d->in + d->pad_end - first;
  int64_t fit = room > 0 ? (room - 1) / d->dilation + 1 : 0;
  return (double)(fit < d->kernel ? fit : d->kernel);
}

static void average_finish(const struct pool *p, struct noise *noise, const int64_t *outer, int64_t j, int64_t n,
                           double *y, const double *z) {
  int last = p->window.n - 1;
  double inside = 1, counted = 1;
  for (int i = 0; i < last; i++) {
    inside *= window_count(p, i, outer[i], false);
    counted *= window_count(p, i, outer[i], p->count_padding);
  }
  for (int64_t i = 0; i < n; i++) {
    double terms = inside * window_count(p, last, j + i, false);
    double by = counted * window_count(p, last, j + i, p->count_padding);
    y[i] = arith_round(p->arith, noise, arith_sum(p->arith, noise, y[i], z[i], terms, false) / by);
  }
}

static const struct pool_kind average_kind = {.tap = average_tap, .finish = average_finish};

static enum assay_status average_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct pool p = {.kind = &average_kind, .count_padding = node_int(c->node, "count_include_pad", 0) != 0};
  enum assay_status status = window_read(&as_infer, NULL, &p.window, err);
  if (!status)
    status = pool_setup(&p, c, err);
  if (!status)
    pool_run(&p, c);
  return status;
}

// LpPool.

static void power_tap(const struct pool *p, struct noise *noise, const double *x, int64_t step, int64_t n, double *y,
                      double *z) {
  for (int64_t i = 0; i < n; i++) {
    double v = fabs(x[i * step]);
    if (p->power == 2)
      v = arith_round(p->arith, noise, v * v);
    else if (p->power != 1)
      v = arith_round_ulps(p->arith, noise, pow(v, p->power), 2);
    y[i] += v;
    z[i] += v * v;
  }
}

static void power_finish(const struct pool *p, struct noise *noise, const int64_t *outer, int64_t j, int64_t n,
                         double *y, const double *z) {
  int last = p->window.n - 1;
  double terms = 1;
  for (int i = 0; i < last; i++)
    terms *= window_count(p, i, outer[i], false);
  for (int64_t i = 0; i < n; i++) {
    y[i] = arith_sum(p->arith, noise, y[i], z[i], terms * window_count(p, last, j + i, false), false);
    if (p->power == 2)
      y[i] = arith_round(p->arith, noise, sqrt(y[i]));
    else if (p->power != 1)
      y[i] = arith_round_ulps(p->arith, noise, pow(y[i], 1 / p->power), 2);
  }
}

static const struct pool_kind power_kind = {.tap = power_tap, .finish = power_finish};

static enum assay_status power_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct pool p = {.kind = &power_kind, .power = (double)node_int(c->node, "p", 2)};
  enum assay_status status = window_read(&as_infer, NULL, &p.window, err);
  if (!status)
    status = pool_setup(&p, c, err);
  if (!status)
    pool_run(&p, c);
  return status;
}

// MaxPool: compares, so nothing rounds. On integers and with indices it goes one output at a time.

static void max_tap(const struct pool *p, struct noise *noise, const double *x, int64_t step, int64_t n, double *y,
                    double *z) {
  (void)p, (void)noise, (void)z;
  for (int64_t i = 0; i < n; i++) {
    double v = x[i * step];
    y[i] = v > y[i] || isnan(v) ? v : y[i];
  }
}

static void max_finish(const struct pool *p, struct noise *noise, const int64_t *outer, int64_t j, int64_t n, double *y,
                       const double *z) {
  (void)p, (void)noise, (void)outer, (void)j, (void)n, (void)y, (void)z;
}

static const struct pool_kind max_kind = {.start = -INFINITY, .tap = max_tap, .finish = max_finish};

struct max_search {
  const struct pool *p;
  const struct array *x;
  struct array *y;
  int64_t *index; // or NULL
  bool column_major;
};

// The position in the input's plane of an element, as the Indices output wants it.
static int64_t index_of(const struct max_search *s, int64_t plane, int64_t at) {
  const struct window *w = &s->p->window;
  if (!s->column_major)
    return plane * s->p->in_size + at;
  int64_t turned = 0;
  for (int i = w->n - 1; i >= 0; i--) {
    turned = turned * w->d[i].in + at % w->d[i].in;
    at /= w->d[i].in;
  }
  return plane * s->p->in_size + turned;
}

static bool beats(const struct max_search *s, int64_t a, int64_t b) {
  if (dtype_is_integer(s->x->dtype))
    return s->x->i64[a] > s->x->i64[b];
  return s->x->f64[a] > s->x->f64[b] || (isnan(s->x->f64[a]) && !isnan(s->x->f64[b]));
}

static void max_search_range(void *arg, int64_t begin, int64_t end) {
  const struct max_search *s = arg;
  const struct pool *p = s->p;
  const struct taps *last = &p->t[p->window.n - 1];
  int64_t outer = outer_taps(p), q[WINDOW_MAX_DIMS];
  for (int64_t item = begin; item < end; item++)
    for (int64_t j = 0; j < last->count; j++) {
      int64_t plane = item / p->rows, best = -1;
      outer_index(p, item % p->rows, q);
      for (int64_t o = 0; o < outer; o++) {
        int64_t row = input_row(p, q, o);
        for (int64_t i = 0; i < last->n && row >= 0; i++) {
          int64_t in = j * last->in_step + last->offset[i], at = plane * p->in_size + row + in;
          if (in >= 0 && in < last->in && (best < 0 || beats(s, at, best)))
            best = at;
        }
      }
      int64_t to = item * last->count + j;
      if (best >= 0)
        s->y->bits[to] = s->x->bits[best];
      else if (dtype_is_integer(s->x->dtype))
        s->y->i64[to] = s->x->dtype == DTYPE_INT8 ? INT8_MIN : 0;
      else
        s->y->f64[to] = -INFINITY;
      if (s->index)
        s->index[to] = best < 0 ? -1 : index_of(s, plane, best - plane * p->in_size);
    }
}

static enum assay_status max_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  struct pool p = {.kind = &max_kind};
  enum assay_status status = window_read(&as_infer, NULL, &p.window, err);
  if (!status)
    status = pool_setup(&p, c, err);
  if (status)
    return status;
  int64_t *index = c->n_out > 1 ? c->out[1].i64 : NULL;
  if (!index && dtype_is_float(c->in[0]->dtype)) {
    pool_run(&p, c);
    return ASSAY_OK;
  }
  struct max_search s = {.p = &p,
                         .x = c->in[0],
                         .y = &c->out[0],
                         .index = index,
                         .column_major = node_int(c->node, "storage_order", 0) != 0};
  parallel_for(c->threads, p.planes * p.rows, pool_grain(&p), max_search_range, &s);
  return ASSAY_OK;
}

// Global pooling: one window over everything.

static enum assay_status global_infer(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = loops_need_float(c, 0, err);
  if (status)
    return status;
  if (c->in[0]->shape.rank < 3)
    return op_invalid(c->node, err, "the input must have at least 3 dimensions (N, C, D1, ...), not %d",
                      c->in[0]->shape.rank);
  c->out[0].dtype = c->in[0]->dtype;
  c->out[0].shape = c->in[0]->shape;
  for (int i = 2; i < c->out[0].shape.rank; i++)
    c->out[0].shape.dims[i] = 1;
  return ASSAY_OK;
}

static void global_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = (double)shape_count(&c->in[0]->shape);
}

static unsigned spatial_axes(const struct op_eval *c) {
  return ((1u << c->in[0]->shape.rank) - 1) & ~3u;
}

static enum assay_status global_average_eval(struct op_eval *c, struct assay_error *err) {
  return reduce_over(c, &reduce_mean, spatial_axes(c), err);
}

static enum assay_status global_max_eval(struct op_eval *c, struct assay_error *err) {
  return reduce_over(c, &reduce_max, spatial_axes(c), err);
}

static enum assay_status global_power_eval(struct op_eval *c, struct assay_error *err) {
  struct pool p = {.kind = &power_kind, .power = (double)node_int(c->node, "p", 2)};
  if (p.power == 1 || p.power == 2)
    return reduce_over(c, p.power == 1 ? &reduce_l1 : &reduce_l2, spatial_axes(c), err);
  p.window.n = c->in[0]->shape.rank - 2;
  for (int i = 0; i < p.window.n; i++) {
    int64_t in = c->in[0]->shape.dims[i + 2];
    p.window.d[i] = (struct window_dim){.in = in, .out = 1, .kernel = in, .stride = 1, .dilation = 1};
  }
  enum assay_status status = pool_setup(&p, c, err);
  if (!status)
    pool_run(&p, c);
  return status;
}

#define WINDOW_ATTRS                                                                                                   \
  {"auto_pad", ATTR_STRING, false, "NOTSET"}, {"kernel_shape", ATTR_INTS, true, NULL},                                 \
      {"pads", ATTR_INTS, false, "0 everywhere"}, {                                                                    \
    "strides", ATTR_INTS, false, "1 everywhere"                                                                        \
  }

static const struct op_attr max_attrs[] = {
    WINDOW_ATTRS,
    {"ceil_mode", ATTR_INT, false, "0"},
    {"dilations", ATTR_INTS, false, "1 everywhere"},
    {"storage_order", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};

static const struct op_attr average_attrs[] = {
    WINDOW_ATTRS,
    {"ceil_mode", ATTR_INT, false, "0"},
    {"count_include_pad", ATTR_INT, false, "0"},
    {"dilations", ATTR_INTS, false, "1 everywhere (the only value before version 19)"},
    {NULL, 0, false, NULL},
};

static const struct op_attr power_attrs[] = {
    WINDOW_ATTRS,
    {"ceil_mode", ATTR_INT, false, "0"},
    {"dilations", ATTR_INTS, false, "1 everywhere (the only value before version 18)"},
    {"p", ATTR_INT, false, "2"},
    {NULL, 0, false, NULL},
};

static const struct op_attr global_power_attrs[] = {{"p", ATTR_INT, false, "2"}, {NULL, 0, false, NULL}};

static const struct op_def pool_rows[] = {
    {.name = "MaxPool",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 2,
     .class = OP_POOLING,
     .attrs = max_attrs,
     .infer = pool_infer,
     .eval = max_eval,
     .cost = pool_cost,
     .apart = op_apart_first,
     .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "max_pool", .write = pytorch_pool},
     .doc =
         "Maximum over a sliding window; padding never wins, NaN does. The second output holds flat indices into the "
         "input (of the first maximum; -1 where a window lies in padding), column-major within a plane with "
         "storage_order = 1.",
     .example = "(float[1,2,8,8] x) => (float[1,2,4,4] y) "
                "{ y = MaxPool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1]>(x) }\n"
                "(float[1,2,9] x) => (float[1,2,5] y, int64[1,2,5] i) "
                "{ y, i = MaxPool<kernel_shape = [2], strides = [2], ceil_mode = 1>(x) }\n"
                "(float[1,1,9] x) => (float[1,1,5] y) { y = MaxPool<kernel_shape = [3], dilations = [2]>(x) }"},
    {.name = "AveragePool",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_POOLING,
     .attrs = average_attrs,
     .infer = pool_infer_float,
     .eval = average_eval,
     .cost = pool_cost,
     .apart = op_apart_first,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "avg_pool", .write = pytorch_pool},
     .doc = "Mean over a sliding window: of the elements inside the input, or of those inside input and padding with "
            "count_include_pad = 1.",
     .example =
         "(float[1,2,8,8] x) => (float[1,2,4,4] y) "
         "{ y = AveragePool<kernel_shape = [3,3], strides = [2,2], pads = [1,1,1,1], count_include_pad = 1>(x) }\n"
         "(float[1,2,9] x) => (float[1,2,5] y) "
         "{ y = AveragePool<kernel_shape = [2], strides = [2], ceil_mode = 1>(x) }"},
    {.name = "LpPool",
     .domain = "",
     .since = 2,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_POOLING,
     .attrs = power_attrs,
     .infer = pool_infer_float,
     .eval = power_eval,
     .cost = pool_cost,
     .apart = op_apart_first,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The p-norm over a sliding window.",
     .example = "(float[1,2,8,8] x) => (float[1,2,7,7] y) { y = LpPool<kernel_shape = [2,2], p = 3>(x) }"},
    {.name = "GlobalAveragePool",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_REDUCTION,
     .infer = global_infer,
     .eval = global_average_eval,
     .cost = global_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "$0.mean(dim=tuple(range(2, $0.dim())), keepdim=True)"},
     .doc = "Mean over all spatial dimensions, whose extents become 1.",
     .example = "(float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalAveragePool(x) }"},
    {.name = "GlobalMaxPool",
     .domain = "",
     .since = 1,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_REDUCTION,
     .infer = global_infer,
     .eval = global_max_eval,
     .cost = global_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "$0.amax(dim=tuple(range(2, $0.dim())), keepdim=True)"},
     .doc = "Maximum over all spatial dimensions, whose extents become 1.",
     .example = "(float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalMaxPool(x) }"},
    {.name = "GlobalLpPool",
     .domain = "",
     .since = 2,
     .min_in = 1,
     .max_in = 1,
     .min_out = 1,
     .max_out = 1,
     .class = OP_REDUCTION,
     .attrs = global_power_attrs,
     .infer = global_infer,
     .eval = global_power_eval,
     .cost = global_cost,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "The p-norm over all spatial dimensions, whose extents become 1.",
     .example = "(float[2,3,4,5] x) => (float[2,3,1,1] y) { y = GlobalLpPool<p = 3>(x) }"},
};

const struct op_family ops_pool_family = {
    .name = "Pooling", .rows = pool_rows, .n_rows = sizeof pool_rows / sizeof pool_rows[0]};
