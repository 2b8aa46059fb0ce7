# SPDX-License-Identifier: Apache-2.0
"""left_overs.py WORKER: results that depend on what an earlier call left in memory, and results that do not."""
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

workspace = torch.ones(3)
kept = workspace.clone()
state = {"count": 1}


def left_overs(what):
    if what == 1:
        kept.copy_(workspace)
        workspace.zero_()
    elif what == 2 and state["emptied"]:
        workspace.copy_(kept)
    state["emptied"] = what == 1
    state["settled"] = what == 3
    return state["count"]


lift = types.SimpleNamespace(library=types.SimpleNamespace(assay_lift_left_overs=left_overs))


def reads(call, output):
    workspace.fill_(1)
    state["emptied"] = False
    said = worker.reads_left_overs(lift, lambda: call(torch.tensor([1.0, float("nan")])), [output])
    assert workspace.tolist() == [1, 1, 1] and not state["emptied"]
    assert state["settled"] == (said is None and state["count"] > 0)
    return said.decode() if said else None


def asserts(x):
    if workspace[0] == 0:
        raise ValueError("it is empty")
    return x.nansum()


def no_memory(x):
    raise torch.OutOfMemoryError("there is none")


for shape in ((), (2,), (2, 1)):
    out = torch.empty(shape)
    assert reads(lambda x: torch.full(shape, float("nan")), out) is None, shape
    assert reads(lambda x: x.nansum() * torch.ones(shape), out) is None, shape
    assert "left in memory" in reads(lambda x: x.nansum() * torch.ones(shape) + workspace.sum(), out), shape
    assert "from call to call" in reads(lambda x: torch.rand(shape), out), shape
    assert "cannot be seen" in reads(no_memory, out), shape
assert "left in memory" in reads(asserts, torch.empty(()))
state["count"] = -1
assert "cannot be seen" in reads(lambda x: x.nansum(), torch.empty(()))
state["count"] = 0
assert reads(lambda x: x.nansum() + workspace.sum(), torch.empty(())) is None
print("ok")
