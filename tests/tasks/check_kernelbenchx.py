#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every task of KernelBench-X with ONNX's own Python package, and the table of the comparison with the references.

usage: check_kernelbenchx.py TOOLS TABLE [SCRIPT]

SCRIPT: the module that has the suite, make_kernelbenchx unless said otherwise; make_fusedops has another one.

The files are what the generator's table says (tasks_authored_x holds that); here each is parsed, checked and, at every
workload, run through ONNX's shape inference, with the limits of the small and ragged ones. TABLE, which
tools/tasks/compare_kernelbenchx.py writes, has a row for each task and each of those workloads, twice where the reference
is not what its description says, and one for the sizes of the ladder; every row has numbers or a reason. How functions of
the suite's form are called (tools/tasks/kernelbenchx_calls.py) is said of each task, in names that the task has.
"""
import ast
import builtins
import collections
import csv
import importlib
import math
import sys

from check_tasks import RAGGED_LIMIT, SMALL_LIMIT, bound_copy, declared_outputs, onnx, require, shapes


def check(task):
    """Raises what is wrong with a task's file."""
    model = onnx.parser.parse_model(task.path().read_text())
    onnx.checker.check_model(model)
    for name, bindings in task.workloads.items():
        values = name == "small" or name.startswith("ragged")  # constants of the other sizes would take gigabytes
        inferred = onnx.shape_inference.infer_shapes(bound_copy(model, bindings), check_type=True, data_prop=values)
        inputs, outputs = shapes(inferred.graph.input), shapes(inferred.graph.output)
        for (_, found), (_, declared) in zip(outputs, declared_outputs(model, bindings), strict=True):
            require(all(0 in (a, b) or a == b for a, b in zip(found, declared)), f"{name}: {found}, not {declared}")
        limit = {"small": SMALL_LIMIT}.get(name, RAGGED_LIMIT[1] if name.startswith("ragged") else None)
        largest = max(math.prod(dims) for _, dims in inputs + outputs)
        require(limit is None or largest <= limit, f"{name}: a tensor has {largest} elements, more than {limit}")


def check_call(task):
    """Raises where init_arguments.txt does not say how a function for this task is called."""
    lines = (task.path().parent / "init_arguments.txt").read_text().splitlines()
    parts = next((line.split(";") for line in lines if line.startswith(f"{task.name}:")), [])
    require(len(parts) == 5, "init_arguments.txt does not say how it is called: run tools/tasks/kernelbenchx_calls.py")
    expression, signature = parts[2].strip(), parts[3].strip()
    require(bool(expression) == bool(signature), "a call without a signature, or the other way round")
    if (task.mathematics or "").startswith(f"{task.stem}("):
        require(expression == task.mathematics, f"the default form is {task.mathematics}, and functions are called as {expression}")
    known = {"torch", "F", *dir(builtins), *(i.name for i in task.inputs), *task.workloads["small"], signature.partition("(")[0]}
    used = [n for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.Name)]
    own = {n.id for n in used if isinstance(n.ctx, ast.Store)} | {n.arg for n in ast.walk(ast.parse(expression)) if isinstance(n, ast.arg)}
    require({n.id for n in used} <= known | own, f"{expression}: {sorted({n.id for n in used} - known - own)}?")


def main():
    sys.path.insert(0, sys.argv[1])
    suite = importlib.import_module(sys.argv[3] if len(sys.argv) > 3 else "make_kernelbenchx").SUITE
    with open(sys.argv[2], newline="") as file:
        rows = list(csv.DictReader(file))
    found, wrong = collections.Counter((row["task"], row["workload"]) for row in rows), []
    wanted = {(t.name, w): 1 + bool(t.mathematics) for t in suite.tasks.values() for w in t.compared()}
    wanted |= {(t.name, "ladder"): 1 for t in suite.tasks.values()}
    for task in suite.tasks.values():
        try:
            check(task)
            if task.name.startswith("kernelbenchx/"):
                check_call(task)
        except Exception as error:  # onnx raises its own kinds; each is a failure of this file
            wrong.append(f"{task.path()}: {error}")
    wrong += [f"{task} {workload}: {found[task, workload]} rows, not {wanted.get((task, workload), 0)}"
              for task, workload in sorted(set(wanted) | set(found))
              if found[task, workload] != wanted.get((task, workload), 0)]
    wrong += [f"{row['task']} {row['workload']}: neither numbers nor a reason" for row in rows
              if not (row["double_error"] and row["z"]) and not row["reason"]]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len(suite.tasks)} tasks, {len(rows)} rows")


if __name__ == "__main__":
    main()
