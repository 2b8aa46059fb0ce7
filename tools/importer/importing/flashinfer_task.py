# SPDX-License-Identifier: Apache-2.0
"""A Definition of flashinfer-bench or SOL-ExecBench, with its workloads, to a task."""
import json
import math
import pathlib
import re
import tempfile

import numpy
import torch

from . import Refused, flashinfer, module_task, note, reading
from .called import CalledSource, drawn, on_this_machine, run_text
from .source_names import plain_name
from .substitutes import install

EXPORT_ELEMENTS = 1 << 24  # of all tensors together: the workload that is exported has no more, if there is one
WHOLE = {"int8": (-128, 128), "int16": (-1024, 1024), "int32": (-1024, 1024), "int64": (-1024, 1024),
         "uint8": (0, 256)}  # what both harnesses draw
MATRIX = re.compile(r"(^|_)(weights?|projs?|proj_weights?|weight_matrix)\d*$")
SPREAD = re.compile(r"(^|_)(rstd|std|variance|var)\d*$")
NORM = re.compile(r"(^|_|layer)norm_(weight|bias)\d*$|^norm\d*_(weight|bias)$")
NUMPY = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "i1", "U8": "u1",
         "BOOL": "?"}


def is_dialect(definition):
    """SOL-ExecBench's harness draws some tensors by their names."""
    return any(k in definition.raw for k in ("custom_inputs_entrypoint", "hf_id")) or definition.expressions or \
        "op_type" not in definition.raw


def by_name(tensor, shape):
    """How SOL-ExecBench draws a tensor of that name, where that is not normal(0, 1); None: it is."""
    if NORM.search(tensor.name):
        return "uniform(0.5, 1.5)" if tensor.name.rstrip("0123456789").endswith("weight") else "uniform(-0.5, 0.5)"
    if SPREAD.search(tensor.name):
        return "uniform(0.1, 2) fixed"
    if tensor.name in ("cos", "sin", "cos_cached", "sin_cached", "rope_cos", "rope_sin"):
        return "uniform(-1, 1)"
    if tensor.name in ("A", "A_log", "A_cumsum", "g"):
        return {"A": "uniform(-1, -0.001) fixed", "A_log": "uniform(-5, -1) fixed",
                "A_cumsum": "uniform(-1, 0) fixed", "g": "uniform(-5, 0) fixed"}[tensor.name]
    if tensor.name in ("attn_weights", "attention_weights", "routing_weights"):
        return "normal(0, 1) softmax fixed"
    if len(shape) > 1 and MATRIX.search(tensor.name):
        return f"normal(0, {1 / math.sqrt(shape[-1]):.6g})"
    return None


def from_file(row, root, name):
    """The elements of a tensor in a file of safetensors, flat; None: the file is not there."""
    for key in ("path", "tensor_key"):
        flashinfer.want(row.get(key), str, f"{name}: {key}")
    path = next((p for p in (pathlib.Path(root) / row["path"], *(q / row["path"] for q in pathlib.Path(root).parents))
                 if reading.is_file(p)), None)
    if path is None:
        return None
    try:
        data = path.read_bytes()
        size = int.from_bytes(data[:8], "little")
        entry = json.loads(data[8:8 + size])[row["tensor_key"]]
        low, high = entry["data_offsets"]
        return numpy.frombuffer(data[8 + size:][low:high], NUMPY[entry["dtype"]])
    except (KeyError, ValueError, TypeError) as e:
        raise Refused(f"{path}: it is no file of safetensors with the tensor {row.get('tensor_key')} for {name}, or of "
                      f"a type that is not read: {e}") from e


def whole_draw(tensor, workload, root):
    """How whole numbers and masks are drawn."""
    if tensor.dtype == "bool":
        return "bernoulli(0.5)"
    row = workload.raw["inputs"].get(tensor.name, {})
    if row.get("type") == "safetensors":
        values = from_file(row, root, tensor.name)
        if values is None:
            raise Refused(f"{workload.where}: {tensor.name} is whole numbers in the file {row['path']}, which is not "
                          "there: what they mean is not known")
        low, high = (int(values.min()), int(values.max()) + 1) if values.size else (0, 1)
        note(f"{tensor.name}: whole numbers from a file; drawn evenly between the least and the greatest of its values")
        return f"constant({low})" if low + 1 == high else f"integers({low}, {high})"
    return "integers({}, {})".format(*WHOLE[tensor.dtype])


def draw_of(definition, tensor, shape, workload, root):
    own = definition.raw.get("x_assay")  # what `assay export` writes next to it
    if isinstance(own, dict) and isinstance(own.get("inputs"), dict) and isinstance(own["inputs"].get(tensor.name), str):
        return " ".join(w for w in own["inputs"][tensor.name].split() if w != "static")
    if not getattr(torch, tensor.dtype).is_floating_point:
        return whole_draw(tensor, workload, root)
    if definition.op_type == "sampling" and tensor.name == "probs":
        return "normal(0, 1) softmax fixed"
    return (by_name(tensor, shape) if is_dialect(definition) else None) or "normal(0, 1)"


def sample(draw, shape, dtype):
    """Values to export with: of the distribution, nearly."""
    made = torch.empty(shape)
    if match := re.match(r"uniform\(([^,]+), ([^)]+)\)", draw):
        made.uniform_(float(match[1]), float(match[2]))
    elif match := re.match(r"integers\((-?\d+), (-?\d+)\)", draw):
        made = torch.randint(int(match[1]), int(match[2]), shape)
    elif match := re.match(r"constant\((-?\d+)\)", draw):
        made.fill_(int(match[1]))
    elif draw.startswith("bernoulli"):
        made = torch.rand(shape) < 0.5
    else:
        match = re.match(r"normal\(([^,]+), ([^)]+)\)", draw)
        made.normal_(*((float(match[1]), float(match[2])) if match else (0, 1)))
        made = made.softmax(-1) if "softmax" in draw else made
    return made.to(dtype)


def axes_of(definition, tensor):
    """Of every dimension the axis that may vary, or None."""
    return [None if a.isdigit() or a in definition.constants else a for a in tensor.shape]


class Arguments:
    """What run is called with, for one workload."""

    def __init__(self, definition, workload, module, root):
        self.values, self.names, self.draws, self.axes, self.again = [], [], [], [], None
        if definition.custom:
            self.custom(definition, workload, module)
            return
        for tensor in definition.inputs.values():
            if tensor.dtype in flashinfer.LOW:
                raise Refused(f"{tensor.name} is {tensor.dtype}: candidates are not given tensors of 8 and 4 bits")
            if tensor.shape is None:
                self.values.append(self.number(tensor, workload))
                continue
            shape = definition.extents(tensor, workload.values, workload.where)
            draw = draw_of(definition, tensor, shape, workload, root)
            self.take(definition, tensor, sample(draw, shape, getattr(torch, tensor.dtype)), draw)

    def number(self, tensor, workload):
        if tensor.name not in workload.scalars:
            raise Refused(f"{workload.where}: {tensor.name} is a number, and the workload does not give it")
        return workload.scalars[tensor.name]

    def take(self, definition, tensor, value, draw):
        self.values.append(value)
        self.names.append(tensor.name)
        self.draws.append(draw)
        self.axes.append(axes_of(definition, tensor))

    def custom(self, definition, workload, module):
        """The definition's own function draws them: it is watched."""
        def make():
            return getattr(module, definition.custom)({**workload.values, **workload.scalars}, torch.device("cpu"))
        try:
            made, watch = drawn(make)
        except Exception as e:
            raise Refused(f"{definition.custom} fails: {type(e).__name__}: {str(e)[:300]}") from e
        if not isinstance(made, dict):
            raise Refused(f"{definition.custom} returns {type(made).__name__}, and not a dictionary of the inputs by name")
        tensors = []
        for tensor in definition.inputs.values():
            value = made.get(tensor.name, workload.scalars.get(tensor.name))
            if value is None:
                raise Refused(f"{definition.custom} gives no {tensor.name}")
            if tensor.shape is None or not isinstance(value, torch.Tensor):
                self.values.append(value.item() if isinstance(value, torch.Tensor) else value)
                continue
            draw = watch.of(value)
            self.take(definition, tensor, value, draw.text() if draw else None)
            tensors.append(tensor.name)
        self.again = lambda k: [drawn(make, seed)[0][tensors[k]] for seed in (43, 44)]


def indices(definition, a, run):
    """Whole numbers that turn out to be places in a tensor are drawn as such: up to the shortest of the other tensors'
    first dimensions with which the reference runs."""
    def fails():
        try:
            with torch.no_grad():
                run(*a.values)
            return False
        except Exception as e:  # whatever it is, the importer meets it again, and says so
            return isinstance(e, (IndexError, RuntimeError)) and ("index" in str(e) or "out of" in str(e))
    tensors = [t for t in definition.inputs.values() if t.name in a.names]
    places = [k for k, d in enumerate(a.draws) if d and d.startswith("integers(-")]
    if not places or not fails():
        return
    sizes = {v.shape[0]: t.shape[0] for t, v in zip(tensors, (v for v in a.values if isinstance(v, torch.Tensor)))
             if v.is_floating_point() and v.dim() > 1}
    tensor_places = [i for i, v in enumerate(a.values) if isinstance(v, torch.Tensor)]
    for size in sorted(sizes):
        axis = sizes[size]
        for k in places:
            value = a.values[tensor_places[k]]
            a.values[tensor_places[k]] = torch.randint(0, size, value.shape).to(value.dtype)
            a.draws[k] = f"integers(0, {plain_name(axis) if axis in definition.variables else size})"
        if not fails():
            note(f"{', '.join(a.names[k] for k in places)}: places in a tensor; drawn below {axis}")
            return


def chosen(definition, workloads):
    """The workload that is exported: the largest of those that are not too large, else the smallest. An axis that varies
    may not be 1 there, as it would be taken for a constant."""
    others = {a: sorted({w.axes[a] for w in workloads if w.axes.get(a, 1) > 1}) for a in definition.variables}
    rows = []
    for w in workloads:
        axes = {a: others[a][0] if n == 1 and others.get(a) else n for a, n in w.axes.items()}
        rows.append(w if axes == w.axes else flashinfer.Workload({**w.raw, "axes": axes}, definition, w.where))
    rows.sort(key=lambda w: w.elements(definition))
    fitting = [w for w in rows if w.elements(definition) <= EXPORT_ELEMENTS]
    return fitting[-1] if fitting else rows[0]


def invented(definition, given, numbers):
    """A workload for a definition that comes without: what --dim and --number say, 64 for other axes."""
    for name in given:
        if name not in definition.variables:
            raise Refused(f"--dim {name}: the definition's variable axes are {', '.join(definition.variables) or 'none'}")
    axes = {name: given.get(name, 64) for name in definition.variables}
    missing = [t.name for t in definition.inputs.values() if t.shape is None and t.name not in numbers]
    if missing:
        raise Refused(f"{', '.join(missing)}: numbers that a workload gives; name a file of workloads (--workloads FILE), or "
                      f"say --number {missing[0]}=VALUE")
    if not given:
        note("no workloads are given: variable axes are 64 at full (--dim NAME=N, --workloads FILE)")
    inputs = {n: {"type": "scalar", "value": numbers[n]} if n in numbers else {"type": "random"}
              for n in definition.inputs}
    raw = {"axes": axes, "inputs": inputs, "uuid": "full"}
    return flashinfer.Workload(raw, definition, definition.where)


def numbers_of(options):
    found = {}
    for item in options.number:
        name, _, value = item.partition("=")
        try:
            found[name.strip()] = int(value) if re.fullmatch(r"\s*-?\d+\s*", value) else float(value)
        except ValueError as e:
            raise Refused(f"--number {item}: write NAME=VALUE, such as sm_scale=0.125") from e
    return found


def source_of(definition, workloads, folder, root):
    path = pathlib.Path(folder) / "reference.py"
    path.write_text(definition.reference)
    module = run_text(definition.reference, path, "assay_import_reference")
    exported = chosen(definition, workloads)
    a = Arguments(definition, exported, module, root)

    def run(*arguments):
        with on_this_machine():
            return module.run(*arguments)
    indices(definition, a, run)
    source = CalledSource(path, run, a.values, a.names, a.draws, a.axes, definition.outputs, a.again)
    source.expressions, source.constants = definition.expressions, definition.constants
    tensors = [t for t in definition.inputs.values() if t.shape is not None and t.name in a.names]
    largest = max(workloads, key=lambda w: w.elements(definition))
    named = {"full": largest, **{f"w{k}": w for k, w in enumerate(workloads) if w.uuid != "full"}}
    source.workloads = {name: [definition.extents(t, w.values, w.where) for t in tensors] for name, w in named.items()}
    return source, named


def properties(definition, named):
    """What the task keeps of the definition, for candidates and for what is written back."""
    scalars = next(iter(named.values())).scalars
    rows = [("flashinfer_bench.definition", json.dumps(definition.raw))]
    if scalars:
        rows.append(("flashinfer_bench.scalars", json.dumps(scalars)))
    return rows + [(f"flashinfer_bench.workload.{name}", json.dumps(w.raw)) for name, w in named.items()
                   if w.uuid != "full"]


def make(options, path, assay):
    """(text, report) of the definition's task."""
    from .task import bindings
    definition = flashinfer.Definition(reading.json_file(path), path)
    low = [t.name for t in definition.outputs.values() if t.dtype in flashinfer.LOW]
    if low:
        raise Refused(f"the output {low[0]} is of 8 or 4 bits: candidates are not given such tensors")
    floating = {t.dtype: t.name for t in definition.outputs.values() if t.dtype.startswith(("float", "bfloat"))}
    if len(floating) > 1 or "float64" in floating:
        said = ", ".join(f"{name} is {dtype}" for dtype, name in floating.items())
        raise Refused(f"of its outputs {said}: a task has one contract (fp32, fp16 or bf16), so that floating outputs are of "
                      "one type and none is double")
    place = options.workloads or flashinfer.workloads_file(path, definition)
    workloads = flashinfer.usable(flashinfer.read_workloads(place, definition), definition) if place else []
    if not workloads:
        workloads = [invented(definition, bindings(", ".join(options.dim), "--dim"), numbers_of(options))]
    options.name = options.name or "flashinfer_bench/" + re.sub(r"[^A-Za-z0-9_.+-]", "_", definition.name)
    options.title = options.title or definition.description[:120]
    options.fixed_sizes = options.fixed_sizes or not definition.variables
    install()
    with tempfile.TemporaryDirectory() as folder:
        source, named = source_of(definition, workloads, folder, pathlib.Path(place or path).resolve().parent)
        tolerance = next((w.tolerance for w in workloads if w.tolerance), None)
        more = properties(definition, named)
        if tolerance:
            more.insert(0, ("assay.allclose", f"{tolerance[1]:g}, {tolerance[0]:g}"))
        source.origin, source.properties = f"the definition {definition.name} of flashinfer-bench", lambda attempt: more
        return module_task.make_of(options, path, assay, source)
