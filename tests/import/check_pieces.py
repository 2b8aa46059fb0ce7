#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The importer's parts: what it makes of draws and of values, and what its options do.

    check_pieces.py ASSAY MODULES REFUSED
"""
import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import types

from loading import importer

TOOL = importer()

import numpy  # noqa: E402
import torch  # noqa: E402
from importing import export, functions, linalg, module_task, task  # noqa: E402
from importing.check import Assay  # noqa: E402
from importing.distributions import fit, fit_draws  # noqa: E402
from importing.source import is_blank  # noqa: E402
from importing.substitutes import install  # noqa: E402
from importing.watch import Watch  # noqa: E402

# What get_inputs may do, and the distribution that is.
FOLLOWED = [(lambda: torch.rand(3, 4), "uniform(0, 1)"),
            (lambda: torch.rand(3, 4) * 2 - 1, "uniform(-1, 1)"),
            (lambda: 1 - torch.rand(5), "uniform(0, 1)"),
            (lambda: (torch.rand(4, 4) - 0.5) / 2, "uniform(-0.25, 0.25)"),
            (lambda: torch.randn(2, 3).to(torch.float32).transpose(0, 1), "normal(0, 1)"),
            (lambda: 3 + 2 * torch.randn(7), "normal(3, 2)"),
            (lambda: -torch.randn(7), "normal(0, 1)"),
            (lambda: torch.empty(8).uniform_(-3, 5), "uniform(-3, 5)"),
            (lambda: torch.empty(8).normal_(0, 0.02), "normal(0, 0.02)"),
            (lambda: torch.randint(10, (4,)), "integers(0, 10)"),
            (lambda: torch.randint(2, 7, (4,)), "integers(2, 7)"),
            (lambda: torch.randint(low=1, high=4, size=(4,)) + 1, "integers(2, 5)"),
            (lambda: torch.randint(0, 2, (4, 4)).bool(), "bernoulli(0.5)"),
            (lambda: torch.rand(4, 4) > 0.25, "bernoulli(0.75)"),
            (lambda: torch.rand(4, 4) < 0.25, "bernoulli(0.25)"),
            (lambda: torch.ones(4), "constant(1)"),
            (lambda: torch.full((2, 2), 0.5), "constant(0.5)"),
            (lambda: torch.tril(torch.rand(4, 4)), "uniform(0, 1) tril"),
            (lambda: torch.rand(4, 9).softmax(dim=-1), "uniform(0, 1) softmax fixed"),
            (lambda: torch.randn(4, 9) * torch.rand(()), "normal(0, 1) * uniform_scalar(0, 1)"),
            (lambda: torch.rand(4, 4) @ torch.rand(4, 4), None),
            (lambda: torch.rand(4) ** 2, None),
            (lambda: torch.rand(4, 4) + torch.rand(4, 4), None),
            (lambda: torch.rand(4, 9).softmax(dim=0), None)]


def same(got, wanted, what):
    if got != wanted:
        raise AssertionError(f"{what}: {got}, not {wanted}")


def followed_draws():
    for k, (draw, wanted) in enumerate(FOLLOWED):
        with Watch() as watch:
            made = draw()
        found = watch.of(made)
        same(found and found.text(), wanted, f"draw {k}")


def fitted_values():
    r = numpy.random.default_rng(7)
    same(fit(numpy.full(9, 0.1, numpy.float32))[0], "constant(0.100000001)", "constant")
    same(
        fit(r.uniform(-0.125, 0.125, 5000).astype(numpy.float32), bounds=[0.3, 0.125])[0],
        "uniform(-0.125, 0.125)",
        "bound",
    )
    same(fit(r.uniform(0.5, 1.5, 20000))[0], "uniform(0.5, 1.5)", "no known bound")
    same(fit(r.normal(0, 0.02, 5000), deviations=[1.0, 0.02])[0], "normal(0, 0.02)", "known deviation")
    same(fit(r.integers(0, 50, 5000))[0], "integers(0, 50)", "whole numbers")
    same(fit(r.random(10000) < 0.3)[0][:12], "bernoulli(0.", "true and false")
    a = r.normal(0, 1, (3, 8, 8))
    a = a @ a.swapaxes(-1, -2) + 0.01 * numpy.eye(8)
    a = (a + a.swapaxes(-1, -2)) / 2
    same(fit_draws([a, a + numpy.eye(8)], 64), "uniform(-1, 1) definite fixed", "definite matrices")
    same(fit_draws([a, a - 20 * numpy.eye(8)], 64)[:7], "normal(", "matrices of which some are not definite")
    same(fit_draws([numpy.eye(64), 2 * numpy.eye(64)], 64)[:7], "normal(", "diagonal matrices")
    text = fit(r.normal(5, 2, 100000))[0]
    mean, deviation = (float(x) for x in re.fullmatch(r"normal\((.*), (.*)\)", text).groups())
    if not (abs(mean - 5) < 0.05 and abs(deviation - 2) < 0.05):
        raise AssertionError(text)


def remembered_functions():
    """onnxscript's functions are read once, not at each export; what one registry is given is in no other."""
    from torch.onnx._internal.exporter import _registration as r
    first = r.ONNXRegistry.from_torchlib()
    asked = r.onnxscript_apis.get_torchlib_ops
    r.onnxscript_apis.get_torchlib_ops = None  # whoever asks again fails
    try:
        second = r.ONNXRegistry.from_torchlib()
        second.register_op(torch.ops.aten.relu.default, first.get_decomps(torch.ops.aten.relu.default)[0].onnx_function)
        third = r.ONNXRegistry.from_torchlib()
    finally:
        r.onnxscript_apis.get_torchlib_ops = asked
    same(third.functions, first.functions, "a registry")
    same(len(second.functions["aten::relu"]), len(first.functions["aten::relu"]) + 1, "one that was given a function")


def counted_weights():
    """bincount's sums of weights have PyTorch's type."""
    ids, count = torch.tensor([0, 2, 2]), functions.bincount(torch.bincount)
    for kind in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32, torch.bool):
        weights = torch.tensor([1, 2, 3]).to(kind)
        got, wanted = count(ids, weights, 4), torch.ops.aten.bincount(ids, weights, 4)
        same((got.dtype, got.tolist()), (wanted.dtype, wanted.tolist()), f"weights of {kind}")


def run(*words):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        TOOL.run([*words, "--assay", sys.argv[1]])
    return out.getvalue(), err.getvalue()


def refused(wanted, *words):
    try:
        run(*words)
    except TOOL.Refused as refusal:
        if not re.search(wanted, str(refusal)):
            raise AssertionError(f"'{refusal}' does not say '{wanted}'") from refusal
        return
    raise AssertionError(f"{words} was not refused")


def forgiven_limits():
    """An export that goes on where its limit ended it has still taken too long."""
    took = []
    try:
        with export.within(0.01, "batch"):
            while not took:
                try:
                    while True:
                        pass
                except export.TookLong as e:
                    took.append(e)
    except export.TookLong as e:
        same(e, took[0], "the limit's own words")
        same("the batch open" in str(e), True, "which dimensions")
        return
    raise AssertionError("an export that forgives its limit has none")


def options():
    modules = pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        output = str(pathlib.Path(folder) / "t.onnxtxt")
        module = str(modules / "highway.py")
        told, _ = run(
            module, "-o", output, "--name", "mine/blocks/highway", "--small", "B=5", "--input", "x=normal(0, 2)"
        )
        text = pathlib.Path(output).read_text()
        for wanted in (
            '"assay.task" : "mine/blocks/highway"',
            '"assay.workload.small" : "B=5',
            '"assay.input.x" : "normal(0, 2)"',
        ):
            if wanted not in text:
                raise AssertionError(f"{wanted} is not in\n{text}")
        if "lint: " not in told or "mine/blocks/highway" not in told:
            raise AssertionError(told)
        run(module, "-o", output, "--fixed-sizes", "--no-lint")
        text = pathlib.Path(output).read_text()
        if '"assay.workload.full" : ""' not in text or "float[64, 128] x" not in text:
            raise AssertionError(text)
        refused("no dimension Q; it has B=64", module, "-o", output, "--small", "Q=5")
        refused("write NAME=DISTRIBUTION with one of the inputs x,", module, "-o", output, "--input", "y=uniform(0, 1)")
        refused("a distribution is expected", module, "-o", output, "--input", "x=triangle(0, 1)")
        refused("there is no such file", str(modules / "none.py"))
        refused("neither a .py, an .onnx nor a .json file", output)
        # Dropouts: inputs in training, nothing in evaluation.
        _, said = run(str(modules / "temporal_block.py"), "-o", output, "--no-lint")
        if "bernoulli(0.8) fixed" not in pathlib.Path(output).read_text() or "2 dropout(s)" not in said:
            raise AssertionError(said)
        run(str(modules / "temporal_block.py"), "-o", output, "--eval", "--no-lint")
        if "keep" in pathlib.Path(output).read_text():
            raise AssertionError("a dropout in evaluation")
        # Batch normalisation: the batch's statistics in training, the running ones in evaluation.
        run(str(modules / "graph_layer.py"), "-o", output, "--eval", "--no-lint")
        text = pathlib.Path(output).read_text()
        if "norm_running_var" not in text or "training_mode" in text:
            raise AssertionError(text)


UNWRITTEN = """import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.empty(4, 3))
        self.register_buffer("features", torch.randn(3, 5))
        self.register_buffer("order", torch.randperm(5))
    def forward(self, x):
        return (x @ self.w @ self.features)[:, self.order]
def get_inputs(): return [torch.randn(2, 4)]
def get_init_inputs(): return []
"""


def unwritten():
    """Parameters that nobody initialises and buffers that are drawn are said."""
    with tempfile.TemporaryDirectory() as folder:
        path, output = pathlib.Path(folder) / "m.py", pathlib.Path(folder) / "m.onnxtxt"
        path.write_text(UNWRITTEN)
        _, said = run(str(path), "-o", str(output), "--fixed-sizes", "--no-lint")
        text = output.read_text()
        for wanted, where in (("w: nobody initialises it", said), ("features: a buffer that is drawn", said),
                              ("order: a buffer of whole numbers that are drawn", said),
                              ('"assay.input.w" : "normal(0, 0.02) static"', text),
                              ('"assay.input.features" : "normal(0, ', text)):
            if wanted not in where:
                raise AssertionError(f"{wanted} is not in\n{where}")
    for blank, tensor in ((False, torch.tensor([127, 0], dtype=torch.int8)), (False, torch.tensor([255, 0], dtype=torch.uint8)),
                          (True, torch.tensor([127, 127], dtype=torch.int8)), (True, torch.tensor([2 ** 31 - 1, 0], dtype=torch.int32)),
                          (True, torch.tensor([0.0, float("nan")])), (False, torch.tensor([True]))):
        same(is_blank(tensor), blank, f"is_blank({tensor})")
    with tempfile.TemporaryDirectory() as folder:
        path, output = pathlib.Path(folder) / "m.py", pathlib.Path(folder) / "m.onnxtxt"
        path.write_text(UNWRITTEN.replace("torch.randn(3, 5)", "torch.empty(3, 5)"))
        refused("nobody writes all of the buffer features", str(path), "-o", str(output))


def judged():
    """What was imported can be judged: a right kernel passes, a wrong one does not."""
    assay, here = sys.argv[1], pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        output = str(pathlib.Path(folder) / "highway.onnxtxt")
        run(str(here / "modules" / "highway.py"), "-o", output, "--no-lint")
        for defines, code, wanted in (([], 0, "pass"), (["--define", "NO_GATE"], 1, "wrong_value")):
            done = subprocess.run(
                [assay, "judge", output, str(here / "highway.c"), "--no-timing", "--no-store", *defines],
                capture_output=True,
                text=True,
            )
            if done.returncode != code or wanted not in done.stdout:
                raise AssertionError(f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def stubs():
    """A candidate to begin with passes; where one cannot be made, none is left."""
    assay, modules = sys.argv[1], pathlib.Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as folder:
        output, stub = str(pathlib.Path(folder) / "highway.onnxtxt"), pathlib.Path(folder) / "new.py"
        told, _ = run(str(modules / "highway.py"), "-o", output, "--no-lint", "--stub", str(stub))
        if "new.py: passes" not in told or "def get_init_inputs(B, D):" not in stub.read_text():
            raise AssertionError(told)
        stub.write_text(stub.read_text().replace("1 - sigmoid", "2 - sigmoid"))
        code, said = Assay(assay).judge(output, stub)
        if code != 1 or "wrong_value" not in said:
            raise AssertionError(f"{code}: {said}")
        stub.unlink()
        told, _ = run(str(modules / "rescaled.py"), "-o", output, "--no-lint", "--stub", str(stub))
        if "there is no translation of Resize" not in told or stub.exists():
            raise AssertionError(told)


# What each refused factorization is written as.
FACTORIZATIONS = {"linalg_qr": lambda a: torch.linalg.qr(a).Q,
                  "linalg_eig": lambda a: torch.linalg.eig(a).eigenvectors.real,
                  "geqrf": lambda a: torch.geqrf(a).a,
                  "linalg_householder_product": lambda a: torch.linalg.householder_product(a, a[0]),
                  "linalg_lu": lambda a: torch.linalg.lu(a).L,
                  "linalg_lu_factor_ex": lambda a: torch.linalg.lu_factor(a).LU,
                  "linalg_ldl_factor_ex": lambda a: torch.linalg.ldl_factor(a).LD}


def factorizations():
    """Each that has words of its own gets them: none is made of something else meanwhile, or has another name there."""
    same(sorted(linalg.REFUSED), sorted(FACTORIZATIONS), "the refused factorizations")
    for name, use in FACTORIZATIONS.items():
        matrix = types.SimpleNamespace(value=torch.rand(4, 4), axes=None)
        source = types.SimpleNamespace(inputs=[matrix], state=[], guards=[], model=use, path=pathlib.Path(__file__), masks=list,
                                       call=lambda model, inputs, state: [model(*inputs)])
        try:
            export.export(source, "none")
        except TOOL.Refused as e:
            if f"aten.{name}: {linalg.REFUSED[name]}" not in str(e):
                raise AssertionError(f"{name}: {e}") from e
        else:
            raise AssertionError(f"{name} is not refused")


def shown():
    """What a terminal would obey, or not show, is escaped in all that the importer says (Unicode's
    Default_Ignorable_Code_Point, and what else is not printable)."""
    ignorable = ((0xad, 1), (0x34f, 1), (0x61c, 1), (0x115f, 2), (0x17b4, 2), (0x180b, 5), (0x200b, 5), (0x202a, 5), (0x2060, 16),
                 (0x3164, 1), (0xfe00, 16), (0xfeff, 1), (0xffa0, 1), (0xfff0, 9), (0x1bca0, 4), (0x1d173, 8), (0xe0000, 0x1000))
    for c in [27, 0x9b, 0x2028, *(first + k for first, count in ignorable for k in range(count))]:
        escaped = str(TOOL.Refused(f"a{chr(c)}z"))
        if not escaped.isascii() or len(escaped) < 6:
            raise AssertionError(f"U+{c:04X}: {escaped!r}")
    same(str(TOOL.Refused("\u00fc\u20ac\u2010\n\U0001f600")), "\u00fc\u20ac\u2010\n\U0001f600", "what is seen")


def large_trials():
    """What is tried to find a dimension that cannot vary is not computed at sizes at which full is not."""
    class Drawn:
        bound, theirs = {"full": {}, "small": {}, "trial0": {}}, ()
        elements = 1 << 26
        sizes = types.SimpleNamespace(cost=lambda binding: (Drawn.elements, 1 << 40))

        def error(self, assay, path, workload):
            return 0 if workload == "small" else 1, ""
    same(module_task.Attempt.errors(Drawn(), None, None, 1e-9),
         ([("full", None), ("small", 0), ("trial0", None)], {}), "the trials")
    Drawn.elements = 1 << 30
    try:
        module_task.Attempt.errors(Drawn(), None, None, 1e-9)
    except TOOL.Refused as e:
        same("nothing smaller" in str(e), True, str(e))
    else:
        raise AssertionError("2^30 elements are computed")


def advised():
    """A finding about an input that is one number says how to have it asked for; others say what they say."""
    words = '"assay.input.w" : "constant(1) static",\n"assay.input.v" : "normal(0, 1) static",'
    findings = [("insensitive", "contract", f"y, input {name}: an answer that ...") for name in ("w", "v")] + [("affine", "loose", "y: w")]
    same(list(task.advice(words, findings)),
         ["w is 1 everywhere, so that it may be left out; to have it asked for: --input 'w=uniform(0.5, 1.5) static'"], "advice")


def main():
    install()
    failures = 0
    for part in (followed_draws, fitted_values, remembered_functions, counted_weights, forgiven_limits, options, unwritten, judged,
                 stubs, factorizations, shown, large_trials, advised):
        try:
            part()
            print(f"{part.__name__}: right")
        except Exception as e:  # each is a failure of this part
            failures += 1
            print(f"{part.__name__}: FAILED: {type(e).__name__}: {e}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
