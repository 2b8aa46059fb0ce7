#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same candidates judged again and again, on several GPUs: how often is a right one refused, or a wrong one passed?

usage: repeat.py ASSAY OUT.json [--seconds S] [--gpus N] [--each N] [--times N] [--workload NAME,...] [--device D]
                 [--arguments "OPTION ..."] [--grace S] [--set NAME,...] [--table] [TASK=CANDIDATE...]

Judges each TASK with its CANDIDATE, a file or a baseline such as torch.eager, at each of the workloads (small), --times
times (10) with fresh seeds and secrets. --set names what is judged often:

    3xtf32     the kernels of kernels/cuda that compute fp32 by three products of TF32
    attention  kernels/cuda/attention.cu
    extents    PyTorch at all shapes (bench/general.py) of tasks whose extents hang together: 3/28, 3/32, 3/46, conv2d_w8a8
    SUITE      the same for all tasks of a suite or a part of it, such as kernelbench/3
    level4     the models of the package transformers in KernelBench's level 4 (bench/gpu/level4.py; at `full` BigBird, too)
    extension  a file that builds a CUDA extension, and a copy of it: what the second judgement takes is what a kept build
               saves; one after the other (--gpus 1 --each 1), with a cache folder that was empty before

Each of the --gpus GPUs (default: all that nvidia-smi lists) has --each judgements at once (2; 1 where times are wanted) and
a part of the processors. --arguments are passed on, as "--no-timing --timeout 30". --seconds (500) ends the call: after
that none is begun, and those at hand have --grace (60). OUT.json is written after each; the same command goes on there
until there are as many as asked.

OUT.json: "columns" and "rows", a row a judgement; "counts" says how many of each verdict a task and candidate have. Exit
code 1: one that should pass did not (all should, but files with a line `assay: expect`).
"""
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import common

sys.path.insert(0, os.path.dirname(common.HERE))
import general  # noqa: E402

KERNELS = pathlib.Path(common.ROOT, "kernels", "cuda")
COLUMNS = ["task", "candidate", "workload", "verdict", "as_expected", "mode", "questions", "error", "allowed", "gate",
           "looked_again", "median_ns", "wall_s", "recording_s", "seed", "secret", "gpu", "call", "detail"]
MACHINE = "judge_failed"
EXTENTS = ("kernelbench/3/28", "kernelbench/3/32", "kernelbench/3/46", "kernelbenchx/Quantization/conv2d_w8a8")


def tasks_of(assay, suite):
    return [row["task"] for row in json.loads(common.run([assay, "tasks", suite, "--json"])[2])]


def task_of(path):
    return re.search(r"^(?://|#) assay: task (\S+)", path.read_text(), re.M).group(1)


def of_set(assay, name, folder, workloads):
    """[(task, candidate)]"""
    if name == "3xtf32":
        return [(task_of(p), str(p)) for p in sorted(KERNELS.glob("*_3xtf32.cu"))]
    if name == "attention":
        return [(task_of(KERNELS / "attention.cu"), str(KERNELS / "attention.cu"))]
    if name == "extents" or "/" in name:
        tasks = EXTENTS if name == "extents" else tasks_of(assay, name)
        inside = pathlib.Path(folder, name.replace("/", "_"))
        return [(task_of(p), str(p)) for p in general.write(assay, inside, tasks)]
    if name == "level4":
        subprocess.run([sys.executable, os.path.join(common.HERE, "level4.py"), os.path.join(folder, "level4")], check=True)
        made = sorted(pathlib.Path(folder, "level4").glob("*.py"), key=lambda p: int(p.stem.rpartition("_")[2]))
        return [(task_of(p), str(p)) for p in made if workloads == ["full"] or p.stem.rpartition("_")[2] not in ("5", "9", "10")]
    if name == "extension":
        first = pathlib.Path(common.ROOT, "tests/gpu/python/inline_relu.py")
        copy = pathlib.Path(folder, "copy_of_inline_relu.py")
        shutil.copy(first, copy)
        return [(task_of(first), str(first)), (task_of(first), str(copy))]
    sys.exit(f"repeat.py: {name} is no set; sets are 3xtf32, attention, extents, level4, extension, or a suite")


def expected(candidate):
    """The verdicts that its file allows."""
    if not os.path.isfile(candidate):
        return {"pass"}
    found = re.search(r"^(?://|#) assay: expect (\S+)", pathlib.Path(candidate).read_text(errors="replace"), re.M)
    return set(found.group(1).split("|")) if found else {"pass"}


def row_of(v, wall):
    checks, lasted = v.get("checks") or [], v.get("durations_ns") or {}
    index = v.get("worst_check")
    worst = checks[index] if index is not None and 0 <= index < len(checks) else {}
    return {"verdict": v["verdict"], "mode": v.get("mode"), "questions": len(checks), "error": worst.get("gate_z"),
            "allowed": worst.get("gate_limit"), "gate": worst.get("gate"),
            "looked_again": sum(bool(c.get("looked_again")) for c in checks),
            "median_ns": (v.get("timing") or {}).get("median_ns"), "wall_s": round(wall, 2),
            "recording_s": round(lasted.get("plan", 0) / 1e9, 2), "seed": v.get("seed"), "secret": v.get("secret"),
            "detail": v.get("detail", "")[:300]}


def counts(rows):
    found = {}
    for r in rows:
        name = f"{r['task']} {os.path.basename(r['candidate'])} {r['workload']}"
        found.setdefault(name, collections.Counter())[r["verdict"]] += 1
    return {name: dict(c) for name, c in sorted(found.items())}


def print_table(rows):
    for name, found in counts(rows).items():
        mine = [r for r in rows if f"{r['task']} {os.path.basename(r['candidate'])} {r['workload']}" == name]
        most = max((r["error"] / r["allowed"] for r in mine if r["error"] and r["allowed"]), default=0)
        print(f"{name}: {found}, at most {most:.2f} of what is allowed, {min(r['wall_s'] for r in mine)} to "
              f"{max(r['wall_s'] for r in mine)} s")
    for r in rows:
        if not r["as_expected"]:
            print(f"NOT: {r['task']} {os.path.basename(r['candidate'])} {r['workload']} {r['verdict']} --seed={r['seed']} "
                  f"--secret={r['secret']}: {r['detail']}")


class Options:
    def __init__(self, arguments):
        def option(name, default):
            return common.option(arguments, name, default)

        self.seconds, self.grace = float(option("--seconds", 500)), float(option("--grace", 60))
        self.device = option("--device", "cuda")
        self.gpus = int(option("--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.each, self.times = int(option("--each", 2)), int(option("--times", 10))
        self.workloads, self.more = option("--workload", "small").split(","), option("--arguments", "").split()
        self.sets, self.table = [name for name in option("--set", "").split(",") if name], "--table" in arguments
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) < 2 or not all("=" in pair for pair in arguments[2:]):
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), arguments[1]
        self.pairs = [tuple(pair.split("=", 1)) for pair in arguments[2:]]


def wanted(o, folder):
    """{(task, shown name, workload): candidate}, in the order of work."""
    pairs = [pair for name in o.sets for pair in of_set(o.assay, name, folder, o.workloads)] + o.pairs
    pairs = [(task, os.path.realpath(file) if os.path.isfile(file) else file) for task, file in pairs]
    return {(task, os.path.basename(file), workload): file for workload in o.workloads for task, file in pairs}


def judge(o, key, candidate, gpu, left, cache):
    """A row; None: it did not end."""
    task, name, workload = key
    where = common.place(gpu, o.gpus, **({"XDG_CACHE_HOME": cache} if cache else {}))
    wall, code, out, errors = common.run([o.assay, "judge", task, candidate, "--device", o.device, "--workload", workload,
                                          "--no-store", "--json", *o.more], left + o.grace, **where)
    if code == -1:
        print(f"{task} {name} {workload}: no end within {left + o.grace:.0f} s", flush=True)
        return None
    try:
        v = json.loads(out)[0]
    except (ValueError, IndexError):
        v = {"verdict": MACHINE, "detail": errors.strip()[-300:]}
    return {"task": task, "candidate": name, "workload": workload, "gpu": gpu, **row_of(v, wall),
            "as_expected": v["verdict"] in expected(candidate)}


def main():
    o = Options(sys.argv[1:])
    head, rows = common.read_rows(o.out)
    if o.table:
        return print_table(rows)
    calls, lock = head.get("calls", []), threading.Lock()
    calls.append(common.call_of("bench/gpu/repeat.py", ["ASSAY", *sys.argv[2:]], gpus=o.gpus, each=o.each))
    with tempfile.TemporaryDirectory() as folder:
        todo, have = wanted(o, folder), collections.Counter((r["task"], r["candidate"], r["workload"]) for r in rows)
        have.subtract((r["task"], r["candidate"], r["workload"]) for r in rows if r["verdict"] == MACHINE)  # once more
        jobs = [key for turn in range(o.times) for key in todo if have[key] <= turn]
        cache = os.path.join(folder, "cache") if "extension" in o.sets else None

        def act(key, gpu, left):
            row = judge(o, key, todo[key], gpu, left, cache)
            with lock:
                rows.extend([row | {"call": len(calls) - 1}] if row else [])
                common.write_rows(o.out, {"what": "candidates judged again and again: bench/gpu/repeat.py", "calls": calls,
                                          "counts": counts(rows)}, COLUMNS, rows)
                if row and not row["as_expected"]:
                    print(f"{' '.join(key)}: {row['verdict']}: {row['detail']}", flush=True)

        begun = common.share(jobs, o.gpus, o.each, o.seconds, act)
    print(f"{begun} of {len(jobs)} judgements begun")
    print_table(rows)
    return 0 if all(r["as_expected"] for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
