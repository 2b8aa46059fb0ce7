# SPDX-License-Identifier: Apache-2.0
"""Math: functions of one and two tensors, element by element, and softmax."""
from kernelbenchx.suite import DIGITS, NORMAL, SIGNED, SUITE, UNIT, Input, loads, powers

VECTOR = loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4099)
ABOVE = "uniform(0, 1) * uniform_scalar(0.5, 100)"  # for roots and logarithms: zero and more
# Probes ask beyond what is declared, where a polynomial with an end may be wrong; below zero the answer is NaN. What
# generated code for a GPU makes of subnormal arguments is its compiler's choice.
BEYOND, FAR_BEYOND = "-subnormal", "near_overflow(1e30), special, -subnormal"
ONE_SIDED = "one_sided: defined above zero only"
LEVEL = "the ladder draws from [0, 1) only; numbers above zero of a scale drawn anew"


def function(name, title, body, dist=NORMAL, published=UNIT, repair=SIGNED, outputs=("N",), inputs=("input",), **more):
    SUITE.task("Math", name, title, [Input(i, ["N"], dist, published if repair else None) for i in inputs],
               list(outputs), body, VECTOR, more.pop("call", f"{name}({', '.join(inputs)})"), repair=repair, **more)


PAIR = ("input", "other")
OUR = ("ai.assay",)
function("abs", "Absolute value", ["y = Abs(input)"], probes="near_overflow(3e38), special")
function("add", "Sum", ["y = Add(input, other)"], inputs=PAIR, probes="near_overflow(1e38), special")
function("asin", "Arc sine", ["y = Asin(input)"], dist="uniform(-1, 1)", repair=None, probes=BEYOND)
function("cos", "Cosine", ["y = Cos(input)"], dist="uniform(-10, 10)",
         repair="the ladder draws from [0, 1) only; angles of several turns", probes="near_overflow(1e5)")
function("div", "Quotient", ["y = Div(input, other)"], inputs=PAIR, probes="special")
function("erf", "Error function", ["y = Erf(input)"], probes="near_overflow(1e4), special")
function("erfc_sqrt", "Complementary error function, and square root",
         ["erfc = ai.assay.Erfc(input)", "root = Sqrt(input)"], dist="uniform(0, 1) * uniform_scalar(0.5, 9)", probes=BEYOND,
         outputs=[("erfc", "float", ["N"]), ("root", "float", ["N"])], repair=LEVEL, domains=OUR, allow=ONE_SIDED)
function("exp_sqrt", "Square root of the exponential", ["e = Exp(input)", "y = Sqrt(e)"], probes="near_overflow(80)")
function("floor", "Greatest whole number not above", ["y = Floor(input)"], dist="normal(0, 10)",
         repair="published numbers lie in [0, 1), where every answer is 0; numbers of several units and both signs")
function("log", "Natural logarithm", ["y = Log(input)"], dist="uniform(0.001, 1) * uniform_scalar(0.5, 100)",
         repair=LEVEL, allow=ONE_SIDED, probes=FAR_BEYOND)
function("log1p", "Natural logarithm of one plus the input", ["y = ai.assay.Log1p(input)"],
         dist="uniform(-0.02, 1) * uniform_scalar(0.01, 40)", domains=OUR, probes=BEYOND,
         repair="the ladder draws from [0, 1) only; also numbers near and below zero, where log(1 + x) loses digits")
function("logit", "Logarithm of the odds", ["q = Sub(one, input)", "odds = Div(input, q)", "y = Log(odds)"],
         dist="uniform(0.001, 0.999)", published="uniform(0, 1)", probes=BEYOND, constants=["float one = {1.0}"],
         allow="one_sided: defined between 0 and 1 only",
         repair="the ladder draws 0 now and then, whose answer is minus infinity; probabilities from 0.001")
function("mul", "Product", ["y = Mul(input, other)"], inputs=PAIR, probes="near_overflow(1e18), special",
         note="the ladder's tensors are fp16; the half-precision products are tasks of their own")
function("pow", "Square, by a power with exponent 2", ["y = Pow(input_tensor, two)"], inputs=("input_tensor",),
         constants=["float two = {2.0}"], call="pow(input_tensor, 2)", probes="near_overflow(1e18), special")
function("rad2deg_sqrt", "Degrees of angles, and square root", ["degrees = Mul(input, factor)", "root = Sqrt(input)"],
         dist=ABOVE, probes=FAR_BEYOND, outputs=[("degrees", "float", ["N"]), ("root", "float", ["N"])], repair=LEVEL, digits=DIGITS,
         constants=["float factor = {57.29578}"], allow="affine: the first output is a scaling of the input")
function("reciprocal", "One over the input", ["y = Reciprocal(input)"], probes="special")
function("rsqrt", "One over the square root", ["s = Sqrt(input)", "y = Reciprocal(s)"],
         dist="uniform(0.001, 1) * uniform_scalar(0.5, 100)", repair=LEVEL, allow=ONE_SIDED, probes=FAR_BEYOND)
function("signbit", "Whether the sign bit is set", ["bits = BitCast<to = 6>(input)", "y = Less(bits, zero)"],
         outputs=[("y", "bool", ["N"])], repair=None, constants=["int32 zero = {0}"], opset=26)
function("sqrt_exp", "Exponential of the square root", ["s = Sqrt(input)", "y = Exp(s)"], dist=ABOVE, repair=LEVEL,
         allow=ONE_SIDED, probes=BEYOND)
function("sqrt_tanh", "Hyperbolic tangent of the square root", ["s = Sqrt(input)", "y = Tanh(s)"],
         dist="uniform(0, 1) * uniform_scalar(0.1, 4)", repair=LEVEL, allow=ONE_SIDED, probes=BEYOND)
function("sub", "Difference", ["y = Sub(input, other)"], inputs=PAIR, probes="near_overflow(1e38), special")
function("trunc", "Whole number towards zero",
         ["s = Sign(input)", "a = Abs(input)", "f = Floor(a)", "y = Mul(s, f)"], dist="normal(0, 10)",
         repair="published numbers lie in [0, 1), where every answer is 0; numbers of several units and both signs")
function("chebyshev_polynomial_t", "Chebyshev polynomial of the first kind, degree 3",
         ["twice = Add(input, input)", "a = Mul(twice, input)", "t2 = Sub(a, one)", "b = Mul(twice, t2)",
          "y = Sub(b, input)"], dist="uniform(-1, 1)", constants=["float one = {1.0}"],
         call="chebyshev_polynomial_t(input, 3)", repair="the ladder draws from [0, 1) only; the whole of [-1, 1)")
function("ifftshift", "The second half of a vector before the first",
         ["n = Shape(input)", "half = Div(n, two)", "back = Slice(input, half, n)", "front = Slice(input, start, half)",
          "y = Concat<axis = 0>(back, front)"], constants=["int64[1] two = {2}", "int64[1] start = {0}"],
         probes="near_overflow(3e38), special")
ALL_BITS = "integers(-2147483648, 2147483648)"
SUITE.task("Math", "bitwise_and", "Bits that both have", [Input("input", ["N"], ALL_BITS, "integers(0, 2)", "int32"),
                                                         Input("other", ["N"], ALL_BITS, "integers(0, 2)", "int32")],
           [("y", "int32", ["N"])], ["y = BitwiseAnd(input, other)"], VECTOR, "bitwise_and(input, other)",
           repair="the ladder draws 0 and 1 only, where the product and the minimum pass; numbers with all bits")
SUITE.task("Math", "signbit_bitwise_and", "Sign bits of numbers, and the bits that their whole parts share with others",
           [Input("input", ["N"], "uniform(-128, 127) fixed", "uniform(0, 1) fixed"),
            Input("other", ["N"], "integers(-128, 128)", "integers(0, 2)", "int8")],
           [("sign", "bool", ["N"]), ("both", "int8", ["N"])],
           ["bits = BitCast<to = 6>(input)", "sign = Less(bits, zero)", "whole = Cast<to = 3>(input)",
            "both = BitwiseAnd(whole, other)"], VECTOR, "signbit_bitwise_and(input, other)", opset=26,
           constants=["int32 zero = {0}"],
           repair="the ladder draws from [0, 1), where both outputs are zero; numbers within int8 of both signs")
for suffix, kind in (("fp16", "float16"), ("bf16", "bfloat16")):
    SUITE.task("Math", f"mul_{suffix}", f"Product in {suffix}",
               [Input(i, ["M", "N"], NORMAL, UNIT, kind) for i in PAIR], ["M", "N"], ["y = Mul(input, other)"],
               loads("M N", powers(8, 13), (256, 256), (1, 1), (3, 5), (7, 1021), (13, 31), (1, 4099)),
               f"mul_{suffix}(input, other)", repair=SIGNED, kind=kind)
SUITE.task("Math", "softmax", "Softmax over rows", [Input("input", ["M", "N"], "normal(0, 1) * uniform_scalar(0.5, 4)",
                                                          NORMAL)], ["M", "N"], ["y = Softmax<axis = 1>(input)"],
           loads("M N", [(1024, n) for n in powers(4, 19)], (128, 512), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099)),
           "softmax(input, 1)", probes="near_overflow(1e4)",
           repair="published outputs fall below the tolerance where rows are long; logits of a scale drawn anew")
function("airy_ai", "Airy's function Ai", ["y = ai.assay.AiryAi(input)"], repair=None, domains=OUR,
         mathematics="exactly('airyai', input)",
         inaccurate=(1e-5, "PyTorch's function is off by 6e-6 below -2.09, in double precision too"),
         note="PyTorch's own function is off by up to 6e-6 below -2.09, in double precision too, and fails the contract there; "
              "the default form is compared with mpmath's")
function("bessel_j1", "Bessel's function of the first kind and order 1", ["y = ai.assay.BesselJ1(input)"], domains=OUR,
         dist="normal(0, 10)", repair="the ladder draws from [0, 1), where the function is x/2 less x^3/16; arguments of "
                                      "several periods and both signs", probes="-subnormal",
         note="subnormal numbers are not asked for: PyTorch multiplies by the squares of zeros last, and loses their digits",
         inaccurate=(1e-6, "PyTorch's function is off by 9e-7 from 5 on, in double precision too"))
function("digamma", "Logarithmic derivative of the gamma function", ["y = ai.assay.Digamma(input)"], domains=OUR,
         dist="uniform(0.01, 1) * uniform_scalar(1, 20)", published="uniform(1, 2)", probes=BEYOND,
         repair="the ladder draws from [1, 2) only; numbers above zero of a scale drawn anew; probes ask below zero, too",
         allow="one_sided: the declared numbers are above zero, like the ladder's, and those of probes are not")
function("gammaln", "Logarithm of the gamma function's absolute value", ["y = ai.assay.GammaLn(input)"], domains=OUR,
         dist="uniform(-4, 12)", published="uniform(0.000001, 1.000001)",
         repair="the ladder draws from (0, 1] only; numbers of both signs",
         note="its formula has the gamma function of the absolute value; its text and the published function have the absolute value "
              "of the gamma function")
function("i0", "Modified Bessel function of the first kind and order 0", ["y = ai.assay.BesselI0(input)"], domains=OUR,
         dist="normal(0, 10)", repair="the ladder draws from [0, 1), where the function is 1 and a little; larger numbers "
                                      "of both signs")
function("polygamma", "First derivative of the digamma function", ["y = ai.assay.Polygamma<n = 1>(input)"], domains=OUR,
         dist="uniform(0.1, 1) * uniform_scalar(1, 10) above(0)", published="uniform(0.1, 1.1)",
         probes="near_overflow(1e10), -subnormal",
         call="polygamma(1, input)", inaccurate=(1e-9, "PyTorch's trigamma is off by 5e-10 in double precision"), repair="the ladder draws from [0.1, 1.1) only; numbers of a scale drawn anew",
         allow=ONE_SIDED)
SUITE.task("Math", "zeta", "Hurwitz's zeta function",
           [Input("input", ["N"], "uniform(1.1, 12) above(1)", "uniform(2, 3)"),
            Input("other", ["N"], "uniform(0.1, 10) above(0)", "uniform(1, 2)")], ["N"],
           ["y = ai.assay.Zeta(input, other)"], VECTOR, "zeta(input, other)", domains=OUR, probes=BEYOND,
           repair="the ladder draws from [2, 3) and [1, 2) only; more of the function's domain")
SUITE.task("Math", "fftn", "Fourier transform of a complex vector, whose two parts are the last dimension",
           [Input("input", ["N", 2], NORMAL)], ["N", 2], ["row = Unsqueeze(input, first)", "t = DFT(row)", "y = Squeeze(t, first)"],
           loads("N", powers(12, 23), 16384, 1, 2, 3, 60, 257, 4096),
           "torch.view_as_real(fftn(torch.view_as_complex(input)))", constants=["int64[1] first = {0}"], ladder=[["N"]], shapes="N=1024..16384/1024",
           probes="-heavy_mean",
           note="extents are multiples of 1024, apart from the ragged ones; inputs of one large mean are not asked: all of a fast transform's errors then come from few numbers, and repeat along the result")
