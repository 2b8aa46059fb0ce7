#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Figures of judging on a GPU: bench/gpu/figures.py ASSAY OUT.json [--only b,c,d] [--seconds N] [--store FILE]
                                                  [--baselines CSV] [--kernels FOLDER]

b  verdicts a second: `assay bench` over 200 different small CUDA kernels, made up in a temporary folder
c  every kernel of kernels/cuda at `full`: verdict, time, fraction of the floor, and its ratio to PyTorch's eager
   execution timed in the same call (bench/gpu/eager.py; left out without PyTorch). It takes many minutes: --seconds ends
   it between two kernels, and the next call with the same --store goes on. --baselines adds columns of another table,
   found by level and id, to look at; they are of another machine. --kernels: others than kernels/cuda
d  where the time of one judgement goes: medians of ten

(Figure a, a verdict compared with KernelBench's own: bench/gpu/kernelbench_beside.py.)
"""
import contextlib
import csv
import json
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import common

KERNELS = os.path.join(common.ROOT, "kernels", "cuda")
SUITES = ("kernelbench/1", "kernelbench/2", "contracts")


# --- b: 200 kernels ---------------------------------------------------------------------------------------------------

ELEMENTWISE = {  # task: expression of v, in single precision
    "kernelbench/1/19": "fmaxf(v, 0.0f)",
    "kernelbench/1/21": "1.0f / (1.0f + expf(-v))",
    "kernelbench/1/22": "tanhf(v)",
    "kernelbench/1/25": "v / (1.0f + expf(-v))",
    "kernelbench/1/29": "fmaxf(v, 0.0f) + log1pf(expf(-fabsf(v)))",
    "kernelbench/1/30": "v / (1.0f + fabsf(v))",
}
PLAIN = """// assay: task {task}
// assay: launch apply grid=ceil_div(x.count, {block} * {per}) block={block} args=x, y, x.count
// number {index}
__global__ void __launch_bounds__({block}) apply(const float *__restrict__ x, float *__restrict__ y, long long n) {{
  long long i = blockIdx.x * ({block}ll * {per}) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < {per}; k++, i += {block})
    if (i < n) {{
      float v = x[i];
      y[i] = {expression};
    }}
}}
"""


def make_candidates(folder, count):
    """Different code in every file: task, block size, elements a thread."""
    kinds = [(task, block, per) for per in (1, 2, 3, 4, 6, 8) for block in (64, 96, 128, 192, 256, 384, 512)
             for task in ELEMENTWISE]
    for index, (task, block, per) in enumerate(kinds[:count]):
        with open(os.path.join(folder, f"{index:03}.cu"), "w") as f:
            f.write(PLAIN.format(task=task, block=block, per=per, index=index, expression=ELEMENTWISE[task]))
    return min(count, len(kinds))


def evidence(store, run):
    with contextlib.closing(sqlite3.connect(store)) as db:
        return [(task, candidate, reason, json.loads(text)) for task, candidate, reason, text in db.execute(
            "SELECT task, candidate, reason, evidence FROM verdict WHERE run = ? ORDER BY id", (run,))]


def verdicts_a_second(assay):
    with tempfile.TemporaryDirectory() as folder:
        count = make_candidates(folder, 200)
        store = os.path.join(folder, "store.sqlite")
        command = [assay, "bench", "kernelbench/1", "--from", folder, "--workload", "small", "--store", store, "--run", "b"]
        wall, code, out, errors = common.run(command, 300)
        rows = evidence(store, "b") if code in (0, 1) else []
        summary = next((line for line in out.decode(errors="replace").splitlines() if line.startswith("run ")), "")
    if not rows:
        raise RuntimeError(f"assay bench: exit {code}: {errors[-400:]}")
    durations = [e["durations_ns"] for _, _, _, e in rows]
    result = {"command": "assay bench kernelbench/1 --from 200_KERNELS --workload small", "candidates": count,
              "judged": len(rows), "passed": sum(r == "pass" for _, _, r, _ in rows), "wall_s": wall,
              "verdicts_per_s": len(rows) / wall,
              "compiling_s": sum(d["build"] for d in durations) / 1e9, "summary": summary,
              "mean_ms": {k: statistics.mean(d[k] for d in durations) / 1e6 for k in durations[0]},
              "median_ms": {k: statistics.median(d[k] for d in durations) / 1e6 for k in durations[0]},
              "not_passed": [(c, r, e["detail"][:120]) for _, c, r, e in rows if r != "pass"][:10]}
    print(f"b: {result['judged']} verdicts, {result['passed']} passed, {wall:.1f} s: {result['verdicts_per_s']:.1f} a second; "
          f"{result['compiling_s']:.1f} s of compiling in all; {summary}; each in ms: "
          f"{ {k: round(v, 1) for k, v in result['median_ms'].items()} }", flush=True)
    return result


# --- c: all kernels at full -------------------------------------------------------------------------------------------


def bench_full(assay, store, seconds, folder):
    """Runs until it is done or the time is over; then Ctrl-C, which finishes the kernel at hand."""
    for suite in SUITES:
        command = [assay, "bench", suite, "--from", folder, "--workload", "full", "--store", store, "--run", f"full {suite}"]
        child = subprocess.Popen(command, cwd=common.ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        end = time.monotonic() + seconds
        try:
            child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.communicate(timeout=120)
            if child.poll() is None:
                child.kill()
                child.communicate()
        seconds = max(1, end - time.monotonic())


def eager_times(assay, tasks, seconds):
    asked = []
    for task in tasks:
        try:
            asked.append({"task": task, "pytorch": common.assay_json(assay, "show", task)[1]["pytorch"]})
        except Exception as e:
            print(f"c: {task}: no PyTorch module: {e}", flush=True)
    _, code, out, errors = common.run([sys.executable, os.path.join(common.HERE, "eager.py")], seconds,
                                      input=json.dumps(asked).encode())
    rows = {}
    for line in (out or b"").decode().splitlines():
        with contextlib.suppress(json.JSONDecodeError):
            row = json.loads(line)
            rows[row["task"]] = row
    if code != 0 and not rows:
        print(f"c: no eager times: {errors.strip()[-300:]}", flush=True)
    return rows


def baselines(path):
    if not path:
        return {}
    with open(path) as f:
        return {f"kernelbench/{r['level']}/{r['id']}": {k: float(r[k]) for k in ("eager_ms", "eager_fp32_ms", "eager_tf32_ms", "compile_ms")
                                                       if r.get(k)} for r in csv.DictReader(f)}


def number(x):
    return x if isinstance(x, (int, float)) else float("nan")


def all_kernels(assay, store, seconds, baseline_file, folder):
    common.run([assay, "doctor", "--calibrate", "--store", store], 120)  # without rates there are no floors
    bench_full(assay, store, seconds * 0.75, folder)
    found = [row for suite in SUITES for row in evidence(store, f"full {suite}")]
    tasks = sorted({task for task, _, reason, _ in found if reason == "pass"}, key=lambda t: (t.split("/")[0], *map(int, t.split("/")[1:])))
    eager, others, rows = eager_times(assay, tasks, max(60, seconds * 0.25)), baselines(baseline_file), []
    for task, candidate, reason, e in found:
        t = e.get("timing", {})
        row = {"task": task, "candidate": os.path.basename(candidate), "verdict": reason, "detail": e["detail"][:160],
               "device": e["device"], "seconds": e["durations_ns"]["total"] / 1e9}
        if t.get("measured"):
            ms, floor = t["median_ns"] / 1e6, number(t.get("floor_ns")) / 1e6
            row.update(ms=ms, low_ms=t["low_ns"] / 1e6, high_ms=t["high_ns"] / 1e6, hot_ms=number(t["hot_ns"]) / 1e6,
                       floor_ms=floor, floor_over_time=floor / ms if ms else None, unstable=t["unstable"],
                       clock_mhz=t["clock_mhz"], throttle=t["throttle"], suspicious=t["suspicious"])
            row["eager"] = {k: v for k, v in eager.get(task, {}).items() if k.endswith("_ms") or k == "failed"}
            for name in ("strict", "default", "tf32"):
                if row["eager"].get(name + "_ms"):
                    row["eager"][name + "_over_ours"] = row["eager"][name + "_ms"] / ms
            row["elsewhere"] = {k: v for k, v in others.get(task, {}).items()}
        rows.append(row)
        ratio = row.get("eager", {})
        print(f"c: {task:18} {row['candidate']:42} {reason:14} {number(row.get('ms')):9.4f} ms  floor/time "
              f"{number(row.get('floor_over_time')):5.2f}  eager/ours strict {number(ratio.get('strict_over_ours')):6.2f} "
              f"default {number(ratio.get('default_over_ours')):6.2f} tf32 {number(ratio.get('tf32_over_ours')):6.2f} "
              f"{ratio.get('failed', '')}{'' if reason == 'pass' else row['detail'][:80]}", flush=True)
    return {"command": "assay bench SUITE --from kernels/cuda --workload full, for " + ", ".join(SUITES), "rows": rows,
            "passed": sum(r["verdict"] == "pass" for r in rows),
            "torch": next((r.get("torch") for r in eager.values()), None)}


# --- d: one judgement -------------------------------------------------------------------------------------------------


def breakdown(assay):
    result = {}
    for task, kernel in [("kernelbench/1/19", "relu.cu"), ("kernelbench/1/23", "softmax.cu"), ("kernelbench/1/2", "matmul.cu")]:
        walls, parts, verdicts = [], [], []
        for _ in range(10):
            wall, verdict = common.assay_json(assay, "judge", task, os.path.join(KERNELS, kernel), "--no-store")
            walls.append(wall)
            verdicts.append(verdict["verdict"])
            parts.append({k: v / 1e6 for k, v in verdict["durations_ns"].items()})
        middle = {k: statistics.median(p[k] for p in parts) for k in parts[0]}
        result[kernel] = {"command": f"assay judge {task} kernels/cuda/{kernel}", "wall_s": common.spread(walls),
                          "verdicts": sorted(set(verdicts)), "median_ms": middle}
        print(f"d: {kernel}: {statistics.median(walls):.2f} s of wall time; in ms "
              f"{ {k: round(v, 1) for k, v in middle.items()} }", flush=True)
    return result


def main():
    arguments = sys.argv[1:]
    only = common.option(arguments, "--only", "b,c,d").split(",")
    folder = os.path.abspath(common.option(arguments, "--kernels", KERNELS))
    seconds = float(common.option(arguments, "--seconds", "500"))
    store = common.option(arguments, "--store", os.path.join(tempfile.mkdtemp(), "store.sqlite"))
    table = common.option(arguments, "--baselines", None)
    if len(arguments) != 2:
        sys.exit(__doc__)
    assay = os.path.abspath(arguments[0])
    parts = [("b", lambda: verdicts_a_second(assay)), ("d", lambda: breakdown(assay)),
             ("c", lambda: all_kernels(assay, os.path.abspath(store), seconds, table, folder))]
    common.report("bench/gpu/figures.py ASSAY OUT.json --only " + ",".join(only), arguments[1],
                  [part for part in parts if part[0] in only])


if __name__ == "__main__":
    main()
