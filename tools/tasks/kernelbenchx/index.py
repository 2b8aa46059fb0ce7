# SPDX-License-Identifier: Apache-2.0
"""Index: movement by masks and indices."""
from kernelbenchx.suite import NORMAL, SUITE, Input, loads, powers

# Where a mask's numbers go: each to the count of those before it, all others behind the end.
COMPACTION = """whole = Cast<to = 7>(mask)
sums = CumSum(whole, axis)
place = Sub(sums, one)
n = Shape(mask)
index = Where(mask, place, n)
longer = Add(n, ones)
empty = ConstantOfShape<value = float[1] {{0.0}}>(longer)
put = ScatterElements<axis = 0>(empty, index, {0})
y = Slice(put, start, n)
count = ReduceSum<keepdims = 0>(whole)"""
COMPACTED = ["int64 axis = {0}", "int64 one = {1}", "int64[1] ones = {1}", "int64[1] start = {0}"]
EXTENT = "the published output has as many numbers as the mask names; here it has the input's extent and a count"
COUNTED = "constant: the count alone, near half the extent, and compared exactly; other_draw: the count alone, likewise"

SUITE.task("Index", "expand_where", "A row or another matrix, row by row as a mask says",
           [Input("input", [1, "N"], NORMAL), Input("cond", ["B", 1], "bernoulli(0.5) fixed", dtype="bool"),
            Input("other", ["B", "N"], NORMAL)], ["B", "N"], ["y = Where(cond, input, other)"],
           loads("B N", [(256, n) for n in powers(10, 14)], (128, 512), (1, 1), (3, 7), (7, 1021), (61, 33), (2, 4093)),
           "expand_where(input, (B, N), cond, other)", probes="near_overflow(3e38), special")
SUITE.task("Index", "index_fill_", "A vector with the number 1 at given places",
           [Input("x", ["N"], NORMAL), Input("index", ["K"], "labels(N) fixed", dtype="int64")], ["N"],
           ["places = Shape(index)", "ones = ConstantOfShape<value = float[1] {1.0}>(places)",
            "y = ScatterElements<axis = 0>(x, index, ones)"],
           loads("N K", [(n, n // 2) for n in powers(12, 23)], (65536, 32768), (1, 1), (3, 2), (257, 128), (1021, 7),
                 (4099, 2049)), "index_fill_(0, x.clone(), index, 1.0)", probes="near_overflow(3e38), special",
           note="the result is an output of its own, not x overwritten")
SUITE.task("Index", "index_select", "Rows of a matrix at given places",
           [Input("input", ["N", "D"], NORMAL), Input("index", ["K"], "labels(N) fixed", dtype="int64")], ["K", "D"],
           ["y = Gather<axis = 0>(input, index)"],
           loads("N D K", [(n, 256, n // 8) for n in powers(12, 17)], (1024, 128, 512), (1, 1, 1), (3, 5, 2),
                 (257, 31, 32), (61, 127, 31), (1021, 7, 13)), "index_select(input, 0, index)", input_part="1/8",
           probes="near_overflow(3e38), special")
SUITE.task("Index", "permute_copy", "Axes of a tensor in reverse order", [Input("input", ["A", "B", "C", "D"], NORMAL)],
           ["D", "C", "B", "A"], ["y = Transpose<perm = [3, 2, 1, 0]>(input)"],
           loads("A B C D", powers(3, 7), (8, 16, 32, 64), (1, 1, 1, 2), (2, 3, 4, 5), (7, 11, 3, 13), (1, 67, 1, 61),
                 (31, 2, 17, 5)), "permute_copy(input, [3, 2, 1, 0])", probes="near_overflow(3e38), special")
SUITE.task("Index", "masked_select", "The numbers that a mask names, one after another, zeros after them, and their count",
           [Input("input", ["N"], NORMAL), Input("mask", ["N"], "bernoulli(0.5) fixed", dtype="bool")],
           [("y", "float", ["N"]), ("count", "int64", [])], COMPACTION.format("input").splitlines(),
           loads("N", powers(12, 22), 65536, 1, 3, 257, 1021, 4099),
           "(lambda z: (F.pad(z, (0, N - z.numel())), torch.tensor(z.numel())))(masked_select(input, mask))",
           constants=COMPACTED, probes="near_overflow(3e38), special", note=EXTENT, allow=COUNTED)
SUITE.task("Index", "scatter", "A matrix with numbers put where indices say, column by column",
           [Input("input", ["N", "D"], NORMAL, "constant(0)"),
            Input("index", ["K", "D"], "permutation(N) fixed", dtype="int64"), Input("src", ["K", "D"], NORMAL)],
           ["N", "D"], ["y = ScatterElements<axis = 0>(input, index, src)"],
           loads("N D K", [(n, 128, n // 2) for n in powers(8, 13)], (1024, 128, 512), (1, 1, 1), (3, 5, 2),
                 (257, 31, 32), (61, 127, 61), (1021, 7, 13)), "scatter(input, 0, index, src)",
           probes="near_overflow(3e38), special",
           repair="the published input is zero everywhere; random numbers",
           note="indices do not repeat within a column, as in the suite's own timing")
