#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The denominators of KernelBench: eager PyTorch and torch.compile in two modes over its tasks, judged and timed: as plans,
and as processes where what they launch cannot be repeated ("mode" of a row).

usage: denominators.py ASSAY OUT.json [--seconds S] [--stages MAKER:CONTRACT[:LEVEL],...] [--every N] [--gpus N]
                       [--each N] [--memory GIB] [--suite SUITE] [--workload NAME] [--device D] [--checks N] [--samples N]
                       [--budget S] [--store FILE] [--table]

Makers are eager, compile and max-autotune; contracts fp32 (tf32 off) and tf32 (PyTorch's switches on, and the task under
the contract tf32). --stages is the order of work; without it what is most useful comes first. --every N goes through all
stages with every N-th task first, then with those after them, and so on, over all levels at once where no stage names one:
what is there when the time is over compares all makers on the same tasks, the large ones first.

All judgements are one queue, each a process of its own. Each of the --gpus GPUs (default: all that nvidia-smi lists) has
--each of them at once (three quarters of its part of the processors, 12 at most; 1 on a CPU), and no more than have room in its
memory (--memory GIB, that of the device) by what `assay tasks` reckons. What finds no memory all the same, and has no row till
then, or has no time, is judged again at the end, alone, by a later call where this one's time is over. Nothing else runs on a GPU
while a candidate is timed there: processes take turns.

--seconds (540) ends the call: after that no candidate is begun, and the ones at hand have a minute. OUT.json is written
every 20 seconds, and on Ctrl-C. The same command goes on where OUT.json ends, on another machine with the same kind of GPU too:
what has a verdict there is not judged again. --store keeps the verdicts themselves, with samples. --table prints what OUT.json
holds, and judges nothing.

OUT.json: "columns" and "rows", one row for each task, maker and contract, a row a line; "calls" has the command, date,
commit, machine and seconds of every call, of a stage those of its processes, and "call" in a row is its index. Times are in ns:
cold median with its interval, hot, as called (from the first launch to the end, on an idle stream), floor. compile_s is what
torch.compile says of itself, first_call_s the first call, which compiles; recording_s is all that making the plan took; alone is
true where nothing else had a part of the GPU's memory.
"""
import collections
import dataclasses
import itertools
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

import common

BASELINES = {"eager": "torch.eager", "compile": "torch.compile", "max-autotune": "torch.compile.max-autotune"}
CONTRACTS = ("fp32", "tf32")
STAGES = [(maker, contract, level) for maker, contract in
          (("compile", "fp32"), ("eager", "fp32"), ("compile", "tf32"), ("eager", "tf32"), ("max-autotune", "fp32"),
           ("max-autotune", "tf32")) for level in (1, 2, 3)]
COLUMNS = ["task", "maker", "contract", "verdict", "mode", "median_ns", "low_ns", "high_ns", "hot_ns", "called_ns",
           "floor_ns", "floor_part", "marks", "compile_s", "first_call_s", "recording_s", "judged_s", "own_part",
           "launches", "alone", "call", "detail"]
GRACE = 60  # seconds that the candidates at hand have once the time is over
LOOK = 20  # seconds between two looks at what was judged
NO_TIME = "right, but without a time"
# What `assay show` says where there will never be a module: of operators, and of a contract that the task's own excludes.
NO_MODULE = ("there is no translation", "is not judged under the contract")
# What PyTorch, the system, and Assay (src/judge/blame.c, src/judge/exam.c) say where memory was not there.
LACKS_MEMORY = ("out of memory", "out_of_memory", "not enough memory", "no memory", "no room", "allocate memory", "alloc_failed",
                "not allocated yet", "unable to find an engine", "not judged here: other processes have", "gb of memory to judge")
PASSED_BY = 24  # so many others may overtake a judgement that waits for memory


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


def tasks_of(assay, suite, workload="full"):
    done = subprocess.run([assay, "tasks", suite, "--workload", workload, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)


def level_of(task):
    part = task.split("/")
    return int(part[1]) if len(part) == 3 and part[1].isdigit() else 1


def file_of(task):
    """Names that sort as the tasks do."""
    return "_".join(part.zfill(3) if part.isdigit() else part for part in task.split("/")) + ".py"


@dataclasses.dataclass(eq=False)
class Job:
    """One judgement. `alone`: with a GPU's whole memory; `again`: why it is to be so. `judged`: it came to its end, so that the
    newest verdict is its own. `why`: how it ended without a verdict."""
    task: str
    stage: tuple
    bytes: float
    alone: bool = False
    again: str = ""
    why: str = ""
    no_module: bool = False
    ended: bool = False
    judged: bool = False
    seconds: float = 0

    @property
    def key(self):
        return self.task, *self.stage[:2]


class Memory:
    """The jobs in order, and what of each GPU's memory they leave. A job that does not fit beside others is passed by those that
    do, but not without end."""

    def __init__(self, jobs, gpus, most):
        self.todo, self.free, self.most = list(jobs), [most] * gpus, most
        self.passed, self.changed, self.stopped = 0, threading.Condition(), False

    def needs(self, job):
        return self.most if job.alone else min(job.bytes, self.most)

    def fits(self, job, gpu):
        return self.needs(job) <= self.free[gpu]

    def begin(self, job, gpu):
        self.free[gpu] -= self.needs(job)

    def end(self, job, gpu):
        self.free[gpu] += self.needs(job)

    def fitting(self, gpu):
        for i, job in enumerate(self.todo):
            if self.fits(job, gpu):
                self.passed = 0 if i == 0 else self.passed + 1
                return self.todo.pop(i)
            if i == 0 and self.passed >= PASSED_BY:
                return None
        return None

    def take(self, gpu):
        """The next job for this GPU, when there is room for it. None: there is none, or the time is over."""
        with self.changed:
            while not self.stopped and self.todo:
                job = self.fitting(gpu)
                if job:
                    self.begin(job, gpu)
                    return job
                self.changed.wait(0.5)
        return None

    def give_back(self, job, gpu):
        with self.changed:
            self.end(job, gpu)
            self.changed.notify_all()

    def stop(self):
        with self.changed:
            self.stopped = True
            self.changed.notify_all()


def memory_of(device, gpus):
    """Bytes of the smallest GPU that is used; of the machine where there is none, or it has no memory of its own ("[N/A]")."""
    _, code, out, _ = common.run(["nvidia-smi", "--query-gpu=index,uuid,memory.total", "--format=csv,noheader,nounits"])
    lines = out.decode(errors="replace").splitlines() if device == "cuda" and code == 0 else []
    there = [words for words in ([word.strip() for word in line.split(",")] for line in lines) if len(words) == 3]
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
    chosen = [words for name in named for words in there if name == words[0] or not name.isdigit() and words[1].startswith(name)]
    known = [float(size) for _, _, size in (chosen or there)[:max(1, gpus)] if size.replace(".", "", 1).isdigit()]
    return min(known) * 2**20 if known else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def most_bytes(row, maker):
    """What a judgement may take: the oracle on the device takes less than on a CPU, the recording has its tensors twice, and
    three processes have the device open."""
    tensors = (row.get("input_bytes") or 0) + (row.get("output_bytes") or 0)
    return (row.get("cpu_memory_bytes") or 0) + 2 * tensors + (3 if maker == "eager" else 5) * 2**30


def wait_for(child, end_of):
    """Once the time is over, end_of(), an interrupt lets it end its candidate, and a second one ends it."""
    for patience, act in ((0, signal.SIGINT), (GRACE, signal.SIGINT), (GRACE + 15, signal.SIGKILL)):
        while time.monotonic() < end_of() + patience:
            try:
                child.wait(0.2)
                return
            except subprocess.TimeoutExpired:
                pass
        child.send_signal(act)
    child.wait()


class Judging:
    """Judges jobs one after the other in several threads, each job in a process of its own."""

    def __init__(self, options, folder):
        self.options, self.folder, self.end, self.interrupted = options, folder, 0, False
        self.store = options.store or os.path.join(folder, "store.sqlite")
        self.number = itertools.count()

    def command(self, job, path):
        o, (maker, contract, _) = self.options, job.stage
        found = [o.assay, "bench", o.suite, "--from", path, "--run", f"{maker} {contract}", "--store", self.store,
                 "--workload", o.workload, "--device", o.device, "--no-probes", "--checks", o.checks, "--samples", o.samples,
                 "--budget", o.budget]
        found += ["--contract", contract] if contract != "fp32" else []
        return found + (["--again"] if job.alone else [])

    def write_module(self, job):
        """The task's module as a candidate in a file of its own; None: there is none, and the job says why, and if for ever."""
        maker, contract, _ = job.stage
        extra = ["--contract", contract] if contract != "fp32" else []
        done = subprocess.run([self.options.assay, "show", job.task, "--baseline", BASELINES[maker], "--workload",
                               self.options.workload, *extra], capture_output=True, text=True)
        if done.returncode != 0:
            job.no_module = done.returncode == 2 and any(words in done.stderr for words in NO_MODULE)  # not where it was ended
            job.why = done.stderr.strip()[-300:] or f"`assay show` ended with {done.returncode}"
            return None
        folder = os.path.join(self.folder, f"{maker} {contract}")
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, file_of(job.task))
        with open(path, "w", encoding="utf-8") as file:
            file.write(done.stdout)
        return path

    def judge(self, job, gpu):
        path = self.write_module(job)
        if not path:
            return
        place = common.place(gpu, self.options.gpus)
        log = os.path.join(self.folder, f"log_{next(self.number)}.txt")
        with open(log, "w", encoding="utf-8") as out:
            child = subprocess.Popen(self.command(job, path), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                     **place)
            wait_for(child, lambda: self.end)
        with open(log, encoding="utf-8", errors="replace") as file:
            job.judged = child.returncode in (0, 1)
            job.why = "" if job.judged else file.read().strip()[-600:]
        if says_no_memory(job.why):
            job.again = job.why
        os.remove(log)

    def work(self, memory, gpu):
        while time.monotonic() < self.end:
            job = memory.take(gpu)
            if not job:
                return
            begin = time.monotonic()
            try:
                self.judge(job, gpu)
            except Exception as e:
                traceback.print_exc(file=sys.stdout)
                job.why = str(e)
            job.seconds, job.ended = time.monotonic() - begin, True
            memory.give_back(job, gpu)

    def run(self, jobs, seconds, look):
        """Judges until there is no job or the time is over; looks now and then at what there is."""
        self.end = time.monotonic() + seconds
        memory = Memory(jobs, self.options.gpus, self.options.memory)
        threads = [threading.Thread(target=self.work, args=(memory, i % self.options.gpus))
                   for i in range(self.options.gpus * self.options.each)]
        for thread in threads:
            thread.start()
        looked = time.monotonic()
        while any(thread.is_alive() for thread in threads):
            try:
                time.sleep(0.1)
                if time.monotonic() - looked > LOOK:
                    look()
                    looked = time.monotonic()
                if time.monotonic() > self.end:
                    memory.stop()
            except KeyboardInterrupt:  # of the group, so the children have it, too
                self.end, self.interrupted = min(self.end, time.monotonic()) - GRACE, True
                memory.stop()
        look()


def verdicts_of(assay, store, run, folder):
    """The verdicts that the store has of the run, by Assay's own export, which has lines of trials and of peaks, too."""
    path = os.path.join(folder, "export.jsonl")
    done = subprocess.run([assay, "runs", "export", run, path, "--store", store], capture_output=True, text=True)
    if done.returncode != 0:
        return []
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in list(file)[1:]]
    return [line for line in lines if "reason" in line]


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
            "launches": sum(part["launches"] for part in kernels.values()) or None, "alone": None, "call": call,
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
        text = (f'{{"what": "PyTorch over KernelBench, judged and timed: bench/gpu/denominators.py",\n'
                f'"calls": {json.dumps(self.calls, indent=1)},\n"columns": {json.dumps(COLUMNS)},\n"rows": [\n{lines}\n]}}\n')
        common.write_whole(self.path, text)

    def lacks(self, of):
        """There is no row, or one without a time that nobody judged alone."""
        row = self.rows.get(of)
        return row is None or has_no_time(row) and not row.get("alone")

    def missing(self, stage, tasks):
        return [t for t in tasks if self.lacks((t, *stage[:2]))]

    def take(self, jobs, judging):
        """Takes the verdicts of jobs that have ended, some by an earlier call, and writes. What found no memory beside others has
        no row. Of what was to be judged alone and was cut off the store has the verdict from before, which is not taken."""
        ended = [job for job in jobs if job.ended and (job.judged or job.no_module if job.alone else job.key not in self.rows)]
        for run in {job.stage[:2] for job in ended}:
            of_run = {job.task: job for job in ended if job.stage[:2] == run}
            for exported in verdicts_of(judging.options.assay, judging.store, " ".join(run), judging.folder):
                job = of_run.get(exported["task"])
                row = row_of(exported, run, judging.options.call) if job else None
                if row and not job.alone:
                    job.again = row["detail"] if for_want_of_memory(row) else NO_TIME if has_no_time(row) else ""
                if row and (job.alone or not for_want_of_memory(row)):
                    self.rows[key(row)] = row | {"alone": job.alone or None}
        for job in ended:
            if job.no_module:
                row = dict.fromkeys(COLUMNS) | {"task": job.task, "maker": job.stage[0], "contract": job.stage[1],
                                                "verdict": "no module", "call": judging.options.call, "detail": job.why}
                self.rows[key(row)] = row
        self.write()


def says_no_memory(text):
    return any(words in text.lower() for words in LACKS_MEMORY)


def for_want_of_memory(row):
    return row["verdict"] != "pass" and says_no_memory(f"{row['verdict']}: {row['detail'] or ''}")


def has_no_time(row):
    return row["verdict"] == "pass" and row["median_ns"] is None


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
        self.each = int(common.option(arguments, "--each", 0)) or each_of(self.device, self.gpus)
        self.memory = float(common.option(arguments, "--memory", 0)) * 2**30 or memory_of(self.device, self.gpus)
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


def each_of(device, gpus):
    """Making and compiling a module takes a processor; a CPU's time is disturbed by all that runs beside it."""
    return max(1, min(12, len(os.sched_getaffinity(0)) * 3 // 4 // gpus)) if device == "cuda" else 1


def jobs_of(options, results, rows):
    """What is missing, in the order of work: the large ones of a stage first. Every N-th task: all stages of a task together.
    What stages have in common is there once; what an earlier call left without a time is for the end."""
    found, tasks, keys = [], [row["task"] for row in rows], set()
    for turn in range(options.every):
        jobs = []
        for stage in options.stages:
            of_level = [t for t in tasks if (level_of(t) in (1, 2, 3) if stage[2] == 0 else level_of(t) == stage[2])]
            missing = set(results.missing(stage, of_level[turn::options.every]))
            chosen = [Job(row["task"], stage, most_bytes(row, stage[0])) for row in rows if row["task"] in missing]
            chosen = [job for job in chosen if job.key not in keys]
            keys.update(job.key for job in chosen)
            for job in chosen:
                job.again = NO_TIME if job.key in results.rows else ""
            jobs += sorted(chosen, key=lambda job: -job.bytes)
        if options.every > 1:
            size = collections.defaultdict(float)
            for job in jobs:
                size[job.task] = max(size[job.task], job.bytes)
            jobs.sort(key=lambda job: (-size[job.task], job.task))
        found += jobs
    return found


def say(jobs, results, call):
    """A line for each stage, and what the call says of it."""
    stages = collections.defaultdict(list)
    for job in jobs:
        stages[job.stage].append(job)
    for stage, its in stages.items():
        name, begun = ":".join(str(part) for part in stage if part), [job for job in its if job.ended]
        judged = sum(not results.lacks(job.key) for job in its)
        seconds = sum(job.seconds for job in its)
        if begun:
            call["stages"].append({"stage": name, "seconds": round(seconds, 1), "judged": judged})
        left = [job for job in begun if results.lacks(job.key)]
        why = f"{left[0].task}: {left[0].why or left[0].again or 'interrupted'}" if left else ""
        print(f"{name}: {judged} of {len(its)}, {seconds:.1f} s of processes"
              + (f"; {len(left)} ended without a verdict, {why}" if left else ""))


def main():
    begin = time.monotonic()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which what runs in the background has been told to ignore
    options = Options(sys.argv[1:])
    results = Results(options.out)
    if options.table:
        print_table(results)
        return
    rows = tasks_of(options.assay, options.suite, options.workload)
    call = {"command": " ".join(["bench/gpu/denominators.py", "ASSAY", *sys.argv[2:]]),
            "date": time.strftime("%Y-%m-%d"),
            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(), "machine": common.machine(),
            "gpus": options.gpus, "each": options.each, "cpus": len(os.sched_getaffinity(0)), "stages": []}
    jobs = jobs_of(options, results, rows)
    if not jobs:
        print_table(results)
        return
    options.call = results.begin(call)
    with tempfile.TemporaryDirectory() as folder:
        judging = Judging(options, folder)
        if options.device == "cuda":  # the floor needs the device's peaks, where the verdicts go
            common.run([options.assay, "doctor", "--calibrate", "--store", judging.store], timeout=90)
        todo = [job for job in jobs if not job.again]
        for alone in False, True:
            left = options.seconds - (time.monotonic() - begin)
            if todo and left > 0 and not judging.interrupted:
                judging.run(todo, left, lambda: results.take(jobs, judging))
            todo = [] if alone else [job for job in jobs if job.again]
            for job in todo:
                job.alone, job.ended, job.judged = True, False, False
        say(jobs, results, call)
        call["seconds"] = round(time.monotonic() - begin, 1)
        results.write()
    left = sum(results.lacks(job.key) for job in jobs)
    if left:
        print(f"no time left for {left} judgements; the same command goes on")
    print_table(results)


if __name__ == "__main__":
    main()
