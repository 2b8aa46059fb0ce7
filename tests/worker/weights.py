# SPDX-License-Identifier: Apache-2.0
"""weights.py WORKER: which parameter of a module is which weight of a task."""
import contextlib
import io
import os
import sys

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker


def module(**parameters):
    made = torch.nn.Module()
    for name, shape in parameters.items():
        made.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))
    return made


def nested(**modules):
    made = torch.nn.Module()
    for name, part in modules.items():
        made.add_module(name, part)
    return made


def pair(model, known=None, **weights):
    """The pairs, and what was said of them."""
    worker.known_pairs = dict(known or {})
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        pairs = worker.pair_weights(model, {name: torch.zeros(shape) for name, shape in weights.items()})
    return pairs, text.getvalue()


def refused(model, **weights):
    try:
        pairs, _ = pair(model, **weights)
    except worker.Complaint as why:
        return str(why)
    raise AssertionError(pairs)


CONV = {"conv_weight": (8, 3, 3, 3), "conv_bias": (8,), "bias": (8, 1, 1)}

# By name, as the original's module: nothing is said.
same = nested(conv=torch.nn.Conv2d(3, 8, 3))
same.register_parameter("bias", torch.nn.Parameter(torch.zeros(8, 1, 1)))
assert pair(same, **CONV) == ({"conv.weight": "conv_weight", "conv.bias": "conv_bias", "bias": "bias"}, "")

# `weight, bias` where the task has `conv_weight, conv_bias`.
pairs, said = pair(module(weight=(8, 3, 3, 3), bias=(8,)), conv_weight=(8, 3, 3, 3), conv_bias=(8,))
assert pairs == {"weight": "conv_weight", "bias": "conv_bias"}, pairs

# A name that is another weight's: the shape shows it.
pairs, said = pair(module(weight=(8, 3, 3, 3), bias=(8,), extra_bias=(8, 1, 1)), **CONV)
assert pairs == {"weight": "conv_weight", "bias": "conv_bias", "extra_bias": "bias"}, pairs

# Short names of formulas, as before.
assert pair(nested(norm=torch.nn.LayerNorm(5)), gamma=(5,), beta=(5,)) == (
    {"norm.weight": "gamma", "norm.bias": "beta"}, "")

# Other names of the parts: each weight and bias by its shape, then by its order.
parts = nested(first=torch.nn.Linear(4, 6), second=torch.nn.Linear(6, 2))
pairs, said = pair(parts, fc1_weight=(6, 4), fc1_bias=(6,), fc2_weight=(2, 6), fc2_bias=(2,))
assert pairs == {"first.weight": "fc1_weight", "first.bias": "fc1_bias", "second.weight": "fc2_weight",
                 "second.bias": "fc2_bias"}, pairs
assert said.startswith("assay: weights: ") and said.count("\n") == 1 and "first.weight = fc1_weight (by name)" in said

# Same shapes everywhere: the order of the module decides.
parts = nested(first=torch.nn.Linear(4, 4), second=torch.nn.Linear(4, 4))
pairs, said = pair(parts, fc1_weight=(4, 4), fc1_bias=(4,), fc2_weight=(4, 4), fc2_bias=(4,))
assert pairs["first.weight"] == "fc1_weight" and pairs["second.bias"] == "fc2_bias" and "(by order)" in said
# A module lists its own parameters before those of its parts; the task lists them as forward needs them.
mixed = nested(layer=torch.nn.Linear(4, 4, bias=False))
mixed.register_parameter("p", torch.nn.Parameter(torch.zeros(4, 4)))
pairs, said = pair(mixed, gemm_weight=(4, 4), scale=(4, 4))
assert pairs == {"p": "scale", "layer.weight": "gemm_weight"}, pairs
assert pair(module(a=(4,), b=(4,)), x_weight=(4,), y=(4,))[0] == {"a": "x_weight", "b": "y"}

# By shape, beside parameters that are nobody's.
pairs, said = pair(module(p=(3,), q=(4,), r=(9,)), kernel=(4,), shift=(3,))
assert pairs == {"q": "kernel", "p": "shift"} and "q = kernel (by shape)" in said and "r" not in pairs

# What an earlier workload has shown holds at one where all shapes are the same, and is not said again.
known = {"q": "kernel", "p": "shift"}
assert pair(module(p=(1,), q=(1,), r=(1,)), known, kernel=(1,), shift=(1,)) == (known, "")

# Running statistics, where the task has them; where it has not, they are the module's own. A buffer that only has the shape
# of a weight is none.
norm = nested(bn=torch.nn.BatchNorm2d(5).eval())
both = {"bn.weight": "bn_weight", "bn.bias": "bn_bias"}
seen, said = pair(norm, bn_weight=(5,), bn_bias=(5,), bn_running_mean=(5,), bn_running_var=(5,))
assert seen == {**both, "bn.running_mean": "bn_running_mean", "bn.running_var": "bn_running_var"} and not said, (seen, said)
assert pair(norm, bn_weight=(5,), bn_bias=(5,)) == (both, "")
assert "no parameter for shift [5]" in refused(norm, bn_weight=(5,), bn_bias=(5,), shift=(5,))
given = {name: torch.rand(5) for name in ("bn_weight", "bn_bias", "bn_running_mean", "bn_running_var")}
worker.known_pairs = {}
worker.set_weights(norm, given)
assert norm.bn.running_var.data_ptr() == given["bn_running_var"].data_ptr()

# Neither names nor order nor shapes: refused, with what is there.
why = refused(module(p=(4,), q=(4,), r=(4,)), kernel=(4,), shift=(4,))
assert "kernel [4], shift [4]" in why and "p [4], q [4], r [4]" in why, why
why = refused(module(weight=(8, 3, 3, 3)), conv_weight=(8, 3, 3, 3), conv_bias=(8,))
assert "no parameter for conv_bias [8]" in why, why
why = refused(module(weight_t=(4, 6), bias=(6,)), gemm_weight=(6, 4), gemm_bias=(6,))
assert "the parameter weight_t [4, 6] is the weight gemm_weight [6, 4] transposed" in why, why
assert "get_init_inputs" in refused(nested(gemm=torch.nn.Linear(4, 6, bias=False)), gemm_weight=(5, 4))
waves = torch.nn.Module()
waves.w = torch.nn.Parameter(torch.zeros(3, 4, dtype=torch.complex64))
why = refused(waves, w=(3, 4, 2))
assert "the parameter w is complex" in why and "torch.view_as_complex(self.w)" in why, why
half = nested(gemm=torch.nn.Linear(4, 6, bias=False).half())
assert "torch.float16" in refused(half, gemm_weight=(6, 4))

# Of hundreds of weights, as a language model has them, each name is looked at for each weight, and not again for each pair.
MANY, looks, flat = 200, [], worker.flat
worker.flat = lambda name: looks.append(name) or flat(name)
layers = nested(**{f"layer{i}": nested(w=torch.nn.Linear(2, 2)) for i in range(MANY // 2)})
pairs, said = pair(layers, **{f"layer{i}_w_{part}": shape for i in range(MANY // 2)
                              for part, shape in (("weight", (2, 2)), ("bias", (2,)))})
worker.flat = flat
assert len(pairs) == MANY and all(flat(name) == weight for name, weight in pairs.items()) and not said, said
assert MANY * MANY <= len(looks) <= 4 * MANY * MANY, len(looks)
print("ok")
