# SPDX-License-Identifier: Apache-2.0
"""held.py WORKER: wherever a candidate keeps what it has made of its weights, it is made again for each call's: what each
of these modules keeps of the first call's weights is wrong in the next."""
import contextlib
import io
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

SOURCE = '''
import collections, copy, functools, weakref
import torch

Pair = collections.namedtuple("Pair", "weight nothing")
by_model = weakref.WeakKeyDictionary()

class Places:
    __slots__ = "weight", "unset"

def made(weight):
    return weight.detach().t().contiguous()

@functools.lru_cache(maxsize=None)
def remembered(weight):
    return made(weight)

@functools.lru_cache(maxsize=4)
def remembered_few(weight):
    return made(weight)

def defaults(weight, kept={}):
    if "weight" not in kept:
        kept["weight"] = made(weight)
    return kept["weight"]

def own_name(weight):
    if not hasattr(own_name, "weight"):
        own_name.weight = made(weight)
    return own_name.weight

def closed():
    kept = []
    def get(weight):
        if not kept:
            kept.append(made(weight))
        return kept[0]
    return get

closure = closed()

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 2, bias=False)
        self.kept = None
        if HOW == "in_init":
            self.kept = [copy.deepcopy(self.lin)]

    def forward(self, x):
        weight = self.lin.weight
        if self.kept is None:
            self.kept = self.keep(weight)
        return getattr(self, HOW)(x)

    def keep(self, weight):
        if HOW in ("module", "list", "within", "nested"):
            inner = copy.deepcopy(self.lin)
            return {"module": inner, "list": [inner], "within": torch.nn.Sequential(inner),
                    "nested": {"a": torch.nn.Sequential(inner)}}[HOW]
        if HOW == "function":
            wt = made(weight)
            return lambda x: x @ wt
        if HOW == "partial":
            return functools.partial(torch.nn.functional.linear, weight=weight.detach().clone())
        if HOW == "places":
            kept = Places()
            kept.weight = made(weight)
            return kept
        if HOW == "pair":
            return Pair(made(weight), None)
        if HOW == "deque":
            return collections.deque([made(weight)])
        return ()

    def in_init(self, x): return self.kept[0](x)
    def module(self, x): return self.kept(x)
    def list(self, x): return self.kept[0](x)
    def within(self, x): return self.kept(x)
    def nested(self, x): return self.kept["a"](x)
    def function(self, x): return self.kept(x)
    def partial(self, x): return self.kept(x)
    def places(self, x): return x @ self.kept.weight
    def pair(self, x): return x @ self.kept.weight
    def deque(self, x): return x @ self.kept[0]
    def remembered(self, x): return x @ remembered(self.lin.weight)
    def remembered_few(self, x): return x @ remembered_few(self.lin.weight)
    def defaults(self, x): return x @ defaults(self.lin.weight)
    def own_name(self, x): return x @ own_name(self.lin.weight)
    def closure(self, x): return x @ closure(self.lin.weight)

    def by_model(self, x):
        if self not in by_model:
            by_model[self] = made(self.lin.weight)
        return x @ by_model[self]

    def answers(self, x):  # what is made of inputs is nobody's weight, and is left as it was
        if not self.kept:
            self.kept = [self.lin(x)]
        return self.kept[0]
'''
KINDS = ("in_init module list within nested function partial places pair deque remembered remembered_few defaults own_name "
         "closure by_model answers").split()
WORKLOAD = {"symbols": {}, "init": "", "inputs": [{"name": "lin_weight", "static": True}, {"name": "x", "static": False}]}


def right(how):
    """Of four calls, each with weights and inputs of its own, those that gave the right result; and what was said."""
    module = types.ModuleType("candidate")
    module.HOW = how
    exec(SOURCE, vars(module))
    weights = {"lin_weight": torch.rand(2, 3)}
    found = []
    with contextlib.redirect_stderr(io.StringIO()) as said, torch.no_grad():
        model = worker.Model(module, WORKLOAD, "cpu")
        model.make(weights)
        for _ in range(4):
            weights["lin_weight"].copy_(torch.rand(2, 3))
            x = torch.rand(4, 3)
            found.append(torch.allclose(model.serve(weights, [x]), x @ weights["lin_weight"].t()))
    return found, said.getvalue()


sys.modules["candidate"] = types.ModuleType("candidate")
failed = []
for kind in KINDS:
    worker.said_kept.clear()
    found, said = right(kind)
    expected = [True, False, False, False] if kind == "answers" else [True] * 4
    if kind == "answers":
        found[1] = False  # a new model's first call, which shows what the first one has kept
    if found != expected or (kind != "answers" and "assay: prepared: " not in said):
        failed.append((kind, found, said))
assert not failed, failed
print(f"{len(KINDS)} as expected")
