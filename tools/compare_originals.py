#!/usr/bin/env python3
"""Holds the tasks of KernelBench level 2 against the original modules, run in PyTorch on the same inputs and weights.

usage: compare_originals.py ASSAY CHECKOUT [FIRST [LAST]]      (needs the package torch; CHECKOUT: of KernelBench)

For every task the original is made at the sizes of each small and ragged workload (its module-level constants are
overridden), put into double precision with weights moved away from their defaults, and run in training mode; beside it
runs the module that `assay show --pytorch --as-published` prints, with the original's weights by name. At the published
sizes, names, shapes and initial distributions of all parameters are compared without data. One line a task, with the
largest error of each workload over the largest output; exit code 1 when one is beyond 1e-12 or a parameter differs.
(tools/check_pytorch.py holds the printed modules against the tasks' graphs.)
"""
import ast
import inspect
import json
import math
import pathlib
import re
import subprocess
import sys

import torch

# Symbols of the task files, and the constants of the originals that they stand for.
CONSTANTS = {"N": ["batch_size"], "M": ["batch_size"], "CI": ["in_channels"], "CO": ["out_channels"], "D": ["depth", "D"],
             "H": ["height", "H"], "W": ["width", "W"], "K": ["in_features", "input_size"]}
OUTPUTS = ("out_features", "hidden_size", "output_size")  # of linear layers: N
# Their layer normalisations have the channels' size over the width, which only fits where the two agree.
OWN_SIZES = {3: {"N": 2, "CI": 3, "CO": 16, "D": 2, "H": 3, "W": 8, "OW": 16}}
OWN_SIZES[34] = OWN_SIZES[3]
UNUSED = {26: {"bias"}}  # parameters that the original never uses
LIMIT = 1e-12


class Kept(torch.nn.Module):
    """A dropout that keeps what it is told to."""

    def __init__(self, keep, p):
        super().__init__()
        self.keep, self.p = keep, p

    def forward(self, x):
        return x * self.keep / (1 - self.p)


class Task:
    def __init__(self, assay, number):
        self.assay, self.number = assay, number
        self.text = json.loads(self.show("--json"))["onnx"]
        self.properties = dict(re.findall(r'"(assay\.[^"]+)" : "([^"]*)"', self.text))
        head = next(line for line in self.text.splitlines() if " => " in line).split("=>")[0]
        self.dims = {name: re.findall(r"\w+", dims) for dims, name in re.findall(r"\w+(\[[^\]]*\])? (\w+)[,)]", head)}

    def show(self, *options):
        return subprocess.run([self.assay, "show", f"kernelbench/2/{self.number}", *options], check=True,
                              capture_output=True, text=True).stdout

    def sizes(self, workload):
        pairs = (pair.split("=") for pair in self.properties["assay.workload." + workload].split(","))
        return {symbol.strip(): int(value) for symbol, value in pairs}

    def workloads(self):
        names = [key.rsplit(".", 1)[1] for key in self.properties if key.startswith("assay.workload.")]
        return ["small"] if self.number in OWN_SIZES else [name for name in names if name != "full"]

    def distribution(self, name):
        return self.properties.get("assay.published.input." + name, self.properties["assay.input." + name])

    def shape(self, name, sizes):
        return tuple(int(d) if d.isdigit() else sizes[d] for d in self.dims[name])

    def weights(self):
        return [name for name in self.dims if "static" in self.distribution(name)]


def original(path, number, sizes):
    """The original's names, its constants overridden as its text is run."""
    linear = "M" in sizes
    constants = {name: value for symbol, value in sizes.items() if not (linear and symbol == "N")
                 for name in CONSTANTS.get(symbol, [])}
    if linear:
        constants.update({45: {"hidden_size": sizes["N"], "output_size": sizes.get("P")}}.get(number) or
                         dict.fromkeys(OUTPUTS, sizes["N"]))
    names = {}
    for statement in ast.parse(path.read_text()).body:
        exec(compile(ast.Module([statement], []), str(path), "exec"), names)
        if isinstance(statement, ast.Assign):
            names.update({k: v for k, v in constants.items() if isinstance(names.get(k), int) and v is not None})
    return names


def parameters_differ(task, path):
    sizes, names, wrong, seen = task.sizes("full"), {}, [], set()
    exec(path.read_text(), names)
    with torch.device("meta"):
        model, inputs = names["Model"](*names["get_init_inputs"]()), names["get_inputs"]()
    data = [name for name in task.dims if name not in task.weights() and name != "keep"]
    if [tuple(x.shape) for x in inputs] != [task.shape(name, sizes) for name in data]:
        wrong.append(f"inputs {data}")
    for prefix, module in model.named_modules():
        for own, parameter in module.named_parameters(recurse=False):
            name = f"{prefix}.{own}".lstrip(".").replace(".", "_")
            seen.add(name)
            if name in UNUSED.get(task.number, ()):
                continue
            if name not in task.dims or tuple(parameter.shape) != task.shape(name, sizes):
                wrong.append(f"{name} {tuple(parameter.shape)}")
                continue
            if isinstance(module, (torch.nn.Linear, torch.nn.modules.conv._ConvNd)):
                bound = 1 / math.sqrt(torch.nn.init._calculate_fan_in_and_fan_out(module.weight)[0])
                wanted = f"uniform({-bound:.8g}, {bound:.8g}) static"
            else:  # normalisations; the model's own parameters are drawn in its text
                wanted = f"constant({int(own == 'weight')}) static" if prefix else task.distribution(name)
            if task.distribution(name) != wanted:
                wrong.append(f"{name}: {task.distribution(name)}, not {wanted}")
    return wrong + [f"{name} is not the original's" for name in task.weights() if name not in seen]


def error_of(task, path, workload):
    sizes = OWN_SIZES.get(task.number) or task.sizes(workload)
    names, printed = original(path, task.number, sizes), {}
    torch.manual_seed(task.number)
    model = names["Model"](*names["get_init_inputs"]()).double().requires_grad_(False)
    assert model.training
    for parameter in model.parameters():
        parameter.copy_(parameter + 0.3 * torch.randn_like(parameter))
    exec(task.show("--pytorch", "--as-published", "--workload", ", ".join(f"{k}={v}" for k, v in sizes.items())), printed)
    weights = {name.replace(".", "_"): p.data.clone() for name, p in model.named_parameters()}
    wanted = list(inspect.signature(printed["Model"].__init__).parameters)[1:]
    fed = list(inspect.signature(printed["Model"].forward).parameters)[1:]
    torch.set_default_dtype(torch.float64)
    try:
        inputs = [2 * torch.randn_like(x.double()) for x in names["get_inputs"]()]
        feed = list(inputs)
        if "keep" in fed:
            keep = torch.rand(task.shape("keep", sizes)) < 0.8
            feed.insert(fed.index("keep"), keep)
            model.dropout = Kept(keep.double(), model.dropout.p)
        with torch.no_grad():
            theirs, ours = model(*inputs), printed["Model"](*[weights[name] for name in wanted])(*feed)
    finally:
        torch.set_default_dtype(torch.float32)
    if theirs.shape != ours.shape:
        raise ValueError(f"shape {tuple(theirs.shape)} there, {tuple(ours.shape)} here")
    return float((theirs - ours).abs().max() / max(float(theirs.abs().max()), 1e-300))


def main():
    if not 3 <= len(sys.argv) <= 5:
        sys.exit(__doc__)
    assay, folder = sys.argv[1], pathlib.Path(sys.argv[2]) / "KernelBench" / "level2"
    paths = {int(path.name.split("_")[0]): path for path in folder.glob("*.py")}
    first, last = (int(sys.argv[3]) if len(sys.argv) > 3 else 1), (int(sys.argv[4]) if len(sys.argv) > 4 else 100)
    bad = 0
    for number in range(first, last + 1):
        try:
            task = Task(assay, number)
            wrong = parameters_differ(task, paths[number])
            errors = {name: error_of(task, paths[number], name) for name in task.workloads()}
        except Exception as e:
            wrong, errors = [f"{type(e).__name__}: {str(e)[:200]}"], {}
        wrong += [f"{name} is beyond {LIMIT}" for name, error in errors.items() if not error <= LIMIT]
        bad += bool(wrong)
        print(f"kernelbench/2/{number}", *(f"{error:.0e}" for error in errors.values()), *wrong, flush=True)
    print(f"{last - first + 1} tasks, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
