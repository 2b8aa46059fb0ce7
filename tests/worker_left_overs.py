"""worker_left_overs.py WORKER: results that depend on what an earlier call left in memory, and results that do not."""
import os
import sys
import types

import torch

sys.path.insert(0, os.path.dirname(os.path.abspath(sys.argv[1])))
import worker

workspace = torch.ones(3)
there_is_some = 1


def left_overs(clear):
    if clear:
        workspace.zero_()
    return there_is_some


lift = types.SimpleNamespace(library=types.SimpleNamespace(assay_lift_left_overs=left_overs))


def reads(call, output):
    workspace.fill_(1)
    return worker.reads_left_overs(lift, call, [torch.tensor([1.0, float("nan")])], [output])


for shape in ((), (2,), (2, 1)):
    out = torch.empty(shape)
    assert not reads(lambda x: torch.full(shape, float("nan")), out), shape
    assert not reads(lambda x: x.nansum() * torch.ones(shape), out), shape
    assert reads(lambda x: x.nansum() * torch.ones(shape) + workspace.sum(), out), shape
there_is_some = 0
assert not reads(lambda x: x.nansum() + workspace.sum(), torch.empty(()))
print("ok")
