// SPDX-License-Identifier: Apache-2.0
// Reductions over any set of dimensions. One driver walks the tensor; an operator is how it takes in values, how it
// joins two partial results and what it makes of the last one.
#include "base/parallel.h"
#include "ops/apart.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"
#include "ops/reduce.h"
#include "ops/rounding.h"

// Long rows are cut into parts of this many elements, reduced on their own and joined in order: a single row still
// keeps all threads busy, and the order does not depend on how many there are.
enum { PART = 1 << 16, AXIS_CAPACITY = 64 };

struct partial {
  double y, t2; // a sum and its sum of squared terms; y alone: a product, a maximum
  double shift; // subtracted before exp
  float lane;   // the sum by one accumulator, where the pass asks for it
  struct noise noise;
};

struct reduction {
  struct partial start;
  void (*add)(const struct arith *a, struct partial *p, const double *x, int64_t n);
  void (*join)(const struct arith *a, struct partial *into, const struct partial *from);
  double (*finish)(const struct arith *a, struct partial *p, int64_t n);
  bool max_first; // a pass for the maximum comes first and becomes `shift`
  // Integers: one step, exact but for wrapping; NULL where the operator has no meaning on integers.
  int64_t (*step)(int64_t y, int64_t x);
  int64_t (*mean)(int64_t y, int64_t n);
  double flops; // for one element
};

static void add_sum(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  for (int64_t i = 0; i < n && a->one_lane; i++)
    p->lane += (float)x[i];
  struct total t = loops_total(x, n);
  p->y += t.y;
  p->t2 += t.t2;
}

static void add_magnitudes(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  double terms[ROWS_CHUNK];
  for (int64_t i = 0; i < n; i++)
    terms[i] = fabs(x[i]);
  add_sum(a, p, terms, n);
}

static void add_squares(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  double terms[ROWS_CHUNK];
  for (int64_t i = 0; i < n; i++)
    terms[i] = x[i] * x[i];
  rounding_run(a, &p->noise, (struct rounding_turns){1, 0}, n, terms);
  noise_skip(&p->noise, n);
  add_sum(a, p, terms, n);
}

static void add_exponentials(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  double shifted[ROWS_CHUNK], terms[ROWS_CHUNK];
  rounding_exponentials(a, &p->noise, p->shift, n, x, shifted, terms);
  add_sum(a, p, terms, n);
}

static void join_sums(const struct arith *a, struct partial *into, const struct partial *from) {
  (void)a;
  into->y += from->y;
  into->t2 += from->t2;
}

static double finish_sum(const struct arith *a, struct partial *p, int64_t n) {
  bool lane = a->one_lane && n <= ARITH_LANE_LENGTH;
  return arith_sum_lost(a, &p->noise, p->y, p->t2, (double)n, lane ? (double)p->lane - p->y : 0, 1);
}

static double finish_mean(const struct arith *a, struct partial *p, int64_t n) {
  return arith_round(a, &p->noise, finish_sum(a, p, n) / (double)n);
}

static double finish_root(const struct arith *a, struct partial *p, int64_t n) {
  return arith_round(a, &p->noise, sqrt(finish_sum(a, p, n)));
}

// The error alone.
static double finish_lost(const struct arith *a, struct partial *p, int64_t n) {
  double lost = finish_sum(a, p, n) - p->y;
  return isfinite(lost) ? lost : 0;
}

static double finish_log(const struct arith *a, struct partial *p, int64_t n) {
  return arith_round_ulps(a, &p->noise, log(finish_sum(a, p, n)), 1);
}

static double finish_log_sum_exp(const struct arith *a, struct partial *p, int64_t n) {
  return arith_round(a, &p->noise, finish_log(a, p, n) + p->shift);
}

static double finish_value(const struct arith *a, struct partial *p, int64_t n) {
  (void)a;
  (void)n;
  return p->y;
}

static void add_max(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  (void)a;
  double y = p->y;
  for (int64_t i = 0; i < n; i++)
    y = x[i] > y || isnan(x[i]) ? x[i] : y; // once NaN, nothing is greater
  p->y = y;
}

static void join_max(const struct arith *a, struct partial *into, const struct partial *from) {
  add_max(a, into, &from->y, 1);
}

static void add_min(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  (void)a;
  double y = p->y;
  for (int64_t i = 0; i < n; i++)
    y = x[i] < y || isnan(x[i]) ? x[i] : y;
  p->y = y;
}

static void join_min(const struct arith *a, struct partial *into, const struct partial *from) {
  add_min(a, into, &from->y, 1);
}

static void add_product(const struct arith *a, struct partial *p, const double *x, int64_t n) {
  for (int64_t i = 0; i < n; i++)
    p->y = arith_round(a, &p->noise, p->y * x[i]);
}

static void join_products(const struct arith *a, struct partial *into, const struct partial *from) {
  add_product(a, into, &from->y, 1);
}

static int64_t step_sum(int64_t y, int64_t x) {
  return (int64_t)((uint64_t)y + (uint64_t)x);
}
static int64_t step_magnitude(int64_t y, int64_t x) {
  return step_sum(y, x < 0 ? (int64_t)(0 - (uint64_t)x) : x);
}
static int64_t step_square(int64_t y, int64_t x) {
  return step_sum(y, (int64_t)((uint64_t)x * (uint64_t)x));
}
static int64_t step_product(int64_t y, int64_t x) {
  return (int64_t)((uint64_t)y * (uint64_t)x);
}
static int64_t step_max(int64_t y, int64_t x) {
  return x > y ? x : y;
}
static int64_t step_min(int64_t y, int64_t x) {
  return x < y ? x : y;
}
static int64_t divide(int64_t y, int64_t n) {
  return n ? y / n : 0;
}

static const struct reduction reduce_sum = {
    .add = add_sum, .join = join_sums, .finish = finish_sum, .step = step_sum, .flops = 1};
static const struct reduction reduce_lost = {.add = add_sum, .join = join_sums, .finish = finish_lost};
const struct reduction reduce_mean = {
    .add = add_sum, .join = join_sums, .finish = finish_mean, .step = step_sum, .mean = divide, .flops = 1};
const struct reduction reduce_l1 = {
    .add = add_magnitudes, .join = join_sums, .finish = finish_sum, .step = step_magnitude, .flops = 2};
const struct reduction reduce_l2 = {.add = add_squares, .join = join_sums, .finish = finish_root, .flops = 2};
static const struct reduction reduce_sum_square = {
    .add = add_squares, .join = join_sums, .finish = finish_sum, .step = step_square, .flops = 2};
static const struct reduction reduce_log_sum = {.add = add_sum, .join = join_sums, .finish = finish_log, .flops = 1};
static const struct reduction reduce_log_sum_exp = {
    .add = add_exponentials, .join = join_sums, .finish = finish_log_sum_exp, .max_first = true, .flops = 4};
const struct reduction reduce_max = {
    .start = {.y = -INFINITY}, .add = add_max, .join = join_max, .finish = finish_value, .step = step_max, .flops = 1};
static const struct reduction reduce_min = {
    .start = {.y = INFINITY}, .add = add_min, .join = join_min, .finish = finish_value, .step = step_min, .flops = 1};
static const struct reduction reduce_prod = {.start = {.y = 1},
                                             .add = add_product,
                                             .join = join_products,
                                             .finish = finish_value,
                                             .step = step_product,
                                             .flops = 1};

// The driver.

struct reduce_work {
  const struct reduction *r;
  const struct arith *arith;
  struct rows rows;
  const double *x;
  double *y;
  int64_t first;            // the number of row 0 among those of a whole batch
  int64_t parts;            // of a row
  struct partial *partials; // row-major [row][part]; NULL when a row has one part
  const double *shift;
};

static void reduce_part(const struct reduce_work *w, int64_t row, int width, int64_t part) {
  double buffer[ROWS_WIDTH * ROWS_CHUNK];
  const double *lines[ROWS_WIDTH];
  struct partial p[ROWS_WIDTH];
  for (int t = 0; t < width; t++) {
    p[t] = w->r->start;
    p[t].noise = noise_at(w->arith->key, (uint64_t)((w->first + row + t) * w->parts + part));
    p[t].shift = w->shift && isfinite(w->shift[row + t]) ? w->shift[row + t] : 0;
  }
  int64_t end = w->parts == 1 || (part + 1) * PART > w->rows.length ? w->rows.length : (part + 1) * PART, n;
  for (int64_t at = part * PART; at < end; at += n) {
    n = rows_view(&w->rows, w->x, (struct rows_piece){row, width, at, end - at}, buffer, lines);
    for (int t = 0; t < width; t++)
      w->r->add(w->arith, &p[t], lines[t], n);
  }
  for (int t = 0; t < width; t++)
    if (w->partials)
      w->partials[(row + t) * w->parts + part] = p[t];
    else
      w->y[row + t] = w->r->finish(w->arith, &p[t], w->rows.length);
}

static void reduce_range(void *arg, int64_t begin, int64_t end) {
  const struct reduce_work *w = arg;
  for (int64_t i = begin; i < end; i++) {
    int64_t row;
    int width;
    rows_tile(&w->rows, i / w->parts, &row, &width);
    reduce_part(w, row, width, i % w->parts);
  }
}

static enum assay_status reduce_f64(struct reduce_work *w, int threads, struct arena *scratch,
                                    struct assay_error *err) {
  bool whole = w->rows.length <= (w->arith->one_lane ? ARITH_LANE_LENGTH : PART);
  w->parts = whole ? 1 : (w->rows.length + PART - 1) / PART;
  if (w->parts > 1) {
    w->partials = arena_calloc(scratch, (size_t)w->rows.count * (size_t)w->parts, sizeof *w->partials);
    if (!w->partials)
      return error_nomem(err, "a reduction's partial results");
  }
  int64_t grain = 1 + 50000 / ((w->rows.length < PART ? w->rows.length : PART) + 1);
  parallel_for(threads, rows_tiles(&w->rows) * w->parts, grain, reduce_range, w);
  for (int64_t row = 0; w->partials && row < w->rows.count; row++) {
    struct partial *p = w->partials + row * w->parts;
    for (int64_t i = 1; i < w->parts; i++)
      w->r->join(w->arith, &p[0], &p[i]);
    w->y[row] = w->r->finish(w->arith, &p[0], w->rows.length);
  }
  return ASSAY_OK;
}

// Integers.

struct reduce_integers {
  const struct reduction *r;
  struct rows rows;
  enum dtype dtype;
  const int64_t *x;
  int64_t *y;
  int64_t start;
};

// uint64 is held in int64: flipping the top bit makes its order that of int64.
static int64_t order_flip(const struct reduce_integers *w) {
  bool ordered = w->r->step == step_max || w->r->step == step_min;
  return ordered && w->dtype == DTYPE_UINT64 ? INT64_MIN : 0;
}

static void integer_range(void *arg, int64_t begin, int64_t end) {
  const struct reduce_integers *w = arg;
  int64_t flip = order_flip(w);
  for (int64_t row = begin; row < end; row++) {
    int64_t y = w->start;
    for (int64_t i = 0; i < w->rows.length; i++)
      y = w->r->step(y, w->x[rows_offset(&w->rows, row, i)] ^ flip);
    if (w->r->mean)
      y = w->r->mean(y, w->rows.length);
    w->y[row] = loops_wrap(w->dtype, (uint64_t)(y ^ flip));
  }
}

// What a reduction of nothing gives: the type's least value for a maximum, and so on.
static int64_t integer_start(const struct reduction *r, enum dtype t) {
  bool is_unsigned = loops_wrap(t, UINT64_MAX) >= 0 || t == DTYPE_UINT64;
  unsigned bits = t == DTYPE_BOOL ? 1 : (unsigned)dtype_bits(t);
  if (r->step == step_product)
    return 1;
  if (r->step != step_max && r->step != step_min)
    return 0;
  if (bits == 64)
    return r->step == step_max ? INT64_MIN : INT64_MAX; // in flipped order for uint64
  if (is_unsigned)
    return r->step == step_max ? 0 : ((int64_t)1 << bits) - 1;
  return r->step == step_max ? -((int64_t)1 << (bits - 1)) : ((int64_t)1 << (bits - 1)) - 1;
}

// The node's axes as bits.
static enum assay_status reduce_axes(const struct op_infer *c, unsigned *axes, struct assay_error *err) {
  int64_t values[AXIS_CAPACITY];
  int rank = c->in[0]->shape.rank, count = -1;
  enum assay_status status = op_ints(c, 1, "axes", values, &count, AXIS_CAPACITY, err);
  if (status)
    return status;
  *axes = 0;
  if (count <= 0)
    *axes = node_int(c->node, "noop_with_empty_axes", 0) ? 0 : (1u << rank) - 1;
  for (int i = 0; i < count; i++) {
    int axis;
    status = op_axis(c->node, values[i], rank, &axis, err);
    if (status)
      return status;
    if (*axes >> axis & 1)
      return op_invalid(c->node, err, "axis %d is given twice", axis);
    *axes |= 1u << axis;
  }
  return ASSAY_OK;
}

static enum assay_status reduce_infer(struct op_infer *c, struct assay_error *err) {
  unsigned axes;
  enum assay_status status = reduce_axes(c, &axes, err);
  if (status)
    return status;
  bool keep = node_int(c->node, "keepdims", 1) != 0;
  const struct shape *x = &c->in[0]->shape;
  struct shape y = {.rank = 0};
  for (int i = 0; i < x->rank; i++)
    if (!(axes >> i & 1))
      y.dims[y.rank++] = x->dims[i];
    else if (keep)
      y.dims[y.rank++] = 1;
  c->out[0].dtype = c->in[0]->dtype;
  c->out[0].shape = y;
  return ASSAY_OK;
}

static enum assay_status reduce_infer_float(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = loops_need_float(c, 0, err);
  return status ? status : reduce_infer(c, err);
}

enum assay_status reduce_over(struct op_eval *c, const struct reduction *r, unsigned axes, struct assay_error *err) {
  const struct array *x = c->in[0];
  enum assay_status status = ASSAY_OK;
  if (dtype_is_integer(x->dtype)) {
    struct reduce_integers w = {.r = r, .dtype = x->dtype, .x = x->i64, .y = c->out[0].i64};
    rows_init(&w.rows, &x->shape, axes, NULL);
    w.start = integer_start(r, x->dtype);
    parallel_for(c->threads, w.rows.count, 1 + 50000 / (w.rows.length + 1), integer_range, &w);
    return ASSAY_OK;
  }
  struct reduce_work w = {.r = r, .arith = &c->arith, .x = x->f64, .y = c->out[0].f64};
  rows_init(&w.rows, &x->shape, axes, NULL);
  w.first = arith_first(w.arith, w.rows.count, x->shape.dims[0]);
  if (r->max_first) {
    struct reduce_work first = w;
    first.r = &reduce_max;
    double *shift = arena_calloc(c->scratch, (size_t)w.rows.count + 1, sizeof *shift);
    if (!shift)
      return error_nomem(err, "a reduction's maxima");
    first.y = shift;
    w.shift = shift;
    status = reduce_f64(&first, c->threads, c->scratch, err);
  }
  return status ? status : reduce_f64(&w, c->threads, c->scratch, err);
}

static bool reduce_apart(const struct op_infer *c, const bool *apart, int64_t *halo) {
  unsigned axes;
  (void)halo;
  return reduce_axes(c, &axes, NULL) == ASSAY_OK && op_apart_along(c, apart, axes);
}

bool reduce_is_centred(const struct shape *x, const struct shape *centre, unsigned axes) {
  bool centred = centre->rank == x->rank;
  for (int i = 0; centred && i < x->rank; i++)
    centred = centre->dims[i] == (axes >> i & 1 ? 1 : x->dims[i]);
  return centred;
}

// What one pass over the deviations loses besides.
static void round_centred(struct op_eval *c, const struct reduction *r) {
  double *y = c->out[0].f64;
  int64_t count = shape_count(&c->out[0].shape);
  double n = (double)(shape_count(&c->in[0]->shape) / (count > 0 ? count : 1));
  uint64_t key = noise_derive(c->arith.key, REDUCE_CENTRE);
  for (int64_t i = 0; i < count; i++) {
    struct noise noise = noise_at(key, (uint64_t)(arith_first(&c->arith, count, c->in[0]->shape.dims[0]) + i));
    double squares = r->finish == finish_root ? y[i] * y[i] : r->finish == finish_mean ? y[i] * n : y[i];
    double ulps = arith_centre_ulps(c->centre->f64[i], n, squares);
    y[i] = arith_round_ulps(&c->arith, &noise, y[i], r->finish == finish_root ? ulps / 2 : ulps);
  }
}

static bool makes_mean(const struct node *n) {
  return n->op->total == OP_TOTAL_MEAN;
}

// Of the terms that are left of `dims` after a reduction over `axes`: which dimension of the terms each one is.
static int keep_dims(const struct node *n, unsigned axes, int rank, int *dims) {
  bool keep = node_int(n, "keepdims", 1) != 0;
  int left = 0;
  for (int d = 0; d < rank; d++)
    if (!(axes >> d & 1))
      dims[left++] = dims[d];
    else if (keep)
      dims[left++] = -1; // of one element
  return left;
}

bool reduce_is_nested(const struct op_nested *nested) {
  return nested->n > 0 || nested->products > 1;
}

bool reduce_flatten(const struct op_nested *nested, const struct node *node, const struct shape *x, unsigned axes,
                    unsigned *flat, double *part) {
  int dims[SHAPE_MAX_RANK], rank = nested->n > 0 ? nested->of[0].in[0]->shape.rank : x->rank;
  double terms = 1, length = 1;
  *flat = 0;
  *part = 1;
  for (int d = 0; d < rank; d++)
    dims[d] = d;
  for (int i = 0; i <= nested->n; i++) {
    const struct node *n = i < nested->n ? nested->of[i].node : node;
    const struct shape *of = i < nested->n ? &nested->of[i].in[0]->shape : x;
    unsigned now = axes;
    struct op_infer infer = {.node = n, .n_in = n->n_inputs};
    if (i < nested->n) {
      infer.in = nested->of[i].in;
      if (reduce_axes(&infer, &now, NULL) != ASSAY_OK)
        return false;
    }
    length = 1;
    for (int d = 0; d < rank; d++)
      if (now >> d & 1) {
        length *= (double)of->dims[d];
        *flat |= dims[d] >= 0 ? 1u << dims[d] : 0;
      }
    terms *= length;
    *part /= makes_mean(n) ? length : 1;
    rank = keep_dims(n, now, rank, dims);
  }
  bool products = nested->products > 1 && terms * nested->products <= ARITH_LANE_LENGTH;
  if (products)
    *part *= sqrt(nested->products);
  return length > 1 && terms > 0 && terms <= ARITH_LANE_LENGTH && (nested->n > 0 || products);
}

// What one accumulator for all terms of a sum of sums or of products loses besides, in any order.
static enum assay_status add_nested(struct op_eval *c, unsigned axes, struct assay_error *err) {
  const struct array *x = c->nested.n > 0 ? c->nested.of[0].in[0] : c->in[0];
  struct arith arith = c->arith;
  struct reduce_work w = {.r = &reduce_lost, .arith = &arith, .x = x->f64};
  unsigned flat;
  double part;
  if (!reduce_flatten(&c->nested, c->node, &c->in[0]->shape, axes, &flat, &part))
    return ASSAY_OK;
  arith.key = noise_derive(arith.key, REDUCE_NESTED);
  rows_init(&w.rows, &x->shape, flat, NULL);
  w.first = arith_first(w.arith, w.rows.count, x->shape.dims[0]);
  w.y = arena_calloc(c->scratch, (size_t)w.rows.count + 1, sizeof *w.y);
  enum assay_status status = w.y ? ASSAY_OK : error_nomem(err, "a sum of sums");
  if (!status)
    status = reduce_f64(&w, c->threads, c->scratch, err);
  for (int64_t i = 0; !status && i < w.rows.count; i++)
    c->out[0].f64[i] += part * w.y[i];
  return status;
}

static enum assay_status reduce_eval(struct op_eval *c, const struct reduction *r, struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  unsigned axes;
  enum assay_status status = reduce_axes(&as_infer, &axes, err);
  if (!status)
    status = reduce_over(c, r, axes, err);
  if (!status && c->centre && reduce_is_centred(&c->in[0]->shape, &c->centre->shape, axes))
    round_centred(c, r);
  if (!status && reduce_is_nested(&c->nested) && dtype_is_float(c->in[0]->dtype))
    status = add_nested(c, axes, err);
  return status;
}

static void reduce_cost(const struct op_infer *c, struct op_cost *cost, const struct reduction *r) {
  double out = (double)shape_count(&c->out[0].shape);
  cost->flops = r->flops * (double)shape_count(&c->in[0]->shape);
  if (r->finish == finish_mean || r->finish == finish_root || r->finish == finish_log)
    cost->flops += out;
  if (r->finish == finish_log_sum_exp)
    cost->flops += 2 * out;
}

// One evaluator and one cost an operator: what the table points at.
#define REDUCTION(name)                                                                                                \
  static enum assay_status name##_eval(struct op_eval *c, struct assay_error *err) {                                   \
    return reduce_eval(c, &name, err);                                                                                 \
  }                                                                                                                    \
  static void name##_cost(const struct op_infer *c, struct op_cost *cost) {                                            \
    reduce_cost(c, cost, &name);                                                                                       \
  }
REDUCTION(reduce_sum)
REDUCTION(reduce_mean)
REDUCTION(reduce_l1)
REDUCTION(reduce_l2)
REDUCTION(reduce_sum_square)
REDUCTION(reduce_log_sum)
REDUCTION(reduce_log_sum_exp)
REDUCTION(reduce_max)
REDUCTION(reduce_min)
REDUCTION(reduce_prod)
#undef REDUCTION

static const struct op_attr attrs_with_axes[] = {
    {"axes", ATTR_INTS, false, "all"},
    {"keepdims", ATTR_INT, false, "1"},
    {NULL, 0, false, NULL},
};

static const struct op_attr attrs_with_noop[] = {
    {"keepdims", ATTR_INT, false, "1"},
    {"noop_with_empty_axes", ATTR_INT, false, "0"},
    {NULL, 0, false, NULL},
};

// Two rows an operator: axes as an attribute, and later as an input.
#define ROWS(op, fn, infer_fn, input_since, text, ...)                                                                 \
  {.name = op,                                                                                                         \
   .domain = "",                                                                                                       \
   .since = 1,                                                                                                         \
   .min_in = 1,                                                                                                        \
   .max_in = 1,                                                                                                        \
   .min_out = 1,                                                                                                       \
   .max_out = 1,                                                                                                       \
   .class = OP_REDUCTION,                                                                                              \
   .attrs = attrs_with_axes,                                                                                           \
   .infer = infer_fn,                                                                                                  \
   .eval = fn##_eval,                                                                                                  \
   .cost = fn##_cost,                                                                                                  \
   .apart = reduce_apart,                                                                                              \
   .doc = text " Axes are an attribute; without it, all.",                                                             \
   __VA_ARGS__},                                                                                                       \
  {                                                                                                                    \
    .name = op, .domain = "", .since = input_since, .min_in = 1, .max_in = 2, .min_out = 1, .max_out = 1,              \
    .class = OP_REDUCTION, .attrs = attrs_with_noop, .infer = infer_fn, .eval = fn##_eval, .cost = fn##_cost,          \
    .apart = reduce_apart,                                                                                             \
    .doc = text " Axes are an input, which must be constant; without it, all (none with noop_with_empty_axes).",       \
    .example = "(float[2,3,4] x) => (float[2,1,4] y) <int64[1] axes = {1}> { y = " op "(x, axes) }\n"                  \
               "(float[2,3,4] x) => (float[3] y) <int64[2] axes = {0, -1}> { y = " op "<keepdims = 0>(x, axes) }",     \
    __VA_ARGS__                                                                                                        \
  }

static const struct op_def reduce_rows[] = {
    ROWS("ReduceSum", reduce_sum, reduce_infer, 13, "Sum.", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
         .total = OP_TOTAL_SUM, .pytorch = {.text = "torch.sum", .write = pytorch_reduce}),
    ROWS("ReduceMean", reduce_mean, reduce_infer, 18, "Arithmetic mean (of integers: towards zero).",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .total = OP_TOTAL_MEAN,
         .pytorch = {.text = "torch.mean", .write = pytorch_reduce}),
    ROWS("ReduceMax", reduce_max, reduce_infer, 18, "Maximum; NaN if there is one.",
         .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.amax", .write = pytorch_reduce}),
    ROWS("ReduceMin", reduce_min, reduce_infer, 18, "Minimum; NaN if there is one.",
         .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.amin", .write = pytorch_reduce}),
    ROWS("ReduceProd", reduce_prod, reduce_infer, 18, "Product.", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
         .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
    ROWS("ReduceL1", reduce_l1, reduce_infer, 18, "Sum of magnitudes.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
         .pytorch = {.text = "torch.sum(torch.abs", .write = pytorch_reduce}),
    ROWS("ReduceL2", reduce_l2, reduce_infer_float, 18, "Square root of the sum of squares.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .total = OP_TOTAL_SQUARES,
         .pytorch = {.text = "torch.linalg.vector_norm", .write = pytorch_reduce}),
    ROWS("ReduceSumSquare", reduce_sum_square, reduce_infer, 18, "Sum of squares.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .total = OP_TOTAL_SQUARES,
         .pytorch = {.text = "torch.sum(torch.square", .write = pytorch_reduce}),
    ROWS("ReduceLogSum", reduce_log_sum, reduce_infer_float, 18, "Logarithm of the sum.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.none = PYTORCH_NOT_WRITTEN}),
    ROWS("ReduceLogSumExp", reduce_log_sum_exp, reduce_infer_float, 18,
         "Logarithm of the sum of exponentials, with the maximum subtracted first.",
         .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY},
         .pytorch = {.text = "torch.logsumexp", .write = pytorch_reduce}),
};

const struct op_family ops_reduce_family = {
    .name = "Reductions", .rows = reduce_rows, .n_rows = sizeof reduce_rows / sizeof reduce_rows[0]};
