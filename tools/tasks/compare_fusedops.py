#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tasks of the suite fusedops against PyTorch on the CPU, on what Assay draws.

usage: compare_fusedops.py ANSWERS [--csv=FILE] [--probes] [FAMILY | FAMILY/NAME...]

As compare_kernelbenchx.py, whose work it uses: ANSWERS is the program of that name that the tests build. For every task
and each small and ragged workload PyTorch's own operators are run in double precision, next to the oracle's exact
answer, and in the task's own precision, where they are shown to the judge. --probes: under every probe instead.

Exit code 1 when a double result is beyond 1e-11, or PyTorch in the task's own precision fails.
"""
import pathlib
import sys

import torch
import torch.nn.functional as F

import compare_kernelbenchx as shared
from make_fusedops import SUITE

shared.DTYPES["float8e4m3fn"] = torch.float8_e4m3fn
shared.LIMIT = 1e-11  # rows of two numbers far from zero lose digits in PyTorch, too


class Comparison(shared.Comparison):
    def __init__(self, answers, task):
        self.answers, self.task = answers, task
        self.names = {"torch": torch, "F": F, "b16": torch.bfloat16}

    def run(self, expression, sizes, folder, double):
        self.names["b16"] = torch.float64 if double else torch.bfloat16  # what float8 is widened to
        return super().run(expression, sizes, folder, double)

    def ladder(self):
        return {"reason": f"{len(self.task.workloads)} workloads"}, []


def main():
    options = dict((a[2:] + "=").split("=")[:2] for a in sys.argv[1:] if a.startswith("--"))
    rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    if not rest:
        sys.exit(__doc__)
    rows, bad = [], 0
    for key, task in SUITE.tasks.items():
        if rest[1:] and key not in rest[1:] and task.category not in rest[1:]:
            continue
        own, wrong = Comparison(rest[0], task).rows([], "probes" in options)
        rows, bad = rows + own, bad + bool(wrong)
        print(f"{task.name}: {shared.line(own)}", *wrong[:12], sep="\n  " if wrong else " ", flush=True)
    if "csv" in options and not rest[1:]:
        shared.write(pathlib.Path(options["csv"]), rows)
    print(shared.summary(rows, bad))
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
