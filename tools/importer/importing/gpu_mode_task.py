# SPDX-License-Identifier: Apache-2.0
"""A problem of GPU MODE to a task: its ref_kernel on what its generate_input makes."""
import contextlib
import importlib
import json
import pathlib
import re
import sys
import tempfile

import numpy
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

from . import Refused, gpu_mode, module_task, note
from .called import CalledSource, drawn, on_this_machine
from .source_names import plain_name
from .substitutes import install

EXPORT_ELEMENTS = 1 << 22  # of all tensors of the case that is exported, if there is one so small
PLAIN = (int, float, bool, str, type(None))


@contextlib.contextmanager
def files_of(problem, folder):
    """The problem's modules, importable for as long as this lasts."""
    names = list(problem.modules())
    for name, text in problem.modules().items():
        place = pathlib.Path(folder) / f"{name}.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    before = {n: sys.modules.pop(n, None) for n in names}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for n, old in before.items():
            sys.modules.pop(n, None)
            if old is not None:
                sys.modules[n] = old


def reference_of(folder):
    try:
        with on_this_machine():
            module = importlib.import_module("reference")
    except Exception as e:
        raise Refused(f"reference.py cannot be run: {type(e).__name__}: {e}") from e
    for name in ("ref_kernel", "generate_input"):
        if not callable(getattr(module, name, None)):
            raise Refused(f"reference.py has no {name}")
    if not str(getattr(module, "__file__", "")).startswith(str(folder)):
        raise Refused("another module is called reference here")
    return module


class Case:
    """Arguments of generate_input, and what it makes of them: shapes of the tensors, and the numbers among the rest."""

    def __init__(self, arguments, kind, index, data):
        self.arguments, self.kind, self.index = arguments, kind, index
        leaves, self.tree = _pytree.tree_flatten(data)
        for v in leaves:
            if isinstance(v, torch.Tensor) and (v.layout != torch.strided or v.is_complex()):
                raise Refused("what generate_input makes has a " + ("complex" if v.is_complex() else "sparse") + " tensor; "
                              "a task's tensors are dense and real")
        self.shapes = [list(v.shape) for v in leaves if isinstance(v, torch.Tensor)]
        self.others = [v for v in leaves if not isinstance(v, torch.Tensor)]
        for v in self.others:
            if not isinstance(v, PLAIN):
                raise Refused(f"what generate_input makes has an object of class {type(v).__name__}; tensors, numbers and "
                              "texts in tuples, lists and dictionaries are known")
        if not self.shapes:
            raise Refused("what generate_input makes has no tensor in it")
        self.elements = sum(torch.Size(s).numel() for s in self.shapes)
        self.ones = sum(n == 1 for s in self.shapes for n in s)

    def like(self):
        """What cases of one task have in common."""
        return json.dumps([str(self.tree), [len(s) for s in self.shapes], self.others], default=str)


class StandIns(TorchDispatchMode):
    """A number for each that the host asks of a tensor without data (x.item())."""

    def __init__(self):
        super().__init__()
        self.asked = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is not torch.ops.aten._local_scalar_dense.default:
            return func(*args, **(kwargs or {}))
        self.asked += 1
        return 0.5 if args[0].dtype.is_floating_point else args[0].dtype != torch.bool and 1


def sized(module, arguments):
    """What generate_input makes, without data. Numbers that it draws on the host have a stand-in: source_of looks whether
    the extents are those of a call with data."""
    with FakeTensorMode(allow_non_fake_inputs=True), StandIns(), on_this_machine():
        return module.generate_input(**arguments)


def cases_of(problem, module):
    """Those that one task can have; of cases that differ only in numbers that are passed, the most."""
    found, failed = [], None
    for kind, rows in (("tests", problem.tests), ("benchmarks", problem.benchmarks)):
        for k, arguments in enumerate(rows):
            try:
                found.append(Case(arguments, kind, k, sized(module, arguments)))
            except Refused:
                raise
            except Exception as e:
                failed = failed or f"{type(e).__name__}: {e}".split("\n")[0]
    if failed and not found:
        raise Refused(f"generate_input cannot be followed without data, and so the shapes of its cases are not known: {failed}")
    groups = {}
    for c in found:
        groups.setdefault(c.like(), []).append(c)
    kept = max(groups.values(), key=len, default=[])
    if not kept:
        raise Refused(f"{problem.path} has no tests and no benchmarks")
    if len(kept) < len(found):
        note(f"{len(found) - len(kept)} cases are left out: they pass other numbers, or other tensors, than the rest")
    if failed:
        note(f"some cases are left out: {failed}")
    return kept


def axes_of(cases):
    """For every dimension of every tensor: the argument that it always is, None if it never varies, "" otherwise."""
    names = [n for n in cases[0].arguments if n != "seed"]
    varied = len({json.dumps(c.shapes) for c in cases}) > 1
    rows = []
    for k, shape in enumerate(cases[0].shapes):
        row = []
        for d in range(len(shape)):
            sizes = [c.shapes[k][d] for c in cases]
            named = [n for n in names if [c.arguments.get(n) for c in cases] == sizes]
            row.append(None if varied and len(set(sizes)) == 1 else plain_name(named[0]) if named else "")
        rows.append(row)
    return rows


def names_of(problem, data):
    """A name for each tensor of the data: as the reference unpacks it."""
    known = gpu_mode.unpacked(problem.files["reference.py"])
    if isinstance(data, torch.Tensor):
        return ["data"]
    parts = list(data.items()) if isinstance(data, dict) else list(enumerate(data))
    names = []
    for k, (key, part) in enumerate(parts):
        count = sum(isinstance(v, torch.Tensor) for v in _pytree.tree_flatten(part)[0])
        plain = key if isinstance(key, str) and key.isidentifier() else f"data_{key}"
        base = known[k] if known and len(known) == len(parts) else plain
        names += [base] if count == 1 else [f"{base}_{n}" for n in range(count)]
    return names


def expression(tree, texts):
    """The data as Python text; texts: of the leaves."""
    leaves = list(range(len(texts)))
    whole = _pytree.tree_unflatten(leaves, tree)

    def written(part):
        if isinstance(part, int):
            return texts[part]
        if isinstance(part, dict):
            return "{" + ", ".join(f"{k!r}: {written(v)}" for k, v in part.items()) + "}"
        inside = ", ".join(written(v) for v in part)
        return f"[{inside}]" if isinstance(part, list) else f"({inside},)" if len(part) == 1 else f"({inside})"
    return written(whole)


class Data:
    """How a candidate's data are written, once the task's inputs are known. shapes: of every case."""

    def __init__(self, tree, leaves, blank, shapes):
        self.tree, self.leaves, self.blank, self.shapes = tree, leaves, blank, shapes

    def text(self, attempt):
        texts, k = [], 0
        device = attempt.labels[attempt.live[0]] + ".device" if attempt.live else "'cpu'"
        for leaf in self.leaves:
            if not isinstance(leaf, torch.Tensor):
                texts.append(repr(leaf))
                continue
            if k in attempt.live:  # nobody wrote it: it is read for its extents, and the answer is written there
                texts.append(f"torch.empty_like({attempt.labels[k]})" if self.blank[k] else attempt.labels[k])
            else:
                row = "".join(self.extent(attempt, k, i, d) + ", " for i, d in enumerate(attempt.row(k)))
                fill = "empty" if self.blank[k] else "zeros"
                texts.append(f"torch.{fill}(({row}), dtype={leaf.dtype}, device={device})")
            k += 1
        return expression(self.tree, texts)

    def extent(self, attempt, k, i, d):
        """Dimension i of tensor k, which is no input of the task, in the task's dimensions."""
        if isinstance(d, int):
            return str(d)
        if d in attempt.names:
            return attempt.names[d]
        where = {name: next((j, row.index(s)) for j in attempt.live for row in [attempt.row(j)] if s in row)
                 for s, name in attempt.names.items()}
        known = numpy.array([[shapes[j][at] for j, at in where.values()] + [1] for shapes in self.shapes])
        wanted = numpy.array([shapes[k][i] for shapes in self.shapes])
        found = numpy.rint(numpy.linalg.lstsq(known, wanted, rcond=None)[0]).astype(int)
        if not (known @ found == wanted).all():
            raise Refused("a tensor that the reference does not read has an extent that does not follow from those of the "
                          f"others: {', '.join(map(str, wanted))}")
        return " + ".join(f"{c} * {name}" if c != 1 else name for c, name in zip(found, where) if c) + f" + {found[-1]}"


def source_of(problem, module, cases, folder):
    rows = sorted(cases, key=lambda c: (c.ones, c.elements))
    fitting = [c for c in rows if c.elements <= EXPORT_ELEMENTS and c.ones == rows[0].ones]
    exported = fitting[-1] if fitting else rows[0]

    def make():
        return module.generate_input(**exported.arguments)
    try:
        data, watch = drawn(make)
    except Exception as e:
        raise Refused(f"generate_input fails: {type(e).__name__}: {e}") from e
    leaves, tree = _pytree.tree_flatten(data)
    tensors = [v for v in leaves if isinstance(v, torch.Tensor)]
    if [list(v.shape) for v in tensors] != exported.shapes:
        raise Refused("the extents of what generate_input makes depend on numbers that it draws")
    blank = [watch.is_blank(v) for v in tensors]
    draws = [d.text() if d else "constant(0)" if b else None for d, b in zip(map(watch.of, tensors), blank)]

    def again(k):
        found = []
        for seed in (43, 44):
            arguments = {**exported.arguments, "seed": seed} if "seed" in exported.arguments else exported.arguments
            made, _ = drawn(lambda: module.generate_input(**arguments), seed)
            found.append([v for v in _pytree.tree_flatten(made)[0] if isinstance(v, torch.Tensor)][k])
        return found

    def run(given):
        with on_this_machine():
            return module.ref_kernel(given)
    tensors_named = names_of(problem, data)
    source = CalledSource(pathlib.Path(folder) / "reference.py", run, [data], tensors_named, draws, axes_of(cases), (), again)
    return source, Data(tree, leaves, blank, [c.shapes for c in cases])


def workloads_of(cases):
    """({name: shapes}, {kind: [{workload, case}]}): cases of the same shapes are one workload; the largest benchmark is
    full as well."""
    named, of, lists = {}, {}, {"tests": [], "benchmarks": []}
    benchmarks = [c for c in cases if c.kind == "benchmarks"] or cases
    named["full"] = max(benchmarks, key=lambda c: c.elements).shapes
    for c in cases:
        name = of.setdefault(json.dumps(c.shapes), f"{c.kind[:-1]}{c.index}")
        named[name] = c.shapes
        lists[c.kind].append({"workload": name, "case": c.arguments})
    return named, lists


def make(options, path, assay):
    """(text, report) of the problem in the folder `path`, or of its task.yml."""
    problem = gpu_mode.Problem(path if path.is_dir() else path.parent)
    if problem.lang != "py":
        raise Refused(f"its language is {problem.lang}: the reference is no Python that could be followed")
    if problem.multi_gpu:
        raise Refused("it is for several GPUs that exchange data: a task is a function of its inputs on one device")
    if "reference.py" not in problem.files:
        raise Refused(f"{problem.path} names no reference.py among its files")
    options.name = options.name or "gpu_mode/" + re.sub(r"[^A-Za-z0-9_.+-]", "_", problem.name)
    options.title = options.title or problem.description[:120]
    install()
    with tempfile.TemporaryDirectory() as folder, files_of(problem, folder):
        module = reference_of(folder)
        cases = cases_of(problem, module)
        source, data = source_of(problem, module, cases, folder)
        source.workloads, lists = workloads_of(cases)
        source.origin = f"the problem {problem.name} of GPU MODE"
        pair = gpu_mode.tolerances(problem.files["reference.py"], problem.files.get("utils.py"))

        def properties(attempt):
            rows = [("assay.allclose", f"{pair[0]:g}, {pair[1]:g}")] if pair else []
            return rows + [("gpu_mode.data", data.text(attempt)), ("gpu_mode.ranking_by", problem.ranking),
                           *((f"gpu_mode.{kind}", json.dumps(rows)) for kind, rows in lists.items()),
                           ("gpu_mode.problem", json.dumps(problem.raw, default=str)),
                           ("gpu_mode.files", json.dumps(problem.sources))]
        source.properties = properties
        return module_task.make_of(options, path, assay, source)
