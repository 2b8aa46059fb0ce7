#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes tasks/kernelbench/levelN/init_arguments.txt: what modules of KernelBench are made with, by tasks' dimensions.

  tools/tasks/init_arguments.py KERNELBENCH LEVEL [--check]

KERNELBENCH is a checkout of KernelBench with its problems in KernelBench/levelN. A problem is made on PyTorch's meta
device with other sizes than the published ones, all of them different, so that an argument that follows a size differs
from one that only has the same value. Where a problem has widths of its own, which the task narrows in other workloads,
the arguments still say what they can; at the published sizes they are right. Needs PyTorch. With --check nothing is
written; what would change is printed.
"""
import argparse
import ast
import math
import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ("# What a ModelNew of these tasks is made with, in the task's dimensions; after a semicolon the numbers that forward\n"
          "# gets next to its tensors. Written by tools/tasks/init_arguments.py\n")
PRIMES = (5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61)
# What sizes are multiples of, for groups and heads divide channels; a larger one where a smaller does not suffice.
STEPS = (16, 512, 1536)


def read_task(path):
    """Its name, its workloads (the full one first), its inputs' dimensions as text: {name: ([dim, ...], is_static)}."""
    text = path.read_text()
    name = re.search(r'"assay.task" : "([^"]+)"', text).group(1)
    loads = {load: {k: int(v) for k, v in re.findall(r"(\w+)=(\d+)", sizes)}
             for load, sizes in re.findall(r'"assay.workload.(\w+)" : "([^"]+)"', text)}
    static = {i for i, how in re.findall(r'"assay.input.(\w+)" : "([^"]+)"', text) if "static" in how.split()}
    signature = re.search(r"^\w+ \((.*?)\)\s*=>", text, re.M | re.S).group(1)
    inputs = {}
    for dims, named in re.findall(r"\w+(?:\[([^\]]*)\])? (\w+)", signature):
        inputs[named] = ([d.strip() for d in dims.split(",")] if dims else [], named in static)
    return name, [loads.pop("full"), *loads.values()], inputs


def problem_of(folder, number):
    found = list(folder.glob(f"{number}_*.py"))
    return found[0] if found else None


def given(source):
    """The globals that are numbers, or lists of numbers, and not computed from others: {name: value}."""
    space, found = {}, {}
    for line in ast.parse(source).body:
        if isinstance(line, ast.Assign) and not any(isinstance(n, (ast.Name, ast.Call)) for n in ast.walk(line.value)):
            exec(compile(ast.Module([line], []), "problem", "exec"), space)
            found.update({target.id: space[target.id] for target in line.targets if isinstance(target, ast.Name)})
    return found


def numbers_of(value):
    return [n for v in value for n in numbers_of(v)] if isinstance(value, (list, tuple)) else [value]


def replaced(value, numbers):
    if isinstance(value, (list, tuple)):
        return type(value)(replaced(v, numbers) for v in value)
    return numbers.get(value, value) if type(value) is int else value


def run(source, changed):
    """The problem's arguments, the shapes of its inputs and of its state, with some globals changed."""
    space = {"__name__": "problem"}
    tree = compile(source, "problem", "exec")
    with torch.device("meta"):
        exec(tree, space)
        space.update(changed)
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
    return init, [tuple(i.shape) for i in inputs if isinstance(i, torch.Tensor)], state_of(model)


def state_of(model):
    return {n.replace(".", "_"): tuple(p.shape) for n, p in model.named_parameters()}


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


def expression(value, changed_value, by_size, full, strange):
    """The argument as text; changed_value is what it is when sizes are others. What cannot be said goes to strange."""
    if isinstance(value, (list, tuple)):
        parts = [expression(v, c, by_size, full, strange) for v, c in zip(value, changed_value)]
        inside = ", ".join(parts) + ("," if isinstance(value, tuple) and len(parts) == 1 else "")
        return f"({inside})" if isinstance(value, tuple) else f"[{inside}]"
    if value == changed_value or isinstance(value, float) and math.isnan(value):
        return repr(value)
    if changed_value in by_size:
        return by_size[changed_value]
    for size, symbol in by_size.items():  # channels of all groups, where the dimension is those of one
        factor = changed_value // size
        if factor and changed_value == factor * size and value == factor * full[symbol]:
            return f"{factor} * {symbol}"
    for size, symbol in by_size.items():  # what one dimension has more than another
        less = by_size.get(size - changed_value)
        if less and value == full[symbol] - full[less]:
            return f"{symbol} - {less}"
    strange.append(changed_value)
    return ""


def derived(source, init, full, inputs, numbers):
    """The arguments as text, found by giving globals other numbers: {(name, value): number}."""
    values = given(source)
    while True:
        changed = {name: replaced(value, {v: n for (own, v), n in numbers.items() if own == name})
                   for name, value in values.items() if any(own == name for own, _ in numbers)}
        changed_init, shapes, state = run(source, changed)
        by_size = {}
        for symbol, size in symbols_of(inputs, shapes, state).items():
            if symbol in full:
                by_size.setdefault(size, symbol)
        strange = []
        parts = [expression(v, c, by_size, full, strange) for v, c in zip(init, changed_init)]
        if not strange:
            return ", ".join(parts)
        # What is not a dimension only has the value of one: a kernel of 3 where there are 3 channels.
        left = {key: n for key, n in numbers.items() if n not in strange}
        if len(left) == len(numbers):
            raise ValueError(f"{init} becomes {changed_init}, where dimensions are {by_size}")
        numbers = left


def fits(source, text, workloads, inputs):
    """At how many workloads the module that is made with this text has the task's weights."""
    count, space = 0, {"__name__": "problem"}
    for sizes in workloads:
        try:
            with torch.device("meta"):
                exec(compile(source, "problem", "exec"), space)
                state = state_of(space["Model"](*eval(f"[{text}]", {"__builtins__": {}}, dict(sizes))))
        except Exception:  # sizes that go with widths of the problem's own
            continue
        wanted = {n: tuple(int(d) if d.isdigit() else sizes.get(d) for d in dims)
                  for n, (dims, static) in inputs.items() if static and n in state}
        count += all(None in shape or state[n] == shape for n, shape in wanted.items())
    return count


def with_others(source, text, count, full, workloads, inputs):
    """The text with another dimension of the same published size in one place, where more workloads fit so."""
    for place in re.finditer(r"[A-Za-z_]\w*", text):
        for other, size in full.items():
            if size != full.get(place[0]) or other == place[0]:
                continue
            changed = text[:place.start()] + other + text[place.end():]
            now = fits(source, changed, workloads, inputs)
            if now > count:
                return changed, now
    return text, count


def derive(task_path, problem_path):
    name, workloads, inputs = read_task(task_path)
    source, full, space = problem_path.read_text(), workloads[0], {}
    with torch.device("meta"):
        exec(compile(source, "problem", "exec"), space)
        init, call = space["get_init_inputs"](), space["get_inputs"]()
    numbers = ", ".join(repr(value) for value in call if isinstance(value, (int, float)))
    after = f"; {numbers}" if numbers else ""
    if not init:
        return name, after
    sizes = set(full.values())
    fixed = {int(d) for dims, _ in inputs.values() for d in dims if d.isdigit()} - sizes
    # The number of groups divides the channels, and stays; so do extents that are numbers in the task.
    keys = [(n, v) for n, value in given(source).items() for v in dict.fromkeys(numbers_of(value))
            if type(v) is int and (v in sizes or re.search("channels|features|clusters", n)) and v not in fixed and
            not n.startswith("_") and "group" not in n]
    best, most, why = None, -1, None
    # Numbers of their own for all; the same for widths of the same value; all but one, which something else divides.
    ways = [(step, together, None) for together in (False, True) for step in STEPS]
    ways += [(STEPS[-1], False, key) for key in keys]
    for step, together, without in ways:
        primes, numbers = iter(PRIMES), {}
        for key in keys:
            same = [n for (own, v), n in numbers.items() if v == key[1] and "batch" not in own + key[0]]
            if key != without:
                numbers[key] = same[0] if together and same else step * next(primes)
        try:
            text = derived(source, init, full, inputs, numbers)
        except Exception as error:
            why = why or error
            continue
        count = fits(source, text, workloads, inputs)
        if count < len(workloads):
            text, count = with_others(source, text, count, full, workloads, inputs)
        if count > most:
            best, most = text, count
        if count == len(workloads):
            break
    if best is None:
        raise why
    return name, best + after


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
        try:
            name, text = derive(path, problem)
            lines.append(f"{name}: {text}\n" if text else f"{name}:\n")
        except Exception as error:
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
