# SPDX-License-Identifier: Apache-2.0
"""Activation: functions of one tensor, in single and half precision, and in int8."""
from kernelbenchx.suite import DIGITS, NORMAL, SIGNED, SUITE, UNIT, WEIGHT, Input, loads, powers

VECTOR = loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4099)
HALVES = {"": "float", "_fp16": "float16", "_bf16": "bfloat16"}


def activation(name, title, body, probes=None, halves=("",), digits=""):
    """One task for each type; `probes`: near_overflow(m) of single precision is left out in half precision."""
    for suffix in halves:
        kind = HALVES[suffix]
        half = {"float": "", "float16": " in fp16", "bfloat16": " in bf16"}[kind]
        kept = probes if kind == "float" else ", ".join(p for p in (probes or "").split(", ") if "near" not in p)
        SUITE.task("Activation", name + suffix, title + half, [Input("input", ["N"], NORMAL, UNIT, kind)], ["N"], body,
                   VECTOR, f"{name}{suffix}(input)", repair=SIGNED, probes=kept or None, kind=kind, digits=digits)


ALL = ("", "_fp16", "_bf16")
activation("gelu", "Gaussian error linear unit, exact", ["y = Gelu(input)"], "near_overflow(1e12)", ALL)
activation("leaky_relu", "Leaky rectified linear unit with slope 0.01", ["y = LeakyRelu<alpha = 0.01>(input)"],
           "near_overflow(3e38), special", digits=DIGITS)
activation("relu", "Rectified linear unit", ["y = Relu(input)"], "near_overflow(3e38)", ALL)
activation("sigmoid", "Logistic sigmoid", ["y = Sigmoid(input)"], "near_overflow(1e4), special", ALL)
activation("tanh", "Hyperbolic tangent", ["y = Tanh(input)"], "near_overflow(1e4), special", ALL)

SUITE.task("Activation", "selu", "Scaled exponential linear unit", [Input("input", ["N"], NORMAL, UNIT)], ["N"],
           ["above = Max(input, zero)", "e = Exp(input)", "m = Sub(e, one)", "a = Mul(m, alpha)",
            "line = Mul(input, slope)", "below = Min(line, a)", "s = Add(above, below)", "y = Mul(s, scale)"], VECTOR,
           "selu(input)", probes="near_overflow(1e38)", digits=DIGITS,
           constants=["float zero = {0.0}", "float one = {1.0}", "float slope = {0.0}", "float alpha = {1.6732632}",
                      "float scale = {1.050701}"],
           published_constants={"slope": ("1", "0")}, mathematics="F.selu(input)",
           repair="the published reference takes the smaller of x and alpha (exp(x) - 1) where its description takes that "
                  "of 0, so that numbers above zero are doubled; and the ladder draws from [0, 1) only")
SUITE.task("Activation", "gelu_int8", "Gaussian error linear unit of int8, truncated to int8",
           [Input("input", ["N"], "integers(-128, 5) fixed", "integers(-10, 10) fixed", "int8")], [("y", "int8", ["N"])],
           ["x = Cast<to = 1>(input)", "g = Gelu(x)", "y = Cast<to = 3>(g)"], VECTOR, "gelu_int8(input)",
           repair="between 5 and 8 the value lies so close below a whole number that its rounding to fp32 decides what "
                  "truncation leaves; inputs up to 4, and down to the least int8")
SUITE.task("Activation", "combined_activation", "Hyperbolic tangent of the sigmoid of a product, times and plus a row",
           [Input("input", ["M", "K"], NORMAL), Input("weight1", ["K", "N"], WEIGHT), Input("weight2", ["N"], WEIGHT),
            Input("bias", ["N"], WEIGHT)], ["M", "N"],
           ["z = MatMul(input, weight1)", "s = Sigmoid(z)", "t = Tanh(s)", "m = Mul(t, weight2)", "y = Add(m, bias)"],
           loads("M K N", [2 ** (i // 2) for i in range(12, 24)], (128, 192, 160), (1, 1, 1), (2, 3, 4), (5, 3, 7),
                 (17, 65, 33), (61, 7, 67)), "combined_activation(input, weight1, weight2, bias)",
           probes="near_overflow(1e17)")
