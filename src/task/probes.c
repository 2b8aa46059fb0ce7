// SPDX-License-Identifier: Apache-2.0
// Which probes a task is asked that says nothing of them.
#include <string.h>

#include "base/rng.h"
#include "ops/op.h"
#include "task/metadata.h"

bool task_is_free(const struct task *t, int i, bool weights) {
  const struct graph *g = &t->model.flat;
  const struct distribution *d = &t->inputs[i].distribution;
  return dtype_is_float(g->values[g->inputs[i]].dtype) && !d->fixed && (weights || !d->is_static);
}

// Probes replace free floating inputs; a task without any has only its declared distribution.
static bool has_free_input(const struct task *t) {
  for (int i = 0; i < t->n_inputs; i++)
    if (task_is_free(t, i, true))
      return true;
  return false;
}

// Whether outputs are sums of products, and nothing rounds but these. Only then do tiny products make tiny results: a
// function of them, or a bias that is added, tells no more than 0 would. (A function even less: where all its arguments
// are as good as 0 it errs the same way everywhere.)
static bool is_products_alone(const struct graph *g) {
  bool any = false;
  for (int i = 0; i < g->n_nodes; i++) {
    const struct op_def *op = g->nodes[i].op;
    if (op->class == OP_CONTRACTION)
      any = true;
    else if (op->errors.rounding != OP_EXACT)
      return false;
  }
  return any;
}

static bool takes_epsilon(const struct op_def *op) {
  for (const struct op_attr *a = op->attrs; a && a->name; a++)
    if (strcmp(a->name, "epsilon") == 0)
      return true;
  return false;
}

// Whether something is divided by a deviation or a norm, maybe: an operator has an epsilon, or a reduction is written
// out.
static bool may_have_epsilon(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++) {
    const struct op_def *op = g->nodes[i].op;
    if (takes_epsilon(op) || (op->class == OP_REDUCTION && op->errors.sum == OP_SUM_OF_MANY))
      return true;
  }
  return false;
}

// ---- opposed scales

static const struct value *input_of(const struct task *t, int i) {
  return &t->model.flat.values[t->model.flat.inputs[i]];
}

static bool has_symbol(const struct value *v, const char *symbol) {
  for (int k = 0; k < v->rank; k++)
    if (v->dims[k].symbol && strcmp(v->dims[k].symbol, symbol) == 0)
      return true;
  return false;
}

static bool is_in_outputs(const struct task *t, const char *symbol) {
  const struct graph *g = &t->model.flat;
  for (int i = 0; i < g->n_outputs; i++)
    if (has_symbol(&g->values[g->outputs[i]], symbol))
      return true;
  return false;
}

// Symbols of dimensions that several floating inputs have: those that are summed over, or all where there is none.
enum { MOST_SHARED = 16 };
struct shared {
  const char *symbols[MOST_SHARED];
  int n;
};

static void add_shared(const struct task *t, const char *symbol, bool summed, struct shared *out) {
  int have = 0;
  for (int i = 0; i < t->n_inputs; i++)
    have += task_is_free(t, i, true) && has_symbol(input_of(t, i), symbol);
  for (int i = 0; i < out->n; i++)
    if (strcmp(out->symbols[i], symbol) == 0)
      return;
  if (have > 1 && out->n < MOST_SHARED && (!summed || !is_in_outputs(t, symbol)))
    out->symbols[out->n++] = symbol;
}

static void find_shared(const struct task *t, struct shared *out) {
  out->n = 0;
  for (int pass = 0; pass < 2 && out->n == 0; pass++)
    for (int i = 0; i < t->n_inputs; i++)
      for (int k = 0; k < input_of(t, i)->rank; k++)
        if (task_is_free(t, i, true) && input_of(t, i)->dims[k].symbol)
          add_shared(t, input_of(t, i)->dims[k].symbol, pass == 0, out);
}

// Sums of products, one or two: the numbers that deep networks make of such weights are nobody's.
static bool is_opposable(const struct task *t) {
  enum { MOST_CONTRACTIONS = 2 };
  const struct graph *g = &t->model.flat;
  struct shared shared;
  int n = 0;
  for (int i = 0; i < g->n_nodes; i++)
    n += g->nodes[i].op->class == OP_CONTRACTION;
  find_shared(t, &shared);
  return n > 0 && n <= MOST_CONTRACTIONS && shared.n > 0;
}

int task_opposed(const struct task *t, int i, uint64_t key, int *along) {
  struct shared shared;
  int before = 0, n = 0;
  find_shared(t, &shared);
  if (shared.n == 0)
    return 0;
  const char *symbol = shared.symbols[rng_secret(key, 0) % (uint64_t)shared.n];
  const struct value *v = input_of(t, i);
  if (!task_is_free(t, i, true) || !has_symbol(v, symbol))
    return 0;
  for (int k = 0; k < i; k++)
    before += task_is_free(t, k, true) && has_symbol(input_of(t, k), symbol);
  for (int k = 0; k < v->rank; k++) // of square matrices either dimension may be the one
    if (v->dims[k].symbol && strcmp(v->dims[k].symbol, symbol) == 0 &&
        rng_secret(key, 1 + (uint64_t)i) % (uint64_t)++n == 0)
      *along = k;
  return before % 2 ? -1 : 1;
}

unsigned task_default_probes(const struct task *t) {
  unsigned probes = (1u << PROBE_COUNT) - 1;
  probes &= ~(1u << PROBE_NEAR_OVERFLOW | 1u << PROBE_SPECIAL);
  if (!is_products_alone(&t->model.flat))
    probes &= ~(1u << PROBE_TINY);
  if (!may_have_epsilon(&t->model.flat))
    probes &= ~(1u << PROBE_SMALL_SPREAD);
  if (!is_opposable(t))
    probes &= ~(1u << PROBE_OPPOSED);
  return probes;
}

unsigned task_possible_probes(const struct task *t) {
  const unsigned scaled = 1u << PROBE_ROW_SCALES | 1u << PROBE_OPPOSED; // what the first asks too much of, so does this
  if (!has_free_input(t))
    return 1u << PROBE_DECLARED;
  return t->probes & 1u << PROBE_ROW_SCALES ? ~0u : ~scaled;
}
