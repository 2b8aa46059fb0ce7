# SPDX-License-Identifier: Apache-2.0
"""made.py WORKER: how a ModelNew is made and called: its arguments in all the forms that files have them, layers without
sizes, and extensions that a file compiles within functions."""
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

WORKLOAD = {"task": "kernelbench/2/12", "symbols": {"M": 2, "K": 3, "N": 4}, "init": "K, N, 2.0",
            "inputs": [{"name": "x", "static": False}, {"name": "w", "static": True}]}


class Keywords(torch.nn.Module):
    def __init__(self, *, width, depth=1):
        super().__init__()
        self.sizes = width, depth

    def forward(self, x, more):
        return x


class Places(torch.nn.Module):
    def __init__(self, width, depth, factor):
        super().__init__()
        self.sizes = width, depth, factor


def file_with(model, returned=None):
    module = types.ModuleType("candidate")
    module.ModelNew = model
    if returned is not None:
        module.get_init_inputs = lambda K: returned
    return module


def complaint(function, *arguments):
    try:
        function(*arguments)
    except worker.Complaint as why:
        return str(why)
    raise AssertionError("no complaint")


def made(model, returned=None):
    return worker.make_model(file_with(model, returned), WORKLOAD).sizes


assert made(Places) == (3, 4, 2.0)
assert made(Places, (5, 6, 7)) == (5, 6, 7)
assert made(Keywords, {"width": 5}) == (5, 1)
assert made(Keywords, [[], {"width": 5, "depth": 6}]) == (5, 6)
assert made(Places, [[5, 6], {"factor": 7}]) == (5, 6, 7)
assert made(Places, [[5, 6], [7], {}]) == ([5, 6], [7], {})
why = complaint(worker.make_model, file_with(Keywords), WORKLOAD)
assert why.startswith("ModelNew(*, width, depth=1) cannot be made with (3, 4, 2.0): let def get_init_inputs(M, K, N) "), why
assert "cannot be made without arguments" in complaint(worker.make_model, file_with(Keywords), dict(WORKLOAD, init=""))

# forward gets the task's inputs, or those and the suite's numbers.
x, model = torch.zeros(2), Keywords(width=1)
why = complaint(worker.caller, model, WORKLOAD, [x])
assert why == "forward(x, more) is called with the task's inputs, x: let it take these", why
assert worker.caller(model, dict(WORKLOAD, init="; 3.5"), [x])[0](x) is x
class States(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.h0 = torch.zeros(1, 2)
        self.register_buffer("c0", torch.zeros(1, 2))

    def forward(self, x):
        return x, self.h0, self.c0


named = dict(WORKLOAD, inputs=[{"name": name, "static": False} for name in ("x", "h0", "c0")])
given = [torch.ones(4), torch.ones(3, 4), torch.ones(3, 4)]
call, states = worker.caller(States(), named, given)
assert states == ["h0", "c0"] and [a is b for a, b in zip(call(*given), given)] == [True] * 3
for other in ([torch.ones(4), torch.ones(3, 4), torch.ones(3)], given[:2] + [torch.ones(1, 1), torch.ones(1)]):  # other extents, more
    names = [{"name": name, "static": False} for name in ("x", "h0", "c0", "d0")[:len(other)]]
    assert "is called with the task's inputs, x, h0, c0" in complaint(worker.caller, States(), dict(WORKLOAD, inputs=names), other)
model.register_forward_pre_hook(lambda module, given: (*given, 1))
assert worker.caller(model, WORKLOAD, [x])[0](x) is x

# Layers without sizes have those of the weights of their names.
weights = {"gemm_weight": torch.ones(4, 3), "gemm_bias": torch.ones(4)}
lazy = torch.nn.Sequential()
lazy.add_module("gemm", torch.nn.LazyLinear(4))
worker.set_weights(lazy, weights)
assert torch.equal(lazy(torch.ones(2, 3)), torch.full((2, 4), 4.0)) and lazy.gemm.weight.data_ptr() == weights["gemm_weight"].data_ptr()
other = torch.nn.Sequential(torch.nn.LazyLinear(4))
assert "has no shape before the first call" in complaint(worker.pair_weights, other, {"w1": torch.ones(4, 3)})

# What is compiled in functions, where its arguments can be known.
compiled = []
SOURCE = """
from compiler import load_inline as build
text = "int f();"
at_once = build(name="at_once", cpp_sources=text)
def later():
    return build(name="later", cpp_sources=[text])
class ModelNew:
    def __init__(self, name):
        self.named = build(name=name, cpp_sources=text)
        self.fixed = build("fixed", text)
"""
sys.modules["compiler"] = types.ModuleType("compiler")
sys.modules["compiler"].load_inline = lambda name, cpp_sources: compiled.append((name, cpp_sources))
module = types.ModuleType("candidate")
module.__file__ = "candidate.py"
exec(SOURCE, vars(module))
worker.load_within_functions(SOURCE, module)
assert compiled == [("at_once", "int f();"), ("later", ["int f();"]), ("fixed", "int f();")], compiled


def broken(name, cpp_sources):
    raise RuntimeError("Error building extension 'later': ...")


module.build = broken
try:
    worker.load_within_functions(SOURCE, module)
except RuntimeError as error:
    assert "Error building" in str(error)
else:
    raise AssertionError("an error of a compiler is the file's own")

# A file may need Inductor in many ways.
for text in ("import torch\n@torch.compile\ndef f(x): pass", "from torch import compile as c\nc(1)", "self.compile()",
             "torch._dynamo.optimize('inductor')(f)"):
    assert worker.asked_for(text) == {"GPU"}, text
assert worker.asked_for("import torch\ncompile('1', 'x', 'eval')") == set()

# What nobody calls asks for nothing; what is called by a way that is not seen at once does.
USED = """
import torch
from torch.utils.cpp_extension import load_inline as make
def build():
    return make("x", cpp_sources=[""], cuda_sources=["// x"])
{0}
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return {1}
"""
MODULE = "class Part(torch.nn.Module):\n    def __init__(self):\n        self.f = build()"
for between, result, asks in (("", "x", False), ("", "build().f(x)", True), ("later = [build]", "x", True),
                              ("def unused():\n    return build()", "x", False),
                              ("def used():\n    return build()", "used().f(x)", True),
                              (MODULE, "x", False), (MODULE, "Part()(x)", True),
                              ("@torch.no_grad()\ndef noted():\n    return build()", "x", True),
                              ("def on(x, y=build()):\n    pass", "x", True),
                              ("", "globals()['build']().f(x)", True),
                              ("def build_again():\n    return build_again() + build()", "x", False)):
    asked = worker.asked_for(USED.format(between, result))
    assert asked == ({"extension", "CUDA", "GPU"} if asks else set()), (between, result, asked)
for text in ("import torch\ndef relu(x):\n    return x.cuda()", "import importlib\ndef f():\n    pass\nx = f().cuda"):
    assert worker.asked_for(text) == {"GPU"}, text  # the first may be what the task calls
print("fine")
