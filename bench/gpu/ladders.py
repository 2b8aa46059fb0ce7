#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""KernelBench-X's ladders: a baseline over every size that the suite times, judged and timed.

usage: ladders.py ASSAY OUT.json [--seconds S] [--gpus N] [--each N] [--suite SUITE] [--from BASELINE] [--workload GLOB]
                  [--device D] [--samples N] [--budget S] [--only PART,...] [--after OTHER.json] [--table]

Each of the --gpus GPUs (default: all that CUDA_VISIBLE_DEVICES or nvidia-smi lists) has --each benches at once (6), a task
each with the sizes that OUT.json lacks, and a part of the processors; no two are timed at once on a GPU. Sizes that take long
(see CHEAP) come after those of all tasks that do not. What failed beside others, as by memory that they had, or got no time, is judged once more with
one bench a GPU, at the end.

--seconds (540) ends the call: after that no task is begun, and the sizes at hand have a minute. OUT.json is written
after every task. The same command goes on where OUT.json ends, on another machine of the same model too: what passed
there is not judged again, nor what failed alone. Sizes that OTHER.json has, such as one of another model of GPU, come after
all others. --only takes the tasks with one of these parts in their names. --table prints what OUT.json holds, and judges
nothing.

OUT.json: "columns" and "rows", a row a size, times in ns: cold median with its interval, hot, as called (from the first
launch to the end, on an idle stream), floor. "calls" has command, date, commit, machine and seconds of every call; "call"
in a row is its index.
"""
import concurrent.futures
import fnmatch
import json
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time

import common
import denominators

COLUMNS = ["task", "workload", "median_ns", "low_ns", "high_ns", "hot_ns", "called_ns", "floor_ns", "marks", "mode",
           "call", "verdict", "detail"]
CHEAP = 1 << 27  # bytes, and a hundredth of the operations, of a size that takes no long time
ALONE = "alone: "  # before the detail of what failed with the GPU to itself


class Ladders:
    """OUT.json: rows by task and size. A file without "calls" (of before this script) is its first call."""

    def __init__(self, path):
        self.path, self.calls, self.rows, self.lock = path, [], {}, threading.Lock()
        self.begin, self.before = time.monotonic(), 0
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found = json.load(file)
            first = {name: found[name] for name in ("command", "date", "commit", "machine", "seconds") if name in found}
            self.calls = found.get("calls", [first])
            for values in found["rows"]:
                row = {"call": 0, "verdict": "pass", "detail": ""} | dict(zip(found["columns"], values))
                self.rows[row["task"], row["workload"]] = row
            self.before = self.passed()

    def passed(self):
        return sum(row["verdict"] == "pass" for row in self.rows.values())

    def tried(self, task, workload):
        return (task, workload) in self.rows

    def done(self, task, workload):
        row = self.rows.get((task, workload))
        return row is not None and (row["verdict"] == "pass" and row["median_ns"] is not None or row["detail"].startswith(ALONE))

    def add(self, verdicts, call, alone):
        with self.lock:
            for v in verdicts:
                row = row_of(v, call, alone)
                old = self.rows.get((row["task"], row["workload"]), {})
                passed_before = old.get("verdict") == "pass" and row["verdict"] == "judge_failed"
                if not self.done(row["task"], row["workload"]) and not passed_before:
                    self.rows[row["task"], row["workload"]] = row
            self.write()

    def write(self):
        self.calls[-1] |= {"seconds": round(time.monotonic() - self.begin), "passed": self.passed() - self.before}
        lines = ",\n".join(json.dumps([self.rows[key].get(name) for name in COLUMNS]) for key in sorted(self.rows))
        text = (f'{{"what": "eager PyTorch over the ladders of KernelBench-X, judged and timed: bench/gpu/ladders.py",\n'
                f'"calls": {json.dumps(self.calls, indent=1)},\n"columns": {json.dumps(COLUMNS)},\n"rows": [\n{lines}\n]}}\n')
        common.write_whole(self.path, text)


def row_of(v, call, alone):
    timing = v.get("timing") or {}
    floor = timing.get("floor_ns")
    times = ("median_ns", "low_ns", "high_ns", "hot_ns", "called_ns")
    times = {name: denominators.digits(timing.get(name)) for name in times}
    timed = v["verdict"] == "pass" and times["median_ns"] is not None
    return times | {"task": v["task"], "workload": v["workload"], "call": call, "verdict": v["verdict"], "mode": v.get("mode"),
                  "floor_ns": denominators.digits(floor) if floor else None,
                  "marks": "".join(mark[0] for mark in ("unstable", "suspicious") if timing.get(mark)),
                  "detail": "" if timed else (ALONE if alone else "") + (v.get("detail") or "no time")[:300]}


def ladders_of(assay, suite, pattern, only):
    """{task: {workload: bytes and operations that it takes}}"""
    def sizes(task):
        text = subprocess.run([assay, "show", task, "--json"], check=True, capture_output=True).stdout
        times = 256 if "/LinearAlgebra/" in task else 1  # the steps of decompositions are not counted, and the oracle has them all
        return task, {w["workload"]: times * (w.get("bytes") or 0) + (w.get("flops") or 0) / 100
                      for w in json.loads(text)["workloads"] if fnmatch.fnmatch(w["workload"], pattern)}

    tasks = [row["task"] for row in denominators.tasks_of(assay, suite) if any(part in row["task"] for part in only.split(","))]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return dict(pool.map(sizes, tasks))


def patterns(workloads, ladder, whole):
    """Few patterns for `--workload` that match these sizes of a ladder: a bench for each starts a worker for each."""
    if workloads == list(ladder):
        return [whole]
    found = {}
    for name in workloads:
        found.setdefault(name[:-1], []).append(name[-1])
    return [f"{head}[{''.join(ends)}]" for head, ends in found.items()]


def jobs_of(missing, ladders):
    """(task, sizes): first those that take little, of tasks with many of them first, then the others, the cheapest first."""
    cheap = {t: [w for w in workloads if ladders[t][w] <= CHEAP] for t, workloads in missing.items()}
    dear = {t: [w for w in workloads if ladders[t][w] > CHEAP] for t, workloads in missing.items()}
    return [(t, cheap[t]) for t in sorted(cheap, key=lambda t: -len(cheap[t])) if cheap[t]] + \
        [(t, dear[t]) for t in sorted(dear, key=lambda t: max((ladders[t][w] for w in dear[t]), default=0)) if dear[t]]


class Benches:
    """Benches at work, each for one task, until the time is over."""

    def __init__(self, options, ladders, store, log):
        self.options, self.ladders, self.store, self.log = options, ladders, store, log

    def bench(self, gpu, task, workloads, alone, end):
        o, environment, cpus = self.options, dict(os.environ), sorted(os.sched_getaffinity(0))
        own = cpus[gpu * len(cpus) // o.gpus:(gpu + 1) * len(cpus) // o.gpus] or cpus
        if o.device == "cuda":
            environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
        for pattern in patterns(workloads, o.ladders[task], o.workload):
            command = [o.assay, "bench", task, "--from", o.candidates, "--workload", pattern, "--device", o.device,
                       "--no-probes", "--checks", "1", "--samples", o.samples, "--budget", o.budget,
                       "--run", f"ladders {alone}", "--again", "--store", self.store, "--json"]
            begun = time.monotonic()
            with tempfile.TemporaryFile("w+") as out:
                child = subprocess.Popen(command, env=environment, stdout=out, stderr=self.log,
                                         preexec_fn=lambda: os.sched_setaffinity(0, own))
                denominators.wait_for(child, lambda: max(end, begun))
                out.seek(0)
                try:
                    verdicts = json.load(out)
                except ValueError:
                    verdicts = []
            self.ladders.add([v for v in verdicts if v["verdict"] != "judge_failed" or alone], o.call, alone)
            if time.monotonic() >= end:
                return

    def work(self, gpu, tasks, alone, end):
        while time.monotonic() < end:
            try:
                task, workloads = tasks.get_nowait()
            except queue.Empty:
                return
            self.bench(gpu, task, workloads, alone, end)

    def run(self, missing, each, alone, end):
        tasks = queue.Queue()
        for job in jobs_of(missing, self.options.ladders):
            tasks.put(job)
        threads = [threading.Thread(target=self.work, args=(i % self.options.gpus, tasks, alone, end))
                   for i in range(self.options.gpus * each)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def missing_of(options, ladders, others, alone):
    """The sizes that a stage is for: those that no file has, or, alone, those of this file that are not done."""
    def missing(task, w):
        return not ladders.done(task, w) if alone else not any(d.tried(task, w) for d in (ladders, *others))

    found = {task: [w for w in ladder if missing(task, w)] for task, ladder in options.ladders.items()}
    return {task: workloads for task, workloads in found.items() if workloads}


def print_table(ladders, every):
    rows = list(ladders.rows.values())
    right = [r for r in rows if r["verdict"] == "pass"]
    whole = [t for t, ladder in every.items() if all(ladders.done(t, w) for w in ladder)]
    print(f"{len(rows)} of {sum(map(len, every.values()))} sizes, {len(whole)} of {len(every)} tasks whole; {len(right)} pass, "
          f"{sum(bool(r['median_ns']) for r in right)} timed, {sum('u' in r['marks'] for r in right)} unstable, "
          f"{sum('s' in r['marks'] for r in right)} suspicious, {sum(r['mode'] == 'process' for r in right)} as processes")
    for row in sorted((r for r in rows if r["verdict"] != "pass"), key=lambda r: (r["verdict"], r["task"])):
        print(f"{row['task']} {row['workload']}: {row['verdict']}: {row['detail'][:160]}")


class Options:
    def __init__(self, arguments):
        def option(name, default):
            return common.option(arguments, name, default)

        self.seconds, self.device = float(option("--seconds", 540)), option("--device", "cuda")
        self.gpus = int(option("--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.each, self.suite = int(option("--each", 6)), option("--suite", "kernelbenchx")
        self.candidates, self.workload = option("--from", "torch.eager"), option("--workload", "size*")
        self.samples, self.budget, self.only = option("--samples", "30"), option("--budget", "120"), option("--only", "")
        self.table, after = "--table" in arguments, option("--after", None)
        self.after = [Ladders(after)] if after else []
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 2:
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), arguments[1]
        self.ladders = ladders_of(self.assay, self.suite, self.workload, self.only)
        self.call = 0


def main():
    begin, options = time.monotonic(), Options(sys.argv[1:])
    ladders = Ladders(options.out)
    if options.table:
        print_table(ladders, options.ladders)
        return
    call = {"command": " ".join(["bench/gpu/ladders.py", "ASSAY", *sys.argv[2:]]), "date": time.strftime("%Y-%m-%d"),
            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(),
            "machine": common.machine(), "gpus": options.gpus, "each": options.each, "cpus": len(os.sched_getaffinity(0))}
    options.call = len(ladders.calls)
    ladders.calls.append(call)
    end = begin + options.seconds
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "errors.txt"), "w+", encoding="utf-8") as log:
        store = os.path.join(folder, "store.sqlite")
        if options.device == "cuda":  # the floor needs the device's peaks
            common.run([options.assay, "doctor", "--calibrate", "--store", store], timeout=90)
        benches = Benches(options, ladders, store, log)
        stages = [(options.each, False, others) for others in ((options.after, []) if options.after else ([],))]
        for each, alone, others in [*stages, (1, True, [])]:
            missing = missing_of(options, ladders, others, alone)
            if missing and time.monotonic() < end:
                benches.run(missing, each, alone, end)
        ladders.write()
        log.seek(0)
        print(log.read().strip()[-600:])
    print(f"{call['passed']} more in {call['seconds']} s")
    print_table(ladders, options.ladders)


if __name__ == "__main__":
    main()
