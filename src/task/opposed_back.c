// SPDX-License-Identifier: Apache-2.0
// How scales of what a node makes become scales of its inputs: of weights and biases, mostly. A layer's features have
// scales where the rows of its weights and its bias have them, and ReLU, pools and the like let positive factors pass.
#include <string.h>

#include "ops/op.h"
#include "task/opposed.h"

static int rank_of(const struct opposing *o, int value) {
  return o->values[value].shape.rank;
}

static bool is_number(const struct opposing *o, int value) {
  return value >= 0 && shape_count(&o->values[value].shape) == 1;
}

// Input i of a node along `axis`, with the place's numbers; an input that is left out needs none.
static bool to_input(struct opposing *o, const struct node *n, int i, int axis, struct opposed_place p) {
  if (i >= n->n_inputs || n->inputs[i] < 0)
    return true;
  const int64_t extent = opposed_extent(o, p.value, p.axis);
  p.value = n->inputs[i];
  p.axis = axis;
  return axis >= 0 && axis < rank_of(o, p.value) && opposed_extent(o, p.value, axis) == extent && opposed_follow(o, p);
}

// The same of an input that is broadcast to the node's output.
static bool to_broadcast(struct opposing *o, const struct node *n, int i, struct opposed_place p) {
  if (i >= n->n_inputs || n->inputs[i] < 0)
    return true;
  return to_input(o, n, i, p.axis - (rank_of(o, p.value) - rank_of(o, n->inputs[i])), p);
}

// One of two factors.
static bool to_factor(struct opposing *o, const struct node *n, struct opposed_place p) {
  const bool divided = strcmp(n->op_type, "Div") == 0;
  if (!divided && is_number(o, n->inputs[0]) && !is_number(o, n->inputs[1]))
    return to_broadcast(o, n, 1, p);
  return to_broadcast(o, n, 0, p) || (!divided && to_broadcast(o, n, 1, p));
}

static bool to_all(struct opposing *o, const struct node *n, struct opposed_place p) {
  for (int i = 0; i < n->n_inputs; i++)
    if (!to_broadcast(o, n, i, p))
      return false;
  return true;
}

// Weights of a normalization and its shift, one for each index along `axis`.
static bool to_scale_and_shift(struct opposing *o, const struct node *n, int axis, struct opposed_place p) {
  return p.axis == axis && n->n_inputs > 1 && n->inputs[1] >= 0 && rank_of(o, n->inputs[1]) == 1 &&
         to_input(o, n, 1, 0, p) && to_input(o, n, 2, 0, p);
}

static bool gemm_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const bool first = p.axis == 0;
  const int axis = first ? node_int(n, "transA", 0) != 0 : node_int(n, "transB", 0) == 0;
  return to_input(o, n, first ? 0 : 1, axis, p) && to_broadcast(o, n, 2, p);
}

static bool matmul_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const int last = rank_of(o, p.value) - 1, a = rank_of(o, n->inputs[0]), b = rank_of(o, n->inputs[1]);
  if (a < 2 || b < 2)
    return false;
  return p.axis == last ? to_input(o, n, 1, b - 1, p) : to_input(o, n, 0, p.axis - (last + 1 - a), p);
}

static bool conv_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const bool transposed = strcmp(n->op_type, "ConvTranspose") == 0;
  if (p.axis > 1 || (transposed && node_int(n, "group", 1) != 1))
    return false;
  return p.axis == 0 ? n->n_inputs < 3 && to_input(o, n, 0, 0, p)
                     : to_input(o, n, 1, transposed ? 1 : 0, p) && to_input(o, n, 2, 0, p);
}

// Features of the values are those of the result, where all heads have their own.
static bool attention_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const int v = n->n_inputs > 2 ? n->inputs[2] : -1;
  return v >= 0 && !node_has_input(n, 5) && p.axis == rank_of(o, p.value) - 1 && to_input(o, n, 2, p.axis, p);
}

static bool split_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const int rank = rank_of(o, p.value), axis = (int)node_int(n, "axis", 0);
  if (p.axis != (axis < 0 ? axis + rank : axis))
    return to_input(o, n, 0, p.axis, p);
  int64_t before = 0, extent = opposed_extent(o, p.value, p.axis);
  for (int i = 0; i < n->n_outputs && n->outputs[i] != p.value; i++)
    before += n->outputs[i] < 0 ? 0 : opposed_extent(o, n->outputs[i], p.axis);
  int32_t *numbers = opposed_calloc(o, opposed_extent(o, n->inputs[0], p.axis), sizeof(int32_t));
  if (!numbers)
    return false;
  memcpy(numbers + before, p.numbers, (size_t)extent * sizeof *numbers);
  p.value = n->inputs[0];
  p.numbers = numbers;
  return opposed_follow(o, p);
}

static bool concat_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const int rank = rank_of(o, p.value), axis = (int)node_int(n, "axis", 0);
  const bool along = p.axis == (axis < 0 ? axis + rank : axis);
  for (int i = 0; i < n->n_inputs; i++) {
    struct opposed_place part = p;
    part.value = n->inputs[i];
    if (!opposed_follow(o, part))
      return false;
    p.numbers += along ? opposed_extent(o, part.value, p.axis) : 0;
  }
  return true;
}

// Numbers of dimension `axis` of what was reshaped: of a part of the place's dimension, whose indices with the same
// index there have one number then, or of one that holds it. Both in row-major order, `outer` and `inner` elements for
// a step. NULL: neither.
static int32_t *reshape_numbers(struct opposing *o, const struct opposed_place *p, int from, int axis) {
  const struct shape *x = &o->values[from].shape, *y = &o->values[p->value].shape;
  const int64_t m = x->dims[axis], n = y->dims[p->axis], step = shape_span(x, axis + 1, x->rank),
                to = shape_span(y, p->axis + 1, y->rank);
  if (m <= 1 || step == 0 || to == 0 || n == 0)
    return NULL;
  const bool part = step % to == 0 && step * m <= to * n && to * n % (step * m) == 0;
  const bool whole = to % step == 0 && to * n <= step * m && step * m % (to * n) == 0;
  if (!part && !whole)
    return NULL;
  int32_t *numbers = opposed_calloc(o, m, sizeof(int32_t));
  for (int64_t i = 0; numbers && whole && i < m; i++)
    numbers[i] = p->numbers[i / (to / step) % n];
  if (!numbers || whole)
    return numbers;
  for (int64_t i = 0; i < m; i++)
    numbers[i] = -1;
  for (int64_t k = 0; k < n; k++) {
    int32_t *number = &numbers[k / (step / to) % m];
    if (*number < 0)
      *number = p->numbers[k];
    opposed_unite(o, *number, p->numbers[k]);
  }
  return numbers;
}

static bool follow_reshaped(struct opposing *o, struct opposed_place p, int from, int axis) {
  struct opposed_mark m;
  if (!opposed_mark(o, &m))
    return false;
  p.numbers = reshape_numbers(o, &p, from, axis);
  p.value = from;
  p.axis = axis;
  if (p.numbers && opposed_follow(o, p))
    return true;
  opposed_restore(o, &m);
  return false;
}

// The innermost dimension that can be scaled: of heads their features; of an image its channels, as pixels cannot.
static bool reshape_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const int from = n->inputs[0];
  for (int axis = rank_of(o, from) - 1; axis >= 0; axis--)
    if (follow_reshaped(o, p, from, axis))
      return true;
  return false;
}

static bool transpose_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  const struct attr *perm = node_attr(n, "perm");
  return to_input(o, n, 0, perm ? (int)perm->ints[p.axis] : rank_of(o, p.value) - 1 - p.axis, p);
}

static bool compute_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  // f(s x) is s f(x), or near it on either side of zero. What is cut off from above has few of its scales left.
  static const char *const pass[] = {"Relu", "LeakyRelu", "Abs", "Dropout", "Gelu", "Swish", "Mish", "HardSwish", NULL};
  static const char *const pools[] = {"MaxPool", "AveragePool", "GlobalAveragePool", "GlobalMaxPool", NULL};
  static const char *const sums[] = {"Add", "Sub", "Sum", NULL}, *const factors[] = {"Mul", "Div", NULL};
  static const char *const moves[] = {"Reshape", "Flatten", "Squeeze", "Unsqueeze", NULL};
  static const char *const channels[] = {"BatchNormalization", "InstanceNormalization", "GroupNormalization", NULL};
  static const char *const rows[] = {"LayerNormalization", "RMSNormalization", NULL};
  if (node_is_one_of(n, pass))
    return to_input(o, n, 0, p.axis, p);
  if (node_is_one_of(n, pools))
    return p.axis < 2 && to_input(o, n, 0, p.axis, p);
  if (node_is_one_of(n, sums))
    return to_all(o, n, p);
  if (node_is_one_of(n, factors))
    return to_factor(o, n, p);
  if (node_is_one_of(n, moves))
    return reshape_back(o, n, p);
  if (node_is_one_of(n, channels))
    return to_scale_and_shift(o, n, 1, p);
  if (node_is_one_of(n, rows))
    return to_scale_and_shift(o, n, rank_of(o, p.value) - 1, p);
  if (strcmp(n->op_type, "Gemm") == 0)
    return gemm_back(o, n, p);
  if (strcmp(n->op_type, "MatMul") == 0)
    return matmul_back(o, n, p);
  if (strcmp(n->op_type, "Conv") == 0 || strcmp(n->op_type, "ConvTranspose") == 0)
    return conv_back(o, n, p);
  if (strcmp(n->op_type, "Attention") == 0)
    return attention_back(o, n, p);
  if (strcmp(n->op_type, "Split") == 0)
    return split_back(o, n, p);
  return strcmp(n->op_type, "Concat") == 0 && concat_back(o, n, p);
}

// Of a node whose output 0 holds the numbers of one input, times one number at most.
static bool is_reordered(const struct opposing *o, const struct node *n) {
  static const char *const same[] = {"Identity", "Cast", "CastLike", "Neg", "Trilu", "Transpose", NULL};
  static const char *const factors[] = {"Mul", "Div", NULL};
  return node_is_one_of(n, same) ||
         (node_is_one_of(n, factors) && (is_number(o, n->inputs[0]) || is_number(o, n->inputs[1])));
}

bool opposed_step_back(struct opposing *o, const struct node *n, struct opposed_place p) {
  if (n->domain[0] || n->n_inputs == 0 || n->inputs[0] < 0)
    return false;
  if (is_reordered(o, n))
    return strcmp(n->op_type, "Transpose") == 0   ? transpose_back(o, n, p)
           : n->n_inputs > 1 && n->op->multiplies ? to_factor(o, n, p)
                                                  : to_input(o, n, 0, p.axis, p);
  p.computed = true;
  return !p.shared && compute_back(o, n, p);
}
