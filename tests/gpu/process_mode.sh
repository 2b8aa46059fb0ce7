#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Python candidates in a process that has the GPU, and what has been tried there: the verdicts, one line each.
# usage: process_mode.sh ASSAY    with ASSAY_PYTHON naming a Python with PyTorch for CUDA
set -eu
assay=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/relu.py" <<'END'
import os
import time

import torch

names = globals()
side = torch.cuda.Stream() if "SIDE" in names or "SLEEPER" in names or "RESIDENT" in names else None
if side:
    torch.cuda.synchronize = lambda *arguments: None  # the worker's own wait


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        if "ITEM" in names and x.sum().item() > 1e30:
            return x
        if "WRONG" in names:
            return torch.relu(x) + 1
        if "INPLACE" in names:
            return x.relu_()
        if "RAISES" in names:
            raise ValueError("it will not")
        if "LEAVES" in names and self.calls > 3:  # not while it is warmed up
            os._exit(0)
        if "HANGS" in names and self.calls > 3:
            time.sleep(1000)
        y = torch.empty_like(x)
        if "SIDE" in names:  # what nobody waits for ends within the time or is not there
            with torch.cuda.stream(side):
                torch.cuda._sleep(20000000)  # some 10 ms
                y.copy_(torch.relu(x))
            return y
        if ("SLEEPER" in names or "RESIDENT" in names) and self.calls == 5:
            with torch.cuda.stream(side):
                torch.cuda._sleep(10**13 if "RESIDENT" in names else 10**9)  # hours; half a second
        return torch.relu(x)
END
status=0
case_() { # case_ NAME "VERDICTS" MODE OPTION...
  name=$1 expected=$2 mode=$3
  shift 3
  "$assay" judge kernelbench/1/19 "$folder/relu.py" --device cuda --workload small --no-store --json --define "$name" "$@" \
    >"$folder/verdict.json" 2>"$folder/error" || true
  python3 - "$folder" "$name" "$expected" "$mode" <<'END' || status=1
import json
import sys
folder, name, expected, mode = sys.argv[1:]
try:
    v = json.load(open(f"{folder}/verdict.json"))[0]
    v["timing"]["measured"]  # null where it was not judged
except (ValueError, TypeError):
    sys.exit(f"FAILED {name}: no verdict: {open(f'{folder}/error').read()[-600:]}")
t = v["timing"]
good = v["verdict"] in expected.split("|") and v["mode"] == mode and (name != "ITEM" or mode == "plan" or v["no_plan"])
print("ok    " if good else "FAILED", name, v["verdict"], v["mode"], "median_ns", t.get("median_ns"), "overhead_ns",
      t.get("overhead_ns"), "no_plan:", v["no_plan"], "|", v["detail"], "|", v["sandbox"])
if not good:
    print("       wanted", expected, mode, v["diagnostics"][-800:])
sys.exit(0 if good else 1)
END
}
case_ HONEST pass plan
case_ HONEST pass process --mode process
case_ ITEM pass process
case_ ITEM unrecordable plan --mode plan
case_ WRONG wrong_value process --mode process
# A write to memory that is mapped for reading: the GPU faults, while it is warmed up on memory of its own it does not.
case_ INPLACE "crashed" process --mode process
case_ RAISES "raised|load_failed" process --mode process
case_ LEAVES exited process --mode process
case_ HANGS timeout process --mode process --timeout 5
case_ SIDE "pass|unwritten|wrong_value|wrong_class|late_work" process --mode process
case_ SLEEPER "pass|late_work|timeout" process --mode process
case_ RESIDENT "late_work|timeout" process --mode process --timeout 5
exit $status
