// SPDX-License-Identifier: Apache-2.0
// Which probes a task is asked that says nothing of them.
#include <string.h>

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

// Only then do tiny products make tiny results: a function of them, or a bias that is added, tells no more than 0
// would. (A function even less: where all its arguments are as good as 0 it errs the same way everywhere.)
bool task_is_products_alone(const struct graph *g) {
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

// Whether something is divided by a deviation or a norm, maybe: an operator has an epsilon, or a reduction is written
// out.
static bool may_have_epsilon(const struct graph *g) {
  for (int i = 0; i < g->n_nodes; i++) {
    const struct op_def *op = g->nodes[i].op;
    if (op_takes_epsilon(op) || (op->class == OP_REDUCTION && op->errors.sum == OP_SUM_OF_MANY))
      return true;
  }
  return false;
}

unsigned task_default_probes(const struct task *t) {
  unsigned probes = (1u << PROBE_COUNT) - 1;
  probes &= ~(1u << PROBE_NEAR_OVERFLOW | 1u << PROBE_SPECIAL);
  if (!task_is_products_alone(&t->model.flat))
    probes &= ~(1u << PROBE_TINY);
  if (!may_have_epsilon(&t->model.flat))
    probes &= ~(1u << PROBE_SMALL_SPREAD);
  if (!t->opposes)
    probes &= ~(1u << PROBE_OPPOSED);
  return probes;
}

unsigned task_possible_probes(const struct task *t) {
  const unsigned scaled = 1u << PROBE_ROW_SCALES | 1u << PROBE_OPPOSED; // what the first asks too much of, so does this
  if (!has_free_input(t))
    return 1u << PROBE_DECLARED;
  const unsigned absent = !t->opposes ? 1u << PROBE_OPPOSED : 0; // none to scale: named or not
  return (t->probes & 1u << PROBE_ROW_SCALES ? ~0u : ~scaled) & ~absent;
}
