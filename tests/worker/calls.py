# SPDX-License-Identifier: Apache-2.0
"""calls.py WORKER: what a candidate that is a function is called with (worker_call.py)."""
import contextlib
import io
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker
import worker_call

INPUT, WEIGHT, OTHER = (torch.full((2, 3), float(i)) for i in range(3))
ADD = "; ; add(input, weight, None, other, padding=1) ; add(input, weight, bias, other, stride, padding, out)"


def called(source, init=ADD, task="kernelbenchx/Fusion/add", inputs=None, symbols=None, outputs=None):
    """(what the function returned, what was said)."""
    module = types.ModuleType("candidate")
    exec(source, vars(module) | {"torch": torch}, vars(module))
    inputs = inputs if inputs is not None else {"input": INPUT, "weight": WEIGHT, "other": OTHER}
    workload = {"task": task, "symbols": symbols or {"M": 2, "N": 3}, "init": init, "outputs": ["y"],
                "inputs": [{"name": name, "static": name == "weight"} for name in inputs]}
    worker_call.settle(module, workload, outputs)
    assert not any(i["static"] for i in workload["inputs"]), "a function's weights are arguments"
    worker_call.said_pairs.clear()
    text = io.StringIO()
    with contextlib.redirect_stderr(text):
        result = worker_call.model_of(module, workload)(*inputs.values())
    return result, text.getvalue()


def given(head, init=ADD, **how):
    """What the parameters of `def add(HEAD)` were, as numbers and names."""
    name = how.pop("name", "add")
    result, said = called(f"def {name}({head}):\n    return dict(locals())", init, **how)
    plain = lambda v: v.flatten()[0].item() if isinstance(v, torch.Tensor) and v.numel() else v
    return {key: plain(value) for key, value in result.items()}, said


def refused(head, init=ADD, **how):
    try:
        found = given(head, init, **how)
    except worker_call.Misfit as why:
        return str(why)
    raise AssertionError(f"{head} was called with {found}")


by_name = given("input, weight, bias=None, other=None, stride=1, padding=0, out=None")
assert by_name == ({"input": 0, "weight": 1, "bias": None, "other": 2, "stride": 1, "padding": 1, "out": None}, ""), by_name
assert given("padding, *, other, weight, input")[0] == {"padding": 1, "other": 2, "weight": 1, "input": 0}
places, said = given("x, w, b=None, o=None, s=1, p=0")
assert places == {"x": 0, "w": 1, "b": None, "o": 2, "s": 1, "p": 1}, places
assert said.startswith("assay: arguments: x = input (by place), w = weight (by place)"), said
order, said = given("x, w, y")  # no bias, and padding inside
assert order == {"x": 0, "w": 1, "y": 2} and "y = other (by order)" in said and "padding left out" in said, (order, said)
assert given("input, weight, other, padding=0, eps=1e-5")[0]["eps"] == 1e-5
assert given("input, **rest")[0] == {"input": 0, "rest": {"weight": WEIGHT, "other": OTHER, "padding": 1}}
assert given("*all")[0]["all"] == (INPUT, WEIGHT, OTHER, 1)
assert given("a, b, /, other, padding")[0] == {"a": 0, "b": 1, "other": 2, "padding": 1}
assert given("input, weight, other, M, N=7")[0] == {"input": 0, "weight": 1, "other": 2, "M": 2, "N": 7}
memory, said = given("input, weight, other, out", outputs=[torch.zeros(4, 5)])
assert "out = new memory" in said, said
filled, _ = called("def add(input, weight, other, out):\n    out.fill_(3)", outputs=[torch.zeros(4, 5)])
assert filled.shape == (4, 5) and filled.sum() == 60

filled, _ = called("def add(input, weight, other, out_tensor):\n    out_tensor.fill_(3)", outputs=[torch.zeros(4, 5)])
assert filled.shape == (4, 5) and filled.sum() == 60

# Annotations, also as texts, say where numbers go; where they contradict what there is, places do.
power = {"init": "; ; polygamma(1, input) ; polygamma(n, input, out)", "name": "polygamma", "inputs": {"input": OTHER},
         "task": "kernelbenchx/Math/polygamma"}
for head in ("x: torch.Tensor, order: int", "x: 'torch.Tensor', order: 'int'", "x: 'Tensor', *, n: int", "order: int, x: torch.Tensor"):
    found, _ = given(head, **power)
    assert found["x"] == 2 and (found.get("order") or found.get("n")) == 1, (head, found)
assert given("a: float, b: float, c: float", inputs={"input": INPUT, "weight": WEIGHT, "other": OTHER}, name="add",
             init="; ; add(input, weight, other) ; add(i, j, k)")[0] == {"a": 0, "b": 1, "c": 2}
assert given("x, e: torch.Tensor", "; ; pow(input, 2) ; pow(input, exponent)", name="pow", inputs={"input": OTHER},
             task="kernelbenchx/Math/pow")[0] == {"x": 2, "e": 2}
assert given("x, e: torch.Tensor = None", "; ; pow(input, 2) ; pow(input, exponent)", name="pow", inputs={"input": OTHER},
             task="kernelbenchx/Math/pow")[0] == {"x": 2, "e": None}
# Where one place contradicts its annotation the others say nothing, either.
assert given("factor: float, a: torch.Tensor, b: torch.Tensor", "; ; add(input, other, 0.5) ; add(i, j, k)",
             inputs={"input": INPUT, "other": OTHER})[0] == {"factor": 0.5, "a": 0, "b": 2}

# Which function it is.
assert given("input, weight, other", name="kernel_function")[0]["other"] == 2
both, _ = called("def kernel_function(*a):\n    return 1\ndef add(*a):\n    return 2")
assert both == 2, "the task's name goes first"
assert given("x, w, o", name="ADD")[0]["o"] == 2
assert "no function add or kernel_function" in refused("x", name="forward")
assert "it has forward" in refused("x", name="forward")
step = "; ; adamw_step(input, 3) ; adamw_step(param, step)"
assert given("param, step", step, name="adamw_step", task="kernelbenchx/Optimizer/AdamW", inputs={"input": INPUT})[0] == {
    "param": 0, "step": 3}

# What does not fit is said.
assert "no parameter for other" in refused("input, weight")
assert "it wants scale" in refused("input, weight, other, padding, scale")
assert "input [2, 3]" in refused("input, weight") and "dimensions M, N" in refused("input, weight")

# Without a call of the suite's, the task's inputs and the numbers of KernelBench's modules.
assert given("A, s", "; 3.0", name="kernel_function", inputs={"A": WEIGHT})[0] == {"A": 1, "s": 3.0}
assert given("x, y, z", None, name="kernel_function")[0] == {"x": 0, "y": 1, "z": 2}
# What the suite leaves out by None goes to a parameter that has to have something.
assert given("input, weight, bias, other, padding")[0] == {"input": 0, "weight": 1, "bias": None, "other": 2, "padding": 1}
# The suite's expression may change what a function is given: a view, a copy, each row.
rows = "; ; torch.stack([det(a) for a in A]) ; det(A)"
stacked, _ = called("def det(A):\n    return A.sum()", rows, "kernelbenchx/L/det", {"A": OTHER})
assert stacked.tolist() == [6.0, 6.0]

# Integers and their scales under the task's own names, where the published function has numbers under one of them.
scaled = "; ; matmul(input * input_scale) ; matmul(input)"
two = {"input": OTHER, "input_scale": OTHER}
matmul = {"name": "matmul", "inputs": two, "task": "kernelbenchx/Q/matmul"}
assert given("input", scaled, **matmul)[0] == {"input": 4}
assert given("input, input_scale, eps=0", scaled, **matmul)[0] == {"input": 2, "input_scale": 2, "eps": 0}

# What the task calls otherwise than the reference, as they are: the suite's numbers go with them, in any order.
least = {"init": "; ; min(input, 1) ; min(input_tensor, dim, keepdim)", "name": "min", "inputs": {"input": OTHER},
         "task": "kernelbenchx/R/min"}
for head in ("input, dim, keepdim=False", "input, dim=None", "dim, input", "input_tensor, dim", "x, dim=0", "*, input, dim"):
    found, _ = given(head, **least)
    assert found.pop("dim") == 1 and 2 in found.values(), (head, found)
assert given("vector, A, alpha", "; ; solve(A, b, 0.5) ; solve(A, y, alpha)", name="solve", task="kernelbenchx/L/solve",
             inputs={"A": WEIGHT, "b": OTHER})[0] == {"vector": 2, "A": 1, "alpha": 0.5}
assert given("alpha, b, A", "; ; solve(A, b, 0.5) ; solve(A, y, alpha)", name="solve", task="kernelbenchx/L/solve",
             inputs={"A": WEIGHT, "b": OTHER})[0] == {"A": 1, "b": 2, "alpha": 0.5}

# A dropout's choices: PyTorch's takes the task's, a parameter gets them, and numbers of the function's own are refused.
DROP = "; ; drop(input) ; drop(input, p, training)"
keep = {"input": OTHER, "keep": torch.tensor([[True, False, True]] * 2)}
how = {"init": DROP, "task": "kernelbenchx/Fusion/drop", "inputs": keep}
dropped, _ = called("def drop(input, p=0.5, training=True):\n    return torch.nn.functional.dropout(input, p, training)", **how)
assert dropped.tolist() == [[4.0, 0.0, 4.0]] * 2
assert torch.nn.functional.dropout.__module__ == "torch.nn.functional", "it is PyTorch's again"
assert given("input, keep", DROP, name="drop", task="kernelbenchx/Fusion/drop", inputs=keep)[0]["keep"] is True
assert "keep" in refused("input, p=0.5", DROP, name="drop", task="kernelbenchx/Fusion/drop", inputs=keep)
# What it returns in place of several outputs.
for value, said in ((None, "nothing"), ({"values": INPUT}, "a dict"), ([INPUT] * 3, "3 values"), (INPUT, "a Tensor")):
    try:
        worker.results_of(value, [INPUT, INPUT])
        raise AssertionError(value)
    except worker.Complaint as why:
        assert str(why) == f"it returned {said}, and not a tuple of the task's 2 outputs", why
assert worker.results_of((INPUT, OTHER), [INPUT, INPUT]) == [INPUT, OTHER]
print("functions are called as they should be")
