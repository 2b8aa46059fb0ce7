#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Definitions to tasks, solutions to verdicts, verdicts to traces and back: data_set.py in flashinfer-bench's and
SOL-ExecBench's forms.

    check_flashinfer.py ASSAY
"""
import contextlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import onnx.parser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "import"))

import data_set  # noqa: E402
from loading import importer  # noqa: E402

ASSAY = sys.argv[1]
TOOL = importer()


def run(words):
    """What is printed; a refusal is raised."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        TOOL.run([*map(str, words), "--assay", ASSAY, "--no-lint"])
    return said.getvalue()


def refusal(words):
    try:
        run(words)
    except TOOL.Refused as e:
        return str(e)
    raise AssertionError(f"not refused: {words}")


def assay(*words, codes=(0, 1)):
    done = subprocess.run([ASSAY, *map(str, words)], capture_output=True, text=True)
    assert done.returncode in codes, (words, done.returncode, done.stdout, done.stderr)
    return done.stdout


def has(wanted, found):
    assert wanted in found, f"{wanted!r} is not in {found!r}"


def properties(path):
    return {p.key: p.value for p in onnx.parser.parse_model(path.read_text()).metadata_props}


# ---- definitions

def definitions(root, out):
    report = run([root / "definitions/rmsnorm/rmsnorm_d96.json", "-o", out / "norm.onnxtxt"])
    has("open dimensions: batch_size", report)
    has("contract bf16", report)
    kept = properties(out / "norm.onnxtxt")
    assert kept["assay.workload.full"] == "batch_size=64" and kept["assay.workload.w0"] == "batch_size=5", kept
    assert json.loads(kept["flashinfer_bench.workload.w1"])["uuid"] == "0000-2", kept
    assert kept["assay.task"] == "flashinfer_bench/rmsnorm_d96" and "assay.workload.ragged0" in kept
    report = run([root / "definitions/mix/mix_and_sum.json", "-o", out / "mix.onnxtxt"])
    kept = properties(out / "mix.onnxtxt")
    assert json.loads(kept["flashinfer_bench.scalars"]) == {"alpha": 0.125} and "assay.workload.w1" not in kept, kept
    assert kept["assay.workload.full"] == "M=40, N=24" and "assay.input.spare" not in kept, kept
    run([root / "turn/definition.json", "-o", out / "turn.onnxtxt"])
    kept = properties(out / "turn.onnxtxt")
    assert kept["assay.allclose"] == "0.002, 0.001" and kept["assay.input.angle"] == "uniform(0, 3)", kept
    run([root / "stretch.json", "-o", out / "stretch.onnxtxt"])
    kept = properties(out / "stretch.onnxtxt")
    assert kept["assay.workload.full"] == "n=30, twice=61" and kept["assay.workload.w0"] == "n=5, twice=11", kept


def refused(root, out):
    path = out / "d.json"

    def tried(change, words=(), **more):
        path.write_text(json.dumps({**data_set.RMSNORM, **change, **more}))
        return refusal([path, "-o", out / "never.onnxtxt", *words])
    loop = data_set.text("""
        def run(hidden_states, weight):
            total = hidden_states
            for k in range(int(hidden_states[0, 0])):
                total = total + weight
            return total
    """)
    has("line 3: for k in range(int(hidden_states[0, 0])):", tried({"reference": loop}))
    has("no function run", tried({"reference": "def go(): pass"}))
    has("not Python", tried({"reference": "def run(:"}))
    has("'depth', which is none of the axes", tried({"inputs": {"x": data_set.tensor(["depth"])}}))
    has("no dtype 'float31'", tried({"inputs": {"x": data_set.tensor(["batch_size"], "float31")}}))
    has("8 or 4 bits", tried({"outputs": {"q": data_set.tensor(["batch_size"], "float8_e4m3fn")}}))
    has("cannot be run: ModuleNotFoundError", tried({"reference": "import nowhere\n" + loop}))
    path.write_text("{")
    has("not JSON", refusal([path]))
    lines = out / "d.jsonl"
    lines.write_text('{"axes": {"batch_size": -4}, "inputs": {}, "uuid": "x"}\n')
    has("d.jsonl:1: axes: batch_size: -4 is no extent", tried({}))
    lines.write_text('{"axes": {}, "inputs": {}, "uuid": "x"}\n')
    has("no extent of the axis batch_size", tried({}))
    lines.unlink()


# ---- solutions

def judged(root, out):
    """Every solution as a candidate on the CPU; what is wrong is found wrong."""
    tasks = {"rmsnorm_d96": out / "norm.onnxtxt", "mix_and_sum": out / "mix.onnxtxt"}
    for raw, wanted, _ in data_set.SOLUTIONS:
        task, candidate = tasks[raw["definition"]], out / f"{raw['name']}.py"
        words = [root / f"solutions/{raw['name']}.json", "--task", task, "-o", candidate]
        if wanted == "refused":
            has("is not Python", refusal(words))
            continue
        run(words)
    found = {}
    for task in tasks.values():
        of = [str(out / f"{r['name']}.py") for r, w, _ in data_set.SOLUTIONS
              if tasks[r["definition"]] == task and w != "refused"]
        for v in json.loads(assay("judge", task, *of, "--device", "cpu", "--no-timing", "--json")):
            found[v["name"].removesuffix(".py")] = v["verdict"]
    assert found == {r["name"]: w for r, w, _ in data_set.SOLUTIONS if w != "refused"}, found
    has("it solves mix_and_sum", refusal([root / "solutions/named.json", "--task", tasks["rmsnorm_d96"]]))
    path = out / "s.json"
    for change, why in (({"spec": {**data_set.SOLUTIONS[0][0]["spec"], "entry_point": "main.py"}}, "FILE::FUNCTION"),
                        ({"sources": [{"path": "../main.py", "content": "x"}]}, "without .."),
                        ({"spec": {**data_set.SOLUTIONS[0][0]["spec"], "language": "fortran"}}, "its language is fortran")):
        path.write_text(json.dumps({**data_set.SOLUTIONS[0][0], **change}))
        has(why, refusal([path, "--task", tasks["rmsnorm_d96"]]))


def main():
    with tempfile.TemporaryDirectory() as folder:
        root, out = pathlib.Path(folder) / "set", pathlib.Path(folder) / "out"
        out.mkdir()
        os.environ["ASSAY_STORE"] = str(out / "store.sqlite")
        os.environ.setdefault("ASSAY_PYTHON", sys.executable)
        data_set.write(root)
        for step in (definitions, refused, judged):
            step(root, out)
            print(f"{step.__name__}: fine", flush=True)


if __name__ == "__main__":
    main()
