# SPDX-License-Identifier: Apache-2.0
"""Fusion: several operators in a row."""
from kernelbenchx.index import COMPACTED, COMPACTION, COUNTED, EXTENT
from kernelbenchx.suite import DIGITS, NORMAL, SIGNED, SUITE, UNIT, WEIGHT, Input, loads, powers

VECTOR = loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4099)
ROWS_RAGGED = ((1, 2), (3, 7), (7, 1021), (61, 33), (1, 4099))
SCALED = "normal(0, 1) * uniform_scalar(0.5, 2.5)"


def fused(name, title, inputs, outputs, body, workloads, call=None, **more):
    name = f"fused_{name}"
    names = ", ".join(i.name for i in inputs)
    SUITE.task("Fusion", name, title, inputs, outputs, body, workloads, call or f"{name}({names})", **more)


def vectors(*names, dist=NORMAL, published=UNIT):
    return [Input(n, ["N"], dist, published) for n in names]


# ---- elementwise -----------------------------------------------------------------------------------------------------

fused("add_gelu", "GELU of a sum", vectors("input", "other"), ["N"], ["s = Add(input, other)", "y = Gelu(s)"], VECTOR,
      repair=SIGNED, probes="near_overflow(1e12)", note="the ladder's tensors are fp16")
fused("cos_signbit", "Cosine, and whether its sign bit is set", vectors("input", dist="uniform(-10, 10)"),
      [("cosine", "float", ["N"]), ("sign", "bool", ["N"])],
      ["cosine = Cos(input)", "bits = BitCast<to = 6>(cosine)", "sign = Less(bits, zero)"], VECTOR,
      constants=["int32 zero = {0}"], opset=26,
      repair="the ladder draws from [0, 1), where no cosine is below zero; angles of several turns")
fused("hstack_div", "Two vectors, one after the other, divided by 2",
      [Input("first", ["N"], NORMAL, UNIT), Input("second", ["N"], NORMAL, UNIT)], ["L"],
      ["both = Concat<axis = 0>(first, second)", "y = Div(both, two)"],
      loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4093), "fused_hstack_div([first, second], 2.0)",
      constants=["float two = {2.0}"], repair=SIGNED, probes="near_overflow(3e38), special")
fused("log_tanh", "Hyperbolic tangent of the logarithm",
      vectors("input", dist="uniform(0.001, 1) * uniform_scalar(0.5, 4)"), ["N"],
      ["l = Log(input)", "y = Tanh(l)"], VECTOR, probes="-subnormal", allow="one_sided: defined above zero only",
      repair="the ladder draws from [0, 1) only, where no logarithm is above zero; a scale drawn anew")
fused("mul_sub", "A product less a third vector", vectors("input", "other_mul", "other_sub"), ["N"],
      ["p = Mul(input, other_mul)", "y = Sub(p, other_sub)"], VECTOR, repair=SIGNED, probes="near_overflow(1e18), special")
fused("relu_sqrt", "Square root of what is above zero", vectors("input"), ["N"], ["r = Relu(input)", "y = Sqrt(r)"],
      VECTOR, repair=SIGNED)
fused("sub_gelu", "GELU of a difference", vectors("input", "other"), ["N"],
      ["d = Sub(input, other)", "h = Div(d, root)", "e = Erf(h)", "s = Add(e, one)", "p = Mul(d, s)", "y = Mul(p, half)"],
      loads("N", powers(12, 25), 65536, 1, 3, 257, 1021, 4099), probes="near_overflow(1e12)", digits=DIGITS,
      constants=["float root = {1.4142135}", "float one = {1.0}", "float half = {0.5}"],
      published_constants={"one": ("0", "1")}, mathematics="F.gelu(input - other)",
      repair="the published function is r erf(r / sqrt 2) / 2, GELU less r/2; and signed inputs")
fused("tile_exp", "Exponentials of a vector, twice", vectors("input"), ["L"], ["t = Tile(input, two)", "y = Exp(t)"],
      loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4093), "fused_tile_exp(input, (2,)).flatten()",
      constants=["int64[1] two = {2}"], repair=SIGNED, probes="near_overflow(80)",
      note="the published function gives the copies a dimension of their own, where its text and its example put them into one "
           "row: the same numbers")

# ---- reductions of one row, which is M = 1 here ----------------------------------------------------------------------


def reduction(name, title, inputs, body, first, last, call, small=(128, 512), **more):
    drawn = [Input(i, ["M", "N"], more["dist"], UNIT) for i in inputs]
    del more["dist"]
    fused(name, title, drawn, ["M"], body, loads("M N", [(1, n) for n in powers(first, last)], small, *ROWS_RAGGED), call,
          ladder=[["N"]] * len(inputs), **more)


AXIS = "int64[1] axis = {1}"
reduction("add_mean", "Mean of the sum of two rows", ["input", "other"],
          ["s = Add(input, other)", "y = ReduceMean<keepdims = 0>(s, axis)"], 12, 27, "fused_add_mean(input, other, 1)",
          dist="slash(1)", constants=[AXIS], probes="near_overflow(1e34), special",
          repair="published means are 1 within 0.0005 from 2^20 elements on; heavy tails")
reduction("exp_mean", "Mean of the exponentials of each row", ["input"],
          ["e = Exp(input)", "y = ReduceMean<keepdims = 0>(e, axis)"], 12, 29, "fused_exp_mean(input, 1)",
          dist="normal(0, 1) * uniform_scalar(0.5, 2)", constants=[AXIS], probes="near_overflow(80)",
          repair="the published mean is e - 1 for every input; inputs of a scale drawn anew")
STD = ["mean = ReduceMean<keepdims = 1>(g, axis)", "d = Sub(g, mean)", "squares = ReduceSumSquare<keepdims = 0>(d, axis)",
       "extent = Shape<start = 1, end = 2>(input)", "n = Cast<to = 1>(extent)", "count = Sub(n, one)",
       "variance = Div(squares, count)", "y = Sqrt(variance)"]
reduction("gelu_std", "Standard deviation of the GELU of each row, with N - 1", ["input"], ["g = Gelu(input)"] + STD,
          12, 27, "fused_gelu_std(input, 1)", dist="normal(0.5, 1) * uniform_scalar(0.25, 4)",
          constants=[AXIS, "float one = {1.0}"], probes="near_overflow(1e15)",
          repair="the published deviation is the same for every input; inputs of a scale drawn anew")
reduction("gelu_min", "Minimum of the Gaussian error linear unit of each row", ["input"],
          ["h = Div(input, root)", "e = Erf(h)", "s = Add(e, one)", "p = Mul(input, s)", "g = Mul(p, half)",
           "y = ReduceMin<keepdims = 0>(g, axis)"], 12, 27, "fused_gelu_min(input, dim=1)[0]", (4096, 16),
          dist="uniform(0.5, 1.5) * uniform_scalar(-4, 4)", digits=DIGITS,
          constants=[AXIS, "float root = {1.4142135}", "float one = {1.0}", "float half = {0.5}"],
          published_constants={"one": ("0", "1")}, mathematics="F.gelu(input).min(1)[0]", probes="near_overflow(1e30)",
          repair="the published function is x erf(x / sqrt 2) / 2, GELU less x/2; and the minimum of GELU over many "
                 "numbers of both signs is always -0.17, which the default inputs avoid")

# ---- matrices --------------------------------------------------------------------------------------------------------

LINEAR = [Input("input", ["M", "K"], NORMAL), Input("weight", ["N", "K"], WEIGHT), Input("bias", ["N"], WEIGHT)]
GEMM = "z = Gemm<transB = 1>(input, weight, bias)"


def linear(name, title, body, ladder, probes="near_overflow(1e12)", small=(96, 192, 160), **more):
    fused(f"{name}_linear", title, LINEAR, ["M", "N"], [GEMM] + body,
          loads("M K N", ladder, small, (1, 1, 2), (2, 3, 4), (5, 3, 7), (17, 65, 33), (61, 7, 67)), probes=probes, **more)


linear("elu", "Exponential linear unit of a linear layer", ["y = Elu<alpha = 1.0>(z)"],
       [(1024, k, 256) for k in powers(8, 16)])
linear("tanh", "Hyperbolic tangent of a linear layer", ["y = Tanh(z)"],
       [(2 ** (i - 3), 2 ** i, 2 ** (i - 2)) for i in range(5, 16)])
linear("softplus", "Logarithm of one plus the exponential of a linear layer, above 20 the layer itself",
       ["e = Exp(z)", "s = Add(e, one)", "l = Log(s)", "above = Greater(z, limit)", "y = Where(above, z, l)"],
       [(1, n, n) for n in powers(4, 15)], constants=["float one = {1.0}", "float limit = {20.0}"])
linear("log_softmax", "Logarithm of the softmax of a linear layer", ["y = LogSoftmax<axis = 1>(z)"],
       [(32, n, n) for n in powers(4, 14)], "near_overflow(1e4)")
fused("layer_norm_relu_linear", "Layer normalisation of the ReLU of a linear layer", LINEAR, ["M", "N"],
      [GEMM, "r = Relu(z)", "n = Shape(bias)", "ones = ConstantOfShape<value = float[1] {1.0}>(n)",
       "y = LayerNormalization<axis = 1, epsilon = 1e-5>(r, ones)"],
      loads("M K N", [(32, 2 ** i, 2 ** (i - 1)) for i in range(8, 18)], (96, 192, 160), (1, 1, 2), (2, 3, 4), (5, 3, 7),
            (17, 65, 33), (61, 7, 67), full=(32, 65536, 32768)),
      "fused_layer_norm_relu_linear(input, weight, bias, weight.shape[0])", probes="near_overflow(1e12)", digits=DIGITS,
      note="`full` is the second largest size: the largest has a weight of 34 GB")
fused("mv_sigmoid_sub", "Sigmoid of a matrix times a vector, less 0.5",
      [Input("input", ["N", "K"], NORMAL, UNIT), Input("vec", ["K"], NORMAL, UNIT)], ["N"],
      ["z = MatMul(input, vec)", "s = Sigmoid(z)", "y = Sub(s, other)"],
      loads("N K", powers(6, 15), (384, 512), (1, 1), (7, 3), (33, 17), (67, 61), (3, 2053)),
      "fused_mv_sigmoid_sub(input, vec, 0.5)", constants=["float other = {0.5}"], probes="near_overflow(1e12)",
      repair="published sums are K/4, whose sigmoid is 1; signed inputs")
fused("embedding_add_tanh", "Hyperbolic tangent of rows of a table plus a tensor",
      [Input("input_indices", ["B", "L"], "labels(V) fixed", dtype="int64"), Input("weight", ["V", "D"], WEIGHT),
       Input("other", ["B", "L", "D"], NORMAL)], ["B", "L", "D"],
      ["e = Gather<axis = 0>(weight, input_indices)", "s = Add(e, other)", "y = Tanh(s)"],
      loads("B L V D", [(2 ** (i // 3), 2 ** ((i + 1) // 3), 1024, 2 ** ((i + 2) // 3)) for i in range(8, 28)],
            (16, 32, 1024, 64), (1, 1, 1, 1), (2, 3, 5, 7), (4, 7, 61, 33), (3, 5, 127, 17), (1, 67, 31, 61)),
      probes="near_overflow(1e30)")
fused("softmax_log", "Softmax of logarithms of rows",
      [Input("input", ["M", "N"], "uniform(0.001, 1) * uniform_scalar(0.5, 4) above(0)", UNIT)], ["M", "N"],
      ["l = Log(input)", "y = Softmax<axis = 1>(l)"],
      loads("M N", [(1024, n) for n in powers(4, 19)], (4096, 16), *ROWS_RAGGED),
      repair="the ladder draws 0 now and then, whose logarithm is minus infinity; numbers from 0.001",
      probes="near_overflow(1e30), -subnormal")
fused("sum_std", "Standard deviation of the sums of rows, with one less than their number",
      [Input("input", ["N", "K"], "normal(0, 1) * uniform_scalar(0.25, 4)")], [],
      ["s = ReduceSum<keepdims = 0>(input, axis)", "mean = ReduceMean<keepdims = 0>(s)", "d = Sub(s, mean)",
       "squares = ReduceSumSquare<keepdims = 0>(d)", "extent = Shape<start = 0, end = 1>(input)", "n = Cast<to = 1>(extent)",
       "flat = Squeeze(n)", "count = Sub(flat, one)", "variance = Div(squares, count)", "y = Sqrt(variance)"],
      loads("N K", [(n // 64, 64) for n in powers(12, 24)], (512, 256), (2, 1), (3, 7), (7, 1021), (61, 33), (4099, 1)),
      "fused_sum_std(input, dim=1)", constants=[AXIS, "float one = {1.0}"], probes="near_overflow(1e15)",
      ladder=[["N*K"]],
      note="the ladder sums its whole vector to one number, whose deviation is 0 whatever goes in; as many elements in "
           "rows of 64 here")

# ---- losses and distances --------------------------------------------------------------------------------------------

LABELS = Input("target", ["B"], "labels(C) fixed", dtype="int64")
MOVES = "the published loss hardly changes from draw to draw; logits of a scale drawn anew"
fused("cross_entropy_log_softmax", "Mean cross entropy of logarithms of softmax against labels",
      [Input("input", ["B", "C"], "normal(0, 1) * uniform_scalar(0.5, 6)", NORMAL), LABELS], [],
      ["l = LogSoftmax<axis = 1>(input)", 'y = SoftmaxCrossEntropyLoss<reduction = "mean">(l, target)'],
      loads("B C", [(b, 128) for b in powers(12, 23)], (128, 512), (1, 2), (3, 7), (7, 1021), (61, 33), (67, 1)),
      probes="near_overflow(1e4)", repair=MOVES)
fused("cross_entropy_softmax_layernorm", "Mean cross entropy, and layer normalisation of the softmax of rows",
      [Input("logits", ["B", "C"], "normal(0, 1) * uniform_scalar(0.5, 6)", NORMAL),
       Input("targets", ["B"], "labels(C) fixed", dtype="int64")], [("loss", "float", []), ("output", "float", ["B", "C"])],
      ['loss = SoftmaxCrossEntropyLoss<reduction = "mean">(logits, targets)', "p = Softmax<axis = 1>(logits)",
       "n = Shape<start = 1, end = 2>(logits)", "ones = ConstantOfShape<value = float[1] {1.0}>(n)",
       "output = LayerNormalization<axis = 1, epsilon = 1e-5>(p, ones)"],
      loads("B C", [(b, 1024) for b in powers(8, 19)], (128, 512), (1, 2), (3, 7), (7, 1021), (61, 33), (67, 3)),
      "fused_cross_entropy_softmax_layernorm(logits, targets, C)", probes="near_overflow(1e4)", digits=DIGITS, repair=MOVES)
fused("cosine_embedding_loss_with_normalization", "Mean of one less the cosines of pairs that are alike, and of the others' above zero",
      [Input("input1", ["B", "D"], "normal(0.5, 1)", NORMAL), Input("input2", ["B", "D"], "normal(0.5, 1)", NORMAL),
       Input("target", ["B"], "signs() fixed")], [],
      ["n1 = ReduceL2<keepdims = 1>(input1, axis)", "k1 = Max(n1, least)", "a = Div(input1, k1)",
       "n2 = ReduceL2<keepdims = 1>(input2, axis)", "k2 = Max(n2, least)", "b = Div(input2, k2)", "ab = Mul(a, b)",
       "cosine = ReduceSum<keepdims = 0>(ab, axis)", "alike = Greater(target, zero)", "near = Sub(one, cosine)",
       "far = Add(cosine, shift)", "gap = Where(alike, near, far)", "loss = Relu(gap)", "y = ReduceMean<keepdims = 0>(loss)"],
      loads("B D", [(b, 256) for b in powers(12, 20)], (512, 256), (2, 1), (3, 7), (7, 1021), (61, 33), (1, 4099)),
      constants=[AXIS, "float least = {1e-12}", "float one = {1.0}", "float zero = {0.0}", "float shift = {0.0}"],
      published_constants={"shift": ("1", "0")}, probes="near_overflow(1e15), -subnormal",
      mathematics="F.cosine_embedding_loss(F.normalize(input1), F.normalize(input2), target)",
      allow="; ".join(f"{finding}: a mean of cosines, which no scale moves, and the contract sees"
                       for finding in ("constant", "other_draw", "insensitive")),
      repair="the published function is 1 + cos for pairs that are to differ, where the loss of this name is the cosine above "
             "zero; and cosines of the published rows are near zero and the loss is 1 within a percent: rows with a mean")
fused("pairwise_distance_normalize", "Distances of all pairs of rows that are normalised before",
      [Input("x1", ["M", "D"], NORMAL), Input("x2", ["N", "D"], NORMAL)], ["M", "N"],
      ["n1 = ReduceL2<keepdims = 1>(x1, rows)", "k1 = Max(n1, least)", "a = Div(x1, k1)",
       "n2 = ReduceL2<keepdims = 1>(x2, rows)", "k2 = Max(n2, least)", "b = Div(x2, k2)", "au = Unsqueeze(a, one)",
       "bu = Unsqueeze(b, zero)", "d = Sub(au, bu)", "n = ReduceL2<keepdims = 0>(d, rows)", "y = Max(n, distance)"],
      loads("M N D", [(n, n, 128) for n in powers(6, 13)], (96, 80, 32), (1, 1, 1), (3, 5, 7), (13, 7, 61), (31, 17, 13),
            (2, 3, 1031)),
      constants=["int64[1] rows = {-1}", "int64[1] zero = {0}", "int64[1] one = {1}", "float least = {1e-12}",
                 "float distance = {1e-6}"], probes="-subnormal",
      note="of every row of the one with every row of the other, as the published function; its text says no more than "
           "\"pairwise\"")
fused("pairwise_distance_adaptive_avg_pool2d", "Distance of two images after means over 2 x 2 windows, plus 1e-6",
      [Input(x, ["N", "C", "H", "W"], SCALED, NORMAL) for x in ("x1", "x2")], ["N"],
      ["p1 = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x1)",
       "p2 = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(x2)", "d = Sub(p1, p2)",
       "n = ReduceL2<keepdims = 0>(d, axes)", "y = Add(n, eps)"],
      loads("N C H W", [(16, 3, n, n) for n in powers(4, 13)], (16, 3, 64, 64), (1, 1, 2, 2), (2, 3, 6, 10), (1, 5, 34, 22),
            (3, 1, 2, 62), (1, 1, 66, 74)),
      "fused_pairwise_distance_adaptive_avg_pool2d(x1, x2, (H // 2, W // 2))",
      constants=["int64[3] axes = {1, 2, 3}", "float eps = {1e-6}"], probes="near_overflow(1e15)",
      repair="published distances of large images are the same within a percent; inputs of scales drawn anew")

# ---- images ----------------------------------------------------------------------------------------------------------

IMAGE = ["N", "CI", "H", "W"]
OUT = ["N", "CO", "OH", "OW"]
SAME = "pads = [1, 1, 1, 1]"


def conv(name, title, body, ladder, small, ragged, after=(), out=OUT, pad=False, bias=True, call="", taps=WEIGHT, **more):
    """Workloads are of N, CI, H, W and CO; body: what follows the convolution z; after: further inputs."""
    inputs = [Input("input", IMAGE, NORMAL), Input("weight", ["CO", "CI", 3, 3], taps)]
    inputs += [Input("bias", ["CO"], WEIGHT)] if bias else []
    convolution = f"z = Conv<kernel_shape = [3, 3]{', ' + SAME if pad else ''}>(input, weight{', bias' if bias else ''})"
    fused(f"{name}_conv2d", title, inputs + list(after), out, [convolution] + body,
          loads("N CI H W CO", ladder, small, *ragged), call or None, probes=more.pop("probes", "near_overflow(1e12)"), **more)


RAGGED = ((1, 1, 3, 4, 1), (2, 3, 5, 7, 5), (1, 7, 8, 21, 2), (3, 2, 4, 3, 17))
SMALL = (2, 8, 32, 32, 24)
conv("gelu", "GELU of a convolution", ["y = Gelu(z)"],
     [(16, 16, h, h, 32) for h in (16, 22, 32, 45, 64, 90, 128, 181, 256, 362, 512, 724, 1024, 1448)], SMALL, RAGGED,
     pad=True, bias=False, call="fused_gelu_conv2d(input, weight, padding=1)")
conv("leaky_relu", "Leaky ReLU of a convolution", ["y = LeakyRelu<alpha = 0.01>(z)"],
     [(1, 3, 128 * i, 128 * i, 6) for i in range(2, 12)], SMALL, RAGGED, digits=DIGITS,
     note="drawn normally, where the ladder draws from [0, 1)")
conv("relu", "ReLU of a convolution", ["y = Relu(z)"], [(1, 3, h, h, 64) for h in powers(5, 11)], SMALL, RAGGED, pad=True,
     bias=False, call="fused_relu_conv2d(input, weight, padding=1)")
conv("relu_max_pool2d", "ReLU of maxima over 2 x 2 windows of a convolution",
     ["m = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(z)", "y = Relu(m)"],
     [(1, 3, 2 ** s + 2, 2 ** s + 2, 64) for s in range(5, 14)], SMALL,
     ((1, 1, 4, 5, 1), (2, 3, 5, 7, 5), (1, 7, 8, 21, 2), (3, 2, 4, 4, 17)))
conv("pixel_shuffle", "A convolution whose channels become 2 x 2 pixels",
     ['y = DepthToSpace<blocksize = 2, mode = "CRD">(z)'], [(16, 3, h, h, 12) for h in powers(4, 10)], SMALL,
     ((1, 1, 3, 4, 4), (2, 3, 5, 7, 8), (1, 7, 8, 21, 4), (3, 2, 4, 3, 16)), out=["N", "C", "OH", "OW"])
conv("instance_norm_selu", "Instance normalisation of the SELU of a convolution",
     ["s = Selu(z)", "n = Shape(bias)", "ones = ConstantOfShape<value = float[1] {1.0}>(n)", "zeros = ConstantOfShape(n)",
      "y = InstanceNormalization<epsilon = 1e-5>(s, ones, zeros)"],
     [(2 ** (s - 5), 2 ** (s - 2), 2 ** s, 2 ** s, 64) for s in range(5, 11)], SMALL, RAGGED, digits=DIGITS)
fused("silu_layer_norm_conv2d", "SiLU of the layer normalisation of a convolution over channels, rows and columns",
      [Input("x", IMAGE, NORMAL), Input("conv_weight", ["CO", "CI", 3, 3], WEIGHT), Input("conv_bias", ["CO"], WEIGHT)],
      OUT, ["z = Conv<kernel_shape = [3, 3]>(x, conv_weight, conv_bias)", "n = Shape<start = 1, end = 4>(z)",
            "ones = ConstantOfShape<value = float[1] {1.0}>(n)",
            "l = LayerNormalization<axis = 1, epsilon = 1e-5>(z, ones)", "s = Sigmoid(l)", "y = Mul(l, s)"],
      loads("N CI H W CO", [(2 ** (i - 5), 2 ** (i - 2), 2 ** i, 2 ** i, 64) for i in range(5, 10)], SMALL, *RAGGED),
      "fused_silu_layer_norm_conv2d(x, None, conv_weight, conv_bias)", digits=DIGITS, probes="near_overflow(1e12)",
      ladder=[IMAGE, ["CO"], ["CO", "CI", 3, 3], ["CO"]],
      note="the published `weight` is never used, and is no input here")
conv("relu_batch_norm", "ReLU of a normalised convolution with given statistics",
     ["b = BatchNormalization<epsilon = 1e-5>(z, bn_weight, bn_bias, running_mean, running_var)", "y = Relu(b)"],
     [(1, 64 * 2 ** i, 32 * 2 ** i, 32 * 2 ** i, 128 * 2 ** i) for i in range(5)], SMALL, RAGGED, pad=True, bias=False,
     digits=DIGITS, after=[Input("running_mean", ["CO"], WEIGHT, "constant(0) static"),
                           Input("running_var", ["CO"], "uniform(0.25, 4) static fixed", "constant(1) static"),
                           Input("bn_weight", ["CO"], WEIGHT, "constant(1) static"),
                           Input("bn_bias", ["CO"], WEIGHT, "constant(0) static")],
     call="fused_relu_batch_norm_conv2d(input, weight, None, 1, 1, 1, 1, running_mean, running_var, bn_weight, bn_bias)",
     repair="published statistics are 0 and 1, and scales 1, which leave the convolution as it is; random ones")
fused("conv2d_add", "A convolution plus a tensor",
      [Input("input", IMAGE, NORMAL), Input("weight", ["CO", "CI", 3, 3], WEIGHT), Input("other", ["N", "CO", "H", "W"], NORMAL)],
      ["N", "CO", "H", "W"], [f"z = Conv<kernel_shape = [3, 3], {SAME}>(input, weight)", "y = Add(z, other)"],
      loads("N CI H W CO", [(16, 32, h, h, 32) for h in powers(5, 10)], SMALL, *RAGGED),
      "fused_conv2d_add(input, weight, None, other, padding=1)", probes="near_overflow(1e12)")
NORM = [Input("running_mean", ["C"], WEIGHT), Input("running_var", ["C"], "uniform(0.25, 4) static fixed"),
        Input("weight", ["C"], WEIGHT), Input("bias", ["C"], WEIGHT)]
VARIANCES = "variances are drawn from [0.25, 4), where the ladder's are absolute values of normal numbers"
fused("sigmoid_batch_norm", "Sigmoid of normalised rows with given statistics", [Input("input", ["M", "C"], NORMAL)] + NORM,
      ["M", "C"], ["b = BatchNormalization<epsilon = 1e-5>(input, weight, bias, running_mean, running_var)",
                   "y = Sigmoid(b)"],
      loads("M C", [(32, n // 32) for n in powers(12, 27)], (128, 512), (1, 2), (3, 7), (7, 1021), (61, 33), (1, 4099)),
      digits=DIGITS, probes="near_overflow(1e12)", note=VARIANCES)


def published_image(i):
    """Height and width of the ladder's images of 64 channels."""
    area = 2 ** i // 64
    h = int(area ** 0.5)
    return (h, h) if h * h >= area else (h, -(-area // h) if h * (h + 1) < area else h + 1)


fused("hardsigmoid_batch_norm", "Hard sigmoid of normalised images with given statistics",
      [Input("x", ["N", "C", "H", "W"], NORMAL)] + NORM, ["N", "C", "H", "W"],
      ["b = BatchNormalization<epsilon = 1e-5>(x, weight, bias, running_mean, running_var)",
       "y = HardSigmoid<alpha = 0.16666667, beta = 0.5>(b)"],
      loads("N C H W", [(1, 64, *published_image(i)) for i in range(12, 28)], (4, 16, 64, 32), (1, 1, 1, 1), (2, 3, 4, 4),
            (3, 5, 7, 11), (2, 17, 3, 31), (1, 3, 13, 67)), digits=DIGITS, probes="near_overflow(1e12)", note=VARIANCES)
fused("add_mul_groupnorm", "Group normalisation of (x + y) y in 8 groups",
      [Input("input1", ["N", "C", "H", "W"], NORMAL), Input("input2", ["N", "C", "H", "W"], NORMAL),
       Input("weight", ["C"], WEIGHT), Input("bias", ["C"], WEIGHT)], ["N", "C", "H", "W"],
      ["z = Add(input1, input2)", "m = Mul(z, input2)",
       "y = GroupNormalization<epsilon = 1e-5, num_groups = 8>(m, weight, bias)"],
      loads("N C H W", [(16, 64, 128, w) for w in powers(6, 13)], (4, 16, 64, 32), (1, 8, 1, 2), (3, 16, 5, 7),
            (1, 40, 3, 31), (1, 8, 13, 67)), "fused_add_mul_groupnorm(input1, input2, weight, bias, 8)", digits=DIGITS,
      probes="near_overflow(1e7)")
fused("avg_pool2d_cosine_similarity", "Means over overlapping windows of cosines between pixels' channels",
      [Input(x, ["N", "C", "H", "W"], "normal(0.5, 1)", NORMAL) for x in ("x1", "x2")], ["N", 1, "OH", "OW"],
      ["n1 = ReduceL2<keepdims = 1>(x1, axis)", "k1 = Max(n1, eps)", "n2 = ReduceL2<keepdims = 1>(x2, axis)",
       "k2 = Max(n2, eps)", "a = Div(x1, k1)", "b = Div(x2, k2)", "ab = Mul(a, b)",
       "cosine = ReduceSum<keepdims = 1>(ab, axis)",
       "y = AveragePool<count_include_pad = 1, kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [2, 2]>(cosine)"],
      loads("N C H W", [(16, 64, n, n) for n in powers(4, 10)], (2, 32, 64, 48), (1, 2, 1, 1), (2, 3, 5, 7), (1, 5, 11, 13),
            (3, 1, 31, 3)), "fused_avg_pool2d_cosine_similarity(x1, x2, 3, 2, 1)",
      constants=[AXIS, "float eps = {1e-8}"], probes="near_overflow(1e15), -subnormal",
      repair="means of the published cosines are near zero; pixels with a mean")
fused("cos_avg_pool1d", "Means over windows of three of cosines", [Input("input", ["N", "C", "L"], "uniform(-10, 10)", UNIT)],
      ["N", "C", "OL"], ["c = Cos(input)", "y = AveragePool<kernel_shape = [3], strides = [3]>(c)"],
      loads("N C L", [(32, 32, 128 * i) for i in range(12, 24)], (4, 16, 1024), (1, 1, 3), (3, 5, 37), (2, 7, 101),
            (1, 1, 4099)), "fused_cos_avg_pool1d(input, 3)", probes="near_overflow(1e5)",
      ladder=[["N", "C", "L"]], repair="the ladder draws from [0, 1) only; angles of several turns")
fused("sigmoid_adaptive_avg_pool2d", "Sigmoid of the mean of each channel",
      [Input("input", ["N", "C", "H", "W"], "slash(1)", UNIT)], ["N", "C", 1, 1],
      ["m = GlobalAveragePool(input)", "y = Sigmoid(m)"],
      loads("N C H W", [(2 ** (i % 4), 2 ** (i % 4), 2 ** (i // 2), 2 ** (i // 2)) for i in range(8, 18)], (4, 16, 32, 64),
            (1, 1, 1, 1), (2, 3, 5, 7), (1, 5, 11, 13), (3, 1, 31, 3)), "fused_sigmoid_adaptive_avg_pool2d(input, (1, 1))",
      probes="near_overflow(1e12)", repair="published means are 0.5 within 0.01; heavy tails")

# ---- movement --------------------------------------------------------------------------------------------------------

fused("gather_masked_fill", "Elements of columns at given rows, 0.5 where a mask says",
      [Input("input", ["S", "N"], NORMAL), Input("index", ["K", "N"], "labels(S) fixed", dtype="int64"),
       Input("mask", ["K", "N"], "bernoulli(0.5) fixed", dtype="bool")], ["K", "N"],
      ["g = GatherElements<axis = 0>(input, index)", "y = Where(mask, value, g)"],
      loads("S K N", [(s, s, 1024) for s in powers(5, 12)], (256, 128, 512), (1, 1, 1), (3, 2, 7), (7, 5, 1021),
            (61, 31, 33), (2, 3, 2053)), "fused_gather_masked_fill(input, 0, index, mask, 0.5)",
      constants=["float value = {0.5}"], probes="near_overflow(3e38), special")
fused("index_select_eq", "Which elements of rows at given places are zero",
      [Input("input", ["N", "D"], "integers(-2, 3)", NORMAL), Input("index", ["K"], "labels(N) fixed", dtype="int64")],
      [("y", "bool", ["K", "D"])], ["r = Gather<axis = 0>(input, index)", "y = Equal(r, other)"],
      loads("N D K", [(n, 128, n // 8) for n in powers(12, 23)], (1024, 128, 512), (1, 1, 1), (3, 5, 2), (257, 31, 32),
            (61, 127, 31), (1021, 7, 13)), "fused_index_select_eq(input, 0, index, 0.0)", constants=["float other = {0.0}"],
      input_part="1/8", repair="no normal number is zero: false everywhere passes; small whole numbers")
fused("repeat_interleave_log_softmax", "Logarithm of the softmax of a vector whose elements come twice in a row",
      vectors("input"), ["L"],
      ["column = Unsqueeze(input, one)", "pairs = Concat<axis = 1>(column, column)", "long = Reshape(pairs, flat)",
       "y = LogSoftmax<axis = 0>(long)"], loads("N", powers(12, 23), 65536, 1, 3, 257, 1021, 4093),
      "fused_repeat_interleave_log_softmax(input, 2, 0)", constants=["int64[1] one = {1}", "int64[1] flat = {-1}"],
      repair=SIGNED, probes="near_overflow(1e4)")
CAUSAL = ["N", "H", "S", "D"]
SUITE.task("Fusion", "attention", "Scaled dot-product attention that looks back only",
           [Input(n, CAUSAL, NORMAL) for n in ("q", "k", "v")], CAUSAL, ["y = Attention<is_causal = 1>(q, k, v)"],
           loads("N H S D", [(2, 8, s, 64) for s in powers(6, 10)], (2, 4, 48, 64), (1, 1, 1, 1), (2, 3, 5, 7),
                 (1, 2, 33, 17), (1, 1, 7, 131)), "attention(q, k, v, causal=True)", probes="near_overflow(1e3)")

# ---- with a dropout, whose choices are an input ----------------------------------------------------------------------

CHOICES = "the dropout's choices are an input, drawn anew for every call"


def dropped(x, y, p, keep="keep"):
    """The dropout's lines: what it keeps is divided by 1 - p."""
    return [f"kept = Div({x}, part)", f"{y} = Where({keep}, kept, nothing)"], \
           [f"float part = {{{1 - p}}}", "float nothing = {0.0}"]


def dropout(name, title, inputs, keep, outputs, before, p, after, workloads, call, constants=(), x="z", y="d", **more):
    """before: lines up to the dropout's input x; after: those from its output y."""
    lines, numbers = dropped(x, y, p)
    fused(name, title, inputs + [Input("keep", keep, f"bernoulli({1 - p}) fixed", dtype="bool")], outputs,
          before + lines + after, workloads, call, constants=list(constants) + numbers,
          ladder=[i.dims for i in inputs], note="; ".join(filter(None, [CHOICES, more.pop("note", "")])), **more)


BMM = [Input("input1", ["B", "M", "K"], NORMAL), Input("input2", ["B", "K", "N"], NORMAL)]
BMN = ["B", "M", "N"]
BATCHES = loads("B M K N", [(32, 128 * i, 128 * i, 128 * i) for i in range(2, 20)], (4, 96, 80, 64), (1, 1, 1, 2),
                (3, 5, 17, 7), (2, 33, 65, 19), (13, 1, 31, 11))
RMS = ["z = MatMul(input1, input2)", "n = Shape<start = 2, end = 3>(input2)",
       "ones = ConstantOfShape<value = float[1] {1.0}>(n)", "r = RMSNormalization<axis = -1, epsilon = 1e-5>(z, ones)",
       "g = Gelu(r)"]
dropout("bmm_dropout_gelu", "GELU of products of a batch, half of them dropped", BMM, BMN, BMN,
        ["z = MatMul(input1, input2)"], 0.5, ["y = Gelu(d)"], BATCHES, "fused_bmm_dropout_gelu(input1, input2)",
        probes="near_overflow(1e12)")
dropout("bmm_rmsnorm_gelu_dropout", "GELU of normalised products of a batch, a tenth dropped", BMM, BMN, BMN, RMS, 0.1, [],
        BATCHES, "fused_bmm_rmsnorm_gelu_dropout(input1, input2, N)", x="g", y="y", probes="near_overflow(1e7)",
        digits=DIGITS)
dropout("bmm_rmsnorm_gelu_dropout_sub", "The same with half dropped, less a tensor", BMM + [Input("other", BMN, NORMAL)],
        BMN, BMN, RMS, 0.5, ["o = Mul(other, one)", "y = Sub(d, o)"], BATCHES,
        "fused_bmm_rmsnorm_gelu_dropout_sub(input1, input2, other, N)", x="g", probes="near_overflow(1e7)", digits=DIGITS,
        constants=["float one = {1.0}"], published_constants={"one": ("0", "1")},
        mathematics="F.dropout(F.gelu(F.rms_norm(input1 @ input2, (N,), eps=1e-5)), 0.5) - other",
        repair="the published reference forgets to subtract `other`")
dropout("dropout_relu_batch_norm_conv2d", "ReLU of a convolution normalised over the batch, half dropped",
        [Input("input", IMAGE, NORMAL), Input("weight", ["CO", "CI", 3, 3], WEIGHT), Input("bias", ["CO"], WEIGHT)], OUT,
        OUT, ["z = Conv<kernel_shape = [3, 3]>(input, weight, bias)", "n = Shape(bias)",
              "ones = ConstantOfShape<value = float[1] {1.0}>(n)", "zeros = ConstantOfShape(n)",
              "b, mean, var = BatchNormalization<epsilon = 1e-5, momentum = 0.9, training_mode = 1>"
              "(z, ones, zeros, zeros, zeros)", "r = Relu(b)"], 0.5, [],
        loads("N CI H W CO OH OW", [(1, 3, h, h, 64, h - 2, h - 2) for h in powers(5, 11)], (2, 8, 32, 32, 24, 30, 30),
              (1, 1, 3, 4, 1, 1, 2), (2, 3, 5, 7, 5, 3, 5), (1, 7, 8, 21, 2, 6, 19), (3, 2, 4, 3, 17, 2, 1)),
        "fused_dropout_relu_batch_norm_conv2d(input, weight, bias)", x="r", y="y", digits=DIGITS,
        allow="insensitive: a bias before a normalisation over the batch changes nothing",
        probes="near_overflow(1e12)")
dropout("dropout_sigmoid_linear", "Sigmoid of a linear layer, half dropped", LINEAR, ["M", "N"], ["M", "N"],
        [GEMM, "s = Sigmoid(z)"], 0.5, [],
        loads("M K N", [(1024, k, 256) for k in powers(8, 15)], (96, 192, 160), (1, 1, 2), (2, 3, 4), (5, 3, 7),
              (17, 65, 33), (61, 7, 67)), "fused_dropout_sigmoid_linear(input, weight, bias)", x="s", y="y",
        probes="near_overflow(1e12)")
dropout("hardshrink_dropout", "What is beyond 1/2 of a vector, half of it dropped", vectors("input"), ["N"], ["N"], [], 0.5,
        ["y = Shrink<lambd = 0.5>(d)"], VECTOR, "fused_hardshrink_dropout(input)", x="input", repair=SIGNED,
        probes="near_overflow(1e37)")
dropout("mul_add_logsoftmax_dropout_bmm", "Logarithm of the softmax of x y + z, half dropped, times matrices",
        [Input(n, ["B", "M", "K"], NORMAL) for n in ("input1", "input2", "other")] + [Input("mat2", ["B", "K", "N"], NORMAL)],
        ["B", "M", "K"], BMN, ["p = Mul(input1, input2)", "s = Add(p, other)", "z = LogSoftmax<axis = 2>(s)"], 0.5,
        ["y = MatMul(d, mat2)"],
        loads("B M K N", [(32, 128 * i, 128 * i, 128 * i) for i in range(5, 20)], (4, 96, 80, 64), (1, 1, 2, 1),
              (3, 5, 17, 7), (2, 33, 65, 19), (13, 1, 31, 11)),
        "fused_mul_add_logsoftmax_dropout_bmm(input1, input2, other, mat2)", probes="near_overflow(1e8)")
dropout("mv_logsoftmax_dropout", "Logarithm of the softmax of a matrix times a vector, half dropped",
        [Input("input", ["N", "K"], NORMAL, UNIT), Input("vec", ["K"], NORMAL, UNIT)], ["N"], ["N"],
        ["p = MatMul(input, vec)", "z = LogSoftmax<axis = 0>(p)"], 0.5, [],
        loads("N K", [128 * i for i in range(2, 33)], (384, 512), (1, 1), (7, 3), (33, 17), (67, 61), (3, 2053)),
        "fused_mv_logsoftmax_dropout(input, vec)", y="y", repair=SIGNED, probes="near_overflow(1e12)",
        **{"note": "the ladder's tensors are fp16"})
dropout("transformer_block", "Layer normalisation of softmax(X W), a tenth dropped, times W2, plus a tensor",
        [Input("input", ["B", "S", "I"], NORMAL), Input("weight1", ["I", "K"], WEIGHT), Input("weight2", ["K", "O"], WEIGHT),
         Input("residual", ["B", "S", "O"], NORMAL)], ["B", "S", "K"], ["B", "S", "O"],
        ["p = MatMul(input, weight1)", "z = Softmax<axis = -1>(p)"], 0.1,
        ["q = MatMul(d, weight2)", "s = Add(q, residual)", "n = Shape<start = 1, end = 2>(weight2)",
         "ones = ConstantOfShape<value = float[1] {1.0}>(n)", "y = LayerNormalization<axis = -1, epsilon = 1e-5>(s, ones)"],
        loads("B S I K O", [(8, 128, 2 ** e, 4 * 2 ** e, 2 ** e) for e in range(8, 13)], (2, 48, 64, 96, 80),
              (1, 1, 1, 1, 2), (2, 3, 5, 7, 11), (1, 17, 13, 31, 5), (3, 2, 1, 61, 67)),
        "fused_transformer_block(input, weight1, weight2, residual)", digits=DIGITS, probes="near_overflow(1e8)")
SUITE.task("Fusion", "fused_fractional_max_pool2d_with_relu", "Rectified images of half their size, by maxima of windows",
           [Input("input", ["N", "C", "H", "W"], NORMAL, UNIT)], ["N", "C", "OH", "OW"],
           ["r = Relu(input)", "y = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(r)"],
           loads("N C H W", [(16, 3, n, n) for n in powers(4, 12)], (2, 3, 96, 64), (1, 1, 2, 2), (2, 3, 6, 10), (1, 5, 34, 22),
                 (3, 1, 2, 62), (1, 1, 66, 74)),
           "fused_fractional_max_pool2d_with_relu(input, (2, 2), output_ratio=(0.5, 0.5))", repair=SIGNED,
           probes="near_overflow(3e38)",
           note="windows of two at a ratio of one half lie side by side whatever chance says; extents are even")
SUITE.task("Fusion", "fused_masked_select_add_gelu", "Exact Gelu of a number and those that a mask names, one after another, "
           "zeros after them, and their count",
           [Input("input", ["N"], NORMAL, UNIT), Input("mask", ["N"], "bernoulli(0.5) fixed", dtype="bool"),
            Input("other", [1], NORMAL, "constant(0.5)")], [("y", "float", ["N"]), ("count", "int64", [])],
           ["moved = Add(input, other)", "g = Gelu(moved)"] + COMPACTION.format("g").splitlines(),
           loads("N", powers(12, 27), 65536, 1, 3, 257, 1021, 4099),
           "(lambda z: (F.pad(z, (0, N - z.numel())), torch.tensor(z.numel())))"
           "(fused_masked_select_add_gelu(input, mask, other))",
           constants=COMPACTED, repair=SIGNED, probes="near_overflow(1e12)", note=EXTENT, allow=COUNTED, ladder=[["N"], ["N"]])
