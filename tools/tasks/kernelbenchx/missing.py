# SPDX-License-Identifier: Apache-2.0
"""Categories of which nothing is made yet, and why."""
from kernelbenchx.suite import SUITE, Input, loads, powers

SUITE.task("Random", "logspace", "A base to the power of numbers with equal steps between two ends, both included",
           [Input("start", [1], "uniform(-3, 3) fixed", "constant(0)"), Input("end", [1], "uniform(-3, 3) fixed", "constant(10)"),
            Input("like", [0, "N"], "constant(0) fixed")], ["N"],
           ["n = Shape<start = 1, end = 2>(like)", "count = Squeeze(n)", "i = Range(zero, count, step)",
            "places = Cast<to = 1>(i)", "size = Cast<to = 1>(count)", "less = Sub(size, one)", "steps = Max(less, one)",
            "d = Sub(end, start)", "part = Div(places, steps)", "way = Mul(part, d)", "power = Add(start, way)",
            "y = Pow(base, power)"],
           loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4099), "logspace(start.item(), end.item(), N)",
           constants=["int64 zero = {0}", "int64 step = {1}", "float one = {1.0}", "float base = {10.0}"], ladder=[["N"]] * 3,
           repair="the ladder asks for the powers from 10^0 to 10^10 every time; ends drawn anew",
           note="`like` has no elements: its extent says how many numbers are wanted")
SUITE.missing("Random", "numbers of chance, to be judged as a distribution", "rand")
