// SPDX-License-Identifier: Apache-2.0
// Comparisons, logic, bits and selection.
#include <string.h>

#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

static enum assay_status infer_logic(struct op_infer *c, struct assay_error *err) {
  for (int i = 0; i < c->n_in; i++)
    if (c->in[i]->dtype != DTYPE_BOOL)
      return op_invalid(c->node, err, "input %d is %s, not bool; insert a Cast", i, dtype_name(c->in[i]->dtype));
  return op_infer_broadcast(c, err);
}

static enum assay_status infer_bits(struct op_infer *c, struct assay_error *err) {
  for (int i = 0; i < c->n_in; i++)
    if (!dtype_is_integer(c->in[i]->dtype) || c->in[i]->dtype == DTYPE_BOOL)
      return op_invalid(c->node, err, "input %d is %s, not an integer", i, dtype_name(c->in[i]->dtype));
  return op_infer_broadcast(c, err);
}

static enum assay_status infer_where(struct op_infer *c, struct assay_error *err) {
  if (c->in[0]->dtype != DTYPE_BOOL)
    return op_invalid(c->node, err, "input 0, the condition, is %s, not bool", dtype_name(c->in[0]->dtype));
  struct op_infer choices = *c;
  choices.in = c->in + 1;
  choices.n_in = 2;
  enum assay_status status = op_infer_broadcast(&choices, err);
  if (status != ASSAY_OK)
    return status;
  struct shape shape = c->out[0].shape;
  return shape_broadcast(&shape, &c->in[0]->shape, &c->out[0].shape, err);
}

static int64_t bits_and(int64_t a, int64_t b, enum dtype t) {
  return (void)t, a & b;
}
static int64_t bits_or(int64_t a, int64_t b, enum dtype t) {
  return (void)t, a | b;
}
static int64_t bits_xor(int64_t a, int64_t b, enum dtype t) {
  return (void)t, a ^ b;
}
static int64_t bits_not(int64_t a, int64_t b, enum dtype t) {
  return (void)b, (void)t, ~a;
}

// Shifting by the type's width or more (or by a negative number), undefined in C, shifts everything out.
static int64_t shift_left(int64_t a, int64_t b, enum dtype t) {
  uint64_t width = (uint64_t)dtype_bits(t);
  return (uint64_t)b >= width ? 0 : (int64_t)((uint64_t)a << b);
}

// Signed numbers, allowed by newer versions, keep their sign; unsigned 64-bit ones must not seem negative.
static int64_t shift_right(int64_t a, int64_t b, enum dtype t) {
  uint64_t width = (uint64_t)dtype_bits(t);
  uint64_t sign = a < 0 && t != DTYPE_UINT64 ? UINT64_MAX : 0;
  if ((uint64_t)b >= width)
    return (int64_t)sign;
  return b == 0 ? a : (int64_t)((uint64_t)a >> b | sign << (64 - b));
}

static enum assay_status eval_and(struct op_eval *c, struct assay_error *err) {
  return pointwise_eval_int(c, bits_and, err);
}
static enum assay_status eval_or(struct op_eval *c, struct assay_error *err) {
  return pointwise_eval_int(c, bits_or, err);
}
static enum assay_status eval_xor(struct op_eval *c, struct assay_error *err) {
  return pointwise_eval_int(c, bits_xor, err);
}
static enum assay_status eval_not(struct op_eval *c, struct assay_error *err) {
  return pointwise_eval_int(c, bits_not, err);
}

static enum assay_status eval_shift(struct op_eval *c, struct assay_error *err) {
  const char *direction = node_string(c->node, "direction", "");
  if (strcmp(direction, "LEFT") == 0)
    return pointwise_eval_int(c, shift_left, err);
  if (strcmp(direction, "RIGHT") == 0)
    return pointwise_eval_int(c, shift_right, err);
  return op_invalid(c->node, err, "direction is \"%s\"; it must be LEFT or RIGHT", direction);
}

static const struct op_attr shift_attrs[] = {{"direction", ATTR_STRING, true, NULL}, {0}};
static const struct op_attr isinf_attrs[] = {
    {"detect_negative", ATTR_INT, false, "1"}, {"detect_positive", ATTR_INT, false, "1"}, {0}};

#define COMPARE(NAME, SINCE, EXPR, DOC, ...)                                                                           \
  {                                                                                                                    \
    POINTWISE_BINARY(NAME, SINCE, pointwise_infer_compare, EXPR, DOC),                                                 \
        .example = "(float[2,3] a, float[3] b) => (bool[2,3] c) { c = " NAME "(a, b) }",                               \
        .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .steps = true, __VA_ARGS__                                         \
  }
#define LOGIC(NAME, EXPR, DOC, ...)                                                                                    \
  {                                                                                                                    \
    POINTWISE_BINARY(NAME, 7, infer_logic, EXPR, DOC),                                                                 \
        .example = "(bool[2,3] a, bool[3] b) => (bool[2,3] c) { c = " NAME "(a, b) }",                                 \
        .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                        \
  }
// PyTorch does not say what a shift by the width of the type or more gives, and shifts bytes alone of those without
// sign.
static void pytorch_bit_shift(struct pytorch_writer *w, const struct node *n) {
  enum { MOST = 64, WIDTH = 8 };
  int64_t by[MOST];
  int count = pytorch_constant_ints(w, n, 1, by, MOST);
  w->complete = w->complete && count > 0 && w->values[n->inputs[0]].dtype == DTYPE_UINT8;
  for (int i = 0; i < count; i++)
    w->complete = w->complete && by[i] < WIDTH;
  pytorch_put_template(w, n, strcmp(node_string(n, "direction", ""), "LEFT") == 0 ? "$0 << $1" : "$0 >> $1");
}

#define BITWISE(NAME, EVAL, DOC, ...)                                                                                  \
  {                                                                                                                    \
    OP_ROW(NAME, 18, 2, 2, 1, 1, OP_ELEMENTWISE),                                                                      \
        .infer = infer_bits, .eval = EVAL, .doc = DOC,                                                                 \
        .example = "(int32[2,3] a, int32[3] b) => (int32[2,3] c) { c = " NAME "(a, b) }",                              \
        .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                                                    \
  }

static const struct op_def rows[] = {
    COMPARE("Equal", 7, "x == y", "Whether two tensors are equal, element by element; NaN equals nothing.",
            .pytorch = {.text = "$0 == $1", .takes_numbers = true}),
    COMPARE("Less", 7, "x < y", "Whether the first is less than the second; false with NaN.",
            .pytorch = {.text = "$0 < $1", .takes_numbers = true}),
    COMPARE("LessOrEqual", 12, "x <= y", "Whether the first is at most the second; false with NaN.",
            .pytorch = {.text = "$0 <= $1", .takes_numbers = true}),
    COMPARE("Greater", 7, "x > y", "Whether the first is greater than the second; false with NaN.",
            .pytorch = {.text = "$0 > $1", .takes_numbers = true}),
    COMPARE("GreaterOrEqual", 12, "x >= y", "Whether the first is at least the second; false with NaN.",
            .pytorch = {.text = "$0 >= $1", .takes_numbers = true}),
    LOGIC("And", "x && y", "Whether both are true.",
          .pytorch = {.text = "torch.logical_and(torch.as_tensor($0), torch.as_tensor($1))"}),
    LOGIC("Or", "x || y", "Whether at least one is true.",
          .pytorch = {.text = "torch.logical_or(torch.as_tensor($0), torch.as_tensor($1))"}),
    LOGIC("Xor", "x != y", "Whether exactly one is true.",
          .pytorch = {.text = "torch.logical_xor(torch.as_tensor($0), torch.as_tensor($1))"}),
    {POINTWISE_UNARY("Not", 1, infer_logic, "!x", "Whether the input is false."),
     .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "~$0"},
     .example = "(bool[2,3] a) => (bool[2,3] b) { b = Not(a) }"},
    {POINTWISE_UNARY("IsNaN", 9, pointwise_infer_compare, "isnan(x)", "Whether the input is not a number."),
     .errors = {OP_EXACT, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.isnan($0)"},
     .example = "(float[2,3] a) => (bool[2,3] b) { b = IsNaN(a) }"},
    {POINTWISE_UNARY("IsInf", 10, pointwise_infer_compare, "isinf(x) && (x < 0 ? detect_negative : detect_positive)",
                     "Whether the input is infinite, with a sign that the attributes ask for."),
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.none = PYTORCH_NOT_WRITTEN}, .attrs = isinf_attrs,
     .example = "(float[2,3] a) => (bool[2,3] b) { b = IsInf<detect_negative = 0>(a) }"},
    {OP_ROW("Where", 9, 3, 3, 1, 1, OP_ELEMENTWISE), .infer = infer_where, .eval = pointwise_eval,
     .cost = pointwise_cost, .expr = "x ? y : z", .errors = {OP_EXACT, OP_KINK, OP_NO_SUM},
     .pytorch = {.text = "torch.where($0, $1, $2)", .takes_numbers = true},
     .doc = "The second input where the first (bool) is true, else the third; all broadcast.",
     .example = "(bool[2,3] a, float[3] b, float c) => (float[2,3] d) { d = Where(a, b, c) }"},
    {OP_ROW("BitShift", 11, 2, 2, 1, 1, OP_ELEMENTWISE), .attrs = shift_attrs, .infer = infer_bits, .eval = eval_shift,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_bit_shift},
     .doc = "The first input shifted by the second, LEFT or RIGHT; bits that leave the type's width are lost.",
     .example = "(uint8[2,3] a, uint8[3] b) => (uint8[2,3] c) { c = BitShift<direction = \"LEFT\">(a, b) }"},
    BITWISE("BitwiseAnd", eval_and, "The bits that are set in both inputs.", .pytorch = {.text = "$0 & $1"}),
    BITWISE("BitwiseOr", eval_or, "The bits that are set in at least one input.", .pytorch = {.text = "$0 | $1"}),
    BITWISE("BitwiseXor", eval_xor, "The bits that are set in exactly one input.", .pytorch = {.text = "$0 ^ $1"}),
    {OP_ROW("BitwiseNot", 18, 1, 1, 1, 1, OP_ELEMENTWISE), .infer = infer_bits, .eval = eval_not,
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "~$0"},
     .doc = "Every bit of the input inverted.", .example = "(int32[2,3] a) => (int32[2,3] b) { b = BitwiseNot(a) }"},
};

const struct op_family ops_logic_family = {"Comparison, logic and selection", rows, sizeof rows / sizeof rows[0]};
