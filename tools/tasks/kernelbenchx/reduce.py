# SPDX-License-Identifier: Apache-2.0
"""Reduce: one number of each row. The ladder times a single row, which is M = 1 here."""
from kernelbenchx.suite import DIGITS, NORMAL, SIGNED, SUITE, UNIT, Input, loads, powers

RAGGED = ((1, 2), (3, 7), (7, 1021), (61, 33), (1, 4099))


def rows(first, last, small=(128, 512)):
    return loads("M N", [(1, n) for n in powers(first, last)], small, *RAGGED)


def reduction(name, title, body, call, workloads, outputs=("M",), dist=NORMAL, repair=SIGNED, **more):
    SUITE.task("Reduce", name, title, [Input("input", ["M", "N"], dist, UNIT)], list(outputs), body, workloads, call,
               repair=repair, ladder=[["N"]], **more)


AXIS = "int64[1] axis = {1}"
reduction("argmax", "Index of the first maximum of each row", ["y = ArgMax<axis = 1, keepdims = 0>(input)"],
          "argmax(input, 1)", rows(12, 29), [("y", "int64", ["M"])], probes="near_overflow(3e38)",
          note="the ladder's rows are fp16, where maxima repeat")
reduction("mean", "Mean of each row", ["y = ReduceMean<keepdims = 0>(input, axis)"], "mean(input, 1)", rows(12, 27),
          dist="slash(1)", constants=[AXIS], probes="near_overflow(1e35), special",
          repair="published means are 0.5 within 0.0003 from 2^20 elements on; heavy tails, whose mean differs in every "
                 "draw")
SUITE.task("Reduce", "min", "Minimum of each column and the index of the first",
           [Input("input", ["M", "N"], NORMAL, UNIT)], [("values", "float", ["N"]), ("indices", "int64", ["N"])],
           ["values = ReduceMin<keepdims = 0>(input, axis)", "indices = ArgMin<axis = 0, keepdims = 0>(input)"],
           loads("M N", [(m, 1024) for m in powers(6, 19)], (128, 512), *RAGGED), "min(input, 0)",
           constants=["int64[1] axis = {0}"],
           probes="near_overflow(3e38)",
           repair="published minima are at most 0.01, so that zeros pass with a tolerance of 1e-2; normal inputs")
reduction("min_gelu", "Minimum of the Gaussian error linear unit of each row",
          ["h = Div(input, root)", "e = Erf(h)", "s = Add(e, one)", "p = Mul(input, s)", "g = Mul(p, half)",
           "y = ReduceMin<keepdims = 0>(g, axis)"], "min_gelu(input, 1)[0]", rows(12, 27, (4096, 16)),
          dist="uniform(0.5, 1.5) * uniform_scalar(-4, 4)",
          constants=[AXIS, "float root = {1.4142135}", "float one = {1.0}", "float half = {0.5}"],
          published_constants={"one": ("0", "1")}, mathematics="F.gelu(input).min(1)[0]", digits=DIGITS,
          probes="near_overflow(1e30)",
          repair="the published function is x erf(x / sqrt 2) / 2, GELU less x/2; and the minimum of GELU over many "
                 "numbers of both signs is always -0.17, which the default inputs avoid",
          note="indices are not asked: at its minimum GELU is flat and a rounding decides which is first")
reduction("std", "Standard deviation of each row, with N - 1",
          ["mean = ReduceMean<keepdims = 1>(input, axis)", "d = Sub(input, mean)",
           "squares = ReduceSumSquare<keepdims = 0>(d, axis)", "extent = Shape<start = 1, end = 2>(input)",
           "n = Cast<to = 1>(extent)", "count = Sub(n, one)", "variance = Div(squares, count)", "y = Sqrt(variance)"],
          "std(input, 1)", rows(12, 27), dist="normal(0.5, 1) * uniform_scalar(0.25, 4)",
          constants=[AXIS, "float one = {1.0}"], probes="near_overflow(1e15)",
          repair="the published deviation is 0.2887 for every input; inputs of a scale drawn anew")
reduction("sum", "Sum of each row", ["y = ReduceSum<keepdims = 0>(input, axis)"], "sum(input, 1)", rows(12, 27),
          constants=[AXIS], probes="near_overflow(1e35), special",
          repair="published sums are N/2 within 0.1 %; zero-mean inputs")
