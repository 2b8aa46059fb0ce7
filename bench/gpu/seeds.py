#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same kernels judged again and again with other seeds and secrets: honest ones must pass, their wrong twins fail.

usage: seeds.py ASSAY OUT.json FOLDER SUITE [--seeds N] [--seconds S] [--gpus N] [--each N] [--device D] [--workload NAME]
       [--honest]

FOLDER has candidates with `// assay: twin MACRO expect VERDICTS` lines, as tools/tasks/honest_kernels.py writes them; a twin
is refused by one of its verdicts, and any other (that it did not compile, that it has another device) counts as no
refusal. A round judges all of them and their twins once, at `small` with all questions and without times; there are
--seeds rounds (20). Each of the --gpus GPUs (default: all that CUDA_VISIBLE_DEVICES or nvidia-smi lists) has --each benches
at once (7) with a part of the processors; a bench has a few kernels, and takes the next ones, of the next round too, as
soon as it is done. None is begun after --seconds (540), and none after a round of which nothing passed; OUT.json is written
after every bench. The same command goes on where it ends; a round that had been begun is begun again.
With --honest the kernels alone are judged, each without its twins, whose counts stay: a round is then several times shorter.

OUT.json: "calls" has each call's command, commit and machine. "kernels" is {name: [honest judged, honest passed, worst part
of a limit, twins judged, twins refused]}; what is not as expected is in "surprises", with seed, secret and what was said.
Exit code 1 where there are any, or where something could not be judged.
"""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

import common

FEW = 5  # kernels of one bench
CALL = ("command", "date", "commit", "machine", "gpus", "cpus")


class Options:
    def __init__(self, arguments):
        def option(name, default):
            return common.option(arguments, name, default)

        self.seeds, self.seconds = int(option("--seeds", 20)), float(option("--seconds", 540))
        self.device, self.workload = option("--device", "cuda"), option("--workload", "small")
        self.gpus = int(option("--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.each = int(option("--each", 7))
        self.twins = [] if common.flag(arguments, "--honest") else ["--twins"]
        if len(arguments) != 4:
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), pathlib.Path(arguments[1])
        self.folder, self.suite = pathlib.Path(arguments[2]), arguments[3]
        self.end = time.monotonic() + self.seconds


def bench(o, gpu, paths):
    """The verdicts of one bench, and why there are none."""
    environment, cpus = dict(os.environ), sorted(os.sched_getaffinity(0))
    own = cpus[gpu * len(cpus) // o.gpus:(gpu + 1) * len(cpus) // o.gpus] or cpus
    if o.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            shutil.copy(path, folder)
        command = [o.assay, "bench", o.suite, "--from", folder, *o.twins, "--workload", o.workload, "--device", o.device,
                   "--no-timing", "--threads", str(max(1, len(own) // o.each)), "--store", f"{folder}/store", "--json"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True,
                              preexec_fn=lambda: os.sched_setaffinity(0, own))
    try:
        return json.loads(done.stdout), ""
    except ValueError:
        return [], f"{' '.join(p.name for p in paths)}: exit {done.returncode}: {done.stderr.strip()[-400:]}"


def split(candidate):
    """(file's name, twin or ""): a twin's name is followed by its macro."""
    name, _, twin = pathlib.Path(candidate).name.partition(" -D")
    return name, twin.strip()


UNJUDGED = ("judge_failed", "not_judged")


def twins_of(paths):
    """{(file's name, macro): the verdicts that the file says this twin gets}"""
    found = {}
    for path in paths:
        for macro, verdicts in re.findall(r"^// assay: twin (\S+)(?: expect (\S+))?", path.read_text(errors="replace"), re.M):
            found[path.name, macro] = verdicts.split("|") if verdicts else ()
    return found


def count(result, v, twins):
    name, twin = split(v["candidate"])
    row = result["kernels"].setdefault(name, [0, 0, 0, 0, 0])
    expected = v["verdict"] in twins.get((name, twin), ()) if twin else v["verdict"] == "pass"
    if v["verdict"] in UNJUDGED:
        result["not_judged"] += 1
    elif twin:
        row[3:] = [row[3] + 1, row[4] + expected]
    else:
        worst = max((c["z_max"] / c["z_limit"] for c in v["checks"] or () if c["z_max"] and c["z_limit"]), default=0)
        row[:3] = [row[0] + 1, row[1] + expected, max(row[2], round(worst, 3))]
    if not expected:
        said = {key: v.get(key) for key in ("task", "verdict", "detail", "seed", "secret")}
        result["surprises"].append({"kernel": name, "twin": twin, "round": result["rounds"]} | said)


class Rounds:
    """What is left to judge: a round has all kernels once, in benches of few. One round's benches do not wait for another's."""

    def __init__(self, o, result, paths, save):
        self.o, self.result, self.save, self.lock = o, result, save, threading.Lock()
        self.twins = twins_of(paths)
        self.parts = [paths[i::-(-len(paths) // FEW)] for i in range(-(-len(paths) // FEW))]
        self.left = {}  # benches that a round of this call still waits for
        self.jobs = iter([(r, part) for r in range(result["rounds"], o.seeds) for part in self.parts])

    def take(self):
        """The next bench, or None: all are done, the time is over, or nothing works here (more of it says no more)."""
        with self.lock:
            sums = self.result["sums"]
            hopeless = self.result["rounds"] > 0 and not sums["honest_passed"]
            return None if hopeless or time.monotonic() >= self.o.end else next(self.jobs, None)

    def add(self, number, verdicts, failure):
        with self.lock:
            for v in verdicts:
                count(self.result, v, self.twins)
            if failure:
                self.result["failures"].append(failure)
            self.left[number] = self.left.get(number, len(self.parts)) - 1
            if self.left[number] == 0:
                self.result["rounds"] += 1
                print(f"round {self.result['rounds']} is whole", flush=True)
            self.save()

    def work(self, gpu):
        while job := self.take():
            self.add(job[0], *bench(self.o, gpu, job[1]))

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(self.o.gpus * self.o.each) as pool:
            for done in [pool.submit(self.work, i % self.o.gpus) for i in range(self.o.gpus * self.o.each)]:
                done.result()


def write(o, result, begin, before):
    result["seconds"] = before + round(time.monotonic() - begin)
    rows = result["kernels"].values()
    result["sums"] = {name: sum(r[i] for r in rows) for i, name in
                      ((0, "honest"), (1, "honest_passed"), (3, "twins"), (4, "twins_refused"))}
    text = json.dumps(result | {"kernels": {}}, indent=1)
    lines = ",\n".join(f"  {json.dumps(n)}: {json.dumps(r)}" for n, r in sorted(result["kernels"].items()))
    o.out.with_suffix(".new").write_text(text.replace('"kernels": {}', f'"kernels": {{\n{lines}\n }}') + "\n")
    o.out.with_suffix(".new").replace(o.out)


def main():
    begin, words = time.monotonic(), " ".join(sys.argv[2:])
    o = Options(sys.argv[1:])
    paths = sorted(p for p in o.folder.iterdir() if re.search(r"^// assay: task ", p.read_text(errors="replace"), re.M))
    result = {"what": "kernels judged with other seeds each time: bench/gpu/seeds.py", "calls": [], "rounds": 0, "not_judged": 0,
              "seconds": 0, "kernels": {}, "surprises": [], "failures": []}
    if o.out.exists():
        found = json.loads(o.out.read_text())
        first = {name: found.pop(name) for name in CALL if name in found}  # of a file that had one call
        result |= {"calls": [first]} | found if first else found
    call = {"command": f"bench/gpu/seeds.py ASSAY {words}", "date": time.strftime("%Y-%m-%d"),
            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(), "machine": common.machine(),
            "gpus": o.gpus, "cpus": len(os.sched_getaffinity(0)), "rounds_before": result["rounds"]}
    result["calls"].append(call)
    before = result["seconds"]
    write(o, result, begin, before)
    Rounds(o, result, paths, lambda: write(o, result, begin, before)).run()
    print(f"{result['rounds']} rounds: {result['sums']}, {len(result['surprises'])} surprises, {result['seconds']} s")
    for s in result["surprises"][-20:]:
        print(f"{s['kernel']} {s['twin']}: {s['verdict']}: {(s['detail'] or '')[:150]}")
    for failure in result["failures"][-5:]:
        print(failure)
    return int(bool(result["surprises"] or result["failures"] or result["not_judged"]))


if __name__ == "__main__":
    sys.exit(main())
