// SPDX-License-Identifier: Apache-2.0
// Attention without a softmax: a matrix for each head takes in one key and value after the other, and every query reads
// it. (Katharopoulos et al. 2020; with decay and the delta rule: Yang et al. 2024.)
#include "ops/linear_attention.h"

#include <math.h>
#include <string.h>

#include "base/parallel.h"
#include "ops/families.h"
#include "ops/loops.h"
#include "ops/pytorch.h"

static bool is_packed(const struct op_infer *c, int i, const struct linear_attention *l, int64_t last) {
  const struct shape *s = &c->in[i]->shape;
  return s->rank == 3 && s->dims[0] == l->batch && s->dims[1] == l->length && s->dims[2] == last;
}

// Which of decay and beta the rule has: exactly those must be given.
static enum assay_status read_rule(const struct op_infer *c, bool *decays, bool *corrects, struct assay_error *err) {
  static const char *const rules[] = {"linear", "gated", "delta", "gated_delta"};
  const char *rule = node_string(c->node, "update_rule", "gated_delta");
  int found = -1;
  for (int i = 0; i < 4; i++)
    found = strcmp(rule, rules[i]) == 0 ? i : found;
  if (found < 0)
    return op_invalid(c->node, err, "update_rule is \"%s\"; it must be linear, gated, delta or gated_delta", rule);
  *decays = found % 2 == 1;
  *corrects = found >= 2;
  if (op_has(c, LINEAR_DECAY) != *decays || op_has(c, LINEAR_BETA) != *corrects)
    return op_invalid(c->node, err, "the rule %s %s a decay and %s a beta", rule, *decays ? "needs" : "has no",
                      *corrects ? "needs" : "has no");
  return ASSAY_OK;
}

enum assay_status linear_attention_read(const struct op_infer *c, struct linear_attention *l, struct assay_error *err) {
  const struct shape *q = &c->in[LINEAR_Q]->shape, *v = &c->in[LINEAR_V]->shape;
  bool decays = false, corrects = false;
  *l = (struct linear_attention){.q_heads = node_int(c->node, "q_num_heads", 0),
                                 .kv_heads = node_int(c->node, "kv_num_heads", 0)};
  enum assay_status status = read_rule(c, &decays, &corrects, err);
  for (int i = LINEAR_Q; i <= LINEAR_BETA && !status; i++)
    status = loops_need_float(c, i, err);
  if (status)
    return status;
  if (l->q_heads < 1 || l->kv_heads < 1 || l->q_heads % l->kv_heads != 0 || q->rank != 3 || v->rank != 3 ||
      q->dims[2] % l->q_heads != 0 || v->dims[2] % l->kv_heads != 0)
    return op_invalid(c->node, err, "%lld query and %lld key heads do not divide the inputs", (long long)l->q_heads,
                      (long long)l->kv_heads);
  l->batch = q->dims[0];
  l->length = q->dims[1];
  l->key = q->dims[2] / l->q_heads;
  l->value = v->dims[2] / l->kv_heads;
  l->scale = node_float(c->node, "scale", 0);
  if (l->scale == 0)
    l->scale = 1 / sqrt((double)(l->key ? l->key : 1));
  if (!is_packed(c, LINEAR_K, l, l->kv_heads * l->key) || !is_packed(c, LINEAR_V, l, l->kv_heads * l->value))
    return op_invalid(c->node, err, "keys and values must be [%lld, %lld, %lld * size]", (long long)l->batch,
                      (long long)l->length, (long long)l->kv_heads);
  l->decays = decays && c->in[LINEAR_DECAY]->shape.rank == 3 ? c->in[LINEAR_DECAY]->shape.dims[2] : 0;
  l->betas = corrects && c->in[LINEAR_BETA]->shape.rank == 3 ? c->in[LINEAR_BETA]->shape.dims[2] : 0;
  if (decays &&
      (!is_packed(c, LINEAR_DECAY, l, l->decays) || (l->decays != l->kv_heads && l->decays != l->kv_heads * l->key)))
    return op_invalid(c->node, err, "there must be a decay for each key head, or for each element of its keys");
  if (corrects && (!is_packed(c, LINEAR_BETA, l, l->betas) || (l->betas != l->kv_heads && l->betas != 1)))
    return op_invalid(c->node, err, "there must be a beta for each key head, or one for all");
  struct shape state = {.rank = 4, .dims = {l->batch, l->kv_heads, l->key, l->value}};
  if (op_has(c, LINEAR_PAST) && !shape_equal(&c->in[LINEAR_PAST]->shape, &state)) {
    char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
    return op_invalid(c->node, err, "the past state has the shape %s, not %s",
                      shape_text(&c->in[LINEAR_PAST]->shape, a), shape_text(&state, b));
  }
  return ASSAY_OK;
}

static enum assay_status linear_infer(struct op_infer *c, struct assay_error *err) {
  struct linear_attention l;
  enum dtype t = c->in[LINEAR_Q]->dtype;
  enum assay_status status = linear_attention_read(c, &l, err);
  if (status)
    return status;
  int64_t y[] = {l.batch, l.length, l.q_heads * l.value}, state[] = {l.batch, l.kv_heads, l.key, l.value};
  status = op_output(c, 0, t, 3, y, err);
  return status ? status : op_output(c, 1, op_has(c, LINEAR_PAST) ? c->in[LINEAR_PAST]->dtype : t, 4, state, err);
}

struct job {
  const struct op_eval *c;
  struct linear_attention l;
  double *states; // [batch][key head][value][key]: columns of the states
};

// Sum of products of a column with n numbers.
static double product(const struct job *j, struct noise *noise, const double *column, const double *x) {
  double sum = 0, squares = 0;
  for (int64_t d = 0; d < j->l.key; d++) {
    sum += column[d] * x[d];
    squares += column[d] * x[d] * (column[d] * x[d]);
  }
  return arith_sum(&j->c->arith, noise, sum, squares, (double)j->l.key, true);
}

// One position. Columns of a state do not depend on each other.
static void step(const struct job *j, struct noise *noise, int64_t at, int64_t head, int64_t m, double *column) {
  const struct linear_attention *l = &j->l;
  const struct arith *a = &j->c->arith;
  const struct array *const *in = j->c->in;
  const double *k = in[LINEAR_K]->f64 + (at * l->kv_heads + head) * l->key;
  double v = in[LINEAR_V]->f64[(at * l->kv_heads + head) * l->value + m];
  bool each = l->decays > l->kv_heads; // element of the keys
  for (int64_t d = 0; d < l->key && l->decays > 0; d++) {
    double g = in[LINEAR_DECAY]->f64[at * l->decays + (each ? head * l->key + d : head)];
    column[d] = arith_round(a, noise, column[d] * arith_round_power(a, noise, exp(g)));
  }
  if (l->betas > 0) {
    double beta = in[LINEAR_BETA]->f64[at * l->betas + (l->betas > 1 ? head : 0)];
    v = arith_round(a, noise, beta * arith_round(a, noise, v - product(j, noise, column, k)));
  }
  for (int64_t d = 0; d < l->key; d++)
    column[d] = arith_round(a, noise, column[d] + arith_round(a, noise, k[d] * v));
  int64_t group = l->q_heads / l->kv_heads;
  for (int64_t h = head * group; h < (head + 1) * group; h++) {
    double sum = product(j, noise, column, in[LINEAR_Q]->f64 + (at * l->q_heads + h) * l->key);
    j->c->out[0].f64[(at * l->q_heads + h) * l->value + m] = arith_round(a, noise, l->scale * sum);
  }
}

// Unit: a column.
static void run_columns(void *arg, int64_t begin, int64_t end) {
  const struct job *j = arg;
  const struct linear_attention *l = &j->l;
  const struct array *past = j->c->n_in > LINEAR_PAST ? j->c->in[LINEAR_PAST] : NULL;
  for (int64_t u = begin; u < end; u++) {
    int64_t m = u % l->value, head = u / l->value % l->kv_heads, batch = u / l->value / l->kv_heads;
    int64_t first = u / l->value * l->key * l->value + m; // of the column in a state
    double *column = j->states + u * l->key;
    struct noise noise = noise_at(j->c->arith.key, (uint64_t)u);
    for (int64_t d = 0; d < l->key; d++)
      column[d] = past ? past->f64[first + d * l->value] : 0;
    for (int64_t t = 0; t < l->length; t++)
      step(j, &noise, batch * l->length + t, head, m, column);
    for (int64_t d = 0; d < l->key && j->c->n_out > 1 && j->c->out[1].bits; d++)
      j->c->out[1].f64[first + d * l->value] = column[d];
  }
}

static enum assay_status linear_eval(struct op_eval *c, struct assay_error *err) {
  struct op_infer infer = op_infer_of(c);
  struct job j = {.c = c};
  enum assay_status status = linear_attention_read(&infer, &j.l, err);
  if (status)
    return status;
  int64_t columns = j.l.batch * j.l.kv_heads * j.l.value;
  j.states = arena_calloc(c->scratch, (size_t)(columns * j.l.key) + 1, sizeof *j.states);
  if (!j.states)
    return error_nomem(err, "the states of LinearAttention");
  parallel_for(c->threads, columns, 4, run_columns, &j);
  return ASSAY_OK;
}

// For each element of a state and each position: what is written and read, and what decay and correction add.
static void linear_cost(const struct op_infer *c, struct op_cost *cost) {
  struct linear_attention l;
  if (linear_attention_read(c, &l, NULL) != ASSAY_OK)
    return;
  double each = (double)l.batch * (double)l.length * (double)l.key * (double)l.value;
  cost->contraction_flops = each * (2.0 * (double)l.kv_heads * (l.betas > 0 ? 2 : 1) + 2.0 * (double)l.q_heads);
  cost->flops = l.decays > 0 ? each * (double)l.kv_heads : 0;
}

static const struct op_attr attrs[] = {{"chunk_size", ATTR_INT, false, "64, a hint that is ignored"},
                                       {"kv_num_heads", ATTR_INT, true, NULL},
                                       {"q_num_heads", ATTR_INT, true, NULL},
                                       {"scale", ATTR_FLOAT, false, "0: 1 / sqrt(size of a key)"},
                                       {"update_rule", ATTR_STRING, false, "gated_delta"},
                                       {0}};

static const struct op_def rows[] = {
    {OP_ROW("LinearAttention", 27, 3, 6, 1, 2, OP_CONTRACTION), .attrs = attrs, .infer = linear_infer,
     .eval = linear_eval, .cost = linear_cost, .factors = 3, .factors_inside = true,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_SUM_OF_MANY}, .pytorch = {.none = PYTORCH_NOT_WRITTEN},
     .doc = "For every head a state S, position by position: S = exp(decay) S in the gated rules; S = S + k v', with "
            "beta (v - S' k) in place of v in the delta rules; the result is scale S' q. Several query heads may share "
            "a key head. Input 3 is the state before, output 1 the state after.",
     .example = "(float[2,3,8] q, float[2,3,4] k, float[2,3,6] v) => (float[2,3,12] y, float[2,2,2,3] s)"
                " { y, s = LinearAttention<q_num_heads = 4, kv_num_heads = 2, update_rule = \"linear\">(q, k, v) }\n"
                "(float[1,4,6] q, float[1,4,6] k, float[1,4,4] v, float[1,2,3,2] p, float[1,4,6] d, float[1,4,2] b)"
                " => (float[1,4,4] y) { y = LinearAttention<q_num_heads = 2, kv_num_heads = 2>(q, k, v, p, d, b) }"},
};

const struct op_family ops_linear_attention_family = {"Linear attention", rows, sizeof rows / sizeof rows[0]};
