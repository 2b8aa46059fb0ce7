#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check_scores.py ASSAY: KernelBench's own fast_p, geometric mean and pass@k of the same verdicts as ours.

The verdicts are those of the leaderboard that ships, and 60 random ones (some wrong, several kernels a task). KERNELBENCH
names a checkout of KernelBench; src/kernelbench/score.py and pass_at_k of analysis.py are run as they are. 77: there is
no checkout, or no NumPy.
"""
import ast
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: there is no NumPy, which KernelBench's scripts import")
    sys.exit(77)

BASELINE = "PyTorch eager, default"
LEVELS = {"kernelbench/1": 100, "kernelbench/2": 100}
wrong, checked = 0, 0


def near(what, ours, theirs):
    global wrong, checked
    checked += 1
    if not abs(ours - theirs) <= 1e-12 * max(1, abs(theirs)):
        wrong += 1
        print(f"WRONG: {what}: {ours} here, {theirs} by KernelBench's script")


def functions(path, names):
    """Those functions of a file, without what else the file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name in names]
    found = {"np": np}
    exec(compile(tree, str(path), "exec"), found)  # noqa: S102 -- a file that the caller named
    return [found[name] for name in names]


def shipped(source):
    """level -> task -> verdicts (right, time, baseline), of the run of shipped kernels."""
    levels = {}
    with open(source / "bench/results/nvidia-h200/leaderboard.jsonl", encoding="utf-8") as file:
        for line in file:
            v = json.loads(line)
            if v.get("run") != "shipped kernels":
                continue
            base = {b["name"]: b["median_ns"] for b in v["evidence"].get("baselines", ())}.get(BASELINE)
            level = v["task"].rpartition("/")[0]
            levels.setdefault(level, {}).setdefault(v["task"], []).append((v["reason"] == "pass", v["time_ns"], base))
    return levels


def at_random(source, path):
    """Copies of one line of the leaderboard with times, right and wrong; what they are, by task."""
    rng = random.Random(7)
    with open(source / "bench/results/nvidia-h200/leaderboard.jsonl", encoding="utf-8") as file:
        head, pattern = file.readline(), next(json.loads(line) for line in file if BASELINE in line)
    tasks = {}
    with open(path, "w", encoding="utf-8") as out:
        out.write(head)
        for number in range(60):
            v = json.loads(json.dumps(pattern))
            right, base = rng.random() < 0.7, 1e6
            time = base / rng.choice([0.25, 0.5, 0.8, 1, 1.2, 2, 2, 4, 9])  # also at the thresholds themselves
            v.update(task=f"kernelbench/1/{1 + rng.randrange(40)}", run="random", candidate=f"k{number}.cu", floor_ns=1e3,
                     candidate_hash=f"{number:064x}", reason="pass" if right else "wrong_value",
                     **({"time_ns": time, "time_low_ns": time, "time_high_ns": time} if right else
                        {"time_ns": None, "time_low_ns": None, "time_high_ns": None, "hot_ns": None}))
            v["evidence"]["baselines"] = [{"name": BASELINE, "median_ns": base, "speedup": base / time, "verdict": "",
                                           "detail": ""}]
            out.write(json.dumps(v) + "\n")
            tasks.setdefault(v["task"], []).append((right, time, base))
    return tasks


def compare(assay, store, run, level, tasks, n, scripts):
    fastp, geomean, pass_at_k = scripts
    text = subprocess.run([assay, "score", run, "--baseline", BASELINE, "--of", level, "--json", "--store", store],
                          check=True, stdout=subprocess.PIPE, text=True).stdout
    ours = next(row for row in json.loads(text) if row["level"] == level)
    best = {}  # KernelBench has one kernel a problem: the fastest right one
    for task, verdicts in tasks.items():
        right = [v for v in verdicts if v[0] and v[1] and v[2]]
        best[task] = min(right, key=lambda v: v[1]) if right else (False, 1, 1)
    is_correct = np.array([v[0] for v in best.values()])
    base, time = (np.array([v[i] for v in best.values()], dtype=float) for i in (2, 1))
    for p, share in ours["fast_p"].items():
        near(f"{run}, {level}: fast_{p}", share, float(fastp(is_correct, base, time, n, float(p))))
    near(f"{run}, {level}: geometric mean", ours["geomean_speedup"], float(geomean(is_correct, base, time, n)))
    near(f"{run}, {level}: pass@1", ours["pass_at_1"],
         sum(float(pass_at_k(len(v), sum(x[0] for x in v), 1)) for v in tasks.values()) / n)
    print(f"{run}, {level}: {len(best)} of {n} tasks, {is_correct.sum()} right; fast_1 {ours['fast_p']['1.0']:.4g}, "
          f"geometric mean {ours['geomean_speedup']:.6g}, pass@1 {ours['pass_at_1']:.6g}")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    checkout = os.environ.get("KERNELBENCH")
    if not checkout:
        print("skipped: KERNELBENCH names no checkout of KernelBench")
        sys.exit(77)
    assay, theirs = os.path.abspath(sys.argv[1]), pathlib.Path(checkout, "src/kernelbench")
    source = pathlib.Path(__file__).resolve().parents[2]
    scripts = functions(theirs / "score.py", ["fastp", "geometric_mean_speed_ratio_correct_only"])
    scripts += functions(theirs / "analysis.py", ["pass_at_k"])
    with tempfile.TemporaryDirectory() as folder:
        store, lines = os.path.join(folder, "store.sqlite"), os.path.join(folder, "random.jsonl")
        drawn = at_random(source, lines)
        for file in (source / "bench/results/nvidia-h200/leaderboard.jsonl", lines):
            subprocess.run([assay, "runs", "import", str(file), "--store", store], check=True, stdout=subprocess.DEVNULL)
        levels = shipped(source)
        for level, n in LEVELS.items():
            compare(assay, store, "shipped kernels", level, levels[level], n, scripts)
        compare(assay, store, "random", "kernelbench/1", drawn, 100, scripts)
    print(f"{checked} figures compared, {wrong} differ")
    sys.exit(wrong != 0 or checked < 24)


if __name__ == "__main__":
    main()
