#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports the models of ONNX's backend test data that came out of PyTorch and compares the tasks with their test data.

    check_models.py ASSAY DATA

DATA is /usr/share/libonnx-testdata/data. Every model of the three folders below must become a task that gives the
stored outputs (tools/importer/assay-import compares, and fails where they differ), but for those that are refused for the
reason given.
"""

import collections
import contextlib
import io
import pathlib
import re
import sys
import tempfile

import numpy
import onnx
import onnx.checker
import onnx.parser
from loading import importer

TOOL = importer()
from importing.check import Assay  # noqa: E402

FOLDERS = ("pytorch-converted", "pytorch-operator", "simple")
LEAST = 110  # models that become tasks
# What cannot be a task, and what the refusal must say.
REFUSED = {r"test_operator_add_.*|test_operator_addconstant": "outputs are double.*export the model in one of these",
           r"test_PReLU_\dd_multiparam": "PRelu.*do not broadcast",  # as opset 6 meant it
           r"test_gradient_.*": "operator 'Gradient' of domain",
           r"test_sequence_model[1-6]": "operator '(Sequence|SplitTo)\\w+'",
           r"test_sequence_model7": "outputs are double|operator|not a tensor",
           r"test_sequence_model8": "SplitToSequence|empty|not a tensor",
           r"test_strnorm_.*": "type string"}
AGREES = re.compile(r"agrees with the model's test data to (\S+)")


def check(tool, assay, path, folder):
    output = pathlib.Path(folder) / (path.parent.name + ".onnxtxt")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint"])
    found = AGREES.search(said.getvalue())
    if not found or not float(found[1]) <= 1e-5:
        raise AssertionError(f"was not compared: {said.getvalue()}")
    onnx.checker.check_model(onnx.parser.parse_model(output.read_text()), full_check=True)
    return float(found[1])


OWN = """<ir_version: 8, opset_import: ["" : 18, "mine" : 1]>
mlp (float[N, 6] x, int64[N] row) => (float[N, 3] y)
<float[8, 6] table = {TABLE}, float[3, 6] w = {WEIGHT}, float one = {1.0}> {
  e = Gather(table, row)
  s = mine.gate(x, e)
  t = Transpose<perm = [1, 0]>(w)
  p = MatMul(s, t)
  y = Add(p, one)
}
<domain: "mine", opset_import: ["" : 18]>
gate (a, b) => (c) {
  g = Sigmoid(b)
  c = Mul(a, g)
}"""


# What exporters write and ONNX does not forbid: whole numbers that no table is chosen by, extents of -1, weights as
# Constant nodes, names that steer a terminal.
ODD = {"whole": ("(int64[N, 4] ids) => (float[N, 4] y) { f = Cast<to = 1>(ids) y = Sqrt(f) }",
                 ["--input", "ids=integers(0, 9)"], ['"assay.input.ids" : "integers(0, 9) fixed"']),
       "minus_one": ("(float[N, 4] x) => (float[N, 4] y) { y = Relu(x) }", ["--dim", "D1=7"],
                     ["float[D1, 4] x", '"assay.workload.full" : "D1=7"']),
       "least": ("(float[N, 3, H, W] x) => (float[N, 3, P, Q] y) { y = MaxPool<kernel_shape = [5, 5]>(x) }", [],
                 ['"assay.workload.full" : "N=4, H=8, W=8"']),  # the least sizes that fit, and the batch as it was
       "compared": ("(int32[N] ids) => (float[N, 3] y) { k = Constant<value = int32[3] {0, 1, 6}>() "
                    "a = Constant<value_ints = [1]>() i = Unsqueeze(ids, a) e = Equal(i, k) y = Cast<to = 1>(e) }", [],
                    ['"assay.input.ids" : "integers(0, 7) fixed"']),
       "constant_nodes": ("(float[N, 512] x) => (float[N, 512] y) { y = MatMul(x, w) }", [],
                          ["float[512, 512] w", '"assay.input.w" : "normal(0, 1', "static"])}


def odd_models(tool, assay, folder):
    for name, (text, options, wanted) in ODD.items():
        model = onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> ' + name + text)
        if name == "minus_one":
            for value in (*model.graph.input, *model.graph.output):
                value.type.tensor_type.shape.dim[0].dim_value = -1
        if name == "constant_nodes":
            weight = numpy.random.default_rng(3).normal(size=(512, 512)).astype(numpy.float32)
            model.graph.node.insert(0, onnx.helper.make_node("Constant", [], ["w"],
                                                             value=onnx.numpy_helper.from_array(weight)))
        path, output = pathlib.Path(folder) / f"{name}.onnx", pathlib.Path(folder) / f"{name}.onnxtxt"
        onnx.save(model, path)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint", *options])
        expect(output.read_text(), *wanted)
        if output.stat().st_size > 4096:
            raise AssertionError(f"{name}: {output.stat().st_size} bytes")
    model.graph.node[1].op_type = "Mat\x1b[31mMul"
    onnx.save(model, path)
    try:
        tool.run([str(path), "-o", str(output), "--assay", assay])
    except tool.Refused as refusal:
        expect(str(refusal), r"Mat\x1b[31mMul")
    else:
        raise AssertionError("an unknown operator was not refused")


# Control flow: what is left of it, and what is computed where ONNX's reference evaluator cannot say.
TURN = """<body = b (int64 i, bool c, float[N, 4] h) => (bool c2, float[N, 4] h2, float[N, 4] o) {
  c2 = Identity(c) f = Cast<to = 1>(i) h2 = Add(h, f) o = Mul(h2, x) }>"""
SIDES = """<then_branch = t () => (a) { two = Constant<value_float = 2.0>() a = Mul(x, two) },
  else_branch = e () => (b) { one = Constant<value_float = 1.0>() b = Sub(x, one) }>"""
STEP = "body = b (float[2] h, float[2] v) => (float[2] h2, float[2] o) { two = Constant<value_float = 2.0>() " \
       "g = Mul(h, two) h2 = Add(g, v) o = Neg(h2) }"
CONTROL = {
    "by_data": ("(float[N, 4] x) => (float[N, 4] y) { s = ReduceSum<keepdims = 0>(x) z = Constant<value_float = 0.0>() "
                "c = Greater(s, z) y = If(c) " + SIDES + " }", [], ["Where(", '"assay.workload.ragged3"'], None),
    "by_rank": ("(float[N, 4] x) => (float[N, 4] y) { e = Shape(x) r = Size(e) k = Constant<value_int = 2>() "
                "c = Equal(r, k) y = If(c) " + SIDES + " }", [], ["Mul(x", '"assay.workload.ragged3"'], None),
    "by_extent": ("(float[N, 4] x) => (float[N, 4] y) { e = Shape<end = 1>(x) k = Constant<value_ints = [2]>() "
                  "c = Greater(e, k) y = If(c) " + SIDES + " }", ["--dim", "N=8"],
                  ["Mul(x", "no workload of the sizes {'N': 1}", "no workload of the sizes {'N': 2}"], None),
    "by_setting": ("(float[N, 4] x, int64 rate) => (float[N, 4] y) { r = Constant<value_int = 16>() c = Equal(rate, r) "
                   "y = If(c) " + SIDES + " }", [], ["rate is 16", "Mul(x"], None),
    "by_option": ("(float[N, 4] x, int64 rate) => (float[N, 4] y) { r = Constant<value_int = 16>() c = Equal(rate, r) "
                  "y = If(c) " + SIDES + " }", ["--input", "rate=constant(8)"], ["Sub(x"], None),
    "turns": ("(float[N, 4] x) => (float[N, 4] y, float[3, N, 4] all) { m = Constant<value_int = 3>() "
              "t = Constant<value = bool {1}>() y, all = Loop(m, t, x) " + TURN + " }", ["--dim", "N=2"], ["Concat"],
              lambda x: (x + 3, numpy.stack([x * x, (x + 1) * x, (x + 3) * x]))),
    "scanned": ("(float[2] x, float[3, 2] v) => (float[2] y, float[3, 2] all) { y, all = Scan<num_scan_inputs = 1, "
                "scan_input_directions = [1], scan_output_directions = [1], " + STEP + ">(x, v) }", [], ["Concat"],
                lambda x, v: (((x * 2 + v[2]) * 2 + v[1]) * 2 + v[0], -numpy.stack(
                    [((x * 2 + v[2]) * 2 + v[1]) * 2 + v[0], (x * 2 + v[2]) * 2 + v[1], x * 2 + v[2]])),),
}
FLOWS = {"(float[N, 4] x) => (float[M, K] y) { s = ReduceSum<keepdims = 0>(x) z = Constant<value_float = 0.0>() "
         "c = Greater(s, z) y = If(c) <then_branch = t () => (a) { a = Transpose(x) }, else_branch = e () => (b) "
         "{ b = Neg(x) }> }": "branches' shapes are not known to be the same",
         "(float[N, 4] x) => (float[N, 4] y, float[3, N, 4] all) { s = ReduceMax<keepdims = 0>(x) m = Cast<to = 7>(s) "
         "t = Constant<value = bool {1}>() y, all = Loop(m, t, x) " + TURN + " }": "turns as often as data say"}


def control_flow(tool, assay, folder):
    def run(name, text, options):
        path, output = pathlib.Path(folder) / f"{name}.onnx", pathlib.Path(folder) / f"{name}.onnxtxt"
        onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["" : 18]> ' + name + text), path)
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint", *options])
        return output
    for name, (text, options, wanted, computed) in CONTROL.items():
        output = run(name, text, options)
        expect(output.read_text(), *wanted)
        if computed:
            drawn, ours = Assay(assay).answer(output, "small")
            for a, b in zip(ours, computed(*[d.astype(numpy.float64) for d in drawn])):
                if a.shape != b.shape or not numpy.allclose(a, b, rtol=1e-6, atol=1e-6):
                    raise AssertionError(f"{name}: {a}, not {b}")
    for k, (text, wanted) in enumerate(FLOWS.items()):
        try:
            run(f"flow{k}", text, [])
        except tool.Refused as refusal:
            expect(str(refusal), wanted)
        else:
            raise AssertionError(f"flow{k} was not refused")


def expect(text, *wanted):
    for w in wanted:
        if w not in text:
            raise AssertionError(f"'{w}' is not in\n{text}")


def own_model(tool, assay, folder):
    """Symbolic dimensions, a function, indices without test data, and what the options do."""
    numbers = [", ".join(f"{(k * 37 % 19 - 9) / 8}" for k in range(n)) for n in (48, 18)]
    model = onnx.parser.parse_model(OWN.replace("TABLE", numbers[0]).replace("WEIGHT", numbers[1]))
    path, output = pathlib.Path(folder) / "mlp.onnx", pathlib.Path(folder) / "mlp.onnxtxt"
    onnx.save(model, path)

    def run(*options):
        said, assumed = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(assumed):
            tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint", *options])
        return output.read_text(), said.getvalue() + assumed.getvalue()

    text, said = run("--dim", "N=32", "--input", "x=uniform(-2, 2)")
    expect(
        text,
        '"assay.workload.full" : "N=32"',
        '"assay.workload.ragged0" : "N=1"',
        '"assay.input.row" : "integers(0, 8) fixed"',
        '"assay.input.x" : "uniform(-2, 2)"',
        "float[8, 6] table",
        "static",
        "Sigmoid",
        "float one = {1.0}",
    )
    expect(said, "reference evaluator")
    text, said = run("--weights", "constants")
    expect(text, "<float[8, 6] table = {")
    expect(said, "dimension N is 4 in full, for want of --dim N=N", "x: normal(0, 1), as nothing says")
    for wanted, options in (
        ("no such dimension; it has N", ["--dim", "Q=3"]),
        ("write \"B=2, C=16\"", ["--dim", "N=0"]),
        ("there is no such folder", ["--test-data", folder + "/none"]),
        ("lacks input_0.pb", ["--test-data", folder]),
    ):
        try:
            run(*options)
        except tool.Refused as refusal:
            expect(str(refusal), wanted)
        else:
            raise AssertionError(f"{options} was not refused")
    # A folder gets a file of the model's name; one that is not there is said.
    inside = pathlib.Path(folder, "inside")
    inside.mkdir()
    tool.run([str(path), "-o", str(inside), "--assay", assay, "--no-lint"])
    if not (inside / path.with_suffix(".onnxtxt").name).is_file():
        raise AssertionError("the task is not in the folder that was named")
    try:
        tool.run([str(path), "-o", folder + "/none/x.onnxtxt", "--assay", assay, "--no-lint"])
    except tool.Refused as refusal:
        expect(str(refusal), "there is no folder")
    else:
        raise AssertionError("a folder that is not there was not refused")
    # A file may be called anything, a task may not.
    path = path.rename(path.with_name('my "mlp" (1).onnx'))
    text, said = run("--weights", "constants")
    expect(text, '"assay.task" : "imported/my__mlp___1_"', r'"assay.title" : "my \"mlp\" (1)"')
    path.write_bytes(b"no model")
    try:
        run()
    except tool.Refused as refusal:
        expect(str(refusal), "not a valid ONNX model")
    else:
        raise AssertionError("what is not a model was not refused")


def main():
    assay, data = sys.argv[1], pathlib.Path(sys.argv[2])
    tool = TOOL
    outcomes, worst, failures = collections.Counter(), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for part in (own_model, odd_models, control_flow):
            try:
                part(tool, assay, folder)
            except Exception as e:  # each is a failure of this part
                print(f"{part.__name__}: {type(e).__name__}: {e}")
                failures += 1
        for path in sorted(p for f in FOLDERS for p in (data / f).glob("*/model.onnx")):
            name = path.parent.name
            wanted = next((text for pattern, text in REFUSED.items() if re.fullmatch(pattern, name)), None)
            try:
                worst = max(worst, check(tool, assay, path, folder))
                outcomes["became tasks"] += 1
                if wanted:
                    print(f"{name} can be imported now: take it out of the list of those that are refused")
                    failures += 1
            except tool.Refused as refusal:
                outcomes["refused"] += 1
                if not wanted or not re.search(wanted, str(refusal), re.DOTALL):
                    print(f"{name}: {refusal}" + (f" (which does not say '{wanted}')" if wanted else ""))
                    failures += 1
            except Exception as e:  # each is a failure of this model
                print(f"{name}: {type(e).__name__}: {e}")
                failures += 1
    print(", ".join(f"{n} {what}" for what, n in outcomes.items()), f"(largest error {worst:.1e}), {failures} failures")
    return failures > 0 or outcomes["became tasks"] < LEAST


if __name__ == "__main__":
    sys.exit(main())
