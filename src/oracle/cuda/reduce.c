// SPDX-License-Identifier: Apache-2.0
// Reductions, arg and scans on a device. A long row is cut into parts that are joined in a fixed order.
#include "oracle/cuda/reduce.h"

#include <string.h>

#include "base/rng.h"
#include "oracle/cuda/gpu_table.h"
#include "ops/op.h"
#include "ops/reduce.h"

extern const char code_reduce_args[], code_reduce[];
static const struct device_code program = {
    "reduce", (const char *const[]){GPU_ROWS_TEXTS, code_reduce_args, code_reduce, NULL}, false};

enum {
  BUSY = 1 << 19,         // threads that keep a large GPU busy
  LEAST = 8,              // elements of a part: what a 32-byte sector holds of float32
  WARP = 32,              // parts of a contiguous row that are read together
  JOINED = 64,            // partial results that one thread joins
  PRODUCT_PART = 1 << 16, // as in ops/reduce.c
  AXES = 64,
};

static const char *const kernels[] = {"reduce_sum",          "reduce_magnitudes", "reduce_squares",
                                      "reduce_exponentials", "reduce_max",        "reduce_min",
                                      "reduce_product",      "reduce_deviations", "reduce_softmax"};

struct gpu_arith gpu_arith_phase(const struct gpu_eval *c, uint64_t phase) {
  struct arith a = c->arith;
  a.key = noise_derive(a.key, phase);
  return gpu_arith_of(&a);
}

int64_t gpu_reduce_parts(const struct gpu_rows *rows) {
  int64_t most = rows->length / LEAST, want = rows->count > 0 ? BUSY / rows->count : 1;
  if (!gpu_rows_side_by_side(rows) && want < WARP)
    want = WARP;
  want = want < most ? want : most;
  return want > 1 ? want : 1;
}

// Sets how rows are cut. Products are taken in order of position: between the factors' extremes another order may
// overflow, or vanish, where this one does not.
static void set_parts(struct reduce_args *a, bool in_order) {
  a->row_fastest = gpu_rows_side_by_side(&a->rows);
  if (a->one_lane) {
    a->parts = a->lead = a->step = 1;
    a->span = a->rows.length;
    return;
  }
  if (in_order) {
    a->parts = a->rows.length > PRODUCT_PART ? (a->rows.length + PRODUCT_PART - 1) / PRODUCT_PART : 1;
    a->lead = a->span = PRODUCT_PART;
    a->step = 1;
    return;
  }
  a->parts = gpu_reduce_parts(&a->rows);
  a->lead = 1;
  a->step = a->parts;
  a->span = a->rows.length;
}

// How many partials the next round leaves.
static int64_t next_parts(int64_t n, bool in_order) {
  return in_order || n <= JOINED ? 1 : (n + JOINED - 1) / JOINED;
}

// Two buffers for the partials of a row, the second for the first round of joining.
struct buffers {
  device_ptr from, to;
};

static enum assay_status buffers_make(struct gpu_eval *c, int64_t count, int64_t parts, size_t bytes, struct buffers *b,
                                      struct assay_error *err) {
  enum assay_status status = compute_alloc(c->compute, (size_t)(count * parts) * bytes, &b->from, err);
  if (!status && parts > JOINED)
    status = compute_alloc(c->compute, (size_t)(count * next_parts(parts, false)) * bytes, &b->to, err);
  return status;
}

static void buffers_free(struct gpu_eval *c, struct buffers *b) {
  compute_free(c->compute, b->from);
  compute_free(c->compute, b->to);
}

static void buffers_swap(struct buffers *b) {
  device_ptr p = b->from;
  b->from = b->to;
  b->to = p;
}

static enum assay_status join(struct gpu_eval *c, const struct reduce_args *a, enum gpu_term term, struct buffers *b,
                              struct assay_error *err) {
  struct reduce_join_args j = {.arith = a->arith,
                               .shift = a->shift,
                               .y = a->y,
                               .count = a->rows.count,
                               .length = a->rows.length,
                               .row_fastest = a->row_fastest,
                               .finish = a->finish,
                               .kind = term};
  enum assay_status status = ASSAY_OK;
  for (int64_t n = a->parts; n > 1 && !status; n = j.n_to) {
    j.from = b->from;
    j.to = b->to;
    j.n_from = n;
    j.n_to = next_parts(n, term == GPU_TERM_PRODUCT);
    status = compute_launch(c->compute, &program, "reduce_join", j.count * j.n_to, &j, sizeof j, err);
    buffers_swap(b);
  }
  return status;
}

enum assay_status gpu_reduce(struct gpu_eval *c, const struct gpu_reduction *r, struct assay_error *err) {
  struct reduce_args a = {.rows = r->rows,
                          .x = r->x,
                          .arith = gpu_arith_phase(c, r->phase),
                          .shift = r->shift,
                          .terms = r->terms,
                          .y = r->y,
                          .finish = r->finish,
                          .keep_shifted = r->keep_shifted,
                          .one_lane = c->arith.one_lane && r->rows.length <= ARITH_LANE_LENGTH ? r->one_lane : 0};
  struct buffers b = {0};
  enum assay_status status = ASSAY_OK;
  set_parts(&a, r->term == GPU_TERM_PRODUCT);
  if (a.parts > 1)
    status = buffers_make(c, a.rows.count, a.parts, sizeof(struct reduce_partial), &b, err);
  a.partials = b.from;
  if (!status)
    status = compute_launch(c->compute, &program, kernels[r->term], a.rows.count * a.parts, &a, sizeof a, err);
  if (!status)
    status = join(c, &a, r->term, &b, err);
  buffers_free(c, &b);
  return status;
}

// ---- the operators

struct operator{
  enum gpu_term term;
  int finish, integer; // REDUCE_INT_*; -1: not for integers
};

// What a reduction of nothing gives: the type's least value for a maximum, and so on (in flipped order for uint64).
static int64_t integer_start(int kind, enum dtype t) {
  unsigned bits = t == DTYPE_BOOL ? 1 : (unsigned)dtype_bits(t);
  bool is_signed = dtype_is_signed(t);
  bool max = kind == REDUCE_INT_MAX;
  if (kind == REDUCE_INT_PRODUCT)
    return 1;
  if (kind != REDUCE_INT_MAX && kind != REDUCE_INT_MIN)
    return 0;
  if (bits == 64)
    return max ? INT64_MIN : INT64_MAX;
  if (!is_signed)
    return max ? 0 : ((int64_t)1 << bits) - 1;
  return max ? -((int64_t)1 << (bits - 1)) : ((int64_t)1 << (bits - 1)) - 1;
}

static enum assay_status join_integers(struct gpu_eval *c, const struct reduce_int_args *a, struct buffers *b,
                                       struct assay_error *err) {
  struct reduce_int_join_args j = {.y = a->r.y,
                                   .count = a->r.rows.count,
                                   .length = a->r.rows.length,
                                   .flip = a->flip,
                                   .row_fastest = a->r.row_fastest,
                                   .kind = a->r.kind,
                                   .mean = a->mean,
                                   .dtype = a->dtype};
  enum assay_status status = ASSAY_OK;
  for (int64_t n = a->r.parts; n > 1 && !status; n = j.n_to) {
    j.partials = b->from;
    j.to = b->to;
    j.n_from = n;
    j.n_to = next_parts(n, false);
    status = compute_launch(c->compute, &program, "reduce_join_integers", j.count * j.n_to, &j, sizeof j, err);
    buffers_swap(b);
  }
  return status;
}

static enum assay_status reduce_integers(struct gpu_eval *c, const struct operator* op, unsigned axes,
                                         struct assay_error *err) {
  enum dtype t = c->in[0]->dtype;
  bool ordered = op->integer == REDUCE_INT_MAX || op->integer == REDUCE_INT_MIN;
  struct reduce_int_args a = {
      .r = {.rows = gpu_rows_of(&c->in[0]->shape, axes, NULL),
            .x = gpu_ref_of(c->in[0]),
            .y = c->out[0].data,
            .kind = op->integer},
      .start = integer_start(op->integer, t),
      .flip = ordered && t == DTYPE_UINT64 ? INT64_MIN : 0, // the top bit flipped, its order is that of int64
      .mean = op->finish == REDUCE_FINISH_MEAN,
      .dtype = t};
  struct buffers b = {0};
  enum assay_status status = ASSAY_OK;
  set_parts(&a.r, false);
  if (a.r.parts > 1)
    status = buffers_make(c, a.r.rows.count, a.r.parts, sizeof(int64_t), &b, err);
  a.r.partials = b.from;
  if (!status)
    status = compute_launch(c->compute, &program, "reduce_integers", a.r.rows.count * a.r.parts, &a, sizeof a, err);
  if (!status)
    status = join_integers(c, &a, &b, err);
  buffers_free(c, &b);
  return status;
}

// As round_centred of ops/reduce.c.
static enum assay_status round_centred(struct gpu_eval *c, const struct gpu_reduction *r, struct assay_error *err) {
  struct reduce_centre_args a = {.arith = gpu_arith_phase(c, REDUCE_CENTRE),
                                 .centre = gpu_ref_of(c->centre),
                                 .y = r->y,
                                 .ulps = ARITH_CENTRE_ULPS,
                                 .count = r->rows.count,
                                 .length = r->rows.length,
                                 .finish = r->finish};
  return compute_launch(c->compute, &program, "reduce_centre", a.count, &a, sizeof a, err);
}

// As add_nested of ops/reduce.c.
static enum assay_status add_nested(struct gpu_eval *c, unsigned axes, struct assay_error *err) {
  unsigned flat;
  struct reduce_nested_args a = {.y = c->out[0].data};
  if (!reduce_flatten(&c->nested, c->node, &c->in[0]->shape, axes, &flat, &a.part))
    return ASSAY_OK;
  struct gpu_reduction r = {.rows = gpu_rows_of(&c->terms->shape, flat, NULL),
                            .x = gpu_ref_of(c->terms),
                            .term = GPU_TERM_VALUE,
                            .finish = REDUCE_FINISH_LOST,
                            .phase = REDUCE_NESTED,
                            .one_lane = 1};
  enum assay_status status = gpu_scratch(c, r.rows.count, &r.y, err);
  if (!status)
    status = gpu_reduce(c, &r, err);
  a.lost = r.y;
  a.count = r.rows.count;
  return status ? status : compute_launch(c->compute, &program, "reduce_nested", a.count, &a, sizeof a, err);
}

static enum assay_status reduce_floats(struct gpu_eval *c, const struct operator* op, unsigned axes,
                                       struct assay_error *err) {
  struct gpu_reduction r = {.rows = gpu_rows_of(&c->in[0]->shape, axes, NULL),
                            .x = gpu_ref_of(c->in[0]),
                            .term = op->term,
                            .finish = op->finish,
                            .one_lane = 1,
                            .y = c->out[0].data};
  if (op->term != GPU_TERM_EXPONENTIAL) {
    enum assay_status status = gpu_reduce(c, &r, err);
    bool centred = c->centre && reduce_is_centred(&c->in[0]->shape, &c->centre->shape, axes);
    if (!status && centred)
      status = round_centred(c, &r, err);
    return status || !reduce_is_nested(&c->nested) ? status : add_nested(c, axes, err);
  }
  struct gpu_reduction max = r;
  max.term = GPU_TERM_MAX;
  max.finish = REDUCE_FINISH_FINITE;
  max.phase = 1;
  max.one_lane = 0;
  enum assay_status status = gpu_scratch(c, r.rows.count, &r.shift, err);
  max.y = r.shift;
  if (!status)
    status = gpu_reduce(c, &max, err);
  return status ? status : gpu_reduce(c, &r, err);
}

// The node's axes as bits; inference has checked them.
static enum assay_status read_axes(struct gpu_eval *c, unsigned *axes, struct assay_error *err) {
  struct gpu_node_view v;
  int64_t values[AXES];
  int count, rank = c->in[0]->shape.rank, axis;
  enum assay_status status = gpu_node_view_init(&v, c, 1u << 1, err);
  if (!status)
    status = op_ints(&v.infer, 1, "axes", values, &count, AXES, err);
  *axes = 0;
  if (!status && count <= 0 && !node_int(c->node, "noop_with_empty_axes", 0))
    *axes = (1u << rank) - 1;
  for (int i = 0; !status && i < count; i++) {
    status = op_axis(c->node, values[i], rank, &axis, err);
    if (!status)
      *axes |= 1u << axis;
  }
  gpu_node_view_release(&v);
  return status;
}

static enum assay_status reduce_eval(struct gpu_eval *c, const struct operator* op, struct assay_error *err) {
  unsigned axes;
  enum assay_status status = read_axes(c, &axes, err);
  if (status)
    return status;
  return dtype_is_integer(c->in[0]->dtype) ? reduce_integers(c, op, axes, err) : reduce_floats(c, op, axes, err);
}

#define REDUCTION(name, term, finish, integer)                                                                         \
  enum assay_status gpu_reduce_##name##_eval(struct gpu_eval *c, struct assay_error *err) {                            \
    static const struct operator op = {term, finish, integer};                                                         \
    return reduce_eval(c, &op, err);                                                                                   \
  }
REDUCTION(sum, GPU_TERM_VALUE, REDUCE_FINISH_SUM, REDUCE_INT_SUM)
REDUCTION(mean, GPU_TERM_VALUE, REDUCE_FINISH_MEAN, REDUCE_INT_SUM)
REDUCTION(max, GPU_TERM_MAX, REDUCE_FINISH_VALUE, REDUCE_INT_MAX)
REDUCTION(min, GPU_TERM_MIN, REDUCE_FINISH_VALUE, REDUCE_INT_MIN)
REDUCTION(prod, GPU_TERM_PRODUCT, REDUCE_FINISH_VALUE, REDUCE_INT_PRODUCT)
REDUCTION(l1, GPU_TERM_MAGNITUDE, REDUCE_FINISH_SUM, REDUCE_INT_L1)
REDUCTION(l2, GPU_TERM_SQUARE, REDUCE_FINISH_ROOT, -1)
REDUCTION(sum_square, GPU_TERM_SQUARE, REDUCE_FINISH_SUM, REDUCE_INT_SQUARES)
REDUCTION(log_sum, GPU_TERM_VALUE, REDUCE_FINISH_LOG, -1)
REDUCTION(log_sum_exp, GPU_TERM_EXPONENTIAL, REDUCE_FINISH_LOG_SHIFTED, -1)
