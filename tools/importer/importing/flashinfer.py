# SPDX-License-Identifier: Apache-2.0
"""The files of flashinfer-bench and of SOL-ExecBench, which is a dialect of it: Definition, Workload, Solution. They are
read here, and checked as far as the rest relies on them. Nothing here needs PyTorch."""
import ast
import json
import math
import operator
import pathlib
import re

from . import Refused, note, reading

DTYPES = {"float64": "double", "float32": "float", "float16": "float16", "bfloat16": "bfloat16", "int64": "int64",
          "int32": "int32", "int16": "int16", "int8": "int8", "uint8": "uint8", "bool": "bool"}
LOW = ("float8_e4m3fn", "float8_e5m2", "float4_e2m1", "float4_e2m1fn_x2")
OPERATIONS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
              ast.Div: operator.truediv, ast.Mod: operator.mod, ast.Pow: operator.pow}
LARGEST_EXTENT = 1 << 40
EXTENT = re.compile("[1-9][0-9]{0,11}")
MOST_DIMENSIONS = 32
MOST_BITS = 256  # of a whole number on the way to an extent


def want(value, kind, where):
    names = {dict: "an object", list: "a list", str: "a text"}
    if not isinstance(value, kind) or (kind is str and not value):
        raise Refused(f"{where}: {names[kind]} is wanted here")
    return value


def arithmetic(text, values, where):
    """The value of an arithmetic expression of names and numbers; values may be symbols."""
    def value(node):
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)):
            return node.value
        if isinstance(node, ast.Name) and node.id in values:
            return values[node.id]
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATIONS:
            left, right = value(node.left), value(node.right)
            if isinstance(node.op, ast.Pow) and not (isinstance(right, int) and abs(right) <= 64):
                raise Refused(f"{where}: {text}: an exponent is a number of at most 64")
            found = OPERATIONS[type(node.op)](left, right)
            if isinstance(found, int) and found.bit_length() > MOST_BITS:
                raise Refused(f"{where}: {text}: a number in it has more than {MOST_BITS} bits")
            return found
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.UAdd, ast.USub)):
            return value(node.operand) if isinstance(node.op, ast.UAdd) else -value(node.operand)
        raise Refused(f"{where}: {text}: numbers, axes, + - * / // % ** and parentheses are known")
    try:
        return value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError) as e:
        raise Refused(f"{where}: {text}: {e}") from e
    except (RecursionError, MemoryError) as e:
        raise Refused(f"{where}: the expression is nested too deeply") from e


def evaluate(text, values, where):
    """The same as an extent."""
    found = arithmetic(text, values, where)
    if isinstance(found, float) and not math.isfinite(found) or found != int(found) or not 0 <= found < LARGEST_EXTENT:
        raise Refused(f"{where}: {text} is {found}, which is no extent")
    return int(found)


class Tensor:
    """An input or output: shape is a list of axes and digits, None for a number that is passed as such."""

    def __init__(self, name, row, axes, where):
        want(row, dict, where)
        self.name, self.shape, self.dtype = name, row.get("shape"), row.get("dtype")
        if self.shape is not None:
            if len(want(self.shape, list, where + ": shape")) > MOST_DIMENSIONS:
                raise Refused(f"{where}: its shape has more than {MOST_DIMENSIONS} dimensions")
            for axis in self.shape:
                if not isinstance(axis, str) or (axis not in axes and not EXTENT.fullmatch(axis)):
                    raise Refused(f"{where}: its shape names {str(axis)[:40]!r}, which is none of the axes "
                                  + ", ".join(axes))
        if not isinstance(self.dtype, str) or self.dtype not in DTYPES and self.dtype not in LOW:
            raise Refused(f"{where}: there is no dtype {self.dtype!r}; known are " + ", ".join([*DTYPES, *LOW]))


class Definition:
    def __init__(self, raw, where):
        self.raw, self.where = want(raw, dict, str(where)), str(where)
        self.name = want(raw.get("name"), str, f"{where}: name")
        self.op_type = want(raw.get("op_type") or "other", str, f"{where}: op_type")
        self.description = " ".join(want(raw.get("description") or self.name, str, f"{where}: description").split())
        self.reference = want(raw.get("reference"), str, f"{where}: reference")
        self.read_axes()
        self.inputs = self.tensors("inputs")
        self.outputs = self.tensors("outputs")
        if set(self.inputs) & set(self.outputs):
            raise Refused(f"{where}: {', '.join(set(self.inputs) & set(self.outputs))}: both an input and an output")
        self.custom = want(raw.get("custom_inputs_entrypoint") or "run", str, f"{where}: custom_inputs_entrypoint")
        self.custom = self.custom if raw.get("custom_inputs_entrypoint") else None
        tree = reading.syntax(self.reference, f"{where}: the reference")
        functions = {n.name: n for n in tree.body if isinstance(n, ast.FunctionDef)}
        if "run" not in functions:
            raise Refused(f"{where}: the reference has no function run at its top level")
        if self.custom and self.custom not in functions:
            raise Refused(f"{where}: the reference has no function {self.custom[:80]} (custom_inputs_entrypoint)")

    def read_axes(self):
        self.axes, self.constants, self.variables, self.expressions = {}, {}, [], {}
        for name, axis in want(self.raw.get("axes"), dict, f"{self.where}: axes").items():
            where = f"{self.where}: axes: {name}"
            kind = want(axis, dict, where).get("type")
            if kind == "const" and type(axis.get("value")) is int and 0 < axis["value"] < LARGEST_EXTENT:
                self.constants[name] = axis["value"]
            elif kind == "var":
                self.variables.append(name)
            elif kind == "expr" and isinstance(axis.get("expression"), str):
                self.expressions[name] = axis["expression"]
            else:
                raise Refused(f"{where}: an axis is var, const with a value above 0, or expr with an expression")
            self.axes[name] = axis

    def tensors(self, side):
        rows = want(self.raw.get(side), dict, f"{self.where}: {side}")
        return {name: Tensor(name, row, self.axes, f"{self.where}: {side}: {name}") for name, row in rows.items()}

    def bind(self, given, where):
        """The extent of every axis, from those of the variable ones."""
        values = dict(self.constants)
        for name in self.variables:
            if name in given:
                values[name] = given[name]
        waiting = dict(self.expressions)
        while waiting:
            known = [n for n, text in waiting.items()
                     if all(m in values for m in re.findall(r"[A-Za-z_]\w*", text))]
            if not known:
                raise Refused(f"{where}: {', '.join(waiting)}: what the expression names is not known")
            for n in known:
                values[n] = evaluate(waiting.pop(n), values, f"{where}: axis {n}")
        return values

    def extents(self, tensor, values, where):
        missing = [a for a in tensor.shape if a not in values and not EXTENT.fullmatch(a)]
        if missing:
            raise Refused(f"{where}: it gives no extent of the axis {missing[0]}")
        return [values[a] if a in values else int(a) for a in tensor.shape]


class Workload:
    """raw: as it was read; axes: of the variable ones; scalars: numbers that are passed; tolerance: (atol, rtol)."""

    def __init__(self, raw, definition, where):
        self.raw, self.where = want(raw, dict, where), where
        self.uuid = want(raw.get("uuid"), str, where + ": uuid")
        self.axes = want(raw.get("axes"), dict, where + ": axes")
        for name, extent in self.axes.items():
            if not isinstance(extent, int) or isinstance(extent, bool) or not 0 <= extent < LARGEST_EXTENT:
                raise Refused(f"{where}: axes: {name}: {extent!r} is no extent")
        self.values = definition.bind(self.axes, where)
        self.scalars, self.files, self.custom = {}, [], False
        for name, row in want(raw.get("inputs"), dict, where + ": inputs").items():
            kind = want(row, dict, f"{where}: inputs: {name}").get("type")
            if kind == "scalar" and isinstance(row.get("value"), (int, float)):
                self.scalars[name] = row["value"]
            elif kind == "safetensors":
                self.files.append(name)
            elif kind == "custom":
                self.custom = True
            elif kind != "random":
                raise Refused(f"{where}: inputs: {name}: an input is random, scalar with a value, safetensors or custom")
        tolerance = raw.get("tolerance")
        self.tolerance = None
        if isinstance(tolerance, dict):
            pair = tolerance.get("max_atol", 1e-2), tolerance.get("max_rtol", 1e-2)
            if all(isinstance(x, (int, float)) and 0 <= x < math.inf for x in pair):
                self.tolerance = pair

    def elements(self, definition):
        count = 0
        for tensor in [*definition.inputs.values(), *definition.outputs.values()]:
            size = 1
            for extent in definition.extents(tensor, self.values, self.where) if tensor.shape is not None else []:
                size *= extent
            count += size
        return count


def is_definition(raw):
    return isinstance(raw, dict) and "reference" in raw and "axes" in raw


def is_solution(raw):
    return isinstance(raw, dict) and "sources" in raw and "spec" in raw


def workloads_file(path, definition):
    """Where the workloads of a definition's file are, by the layouts of both: DATASET/definitions/OP/NAME.json has
    DATASET/workloads/OP/NAME.jsonl, and definition.json has workload.jsonl next to it."""
    path = pathlib.Path(path).resolve()
    places = [path.with_name("workload.jsonl"), path.with_suffix(".jsonl")]
    for parent in path.parents:
        if parent.name == "definitions":
            root = parent.parent / "workloads"
            places += [root / definition.op_type / f"{definition.name}.jsonl", root / f"{definition.name}.jsonl"]
    return next((p for p in places if reading.is_file(p)), None)


def read_workloads(path, definition):
    """Of a file with a workload a line, or a trace without solution."""
    found, seen = [], set()
    for number, raw in reading.json_lines(path):
        where = f"{path}:{number}"
        if isinstance(raw, dict) and "workload" in raw:
            if raw.get("definition") != definition.name:
                continue
            raw = raw["workload"]
        workload = Workload(raw, definition, where)
        if workload.uuid not in seen:
            seen.add(workload.uuid)
            found.append(workload)
    return found


def usable(workloads, definition):
    """Those that one task can have: with the numbers that most of them pass, and no extent of 0."""
    whole = [w for w in workloads if all(w.values.get(a, 1) > 0 for a in definition.axes)]
    if len(whole) < len(workloads):
        note(f"{len(workloads) - len(whole)} workloads with an extent of 0 are left out")
    groups = {}
    for w in whole:
        groups.setdefault(json.dumps(w.scalars, sort_keys=True), []).append(w)
    kept = max(groups.values(), key=len, default=[])
    if len(groups) > 1:
        note(f"{len(whole) - len(kept)} workloads pass other numbers than "
             + ", ".join(f"{k}={v}" for k, v in kept[0].scalars.items()) + ", which are constants of the task; left out")
    files = sorted({name for w in kept for name in w.files})
    if files:
        note(f"{', '.join(files)}: theirs are tensors in files (safetensors), which are not read; drawn instead")
    return kept


class Solution:
    def __init__(self, raw, where):
        self.raw = want(raw, dict, str(where))
        self.name = want(raw.get("name"), str, f"{where}: name")
        self.definition = want(raw.get("definition"), str, f"{where}: definition")
        self.author = raw.get("author") or ""
        spec = want(raw.get("spec"), dict, f"{where}: spec")
        languages = spec.get("languages") or [spec.get("language")]
        self.languages = [str(n).lower() for n in want(languages, list, f"{where}: spec: languages")]
        entry = want(spec.get("entry_point"), str, f"{where}: spec: entry_point")
        if entry.count("::") != 1:
            raise Refused(f"{where}: spec: entry_point: FILE::FUNCTION is wanted, not {entry!r}")
        self.file, self.function = entry.split("::")
        if not self.function.isidentifier():
            raise Refused(f"{where}: spec: entry_point: {self.function!r} is no name of a function")
        self.passes_outputs = spec.get("destination_passing_style")
        self.binding = spec.get("binding")
        options = spec.get("compile_options")
        self.options = options if isinstance(options, dict) else {}
        self.sources, places = {}, set()
        for row in want(raw.get("sources"), list, f"{where}: sources"):
            path = want(want(row, dict, f"{where}: sources").get("path"), str, f"{where}: sources: path")
            plain = pathlib.PurePosixPath(path)
            if path.startswith("/") or ".." in plain.parts or plain in places:
                raise Refused(f"{where}: sources: {path}: paths are relative, without .., each once")
            places.add(plain)
            self.sources[path] = want(row.get("content"), str, f"{where}: sources: {path}: content")
        if self.file not in self.sources:
            raise Refused(f"{where}: there is no source {self.file}, which entry_point names")

    def in_place(self, inputs):
        """Whether its function is given outputs to fill. Older sets do not say it: theirs is no function of more than
        the inputs."""
        if isinstance(self.passes_outputs, bool):
            return self.passes_outputs
        most = most_arguments(self.sources[self.file], self.function) if self.file.endswith(".py") else None
        return most is None or most > inputs


def most_arguments(text, function):
    """How many positional arguments a Python function takes; None: the text does not say it, or any number."""
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    found = [n.args for n in body if isinstance(n, ast.FunctionDef) and n.name == function]
    return len(found[-1].posonlyargs + found[-1].args) if found and not found[-1].vararg else None
