#!/usr/bin/env python3
"""Holds the tasks of KernelBench level 3 against the original modules, run in PyTorch on what Assay draws.

usage: compare_networks.py ANSWERS CHECKOUT [--probes] [--workloads=A,B] [--csv=FILE] [NUMBER...]

ANSWERS is the program of that name that the tests build, CHECKOUT one of KernelBench; needs the package torch. For
every task and each small and ragged workload, the original is made at the workload's widths (the layers' constructors
are given the widths that the task's symbols stand for) and run in training mode with the weights and data that Assay
draws: in double precision, whose result is held against the oracle's exact answer, and in single precision, whose
result is shown to the judge. --probes: the same in single precision under every probe, at the ragged workloads. At the
published sizes, names, shapes and initial distributions of all parameters are compared without data. One line a task
(--csv: a row a workload);
exit code 1 when a double result is beyond 1e-12 of the largest output (and 1e-7 of the single one's error), a single
one fails, or a parameter differs.
"""
import contextlib
import csv
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import numpy
import torch
from torch import nn

import level3_sequences

HOUSE = pathlib.Path(__file__).resolve().parent.parent
warnings.filterwarnings("ignore")  # of layers that run slower than they could
LIMIT = 1e-12
SINGLE_PART = 1e-7  # of what single precision misses, where that is more: networks that magnify roundings
PASSES = 16
PROBES = ("zero_mean", "row_scales", "heavy_mean", "integers", "subnormal")
UNUSED = level3_sequences.UNUSED  # problem: parameters that the original never uses
# Constructor arguments that are not widths of layers, by the symbol that stands for them: problem -> {name: symbol}.
ARGUMENTS = {31: {"embed_dim": "C128"}, 32: {"embed_dim": "C128", "num_classes": "CLASSES"},
             46: {"num_clusters": "K", "feature_size": "D"}, 47: {"num_clusters": "K", "feature_size": "D"}}
ARGUMENTS[28] = {"dim": "C512", "mlp_dim": "C2048", "image_size": "H", "num_classes": "CLASSES"}
ARGUMENTS.update(level3_sequences.ORIGINALS)
# Texts of an original that hard-code extents: problem -> {text: how it reads with the workload's symbols}.
TEXTS = {4: {"16*5*5": "{FEATURES}"},
         28: {"x[:, 0]": "x[:, 1]"},  # the token of the default form
         29: {"embed_dim=96": "embed_dim={C96}", "num_classes=1000": "num_classes={CLASSES}"},
         32: {"embed_dim * num_patches": "{FEATURES}"},
         46: {"ghost_clusters = 16": "ghost_clusters = {KG} - {K}"}}
TEXTS[30] = TEXTS[29]
DTYPES = {"float": numpy.float32, "bool": numpy.bool_, "int64": numpy.int64}


class Task:
    def __init__(self, path):
        self.path, self.number = path, int(path.name[:3])
        text = path.read_text()
        self.properties = dict(re.findall(r'"(assay\.[^"]+)" : "([^"]*)"', text))
        head = text.split("\n>\n", 1)[1].split("=>")[0]
        inputs = re.findall(r"(\w+)(\[[^\]]*\])? (\w+)\s*[,)]", head)
        self.dims = {name: re.findall(r"\w+", dims) for _, dims, name in inputs}
        self.dtypes = {name: dtype for dtype, _, name in inputs}

    def sizes(self, workload):
        pairs = (pair.split("=") for pair in self.properties["assay.workload." + workload].split(","))
        return {symbol.strip(): int(value) for symbol, value in pairs}

    def workloads(self):
        names = [key.rsplit(".", 1)[1] for key in self.properties if key.startswith("assay.workload.")]
        return [name for name in names if name != "full"]

    def probes(self):
        """The default ones that the task keeps."""
        dropped = [p.strip()[1:] for p in self.properties.get("assay.probes", "").split(",") if p.strip()[:1] == "-"]
        return [p for p in PROBES if p not in dropped]

    def published(self, name):
        return self.properties.get("assay.published.input." + name, self.properties["assay.input." + name])

    def shape(self, name, sizes):
        return tuple(int(d) if d.isdigit() else sizes[d] for d in self.dims[name])

    def weights(self):
        return [name for name in self.dims if "static" in self.published(name)]

    def data(self):
        return [name for name in self.dims if "static" not in self.published(name)]


@contextlib.contextmanager
def narrowed(widths):
    """Layers made inside have the widths' images instead."""
    positions = {nn.Conv1d: 2, nn.Conv2d: 2, nn.ConvTranspose2d: 2, nn.Linear: 2, nn.BatchNorm1d: 1, nn.BatchNorm2d: 1,
                 nn.LayerNorm: 1}
    named = ("in_channels", "out_channels", "in_features", "out_features", "num_features")
    saved = {cls: cls.__init__ for cls in positions}

    def image(v):
        return tuple(map(image, v)) if isinstance(v, (tuple, list)) else widths.get(v, v)

    def patch(cls, init, count):
        def narrow(self, *args, **keywords):
            args = [image(a) if i < count else a for i, a in enumerate(args)]
            init(self, *args, **{k: image(v) if k in named else v for k, v in keywords.items()})
        cls.__init__ = narrow

    for cls, init in saved.items():
        patch(cls, init, positions[cls])
    try:
        yield
    finally:
        for cls, init in saved.items():
            cls.__init__ = init


def widths_of(task, sizes):
    """What the workload makes of each published width: symbols C64, G8 (a group's), CLASSES, FEATURES."""
    full = task.sizes("full")
    return {n: sizes[symbol] for symbol, n in full.items()
            if symbol in ("CLASSES", "FEATURES") or re.fullmatch(r"[CF]\d+", symbol)}


def original(task, path, sizes):
    text, full = path.read_text(), task.sizes("full")
    for old, new in TEXTS.get(task.number, {}).items():
        assert old in text, old
        text = text.replace(old, new.format(**sizes))
    for name, symbol in ARGUMENTS.get(task.number, {}).items():
        text, count = re.subn(rf"(?m)^{name} *= *{full[symbol]}\b", f"{name} = {sizes[symbol]}", text)
        assert count == 1, name
    names = {"__name__": "original"}
    exec(compile(text, str(path), "exec"), names)
    widths = {} if task.number in ARGUMENTS or task.number in (29, 30) else widths_of(task, sizes)
    with narrowed(widths):
        return names["Model"](*names["get_init_inputs"]())


def file_names(model):
    return {name: name.replace(".", "_") for name, _ in model.named_parameters()}


def parameters_differ(task, path):
    sizes, names, wrong, seen = task.sizes("full"), {"__name__": "original"}, [], set()
    exec(compile(path.read_text(), str(path), "exec"), names)
    with torch.device("cpu" if task.number in (29, 30) else "meta"):  # these two read numbers that they make
        inputs = names["get_inputs"]()
        model = names["Model"](*names["get_init_inputs"]())
    data = [name for name in task.data() if name not in level3_sequences.DRAWN.get(task.number, ())]
    if [tuple(x.shape) for x in inputs] != [task.shape(name, sizes) for name in data]:
        wrong.append(f"inputs {task.data()}")
    for prefix, module in model.named_modules():
        for own, parameter in module.named_parameters(recurse=False):
            name = f"{prefix}.{own}".lstrip(".").replace(".", "_")
            seen.add(name)
            if name in UNUSED.get(task.number, ()):
                continue
            if name not in task.dims or tuple(parameter.shape) != task.shape(name, sizes):
                wrong.append(f"{name} {tuple(parameter.shape)}")
                continue
            wanted = None
            if isinstance(module, (nn.Linear, nn.modules.conv._ConvNd)) and task.number != 20:
                bound = 1 / math.sqrt(nn.init._calculate_fan_in_and_fan_out(module.weight)[0])
                zero = own == "bias" and prefix.endswith("out_proj")  # attention's, made zero behind
                wanted = "constant(0) static" if zero else f"uniform({-bound:.8g}, {bound:.8g}) static"
            elif isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.LayerNorm)):
                wanted = f"constant({int(own == 'weight')}) static"
            elif isinstance(module, nn.RNNBase):
                bound = 1 / math.sqrt(module.hidden_size)
                wanted = f"uniform({-bound:.8g}, {bound:.8g}) static"
            if wanted and task.published(name).removesuffix(" fixed") != wanted:
                wrong.append(f"{name}: {task.published(name)}, not {wanted}")
    return wrong + [f"{name} is not the original's" for name in task.weights() if name not in seen]


class Program:
    """The program `answers`."""

    def __init__(self, path):
        self.path = path

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *map(str, arguments)], capture_output=True, text=True)
        if done.returncode:
            raise ValueError(done.stderr.strip())
        return done.stdout


def run(task, model, sizes, folder, dtype):
    """The original on the files of a draw."""
    model = model.to(dtype).requires_grad_(False)
    for module in model.modules():
        if isinstance(getattr(module, "eps", None), float):
            module.eps = float(numpy.float32(module.eps))  # as ONNX has it
    load = lambda name: torch.from_numpy(numpy.fromfile(folder / name, DTYPES[task.dtypes[name]])
                                         .reshape(task.shape(name, sizes)))
    for name, parameter in model.named_parameters():
        name = name.replace(".", "_")
        if name not in UNUSED.get(task.number, ()):
            parameter.copy_(load(name))
    inputs = [load(name) for name in task.data()]
    for name, buffer in model.named_buffers():
        if name.endswith(("running_mean", "running_var")):
            buffer.fill_(float(name.endswith("var")))
    assert model.training
    with torch.no_grad():
        y = model(*[x.to(dtype) if x.is_floating_point() else x for x in inputs])
    y.double().numpy().tofile(folder / "y")


def judged(task, model, sizes, answers, bindings, probe, key):
    """A single-precision run's verdict: (text, whether it passes)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        answers("draw", task.path, bindings, probe, key, folder)
        run(task, model, sizes, folder, torch.float32)
        text = answers("check", task.path, bindings, folder, PASSES)
    return text, "PASS" in text or "not representable" in text


def compared(task, path, workload, answers, probes):
    sizes = task.sizes(workload)
    bindings = ", ".join(f"{k}={v}" for k, v in sizes.items())
    row, wrong = {}, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        answers("draw", task.path, bindings, "declared", 7, folder)
        run(task, original(task, path, sizes), sizes, folder, torch.float64)
        row["error"] = float(answers("check", task.path, bindings, folder).split()[2])
        run(task, original(task, path, sizes), sizes, folder, torch.float32)
        text = answers("check", task.path, bindings, folder, PASSES).strip()
    verdict = re.search(r"(PASS|FAIL) z (\S+) of (\S+) rms (\S+)", text).groups()
    row.update(zip(("single", "z", "limit", "rms"), verdict))
    row["single_error"] = float(text.split()[2])
    if not row["error"] <= max(LIMIT, SINGLE_PART * row["single_error"]):
        wrong.append(f"{workload}: {row['error']:.1e} is beyond {LIMIT}")
    if row["single"] != "PASS":
        wrong.append(f"{workload}: single precision fails: {text}")
    for probe in task.probes() if probes and workload != "small" else ():
        text, passes = judged(task, original(task, path, sizes), sizes, answers, bindings, probe, 3)
        row[probe] = text.strip()
        if not passes:
            wrong.append(f"{workload}, {probe}: {text.strip()}")
    return row, wrong


def main():
    options = [a for a in sys.argv[1:] if a.startswith("--")]
    rest = [a for a in sys.argv[1:] if not a.startswith("--")]
    if len(rest) < 2:
        sys.exit(__doc__)
    answers, folder = Program(rest[0]), pathlib.Path(rest[1]) / "KernelBench" / "level3"
    value = lambda name: next((o.split("=", 1)[1] for o in options if o.startswith(f"--{name}=")), None)
    only = value("workloads")
    paths = {int(path.name.split("_")[0]): path for path in folder.glob("*.py")}
    tasks = [Task(p) for p in sorted((HOUSE / "tasks" / "kernelbench" / "level3").glob("*.onnxtxt"))]
    chosen = [t for t in tasks if not rest[2:] or str(t.number) in rest[2:]]
    bad, table = 0, {}
    for task in chosen:
        rows, wrong = {}, []
        try:
            wrong = parameters_differ(task, paths[task.number])
            for workload in only.split(",") if only else task.workloads():
                rows[workload], more = compared(task, paths[task.number], workload, answers, "--probes" in options)
                wrong += more
        except Exception as e:
            wrong.append(f"{type(e).__name__}: {str(e)[:300]}")
        bad += bool(wrong)
        table[task.number] = rows
        cells = [f"{w} {r['error']:.0e} fp32 {r['single_error']:.0e} z {r['z']}/{r['limit']} rms {r['rms']}"
                 for w, r in rows.items()]
        print(f"kernelbench/3/{task.number}: {'; '.join(cells)}", *wrong[:12], sep="\n  " if wrong else " ", flush=True)
    if value("csv"):
        with open(value("csv"), "w", newline="") as file:
            out = csv.writer(file, lineterminator="\n")
            out.writerow(["id", "workload", "double_error", "single_error", "z", "z_limit", "z_rms"])
            for number, rows in table.items():
                for name, r in rows.items():
                    errors = [f"{r['error']:.0e}", f"{r['single_error']:.0e}"]
                    out.writerow([number, name, *errors, r["z"], r["limit"], r["rms"]])
    print(f"{len(chosen)} tasks, {bad} differ")
    sys.exit(bad > 0)


if __name__ == "__main__":
    main()
