# SPDX-License-Identifier: Apache-2.0
"""Pooling: means over windows."""
from kernelbenchx.suite import NORMAL, SUITE, Input, loads, powers

SUITE.task("Pooling", "adaptive_avg_pool2d", "Means over a grid of half the image's extents: 2 x 2 windows",
           [Input("input", ["N", "C", "H", "W"], NORMAL)], ["N", "C", "OH", "OW"],
           ["y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(input)"],
           loads("N C H W", [(1, 3, n, n) for n in powers(8, 15)], (1, 3, 256, 256), (1, 1, 2, 2), (2, 3, 6, 10),
                 (1, 5, 34, 22), (3, 1, 2, 62), (1, 1, 66, 74)), "adaptive_avg_pool2d(input, (H // 2, W // 2))",
           probes="near_overflow(1e36), special", note="extents are even: an odd one would have windows of other sizes")
SUITE.task("Pooling", "avg_pool1d", "Means over windows of two", [Input("input", ["N", "C", "L"], NORMAL)],
           ["N", "C", "OL"], ["y = AveragePool<kernel_shape = [2], strides = [2]>(input)"],
           loads("N C L", [(2, 64, n) for n in powers(10, 15)], (2, 64, 1024), (1, 1, 2), (3, 5, 37), (2, 7, 101),
                 (1, 1, 4099), (1, 3, 3)), "avg_pool1d(input, 2)", probes="near_overflow(1e36), special")
