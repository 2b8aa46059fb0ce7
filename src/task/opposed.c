// SPDX-License-Identifier: Apache-2.0
// What PROBE_OPPOSED scales: of sums of products the dimension that is summed over, in the task's inputs that are
// multiplied. What is multiplied is followed back to inputs through nodes that keep an index where it is, or move it to
// a known place. Where one of the two ends elsewhere, in something that is computed, nothing would be opposed.
#include <string.h>

#include "base/rng.h"
#include "oracle/oracle.h"
#include "task/metadata.h"

// Scales are 2^-MOST_REACH to 2^MOST_REACH; below LEAST_REACH they say little.
enum { MOST_REACH = 12, LEAST_REACH = 4 };

// An operand: where it is now, on its way back.
struct operand {
  int value, axis, reach;
};

// So that normal numbers times the scales are finite, and few of them subnormal. `times`: so many scales at most.
static int reach_of(enum dtype type, int times) {
  struct float_format f;
  if (!dtype_float_format(type, &f) || f.powers_alone)
    return 0;
  const int reach = (-f.min_exponent - 2) / times;
  return reach < MOST_REACH ? reach : MOST_REACH;
}

static void limit(struct operand *o, int reach) {
  o->reach = reach < o->reach ? reach : o->reach;
}

static bool is_one(const struct array *values, int value) {
  return value >= 0 && shape_count(&values[value].shape) == 1;
}

// Of a node whose output 0 holds the numbers of one input, times one number at most: that input and its dimension.
static bool step_back(const struct graph *g, const struct array *values, struct operand *o) {
  static const char *const same[] = {"Identity", "Cast", "CastLike", "Neg", "Trilu"};
  const struct node *n = &g->nodes[g->values[o->value].producer];
  const bool product = strcmp(n->op_type, "Mul") == 0;
  int from = n->n_inputs > 0 ? n->inputs[0] : -1;
  bool keeps = false;
  if (n->domain[0] || from < 0 || n->outputs[0] != o->value)
    return false;
  if (strcmp(n->op_type, "Transpose") == 0) {
    const struct attr *perm = node_attr(n, "perm");
    const int rank = values[o->value].shape.rank;
    o->axis = perm ? (int)perm->ints[o->axis] : rank - 1 - o->axis;
    keeps = true;
  } else if (product || strcmp(n->op_type, "Div") == 0) {
    const bool second = product && is_one(values, from) && !is_one(values, n->inputs[1]);
    keeps = second || is_one(values, n->inputs[1]);
    from = second ? n->inputs[1] : from;
  }
  for (size_t i = 0; i < sizeof same / sizeof *same; i++)
    keeps = keeps || strcmp(n->op_type, same[i]) == 0;
  keeps = keeps && values[from].shape.rank == values[o->value].shape.rank;
  o->value = from;
  return keeps;
}

// Whether scales stay what they are in this input: not where rows are normalised after them, or numbers are folded.
static bool can_scale(const struct task *t, int i) {
  const struct distribution *d = &t->inputs[i].distribution;
  const bool folded = !d->is_static && d->fold != FOLD_NONE && (d->fold != FOLD_ABOVE || d->fold_lo != 0);
  return task_is_free(t, i, true) && !folded && !d->softmax && !d->regular && !d->definite;
}

// The task's input that an operand is, and the dimension in it.
static bool follow(const struct task *t, const struct array *values, struct operand *o, int *input) {
  const struct graph *g = &t->model.flat;
  for (;;) {
    limit(o, reach_of(values[o->value].dtype, 1));
    if (o->axis < 0 || o->axis >= values[o->value].shape.rank)
      return false;
    if (g->values[o->value].producer < 0)
      break;
    if (!step_back(g, values, o))
      return false;
  }
  *input = -1;
  for (int i = 0; i < g->n_inputs; i++)
    if (g->inputs[i] == o->value)
      *input = i;
  if (*input < 0 || !can_scale(t, *input))
    return false;
  if (t->inputs[*input].distribution.symmetric) // rows are scaled as columns are
    limit(o, reach_of(values[o->value].dtype, 2));
  return true;
}

static bool same_extent(const struct dim *a, const struct dim *b) {
  if (a->symbol || b->symbol)
    return a->symbol && b->symbol && strcmp(a->symbol, b->symbol) == 0;
  return a->value == b->value && a->value > 1;
}

static bool oppose(const struct task *t, const struct array *values, const struct node *n, struct opposed *out) {
  const struct graph *g = &t->model.flat;
  struct op_contracted c;
  int ranks[OP_CONTRACTED_INPUTS] = {0};
  if (!n->op->contracted)
    return false;
  for (int i = 0; i < OP_CONTRACTED_INPUTS && i < n->n_inputs; i++)
    ranks[i] = n->inputs[i] >= 0 ? values[n->inputs[i]].shape.rank : 0;
  if (!n->op->contracted(n, ranks, &c))
    return false;
  out->reach = MOST_REACH;
  for (int k = 0; k < 2; k++) {
    struct operand o = {.value = n->inputs[k], .axis = c.axis[k], .reach = MOST_REACH};
    if (!follow(t, values, &o, &out->input[k]))
      return false;
    out->along[k] = o.axis;
    out->reach = o.reach < out->reach ? o.reach : out->reach;
  }
  const struct value *a = &g->values[g->inputs[out->input[0]]], *b = &g->values[g->inputs[out->input[1]]];
  return out->input[0] != out->input[1] && out->reach >= LEAST_REACH &&
         same_extent(&a->dims[out->along[0]], &b->dims[out->along[1]]);
}

enum assay_status task_find_opposed(struct task *t, struct assay_error *err) {
  const struct graph *g = &t->model.flat;
  struct arena arena = {0};
  struct graph_shapes shapes;
  struct assay_error unsaid = {0}; // shapes that disagree: whoever evaluates the graph says so
  int n = 0;
  t->n_opposed = 0;
  for (int i = 0; i < g->n_nodes; i++)
    n += g->nodes[i].op->class == OP_CONTRACTION;
  if (n == 0 || n > TASK_MOST_OPPOSED || t->n_workloads == 0)
    return ASSAY_OK;
  struct array *inputs = arena_calloc(&arena, (size_t)t->n_inputs + 1, sizeof *inputs);
  enum assay_status status = inputs ? task_input_shapes(t, &t->workloads[0], inputs, &unsaid) : ASSAY_ERR_NOMEM;
  if (!status)
    status = oracle_infer(g, inputs, &arena, &shapes, &unsaid);
  for (int i = 0; i < g->n_nodes && !status; i++)
    if (g->nodes[i].op->class == OP_CONTRACTION && oppose(t, shapes.values, &g->nodes[i], &t->opposed[t->n_opposed]))
      t->n_opposed++;
  arena_release(&arena);
  return status == ASSAY_ERR_NOMEM ? error_nomem(err, "a task's products") : ASSAY_OK;
}

int task_opposed(const struct task *t, int i, uint64_t key, int *along) {
  if (t->n_opposed == 0)
    return 0;
  const struct opposed *o = &t->opposed[rng_secret(key, 0) % (uint64_t)t->n_opposed];
  const int up = (int)(rng_secret(key, 1) & 1);
  for (int k = 0; k < 2; k++)
    if (o->input[k] == i) {
      *along = o->along[k];
      return k == up ? o->reach : -o->reach;
    }
  return 0;
}
