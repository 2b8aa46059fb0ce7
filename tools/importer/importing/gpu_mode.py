# SPDX-License-Identifier: Apache-2.0
"""A problem of GPU MODE: task.yml and the files that it names. Nothing here needs PyTorch."""
import ast
import math
import pathlib
import sys

from . import Refused, reading

SUBMISSION = "@SUBMISSION@"


class Problem:
    """files: module or file name to text; tests, benchmarks: arguments of generate_input, a dictionary each."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path = self.folder / "task.yml"
        raw = reading.yaml_file(self.path)
        if not isinstance(raw, dict):
            raise Refused(f"{self.path}: it is no problem of GPU MODE")
        self.raw, self.name = raw, self.folder.resolve().name
        self.description = " ".join(self.text("description", self.name).split())
        self.lang, self.ranking = self.text("lang", "py"), self.text("ranking_by", "last")
        self.multi_gpu = bool(raw.get("multi_gpu"))
        self.files, self.sources = {}, {}  # by name, and by source
        rows = raw.get("files") or []
        for row in rows if isinstance(rows, list) else [None]:
            if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not isinstance(row.get("source"), str):
                raise Refused(f"{self.path}: files: each has a name and a source")
            self.add(row["name"], row["source"])
        templates = raw.get("templates")
        for source in templates.values() if isinstance(templates, dict) else []:
            if isinstance(source, str) and reading.is_file(self.folder / source):
                self.keep(source, self.text_of(source))
        self.tests, self.benchmarks = self.cases("tests"), self.cases("benchmarks")

    def text(self, key, default):
        found = self.raw.get(key) or default
        if not isinstance(found, str):
            raise Refused(f"{self.path}: {key}: a text is wanted")
        return found

    def add(self, name, source):
        parts = pathlib.PurePosixPath(name).parts
        if name.startswith("/") or ".." in parts:
            raise Refused(f"{self.path}: files: the name {name} leads out of the problem's folder")
        if not parts or not all(p.isidentifier() for p in parts[:-1]) or "\0" in name or name in self.files:
            raise Refused(f"{self.path}: files: {name!r} is no name of a file, or there twice")
        module = parts[0].partition(".")[0]
        if name.endswith(".py") and (module in sys.stdlib_module_names or module in ("numpy", "torch")):
            raise Refused(f"{self.path}: files: {name} would stand before a module of the same name that others import")
        if source != SUBMISSION:
            self.files[name] = self.text_of(source)
            self.keep(source, self.files[name])

    def text_of(self, source):
        """Sets of problems have files in the problem's folder, in the one above, and in another set's next to that."""
        place = self.folder / source
        try:
            inside = place.resolve().is_relative_to(self.folder.resolve().parent.parent)
        except (OSError, ValueError, RuntimeError) as e:
            raise Refused(f"{self.path}: files: {source} cannot be read: {e}") from e
        if pathlib.PurePosixPath(source).is_absolute() or not inside:
            raise Refused(f"{self.path}: files: {source} leads out of the set of problems")
        return reading.text_of(place)

    def keep(self, source, text):
        """What is written back next to task.yml: files of the problem's folder, and of the one above."""
        if ".." not in source.removeprefix("../"):
            self.sources[source] = text

    def cases(self, key):
        found = self.raw.get(key) or []
        if not isinstance(found, list) or not all(isinstance(c, dict) for c in found):
            raise Refused(f"{self.path}: {key}: a list of arguments is wanted")
        return found

    def modules(self):
        return {name.removesuffix(".py"): text for name, text in self.files.items() if name.endswith(".py")}


def modules(folder, submission):
    """What a submission may import: the problem's Python files, its evaluation apart."""
    if not (pathlib.Path(folder) / "task.yml").is_file():
        wanted = imported(pathlib.Path(submission))
        if wanted & {"task", "utils", "reference"}:
            raise Refused(f"{submission} imports files of its problem: name its folder, with task.yml, with --problem")
        return {}
    return {n: t for n, t in Problem(folder).modules().items() if n != "eval"}


def imported(path):
    tree = reading.syntax(reading.text_of(path), path)
    names = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    return names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def unpacked(text, function="ref_kernel"):
    """The names into which the reference unpacks its data, if it does: `a, b, out = data`."""
    tree = reading.syntax(text, "reference.py")
    body = next((n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == function), None)
    if body is None or not body.args.args:
        return None
    argument = body.args.args[0].arg
    for node in ast.walk(body):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == argument and \
                isinstance(node.targets[0], ast.Tuple) and all(isinstance(t, ast.Name) for t in node.targets[0].elts):
            return [t.id for t in node.targets[0].elts]
    return None


def tolerances(text, utils):
    """(rtol, atol) of make_match_reference(ref_kernel, ...), as far as the texts say it; None: they do not."""
    defaults = {}
    for node in ast.walk(reading.syntax(utils or "", "utils.py")):
        if isinstance(node, ast.FunctionDef) and node.name in ("match_reference", "make_match_reference"):
            names = [a.arg for a in node.args.args][-len(node.args.defaults):] if node.args.defaults else []
            names += [a.arg for a in node.args.kwonlyargs]
            values = [*node.args.defaults, *node.args.kw_defaults]
            defaults.update({n: v.value for n, v in zip(names, values) if isinstance(v, ast.Constant)})
    for node in ast.walk(reading.syntax(text, "reference.py")):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "make_match_reference":
            given = {**defaults, **{k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}}
            pair = given.get("rtol"), given.get("atol")
            if all(isinstance(x, (int, float)) and 0 <= x < math.inf for x in pair):
                return pair
    return None
