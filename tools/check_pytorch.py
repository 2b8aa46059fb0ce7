#!/usr/bin/env python3
"""Holds the PyTorch modules that `assay show --pytorch` prints against the task files.

usage: check_pytorch.py ASSAY [SUITE]      (needs the packages torch and onnx >= 1.22)

Grouped transposed convolutions (1/72, 1/75) cannot be compared: the reference evaluator does not know them.

For every task the printed module is run in double precision on inputs of the workload `small` that it draws itself;
the task's graph is run on the same inputs by ONNX's reference evaluator. One line a task, exit code 1 when one
differs.
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


def difference(assay, task):
    torch.set_default_dtype(torch.float32)
    module = {}
    exec(show(assay, task, "--pytorch", "--workload", "small"), module)
    model = onnx.parser.parse_model(json.loads(show(assay, task, "--json"))["onnx"])
    torch.manual_seed(1)
    weights, inputs = module["get_init_inputs"](), module["get_inputs"]()
    names = module["Model"].__init__.__code__.co_varnames[1:module["Model"].__init__.__code__.co_argcount]
    torch.set_default_dtype(torch.float64)
    with torch.no_grad():
        m = module["Model"](*weights).double()
        mine = m(*[double(v) for v in inputs])
    argument_names = module["Model"].forward.__code__.co_varnames[1:module["Model"].forward.__code__.co_argcount]
    feed = {n: v.numpy() for n, v in zip(names, weights)} | {n: v.numpy() for n, v in zip(argument_names, inputs)}
    theirs = onnx.reference.ReferenceEvaluator(model).run(None, feed)[0].astype(numpy.float64)
    mine = mine.numpy().astype(numpy.float64)
    if mine.shape != theirs.shape:
        return f"shape {mine.shape} is not {theirs.shape}"
    scale = numpy.abs(theirs).max() or 1
    return float(numpy.abs(mine - theirs).max() / scale)


def main():
    assay, suite = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "kernelbench/1"
    tasks = json.loads(subprocess.run([assay, "tasks", suite, "--json"], check=True, capture_output=True,
                                      text=True).stdout)
    passed = failed = 0
    for task in tasks:
        try:
            result = difference(assay, task["task"])
        except Exception as e:  # a module that does not run is a difference too
            result = f"{type(e).__name__}: {e}"
        good = isinstance(result, float) and result < 1e-4
        passed, failed = passed + good, failed + (not good)
        print(task["task"], f"{result:.1e}" if isinstance(result, float) else result, "" if good else "DIFFERS")
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
