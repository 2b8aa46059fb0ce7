// SPDX-License-Identifier: Apache-2.0
// What PROBE_SMALL_SPREAD scales apart from the inputs that it draws. An epsilon tells where a variance is about as
// small, and in a network weights decide that: embeddings, the layers whose sums are normalised, the biases that are
// added there. So they are found from each normalisation back; all have one factor, since what they make is added up.
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ops/op.h"
#include "task/drawing.h"
#include "task/metadata.h"
#include "task/task.h"

// Of the usual epsilon 10^-5; another one moves both by the root of the quotient, where it is far from that.
enum { LOWEST = -10, RANGE = 5, NEAR_USUAL = 2 };
static const double usual_epsilon = 1e-5;

struct spreading {
  const struct task *t;
  const struct graph *g;
  bool *small;       // of each value: a free input's spread is its own, or nearly so
  bool *seen;        // of each value, on the way back
  int *powers;       // of each input: of the common factor; 0: none
  int *shifts;       // of each input
  int shift;         // of the normalisation that is looked at
  int *left, n_left; // values that are still to be followed, each once
};

// Its result has the scale of input 0, near zero at least.
static bool passes_scale(const struct node *n) {
  static const char *const functions[] = {"Relu", "LeakyRelu", "PRelu", "Abs",  "Neg",       "Identity", "Cast",
                                          "Gelu", "Swish",     "Mish",  "Tanh", "HardSwish", "Dropout",  NULL};
  const enum op_class class = n->op->class;
  return class == OP_MOVEMENT || class == OP_GATHER || class == OP_POOLING || node_is_one_of(n, functions);
}

static bool is_sum(const struct node *n) {
  static const char *const sums[] = {"Add", "Sub", "Sum", "Concat", NULL};
  return node_is_one_of(n, sums);
}

static bool is_any_small(const struct spreading *s, const struct node *n, int most) {
  for (int i = 0; i < n->n_inputs && i < most; i++)
    if (n->inputs[i] >= 0 && s->small[n->inputs[i]])
      return true;
  return false;
}

static int input_of(const struct spreading *s, int value) {
  for (int i = 0; i < s->g->n_inputs; i++)
    if (s->g->inputs[i] == value)
      return i;
  return -1;
}

static void mark(struct spreading *s, int value, int power) {
  const int i = input_of(s, value);
  if (i < 0 || s->powers[i] || !task_is_free(s->t, i, true))
    return;
  const struct distribution *d = &s->t->inputs[i].distribution;
  if (d->regular || d->definite || d->softmax)
    return;
  s->powers[i] = power;
  s->shifts[i] = power * s->shift;
}

// Whether a node's result is as small as what it is made of.
static bool makes_small(const struct spreading *s, const struct node *n) {
  if (is_sum(n))
    return is_any_small(s, n, n->n_inputs);
  if (n->op->class == OP_CONTRACTION || n->op->multiplies)
    return is_any_small(s, n, 2);
  return passes_scale(n) && is_any_small(s, n, 1);
}

static void mark_addends(struct spreading *s, const struct node *n) {
  for (int i = n->op->class == OP_CONTRACTION ? 2 : 0; i < n->n_inputs; i++)
    if (n->inputs[i] >= 0 && s->g->values[n->inputs[i]].producer < 0)
      mark(s, n->inputs[i], 1);
}

// The values that are small since free inputs are, or, in the end, since weights are that are marked: what is added to
// those, like the shift behind a product with a table of embeddings, is marked, too, or nothing else would be seen.
static void find_small(struct spreading *s, bool marked) {
  const struct graph *g = s->g;
  for (int i = 0; i < g->n_inputs; i++)
    s->small[g->inputs[i]] = marked ? s->powers[i] > 0 : task_is_free(s->t, i, false);
  for (int i = 0; i < g->n_nodes; i++) {
    const struct node *n = &g->nodes[i];
    const bool small = makes_small(s, n);
    if (small && marked && (is_sum(n) || n->op->class == OP_CONTRACTION))
      mark_addends(s, n);
    for (int k = 0; k < n->n_outputs; k++)
      if (n->outputs[k] >= 0)
        s->small[n->outputs[k]] = small;
  }
}

// A weight, maybe in another order.
static bool is_weight(const struct spreading *s, int value) {
  while (value >= 0 && s->g->values[value].producer >= 0) {
    const struct node *n = &s->g->nodes[s->g->values[value].producer];
    if (n->op->class != OP_MOVEMENT || n->n_inputs == 0 || is_sum(n))
      return false;
    value = n->inputs[0];
  }
  const int i = value < 0 ? -1 : input_of(s, value);
  return i >= 0 && s->t->inputs[i].distribution.is_static;
}

static void follow(struct spreading *s, int value) {
  if (s->seen[value])
    return;
  s->seen[value] = true;
  s->left[s->n_left++] = value;
}

static void follow_input(struct spreading *s, const struct node *n, int i) {
  if (i < n->n_inputs && n->inputs[i] >= 0)
    follow(s, n->inputs[i]);
}

// Of products one factor alone: the weight, unless the other one is small already.
static void follow_product(struct spreading *s, const struct node *n) {
  static const char *const biased[] = {"Conv", "ConvTranspose", "Gemm", NULL};
  if (node_is_one_of(n, biased))
    follow_input(s, n, 2);
  const int data = n->n_inputs > 1 && is_weight(s, n->inputs[0]), weight = !data;
  const bool by_weight = n->n_inputs > 1 && !is_any_small(s, n, 2) && is_weight(s, n->inputs[weight]);
  follow_input(s, n, by_weight ? weight : data);
}

static void follow_node(struct spreading *s, const struct node *n) {
  if (is_sum(n))
    for (int i = 0; i < n->n_inputs; i++)
      follow_input(s, n, i);
  else if (strcmp(n->op_type, "Attention") == 0)
    follow_input(s, n, 2); // a mean of the values
  else if (n->op->class == OP_CONTRACTION || n->op->multiplies)
    follow_product(s, n);
  else if (n->op->class == OP_NORMALIZATION) { // its scale and shift
    follow_input(s, n, 1);
    follow_input(s, n, 2);
  } else if (passes_scale(n))
    follow_input(s, n, 0);
}

static void follow_all(struct spreading *s) {
  while (s->n_left > 0) {
    const int value = s->left[--s->n_left], producer = s->g->values[value].producer;
    if (producer < 0)
      mark(s, value, 1);
    else
      follow_node(s, &s->g->nodes[producer]);
  }
}

// By so many powers of two the root of this epsilon is off the usual one's.
static int shift_of(double epsilon) {
  int exponent = 0;
  if (!(epsilon > 0) || !isfinite(epsilon))
    return 0;
  frexp(epsilon / usual_epsilon, &exponent);
  const int shift = (exponent - (exponent < 0)) / 2;
  return shift < -NEAR_USUAL ? shift : 0; // large ones show anywhere
}

static void follow_normalisations(struct spreading *s) {
  for (int i = 0; i < s->g->n_nodes; i++) {
    const struct node *n = &s->g->nodes[i];
    if (!op_takes_epsilon(n->op) || n->n_inputs == 0 || n->inputs[0] < 0)
      continue;
    s->shift = shift_of(node_float(n, "epsilon", usual_epsilon));
    follow(s, n->inputs[0]);
    follow_all(s);
    if (strcmp(n->op_type, "BatchNormalization") == 0 && !node_int(n, "training_mode", 0) && n->n_inputs > 4)
      mark(s, n->inputs[4], 2); // the variance itself
  }
}

// The power of two of an input's factor: of weights that of the draw; what the probe draws is small already.
static double exponent_of(const struct spreading *s, int input, double common) {
  const bool is_static = s->t->inputs[input].distribution.is_static;
  return (is_static ? s->powers[input] * common : 0) + s->shifts[input];
}

// Whether factors of 2^t leave a type its precision.
static bool has_room(enum dtype type, double t) {
  struct float_format format;
  dtype_float_format(type, &format);
  return t - 24 > format.min_exponent;
}

static enum assay_status put(const struct spreading *s, uint64_t key, struct arena *arena, struct draw_scales *out,
                             struct assay_error *err) {
  uint32_t w[4];
  philox4x32(key, 0, STREAM_SPREAD, w);
  const double common = LOWEST + RANGE * (double)(w[0] >> 8) * 0x1p-24;
  for (int i = 0; i < s->g->n_inputs; i++) {
    const double t = s->powers[i] ? exponent_of(s, i, common) : 0;
    if (t == 0 || !has_room(s->g->values[s->g->inputs[i]].dtype, t))
      continue;
    double *factor = arena_alloc(arena, sizeof *factor);
    if (!factor)
      return error_nomem(err, "factors of a small spread");
    *factor = drawing_power(t);
    out[i] = (struct draw_scales){1, {{1, 1, factor}}};
  }
  return ASSAY_OK;
}

enum assay_status task_spread(const struct task *t, uint64_t key, struct arena *arena, struct draw_scales **out,
                              struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct spreading s = {.t = t, .g = g};
  s.small = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *s.small);
  s.seen = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *s.seen);
  s.left = arena_calloc(arena, (size_t)g->n_values + 1, sizeof *s.left);
  s.powers = arena_calloc(arena, (size_t)g->n_inputs + 1, sizeof *s.powers);
  s.shifts = arena_calloc(arena, (size_t)g->n_inputs + 1, sizeof *s.shifts);
  *out = arena_calloc(arena, (size_t)g->n_inputs + 1, sizeof **out);
  if (!s.small || !s.seen || !s.left || !s.powers || !s.shifts || !*out)
    return error_nomem(err, "a small spread");
  find_small(&s, false);
  follow_normalisations(&s);
  find_small(&s, true);
  return put(&s, key, arena, *out, err);
}
