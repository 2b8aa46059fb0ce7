#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long one cold `assay judge` of a small kernel takes, by two programs in turn: the one before and the one now.

    bench/cold_judge.py BEFORE NOW OUT.json [--house DIR] [--house-before DIR] [--rounds N] [--seconds N] [FILE...]

BEFORE and NOW are folders of programs; --house and --house-before have their tasks/ and include/ (this repository).
FILEs are C kernels of both (tests/cases without them). Every judgement is a process of its own with a cache folder of
its own; each program has a store with its own calibration. In a round each kernel is judged by both, the first one in
turn. To be run on processors that nobody else uses (taskset -c 2,3).

OUT.json: for each kernel the medians and the ratio of wall times, and over all kernels the geometric mean of the ratios,
each with a 95 % interval (rounds drawn with replacement); and where the time went, by the verdicts' own clocks.
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

    def judge(self, task, path):
        """(wall time in s, the verdict)."""
        with tempfile.TemporaryDirectory(dir=self.work) as cache:
            start = time.monotonic()
            done = subprocess.run([self.assay, "judge", task, path, "--json"], capture_output=True, text=True,
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


def report(walls, parts, a, programs):
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
        result["kernels"][name] = {k: round(v, 5) if isinstance(v, float) else v for k, v in row.items()}
    pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
    return result


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    return {"processor": re.search(r"^model name\s*: (.*)$", text, re.M).group(1), "processors": os.cpu_count()}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("before")
    p.add_argument("now")
    p.add_argument("out")
    p.add_argument("files", nargs="*")
    p.add_argument("--house", default=HOUSE)
    p.add_argument("--house-before", default=HOUSE)
    p.add_argument("--rounds", type=int, default=20)
    p.add_argument("--seconds", type=float, default=math.inf, help="begin no round after so many")
    a = p.parse_args()
    start, files = time.monotonic(), [str(pathlib.Path(f).resolve()) for f in a.files or
                                      [HOUSE / "tests/cases" / f for f in FILES]]
    with tempfile.TemporaryDirectory(prefix="cold-") as work:
        programs = [Program("before", a.before, pathlib.Path(a.house_before).resolve(), work),
                    Program("now", a.now, pathlib.Path(a.house).resolve(), work)]
        walls, parts = {}, {}
        for number in range(a.rounds):
            if time.monotonic() - start > a.seconds:
                break
            for path in files:
                name = os.path.basename(path)
                task = re.search(r"^// assay: task (\S+)", pathlib.Path(path).read_text(), re.M).group(1)
                row = [0.0, 0.0]
                for i in ((0, 1), (1, 0))[number % 2]:
                    row[i], verdict = programs[i].judge(task, path)
                    if verdict["verdict"] != "pass":
                        raise SystemExit(f"{programs[i].name}: {name}: {verdict['verdict']}: {verdict['detail']}")
                    for part, ns in verdict["durations_ns"].items():
                        parts.setdefault(name, [{}, {}])[i].setdefault(part, []).append(ns / 1e9)
                walls.setdefault(name, []).append(row)
            found = report(walls, parts, a, programs)
    for name, row in found["kernels"].items():
        print(f"{name:24} {row['before_s']:.3f} s  {row['now_s']:.3f} s  {row['ratio']:.3f}  {row['interval']}")
    print(f"all: {found['ratio']:.3f} times, 95 % {found['interval'][0]:.3f} to {found['interval'][1]:.3f}, "
          f"{found['rounds']} rounds")


main()
