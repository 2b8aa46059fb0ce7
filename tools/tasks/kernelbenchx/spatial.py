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
SUITE.missing("SpatialOps", "a grid from a matrix (AffineGrid): no operator yet", "grid_sample_with_affine")
