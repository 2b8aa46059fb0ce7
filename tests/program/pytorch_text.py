# SPDX-License-Identifier: Apache-2.0
"""Graphs as PyTorch modules, next to the oracle's answers: those below, and every example of the operator table, which
either is such a module or is refused by the operator's name. And the modules of tasks whose inputs are of several types."""
import os
import re
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
PAD = "graph (float[M, N] x) => (float[M, Q] y) <int64[4] n = {0, 2, 0, 1}> { y = Pad<mode = \"%s\">(x, n) }"
IMAGES = {
    "Expand of a number": (FLOATS, "graph (float[M, N] x) => (float[M, N] y) <float c = {0}, int64[1] n = {1}> "
                           "{ e = Expand(c, n) y = Add(x, e) }"),
    "Unsqueeze of a number": (FLOATS, "graph (float[M, N] x) => (float[M, N] y) <float c = {2}, int64[1] n = {0}> "
                              "{ e = Unsqueeze(c, n) s = Cast<to = 1>(c) f = Mul(e, s) y = Add(x, f) }"),
    **{f"Pad {mode}": (FLOATS, PAD % mode) for mode in ("constant", "reflect", "edge", "wrap")},
    "Attention of fewer heads of keys": (dict.fromkeys("qkv", "normal(0, 1)"), "graph (float[1, 4, M, 8] q, float[1, 2, N, 8] k, "
                                         "float[1, 2, N, 8] v) => (float[1, 4, M, 8] y) { y = Attention(q, k, v) }"),
    "Attention of fewer heads in rows": (dict.fromkeys("qkv", "normal(0, 1)"), "graph (float[2, M, 32] q, float[2, N, 16] k, "
                                         "float[2, N, 16] v) => (float[2, M, 32] y) "
                                         "{ y = Attention<q_num_heads = 4, kv_num_heads = 2>(q, k, v) }"),
    "Div of whole numbers": ({"a": "integers(-40, 40)", "b": "integers(1, 9)"}, "graph (int64[M, N] a, int64[N] b) => (float[M, N] y) "
                             "<int64 five = {5}> { q = Div(a, b) r = Div(a, five) s = Add(q, r) y = Cast<to = 1>(s) }"),
    "Div of a whole number": ({"b": "integers(1, 9)"}, "graph (int64[M, N] b) => (float[M, N] y) "
                              "<int64 many = {-50}> { q = Div(many, b) y = Cast<to = 1>(q) }"),
    "Pad of axes": (FLOATS, "graph (float[M, N] x) => (float[M, Q] y) <int64[2] n = {1, 2}, float c = {3}, "
                    "int64[1] a = {-1}> { y = Pad(x, n, c, a) }")}
NONE = {"LRN": ({"x": "uniform(-3, 3)"}, "graph (float[M, N, 3, 3] x) => (float[M, N, 3, 3] y) { p = Relu(x) y = LRN<size = 3>(p) }"),
        "MeanVarianceNormalization": ({"x": "uniform(-3, 3)"},
                                      "graph (float[M, N, 2, 2] x) => (float[M, N, 2, 2] y) { y = MeanVarianceNormalization(x) }")}
# Inputs that PyTorch draws as another type.
TASKS = ["kernelbench/3/20", "kernelbench/1/95", "kernelbench/1/23"]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True)


NUMPY = {"<f8": torch.float64, "<f4": torch.float32, "<f2": torch.float16, "<i8": torch.int64, "<i4": torch.int32,
         "<i2": torch.int16, "|b1": torch.bool, "|u1": torch.uint8, "|i1": torch.int8}


def read_npy(path, like):
    """Without NumPy: the header's length stands at byte 8, and the rest are the elements."""
    data = open(path, "rb").read()
    start = 10 + int.from_bytes(data[8:10], "little")
    dtype = NUMPY[re.search(rb"'descr': '([^']*)'", data[:start])[1].decode()]
    elements = bytearray(data[start:])
    return (torch.frombuffer(elements, dtype=dtype) if elements else torch.empty(0, dtype=dtype)).reshape(like.shape)


def difference(got, want):
    got, want = got.double(), want.double()
    same = (got == want) | (got.isnan() & want.isnan())
    off = torch.where(same, 0, (got - want).abs() / (1 + want.abs())).nan_to_num(float("inf"))
    return off.max().item() if off.numel() else 0


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
    drawn = [read_npy(f"{folder}/input_{i}.npy", x).to(x.dtype) for i, x in enumerate(inputs)]
    with torch.no_grad():
        got = names["Model"](*names["get_init_inputs"]())(*drawn)
    got = got if isinstance(got, tuple) else (got,)
    error = max(difference(y, read_npy(f"{folder}/output_{i}.npy", y)) for i, y in enumerate(got))
    return None if error < 1e-4 else f"is off by {error}"


def write_task(path, inputs, graph):
    keys = "".join(f',\n    "assay.input.{name}" : "{text}"' for name, text in inputs.items())
    with open(path, "w") as f:
        f.write(HEAD % keys + graph + "\n")


EXAMPLE = """<
  ir_version: 10, opset_import: ["" : 28, "ai.assay" : 1, "local" : 1],
  metadata_props: ["assay.task" : "text/1", "assay.contract" : "%s", "assay.workload.small" : "",
                   "assay.workload.full" : ""%s]
>
g %s
"""
DRAWN = {"float": "uniform(0.2, 0.9)", "float16": "uniform(0.2, 0.9)", "bool": "bernoulli(0.5) fixed"}


FREE = re.compile(r"ai\.assay\.(QR|SVD|Eig|LDL|SeededUniform|SeededBinomial)\(")


def with_check(graph):
    """(key, function): outputs that are not unique need a check, if only one that takes them as they are."""
    if not FREE.search(graph):
        return "", ""
    names = re.findall(r"(\w+)[,)]", re.sub(r"\[[^\]]*\]", "", graph.split(" => ", 1)[1].split("{")[0]))
    body = " ".join(f"{n}_ = Identity({n})" for n in names)
    return ', "assay.check" : "plain"', (f'<domain: "local", opset_import: ["" : 28]>\nplain ({", ".join(names)}) => '
                                         f'({", ".join(n + "_" for n in names)}) {{ {body} }}\n')


def examples(assay):
    """(operator, graph) of every example on the operator page."""
    name, inside = None, False
    for line in run(assay, "operators").stdout.splitlines():
        if line.startswith("### "):
            name = line[4:].split()[0].removeprefix("ai.assay.")
        elif line.startswith("```"):
            inside = not inside
        elif inside:
            yield name, line


def check_example(assay, name, graph, path, folder):
    """(whether there is a translation, what is wrong)"""
    head, tail = graph.split(" => ", 1)
    inputs = re.findall(r"(\w+)(?:\[[^\]]*\])? (\w+)", head)
    keys = "".join(f', "assay.input.{x}" : "{DRAWN.get(t, "integers(0, 2) fixed")}"' for t, x in inputs)
    key, check = with_check(graph)
    with open(path, "w") as f:
        f.write(EXAMPLE % ("fp16" if "float16" in tail.split(")")[0] else "fp32", keys + key, graph) + check)
    shown = run(assay, "show", path, "--pytorch", "--workload", "small")
    refused = re.search(rf"no translation of .*\b({name}|Constant)\b", shown.stderr, re.M)
    if shown.returncode == 1 and not shown.stdout and refused:
        return False, None
    try:
        return True, compare(assay, path, folder)
    except Exception as e:  # what the module raises
        return True, f"{type(e).__name__}: {e}"


BY_SIZE, BY_SCALE = ("int64[4] n = {2, 3, 7, 5}", ", , , n", "7,5"), ("float[4] n = {1, 1, 1.7, 0.7}", ", , n", "6,4")
RESIZED = ("(float[2,3,4,6] x) => (float[2,3,%s] y) <%s> "
           "{ y = Resize<coordinate_transformation_mode = \"%s\", mode = \"%s\", nearest_mode = \"%s\">(x%s) }")
# How, by what, and whether there is a translation.
RESIZES = [(BY_SCALE, "half_pixel", "linear", "floor", True), (BY_SIZE, "align_corners", "linear", "floor", True),
           (BY_SIZE, "pytorch_half_pixel", "linear", "floor", True), (BY_SIZE, "half_pixel", "cubic", "floor", True),
           (BY_SCALE, "asymmetric", "nearest", "floor", True), (BY_SIZE, "asymmetric", "linear", "floor", False),
           (BY_SIZE, "half_pixel", "nearest", "round_prefer_ceil", True), (BY_SIZE, "half_pixel", "nearest", "floor", False)]
LEAST = 140  # examples that are translated; may grow


def main(assay, source, work):
    failures = 0

    def say(name, problem):
        nonlocal failures
        failures += problem is not None
        if problem is not None:
            print(f"FAILED: {name}: {problem}")

    for name, (inputs, graph) in {**ONE, **TWO, **IMAGES, **NONE}.items():
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
    translated = 0
    for name, graph in examples(assay):
        there, problem = check_example(assay, name, graph, f"{work}/task.onnxtxt", f"{work}/arrays")
        translated += there
        say(f"{name}: {graph}", problem)
    for by, coordinates, mode, nearest, wanted in RESIZES:
        graph = RESIZED % (by[2], by[0], coordinates, mode, nearest, by[1])
        there, problem = check_example(assay, "Resize", graph, f"{work}/task.onnxtxt", f"{work}/arrays")
        say(graph, problem or (None if there == wanted else f"{'a' if there else 'no'} translation"))
    print(f"{translated} examples of operators are translated")
    say("the table", None if translated >= LEAST else f"only {translated} of {LEAST} examples are translated")
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
