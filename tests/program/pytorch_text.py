"""Graphs as PyTorch modules, next to the oracle's answers; and the modules of tasks whose inputs are of several types."""
import os
import subprocess
import sys

import torch

HEAD = """<
  ir_version: 10, opset_import: ["" : 24],
  metadata_props: [
    "assay.task" : "text/1", "assay.contract" : "fp32", "assay.allclose" : "1e-4, 1e-4",
    "assay.workload.small" : "M=4, N=6", "assay.workload.full" : "M=4, N=6", "assay.workload.ragged0" : "M=3, N=5"%s
  ]
>
"""
# Name, inputs with their distribution, and the graph.
FLOATS = {"x": "uniform(-3, 3)"}
ONE = {name: (FLOATS, "graph (float[M, N] x) => (float[M, N] y) { %s }" % body) for name, body in {
    "Reciprocal": "p = Cosh(x) y = Reciprocal(p)", "Sin": "y = Sin(x)", "Cos": "y = Cos(x)",
    "Atan": "p = Cosh(x) q = Sin(p) y = Atan(q)", "Tan": "p = Tanh(x) y = Tan(p)",
    "Asin": "p = Sin(x) y = Asin(p)", "Acos": "p = Sin(x) y = Acos(p)",
    "Sinh": "y = Sinh(x)", "Asinh": "y = Asinh(x)", "Acosh": "p = Cosh(x) y = Acosh(p)", "Atanh": "p = Sin(x) y = Atanh(p)",
    "Celu": "y = Celu<alpha = 2.0>(x)", "Swish": "y = Swish<alpha = 1.5>(x)", "usual Swish": "y = Swish(x)",
    "ThresholdedRelu": "y = ThresholdedRelu<alpha = 0.2>(x)", "Shrink": "y = Shrink<bias = 0.3, lambd = 0.2>(x)"}.items()}
TWO = {name: ({"x": "uniform(-3, 3)", "s": "uniform(0.5, 2)"}, "graph (float[M, N] x, float[N] s) => (float[M, N] y) { %s }" % body)
       for name, body in {
    "PRelu": "y = PRelu(x, s)", "RMSNormalization": "y = RMSNormalization(x, s)",
    "LayerNormalization": "y = LayerNormalization(x, s)",
    "SwiGLU": "g = Mul(x, s) a = Swish(g) y = Mul(a, x)",
    "comparisons": "a = LessOrEqual(x, s) b = GreaterOrEqual(x, s) c = And(a, b) d = Or(a, c) e = Xor(d, b) y = Where(e, x, s)",
    "IsNaN": "l = Log(x) n = IsNaN(l) y = Where(n, x, s)"}.items()}
NONE = {"LRN": ({"x": "uniform(-3, 3)"}, "graph (float[M, N, 3, 3] x) => (float[M, N, 3, 3] y) { p = Relu(x) y = LRN<size = 3>(p) }"),
        "MeanVarianceNormalization": ({"x": "uniform(-3, 3)"},
                                      "graph (float[M, N, 2, 2] x) => (float[M, N, 2, 2] y) { y = MeanVarianceNormalization(x) }")}
# Inputs that PyTorch draws as another type.
TASKS = ["kernelbench/3/20", "kernelbench/1/95", "kernelbench/1/23"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


def read_npy(path, dtype):
    """Without NumPy: the header's length stands at byte 8, and the rest are the elements."""
    data = open(path, "rb").read()
    return torch.frombuffer(bytearray(data[10 + int.from_bytes(data[8:10], "little"):]), dtype=dtype)


def module(text):
    names = {"__name__": "module"}
    exec(compile(text, "module", "exec"), names)
    return names


def compare(assay, path, folder):
    """None, or what is wrong."""
    shown = run(assay, "show", path, "--pytorch", "--workload", "small")
    if shown.returncode:
        return f"show ends with {shown.returncode}: {shown.stderr}"
    asked = run(assay, "oracle", path, "--outputs", folder, "--seed", "7", "--workload", "small")
    if asked.returncode:
        return f"oracle ends with {asked.returncode}: {asked.stderr}"
    names = module(shown.stdout)
    inputs = names["get_inputs"]()
    drawn = [read_npy(f"{folder}/input_{i}.npy", x.dtype).reshape(x.shape) for i, x in enumerate(inputs)]
    with torch.no_grad():
        got = names["Model"](*names["get_init_inputs"]())(*drawn).double()
    want = read_npy(f"{folder}/output_0.npy", torch.float64).reshape(got.shape)
    error = ((got - want).abs() / (1 + want.abs())).max().item()
    return None if error < 1e-4 else f"is off by {error}"


def write_task(path, inputs, graph):
    keys = "".join(f',\n    "assay.input.{name}" : "{text}"' for name, text in inputs.items())
    with open(path, "w") as f:
        f.write(HEAD % keys + graph + "\n")


def main(assay, source, work):
    failures = 0

    def say(name, problem):
        nonlocal failures
        failures += problem is not None
        if problem is not None:
            print(f"FAILED: {name}: {problem}")

    for name, (inputs, graph) in {**ONE, **TWO, **NONE}.items():
        path = f"{work}/task.onnxtxt"
        write_task(path, inputs, graph)
        if name not in NONE:
            say(name, compare(assay, path, f"{work}/arrays"))
            continue
        shown = run(assay, "show", path, "--pytorch")
        right = shown.returncode == 1 and not shown.stdout and f"no translation of {name}" in shown.stderr
        say(name, None if right else f"ends with {shown.returncode}: {shown.stdout}{shown.stderr}")
        whole = run(assay, "show", path)
        say(name, None if f"none: there is no translation of {name}" in whole.stdout and "import torch" not in whole.stdout
            and whole.returncode == 0 else whole.stdout + whole.stderr)
    for task in TASKS:
        shown = run(assay, "show", task, "--pytorch", "--workload", "small")
        try:
            names = module(shown.stdout)
            with torch.no_grad():
                names["Model"](*names["get_init_inputs"]())(*names["get_inputs"]())
            say(task, None)
        except Exception as e:
            say(task, f"{type(e).__name__}: {e}")
    print(f"{failures} failures")
    return failures > 0


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main(*sys.argv[1:4]))
