# SPDX-License-Identifier: Apache-2.0
"""Candidates of the neighbours as files that Assay judges: a Solution of flashinfer-bench or SOL-ExecBench, and a
submission to GPU MODE. Each becomes one .py file with its text and a ModelNew that calls it. Nothing here runs it."""
import json
import pathlib
import pprint
import re

import onnx.parser

from . import Refused, flashinfer, reading
from .source_names import plain_name

PYTHON = {"python", "triton", "pytorch", "cute_dsl", "cutile", "cudnn_frontend", "tilelang"}
COMPILED = {"cpp", "cuda", "cuda_cpp", "cutlass", "cudnn", "cublas"}
UNITS = (".cu", ".cpp", ".cc", ".cxx", ".c")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"[^\n]*$', re.MULTILINE)

HEAD = "# assay: task {task}\n# {what}, as tools/importer/assay-import writes it: {how}.\n"

KEPT = "# The solution as it was read: "  # and its JSON, to the end of the line

FINDER = '''
import importlib.abc as _assay_abc
import importlib.util as _assay_util
import sys as _assay_sys


class _AssaySources(_assay_abc.MetaPathFinder, _assay_abc.InspectLoader):
    """Modules whose texts are in this file."""

    def __init__(self, texts):
        self.texts = texts

    def find_spec(self, name, path=None, target=None):
        plain = name.removeprefix("_assay_package").removeprefix(".")
        package = not plain or any(n.startswith(plain + ".") for n in self.texts)
        if plain not in self.texts and not package:
            return None
        return _assay_util.spec_from_loader(name, self, origin=f"<{name}>", is_package=package)

    def get_source(self, name):
        return self.texts.get(name.removeprefix("_assay_package").removeprefix("."), "")

    def exec_module(self, module):
        module.__file__ = f"<{module.__name__}>"
        exec(compile(self.get_source(module.__name__), module.__file__, "exec"), vars(module))
        lines = self.get_source(module.__name__).splitlines(True)
        __import__("linecache").cache[module.__file__] = (sum(map(len, lines)), None, lines, module.__file__)


_assay_sys.meta_path.insert(0, _AssaySources(_ASSAY_TEXTS))
'''


class Interface:
    """What a task file says of its inputs: names, and an expression for each of its dimensions."""

    def __init__(self, path):
        try:
            model = onnx.parser.parse_model(pathlib.Path(path).read_text())
        except (OSError, ValueError, onnx.parser.ParseError) as e:
            raise Refused(f"{path}: it is no task file: {str(e).splitlines()[0]}") from e
        self.properties = {p.key: p.value for p in model.metadata_props}
        self.inputs, self.symbols = [], {}
        for value in model.graph.input:
            self.inputs.append(value.name)
            for k, d in enumerate(value.type.tensor_type.shape.dim):
                if d.dim_param and d.dim_param not in self.symbols:
                    self.symbols[d.dim_param] = f"{value.name}.shape[{k}]"
        self.static = [n for n in self.inputs if "static" in self.properties.get("assay.input." + n, "").split()]
        if self.static:
            raise Refused(f"{path}: {self.static[0]} is a weight (static) there, and an argument of the candidate; a task "
                          "of its definition or problem is needed")

    def definition(self, path, given):
        """That of the file that is named, or the one that the task keeps."""
        if given:
            return flashinfer.Definition(reading.json_file(given), given)
        kept = self.properties.get("flashinfer_bench.definition")
        if not kept:
            raise Refused(f"{path} keeps no definition: it is not made of one (assay-import DEFINITION.json); name the "
                          "definition's file with --definition")
        return flashinfer.Definition(json.loads(kept), path)


def bound(interface, text):
    """Lines that give the task's dimensions the text names."""
    return [f"        {n} = {where}\n" for n, where in interface.symbols.items() if re.search(rf"\b{n}\b", text)]


def made(tensor, interface, definition, fill):
    """An expression that makes a tensor of the definition."""
    known = {**definition.constants}

    def size(axis):
        if axis.isdigit() or axis in known:
            return str(known.get(axis, axis))
        name = plain_name(axis)
        if name in interface.symbols:
            return name
        if axis in definition.expressions:
            return re.sub(r"[A-Za-z_]\w*", lambda m: size(m[0]), f"({definition.expressions[axis]})")
        raise Refused(f"{tensor.name}: the axis {axis} is none of the task's dimensions")
    row = "".join(size(a) + ", " for a in tensor.shape or [])
    where = f", device={interface.inputs[0]}.device" if interface.inputs else ""
    return f"_assay_torch.{fill}(({row}), dtype=_assay_torch.{tensor.dtype}{where})"


def inline_headers(path, sources, seen, depth=0):
    """A source with what it includes of the others in place."""
    if depth > reading.DEEPEST:
        raise Refused(f"sources: {path}: headers include one another more than {reading.DEEPEST} levels deep")

    def insert(match):
        folder = pathlib.PurePosixPath(path).parent
        for name in (str(folder / match[1]), match[1]):
            if name in sources:
                if name in seen:
                    return ""
                seen.add(name)
                return inline_headers(name, sources, seen, depth + 1)
        return match[0]
    return INCLUDE.sub(insert, re.sub(r"^[ \t]*#[ \t]*pragma[ \t]+once[^\n]*$", "", sources[path], flags=re.MULTILINE)
                       if path in seen else sources[path])


def compiled(solution, where):
    """The text before ModelNew of a solution in C++ or CUDA."""
    if solution.binding not in (None, "torch"):
        raise Refused(f"{where}: its binding is {solution.binding}: sources are compiled with PyTorch here, so they "
                      "must define their module with PYBIND11_MODULE (binding torch)")
    text = {kind: "" for kind in ("cpp", "cuda")}
    for kind, endings in (("cpp", UNITS[1:]), ("cuda", UNITS[:1])):
        seen = set()
        for path in solution.sources:
            if path.endswith(endings):
                text[kind] += inline_headers(path, solution.sources, seen) + "\n"
    if "PYBIND11_MODULE" not in text["cpp"] + text["cuda"] and "TORCH_LIBRARY" not in text["cpp"] + text["cuda"]:
        raise Refused(f"{where}: none of its sources has PYBIND11_MODULE, which PyTorch's binding needs")
    flags = {f"extra_{name}": [str(f) for f in solution.options[key]] for name, key in
             (("cflags", "cflags"), ("cuda_cflags", "cuda_cflags"), ("ldflags", "ld_flags"))
             if isinstance(solution.options.get(key), list) and solution.options[key]}
    cuda = f"cuda_sources=[{text['cuda']!r}], " if text["cuda"] else ""
    rest = "".join(f", {k}={v!r}" for k, v in flags.items())
    return "import torch as _assay_torch\nfrom torch.utils.cpp_extension import load_inline as _assay_load\n\n" \
        f"_assay_module = _assay_load(\"{plain_name(solution.name)}\", cpp_sources=[{text['cpp']!r}], {cuda}" \
        f"with_cuda={bool(text['cuda'])}{rest})\n_assay_function = _assay_module.{solution.function}\n"


def embedded(texts, entry, function):
    """The text before ModelNew of Python sources: one is pasted, several are modules of a package, whose relative imports
    work, and absolute ones of the files."""
    if len(texts) == 1:
        return texts[entry].rstrip() + f"\n\n\nimport torch as _assay_torch\n\n_assay_function = {function}\n"
    named = pprint.pformat(texts, width=110, sort_dicts=False)
    return f"_ASSAY_TEXTS = {named}\n{FINDER}\nimport torch as _assay_torch\nimport _assay_package.{entry} as _assay_entry\n\n" \
        f"_assay_function = _assay_entry.{function}\n"


def python_sources(solution, where):
    texts = {}
    for path, text in solution.sources.items():
        if path.endswith(".py"):
            parts = list(pathlib.PurePosixPath(path).with_suffix("").parts)
            if not all(p.isidentifier() for p in parts):
                raise Refused(f"{where}: sources: {path} is no name of a module")
            name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
            texts[name] = text
    if not solution.file.endswith(".py"):
        raise Refused(f"{where}: its entry {solution.file} is no Python file, and its language is "
                      + ", ".join(solution.languages))
    entry = ".".join(pathlib.PurePosixPath(solution.file).with_suffix("").parts)
    return embedded(texts, entry, solution.function)


def model(interface, arguments, outputs, results):
    """ModelNew: arguments are expressions for the call; outputs (name, expression) that it fills, or () where it returns
    `results`: their names."""
    body = "".join(f"        {name} = {text}\n" for name, text in outputs)
    call = f"_assay_function({', '.join([*arguments, *(name for name, _ in outputs)])})"
    if outputs:
        body += f"        {call}\n        return {', '.join(name for name, _ in outputs)}\n"
    else:
        body += f"        made = {call}\n"
        if results:
            body += f"        if isinstance(made, dict):\n            return [made[name] for name in {results!r}]\n"
        body += "        return made\n"
    lines = bound(interface, body + " ".join(arguments))
    return "\n\nclass ModelNew(_assay_torch.nn.Module):\n    def forward(self, " + ", ".join(interface.inputs) + "):\n" + \
        "".join(lines) + body


def of_solution(path, task, definition_file):
    """(the solution's name, the candidate's text)."""
    solution = flashinfer.Solution(reading.json_file(path), path)
    interface = Interface(task)
    definition = interface.definition(task, definition_file)
    if solution.definition != definition.name:
        raise Refused(f"{path}: it solves {solution.definition}; {definition_file or task} is {definition.name}")
    scalars = json.loads(interface.properties.get("flashinfer_bench.scalars", "{}"))
    languages = set(solution.languages)
    if languages and languages <= COMPILED:
        text = compiled(solution, path)
    elif languages <= PYTHON:
        text = python_sources(solution, path)
    else:
        raise Refused(f"{path}: its language is {', '.join(solution.languages)}; known are "
                      + ", ".join(sorted(PYTHON | COMPILED)))
    arguments = []
    for tensor in definition.inputs.values():
        name = plain_name(tensor.name)
        if tensor.shape is None and tensor.name in scalars:
            arguments.append(repr(scalars[tensor.name]))
        elif name in interface.inputs:
            arguments.append(name)
        elif tensor.shape is None:
            raise Refused(f"{path}: nothing says which number {tensor.name} is")
        else:  # what the reference does not use is no input of the task
            arguments.append(made(tensor, interface, definition, "zeros"))
    outputs = [(f"out_{plain_name(t.name)}", made(t, interface, definition, "empty"))
               for t in definition.outputs.values()] if solution.in_place(len(definition.inputs)) else []
    head = HEAD.format(task=interface.properties.get("assay.task", ""), what=f"The solution {plain_text(solution.name)} of {plain_text(definition.name)}",
                       how="its sources, and a module that calls them")
    return solution.name, head + text + model(interface, arguments, outputs, list(definition.outputs)) + "\n" + KEPT \
        + json.dumps(solution.raw) + "\n"


def to_solution(path, task):
    """A candidate's file as a Solution: the one that it was made of, or a module in Python with a function that calls it."""
    text = reading.text_of(path)
    kept = [line.removeprefix(KEPT) for line in text.splitlines() if line.startswith(KEPT)]
    if kept:
        return flashinfer.Solution(reading.json_of(kept[-1], f"{path}: the line that keeps its solution"), path).raw
    if not re.search(r"^class ModelNew\b", text, re.MULTILINE):
        raise Refused(f"{path} has no class ModelNew: only candidates in Python are written as solutions")
    interface = Interface(task)
    name = interface.properties.get("assay.task", pathlib.Path(task).stem)
    if "flashinfer_bench.definition" in interface.properties:
        definition = interface.definition(task, None)
        name, arguments = definition.name, [plain_name(n) for n in definition.inputs]
    else:
        name, arguments = re.sub(r"[^A-Za-z0-9_.-]", "_", name), interface.inputs
    call = f"\n\ndef run({', '.join(arguments)}):\n    return ModelNew()({', '.join(interface.inputs)})\n"
    language = "triton" if re.search(r"^\s*(import|from) triton\b", text, re.MULTILINE) else "python"
    return {"name": pathlib.Path(path).stem, "definition": name, "author": "assay", "spec": {
        "language": language, "target_hardware": ["cuda"], "entry_point": "main.py::run", "dependencies": [],
        "destination_passing_style": False}, "sources": [{"path": "main.py", "content": text.rstrip() + call}]}


def plain_text(text):
    return re.sub(r"[^ -~]", "?", text)


def of_submission(path, task, problem):
    """The candidate's text: a submission to GPU MODE, with the files of its problem that it may import."""
    interface = Interface(task)
    data = interface.properties.get("gpu_mode.data")
    if not data:
        raise Refused(f"{task} does not say what custom_kernel gets: it is not made of a problem of GPU MODE "
                      "(assay-import FOLDER, with its task.yml)")
    text = reading.text_of(path)
    if not re.search(r"^(async\s+)?def custom_kernel\b|^custom_kernel\s*=|import.*\bcustom_kernel\b", text, re.MULTILINE):
        raise Refused(f"{path} has no custom_kernel")
    others = {n: t for n, t in problem.items() if re.search(rf"^\s*(from|import)\s+{re.escape(n)}\b", text, re.MULTILINE)}
    grown = True
    while grown:  # and what these import
        more = {n: t for n, t in problem.items() if n not in others and any(
            re.search(rf"^\s*(from|import)\s+{re.escape(n)}\b", o, re.MULTILINE) for o in others.values())}
        others.update(more)
        grown = bool(more)
    head = HEAD.format(task=interface.properties.get("assay.task", ""), what="A submission to GPU MODE", how="its text, files of its problem, and a module that calls it")
    if others:  # Triton reads the kernel's text on disk: it stays the file's own
        named = pprint.pformat(others, width=110, sort_dicts=False)
        future, text = futures(text)
        head += future + f"_ASSAY_TEXTS = {named}\n{FINDER}\n"
    return head + text.rstrip() + "\n\n\nimport torch as _assay_torch\n\n_assay_function = custom_kernel\n" + \
        model(interface, [data.replace("torch.", "_assay_torch.")], [], [])


def futures(text):
    """`from __future__` lines must come first."""
    found = re.findall(r"^from __future__ import [^\n]*\n", text, re.MULTILINE)
    return "".join(found), re.sub(r"^from __future__ import [^\n]*\n", "\n", text, flags=re.MULTILINE)


def write(text, output):
    reading.is_python(text, "what it makes")
    pathlib.Path(output).write_text(text, encoding="utf-8")
