#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Problems of GPU MODE to tasks, submissions to verdicts: problems.py.

    check_gpu_mode.py ASSAY
"""
import json
import os
import pathlib
import re
import sys
import tempfile

try:
    import yaml  # noqa: F401
except ImportError:
    print("skipped: this Python has no PyYAML, with which task.yml is read")
    sys.exit(77)

from check_flashinfer import TOOL, assay, has, properties, refusal, run  # noqa: F401
import problems


def half_products(root, out):
    """A reference's products of halves are done in single precision while it is run, and written as they are."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode
    from importing.called import on_this_machine

    class Products(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            if func in (torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default):
                asked.append(args[-1].dtype)
            return func(*args, **(kwargs or {}))
    asked, x, w = [], torch.randn(5, 24).half(), torch.randn(24, 8).half()
    with Products(), on_this_machine():
        made = [torch.nn.functional.linear(x, w.t()), x @ w, torch.einsum("ik,kj->ij", x, w), torch.matmul(x, other=w)]
    assert len(asked) == 4 and set(asked) == {torch.float32}, asked
    assert all(y.dtype == torch.float16 and torch.equal(y, (x.float() @ w.float()).half()) for y in made), made
    report = run([root / "turned", "-o", out / "turned.onnxtxt"])
    graph = (out / "turned.onnxtxt").read_text().rpartition("=>")[2]
    assert "contract fp16" in report and "Cast" not in graph and ("MatMul" in graph or "Gemm" in graph), (report, graph)
    has("depends on the values of tensors, which .numpy() takes out of PyTorch (line 8: for expert",
        refusal([root / "experts", "-o", out / "never"]))


def runs_once(root, out):
    """What dropouts keep is looked for once, however often a reference is exported."""
    from importing.called import CalledSource
    asked, before = [], CalledSource.recorded_masks
    CalledSource.recorded_masks = lambda source: asked.append(1) or before(source)
    try:
        refusal([root / "experts", "-o", out / "never"])
    finally:
        CalledSource.recorded_masks = before
    assert len(asked) == 1, asked


def tasks(root, out):
    run([root / "window", "-o", out / "window.onnxtxt"])
    kept = properties(out / "window.onnxtxt")
    assert kept["assay.workload.full"] == "rows=16, length=64, width=8", kept
    assert kept["assay.workload.test1"] == "rows=5, length=31, width=4", kept
    assert kept["assay.allclose"] == "0.002, 0.001" and kept["assay.input.taps"] == "uniform(-1, 1)", kept
    assert json.loads(kept["gpu_mode.benchmarks"])[1] == {
        "workload": "benchmark1", "case": {"length": 40, "width": 5, "rows": 8, "seed": 4}}, kept
    report = run([root / "scaled/task.yml", "-o", out / "scaled.onnxtxt"])
    kept = properties(out / "scaled.onnxtxt")
    has("contract fp16", report)
    assert kept["gpu_mode.data"] == "{'scores': scores, 'scale': 0.5}" and kept["gpu_mode.ranking_by"] == "geom", kept
    assert kept["assay.input.scores"].startswith("normal("), kept
    run([root / "groups", "-o", out / "groups.onnxtxt"])
    has("torch.empty_like(largest))", properties(out / "groups.onnxtxt")["gpu_mode.data"])
    from importing import NOTES
    run([root / "steep", "-o", out / "steep.onnxtxt"])
    has("elements are NaN or infinite in the module's own precision", " ".join(NOTES))
    assert properties(out / "steep.onnxtxt")["assay.input.weight"] != "constant(0)"
    run([root / "steep", "-o", out / "steep.onnxtxt", "--input", "x=normal(0, 1)"])
    assert "own precision" not in " ".join(NOTES), NOTES
    run([root / "totals", "-o", out / "totals.onnxtxt"])
    kept = properties(out / "totals.onnxtxt")
    assert kept["assay.workload.full"] == "size=1024" and kept["assay.workload.test0"] == "size=77", kept
    assert kept["assay.input.bytes_"] == "integers(0, 256) fixed" and kept["assay.input.numbers"].startswith("normal("), kept
    has("depend on numbers that it draws", refusal([root / "drawn_extent", "-o", out / "never"]))
    has("several GPUs", refusal([root / "several", "-o", out / "never"]))
    has("line 6: for k in range(int(data[0, 0].abs() * 3)):", refusal([root / "loop", "-o", out / "never"]))
    from importing.export import reason
    has("number of groups", reason(TypeError("Unsupported attribute type: '<class 'a.SymbolicTensor'>'"), root))
    (root / "loop/task.yml").write_text("files: [{name: a, source: nowhere.py}]\n")
    has("nowhere.py cannot be read", refusal([root / "loop"]))
    (root / "loop/task.yml").write_text("files: [{name: ../over.py, source: reference.py}]\n")
    has("leads out of the problem's folder", refusal([root / "loop"]))
    (root / "loop/task.yml").write_text("files: [\n")
    has("task.yml cannot be read", refusal([root / "loop"]))
    hostile(root / "loop")


def hostile(folder):
    """What a stranger's problem may hold, and what is said of it. Nothing is read beyond the set's folder."""
    files = "files: [{name: reference.py, source: reference.py}]\n"
    (folder / "link.py").symlink_to(sys.executable)
    (folder / "broken.py").write_text("def (\n")
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 8)}]\n" for k in range(1, 12))
    merged = "m0: &m0 {x: 1}\n" + "".join(f"m{k}: &m{k} {{<<: [{', '.join([f'*m{k - 1}'] * 8)}]}}\n" for k in range(1, 12))
    for text, why in (
            (bomb, "more than 131072 values"), (merged, "more than 131072 values"), ("x: &x [*x]\n", "without end"),
            ("x: " + "[" * 5000 + "]" * 5000 + "\n", "recursion"), ("x: " + "[" * 80 + "]" * 80 + "\n", "64 levels"),
            ("x: !!python/object/apply:os.getcwd []\n", "constructor"), ("x: .nan\n", "no number that can be passed"),
            ("x: {2020-01-01: 3}\n", "no text"), ("x: 0x" + "f" * 6000 + "\n", "64 bits"), ("x: \"\\ud800\"\n", "half a character"),
            ("lang: {a: b}\n", "lang: a text"), ("ranking_by: [1]\n", "ranking_by: a text"), ("#" * (1 << 20), "1 MiB"),
            ("templates: {CUDA: link.py}\n", "leads out")):
        (folder / "task.yml").write_text(text + files)
        has(why, refusal([folder]))
    for row, why in (("{name: a.py, source: /dev/null}", "leads out"), ("{name: a.py, source: ../../../x.py}", "leads out"),
                     ("{name: a.py, source: \"a\\0\"}", "cannot be read"), ("{name: a.py, source: .}", "it is a folder"),
                     ("{name: torch.py, source: reference.py}", "a module of the same name"), ("{name: \"\", source: x}", "no name"),
                     ("{name: utils.py, source: broken.py}", "is not Python")):
        (folder / "task.yml").write_text(f"files: [{{name: reference.py, source: reference.py}}, {row}]\n"
                                         "tests: [{rows: 4, seed: 1}]\n")
        has(why, refusal([folder]))
    (folder / "task.yml").write_text(files + "tests: [{rows: 4, seed: 1}]\n")
    for made, why in (("None", "no tensor in it"), ("torch.randn(rows, rows).to_sparse()", "a sparse tensor"),
                      ("torch.randn(rows, dtype=torch.complex64)", "a complex tensor")):
        (folder / "reference.py").write_text("import torch\n\n\ndef ref_kernel(data):\n    return data\n\n\n"
                                             f"def generate_input(rows, seed):\n    return {made}\n")
        has(why, refusal([folder]))
    (folder / "task.yml").write_text("files: 3\n")
    has("files: each has a name and a source", refusal([folder]))
    (folder / "task.yml").unlink()
    (folder / "task.yml").symlink_to("/dev/zero")
    has("no plain file", refusal([folder / "task.yml"]))


def own_task(out):
    path = out / "own.onnxtxt"
    path.write_text("""<ir_version: 10, opset_import: ["" : 23], metadata_props: ["assay.task" : "mine/rows", "assay.title" : "t",
 "assay.contract" : "fp32", "assay.workload.small" : "M=4, K=9", "assay.workload.full" : "M=30, K=20",
 "assay.allclose" : "1e-3, 1e-5", "assay.input.x" : "normal(0, 1)", "assay.input.w" : "uniform(-0.5, 0.5) static"]>
g (float[M, K] x, float[8, K] w) => (float[M, 8] y) {
  y = Gemm<transB = 1>(x, w)
}
""")
    return path


def written_back(root, out):
    """A problem that was imported is the same problem again; a task of Assay's own is one that can be imported."""
    has("1 problem\n", assay("export", "--format", "gpu-mode", "--task", out / "window.onnxtxt", "--to", out / "set"))
    for name in ("window/task.yml", "window/reference.py", "window/task.py", "utils.py"):
        ours, theirs = (out / "set" / name).read_text(), (root / name).read_text()
        assert yaml.safe_load(ours) == yaml.safe_load(theirs) if name.endswith("yml") else ours == theirs, name
    assay("export", "--format", "gpu-mode", "--task", own_task(out), "--to", out / "set")
    (out / "set/eval.py").write_text("")  # a set's own, as utils.py is
    report = run([out / "set/mine_rows", "-o", out / "rows.onnxtxt"])
    kept = properties(out / "rows.onnxtxt")
    assert kept["assay.workload.full"] == "M=30, K=20" and kept["assay.allclose"] == "0.001, 1e-05", (kept, report)
    assert kept["assay.input.x"].startswith("normal(0, 1)"), kept
    run([root / "layer", "-o", out / "layer.onnxtxt"])
    has("depend on weights that the reference draws", refusal([root / "forgotten", "-o", out / "never"]))


def submissions(root, out):
    kernels = out / "kernels"
    kernels.mkdir()
    for problem, name in problems.SUBMISSIONS:
        run([root / problem / f"{name}.py", "--task", out / f"{problem}.onnxtxt", "-o", kernels / f"{name}.py"])
    found = {}
    for v in json.loads(assay("bench", "gpu_mode", "--from", kernels, "--device", "cpu", "--run", "ours", "--no-probes",
                              "--samples", "10", "--workload", "each", "--json")):
        found.setdefault(v["name"].removesuffix(".py"), set()).add(v["verdict"])
    found = {name: " ".join(sorted(verdicts)) for name, verdicts in found.items()}
    assert found == {name: verdict for (_, name), (_, verdict) in problems.SUBMISSIONS.items()}, found
    results(out)
    lone = out / "lone.py"
    lone.write_text((root / "window/unfolded.py").read_text())
    has("with --problem", refusal([lone, "--task", out / "window.onnxtxt"]))
    lone.write_text("def kernel(data):\n    pass\n")
    has("has no custom_kernel", refusal([lone, "--task", out / "window.onnxtxt"]))


def results(out):
    """What GPU MODE's tools read: keys and texts, as its tester writes them."""
    has("4 submissions, 13 cases", assay("export", "ours", "--format", "gpu-mode", "--to", out / "results"))
    whole = json.loads((out / "results/window/unfolded.py.json").read_text())
    assert set(whole) == {"success", "error", "system", "runs"} and set(whole["runs"]) == {"test", "benchmark"}, whole
    run_ = whole["runs"]["test"]["run"]
    assert run_["success"] and run_["passed"] and run_["exit_code"] == 0, run_
    assert run_["result"] == {"test-count": "2", "test.0.spec": "length: 20; width: 3; rows: 2; seed: 1",
                              "test.0.status": "pass", "test.1.spec": "length: 31; width: 4; rows: 5; seed: 2",
                              "test.1.status": "pass", "check": "pass"}, run_
    timed = whole["runs"]["benchmark"]["run"]["result"]
    assert timed["benchmark-count"] == "2" and 0 < float(timed["benchmark.0.best"]) <= float(timed["benchmark.0.mean"]) \
        <= float(timed["benchmark.0.worst"]) and float(timed["benchmark.0.err"]) >= 0, timed
    wrong = json.loads((out / "results/window/short.py.json").read_text())["runs"]["test"]["run"]
    assert not wrong["passed"] and wrong["result"]["check"] == "fail" and wrong["exit_code"] == 112, wrong
    has("wrong_value", wrong["result"]["test.0.error"])
    # At sizes that are none of the problem's: nothing says that all of no tests pass, and what fails there fails.
    judged_elsewhere = ("--device", "cpu", "--run", "elsewhere", "--no-probes", "--checks", "1", "--no-timing")
    for name in ("unfolded", "short"):
        assay("bench", "gpu_mode", "--from", out / "kernels", "--only", f"{name}.py", "--workload", "small", *judged_elsewhere)
    # What an earlier export said of it is taken away.
    (out / "elsewhere/window").mkdir(parents=True)
    (out / "elsewhere/window/unfolded.py.json").write_text("{}")
    said = assay("export", "elsewhere", "--format", "gpu-mode", "--to", out / "elsewhere")
    has("1 submissions, ", said)
    has("1 submissions have no file: none was judged at the sizes of a test", said)
    assert not (out / "elsewhere/window/unfolded.py.json").exists()
    runs = json.loads((out / "elsewhere/window/short.py.json").read_text())["runs"]
    assert not runs["test"]["run"]["passed"] and runs["test"]["run"]["result"]["test-count"] == "1", runs
    assert runs["test"]["run"]["result"]["test.0.spec"] == "workload: small" and runs["test"]["run"]["result"]["check"] == "fail", runs
    counts = json.loads(assay("export", "elsewhere", "--format", "gpu-mode", "--to", out / "elsewhere", "--json"))
    assert counts["schema"] == "assay/export_submissions/1" and counts["untested"] == 1 and counts["submissions"] == 1, counts
    schema = json.loads((pathlib.Path(__file__).parents[2] / "docs/assay.schema.json").read_text())["$defs"]["exported_submissions"]
    assert set(counts) == set(schema["properties"]) == set(schema["required"]), (counts, schema)
    without_tests(out)


def without_tests(out):
    """A problem that has benchmarks alone: these are what passes or fails, and no test is made up."""
    path = out / "window.onnxtxt"
    kept = path.read_text()
    path.write_text(re.sub(r'("gpu_mode.tests" *: *")[^\n]*?\](",?)', r"\1[]\2", kept))
    assert properties(path)["gpu_mode.tests"] == "[]", properties(path)
    assay("export", "ours", "--format", "gpu-mode", "--to", out / "benchmarks")
    path.write_text(kept)
    runs = {name: json.loads((out / f"benchmarks/window/{name}.py.json").read_text())["runs"] for name in ("unfolded", "short")}
    assert set(runs["unfolded"]) == {"benchmark"} and runs["unfolded"]["benchmark"]["run"]["passed"], runs["unfolded"]
    assert not runs["short"]["benchmark"]["run"]["passed"], runs["short"]
    failed = runs["short"]["test"]["run"]["result"]  # at the sizes of what were tests
    assert not [v for k, v in failed.items() if k.endswith(".spec") and ("full" in v or "benchmark" in v)], failed


def main():
    with tempfile.TemporaryDirectory() as folder:
        root, out = pathlib.Path(folder) / "problems", pathlib.Path(folder) / "tasks/gpu_mode"
        out.mkdir(parents=True)
        os.environ["ASSAY_STORE"], os.environ["ASSAY_TASKS"] = str(out / "store.sqlite"), str(out.parent)
        os.environ.setdefault("ASSAY_PYTHON", sys.executable)
        problems.write(root)
        for step in (half_products, runs_once, tasks, written_back, submissions):
            step(root, out)
            print(f"{step.__name__}: fine", flush=True)


if __name__ == "__main__":
    main()
