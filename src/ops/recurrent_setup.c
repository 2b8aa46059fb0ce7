// SPDX-License-Identifier: Apache-2.0
// Shapes, attributes and cost of the recurrent operators.
#include "ops/recurrent.h"

#include <string.h>
#include <strings.h>

#include "ops/expr.h"
#include "ops/loops.h"

// Beside the products: two biases and the sum of both parts for each gate, and what the cell does with the gates.
const struct recurrent_cell recurrent_rnn = {
    .gates = 1, .n_functions = 1, .functions = {"Tanh"}, .operations = 3, .uses = {1}};
const struct recurrent_cell recurrent_lstm = {.gates = 4,
                                              .n_functions = 3,
                                              .functions = {"Sigmoid", "Tanh", "Tanh"},
                                              .operations = 16,
                                              .uses = {3, 1, 1},
                                              .has_cell = true};
const struct recurrent_cell recurrent_gru = {
    .gates = 3, .n_functions = 2, .functions = {"Sigmoid", "Tanh"}, .operations = 13, .uses = {2, 1}};

static const struct function_row {
  const char *name;
  int params;
  double alpha, beta;
  const char *expression;
} function_rows[] = {
#define RECURRENT_ROW(id, name, params, alpha, beta, text) {name, params, alpha, beta, text},
    RECURRENT_FUNCTIONS(RECURRENT_ROW)
#undef RECURRENT_ROW
};
enum { N_FUNCTIONS = sizeof function_rows / sizeof function_rows[0] };

const char *recurrent_expression(enum recurrent_kind kind) {
  const struct function_row *f = &function_rows[kind];
  return f->expression ? f->expression : op_find("", f->name, OP_NEWEST_OPSET)->expr;
}

// ---- attributes

// Functions take the values of activation_alpha and activation_beta in their own order; those without such a parameter
// take none, and what is not given is the default.
struct values {
  const struct attr *list;
  size_t used;
};

static double take(struct values *v, double fallback) {
  return v->list && v->used < v->list->count ? v->list->floats[v->used++] : (double)(float)fallback;
}

static enum assay_status set_function(const struct node *node, const char *name, struct values *alpha,
                                      struct values *beta, struct recurrent_function *f, struct assay_error *err) {
  int kind = 0;
  while (kind < N_FUNCTIONS && strcasecmp(function_rows[kind].name, name) != 0)
    kind++;
  if (kind == N_FUNCTIONS)
    return op_invalid(node, err,
                      "the activation \"%.40s\" is none of Relu, Tanh, Sigmoid, Affine, LeakyRelu, ThresholdedRelu, "
                      "ScaledTanh, HardSigmoid, Elu, Softsign, Softplus",
                      name);
  const struct function_row *row = &function_rows[kind];
  f->kind = (enum recurrent_kind)kind;
  f->alpha = row->params > 0 ? take(alpha, row->alpha) : 0;
  f->beta = row->params > 1 ? take(beta, row->beta) : 0;
  if (isnan(f->alpha) || isnan(f->beta))
    return op_invalid(node, err, "%s has no defaults; give activation_alpha and activation_beta", row->name);
  return ASSAY_OK;
}

static enum assay_status set_functions(const struct node *node, struct recurrent *r, struct assay_error *err) {
  const struct attr *names = node_attr(node, "activations");
  struct values alpha = {.list = node_attr(node, "activation_alpha")};
  struct values beta = {.list = node_attr(node, "activation_beta")};
  int each = r->cell->n_functions;
  enum assay_status status = ASSAY_OK;
  if (names && names->count != (size_t)(each * r->directions))
    return op_invalid(node, err, "%d activations given; %d directions of %d each are %d", (int)names->count,
                      r->directions, each, each * r->directions);
  for (int i = 0; i < each * r->directions && !status; i++)
    status = set_function(node, names ? names->strings[i] : r->cell->functions[i % each], &alpha, &beta,
                          &r->functions[i / each][i % each], err);
  if (!status && ((alpha.list && alpha.used < alpha.list->count) || (beta.list && beta.used < beta.list->count)))
    return op_invalid(node, err, "activation_alpha or activation_beta has more values than the activations take");
  return status;
}

static enum assay_status set_attributes(const struct node *node, struct recurrent *r, struct assay_error *err) {
  const char *direction = node_string(node, "direction", "forward");
  r->directions = strcmp(direction, "bidirectional") == 0 ? 2 : 1;
  r->reverse = strcmp(direction, "reverse") == 0;
  if (r->directions == 1 && !r->reverse && strcmp(direction, "forward") != 0)
    return op_invalid(node, err, "the direction \"%.40s\" is none of forward, reverse, bidirectional", direction);
  r->batch_first = node_int(node, "layout", 0) != 0;
  r->linear_before_reset = node_int(node, "linear_before_reset", 0) != 0;
  r->coupled = node_int(node, "input_forget", 0) != 0;
  r->clip = node_float(node, "clip", INFINITY);
  if (!(r->clip >= 0))
    return op_invalid(node, err, "clip must not be negative");
  return set_functions(node, r, err);
}

// ---- shapes

static enum assay_status need(const struct op_infer *c, int i, const char *what, int rank, const int64_t *dims,
                              struct assay_error *err) {
  if (!op_has(c, i))
    return ASSAY_OK;
  struct shape want = shape_of(rank, dims);
  char got[SHAPE_TEXT_BYTES], text[SHAPE_TEXT_BYTES];
  if (!shape_equal(&c->in[i]->shape, &want))
    return op_invalid(c->node, err, "%s (input %d) has shape %s; %s fits", what, i, shape_text(&c->in[i]->shape, got),
                      shape_text(&want, text));
  return i == RECURRENT_LENGTHS ? ASSAY_OK : loops_need_same(c, i, err);
}

static enum assay_status set_extents(const struct op_infer *c, struct recurrent *r, struct assay_error *err) {
  const struct shape *x = &c->in[RECURRENT_X]->shape, *w = &c->in[RECURRENT_W]->shape;
  const struct shape *h = &c->in[RECURRENT_R]->shape;
  if (x->rank != 3 || w->rank != 3 || h->rank != 3)
    return op_invalid(c->node, err, "the sequence and both weights (inputs 0, 1, 2) must have three dimensions");
  r->steps = x->dims[r->batch_first ? 1 : 0];
  r->batch = x->dims[r->batch_first ? 0 : 1];
  r->input = x->dims[2];
  r->hidden = h->dims[2];
  int64_t declared = node_int(c->node, "hidden_size", r->hidden);
  if (declared != r->hidden)
    return op_invalid(c->node, err, "hidden_size is %lld, but the recurrent weights (input 2) have %lld columns",
                      (long long)declared, (long long)r->hidden);
  int64_t d = r->directions;
  r->x_step = r->batch_first ? r->input : r->batch * r->input;
  r->x_batch = r->batch_first ? r->steps * r->input : r->input;
  r->y_step = d * r->batch * r->hidden;
  r->y_direction = r->batch * r->hidden;
  r->y_batch = r->hidden;
  r->h_direction = r->batch * r->hidden;
  r->h_batch = r->hidden;
  if (r->batch_first) {
    r->y_batch = r->steps * d * r->hidden;
    r->y_step = d * r->hidden;
    r->y_direction = r->hidden;
    r->h_batch = d * r->hidden;
    r->h_direction = r->hidden;
  }
  return ASSAY_OK;
}

enum assay_status recurrent_setup(const struct op_infer *c, const struct recurrent_cell *cell, struct recurrent *r,
                                  struct assay_error *err) {
  memset(r, 0, sizeof *r);
  r->cell = cell;
  enum assay_status status = set_attributes(c->node, r, err);
  if (!status)
    status = loops_need_float(c, RECURRENT_X, err);
  if (!status)
    status = set_extents(c, r, err);
  if (status)
    return status;
  int64_t d = r->directions, rows = cell->gates * r->hidden;
  int64_t first = r->batch_first ? r->batch : d, second = r->batch_first ? d : r->batch;
  const struct {
    int input;
    const char *what;
    int rank;
    int64_t dims[3];
  } needs[] = {
      {RECURRENT_W, "the input's weights", 3, {d, rows, r->input}},
      {RECURRENT_R, "the recurrent weights", 3, {d, rows, r->hidden}},
      {RECURRENT_B, "the bias", 2, {d, 2 * rows}},
      {RECURRENT_LENGTHS, "the sequence lengths", 1, {r->batch}},
      {RECURRENT_H, "the initial hidden state", 3, {first, second, r->hidden}},
      {RECURRENT_C, "the initial cell state", 3, {first, second, r->hidden}},
      {RECURRENT_P, "the peepholes", 2, {d, 3 * r->hidden}},
  };
  for (size_t i = 0; i < sizeof needs / sizeof needs[0] && !status; i++)
    status = need(c, needs[i].input, needs[i].what, needs[i].rank, needs[i].dims, err);
  if (!status && op_has(c, RECURRENT_LENGTHS) && !dtype_is_integer(c->in[RECURRENT_LENGTHS]->dtype))
    return op_invalid(c->node, err, "the sequence lengths (input 4) must be integers");
  return status;
}

enum assay_status recurrent_infer(struct op_infer *c, const struct recurrent_cell *cell, struct assay_error *err) {
  struct recurrent r;
  enum assay_status status = recurrent_setup(c, cell, &r, err);
  if (status)
    return status;
  enum dtype t = c->in[RECURRENT_X]->dtype;
  int64_t d = r.directions, h = r.hidden;
  const int64_t steps_first[] = {r.steps, d, r.batch, h}, batch_first[] = {r.batch, r.steps, d, h};
  const int64_t states_first[] = {d, r.batch, h}, states_batch_first[] = {r.batch, d, h};
  const int64_t *states = r.batch_first ? states_batch_first : states_first;
  status = op_output(c, RECURRENT_OUT_Y, t, 4, r.batch_first ? batch_first : steps_first, err);
  if (!status)
    status = op_output(c, RECURRENT_OUT_H, t, 3, states, err);
  if (!status && cell->has_cell)
    status = op_output(c, RECURRENT_OUT_C, t, 3, states, err);
  return status;
}

enum assay_status recurrent_check_lengths(const struct node *node, const struct recurrent *r, const int64_t *lengths,
                                          struct assay_error *err) {
  for (int64_t b = 0; b < r->batch; b++)
    if (lengths[b] < 0 || lengths[b] > r->steps)
      return op_invalid(node, err, "sequence length %lld (element %lld of input 4) is not within 0 and %lld",
                        (long long)lengths[b], (long long)b, (long long)r->steps);
  return ASSAY_OK;
}

void recurrent_cost(const struct op_infer *c, const struct recurrent_cell *cell, struct op_cost *cost) {
  struct recurrent r;
  struct arena arena = {0};
  const struct expr *e;
  if (recurrent_setup(c, cell, &r, NULL) != ASSAY_OK)
    return;
  double units = (double)r.steps * (double)r.batch * (double)r.hidden;
  double operations = cell->operations * r.directions;
  for (int i = 0; i < r.directions * cell->n_functions && !cost->no_memory; i++) {
    const char *text = recurrent_expression(r.functions[i / cell->n_functions][i % cell->n_functions].kind);
    cost->no_memory = expr_parse(text, (const char *const[]){"alpha", "beta"}, 2, &arena, &e, NULL) != ASSAY_OK;
    operations += cost->no_memory ? 0 : expr_flops(e) * (double)cell->uses[i % cell->n_functions];
  }
  cost->contraction_flops = 2 * units * r.directions * cell->gates * (double)(r.input + r.hidden);
  cost->flops = units * operations;
  arena_release(&arena);
}
