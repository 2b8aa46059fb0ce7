#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leaderboard_makers.py ASSAY [--check]: the comparison of makers over the suite fusedops, as lines for `assay runs import`.

Reads makers.json, experts.json and makers_one_run.json of bench/results/nvidia-*, and writes bench/results/nvidia-h100/makers.jsonl: a run a
maker, "fusedops, MAKER", of which the site makes c/fusedops.html. --check compares instead. What these results do not hold
(samples, seeds, checks, how near the limit an error came, the kernel's text) is missing in the lines too: pages say "not
kept". The operations and bytes of a shape are those of the task (`assay show TASK --json`). Where
makers_one_run.json has a verdict of a maker at a shape on the same device, an earlier one is left out. A row whose detail
has a result's "not_the_makers" is one of the judge's faults, and no line.
"""
import glob
import json
import os
import re
import subprocess
import sys

from leaderboard import ROOT, line, put

RESULTS = os.path.join(ROOT, "bench", "results")
ONE_RUN = "makers_one_run.json"
OUT = os.path.join(RESULTS, "nvidia-h100", "makers.jsonl")
DEVICES = {"H100": "NVIDIA H100 80GB HBM3", "H200": "NVIDIA H200"}
# What `assay compare --with` calls them, and their candidates.
MAKERS = {"eager": ("eager", "torch.eager"), "inductor": ("inductor", "torch.compile"), "library": ("library", "library"),
          "max-autotune": ("max-autotune", "torch.compile.max-autotune"), "ours": ("kernels/fusedops", "kernels/fusedops/{}.cu"),
          "kernels/fusedops": ("kernels/fusedops", "kernels/fusedops/{}.cu"),
          "triton": ("triton", "kernels/fusedops/triton/{}.py"), "helion:none": ("helion:none", "kernels/fusedops/helion/{}.py"),
          "tune:kernels/fusedops": ("tune:kernels/fusedops", "kernels/fusedops/{}.cu")}
TOOLCHAINS = {"library": "vendor", "kernels/fusedops": "nvcc", "tune:kernels/fusedops": "nvcc"}


def amounts(assay, task, known={}):
    """Operations that must be done, bytes, and whether that is all of the task's operations, of each workload."""
    if task not in known:
        shown = json.loads(subprocess.run([assay, "show", task, "--json"], capture_output=True, check=True, text=True).stdout)
        with open(os.path.join(ROOT, "tasks", task + ".onnxtxt"), encoding="utf-8") as file:
            part = re.search(r'"assay.contraction_part" : "(\d+)/(\d+)"', file.read())
        share = int(part[1]) / int(part[2]) if part else 1  # half of causal attention, whose other operations are as many as its pairs
        known[task] = {w["workload"]: (w["flops"] * share, w["bytes"], share == 1) for w in shown["workloads"]}
    return known[task]


def verdict(assay, result, row):
    maker, candidate = MAKERS[row["maker"]]
    task = f"fusedops/{row['task']}"
    flops, moved, whole_work = amounts(assay, task)[row["workload"]]
    ns = {key: row[key] * 1e3 if row.get(key) is not None else None for key in ("us", "low_us", "high_us", "hot_us", "floor_us")}
    if not whole_work:
        ns["floor_us"] = None  # these results' floors counted pairs that causal attention does not look at
    driver = f", driver {result['driver']}" if "driver" in result else ""  # experts.json does not say
    evidence = {"device": DEVICES[row["gpu"]] + driver, "commit": result.get("commit"),
                "flops": flops, "bytes": moved, "timing": {"measured": ns["us"] is not None}}
    candidate = candidate.format(task.rsplit("/", 1)[-1])
    if row.get("configuration"):
        candidate += f" ({row['configuration']})"
    return line(f"fusedops, {maker}", task, candidate, row["verdict"], result["date"],
                row["workload"], detail=row["detail"], toolchain=TOOLCHAINS.get(maker, "python"), time_ns=ns["us"],
                time_low_ns=ns["low_us"], time_high_ns=ns["high_us"], hot_ns=ns["hot_us"], floor_ns=ns["floor_us"],
                unstable=row["mark"] == "unstable" or None, suspicious=row["mark"] == "suspicious" or None,
                evidence={key: value for key, value in evidence.items() if value is not None},
                command=f"assay compare {task} --with {maker} --workload {row['workload']} --device cuda")


def whole(assay):
    lines = {}
    for name in ("makers.json", "experts.json", ONE_RUN):
        for path in sorted(glob.glob(os.path.join(RESULTS, "nvidia-*", name))):
            with open(path, encoding="utf-8") as file:
                result = json.load(file)
            rows = [dict(zip(result["columns"], row)) for row in result["rows"]]
            ours = result.get("not_the_makers")
            for row in rows:
                if ours and ours in row["detail"]:
                    continue
                if row["maker"].startswith("tune:") and name != ONE_RUN:
                    continue  # one of many trials
                found = verdict(assay, result, row)
                key = found["run"], found["task"], found["workload"], found["evidence"]["device"]
                lines[key] = [found] if name == ONE_RUN else [*lines.get(key, []), found]
    return "".join(json.dumps(found, sort_keys=True, separators=(",", ":")) + "\n"
                   for found in [{"format": "assay verdicts", "version": 1}, *(f for key in lines for f in lines[key])])


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--check"]):
        sys.exit(__doc__)
    put(OUT, whole(os.path.abspath(sys.argv[1])), len(sys.argv) == 3, "bench/leaderboard_makers.py build/assay")


if __name__ == "__main__":
    main()
