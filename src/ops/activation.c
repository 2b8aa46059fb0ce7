// SPDX-License-Identifier: Apache-2.0
// Activations. Their expressions are the textbook formulas, because the error scale is that of an ordinary
// implementation; only where the textbook overflows (softplus) the form that everybody uses stands instead.
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

// max(x, 0) + log1p(exp(-|x|)) is log(1 + exp(x)) without overflow.
#define SOFTPLUS "(max(x, 0) + log1p(exp(-abs(x))))"

// The slope may be broadcast to the input, not the other way round.
static enum assay_status infer_prelu(struct op_infer *c, struct assay_error *err) {
  enum assay_status status = pointwise_infer_number(c, err);
  if (status == ASSAY_OK && !shape_equal(&c->out[0].shape, &c->in[0]->shape))
    return op_invalid(c->node, err, "the slope is larger than the input");
  return status;
}

// Nothing is broadcast.
static enum assay_status infer_swiglu(struct op_infer *c, struct assay_error *err) {
  char a[SHAPE_TEXT_BYTES], b[SHAPE_TEXT_BYTES];
  if (!shape_equal(&c->in[0]->shape, &c->in[1]->shape))
    return op_invalid(c->node, err, "the gate has the shape %s, the other input %s", shape_text(&c->in[0]->shape, a),
                      shape_text(&c->in[1]->shape, b));
  return pointwise_infer_float(c, err);
}

// Bounds are scalars; some writers give them one dimension of one element.
static enum assay_status infer_clip(struct op_infer *c, struct assay_error *err) {
  for (int i = 1; i < 3; i++)
    if (op_has(c, i) && (shape_count(&c->in[i]->shape) != 1 || c->in[i]->dtype != c->in[0]->dtype))
      return op_invalid(c->node, err, "input %d, a bound, must be one element of the type of input 0", i);
  return op_infer_same(c, err);
}

// With the lower bound left out, the upper one is the second input that is given.
static const char *const clip_given[] = {"x", "max(x, y)", "min(x, y)"};

static const struct op_attr leaky_attrs[] = {{"alpha", ATTR_FLOAT, false, "0.01"}, {0}};
static const struct op_attr alpha_attrs[] = {{"alpha", ATTR_FLOAT, false, "1.0"}, {0}};
static const struct op_attr selu_attrs[] = {{"alpha", ATTR_FLOAT, false, "1.67326319217681884765625"},
                                            {"gamma", ATTR_FLOAT, false, "1.05070102214813232421875"},
                                            {0}};
static const struct op_attr gelu_attrs[] = {{"approximate", ATTR_STRING, false, "none"}, {0}};
static const struct op_attr hard_attrs[] = {
    {"alpha", ATTR_FLOAT, false, "0.2"}, {"beta", ATTR_FLOAT, false, "0.5"}, {0}};
static const struct op_attr shrink_attrs[] = {
    {"bias", ATTR_FLOAT, false, "0.0"}, {"lambd", ATTR_FLOAT, false, "0.5"}, {0}};
static const struct op_attr clip_attrs[] = {
    {"max", ATTR_FLOAT, false, "3.4028234663852886e+38"}, {"min", ATTR_FLOAT, false, "-3.4028234663852886e+38"}, {0}};

#define FLOATING(NAME, SINCE, ATTRS, EXPR, USE, DOC, ...)                                                              \
  {                                                                                                                    \
    POINTWISE_UNARY(NAME, SINCE, pointwise_infer_float, EXPR, DOC),                                                    \
        .attrs = (ATTRS), .example = "(float[2,3] a) => (float[2,3] b) { b = " USE "(a) }", __VA_ARGS__                \
  }

static const struct op_def rows[] = {
    {POINTWISE_UNARY("Relu", 6, pointwise_infer_number, "max(x, 0)",
                     "The input where it is positive, else 0; NaN stays NaN."),
     .errors = {OP_EXACT, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "torch.relu($0)"},
     .example = "(float[2,3] a) => (float[2,3] b) { b = Relu(a) }"},
    FLOATING("LeakyRelu", 6, leaky_attrs, "x < 0 ? alpha * x : x", "LeakyRelu<alpha = 0.1>",
             "The input, scaled by alpha where it is negative.", .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM},
             .pytorch = {.text = "F.leaky_relu($0, negative_slope={alpha})"}),
    {POINTWISE_BINARY("PRelu", 7, infer_prelu, "x < 0 ? x * y : x",
                      "The first input, multiplied by the second (the slope, broadcast to the first) where it is "
                      "negative."),
     .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "torch.where($0 < 0, $0 * $1, $0)"},
     .example = "(float[2,3] a, float[3] slope) => (float[2,3] b) { b = PRelu(a, slope) }"},
    FLOATING("ThresholdedRelu", 10, alpha_attrs, "x > alpha ? x : 0", "ThresholdedRelu<alpha = 0.2>",
             "The input where it is above alpha, else 0.", .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM},
             .pytorch = {.text = "torch.where($0 > {alpha}, $0, 0.0)"}),
    FLOATING("Elu", 6, alpha_attrs, "x < 0 ? alpha * (exp(x) - 1) : x", "Elu<alpha = 0.7>",
             "The exponential linear unit.", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
             .pytorch = {.text = "F.elu($0, alpha={alpha})"}),
    FLOATING("Selu", 6, selu_attrs, "x > 0 ? gamma * x : gamma * (alpha * exp(x) - alpha)", "Selu",
             "The scaled exponential linear unit.", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
             .pytorch = {.text = "F.selu($0)"}),
    FLOATING("Celu", 12, alpha_attrs, "max(0, x) + min(0, alpha * (exp(x / alpha) - 1))", "Celu<alpha = 2.0>",
             "The continuously differentiable exponential linear unit.", .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM},
             .pytorch = {.text = "F.celu($0, alpha={alpha})"}),
    FLOATING("Gelu", 20, gelu_attrs,
             "approximate ? 0.5 * x * (1 + tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)))"
             " : exact ? 0.5 * x * erfc(-x * 0.70710678118654752)"
             " : 0.5 * x * (1 + erf(x * 0.70710678118654752))",
             "Gelu<approximate = \"tanh\">",
             "The Gaussian error linear unit, through erf or, with approximate = \"tanh\", through tanh.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.write = pytorch_gelu}),
    FLOATING("Sigmoid", 6, NULL, "1 / (1 + exp(-x))", "Sigmoid", "The logistic function.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.sigmoid($0)"}),
    FLOATING("Swish", 24, alpha_attrs, "x / (1 + exp(-alpha * x))", "Swish",
             "The input times the logistic function of alpha times the input.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "$0 * torch.sigmoid({alpha} * $0)"}),
    {POINTWISE_BINARY("SwiGLU", 28, infer_swiglu, "x / (1 + exp(-alpha * x)) * y",
                      "The first input, the gate, times the logistic function of alpha times it, times the second. "
                      "Both have one shape."),
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "$0 * torch.sigmoid({alpha} * $0) * $1"},
     .attrs = alpha_attrs, .example = "(float[2,3] a, float[2,3] b) => (float[2,3] c) { c = SwiGLU(a, b) }"},
    FLOATING("Mish", 18, NULL, "x * tanh" SOFTPLUS, "Mish", "The input times the hyperbolic tangent of its softplus.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "F.mish($0)"}),
    FLOATING("Softplus", 1, NULL, SOFTPLUS, "Softplus", "log(1 + exp(x)), in the form that cannot overflow.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "F.softplus($0)"}),
    FLOATING("Softsign", 1, NULL, "x / (1 + abs(x))", "Softsign", "The input divided by one plus its absolute value.",
             .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "F.softsign($0)"}),
    FLOATING("HardSigmoid", 6, hard_attrs, "max(0, min(1, alpha * x + beta))", "HardSigmoid",
             "A straight line of slope alpha through beta, cut off at 0 and 1.",
             .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .pytorch = {.write = pytorch_hard_sigmoid}),
    FLOATING("HardSwish", 14, NULL, "x * max(0, min(1, x / 6 + 0.5))", "HardSwish",
             "The input times its hard sigmoid with alpha = 1/6 and beta = 0.5.",
             .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "F.hardswish($0)"}),
    {POINTWISE_UNARY("Shrink", 9, pointwise_infer_number, "x < -lambd ? x + bias : x > lambd ? x - bias : 0",
                     "The input moved towards 0 by bias outside [-lambd, lambd], and 0 within."),
     .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM},
     .pytorch = {.text = "torch.where($0 < -{lambd}, $0 + {bias}, torch.where($0 > {lambd}, $0 - {bias}, 0.0))"},
     .attrs = shrink_attrs, .example = "(float[2,3] a) => (float[2,3] b) { b = Shrink<bias = 0.3, lambd = 0.2>(a) }"},
    {POINTWISE_UNARY("Clip", 6, pointwise_infer_float, "min(max(x, min), max)",
                     "The input limited to [min, max]; NaN stays NaN."),
     .errors = {OP_MAY_ROUND, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "torch.clamp($0, min={min}, max={max})"},
     .attrs = clip_attrs},
    {OP_ROW("Clip", 11, 1, 3, 1, 1, OP_ELEMENTWISE), .infer = infer_clip, .eval = pointwise_eval,
     .cost = pointwise_cost, .expr = "min(max(x, y), z)", .expr_given = clip_given,
     .errors = {OP_EXACT, OP_KINK, OP_NO_SUM}, .pytorch = {.text = "torch.clamp($0, min=$1, max=$2)"},
     .doc = "The first input limited to the range from the second to the third, either of which may be left out; NaN "
            "stays NaN.",
     .example = "(float[2,3] a, float low) => (float[2,3] b) { h = Abs(low) l = Neg(h) b = Clip(a, l, h) }\n"
                "(float[2,3] a, float high) => (float[2,3] b) { b = Clip(a, , high) }"},
};

const struct op_family ops_activation_family = {"Activations", rows, sizeof rows / sizeof rows[0]};
