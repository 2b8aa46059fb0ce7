#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbench/level2/*.onnxtxt from the tables below, and their tables in docs/evidence/kernelbench.md.

The task files are what counts and are committed; this script only keeps a hundred of them consistent. Run it from
anywhere: `tools/tasks/make_level2.py` rewrites the files, `tools/tasks/make_level2.py --check` fails when a file differs.

Shapes, operators and constructor arguments are those of KernelBench v0.2, level 2; every graph is written anew in
ONNX's textual syntax. Modules run as the published harness runs them, in training: batch normalisation uses the
batch's statistics, and a dropout's choice is an input. Weights are named as in the modules' state_dict, with '_' for
'.'. `why` says what the default form changes against the published one, `draws` to what. (The file is long because a
hundred tasks are.)
"""
from fusions import ONES, RANDN, Fusions
from task_files import UNIT, Level

# The part of the multiply-adds that remains where algebra removes the rest: sums and means over the
# outputs of something linear need the sums of its weights only (14, 18, 51, 98), those over positions the sums of the
# inputs under each tap (13, 42, 44, 65); a mean over pairs of a transposed convolution with stride 2 is a convolution
# with two taps a direction (50).
PARTS = {13: "1/32", 14: "1/8192", 18: "1/8192", 42: "1/2359296", 44: "1/147456", 50: "1/4", 51: "1/8192", 65: "1/17",
         98: "1/16"}
# The part of the weights' bytes that is left of them once they are prepared for that, which a plan may do before it is
# timed: sums over the outputs (14, 18, 51), over 16 of them (98), over the taps that see the same sums of inputs: all
# where nothing is padded (42), nine in four classes where one row and one column are (44); 27 taps in eight (50).
WEIGHT_PARTS = {14: "1/8192", 18: "1/8192", 42: "1/9", 44: "4/9", 50: "8/27", 51: "1/8192", 98: "1/16"}
# The module normalises rows of as many numbers as it has channels.
SHAPES = {34: "N=1..32, CI=1..32, CO=2*W, D=1..16, H=1..32, W=1..32, OW=2*W"}

LEVEL = Level(2, contraction_parts=PARTS, weight_parts=WEIGHT_PARTS, shapes=SHAPES)
FUSIONS = Fusions(LEVEL)
conv, linear = FUSIONS.conv, FUSIONS.linear

PER_IMAGE, PER_VOLUME = ["CO", 1, 1], ["CO", 1, 1, 1]  # a parameter for each channel, as it broadcasts
STRIDED = {"transposed": True, "stride": 2, "pad": 1, "module": "conv_transpose"}
DOUBLING = {**STRIDED, "output_padding": 1}  # twice the extents
TRANSPOSED = {"transposed": True, "module": "conv_transpose"}

# What a straightforward implementation survives: sums of products; squares of them; differences in exponents, and the
# negative side of GELU, where it multiplies the number with what is left of 1 - 1.
SUMS, SQUARES, EXPONENTS = "near_overflow(1e30)", "near_overflow(1e14)", "near_overflow(1e4)"


def wide(deviation):
    return f"normal(0, {deviation})"


def scaled(low, high):
    return f"normal(0, 1) * uniform_scalar({low}, {high})"


def louder(module, fan_in, factor, x=wide(1), **others):
    """Weights and biases larger by a factor: together, so that a sum which begins with the bias is as exact as it is
    published, and so that the ragged shapes, which have fewer terms, see more than a function's middle."""
    bound = factor / fan_in ** 0.5
    larger = f"uniform({-bound:.8g}, {bound:.8g}) static"
    return {"x": x, f"{module}_weight": larger, f"{module}_bias": larger, **others}


def lopsided(fan_in, factor=1):
    """Weights of the published spread, but with a mean: a row's sum over the outputs then depends on the row."""
    bound = factor / fan_in ** 0.5
    return f"uniform({-bound:.8g}, {3 * bound:.8g}) static"


SUMMED = "insensitive@loose: the published bias hardly moves sums of so many outputs, or of outputs so much larger"
SMALL_BIASES = "published biases change outputs by less than 1e-2; signed inputs, larger weights and biases"
ALIKE = "published outputs are alike to 1e-2 of their size; signed inputs, larger weights and biases"
HEAVY = "slash(1)"
MOVING = "uniform(0, 1) * uniform_scalar(-2, 2) static"  # parameters whose sum moves from draw to draw
CANCELS = "insensitive: {} takes the bias of the product before it out again"
BATCH = CANCELS.format("the mean over the batch")

# ---- 1-20 ------------------------------------------------------------------------------------------------------------

conv(1, "conv_2d_relu_bias", "Convolution of images, ReLU, a bias for each channel", (128, 64, 128, 128), 128, 3,
     lambda t: t.relu().add(t.weight("bias", PER_IMAGE)), small=(2, 24, 24), channels=(16, 32), probes=SUMS)
conv(2, "conv_transpose_2d_bias_clamp_scale_clamp", "Transposed convolution, a bias, clamps to [0, 1] around a "
     "doubling, a halving", (128, 64, 128, 128), 64, 3,
     lambda t: (t.add(t.weight("bias", PER_IMAGE)).clamp(0, 1).mul(2.0).clamp(0, 1).div(2.0)), **DOUBLING,
     small=(2, 16, 16), channels=(16, 24), probes=SUMS)
conv(3, "conv_transpose_3d_layer_norm_avg_pool_gelu", "Transposed convolution of volumes, a number added, layer "
     "normalisation over rows, means over windows, GELU", (32, 32, 16, 32, 32), 64, 3,
     lambda t: (t.add(t.weight("sum_weight", [], ONES, "uniform(0.5, 1.5) static")).layer_norm("norm").avg_pool(2)
                .gelu()), **DOUBLING, small=(2, 4, 8, 8), channels=(8, 12), probes=SQUARES,
     allow="insensitive: the layer normalisation of every row takes the number and the channel's bias out again")
conv(4, "conv_2d_mish_mish", "Convolution of images, Mish twice", (64, 64, 256, 256), 128, 3,
     lambda t: t.mish().mish(), small=(2, 24, 24), channels=(16, 32), probes=SUMS)
conv(5, "conv_transpose_2d_subtract_tanh", "Transposed convolution, a bias subtracted, hyperbolic tangent",
     (32, 64, 256, 256), 64, 4, lambda t: t.sub(t.weight("bias", PER_IMAGE)).tanh(), **DOUBLING, small=(2, 12, 16),
     channels=(16, 24), probes=SUMS)
conv(6, "conv_3d_softmax_max_pool_max_pool", "Convolution of volumes, softmax over channels, maxima over windows twice",
     (128, 3, 16, 32, 32), 16, 3, lambda t: t.softmax().max_pool(2).max_pool(2), small=(2, 10, 14, 14),
     probes=EXPONENTS,
     draws=louder("conv", 81, 8), why=SMALL_BIASES)
conv(7, "conv_3d_relu_leaky_relu_gelu_sigmoid_bias", "Convolution of volumes, four activations, a bias for each "
     "channel", (64, 8, 32, 64, 64), 32, 3,
     lambda t: t.relu().leaky_relu(0.01).gelu().sigmoid().add(t.weight("bias", PER_VOLUME)), small=(2, 8, 12, 12),
     channels=(8, 16), probes=SUMS, draws=louder("conv", 216, 8), why=SMALL_BIASES)
conv(8, "conv_3d_divide_max_pool_mean_bias_sum", "Convolution of volumes, halved, maxima over windows, mean of each "
     "channel, a bias, sum over channels", (128, 8, 16, 64, 64), 16, 3,
     lambda t: t.div(2.0).max_pool(2).global_mean().add(t.weight("bias", PER_VOLUME)).reduce("Sum", 1),
     small=(4, 8, 12, 12), channels=(8, 16), probes=SUMS,
     draws={"x": "slash(0.0625)"},
     why="published outputs of a batch differ by less than 1e-2, so that a constant passes; heavy-tailed inputs, whose "
         "means stay apart",
     allow=SUMMED)
linear(9, "linear_subtract_multiply_relu", "Linear layer, 2 subtracted, times 1.5, ReLU", (1024, 8192, 8192),
       lambda t: t.sub(2.0).mul(1.5).relu(), probes=SUMS, draws={"x": wide(16)},
       why="published sums never reach 2, so that every output is zero; wider inputs")
conv(10, "conv_transpose_2d_max_pool_hard_tanh_mean_tanh", "Transposed convolution, maxima over windows, clamp to "
     "[-1, 1], mean of each channel, hyperbolic tangent", (128, 64, 256, 256), 64, 3,
     lambda t: t.max_pool(2).clamp(-1, 1).reduce("Mean", (2, 3), True).tanh(), **TRANSPOSED, pad=1, small=(3, 16, 16),
     channels=(16, 24), probes=SUMS, draws=louder("conv_transpose", 576, 4, x=scaled(0.125, 1)),
     why="published means hang on the weights alone to within 0.003; signed inputs of a scale drawn anew and larger "
         "biases")
conv(11, "conv_transpose_2d_batch_norm_tanh_max_pool_group_norm", "Transposed convolution, batch normalisation, "
     "hyperbolic tangent, maxima over windows, group normalisation", (512, 64, 32, 32), 128, 5,
     lambda t: t.batch_norm("batch_norm").tanh().max_pool(2).group_norm("group_norm", 8), **TRANSPOSED, pad=1, groups=8,
     small=(3, 10, 10), channels=(16, 32), probes=SQUARES, allow=BATCH)
linear(12, "linear_multiply_leaky_relu", "Linear layer, doubled, leaky ReLU with slope 0.1", (1024, 8192, 8192),
       lambda t: t.mul(2.0).leaky_relu(0.1), module="gemm", probes=SUMS + ", special")
conv(13, "conv_transpose_3d_mean_bias_softmax_tanh_scale", "Transposed convolution of volumes, mean over depth, a "
     "bias, softmax over channels, hyperbolic tangent, doubled", (16, 16, 32, 128, 128), 64, 3,
     lambda t: (t.reduce("Mean", 2, True).add(t.weight("bias", [1, "CO", 1, 1, 1])).softmax().tanh().mul(2.0)),
     **TRANSPOSED, pad=1, small=(2, 8, 12, 12), channels=(8, 16), probes=EXPONENTS, draws={"x": wide(32)},
     why="published means over depth are alike, so that an output that knows the bias only is within 1e-2; signed "
         "inputs of a larger scale")


def problem_14(t):
    t.start("x", ["M", "K"])
    w, _ = t.weight("weight", ["N", "K"])
    t.lines.append(f"wt = Transpose<perm = [1, 0]>({w})")
    t.flops += 2 * t.extent("M") * t.extent("K") * t.extent("N")
    t.emit("product", "MatMul", ["x", "wt"], (), [t.extent("M"), t.extent("N")], ["M", "N"])
    t.div(2.0).reduce("Sum", 1, True).mul(1.5)


def rows(*values):
    return [dict(zip("MKN", v)) for v in values]


FUSIONS.add(14, "matmul_divide_sum_scale", "Matrix product, halved, sums of the rows, times 1.5", problem_14,
            *rows((1024, 8192, 8192), (96, 256, 192)),
            rows((1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1)),
            probes=SUMS)  # not special: the sums of the matrix' columns are all that counts, and know no inf - inf


def less_own_mean(t):
    t.batch_norm("batch_norm")
    x = t.v
    dims, shape = t.dims, t.shape
    t.reduce("Mean", (2, 3, 4), True)
    t.emit("difference", "Sub", [x, t.v], (), shape, dims)


conv(15, "conv_transpose_3d_batch_norm_subtract_mean", "Transposed convolution of volumes, batch normalisation, less "
     "the mean of each channel", (16, 16, 16, 32, 32), 32, 3, less_own_mean, **STRIDED, small=(2, 6, 8, 8),
     channels=(8, 16),
     probes=SQUARES,
     allow="insensitive: the means taken off carry the bias of the convolution and the shift of the normalisation")
conv(16, "conv_transpose_2d_mish_add_hard_tanh_scale", "Transposed convolution, Mish, plus 0.5, clamp to [-1, 1], "
     "doubled", (128, 64, 128, 128), 64, 3, lambda t: t.mish().add(0.5).clamp(-1, 1).mul(2.0), **DOUBLING,
     small=(2, 16, 16), channels=(16, 24), probes=SUMS, draws={"x": wide(4)},
     why="published values are below 0.5 almost everywhere, so that the clamp does nothing there; signed, wider inputs")
conv(17, "conv_2d_instance_norm_divide", "Convolution of images, instance normalisation, halved", (128, 64, 128, 128),
     128, 3, lambda t: t.instance_norm().div(2.0), small=(2, 20, 20), channels=(16, 32), probes=SQUARES,
     allow=CANCELS.format("the normalisation of every channel"))
linear(18, "linear_sum_max_mean_log_sum_exp", "Linear layer, sums of the rows, then reductions of single elements: "
       "maximum, mean, twice the logarithm of a sum of exponentials", (1024, 8192, 8192),
       lambda t: (t.reduce("Sum", 1, True).reduce("Max", 1, True).reduce("Mean", 1, True).reduce("LogSumExp", 1, True)
                  .reduce("LogSumExp", 1, True)), probes=SUMS)
conv(19, "conv_transpose_2d_gelu_group_norm", "Transposed convolution, GELU, group normalisation", (128, 64, 256, 256),
     64, 3, lambda t: t.gelu().group_norm("group_norm", 8), **TRANSPOSED, groups=8, small=(2, 14, 14),
     channels=(16, 32),
     probes=SQUARES)


def sum_product_sum(t):
    x = t.v
    t.add(t.weight("bias", PER_VOLUME)).add(x).emit("product", "Mul", [t.v, x]).add(x)


conv(20, "conv_transpose_3d_bias_residual_multiply_residual", "Transposed convolution of volumes x and a bias b: "
     "(x + b + x) x + x", (16, 32, 16, 32, 32), 64, 3, sum_product_sum, **DOUBLING, small=(2, 4, 8, 8),
     channels=(12, 20),
     probes=SQUARES)

# ---- 21-40 -----------------------------------------------------------------------------------------------------------

conv(21, "conv_2d_bias_scale_sigmoid_group_norm", "Convolution of images, a bias and a factor for each channel, "
     "sigmoid, group normalisation", (128, 8, 256, 256), 32, 3,
     lambda t: (t.add(t.weight("bias", PER_IMAGE)).mul(t.weight("scale", PER_IMAGE)).sigmoid()
                .group_norm("group_norm", 8)), groups=8, small=(2, 24, 24), probes=SQUARES)


def times_own_mish(t):
    t.mul(2.0).emit("sum", "Add", [t.v, t.v]).clamp(-10, 10).reduce("LogSumExp", 1, True)
    t.times(t.v, t.mish)


linear(22, "linear_scale_double_clamp_log_sum_exp_mish", "Linear layer, four times over, clamp to [-10, 10], logarithm "
       "of the sum of exponentials of each row, times its own Mish", (1024, 8192, 8192), times_own_mish,
       module="matmul",
       probes=EXPONENTS, draws={"x": wide(4), "matmul_weight": lopsided(8192)},
       why="published sums never reach the clamp, and the logarithms differ by less than 1e-2 of their size; wider "
           "inputs and weights with a mean, so that every row has its own",
       allow=SUMMED)
conv(23, "conv_3d_group_norm_mean", "Convolution of volumes, group normalisation, mean of each sample",
     (128, 3, 24, 32, 32), 24, 3, lambda t: t.group_norm("group_norm", 8).reduce("Mean", (1, 2, 3, 4)), groups=8,
     small=(4, 8, 10, 10), probes=SQUARES, draws={"x": scaled(1, 8), "group_norm_weight": "uniform(-64, 64) static"},
     why="published means are zero but for rounding: a scale of one and a shift of zero leave nothing; inputs of a "
         "scale drawn anew")
conv(24, "conv_3d_min_softmax", "Convolution of volumes, minimum over depth, softmax over channels",
     (128, 3, 24, 32, 32), 24, 3, lambda t: t.reduce("Min", 2).softmax(), small=(2, 8, 12, 12), probes=EXPONENTS,
     draws=louder("conv", 81, 8), why=SMALL_BIASES)
conv(25, "conv_2d_min_tanh_tanh", "Convolution of images, minimum over channels, hyperbolic tangent twice",
     (128, 16, 256, 256), 64, 3, lambda t: t.reduce("Min", 1, True).tanh().tanh(), small=(2, 24, 24), channels=(16, 32),
     probes=SUMS)


def with_residual(t):
    t.input("add_input", ["N", "CO", "OD", "OH", "OW"], UNIT)


def times_own_hard_swish(t):
    t.add("add_input").times(t.v, t.hard_swish)


conv(26, "conv_transpose_3d_add_hard_swish", "Transposed convolution of volumes, a second input added, times its own "
     "hard swish", (128, 32, 16, 16, 16), 64, 3, times_own_hard_swish, before=with_residual, **DOUBLING,
     extra=lambda b: {"OD": 2 * b["D"], "OH": 2 * b["H"], "OW": 2 * b["W"]}, small=(2, 4, 6, 6), channels=(12, 20),
     probes=SQUARES, draws={"x": wide(4), "add_input": wide(2)},
     why="published values stay inside the limits of the hard swish; signed, wider inputs")
conv(27, "conv_3d_hard_swish_group_norm_mean", "Convolution of volumes, hard swish, group normalisation, mean of each "
     "channel", (1024, 3, 16, 32, 32), 16, 4,
     lambda t: t.hard_swish().group_norm("group_norm", 4).reduce("Mean", (2, 3, 4)), groups=4, small=(3, 8, 10, 10),
     probes=SQUARES, draws={"x": scaled(0.5, 8)},
     why="published means hang on the weights alone to within 0.02; signed inputs of a scale drawn anew")


def with_other(t):
    t.input("other", ["M", "N"], UNIT)


def row_norm(t):
    t.unsqueeze(1, 2).instance_norm().squeeze(1, 2).add("other").emit("product", "Mul", [t.v, "other"])


linear(28, "linear_instance_norm_add_multiply", "Linear layer, every row normalised, a second input added and "
       "multiplied with", (1024, 8192, 8192), row_norm, module="bmm", before=with_other,
       ragged=((1, 1, 2), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 61, 131)), probes=SQUARES)
linear(29, "linear_mish_mish", "Linear layer, Mish twice", (1024, 8192, 8192), lambda t: t.mish().mish(), probes=SUMS,
       draws=louder("linear", 8192, 16), why=SMALL_BIASES)
linear(30, "linear_group_norm_hard_tanh", "Linear layer, group normalisation in 16 groups, clamp to [-2, 2]",
       (1024, 8192, 8192), lambda t: t.group_norm("group_norm", 16).clamp(-2, 2), module="gemm",
       ragged=((1, 1, 32), (3, 37, 48), (17, 65, 112), (61, 7, 80), (5, 31, 176)), probes=SQUARES)
conv(31, "conv_2d_min_bias_scale", "Convolution of images, minimum with 0.5, a bias for each channel, doubled",
     (128, 64, 128, 128), 128, 3, lambda t: t.minimum(0.5).add(t.weight("bias", PER_IMAGE)).mul(2.0), small=(2, 24, 24),
     channels=(16, 32), probes=SUMS)
conv(32, "conv_2d_scale_min", "Convolution of images, doubled, minimum over channels", (64, 64, 256, 256), 128, 3,
     lambda t: t.mul(2.0).reduce("Min", 1, True), small=(2, 24, 24), channels=(16, 32), probes=SUMS)
BATCHES = ((2, 1, 1), (3, 37, 3), (17, 65, 33), (61, 7, 97), (5, 31, 131))
SCALE_CANCELS = BATCH + ", and all of the factor but its sign"
linear(33, "linear_scale_batch_norm", "Linear layer, a factor for each feature, batch normalisation",
       (1024, 8192, 8192),
       lambda t: t.mul(t.weight("scale", ["N"])).batch_norm("bn"), module="gemm", ragged=BATCHES, probes=SQUARES,
       allow=SCALE_CANCELS)
conv(34, "conv_transpose_3d_layer_norm_gelu_scale", "Transposed convolution of volumes, layer normalisation over rows, "
     "GELU, times 1", (32, 32, 16, 32, 32), 64, 4, lambda t: t.layer_norm("layer_norm").gelu().mul(1.0), **STRIDED,
     small=(2, 4, 8, 8), channels=(8, 16), probes=SQUARES,
     ragged=[(1, 1, 2, 1, 1, 1), (2, 3, 8, 2, 1, 4), (1, 2, 4, 1, 4, 2), (1, 5, 10, 1, 2, 5)],
     allow=CANCELS.format("the normalisation of every row"))
conv(35, "conv_2d_subtract_hard_swish_max_pool_mish", "Convolution of images, less 0.5, hard swish, maxima over "
     "windows, Mish", (128, 64, 128, 128), 128, 3, lambda t: t.sub(0.5).hard_swish().max_pool(2).mish(),
     small=(2, 24, 24), channels=(16, 32), probes=SUMS, draws={"x": wide(8)},
     why="published values never reach the limits of the hard swish; signed, wider inputs")
conv(36, "conv_transpose_2d_min_sum_gelu_bias", "Transposed convolution, minimum over channels, sum over rows, GELU, a "
     "bias", (16, 64, 128, 128), 128, 3,
     lambda t: t.reduce("Min", 1, True).reduce("Sum", 2, True).gelu().add(t.weight("bias", [1, 1, 1])), **DOUBLING,
     small=(3, 12, 12), channels=(16, 24), probes=EXPONENTS,
     draws={"x": scaled(0.25, 1.25), "conv_transpose_bias": "uniform(0.5, 1) static"},
     why="published sums are so far below zero that GELU makes zero of all of them and the bias is the output; signed "
         "inputs of a scale drawn anew, and channels with positive biases")
linear(37, "linear_swish_bias_group_norm", "Linear layer, swish, a bias, group normalisation in 64 groups",
       (32768, 1024, 4096), lambda t: t.swish().add(t.weight("bias", ["N"])).group_norm("group_norm", 64),
       module="matmul", small=(96, 256, 256), ragged=((1, 1, 128), (3, 37, 192), (17, 13, 320), (7, 11, 448)),
       probes=SQUARES)


def spatial_softmax(t):
    t.clamp(0, 1)
    x, shape, dims = t.v, t.shape, t.dims
    t.lines.append(f"extents = Shape({x})")
    t.constants["rows"] = "int64[3] NAME = {0, 0, -1}"
    n = shape[2] * shape[3] * shape[4]
    t.emit("flat", "Reshape", [x, "rows"], (), shape[:2] + [n], dims[:2] + ["S"]).softmax(2)
    t.emit("volume", "Reshape", [t.v, "extents"], (), shape, dims)
    t.mul(t.weight("scale", [1, "CO", 1, 1, 1], ONES))


conv(38, "avg_pool_conv_transpose_3d_clamp_softmax_scale", "Means over windows, transposed convolution of volumes, "
     "clamp to [0, 1], softmax over positions, a factor for each channel", (32, 32, 32, 64, 64), 64, 3, spatial_softmax,
     before=lambda t: t.avg_pool(2), **DOUBLING, small=(2, 8, 12, 12), channels=(12, 16), probes=EXPONENTS,
     draws=louder("conv_transpose", 1728, 8, x=scaled(0.5, 2.5), scale="uniform(-65536, 65536) static"),
     why="published outputs are all about 7.6e-6, so that zeros pass; signed inputs that reach both limits of the "
         "clamp, larger biases, and factors that undo the division by the number of positions")
linear(39, "linear_scale_batch_norm_wide", "Linear layer of many rows, a factor for each feature, batch normalisation",
       (16384, 4096, 4096), lambda t: t.mul(t.weight("scale", ["N"])).batch_norm("bn"), module="gemm",
       small=(128, 192, 160), ragged=BATCHES, probes=SQUARES, allow=SCALE_CANCELS)


def with_itself(t):
    x = t.v
    t.mul(0.5).add(x)


linear(40, "linear_scale_residual", "Linear layer, half of it added to it", (16384, 4096, 4096), with_itself,
       module="matmul", probes=SUMS + ", special")

# ---- 41-60 -----------------------------------------------------------------------------------------------------------

linear(41, "linear_batch_norm_gelu_relu", "Linear layer, batch normalisation, GELU, ReLU", (16384, 4096, 4096),
       lambda t: t.batch_norm("batch_norm").gelu().relu(), module="gemm", ragged=BATCHES, probes=SQUARES, allow=BATCH)
conv(42, "conv_transpose_2d_mean_bias_log_sum_exp_sum_scale", "Transposed convolution, mean of each channel, a bias, "
     "logarithm of the sum of exponentials over channels, times 10", (16, 64, 512, 512), 128, 3,
     lambda t: (t.reduce("Mean", (2, 3), True).add(t.weight("bias", PER_IMAGE)).reduce("LogSumExp", 1, True)
                .reduce("Sum", (2, 3)).mul(10.0)), **TRANSPOSED, small=(4, 16, 16), channels=(16, 24), probes=EXPONENTS,
     draws={"x": HEAVY},
     why="published outputs hang on the weights alone to within 0.001; heavy-tailed inputs, whose means stay apart",
     allow=SUMMED)
conv(43, "conv_3d_max_pool_log_sum_exp_relu", "Convolution of volumes, maxima over windows, logarithm of the sum of "
     "exponentials over channels, ReLU", (4, 32, 32, 128, 128), 64, 3,
     lambda t: t.max_pool(2).reduce("LogSumExp", 1, True).relu(), pad=1, small=(2, 8, 10, 10), channels=(8, 16),
     probes=EXPONENTS, draws=louder("conv", 864, 16, conv_bias="uniform(0.5, 1) * uniform_scalar(-48, 16) static"),
     why="published outputs are alike to 1e-2 of their size and never below zero; signed inputs, larger weights, and "
     "biases of a scale drawn anew that reach both sides of the ReLU")
conv(44, "conv_transpose_2d_scale_mean_mean", "Transposed convolution, halved, mean of each channel, and the mean of "
     "that", (16, 64, 128, 128), 128, 3,
     lambda t: t.mul(0.5).reduce("Mean", (2, 3), True).reduce("Mean", (2, 3), True), **DOUBLING, small=(3, 14, 14),
     channels=(16, 24), probes=SUMS, draws={"x": HEAVY},
     why="published means hang on the weights alone to within 0.0005; heavy-tailed inputs, whose means stay apart")


def problem_45(t):
    t.start("x", ["M", "K"]).linear("linear1", "N", fan_in=2048).sigmoid().linear("linear2", "P", fan_in=4096)
    t.reduce("LogSumExp", 1)


FUSIONS.add(45, "linear_sigmoid_linear_log_sum_exp", "Linear layer, sigmoid, linear layer, logarithm of the sum of "
            "exponentials of each row", problem_45, *[dict(zip("MKNP", v)) for v in ((16384, 2048, 4096, 1024),
                                                                                   (64, 128, 320, 96))],
            [dict(zip("MKNP", v)) for v in ((1, 1, 1, 1), (3, 7, 5, 11), (17, 31, 65, 19), (61, 5, 33, 97),
                                            (2, 67, 1, 13))], probes=EXPONENTS,
            draws={"x": scaled(2, 8), "linear2_weight": "uniform(-0.5, 0.5) static"},
            why="published outputs are 6.98 within 0.002 for every input; wider inputs of a scale drawn anew, and a "
                "second layer with larger weights, and larger biases",
            allow=SUMMED)
conv(46, "conv_2d_subtract_tanh_subtract_avg_pool", "Convolution of images, less 0.5, hyperbolic tangent, less 0.2, "
     "means over windows", (128, 64, 128, 128), 128, 3, lambda t: t.sub(0.5).tanh().sub(0.2).avg_pool(2),
     small=(2, 24, 24), channels=(16, 32), probes=SUMS)
conv(47, "conv_3d_mish_tanh", "Convolution of volumes, Mish, hyperbolic tangent", (16, 32, 32, 64, 64), 64, 3,
     lambda t: t.mish().tanh(), small=(2, 8, 10, 10), channels=(12, 24), probes=SUMS)
conv(48, "conv_3d_scale_tanh_multiply_sigmoid", "Convolution of volumes, a factor for each channel, hyperbolic "
     "tangent, another factor, sigmoid", (128, 3, 16, 64, 64), 16, 3,
     lambda t: t.mul(t.weight("scaling_factor", PER_VOLUME)).tanh().mul(t.weight("bias", PER_VOLUME)).sigmoid(),
     small=(2, 8, 16, 16), probes=SUMS)
conv(49, "conv_transpose_3d_softmax_sigmoid", "Transposed convolution of volumes, softmax over channels, sigmoid",
     (16, 32, 16, 32, 32), 64, 3, lambda t: t.softmax().sigmoid(), **DOUBLING, small=(2, 4, 6, 6), channels=(12, 20),
     probes=EXPONENTS, draws=louder("conv_transpose", 1728, 32),
     why="published outputs are 0.504 within 0.003 for every input; signed inputs of a scale at which channels differ, "
         "and larger biases")
conv(50, "conv_transpose_3d_scale_avg_pool_bias_scale", "Transposed convolution of volumes, a factor, means over "
     "windows, a bias for each channel, another factor", (128, 3, 16, 32, 32), 16, 3,
     lambda t: (t.mul(t.weight("scale1", [], "constant(0.5) static", "uniform(0.25, 0.75) static")).avg_pool(2)
                .add(t.weight("bias", PER_VOLUME)).mul(t.weight("scale2", [], ONES, "uniform(0.5, 1.5) static"))),
     **STRIDED, small=(3, 6, 10, 10), probes=SUMS, draws={"x": wide(8)},
     why="both factors are fixed, the second at one, so that a kernel may leave them out, and the first changes "
         "little; factors drawn at random, signed, wider inputs")


def mean_added_to_input(t):
    t.sub(t.weight("subtract", ["N"])).reduce("Mean", 1, True).reduce("LogSumExp", 1, True).gelu()
    t.emit("sum", "Add", [t.v, "x"], (), [t.extent("M"), t.extent("K")], ["M", "K"])


linear(51, "linear_subtract_mean_log_sum_exp_gelu_residual", "Linear layer, a parameter subtracted, mean of each row, "
       "logarithm of its exponential, GELU, added to the input", (2048, 8192, 8192), mean_added_to_input, module="gemm",
       ragged=((1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 97, 7), (5, 131, 1)), probes=SUMS,
       draws={"x": wide(1), "gemm_weight": lopsided(8192, 8), "subtract": MOVING},
       why="published rows are changed by less than 0.01, so that the input passes; signed inputs and larger weights "
           "with a mean, so that every row has its own, and parameters with means drawn anew",
       allow=SUMMED)
def own_mish(t):
    x = t.v
    t.softplus().tanh().emit("product", "Mul", [t.v, x])
    t.batch_norm("bn")


conv(52, "conv_2d_mish_batch_norm", "Convolution of images, times the tangent of its softplus, batch normalisation",
     (64, 64, 128, 128), 128, 3, own_mish, small=(2, 22, 22), channels=(16, 32), probes=SQUARES,
     draws=louder("conv", 576, 8), why=SMALL_BIASES)
linear(53, "linear_scale_hard_tanh_gelu", "Linear layer, halved, clamp to [-2, 2], GELU", (2048, 8192, 8192),
       lambda t: t.mul(0.5).clamp(-2, 2).gelu(), module="gemm", probes=SUMS,
       draws=louder("gemm", 8192, 16),
       why="published values never reach the clamp; signed inputs, larger weights and biases")
conv(54, "conv_2d_multiply_leaky_relu_gelu", "Convolution of images, a factor for each channel, leaky ReLU, GELU",
     (64, 64, 256, 256), 64, 3, lambda t: t.mul(t.weight("multiplier", PER_IMAGE)).leaky_relu(0.01).gelu(),
     small=(2, 24, 24), channels=(16, 32), probes=EXPONENTS)
linear(55, "linear_max_pool_sum_scale", "Linear layer, maxima of pairs of features, their sum, halved",
       (128, 32768, 32768), lambda t: t.unsqueeze(1).max_pool(2).squeeze(1).reduce("Sum", 1).mul(0.5), module="matmul",
       ragged=((1, 1, 2), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 61, 131)), probes=SUMS)
linear(56, "linear_sigmoid_sum", "Linear layer, sigmoid, sums of the rows", (128, 32768, 32768),
       lambda t: t.sigmoid().reduce("Sum", 1, True), probes=SUMS,
       draws={"x": wide(4), "linear_weight": lopsided(32768)},
       why="published sums are 16384 within 20 for every input; signed, wider inputs and weights with a mean, so that "
           "every row has its own sum",
       allow=SUMMED)
def published_hard_swish(t):
    t.relu()
    t.times(t.v, lambda: t.add(3.0).div(6.0).clamp(0, 1))


conv(57, "conv_2d_relu_hard_swish", "Convolution of images, ReLU, times a clamp of (x + 3) / 6 to [0, 1]",
     (128, 8, 128, 128), 64, 3, published_hard_swish, small=(2, 24, 24), channels=(8, 32), probes=SUMS,
     draws={"x": wide(8)}, why="published values never reach the clamp; signed, wider inputs")


def sixth_of_swish(t):
    t.reduce("LogSumExp", 1, True).times(t.v, lambda: t.add(3.0).sigmoid())
    t.div(6.0).sub(t.weight("bias", [1, 1, 1, 1])).clamp(-1, 1)


conv(58, "conv_transpose_3d_log_sum_exp_swish_bias_clamp", "Transposed convolution of volumes, logarithm of the sum of "
     "exponentials over channels, a sixth of its shifted swish, a bias subtracted, clamp to [-1, 1]",
     (128, 3, 16, 32, 32), 16, 3, sixth_of_swish, **STRIDED, small=(2, 6, 12, 12), probes=EXPONENTS,
     draws=louder("conv_transpose", 432, 32, bias="uniform(0, 1) static"),
     why="published outputs differ by 0.01 at most; signed, wider inputs, larger biases of the convolution, and a last "
         "one that keeps off the clamp")
linear(59, "linear_swish_scale", "Linear layer, swish, doubled", (128, 32768, 32768), lambda t: t.swish().mul(2.0),
       module="matmul", probes=SUMS + ", special", draws=louder("matmul", 32768, 32), why=SMALL_BIASES)
conv(60, "conv_transpose_3d_swish_group_norm_hard_swish", "Transposed convolution of volumes, swish, group "
     "normalisation, hard swish", (128, 3, 16, 32, 32), 16, 3,
     lambda t: t.swish().group_norm("group_norm", 4).hard_swish(), **STRIDED, groups=4,
     small=(2, 6, 12, 12), probes=SQUARES)

# ---- 61-80 -----------------------------------------------------------------------------------------------------------

conv(61, "conv_transpose_3d_relu_group_norm", "Transposed convolution of volumes without bias, ReLU, group "
     "normalisation", (16, 64, 32, 32, 32), 128, 3, lambda t: t.relu().group_norm("group_norm", 8), **TRANSPOSED,
     bias=False, groups=8, small=(2, 6, 8, 8), channels=(12, 16), probes=SQUARES)
GROUPS_512 = ((1, 1, 1024), (3, 5, 1536), (2, 3, 2560), (5, 2, 1536))
GROUPS_256 = ((1, 1, 512), (3, 7, 768), (5, 6, 1280), (2, 4, 1792))


def doubled(t):
    t.group_norm("gn", 512).leaky_relu(0.01)
    t.emit("sum", "Add", [t.v, t.v])


linear(62, "linear_group_norm_leaky_relu_double", "Linear layer, group normalisation in 512 groups, leaky ReLU, added "
       "to itself", (1024, 8192, 8192), doubled, module="fc", small=(48, 96, 2560), ragged=GROUPS_512, probes=SQUARES)
linear(63, "linear_relu_divide", "Linear layer, ReLU, halved", (1024, 8192, 8192), lambda t: t.relu().div(2.0),
       probes=SUMS, draws=louder("linear", 8192, 16), why=SMALL_BIASES)
linear(64, "linear_log_sum_exp_leaky_relu_gelu", "Linear layer, logarithm of the sum of exponentials of each row, "
       "leaky ReLU twice, GELU twice", (1024, 8192, 8192),
       lambda t: t.reduce("LogSumExp", 1, True).leaky_relu(0.01).leaky_relu(0.01).gelu().gelu(), probes=EXPONENTS,
       draws={"x": wide(4), "linear_weight": lopsided(8192)},
       why="published outputs are 9.07 within 0.003 for every input; signed, wider inputs and weights with a mean, so "
           "that every row has its own sum",
       allow=SUMMED)
conv(65, "conv_2d_avg_pool_sigmoid_sum", "Convolution of images, means over windows, sigmoid, sum of each sample",
     (128, 8, 384, 384), 64, 3, lambda t: t.avg_pool(4).sigmoid().reduce("Sum", (1, 2, 3)), small=(3, 34, 34),
     channels=(8, 24), probes=SUMS, draws={"x": "normal(1, 4) * uniform_scalar(-8, 8)"},
     why="published sums hang on the weights alone to within 3e-5 of their size; signed inputs whose scale and sign "
         "are drawn anew",
     allow=SUMMED + "; shuffled@loose: within a draw, sums of so many bounded numbers are alike")
linear(66, "linear_dropout_softmax", "Linear layer, a dropout of one in five (the choice is an input), softmax",
       (128, 16384, 16384), lambda t: t.dropout(0.2).softmax(), module="matmul", small=(64, 256, 192),
       probes=EXPONENTS, draws=louder("matmul", 16384, 32),
       why="published outputs are all below 0.0004, so that zeros pass with a tolerance of 1e-2; signed, wider inputs "
           "and larger biases give every row a few large outputs")
conv(67, "conv_2d_gelu_mean", "Convolution of images, GELU, mean of each channel", (128, 8, 256, 256), 64, 3,
     lambda t: t.gelu().global_mean().squeeze(2, 3), small=(3, 24, 24), channels=(8, 32), probes=EXPONENTS,
     draws={"x": HEAVY},
     why="published means hang on the weights alone to within 0.002; heavy-tailed inputs, whose means stay apart",
     allow=SUMMED)
def below_parameter(t):
    constant = t.weight("constant", [], "constant(2) static", "uniform(-0.5, 0.5) static")
    t.minimum(constant).sub(constant)


linear(68, "linear_min_subtract", "Linear layer, minimum with a parameter, less that parameter", (128, 16384, 16384),
       below_parameter, probes=SUMS, draws={"x": wide(4)},
       why="published sums never reach the parameter, which is always 2, so that the minimum does nothing; signed, "
           "wider inputs and a parameter drawn at random")
conv(69, "conv_2d_hard_swish_relu", "Convolution of images, hard swish, ReLU", (128, 8, 128, 128), 64, 3,
     lambda t: t.hard_swish().relu(), small=(2, 24, 24), channels=(8, 32), probes=SUMS, draws={"x": wide(8)},
     why="published values never reach the limits of the hard swish; signed, wider inputs")


def sigmoid_added(t):
    x = t.v
    t.sigmoid().mul(2.0).add(x)


linear(70, "linear_sigmoid_scale_residual", "Linear layer, twice its sigmoid added to it", (1024, 8192, 8192),
       sigmoid_added, module="gemm", probes=SUMS + ", special", draws={"x": wide(8)},
       why="published values are so small that a straight line is close to the sigmoid; signed, wider inputs")
conv(71, "conv_2d_divide_leaky_relu", "Convolution of images, halved, leaky ReLU", (128, 8, 128, 128), 64, 3,
     lambda t: t.div(2.0).leaky_relu(0.01), small=(2, 24, 24), channels=(8, 32), probes=SUMS)
conv(72, "conv_transpose_3d_batch_norm_avg_pool_avg_pool", "Transposed convolution of volumes, batch normalisation, "
     "means over windows twice", (64, 3, 32, 32, 32), 16, 3,
     lambda t: t.batch_norm("batch_norm").avg_pool(2).avg_pool(2), **STRIDED, small=(2, 8, 10, 10),
     probes=SQUARES, allow=BATCH)
conv(73, "conv_2d_batch_norm_scale", "Convolution of images, batch normalisation, doubled", (128, 8, 128, 128), 64, 3,
     lambda t: t.batch_norm("bn").mul(2.0), small=(2, 24, 24), channels=(8, 32), probes=SQUARES, allow=BATCH)
conv(74, "conv_transpose_3d_leaky_relu_multiply_leaky_relu_max_pool",
     "Transposed convolution of volumes, leaky ReLU, a "
     "factor for each channel, leaky ReLU, maxima over windows", (16, 16, 16, 32, 32), 32, 3,
     lambda t: t.leaky_relu(0.2).mul(t.weight("multiplier", PER_VOLUME)).leaky_relu(0.2).max_pool(2), **DOUBLING,
     small=(2, 4, 8, 8), channels=(12, 20), probes=SUMS)
linear(75, "linear_group_norm_min_bias", "Linear layer, group normalisation in 512 groups, minimum of each row, which "
       "meets every element of a bias", (1024, 8192, 8192),
       lambda t: (t.group_norm("group_norm", 512).reduce("Min", 1, True).add(t.weight("bias", [1, "N", 1, 1]))),
       module="gemm", small=(48, 96, 2560), ragged=GROUPS_512, probes=SQUARES)
linear(76, "linear_bias_relu", "Linear layer without bias, a bias, ReLU", (1024, 8192, 8192),
       lambda t: t.add(t.weight("bias", ["N"])).relu(), module="gemm", bias=False, probes=SUMS)
conv(77, "conv_transpose_3d_scale_batch_norm_mean", "Transposed convolution of volumes, doubled, batch normalisation, "
     "mean of each channel", (16, 64, 16, 32, 32), 128, 5,
     lambda t: t.mul(2.0).batch_norm("batch_norm").global_mean(), **TRANSPOSED, small=(3, 4, 6, 6), channels=(12, 16),
     probes=SQUARES, allow=BATCH, draws={"x": HEAVY, "batch_norm_weight": "uniform(5, 15) static"},
     why="published means are zero within 0.01; heavy-tailed inputs, whose means stay apart, and factors large enough "
         "to show it")
conv(78, "conv_transpose_3d_max_pool_max_pool_sum", "Transposed convolution of volumes, maxima over windows twice, sum "
     "over channels", (16, 32, 32, 32, 32), 64, 5, lambda t: t.max_pool(2).max_pool(3).reduce("Sum", 1, True),
     **{**STRIDED, "pad": 2}, small=(2, 6, 6, 8), channels=(8, 12), probes=SUMS,
     draws={"x": wide(4)}, why="published outputs are alike to 2e-2 of their size; signed, wider inputs",
     allow=SUMMED)
def clamped_between_factors(t):
    factor = t.weight("multiplier", PER_VOLUME)
    t.mul(factor).instance_norm().clamp(-1, 1).mul(factor).reduce("Max", 1)


conv(79, "conv_3d_multiply_instance_norm_clamp_multiply_max", "Convolution of volumes, a factor for each channel, "
     "instance normalisation, clamp to [-1, 1], the factor again, maximum over channels", (128, 3, 16, 32, 32), 16, 3,
     clamped_between_factors, small=(2, 8, 14, 14), probes=SQUARES,
     allow=CANCELS.format("the normalisation of every channel"))


def less_mean(t):
    """Over one element, as published, the mean takes all away; the default form takes it over the batch."""
    t.reduce("Max", 1, True)
    x, shape, dims = t.v, t.shape, t.dims
    t.emit("mean", "ReduceMean", [x, t.constant("rows", "int64[1] NAME = {0}")], ["keepdims = 1"], shape, dims)
    t.published_constants["rows"] = ("1", "0")
    t.emit("difference", "Sub", [x, t.v]).gelu()


linear(80, "linear_max_subtract_mean_gelu", "Linear layer, maximum of each row, less the mean of these, GELU",
       (1024, 8192, 8192), less_mean, module="gemm",
       ragged=((2, 1, 1), (3, 37, 3), (17, 65, 33), (61, 7, 97), (5, 31, 131)), probes=EXPONENTS,
       draws=louder("gemm", 8192, 16),
       why="the published mean is over the one element that the maximum left, and every output is zero; the mean over "
           "the rows, signed inputs, larger weights and biases")

# ---- 81-100 ----------------------------------------------------------------------------------------------------------

linear(81, "linear_swish_divide_clamp_tanh_clamp", "Linear layer, swish, halved, clamp to [-1, 1], hyperbolic tangent, "
       "clamp again", (1024, 8192, 8192), lambda t: t.swish().div(2.0).clamp(-1, 1).tanh().clamp(-1, 1), module="gemm",
       probes=SUMS, draws=louder("gemm", 8192, 16),
       why="published values never reach the clamp; signed inputs, larger weights and biases")
conv(82, "conv_2d_tanh_scale_bias_max_pool", "Convolution of images, hyperbolic tangent, doubled, a bias for each "
     "channel, maxima over windows", (128, 8, 256, 256), 64, 3,
     lambda t: t.tanh().mul(2.0).add(t.weight("bias", PER_IMAGE)).max_pool(4), small=(2, 30, 30), channels=(8, 32),
     probes=SUMS)
conv(83, "conv_3d_group_norm_min_clamp_dropout", "Convolution of volumes, group normalisation, minimum with a bound, "
     "clamp to [0, 1], a dropout of one in five (the choice is an input)", (128, 3, 16, 64, 64), 16, 3,
     lambda t: t.group_norm("norm", 8).minimum(0.5, published=0).clamp(0, 1).dropout(0.2), groups=8,
     small=(2, 8, 14, 14), probes=SQUARES,
     why="the published bound is 0, the lower limit of the clamp, and every output is zero; the bound 0.5")
linear(84, "linear_batch_norm_scale_softmax", "Linear layer, batch normalisation, a factor, softmax",
       (1024, 8192, 8192),
       lambda t: t.batch_norm("bn").mul(t.weight("scale", [1], ONES)).softmax(), module="gemm", ragged=BATCHES,
       probes=SQUARES, allow=BATCH, draws={"scale": "uniform(4, 8) static"},
       why="published outputs are below 0.015, most far below, so that zeros almost pass with a tolerance of 1e-2; a "
           "larger factor gives every row a few large outputs")
conv(85, "conv_2d_group_norm_scale_max_pool_clamp", "Convolution of images, group normalisation, a factor for each "
     "channel, maxima over windows, clamp to [0, 1]", (128, 8, 128, 128), 64, 3,
     lambda t: (t.group_norm("group_norm", 16).mul(t.weight("scale", PER_IMAGE, ONES, "uniform(0.5, 1.5) static"))
                .max_pool(4).clamp(0, 1)), groups=16, small=(2, 30, 30), channels=(8, 32), probes=SQUARES)
linear(86, "linear_divide_gelu", "Linear layer, divided by 10, GELU", (1024, 8192, 8192), lambda t: t.div(10.0).gelu(),
       probes=EXPONENTS, draws=louder("linear", 8192, 64),
       why="published values are so small that a parabola is close to GELU; signed inputs, larger weights and biases")
conv(87, "conv_2d_subtract_subtract_mish", "Convolution of images, less 0.5, less 0.2, Mish", (128, 8, 256, 256), 64, 3,
     lambda t: t.sub(0.5).sub(0.2).mish(), small=(2, 24, 24), channels=(8, 32), probes=SUMS)
linear(88, "linear_group_norm_swish_multiply_swish", "Linear layer, group normalisation in 256 groups, swish, a factor "
       "for each feature, swish", (1024, 8192, 8192),
       lambda t: t.group_norm("group_norm", 256).swish().mul(t.weight("multiply_weight", ["N"])).swish(), module="gemm",
       small=(64, 96, 1280), ragged=GROUPS_256, probes=SQUARES)


def swish_of_rest(t):
    t.max_pool(2).softmax()
    x = t.v
    subtract, _ = t.weight("subtract", ["CO"])
    t.lines.append(f"parameter = Unsqueeze({subtract}, {t.axes((1, 2, 3))})")
    t.emit("difference", "Sub", [x, "parameter"])
    t.swish().reduce("Max", 1)


conv(89, "conv_transpose_3d_max_pool_softmax_subtract_swish_max", "Transposed convolution of volumes, maxima over "
     "windows, softmax over channels, a parameter subtracted for each, swish, maximum over channels",
     (128, 3, 16, 32, 32), 16, 3, swish_of_rest, **DOUBLING, small=(2, 6, 12, 12), probes=EXPONENTS,
     draws=louder("conv_transpose", 432, 32),
     why="published outputs differ by 0.01 at most; signed inputs of a scale at which channels differ, and larger "
         "biases")
conv(90, "conv_3d_leaky_relu_add_clamp_gelu", "Convolution of volumes, leaky ReLU with slope 0.2, a parameter added "
     "for each channel, clamp to [-1, 1], GELU", (128, 8, 16, 64, 64), 64, 3,
     lambda t: t.leaky_relu(0.2).add(t.weight("sum_tensor", PER_VOLUME)).clamp(-1, 1).gelu(), small=(2, 8, 12, 12),
     channels=(8, 16), probes=SUMS)
conv(91, "conv_transpose_2d_softmax_bias_scale_sigmoid", "Transposed convolution, softmax over channels, a bias for "
     "each, doubled, sigmoid", (128, 64, 64, 64), 128, 4,
     lambda t: t.softmax().add(t.weight("bias", PER_IMAGE)).mul(2.0).sigmoid(), **DOUBLING, small=(2, 12, 12),
     channels=(16, 32), probes=EXPONENTS, draws=louder("conv_transpose", 2048, 32),
     why="published outputs hang on the weights alone to within 0.002; signed inputs of a scale at which channels "
         "differ, and larger biases")


def residual_of_activations(t):
    x = t.v
    t.group_norm("group_norm", 16).tanh().hard_swish()
    t.emit("sum", "Add", [x, t.v]).reduce("LogSumExp", 1, True)


conv(92, "conv_2d_group_norm_tanh_hard_swish_residual_log_sum_exp", "Convolution of images; its group normalisation, "
     "tangent and hard swish added to it; logarithm of the sum of exponentials over channels", (128, 8, 128, 128), 64,
     3,
     residual_of_activations, groups=16, small=(2, 24, 24), channels=(8, 32), probes=EXPONENTS,
     draws=louder("conv", 72, 8), why=ALIKE)
conv(93, "conv_transpose_2d_add_min_gelu_scale", "Transposed convolution, plus 0.5, minimum with 0, GELU, doubled",
     (128, 64, 64, 64), 128, 4, lambda t: t.add(0.5).minimum(0.0).gelu().mul(2.0), transposed=True, stride=2,
     module="conv_transpose", small=(2, 12, 12), channels=(16, 32), probes=EXPONENTS, draws={"x": wide(8)},
     why="published values are below -0.5 almost nowhere, so that almost every output is zero; signed, wider inputs")
linear(94, "linear_bias_hard_tanh_mish_group_norm", "Linear layer, a bias, clamp to [-1, 1], Mish, group normalisation "
       "in 256 groups", (1024, 8192, 8192),
       lambda t: t.add(t.weight("bias", ["N"])).clamp(-1, 1).mish().group_norm("groupnorm", 256), module="gemm",
       small=(64, 96, 1280), ragged=GROUPS_256, probes=SQUARES)
linear(95, "linear_add_swish_tanh_gelu_hard_tanh", "Linear layer, a parameter added for each feature, swish, "
       "hyperbolic tangent, GELU, clamp to [-1, 1]", (1024, 8192, 8192),
       lambda t: t.add(t.weight("add_value", ["N"])).swish().tanh().gelu().clamp(-1, 1), module="matmul", probes=SUMS,
       draws=louder("matmul", 8192, 8), why=SMALL_BIASES)
conv(96, "conv_transpose_3d_scale_max_pool_mean_clamp", "Transposed convolution of volumes, halved, maxima over "
     "windows, mean of each channel, clamp to [0, 1]", (128, 3, 16, 32, 32), 16, 3,
     lambda t: t.mul(0.5).max_pool(2).global_mean().clamp(0, 1), **STRIDED, small=(4, 6, 10, 10), probes=SUMS,
     draws={"x": HEAVY},
     why="published means hang on the weights alone to within 0.0003; heavy-tailed inputs, whose means stay apart")
linear(97, "linear_batch_norm_bias_divide_swish", "Linear layer, batch normalisation, a bias, divided by 1, swish",
       (1024, 8192, 8192), lambda t: t.batch_norm("bn").add(t.weight("bias", [1])).div(1.0).swish(), module="matmul",
       ragged=BATCHES, probes=SQUARES, allow=BATCH)
linear(98, "linear_avg_pool_gelu_scale_max", "Linear layer, means of 16 features, GELU, doubled, maximum of each row",
       (1024, 8192, 8192), lambda t: t.unsqueeze(1).avg_pool(16).squeeze(1).gelu().mul(2.0).reduce("Max", 1),
       module="matmul", ragged=((1, 1, 16), (1, 37, 19), (17, 65, 33), (61, 7, 97), (5, 61, 131)), probes=EXPONENTS,
       draws=louder("matmul", 8192, 16), why=SMALL_BIASES)
linear(99, "linear_gelu_softmax", "Linear layer, GELU, softmax", (1024, 8192, 8192), lambda t: t.gelu().softmax(),
       probes=EXPONENTS, draws=louder("linear", 8192, 16),
       why="published outputs are all about 1.2e-4, so that zeros pass with a tolerance of 1e-2; signed, wider inputs "
           "and larger biases give every row a few large outputs")
conv(100, "conv_transpose_3d_clamp_divide", "Transposed convolution of volumes, clamp from below at -1, halved",
     (16, 64, 24, 48, 48), 128, 3, lambda t: t.clamp(-1).div(2.0), **STRIDED, small=(2, 6, 8, 8), channels=(12, 16),
     probes=SUMS, draws={"x": wide(16)},
     why="published values never reach the clamp; signed, wider inputs")

if __name__ == "__main__":
    LEVEL.main()
