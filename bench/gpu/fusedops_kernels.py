#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels of kernels/fusedops on a GPU, expected and got: their twins, shapes that no tile divides, and what changed.

usage: fusedops_kernels.py ASSAY OUT.json [--folder DIR] [--before DIR] [--only TEXT,...] [--kinds KIND,...] [--seconds S]
                           [--gpus N] [--each N] [--device D] [--table]

In this order, over --gpus (1) GPUs with --each (1) processes on each:
  twin    every kernel and each of its wrong twins at `small`, with all probes and ragged shapes, without times
  tiles   products of many tiles whose extents no tile divides, but rows are whole words: all of it goes through the copy engine
  sizes   every kernel at its sweep (size01, ...), with a time; --before names a folder with the same files as they were, whose
          calls are timed in turn with these: `ratio` is the old time over the new one, with its interval
  odd     every kernel at its odd and thin shapes, without times
  probes  every kernel at its sweep under all probes, without times: what a form does that other shapes do not take
--seconds (540) ends the call, and the same command goes on where OUT.json ends. --only takes kernels whose name contains
one of the texts, --kinds takes kinds of the above, --folder the kernels of another folder (such as new default values, with
--before kernels/fusedops). --table prints what OUT.json holds, and judges nothing.

  mkdir before; for f in kernels/fusedops/*.cu; do git show 259f170d^:$f >before/$(basename $f); done
"""
import json
import math
import os
import re
import sys
import threading

import common

FOLDER = "kernels/fusedops"
TILES = {"M, K, N": ["M=2049, K=528, N=4112", "M=1000, K=2576, N=1008", "M=4099, K=144, N=4112"],
         "E, M, K, N": ["E=5, M=1001, K=520, N=1032", "E=64, M=130, K=264, N=648"]}
KINDS = ("twin", "tiles", "sizes", "odd", "probes")


def read_kernel(folder, name):
    """(task, [(twin, expected)])"""
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        text = file.read()
    task = re.search(r"^// assay: task (\S+)", text, re.M).group(1)
    return task, re.findall(r"^// assay: twin (\w+) expect (\S+)", text, re.M)


def read_workloads(task):
    """What the task's file declares, by name."""
    with open(os.path.join(common.ROOT, "tasks", task + ".onnxtxt"), encoding="utf-8") as file:
        return dict(re.findall(r'"assay\.workload\.(\w+)" : "([^"]*)"', file.read()))


def all_jobs(options):
    jobs = []
    for name in sorted(os.listdir(options.folder)):
        if not name.endswith(".cu") or not any(text in name for text in options.only):
            continue
        task, twins = read_kernel(options.folder, name)
        workloads = read_workloads(task)
        dims = ", ".join(re.findall(r"(\w+)=", workloads["small"]))
        jobs += [("twin", name, task, "small", twin, expected) for twin, expected in [("", "pass"), *twins]]
        jobs += [("tiles", name, task, sizes, "", "pass") for sizes in TILES.get(dims, [])]
        jobs += [("sizes", name, task, w, "", "pass") for w in workloads if w.startswith("size")]
        jobs += [("probes", name, task, w, "", "pass") for w in workloads if w.startswith("size")]
        jobs += [("odd", name, task, w, "", "pass") for w in workloads if re.match("odd|thin|decode|skew", w)]
    return sorted((job for job in jobs if job[0] in options.kinds), key=lambda job: KINDS.index(job[0]))


def key(row):
    return row["kind"], row["kernel"], row["workload"], row["twin"]


def judge(options, job, gpu):
    kind, name, task, workload, twin, expected = job
    command = [options.assay, "judge", task, os.path.join(options.folder, name), "--workload", workload, "--no-store", "--json",
               "--device", options.device]
    old = os.path.join(options.before, name) if options.before else ""
    if kind == "sizes":
        command += ["--no-probes", "--checks", "2", "--samples", "100"]
        if old and os.path.exists(old):
            command += ["--baseline", old]
    else:
        command += ["--no-timing"] + (["--define", twin] if twin else []) + (["--no-probes"] if kind not in ("twin", "probes") else [])
    environment = dict(os.environ, ASSAY_TASKS=os.path.join(common.ROOT, "tasks"), ASSAY_INCLUDE=os.path.join(common.ROOT, "include"))
    if options.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
    seconds, code, out, errors = common.run(command, 200, env=environment)
    try:
        verdict = json.loads(out)[0]
    except (ValueError, IndexError):
        verdict = {"verdict": "judge_failed", "detail": f"exit {code}: {errors.strip()[-300:]}"}
    timing, against = verdict.get("timing") or {}, (verdict.get("baselines") or [{}])[0]
    checks, worst = verdict.get("checks") or [], verdict.get("worst_check")
    check = checks[worst] if isinstance(worst, int) and 0 <= worst < len(checks) else {}
    return {"kind": kind, "kernel": name, "workload": workload, "twin": twin, "expected": expected, "got": verdict["verdict"],
            "z": check.get("gate_z"), "limit": check.get("gate_limit"), "ns": timing.get("median_ns"),
            "before_ns": against.get("median_ns"), "ratio": against.get("speedup"), "ratio_low": against.get("speedup_low"),
            "ratio_high": against.get("speedup_high"), "unstable": timing.get("unstable"), "seconds": round(seconds, 1),
            "detail": "" if verdict["verdict"] == "pass" else (verdict.get("detail") or "")[:300]}


def is_expected(row):
    return row["got"] in row["expected"].split("|")


def print_tables(rows):
    print(f"{'kernel':26} {'workload':24} {'twin':14} {'expected':40} {'got':16} as expected")
    for row in sorted(rows, key=lambda r: (KINDS.index(r["kind"]), key(r))):
        if row["kind"] == "twin" or not is_expected(row):
            print(f"{row['kernel']:26} {row['workload']:24} {row['twin']:14} {row['expected']:40} {row['got']:16} "
                  f"{'yes' if is_expected(row) else 'NO: ' + row['detail'][:120]}")
    for kind in KINDS:
        found = [r for r in rows if r["kind"] == kind]
        print(f"{kind}: {sum(map(is_expected, found))} of {len(found)} as expected")
    timed = [r for r in rows if r.get("ratio")]
    if not timed:
        return
    print(f"\n{'kernel':26} {'workload':10} {'before us':>10} {'now us':>10} before / now")
    for row in sorted(timed, key=key):
        print(f"{row['kernel']:26} {row['workload']:10} {row['before_ns'] / 1e3:10.2f} {row['ns'] / 1e3:10.2f} "
              f"{row['ratio']:.3f} ({row['ratio_low']:.3f} to {row['ratio_high']:.3f}){' unstable' if row['unstable'] else ''}")
    for kernel in sorted({r["kernel"] for r in timed}):
        ratios = [r["ratio"] for r in timed if r["kernel"] == kernel]
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{kernel}: before / now {mean:.4f} in geometric mean over {len(ratios)} shapes, {min(ratios):.3f} to {max(ratios):.3f}")


class Options:
    def __init__(self, arguments):
        self.before = common.option(arguments, "--before", "")
        self.before = os.path.realpath(self.before) if self.before else ""
        self.folder = os.path.realpath(common.option(arguments, "--folder", os.path.join(common.ROOT, FOLDER)))
        self.only = common.option(arguments, "--only", "").split(",")
        self.kinds = common.option(arguments, "--kinds", ",".join(KINDS)).split(",")
        if not set(self.kinds) <= set(KINDS):
            sys.exit(f"fusedops_kernels.py: --kinds takes some of {', '.join(KINDS)}")
        self.seconds = float(common.option(arguments, "--seconds", 540))
        self.gpus = int(common.option(arguments, "--gpus", 1))
        self.each = int(common.option(arguments, "--each", 1))
        self.device = common.option(arguments, "--device", "cuda")
        self.table = "--table" in arguments
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 2:
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), os.path.realpath(arguments[1])


def write(path, result):
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump({**result, "rows": None}, file, indent=1)
        file.seek(file.tell() - len("null\n}"))
        file.write("[\n" + ",\n".join(json.dumps(row) for row in result["rows"]) + "\n]}\n")
    os.replace(path + ".new", path)


def main():
    options = Options(sys.argv[1:])
    result = {"what": "the kernels of kernels/fusedops, expected and got: bench/gpu/fusedops_kernels.py", "calls": [], "rows": []}
    if os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            result = json.load(file)
    if options.table:
        print_tables(result["rows"])
        return
    result["calls"].append(common.call_of("bench/gpu/fusedops_kernels.py", ["ASSAY", "OUT.json", *sys.argv[3:]]))
    result["rows"] = [r for r in result["rows"] if r["got"] != "judge_failed"]
    done = {key(r) for r in result["rows"]}
    lock = threading.Lock()
    jobs = [job for job in all_jobs(options) if (job[0], job[1], job[3], job[4]) not in done]

    def act(job, gpu, _):
        row = judge(options, job, gpu)
        with lock:
            result["rows"].append(row)
            write(options.out, result)

    begun = common.share(jobs, options.gpus, options.each, options.seconds, act)
    print_tables(result["rows"])
    if begun < len(jobs):
        print(f"no time left for {len(jobs) - begun} judgements; the same command goes on")


if __name__ == "__main__":
    main()
