#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""KernelBench-X's ladders: a baseline over every size that the suite times, judged and timed.

usage: ladders.py ASSAY OUT.json [--seconds S] [--gpus N] [--each N] [--memory GIB] [--suite SUITE] [--from BASELINE]
                  [--workload GLOB] [--device D] [--samples N] [--budget S] [--only PART,...] [--but OTHER.json]
                  [--after OTHER.json] [--table]

Each of the --gpus GPUs (default: all that CUDA_VISIBLE_DEVICES or nvidia-smi lists) has --each benches at once (6), of the sizes
that OUT.json lacks, and no more than have room in its memory (--memory GIB, that of the device) by what `assay tasks` reckons; no
two are timed at once on a GPU. Sizes that take little (see CHEAP) come first, a task's together, then those that take long.

Where the host answers, as factorizations by LAPACK, a bench has processors of its own, a half, a quarter or an eighth of its
GPU's part by the work, at least two (all of it with --each 1), and the least comes first. As long as there are benches that need
the host little, those with work on it leave them a quarter of the processors, at least two, to share, and a third of the --each
benches, at least one.
What failed beside others, as by memory that they had, or got no time, is judged once more with one bench a GPU, at the end.

--seconds (540) ends the call: after that no task is begun, and the sizes at hand have a minute. OUT.json is written
after every task, and on Ctrl-C, which ends the call at once. The same command goes on where OUT.json ends, on another machine of
the same model too: what passed there is not judged again, nor what failed alone. Sizes that OTHER.json has, such as one of
another model of GPU, come after all others with --after, and never with --but. --only takes the tasks with one of these parts in
their names. --table prints what OUT.json holds of what is asked for, and judges nothing.

OUT.json: "columns" and "rows", a row a size, times in ns: cold median with its interval, hot, as called (from the first
launch to the end, on an idle stream), floor; "seconds" are those of the judgement, all and by what it did (waited: for its turn
on the GPU; timed: without what was verified in between). "calls" has command, date, commit, machine and seconds of every call,
how many benches were at once on a GPU if never --each (at_once), and the benches of which sizes got no row in that call
(without_verdict): their seconds, and why for each such size. "call" in a row is its index.
"""
import concurrent.futures
import dataclasses
import fnmatch
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

import common
import denominators

COLUMNS = ["task", "workload", "median_ns", "low_ns", "high_ns", "hot_ns", "called_ns", "floor_ns", "marks", "mode",
           "call", "verdict", "detail", "seconds"]
PHASES = {"judged": "total", "waited": "open", "recorded": "plan", "oracle": "oracle", "asked": "checks", "timed": "timing",
          "verified": "verify"}  # of what a verdict says of its durations
CHEAP = 1 << 27  # bytes, and a hundredth of the operations, of a size that takes no long time
ALONE = "alone: "  # before the detail of what failed with the GPU to itself
# Of these the host finds the answer, also next to a GPU (gpu_host_eval in src/oracle/cuda/gpu_table.h). How much longer than with
# LAPACK an operation and a byte take there.
LAPACK, LOOPS = (1, 1), (10, 3)
HOST_OPERATORS = dict.fromkeys(["Cholesky", "Det", "Eig", "Inverse", "LDL", "LDLProduct", "LU", "LowRank", "PseudoInverse", "QR",
                                "SVD", "SlogDet", "Solve", "SolveTriangular", "SpectralRadius", "SymmetricPower"], LAPACK)
HOST_OPERATORS |= dict.fromkeys(["ConvInteger", "DFT"], LOOPS)
# How often a judgement goes through the operations of such a size, and its bytes: passes of the declared draw, and ten timed
# calls; with a check each of those has its passes, and products besides.
TIMES, TIMES_CHECKED, TIMES_BYTES = 28, 200, 300
HALF, QUARTER = 2e13, 1e12  # operations from which on a bench has so much of the processors
FEW = 1e11  # operations up to which a size shares a bench with others of its task,
TOGETHER = 1 / 8  # and part of the memory
SHARED = 2  # processors that a bench has at least, for judge, runner and worker
WORK_PASSED_BY = 4  # so many others with work on the host may overtake one that waits for processors
MOST = 0.8  # part of the memory that a judgement is given beside others: what it takes is reckoned for the worst
SMALL_BYTES = 4 * 2**30  # what a bench of cheap sizes takes


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
            self.drop_noted(call)
            self.write()

    def note(self, call, task, why, seconds):
        """A bench of a call, and why sizes of it got no verdict ({workload: why})."""
        with self.lock:
            if why:
                without = self.calls[call].setdefault("without_verdict", [])
                without.append({"task": task, "seconds": round(seconds, 1), "why": why})

    def drop_noted(self, call):
        """Of what is noted, the sizes that got a row in the same call all the same, as by a later bench."""
        noted = self.calls[call].pop("without_verdict", [])
        for bench in noted:
            rows = {w: self.rows.get((bench["task"], w), {}) for w in bench["why"]}
            bench["why"] = {w: why for w, why in bench["why"].items() if rows[w].get("call") != call}
        noted = [bench for bench in noted if bench["why"]]
        if noted:
            self.calls[call]["without_verdict"] = noted

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
    lasted = v.get("durations_ns") or {}
    seconds = {name: round(lasted[phase] / 1e9, 1) for name, phase in PHASES.items() if lasted.get(phase, 0) > 5e7}
    return times | {"task": v["task"], "workload": v["workload"], "call": call, "verdict": v["verdict"], "mode": v.get("mode"),
                  "floor_ns": denominators.digits(floor) if floor else None,
                  "marks": "".join(mark[0] for mark in ("unstable", "suspicious") if timing.get(mark)),
                  "detail": "" if timed else (ALONE if alone else "") + (v.get("detail") or "no time")[:300], "seconds": seconds}


class Sizes(dict):
    """{workload: bytes and operations that it takes}; work: operations on the host, where that answers; 0 elsewhere"""

    def __init__(self, costs, work):
        super().__init__(costs)
        self.work = work


def sizes_of(shown, operators, pattern):
    host, times = [HOST_OPERATORS[name] for name in operators if name in HOST_OPERATORS], TIMES
    if "assay.check" in shown.get("onnx", ""):
        times = TIMES_CHECKED
    found = [w for w in shown["workloads"] if fnmatch.fnmatch(w["workload"], pattern)]
    amounts = {w["workload"]: (w.get("bytes") or 0, w.get("flops") or 0) for w in found}
    # A host has all the steps of a decomposition, which are not counted.
    costs = {name: (256 if host else 1) * size + flops / 100 for name, (size, flops) in amounts.items()}
    of_operation, of_byte = (max(weight) for weight in zip(*host, (0, 0)))
    return Sizes(costs, {name: times * of_operation * flops + TIMES_BYTES * of_byte * size
                         for name, (size, flops) in amounts.items()})


def ladders_of(assay, suite, pattern, only):
    """{task: Sizes}"""
    def sizes(row):
        text = subprocess.run([assay, "show", row["task"], "--json"], check=True, capture_output=True).stdout
        return row["task"], sizes_of(json.loads(text), (row.get("operators") or "").split(), pattern)

    rows = [row for row in denominators.tasks_of(assay, suite) if any(part in row["task"] for part in only.split(","))]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        return dict(pool.map(sizes, rows))


def patterns(workloads, ladder, whole):
    """Few patterns for `--workload` that match these sizes of a ladder: a bench for each starts a worker for each."""
    if workloads == list(ladder):
        return [whole]
    found = {}
    for name in workloads:
        found.setdefault(name[:-1], []).append(name[-1])
    return [f"{head}[{''.join(ends)}]" for head, ends in found.items()]


@dataclasses.dataclass(eq=False)
class Job:
    """Sizes of a task for one bench. work: of the host's processors; bytes: of the GPU's memory."""
    task: str
    workloads: list
    bytes: float = SMALL_BYTES
    work: float = 0
    alone: bool = False
    cpus: list = dataclasses.field(default_factory=list)

    def __iter__(self):
        return iter((self.task, self.workloads))


def dear_jobs(task, workloads, sizes, bytes_of, memory):
    """Those that take little of both in one bench, of the others each in one of its own."""
    found, together = [], []
    for name in workloads:
        job = Job(task, [name], min(bytes_of(task, name), MOST * memory), sizes.work.get(name, 0))
        (together if job.bytes <= max(SMALL_BYTES, TOGETHER * memory) and job.work <= FEW else found).append(job)
    if together:
        names = [name for job in together for name in job.workloads]
        found.append(Job(task, names, max(job.bytes for job in together), sum(job.work for job in together)))
    return found


def jobs_of(missing, ladders, bytes_of, memory):
    """First sizes that take little, of tasks with many of them first; then those with work on the host, and the others: these two
    are at work side by side. The least first: what the end of a call cuts off begins anew in the next one."""
    cheap = {t: [w for w in workloads if ladders[t][w] <= CHEAP] for t, workloads in missing.items()}
    found = [Job(t, cheap[t]) for t in sorted(cheap, key=lambda t: -len(cheap[t])) if cheap[t]]
    dear = [job for task, workloads in missing.items()
            for job in dear_jobs(task, [w for w in workloads if ladders[task][w] > CHEAP], ladders[task], bytes_of, memory)]
    return found + sorted(dear, key=lambda job: (not job.work, job.work, max(ladders[job.task][w] for w in job.workloads)))


class Room(denominators.Memory):
    """Jobs, and what of each GPU's memory and processors they leave. each: benches at once on a GPU."""

    def __init__(self, jobs, options, each):
        super().__init__(jobs, options.gpus, options.memory)
        cpus = sorted(os.sched_getaffinity(0))
        self.parts = [cpus[gpu * len(cpus) // options.gpus:(gpu + 1) * len(cpus) // options.gpus] or cpus
                      for gpu in range(options.gpus)]
        self.cpus = [list(part) for part in self.parts]  # those that no job with work on the host has
        self.each, self.most_at_once = each, 0
        self.at_work = [[0, 0] for part in self.parts]  # jobs without and with work on the host
        self.overtaken = {}  # how often the jobs that wait were

    def wants(self, job, gpu):
        part = len(self.parts[gpu])
        if job.alone or self.each == 1:
            return part
        return max(min(SHARED, part), part // (2 if job.work >= HALF else 4 if job.work >= QUARTER else 8))

    def has_processors(self, job, gpu):
        """Those without work on the host share what is left, which is something as long as there are such."""
        without, at_work = self.at_work[gpu]
        left = len(self.cpus[gpu]) - self.wants(job, gpu)
        if not job.work or not at_work:
            return not job.work or left >= 0
        to_come = any(not other.work for other in self.todo)
        if to_come and at_work >= self.each - max(1, self.each // 3):
            return False
        return left >= (max(SHARED, len(self.parts[gpu]) // 4) if to_come or without else 0)

    def fitting(self, gpu):
        """As of Memory. Also, one with work on the host that waits for processors is overtaken by others that want such, but not
        without end; by those that share the rest it is."""
        waiting = {}  # the first without and with work on the host, and if it is for processors
        for i, job in enumerate(self.todo):
            passes = [first for first, processors in waiting.values() if job.work or not processors]
            limits = {first: WORK_PASSED_BY if processors else denominators.PASSED_BY for first, processors in waiting.values()}
            if any(self.overtaken.get(first, 0) >= limits[first] for first in passes):
                continue
            if self.has_processors(job, gpu) and self.fits(job, gpu):
                for first in passes:
                    self.overtaken[first] = self.overtaken.get(first, 0) + 1
                self.overtaken.pop(job, None)
                return self.todo.pop(i)
            waiting.setdefault(job.work > 0, (job, not self.has_processors(job, gpu)))
        return None

    def begin(self, job, gpu):
        super().begin(job, gpu)
        if job.work:
            wanted = self.wants(job, gpu)
            job.cpus, self.cpus[gpu] = self.cpus[gpu][:wanted], self.cpus[gpu][wanted:]
        else:
            job.cpus = list(self.cpus[gpu] if len(self.cpus[gpu]) >= SHARED else self.parts[gpu][-SHARED:])
        self.at_work[gpu][job.work > 0] += 1
        self.most_at_once = max(self.most_at_once, sum(self.at_work[gpu]))

    def end(self, job, gpu):
        super().end(job, gpu)
        self.at_work[gpu][job.work > 0] -= 1
        if job.work:
            self.cpus[gpu] = sorted(self.cpus[gpu] + job.cpus)


class Benches:
    """Benches at work, each for one task, until the time is over."""

    def __init__(self, options, ladders, place, end):
        """place: the store of verdicts, and the file of what benches say."""
        self.options, self.ladders, self.end, (self.store, self.log) = options, ladders, end, place

    def bytes_of(self, task, workload):
        """What a judgement takes of the GPU's memory; all of it where nobody knows."""
        done = subprocess.run([self.options.assay, "tasks", task, "--workload", workload, "--json"], capture_output=True)
        rows = [row for row in json.loads(done.stdout) if row["task"] == task] if done.returncode == 0 else []
        return min(denominators.most_bytes(rows[0], "eager"), self.options.memory) if rows else self.options.memory

    def bench(self, gpu, job, alone):
        o, environment, (task, workloads) = self.options, dict(os.environ), job
        if o.device == "cuda":
            environment["CUDA_VISIBLE_DEVICES"] = common.visible(gpu)
        for pattern in patterns(workloads, o.ladders[task], o.workload):
            command = [o.assay, "bench", task, "--from", o.candidates, "--workload", pattern, "--device", o.device,
                       "--no-probes", "--checks", "1", "--samples", o.samples, "--budget", o.budget,
                       "--run", f"ladders {alone}", "--again", "--store", self.store, "--json"]
            begun = time.monotonic()
            with tempfile.TemporaryFile("w+") as out:
                child = subprocess.Popen(command, env=environment, stdout=out, stderr=self.log,
                                         preexec_fn=lambda: os.sched_setaffinity(0, job.cpus))
                denominators.wait_for(child, lambda: max(self.end, begun))
                out.seek(0)
                try:
                    verdicts = json.load(out)
                except ValueError:
                    verdicts = []
            why = {v["workload"]: v["detail"][:200] for v in verdicts if v["verdict"] == "judge_failed"}
            judged = {v["workload"] for v in verdicts}
            why |= {w: "cut off" for w in workloads if w not in judged and fnmatch.fnmatch(w, pattern)}
            self.ladders.note(o.call, task, why, time.monotonic() - begun)
            self.ladders.add([v for v in verdicts if v["verdict"] != "judge_failed" or alone], o.call, alone)
            if time.monotonic() >= self.end:
                return

    def work(self, gpu, room, alone):
        while time.monotonic() < self.end:
            job = room.take(gpu)
            if not job:
                return
            try:
                self.bench(gpu, job, alone)
            finally:
                room.give_back(job, gpu)

    def run(self, missing, each, alone):
        """The most benches that were at once on a GPU"""
        jobs = jobs_of(missing, self.options.ladders, self.bytes_of, self.options.memory)
        for job in jobs:
            job.alone = alone
        room = Room(jobs, self.options, each)
        threads = [threading.Thread(target=self.work, args=(i % self.options.gpus, room, alone))
                   for i in range(self.options.gpus * each)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            try:
                time.sleep(0.05)
                if time.monotonic() >= self.end:
                    room.stop()
            except KeyboardInterrupt:
                self.end = min(self.end, time.monotonic())
                room.stop()
        return room.most_at_once


def missing_of(options, ladders, others, alone):
    """The sizes that a stage is for: those that no file has, or, alone, those of this file that are not done."""
    def missing(task, w):
        return not ladders.done(task, w) if alone else not any(d.tried(task, w) for d in (ladders, *others))

    def wanted(task, w):
        return missing(task, w) and not any(d.tried(task, w) for d in options.but)

    found = {task: [w for w in ladder if wanted(task, w)] for task, ladder in options.ladders.items()}
    return {task: workloads for task, workloads in found.items() if workloads}


def print_table(ladders, every):
    """Of the sizes that are asked for: every is {task: Sizes}."""
    rows = [row for row in ladders.rows.values() if row["workload"] in every.get(row["task"], ())]
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
        self.table, after, but, memory = ("--table" in arguments, option("--after", None), option("--but", None),
                                          option("--memory", None))
        for name, path in (("--after", after), ("--but", but)):
            if path and not os.path.exists(path):
                sys.exit(f"ladders.py: {name} {path}: there is no such file; name one that this script wrote, or leave it out")
        self.after, self.but = [Ladders(after)] if after else [], [Ladders(but)] if but else []
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 2:
            sys.exit(__doc__)
        self.assay, self.out = os.path.realpath(arguments[0]), arguments[1]
        self.memory = float(memory) * 2**30 if memory else denominators.memory_of(self.device, self.gpus)
        self.ladders = ladders_of(self.assay, self.suite, self.workload, self.only)
        self.call = 0


def main():
    begin = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which what runs in the background has been told to ignore
    options = Options(sys.argv[1:])
    ladders = Ladders(options.out)
    if options.table:
        print_table(ladders, options.ladders)
        return
    call = {"command": " ".join(["bench/gpu/ladders.py", "ASSAY", *sys.argv[2:]]), "date": time.strftime("%Y-%m-%d"),
            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(),
            "machine": common.machine(), "gpus": options.gpus, "each": options.each, "cpus": len(os.sched_getaffinity(0))}
    options.call = len(ladders.calls)
    ladders.calls.append(call)
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "errors.txt"), "w+", encoding="utf-8") as log:
        store = os.path.join(folder, "store.sqlite")
        if options.device == "cuda":  # the floor needs the device's peaks
            common.run([options.assay, "doctor", "--calibrate", "--store", store], timeout=90)
        benches, at_once = Benches(options, ladders, (store, log), begin + options.seconds), 0
        stages = [(options.each, False, others) for others in ((options.after, []) if options.after else ([],))]
        for each, alone, others in [*stages, (1, True, [])]:
            missing = missing_of(options, ladders, others, alone)
            if missing and time.monotonic() < benches.end:
                most = benches.run(missing, each, alone)
                at_once = at_once if alone else max(at_once, most)
        if 0 < at_once < options.each:
            call["at_once"] = at_once
        ladders.write()
        log.seek(0)
        print(log.read().strip()[-600:])
    print(f"{call['passed']} more in {call['seconds']} s")
    print_table(ladders, options.ladders)


if __name__ == "__main__":
    main()
