#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Honest candidates in PyTorch that hold at every shape of a task: what `assay show TASK --pytorch` prints, with its
weights made for the dimensions at hand. (A baseline, torch.eager, is a module for the sizes of one workload.)

    bench/general.py ASSAY FOLDER TASK...        a file for each: kernelbench_3_28.py, ...
"""
import json
import pathlib
import re
import subprocess
import sys

TAIL = '''

class ModelNew(Model):
    def __init__(self, {dimensions}):
        super().__init__({weights})


def get_init_inputs({dimensions}):
    return [{dimensions}]
'''


def candidate(assay, task):
    done = subprocess.run([assay, "show", task, "--json"], capture_output=True, text=True, check=True)
    shown = json.loads(done.stdout)
    text = subprocess.run([assay, "show", task, "--pytorch"], capture_output=True, text=True, check=True).stdout
    module = text[:text.index("def get_inputs(")].rstrip()
    static = re.findall(r'"assay\.input\.(\w+)" : "[^"]*\bstatic\b', shown["onnx"])
    signature = re.search(r"^\w+ \((.*)\) => ", shown["onnx"], re.M).group(1)
    shapes = {name: dims for dims, name in re.findall(r"\w+\[([^]]*)\] (\w+)", signature)}
    dimensions = re.findall(r"(\w+)=", re.search(r'"assay\.workload\.small" : "([^"]*)"', shown["onnx"]).group(1))
    weights = ", ".join(f"torch.empty(({shapes[name]},))" for name in shapes if name in static)
    head = f"# assay: task {task}\n{module}\ntorch.backends.cudnn.allow_tf32 = False\n"
    return head + TAIL.format(dimensions=", ".join(dimensions), weights=weights)


def write(assay, folder, tasks):
    """The files, in the order of the tasks; what has no translation to PyTorch is left out, and said."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for task in tasks:
        try:
            text = candidate(assay, task)
        except subprocess.CalledProcessError as e:
            print(f"{task}: {(e.stderr or '').strip()[-200:]}", file=sys.stderr)
            continue
        paths.append(folder / f"{task.replace('/', '_')}.py")
        paths[-1].write_text(text, encoding="utf-8")
    return paths


if __name__ == "__main__":
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    write(sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:])
