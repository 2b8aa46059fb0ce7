# SPDX-License-Identifier: Apache-2.0
"""SpatialOps: sampling."""
from kernelbenchx.suite import NORMAL, SUITE, Input, loads, powers

SUITE.task("SpatialOps", "grid_sample", "Bilinear samples of images at given places, zeros outside",
           [Input("input", ["N", "C", "H", "W"], NORMAL),
            Input("grid", ["N", "GH", "GW", 2], "uniform(-1.2, 1.2) fixed", "uniform(-1, 1) fixed")],
           ["N", "C", "GH", "GW"], ['y = GridSample<align_corners = 0, mode = "linear", padding_mode = "zeros">(input, grid)'],
           loads("N C H W GH GW", [(16, 3, n, n, n // 2, n // 2) for n in powers(8, 11)], (2, 3, 64, 64, 48, 40),
                 (1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 3, 4), (1, 5, 11, 13, 17, 2), (3, 1, 31, 3, 5, 19)),
           "grid_sample(input, grid)", probes="near_overflow(1e36)",
           repair="published places are all inside; some lie outside, where zeros are")
SUITE.task("SpatialOps", "interpolate", "Images doubled in size, bilinear",
           [Input("input", ["N", "C", "H", "W"], NORMAL)], ["N", "C", "OH", "OW"],
           ['y = Resize<coordinate_transformation_mode = "half_pixel", mode = "linear">(input, , scales)'],
           loads("N C H W", [(2, 3, n, n) for n in powers(5, 8)], (2, 3, 64, 64), (1, 1, 1, 1), (2, 3, 5, 7),
                 (1, 5, 11, 13), (3, 1, 31, 3)),
           "interpolate(input, size=(2 * H, 2 * W), mode='bilinear', align_corners=False)",
           constants=["float[4] scales = {1.0, 1.0, 2.0, 2.0}"], probes="near_overflow(1e36)")
# Where the samples are, from the extents alone: the centres of `count` pixels in [-1, 1].
CENTRES = ["{0}_n = Shape<start = {1}, end = {2}>(like)", "{0}_count = Squeeze({0}_n)", "{0}_i = Range(zero, {0}_count, step)",
           "{0}_f = Cast<to = 1>({0}_i)", "{0}_size = Cast<to = 1>({0}_count)", "{0}_two = Add({0}_f, {0}_f)",
           "{0}_odd = Add({0}_two, one)", "{0}_part = Div({0}_odd, {0}_size)", "{0} = Sub({0}_part, one)"]
SUITE.task("SpatialOps", "grid_sample_with_affine", "Bilinear samples of images where an affine map of the output's pixels "
           "says, zeros outside", [Input("input", ["N", "C", "H", "W"], NORMAL), Input("theta", ["N", 2, 3], NORMAL + " fixed"),
                                   Input("like", [0, "GH", "GW"], "constant(0) fixed")], ["N", "C", "GH", "GW"],
           [line.format("ys", 1, 2) for line in CENTRES] + [line.format("xs", 2, 3) for line in CENTRES] +
           ["extents = Shape<start = 1, end = 3>(like)", "wide = Expand(xs, extents)", "column = Unsqueeze(ys, last)",
            "high = Expand(column, extents)", "ones = ConstantOfShape<value = float[1] {1.0}>(extents)",
            "wide3 = Unsqueeze(wide, last)", "high3 = Unsqueeze(high, last)", "ones3 = Unsqueeze(ones, last)",
            "places = Concat<axis = 2>(wide3, high3, ones3)", "rows = Reshape(places, flat)",
            "turned = Transpose<perm = [0, 2, 1]>(theta)", "moved = MatMul(rows, turned)",
            "n = Shape<start = 0, end = 1>(input)", "shape = Concat<axis = 0>(n, extents, pair)",
            "grid = Reshape(moved, shape)",
            'y = GridSample<align_corners = 0, mode = "linear", padding_mode = "zeros">(input, grid)'],
           loads("N C H W GH GW", [(1, 3, 256, 256, n, n) for n in powers(5, 10)], (2, 3, 64, 64, 48, 40),
                 (1, 1, 1, 1, 1, 1), (2, 3, 5, 7, 3, 4), (1, 5, 11, 13, 17, 2), (3, 1, 31, 3, 5, 19)),
           "grid_sample_with_affine(input, theta, (N, C, GH, GW))",
           constants=["int64 zero = {0}", "int64 step = {1}", "float one = {1.0}", "int64[1] last = {-1}",
                      "int64[2] flat = {-1, 3}", "int64[1] pair = {2}"], probes="near_overflow(1e36)",
           ladder=[["N", "C", "H", "W"], ["N", 2, 3]],
           note="`like` has no elements: its extents are those of the output")
