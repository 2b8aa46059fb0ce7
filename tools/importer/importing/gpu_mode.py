# SPDX-License-Identifier: Apache-2.0
"""A problem of GPU MODE: task.yml and the files that it names. Nothing here needs PyTorch."""
import ast
import contextlib
import pathlib

from . import Refused

SUBMISSION = "@SUBMISSION@"


def load_yaml(path):
    try:
        import yaml
    except ImportError as e:
        raise Refused("task.yml is read with PyYAML: `pip install pyyaml` for the Python that runs this") from e
    try:
        return yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, yaml.YAMLError, RecursionError) as e:
        raise Refused(f"{path} cannot be read: {' '.join(str(e).split())}") from e


class Problem:
    """files: module or file name to text; tests, benchmarks: arguments of generate_input, a dictionary each."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.path = self.folder / "task.yml"
        raw = load_yaml(self.path)
        if not isinstance(raw, dict):
            raise Refused(f"{self.path}: it is no problem of GPU MODE")
        self.raw, self.name = raw, self.folder.resolve().name
        self.lang = raw.get("lang", "py")
        self.description = " ".join(str(raw.get("description") or self.name).split())
        self.ranking = raw.get("ranking_by", "last")
        self.multi_gpu = bool(raw.get("multi_gpu"))
        self.files, self.sources = {}, {}  # by name, and by source
        for row in raw.get("files") or []:
            if not isinstance(row, dict) or not isinstance(row.get("name"), str) or not isinstance(row.get("source"), str):
                raise Refused(f"{self.path}: files: each has a name and a source")
            name = pathlib.PurePosixPath(row["name"])
            if name.is_absolute() or ".." in name.parts:
                raise Refused(f"{self.path}: files: the name {row['name']} leads out of the problem's folder")
            if row["source"] == SUBMISSION:
                continue
            try:
                self.files[row["name"]] = (self.folder / row["source"]).read_text(encoding="utf-8")
            except (OSError, ValueError) as e:
                raise Refused(f"{self.path}: files: {row['source']} cannot be read: {e}") from e
            self.keep(row["source"], self.files[row["name"]])
        for source in (raw.get("templates") or {}).values() if isinstance(raw.get("templates"), dict) else []:
            with contextlib.suppress(OSError, ValueError, TypeError):
                self.keep(source, (self.folder / source).read_text(encoding="utf-8"))
        self.tests, self.benchmarks = self.cases("tests"), self.cases("benchmarks")

    def keep(self, source, text):
        """What is written back next to task.yml: files of the problem's folder, and of the one above."""
        if not pathlib.PurePosixPath(source).is_absolute() and ".." not in source.removeprefix("../"):
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
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, SyntaxError, RecursionError) as e:
        raise Refused(f"{path} is not Python: {e}") from e
    names = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    return names | {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}


def unpacked(text, function="ref_kernel"):
    """The names into which the reference unpacks its data, if it does: `a, b, out = data`."""
    tree = ast.parse(text)
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
    for node in ast.walk(ast.parse(utils or "")):
        if isinstance(node, ast.FunctionDef) and node.name in ("match_reference", "make_match_reference"):
            names = [a.arg for a in node.args.args][-len(node.args.defaults):] if node.args.defaults else []
            names += [a.arg for a in node.args.kwonlyargs]
            values = [*node.args.defaults, *node.args.kw_defaults]
            defaults.update({n: v.value for n, v in zip(names, values) if isinstance(v, ast.Constant)})
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "make_match_reference":
            given = {**defaults, **{k.arg: k.value.value for k in node.keywords if isinstance(k.value, ast.Constant)}}
            pair = given.get("rtol"), given.get("atol")
            if all(isinstance(x, (int, float)) and x >= 0 for x in pair):
                return pair
    return None
