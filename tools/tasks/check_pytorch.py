#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the PyTorch modules that `assay show` prints against the task files.

usage: check_pytorch.py ASSAY [SUITE...]      (needs the packages torch and onnx >= 1.22)

Grouped transposed convolutions (1/72, 1/75) cannot be compared: the reference evaluator does not know them.

For every task the module for people (--pytorch) is run in double precision on inputs of the workload `small` that it
draws itself, and the one that is judged (--baseline torch.eager) on the same; the task's graph is run on them by ONNX's
reference evaluator. The evaluator computes in single precision, hence the tolerance of 1e-3
of the largest value. One line a task with both differences, exit code 1 when one differs.
"""
import json
import subprocess
import sys

import numpy
import onnx
import onnx.parser
import onnx.reference
import torch


def show(assay, task, *options):
    return subprocess.run([assay, "show", task, *options], check=True, capture_output=True, text=True).stdout


def double(value):
    return value.double() if torch.is_tensor(value) and value.is_floating_point() else value


def outputs_of(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


def worst(mine, theirs):
    differences = []
    for i, (a, b) in enumerate(zip(outputs_of(mine), theirs, strict=True)):
        a, b = a.double().numpy(), b.astype(numpy.float64)
        if a.shape != b.shape:
            raise ValueError(f"output {i} has the shape {a.shape}, not {b.shape}")
        differences.append(float(numpy.abs(a - b).max(initial=0) / (numpy.abs(b).max(initial=0) or 1)))
    return max(differences)


def arguments_of(function):
    return function.__code__.co_varnames[1:function.__code__.co_argcount]


def differences(assay, task):
    torch.set_default_dtype(torch.float32)
    people, judged = {}, {}
    exec(show(assay, task, "--pytorch", "--workload", "small"), people)
    exec(show(assay, task, "--baseline", "torch.eager", "--workload", "small"), judged)
    model = onnx.parser.parse_model(json.loads(show(assay, task, "--json"))["onnx"])
    torch.manual_seed(1)
    weights, inputs = people["get_init_inputs"](), people["get_inputs"]()
    names = arguments_of(people["Model"].__init__)
    candidate = judged["ModelNew"]().double()
    for name, value in zip(names, weights):
        getattr(candidate, name).data = double(value)
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        module = people["Model"](*weights).double()
        mine = [m(*[double(v) for v in inputs]) for m in (module, candidate)]
    feed = {n: v.numpy() for n, v in zip(names, weights)}
    feed |= {n: v.numpy() for n, v in zip(arguments_of(people["Model"].forward), inputs)}
    theirs = onnx.reference.ReferenceEvaluator(model).run(None, feed)
    return [worst(m, theirs) for m in mine]


def main():
    assay, suites = sys.argv[1], sys.argv[2:] or ["kernelbench/1"]
    passed = failed = 0
    for suite in suites:
        tasks = json.loads(subprocess.run([assay, "tasks", suite, "--json"], check=True, capture_output=True,
                                          text=True).stdout)
        for task in tasks:
            try:
                results = differences(assay, task["task"])
            except Exception as e:  # a module that does not run is a difference too
                results = [f"{type(e).__name__}: {e}"]
            good = all(isinstance(r, float) and r < 1e-3 for r in results)
            passed, failed = passed + good, failed + (not good)
            print(task["task"], *(f"{r:.1e}" if isinstance(r, float) else r for r in results), "" if good else "DIFFERS",
                  flush=True)
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
