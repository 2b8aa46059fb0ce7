// SPDX-License-Identifier: Apache-2.0
// The special functions that PyTorch has and ONNX lacks.
//
// A straightforward kernel finds such a function within a few units of what a small change of its argument does: the
// argument is reduced, shifted or reflected in the contract's arithmetic before anything is summed. So a contract pass
// takes the function at an argument that is off by up to two units in the last place, and rounds the result like any
// function of a library. Near a zero of the function that is what counts.
#include "ops/families.h"
#include "ops/pointwise.h"
#include "ops/pytorch.h"

#define MOVED "moved(x)"

#define SPECIAL(NAME, EXPR, EXAMPLE, DOC, ...) SPECIAL_OF(NAME, pointwise_infer_float, EXPR, EXAMPLE, DOC, __VA_ARGS__)
#define SPECIAL_OF(NAME, INFER, EXPR, EXAMPLE, DOC, ...)                                                               \
  {                                                                                                                    \
    POINTWISE_UNARY_OF("ai.assay", NAME, 1, INFER, EXPR, DOC),                                                         \
        .example = (EXAMPLE), .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, __VA_ARGS__                              \
  }
#define OF_ANY(NAME) "(float[2,3] a) => (float[2,3] b) { b = ai.assay." NAME "(a) }"
#define OF_POSITIVE(NAME) "(float[2,3] a) => (float[2,3] b) { p = Exp(a) b = ai.assay." NAME "(p) }"

static const struct op_attr order_attrs[] = {{"n", ATTR_INT, false, "1"}, {0}};

// Ten factorials of single precision hold what a task may want.
static enum assay_status infer_polygamma(struct op_infer *c, struct assay_error *err) {
  int64_t n = node_int(c->node, "n", 1);
  if (n < 0 || n > 10)
    return op_invalid(c->node, err, "n is %lld; it must be between 0 and 10", (long long)n);
  return pointwise_infer_float(c, err);
}

static const struct op_def rows[] = {
    SPECIAL("GammaLn", "exact ? gammaln(x) : gammaln(" MOVED ")", OF_ANY("GammaLn"),
            "The natural logarithm of the absolute value of the gamma function; infinity at zero and at negative whole "
            "numbers.",
            .pytorch = {.text = "torch.special.gammaln($0)"}),
    SPECIAL(
        "Digamma", "exact ? digamma(x) : digamma(" MOVED ")", OF_POSITIVE("Digamma"),
        "The logarithmic derivative of the gamma function. At zero infinity of the other sign; NaN at negative whole "
        "numbers.",
        .pytorch = {.text = "torch.special.digamma($0)"}),
    SPECIAL_OF("Polygamma", infer_polygamma, "exact ? polygamma(n, x) : polygamma(n, " MOVED ")",
               OF_POSITIVE("Polygamma<n = 2>"),
               "The n-th derivative of Digamma, n from 0 to 10. With n above 0: infinite at zero, NaN below.",
               .attrs = order_attrs, .pytorch = {.text = "torch.special.polygamma({n}, $0)"}),
    {POINTWISE_BINARY_OF(
         "ai.assay", "Zeta", 1, pointwise_infer_float, "exact ? zeta(x, y) : zeta(" MOVED ", moved(y))",
         "Hurwitz's zeta function of x (input 0) and q (input 1), broadcast: the sum of (q + k) to the "
         "power -x over k = 0, 1, ... For x > 1 and q > 0; infinity where x is 1 or q is 0, NaN elsewhere."),
     .errors = {OP_MAY_ROUND, OP_SMOOTH, OP_NO_SUM}, .pytorch = {.text = "torch.special.zeta($0, $1)"},
     .example =
         "(float[2,3] a, float[3] b) => (float[2,3] c) "
         "{ one = Constant<value = float {1.5}>() s = Abs(a) x = Add(s, one) q = Exp(b) c = ai.assay.Zeta(x, q) }"},
    SPECIAL("BesselJ1", "exact ? bessel_j1(x) : bessel_j1(" MOVED ")", OF_ANY("BesselJ1"),
            "Bessel's function of the first kind and order 1.", .pytorch = {.text = "torch.special.bessel_j1($0)"}),
    SPECIAL("BesselI0", "exact ? bessel_i0(x) : bessel_i0(" MOVED ")", OF_ANY("BesselI0"),
            "The modified Bessel function of the first kind and order 0.", .pytorch = {.text = "torch.special.i0($0)"}),
    // Up to 2.1 kernels sum two series whose difference the function is: both are rounded.
    SPECIAL("AiryAi", "exact ? airy_ai(x) : airy_ai(" MOVED ") + (moved(airy_parts(x)) - airy_parts(x))",
            OF_ANY("AiryAi"), "Airy's function Ai.", .pytorch = {.text = "torch.special.airy_ai($0)"}),
};

const struct op_family ops_special_family = {"Special functions", rows, sizeof rows / sizeof rows[0]};
