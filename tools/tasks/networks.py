# SPDX-License-Identifier: Apache-2.0
"""Builds the networks of KernelBench's level 3 as task files: layers with their weights, and functions for the blocks.

A network is written once, as a Python function of a Net, and run once for every workload: widths are symbols in the
file (C64 is what the published network makes 64 channels wide), so that a workload can have a narrow network, and the
text must come out the same for all of them. The extents are followed through the layers, so that an image that is too
small for the network, or a batch too small for its statistics, is noticed here and not by a reader. A depthwise convolution
has as many groups as channels, and ONNX wants their number in the file: networks with such layers have fixed widths.
"""
import math
import re

from task_files import UNIT, Function, Input, ints

ONES, ZEROS = "constant(1) static", "constant(0) static"
GAMMA, BETA = "uniform(0.5, 1.5) static", "uniform(-0.5, 0.5) static"

# ---- functions: what the networks repeat -----------------------------------------------------------------------------

WINDOW = ["pads", "strides"]
CONVOLVE = "Conv<pads: ints = @pads, strides: ints = @strides>"
GROUPED = "Conv<group: int = @group, pads: ints = @pads, strides: ints = @strides>"
NORM = ("BatchNormalization<epsilon = 1e-5, momentum = 0.9, training_mode = 1>"
        "(x, scale, shift, zeros, zeros)")


def in_order(*functions):
    return {f.name: f for f in functions}


FUNCTIONS = in_order(
    Function("batch_norm", ["x", "scale", "shift"], ["y"],
             ["channels = Shape(scale)", "zeros = ConstantOfShape(channels)", f"y, mean, variance = {NORM}"]),
    Function("conv_relu", ["x", "weight", "bias"], ["y"],
             [f"c = {CONVOLVE}(x, weight, bias)", "y = Relu(c)"], WINDOW),
    Function("conv_bias_norm_relu", ["x", "weight", "bias", "scale", "shift"], ["y"],
             [f"c = {CONVOLVE}(x, weight, bias)", "n = local.batch_norm(c, scale, shift)", "y = Relu(n)"], WINDOW),
    Function("conv_norm", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {CONVOLVE}(x, weight)", "y = local.batch_norm(c, scale, shift)"], WINDOW),
    Function("conv_norm_relu", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {CONVOLVE}(x, weight)", "n = local.batch_norm(c, scale, shift)", "y = Relu(n)"], WINDOW),
    Function("grouped_norm", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {GROUPED}(x, weight)", "y = local.batch_norm(c, scale, shift)"], ["group"] + WINDOW),
    Function("grouped_norm_relu", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {GROUPED}(x, weight)", "n = local.batch_norm(c, scale, shift)", "y = Relu(n)"], ["group"] + WINDOW),
    Function("relu6", ["x"], ["y"],
             ["low = Constant<value_float = 0.0>()", "high = Constant<value_float = 6.0>()", "y = Clip(x, low, high)"]),
    Function("conv_norm_relu6", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {CONVOLVE}(x, weight)", "n = local.batch_norm(c, scale, shift)", "y = local.relu6(n)"], WINDOW),
    Function("grouped_norm_relu6", ["x", "weight", "scale", "shift"], ["y"],
             [f"c = {GROUPED}(x, weight)", "n = local.batch_norm(c, scale, shift)", "y = local.relu6(n)"],
             ["group"] + WINDOW),
    Function("linear_relu", ["x", "weight", "bias"], ["y"],
             ["h = Gemm<transB = 1>(x, weight, bias)", "y = Relu(h)"]),
)


def conv_attributes(kernel, stride, pad, group=None):
    """What a call sets, in the order of the names; group only where the function has it."""
    del kernel
    rows = [] if group is None else [f"group = {group}"]
    return rows + [f"pads = {ints([pad] * 4)}", f"strides = {ints([stride] * 2)}"]


def uniform(bound):
    return f"uniform(-{bound:.8g}, {bound:.8g}) static"


def normal(deviation):
    return f"normal(0, {deviation:.8g}) static"


LITERAL = 3  # so few channels are the same in every workload: colours


class Published:
    """How a default form draws inputs: as published, but for the normalisations, whose scale and shift are random."""

    def __init__(self, x=None):
        self.x = x  # of the data

    def weight(self, name, fan_in, published):
        return published

    def bias(self, name, fan_in, published):
        return published

    def scale(self, name):
        return GAMMA

    def shift(self, name):
        return BETA


class Louder(Published):
    """Weights and biases larger by a factor, so that the outputs of a network without normalisations depend on its input."""

    def __init__(self, factor, bias=None, x="normal(0, 1)"):
        super().__init__(x)
        self.factor, self.bias_factor = factor, factor if bias is None else bias

    def weight(self, name, fan_in, published):
        return uniform(self.factor / math.sqrt(fan_in))

    def bias(self, name, fan_in, published):
        return uniform(self.bias_factor / math.sqrt(fan_in))


class Scaled(Published):
    """Weights and biases of the modules whose names a pattern matches are larger by its factor."""

    def __init__(self, factors, x=None):
        super().__init__(x)
        self.factors = factors

    def factor(self, name):
        return next((f for pattern, f in self.factors.items() if re.fullmatch(pattern, name)), 1)

    def weight(self, name, fan_in, published):
        factor = self.factor(name)
        return published if factor == 1 else uniform(factor / math.sqrt(fan_in))

    bias = weight


class Net:
    """The graph so far: `v` the current value's name, `c` its channels as published, `size` its extents in the
    workload, or () for a matrix. load: the workload's N, H, W ...; width: what it makes of a published width, None
    where widths are fixed."""

    def __init__(self, load, draws=None, width=None, functions=None):
        self.load, self.draws, self.width = dict(load), draws or Published(), width
        self.library = {**FUNCTIONS, **(functions or {})}
        self.bindings, self.inputs, self.lines, self.names, self.used = {}, [], [], {}, {}
        self.constants, self.prefix = {}, "C"
        self.v, self.c, self.size = None, None, ()
        self.flops, self.largest = 0, 0

    # ---- names and extents

    def symbol(self, name, extent):
        """A dimension that every workload binds."""
        assert self.bindings.setdefault(name, extent) == extent, (name, extent, self.bindings[name])
        return name

    def channels(self, c):
        """The dimension of a published width."""
        return c if c <= LITERAL or self.width is None else self.symbol(f"{self.prefix}{c}", self.width(c))

    def wide(self, c):
        """The extent of a dimension: a published width, or a symbol bound before."""
        if isinstance(c, str):
            return self.bindings[c]
        return c if c <= LITERAL or self.width is None else self.width(c)

    def dim(self, c):
        return c if isinstance(c, str) else self.channels(c)

    def name(self, base):
        self.names[base] = self.names.get(base, 0) + 1
        return base if self.names[base] == 1 else f"{base}{self.names[base]}"

    # ---- inputs

    def data(self, name, dims, dist=UNIT, default=None):
        self.inputs.append(Input(name, dims, default or dist, dist if default and default != dist else None))
        return name

    def rows(self, c, dist=UNIT, default=None):
        """The input x of N rows of c features."""
        self.prefix = "F"
        self.v = self.data("x", [self.symbol("N", self.load["N"]), self.channels(c)], dist, default or self.draws.x)
        self.c = c
        return self.v

    def images(self, c=3, dist=UNIT, default=None):
        """The input x of N images with c channels."""
        n, h, w = (self.symbol(s, self.load[s]) for s in "NHW")
        self.v = self.data("x", [n, self.channels(c), h, w], dist, default or self.draws.x)
        self.c, self.size = c, (self.load["H"], self.load["W"])
        return self.v

    def parameter(self, name, dims, published, default):
        """A weight; the files name it as the modules' state_dict does, with '_' for '.'."""
        name = name.replace(".", "_")
        assert all(i.name != name for i in self.inputs), name
        self.inputs.append(Input(name, dims, default, published if default != published else None))
        return name

    def weight(self, module, dims, fan_in, published=None):
        published = published or uniform(1 / math.sqrt(fan_in))
        return self.parameter(f"{module}.weight", dims, published, self.draws.weight(module, fan_in, published))

    def bias(self, module, dims, fan_in, published=None):
        published = published or uniform(1 / math.sqrt(fan_in))
        return self.parameter(f"{module}.bias", dims, published, self.draws.bias(module, fan_in, published))

    def affine(self, module, c):
        """Scale and shift of a normalisation."""
        d = [self.dim(c)]
        return [self.parameter(f"{module}.weight", d, ONES, self.draws.scale(module)),
                self.parameter(f"{module}.bias", d, ZEROS, self.draws.shift(module))]

    def conv_weights(self, module, co, ci, kernel, group=1, bias=False, published=None):
        """Weight and perhaps bias of a convolution from ci to co channels."""
        kernel = (kernel,) * 2 if isinstance(kernel, int) else tuple(kernel)
        fan_in = ci // group * math.prod(kernel)
        ci_dim = self.dim(ci) if group == 1 else self.grouped(ci, group)
        row = [self.weight(module, [self.dim(co), ci_dim, *kernel], fan_in, published)]
        return row + ([self.bias(module, [self.dim(co)], fan_in)] if bias else [])

    def grouped(self, ci, group):
        """Channels of one group."""
        return ci // group if self.width is None else self.symbol(f"G{ci // group}", self.wide(ci) // group)

    # ---- nodes

    def emit(self, base, operator, arguments, attributes=()):
        value = self.name(base)
        attributes = f"<{', '.join(attributes)}>" if attributes else ""
        self.lines.append(f"{value} = {operator}{attributes}({', '.join(arguments)})")
        self.v = value
        return value

    def call(self, base, function, arguments, attributes=()):
        self.uses(function)
        return self.emit(base, f"local.{function}", arguments, attributes)

    def uses(self, function):
        """Adds a function after those that it calls, as ONNX's own evaluator wants them."""
        if function in self.used:
            return
        for line in self.library[function].body:
            for word in line.replace("(", " ").replace("<", " ").split():
                if word.startswith("local."):
                    self.uses(word[len("local."):])
        self.used[function] = self.library[function]

    def constant(self, base, text):
        """A constant by its text, "int64[1] NAME = {3}"; the same one twice is one."""
        for name, known in self.constants.items():
            if known == text:
                return name
        name = self.name(base)
        self.constants[name] = text
        return name

    def integers(self, base, values):
        return self.constant(base, f"int64[{len(values)}] NAME = {{{', '.join(str(v) for v in values)}}}")

    # ---- extents through the layers

    def slide(self, kernel, stride=1, pad=0, ceil=False):
        """A window's effect on the extents."""
        whole = lambda n: n + 2 * pad - kernel
        assert min(whole(n) for n in self.size) >= 0, (self.size, kernel)
        self.size = tuple((-(-whole(n) // stride) if ceil else whole(n) // stride) + 1 for n in self.size)

    def convolve(self, co, kernel, stride=1, pad=0, group=1):
        self.slide(kernel, stride, pad)
        self.flops += (2 * self.load["N"] * math.prod(self.size) * self.wide(co) * self.wide(self.c) // group *
                       kernel * kernel)
        self.c = co
        self.see()

    def see(self):
        self.largest = max(self.largest, self.load["N"] * self.wide(self.c) * math.prod(self.size))

    def statistics(self):
        """A batch normalisation of less than two values for each channel is refused by PyTorch."""
        assert self.load["N"] * math.prod(self.size) >= 2, self.size

    # ---- layers

    def layer(self, base, function, modules, co, kernel, stride=1, pad=0, group=1, published=None):
        """A call that begins with a convolution: modules are the names of convolution and normalisation (None: a bias
        instead)."""
        conv, norm = modules
        bias = "bias" in self.library[function].inputs
        x, weights = self.v, self.conv_weights(conv, co, self.c, kernel, group, bias, published)
        weights += self.affine(norm, co) if norm else []
        self.convolve(co, kernel, stride, pad, group)
        if norm:
            self.statistics()
        grouped = group if "group" in self.library[function].attributes else None
        return self.call(base, function, [x, *weights], conv_attributes(kernel, stride, pad, grouped))

    def batch_norm(self, module):
        self.statistics()
        return self.call("norm", "batch_norm", [self.v, *self.affine(module, self.c)])

    def conv(self, module, co, kernel, stride=1, pad=0, group=1, bias=True, base="conv"):
        weights = self.conv_weights(module, co, self.c, kernel, group, bias)
        x = self.v
        self.convolve(co, kernel, stride, pad, group)
        rows = [("group", group, group == 1), ("pads", ints([pad] * 4), pad == 0),
                ("strides", ints([stride] * 2), stride == 1)]
        return self.emit(base, "Conv", [x, *weights], [f"{k} = {v}" for k, v, usual in rows if not usual])

    def relu(self, base="relu"):
        return self.emit(base, "Relu", [self.v])

    def max_pool(self, kernel, stride, pad=0, ceil=False):
        self.slide(kernel, stride, pad, ceil)
        rows = ["ceil_mode = 1"] * ceil + [f"kernel_shape = {ints([kernel] * 2)}"]
        rows += [f"pads = {ints([pad] * 4)}"] * (pad > 0) + [f"strides = {ints([stride] * 2)}"]
        return self.emit("pool", "MaxPool", [self.v], rows)

    def avg_pool(self, kernel):
        self.slide(kernel, kernel)
        rows = [f"kernel_shape = {ints([kernel] * 2)}", f"strides = {ints([kernel] * 2)}"]
        return self.emit("pool", "AveragePool", [self.v], rows)

    def global_mean(self):
        """The mean of every channel, as a matrix."""
        self.emit("mean", "GlobalAveragePool", [self.v])
        return self.flatten(whole=False)

    def flatten(self, whole=True):
        """Images to rows. whole: with their extents, under a symbol for the number of features."""
        if whole:
            features = self.wide(self.c) * math.prod(self.size)
            self.c = self.symbol("FEATURES", features)
        self.size = ()
        return self.emit("flat", "Flatten", [self.v])

    def linear(self, module, co, relu=False, published=None, published_bias=None, fan_in=None):
        """co: a width or a symbol with its extent."""
        if isinstance(co, tuple):
            co = self.symbol(*co)
        fan_in = fan_in or self.c
        weights = [self.weight(module, [self.dim(co), self.dim(self.c)], fan_in, published),
                   self.bias(module, [self.dim(co)], fan_in, published_bias)]
        self.flops += 2 * self.load["N"] * self.wide(co) * self.wide(self.c)
        self.c = co
        if relu:
            return self.call("hidden", "linear_relu", [self.v, *weights])
        return self.emit("gemm", "Gemm", [self.v, *weights], ["transB = 1"])

    def concat(self, values, c):
        self.c = c
        self.see()
        return self.emit("joined", "Concat", values, ["axis = 1"])

    def finish(self, output):
        """The last value is called y. Returns what Level.task takes."""
        self.inputs.sort(key=lambda i: "static" in i.dist)
        head, tail = self.lines[-1].split(" = ", 1)
        assert head == self.v
        self.lines[-1] = f"y = {tail}"
        return {"inputs": self.inputs, "output": output, "body": self.lines, "functions": list(self.used.values()),
                "constants": [text.replace("NAME", name) for name, text in self.constants.items()]}


class Networks:
    """Adds tasks to a level: for every workload the network is run, and its extents and limits are checked."""

    def __init__(self, level):
        self.level = level

    def add(self, number, name, title, build, full, small, ragged, draws=None, divide=None, why=None, probes=None,
            allow=None, functions=None, published_constants=None):
        """full, small and the rows of ragged: N, H, W ... of a workload; "divide" in the latter two is by how much the
        network is narrower (or what to make of a width). build(net) returns the dims of the output."""
        loads, text, made = {}, None, None
        rows = {"small": small, "full": full, **{f"ragged{i}": r for i, r in enumerate(ragged)}}
        for load, row in rows.items():
            row = dict(row)
            narrow = row.pop("divide", 1) if divide != "fixed" else None
            width = narrow if narrow is None or callable(narrow) else divided_by(narrow)
            net = Net(row, draws, width, functions)
            try:
                made = net.finish(build(net))
            except AssertionError as e:
                raise AssertionError(number, load, *e.args) from None
            loads[load] = net.bindings
            if load == "small":
                print(f"{number}: {net.flops / 1e6:.0f} MFLOP, {net.largest} elements") if SHOW else None
            assert text in (None, (made["body"], [i.declare() for i in made["inputs"]])), (number, load)
            text = (made["body"], [i.declare() for i in made["inputs"]])
        changed = [i for i in made["inputs"] if i.published]
        fresh = any(i.published in (ONES, ZEROS) for i in changed)
        if fresh:
            why = (f"{why}, random scale and shift" if why else
                   "a fresh layer's scale is one and its shift zero, so that a kernel may leave both out; random "
                   "scale and shift")
        self.level.task(number, name, title, workloads=loads, repair=why, probes=probes, allow=allow,
                        published_constants=published_constants, **made)


SHOW = False


def divided_by(d):
    def width(c):
        assert c % d == 0, (c, d)
        return c // d
    return width
