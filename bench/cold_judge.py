#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long one cold `assay judge` of a small kernel takes, by two programs in turn: the one before and the one now.

    bench/cold_judge.py BEFORE NOW OUT.json [--house DIR] [--house-before DIR] [--rounds N] [--seconds N] [FILE...]
    bench/cold_judge.py BEFORE NOW OUT.json --eager [--device cuda] [--workload full] [...] TASK...

BEFORE and NOW are folders of programs; --house and --house-before have their tasks/ and include/ (this repository).
FILEs are C kernels of both (tests/cases without them); with --eager there are TASKs instead, and PyTorch's execution of
them (torch.eager) is judged. Every judgement is a process of its own with a cache folder of
its own; each program has a store with its own calibration. In a round each kernel is judged by both, the first one in
turn. To be run on processors that nobody else uses (taskset -c 2,3).

OUT.json: for each kernel the medians and the ratio of wall times, and over all kernels the geometric mean of the ratios,
each with a 95 % interval (rounds drawn with replacement); where the time went, by the verdicts' own clocks; and the times
that the two give each kernel, with cold caches and hot ones, with the geometric means of their ratios.
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import random
import re
import statistics
import subprocess
import tempfile
import time

HOUSE = pathlib.Path(__file__).resolve().parent.parent
FILES = ["relu.c", "matmul_blocked.c", "softmax_online.c", "conv_2d_direct.c", "conv_1d.c", "layer_norm_welford.c", "gelu_erf.c",
         "conv_depthwise_2d.c"]
DRAWS = 2000


class Program:
    def __init__(self, name, folder, house, work):
        self.name, self.assay = name, str(pathlib.Path(folder).resolve() / "assay")
        self.work = pathlib.Path(work, name)
        self.work.mkdir()
        self.environment = dict(os.environ, ASSAY_TASKS=f"{house}/tasks", ASSAY_INCLUDE=f"{house}/include",
                                ASSAY_STORE=str(self.work / "store.sqlite"))
        subprocess.run([self.assay, "doctor", "--calibrate"], env=self.environment, stdout=subprocess.DEVNULL, check=False)

    def judge(self, task, path, options):
        """(wall time in s, the verdict)."""
        with tempfile.TemporaryDirectory(dir=self.work) as cache:
            start = time.monotonic()
            done = subprocess.run([self.assay, "judge", task, path, *options, "--json"], capture_output=True, text=True,
                                  env=dict(self.environment, XDG_CACHE_HOME=cache))
            wall = time.monotonic() - start
        try:
            found = json.loads(done.stdout)
        except ValueError:
            raise SystemExit(f"{self.name}: {path}: {done.stderr.strip()}") from None
        return wall, found[0] if isinstance(found, list) else found  # one alone was no list once


def ratio_of(rounds):
    """Of the medians of some rounds, each [before, now]."""
    return statistics.median(r[1] for r in rounds) / statistics.median(r[0] for r in rounds)


def overall(kernels, which=None):
    logs = [math.log(ratio_of([rows[i] for i in which] if which else rows)) for rows in kernels]
    return math.exp(statistics.mean(logs))


def interval(kernels):
    dice, n = random.Random(1), min(map(len, kernels))
    drawn = sorted(overall(kernels, [dice.randrange(n) for _ in range(n)]) for _ in range(DRAWS))
    return [round(drawn[int(DRAWS * 0.025)], 4), round(drawn[int(DRAWS * 0.975)], 4)]


def times_of(verdict):
    timing = verdict.get("timing") or {}
    return {name: timing[key] for name, key in (("cold", "median_ns"), ("hot", "hot_ns")) if timing.get(key)}


def report(walls, parts, times, a, programs):
    n = min(map(len, walls.values()))
    kernels = {name: rows[:n] for name, rows in walls.items()}
    result = {"command": "bench/cold_judge.py BEFORE NOW OUT.json", "date": datetime.date.today().isoformat(),
              "rounds": n, "cpus": sorted(os.sched_getaffinity(0)), "machine": machine(),
              "ratio": round(overall(list(kernels.values())), 4), "interval": interval(list(kernels.values())),
              "kernels": {}}
    for name, rows in kernels.items():
        row = {"before_s": statistics.median(r[0] for r in rows), "now_s": statistics.median(r[1] for r in rows),
               "ratio": ratio_of(rows), "interval": interval([rows])}
        for i, p in enumerate(programs):
            row[f"parts_{p.name}_s"] = {k: round(statistics.median(v), 5) for k, v in parts[name][i].items()}
            row[f"times_{p.name}_ns"] = {k: statistics.median(v) for k, v in times[name][i].items()}
        result["kernels"][name] = {k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}
    for cache in "cold", "hot":
        pairs = [(row["times_before_ns"][cache], row["times_now_ns"][cache]) for row in result["kernels"].values()
                 if cache in row["times_before_ns"] and cache in row["times_now_ns"]]
        if pairs:
            result[f"{cache}_times_ratio"] = round(math.exp(statistics.mean(math.log(now / was) for was, now in pairs)), 4)
    pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
    return result


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return {"processor": re.search(r"^model name\s*: (.*)$", text, re.M).group(1), "processors": os.cpu_count()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("before")
    parser.add_argument("now")
    parser.add_argument("out")
    parser.add_argument("files", nargs="*")
    parser.add_argument("--house", default=HOUSE)
    parser.add_argument("--house-before", default=HOUSE)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no round after so many")
    parser.add_argument("--eager", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--workload", default="small")
    a = parser.parse_intermixed_args()
    options = ["--device", a.device, "--workload", a.workload]
    start, files = time.monotonic(), a.files if a.eager else [str(pathlib.Path(f).resolve()) for f in a.files or
                                                              [HOUSE / "tests/cases" / f for f in FILES]]
    with tempfile.TemporaryDirectory(prefix="cold-") as work:
        programs = [Program("before", a.before, pathlib.Path(a.house_before).resolve(), work),
                    Program("now", a.now, pathlib.Path(a.house).resolve(), work)]
        walls, parts, times = {}, {}, {}
        for number in range(a.rounds):
            if time.monotonic() - start > a.seconds:
                break
            for path in files:
                if time.monotonic() - start > a.seconds and a.eager:
                    break
                name = path if a.eager else os.path.basename(path)
                task = path if a.eager else re.search(r"^// assay: task (\S+)", pathlib.Path(path).read_text(), re.M).group(1)
                row, judged = [0.0, 0.0], [None, None]
                for i in ((0, 1), (1, 0))[number % 2]:
                    row[i], judged[i] = programs[i].judge(task, "torch.eager" if a.eager else path, options)
                for p, verdict in zip(programs, judged):
                    if verdict["verdict"] != "pass":
                        print(f"{p.name}: {name}: {verdict['verdict']}: {verdict['detail']}", flush=True)
                if any(verdict["verdict"] != "pass" for verdict in judged):
                    if a.eager:
                        continue
                    raise SystemExit(1)
                for i, verdict in enumerate(judged):
                    for part, ns in verdict["durations_ns"].items():
                        parts.setdefault(name, [{}, {}])[i].setdefault(part, []).append(ns / 1e9)
                    mine = times.setdefault(name, [{}, {}])[i]
                    for cache, ns in times_of(verdict).items():
                        mine.setdefault(cache, []).append(ns)
                walls.setdefault(name, []).append(row)
                if a.eager and number == 0:  # a round of many tasks is long
                    found = report(walls, parts, times, a, programs)
            found = report(walls, parts, times, a, programs)
    for name, row in found["kernels"].items():
        print(f"{name:24} {row['before_s']:.3f} s  {row['now_s']:.3f} s  {row['ratio']:.3f}  {row['interval']}")
    print(f"all: {found['ratio']:.3f} times, 95 % {found['interval'][0]:.3f} to {found['interval'][1]:.3f}, "
          f"{found['rounds']} rounds; times of the kernels: cold {found.get('cold_times_ratio')}, "
          f"hot {found.get('hot_times_ratio')} of before")


main()
