#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tasks of KernelBench-X against the published references, run in PyTorch on what Assay draws.

usage: compare_kernelbenchx.py ANSWERS [CHECKOUT] [--workloads=A,B] [--csv=FILE] [--probes]
                                [CATEGORY | CATEGORY/NAME...]

ANSWERS is the program of that name that the tests build, CHECKOUT one of KernelBench-X ($KERNELBENCHX without it; with
neither nothing is compared); needs the package torch. For every task and each small and ragged workload the reference is
run on the CPU on the default form's inputs: in double precision, whose result is compared with the oracle's exact answer,
and in the task's own, whose result is shown to the judge. Where the reference is not what its description says, the
published graph is compared with the reference, and the default one with the mathematics written out in PyTorch. A
dropout keeps what the task's input says. The sizes of the ladder are compared with the tensors that the published
timing makes, without data.

--probes: instead of all this, the reference (or the mathematics) in the task's own precision under every probe, at the
ragged workloads.

One line a task; --csv: a row for each workload; rows of other tasks stay. Errors are over the largest output, z and its
limit in units of the judge's scale. Exit code 1 when a double result is beyond 1e-12 (1e-7 where constants have other
digits, or a 1e-7 part of the single one's error; more where PyTorch itself is known to be off), the other one fails, or a ladder has other sizes.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import types
import warnings
from importlib.machinery import SourceFileLoader
from unittest.mock import patch

import torch
import torch.nn.functional as F

from make_kernelbenchx import SUITE

LIMIT, DIGITS_LIMIT, SINGLE_PART = 1e-12, 1e-7, 1e-7
PASSES = 16
COLUMNS = ("task", "workload", "double_error", "single_error", "z", "z_limit", "z_rms", "reason")
DTYPES = {"float": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16, "int64": torch.int64,
          "int32": torch.int32, "int8": torch.int8, "uint8": torch.uint8, "bool": torch.bool}
SEPARATOR = "#" * 146  # between a reference and its tests
warnings.filterwarnings("ignore")


def reference(checkout, task):
    """The names that the published file defines above its tests."""
    names = {"torch": torch, "F": F}
    text = (checkout / "data" / "kernelbenchx" / task.category / f"{task.stem}.py").read_text()
    exec(compile(text.split(SEPARATOR)[0], task.name, "exec"), names)
    return names


class Metrics:
    """In place of the published class that times."""

    def __init__(self, op_name, dtype=None, is_backward=False, **kwargs):
        self.dtype, self.kwargs = dtype or torch.float32, kwargs


def shapes_of(value):
    if isinstance(value, torch.Tensor):
        return [list(value.shape)] if value.dim() else []
    if isinstance(value, (list, tuple)):
        return [shape for v in value for shape in shapes_of(v)]
    return []


def timed(checkout, task):
    """The shapes of the tensors that the published timing makes, for each of its sizes."""
    path, names = checkout / "metrics" / "golden_metrics" / f"{task.stem}_perf.py", reference(checkout, task)
    names |= {"Performance_Metrics": Metrics, "print": lambda *_: None, "os": os, "__file__": str(path),
              "sys": types.SimpleNamespace(path=[])}
    text = re.sub(r"^(from|import) .*$", "", path.read_text().split("if __name__")[0], flags=re.M)
    with patch.object(SourceFileLoader, "exec_module", lambda _, module: module.__dict__.update(names)):
        exec(compile("import torch\n" + text, task.name, "exec"), names)
    plenty = {"is_available": lambda: True, "mem_get_info": lambda: (1 << 40, 1 << 40)}  # some ladders end with the memory
    no_data = patch.object(torch.Tensor, "item", lambda _: 0)
    with torch.device("meta"), no_data, patch.multiple(torch.cuda, **plenty):
        made = names["performance_metrics"]()
        made.get_input_tensors()
    return [[[n]] * len(task.inputs) if isinstance(n, int) else shapes_of(n) for n in made.input_tensors]


def read(folder, i, sizes):
    dims = [sizes.get(d, d) for d in i.dims]
    data = bytearray((folder / i.name).read_bytes())
    return (torch.frombuffer(data, dtype=DTYPES[i.dtype]) if data else torch.empty(0, dtype=DTYPES[i.dtype])).reshape(dims)


def exactly(function, x):
    """A function of mpmath, element by element, rounded to the type of x."""
    import mpmath
    values = [float(getattr(mpmath, function)(mpmath.mpf(v))) for v in x.flatten().tolist()]
    return torch.tensor(values, dtype=torch.float64).reshape(x.shape).to(x.dtype)


class Comparison:
    def __init__(self, answers, checkout, task):
        self.answers, self.checkout, self.task = answers, checkout, task
        self.names = reference(checkout, task)

    def ask(self, *arguments):
        done = subprocess.run([self.answers, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.strip())
        return done.stdout.splitlines()

    def forms(self):
        """(expression, option of `answers` for the graph, remark)."""
        if not self.task.mathematics:
            return [(self.task.call, [], "")]
        return [(self.task.call, ["--as-published"], "as published"), (self.task.mathematics, [], "the default form")]

    def run(self, expression, sizes, folder, double):
        """Leaves the reference's outputs in the folder."""
        wide = lambda x: x.double() if double and x.is_floating_point() else x
        inputs = {i.name: wide(read(folder, i, sizes)) for i in self.task.inputs}
        torch.set_default_dtype(torch.float64 if double else torch.float32)
        kept = patch.object(F, "dropout", lambda x, p=0.5, **_: torch.where(inputs["keep"], x / (1 - p), 0))
        with kept, patch.object(torch.Tensor, "float", lambda x: x.to(torch.get_default_dtype())):
            outputs = eval(expression, {**self.names, "exactly": exactly, **sizes, **inputs})
        torch.set_default_dtype(torch.float32)
        outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
        for name, y in zip(self.task.outputs, outputs, strict=True):
            (folder / name).write_bytes(y.double().contiguous().numpy().tobytes())
        return [list(y.shape) for y in outputs]

    def answered(self, sizes, form, probe, precisions):
        """What `answers` says of the reference's outputs on one draw, in each precision."""
        expression, graph, _ = form
        bindings, said = ", ".join(f"{k}={v}" for k, v in sizes.items()), []
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.ask("draw", self.task.path(), bindings, probe, 7, folder)
            for double in precisions:
                shapes = self.run(expression, sizes, folder, double)
                lines = self.ask(*graph, "check", self.task.path(), bindings, folder, *([] if double else [PASSES]))
                for shape, line in [] if self.task.check else zip(shapes, lines, strict=True):
                    if not line.endswith(f" shape {shape}"):
                        raise ValueError(f"shape {shape} there, here: {line}")
                said.append(lines)
        return said

    def fails_under(self, sizes, form):
        """What its own precision fails under the probes."""
        said = {probe: self.answered(sizes, form, probe, [False])[0] for probe in self.task.probed()}
        return [f"{probe}: {line}" for probe, lines in said.items() for line in lines if "PASS" not in line and
                "not representable" not in line]

    def row(self, sizes, form):
        """(cells after the workload's, what is wrong): the worst of all outputs."""
        remark, said = form[2], self.answered(sizes, form, "declared", (True, False))
        error, single = (max(float(line.split()[2]) for line in lines) for lines in said)
        found = [re.search(r"(PASS|FAIL) z (\S+) of (\S+) rms (\S+)", line).groups() for line in said[1]]
        z = max((f[1:] for f in found), key=lambda f: float(f[0]) / (float(f[1]) or 1))
        bound, known = self.task.inaccurate if form[0] == self.task.call else (0, "")
        limit = max(bound, DIGITS_LIMIT if self.task.digits else LIMIT, SINGLE_PART * single)
        wrong = [] if error <= limit else [f"{error:.1e} is beyond {limit:.0e}"]
        wrong += [f"its own precision fails: {line}" for line, f in zip(said[1], found)
                  if f[0] != "PASS" and not (known and self.task.mathematics)]
        return {"double_error": error, "single_error": single, **dict(zip(COLUMNS[4:7], z)),
                "reason": "; ".join(filter(None, (remark, self.task.digits, known)))}, wrong

    def ladder(self):
        there, here = timed(self.checkout, self.task), self.task.timed()
        if there == here:
            return {"reason": f"{len(here)} sizes"}, []
        return {"reason": f"other sizes: {there[:2]} ... {there[-1:]}, here {here[:2]} ... {here[-1:]}"}, ["other sizes"]

    def rows(self, only, probes):
        """(rows, what is wrong)."""
        asked = [(w, lambda w=w, form=form: self.row(self.task.workloads[w], form)) for form in self.forms()
                 for w in self.task.compared()]
        if probes:
            form, ragged = self.forms()[-1], [w for w in self.task.compared() if w != "small"]
            asked = [(w, lambda w=w: ({"reason": "probes"}, self.fails_under(self.task.workloads[w], form))) for w in ragged]
        rows, wrong = [], []
        for workload, ask in asked + ([] if probes else [("ladder", self.ladder)]):
            if only and workload not in only:
                continue
            try:
                row, more = ask()
            except Exception as e:
                row, more = {"reason": f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:300]}"}, ["cannot be run"]
            rows.append({"task": self.task.name, "workload": workload, **row})
            wrong += [f"{workload}: {text}" for text in more]
        return rows, wrong


def printed(row):
    return {k: f"{v:.0e}" if isinstance(v, float) else v for k, v in row.items()}


def line(rows):
    full = "{workload} {double_error} z {z}/{z_limit}"
    return "; ".join((full if "z" in r else "{workload} {reason}").format(**r) for r in map(printed, rows))


def write(path, rows):
    """Among the rows that the table has already of other tasks."""
    fresh, old = {r["task"] for r in rows}, []
    if path.exists():
        with open(path, newline="") as file:
            old = [r for r in csv.DictReader(file) if r["task"] not in fresh]
    with open(path, "w", newline="") as file:
        out = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        out.writeheader()
        out.writerows(sorted(old + [printed(r) for r in rows], key=lambda r: r["task"].lower()))


def summary(rows, bad):
    run = [r for r in rows if "z" in r]
    text = f"{len({r['task'] for r in rows})} tasks, {len(rows)} rows, {bad} tasks differ"
    if run:
        worst = max(run, key=lambda r: r["double_error"])
        part = max(run, key=lambda r: float(r["z"]) / (float(r["z_limit"]) or 1))
        text += (f"; largest double error {worst['double_error']:.0e} ({worst['task']} {worst['workload']}), nearest to "
                 f"its limit z {part['z']} of {part['z_limit']} ({part['task']} {part['workload']})")
    return text


def main():
    options = dict((a[2:] + "=").split("=")[:2] for a in sys.argv[1:] if a.startswith("--"))
    rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not rest:
        sys.exit(__doc__)
    folder = rest.pop(1) if len(rest) > 1 and pathlib.Path(rest[1]).is_dir() else os.environ.get("KERNELBENCHX")
    if not folder:
        print("skipped: no checkout of KernelBench-X (give its folder, or set KERNELBENCHX)")
        return 0
    only, rows, bad = options.get("workloads", "").split(",") if options.get("workloads") else [], [], 0
    for key, task in SUITE.tasks.items():
        if rest[1:] and key not in rest[1:] and task.category not in rest[1:]:
            continue
        own, wrong = Comparison(rest[0], pathlib.Path(folder), task).rows(only, "probes" in options)
        rows, bad = rows + own, bad + bool(wrong)
        print(f"{task.name}: {line(own)}", *wrong[:12], sep="\n  " if wrong else " ", flush=True)
        if "csv" in options:
            write(pathlib.Path(options["csv"]), own)
    print(summary(rows, bad))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
