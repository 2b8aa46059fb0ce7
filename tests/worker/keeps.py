# SPDX-License-Identifier: Apache-2.0
"""keeps.py WORKER: what a model keeps from one call to the next, in recordings: made again from the weights, or else by
a new model in every call. And which errors may be the recording's own. The recorder and the GPU are stand-ins."""
import contextlib
import io
import os
import subprocess
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

torch.nn.Module.to = lambda self, *arguments: self
torch.cuda.synchronize = torch.cuda._sleep = lambda *arguments: None


class Transposes(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = torch.nn.Linear(3, 2, bias=False)
        self.t = None

    def forward(self, x):
        if self.t is None:
            self.t = [self.lin.weight.t().contiguous()]
        return x @ self.t[0]


class Moves(Transposes):  # a weight of its own in the parameter's place
    def forward(self, x):
        if self.t is None:
            self.lin.weight.data = self.lin.weight.data.clone()
            self.t = 1
        return self.lin(x)


class Copies(Transposes):  # by NumPy, out of sight
    def forward(self, x):
        if self.t is None:
            self.t = torch.from_numpy(self.lin.weight.detach().numpy().T.copy())
        return x @ self.t


class Reads(Transposes):  # numbers, to the host
    def forward(self, x):
        if self.t is None:
            self.t = self.lin.weight.t().tolist()
        return x @ torch.tensor(self.t)


class Buffers(Transposes):  # a buffer that is filled later
    def __init__(self):
        super().__init__()
        del self.t
        self.register_buffer("t", None)

    def forward(self, x):
        if self.t is None:
            self.t = self.lin.weight.t().contiguous()
        return x @ self.t


class Counts(Transposes):
    def forward(self, x):
        self.t = (self.t or 0) + 1
        return self.lin(x)


class Normalises(torch.nn.Module):  # its buffers are not made of weights
    def __init__(self):
        super().__init__()
        self.norm = torch.nn.BatchNorm1d(3)

    def forward(self, x):
        return self.norm(x)


def kept_by(kind):
    model, x = kind(), torch.rand(4, 3)
    keeps = worker.Keeps(model)
    model(x)
    return keeps.names()


assert kept_by(Transposes) == kept_by(Copies) == kept_by(Buffers) == ["t"]
assert kept_by(Moves) == ["lin.weight"]
assert kept_by(Counts) == [] and kept_by(Normalises) == []

calls = []  # of stand-ins for the recorder


def recorded(kind):
    """Both recordings of a model: whether each has the right results for its own weights, how many models were made, and
    in how many recordings something was prepared."""
    sets = [[torch.rand(2, 3), torch.rand(4, 3)] for _ in range(2)]
    outputs = [[torch.empty(4, 2)], [torch.empty(4, 2)]]
    made = []

    class ModelNew(kind):
        def __init__(self):
            super().__init__()
            made.append(self)

    library = types.SimpleNamespace(
        assay_lift_look=lambda on: 0, assay_lift_begin=lambda log: 0, assay_lift_end=lambda: None,
        assay_lift_is_new=lambda address, size: 0, assay_lift_left_overs=lambda what: 0, assay_lift_time=lambda on: 0,
        assay_lift_prepared=lambda: calls.append("prepared"),
        assay_lift_failed=lambda stage, text: calls.append((stage, text)))
    calls.clear()
    lift = types.SimpleNamespace(library=library, tensors=lambda log: (sets[log], outputs[log]))
    workload = {"symbols": {}, "init": "", "inputs": [{"name": "lin_weight", "static": True},
                                                      {"name": "x", "static": False}]}
    module = types.ModuleType("candidate")
    module.ModelNew = ModelNew
    assert worker.lift_workload(lift, module, workload, True), calls
    return [torch.allclose(out[0], x @ w.t()) for (w, x), out in zip(sets, outputs)], len(made), len(calls)


assert recorded(Transposes) == ([True, True], 2, 2)  # one that showed it, and one that was looked at
assert recorded(Buffers) == ([True, True], 2, 2)
assert recorded(Moves) == ([True, True], 2, 2)
assert recorded(Copies) == ([True, True], 7, 0)  # those two, two more to warm up, two recordings, one timed
assert recorded(Reads) == ([True, True], 7, 0)
assert recorded(Counts) == ([True, True], 1, 0)

for text, ours in (("CUDA error: operation failed due to a previous error during capture", True),
                   ("pluggable does not yet support checkPoolLiveAllocations", True),
                   ("mat1 and mat2 shapes cannot be multiplied (4x3 and 2x2)", False)):
    assert worker.is_maybe_ours(RuntimeError(text)) == ours, text
    wrapped = ValueError("it failed")
    wrapped.__cause__ = RuntimeError(text)
    assert worker.is_maybe_ours(wrapped) == ours, text
assert not worker.is_maybe_ours(TypeError("CUDA error")) and not worker.is_maybe_ours(SystemExit(3))

# What torch.compile says of its own time, as `bench/gpu/denominators.py` reads it.
sys.modules["torch._dynamo.utils"] = types.SimpleNamespace(calculate_time_spent=lambda: {"total_wall_time": 2.5})
assert worker.compiling_seconds() == 2.5
with contextlib.redirect_stderr(io.StringIO()) as said:
    worker.say_compiled(4, 2.5)
    worker.say_compiled(1, 0)
assert said.getvalue() == "assay: torch.compile: 2.500 s, in a first call of 4.000 s\n", said.getvalue()
sys.modules["torch._dynamo.utils"] = None
assert worker.compiling_seconds() == 0

# What the first call takes of processors, also by a process that is still there; said where there is a tuner.
before = worker.processor_seconds()
with subprocess.Popen([sys.executable, "-c", "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"],
                      stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
    child.stdout.readline()
    waiting = worker.processor_seconds() - before
    child.communicate(b"\n")
reaped = worker.processor_seconds() - before
assert 0.4 < waiting < 5 and 0.4 < reaped < 5, (waiting, reaped)
loaded = {name: sys.modules.pop(name, None) for name in ("triton", "torch._dynamo")}
with contextlib.redirect_stderr(io.StringIO()) as said:
    worker.say_first_call(4, 12.25)
    sys.modules["triton"] = None
    worker.say_first_call(4, 12.25)
assert said.getvalue() == "assay: first call: 4.000 s, 12.250 s of processors\n", said.getvalue()
sys.modules.pop("triton")
sys.modules.update({name: module for name, module in loaded.items() if module})

# Normalisations in evaluation.
for weights, kind, expected in ((["lin_weight"], lambda: Normalises().eval(), "assay: evaluation: norm\n"),
                                (["norm_running_mean"], lambda: Normalises().eval(), ""), ([], Normalises, ""),
                                ([], lambda: torch.nn.Sequential(*[Normalises() for _ in range(5)]).eval(),
                                 "assay: evaluation: 0.norm, 1.norm and 3 more\n")):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        worker.say_evaluation(kind(), weights)
    assert said.getvalue() == expected, said.getvalue()
# In training, where the task's running statistics would be written to.
for model, paired, expected in ((Normalises(), (), ""), (Normalises(), {"norm.running_mean": "m"}, "assay: norm: in training"),
                                (Normalises(), {"norm.running_mean": "m"}, ""),  # once
                                (Normalises().eval(), {"norm.running_mean": "m"}, ""),
                                (torch.nn.BatchNorm1d(3), {"running_mean": "m"}, "assay: BatchNorm1d: in training")):
    with contextlib.redirect_stderr(io.StringIO()) as said:
        worker.say_training(model, paired)
    assert said.getvalue().startswith(expected) and bool(said.getvalue()) == bool(expected), said.getvalue()
