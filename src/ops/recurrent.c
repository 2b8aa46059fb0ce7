// SPDX-License-Identifier: Apache-2.0
// RNN, LSTM and GRU: a state that goes through a sequence step by step, in one direction or both.
//
// What all steps need of the input is one product, X W', made before the first. Each step then multiplies the state by
// the recurrent weights and goes through the cell, batch by batch. In a contract pass every sum and every operation of
// the cell errs as in any other operator, and the state carries its error along. In half precision a pass may also
// store what goes from one of these to the next (recurrent.h).
#include "ops/recurrent.h"

#include <string.h>

#include "base/parallel.h"
#include "ops/expr.h"
#include "ops/families.h"
#include "ops/gemm.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

enum { GRAIN_WORK = 20000 }; // gates that are worth a thread

// Streams of noise: that of the product with the input, and each step's of each direction.
enum { PHASE_STATE, PHASE_RESET, PHASE_FIRST, PHASE_LAST, PHASE_INPUT = 0, PHASES = 4 };

struct run;
struct row;

// How a cell's step goes: products with the state, `first` for every batch and, where the reset of a GRU comes before
// its product, that product and `last`.
struct cell {
  const struct recurrent_cell *of;
  void (*first)(struct row *w), (*last)(struct row *w);
};

struct run {
  const struct recurrent *r;
  struct op_eval *c;
  const struct expr *functions[2][3];
  int64_t width;   // gates * hidden
  int64_t product; // of those, what the state is multiplied by at first
  double *from_x;  // [direction][position][width]
  double *from_h;  // [batch][product]
  double *gates;   // [batch][width]
  // [batch][hidden], of the direction at work. state: the LSTM's cell; reset: the GRU's state after its reset gate.
  double *h, *state, *spare, *reset, *from_reset;
  int direction;
  int64_t step;
  void (*body)(struct row *w);
  bool final; // body makes the step's result
};

// One batch at one step.
struct row {
  const struct run *run;
  struct noise noise;
  int64_t batch, time; // time: its position in the sequence
};

static const double *input(const struct run *u, int i) {
  const struct op_eval *c = u->c;
  return i < c->n_in && c->in[i] ? c->in[i]->f64 : NULL;
}

static const int64_t *lengths_of(const struct run *u) {
  const struct op_eval *c = u->c;
  return RECURRENT_LENGTHS < c->n_in && c->in[RECURRENT_LENGTHS] ? c->in[RECURRENT_LENGTHS]->i64 : NULL;
}

static double *output(const struct run *u, int i) {
  return i < u->c->n_out ? u->c->out[i].f64 : NULL;
}

static uint64_t step_stream(const struct run *u, int phase) {
  return (uint64_t)((u->direction * u->r->steps + u->step) * PHASES + phase + 1);
}

// ---- a row of `hidden` elements

static double *of_batch(const struct row *w, double *values) {
  return values + w->batch * w->run->r->hidden;
}

static double *gate(const struct row *w, int i) {
  return w->run->gates + w->batch * w->run->width + i * w->run->r->hidden;
}

static void add(struct row *w, const double *x, const double *y, double *to) {
  const struct arith *a = &w->run->c->arith;
  for (int64_t i = 0; i < w->run->r->hidden; i++)
    to[i] = arith_round(a, &w->noise, x[i] + y[i]);
}

static void subtract(struct row *w, const double *x, const double *y, double *to) {
  const struct arith *a = &w->run->c->arith;
  for (int64_t i = 0; i < w->run->r->hidden; i++)
    to[i] = arith_round(a, &w->noise, x[i] - y[i]);
}

static void multiply(struct row *w, const double *x, const double *y, double *to) {
  const struct arith *a = &w->run->c->arith;
  for (int64_t i = 0; i < w->run->r->hidden; i++)
    to[i] = arith_round(a, &w->noise, x[i] * y[i]);
}

static void one_minus(struct row *w, const double *x, double *to) {
  const struct arith *a = &w->run->c->arith;
  for (int64_t i = 0; i < w->run->r->hidden; i++)
    to[i] = arith_round(a, &w->noise, 1 - x[i]);
}

// Rounded to the storage type, where the pass does that. g: a gate, where there is one at this place for each.
static void store(const struct row *w, int place, int g, double *x) {
  const struct run *u = w->run;
  const struct recurrent *r = u->r;
  const struct arith *a = &u->c->arith;
  if (!arith_stores_inside(a, place, u->c->in[RECURRENT_X]->dtype))
    return;
  const struct arith storing = arith_storing_inside(a, place);
  int64_t first = (((u->direction * r->steps + u->step) * r->batch + w->batch) * r->cell->gates + g) * r->hidden;
  for (int64_t i = 0; i < r->hidden; i++)
    x[i] = arith_store(&storing, (uint64_t)(first + i), x[i]);
}

// More than the function's own error, where a library has a coarser one of its own for these networks.
static void err_as_libraries(struct row *w, enum recurrent_kind kind, double *x, int n) {
  const struct arith *a = &w->run->c->arith;
  if (a->exact || a->bits != RECURRENT_SINGLE_BITS || (kind != RECURRENT_TANH && kind != RECURRENT_SIGMOID))
    return;
  for (int i = 0; i < n; i++)
    x[i] = arith_reflect(arith_round_ulps(a, &w->noise, x[i], RECURRENT_LIBRARY_ULPS));
}

// Clipped and put through the direction's function, in place.
static void activate(struct row *w, int function, double *x) {
  const struct run *u = w->run;
  const struct recurrent_function *f = &u->r->functions[u->direction][function];
  const double params[] = {f->alpha, f->beta};
  for (int64_t at = 0; at < u->r->hidden; at += EXPR_BLOCK) {
    int n = (int)(u->r->hidden - at < EXPR_BLOCK ? u->r->hidden - at : EXPR_BLOCK);
    for (int i = 0; i < n; i++)
      x[at + i] = x[at + i] > u->r->clip ? u->r->clip : x[at + i] < -u->r->clip ? -u->r->clip : x[at + i];
    struct expr_block block = {.n = n, .in = {x + at}, .params = params};
    expr_eval(u->functions[u->direction][function], &u->c->arith, &w->noise, &block, x + at);
    err_as_libraries(w, f->kind, x + at, n);
  }
}

// ---- gates

static const double *bias_of(const struct row *w, int g, bool recurrent) {
  const struct run *u = w->run;
  const double *bias = input(u, RECURRENT_B);
  return bias ? bias + (2 * u->direction + recurrent) * u->width + g * u->r->hidden : NULL;
}

// What the input, and what the state, has to say to gate g, with its bias.
static const double *part(struct row *w, int g, bool recurrent, const double *sum, double *to) {
  const double *bias = bias_of(w, g, recurrent);
  if (!bias)
    memcpy(to, sum, (size_t)w->run->r->hidden * sizeof *to);
  else
    add(w, sum, bias, to);
  store(w, recurrent ? RECURRENT_STORE_STATE : RECURRENT_STORE_INPUT, g, to);
  return to;
}

static const double *input_part(struct row *w, int g, double *to) {
  const struct run *u = w->run;
  const struct recurrent *r = u->r;
  int64_t position = r->batch_first ? w->batch * r->steps + w->time : w->time * r->batch + w->batch;
  position += u->direction * r->steps * r->batch;
  return part(w, g, false, u->from_x + position * u->width + g * r->hidden, to);
}

// gate(g) = both parts; `sum` is the state's product for this gate.
static void gate_sum(struct row *w, int g, const double *sum) {
  const double *x = input_part(w, g, gate(w, g));
  add(w, x, part(w, g, true, sum, of_batch(w, w->run->spare)), gate(w, g));
  store(w, RECURRENT_STORE_SUM, g, gate(w, g));
}

static const double *state_sum(const struct row *w, int g) {
  return w->run->from_h + w->batch * w->run->product + g * w->run->r->hidden;
}

// ---- cells

static void rnn_step(struct row *w) {
  double *h = of_batch(w, w->run->h);
  gate_sum(w, 0, state_sum(w, 0));
  activate(w, 0, gate(w, 0));
  memcpy(h, gate(w, 0), (size_t)w->run->r->hidden * sizeof *h);
  store(w, RECURRENT_STORE_HIDDEN, 0, h);
}

enum { LSTM_I, LSTM_O, LSTM_F, LSTM_C }; // gates; peepholes have the order of the first three

// Gate g looks at the cell state.
static void peep(struct row *w, int g) {
  const struct run *u = w->run;
  const double *weights = input(u, RECURRENT_P);
  if (!weights)
    return;
  double *seen = of_batch(w, u->spare);
  multiply(w, weights + (3 * u->direction + g) * u->r->hidden, of_batch(w, u->state), seen);
  add(w, gate(w, g), seen, gate(w, g));
}

static void lstm_gate(struct row *w, int g) {
  gate_sum(w, g, state_sum(w, g));
  if (g != LSTM_C)
    peep(w, g);
  activate(w, g == LSTM_C ? 1 : 0, gate(w, g));
  store(w, RECURRENT_STORE_GATE, g, gate(w, g));
}

static void lstm_step(struct row *w) {
  double *state = of_batch(w, w->run->state), *seen = gate(w, LSTM_I);
  lstm_gate(w, LSTM_I);
  if (w->run->r->coupled)
    one_minus(w, gate(w, LSTM_I), gate(w, LSTM_F));
  else
    lstm_gate(w, LSTM_F);
  lstm_gate(w, LSTM_C);
  multiply(w, gate(w, LSTM_F), state, gate(w, LSTM_F));
  store(w, RECURRENT_STORE_PRODUCT, LSTM_F, gate(w, LSTM_F));
  multiply(w, gate(w, LSTM_I), gate(w, LSTM_C), gate(w, LSTM_C));
  store(w, RECURRENT_STORE_PRODUCT, LSTM_C, gate(w, LSTM_C));
  add(w, gate(w, LSTM_F), gate(w, LSTM_C), state);
  store(w, RECURRENT_STORE_CELL, 0, state);
  lstm_gate(w, LSTM_O);
  memcpy(seen, state, (size_t)w->run->r->hidden * sizeof *seen);
  activate(w, 2, seen);
  store(w, RECURRENT_STORE_SEEN, 0, seen);
  multiply(w, gate(w, LSTM_O), seen, of_batch(w, w->run->h));
  store(w, RECURRENT_STORE_HIDDEN, 0, of_batch(w, w->run->h));
}

enum { GRU_Z, GRU_R, GRU_H }; // gates

// H = (1 - z) c + z H as c + z (H - c), in which frameworks compute it: where z is 1 it is off by the rounding of c,
// and nothing of the other form is.
static void gru_finish(struct row *w) {
  double *h = of_batch(w, w->run->h), *z = gate(w, GRU_Z), *candidate = gate(w, GRU_H), *way = gate(w, GRU_R);
  activate(w, 1, candidate);
  store(w, RECURRENT_STORE_GATE, GRU_H, candidate);
  subtract(w, h, candidate, way);
  store(w, RECURRENT_STORE_SEEN, 0, way);
  multiply(w, z, way, way);
  store(w, RECURRENT_STORE_PRODUCT, GRU_Z, way);
  add(w, candidate, way, h);
  store(w, RECURRENT_STORE_HIDDEN, 0, h);
}

static void gru_gates(struct row *w) {
  for (int g = GRU_Z; g <= GRU_R; g++) {
    gate_sum(w, g, state_sum(w, g));
    activate(w, 0, gate(w, g));
    store(w, RECURRENT_STORE_GATE, g, gate(w, g));
  }
}

static void gru_linear_step(struct row *w) {
  double *seen = of_batch(w, w->run->spare);
  gru_gates(w);
  multiply(w, gate(w, GRU_R), part(w, GRU_H, true, state_sum(w, GRU_H), seen), seen);
  store(w, RECURRENT_STORE_PRODUCT, GRU_H, seen);
  add(w, input_part(w, GRU_H, gate(w, GRU_H)), seen, gate(w, GRU_H));
  store(w, RECURRENT_STORE_SUM, GRU_H, gate(w, GRU_H));
  gru_finish(w);
}

static void gru_reset(struct row *w) {
  gru_gates(w);
  multiply(w, gate(w, GRU_R), of_batch(w, w->run->h), of_batch(w, w->run->reset));
  store(w, RECURRENT_STORE_PRODUCT, GRU_R, of_batch(w, w->run->reset));
}

static void gru_reset_step(struct row *w) {
  gate_sum(w, GRU_H, of_batch(w, w->run->from_reset));
  gru_finish(w);
}

static const struct cell rnn = {&recurrent_rnn, rnn_step, NULL}, lstm = {&recurrent_lstm, lstm_step, NULL},
                         gru_linear = {&recurrent_gru, gru_linear_step, NULL},
                         gru = {&recurrent_gru, gru_reset, gru_reset_step};

// ---- the sequence

// Batches whose sequence has ended keep their state, and what they give at this step is zero.
static void run_rows(void *arg, int64_t begin, int64_t end) {
  const struct run *u = arg;
  const struct recurrent *r = u->r;
  const int64_t *lengths = lengths_of(u);
  double *y = output(u, RECURRENT_OUT_Y);
  size_t bytes = (size_t)r->hidden * sizeof *y;
  uint64_t key = rng_derive(u->c->arith.key, step_stream(u, u->final ? PHASE_LAST : PHASE_FIRST));
  for (int64_t b = begin; b < end; b++) {
    int64_t length = lengths ? lengths[b] : r->steps;
    bool ended = u->step >= length;
    struct row w = {.run = u, .noise = noise_at(key, (uint64_t)b), .batch = b, .time = u->step};
    if ((r->reverse || u->direction == 1) && !ended)
      w.time = length - 1 - u->step;
    if (!ended)
      u->body(&w);
    if (!y || !u->final)
      continue;
    double *to = y + w.time * r->y_step + u->direction * r->y_direction + b * r->y_batch;
    if (ended)
      memset(to, 0, bytes);
    else
      memcpy(to, of_batch(&w, u->h), bytes);
  }
}

static void run_body(struct run *u, void (*body)(struct row *w), bool final) {
  u->body = body;
  u->final = final;
  parallel_for(u->c->threads, u->r->batch, 1 + GRAIN_WORK / (u->width + 1), run_rows, u);
}

// to = state * the recurrent weights of `rows` rows from first_row on, transposed; lines of `to` are `rows` long.
static enum assay_status multiply_state(const struct run *u, int phase, const double *state, int64_t first_row,
                                        int64_t rows, double *to, struct assay_error *err) {
  int64_t hidden = u->r->hidden;
  struct arith arith = u->c->arith;
  arith.key = rng_derive(arith.key, step_stream(u, phase));
  struct gemm_batch b = {
      .g = {.m = u->r->batch, .n = rows, .k = hidden, .a_row = hidden, .a_col = 1, .b_row = 1, .b_col = hidden},
      .count = 1,
      .c = to,
      .arith = &arith,
      .threads = u->c->threads};
  b.g.a = state;
  b.g.b = input(u, RECURRENT_R) + (u->direction * u->width + first_row) * hidden;
  return gemm_run(&b, err);
}

static enum assay_status run_step(struct run *u, const struct cell *cell, struct assay_error *err) {
  enum assay_status status = multiply_state(u, PHASE_STATE, u->h, 0, u->product, u->from_h, err);
  if (status)
    return status;
  run_body(u, cell->first, !cell->last);
  if (!cell->last)
    return ASSAY_OK;
  status = multiply_state(u, PHASE_RESET, u->reset, u->product, u->width - u->product, u->from_reset, err);
  if (!status)
    run_body(u, cell->last, true);
  return status;
}

// The direction's states to or from an input or output; without one, they start at zero.
static void load_state(const struct run *u, int i, double *to) {
  const struct recurrent *r = u->r;
  const double *from = input(u, i);
  for (int64_t b = 0; b < r->batch; b++)
    if (from)
      memcpy(to + b * r->hidden, from + u->direction * r->h_direction + b * r->h_batch, (size_t)r->hidden * sizeof *to);
    else
      memset(to + b * r->hidden, 0, (size_t)r->hidden * sizeof *to);
}

static void store_state(const struct run *u, int i, const double *from) {
  const struct recurrent *r = u->r;
  double *to = output(u, i);
  for (int64_t b = 0; b < r->batch && to; b++)
    memcpy(to + u->direction * r->h_direction + b * r->h_batch, from + b * r->hidden, (size_t)r->hidden * sizeof *to);
}

static enum assay_status run_direction(struct run *u, const struct cell *cell, struct assay_error *err) {
  enum assay_status status = ASSAY_OK;
  load_state(u, RECURRENT_H, u->h);
  if (cell->of->has_cell)
    load_state(u, RECURRENT_C, u->state);
  for (u->step = 0; u->step < u->r->steps && !status; u->step++)
    status = run_step(u, cell, err);
  store_state(u, RECURRENT_OUT_H, u->h);
  if (cell->of->has_cell)
    store_state(u, RECURRENT_OUT_C, u->state);
  return status;
}

// What every step of both directions needs of the input.
static enum assay_status multiply_input(const struct run *u, struct assay_error *err) {
  const struct recurrent *r = u->r;
  struct arith arith = u->c->arith;
  int64_t second = u->width * r->input;
  arith.key = rng_derive(arith.key, PHASE_INPUT);
  struct gemm_batch b = {.g = {.m = r->steps * r->batch, .n = u->width, .k = r->input, .a_row = r->input, .a_col = 1},
                         .count = r->directions,
                         .a_offset = (const int64_t[]){0, 0},
                         .b_offset = (const int64_t[]){0, second},
                         .c = u->from_x,
                         .arith = &arith,
                         .threads = u->c->threads};
  b.g.b_row = 1;
  b.g.b_col = r->input;
  b.g.a = input(u, RECURRENT_X);
  b.g.b = input(u, RECURRENT_W);
  return gemm_run(&b, err);
}

static enum assay_status prepare(struct run *u, struct assay_error *err) {
  const struct recurrent *r = u->r;
  struct arena *scratch = u->c->scratch;
  size_t states = (size_t)(r->batch * r->hidden) + 1, gates = (size_t)(r->batch * u->width) + 1;
  u->from_x = arena_calloc(scratch, (size_t)(r->directions * r->steps * r->batch * u->width) + 1, sizeof(double));
  double *of_gates = arena_calloc(scratch, 2 * gates, sizeof(double));
  double *of_states = arena_calloc(scratch, 5 * states, sizeof(double));
  if (!u->from_x || !of_gates || !of_states)
    return error_nomem(err, "a recurrent network's gates");
  u->from_h = of_gates;
  u->gates = of_gates + gates;
  u->h = of_states;
  u->state = of_states + states;
  u->spare = of_states + 2 * states;
  u->reset = of_states + 3 * states;
  u->from_reset = of_states + 4 * states;
  enum assay_status status = ASSAY_OK;
  for (int i = 0; i < r->directions * r->cell->n_functions && !status; i++) {
    int d = i / r->cell->n_functions, f = i % r->cell->n_functions;
    status = expr_parse(recurrent_expression(r->functions[d][f].kind), (const char *const[]){"alpha", "beta"}, 2,
                        scratch, &u->functions[d][f], err);
  }
  return status;
}

static enum assay_status recurrent_run(struct op_eval *c, const struct cell *cell, const struct recurrent *r,
                                       struct assay_error *err) {
  struct run u = {.r = r, .c = c, .width = r->cell->gates * r->hidden};
  u.product = cell->last ? u.width - r->hidden : u.width;
  const int64_t *lengths = lengths_of(&u);
  enum assay_status status = lengths ? recurrent_check_lengths(c->node, r, lengths, err) : ASSAY_OK;
  if (!status)
    status = prepare(&u, err);
  if (!status)
    status = multiply_input(&u, err);
  for (; u.direction < r->directions && !status; u.direction++)
    status = run_direction(&u, cell, err);
  return status;
}

static enum assay_status rnn_infer(struct op_infer *c, struct assay_error *err) {
  return recurrent_infer(c, &recurrent_rnn, err);
}
static enum assay_status lstm_infer(struct op_infer *c, struct assay_error *err) {
  return recurrent_infer(c, &recurrent_lstm, err);
}
static enum assay_status gru_infer(struct op_infer *c, struct assay_error *err) {
  return recurrent_infer(c, &recurrent_gru, err);
}

static enum assay_status setup(const struct op_eval *c, const struct recurrent_cell *cell, struct recurrent *r,
                               struct assay_error *err) {
  struct op_infer as_infer = op_infer_of(c);
  return recurrent_setup(&as_infer, cell, r, err);
}

static enum assay_status rnn_eval(struct op_eval *c, struct assay_error *err) {
  struct recurrent r;
  enum assay_status status = setup(c, &recurrent_rnn, &r, err);
  return status ? status : recurrent_run(c, &rnn, &r, err);
}
static enum assay_status lstm_eval(struct op_eval *c, struct assay_error *err) {
  struct recurrent r;
  enum assay_status status = setup(c, &recurrent_lstm, &r, err);
  return status ? status : recurrent_run(c, &lstm, &r, err);
}
static enum assay_status gru_eval(struct op_eval *c, struct assay_error *err) {
  struct recurrent r;
  enum assay_status status = setup(c, &recurrent_gru, &r, err);
  return status ? status : recurrent_run(c, r.linear_before_reset ? &gru_linear : &gru, &r, err);
}

static void rnn_cost(const struct op_infer *c, struct op_cost *cost) {
  recurrent_cost(c, &recurrent_rnn, cost);
}
static void lstm_cost(const struct op_infer *c, struct op_cost *cost) {
  recurrent_cost(c, &recurrent_lstm, cost);
}
static void gru_cost(const struct op_infer *c, struct op_cost *cost) {
  recurrent_cost(c, &recurrent_gru, cost);
}

// ---- rows

#define LAYOUT                                                                                                         \
  { "layout", ATTR_INT, false, "0: steps first" }
#define COMMON_ATTRS                                                                                                   \
  {"activation_alpha", ATTR_FLOATS, false, "each activation's own"},                                                   \
      {"activation_beta", ATTR_FLOATS, false, "each activation's own"}, {"clip", ATTR_FLOAT, false, "none"},           \
      {"direction", ATTR_STRING, false, "forward"}, {                                                                  \
    "hidden_size", ATTR_INT, false, "the recurrent weights' last dimension"                                            \
  }
#define RNN_ATTRS                                                                                                      \
  COMMON_ATTRS, {                                                                                                      \
    "activations", ATTR_STRINGS, false, "Tanh"                                                                         \
  }
#define LSTM_ATTRS                                                                                                     \
  COMMON_ATTRS, {"activations", ATTR_STRINGS, false, "Sigmoid, Tanh, Tanh"}, {                                         \
    "input_forget", ATTR_INT, false, "0"                                                                               \
  }
#define GRU_ATTRS                                                                                                      \
  COMMON_ATTRS, {"activations", ATTR_STRINGS, false, "Sigmoid, Tanh"}, {                                               \
    "linear_before_reset", ATTR_INT, false, "0"                                                                        \
  }

static const struct op_attr rnn_attrs_7[] = {RNN_ATTRS, {0}}, rnn_attrs[] = {RNN_ATTRS, LAYOUT, {0}};
static const struct op_attr lstm_attrs_7[] = {LSTM_ATTRS, {0}}, lstm_attrs[] = {LSTM_ATTRS, LAYOUT, {0}};
static const struct op_attr gru_attrs_7[] = {GRU_ATTRS, {0}}, gru_attrs[] = {GRU_ATTRS, LAYOUT, {0}};

#define RECURRENT(NAME, SINCE, INPUTS, OUTPUTS, ATTRS, PREFIX)                                                         \
  OP_ROW(NAME, SINCE, 3, INPUTS, 0, OUTPUTS, OP_SCAN),                                                                 \
      .attrs = (ATTRS), .infer = PREFIX##_infer, .eval = PREFIX##_eval, .cost = PREFIX##_cost,                         \
      .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .stores_inside = true, .feeds_back = true, .factors = 3,    \
      .factors_inside = true

static const struct op_def recurrent_rows[] = {
    {RECURRENT("RNN", 7, 6, 2, rnn_attrs_7, rnn),
     .pytorch = {.text = "torch.rnn_tanh",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "As in version 14, with the steps first: [steps, batch, input]."},
    {RECURRENT("RNN", 14, 6, 2, rnn_attrs, rnn),
     .pytorch = {.text = "torch.rnn_tanh",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "H = f(X W' + Wb + H R' + Rb) at every step, from inputs X, W, R, the bias (Wb, Rb), the sequences' "
            "lengths and the first H. Outputs: H of all steps, zero after a sequence's end, and the last H. "
            "Activations take the values of activation_alpha and activation_beta in turn; clip limits what goes into "
            "them.",
     .example = "(float[5,2,3] x, float[1,4,3] w, float[1,4,4] r, float[1,8] b) => (float[5,1,2,4] y) "
                "{ y = RNN<hidden_size = 4>(x, w, r, b) }\n"
                "(float[2,5,3] x, float[2,4,3] w, float[2,4,4] r) => (float[2,2,4] h) "
                "{ , h = RNN<direction = \"bidirectional\", layout = 1, activations = [\"Relu\", \"Elu\"], clip = 0.5>"
                "(x, w, r) }"},
    {RECURRENT("LSTM", 7, 8, 3, lstm_attrs_7, lstm),
     .pytorch = {.text = "torch.lstm",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "As in version 14, with the steps first: [steps, batch, input]."},
    {RECURRENT("LSTM", 14, 8, 3, lstm_attrs, lstm),
     .pytorch = {.text = "torch.lstm",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "i, o, f = f(X W' + Wb + H R' + Rb + P C), c = g(X W' + Wb + H R' + Rb), C = f C + i c, H = o h(C), with "
            "gates in the order i, o, f, c and peepholes P (input 7) in the order i, o, f; o looks at the new C. With "
            "input_forget, f = 1 - i. Otherwise as RNN; input 6 is the first C and output 2 the last.",
     .example = "(float[5,2,3] x, float[1,16,3] w, float[1,16,4] r, float[1,32] b) => (float[5,1,2,4] y, "
                "float[1,2,4] h, float[1,2,4] c) { y, h, c = LSTM<hidden_size = 4>(x, w, r, b) }\n"
                "(float[5,2,3] x, float[1,16,3] w, float[1,16,4] r, float[1,2,4] h0, float[1,2,4] c0, float[1,12] p) "
                "=> (float[5,1,2,4] y) { y = LSTM<direction = \"reverse\">(x, w, r, , , h0, c0, p) }"},
    {RECURRENT("GRU", 7, 6, 2, gru_attrs_7, gru),
     .pytorch = {.text = "torch.gru",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "As in version 14, with the steps first: [steps, batch, input]."},
    {RECURRENT("GRU", 14, 6, 2, gru_attrs, gru),
     .pytorch = {.text = "torch.gru",
                 .write = pytorch_recurrent,
                 .results = OP_PYTORCH_ALL,
                 .helper = pytorch_recurrent_helper},
     .doc = "z, r = f(X W' + Wb + H R' + Rb), c = g(X W' + Wb + (r H) R' + Rb), or with linear_before_reset "
            "c = g(X W' + Wb + r (H R' + Rb)), H = c + z (H - c), with gates in the order z, r, c. Otherwise as RNN.",
     .example = "(float[5,2,3] x, float[1,12,3] w, float[1,12,4] r, float[1,24] b) => (float[5,1,2,4] y) "
                "{ y = GRU<linear_before_reset = 1>(x, w, r, b) }\n"
                "(float[5,2,3] x, float[1,12,3] w, float[1,12,4] r) => (float[1,2,4] h) { , h = GRU(x, w, r) }"},
};

const struct op_family ops_recurrent_family = {
    .name = "Recurrent networks", .rows = recurrent_rows, .n_rows = sizeof recurrent_rows / sizeof recurrent_rows[0]};
