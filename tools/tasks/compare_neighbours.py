#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Public examples of the neighbours' formats, read, written back and compared: flashinfer-bench and SOL-ExecBench
(definitions, workloads, solutions, traces), GPU MODE (task.yml and its files, submissions).

    compare_neighbours.py ASSAY NAME=CHECKOUT... [--csv=FILE] [--page=FILE] [--only=PART] [--jobs=N] [--seconds=N]

NAME: what the table calls the checkout, whose files are found by what is in them: *.json with a reference and axes is a
definition, with sources and a spec a solution; lines of *.jsonl with an evaluation are traces; a task.yml is a problem,
and submission*.py and solution*.py next to it are submissions. Needs the importer's packages and PyYAML.

A line for each file. `read`: it is understood. `task`: its reference is a task, whose answers agree with the reference's
in double precision. `equal`: what is written back is the same JSON or YAML, and the same text in the files next to it.
`judged`: the verdict on the CPU, on one draw at `small`, of a solution or submission, and of a definition or problem that
of its own reference in the form of a candidate. `twin`: that of the reference with answers five per cent too large.
--csv: a row for each file, kept as they come; files that it has are not asked again. --page: the table of counts, and
what is refused, between the marks in this page. --only: files whose path has this part. --jobs: so many files at once (1).
--seconds: no file is begun later. Exit code 1: something that was written back differs, a reference is refused or a twin
passes.
"""
import collections
import csv
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "tests" / "import"))

from loading import importer  # noqa: E402

TOOL = importer()
from importing import flashinfer, gpu_mode  # noqa: E402

LIMIT_S = 3600
BUDGET_S = 600  # of each candidate
KINDS = ("definition", "workloads", "solution", "traces", "task.yml", "submission")
COLUMNS = ("set", "kind", "path", "read", "task", "equal", "judged", "twin", "reason")
MARKS = "<!-- neighbours: written by tools/tasks/compare_neighbours.py -->", "<!-- end of neighbours -->"
NUMBERS = ("sm_scale=0.1", "scale=0.1", "eps=1e-6")  # for definitions that come without workloads


class Row(dict):
    def __init__(self, kind, path):
        super().__init__(kind=kind, path=str(path), read="", task="", equal="", judged="", twin="", reason="")


def quietly(words, assay):
    """What the importer refuses with; "" if nothing."""
    try:
        TOOL.run([*map(str, words), "--assay", assay, "--no-lint"])
        return ""
    except TOOL.Refused as e:
        return " ".join(str(e).split())


def exported(assay, task, form, folder):
    done = subprocess.run([assay, "export", "--format", form, "--task", task, "--to", folder], capture_output=True,
                          text=True)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())


def lines_of(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line.strip()]


# ---- verdicts

TWIN = """

def _assay_larger(value):
    if isinstance(value, dict):
        return {k: _assay_larger(v) for k, v in value.items()}
    if isinstance(value, (tuple, list)):
        return type(value)(map(_assay_larger, value))
    return value * 1.05 if value.is_floating_point() else value.logical_not() if value.dtype == _assay_bool else value + 1


def _assay_twin(*arguments, **more):
    return _assay_larger(FUNCTION(*arguments, **more))


from torch import bool as _assay_bool
"""


def judge(assay, task, rows):
    """Puts the verdicts of candidates, (row, column, file), into their rows."""
    rows = [r for r in rows if r[2].exists()]
    if not rows:
        return
    words = [assay, "judge", task, *(path for _, _, path in rows), "--device", "cpu", "--workload", "small", "--no-timing",
             "--no-probes", "--checks", "1", "--no-store", "--json", "--progress", "none", "--budget", str(BUDGET_S)]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    found = {v["name"]: v for v in json.loads(done.stdout or "[]")}
    for row, column, path in rows:
        v = found.get(path.name)
        row[column] = v["verdict"] if v else "judge_failed"
        if row[column] != "pass" and column == "judged":
            row["reason"] = "; ".join(filter(None, [row["reason"], " ".join((v["detail"] if v else done.stderr).split())]))


# ---- flashinfer-bench and SOL-ExecBench

def workloads_of(path, raw):
    """By the layouts that the importer knows, else a *.jsonl of that name anywhere in the data set."""
    place = flashinfer.workloads_file(path, flashinfer.Definition(raw, path))
    root = next((p.parent for p in path.parents if p.name == "definitions"), None)
    found = sorted(root.rglob(f"{raw['name']}.*jsonl")) if root and not place else []
    return place or next((p for p in found if "workload" in str(p)), None)


def definition_rows(assay, path, raw, solutions, folder):
    rows, task = [Row("definition", path)], folder / "task.onnxtxt"
    row = rows[0]
    try:
        place = workloads_of(path, raw)
        definition = flashinfer.Definition(raw, path)
        row["read"] = "yes"
        workloads = flashinfer.read_workloads(place, definition) if place else []
    except TOOL.Refused as e:
        row["reason"] = " ".join(str(e).split())
        return rows
    words = [path, "-o", task] + (["--workloads", place] if place else [w for n in NUMBERS for w in ("--number", n)])
    row["reason"] = quietly(words, assay)
    row["task"] = "no" if row["reason"] else "yes"
    if place:
        rows.append(Row("workloads", place))
        rows[1].update(read=str(len(workloads)))
    if row["task"] == "yes":
        exported(assay, task, "flashinfer-bench", folder / "out")
        row["equal"] = "yes" if [json.loads(p.read_text()) for p in (folder / "out").rglob("definitions/**/*.json")] == [raw] else "no"
        written = {w["workload"]["uuid"]: w["workload"] for p in (folder / "out").rglob("workloads/**/*.jsonl") for w in lines_of(p)}
        if place:
            kept = flashinfer.usable(workloads, definition)
            rows[1].update(task=str(len(kept)), equal=str(sum(written.get(w.uuid) == w.raw for w in kept)),
                           reason="" if len(kept) == len(workloads) else "others pass other numbers, or have an extent of 0")
    judged = [solution_row(assay, p, s, task if row["task"] == "yes" else None, folder / f"solution_{k}.py")
              for k, (p, s) in enumerate(solutions)]
    if row["task"] == "yes":
        judged = own_solutions(assay, row, raw, task, folder) + judged
        judge(assay, task, judged)
    return rows + [r for r, _, _ in judged if r is not row]


def own_solutions(assay, row, raw, task, folder):
    """The reference as a Solution, and its twin."""
    found = []
    for name, column, function, more in (("reference", "judged", "run", ""),
                                         ("twin", "twin", "_assay_twin", TWIN.replace("FUNCTION", "run"))):
        spec = {"language": "python", "target_hardware": ["cpu"], "entry_point": f"main.py::{function}", "dependencies": [],
                "destination_passing_style": False}
        place, candidate = folder / f"{name}.json", folder / f"{name}.py"
        place.write_text(json.dumps({"name": name, "definition": raw["name"], "author": "assay", "spec": spec,
                                     "sources": [{"path": "main.py", "content": raw["reference"] + more}]}))
        row["reason"] = row["reason"] or quietly([place, "--task", task, "-o", candidate], assay)
        found.append((row, column, candidate))
    return found


def solution_row(assay, path, raw, task, candidate):
    """(the row, its column, the candidate's file, which is there if it is one)."""
    row = Row("solution", path)
    return row, "judged", read_solution(assay, row, path, raw, task, candidate)


def read_solution(assay, row, path, raw, task, candidate):
    try:
        flashinfer.Solution(raw, path)
        row["read"] = "yes"
    except TOOL.Refused as e:
        row["reason"] = " ".join(str(e).split())
        return candidate
    if not task:
        row.update(task="no", reason="its definition is no task")
        return candidate
    back = candidate.with_suffix(".json")
    row["reason"] = quietly([path, "--task", task, "-o", candidate], assay)
    row["task"] = "no" if row["reason"] else "yes"
    if row["task"] == "yes":
        quietly([candidate, "--task", task, "--solution", "-o", back], assay)
        row["equal"] = "yes" if json.loads(back.read_text()) == raw else "no"
    return candidate


def trace_rows(assay, path, folder):
    row, store = Row("traces", path), folder / "store.sqlite"
    traces = [t for t in lines_of(path) if t.get("evaluation")]
    done = subprocess.run([assay, "runs", "import", path, "theirs", "--store", store], capture_output=True, text=True)
    row["read"] = str(len(traces)) if done.returncode == 0 else ""
    row["reason"] = done.stderr.strip()
    if done.returncode == 0:
        subprocess.run([assay, "export", "theirs", "--format", "flashinfer-bench", "--to", folder / "out", "--store", store],
                       check=True, capture_output=True)
        back = [t for p in (folder / "out").rglob("traces/**/*.jsonl") for t in lines_of(p)]
        row["equal"] = str(sum(t in back for t in traces))
    return [row]


# ---- GPU MODE

def problem_rows(assay, path, folder):
    import yaml
    row, task = Row("task.yml", path), folder / f"{path.parent.name}.onnxtxt"
    try:
        problem = gpu_mode.Problem(path.parent)
        row["read"] = "yes"
    except TOOL.Refused as e:
        row["reason"] = " ".join(str(e).split())
        return [row]
    row["reason"] = quietly([path.parent, "-o", task], assay)
    row["task"] = "no" if row["reason"] else "yes"
    if row["task"] == "yes":
        exported(assay, task, "gpu-mode", folder / "out")
        written = next((folder / "out").rglob("task.yml"))
        same = yaml.safe_load(written.read_text()) == problem.raw and all(
            (written.parent / source).read_text() == text for source, text in problem.sources.items())
        row["equal"] = "yes" if same else "no"
    judged = []
    if row["task"] == "yes":
        for name, column, function, more in (("reference", "judged", "ref_kernel", ""),
                                             ("twin", "twin", "_assay_twin", TWIN.replace("FUNCTION", "ref_kernel"))):
            place, candidate = folder / f"own_{name}.py", folder / f"{name}.py"
            place.write_text(f"from reference import ref_kernel\n{more}\ncustom_kernel = {function}\n")
            row["reason"] = row["reason"] or quietly([place, "--task", task, "--problem", path.parent, "-o", candidate], assay)
            judged.append((row, column, candidate))
    for k, p in enumerate(sorted(path.parent.rglob("*.py"))):
        if re.match(r"(submission|solution)", p.name) or p.parent.name == "solutions":
            one, candidate = Row("submission", p), folder / f"submission_{k}.py"
            one["reason"] = quietly([p, "--task", task, "--problem", path.parent, "-o", candidate], assay) \
                if row["task"] == "yes" else "its problem is no task"
            one.update(read="yes", task="no" if one["reason"] else "yes")
            judged.append((one, "judged", candidate))
    judge(assay, task, judged)
    return [row] + [r for r, _, _ in judged if r is not row]


# ---- all of them

def found_in(checkout):
    """(kind, path, what is known of it)."""
    definitions, solutions = [], collections.defaultdict(list)
    for path in sorted(checkout.rglob("*.json")):
        try:
            raw = json.loads(path.read_text())
        except (OSError, ValueError):
            continue
        if flashinfer.is_definition(raw):
            definitions.append((path, raw))
        elif flashinfer.is_solution(raw):
            solutions[raw.get("definition")].append((path, raw))
    for path, raw in definitions:
        mine = [s for s in solutions[raw.get("name")] if s[0].parent == path.parent or path.parent.name != s[0].parent.name]
        near = [s for s in mine if s[0].parent == path.parent] or mine
        yield "definition", path, (raw, near)
    for path in sorted(checkout.rglob("*.jsonl")):
        if '"evaluation"' in path.read_text() and any(t.get("evaluation") for t in lines_of(path)):
            yield "traces", path, None
    for path in sorted(checkout.rglob("task.yml")):
        yield "task.yml", path, None


def rows_of(assay, kind, path, known, folder):
    if kind == "definition":
        return definition_rows(assay, path, *known, folder)
    return trace_rows(assay, path, folder) if kind == "traces" else problem_rows(assay, path, folder)


class Apart:
    """Rows that a process of its own finds: references are run, and may leave anything behind."""

    def __init__(self, assay, kind, path, known):
        self.kind, self.path, self.folder = kind, path, tempfile.TemporaryDirectory()
        self.result = pathlib.Path(self.folder.name) / "rows.json"
        self.pid = os.fork()
        if self.pid == 0:
            self.find(assay, known)

    def find(self, assay, known):
        os.setsid()
        signal.alarm(LIMIT_S)
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        try:
            rows = rows_of(assay, self.kind, self.path, known, pathlib.Path(self.folder.name))
        except BaseException as e:
            line = traceback.extract_tb(e.__traceback__)[-1].lineno
            rows = [{**Row(self.kind, self.path), "reason": f"{type(e).__name__}: {e} ({line})"}]
        self.result.write_text(json.dumps(rows))
        os._exit(0)

    def rows(self):
        """Of the process, which has ended."""
        rows = [{**Row(self.kind, self.path), "reason": f"not done after {LIMIT_S} s, or killed"}]
        if self.result.exists():
            rows = json.loads(self.result.read_text())
        self.folder.cleanup()
        return rows


def each_apart(assay, files, jobs, end):
    """(what is said of a file, its rows), as they come: up to `jobs` processes at once, none begun after `end`."""
    running, files = {}, iter(files)
    while True:
        while len(running) < jobs and time.monotonic() < end and (file := next(files, None)):
            about, *what = file
            process = Apart(assay, *what)
            running[process.pid] = about, process
        if not running:
            return
        about, process = running.pop(os.wait()[0])
        yield about, process.rows()


def without_places(text, checkout):
    """Names of the checkout's files as they are there; nothing of this machine's folders."""
    places = [str(checkout), os.path.relpath(checkout)]  # before the folder for such files, where it may lie
    places = [re.escape(p) for p in places if p != "."] + [re.escape(tempfile.gettempdir()) + "/[^/ ]*"]
    return re.sub(rf"(?<![\w/])(?:{'|'.join(places)})/", "", text).replace(os.environ["ASSAY_PYTHON"], "python3")


def number(text):
    return int(text) if text.isdigit() else int(text == "yes")


def page(rows):
    """The table of counts, and of what is refused with its reason."""
    out = ["| set | kind | files | read | became tasks or candidates | written back equal | pass | twins refused |",
           "|---|---|---|---|---|---|---|---|"]
    for name in dict.fromkeys(r["set"] for r in rows):
        for kind in KINDS:
            mine = [r for r in rows if r["set"] == name and r["kind"] == kind]
            if mine:
                sums = [str(sum(number(r[c]) for r in mine)) for c in ("read", "task", "equal")]
                sums[1] = "" if kind == "traces" else sums[1]
                sums[2] = "" if kind == "submission" else sums[2]
                verdicts = [[r[c] for r in mine if r[c]] for c in ("judged", "twin")]
                sums += [f"{v.count('pass') if k == 0 else len(v) - v.count('pass')} of {len(v)}" if v else ""
                         for k, v in enumerate(verdicts)]
                out.append(f"| {name} | {kind} | {len(mine)} | {' | '.join(sums)} |")
    refused = collections.defaultdict(list)
    for r in rows:
        if r["reason"] and r["reason"] not in ("its definition is no task", "its problem is no task"):
            refused[(r["set"], r["reason"][:240])].append(pathlib.Path(r["path"]))
    out += ["", "| set | refused | why |", "|---|---|---|"]
    for (name, reason), paths in refused.items():
        shown = ", ".join(f"`{p.parent.name if p.name in ('task.yml', 'definition.json', 'workload.jsonl') else p.name}`" for p in paths)
        out.append(f"| {name} | {shown} | {reason.replace('|', chr(92) + '|')} |")
    return "\n".join(out)


def keep(place, rows):
    """Whole or not at all: a run may be ended here."""
    part = pathlib.Path(f"{place}.part")
    with part.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    part.replace(place)


def kept(place):
    if not place or not pathlib.Path(place).exists():
        return []
    with open(place, newline="") as file:
        return list(csv.DictReader(file))


def wrong(row):
    """What must not be: written back otherwise, a reference that is refused, a twin that passes."""
    known = {"traces": "read", "workloads": "task"}.get(row["kind"])
    own = row["kind"] in ("definition", "task.yml") and (row["judged"] not in ("", "pass") or row["twin"] == "pass")
    return row["equal"] == "no" or own or bool(known and row["equal"] and row["equal"] != row[known])


def compared(assay, sets, options, known):
    """Rows of the files that `known` has not, as they come."""
    files = []
    for name, checkout in (word.split("=", 1) for word in sets):
        root = pathlib.Path(checkout).resolve()
        files += [((name, root), kind, path, about) for kind, path, about in found_in(root)
                  if options.get("only", "") in str(path) and (name, str(path.relative_to(root))) not in known]
    end = time.monotonic() + float(options.get("seconds", "inf"))
    for (name, root), rows in each_apart(assay, files, int(options.get("jobs", 1)), end):
        for row in rows:
            path = pathlib.Path(row["path"]).relative_to(root)
            yield {"set": name, **row, "path": str(path), "reason": without_places(row["reason"], root)}


def main():
    options = dict(w[2:].split("=", 1) for w in sys.argv[1:] if w.startswith("--"))
    words = [w for w in sys.argv[1:] if not w.startswith("--")]
    if len(words) < 2 or not all("=" in w for w in words[1:]):
        sys.exit(__doc__)
    os.environ.setdefault("ASSAY_PYTHON", sys.executable)
    rows = kept(options.get("csv"))
    for row in compared(words[0], words[1:], options, {(r["set"], r["path"]) for r in rows}):
        rows.append(row)
        print(" ".join(f"{row[c]:10}" for c in COLUMNS if c != "path"), row["path"], flush=True)
        if "csv" in options:
            keep(options["csv"], rows)
    order = {word.split("=", 1)[0]: k for k, word in enumerate(words[1:])}
    rows.sort(key=lambda r: (order.get(r["set"], len(order)), KINDS.index(r["kind"]), r["path"]))
    if "csv" in options:
        keep(options["csv"], rows)
    if "page" in options:
        place = pathlib.Path(options["page"])
        before, rest = place.read_text().split(MARKS[0], 1)
        place.write_text(before + MARKS[0] + "\n" + page(rows) + "\n" + MARKS[1] + rest.split(MARKS[1], 1)[1])
    print(page(rows))
    return int(any(map(wrong, rows)))


if __name__ == "__main__":
    sys.exit(main())
