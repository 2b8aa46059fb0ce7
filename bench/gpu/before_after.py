#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a judgement of KernelBench's own modules takes, by two judges in turn: the one before and the one now.

usage: before_after.py BEFORE NOW OUT.json [--seconds S] [--gpus N] [--each N] [--levels 1,2,3] [--workload NAME]
                       [--device D] [--only PART] [--house-before DIR] [--checkout DIR] [--table]

BEFORE and NOW are folders of programs; --house-before has tasks/ and include/ of BEFORE (this repository without it). The
candidate is eager PyTorch's execution of the task (torch.eager); with --checkout, a checkout of KernelBench, it is the
suite's own module. Both judges get the same with all that they ask by default, one after the other on the same GPU, the
first one in turn; each judgement is a process of its own.

Each of the --gpus GPUs (default: all that nvidia-smi lists) has --each tasks at once (1) and a part of the processors.
--workload is full. Levels are mixed, so that a run that is ended early is a sample of all. --seconds (500) ends the call:
after that no task is begun, and the ones at hand have 45 seconds. OUT.json is written after every task, and the same
command goes on where it ends. --table prints what it holds, and judges nothing.

OUT.json: "columns" and "rows", a row a task: for each judge the verdict, its seconds by its own clock, those of the whole
process, and what it says; "sum" is over the tasks that both have judged.
"""
import collections
import json
import os
import re
import sys
import tempfile
import threading

import common
import eager_candidates

SIDES = ("before", "now")
COLUMNS = ["task", "first", "gpu", "call"] + [f"{side}_{what}" for side in SIDES
                                              for what in ("verdict", "s", "wall_s", "recording_s", "mode", "median_ns", "detail")]
GRACE = 45
MACHINE = "judge_failed"


class Judge:
    def __init__(self, side, folder, house, work):
        self.side, self.assay = side, os.path.join(os.path.realpath(folder), "assay")
        self.more = {"ASSAY_TASKS": f"{house}/tasks", "ASSAY_INCLUDE": f"{house}/include"}
        self.work = os.path.join(work, side)
        os.mkdir(self.work)

    def judge(self, task, candidate, options, gpu, seconds):
        """What the row has of this judge; None: it did not end."""
        store = os.path.join(self.work, f"{gpu}.sqlite")
        where = common.place(gpu, options.gpus, XDG_CACHE_HOME=os.path.join(self.work, f"cache{gpu}"), **self.more)
        wall, code, out, errors = common.run(
            [self.assay, "judge", task, candidate, "--device", options.device, "--workload", options.workload, "--store",
             store, "--json"], seconds, **where)
        if code == -1:
            return None
        try:
            found = json.loads(out)
            v = found[0] if isinstance(found, list) else found  # one alone was no list once
        except (ValueError, IndexError):
            v = {"verdict": MACHINE, "detail": errors.strip()[-300:]}
        lasted = v.get("durations_ns") or {}
        row = {"verdict": v["verdict"], "s": seconds_of(lasted, "total"), "wall_s": round(wall, 3),
               "recording_s": seconds_of(lasted, "plan"), "mode": v.get("mode"),
               "median_ns": (v.get("timing") or {}).get("median_ns"), "detail": v.get("detail", "")[:200]}
        return {f"{self.side}_{name}": value for name, value in row.items()}


def seconds_of(lasted, part):
    return round(lasted[part] / 1e9, 3) if part in lasted else None


def tasks_of(assay, levels, only, house):
    """Of the levels in turn, so that the beginning has a part of each."""
    found = []
    for level in levels:
        out = common.run([assay, "tasks", f"kernelbench/{level}", "--json"],
                         env={**os.environ, "ASSAY_TASKS": f"{house}/tasks"})[2]
        rows = [row["task"] for row in json.loads(out)]
        found += [((i + 0.5) / len(rows), task) for i, task in enumerate(rows)]
    return [task for _, task in sorted(found) if only in task]


def candidates_of(checkout, levels, folder):
    """{task: file} of a checkout; what is not there is torch.eager."""
    found = {}
    for level in levels if checkout else ():
        inside = os.path.join(folder, f"level{level}")
        os.mkdir(inside)
        eager_candidates.write_candidates(checkout, level, inside)
        for name in os.listdir(inside):
            number = re.match(r"level_\d+_problem_(\d+)_", name).group(1)
            found[f"kernelbench/{level}/{number}"] = os.path.join(inside, name)
    return found


def sums(rows):
    both = [r for r in rows if all(r.get(f"{side}_s") for side in SIDES)]
    out = {"tasks": len(rows), "judged_by_both": len(both)}
    for side in SIDES:
        out[side] = {"s": round(sum(r[f"{side}_s"] for r in both), 1), "wall_s": round(sum(r[f"{side}_wall_s"] for r in both), 1),
                     "verdicts": dict(collections.Counter(r[f"{side}_verdict"] for r in rows).most_common())}
    for name, key in (("ratio", "s"), ("wall_ratio", "wall_s")):
        before, now = (sum(r[f"{side}_{key}"] for r in both) for side in SIDES)
        if before:
            out[name] = round(now / before, 4)
    return out


def print_table(rows):
    print(json.dumps(sums(rows)))
    for r in rows:
        if r["before_verdict"] != r["now_verdict"] or r["now_verdict"] != "pass":
            print(f"{r['task']}: {r['before_verdict']} then, {r['now_verdict']} now: {r['now_detail']}")
    for r in sorted((r for r in rows if r["now_s"] and r["before_s"]), key=lambda r: r["before_s"] / r["now_s"])[:8]:
        print(f"{r['task']}: {r['before_s']} s then, {r['now_s']} s now: {r['now_s'] / r['before_s']:.2f}")


class Options:
    def __init__(self, arguments):
        def option(name, default):
            return common.option(arguments, name, default)

        self.seconds, self.device = float(option("--seconds", 500)), option("--device", "cuda")
        self.workload = option("--workload", "full")
        self.gpus = int(option("--gpus", 0)) or (common.gpus_here() if self.device == "cuda" else 1)
        self.each, self.only = int(option("--each", 1)), option("--only", "")
        self.levels = [int(level) for level in option("--levels", "1,2,3").split(",")]
        self.house = os.path.realpath(option("--house-before", common.ROOT))
        self.checkout, self.table = option("--checkout", None), "--table" in arguments
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 3:
            sys.exit(__doc__)
        self.before, self.now, self.out = arguments


def main():
    o = Options(sys.argv[1:])
    head, rows = common.read_rows(o.out)
    if o.table:
        print_table(rows)
        return
    calls = head.get("calls", [])
    calls.append(common.call_of("bench/gpu/before_after.py", ["BEFORE", "NOW", *sys.argv[3:]], gpus=o.gpus, each=o.each))
    rows = [r for r in rows if MACHINE not in (r["before_verdict"], r["now_verdict"])]  # these once more
    lock, have = threading.Lock(), {r["task"] for r in rows}
    with tempfile.TemporaryDirectory() as work:
        judges = [Judge("before", o.before, o.house, work), Judge("now", o.now, common.ROOT, work)]
        candidates = candidates_of(o.checkout, o.levels, work)
        todo = [t for t in tasks_of(judges[1].assay, o.levels, o.only, common.ROOT) if t not in have]

        def act(job, gpu, left):
            number, task = job
            row = {"task": task, "first": SIDES[number % 2], "gpu": gpu, "call": len(calls) - 1}
            for judge in judges if number % 2 == 0 else judges[::-1]:
                found = judge.judge(task, candidates.get(task, "torch.eager"), o, gpu, left + GRACE)
                if found is None:
                    return
                row.update(found)
            with lock:
                rows.append(row)
                rows.sort(key=lambda r: [int(part) for part in r["task"].split("/")[1:]])
                common.write_rows(o.out, {"what": "eager PyTorch over KernelBench, judged by two judges in turn: "
                                          "bench/gpu/before_after.py", "calls": calls, "sum": sums(rows)}, COLUMNS, rows)
                print(f"{task}: {row['before_verdict']} {row['before_s']} s, {row['now_verdict']} {row['now_s']} s", flush=True)

        begun = common.share(list(enumerate(todo)), o.gpus, o.each, o.seconds, act)
    print(f"{begun} of {len(todo)} tasks begun")
    print_table(rows)


if __name__ == "__main__":
    main()
