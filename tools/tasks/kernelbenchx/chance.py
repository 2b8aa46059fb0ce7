# SPDX-License-Identifier: Apache-2.0
"""Random, and what else is chance."""
from kernelbenchx.suite import SUITE, Input, loads, powers
from task_files import Function

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

# Numbers of chance: a row for each seed. Of four seeds that are drawn two pairs are neighbours, and eight rows have some of
# them twice, so that one call shows whether seeds count, whether they are kept, and whether rows are independent.
SEEDS = Input("seeds", ["S"], "seeds() fixed", dtype="int64")
OUR = ("ai.assay",)


def rows(ladder, seeds):
    return [(seeds, n) for n in ladder]


SUITE.task("Random", "rand", "Uniform random numbers, a row for each seed",
           [SEEDS, Input("like", [0, "N"], "constant(0) fixed")], [("y", "float", ["S", "N"])],
           ["y = ai.assay.SeededUniform(seeds, like)"],
           loads("S N", rows(powers(9, 24), 8), (8, 32768), (1, 1), (2, 3), (3, 257), (8, 1021), (5, 1601), full=(8, 1 << 19)),
           "torch.stack([rand(N, generator=torch.Generator().manual_seed(int(s)), dtype=torch.float32) for s in seeds])",
           ladder=[["S*N"]], domains=OUR,
           check=Function("chance", ["y", "seeds"], ["tests"], ["tests = ai.assay.ChanceTests(y, seeds)"], domains=OUR),
           note="the published function takes its numbers from a generator of its own; here every row has a seed, and what a seed "
                "gives is the kernel's choice; judged as a distribution, and `like` has no elements: its extent says how many "
                "numbers are wanted. `full` is 2^22 numbers")
SUITE.task("Math", "bitwise_and_binomial", "How many of some trials succeed, where two numbers have a bit in common: a row for each seed",
           [Input("input", ["N"], "integers(0, 8) fixed", "integers(0, 2) fixed", dtype="int32"),
            Input("other", ["N"], "integers(0, 8) fixed", "integers(0, 2) fixed", dtype="int32"),
            Input("total_count", [1], "integers(1, 24) fixed", "constant(10) fixed", dtype="int32"),
            Input("probs", ["N"], "uniform(0.05, 0.95) fixed", "uniform(0.25, 0.75) fixed"), SEEDS],
           [("y", "float", ["S", "N"]), ("trials", "int32", ["N"])],
           ["both = BitwiseAnd(input, other)", "none = Equal(both, zero)", "not_one = Cast<to = 6>(none)",
            "less = Mul(not_one, one)", "times = Sub(unit, less)", "trials = Mul(total_count, times)",
            "y = ai.assay.SeededBinomial(seeds, trials, probs)"],
           loads("S N", rows(powers(12, 27), 4), (8, 32768), (1, 1), (2, 3), (3, 257), (8, 1021), (5, 1601), full=(4, 1 << 20)),
           "(torch.stack([[torch.manual_seed(int(s)), bitwise_and_binomial(input, other, total_count, probs=probs)][1] "
           "for s in seeds]), total_count * torch.ones_like(input))",
           mathematics="(lambda t: (torch.stack([[torch.manual_seed(int(s)), bitwise_and_binomial(input, other, t, probs=probs)][1] "
                       "for s in seeds]), t))(total_count * ((input & other) != 0).int())",
           constants=["int32 zero = {0}", "int32 unit = {1}", "int32 one = {1}"], published_constants={"one": ("0", "1")},
           ladder=[["N"], ["N"], ["N"]], domains=OUR,
           check=Function("chance", ["y", "trials", "probs", "seeds"], ["exact", "tests", "rarer"],
                          ["exact = Identity(trials)", "places = ai.assay.BinomialPlace(y, seeds, trials, probs)",
                           "tests = ai.assay.ChanceTests<grid = 0>(places, seeds)",
                           "turned = ai.assay.BinomialPlace<rarer = 1>(y, seeds, trials, probs)",
                           "rarer = ai.assay.ChanceTests<grid = 0>(turned, seeds)"], domains=OUR),
           repair="the published function throws its bitwise part away; here there are trials where it is not zero, and how many "
                  "is drawn anew",
           note="how many trials there are is an output, compared exactly; the samples are judged as a distribution. `full` is 2^22 "
                "samples")
