# SPDX-License-Identifier: Apache-2.0
"""Builds the fused tasks of KernelBench's level 2: a chain of operators after a convolution or a matrix product.

A chain is written once, with symbols for extents, and run once for every workload with numbers in their place, so that
extents that are too small for a window, a group or a batch's statistics are noticed here and not by a reader.
"""
import math

from task_files import RAGGED_LIMIT, SMALL_LIMIT, UNIT, Input, conv_attributes, ints

RANDN = "normal(0, 1) static"
ONES, ZEROS = "constant(1) static", "constant(0) static"
GAMMA, BETA = "uniform(0.5, 1.5) static", "uniform(-0.5, 0.5) static"
FLOPS_LIMIT = 60e6  # of the workload `small`, so that the oracle stays quick


class TooSmall(Exception):
    pass


def number_text(v):
    return f"{v:.8g}" if isinstance(v, int) or v != int(v) else f"{v:.1f}"


class Chain:
    """The graph so far: `v` is the current value's name, `shape` its extents, `dims` what the file calls them."""

    def __init__(self, bindings, draws):
        self.bindings, self.draws = dict(bindings), draws
        self.inputs, self.constants, self.lines, self.names = [], {}, [], {}
        self.v, self.shape, self.dims = None, [], []
        self.largest, self.flops = 0, 0
        self.published_constants = {}

    # ---- names, inputs, constants

    def extent(self, d):
        return d if isinstance(d, int) else self.bindings[d]

    def sees(self, shape):
        if min(shape, default=1) < 1:
            raise TooSmall(shape)
        self.largest = max(self.largest, math.prod(shape))

    def name(self, base):
        self.names[base] = self.names.get(base, 0) + 1
        return base if self.names[base] == 1 else f"{base}{self.names[base]}"

    def input(self, name, dims, dist, default=None, dtype="float"):
        """dist is the published distribution; `draws` of the task, or else `default`, replaces it."""
        drawn = self.draws.get(name, default)
        if not any(i.name == name for i in self.inputs):
            self.inputs.append(Input(name, dims, drawn or dist, dist if drawn and drawn != dist else None, dtype))
        self.sees([self.extent(d) for d in dims])
        return name

    def start(self, name, dims, dist=UNIT):
        self.v, self.dims = self.input(name, dims, dist), list(dims)
        self.shape = [self.extent(d) for d in dims]
        return self

    def weight(self, name, dims, dist=RANDN, default=None):
        return self.input(name, dims, dist, default), dims

    def constant(self, base, text):
        """A constant by its text ("float", "{2.0}"); the same one twice is one."""
        for name, known in self.constants.items():
            if known == text and name.rstrip("0123456789") == base:
                return name
        name = self.name(base)
        self.constants[name] = text
        return name

    def scalar(self, base, value, published=None):
        name = self.constant(base, f"float NAME = {{{number_text(float(value))}}}")
        if published is not None:
            self.published_constants[name] = (number_text(float(published)), number_text(float(value)))
        return name

    def axes(self, axes, published=None):
        name = self.constant("axes", f"int64[{len(axes)}] NAME = {{{', '.join(str(a) for a in axes)}}}")
        if published is not None:
            self.published_constants[name] = tuple(", ".join(str(a) for a in v) for v in (published, axes))
        return name

    def emit(self, base, operator, arguments, attributes=(), shape=None, dims=None):
        value = self.name(base)
        attributes = ", ".join(attributes)
        self.lines.append(f"{value} = {operator}{'<' + attributes + '>' if attributes else ''}"
                          f"({', '.join(arguments)})")
        self.v = value
        if shape is not None:
            self.shape, self.dims = list(shape), list(dims)
        self.sees(self.shape)
        return self

    # ---- products

    def conv(self, module, co, kernel, stride=1, pad=0, output_padding=0, transposed=False, bias=True, fan_in=None):
        rank = len(self.shape) - 2
        each = lambda v: (v,) * rank if isinstance(v, int) else tuple(v)
        kernel, stride, pad, output_padding = each(kernel), each(stride), each(pad), each(output_padding)
        ci, sizes = self.dims[1], self.shape[2:]
        bound = f"{1 / math.sqrt(fan_in):.8g}"
        dist = f"uniform(-{bound}, {bound}) static"
        w, _ = self.weight(f"{module}_weight", ([ci, co] if transposed else [co, ci]) + list(kernel), dist)
        arguments = [self.v, w] + ([self.weight(f"{module}_bias", [co], dist)[0]] if bias else [])
        attributes = conv_attributes(kernel, stride, pad, output_padding)
        if transposed:
            out = [(n - 1) * s - 2 * p + k + o for n, s, p, k, o in zip(sizes, stride, pad, kernel, output_padding)]
        else:
            out = [(n + 2 * p - k) // s + 1 if n + 2 * p >= k else 0
                   for n, s, p, k in zip(sizes, stride, pad, kernel)]
        channels = self.extent(co)
        self.flops += (2 * self.shape[0] * self.shape[1] * channels * math.prod(kernel) *
                       math.prod(sizes if transposed else out))
        names = {2: ["OH", "OW"], 3: ["OD", "OH", "OW"]}[rank]
        return self.emit("conv", "ConvTranspose" if transposed else "Conv", arguments, attributes,
                         [self.shape[0], channels] + out, [self.dims[0], co] + names)

    def linear(self, module, n, bias=True, fan_in=None):
        bound = f"{1 / math.sqrt(fan_in):.8g}"
        dist = f"uniform(-{bound}, {bound}) static"
        w, _ = self.weight(f"{module}_weight", [n, self.dims[1]], dist)
        arguments = [self.v, w] + ([self.weight(f"{module}_bias", [n], dist)[0]] if bias else [])
        self.flops += 2 * math.prod(self.shape) * self.extent(n)
        return self.emit("gemm", "Gemm", arguments, ["transB = 1"], [self.shape[0], self.extent(n)], [self.dims[0], n])

    # ---- elementwise

    def function(self, base, operator, *attributes):
        return self.emit(base, operator, [self.v], attributes)

    def relu(self):
        return self.function("relu", "Relu")

    def leaky_relu(self, slope):
        return self.function("leaky", "LeakyRelu", f"alpha = {slope}")

    def gelu(self):
        return self.function("gelu", "Gelu", 'approximate = "none"')

    def sigmoid(self):
        return self.function("sigmoid", "Sigmoid")

    def tanh(self):
        return self.function("tanh", "Tanh")

    def mish(self):
        return self.function("mish", "Mish")

    def softplus(self):
        return self.function("softplus", "Softplus")

    def hard_swish(self):
        return self.function("hard_swish", "HardSwish")

    def swish(self):
        """x times its logistic sigmoid."""
        return self.times(self.v, lambda: self.sigmoid())

    def times(self, x, then):
        """x times what `then` makes of the current value."""
        then()
        return self.emit("product", "Mul", [x, self.v])

    def clamp(self, low=None, high=None):
        arguments = [self.v, "" if low is None else self.scalar("low", low)]
        if high is not None:
            arguments.append(self.scalar("high", high))
        return self.emit("clamp", "Clip", arguments)

    def binary(self, base, operator, other, constant_name, published=None):
        """other: a number, a weight (name, dims), or the name of a value of the same shape."""
        if isinstance(other, str):
            return self.emit(base, operator, [self.v, other])
        if not isinstance(other, tuple):
            return self.emit(base, operator, [self.v, self.scalar(constant_name, other, published)])
        name, dims = other
        rank = max(len(self.dims), len(dims))
        left = [1] * (rank - len(self.dims)) + self.dims
        right = [1] * (rank - len(dims)) + list(dims)
        out = [r if l == 1 else l for l, r in zip(left, right)]
        shape = [max(a, b) for a, b in zip([1] * (rank - len(self.shape)) + self.shape,
                                           [self.extent(d) for d in right])]
        return self.emit(base, operator, [self.v, name], (), shape, out)

    def add(self, other):
        return self.binary("sum", "Add", other, "offset")

    def sub(self, other):
        return self.binary("difference", "Sub", other, "offset")

    def mul(self, other):
        return self.binary("product", "Mul", other, "factor")

    def div(self, other):
        return self.binary("quotient", "Div", other, "divisor")

    def minimum(self, other, published=None):
        return self.binary("least", "Min", other, "bound", published)

    def dropout(self, p):
        """A dropout in training: which elements stay is an input, the rest is scaled."""
        self.bindings.update((d, n) for d, n in zip(self.dims, self.shape) if not isinstance(d, int))
        keep = self.input("keep", self.dims, f"bernoulli({1 - p:.8g}) fixed", dtype="bool")
        x = self.v
        self.emit("mask", "Cast", [keep], ["to = 1"])
        self.emit("kept", "Mul", [x, self.v])
        return self.emit("product", "Mul", [self.v, self.scalar("factor", 1 / (1 - p))])

    # ---- windows and reductions

    def pool(self, operator, kernel):
        rank = len(self.shape) - 2
        kernel = (kernel,) * rank if isinstance(kernel, int) else tuple(kernel)
        out = [n // k for n, k in zip(self.shape[2:], kernel)]
        names = [d if d == 1 and k == 1 else {"O": "P", "P": "Q"}.get(str(d)[0], "P") + str(d)[-1]
                 for d, k in zip(self.dims[2:], kernel)]
        return self.emit("pool", operator, [self.v], [f"kernel_shape = {ints(kernel)}", f"strides = {ints(kernel)}"],
                         self.shape[:2] + out, self.dims[:2] + names)

    def max_pool(self, kernel):
        return self.pool("MaxPool", kernel)

    def avg_pool(self, kernel):
        return self.pool("AveragePool", kernel)

    def global_mean(self):
        ones = [1] * (len(self.shape) - 2)
        return self.emit("mean", "GlobalAveragePool", [self.v], (), self.shape[:2] + ones, self.dims[:2] + ones)

    def reduce(self, kind, axes, keep=False, published_axes=None):
        axes = [axes] if isinstance(axes, int) else list(axes)
        left = lambda row: [1 if i in axes else d for i, d in enumerate(row) if keep or i not in axes]
        base = {"LogSumExp": "lse", "Sum": "total", "Mean": "mean", "Max": "largest", "Min": "smallest"}[kind]
        return self.emit(base, "Reduce" + kind, [self.v, self.axes(axes, published_axes)], [f"keepdims = {int(keep)}"],
                         left(self.shape), left(self.dims))

    def softmax(self, axis=1):
        return self.function("softmax", "Softmax", f"axis = {axis}")

    def unsqueeze(self, *axes):
        shape, dims = list(self.shape), list(self.dims)
        for a in axes:
            shape.insert(a, 1)
            dims.insert(a, 1)
        return self.emit("wide", "Unsqueeze", [self.v, self.axes(axes)], (), shape, dims)

    def squeeze(self, *axes):
        keep = [i for i in range(len(self.shape)) if i not in axes]
        return self.emit("narrow", "Squeeze", [self.v, self.axes(axes)], (), [self.shape[i] for i in keep],
                         [self.dims[i] for i in keep])

    # ---- normalisations

    def affine(self, module, dims):
        return [self.weight(f"{module}_weight", dims, ONES, GAMMA)[0],
                self.weight(f"{module}_bias", dims, ZEROS, BETA)[0]]

    def batch_norm(self, module):
        """With the statistics of the batch, as a module in training does; PyTorch refuses to take them of one value."""
        if self.shape[0] * math.prod(self.shape[2:]) < 2:
            raise TooSmall(self.shape)
        gamma, beta = self.affine(module, [self.dims[1]])
        x = self.v
        self.lines += [f"channels = Shape({gamma})", "zeros = ConstantOfShape(channels)"]
        value = self.name("norm")
        self.lines.append(f"{value}, running_mean, running_var = BatchNormalization<epsilon = 1e-5, momentum = 0.9, "
                          f"training_mode = 1>({x}, {gamma}, {beta}, zeros, zeros)")
        self.v = value
        return self

    def group_norm(self, module, groups):
        if self.shape[1] % groups or self.shape[1] // groups * math.prod(self.shape[2:]) < 2:
            raise TooSmall(self.shape)
        gamma, beta = self.affine(module, [self.dims[1]])
        return self.emit("norm", "GroupNormalization", [self.v, gamma, beta],
                         ["epsilon = 1e-5", f"num_groups = {groups}"])

    def instance_norm(self):
        if math.prod(self.shape[2:]) < 2:
            raise TooSmall(self.shape)
        x = self.v
        self.lines += [f"channels = Shape<start = 1, end = 2>({x})",
                       "ones = ConstantOfShape<value = float[1] {1.0}>(channels)", "zeros = ConstantOfShape(channels)"]
        return self.emit("norm", "InstanceNormalization", [x, "ones", "zeros"], ["epsilon = 1e-5"])

    def layer_norm(self, module):
        """Over the last dimension, whose extent every workload has to state: the weights have it too."""
        self.bindings["OW"] = self.shape[-1]
        if self.shape[-1] < 2:
            raise TooSmall(self.shape)
        gamma, beta = self.affine(module, ["OW"])
        return self.emit("norm", "LayerNormalization", [self.v, gamma, beta], ["axis = -1", "epsilon = 1e-5"])

    # ---- the result

    def finish(self):
        """The last value is called y; data come before weights."""
        self.inputs.sort(key=lambda i: "static" in i.dist)
        head, tail = self.lines[-1].split(" = ", 1)
        assert head.split(", ")[0] == self.v
        self.lines[-1] = "y" + head[len(self.v):] + f" = {tail}"
        return [c.replace("NAME", name) for name, c in self.constants.items()]


class Fusions:
    """Adds tasks to a level: for every workload the chain is run, and its extents and limits are checked."""

    def __init__(self, level):
        self.level = level

    def run(self, build, bindings, draws, limit=None, number=None):
        chain = Chain(bindings, draws)
        build(chain)
        constants = chain.finish()
        if limit:
            ends = [math.prod(chain.extent(d) for d in i.dims) for i in chain.inputs] + [math.prod(chain.shape)]
            largest = max(ends) if limit == RAGGED_LIMIT else chain.largest
            assert largest <= limit, (number, chain.bindings, largest)
            assert chain.flops <= FLOPS_LIMIT, (number, chain.bindings, chain.flops)
        return chain, constants

    def add(self, number, name, title, build, full, small, ragged, draws=None, why=None, probes=None, allow=None):
        draws = draws or {}
        loads, text = {}, None
        rows = {"small": small, "full": full}
        rows.update({f"ragged{i}": r for i, r in enumerate(ragged)})
        for load, bindings in rows.items():
            limit = None if load == "full" else SMALL_LIMIT if load == "small" else RAGGED_LIMIT
            chain, constants = self.run(build, bindings, draws, limit, number)
            loads[load] = chain.bindings
            assert text in (None, chain.lines), number
            text = chain.lines
        unknown = set(draws) - {i.name for i in chain.inputs}
        assert not unknown, (number, unknown)
        fresh = any(i.published in (ONES, ZEROS) and i.dist in (GAMMA, BETA) for i in chain.inputs)
        repair = why
        if fresh:
            repair = (f"{why}, random scale and shift" if why else
                      "a fresh layer's scale is one and its shift zero, so that a kernel may leave both out; random "
                      "scale and shift")
        self.level.task(number, name, title, chain.inputs, chain.dims, chain.lines, loads, constants=constants,
                        repair=repair, probes=probes, allow=allow, published_constants=chain.published_constants)

    def conv(self, number, name, title, x, co, kernel, then, before=None, module="conv", bias=True, groups=1,
             small=None, channels=None, extra=None, draws=None, ragged=None, **more):
        """x: (batch, channels, spatial...) of `full`; `small` is (batch, spatial...), `channels` its (in, out);
        `ragged` rows are like both together: (batch, in, out, spatial...)."""
        spatial = {2: ["H", "W"], 3: ["D", "H", "W"]}[len(x) - 2]
        options = {k: more.pop(k) for k in ("stride", "pad", "output_padding", "transposed") if k in more}
        kernels = math.prod((kernel,) * len(spatial) if isinstance(kernel, int) else kernel)
        fan_in = kernels * (co if options.get("transposed") else x[1])

        def build(t):
            t.start("x", ["N", "CI"] + spatial)
            if before:
                before(t)
            t.conv(module, "CO", kernel, bias=bias, fan_in=fan_in, **options)
            then(t)

        def row(n, ci, c, sizes):
            bindings = {"N": n, "CI": ci, "CO": c, **dict(zip(spatial, sizes))}
            if extra:
                bindings.update(extra(bindings))
            return bindings

        def least():
            """The smallest extents, alike in all directions, from which the chain makes something."""
            for n in range(1, 64):
                try:
                    self.run(build, row(1, 1, groups, [n] * len(spatial)), draws or {})
                    return n
                except TooSmall:
                    pass
            raise AssertionError(number)

        if ragged is None:
            low = least()
            grow = lambda *steps: [low + s for s in steps]
            if len(spatial) == 2:
                ragged = [(1, 1, groups, *grow(0, 0)), (2, 3, 5 * groups if groups < 8 else 3 * groups, *grow(2, 5)),
                          (1, 7, 2 * groups, *grow(6, 13)), (3, 2, (17 if groups == 1 else 3 * groups), *grow(1, 0))]
            else:
                ragged = [(1, 1, groups, *grow(0, 0, 0)), (2, 3, 3 * groups, *grow(1, 0, 3)),
                          (1, 2, 5 * groups if groups == 1 else groups, *grow(0, 3, 1)),
                          (1, 5, groups, *grow(0, 1, 4))]
        self.add(number, name, title, build, row(x[0], x[1], co, x[2:]),
                 row(small[0], *(channels or (x[1], co)), small[1:]),
                 [row(n, ci, c, sizes) for n, ci, c, *sizes in ragged], draws=draws, **more)

    def linear(self, number, name, title, mkn, then, module="linear", bias=True, small=(96, 256, 192), ragged=None,
               before=None, **more):
        m, k, n = mkn

        def build(t):
            t.start("x", ["M", "K"])
            if before:
                before(t)
            t.linear(module, "N", bias=bias, fan_in=k)
            then(t)

        row = lambda values: dict(zip("MKN", values))
        ragged = ragged or ((1, 1, 1), (1, 37, 3), (17, 65, 33), (61, 7, 97), (5, 131, 1))
        self.add(number, name, title, build, row(mkn), row(small), [row(r) for r in ragged], **more)
