# SPDX-License-Identifier: Apache-2.0
"""prepared.py WORKER: what modules make of their weights ahead of their calls, in __init__ and in the first call, is made
again for every call's weights; and what cannot be found out is made by a new module. Each is compared with what the same
module, made by itself, gives once those weights are in it from the beginning."""
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

ROWS, COLUMNS = 3, 5
MADE = []  # every module that was made


class Base(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(COLUMNS, ROWS, bias=False)
        MADE.append(self)


def want(weights, x):
    return x @ weights["lin_weight"].t()


class Transposed(Base):
    def __init__(self):
        super().__init__()
        self.t = self.lin.weight.detach().t().contiguous()

    def forward(self, x):
        return x @ self.t


class View(Base):  # of memory that set_weights replaces
    def __init__(self):
        super().__init__()
        self.t = self.lin.weight.data.t()

    def forward(self, x):
        return x @ self.t


class Buffer(Base):
    def __init__(self):
        super().__init__()
        self.register_buffer("t", self.lin.weight.detach().clone())
        self.t *= 2
        torch.nn.init.normal_(self.lin.weight)  # later than what was made of it: counts for nothing

    def forward(self, x):
        return x @ self.t.t() / 2


class Truncated(Base):  # by an initialiser that reads back whether it has to draw again
    def __init__(self):
        super().__init__()
        torch.nn.init.trunc_normal_(self.lin.weight, std=0.02)
        self.t = self.lin.weight.detach().t().contiguous()

    def forward(self, x):
        return x @ self.t


class Assembled(Base):  # in parts, in place, of memory that had other values before
    def __init__(self):
        super().__init__()
        self.parts = {"t": [torch.ones(COLUMNS, ROWS + 1)]}
        for i in range(ROWS):
            self.parts["t"][0][:, i] = self.lin.weight.detach()[i]
        self.parts["t"][0][0] += 0

    def forward(self, x):
        t = self.parts["t"][0]
        assert bool((t[:, ROWS] == 1).all())
        return x @ t[:, :ROWS]


class Born(Base):  # made of the tensor that becomes the parameter, before it does
    def __init__(self):
        super().__init__()
        values = torch.randn(ROWS, COLUMNS)
        self.t = values.t().contiguous()
        self.lin.weight = torch.nn.Parameter(values)

    def forward(self, x):
        return x @ self.t


class Parameter(Base):  # one that is no weight of the task
    def __init__(self):
        super().__init__()
        self.twofold = torch.nn.Parameter(2 * self.lin.weight.detach().t())

    def forward(self, x):
        return x @ self.twofold / 2


class Constant(Base):  # next to something that does not depend on weights
    def __init__(self):
        super().__init__()
        self.scales = torch.arange(1.0, ROWS + 1)
        self.t = (self.lin.weight.detach() * self.scales[:, None]).t()

    def forward(self, x):
        return (x @ self.t) / self.scales


class Cached(Base):
    t = None

    def forward(self, x):
        if self.t is None:
            self.t = self.lin.weight.t().contiguous()
        return x @ self.t


class Twice(Transposed):  # the first call's of what __init__ made
    again = None

    def forward(self, x):
        if self.again is None:
            self.again = [self.t + 0]
        return x @ self.again[0]


class NumPy(Base):
    t = None

    def forward(self, x):
        if self.t is None:
            self.t = torch.from_numpy(self.lin.weight.detach().numpy().T.copy())
        return x @ self.t


class Mask(Base):  # kept, but of nothing that changes; made where nobody sees it
    mask = None

    def forward(self, x):
        if self.mask is None:
            self.mask = torch.tensor([[1.0] * COLUMNS])
        return (x * self.mask) @ self.lin.weight.t()


class Plain(Base):
    def forward(self, x):
        return self.lin(x)


CACHE = types.ModuleType("candidate")


class Global(Base):
    def forward(self, x):
        if "t" not in CACHE.cache:
            CACHE.cache["t"] = self.lin.weight.t().contiguous()
        return x @ CACHE.cache["t"]


def server_of(kind, weights, module=None):
    module = module or types.ModuleType("candidate")
    module.ModelNew = kind
    workload = {"symbols": {}, "init": None, "inputs": []}
    model = worker.Model(module, workload, "cpu")
    MADE.clear()
    model.make(weights)
    return model


def check(kind, models, prepared, module=None):
    """Five calls, each with other weights in the same memory. `models`: how many were made; `prepared`: what is."""
    weights = {"lin_weight": torch.empty(ROWS, COLUMNS)}
    x = torch.empty(4, COLUMNS)
    worker.said_kept.clear()
    with torch.no_grad():
        weights["lin_weight"].normal_()
        model = server_of(kind, weights, module)
        for i in range(5):
            weights["lin_weight"].normal_()
            x.normal_()
            got = model.serve(weights, [x])
            assert torch.allclose(got, want(weights, x), rtol=1e-5, atol=1e-6), (kind, i, got, want(weights, x))
    assert len(MADE) == models, (kind, len(MADE))
    assert model.prepared.names() == prepared, (kind, model.prepared.names())
    return model


check(Plain, 1, [])
check(Transposed, 1, ["t"])
check(View, 1, ["t"])
check(Buffer, 1, ["t"])
check(Truncated, 1, ["t"])
check(Assembled, 1, ["parts"])
check(Born, 1, ["t"])
check(Parameter, 1, ["twofold"])
check(Constant, 1, ["t"])
check(Cached, 2, ["t"])
check(Twice, 2, ["again", "t"])
check(Mask, 2, [])
assert check(NumPy, 2 + 3, []).anew
CACHE.cache = {}


class ClearsGlobal(Global):  # a new module is to begin as the first did
    def __init__(self):
        super().__init__()
        CACHE.cache.clear()


check(ClearsGlobal, 2, ["global cache"], CACHE)
check(Global, 2, ["global cache"], CACHE)


class Folded(torch.nn.Module):
    """A convolution with a batch normalisation's numbers in its weights, in channels_last."""

    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(4, 6, 3).to(memory_format=torch.channels_last)
        self.bn = torch.nn.BatchNorm2d(6)
        scale = self.bn.weight / torch.sqrt(self.bn.running_var + self.bn.eps)
        self.weight = (self.conv.weight * scale[:, None, None, None]).detach()
        self.bias = (self.bn.bias + (self.conv.bias - self.bn.running_mean) * scale).detach()

    def forward(self, x):
        assert self.conv.weight.is_contiguous(memory_format=torch.channels_last)
        assert self.weight.is_contiguous(memory_format=torch.channels_last)
        return torch.nn.functional.conv2d(x, self.weight, self.bias)


shapes = {"conv_weight": (6, 4, 3, 3), "conv_bias": (6,), "bn_weight": (6,), "bn_bias": (6,)}
weights = {name: torch.empty(shape) for name, shape in shapes.items()}
x = torch.empty(2, 4, 8, 8)
with torch.no_grad():
    model = server_of(Folded, weights)
    for _ in range(3):
        for tensor in (x, *weights.values()):
            tensor.normal_()
        plain = torch.nn.functional.conv2d(x, weights["conv_weight"], weights["conv_bias"])
        plain = plain / (1 + 1e-5) ** 0.5 * weights["bn_weight"][:, None, None] + weights["bn_bias"][:, None, None]
        assert torch.allclose(model.serve(weights, [x]), plain, rtol=1e-4, atol=1e-4)
assert model.prepared.names() == ["bias", "conv.weight", "weight"], model.prepared.names()


class Random(Base):  # cannot be made again: said, and left as it is
    def __init__(self):
        super().__init__()
        self.t = torch.bernoulli(self.lin.weight.detach().sigmoid()).t()

    def forward(self, x):
        return x @ self.t


class Number(Base):
    def __init__(self):
        super().__init__()
        self.most = self.lin.weight.detach().abs().max().item()

    def forward(self, x):
        return self.lin(x)


for kind in Random, Number:
    worker.said_kept.clear()
    model = server_of(kind, {"lin_weight": torch.ones(ROWS, COLUMNS)})
    assert not model.prepared and any("what __init__ makes of the weights" in name for _, name in worker.said_kept), kind

# To look at operators loads no compiler, which takes seconds; where a candidate uses one, it is looked at all the same.
assert "torch._dynamo" not in sys.modules, "PyTorch's compiler is loaded by what looks at its operators"


class Compiled(Transposed):
    def __init__(self):
        super().__init__()
        self.forward = torch.compile(self.forward, backend="eager")


weights = {"lin_weight": torch.randn(ROWS, COLUMNS)}
model, x = server_of(Compiled, weights), torch.randn(2, COLUMNS)
for tensor in weights.values():
    tensor.normal_()
assert torch.allclose(model.serve(weights, [x]), want(weights, x), rtol=1e-4, atol=1e-5)
assert "torch._dynamo" in sys.modules
print("ok")
