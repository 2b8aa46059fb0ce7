#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives the same candidates to two graders: KernelBench-X's (published.py), and Assay. Prints two tables.

  bench/graders/graders.py ASSAY CHECKOUT [SEEDS [ONLY]]          ONLY: rows whose name has this, 09 or matmul

ASSAY is the program, CHECKOUT one of KernelBench-X. Needs PyTorch (also as ASSAY_PYTHON). The candidates of `cheats` and
`quantization` say what Assay is expected to say of them; the exit code is 1 where it says something else. The sizes that are
timed are the smaller ones of the ladder, for this runs on the CPU.
"""
import importlib.util
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import published

HERE = pathlib.Path(__file__).resolve().parent
SIZES = [1 << n for n in range(12, 24)]
# What quantizes its result, or to four bits, takes integers and scales: docs/python-candidates.md.
OWN_INPUTS = "layernorm_w8a8", "linear_w4a16"
# A softmax hides what the sums of its products lose in fp32.
UNQUANTIZED = {"attention_w8a8": "pass"}
QUANTIZED = "matmul_w8a8", "bmm_w8a8", "conv2d_w8a8", "attention_w8a8", "layernorm_w8a8", "linear_w4a16"


def said(path, mark):
    found = re.search(rf"^# assay: {mark} (.*)$", path.read_text(), re.M)
    return found.group(1) if found else ""


class Assay:
    def __init__(self, program, folder):
        self.program, self.folder, self.unexpected = program, folder, 0

    def judge(self, path, workload="small", define=None, expect=None, task=None):
        """The verdict's code."""
        command = [self.program, "judge", task or said(path, "task"), path, "--device", "cpu", "--workload", workload, "--no-timing",
                   "--json", "--store", f"{self.folder}/store", *(["--define", define] if define else [])]
        done = subprocess.run(command, capture_output=True, text=True)
        verdicts = json.loads(done.stdout) if done.stdout else []
        verdict = verdicts[0]["verdict"] if verdicts else done.stderr.strip()
        expect = expect or said(path, "expect")
        if verdict not in expect.split("|"):
            self.unexpected += 1
            verdict += f" (expected {expect})"
        return verdict


def word(value):
    return "no results" if value is None else "pass" if value else "fail"


def cheat_row(grader, assay, path):
    """(what, call, exe, speedup, Assay's)."""
    stem, source = said(path, "task").rpartition("/")[2], path.read_text()
    before = path.with_name(path.stem + "_before.py")
    stems = [stem]
    if before.exists():
        stems.insert(0, said(before, "task").rpartition("/")[2])
        grader.program(stems[0], before.read_text())
    program = grader.program(stem, source)
    call, exe, speed = grader.call(program), grader.exe(*stems), None
    passed = exe[stem][0][0] if exe else None
    if passed and path.name[:2] in ("08", "09", "10"):
        speed = grader.perf(stem, SIZES)
    workload = {"08": "size10", "09": "size10"}.get(path.name[:2], "small")
    verdict = assay.judge(path, workload)
    if before.exists():
        assay.judge(before)
    what = re.search(r'"""(.*?)"""', source, re.S).group(1).replace("\n", " ")
    return [path.stem.partition("_")[0].lstrip("0"), what, word(call), word(passed), f"{speed:.2f}" if speed else "", verdict]


def worst_of(runs):
    measures = [m for _, seen in runs for m in seen]
    pick = {"cosine_sim": min, "l1_relative": max, "rmse": max}
    return {name: take(m[name] for m in measures) if measures else float("nan") for name, take in pick.items()}


def quantized_row(grader, assay, name, seeds):
    grader.program(name, (HERE / "as_described.py").read_text())
    runs = (grader.exe(name, seeds=range(seeds)) or {}).get(name, [])
    grader.program(name, grader.reference(name).read_text().split(published.SEPARATOR)[0])
    plain = (grader.exe(name, seeds=range(seeds)) or {}).get(name, [])
    worst = worst_of(runs)
    limits = json.loads((grader.folder / "limits.json").read_text())[f"{name}.py"]
    path = HERE / "quantization" / f"{name}.py"
    twin, expected = re.search(r"^# assay: twin (\w+) expect (\S+)", path.read_text(), re.M).groups()
    cells = [f"{worst[k]:.4g} ({limits[k]:g})" for k in ("cosine_sim", "l1_relative", "rmse")]
    asked = ["", ""]
    if name not in OWN_INPUTS:
        unquantized = grader.folder / "programs" / f"{name}_plain.py"
        unquantized.write_text(grader.reference(name).read_text().split(published.SEPARATOR)[0])
        asked = [assay.judge(HERE / "as_described.py", expect="pass", task=said(path, "task")),
                 assay.judge(unquantized, expect=UNQUANTIZED.get(name, "low_precision|wrong_value"), task=said(path, "task"))]
    return [name, f"{sum(r[0] for r in runs)} of {seeds}", f"{sum(r[0] for r in plain)} of {seeds}", *cells, *asked,
            assay.judge(path), f"{assay.judge(path, define=twin, expect=expected)} ({twin.lower()})"]


def table(headers, rows):
    print("| " + " | ".join(headers) + " |\n|" + "---|" * len(headers))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    if not importlib.util.find_spec("torch"):  # their grader would call every candidate a failure
        sys.exit(f"{sys.executable} has no PyTorch, with which KernelBench-X's grader runs candidates; use a Python that has it")
    os.environ.setdefault("ASSAY_PYTHON", sys.executable)
    seeds, only = int(sys.argv[3]) if len(sys.argv) > 3 else 20, sys.argv[4] if len(sys.argv) > 4 else ""
    with tempfile.TemporaryDirectory() as folder:
        grader, assay = published.Checkout(sys.argv[2], folder), Assay(sys.argv[1], folder)
        cheats = sorted(p for p in (HERE / "cheats").glob("*.py") if not p.stem.endswith("_before") and only in p.stem)
        table(["", "what it does", "call", "exe", "speedup", "Assay"], (cheat_row(grader, assay, p) for p in cheats))
        print()
        table(["task", "there: as described", "there: unquantized", "least cosine (limit)", "largest L1 (limit)",
               "largest RMSE (limit)", "Assay: as described", "Assay: unquantized", "Assay: integers in", "Assay: its twin"],
              (quantized_row(grader, assay, name, seeds) for name in QUANTIZED if only in name))
    return int(assay.unexpected > 0)


if __name__ == "__main__":
    sys.exit(main())
