#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The denominators of KernelBench: eager PyTorch and torch.compile in two modes over its tasks, judged as plans and timed.

usage: denominators.py ASSAY OUT.json [--seconds S] [--stages MAKER:CONTRACT[:LEVEL],...] [--every N] [--gpus N]
                       [--each N] [--suite SUITE] [--workload NAME] [--device D] [--checks N] [--samples N] [--budget S]
                       [--store FILE] [--table]

Makers are eager, compile and max-autotune; contracts fp32 (tf32 off) and tf32 (PyTorch's switches on, and the task under
the contract tf32). --stages is the order of work; without it what is most useful comes first. --every N goes through all
stages with every N-th task first, then with those after them, and so on, over all levels at once where no stage names one:
what is there when the time is over compares all makers on the same tasks. Each of the --gpus GPUs (default: all that
nvidia-smi lists) has --each processes of its own (1), with their part of the processors; they share the tasks of a stage
between them. Nothing else runs on a GPU while a candidate is timed there: processes take turns.

--seconds (540) ends the call: after that no candidate is begun, and the ones at hand have a minute. OUT.json is written
after every stage. The same command goes on where OUT.json ends, on another machine with the same kind of GPU too: what has a
verdict there is not judged again. --store keeps the verdicts themselves, with samples. --table prints what OUT.json
holds, and judges nothing.

OUT.json: "columns" and "rows", one row for each task, maker and contract, a row a line; "calls" has the command, date,
commit, machine and seconds of every call, and "call" in a row is its index. Times are in ns: cold median with its
interval, hot, as called (from the first launch to the end, on an idle stream), floor. compile_s is what torch.compile says
of itself, first_call_s the first call, which compiles; recording_s is all that making the plan took.
"""
import collections
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import common

BASELINES = {"eager": "torch.eager", "compile": "torch.compile", "max-autotune": "torch.compile.max-autotune"}
CONTRACTS = ("fp32", "tf32")
STAGES = [(maker, contract, level) for maker, contract in
          (("compile", "fp32"), ("eager", "fp32"), ("compile", "tf32"), ("eager", "tf32"), ("max-autotune", "fp32"),
           ("max-autotune", "tf32")) for level in (1, 2, 3)]
COLUMNS = ["task", "maker", "contract", "verdict", "mode", "median_ns", "low_ns", "high_ns", "hot_ns", "called_ns",
           "floor_ns", "floor_part", "marks", "compile_s", "first_call_s", "recording_s", "judged_s", "own_part",
           "launches", "call", "detail"]
GRACE = 60  # seconds that the candidates at hand have once the time is over
SHORTEST = 25  # a stage is not begun with less


def stages_of(text, every):
    """--stages: compile:fp32 is all three levels, compile:fp32:2 one. Level 0 is all levels at once."""
    if not text:
        return STAGES if every == 1 else [(maker, contract, 0) for contract in CONTRACTS for maker in BASELINES]
    found = []
    for word in text.split(","):
        maker, _, rest = word.partition(":")
        contract, _, level = rest.partition(":")
        if maker not in BASELINES or contract not in CONTRACTS or (level and level not in "123"):
            sys.exit(f"denominators.py: {word} is no stage; one is MAKER:CONTRACT or MAKER:CONTRACT:LEVEL, makers "
                     f"{', '.join(BASELINES)}, contracts {', '.join(CONTRACTS)}, levels 1 to 3")
        levels = (int(level),) if level else (1, 2, 3) if every == 1 else (0,)
        found += [(maker, contract, n) for n in levels]
    return found


def tasks_of(assay, suite):
    done = subprocess.run([assay, "tasks", suite, "--json"], check=True, capture_output=True)
    return [row["task"] for row in json.loads(done.stdout)]


def level_of(task):
    part = task.split("/")
    return int(part[1]) if len(part) == 3 and part[1].isdigit() else 1


def write_modules(assay, stage, tasks, workload, folder):
    """Each task's module as a candidate in a file of its own; returns those that have none, with the reason."""
    maker, contract, _ = stage

    def write(task):
        extra = ["--contract", contract] if contract != "fp32" else []
        done = subprocess.run([assay, "show", task, "--baseline", BASELINES[maker], "--workload", workload, *extra],
                              capture_output=True, text=True)
        if done.returncode != 0:
            return task, done.stderr.strip()[-300:]
        with open(os.path.join(folder, file_of(task)), "w", encoding="utf-8") as file:
            file.write(done.stdout)
        return None

    with ThreadPoolExecutor(8) as pool:
        return dict(found for found in pool.map(write, tasks) if found)


def file_of(task):
    """Names that sort as the tasks do."""
    return "_".join(part.zfill(3) if part.isdigit() else part for part in task.split("/")) + ".py"


def unjudged(path):
    """What could not be judged on this machine, and the first reason."""
    try:
        with open(path, encoding="utf-8") as file:
            found = [v for v in json.load(file) if v["verdict"] == "judge_failed"]
    except ValueError:
        return ""
    return f"{len(found)} could not be judged here: {found[0]['detail'][:300]}" if found else ""


def start(options, stage, index, folder, store, log):
    """One `assay bench` over the stage's folder. Processes with the same run and store claim candidates from each other."""
    maker, contract, level = stage
    environment, cpus = dict(os.environ), sorted(os.sched_getaffinity(0))
    gpu = index % options.gpus
    own = cpus[gpu * len(cpus) // options.gpus:(gpu + 1) * len(cpus) // options.gpus] or cpus
    if options.device == "cuda":
        environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
    command = [options.assay, "bench", options.suite, "--from", folder, "--run", f"{maker} {contract}", "--store", store,
               "--workload", options.workload, "--device", options.device, "--no-probes", "--checks", options.checks,
               "--samples", options.samples, "--budget", options.budget, "--json"]
    command += ["--mode", "plan"] if options.device == "cuda" else []
    command += ["--contract", contract] if contract != "fp32" else []
    with open(os.path.join(folder, f"verdicts_{index}.json"), "w", encoding="utf-8") as out:
        return subprocess.Popen(command, env=environment, stdout=out, stderr=log,
                                preexec_fn=lambda: os.sched_setaffinity(0, own))


def wait_all(children, seconds):
    """Waits; once the time is over an interrupt ends each after its candidate, a second one at once."""
    end = time.monotonic() + seconds
    for patience, act in ((0, signal.SIGINT), (GRACE, signal.SIGINT), (15, signal.SIGKILL)):
        end = max(end, time.monotonic()) + patience
        while time.monotonic() < end and any(child.poll() is None for child in children):
            time.sleep(0.2)
        for child in children:
            if child.poll() is None:
                child.send_signal(act)
    for child in children:
        child.wait()


def verdicts_of(assay, store, run, folder):
    """What the store has of the run, by Assay's own export."""
    path = os.path.join(folder, "export.jsonl")
    done = subprocess.run([assay, "runs", "export", run, path, "--store", store], capture_output=True, text=True)
    if done.returncode != 0:
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in list(file)[1:]]


def compiled(text):
    """(compile_s, first_call_s) of a worker's text: `assay: torch.compile: 3.1 s, in a first call of 4.5 s`."""
    for line in (text or "").splitlines():
        if line.startswith("assay: torch.compile: "):
            words = line.split()
            return float(words[2]), float(words[-2])
    return None, None


def digits(x, n=6):
    return None if x is None else float(f"{x:.{n}g}")


def row_of(exported, stage, call):
    evidence = exported["evidence"]
    timing, lasted = evidence.get("timing") or {}, evidence.get("durations_ns") or {}
    kernels = evidence.get("kernels") or {}
    median, floor = timing.get("median_ns"), timing.get("floor_ns")
    floor = floor if isinstance(floor, (int, float)) and floor > 0 else None
    compile_s, first_call_s = compiled(evidence.get("diagnostics"))
    passed = exported["reason"] == "pass"
    return {"task": exported["task"], "maker": stage[0], "contract": stage[1], "verdict": exported["reason"],
            "mode": evidence.get("mode"), "median_ns": digits(median), "low_ns": digits(timing.get("low_ns")),
            "high_ns": digits(timing.get("high_ns")), "hot_ns": digits(timing.get("hot_ns")),
            "called_ns": digits(timing.get("called_ns")), "floor_ns": digits(floor),
            "floor_part": digits(floor / median, 4) if median and floor else None,
            "marks": "".join(mark[0] for mark in ("unstable", "suspicious") if timing.get(mark)),
            "compile_s": compile_s, "first_call_s": first_call_s,
            "recording_s": round(lasted.get("plan", 0) / 1e9, 2), "judged_s": round(lasted.get("total", 0) / 1e9, 2),
            "own_part": digits((kernels.get("own") or {}).get("part"), 3),
            "launches": sum(part["launches"] for part in kernels.values()) or None, "call": call,
            "detail": "" if passed else exported.get("detail", "")[:300]}


def key(row):
    return row["task"], row["maker"], row["contract"]


class Results:
    """OUT.json."""

    def __init__(self, path):
        self.path, self.calls, self.rows = path, [], {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            self.calls = found["calls"]
            self.rows = {key(row): row for row in (dict(zip(found["columns"], r)) for r in found["rows"])}

    def begin(self, call):
        others = {c["machine"].get("device") for c in self.calls} - {call["machine"].get("device")}
        if others:
            sys.exit(f"{self.path} has times of {', '.join(map(str, others))}, and this is {call['machine'].get('device')}: "
                     "name another file")
        self.calls.append(call)
        return len(self.calls) - 1

    def write(self):
        rows = sorted(self.rows.values(), key=lambda r: (list(BASELINES).index(r["maker"]), r["contract"], file_of(r["task"])))
        lines = ",\n".join(json.dumps([row.get(name) for name in COLUMNS]) for row in rows)
        text = (f'{{"what": "PyTorch over KernelBench, judged as plans: bench/gpu/denominators.py",\n'
                f'"calls": {json.dumps(self.calls, indent=1)},\n"columns": {json.dumps(COLUMNS)},\n"rows": [\n{lines}\n]}}\n')
        common.write_whole(self.path, text)

    def missing(self, stage, tasks):
        return [t for t in tasks if (t, *stage[:2]) not in self.rows]

    def judge_stage(self, options, stage, tasks, seconds, folder):
        """Judges what is missing of a stage; returns how many verdicts that gave."""
        missing = self.missing(stage, tasks)
        inside = tempfile.mkdtemp(prefix="-".join(map(str, stage)) + "-", dir=folder)
        store = options.store or os.path.join(folder, "store.sqlite")
        for task, why in write_modules(options.assay, stage, missing, options.workload, inside).items():
            row = dict.fromkeys(COLUMNS) | {"task": task, "maker": stage[0], "contract": stage[1],
                                            "verdict": "no module", "call": options.call, "detail": why}
            self.rows[key(row)] = row
        with open(os.path.join(folder, "errors.txt"), "w+", encoding="utf-8") as log:
            wait_all([start(options, stage, i, inside, store, log) for i in range(options.gpus * options.each)], seconds)
            log.seek(0)
            errors = log.read().strip()[-600:]
        errors += " ".join(unjudged(os.path.join(inside, f"verdicts_{i}.json")) for i in range(options.gpus * options.each))
        before, wanted = len(self.rows), set(missing)
        for exported in verdicts_of(options.assay, store, f"{stage[0]} {stage[1]}", folder):  # some by an earlier call
            if exported["task"] in wanted:
                row = row_of(exported, stage, options.call)
                self.rows[key(row)] = row
        return len(self.rows) - before, len(missing), errors


def geomean(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def print_table(results):
    """A line for each stage: verdicts, and the speed compared with eager under the same contract where both are right."""
    rows = results.rows
    print(f"{'maker':13} {'contract':8} level  judged  right  timed  over eager (geomean, tasks)  floor/time  compile s")
    for maker, contract, level in STAGES:
        mine = [r for r in rows.values() if (r["maker"], r["contract"]) == (maker, contract) and level_of(r["task"]) == level]
        if not mine:
            continue
        timed = [r for r in mine if r["verdict"] == "pass" and r["median_ns"] and "s" not in r["marks"]]
        pairs = [(rows.get((r["task"], "eager", contract)), r) for r in timed]
        ratios = [e["median_ns"] / r["median_ns"] for e, r in pairs if e and e["verdict"] == "pass" and e["median_ns"]]
        parts = [r["floor_part"] for r in timed if r["floor_part"]]
        seconds = [r["compile_s"] for r in mine if r["compile_s"]]
        print(f"{maker:13} {contract:8} {level:5}  {len(mine):6}  {sum(r['verdict'] == 'pass' for r in mine):5}  {len(timed):5}  "
              f"{geomean(ratios):18.3f} {len(ratios):8}  {geomean(parts):10.3f}  {sum(seconds):9.1f}")
    bad = collections.Counter((r["maker"], r["contract"], r["verdict"]) for r in rows.values() if r["verdict"] != "pass")
    for (maker, contract, verdict), count in sorted(bad.items()):
        names = [r["task"].partition("/")[2] for r in rows.values()
                 if (r["maker"], r["contract"], r["verdict"]) == (maker, contract, verdict)]
        print(f"{maker} {contract}: {count} {verdict}: {' '.join(sorted(names)[:12])}{' ...' if count > 12 else ''}")


class Options:
    def __init__(self, arguments):
        self.device = common.option(arguments, "--device", "cuda")
        self.seconds = float(common.option(arguments, "--seconds", 540))
        self.every = max(1, int(common.option(arguments, "--every", 1)))
        self.stages = stages_of(common.option(arguments, "--stages", None), self.every)
        self.gpus = int(common.option(arguments, "--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.each = int(common.option(arguments, "--each", 1))
        self.suite = common.option(arguments, "--suite", "kernelbench")
        self.workload = common.option(arguments, "--workload", "full")
        self.checks = common.option(arguments, "--checks", "1")
        self.samples = common.option(arguments, "--samples", "30")
        self.budget = common.option(arguments, "--budget", "240")
        self.store = common.option(arguments, "--store", None)
        self.table = "--table" in arguments
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 2:
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), arguments[1]
        self.store = os.path.realpath(self.store) if self.store else None


def work_of(options, tasks):
    """(stage, tasks) in the order of work."""
    for turn in range(options.every):
        for stage in options.stages:
            of_level = [t for t in tasks if (level_of(t) in (1, 2, 3) if stage[2] == 0 else level_of(t) == stage[2])]
            yield stage, of_level[turn::options.every]


def main():
    begin = time.monotonic()
    options = Options(sys.argv[1:])
    results = Results(options.out)
    if options.table:
        print_table(results)
        return
    tasks = tasks_of(options.assay, options.suite)
    call = {"command": " ".join(["bench/gpu/denominators.py", "ASSAY", *sys.argv[2:]]),
            "date": time.strftime("%Y-%m-%d"), "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(),
            "machine": common.machine(), "gpus": options.gpus, "each": options.each, "cpus": len(os.sched_getaffinity(0)), "stages": []}
    options.call = results.begin(call)
    with tempfile.TemporaryDirectory() as folder:
        if options.device == "cuda":  # the floor needs the device's peaks, where the verdicts go
            common.run([options.assay, "doctor", "--calibrate", "--store",
                        options.store or os.path.join(folder, "store.sqlite")], timeout=90)
        for stage, wanted in work_of(options, tasks):
            left = options.seconds - (time.monotonic() - begin)
            if not results.missing(stage, wanted):
                continue
            if left < SHORTEST:
                print(f"no time left for {':'.join(map(str, stage))}; the same command goes on")
                break
            start_s = time.monotonic()
            got, missing, errors = results.judge_stage(options, stage, wanted, left, folder)
            took = time.monotonic() - start_s
            call["stages"].append({"stage": ":".join(map(str, stage)), "seconds": round(took, 1), "judged": got})
            results.write()
            print(f"{':'.join(map(str, stage))}: {got} of {missing} in {took:.1f} s {errors}", flush=True)
    print_table(results)


if __name__ == "__main__":
    main()
