#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What NVIDIA's compute-sanitizer sees of the mutants that values do not show.

    bench/kernel_mutants/sanitized.py ASSAY MUTANTS.json OUT.json [--tool racecheck|memcheck|initcheck|synccheck]
                                      [--state race] [--only GLOB] [--workload small] [--jobs N] [--gpus N]
                                      [--seconds S] [--sanitizer FILE]

Of each mutant of MUTANTS.json (run.py, CUDA) that is in the state, and of its kernel as it is, the launch plan for the
workload is exported as a C program, which runs once under the tool. It is `seen` where the tool has errors for the
mutant and none for the kernel. OUT.json has a row for each: hazards or errors of both, the exit codes, the tool's first
line. Rows of other tools and workloads stay; what has a row is not run again, so the same command goes on.
"""
import argparse
import concurrent.futures
import datetime
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

import run

FIRST = re.compile(r"^=+ +((Error|Warning|Invalid|Race|Potential|Barrier|Uninitialized).*)", re.M)
SUMMARY = re.compile(r"RACECHECK SUMMARY: \d+ hazards? displayed \((\d+) errors?|ERROR SUMMARY: (\d+) errors?")


def program_of(a, task, kernel, folder):
    """The exported program of a kernel's plan, compiled; an error's text where there is none."""
    folder.mkdir()
    plan = folder / "kernel.plan"
    for command in ([a.assay, "plan", "save", task, str(kernel), "--workload", a.workload, "--out", str(plan)],
                    [a.assay, "plan", "export", str(plan), "--to", str(folder), "--name", "kernel"],
                    ["cc", "-std=c17", "-O1", str(folder / "kernel.c"), *a.libraries, "-o", str(folder / "kernel")]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired:
            return None, f"{command[0]} {command[1]} took more than 300 s"
        if done.returncode:
            return None, (done.stderr.strip().splitlines() or ["no message"])[-1][:300]
    return folder / "kernel", ""


def look(a, task, kernel, folder, gpu):
    """What the tool says of a kernel: its errors (None: it did not come to an end), exit code, first line."""
    program, why = program_of(a, task, kernel, folder)
    if not program:
        return {"errors": None, "code": None, "first": why}
    command = [a.sanitizer, "--tool", a.tool, "--print-limit", "3", str(program), "-n", "1"]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=a.limit,
                              env=dict(os.environ, CUDA_VISIBLE_DEVICES=str(gpu)))
    except subprocess.TimeoutExpired:
        return {"errors": None, "code": None, "first": f"more than {a.limit} s"}
    text = done.stdout + done.stderr
    found, first = SUMMARY.search(text), FIRST.search(text)
    errors = int(next(g for g in found.groups() if g is not None)) if found else None
    return {"errors": errors, "code": done.returncode, "first": first.group(1)[:200] if first else ""}


class Looks:
    """Each kernel once, mutants in parallel; OUT.json after every one."""

    def __init__(self, a, folder):
        self.a, self.folder, self.lock, self.honest = a, folder, threading.Lock(), {}
        self.path = pathlib.Path(a.out)
        self.found = json.loads(self.path.read_text()) if self.path.exists() else {"calls": [], "rows": []}
        self.end = time.monotonic() + a.seconds
        self.runs = 0

    def fresh(self):
        with self.lock:
            self.runs += 1
            return self.folder / str(self.runs), self.runs % self.a.gpus

    def kernel(self, path, task):
        with self.lock:
            kept = self.honest.setdefault(path, {"lock": threading.Lock()})
        with kept["lock"]:
            if "look" not in kept:
                kept["look"] = look(self.a, task, path, *self.fresh())
            return kept["look"]

    def key(self, row):
        return row["file"], row["id"], self.a.tool, self.a.workload

    def one(self, row, mutant):
        if time.monotonic() > self.end:
            return
        task = run.task_of(mutant.path)
        file = self.folder / mutant.name
        file.write_text(mutant.text)
        honest, wrong = self.kernel(mutant.path, task), look(self.a, task, file, *self.fresh())
        seen = bool(wrong["errors"]) and honest["errors"] == 0
        with self.lock:
            self.found["rows"].append({"file": row["file"], "line": row["line"], "id": row["id"], "kind": row["kind"],
                                       "change": row["change"], "state": row["state"], "tool": self.a.tool,
                                       "workload": self.a.workload, "seen": seen, "mutant": wrong, "kernel": honest,
                                       "call": len(self.found["calls"]) - 1})
            self.path.write_text(json.dumps(self.found, indent=1) + "\n")
        print(f"{row['file']}:{row['line']} {'seen' if seen else 'not seen'}: {wrong['errors']} ({wrong['first']}), "
              f"the kernel {honest['errors']}: {row['change']}", flush=True)


def look_at_all(a, looks):
    have = {(r["file"], r["id"], r["tool"], r["workload"]) for r in looks.found["rows"]}
    rows = [r for r in json.loads(a.mutants.read_text())["passed"] if r["state"] in a.state]
    rows = [r for r in rows if not a.only or any(fnmatch.fnmatch(pathlib.Path(r["file"]).stem, o) for o in a.only)]
    pairs = [(r, run.mutant_of(r, run.CORPORA["cuda"][0])) for r in rows if looks.key(r) not in have]
    for r, _ in (pair for pair in pairs if not pair[1]):
        print(f"{r['file']}:{r['line']}: no longer a mutant: {r['change']}", file=sys.stderr)
    looks.found["calls"].append({
        "command": " ".join(["bench/kernel_mutants/sanitized.py", *sys.argv[1:]]), "date": str(datetime.date.today()),
        "commit": run.said("git", "rev-parse", "HEAD"),
        "machine": run.said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").split("\n")[0],
        "sanitizer": run.said(a.sanitizer, "--version").split("\n")[-1]})
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for done in [pool.submit(looks.one, r, m) for r, m in pairs if m]:
            done.result()
    of_tool = [r for r in looks.found["rows"] if r["tool"] == a.tool and r["workload"] == a.workload]
    print(f"{a.tool} at {a.workload}: {sum(r['seen'] for r in of_tool)} of {len(of_tool)} seen; of "
          f"{sum(r['kernel']['errors'] != 0 for r in of_tool)} the kernel itself has errors or did not end")
    return 0


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("assay")
    p.add_argument("mutants", type=pathlib.Path)
    p.add_argument("out")
    p.add_argument("--tool", default="racecheck", choices=("racecheck", "memcheck", "initcheck", "synccheck"))
    p.add_argument("--state", action="append", choices=run.STATES)
    p.add_argument("--only", action="append")
    p.add_argument("--workload", default="small")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--gpus", type=int, default=1)
    p.add_argument("--limit", type=float, default=120, help="seconds for a program under the tool")
    p.add_argument("--seconds", type=float, default=float("inf"), help="begin none after so many")
    p.add_argument("--sanitizer", default="compute-sanitizer")
    p.add_argument("--library", dest="libraries", action="append", help="to link with (default: -lcuda)")
    a = p.parse_args()
    a.state, a.libraries = a.state or ["race"], a.libraries or ["-lcuda"]
    with tempfile.TemporaryDirectory(prefix="sanitized.") as folder:
        return look_at_all(a, Looks(a, pathlib.Path(folder)))


if __name__ == "__main__":
    sys.exit(main())
