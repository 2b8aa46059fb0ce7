#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leaderboard.py [--check | --sources DIR]: the verdicts of bench/results/nvidia-h200 as JSON Lines for `assay runs import`.

Writes bench/results/nvidia-h200/leaderboard.jsonl; --check compares instead. What a result does not hold (samples, seeds,
intervals, checks) is missing in the lines too: pages say "not kept". The hash of a kernel is that of its file at the
commit that the result names; a clone without that commit keeps the hash that the file has. --sources DIR writes these
kernels as they were judged, for `assay report --sources DIR`; what the clone's history lacks is left out.
"""
import datetime
import glob
import hashlib
import json
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RESULTS = os.path.join(ROOT, "bench", "results", "nvidia-h200")
OUT = os.path.join(RESULTS, "leaderboard.jsonl")
SEARCH = "PyTorch with cuDNN's search"
EAGER = {"strict": "PyTorch eager, fp32", "default": "PyTorch eager, default", "tf32": "PyTorch eager, tf32"}
HOW_EAGER = "timed in the same session by bench/gpu/eager.py, not in turn with the kernel: no interval"


def results(name):
    with open(os.path.join(RESULTS, name), encoding="utf-8") as file:
        return json.load(file)


def known_hashes():
    """What the file of lines says already, by commit and candidate."""
    if not os.path.exists(OUT):
        return {}
    with open(OUT, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file][1:]
    return {(line["evidence"].get("commit"), line["candidate"]): line.get("candidate_hash") for line in lines}


def hash_at(commit, path, known):
    found = subprocess.run(["git", "-C", ROOT, "show", f"{commit}:{path}"], capture_output=True, check=False)
    return hashlib.sha256(found.stdout).hexdigest() if found.returncode == 0 else known.get((commit, path), "")


def midnight(date):
    """Results have a date and no hour."""
    day = datetime.datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=datetime.timezone.utc)
    return f"{int(day.timestamp())}000000000"


def line(run, task, candidate, verdict, date, workload="full", **more):
    found = {"run": run, "task": task, "candidate": candidate, "reason": verdict, "form": "default", "workload": workload,
             "device": "cuda", "at_ns": midnight(date), **more}
    found["evidence"].update(rule="contract", judge="assay 0.1.0", form="default", scope=None)
    return {key: value for key, value in found.items() if value not in (None, "")}


def machine_of(result):
    return {key: value for key, value in result["machine"].items() if key != "device"}


def device_of(result):
    return f"{result['machine']['device']}, driver {result['machine']['driver']}"


def shipped(known):
    """Kernels of kernels/cuda at full. PyTorch's times were taken in the same sessions."""
    result = results("figures_full.json")
    for row in result["c"]["rows"]:
        path = f"kernels/cuda/{row['candidate']}"
        baselines = [{"name": name, "median_ns": row["eager"][f"{key}_ms"] * 1e6, "speedup": row["eager"][f"{key}_over_ours"],
                      "verdict": "", "detail": HOW_EAGER} for key, name in EAGER.items() if f"{key}_ms" in row["eager"]]
        evidence = {"device": row["device"], "mode": "plan", "commit": row["commit"], "baselines": baselines,
                    "timing": {"measured": True, "clock_mhz": row["clock_mhz"], "throttle": row["throttle"]}}
        yield line("shipped kernels", row["task"], path, row["verdict"], result["date"], detail=row["detail"],
                   candidate_hash=hash_at(row["commit"], path, known), toolchain="nvcc", time_ns=row["ms"] * 1e6,
                   time_low_ns=row["low_ms"] * 1e6, time_high_ns=row["high_ms"] * 1e6, hot_ns=row["hot_ms"] * 1e6,
                   floor_ns=row["floor_ms"] * 1e6 if row["floor_ms"] else None, unstable=row["unstable"],
                   suspicious=row["suspicious"], machine=machine_of(result), evidence=evidence,
                   command=f"assay judge '{row['task']}' '{path}' --workload full")


def parts(row):
    return {name: {"part": row["kernels"][name], "launches": row["launches"][name]} for name in row["kernels"]}


def said(run, row):
    """One verdict was the judge's mistake, mended since (eager_benchmark.json says so): nobody is called a cheat for it."""
    if run == SEARCH and row["task"] == "kernelbench/1/90" and row["verdict"] == "changed_behaviour":
        return "judge_failed", "the judge of that commit said changed_behaviour by mistake; it was mended, and this not judged again"
    return row["verdict"], row["detail"]


def pytorch(name, run, candidate, commit):
    """What bench/gpu/eager_candidates.py wrote: PyTorch's modules judged as candidates."""
    result = results(name)
    for level in result["levels"].values():
        for row in level["tasks"]:
            verdict, detail = said(run, row)
            evidence = {"device": device_of(result), "mode": row.get("mode"), "commit": commit(result),
                        "timing": {"measured": row.get("median_ns") is not None, "wall_ns": row.get("wall_ns")}}
            if row["kernels"]:
                evidence["kernels"] = parts(row)
                evidence["unsettled_arguments"] = row["unsettled_arguments"]
            yield line(run, row["task"], candidate(row["task"]), verdict, result["date"], detail=detail,
                       toolchain="python", time_ns=row.get("median_ns"), unstable=row.get("unstable"),
                       suspicious=row.get("suspicious"), error_z=row.get("z"), error_limit=row.get("z_limit"),
                       machine=machine_of(result), evidence=evidence)


def original_name(task):
    _, level, number = task.split("/")
    return f"level_{level}_problem_{number}_sample_0_kernel.py"


def in_turns(known):
    """The kernels whose baselines took turns with them."""
    result = results("baselines.json")
    for row in result["verdicts"]:
        if not row["baselines"] or "low_ns" not in row:
            continue
        path, commit = f"kernels/cuda/{row['candidate']}", row.get("commit", result["commit"])
        evidence = {"device": device_of(result), "mode": row["mode"], "commit": commit, "baselines": row["baselines"],
                    "timing": {"measured": True}}
        yield line("baselines in turn", row["task"], path, row["verdict"], result["date"], row["workload"],
                   candidate_hash=hash_at(commit, path, known), toolchain="nvcc", time_ns=row["median_ns"],
                   time_low_ns=row["low_ns"], time_high_ns=row["high_ns"], machine=machine_of(result), evidence=evidence,
                   command=f"assay judge '{row['task']}' '{path}' --workload {row['workload']} --no-probes" +
                   "".join(f" --baseline {b['name']}" for b in row["baselines"]))


def whole():
    known = known_hashes()
    lines = [{"format": "assay verdicts", "version": 1}, *shipped(known),
             *pytorch("originals.json", "KernelBench's originals", original_name, lambda r: r["commit"]),
             *pytorch("eager_benchmark.json", SEARCH, lambda _: "torch.eager.benchmark", lambda r: ", ".join(r["commits"])),
             *in_turns(known)]
    return "".join(json.dumps(found, sort_keys=True, separators=(",", ":")) + "\n" for found in lines)


def write_sources(folder):
    """The kernels that the lines of all machines name, from the history: in a folder for each text's hash."""
    wanted = set()
    for path in glob.glob(os.path.join(ROOT, "bench", "results", "*", "*.jsonl")):
        with open(path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file][1:]
        wanted.update((line["evidence"].get("commit"), line["candidate"].partition(" -D")[0]) for line in lines
                      if "reason" in line and line["candidate"].startswith(("kernels/", "tests/")))
    wanted = sorted((commit, path) for commit, path in wanted if commit)
    found = 0
    for commit, path in wanted:
        text = subprocess.run(["git", "-C", ROOT, "show", f"{commit}:{path}"], capture_output=True, check=False)
        if text.returncode == 0:
            place = os.path.join(folder, hashlib.sha256(text.stdout).hexdigest()[:16])
            os.makedirs(place, exist_ok=True)
            with open(os.path.join(place, os.path.basename(path)), "wb") as file:
                file.write(text.stdout)
            found += 1
    print(f"{folder}: {found} of {len(wanted)} kernels as they were judged, from the history")


def put(path, text, check, again):
    """Writes the lines, or ends where the file has others; `again` makes them."""
    if check:
        with open(path, encoding="utf-8") as file:
            if file.read() != text:
                sys.exit(f"{path} is not what the results give: run {again}")
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    print(f"{path}: {text.count(chr(10)) - 1} verdicts, {len(text) / 1e3:.0f} kB")


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--sources":
        return write_sources(sys.argv[2])
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    return put(OUT, whole(), bool(sys.argv[1:]), "bench/leaderboard.py")


if __name__ == "__main__":
    main()
