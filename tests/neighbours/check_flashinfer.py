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


def place(out, name):
    return out / "tasks/flashinfer_bench" / f"{name}.onnxtxt"


# ---- definitions

def definitions(root, out):
    report = run([root / "definitions/rmsnorm/rmsnorm_d96.json", "-o", place(out, "rmsnorm_d96")])
    has("open dimensions: batch_size", report)
    has("contract bf16", report)
    kept = properties(place(out, "rmsnorm_d96"))
    assert kept["assay.workload.full"] == "batch_size=64" and kept["assay.workload.w0"] == "batch_size=5", kept
    assert json.loads(kept["flashinfer_bench.workload.w2"])["uuid"] == "0000-2", kept
    assert kept["assay.task"] == "flashinfer_bench/rmsnorm_d96" and "assay.workload.ragged0" in kept
    report = run([root / "definitions/mix/mix_and_sum.json", "-o", place(out, "mix_and_sum")])
    kept = properties(place(out, "mix_and_sum"))
    assert json.loads(kept["flashinfer_bench.scalars"]) == {"alpha": 0.125} and "assay.workload.w2" not in kept, kept
    assert kept["assay.workload.full"] == "M=40, N=24" and "assay.input.spare" not in kept, kept
    run([root / "turn/definition.json", "-o", place(out, "turn")])
    kept = properties(place(out, "turn"))
    assert kept["assay.allclose"] == "0.002, 0.001" and kept["assay.input.angle"] == "uniform(0, 3)", kept
    run([root / "stretch.json", "-o", place(out, "stretch")])
    kept = properties(place(out, "stretch"))
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
    fails = "def run(hidden_states, weight):\n    assert int(hidden_states.sum()) == 5 * 10**6\n    return hidden_states\n"
    has("AssertionError:  (line 2: assert int(", tried({"reference": fails}))
    # Refused by what it declares, before its reference is run and exported, which takes minutes for some.
    two = {**data_set.RMSNORM["outputs"], "scale": data_set.tensor(["batch_size"])}
    has("of its outputs output is bfloat16, scale is float32: a task has one contract", tried({"outputs": two, "reference": fails}))
    has("output is float64", tried({"outputs": {"output": data_set.tensor(["batch_size", "hidden_size"], "float64")}}))
    has("no function run", tried({"reference": "def go(): pass"}))
    for text in ("import sys\nsys.exit(0)\n" + fails, "def run(hidden_states, weight):\n    raise SystemExit(0)\n"):
        has("ends the program (SystemExit: 0)", tried({"reference": text}))
    has("ends the program (E: x)", tried({"reference": "class E(BaseException): pass\nraise E('x')\n" + fails}))
    has("surrogates not allowed", tried({"description": "half \ud800"}))
    has("const with a value above 0", tried({"axes": {"batch_size": data_set.VAR, "hidden_size": data_set.const(True)}}))
    has("not Python", tried({"reference": "def run(:"}))
    has("'depth', which is none of the axes", tried({"inputs": {"x": data_set.tensor(["depth"])}}))
    has("no dtype 'float31'", tried({"inputs": {"x": data_set.tensor(["batch_size"], "float31")}}))
    has("8 or 4 bits", tried({"outputs": {"q": data_set.tensor(["batch_size"], "float8_e4m3fn")}}))
    has("cannot be run: ModuleNotFoundError", tried({"reference": "import nowhere\n" + loop}))
    axes = data_set.RMSNORM["axes"]
    for expression, why in (("(9.0 ** 64) ** 5 * 9.0 ** 64", "is inf, which is no extent"),
                            ("((9 ** 64) ** 64) ** 64", "more than 256 bits"), ("9.0 ** 64 ** 2", "exponent")):
        has(why, tried({"axes": {**axes, "wide": {"type": "expr", "expression": expression}}}))
    for number in ("nan", "inf"):
        has("is NaN or infinite in every element", tried({"reference": "def run(hidden_states, weight):\n"
                                                          f"    return hidden_states * weight * float('{number}')\n"}))
    hostile(tried)
    path.write_text("{")
    has("not JSON", refusal([path]))
    for text, why in (('{"name": ' + "9" * 30 + "}", "64 bits"), ('{"name": NaN}', "no number that can be passed"),
                      ("[" * 80 + "]" * 80, "64 levels"), ("[" * 100000, "recursion")):
        path.write_text(text)
        has(why, refusal([path]))
    lines = out / "d.jsonl"
    lines.write_text('{"axes": {"batch_size": -4}, "inputs": {}, "uuid": "x"}\n')
    has("d.jsonl:1: axes: batch_size: -4 is no extent", tried({}))
    lines.write_text('{"axes": {}, "inputs": {}, "uuid": "x"}\n')
    has("no extent of the axis batch_size", tried({}))
    row = {"type": "safetensors", "tensor_key": "x"}
    lines.write_text(json.dumps({"axes": {"batch_size": 4}, "inputs": {"hidden_states": row}, "uuid": "x"}) + "\n")
    whole = {"hidden_states": data_set.tensor(["batch_size"], "int32"), "weight": data_set.tensor(["batch_size"])}
    has("hidden_states: path: a text is wanted", tried({"inputs": whole}))
    lines.unlink()


def hostile(tried):
    """Values of other types than the format's, and texts that no parser survives."""
    axes = data_set.RMSNORM["axes"]
    for key, value, why in (("op_type", {"a": 1}, "op_type: a text"), ("description", 3, "description: a text"),
                            ("custom_inputs_entrypoint", ["a"], "custom_inputs_entrypoint: a text"),
                            ("reference", "def run(x):\n    return " + "-" * 30000 + "x", "nested too deeply"),
                            ("axes", {**axes, "wide": {"type": "expr", "expression": "-" * 30000 + "1"}}, "nested too deeply"),
                            ("inputs", {"x": data_set.tensor(["\u00b2"])}, "none of the axes"),
                            ("inputs", {"x": data_set.tensor(["9" * 5000])}, "none of the axes"),
                            ("inputs", {"x": data_set.tensor(["batch_size"] * 40)}, "32 dimensions"),
                            ("inputs", {"x": data_set.tensor(["batch_size"], [])}, "no dtype")):
        has(why, tried({key: value}))
    for value, why in (("None", "make returns NoneType, and not a dictionary"), ("[hidden]", "make returns list, and not"),
                       ("{'weight': hidden}", "make gives no hidden_states")):
        made = f"\n\ndef make(sizes, device):\n    hidden = torch.randn(4, 4)\n    return {value}\n"
        has(why, tried({"reference": data_set.RMSNORM["reference"] + made, "custom_inputs_entrypoint": "make"}))


SUPERVISED = """
import runpy, sys
sys.path.insert(0, sys.argv[1])
from importing.supervise import supervised
sys.exit(supervised(lambda: runpy.run_path(sys.argv[2]), float(sys.argv[3]), sys.argv[2]))
"""


def limits(root, out):
    """What never ends, ends its process or breaks it: said, and nothing of it is left."""
    path, tools = out / "foreign.py", HERE.parents[1] / "tools/importer"

    def ended(text, seconds=60):
        path.write_text(text)
        done = subprocess.run([sys.executable, "-c", SUPERVISED, tools, path, str(seconds)], capture_output=True, text=True,
                              stdin=subprocess.PIPE, timeout=120)
        return done.returncode, done.stdout, done.stderr
    endless = "it took longer than 2 s (--limit SECONDS), at line "
    for text, line in (("while True:\n    pass\n", ""), ("import time\ntime.sleep(1e6)\n", "2: time.sleep(1e6)")):
        code, _, said = ended(text, 2)
        assert code == 1 and endless + line in said, said
    has("in a call that does not come back", ended("import signal\nsignal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])\n"
                                                   "while True:\n    pass\n", 2)[2])
    has("ends the program (exit code 0)", ended("import os\nos._exit(0)\n")[2])
    has("signal 11", ended("import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)\n")[2])
    assert ended("import sys\nprint('made')\nsys.exit(3)\n")[:2] == (3, "made\n")
    assert ended("import threading, time\nthreading.Thread(target=time.sleep, args=(1e6,)).start()\n")[0] == 0
    has("EOFError", ended("input('name?')\n")[2])
    mark = out / "child"
    code, _, _ = ended(f"import subprocess\nopen({str(mark)!r}, 'w').write(str(subprocess.Popen(['sleep', '1000']).pid))\n"
                       "while True:\n    pass\n", 2)
    status = pathlib.Path(f"/proc/{mark.read_text()}/status")
    assert not status.exists() or "Z (zombie)" in status.read_text()
    words = [sys.executable, tools / "assay-import", root / "definitions/rmsnorm/rmsnorm_d96.json"]
    done = subprocess.run([*words, "--limit", "never"], capture_output=True, text=True)
    assert done.returncode == 2 and "never is no number of seconds above 0" in done.stderr, done
    text = "import os\nos._exit(0)\ndef run(hidden_states, weight):\n    return hidden_states\n"
    path = out / "leaves.json"
    path.write_text(json.dumps({**data_set.RMSNORM, "reference": text}))
    done = subprocess.run([*words[:2], path, "-o", out / "never.onnxtxt", "--assay", ASSAY], capture_output=True, text=True)
    assert done.returncode == 1 and "leaves.json: what is imported ends the program (exit code 0)" in done.stderr, done
    assert not (out / "never.onnxtxt").exists()


# ---- solutions and traces

def candidates(root, out):
    """Every solution as a candidate; what cannot be one is refused."""
    kernels = out / "kernels"
    kernels.mkdir()
    for raw, wanted, _ in data_set.SOLUTIONS:
        words = [root / f"solutions/{raw['name']}.json", "--task", place(out, raw["definition"]), "-o",
                 kernels / f"{raw['name']}.py"]
        if wanted == "refused":
            has("is not Python", refusal(words))
        else:
            run(words)
            run([words[-1], "--task", words[2], "--solution", "-o", out / "back.json"])
            assert json.loads((out / "back.json").read_text()) == raw, raw["name"]
    norm, spec = place(out, "rmsnorm_d96"), data_set.SOLUTIONS[0][0]["spec"]
    has("it solves mix_and_sum", refusal([root / "solutions/named.json", "--task", norm]))
    path = out / "s.json"
    for change, why in (({"spec": {**spec, "entry_point": "main.py"}}, "FILE::FUNCTION"),
                        ({"sources": [{"path": "../main.py", "content": "x"}]}, "without .."),
                        ({"spec": {**spec, "language": "fortran"}}, "its language is fortran"),
                        ({"spec": {**spec, "language": "cuda", "binding": "tvm-ffi"}}, "its binding is tvm-ffi")):
        path.write_text(json.dumps({**data_set.SOLUTIONS[0][0], **change}))
        has(why, refusal([path, "--task", norm]))
    path.write_text(json.dumps({**data_set.SOLUTIONS[0][0], "spec": {**spec, "languages": ["Python"]}}))
    run([path, "--task", norm, "-o", out / "capital.py"])
    own = out / "own.py"
    own.write_text("import torch\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, hidden_states, weight):\n"
                   "        return hidden_states * weight\n")
    run([own, "--task", norm, "--solution", "-o", path])
    made = json.loads(path.read_text())
    assert made["definition"] == "rmsnorm_d96" and made["spec"]["entry_point"] == "main.py::run", made
    names = {}
    exec(made["sources"][0]["content"], names)
    import torch
    assert names["run"](torch.full((2, 3), 2.0), torch.full((3,), 4.0)).eq(8).all()
    own.write_text("x = 1\n")
    has("no class ModelNew", refusal([own, "--task", norm, "--solution"]))
    cpp = data_set.solution("cpp", "rmsnorm_d96", {
        "main.cpp": '#include "deep/numbers.h"\nPYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("run", &run); }\n',
        "deep/numbers.h": "#pragma once\nconst int NUMBER = 1;\n"}, "main.cpp::run", "cpp", binding="torch")
    path.write_text(json.dumps(cpp))
    run([path, "--task", norm, "-o", out / "cpp.py"])
    has("const int NUMBER = 1;", (out / "cpp.py").read_text())
    text = (out / "cpp.py").read_text()
    assert "#include" not in text[:text.index("# The solution as it was read")]


def judged(root, out):
    """The verdicts on the CPU, and the traces that they are written as."""
    found = {}
    for v in json.loads(assay("bench", "flashinfer_bench", "--from", out / "kernels", "--device", "cpu", "--run", "ours",
                              "--samples", "10", "--json")):
        found[v["name"].removesuffix(".py")] = v["verdict"]
    assert found == {r["name"]: w for r, w, _ in data_set.SOLUTIONS if w != "refused"}, found
    said = assay("export", "ours", "--format", "flashinfer-bench", "--to", out / "set")
    traces = [json.loads(line) for p in sorted((out / "set/traces").rglob("*.jsonl")) for line in p.read_text().splitlines()]
    assert {t["solution"]: t["evaluation"]["status"] for t in traces} == \
        {r["name"]: s for r, w, s in data_set.SOLUTIONS if w != "refused"}, said
    assert (out / "set/traces/assay/rmsnorm/rmsnorm_d96.jsonl").is_file()
    for t in traces:
        check_trace(t)
    back(out, traces)
    assay("export", "ours", "--format", "sol-execbench", "--to", out / "sol")
    for p in (out / "sol/traces").rglob("*.jsonl"):
        for line in p.read_text().splitlines():
            correctness = json.loads(line)["evaluation"]["correctness"] or {}
            assert not correctness or correctness["has_nan"] is False and correctness["max_absolute_error"] >= 0


def check_trace(trace):
    """What their own classes demand of one."""
    assert set(trace) == {"definition", "workload", "solution", "evaluation"}, trace
    assert trace["workload"]["uuid"] and all(n > 0 for n in trace["workload"]["axes"].values()), trace
    e = trace["evaluation"]
    assert (e["correctness"] is not None) == (e["status"] in ("PASSED", "INCORRECT_NUMERICAL")), trace
    assert (e["performance"] is not None) == (e["status"] == "PASSED"), trace
    assert e["environment"]["hardware"] and e["environment"]["libs"]["assay"] and e["timestamp"], trace
    if e["performance"]:
        assert e["performance"]["latency_ms"] > 0, trace


def back(out, traces):
    """Traces are verdicts of a run, and the same traces again."""
    file = out / "theirs.jsonl"
    odd = [{**traces[0], "solution": "odd", "evaluation": {**traces[0]["evaluation"], "status": s, "correctness": c,
                                                           "performance": None}}
           for s, c in (("INCORRECT_NUMERICAL", {"max_relative_error": "NaN", "max_absolute_error": "Infinity"}),
                        ("TIMEOUT", None), ("REWARD_HACK", None), ("INVALID_REFERENCE", None))]
    plain = {"definition": "d", "workload": {"axes": {}, "inputs": {}, "uuid": "u"}, "solution": None, "evaluation": None}
    file.write_text("".join(json.dumps(t) + "\n" for t in [plain, *traces, *odd]))
    has(f"{len(traces) + 4} verdicts imported", assay("runs", "import", file))
    assay("export", "theirs", "--format", "flashinfer-bench", "--to", out / "again")
    again = [json.loads(line) for p in (out / "again/traces").rglob("*.jsonl") for line in p.read_text().splitlines()]
    key = lambda t: json.dumps(t, sort_keys=True)  # noqa: E731
    assert sorted(map(key, again)) == sorted(map(key, traces + odd))
    has("theirs", assay("score", "theirs"))
    older = {**traces[0], "workload": {"axes": {"M": 7, "N": 5}, "inputs": {}}}  # without a uuid
    file.write_text(json.dumps(older) + "\n")
    assay("runs", "import", file, "older")
    assay("export", "older", "--format", "flashinfer-bench", "--to", out / "older")
    assert [json.loads(p.read_text()) for p in (out / "older/traces").rglob("*.jsonl")] == [older]
    file.write_text(json.dumps({**traces[0], "evaluation": {"status": "FINE"}}) + "\n")
    done = subprocess.run([ASSAY, "runs", "import", file, "other"], capture_output=True, text=True)
    assert done.returncode == 2 and "line 1: evaluation.status" in done.stderr, done
    for text in ("[" * 100000, '{"definition": 7}', ""):
        file.write_text(text + "\n")
        done = subprocess.run([ASSAY, "runs", "import", file, "other"], capture_output=True, text=True)
        assert done.returncode == 2 and "is no file of Traces" in done.stderr, done
    assert "other" not in assay("runs")


# ---- tasks of ours as definitions

TASK = """<ir_version: 10, opset_import: ["" : 23], metadata_props: ["assay.task" : "mine/gelu_sum", "assay.title" : "t",
 "assay.contract" : "fp32", "assay.workload.small" : "M=4, K=9", "assay.workload.full" : "M=30, K=20",
 "assay.input.x" : "normal(0, 1)", "assay.input.lambda" : "uniform(-0.5, 0.5) static"]>
g (float[M, K] x, float[8, K] lambda) => (float[M, 8] y, float[M] total) {
  xw = Gemm<transB = 1>(x, lambda)
  y = Gelu(xw)
  axis = Constant<value = int64[1] {1}>()
  total = ReduceSum<keepdims = 0>(y, axis)
}
"""


def definitions_of_ours(root, out):
    """A task as a Definition, and that as a task: both give the same answers."""
    import numpy
    task = out / "gelu_sum.onnxtxt"
    task.write_text(TASK)
    has("1, with 2 workloads", assay("export", "--format", "flashinfer-bench", "--task", task, "--to", out / "made"))
    path = next((out / "made/definitions").rglob("*.json"))
    made = json.loads(path.read_text())
    assert made["name"] == "mine_gelu_sum" and made["axes"]["c8"] == {"type": "const", "value": 8}, made
    assert made["axes"]["M"] == {"type": "var"} and list(made["outputs"]) == ["y", "total"], made
    run([path, "-o", out / "again.onnxtxt"])
    kept = properties(out / "again.onnxtxt")
    assert kept["assay.workload.full"] == "M=30, K=20" and kept["assay.workload.w0"] == "M=4, K=9", kept
    answers = []
    draw = numpy.random.default_rng(7)
    feeds = out / "feeds"
    feeds.mkdir()
    for k, shape in enumerate([(5, 11), (8, 11)]):
        numpy.save(feeds / f"input_{k}.npy", draw.standard_normal(shape))
    for file in (task, out / "again.onnxtxt"):
        assay("oracle", file, "--inputs", feeds, "--outputs", out / "answers")
        answers.append([numpy.load(out / f"answers/output_{k}.npy") for k in range(2)])
    for a, b in zip(*answers):
        assert a.shape == b.shape and abs(a - b).max() < 1e-13, abs(a - b).max()
    # A definition that was imported comes back as it was.
    assay("export", "--format", "flashinfer-bench", "--task", place(out, "rmsnorm_d96"), "--to", out / "made")
    kept = json.loads((out / "made/definitions/rmsnorm/rmsnorm_d96.json").read_text())
    assert kept == data_set.RMSNORM, kept
    lines = [json.loads(line) for line in (out / "made/workloads/rmsnorm/rmsnorm_d96.jsonl").read_text().splitlines()]
    theirs = [json.loads(line) for line in (root / "workloads/rmsnorm/rmsnorm_d96.jsonl").read_text().splitlines()]
    assert all(t in lines for t in theirs), lines


def main():
    with tempfile.TemporaryDirectory() as folder:
        root, out = pathlib.Path(folder) / "set", pathlib.Path(folder) / "out"
        (out / "tasks/flashinfer_bench").mkdir(parents=True)
        os.environ["ASSAY_TASKS"] = str(out / "tasks")
        os.environ["ASSAY_STORE"] = str(out / "store.sqlite")
        os.environ.setdefault("ASSAY_PYTHON", sys.executable)
        data_set.write(root)
        for step in (definitions, refused, limits, candidates, judged, definitions_of_ours):
            step(root, out)
            print(f"{step.__name__}: fine", flush=True)


if __name__ == "__main__":
    main()
