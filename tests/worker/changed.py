# SPDX-License-Identifier: Apache-2.0
"""changed.py WORKER: what a verdict may be due to is named: parameters that __init__ changes in place, which counts for
nothing, and PyTorch's switches for TF32; and what initialisers do is not."""
import contextlib
import io
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

worker.sum_in_single_precision()
FILE = """
import torch


def shift(tensor, by):
    tensor.sub_(by)


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(5, 3)
        with torch.no_grad():
            %s

    def forward(self, x):
        return self.lin(x)
"""
WORKLOAD = {"task": "kernelbench/2/12", "symbols": {}, "init": "",
            "inputs": [{"name": "x", "static": False}, {"name": "lin_weight", "static": True}, {"name": "lin_bias", "static": True}]}
SAID = {  # what __init__ does, and what is said of it
    "self.lin.bias.sub_(0.5)": "lin.bias (sub_)",
    "self.lin.bias -= 0.5": "lin.bias (sub_)",
    "self.lin.weight.data.mul_(2)": "lin.weight (mul_)",
    "self.lin.weight[0] += 1": "lin.weight (add_)",
    "shift(self.lin.bias, 1); self.lin.weight.neg_()": "lin.bias (sub_), lin.weight (neg_)",
    "pass": "",
    "self.lin.bias.fill_(0.5); self.lin.weight.copy_(torch.ones(3, 5))": "",
    "self.lin.weight.uniform_(-1, 1); self.lin.bias.zero_()": "",
    "torch.nn.init.trunc_normal_(self.lin.weight, std=0.02); torch.nn.init.orthogonal_(self.lin.weight, 2)": "",
    "torch.nn.init.kaiming_normal_(self.lin.weight); self.lin.bias = torch.nn.Parameter(torch.randn(3) * 2 - 1)": "",
    "scale = torch.rand(3); scale -= 0.5; self.lin.bias.copy_(scale)": "",
}


def said_of(source):
    module = types.ModuleType("candidate")
    exec(source, vars(module))
    worker.said_kept.clear()
    with contextlib.redirect_stderr(io.StringIO()) as said:
        model = worker.Model(module, WORKLOAD, "cpu")
        weights = {"lin_weight": torch.randn(3, 5), "lin_bias": torch.randn(3)}
        model.make(weights)
        x = torch.randn(2, 5)
        got = model.serve(weights, [x])
    assert torch.equal(got, torch.nn.functional.linear(x, weights["lin_weight"], weights["lin_bias"])), source
    return said.getvalue()


for what, expected in SAID.items():
    said = said_of(FILE % what)
    assert said == (f"assay: changed: {expected}\n" if expected else ""), (what, said)


def tf32_of(model, product, cudnn):
    torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = product, cudnn
    return worker.in_tf32(model)


linear, convolution = torch.nn.Linear(2, 2), torch.nn.Sequential(torch.nn.Conv2d(1, 1, 1))
PRODUCT, CUDNN = "torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32"
assert tf32_of(linear, False, True) == []
assert tf32_of(linear, True, False) == [PRODUCT]
assert tf32_of(convolution, False, True) == [CUDNN]
assert tf32_of(convolution, True, True) == [PRODUCT, CUDNN]
assert tf32_of(torch.nn.GRU(2, 2), False, False) == []
