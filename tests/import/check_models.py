#!/usr/bin/env python3
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

from loading import importer

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
    import onnx.checker
    import onnx.parser
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
       "constant_nodes": ("(float[N, 512] x) => (float[N, 512] y) { y = MatMul(x, w) }", [],
                          ["float[512, 512] w", '"assay.input.w" : "normal(0, 1', "static"])}


def odd_models(tool, assay, folder):
    import numpy
    import onnx.parser
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


def expect(text, *wanted):
    for w in wanted:
        if w not in text:
            raise AssertionError(f"'{w}' is not in\n{text}")


def own_model(tool, assay, folder):
    """Symbolic dimensions, a function, indices without test data, and what the options do."""
    import onnx.parser
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
    tool = importer()
    outcomes, worst, failures = collections.Counter(), 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for part in (own_model, odd_models):
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
