#!/usr/bin/env python3
"""Writes tasks/kernelbench/levelN/init_arguments.txt: what the modules of KernelBench are made with, in the tasks' dimensions.

  tools/init_arguments.py KERNELBENCH LEVEL [--check]

KERNELBENCH is a checkout of KernelBench with its problems in KernelBench/levelN. A problem is made on PyTorch's meta
device with other sizes than the published ones, all of them different, so that an argument that follows a size is told
from one that only has the same value. Needs PyTorch. With --check nothing is written; what would change is printed.
"""
import argparse
import math
import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = "# What a ModelNew of these tasks is made with, in the task's dimensions: written by tools/init_arguments.py\n"
PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37)
# What sizes are multiples of, for groups have to divide channels; the larger one where the smaller does not suffice.
STEPS = (16, 512)


def read_task(path):
    """Its name, the full workload, and the dimensions of its inputs as text: {name: ([dim, ...], is_static)}."""
    text = path.read_text()
    name = re.search(r'"assay.task" : "([^"]+)"', text).group(1)
    full = dict((k, int(v)) for k, v in re.findall(
        r"(\w+)=(\d+)", re.search(r'"assay.workload.full" : "([^"]+)"', text).group(1)))
    static = {i for i, how in re.findall(r'"assay.input.(\w+)" : "([^"]+)"', text) if how.split()[-1] == "static"}
    signature = re.search(r"^\w+ \((.*?)\) => ", text, re.M).group(1)
    inputs = {}
    for dims, named in re.findall(r"\w+(?:\[([^\]]*)\])? (\w+)", signature):
        inputs[named] = ([d.strip() for d in dims.split(",")] if dims else [], named in static)
    return name, full, inputs


def problem_of(folder, number):
    found = list(folder.glob(f"{number}_*.py"))
    return found[0] if found else None


def run(source, changed):
    """The problem's arguments, the shapes of its inputs and of its state, with some globals changed."""
    space = {"__name__": "problem"}
    tree = compile(source, "problem", "exec")
    with torch.device("meta"):
        exec(tree, space)
        for name, value in changed.items():
            space[name] = value
        # Globals that were computed from others (shapes of biases) follow.
        for line in source.splitlines():
            match = re.match(r"(\w+)\s*=\s*[^=]", line)
            if match and match.group(1) not in changed:
                try:
                    exec(line, space)
                except Exception:  # a statement of several lines: it keeps its value
                    pass
        init = space["get_init_inputs"]()
        model = space["Model"](*init)
        inputs = space["get_inputs"]()
    return init, [tuple(i.shape) for i in inputs if isinstance(i, torch.Tensor)], {
        n.replace(".", "_"): tuple(p.shape) for n, p in model.named_parameters()}


def symbols_of(inputs, shapes, state):
    """Which dimension has which size."""
    found = {}
    given = iter(shapes)
    left = [s for n, s in state.items() if n not in inputs]
    for name, (dims, static) in inputs.items():
        if static:
            shape = state.get(name) or next((s for s in left if len(s) == len(dims)), None)
            if name not in state and shape is not None:
                left.remove(shape)
        else:
            shape = next(given, None)
        if shape is None or len(shape) != len(dims):
            continue
        for dim, size in zip(dims, shape):
            if re.fullmatch(r"[A-Za-z]\w*", dim):
                found.setdefault(dim, size)
    return found


def expression(value, changed_value, by_size, full):
    """The argument as text; changed_value is what it is when sizes are others."""
    if isinstance(value, (list, tuple)):
        parts = [expression(v, c, by_size, full) for v, c in zip(value, changed_value)]
        if None in parts:
            return None
        inside = ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if value == changed_value or isinstance(value, float) and math.isnan(value):
        return repr(value)
    if changed_value in by_size:
        return by_size[changed_value]
    for size, symbol in by_size.items():  # channels of all groups, where the dimension is those of one
        factor = changed_value // size
        if changed_value == factor * size and value == factor * full[symbol]:
            return f"{factor} * {symbol}"
    return None


def derive(task_path, problem_path, step):
    name, full, inputs = read_task(task_path)
    source = problem_path.read_text()
    space = {}
    with torch.device("meta"):
        exec(compile(source, "problem", "exec"), space)
    sizes = set(full.values())
    fixed = {int(d) for dims, _ in inputs.values() for d in dims if d.isdigit()} - sizes
    # The number of groups divides the channels, and stays; so do extents that are numbers in the task.
    names = [n for n, v in space.items()
             if type(v) is int and (v in sizes or re.search("channels|features", n)) and v not in fixed and
             not n.startswith("_") and "group" not in n]
    changed = {n: step * p for n, p in zip(names, PRIMES)}
    init = space["get_init_inputs"]()
    while True:
        changed_init, shapes, state = run(source, changed)
        symbols = symbols_of(inputs, shapes, state)
        by_size = {}
        for symbol, size in symbols.items():
            if symbol in full:
                by_size.setdefault(size, symbol)
        parts = [expression(v, c, by_size, full) for v, c in zip(init, changed_init)]
        if None not in parts:
            return name, ", ".join(parts)
        # What is no dimension only has the value of one: a kernel of 3 beside 3 channels.
        strange = {c for p, c in zip(parts, changed_init) if p is None}
        left = {n: v for n, v in changed.items() if v not in strange}
        if len(left) == len(changed):
            raise ValueError(f"{init} becomes {changed_init}, where dimensions are {symbols}")
        changed = left


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kernelbench", type=pathlib.Path)
    parser.add_argument("level", type=int)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    folder = ROOT / "tasks" / "kernelbench" / f"level{options.level}"
    problems = options.kernelbench / "KernelBench" / f"level{options.level}"
    lines, failed = [HEADER], 0
    for path in sorted(folder.glob("*.onnxtxt")):
        number = int(path.name.split("_")[0])
        problem = problem_of(problems, number)
        for step in STEPS:
            try:
                name, text = derive(path, problem, step)
                lines.append(f"{name}: {text}\n" if text else f"{name}:\n")
                break
            except Exception as error:
                if step == STEPS[-1]:
                    failed += 1
                    print(f"{path.name}: {type(error).__name__}: {error}", file=sys.stderr)
    text, target = "".join(lines), folder / "init_arguments.txt"
    if not options.check:
        target.write_text(text)
    elif not target.exists() or target.read_text() != text:
        print(f"{target} is not what it would be made")
        return 1
    print(f"{len(lines) - 1} tasks, {failed} without")
    return 0


if __name__ == "__main__":
    sys.exit(main())
