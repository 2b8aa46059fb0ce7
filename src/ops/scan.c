// SPDX-License-Identifier: Apache-2.0
// Running sums and products along an axis.
#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

struct scan {
  const struct arith *arith;
  struct rows rows;
  int64_t first; // the number of row 0 among those of a whole batch
  enum dtype dtype;
  const struct array *x;
  struct array *y;
  bool product, exclusive, reverse;
};

// What a line has come to. A running product rounds at every step: whatever the order, each factor's rounding is of the
// size of the product. A running sum is kept exact, with its squares, and gets the error of a sum in random order at
// every element: a sequential pass would be exact wherever the terms happen to fit, and call blocked and parallel
// scans, whose partial sums are others, wrong there.
struct running {
  double value, t2, count;
};

static double scan_element(const struct scan *s, struct noise *noise, const struct running *t) {
  return s->product ? t->value : arith_sum(s->arith, noise, t->value, t->t2, t->count, false);
}

static void scan_step(const struct scan *s, struct noise *noise, double x, struct running *t) {
  t->value = s->product ? arith_round(s->arith, noise, t->value * x) : t->value + x;
  t->t2 += x * x;
  t->count++;
}

// One line of n elements, in order of memory; *total carries over from line to line.
static void scan_line(const struct scan *s, struct noise *noise, const double *x, int64_t n, struct running *total,
                      double *y) {
  for (int64_t k = 0; k < n; k++) {
    int64_t i = s->reverse ? n - 1 - k : k;
    if (s->exclusive)
      y[i] = scan_element(s, noise, total);
    scan_step(s, noise, x[i], total);
    if (!s->exclusive)
      y[i] = scan_element(s, noise, total);
  }
}

static void scan_range(void *arg, int64_t begin, int64_t end) {
  const struct scan *s = arg;
  double buffer[ROWS_WIDTH * ROWS_CHUNK], made[ROWS_WIDTH * ROWS_CHUNK];
  struct running total[ROWS_WIDTH];
  const double *lines[ROWS_WIDTH];
  struct noise noise[ROWS_WIDTH];
  int64_t length = s->rows.length;
  for (int64_t i = begin; i < end; i++) {
    int64_t row;
    int width;
    rows_tile(&s->rows, i, &row, &width);
    for (int r = 0; r < width; r++) {
      total[r] = (struct running){.value = s->product};
      noise[r] = noise_at(s->arith->key, (uint64_t)(s->first + row + r));
    }
    for (int64_t done = 0, n; done < length; done += n) {
      n = length - done < ROWS_CHUNK ? length - done : ROWS_CHUNK;
      int64_t at = s->reverse ? length - done - n : done;
      struct rows_piece piece = {row, width, at, n};
      rows_view(&s->rows, s->x->f64, piece, buffer, lines);
      for (int r = 0; r < width; r++)
        scan_line(s, &noise[r], lines[r], n, &total[r], made + r * ROWS_CHUNK);
      rows_store(&s->rows, s->y->f64, piece, made);
    }
  }
}

static void scan_integers(void *arg, int64_t begin, int64_t end) {
  const struct scan *s = arg;
  for (int64_t row = begin; row < end; row++) {
    uint64_t total = s->product;
    for (int64_t k = 0; k < s->rows.length; k++) {
      int64_t at = rows_offset(&s->rows, row, s->reverse ? s->rows.length - 1 - k : k);
      uint64_t x = (uint64_t)s->x->i64[at], after = s->product ? total * x : total + x;
      s->y->i64[at] = loops_wrap(s->dtype, s->exclusive ? total : after);
      total = after;
    }
  }
}

static enum assay_status scan_infer(struct op_infer *c, struct assay_error *err) {
  if (c->in[0]->shape.rank < 1)
    return op_invalid(c->node, err, "a scalar has no axis to run along");
  if (!dtype_is_integer(c->in[1]->dtype) || shape_count(&c->in[1]->shape) != 1)
    return op_invalid(c->node, err, "the axis (input 1) must be one integer");
  int axis;
  enum assay_status status = ASSAY_OK;
  if (c->in[1]->bits)
    status = op_axis(c->node, c->in[1]->i64[0], c->in[0]->shape.rank, &axis, err);
  return status ? status : op_infer_same(c, err);
}

static enum assay_status scan_run(struct op_eval *c, bool product, struct assay_error *err) {
  int axis;
  enum assay_status status = op_axis(c->node, c->in[1]->i64[0], c->in[0]->shape.rank, &axis, err);
  if (status)
    return status;
  struct scan s = {.arith = &c->arith,
                   .dtype = c->in[0]->dtype,
                   .x = c->in[0],
                   .y = &c->out[0],
                   .product = product,
                   .exclusive = node_int(c->node, "exclusive", 0) != 0,
                   .reverse = node_int(c->node, "reverse", 0) != 0};
  rows_init(&s.rows, &c->in[0]->shape, 1u << axis, NULL);
  s.first = arith_first(s.arith, s.rows.count, c->in[0]->shape.dims[0]);
  bool integers = dtype_is_integer(s.dtype);
  parallel_for(c->threads, integers ? s.rows.count : rows_tiles(&s.rows), 1 + 10000 / (s.rows.length + 1),
               integers ? scan_integers : scan_range, &s);
  return ASSAY_OK;
}

static enum assay_status cum_sum_eval(struct op_eval *c, struct assay_error *err) {
  return scan_run(c, false, err);
}
static enum assay_status cum_prod_eval(struct op_eval *c, struct assay_error *err) {
  return scan_run(c, true, err);
}

static bool scan_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  int axis;
  (void)halo;
  return c->in[1]->bits && op_axis(c->node, c->in[1]->i64[0], c->in[0]->shape.rank, &axis, NULL) == ASSAY_OK &&
         op_apart_along(c, apart, 1u << axis);
}

static void scan_cost(const struct op_infer *c, struct op_cost *cost) {
  cost->flops = dtype_is_float(c->in[0]->dtype) ? (double)shape_count(&c->in[0]->shape) : 0;
}

static const struct op_attr scan_attrs[] = {
    {"exclusive", ATTR_INT, false, "0"},
    {"reverse", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};

static const struct op_def scan_rows[] = {
    {.name = "CumSum",
     .domain = "",
     .since = 11,
     .min_in = 2,
     .max_in = 2,
     .min_out = 1,
     .max_out = 1,
     .class = OP_SCAN,
     .attrs = scan_attrs,
     .infer = scan_infer,
     .eval = cum_sum_eval,
     .cost = scan_cost,
     .apart = scan_apart,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
     .pytorch = {.text = "torch.cumsum", .write = pytorch_cumulative},
     .doc =
         "Sums of all elements up to each one along the axis (input 1); without itself if exclusive, from the end if "
         "reverse.",
     .example =
         "(float[2,5] x) => (float[2,5] y) <int64 axis = {1}> { y = CumSum(x, axis) }\n"
         "(float[2,5] x) => (float[2,5] y) <int64 axis = {0}> { y = CumSum<exclusive = 1, reverse = 1>(x, axis) }"},
    {.name = "CumProd",
     .domain = "",
     .since = 26,
     .min_in = 2,
     .max_in = 2,
     .min_out = 1,
     .max_out = 1,
     .class = OP_SCAN,
     .attrs = scan_attrs,
     .infer = scan_infer,
     .eval = cum_prod_eval,
     .cost = scan_cost,
     .apart = scan_apart,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
     .pytorch = {.text = "torch.cumprod", .write = pytorch_cumulative},
     .doc =
         "Products of all elements up to each one along the axis (input 1); without itself if exclusive, from the end "
         "if reverse.",
     .example = "(float[2,5] x) => (float[2,5] y) <int64 axis = {1}> { y = CumProd(x, axis) }"},
};

const struct op_family ops_scan_family = {
    .name = "Scans", .rows = scan_rows, .n_rows = sizeof scan_rows / sizeof scan_rows[0]};
