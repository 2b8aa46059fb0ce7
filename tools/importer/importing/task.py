# SPDX-License-Identifier: Apache-2.0
"""From a module or a model to a task file that answers as the original does."""
import json
import pathlib
import re
import sys
import tempfile

from . import NOTES, Refused, check, note, stub, text
from .graph import FLOATING, Graph

CONTRACTS = {"float": "fp32", "float16": "fp16", "bfloat16": "bf16"}
FULL_CHECK_FLOPS, FULL_CHECK_ELEMENTS = 1 << 32, 1 << 25  # beyond: the full workload is only read, not computed


class Draft:
    """A task before it is text. inputs: (name, dtype number, extents, distribution); more: further (key, value)."""
    more = ()

    def __init__(self, options, path, graph, inputs, workloads, origin):
        stem = path.stem if path.stem != "model" else path.resolve().parent.name  # ONNX's own tests are folders
        self.name = options.name or "imported/" + re.sub(r"[^A-Za-z0-9_.+-]", "_", stem)  # what a task may be called
        self.title = options.title or stem.replace("_", " ")
        self.graph, self.inputs, self.workloads, self.origin = graph, inputs, workloads, origin

    def contract(self):
        found = {CONTRACTS.get(text.DTYPES.get(self.graph.dtype(o))) for o in self.graph.outputs
                 if text.DTYPES.get(self.graph.dtype(o)) in ("float", "double", "float16", "bfloat16")} or {"fp32"}
        if len(found) > 1 or None in found:
            raise Refused(
                "its outputs are double, or of several floating types: a task's contract is fp32, fp16 or bf16; "
                "export the model in one of these"
            )
        return found.pop()

    def write(self, output_dims):
        properties = [("assay.task", self.name), ("assay.title", self.title), ("assay.origin", self.origin),
                      ("assay.contract", self.contract())]
        for name, bindings in self.workloads.items():
            properties.append((f"assay.workload.{name}", ", ".join(f"{k}={v}" for k, v in bindings.items())))
        properties += [(f"assay.input.{name}", distribution) for name, _, _, distribution in self.inputs]
        properties += self.more
        outputs = [(o, self.graph.dtype(o), dims) for o, dims in zip(self.graph.outputs, output_dims)]
        head = re.sub(r"\W", "_", self.name.rsplit("/", 1)[-1], flags=re.ASCII)
        head = head if head[0].isalpha() and head not in text.RESERVED else "task_" + head
        comments = [f"Written by tools/importer/assay-import from {self.origin}"]
        if NOTES:
            comments += ["What was assumed:"] + ["- " + n for n in NOTES]
        return text.write(head, self.graph, [i[:3] for i in self.inputs], outputs, properties, comments)


def given_distributions(options):
    """Input to distribution, as the command line gives them."""
    given = {}
    for item in options.input:
        name, equals, distribution = (part.strip() for part in item.partition("="))
        if not equals or not name or not distribution:
            raise Refused(f'--input {item}: write NAME=DISTRIBUTION, such as "x=normal(0, 1)"')
        given[name] = distribution
    return given


def overridden(given, inputs):
    """Inputs with the distributions that the command line gives (given_distributions). Whole numbers and masks are fixed: what probes would
    draw in place of them means nothing."""
    for name in given:
        if name not in [i[0] for i in inputs]:
            raise Refused(f"--input {name}={given[name]}: write NAME=DISTRIBUTION with one of the inputs "
                          + ", ".join(i[0] for i in inputs))
    made = []
    for name, dtype, dims, found in inputs:
        text = given.get(name, found)
        whole = name in given and dtype not in FLOATING and "fixed" not in text.split()
        made.append((name, dtype, dims, text + " fixed" * whole))
    return made


def bindings(words, option):
    found = {}
    for part in filter(None, (w.strip() for w in words.split(","))):
        match = re.fullmatch(r"(\w+)\s*=\s*([1-9]\d*)", part)
        if not match:
            raise Refused(f'{option}: write "B=2, C=16", not "{part}"')
        found[match[1]] = int(match[2])
    return found


def place_of(output, name):
    """The file to write: a folder gets one of that name."""
    if output and not pathlib.Path(output).is_dir() and not pathlib.Path(output).resolve().parent.is_dir():
        raise Refused(f"{output}: there is no folder {pathlib.Path(output).resolve().parent} to write it to")
    return pathlib.Path(output, name) if output and pathlib.Path(output).is_dir() else pathlib.Path(output or name)


def make_candidate(options, path):
    """A solution or a submission to one file."""
    from . import candidates, gpu_mode
    if options.solution:
        output = place_of(options.output, path.with_suffix(".json").name)
        output.write_text(json.dumps(candidates.to_solution(path, options.task), indent=2), encoding="utf-8")
        print(f"{output}: a solution of flashinfer-bench")
        return
    name = path.stem + ".candidate"
    if path.suffix == ".json":
        name, text = candidates.of_solution(path, options.task, options.definition)
    elif path.suffix == ".py":
        folder = pathlib.Path(options.problem or path.resolve().parent)
        text = candidates.of_submission(path, options.task, gpu_mode.modules(folder, path))
    else:
        raise Refused("it is neither a solution's .json nor a submission's .py")
    output = place_of(options.output, re.sub(r"[^A-Za-z0-9_.+-]", "_", name) + ".py")
    candidates.write(text, output)
    print(f"{output}: assay judge {options.task} {output}")


def make(options, path):
    problem = path.name == "task.yml" or (path / "task.yml").is_file()
    if not path.is_file() and not problem:
        raise Refused("there is no such file, nor a folder with task.yml")
    if not problem and path.suffix not in (".py", ".onnx", ".json"):
        raise Refused("it is neither a .py, an .onnx nor a .json file, nor a folder with task.yml")
    assay = check.Assay(options.assay)
    place = path.resolve().parent if path.name == "task.yml" else path
    output = place_of(options.output, place.with_suffix(".onnxtxt").name)
    if problem:
        from . import gpu_mode_task
        words, report = gpu_mode_task.make(options, path, assay)
    elif path.suffix == ".py":
        from . import module_task
        words, report = module_task.make(options, path, assay)
    elif path.suffix == ".json":
        from . import flashinfer_task
        words, report = flashinfer_task.make(options, path, assay)
    else:
        from . import onnx_file
        words, report = onnx_file.make(options, path, assay)
    output.write_text(words)
    for n in NOTES:
        print(f"assumed: {n}", file=sys.stderr)
    print(f"{output}: {report[0]}")
    for line in report[1:]:
        print(f"  {line}")
    if options.stub:
        print("  " + stub.write(assay, output, options.stub))
    if not options.no_lint:
        found = assay.lint(output)
        for code, rules, what in found:
            print(f"  lint: {code} ({rules}): {what}")
        for line in advice(words, found):
            print(f"  {line}")


def advice(words, findings):
    """How to have an input asked for that the module has as one number: a norm's scale, say, that nobody has trained."""
    for name in dict.fromkeys(n for code, _, what in findings if code == "insensitive" for n in re.findall(r" input (\w+):", what)):
        number = re.search(rf'"assay\.input\.{name}" : "constant\(([-+.0-9e]+)\) static"', words)
        if number:
            low, high = (float(number[1]) + d for d in (-0.5, 0.5))
            yield f"{name} is {number[1]} everywhere, so that it may be left out; to have it asked for: --input '{name}=uniform({low:g}, {high:g}) static'"


class Written:
    """A draft in a file of its own, for as long as it takes to try it."""

    def __init__(self, words):
        self.folder = tempfile.TemporaryDirectory()
        self.path = pathlib.Path(self.folder.name) / "task.onnxtxt"
        self.path.write_text(words)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self.folder.cleanup()


__all__ = ["Draft", "Graph", "Written", "bindings", "make", "note", "overridden"]
