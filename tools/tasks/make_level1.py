#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbench/level1/*.onnxtxt from the tables below, and the tables in docs/evidence/kernelbench.md.

The task files are what counts and are committed; this script only keeps a hundred of them consistent. Run it from
anywhere: `tools/tasks/make_level1.py` rewrites the files, `tools/tasks/make_level1.py --check` fails when a file differs.

Shapes, operators and constructor arguments are those of KernelBench v0.2, level 1; every graph is written anew in
ONNX's textual syntax. A `repair` says what the default form changes against the published one.
"""
import math

from task_files import RAGGED_LIMIT, SIGNED, SMALL_LIMIT, UNIT, Input, Level, conv_attributes, workloads

# Products of two triangular matrices: the part of the multiply-adds whose factors are both not zero.
PYTORCH = {34: "F.instance_norm(x, eps=1e-5)",
           96: "F.smooth_l1_loss(predictions, targets)",
           98: "F.kl_div(torch.log(predictions), targets, reduction='batchmean')",
           99: "F.triplet_margin_loss(anchor, positive, negative, margin=1.0)"}
LEVEL = Level(1, contraction_parts={14: "1/6", 15: "1/6"}, pytorch=PYTORCH)
task = LEVEL.task

# ---- 1-18: matrix products -------------------------------------------------------------------------------------------

MATMUL_PROBES = "near_overflow(1e17), special"


def product(number, name, title, a, b, out, loads, body=None, dist=UNIT, repair=None, probes=MATMUL_PROBES, **more):
    published = UNIT if repair else None
    task(number, name, title, [Input("a", a, dist, published), Input("b", b, dist, published)], out,
         body or ["y = MatMul(a, b)"], loads, repair=repair, probes=probes, **more)


MKN = "M K N"
MKN_SMALL = (160, 256, 192)
MKN_RAGGED = ((1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1))

product(1, "square_matmul", "Product of two square matrices", ["N", "N"], ["N", "N"], ["N", "N"],
        workloads("N", (4096,), (192,), (1,), (7,), (33,), (67,)))
product(2, "matmul", "Product of two rectangular matrices", ["M", "K"], ["K", "N"], ["M", "N"],
        workloads(MKN, (2048, 8192, 4096), MKN_SMALL, *MKN_RAGGED))
product(3, "batched_matmul", "Products of a batch of matrix pairs", ["B", "M", "K"], ["B", "K", "N"], ["B", "M", "N"],
        workloads("B M K N", (128, 512, 1024, 2048), (4, 96, 160, 128), (1, 1, 1, 1), (3, 5, 17, 7), (2, 33, 65, 19),
                  (13, 1, 31, 11)))
product(4, "matrix_vector", "Product of a wide matrix and a column", ["M", "K"], ["K", 1], ["M", 1],
        workloads("M K", (2048, 1048576), (16, 16384), (1, 1), (3, 1009), (31, 67), (1, 4099)), dist=SIGNED,
        repair="published inputs are positive and every output is K/4 to about 0.1 %, which a constant hits; "
               "zero-mean inputs")
task(5, "matrix_scalar", "A matrix times the number 3.14", [Input("x", ["M", "N"], UNIT)], ["M", "N"],
     ["y = Mul(x, s)"], workloads("M N", (65536, 16384), (256, 256), (1, 1), (3, 5), (7, 1021), (17, 33)),
     constants=["float s = {3.14}"], probes="near_overflow(1e38), special",
     allow="affine: the task is a scaling of its input")
product(6, "matmul_large_k", "Product of matrices with a very long inner dimension", ["M", "K"], ["K", "N"], ["M", "N"],
        workloads(MKN, (256, 524288, 256), (16, 16384, 16), (1, 1, 1), (1, 2053, 3), (5, 1021, 7), (17, 257, 13)),
        dist=SIGNED,
        repair="published inputs are positive and every output is K/4 to about 0.1 %, which a constant hits; "
               "zero-mean inputs")
product(7, "matmul_small_k", "Product of matrices with a short inner dimension", ["M", "K"], ["K", "N"], ["M", "N"],
        workloads(MKN, (32768, 64, 32768), (256, 64, 256), (1, 1, 1), (3, 5, 7), (67, 13, 89), (19, 64, 61)))
product(8, "matmul_odd_sizes", "Product of matrices whose extents are no round numbers", ["M", "K"], ["K", "N"],
        ["M", "N"], workloads(MKN, (8205, 2949, 5921), (205, 149, 221), *MKN_RAGGED))
product(9, "matmul_tall_skinny", "Product of a tall and a wide matrix", ["M", "K"], ["K", "N"], ["M", "N"],
        workloads(MKN, (32768, 32, 32768), (256, 32, 256), (1, 1, 1), (3, 32, 5), (89, 7, 67), (61, 31, 127)))
product(10, "matmul_3d", "A stack of matrices times one matrix", ["B", "M", "K"], ["K", "N"], ["B", "M", "N"],
        workloads("B M K N", (16, 1024, 2048, 768), (4, 96, 160, 128), (1, 1, 1, 1), (3, 5, 17, 7), (2, 31, 65, 19),
                  (7, 1, 67, 13)))
product(11, "matmul_4d", "A four-dimensional tensor times a matrix over its last dimension", ["B", "I", "J", "L"],
        ["L", "K"], ["B", "I", "J", "K"],
        workloads("B I J L K", (8, 256, 512, 256, 768), (2, 8, 32, 128, 96), (1, 1, 1, 1, 1), (2, 3, 5, 17, 7),
                  (1, 7, 13, 33, 19), (3, 2, 1, 67, 31)),
        body=['y = Einsum<equation = "bijl,lk->bijk">(a, b)'])
task(12, "diagonal_matmul", "A diagonal matrix, given by its diagonal, times a matrix",
     [Input("d", ["N"], UNIT), Input("b", ["N", "M"], UNIT)], ["N", "M"],
     ["column = Unsqueeze(d, axis)", "y = Mul(column, b)"],
     workloads("N M", (4096, 4096), (256, 256), (1, 1), (3, 5), (7, 1021), (61, 33)), constants=["int64[1] axis = {1}"],
     probes="near_overflow(1e18), special")
N_SQUARE = workloads("N", (4096,), (192,), (1,), (7,), (33,), (67,))
task(13, "symmetric_matmul", "Product of two symmetric matrices",
     [Input("a", ["N", "N"], UNIT + " symmetric"), Input("b", ["N", "N"], UNIT + " symmetric")], ["N", "N"],
     ["y = MatMul(a, b)"], N_SQUARE, probes="near_overflow(1e17)")
for number, half, bit in ((14, "upper", 1), (15, "lower", 0)):
    kind = "triu" if bit else "tril"
    task(number, f"{half}_triangular_matmul", f"Product of two {half} triangular matrices",
         [Input("a", ["N", "N"], f"{UNIT} {kind}"), Input("b", ["N", "N"], f"{UNIT} {kind}")], ["N", "N"],
         ["ab = MatMul(a, b)", f"y = Trilu<upper = {bit}>(ab)"], N_SQUARE, probes="near_overflow(1e17)")
TRANSPOSE = "Transpose<perm = [1, 0]>"
product(16, "matmul_transposed_a", "Product with the first matrix given transposed", ["K", "M"], ["K", "N"], ["M", "N"],
        workloads(MKN, (2048, 8192, 4096), MKN_SMALL, *MKN_RAGGED), body=[f"at = {TRANSPOSE}(a)", "y = MatMul(at, b)"])
product(17, "matmul_transposed_b", "Product with the second matrix given transposed", ["M", "K"], ["N", "K"],
        ["M", "N"], workloads(MKN, (2048, 8192, 4096), MKN_SMALL, *MKN_RAGGED),
        body=[f"bt = {TRANSPOSE}(b)", "y = MatMul(a, bt)"])
product(18, "matmul_transposed_both", "Product with both matrices given transposed", ["K", "M"], ["N", "K"], ["M", "N"],
        workloads(MKN, (2048, 8192, 4096), MKN_SMALL, *MKN_RAGGED),
        body=[f"at = {TRANSPOSE}(a)", f"bt = {TRANSPOSE}(b)", "y = MatMul(at, bt)"])

# ---- 19-32, 88: elementwise functions and softmax --------------------------------------------------------------------

MATRIX = workloads("M N", (4096, 393216), (64, 1024), (1, 1), (3, 5), (7, 1021), (13, 31), (1, 4099))
ROWS = workloads("M N", (4096, 393216), (32, 2048), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099))
WIDE = "uniform(-4, 4)"
IDENTITY = "published inputs are never negative, where the function is the identity; signed inputs"
POSITIVE = "published inputs are never negative and show half of the function; signed inputs"


def activation(number, name, title, body, repair, probes, dist=WIDE, loads=MATRIX, **more):
    task(number, name, title, [Input("x", ["M", "N"], dist, UNIT)], ["M", "N"], body, loads, repair=repair,
         probes=probes, **more)


activation(19, "relu", "Rectified linear unit", ["y = Relu(x)"], IDENTITY, "near_overflow(3e38)")
activation(20, "leaky_relu", "Leaky rectified linear unit, slope 0.01", ["y = LeakyRelu<alpha = 0.01>(x)"], IDENTITY,
           "near_overflow(3e38), special")
activation(21, "sigmoid", "Logistic sigmoid", ["y = Sigmoid(x)"],
           "published inputs lie in [0, 1), where a straight line is within 0.005; signed and wider inputs",
           "near_overflow(3e38), special")
activation(22, "tanh", "Hyperbolic tangent", ["y = Tanh(x)"], POSITIVE, "near_overflow(3e38), special")
activation(23, "softmax", "Softmax over the rows of a matrix", ["y = Softmax<axis = 1>(x)"],
           "published outputs are all about 2.5e-6, so that zeros pass with an absolute tolerance of 1e-4; a spread of "
           "8 gives every row a few large outputs", "near_overflow(1e6)", dist="normal(0, 8)", loads=ROWS)
activation(24, "log_softmax", "Logarithm of the softmax over the rows of a matrix", ["y = LogSoftmax<axis = 1>(x)"],
           "published rows are so long and alike that the input less a fixed number passes; a spread of 8 gives every "
           "row its own sum", "near_overflow(1e6)", dist="normal(0, 8)", loads=ROWS)
activation(25, "swish", "Swish: x times its logistic sigmoid", ["s = Sigmoid(x)", "y = Mul(x, s)"], POSITIVE,
           "near_overflow(1e38), special")
activation(26, "gelu", "Gaussian error linear unit, exact form", ['y = Gelu<approximate = "none">(x)'], POSITIVE,
           "near_overflow(1e38)")
activation(27, "selu", "Scaled exponential linear unit", ["y = Selu(x)"],
           "published inputs are never negative, where the function is a multiplication; signed inputs",
           "near_overflow(1e38)")
activation(28, "hard_sigmoid", "Piecewise linear sigmoid", ["y = HardSigmoid<alpha = 0.16666667, beta = 0.5>(x)"],
           "published inputs never reach the limits, so that x/6 + 1/2 passes; inputs beyond both limits",
           "near_overflow(1e38)", dist="uniform(-6, 6)")
activation(29, "softplus", "Softplus: log(1 + exp(x))", ["y = Softplus(x)"], POSITIVE, "near_overflow(1e4), special")
activation(30, "softsign", "Softsign: x / (1 + |x|)", ["a = Abs(x)", "d = Add(a, one)", "y = Div(x, d)"],
           "published inputs are never negative, where the absolute value does nothing; signed inputs",
           "near_overflow(1e38), special", constants=["float one = {1.0}"])
activation(31, "elu", "Exponential linear unit", ["y = Elu<alpha = 1.0>(x)"], IDENTITY, "near_overflow(3e38)")
activation(32, "hard_tanh", "Clamp to [-1, 1]", ["y = Clip(x, low, high)"],
           "published inputs lie in [0, 1), where the function is the identity; inputs beyond both limits",
           "near_overflow(3e38)", constants=["float low = {-1.0}", "float high = {1.0}"])
activation(88, "gelu_tanh", "Gaussian error linear unit, tanh form", ['y = Gelu<approximate = "tanh">(x)'], POSITIVE,
           "near_overflow(1e12)",
           loads=workloads("M N", (8192, 8192), (256, 256), (1, 1), (3, 5), (7, 1021), (13, 31), (1, 4099)))

# ---- 33-40: normalisations -------------------------------------------------------------------------------------------

IMAGE = ["N", "C", "H", "W"]
OWN_STATISTICS = ("the published mean and variance are those of the uniform distribution to three digits, so that one "
                  "fixed straight line passes; inputs with a scale drawn anew")
STATISTICS = "normal(0.5, 1) * uniform_scalar(0.25, 4)"
GAMMA, BETA = "uniform(0.5, 1.5) static", "uniform(-0.5, 0.5) static"
AFFINE = [("constant(1) static"), ("constant(0) static")]


def affine(dims):
    return [Input("gamma", dims, GAMMA, AFFINE[0]), Input("beta", dims, BETA, AFFINE[1])]


task(33, "batch_norm", "Batch normalisation of images with the statistics of the batch",
     [Input("x", IMAGE, STATISTICS, UNIT)] + affine(["C"]), IMAGE,
     ["channels = Shape(gamma)", "zeros = ConstantOfShape(channels)",
      "y, running_mean, running_var = BatchNormalization<epsilon = 1e-5, momentum = 0.9, training_mode = 1>"
      "(x, gamma, beta, zeros, zeros)"],
     workloads("N C H W", (64, 64, 512, 512), (4, 16, 32, 32), (2, 1, 1, 1), (3, 5, 7, 11), (2, 17, 3, 31),
               (1, 3, 13, 67)),
     repair=OWN_STATISTICS + ", random scale and shift", probes="near_overflow(1e15)")
task(34, "instance_norm", "Instance normalisation of images without scale and shift",
     [Input("x", IMAGE, STATISTICS, UNIT)], IMAGE,
     ["channels = Shape<start = 1, end = 2>(x)", "ones = ConstantOfShape<value = float[1] {1.0}>(channels)",
      "zeros = ConstantOfShape(channels)", "y = InstanceNormalization<epsilon = 1e-5>(x, ones, zeros)"],
     workloads("N C H W", (112, 64, 512, 512), (4, 16, 32, 32), (1, 1, 1, 2), (3, 5, 7, 11), (2, 17, 3, 31),
               (1, 3, 13, 67)),
     repair=OWN_STATISTICS, probes="near_overflow(1e15)")
task(35, "group_norm", "Group normalisation of images in 8 groups",
     [Input("x", IMAGE, STATISTICS, UNIT)] + affine(["C"]), IMAGE,
     ["y = GroupNormalization<epsilon = 1e-5, num_groups = 8>(x, gamma, beta)"],
     workloads("N C H W", (112, 64, 512, 512), (4, 16, 32, 32), (1, 8, 1, 2), (3, 16, 5, 7), (1, 40, 3, 31),
               (1, 8, 13, 67)),
     repair=OWN_STATISTICS + ", random scale and shift", probes="near_overflow(1e15)")
task(36, "rms_norm", "Division by the root mean square over the channels of an image",
     [Input("x", IMAGE, UNIT)], IMAGE,
     ["squares = Mul(x, x)", "mean = ReduceMean<keepdims = 1>(squares, axis)", "shifted = Add(mean, eps)",
      "rms = Sqrt(shifted)", "y = Div(x, rms)"],
     workloads("N C H W", (112, 64, 512, 512), (4, 16, 32, 32), (1, 1, 1, 1), (3, 5, 7, 11), (2, 17, 3, 31),
               (1, 67, 3, 13)),
     constants=["int64[1] axis = {1}", "float eps = {1e-5}"], probes="near_overflow(1e17)")
HEAVY = "slash(1)"
task(37, "frobenius_norm", "Division of a whole tensor by its Frobenius norm", [Input("x", IMAGE, HEAVY, UNIT)], IMAGE,
     ["norm = ReduceL2<keepdims = 0>(x)", "y = Div(x, norm)"],
     workloads("N C H W", (112, 64, 512, 512), (4, 16, 32, 32), (1, 1, 1, 1), (3, 5, 7, 11), (2, 17, 3, 31),
               (1, 3, 13, 67)),
     repair="published outputs are at most 4e-5, so that zeros pass with an absolute tolerance of 1e-4; heavy-tailed "
            "inputs make some outputs large and the norm different in every draw", probes="near_overflow(1e16), -subnormal")
LONG_ROWS = workloads("M N", (32768, 65535), (32, 2047), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099))
task(38, "l1_norm", "Division of each row by the mean of its absolute values", [Input("x", ["M", "N"], HEAVY, UNIT)],
     ["M", "N"], ["a = Abs(x)", "mean = ReduceMean<keepdims = 1>(a, axis)", "y = Div(x, mean)"], LONG_ROWS,
     constants=["int64[1] axis = {1}"],
     repair="published inputs are never negative, where the absolute value does nothing, and doubling the input passes; "
            "signed, heavy-tailed inputs", probes="near_overflow(1e34)")
task(39, "l2_norm", "Division of each row by its Euclidean norm", [Input("x", ["M", "N"], HEAVY, UNIT)], ["M", "N"],
     ["norm = ReduceL2<keepdims = 1>(x, axis)", "y = Div(x, norm)"], LONG_ROWS, constants=["int64[1] axis = {1}"],
     repair="published outputs are at most 0.007, so that zeros pass with an absolute tolerance of 1e-2; heavy-tailed "
            "inputs give every row large outputs and its own norm", probes="near_overflow(1e17), -subnormal")
task(40, "layer_norm", "Layer normalisation over channels, rows and columns",
     [Input("x", IMAGE, STATISTICS, UNIT)] + affine(["C", "H", "W"]), IMAGE,
     ["y = LayerNormalization<axis = 1, epsilon = 1e-5>(x, gamma, beta)"],
     workloads("N C H W", (16, 64, 256, 256), (8, 8, 32, 32), (1, 1, 1, 2), (3, 5, 7, 11), (2, 17, 3, 31),
               (1, 3, 13, 67)),
     repair=OWN_STATISTICS + ", random scale and shift", probes="near_overflow(1e15)")

# ---- 41-49, 51-53: pooling and reductions ----------------------------------------------------------------------------

PADDING = "published inputs are never negative, so that padding with zero instead of minus infinity passes; signed inputs"


def pool(number, name, title, operator, rank, attributes, loads, dist=UNIT, repair=None, probes="near_overflow(1e36)"):
    spatial = ["D", "H", "W"][3 - rank:] if rank > 1 else ["L"]
    out = ["OD", "OH", "OW"][3 - rank:] if rank > 1 else ["OL"]
    task(number, name, title, [Input("x", ["N", "C"] + spatial, dist, UNIT if repair else None)], ["N", "C"] + out,
         [f"y = {operator}<{attributes}>(x)"], loads, repair=repair, probes=probes)


pool(41, "max_pool_1d", "Maximum over dilated windows of sequences", "MaxPool", 1,
     "dilations = [3], kernel_shape = [8], pads = [4, 4], strides = [1]",
     workloads("N C L", (64, 192, 65536), (4, 16, 1024), (1, 1, 14), (3, 5, 37), (2, 7, 101), (1, 1, 4099)),
     dist=SIGNED, repair=PADDING, probes="near_overflow(3e38)")
pool(42, "max_pool_2d", "Maximum over windows of images", "MaxPool", 2,
     "kernel_shape = [4, 4], pads = [1, 1, 1, 1], strides = [1, 1]",
     workloads("N C H W", (32, 64, 512, 512), (2, 8, 64, 64), (1, 1, 2, 2), (3, 5, 7, 11), (2, 1, 31, 67),
               (1, 3, 13, 129)), dist=SIGNED, repair=PADDING, probes="near_overflow(3e38)")
pool(43, "max_pool_3d", "Maximum over dilated windows of volumes", "MaxPool", 3,
     "dilations = [3, 3, 3], kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1], strides = [2, 2, 2]",
     workloads("N C D H W", (16, 32, 128, 128, 128), (2, 4, 20, 20, 20), (1, 1, 5, 5, 5), (2, 3, 7, 8, 11),
               (1, 2, 6, 13, 31), (3, 1, 9, 5, 37)), dist=SIGNED, repair=PADDING, probes="near_overflow(3e38)")
pool(44, "avg_pool_1d", "Mean over windows of sequences, padding counted", "AveragePool", 1,
     "count_include_pad = 1, kernel_shape = [8], pads = [4, 4], strides = [1]",
     workloads("N C L", (64, 128, 65536), (4, 16, 1024), (1, 1, 1), (3, 5, 37), (2, 7, 101), (1, 1, 4099)))
pool(45, "avg_pool_2d", "Mean over non-overlapping 11 x 11 windows of images", "AveragePool", 2,
     "count_include_pad = 1, kernel_shape = [11, 11], strides = [11, 11]",
     workloads("N C H W", (16, 64, 2048, 2048), (2, 4, 128, 128), (1, 1, 11, 11), (2, 3, 23, 37), (1, 5, 13, 67),
               (3, 1, 43, 21)))
pool(46, "avg_pool_3d", "Mean over strided windows of volumes, padding counted", "AveragePool", 3,
     "count_include_pad = 1, kernel_shape = [3, 3, 3], pads = [1, 1, 1, 1, 1, 1], strides = [2, 2, 2]",
     workloads("N C D H W", (16, 32, 128, 128, 256), (2, 4, 16, 16, 32), (1, 1, 3, 3, 3), (2, 3, 5, 7, 11),
               (1, 2, 4, 13, 31), (3, 1, 7, 3, 67)))

CUBE = ["B", "M", "N"]
CUBES = workloads("B M N", (128, 4096, 4095), (4, 256, 255), (1, 1, 1), (3, 5, 7), (2, 129, 17), (1, 61, 131),
                  (5, 1, 33))


def reduction(number, name, title, line, out, dist, repair, probes, dtype="float"):
    task(number, name, title, [Input("x", CUBE, dist, UNIT if repair else None)], out, [line], CUBES,
         constants=["int64[1] axis = {1}"] if "axis)" in line else (), repair=repair, probes=probes, dtype=dtype)


reduction(47, "sum_middle", "Sum over the middle dimension, kept with extent 1", "y = ReduceSum<keepdims = 1>(x, axis)",
          ["B", 1, "N"], "normal(0, 1)",
          "published sums are 2048 within 1 % for every input; zero-mean inputs", "near_overflow(1e35), special")
reduction(48, "mean_middle", "Mean over the middle dimension", "y = ReduceMean<keepdims = 0>(x, axis)", ["B", "N"],
          "normal(0, 1)",
          "published means are 0.5 within 1 %, and a tolerance of 1e-2 takes that constant for most of them; zero-mean "
          "inputs", "near_overflow(1e35), special")
reduction(49, "max_middle", "Maximum over the middle dimension", "y = ReduceMax<keepdims = 0>(x, axis)", ["B", "N"],
          "normal(0, 1)",
          "published maxima are all about 0.9998, so that the constant 1 passes with a tolerance of 1e-2; normal inputs",
          "near_overflow(3e38)")
reduction(51, "argmax_middle", "Index of the first maximum over the middle dimension",
          "y = ArgMax<axis = 1, keepdims = 0>(x)", ["B", "N"], UNIT, None, "near_overflow(3e38)", dtype="int64")
reduction(52, "argmin_middle", "Index of the first minimum over the middle dimension",
          "y = ArgMin<axis = 1, keepdims = 0>(x)", ["B", "N"], UNIT, None, "near_overflow(3e38)", dtype="int64")
reduction(53, "min_middle", "Minimum over the middle dimension", "y = ReduceMin<keepdims = 0>(x, axis)", ["B", "N"],
          "normal(0, 1)",
          "published minima are all about 0.0002, so that zeros pass with a tolerance of 1e-2; normal inputs",
          "near_overflow(3e38)")

# ---- 50, 54-87: convolutions -----------------------------------------------------------------------------------------


def conv(number, name, title, x, cout, kernel, stride=1, pad=0, dilation=1, output_padding=0, group=1, transposed=False,
         bias=False, small=None, channels=None, probes="near_overflow(1e35)"):
    """x: (batch, channels, spatial...) of `full`. Channels are symbols unless the number of groups fixes them; `small`
    is (batch, spatial...), `channels` its (in, out)."""
    cin, rank = x[1], len(x) - 2
    each = lambda v: (v,) * rank if isinstance(v, int) else tuple(v)
    kernel, stride, pad, dilation = each(kernel), each(stride), each(pad), each(dilation)
    output_padding = each(output_padding)
    depthwise = not transposed and group == cin
    spatial = {1: ["L"], 2: ["H", "W"], 3: ["D", "H", "W"]}[rank]
    reach = [d * (k - 1) + 1 for k, d in zip(kernel, dilation)]
    fan_in = math.prod(kernel) * (cout // group if transposed else cin // group)
    bound = f"{1 / math.sqrt(fan_in):.8g}"
    weight = f"uniform(-{bound}, {bound}) static"
    ci, co = (cin if depthwise else "CI"), (cout if depthwise else "CO")
    if transposed:
        per_group = co if group == 1 else "COG"
        w_dims = [ci, per_group, *kernel]
    else:
        w_dims = [co, 1 if depthwise else ci, *kernel]
    inputs = [Input("x", ["N", ci, *spatial], UNIT), Input("w", w_dims, weight)]
    if bias:
        inputs.append(Input("b", [co], weight))
    attributes = conv_attributes(kernel, stride, pad, output_padding, dilation, group)
    operator = "ConvTranspose" if transposed else "Conv"

    def extent(i, n):
        if transposed:
            return (n - 1) * stride[i] - 2 * pad[i] + reach[i] + output_padding[i]
        return (n + 2 * pad[i] - reach[i]) // stride[i] + 1

    def least(i):  # the smallest input extent with an output
        n = 1
        while extent(i, n) < 1:
            n += 1
        return n

    def bind(n, a, b, sizes, limit):
        row = {"N": n}
        if not depthwise:
            row["CI"] = a
            row["COG" if transposed and group > 1 else "CO"] = b // group if transposed else b
        row.update(zip(spatial, sizes))
        outputs = [extent(i, s) for i, s in enumerate(sizes)]
        assert all(o >= 1 for o in outputs), (number, sizes, outputs)
        counts = [n * a * math.prod(sizes), n * b * math.prod(outputs), a * b // group * math.prod(kernel)]
        assert max(counts) <= limit, (number, row, counts)
        flops = 2 * counts[2] * n * math.prod(sizes if transposed else outputs)
        assert limit > SMALL_LIMIT or flops <= 60e6, (number, row, flops)
        return row

    low = [least(i) for i in range(rank)]
    grow = lambda steps: [l + s for l, s in zip(low, steps)]
    loads = {"full": bind(x[0], cin, cout, x[2:], 1 << 40)}
    a, b = (cin, cout) if depthwise else channels
    loads["small"] = bind(small[0], a, b, small[1:], SMALL_LIMIT)
    g = group if group > 1 else 1
    options = [(1, g, g, grow((0, 0, 0)[:rank]))]
    if rank == 1:
        options += [(3, 3, 5, grow((6,))), (2, 7, 3, grow((97,))), (1, 17, 2, grow((23,)))]
    elif rank == 2:
        options += [(2, 3, 5, grow((2, 4))), (1, 7, 2, grow((5, 18))), (3, 2, 17, grow((1, 0)))]
    else:
        options += [(2, 3, 2, grow((1, 0, 2))), (1, 2, 3, grow((0, 3, 1))), (1, 5, 1, grow((0, 0, 4)))]
    for i, (n, ra, rb, sizes) in enumerate(options):
        if depthwise:  # the channels are fixed: only batch and extents vary
            n, ra, rb = 1 if i else n, cin, cout
            sizes = grow([(0, 0), (1, 3), (4, 0), (0, 6)][i]) if rank == 2 else sizes
        elif g > 1:
            ra, rb = g * (1 + i), g * (2 if i == 2 else 1 if i < 3 else 3)
        loads[f"ragged{i}"] = bind(n, ra, rb, sizes, RAGGED_LIMIT)
    loads = {"small": loads.pop("small"), "full": loads.pop("full"), **loads}
    call = "x, w, b" if bias else "x, w"
    out_channels = "CO" if not depthwise else co
    task(number, name, title, inputs, ["N", out_channels, *["O" + s for s in spatial]],
         [f"y = {operator}<{', '.join(attributes)}>({call})"], loads, probes=probes)


conv(50, "conv_2d_strided", "Convolution of images with 11 x 11 kernels, stride 4, with bias", (256, 3, 224, 224), 96,
     11, stride=4, pad=2, bias=True, small=(2, 64, 64), channels=(3, 24))
conv(54, "conv_3d", "Convolution of volumes with 3 x 3 x 3 kernels", (16, 3, 64, 64, 64), 64, 3, small=(2, 16, 16, 16),
     channels=(3, 16))
conv(55, "conv_2d_wide_image", "Convolution of wide images with 3 x 3 kernels", (8, 64, 512, 1024), 128, 3,
     small=(2, 24, 40), channels=(16, 32))
conv(56, "conv_2d_wide_kernel", "Convolution of tall images with 5 x 7 kernels", (8, 64, 512, 256), 128, (5, 7),
     small=(2, 32, 20), channels=(16, 24))
conv(57, "conv_transpose_2d", "Transposed convolution of images with 3 x 3 kernels", (8, 64, 1024, 1024), 64, 3,
     transposed=True, small=(2, 30, 30), channels=(16, 24))
conv(58, "conv_transpose_3d_asymmetric", "Transposed convolution of volumes with 3 x 5 x 7 kernels",
     (16, 32, 16, 32, 64), 16, (3, 5, 7), transposed=True, small=(1, 6, 8, 12), channels=(12, 10))
conv(59, "conv_3d_flat_kernel", "Convolution of volumes with 3 x 3 x 1 kernels", (16, 3, 256, 256, 10), 64, (3, 3, 1),
     small=(2, 24, 24, 10), channels=(3, 16))
conv(60, "conv_3d_asymmetric_kernel", "Convolution of cubes with 3 x 5 x 7 kernels", (16, 3, 64, 64, 64), 64, (3, 5, 7),
     small=(2, 12, 14, 16), channels=(3, 16))
conv(61, "conv_transpose_3d", "Transposed convolution of cubes with 3 x 3 x 3 kernels", (8, 48, 64, 64, 64), 48, 3,
     transposed=True, small=(2, 9, 9, 9), channels=(16, 16))
conv(62, "conv_2d_asymmetric_kernel", "Convolution of images with 5 x 9 kernels", (8, 32, 512, 512), 64, (5, 9),
     small=(2, 28, 28), channels=(12, 20))
conv(63, "conv_2d", "Convolution of images with 3 x 3 kernels", (16, 16, 1024, 1024), 128, 3, small=(2, 40, 40),
     channels=(8, 32))
conv(64, "conv_transpose_1d", "Transposed convolution of sequences with kernels of 3", (64, 128, 65536), 128, 3,
     transposed=True, small=(2, 512), channels=(48, 56))
conv(65, "conv_transpose_2d_wide_kernel", "Transposed convolution of images with 3 x 7 kernels", (8, 64, 512, 512), 64,
     (3, 7), transposed=True, small=(2, 24, 24), channels=(16, 24))
conv(66, "conv_3d_asymmetric", "Convolution of flat volumes with 3 x 5 x 7 kernels", (8, 3, 16, 128, 128), 64,
     (3, 5, 7), small=(2, 8, 16, 20), channels=(3, 16))
conv(67, "conv_1d", "Convolution of sequences with kernels of 3", (32, 64, 131072), 128, 3, small=(2, 1024),
     channels=(32, 64))
conv(68, "conv_transpose_3d_asymmetric_kernel", "Transposed convolution of cubes with 3 x 5 x 5 kernels",
     (16, 32, 64, 64, 64), 64, (3, 5, 5), transposed=True, small=(1, 8, 8, 8), channels=(12, 20))
conv(69, "conv_transpose_2d_asymmetric", "Transposed convolution of wide images with 3 x 5 kernels",
     (64, 64, 128, 256), 128, (3, 5), transposed=True, small=(2, 20, 32), channels=(16, 24))
conv(70, "conv_transpose_3d_fewer_channels", "Transposed convolution of volumes to fewer channels",
     (8, 48, 96, 96, 96), 24, 3, transposed=True, small=(2, 8, 10, 12), channels=(20, 12))
conv(71, "conv_transpose_2d_wide_image", "Transposed convolution of wide images with 3 x 3 kernels",
     (8, 32, 512, 1024), 32, 3, transposed=True, small=(2, 24, 40), channels=(16, 24))
conv(72, "conv_transpose_3d_grouped", "Transposed convolution of volumes, strided, padded, in 4 groups",
     (8, 32, 12, 24, 48), 32, (3, 5, 7), stride=2, pad=(1, 2, 3), output_padding=1, group=4, transposed=True,
     small=(2, 6, 8, 10), channels=(16, 16))
conv(73, "conv_transpose_3d_strided", "Transposed convolution of volumes, strided and padded", (4, 32, 32, 64, 128), 32,
     3, stride=2, pad=1, transposed=True, small=(2, 8, 10, 12), channels=(12, 12))
conv(74, "conv_transpose_1d_dilated", "Transposed convolution of sequences, dilated", (32, 32, 131072), 64, 5,
     dilation=3, transposed=True, small=(2, 1024), channels=(24, 40))
conv(75, "conv_transpose_2d_grouped", "Transposed convolution of images, strided, padded, dilated, in 4 groups",
     (16, 32, 128, 256), 64, (3, 5), stride=(2, 3), pad=(1, 2), dilation=(2, 1), group=4, transposed=True,
     small=(2, 16, 24), channels=(16, 32))
conv(76, "conv_1d_strided_dilated", "Convolution of sequences, strided and dilated", (64, 64, 524280), 128, 3, stride=3,
     dilation=4, small=(2, 2040), channels=(32, 64))
conv(77, "conv_transpose_3d_dilated", "Transposed convolution of volumes, strided, padded, dilated",
     (16, 32, 16, 32, 32), 64, 3, stride=2, pad=1, dilation=2, transposed=True, small=(2, 6, 10, 10),
     channels=(12, 16))
conv(78, "conv_transpose_2d_padded", "Transposed convolution of wide images, padded", (8, 32, 512, 1024), 32, (3, 7),
     pad=(1, 3), transposed=True, small=(2, 24, 40), channels=(16, 20))
conv(79, "conv_transpose_1d_strided", "Transposed convolution of sequences, strided, padded, dilated",
     (16, 32, 131072), 64, 3, stride=2, pad=1, dilation=2, transposed=True, small=(2, 1024), channels=(24, 40))
conv(80, "conv_2d_dilated", "Convolution of images with 5 x 9 kernels, dilated and padded", (8, 32, 512, 512), 64,
     (5, 9), pad=(2, 4), dilation=(2, 3), small=(2, 28, 32), channels=(12, 20))
conv(81, "conv_transpose_2d_strided", "Transposed convolution of images with stride 5, padded, dilated",
     (16, 32, 64, 128), 64, 3, stride=5, pad=1, dilation=2, transposed=True, small=(2, 10, 20), channels=(16, 24))
conv(82, "conv_depthwise_2d", "Depthwise convolution of images with 3 x 3 kernels", (16, 64, 512, 512), 64, 3, group=64,
     small=(2, 40, 40))
conv(83, "conv_depthwise_2d_column", "Depthwise convolution of images with 3 x 1 kernels", (64, 8, 512, 512), 8, (3, 1),
     group=8, small=(4, 48, 48))
conv(84, "conv_depthwise_2d_wide_image", "Depthwise convolution of wide images with 3 x 3 kernels",
     (64, 128, 256, 512), 128, 3, group=128, small=(2, 24, 40))
conv(85, "conv_depthwise_2d_wide_kernel", "Depthwise convolution of images with 3 x 7 kernels", (32, 128, 128, 256),
     128, (3, 7), group=128, small=(2, 24, 40))
task(86, "conv_depthwise_separable", "Depthwise 3 x 3 convolution of images, then a pointwise one",
     [Input("x", ["N", 64, "H", "W"], UNIT), Input("depth", [64, 1, 3, 3], "uniform(-0.33333333, 0.33333333) static"),
      Input("point", ["CO", 64, 1, 1], "uniform(-0.125, 0.125) static")], ["N", "CO", "OH", "OW"],
     ["t = Conv<group = 64, kernel_shape = [3, 3], pads = [1, 1, 1, 1]>(x, depth)",
      "y = Conv<kernel_shape = [1, 1]>(t, point)"],
     workloads("N CO H W", (16, 128, 512, 512), (2, 96, 32, 32), (1, 1, 1, 1), (2, 5, 3, 7), (1, 17, 11, 9),
               (3, 7, 1, 19)), probes="near_overflow(1e35)")
conv(87, "conv_pointwise_2d", "Pointwise convolution of images", (16, 64, 1024, 1024), 128, 1, small=(2, 40, 40),
     channels=(32, 64))

# ---- 89-93: scans ----------------------------------------------------------------------------------------------------

SCANS = workloads("M N", (32768, 32768), (64, 1024), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099))
DRIFT = ("published inputs are positive and the k-th sum is k/2 within a fraction of a percent; zero-mean inputs")


def scan(number, name, title, attributes, **more):
    task(number, name, title, [Input("x", ["M", "N"], SIGNED, UNIT)], ["M", "N"],
         [f"y = CumSum{attributes}(x, axis)"], SCANS, constants=["int64 axis = {1}"], repair=DRIFT,
         probes="near_overflow(1e34), special", **more)


scan(89, "cumsum", "Running sums along rows", "")
task(90, "cumprod", "Running products along rows", [Input("x", ["M", "N"], "uniform(0.99, 1.01)", UNIT)], ["M", "N"],
     ["y = CumProd(x, axis)"], SCANS, constants=["int64 axis = {1}"], opset=26,
     repair="published products fall below the tolerance after about 20 of 32768 columns and to zero after 150; factors "
            "near 1 keep every column alive", probes="-row_scales, -heavy_mean")
scan(91, "cumsum_reverse", "Running sums along rows, from the end", "<reverse = 1>")
scan(92, "cumsum_exclusive", "Running sums along rows without the element itself", "<exclusive = 1>")
task(93, "masked_cumsum", "Running sums along rows over the elements that a mask selects",
     [Input("x", ["M", "N"], SIGNED, UNIT), Input("mask", ["M", "N"], "bernoulli(0.5) fixed", dtype="bool")],
     ["M", "N"], ["m = Cast<to = 1>(mask)", "kept = Mul(x, m)", "y = CumSum(kept, axis)"], SCANS,
     constants=["int64 axis = {1}"], repair=DRIFT, probes="near_overflow(1e34)")

# ---- 94-100: losses and attention ------------------------------------------------------------------------------------

PAIRS = workloads("B F", (32768, 32768), (128, 512), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099))
MEAN_ALL = "y = ReduceMean<keepdims = 0>"
SCALED_UNIT = "uniform(0, 1) * uniform_scalar(0, 1)"


def pair_loss(number, name, title, body, predictions, targets, published, repair, probes, constants=()):
    task(number, name, title, [Input("predictions", ["B", "F"], predictions, published[0]),
                               Input("targets", ["B", "F"], targets, published[1])], [], body, PAIRS,
         constants=constants, repair=repair, probes=probes)


LOSS_MOVES = ("the published loss hardly changes from draw to draw, so that a constant or last call's answer is close; "
              "normal inputs of scales drawn anew")
pair_loss(94, "mse_loss", "Mean squared error", ["d = Sub(predictions, targets)", "s = Mul(d, d)", MEAN_ALL + "(s)"],
          "normal(0, 1) * uniform_scalar(0.5, 2.5)", "normal(0, 1) * uniform_scalar(0.5, 2.5)", (SCALED_UNIT, UNIT),
          LOSS_MOVES,
          "near_overflow(1e15)")
task(95, "cross_entropy_loss", "Mean cross entropy of logits against class labels",
     [Input("logits", ["B", "C"], "normal(0, 1) * uniform_scalar(0.5, 6)", UNIT),
      Input("labels", ["B"], "labels(C) fixed", dtype="int64")], [],
     ['y = SoftmaxCrossEntropyLoss<reduction = "mean">(logits, labels)'],
     workloads("B C", (32768, 4096), (128, 512), (1, 2), (3, 7), (7, 1021), (61, 33), (67, 1)),
     repair="the published loss is 8.36 within 0.002 for every input; logits of a scale drawn anew",
     probes="near_overflow(1e4)")
pair_loss(96, "huber_loss", "Mean of the Huber loss with threshold 1",
          ["e = Sub(predictions, targets)", "d = Abs(e)", "s = Mul(d, d)", "quadratic = Mul(s, half)",
           "linear = Sub(d, half)", "inside = Less(d, one)", "h = Where(inside, quadratic, linear)", MEAN_ALL + "(h)"],
          "normal(0, 1) * uniform_scalar(0.5, 4)", "normal(0, 1) * uniform_scalar(0.5, 4)", (SCALED_UNIT, UNIT),
          "published differences are below 1, so that the linear branch is never taken, and the loss hardly changes; "
          "normal inputs of scales drawn anew", "near_overflow(1e30)",
          constants=["float half = {0.5}", "float one = {1.0}"])
HEADS = ["B", "H", "S", "E"]
task(97, "attention", "Scaled dot-product attention without a mask",
     [Input(n, HEADS, "normal(0, 1)", UNIT) for n in ("q", "k", "v")], HEADS,
     ["kt = Transpose<perm = [0, 1, 3, 2]>(k)", "scores = MatMul(q, kt)", "extent = Shape<start = 3, end = 4>(q)",
      "e = Cast<to = 1>(extent)", "root = Sqrt(e)", "scaled = Div(scores, root)",
      "weights = Softmax<axis = -1>(scaled)", "y = MatMul(weights, v)"],
     workloads("B H S E", (32, 32, 512, 1024), (2, 4, 48, 64), (1, 1, 1, 1), (2, 3, 5, 7), (1, 2, 33, 17),
               (1, 1, 7, 131)),
     repair="published scores are almost equal, so that the mean of v passes with a tolerance of 1e-2 whatever q and k "
            "are; normal inputs", probes="near_overflow(1e3)")
PROBABILITIES = workloads("B F", (16384, 16384), (128, 512), (1, 2), (3, 7), (7, 1021), (13, 33), (1, 4099))
task(98, "kl_div_loss", "Kullback-Leibler divergence of rows of probabilities, mean over rows",
     [Input("predictions", ["B", "F"], "normal(0, 1) * uniform_scalar(0.5, 2.5) softmax fixed",
            "uniform(0, 1) * uniform_scalar(0, 1) softmax fixed"),
      Input("targets", ["B", "F"], "normal(0, 1) * uniform_scalar(0.5, 2.5) softmax fixed",
            "uniform(0, 1) softmax fixed")], [],
     ["lp = Log(predictions)", "lt = Log(targets)", "d = Sub(lt, lp)", "terms = Mul(targets, d)",
      "rows = ReduceSum<keepdims = 0>(terms, axis)", MEAN_ALL + "(rows)"], PROBABILITIES,
     constants=["int64[1] axis = {1}"],
     repair="the published loss is 0.06 within 0.02 for every input; probabilities further apart, by scales drawn anew")
task(99, "triplet_margin_loss", "Mean triplet margin loss with margin 1",
     [Input("anchor", ["B", "F"], "normal(0, 1)", SCALED_UNIT), Input("positive", ["B", "F"], "normal(0, 1)", UNIT),
      Input("negative", ["B", "F"], "normal(0, 1) * uniform_scalar(0.95, 1.05)", UNIT)], [],
     ["ap = Sub(anchor, positive)", "an = Sub(anchor, negative)", "ape = Add(ap, eps)", "ane = Add(an, eps)",
      "near = ReduceL2<keepdims = 0>(ape, axis)", "far = ReduceL2<keepdims = 0>(ane, axis)", "gap = Sub(near, far)",
      "shifted = Add(gap, margin)", "h = Relu(shifted)", MEAN_ALL + "(h)"],
     workloads("B F", (32768, 8192), (128, 512), (1, 1), (3, 7), (7, 1021), (13, 33), (1, 4099)),
     constants=["int64[1] axis = {1}", "float eps = {1e-6}", "float margin = {1.0}"],
     repair="published distances are alike, the hinge never closes and the loss is 1 within 0.002; normal inputs, the "
            "negative ones of a scale drawn anew", probes="near_overflow(1e15)")
task(100, "hinge_loss", "Mean hinge loss of predictions against signs",
     [Input("predictions", ["B", "F"], "normal(1, 1) * uniform_scalar(0.5, 3)", UNIT),
      Input("targets", ["F"], "signs() fixed")], [],
     ["agreement = Mul(predictions, targets)", "slack = Sub(one, agreement)", "h = Relu(slack)", MEAN_ALL + "(h)"],
     workloads("B F", (32768, 32768), (256, 256), (1, 1), (3, 7), (7, 1021), (13, 33), (67, 61)),
     constants=["float one = {1.0}"],
     repair="published margins never reach 1, so that the hinge never closes and the loss is 1 within 0.003; normal "
            "inputs of a scale drawn anew", probes="near_overflow(1e34)")

if __name__ == "__main__":
    LEVEL.main()
