# SPDX-License-Identifier: Apache-2.0
"""Convolution."""
from kernelbenchx.suite import NORMAL, SUITE, WEIGHT, Input, loads

PROBES = "near_overflow(1e15)"
SUITE.task("Convolution", "conv2d", "Convolution of images with 3 x 3 kernels and a bias",
           [Input("input", ["N", "CI", "H", "W"], NORMAL), Input("weight", ["CO", "CI", 3, 3], WEIGHT),
            Input("bias", ["CO"], WEIGHT)], ["N", "CO", "OH", "OW"],
           ["y = Conv<kernel_shape = [3, 3]>(input, weight, bias)"],
           loads("N CI H W CO", [(2 ** (i - 4), 2 ** (i - 1), 16, 16, 2 ** i) for i in range(5, 12)],
                 (4, 32, 16, 16, 64), (1, 1, 3, 3, 1), (2, 3, 5, 7, 5), (1, 7, 8, 21, 2), (3, 2, 4, 3, 17)),
           "conv2d(input, weight, bias)", probes=PROBES)
SUITE.task("Convolution", "conv_transpose2d", "Transposed convolution of images, doubled in size, with a bias",
           [Input("input", ["N", "CI", "H", "W"], NORMAL), Input("weight", ["CI", "CO", 3, 3], WEIGHT),
            Input("bias", ["CO"], WEIGHT)], ["N", "CO", "OH", "OW"],
           ["y = ConvTranspose<kernel_shape = [3, 3], output_padding = [1, 1], pads = [1, 1, 1, 1], strides = [2, 2]>"
            "(input, weight, bias)"],
           loads("N CI H W CO", [(2, 2 ** (i - 1), 16, 16, 2 ** i) for i in range(4, 10)], (2, 32, 16, 16, 64),
                 (1, 1, 1, 1, 1), (2, 3, 3, 5, 5), (1, 7, 6, 13, 2), (3, 2, 2, 1, 17)),
           "conv_transpose2d(input, weight, bias, 2, 1, 1)", probes=PROBES)
