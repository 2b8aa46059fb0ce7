# SPDX-License-Identifier: Apache-2.0
"""KernelBench level 3, problems 1 to 32 and 45 to 47: networks of layers, for images mostly."""
from networks import Function, Louder, Networks, Scaled, in_order, normal

ONCE = "pads = [1, 1, 1, 1], strides = [1, 1]"  # a window of 3 x 3 that keeps the extents
POINT = "pads = [0, 0, 0, 0], strides = [1, 1]"


def classes(net):
    """The number of classes, as linear() takes it."""
    return ("CLASSES", net.load["CLASSES"])


def image(n, h, w, **more):
    return {"N": n, "H": h, "W": w, **more}


def head(net, module="fc"):
    """Means of the channels, then a linear layer."""
    net.global_mean()
    net.linear(module, classes(net))
    return ["N", "CLASSES"]


# ---- rows of linear layers

def perceptron(*widths):
    def build(net):
        net.rows(widths[0])
        for i, c in enumerate(widths[1:]):
            net.linear(f"network.{2 * i}", c, relu=i + 2 < len(widths))
        return ["N", net.dim(widths[-1])]
    return build


# ---- convolutions without normalisation

def lenet(net):
    net.images(1)
    for i, c in enumerate((6, 16), 1):
        net.layer("features", "conv_relu", (f"conv{i}", None), c, 5)
        net.max_pool(2, 2)
    net.flatten()
    net.linear("fc1", 120, relu=True, fan_in=16 * 5 * 5)
    net.linear("fc2", 84, relu=True)
    net.linear("fc3", classes(net))
    return ["N", "CLASSES"]


def alexnet(net):
    net.images()
    for i, (c, kernel, stride, pad, pooled) in enumerate((
            (96, 11, 4, 2, True), (256, 5, 1, 2, True), (384, 3, 1, 1, False), (384, 3, 1, 1, False),
            (256, 3, 1, 1, True)), 1):
        net.layer("features", "conv_relu", (f"conv{i}", None), c, kernel, stride, pad)
        if pooled:
            net.max_pool(3, 2)
    net.flatten()
    net.linear("fc1", 4096, relu=True, fan_in=256 * 6 * 6)
    net.linear("fc2", 4096, relu=True)
    net.linear("fc3", classes(net))
    return ["N", "CLASSES"]


def vgg(*blocks):
    def build(net):
        net.images()
        layer = 0
        for c, count in zip((64, 128, 256, 512, 512), blocks):
            for _ in range(count):
                net.layer("features", "conv_relu", (f"features.{layer}", None), c, 3, 1, 1)
                layer += 2
            net.max_pool(2, 2)
            layer += 1
        net.flatten()
        net.linear("classifier.0", 4096, relu=True, fan_in=512 * 7 * 7)
        net.linear("classifier.3", 4096, relu=True)
        net.linear("classifier.6", classes(net))
        return ["N", "CLASSES"]
    return build


INCEPTION = Function(
    "inception", ["x", "w1", "b1", "w2", "b2", "w3", "b3", "w4", "b4", "w5", "b5", "w6", "b6"], ["y"],
    ["one = Conv(x, w1, b1)",
     "three_reduced = Conv(x, w2, b2)",
     "three = Conv<pads = [1, 1, 1, 1]>(three_reduced, w3, b3)",
     "five_reduced = Conv(x, w4, b4)",
     "five = Conv<pads = [2, 2, 2, 2]>(five_reduced, w5, b5)",
     "pooled = MaxPool<kernel_shape = [3, 3], pads = [1, 1, 1, 1], strides = [1, 1]>(x)",
     "projected = Conv(pooled, w6, b6)",
     "y = Concat<axis = 1>(one, three, five, projected)"])


def inception(net, module, one, reduce3, three, reduce5, five, projected):
    dot, ci, x, weights = module and module + ".", net.c, net.v, []
    for name, co, c, kernel in (("branch1x1", one, ci, 1), ("branch3x3.0", reduce3, ci, 1),
                                ("branch3x3.1", three, reduce3, 3), ("branch5x5.0", reduce5, ci, 1),
                                ("branch5x5.1", five, reduce5, 5), ("branch_pool.1", projected, ci, 1)):
        weights += net.conv_weights(dot + name, co, c, kernel, bias=True)
        net.c = c
        net.convolve(co, kernel, 1, kernel // 2)
    net.call("inception", "inception", [x, *weights])
    net.c = one + three + five + projected
    net.see()


def inception_alone(net):
    net.images(480)
    inception(net, "", 192, 96, 208, 16, 48, 64)
    return ["N", "CO", "H", "W"]


def googlenet(net):
    net.images()
    net.layer("stem", "conv_relu", ("conv1", None), 64, 7, 2, 3)
    net.max_pool(3, 2, 1)
    net.layer("stem", "conv_relu", ("conv2", None), 64, 1)
    net.layer("stem", "conv_relu", ("conv3", None), 192, 3, 1, 1)
    net.max_pool(3, 2, 1)
    stages = {"3a": (64, 96, 128, 16, 32, 32), "3b": (128, 128, 192, 32, 96, 64), "4a": (192, 96, 208, 16, 48, 64),
              "4b": (160, 112, 224, 24, 64, 64), "4c": (128, 128, 256, 24, 64, 64), "4d": (112, 144, 288, 32, 64, 64),
              "4e": (256, 160, 320, 32, 128, 128), "5a": (256, 160, 320, 32, 128, 128),
              "5b": (384, 192, 384, 48, 128, 128)}
    for name, widths in stages.items():
        if name in ("4a", "5a"):
            net.max_pool(3, 2, 1)
        inception(net, f"inception{name}", *widths)
    return head(net)


FIRE = Function("fire", ["x", "w1", "b1", "w2", "b2", "w3", "b3"], ["y"],
                [f"s = local.conv_relu<{POINT}>(x, w1, b1)",
                 f"one = local.conv_relu<{POINT}>(s, w2, b2)",
                 f"three = local.conv_relu<{ONCE}>(s, w3, b3)",
                 "y = Concat<axis = 1>(one, three)"])


def fire(net, module, squeeze, one, three):
    dot, x, weights = module and module + ".", net.v, []
    weights += net.conv_weights(f"{dot}squeeze", squeeze, net.c, 1, bias=True)
    net.convolve(squeeze, 1)
    weights += net.conv_weights(f"{dot}expand1x1", one, squeeze, 1, bias=True)
    weights += net.conv_weights(f"{dot}expand3x3", three, squeeze, 3, bias=True)
    net.convolve(one, 1)
    net.c = squeeze
    net.convolve(three, 3, 1, 1)
    net.call("fire", "fire", [x, *weights])
    net.c = one + three


def fire_alone(net):
    net.images()
    fire(net, "", 6, 64, 64)
    return ["N", "CO", "H", "W"]


def squeezenet(net):
    net.images()
    net.layer("stem", "conv_relu", ("features.0", None), 96, 7, 2)
    net.max_pool(3, 2, ceil=True)
    for i, widths in {3: (16, 64), 4: (16, 64), 5: (32, 128), 7: (32, 128), 8: (48, 192), 9: (48, 192), 10: (64, 256),
                      12: (64, 256)}.items():
        if i in (7, 12):
            net.max_pool(3, 2, ceil=True)
        fire(net, f"features.{i}", widths[0], widths[1], widths[1])
    x, weights = net.v, [net.weight("classifier.1", [net.symbol(*classes(net)), net.dim(512), 1, 1], 512),
                         net.bias("classifier.1", ["CLASSES"], 512)]
    net.call("scores", "conv_relu", [x, *weights], ["pads = [0, 0, 0, 0]", "strides = [1, 1]"])
    net.global_mean()
    return ["N", "CLASSES"]


# ---- residual networks

BASIC = Function("basic_block", ["x", "w1", "scale1", "shift1", "w2", "scale2", "shift2"], ["y"],
                 [f"a = local.conv_norm_relu<{ONCE}>(x, w1, scale1, shift1)",
                  f"b = local.conv_norm<{ONCE}>(a, w2, scale2, shift2)",
                  "s = Add(b, x)", "y = Relu(s)"])
BASIC_WIDER = Function(
    "wider_block", ["x", "w1", "scale1", "shift1", "w2", "scale2", "shift2", "w3", "scale3", "shift3"], ["y"],
    ["a = local.conv_norm_relu<pads = [1, 1, 1, 1], strides: ints = @strides>(x, w1, scale1, shift1)",
     f"b = local.conv_norm<{ONCE}>(a, w2, scale2, shift2)",
     "c = local.conv_norm<pads = [0, 0, 0, 0], strides: ints = @strides>(x, w3, scale3, shift3)",
     "s = Add(b, c)", "y = Relu(s)"], ["strides"])
DEEP = ["x", "w1", "scale1", "shift1", "w2", "scale2", "shift2", "w3", "scale3", "shift3"]
BOTTLENECK = Function(
    "bottleneck", DEEP, ["y"],
    [f"a = local.conv_norm_relu<{POINT}>(x, w1, scale1, shift1)",
     f"b = local.conv_norm_relu<{ONCE}>(a, w2, scale2, shift2)",
     f"c = local.conv_norm<{POINT}>(b, w3, scale3, shift3)",
     "s = Add(c, x)", "y = Relu(s)"])
BOTTLENECK_WIDER = Function(
    "wider_bottleneck", DEEP + ["w4", "scale4", "shift4"], ["y"],
    [f"a = local.conv_norm_relu<{POINT}>(x, w1, scale1, shift1)",
     "b = local.conv_norm_relu<pads = [1, 1, 1, 1], strides: ints = @strides>(a, w2, scale2, shift2)",
     f"c = local.conv_norm<{POINT}>(b, w3, scale3, shift3)",
     "d = local.conv_norm<pads = [0, 0, 0, 0], strides: ints = @strides>(x, w4, scale4, shift4)",
     "s = Add(c, d)", "y = Relu(s)"], ["strides"])
RESIDUAL = in_order(BASIC, BASIC_WIDER, BOTTLENECK, BOTTLENECK_WIDER)


def residual(net, module, layers, downsample):
    """A block: layers are (width, kernel, stride), the shortcut has a convolution of their common stride or none."""
    dot, x, ci, size, weights, total = module and module + ".", net.v, net.c, net.size, [], 1
    for i, (c, kernel, stride) in enumerate(layers, 1):
        weights += net.conv_weights(f"{dot}conv{i}", c, net.c, kernel) + net.affine(f"{dot}bn{i}", c)
        net.convolve(c, kernel, stride, kernel // 2)
        net.statistics()
        total *= stride
    plain = "basic_block" if len(layers) == 2 else "bottleneck"
    if not downsample:
        return net.call("block", plain, [x, *weights])
    co, after = net.c, net.size
    net.c, net.size = ci, size
    weights += net.conv_weights(f"{dot}downsample.0", co, ci, 1) + net.affine(f"{dot}downsample.1", co)
    net.convolve(co, 1, total)
    assert net.size == after
    return net.call("block", "wider_block" if len(layers) == 2 else "wider_bottleneck", [x, *weights],
                    [f"strides = [{total}, {total}]"])


def resnet(counts, deep):
    def build(net):
        net.images()
        net.layer("stem", "conv_norm_relu", ("conv1", "bn1"), 64, 7, 2, 3)
        net.max_pool(3, 2, 1)
        for stage, (c, count) in enumerate(zip((64, 128, 256, 512), counts), 1):
            for i in range(count):
                stride = 2 if stage > 1 and i == 0 else 1
                layers = [(c, 1, 1), (c, 3, stride), (4 * c, 1, 1)] if deep else [(c, 3, stride), (c, 3, 1)]
                residual(net, f"layer{stage}.{i}", layers, stride > 1 or net.c != layers[-1][0])
        return head(net)
    return build


def basic_block_alone(net):
    net.images()
    residual(net, "", [(64, 3, 1), (64, 3, 1)], True)
    return ["N", "C64", "H", "W"]


# ---- dense networks

DENSE = Function("dense_layer", ["x", "scale", "shift", "weight"], ["y"],
                 ["n = local.batch_norm(x, scale, shift)", "r = Relu(n)",
                  "c = Conv<pads = [1, 1, 1, 1]>(r, weight)", "y = Concat<axis = 1>(x, c)"])
TRANSITION = Function("transition", ["x", "scale", "shift", "weight"], ["y"],
                      ["n = local.batch_norm(x, scale, shift)", "r = Relu(n)", "c = Conv(r, weight)",
                       "y = AveragePool<kernel_shape = [2, 2], strides = [2, 2]>(c)"])


def dense_layer(net, module, growth=32):
    x, ci = net.v, net.c
    net.statistics()
    weights = net.affine(f"{module}.0", ci) + net.conv_weights(f"{module}.2", growth, ci, 3)
    net.convolve(growth, 3, 1, 1)
    net.call("dense", "dense_layer", [x, *weights])
    net.c = ci + growth
    net.see()


def transition(net, module, co):
    x = net.v
    net.statistics()
    weights = net.affine(f"{module}.0", net.c) + net.conv_weights(f"{module}.2", co, net.c, 1)
    net.convolve(co, 1)
    net.slide(2, 2)
    net.call("transition", "transition", [x, *weights])


def transition_alone(net):
    net.images(32)
    transition(net, "transition", 64)
    return ["N", "C64", "OH", "OW"]


def dense_block_alone(net):
    net.images(32)
    for i in range(6):
        dense_layer(net, f"layers.{i}")
    return ["N", "CO", "H", "W"]


def densenet(*counts):
    def build(net):
        net.images()
        net.layer("stem", "conv_norm_relu", ("features.0", "features.1"), 64, 7, 2, 3)
        net.max_pool(3, 2, 1)
        for i, count in enumerate(counts):
            for j in range(count):
                dense_layer(net, f"dense_blocks.{i}.layers.{j}")
            if i + 1 < len(counts):
                transition(net, f"transition_layers.{i}.transition", net.c // 2)
        net.batch_norm("final_bn")
        net.relu()
        return head(net, "classifier")
    return build


# ---- networks with depthwise convolutions

def mobilenet_v1(net):
    net.images()
    net.layer("stem", "conv_norm_relu", ("model.0.0", "model.0.1"), 32, 3, 2, 1)
    for i, (c, stride) in enumerate(((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1),
                                     (512, 1), (512, 1), (512, 1), (1024, 2), (1024, 1)), 1):
        net.layer("depth", "grouped_norm_relu", (f"model.{i}.0", f"model.{i}.1"), net.c, 3, stride, 1, net.c)
        net.layer("point", "conv_norm_relu", (f"model.{i}.3", f"model.{i}.4"), c, 1)
    net.avg_pool(7)
    assert net.size == (1, 1), net.size
    net.flatten(whole=False)
    net.linear("fc", classes(net))
    return ["N", "CLASSES"]


def inverted(net, co, kernel, stride, expand, names, act="relu6", published=lambda c, k: None):
    """Widened by `expand` (not with 1), a window for each channel, narrowed. names: of the pairs of modules."""
    wide = net.c * expand
    names = list(names)
    if expand != 1:
        net.layer("expand", f"conv_norm_{act}", names.pop(0), wide, 1, published=published(wide, 1))
    net.layer("depth", f"grouped_norm_{act}", names.pop(0), wide, kernel, stride, kernel // 2, wide,
              published(wide, kernel))
    net.layer("project", "conv_norm", names.pop(0), co, 1, published=published(co, 1))


def numbered(module, *first):
    return [(f"{module}.{i}", f"{module}.{i + 1}") for i in first]


def mobilenet_v2(net):
    published = lambda c, k: normal((2 / (c * k * k)) ** 0.5)  # Kaiming's normal distribution, by the outputs
    net.images()
    net.layer("stem", "conv_norm_relu6", ("features.0", "features.1"), 32, 3, 2, 1, published=published(32, 3))
    at = 3
    for expand, c, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                     (6, 160, 3, 2), (6, 320, 1, 1)):
        for i in range(count):
            pairs = numbered(f"features.{at}", *(0, 3, 6)[:3 if expand > 1 else 2])
            inverted(net, c, 3, stride if i == 0 else 1, expand, pairs, published=published)
            at += 1
    last = f"features.{at}", f"features.{at + 1}"
    net.layer("last", "conv_norm_relu6", last, 1280, 1, published=published(1280, 1))
    net.global_mean()
    net.linear("classifier.1", classes(net), published=normal(0.01), published_bias="constant(0) static")
    return ["N", "CLASSES"]


PARTS = ("expand_conv", "depthwise_conv", "project_conv")


def mbconv(net, module, co, kernel, stride, expand):
    dot, x, ci = module and module + ".", net.v, net.c
    inverted(net, co, kernel, stride, expand, [(f"{dot}{p}.0", f"{dot}{p}.1") for p in PARTS[expand == 1:]])
    if stride == 1 and ci == co:
        net.emit("sum", "Add", [net.v, x])


def mbconv_alone(net):
    net.images(112)
    mbconv(net, "", 192, 5, 2, 6)
    return ["N", 192, "OH", "OW"]


def efficientnet_b0(net):
    net.images()
    net.layer("stem", "conv_norm_relu", ("conv1", "bn1"), 32, 3, 2, 1)
    for i, (c, kernel, stride, expand) in enumerate((
            (16, 3, 1, 1), (24, 3, 2, 6), (24, 3, 1, 6), (40, 5, 2, 6), (40, 5, 1, 6), (80, 3, 2, 6), (80, 3, 1, 6),
            (112, 5, 1, 6), (112, 5, 1, 6), (192, 5, 2, 6), (192, 5, 1, 6), (192, 5, 1, 6), (320, 3, 1, 6))):
        mbconv(net, f"blocks.{i}", c, kernel, stride, expand)
    net.layer("last", "conv_norm_relu", ("conv2", "bn2"), 1280, 1)
    return head(net)


def efficientnet_b1(net):
    net.images()
    net.layer("stem", "conv_norm_relu", ("conv1", "bn1"), 32, 3, 2, 1)
    for i, (c, stride, expand) in enumerate(((16, 1, 1), (24, 2, 6), (40, 2, 6), (80, 2, 6), (112, 1, 6), (192, 2, 6),
                                             (320, 1, 6)), 1):
        wide, pairs = net.c * expand, numbered(f"mbconv{i}", 0, 3, 6)
        net.layer("expand", "conv_norm_relu6", pairs[0], wide, 1)  # also where it does not widen
        net.layer("depth", "grouped_norm_relu6", pairs[1], wide, 3, stride, 1, wide)
        net.layer("project", "conv_norm", pairs[2], c, 1)
    net.layer("last", "conv_norm_relu", ("conv2", "bn2"), 1280, 1)
    return head(net)


EXCITATION = Function("excitation", ["x", "w1", "w2"], ["y"],
                      ["mean = GlobalAveragePool(x)", "a = Conv(mean, w1)", "r = Relu(a)", "b = Conv(r, w2)",
                       "y = Sigmoid(b)"])


def efficientnet_b2(net):
    """The excitation replaces what it should weigh: after the first block every channel is one number."""
    net.images()
    net.layer("stem", "conv_norm_relu", ("conv1", "bn1"), 32, 3, 2, 1)
    for i, (c, stride, expand) in enumerate(((96, 1, 3), (144, 2, 6), (192, 2, 6), (288, 2, 6), (384, 1, 6)), 1):
        m, wide = f"mbconv{i}", net.c * expand
        net.layer("expand", "conv_norm_relu", (f"{m}.0", f"{m}.1"), wide, 1)
        net.layer("depth", "grouped_norm_relu", (f"{m}.3", f"{m}.4"), wide, 3, stride, 1, wide)
        weights = net.conv_weights(f"{m}.7", wide // 4, wide, 1) + net.conv_weights(f"{m}.9", wide, wide // 4, 1)
        net.call("excited", "excitation", [net.v, *weights])
        net.size = (1, 1)
        net.layer("project", "conv_norm", (f"{m}.11", f"{m}.12"), c, 1)
    net.layer("last", "conv_norm_relu", ("conv_final", "bn_final"), 1408, 1)
    return head(net)


SHUFFLE = Function(
    "shuffle", ["x"], ["y"],
    ["shape = Shape(x)", "split = Constant<value_ints: ints = @split>()", "parts = Reshape(x, split)",
     "turned = Transpose<perm = [0, 2, 1, 3]>(parts)", "y = Reshape(turned, shape)"], ["split"])


def shuffle_unit(net, module, co, groups=3):
    dot, x, ci, mid = module and module + ".", net.v, net.c, co // 4
    net.layer("point", "grouped_norm_relu", (f"{dot}conv1", f"{dot}bn1"), mid, 1, group=groups)
    net.layer("depth", "grouped_norm", (f"{dot}conv2", f"{dot}bn2"), mid, 3, 1, 1, mid)
    net.call("shuffled", "shuffle", [net.v], [f"split = [0, {groups}, {mid // groups}, -1]"])
    wide = net.layer("wide", "grouped_norm_relu", (f"{dot}conv3", f"{dot}bn3"), co, 1, group=groups)
    if ci != co:
        net.v, net.c = x, ci
        x = net.layer("shortcut", "conv_norm", (f"{dot}shortcut.0", f"{dot}shortcut.1"), co, 1)
    net.emit("sum", "Add", [wide, x])


def shuffle_alone(net):
    net.images(240)
    shuffle_unit(net, "", 480)
    return ["N", 480, "H", "W"]


def shufflenet(net):
    net.images()
    net.layer("stem", "conv_norm_relu", ("conv1", "bn1"), 24, 3, 2, 1)
    net.max_pool(3, 2, 1)
    for stage, (c, count) in enumerate(((240, 3), (480, 7), (960, 3)), 2):
        for i in range(count):
            shuffle_unit(net, f"stage{stage}.{i}", c)
    net.layer("last", "conv_norm_relu", ("conv5", "bn5"), 1024, 1)
    return head(net)


def regnet(net):
    net.images()
    for i, c in enumerate((64, 128, 256)):
        for j in (0, 3):
            m = f"feature_extractor.{i}"
            net.layer("stage", "conv_bias_norm_relu", (f"{m}.{j}", f"{m}.{j + 1}"), c, 3, 1, 1)
        net.max_pool(2, 2)
    net.emit("mean", "ReduceMean", [net.v, net.integers("axes", (2, 3))], ["keepdims = 0"])
    net.linear("fc", classes(net))
    return ["N", "CLASSES"]


# Without normalisations, layers of published weights pass on less than half of what they get, and after a few of them
# only the last biases are left: weights grow so that the published network passes on somewhat more than it gets and the
# narrow ones somewhat less, and data and biases so that outputs are far larger than any absolute tolerance.
FADING = ("published weights let the input fade from layer to layer, until outputs hang on the last biases alone; "
          "larger weights, and signed inputs and biases of a larger scale")


FAINT = "published outputs differ by less than 1e-2 when a parameter changes; a last layer with larger weights"
SIGNS = ("behind the first block a normalisation sees two numbers for each channel and makes signs of them, the next "
         "ones signs of sums of signs, until rounding decides them; smaller weights before these normalisations, "
         "larger ones in the excitations")
CANCELS = "insensitive: a normalisation takes the bias of the convolution before it out again"
SHIFTED = ("insensitive: a normalisation takes the shift of the one before out again, as between the two there are "
           "only convolutions of one pixel")


def loud_head(factor, module="fc"):
    return {"draws": Scaled({module.replace(".", "[.]"): factor}), "why": FAINT}


def louder(factor, scale=64):
    return {"draws": Louder(factor, scale, f"normal(0, {scale})"), "why": FADING}


def tasks(level):
    add = Networks(level).add
    rows = lambda n, f: {"N": n, "divide": f.get}
    add(1, "mlp", "Three linear layers with ReLU between them", perceptron(16384, 16384, 16384, 8192), {"N": 128},
        rows(24, {16384: 384, 8192: 256}),
        [rows(1, {16384: 1, 8192: 1}), rows(7, {16384: 131, 8192: 61}), rows(61, {16384: 37, 8192: 97})], **louder(12))
    add(2, "shallow_wide_mlp", "Three wide linear layers with ReLU between them",
        perceptron(16384, 32768, 32768, 16384), {"N": 128}, rows(24, {16384: 256, 32768: 512}),
        [rows(1, {16384: 1, 32768: 1}), rows(7, {16384: 61, 32768: 131}), rows(61, {16384: 97, 32768: 37})],
        **louder(16))
    add(3, "deep_narrow_mlp", "Seventeen linear layers with ReLU between them", perceptron(8192, *[1024] * 16, 8192),
        {"N": 1024}, rows(8, {8192: 384, 1024: 512}),
        [rows(1, {8192: 1, 1024: 1}), rows(7, {8192: 61, 1024: 131}), rows(61, {8192: 97, 1024: 37})], **louder(3))
    add(4, "lenet5", "LeNet-5", lenet, image(4096, 32, 32, CLASSES=20), image(16, 32, 32, CLASSES=20),
        [image(1, 16, 16, CLASSES=1), image(3, 29, 21, CLASSES=7), image(7, 17, 33, CLASSES=31)], divide="fixed",
        **louder(4, 8))
    add(5, "alexnet", "AlexNet", alexnet, image(1024, 224, 224, CLASSES=1000),
        image(4, 79, 95, CLASSES=100, divide=8),
        [image(1, 63, 63, CLASSES=1, divide=32), image(3, 65, 97, CLASSES=7, divide=16),
         image(2, 101, 67, CLASSES=31, divide=32)], **louder(5))
    add(6, "inception_module", "Inception module: convolutions of 1, 3 and 5 pixels and a pool, side by side",
        inception_alone, image(10, 224, 224), image(2, 16, 20, divide=8),
        [image(1, 1, 1, divide=16), image(2, 7, 13, divide=8), image(3, 17, 5, divide=16)],
        functions=in_order(INCEPTION))
    add(7, "googlenet", "GoogLeNet (Inception, version 1)", googlenet, image(10, 224, 224, CLASSES=1000),
        image(4, 40, 48, CLASSES=100, divide=4),
        [image(2, 33, 65, CLASSES=7, divide=8), image(5, 47, 31, CLASSES=31, divide=8),
         image(1, 97, 37, CLASSES=1, divide=8)], functions=in_order(INCEPTION), **louder(2.5, 1024))
    add(8, "resnet_basic_block", "Basic block of a residual network, with a convolution in its shortcut",
        basic_block_alone, image(10, 224, 224), image(2, 24, 28, divide=4),
        [image(1, 2, 1, divide=64), image(2, 7, 13, divide=16), image(3, 17, 5, divide=4)], functions=RESIDUAL)
    add(9, "resnet18", "ResNet-18", resnet((2, 2, 2, 2), False), image(2, 224, 224, CLASSES=1000),
        image(4, 64, 64, CLASSES=100, divide=8),
        [image(2, 65, 97, CLASSES=7, divide=16), image(5, 33, 47, CLASSES=31, divide=32),
         image(3, 71, 37, CLASSES=1, divide=16)], functions=RESIDUAL)
    add(10, "resnet101", "ResNet-101", resnet((3, 4, 23, 3), True), image(10, 224, 224, CLASSES=1000),
        image(4, 64, 64, CLASSES=100, divide=8),
        [image(2, 65, 97, CLASSES=7, divide=16), image(5, 33, 47, CLASSES=31, divide=32),
         image(3, 71, 37, CLASSES=1, divide=16)], functions=RESIDUAL)
    quarter = lambda c: c // 8 if c == 4096 else c // 4
    for number, name, counts in ((11, 16, (2, 2, 3, 3, 3)), (12, 19, (2, 2, 4, 4, 4))):
        add(number, f"vgg{name}", f"VGG-{name}", vgg(*counts), image(10, 224, 224, CLASSES=1000),
            image(2, 32, 32, CLASSES=100, divide=quarter),
            [image(1, 33, 32, CLASSES=1, divide=32), image(2, 37, 65, CLASSES=7, divide=16),
             image(3, 47, 33, CLASSES=31, divide=16)], **louder(4, 4096))
    add(13, "densenet_transition", "Transition of a dense network: batch normalisation, ReLU, a convolution of 1 "
        "pixel, means of 2 x 2", transition_alone, image(128, 256, 256), image(4, 32, 40),
        [image(1, 2, 3, divide=32), image(3, 7, 13, divide=16), image(2, 17, 9)], functions=in_order(TRANSITION))
    add(14, "densenet_block", "Dense block of six layers", dense_block_alone, image(10, 224, 224),
        image(2, 20, 24, divide=4),
        [image(1, 2, 1, divide=32), image(3, 7, 13, divide=8), image(2, 17, 5, divide=4)], functions=in_order(DENSE))
    for number, name, counts in ((15, 121, (6, 12, 24, 16)), (16, 201, (6, 12, 48, 32))):
        add(number, f"densenet{name}", f"DenseNet-{name}", densenet(*counts), image(10, 224, 224, CLASSES=10),
            image(4, 64, 64, CLASSES=10, divide=8),
            [image(2, 65, 97, CLASSES=7, divide=16), image(5, 33, 47, CLASSES=31, divide=32),
             image(3, 71, 37, CLASSES=1, divide=16)], functions=in_order(DENSE, TRANSITION),
            **loud_head(256, "classifier"))
    squeezed = lambda s, c: {6: s, 64: c}.get
    add(17, "squeezenet_fire", "Fire module: a narrow convolution, then two wide ones side by side", fire_alone,
        image(128, 256, 256), image(2, 32, 40, divide=squeezed(6, 32)),
        [image(1, 1, 1, divide=squeezed(1, 1)), image(2, 7, 13, divide=squeezed(5, 17)),
         image(3, 17, 5, divide=squeezed(3, 7))], functions=in_order(FIRE))
    add(18, "squeezenet", "SqueezeNet", squeezenet, image(64, 512, 512, CLASSES=1000),
        image(4, 64, 64, CLASSES=100, divide=4),
        [image(2, 33, 65, CLASSES=7, divide=8), image(5, 47, 31, CLASSES=31, divide=16),
         image(1, 97, 37, CLASSES=1, divide=8)], functions=in_order(FIRE), **louder(4, 1024))
    add(27, "regnet", "Three stages of convolutions with batch normalisation, after RegNet", regnet,
        image(8, 224, 224, CLASSES=10), image(2, 32, 40, CLASSES=10, divide=4),
        [image(1, 8, 9, CLASSES=1, divide=64), image(2, 17, 13, CLASSES=7, divide=16),
         image(3, 11, 31, CLASSES=10, divide=8)], allow=CANCELS)
    fixed(add)


def fixed(add):
    """Depthwise convolutions: the widths are the published ones in every workload."""
    add(19, "mobilenet_v1", "MobileNet, version 1", mobilenet_v1, image(10, 224, 224, CLASSES=1000),
        image(1, 193, 193, CLASSES=100),
        [image(1, 193, 199, CLASSES=7), image(1, 197, 193, CLASSES=1), image(1, 211, 203, CLASSES=31)], divide="fixed",
        **loud_head(16))
    add(20, "mobilenet_v2", "MobileNet, version 2, without its shortcuts", mobilenet_v2,
        image(10, 224, 224, CLASSES=1000), image(4, 64, 64, CLASSES=100),
        [image(3, 65, 33, CLASSES=7), image(5, 47, 31, CLASSES=31), image(2, 71, 97, CLASSES=1)], divide="fixed",
        allow=SHIFTED)
    add(21, "efficientnet_mbconv", "Inverted bottleneck of an EfficientNet", mbconv_alone, image(10, 224, 224),
        image(2, 14, 16), [image(1, 3, 2), image(3, 7, 13), image(2, 11, 5)], divide="fixed")
    add(22, "efficientnet_b0", "EfficientNet-B0, without its excitations", efficientnet_b0,
        image(10, 224, 224, CLASSES=1000), image(4, 64, 64, CLASSES=100),
        [image(3, 65, 33, CLASSES=7), image(5, 47, 31, CLASSES=31), image(2, 71, 97, CLASSES=1)], divide="fixed",
        allow=SHIFTED)
    add(23, "efficientnet_b1", "EfficientNet-B1, one block a stage", efficientnet_b1,
        image(10, 240, 240, CLASSES=1000), image(4, 64, 64, CLASSES=100),
        [image(3, 65, 33, CLASSES=7), image(5, 47, 31, CLASSES=31), image(2, 71, 97, CLASSES=1)], divide="fixed",
        allow=SHIFTED)
    add(24, "efficientnet_b2", "EfficientNet-B2, one block a stage", efficientnet_b2,
        image(2, 224, 224, CLASSES=1000), image(2, 64, 64, CLASSES=100),
        [image(2, 17, 33, CLASSES=7), image(5, 7, 31, CLASSES=31), image(3, 23, 11, CLASSES=1)], divide="fixed",
        functions=in_order(EXCITATION), why=SIGNS, allow=SHIFTED,
        draws=Scaled({r"mbconv1[.][03]": 1, r"mbconv\d[.][79]": 8, r"mbconv\d[.]11": 0.1, r"mbconv\d[.]3": 0.02,
                      r"mbconv\d[.]0|conv_final": 0.008, "fc": 8}))
    add(25, "shufflenet_unit", "Unit of a ShuffleNet", shuffle_alone, image(10, 224, 224), image(2, 12, 16),
        [image(1, 2, 1), image(2, 7, 13), image(3, 17, 5)], divide="fixed", functions=in_order(SHUFFLE),
        allow=SHIFTED)
    add(26, "shufflenet", "ShuffleNet without strides in its stages", shufflenet, image(10, 224, 224, CLASSES=1000),
        image(2, 32, 32, CLASSES=100),
        [image(2, 33, 17, CLASSES=7), image(5, 15, 31, CLASSES=31), image(3, 21, 37, CLASSES=1)], divide="fixed",
        functions=in_order(SHUFFLE), allow=SHIFTED, **loud_head(64))
