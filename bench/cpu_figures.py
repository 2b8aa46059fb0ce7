#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The figures of judging on the CPU, measured in one run: bench/cpu_figures.py BUILD_DIR OUTPUT.json

judge       one cold `assay judge` of a small elementwise kernel, ten times: wall time and where it went
bench       `assay bench kernelbench/1` over all shipped honest kernels: kernels a second, apart from compiling
oracle      the oracle at `full`: time and peak memory against the task's own tensors
noise       the same kernel judged ten times, and for comparison a plain clock_gettime loop in ten processes
mutations   every shipped kernel and wrong twin: what the contract says, what allclose would have said
"""
import datetime
import json
import os
import platform
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

build, output = sys.argv[1], sys.argv[2]
assay = os.path.join(build, "assay")
cases = "tests/cases"
work = tempfile.mkdtemp()
store = os.path.join(work, "store.sqlite")
environment = dict(os.environ, ASSAY_STORE=store)


def run(*command, check=True):
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=check)
    return time.monotonic() - start, done.stdout


def spread(values):
    middle = statistics.median(values)
    return {"median": middle, "min": min(values), "max": max(values), "range_over_median": (max(values) - min(values)) / middle,
            "stdev_over_median": statistics.stdev(values) / middle}


def judge_figure():
    walls, parts = [], []
    for _ in range(10):
        wall, out = run(assay, "judge", "kernelbench/1/19", f"{cases}/relu.c", "--json")
        walls.append(wall)
        parts.append({k: v / 1e9 for k, v in json.loads(out)[0]["durations_ns"].items()})
    middle = {k: statistics.median(p[k] for p in parts) for k in parts[0]}
    # What is neither the compiler nor calling the candidate (loading it, checked and timed calls).
    own = statistics.median(p["total"] - p["build"] - p["load"] - p["checks"] - p["timing"] for p in parts)
    return {"command": "assay judge kernelbench/1/19 tests/cases/relu.c", "wall_s": spread(walls), "seconds": middle,
            "own_share_s": own}


def bench_figure():
    before = os.times()
    wall, out = run(assay, "bench", "kernelbench/1", "--from", cases, "--run", "figures", check=False)
    after = os.times()
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    rows = sqlite3.connect(store).execute("SELECT reason, evidence FROM verdict WHERE run = 'figures'").fetchall()
    building = sum(json.loads(e)["durations_ns"]["build"] for _, e in rows) / 1e9
    return {"command": "assay bench kernelbench/1 --from tests/cases", "kernels": len(rows),
            "passed": sum(r == "pass" for r, _ in rows), "wall_s": wall, "compiling_s": building,
            "kernels_per_s": len(rows) / wall, "kernels_per_s_apart_from_compiling": len(rows) / (wall - building),
            "cpu_s": cpu, "kernels_per_cpu_s_apart_from_compiling": len(rows) / (cpu - building),
            "mean_seconds": {k: statistics.mean(json.loads(e)["durations_ns"][k] for _, e in rows) / 1e9
                             for k in json.loads(rows[0][1])["durations_ns"]}}


def oracle_figure():
    figures = []
    for task in ["001_", "003_", "050_", "082_"]:
        path = [f for f in sorted(os.listdir("tasks/kernelbench/level1")) if f.startswith(task[:4])][0]
        try:
            figures.append(json.loads(run(os.path.join(build, "bench_oracle"), f"tasks/kernelbench/level1/{path}", "full")[1]))
        except subprocess.CalledProcessError as e:
            figures.append({"task": path, "failed": e.returncode, "message": e.stderr.strip()})
    return figures


def noise_figure():
    judged = []
    for _ in range(10):
        out = json.loads(run(assay, "judge", "kernelbench/1/19", f"{cases}/relu.c", "--threads", "1", "--json")[1])[0]
        judged.append((out["timing"]["median_ns"], out["timing"]["hot_ns"]))
    library = os.path.join(work, "relu.so")
    run("gcc", "-std=gnu17", "-O3", "-march=native", "-fopenmp", "-fPIC", "-shared", "-Iinclude", "-o", library,
        f"{cases}/relu.c", "-lm")
    shape = json.loads(run(assay, "show", "kernelbench/1/19", "--json")[1])
    dims = [w for w in shape["workloads"] if w["workload"] == "small"][0]["inputs"].split("[")[1].rstrip("]").split(",")
    plain = [float(run(os.path.join(build, "bench_plain_loop"), library, *dims)[1]) for _ in range(10)]
    return {"kernel": "relu.c", "shape": dims, "judged_cold_ns": spread([c for c, _ in judged]),
            "judged_hot_ns": spread([h for _, h in judged]), "plain_loop_ns": spread(plain)}


def mutation_figure():
    run(assay, "bench", "kernelbench/1", "--from", cases, "--twins", "--samples", "60", "--run", "twins", check=False)
    table, counts = [], {"honest": 0, "honest_passed": 0, "wrong": 0, "wrong_passed": 0, "wrong_pass_allclose_1e-4": 0,
                         "wrong_pass_allclose_1e-2": 0}
    for task, candidate, reason, evidence in sqlite3.connect(store).execute(
            "SELECT task, candidate, reason, evidence FROM verdict WHERE run = 'twins' ORDER BY id"):
        checks = [c for c in json.loads(evidence)["checks"] if c["probe"] == "declared" and not c["timed"]
                  and not c["workload"].startswith("ragged")]
        tight = all(c["allclose_bad"] == 0 for c in checks) if checks else None
        loose = all(c["allclose_1e-2_bad"] == 0 for c in checks) if checks else None
        wrong = " -D" in candidate
        counts["wrong" if wrong else "honest"] += 1
        counts["wrong_passed" if wrong else "honest_passed"] += reason == "pass"
        counts["wrong_pass_allclose_1e-4"] += bool(wrong and tight)
        counts["wrong_pass_allclose_1e-2"] += bool(wrong and loose)
        table.append({"task": task, "candidate": os.path.basename(candidate), "contract": reason,
                      "allclose_1e-4": tight, "allclose_1e-2": loose})
    return {"counts": counts, "table": table}


def main():
    run(assay, "doctor", "--calibrate")
    commit = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
    result = {"command": "bench/cpu_figures.py BUILD_DIR OUTPUT.json", "date": datetime.date.today().isoformat(),
              "commit": commit,
              "machine": [row for row in json.loads(run(assay, "doctor", "--json")[1])
                          if row["what"] in ("machine", "device cpu", "sandbox", "peaks")],
              "python": platform.python_version()}
    for name, figure in [("judge", judge_figure), ("noise", noise_figure), ("bench", bench_figure),
                         ("oracle", oracle_figure), ("mutations", mutation_figure)]:
        result[name] = figure()
        shown = result[name] if name != "mutations" else result[name]["counts"]
        print(name, json.dumps(shown, indent=1), flush=True)
    os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
    with open(output, "w") as f:
        json.dump(result, f, indent=1)
        f.write("\n")


main()
