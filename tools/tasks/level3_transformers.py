# SPDX-License-Identifier: Apache-2.0
"""KernelBench level 3, problems 28 to 32 and 45 to 47: attention, windows, a U-Net and NetVLAD."""
import math
import struct

from networks import BETA, GAMMA, ONES, ZEROS, Function, Networks, Scaled, in_order, normal, uniform
from task_files import UNIT

ROWS = Function("linear", ["x", "weight", "bias"], ["y"],
                ["turned = Transpose<perm = [1, 0]>(weight)", "product = MatMul(x, turned)", "y = Add(product, bias)"])
UNBIASED = Function("unbiased", ["x", "weight"], ["y"],
                    ["turned = Transpose<perm = [1, 0]>(weight)", "y = MatMul(x, turned)"])
LAYER_NORM = "LayerNormalization<axis = -1, epsilon = 1e-5>"


def linear(net, module, co, ci, bias=True, published=None, published_bias=None):
    weights = [net.weight(module, [net.dim(co), net.dim(ci)], ci, published)]
    return weights + ([net.bias(module, [net.dim(co)], ci, published_bias)] if bias else [])


# ---- transformers

ATTEND = Function(
    "self_attention", ["x", "w_in", "b_in", "w_out", "b_out"], ["y"],
    ["qkv = local.linear(x, w_in, b_in)", "q, k, v = Split<axis = 2, num_outputs = 3>(qkv)",
     "heads = Attention<kv_num_heads: int = @heads, q_num_heads: int = @heads>(q, k, v)",
     "y = local.linear(heads, w_out, b_out)"], ["heads"])
ENCODER = Function(
    "encoder_layer", ["x", "w_in", "b_in", "w_out", "b_out", "w1", "b1", "w2", "b2", "scale1", "shift1", "scale2",
                      "shift2"], ["y"],
    ["attended = local.self_attention<heads: int = @heads>(x, w_in, b_in, w_out, b_out)", "s = Add(x, attended)",
     f"n = {LAYER_NORM}(s, scale1, shift1)", "h = local.linear(n, w1, b1)", "r = Relu(h)",
     "f = local.linear(r, w2, b2)", "t = Add(n, f)", f"y = {LAYER_NORM}(t, scale2, shift2)"], ["heads"])
PATCHES = Function(
    "patches", ["x"], ["y"],
    # windows of 16 x 16 of one colour after the other, three of them a row
    ["windows = SpaceToDepth<blocksize = 16>(x)", "split = Constant<value_ints = [0, 256, 3, -1]>()",
     "parted = Reshape(windows, split)", "turned = Transpose<perm = [0, 2, 3, 1]>(parted)",
     "joined = Constant<value_ints = [0, -1, 768]>()", "y = Reshape(turned, joined)"])
CLASS_TOKEN = Function(
    "with_class_token", ["x", "token"], ["y"],
    ["n = Shape<end = 1, start = 0>(x)", "ones = Constant<value_ints = [1, 1]>()", "shape = Concat<axis = 0>(n, ones)",
     "tokens = Expand(token, shape)", "y = Concat<axis = 1>(tokens, x)"])
TRANSFORMER = in_order(ROWS, ATTEND, ENCODER, PATCHES, CLASS_TOKEN)


def attention_weights(net, module, c):
    """Of nn.MultiheadAttention: Xavier's bound for the three together, biases of zero."""
    three = 3 * c
    bound = uniform(math.sqrt(6 / (c + three)))
    row = [net.parameter(f"{module}.in_proj_weight", [net.dim(three), net.dim(c)], bound,
                         net.draws.weight(f"{module}.in_proj", c, bound)),
           net.parameter(f"{module}.in_proj_bias", [net.dim(three)], ZEROS, BETA)]
    return row + linear(net, f"{module}.out_proj", c, c, published_bias=ZEROS)


def encoder(net, module, c, hidden, heads):
    x = net.v
    weights = attention_weights(net, f"{module}.self_attn", c)
    weights += linear(net, f"{module}.linear1", hidden, c) + linear(net, f"{module}.linear2", c, hidden)
    weights += net.affine(f"{module}.norm1", c) + net.affine(f"{module}.norm2", c)
    net.call("encoded", "encoder_layer", [x, *weights], [f"heads = {heads}"])


class ZeroBiases(Scaled):
    """Biases that the original begins at zero are drawn."""

    def bias(self, name, fan_in, published):
        return BETA if published == ZEROS else super().bias(name, fan_in, published)


def vision_transformer(net):
    """Attention looks along the first dimension, which is the batch, and the last layers at one token alone."""
    c, hidden = 512, 2048
    net.images()
    tokens = net.load["H"] // 16 * (net.load["W"] // 16) + 1
    position = net.parameter("pos_embedding", [1, net.symbol("TOKENS", tokens), net.dim(c)], normal(1), normal(1))
    net.call("patches", "patches", ["x"])
    net.call("embedded", "linear", [net.v, *linear(net, "patch_to_embedding", c, 768, published=None)])
    token = net.parameter("cls_token", [1, 1, net.dim(c)], normal(1), normal(1))
    net.call("joined", "with_class_token", [net.v, token])
    net.emit("placed", "Add", [net.v, position])
    net.emit("turned", "Transpose", [net.v], ["perm = [1, 0, 2]"])
    for i in range(6):
        encoder(net, f"transformer.layers.{i}", c, hidden, 8)
    net.emit("token", "Gather", [net.v, "chosen"], ["axis = 0"])
    net.constants["chosen"] = "int64 NAME = {1}"
    net.call("hidden", "linear", [net.v, *linear(net, "mlp_head.0", hidden, c)])
    net.emit("gelu", "Gelu", [net.v])
    classes = net.symbol("CLASSES", net.load["CLASSES"])
    net.call("scores", "linear", [net.v, *linear(net, "mlp_head.3", classes, hidden)])
    return ["N", "CLASSES"]


def vision_attention(net):
    c = 128
    net.images(c)
    net.emit("shape", "Shape", ["x"])
    net.emit("pixels", "Reshape", ["x", net.integers("flat", (0, 0, -1))])
    rows = net.emit("rows", "Transpose", [net.v], ["perm = [0, 2, 1]"])
    net.call("attended", "self_attention", [rows, *attention_weights(net, "attn", c)], ["heads = 4"])
    net.emit("sum", "Add", [net.v, rows])
    net.emit("norm", LAYER_NORM, [net.v, *net.affine("norm", c)])
    net.emit("channels", "Transpose", [net.v], ["perm = [0, 2, 1]"])
    net.emit("images", "Reshape", [net.v, "shape"])
    return ["N", net.dim(c), "H", "W"]


def convolutional_transformer(net):
    c = 128
    net.images()
    net.conv("conv1", c, 4, 4)
    net.flatten()
    net.linear("linear_proj", c, fan_in=c * 64)
    net.emit("wide", "Unsqueeze", [net.v, net.integers("axes", (1,))])
    token = net.parameter("cls_token", [1, 1, net.dim(c)], ZEROS, normal(1))
    net.call("joined", "with_class_token", [net.v, token])
    for i in range(6):
        encoder(net, f"transformer_layers.{i}", c, 4 * c, 4)
    net.constants["first"] = "int64 NAME = {0}"
    net.emit("token", "Gather", [net.v, "first"], ["axis = 1"])
    net.c = c
    net.linear("fc_out", ("CLASSES", net.load["CLASSES"]))
    return ["N", "CLASSES"]


# ---- windows of 7 x 7

WINDOW, SHIFT = 7, 3
PERCEPTRON = Function("perceptron", ["x", "w1", "b1", "w2", "b2"], ["y"],
                      ["h = local.linear(x, w1, b1)", "g = Gelu(h)", "y = local.linear(g, w2, b2)"])
EMBED = Function("embed", ["x", "weight", "bias", "scale", "shift"], ["y"],
                 ["c = Conv<strides = [4, 4]>(x, weight, bias)", "rows = Transpose<perm = [0, 2, 3, 1]>(c)",
                  f"y = {LAYER_NORM}(rows, scale, shift)"])
MERGE = Function("merge", ["x"], ["y"],
                 ["split = Constant<value_ints: ints = @split>()", "parted = Reshape(x, split)",
                  "turned = Transpose<perm = [0, 1, 3, 4, 2, 5]>(parted)",
                  "joined = Constant<value_ints: ints = @joined>()", "y = Reshape(turned, joined)"],
                 ["split", "joined"])
SPATIAL = Function(
    "spatial_mlp", ["x", "weight", "bias"], ["y"],
    ["whole = Shape(x)", "split = Constant<value_ints: ints = @split>()", "parted = Reshape(x, split)",
     "windows = Transpose<perm = [0, 1, 3, 5, 2, 4, 6]>(parted)", "shape = Shape(windows)",
     "flat = Flatten<axis = 3>(windows)", "pixels = Constant<value_ints: ints = @pixels>()",
     "rows = Reshape(flat, pixels)", "mixed = Conv<group: int = @heads>(rows, weight, bias)",
     "apart = Reshape(mixed, shape)", "back = Transpose<perm = [0, 1, 4, 2, 5, 3, 6]>(apart)",
     "y = Reshape(back, whole)"], ["split", "pixels", "heads"])
BLOCK = ["x", "scale1", "shift1", "w", "b", "scale2", "shift2", "w1", "b1", "w2", "b2"]
MIX = "local.spatial_mlp<heads: int = @heads, pixels: ints = @pixels, split: ints = @split>"
FEED = ["s = Add(x, mixed)", f"m = {LAYER_NORM}(s, scale2, shift2)", "f = local.perceptron(m, w1, b1, w2, b2)",
        "y = Add(s, f)"]
MLP_BLOCK = Function("mlp_block", BLOCK, ["y"],
                     [f"n = {LAYER_NORM}(x, scale1, shift1)", f"mixed = {MIX}(n, w, b)"] + FEED,
                     ["split", "pixels", "heads"])
SHIFTED_MLP_BLOCK = Function(
    "shifted_mlp_block", BLOCK, ["y"],
    [f"n = {LAYER_NORM}(x, scale1, shift1)", "border = Constant<value_ints = [0, 4, 4, 0, 0, 3, 3, 0]>()",
     "padded = Pad(n, border)", f"shifted = {MIX}(padded, w, b)", "starts = Constant<value_ints = [4, 4]>()",
     "ends = Constant<value_ints = [-3, -3]>()", "axes = Constant<value_ints = [1, 2]>()",
     "mixed = Slice(shifted, starts, ends, axes)"] + FEED, ["split", "pixels", "heads"])
PARTITION = Function(
    "windows", ["x"], ["y"],
    ["split = Constant<value_ints: ints = @split>()", "parted = Reshape(x, split)",
     "turned = Transpose<perm = [0, 1, 3, 2, 4, 5]>(parted)", "joined = Constant<value_ints: ints = @joined>()",
     "y = Reshape(turned, joined)"], ["split", "joined"])
REVERSE = Function(
    "whole", ["windows", "x"], ["y"],
    ["shape = Shape(x)", "split = Constant<value_ints: ints = @split>()", "parted = Reshape(windows, split)",
     "turned = Transpose<perm = [0, 1, 3, 2, 4, 5]>(parted)", "y = Reshape(turned, shape)"], ["split"])
ROLL = Function(
    "roll", ["x"], ["y"],
    ["parts = Constant<value_ints: ints = @parts>()", "a, b = Split<axis = 1>(x, parts)", "c = Concat<axis = 1>(b, a)",
     "d, e = Split<axis = 2>(c, parts)", "y = Concat<axis = 2>(e, d)"], ["parts"])
NORMALIZE = Function(
    "unit", ["x"], ["y"],
    ["axes = Constant<value_ints: ints = @axes>()", "norm = ReduceL2<keepdims = 1>(x, axes)",
     "least = Constant<value_float = 1e-12>()", "positive = Max(norm, least)", "y = Div(x, positive)"], ["axes"])
# What a head adds to the scores of two pixels of a window: a small network of how far apart they are.
POSITION = Function(
    "position_bias", ["distances", "places", "w1", "b1", "w2"], ["y"],
    ["down_shape = Constant<value_ints = [13, 1, 1]>()", "right_shape = Constant<value_ints = [1, 13, 1]>()",
     "square = Constant<value_ints = [13, 13, 1]>()", "down = Reshape(distances, down_shape)",
     "right = Reshape(distances, right_shape)", "downs = Expand(down, square)", "rights = Expand(right, square)",
     "both = Concat<axis = 2>(downs, rights)", "rows = Constant<value_ints = [169, 2]>()",
     "table = Reshape(both, rows)",
     "h = Gemm<transB = 1>(table, w1, b1)", "r = Relu(h)", "biases = Gemm<transB = 1>(r, w2)",
     "down_axis = Constant<value_ints = [1]>()", "right_axis = Constant<value_ints = [0]>()",
     "of = Unsqueeze(places, down_axis)", "to = Unsqueeze(places, right_axis)", "apart = Sub(of, to)",
     "middle = Constant<value_int = 84>()", "index = Add(apart, middle)", "chosen = Gather<axis = 0>(biases, index)",
     "heads = Transpose<perm = [2, 0, 1]>(chosen)", "s = Sigmoid(heads)", "sixteen = Constant<value_float = 16.0>()",
     "y = Mul(s, sixteen)"])
# Pixels of a rolled image that were not neighbours before do not see each other.
MASK = Function(
    "roll_mask", ["regions"], ["y"],
    ["down_axis = Constant<value_ints = [1]>()", "right_axis = Constant<value_ints = [0]>()",
     "three = Constant<value_float = 3.0>()", "scaled = Mul(regions, three)", "down = Unsqueeze(scaled, down_axis)",
     "right = Unsqueeze(regions, right_axis)", "region = Add(down, right)",
     "split = Constant<value_ints: ints = @split>()", "parted = Reshape(region, split)",
     "turned = Transpose<perm = [0, 2, 1, 3]>(parted)", "rows = Constant<value_ints = [-1, 1, 1, 49]>()",
     "columns = Constant<value_ints = [-1, 1, 49, 1]>()", "a = Reshape(turned, rows)", "b = Reshape(turned, columns)",
     "same = Equal(a, b)", "seen = Constant<value_float = 0.0>()", "hidden = Constant<value_float = -100.0>()",
     "y = Where(same, seen, hidden)"], ["split"])
ATTENTION_INPUTS = ["scale", "q_bias", "v_bias", "p1", "c1", "p2", "w_in", "w_out", "b_out"]
SCORES = Function(
    "window_scores", ["windows", "distances", "places", "scale", "q_bias", "v_bias", "p1", "c1", "p2", "w_in"],
    ["scores", "v"],
    ["zero = Sub(v_bias, v_bias)", "bias = Concat<axis = 0>(q_bias, zero, v_bias)",
     "qkv = local.linear(windows, w_in, bias)", "split = Constant<value_ints: ints = @split>()",
     "parted = Reshape(qkv, split)", "heads = Transpose<perm = [0, 1, 3, 2, 4]>(parted)",
     "q, k, v = Split<axis = 2, num_outputs = 3>(heads)", "q_unit = local.unit<axes = [-1]>(q)",
     "k_unit = local.unit<axes = [-1]>(k)", "k_turned = Transpose<perm = [0, 1, 2, 4, 3]>(k_unit)",
     "cosines = MatMul(q_unit, k_turned)", "most = Constant<value_float = 4.6051702>()",
     "clamped = Clip(scale, , most)", "factor = Exp(clamped)", "scaled = Mul(cosines, factor)",
     "position = local.position_bias(distances, places, p1, c1, p2)", "scores = Add(scaled, position)"], ["split"])
WEIGHED = Function(
    "weighed", ["scores", "v", "w_out", "b_out"], ["y"],
    ["weights = Softmax<axis = -1>(scores)", "sums = MatMul(weights, v)",
     "turned = Transpose<perm = [0, 1, 3, 2, 4]>(sums)", "joined = Constant<value_ints: ints = @joined>()",
     "rows = Reshape(turned, joined)", "y = local.linear(rows, w_out, b_out)"], ["joined"])
AFTER = [f"n = {LAYER_NORM}(attended, scale1, shift1)", "s = Add(x, n)", "f = local.perceptron(s, w1, b1, w2, b2)",
         f"m = {LAYER_NORM}(f, scale2, shift2)", "y = Add(s, m)"]
SCORING = ("scores, v = local.window_scores<split: ints = @heads>(parted, distances, places, scale, q_bias, v_bias, "
           "p1, c1, p2, w_in)")
SWIN = ["x", "distances", "places", *ATTENTION_INPUTS, "scale1", "shift1", "w1", "b1", "w2", "b2", "scale2", "shift2"]
PART = "local.windows<joined: ints = @joined, split: ints = @split>"
WHOLE = "local.whole<split: ints = @back>"
SWIN_BLOCK = Function(
    "swin_block", SWIN, ["y"],
    [f"parted = {PART}(x)", SCORING, "rows = local.weighed<joined: ints = @joined>(scores, v, w_out, b_out)",
     f"attended = {WHOLE}(rows, x)"] + AFTER, ["split", "joined", "back", "heads"])
SHIFTED_SWIN_BLOCK = Function(
    "shifted_swin_block", [*SWIN[:3], "regions", *SWIN[3:]], ["y"],
    ["rolled = local.roll<parts: ints = @forth>(x)", f"parted = {PART}(rolled)", SCORING,
     "mask = local.roll_mask<split: ints = @tiles>(regions)", "masked = Add(scores, mask)",
     "rows = local.weighed<joined: ints = @joined>(masked, v, w_out, b_out)", f"together = {WHOLE}(rows, x)",
     "attended = local.roll<parts: ints = @home>(together)"] + AFTER,
    ["split", "joined", "back", "heads", "forth", "home", "tiles"])
WINDOWS = in_order(ROWS, UNBIASED, PERCEPTRON, EMBED, MERGE, SPATIAL, MLP_BLOCK, SHIFTED_MLP_BLOCK, PARTITION, REVERSE,
                   ROLL, NORMALIZE, POSITION, MASK, SCORES, WEIGHED, SWIN_BLOCK, SHIFTED_SWIN_BLOCK)


def single(x):
    """Rounded to single precision."""
    return struct.unpack("f", struct.pack("f", x))[0]


def distances():
    """Offsets -6 to 6 within a window, on a logarithmic scale, in single precision as the original makes them."""
    def one(i):
        size = single(single(single(i / (WINDOW - 1)) * 8) + 1)
        return single(single(math.log2(size)) / 3)
    return [math.copysign(one(abs(i)), i) for i in range(1 - WINDOW, WINDOW)]


def numbers(values):
    return ", ".join(f"{v:.9g}" if v != int(v) else f"{v:.1f}" for v in values)


def mlp_block(net, module, c, size, heads, shifted):
    x, w = net.v, WINDOW * WINDOW
    mixing = uniform(1 / math.sqrt(w))
    weights = net.affine(f"{module}.norm1", c)
    weights += [net.parameter(f"{module}.spatial_mlp.{n}", d, mixing, mixing)
                for n, d in (("weight", [heads * w, w, 1]), ("bias", [heads * w]))]
    weights += net.affine(f"{module}.norm2", c)
    weights += linear(net, f"{module}.mlp.fc1", 4 * c, c) + linear(net, f"{module}.mlp.fc2", c, 4 * c)
    a = size // WINDOW + shifted
    net.call("block", "shifted_mlp_block" if shifted else "mlp_block", [x, *weights],
             [f"heads = {heads}", f"pixels = [0, {heads * w}, -1]",
              f"split = [0, {a}, {WINDOW}, {a}, {WINDOW}, {heads}, -1]"])


def swin_block(net, module, c, size, heads, shifted):
    x, a, m = net.v, size // WINDOW, f"{module}.attn"
    ten = "constant(2.3025851) static"
    table = net.constant("distances", f"float[13] NAME = {{{numbers(distances())}}}")
    places = net.integers("places", [13 * y + x for y in range(WINDOW) for x in range(WINDOW)])
    given = [x, table, places]
    if shifted:
        regions = [0] * (size - WINDOW) + [1] * (WINDOW - SHIFT) + [2] * SHIFT
        given.append(net.constant("regions", f"float[{size}] NAME = {{{numbers(regions)}}}"))
    weights = [net.parameter(f"{m}.logit_scale", [heads, 1, 1], ten, "uniform(1, 5) static"),
               net.parameter(f"{m}.q_bias", [net.dim(c)], ZEROS, BETA),
               net.parameter(f"{m}.v_bias", [net.dim(c)], ZEROS, BETA),
               *[net.parameter(f"{m}.cpb_mlp.0.{n}", d, uniform(1 / math.sqrt(2)), uniform(1 / math.sqrt(2)))
                 for n, d in (("weight", [512, 2]), ("bias", [512]))],
               net.parameter(f"{m}.cpb_mlp.2.weight", [heads, 512], uniform(1 / math.sqrt(512)),
                             uniform(1 / math.sqrt(512)))]
    weights += linear(net, f"{m}.qkv", 3 * c, c, bias=False) + linear(net, f"{m}.proj", c, c)
    weights += net.affine(f"{module}.norm1", c)
    weights += linear(net, f"{module}.mlp.fc1", 4 * c, c) + linear(net, f"{module}.mlp.fc2", c, 4 * c)
    weights += net.affine(f"{module}.norm2", c)
    w = WINDOW * WINDOW
    attributes = [f"split = [0, {a}, {WINDOW}, {a}, {WINDOW}, -1]", f"joined = [0, {a * a}, {w}, -1]",
                  f"back = [0, {a}, {a}, {WINDOW}, {WINDOW}, -1]", f"heads = [0, {a * a}, {w}, {3 * heads}, -1]"]
    if shifted:
        attributes += [f"forth = [{SHIFT}, {size - SHIFT}]", f"home = [{size - SHIFT}, {SHIFT}]",
                       f"tiles = [{a}, {WINDOW}, {a}, {WINDOW}]"]
    net.call("block", "shifted_swin_block" if shifted else "swin_block", [*given, *weights], attributes)


def swin(block, norm_first):
    """Four stages of blocks on windows; between them four neighbours become one. norm_first: before the reduction."""
    def build(net):
        net.images()
        net.inputs[0].dims[2:] = [224, 224]  # so that windows fit at every stage
        for s in "HW":
            del net.bindings[s]
        c, size = 96, 56
        weights = net.conv_weights("patch_embed.proj", c, 3, 4, bias=True) + net.affine("patch_embed.norm", c)
        net.call("embedded", "embed", ["x", *weights])
        for stage, (depth, heads) in enumerate(zip((2, 2, 6, 2), (3, 6, 12, 24))):
            for i in range(depth):
                block(net, f"layers.{stage}.blocks.{i}", c, size, heads, i % 2 == 1 and size > WINDOW)
            if stage < 3:
                down = f"layers.{stage}.downsample"
                size //= 2
                net.call("merged", "merge", [net.v], [f"joined = [0, {size}, {size}, -1]",
                                                      f"split = [0, {size}, 2, {size}, 2, -1]"])
                reduction = linear(net, f"{down}.reduction", 2 * c, 4 * c, bias=False)
                affine = net.affine(f"{down}.norm", 4 * c if norm_first else 2 * c)
                if norm_first:
                    net.emit("norm", LAYER_NORM, [net.v, *affine])
                net.call("reduced", "unbiased", [net.v, *reduction])
                if not norm_first:
                    net.emit("norm", LAYER_NORM, [net.v, *affine])
                c *= 2
        net.emit("norm", LAYER_NORM, [net.v, *net.affine("norm", c)])
        net.emit("mean", "ReduceMean", [net.v, net.integers("axes", (1, 2))], ["keepdims = 0"])
        net.c = c
        net.linear("head", ("CLASSES", net.load["CLASSES"]))
        return ["N", "CLASSES"]
    return build


# ---- U-Net

DOUBLE = Function(
    "double_conv", ["x", "w1", "b1", "scale1", "shift1", "w2", "b2", "scale2", "shift2"], ["y"],
    ["a = Conv<pads = [1, 1, 1, 1]>(x, w1, b1)", "b = local.batch_norm(a, scale1, shift1)", "c = Softmax<axis = -1>(b)",
     "d = Conv<pads = [1, 1, 1, 1]>(c, w2, b2)", "e = local.batch_norm(d, scale2, shift2)",
     "y = Softmax<axis = -1>(e)"])


def double_conv(net, module, co):
    x, weights = net.v, []
    for i in (0, 3):
        weights += net.conv_weights(f"{module}.double_conv.{i}", co, net.c, 3, bias=True)
        weights += net.affine(f"{module}.double_conv.{i + 1}", co)
        net.convolve(co, 3, 1, 1)
    net.statistics()
    return net.call("double", "double_conv", [x, *weights])


def unet(net):
    net.images(8)
    wide, skips = 64, []
    for i in range(1, 5):
        skips.append((double_conv(net, f"encoder{i}", wide), net.size))
        net.max_pool(2, 2)
        wide *= 2
    double_conv(net, "bottleneck", wide)
    for i in range(4, 0, -1):
        wide //= 2
        weights = [net.weight(f"upconv{i}", [net.dim(2 * wide), net.dim(wide), 2, 2], 4 * wide),
                   net.bias(f"upconv{i}", [net.dim(wide)], 4 * wide)]
        net.emit("up", "ConvTranspose", [net.v, *weights], ["kernel_shape = [2, 2]", "strides = [2, 2]"])
        net.size = tuple(2 * n for n in net.size)
        skip, size = skips.pop()
        assert net.size == size, (net.size, size)
        net.concat([net.v, skip], 2 * wide)
        double_conv(net, f"decoder{i}", wide)
    net.conv("final_conv", 4, 1)
    return ["N", net.dim(4), "H", "W"]


# ---- NetVLAD

def netvlad(ghosts):
    def build(net):
        load = net.load
        d, k = net.symbol("D", load["D"]), net.symbol("K", load["K"])
        all_clusters = net.symbol("KG", load["K"] + load["G"]) if ghosts else k
        net.data("x", [net.symbol("N", load["N"]), net.symbol("L", load["L"]), d], UNIT, net.draws.x)
        spread = normal(1 / math.sqrt(512))
        clusters = net.parameter("clusters", [d, all_clusters], spread, net.draws.weight("clusters", 512, spread))
        scale = net.parameter("batch_norm.weight", [all_clusters], ONES, GAMMA)
        shift = net.parameter("batch_norm.bias", [all_clusters], ZEROS, BETA)
        words = net.parameter("clusters2", [1, d, k], spread, net.draws.weight("clusters2", 512, spread))
        net.emit("rows", "Flatten", ["x"], ["axis = 2"])
        net.emit("products", "MatMul", [net.v, clusters])
        net.call("norm", "batch_norm", [net.v, scale, shift])
        net.emit("assignment", "Softmax", [net.v], ["axis = 1"])
        kept, assignment = "", net.v
        net.emit("count", "Shape", [words], ["end = 3", "start = 2"])
        if ghosts:
            ends = [net.integers("start", (0,)), "count", net.integers("axis", (1,))]
            kept = net.emit("kept", "Slice", [assignment, *ends])
        net.emit("batch", "Shape", ["x"], ["end = 2", "start = 0"])
        net.emit("shape", "Concat", ["batch", "count"], ["axis = 0"])
        parts = net.emit("parts", "Reshape", [kept or assignment, "shape"])
        net.emit("sums", "ReduceSum", [parts, net.integers("axis", (1,))], ["keepdims = 1"])
        a = net.emit("weighed", "Mul", [net.v, words])
        net.emit("turned", "Transpose", [parts], ["perm = [0, 2, 1]"])
        net.emit("gathered", "MatMul", [net.v, "x"])
        net.emit("vlad", "Transpose", [net.v], ["perm = [0, 2, 1]"])
        net.emit("rest", "Sub", [net.v, a])
        net.call("intra", "unit", [net.v], ["axes = [1]"])
        net.emit("flat", "Flatten", [net.v])
        net.call("whole", "unit", [net.v], ["axes = [1]"])
        return ["N", "DK"]
    return build


def image(n, h, w, **more):
    return {"N": n, "H": h, "W": w, **more}


CROSS_BATCH = ("the class token, which alone the published form reads, never meets the image, because attention looks "
               "along the batch; the token behind it is read, which is made of the image; signed inputs of a larger "
               "scale, a last layer with larger weights")
FAINT = ("published outputs differ by less than 1e-2 when a parameter changes; a last layer with larger weights, and "
         "random values for parameters that begin at zero or at one number")
SMALL_HEAD = "published outputs differ by less than 1e-2 when a parameter changes; a last layer with larger weights"
ALIKE = ("published descriptors are so even that every element is about 0.008, so that zeros pass with a tolerance of "
         "1e-2; heavy-tailed inputs, of which a few stand out, and larger visual words")


def tasks(level):
    add = Networks(level).add
    add(28, "vision_transformer", "Vision transformer whose attention looks along the batch", vision_transformer,
        image(2, 224, 224, CLASSES=10), image(2, 48, 48, CLASSES=10, divide=widths(8, {768: 768})),
        [image(1, 16, 16, CLASSES=1, divide=widths(64, {768: 768})),
         image(3, 32, 32, CLASSES=7, divide=widths(16, {768: 768})),
         image(5, 48, 48, CLASSES=31, divide=widths(32, {768: 768}))],
        draws=ZeroBiases({"patch_to_embedding": 4, "mlp_head[.]3": 256}, "normal(0, 4)"), why=CROSS_BATCH,
        allow="insensitive: the class token is not read, and in the published form nothing else is",
        functions=TRANSFORMER, published_constants={"chosen": ("0", "1")})
    for number, name, title, block, first in (
            (29, "swin_mlp", "Swin MLP: layers over windows in place of attention", mlp_block, True),
            (30, "swin_transformer_v2", "Swin transformer, version 2: cosine attention in windows", swin_block, False)):
        add(number, name, title, swin(block, first), image(10, 224, 224, CLASSES=1000),
            image(1, 224, 224, CLASSES=100, divide=8),
            [image(1, 224, 224, CLASSES=1, divide=32), image(1, 224, 224, CLASSES=7, divide=8),
             image(1, 224, 224, CLASSES=31, divide=16)], draws=ZeroBiases({"head": 256}), why=FAINT,
            functions=WINDOWS)
    add(31, "vision_attention", "Attention over the pixels of an image, with residual and layer normalisation",
        vision_attention, image(2, 128, 128), image(2, 16, 20, divide=4),
        [image(1, 1, 1, divide=32), image(3, 7, 5, divide=8), image(2, 11, 13, divide=16)],
        draws=ZeroBiases({}), functions=TRANSFORMER)
    add(32, "convolutional_vision_transformer", "Transformer over a class token and one token of convolved patches",
        convolutional_transformer, image(10, 32, 32, CLASSES=1000), image(6, 16, 20, CLASSES=100, divide=2),
        [image(1, 4, 5, CLASSES=1, divide=32), image(3, 9, 13, CLASSES=7, divide=8),
         image(5, 11, 6, CLASSES=31, divide=16)], draws=ZeroBiases({"fc_out": 256}), why=FAINT, functions=TRANSFORMER)
    narrow = lambda d: widths(d, {8: 8, 4: 4})
    add(45, "unet_softmax", "U-Net with softmax over rows for activation", unet, image(8, 64, 512),
        image(2, 32, 64, divide=narrow(8)),
        [image(1, 16, 48, divide=narrow(32)), image(3, 32, 16, divide=narrow(16)),
         image(2, 16, 80, divide=narrow(32))], functions=in_order(DOUBLE),
        draws=Scaled({"final_conv": 256}), why=SMALL_HEAD,
        allow="insensitive: a normalisation takes the bias of the convolution before it out again, and the softmax "
              "over rows the normalisation's shift")
    for number, name, ghosts in ((46, "with_ghosts", 16), (47, "without_ghosts", 0)):
        load = lambda n, length, d, k, g: {"N": n, "L": length, "D": d, "K": k, "G": g if ghosts else 0}
        add(number, f"netvlad_{name}", "NetVLAD" + (" with clusters that are dropped" if ghosts else ""),
            netvlad(ghosts), load(2048, 100, 512, 32, 16), load(16, 40, 64, 24, 8),
            [load(2, 1, 3, 1, 1), load(3, 17, 33, 5, 3), load(7, 13, 61, 3, 2)], functions=in_order(NORMALIZE),
            draws=Scaled({"clusters2": 16}, "slash(1)"), why=ALIKE)


def widths(divisor, kept):
    return lambda c: kept[c] if c in kept else c // divisor
