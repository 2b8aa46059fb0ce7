#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tasks of KernelBench against the original modules, run in PyTorch on what Assay draws.

usage: compare_originals.py ANSWERS CHECKOUT [--as-published] [--probes] [--workloads=A,B] [--csv=FILE]
                            [LEVEL | LEVEL/NUMBER...]

ANSWERS is the program of that name that the tests build, CHECKOUT one of KernelBench; needs the package torch, for level
4 also transformers. Without a checkout ("-") the models of level 4 are made as its files make them. For every task and each small and ragged workload, the original is made at the workload's sizes and run in training mode
with the weights and data that Assay draws: in double precision, whose result is compared with the oracle's exact answer
for the published graph, and in single precision, whose result is shown to the judge. Where the default form has another
graph, the original with the repair in its text is compared with that one too. Inputs are the default form's, of which
more depends on more; --as-published: the published ones. --probes: single precision under every probe as well, at the
ragged workloads. At the published sizes, names, shapes and initial distributions of all parameters are compared
without data.

One line a task; --csv: a row for each workload; rows of other tasks stay. Errors are over the largest
output, z and its limit in units of the judge's scale. Exit code 1 when a double result is beyond 1e-12 (and 1e-7 of the
single one's error; 1e-7 where PyTorch's functions have other numbers than ONNX), a single one fails, a parameter
differs, or an original cannot be run where none is known to be refused.
"""
import csv
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import torch

from originals import level1, level2, level3, level4
from originals.parameters import parameters_differ
from originals.task import tasks_of

LEVELS = {1: level1, 2: level2, 3: level3, 4: level4}
LIMIT = 1e-12
DIGITS_LIMIT = 1e-7  # where PyTorch's functions have numbers with more digits than a 32-bit attribute
SINGLE_PART = 1e-7  # of what single precision misses, where that is more: networks that magnify roundings
PASSES = 16
COLUMNS = ("task", "workload", "double_error", "single_error", "z", "z_limit", "z_rms", "reason")
warnings.filterwarnings("ignore")  # of layers that run slower than they could


def message(e):
    return f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:200]}"


class Comparison:
    """One task and its original."""

    def __init__(self, answers, task, path, as_published, known):
        """known: what `row` said before, by what it depends on."""
        self.answers, self.task, self.path, self.level = answers, task, path, LEVELS[task.level]
        self.known = known
        self.drawn = ["--as-published"] if as_published else []

    def ask(self, *arguments):
        done = subprocess.run([self.answers, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.strip())
        return done.stdout.strip()

    def forms(self):
        """(texts that the original is given, option of `answers` for the graph, remark)."""
        repaired = self.level.REPAIRED.get(self.task.number)
        assert bool(repaired) == self.task.other_graph(), self.task.name
        forms = [({}, ["--as-published"], "")]
        return forms + [(repaired, [], "the graph of the default form")] if repaired and not self.drawn else forms

    def workloads(self):
        """name -> sizes: the task's, and what else the originals need."""
        sizes = {name: self.task.sizes(name) for name in self.task.workloads()}
        return {**sizes, **getattr(self.level, "OWN_SIZES", {}).get(self.task.number, {})}

    def answered(self, sizes, form, probe, key, *dtypes):
        """What `answers` says of the original on one draw, for each type."""
        texts, graph, _ = form
        bindings, said = ", ".join(f"{k}={v}" for k, v in sizes.items()), []
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.ask(*self.drawn, "draw", self.task.path, bindings, probe, key, folder)
            for dtype in dtypes:
                shape = self.level.original(self.task, self.path, sizes, texts).run(self.task, sizes, folder, dtype)
                judged = [PASSES] if dtype is torch.float32 else []
                said.append(self.ask(*graph, "check", self.task.path, bindings, folder, *judged))
                if not said[-1].endswith(f" shape {shape}"):
                    raise ValueError(f"shape {shape} there, here: {said[-1]}")
        return said

    def row(self, sizes, form):
        """(cells after the workload's, what is wrong). Problems of one model at several lengths share workloads: each
        is run once."""
        same = getattr(self.level, "same", lambda task, path: path.name)(self.task, self.path)
        key = (same, tuple(sizes.items()), str(form))
        if key not in self.known:
            self.known[key] = self.fresh_row(sizes, form)
        return self.known[key][0], list(self.known[key][1])

    def fresh_row(self, sizes, form):
        exact, judged = self.answered(sizes, form, "declared", 7, torch.float64, torch.float32)
        error, single = float(exact.split()[2]), float(judged.split()[2])
        verdict, *z = re.search(r"(PASS|FAIL) z (\S+) of (\S+) rms (\S+)", judged).groups()
        digits = self.level.DIGITS.get(self.task.number, "")
        limit = max(DIGITS_LIMIT if digits else LIMIT, SINGLE_PART * single)
        wrong = [] if error <= limit else [f"{error:.1e} is beyond {limit:.0e}"]
        wrong += [] if verdict == "PASS" else [f"single precision fails: {judged}"]
        remarks = "; ".join(filter(None, [form[2], digits]))
        return {"double_error": error, "single_error": single, **dict(zip(COLUMNS[4:7], z)), "reason": remarks}, wrong

    def rows(self, only, probes):
        """(rows, what is wrong)."""
        rows, wrong = [], self.parameters_differ()
        for form in self.forms():
            for name, sizes in self.workloads().items():
                if only and name not in only:
                    continue
                refused = name in getattr(self.level, "REFUSED", {}).get(self.task.number, ())
                try:
                    row, more = self.row(sizes, form)
                    more += self.fails_under(sizes, form) if probes and name.startswith("ragged") else []
                    more += ["is not refused"] if refused else []
                except Exception as e:
                    row, more = {"reason": message(e)}, [] if refused else ["cannot be run"]
                rows.append({"task": self.task.name, "workload": name, **row})
                wrong += [f"{name}: {text}" for text in more]
        return rows, wrong

    def parameters_differ(self):
        try:
            return parameters_differ(self.task, self.path, self.level)
        except Exception as e:
            return [message(e)]

    def fails_under(self, sizes, form):
        said = {probe: self.answered(sizes, form, probe, 3, torch.float32)[0] for probe in self.task.probes()}
        return [f"{probe}: {text}" for probe, text in said.items() if "PASS" not in text and
                "not representable" not in text]


def printed(row):
    """A row as the table has it."""
    return {k: f"{v:.0e}" if isinstance(v, float) else v for k, v in row.items()}


def line(rows):
    full = "{workload} {double_error} fp32 {single_error} z {z}/{z_limit} rms {z_rms}"
    return "; ".join((full if "z" in r else "{workload} {reason}").format(**r) for r in map(printed, rows))


def write(path, rows):
    """Among the rows that the table has already of other tasks."""
    fresh, old = {r["task"] for r in rows}, []
    if path.exists():
        with open(path, newline="") as file:
            old = [r for r in csv.DictReader(file) if r["task"] not in fresh]
    order = lambda r: [int(part) for part in r["task"].split("/")[1:]]
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(sorted(old + [printed(r) for r in rows], key=order))


def summary(tasks, rows, bad):
    run = [r for r in rows if "z" in r]
    worst = max(run, key=lambda r: r["double_error"], default=None)
    text = f"{len(tasks)} tasks, {len(rows)} rows, {len(rows) - len(run)} of them empty, {bad} tasks differ"
    if worst:
        part = max(run, key=lambda r: float(r["z"]) / float(r["z_limit"]))
        text += (f"; largest double error {worst['double_error']:.0e} ({worst['task']} {worst['workload']}), nearest "
                 f"to its limit z {part['z']} of {part['z_limit']} ({part['task']} {part['workload']})")
    return text


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(rest) < 2:
        sys.exit(__doc__)
    value = lambda name: next((o.split("=", 1)[1] for o in options if o.startswith(f"--{name}=")), None)
    only, table = (value("workloads") or "").split(",") if value("workloads") else [], value("csv")
    chosen = [t for level in LEVELS for t in tasks_of(level) if not rest[2:] or str(level) in rest[2:] or
              f"{level}/{t.number}" in [r.removeprefix("kernelbench/") for r in rest[2:]]]
    checkout, rows, bad, known = pathlib.Path(rest[1]) / "KernelBench", [], 0, {}
    for task in chosen:
        path = next((checkout / f"level{task.level}").glob(f"{task.number}_*.py"), None)
        if path is None and task.level != 4:
            sys.exit(f"{checkout} has no file for {task.name}")
        comparison = Comparison(rest[0], task, path, "--as-published" in options, known)
        own, wrong = comparison.rows(only, "--probes" in options)
        rows, bad = rows + own, bad + bool(wrong)
        print(f"{task.name}: {line(own)}", *wrong[:12], sep="\n  " if wrong else " ", flush=True)
        if table:
            write(pathlib.Path(table), rows)
    print(summary(chosen, rows, bad))
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
