// SPDX-License-Identifier: Apache-2.0
// RNN, LSTM and GRU on a device. What every step needs of the input is one product (contraction.c). A step is then two
// launches, for all directions at once: the states' product with the recurrent weights, its terms spread over as many
// threads as keep the device busy, and the cells. Nothing waits for the host between steps.
#include "ops/recurrent.h"
#include "oracle/cuda/contraction.h"
#include "oracle/cuda/convert.h"
#include "oracle/cuda/gpu_table.h"
#include "oracle/cuda/move.h"
#include "oracle/cuda/recurrent_args.h"
#include "oracle/cuda/reduce.h"

extern const char code_convert_args[], code_narrow[], code_recurrent_args[], code_recurrent[];
static const struct device_code program = {
    "recurrent",
    (const char *const[]){GPU_COMMON_TEXTS, code_convert_args, code_narrow, code_recurrent_args, code_recurrent, NULL},
    false};

#define SAME(name) _Static_assert((int)FUNCTION_##name == (int)RECURRENT_##name, "as in ops/recurrent.h")
SAME(RELU);
SAME(TANH);
SAME(SIGMOID);
SAME(AFFINE);
SAME(LEAKY_RELU);
SAME(THRESHOLDED_RELU);
SAME(SCALED_TANH);
SAME(HARD_SIGMOID);
SAME(ELU);
SAME(SOFTSIGN);
SAME(SOFTPLUS);
_Static_assert(SINGLE_BITS == RECURRENT_SINGLE_BITS && (int)FUNCTION_ULPS == (int)RECURRENT_LIBRARY_ULPS,
               "as in ops/recurrent.h");
#define SAME_PLACE(name) _Static_assert(AT_##name == (int)RECURRENT_STORE_##name, "as in ops/recurrent.h")
SAME_PLACE(INPUT);
SAME_PLACE(STATE);
SAME_PLACE(SUM);
SAME_PLACE(GATE);
SAME_PLACE(PRODUCT);
SAME_PLACE(CELL);
SAME_PLACE(SEEN);
SAME_PLACE(HIDDEN);
_Static_assert((int)PLACES == (int)RECURRENT_STORES, "as in ops/recurrent.h");
_Static_assert(sizeof(struct recurrent_args) <= 4096, "a kernel's argument");

enum { BUSY = 1 << 15, LEAST_DEPTH = 16 }; // threads that keep a large GPU busy; terms worth a thread

// The kernels of a cell: `last` where a second product stands between them.
struct cell {
  const char *first, *last;
};
static const struct cell rnn = {"recurrent_rnn", NULL}, lstm = {"recurrent_lstm", NULL},
                         gru_linear = {"recurrent_gru_linear", NULL}, gru = {"recurrent_gru_reset", "recurrent_gru"};

struct run {
  struct gpu_eval *c;
  const struct cell *cell;
  struct recurrent r;
  struct recurrent_args args;
  struct recurrent_sum_args product;
};

static struct gpu_ref input(const struct gpu_eval *c, int i) {
  return i < c->n_in && c->in[i] ? gpu_ref_of(c->in[i]) : (struct gpu_ref){0};
}
static device_ptr output(const struct gpu_eval *c, int i) {
  return i < c->n_out ? c->out[i].data : 0;
}

// ---- before and after the steps

// from_x: X W', without the bias, for both directions.
static enum assay_status multiply_input(struct run *u, struct assay_error *err) {
  const struct recurrent *r = &u->r;
  int64_t width = u->args.width, rows = r->steps * r->batch;
  struct product p = {.batches = r->directions,
                      .m = rows,
                      .n = width,
                      .k = r->input,
                      .a = input(u->c, RECURRENT_X),
                      .b = input(u->c, RECURRENT_W),
                      .a_batch = product_line(r->directions, 0),
                      .a_line = product_line(rows, r->input),
                      .a_depth = product_line(r->input, 1),
                      .b_batch = product_line(r->directions, width * r->input),
                      .b_line = product_line(width, r->input),
                      .b_depth = product_line(r->input, 1),
                      .arith = gpu_arith_phase(u->c, 0),
                      .products = true,
                      .sums = true,
                      .alpha = 1};
  enum assay_status status = gpu_scratch(u->c, r->directions * rows * width, &u->args.from_x, err);
  p.out = u->args.from_x;
  return status ? status : product_run(u->c, &p, err);
}

// The recurrent weights with neighbouring rows side by side.
static enum assay_status turn_weights(struct run *u, struct assay_error *err) {
  int64_t hidden = u->r.hidden, width = u->args.width;
  struct gpu_strided s = {.rank = 3,
                          .dims = {u->r.directions, hidden, width},
                          .from = {width * hidden, 1, hidden},
                          .to = {hidden * width, width, 1}};
  enum assay_status status = gpu_scratch(u->c, u->r.directions * hidden * width, &u->product.weights, err);
  return status ? status : gpu_strided_copy(u->c, &s, u->c->in[RECURRENT_R], u->product.weights, err);
}

// [direction][batch][hidden], and as states lie in inputs and outputs.
static struct gpu_strided state_walk(const struct recurrent *r, bool to_output) {
  struct gpu_strided s = {.rank = 3, .dims = {r->directions, r->batch, r->hidden}};
  int64_t *own = to_output ? s.from : s.to, *other = to_output ? s.to : s.from;
  own[0] = r->batch * r->hidden;
  own[1] = r->hidden;
  other[0] = r->h_direction;
  other[1] = r->h_batch;
  own[2] = other[2] = 1;
  return s;
}

// A state as input i has it; without one, zeros.
static enum assay_status load_state(struct run *u, int i, uint64_t *to, struct assay_error *err) {
  const struct recurrent *r = &u->r;
  struct gpu_strided s = state_walk(r, false);
  int64_t n = r->directions * r->batch * r->hidden;
  enum assay_status status = gpu_scratch(u->c, n, to, err);
  if (status)
    return status;
  if (i >= u->c->n_in || !u->c->in[i])
    return gpu_fill(u->c, *to, n, 0, err);
  return gpu_strided_copy(u->c, &s, u->c->in[i], *to, err);
}

static enum assay_status store_state(struct run *u, int i, device_ptr from, struct assay_error *err) {
  struct gpu_strided s = state_walk(&u->r, true);
  struct gpu_array x = {.dtype = DTYPE_DOUBLE, .storage = GPU_F64, .data = from};
  return output(u->c, i) ? gpu_strided_copy(u->c, &s, &x, output(u->c, i), err) : ASSAY_OK;
}

// ---- steps

static void split_product(struct recurrent_sum_args *p) {
  int64_t threads = p->directions * ((p->batch + RECURRENT_LANES - 1) / RECURRENT_LANES) * p->columns;
  int64_t most = (p->hidden + LEAST_DEPTH - 1) / LEAST_DEPTH, want = (BUSY + threads - 1) / threads;
  p->splits = want < most ? want : most;
  p->depth = (p->hidden + p->splits - 1) / p->splits;
}

// Products with columns [first, +columns) of the weights.
static enum assay_status multiply_state(struct run *u, device_ptr state, int64_t first, int64_t columns,
                                        struct assay_error *err) {
  struct recurrent_sum_args *p = &u->product;
  p->state = state;
  p->first_column = first;
  p->columns = columns;
  split_product(p);
  u->args.columns = columns;
  u->args.splits = p->splits;
  int64_t groups = (p->batch + RECURRENT_LANES - 1) / RECURRENT_LANES;
  return compute_launch(u->c->compute, &program, "recurrent_sums", p->splits * p->directions * groups * columns, p,
                        sizeof *p, err);
}

static enum assay_status run_cells(struct run *u, const char *kernel, int64_t phase, struct assay_error *err) {
  u->args.arith = gpu_arith_phase(u->c, (uint64_t)phase);
  return compute_launch(u->c->compute, &program, kernel, u->r.directions * u->r.batch * u->r.hidden, &u->args,
                        sizeof u->args, err);
}

static enum assay_status run_step(struct run *u, struct assay_error *err) {
  int64_t width = u->args.width, first = u->cell->last ? width - u->r.hidden : width;
  enum assay_status status = multiply_state(u, u->args.h, 0, first, err);
  if (!status)
    status = run_cells(u, u->cell->first, 1 + 2 * u->args.step, err);
  if (status || !u->cell->last)
    return status;
  status = multiply_state(u, u->args.gates, first, width - first, err);
  return status ? status : run_cells(u, u->cell->last, 2 + 2 * u->args.step, err);
}

static void set_functions(struct run *u) {
  struct rounder round = {0};
  bool exact = u->c->arith.exact;
  if (!exact)
    round = arith_rounder(&u->c->arith);
  for (int d = 0; d < u->r.directions; d++)
    for (int i = 0; i < u->r.cell->n_functions; i++) {
      const struct recurrent_function *f = &u->r.functions[d][i];
      u->args.functions[d][i] = (int32_t)f->kind;
      u->args.alpha[d][i] = exact ? f->alpha : rounder_nearest(&round, f->alpha);
      u->args.beta[d][i] = exact ? f->beta : rounder_nearest(&round, f->beta);
    }
}

static void set_stores(struct run *u) {
  const enum dtype dtype = u->c->in[RECURRENT_X]->dtype;
  for (int place = 0; place < PLACES; place++) {
    if (!arith_stores_inside(&u->c->arith, place, dtype))
      continue;
    const struct arith storing = arith_storing_inside(&u->c->arith, place);
    u->args.stores |= 1u << place;
    u->args.storing[place] = gpu_storing_of(&storing, dtype);
  }
}

static void set_args(struct run *u) {
  const struct recurrent *r = &u->r;
  u->args = (struct recurrent_args){.bias = input(u->c, RECURRENT_B),
                                    .lengths = input(u->c, RECURRENT_LENGTHS),
                                    .peepholes = input(u->c, RECURRENT_P),
                                    .y = output(u->c, RECURRENT_OUT_Y),
                                    .directions = r->directions,
                                    .steps = r->steps,
                                    .batch = r->batch,
                                    .hidden = r->hidden,
                                    .width = r->cell->gates * r->hidden,
                                    .y_step = r->y_step,
                                    .y_direction = r->y_direction,
                                    .y_batch = r->y_batch,
                                    .clip = r->clip,
                                    .reverse = r->reverse,
                                    .batch_first = r->batch_first,
                                    .coupled = r->coupled};
  u->product = (struct recurrent_sum_args){
      .directions = r->directions, .batch = r->batch, .hidden = r->hidden, .width = u->args.width};
  set_functions(u);
  set_stores(u);
}

static enum assay_status make_sums(struct run *u, struct assay_error *err) {
  struct recurrent_sum_args *p = &u->product;
  // As many splits as the narrower of a GRU's two products may have.
  p->columns = u->cell->last ? u->r.hidden : u->args.width;
  split_product(p);
  int64_t n = p->splits * p->directions * p->batch * p->width;
  enum assay_status status = gpu_scratch(u->c, n, &p->sums, err);
  if (!status && !u->c->arith.exact)
    status = gpu_scratch(u->c, n, &p->squares, err);
  if (!status && u->cell->last)
    status = gpu_scratch(u->c, 2 * p->directions * p->batch * p->hidden, &u->args.gates, err);
  // The reset states of sequences that are over are multiplied too, and not used.
  if (!status && u->cell->last)
    status = gpu_fill(u->c, u->args.gates, 2 * p->directions * p->batch * p->hidden, 0, err);
  u->args.sums = p->sums;
  u->args.squares = p->squares;
  return status;
}

static enum assay_status recurrent_run(struct run *u, struct assay_error *err) {
  bool has_cell = u->r.cell->has_cell;
  set_args(u);
  if (u->r.batch * u->r.hidden == 0)
    return ASSAY_OK; // no output has elements
  enum assay_status status = multiply_input(u, err);
  if (!status)
    status = turn_weights(u, err);
  if (!status)
    status = load_state(u, RECURRENT_H, &u->args.h, err);
  if (!status && has_cell)
    status = load_state(u, RECURRENT_C, &u->args.state, err);
  if (!status)
    status = make_sums(u, err);
  for (u->args.step = 0; u->args.step < u->r.steps && !status; u->args.step++)
    status = run_step(u, err);
  if (!status)
    status = store_state(u, RECURRENT_OUT_H, u->args.h, err);
  if (!status && has_cell)
    status = store_state(u, RECURRENT_OUT_C, u->args.state, err);
  return status;
}

// Attributes and shapes, and lengths that are within the sequence.
static enum assay_status recurrent_begin(struct run *u, const struct recurrent_cell *cell, struct assay_error *err) {
  struct gpu_node_view view;
  enum assay_status status = gpu_node_view_init(&view, u->c, 1u << RECURRENT_LENGTHS, err);
  if (status)
    return status;
  status = recurrent_setup(&view.infer, cell, &u->r, err);
  if (!status && op_has(&view.infer, RECURRENT_LENGTHS))
    status = recurrent_check_lengths(u->c->node, &u->r, view.in[RECURRENT_LENGTHS].i64, err);
  gpu_node_view_release(&view);
  return status;
}

enum assay_status gpu_rnn_eval(struct gpu_eval *c, struct assay_error *err) {
  struct run u = {.c = c, .cell = &rnn};
  enum assay_status status = recurrent_begin(&u, &recurrent_rnn, err);
  return status ? status : recurrent_run(&u, err);
}

enum assay_status gpu_lstm_eval(struct gpu_eval *c, struct assay_error *err) {
  struct run u = {.c = c, .cell = &lstm};
  enum assay_status status = recurrent_begin(&u, &recurrent_lstm, err);
  return status ? status : recurrent_run(&u, err);
}

enum assay_status gpu_gru_eval(struct gpu_eval *c, struct assay_error *err) {
  struct run u = {.c = c};
  enum assay_status status = recurrent_begin(&u, &recurrent_gru, err);
  u.cell = u.r.linear_before_reset ? &gru_linear : &gru;
  return status ? status : recurrent_run(&u, err);
}
