#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Imports every module of a folder and compares the tasks with the modules. What cannot be imported must be refused
with the right message.

    check_modules.py ASSAY MODULES REFUSED [NAME...]

Of a module in MODULES the task must agree with it in double precision at every workload (tools/importer/assay-import
compares, and fails where one differs), be read by ONNX's own parser and checker, and have the dimensions open that the
table below asks for. A file in REFUSED says in its first line what the refusal must say.
"""

import contextlib
import io
import pathlib
import re
import sys
import tempfile
import time

from loading import importer

# Options, and how many symbols may vary at least. The importer finds all of them by itself.
ASKED = {"affine_grid": ([], 1), "aspp": ([], 8), "blur_pool": ([], 3), "cbam": ([], 3), "complex_parts": (["--fixed-sizes"], 0), "contrastive_loss": ([], 3), "convnext_block": ([], 3),
         "cross_attention": ([], 3), "cut_places": ([], 2), "decomposed": ([], 2), "embedding_sum": ([], 5), "encoder_layer": ([], 2),
         "fpn_merge": ([], 8), "frozen_part": ([], 2), "gated_conv": ([], 2), "graph_layer": (["--eval"], 3), "gru_last": ([], 1),
         "highway": ([], 2), "kept_bias": ([], 2), "lazy_parts": ([], 1), "linear_algebra": ([], 2), "loaded_part": ([], 1), "inverted_residual": ([], 3), "losses": (["--fixed-sizes"], 0), "luma": ([], 2), "many_experts": ([], 1), "named_outputs": ([], 1), "neural_operator": (["--fixed-sizes"], 0),
         "patch_merging": ([], 3), "pixel_shuffle": ([], 3), "pseudo_inverse": ([], 2), "recurrent": (["--fixed-sizes"], 0),
         "rescaled": ([], 1), "rescaled_1d": ([], 1), "scattered": (["--fixed-sizes"], 0), "singular_values": ([], 4),
         "residual_bottleneck": ([], 3), "rope_attention": ([], 2), "routed_experts": ([], 2), "scripted_part": ([], 4), "separable_1d": ([], 1), "traced_part": ([], 3),
         "soft_experts": ([], 3), "spectrum": ([], 1), "squeeze_excite": ([], 3), "swiglu": ([], 3), "temporal_block": ([], 2),
         "tensor_equations": ([], 1)}
HAS = {"frozen_part": "stem_1_running_var"}  # what the task's text must have
LIMIT = 1e-9


def import_module(tool, assay, path, options, folder):
    """(report, text) of the task."""
    output = pathlib.Path(folder) / (path.stem + ".onnxtxt")
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
        tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint", *options])
    return said.getvalue(), output


def check(tool, assay, path, folder):
    import onnx.checker
    import onnx.parser
    options, least = ASKED[path.stem]
    report, output = import_module(tool, assay, path, options, folder)
    text = output.read_text()
    if HAS.get(path.stem, "") not in text:
        raise AssertionError(f"the task has no {HAS[path.stem]}")
    model = onnx.parser.parse_model(text)
    onnx.checker.check_model(model, full_check=True)
    properties = {p.key: p.value for p in model.metadata_props}
    errors = [float(e) for e in re.findall(r"double precision to (\S+)", report)]
    workloads = [k for k in properties if k.startswith("assay.workload.")]
    if len(errors) != len(workloads) or not all(e <= LIMIT for e in errors):
        raise AssertionError(f"{len(workloads)} workloads, errors {errors}")
    open_ = [part for part in properties["assay.workload.full"].split(", ") if part]
    if len(open_) < least or len(workloads) < (4 if least else 2):
        raise AssertionError(f"{len(workloads)} workloads, open dimensions are only {open_}")
    for value in model.graph.input:
        if "assay.input." + value.name not in properties:
            raise AssertionError(f"{value.name} has no distribution")
    return f"{len(workloads)} workloads, {len(open_)} dimensions, {len(model.graph.node)} operators, {max(errors):.0e}"


def refuse(tool, assay, path, folder):
    wanted = path.read_text().splitlines()[0].removeprefix("# refused: ")
    try:
        import_module(tool, assay, path, [], folder)
    except tool.Refused as refusal:
        if not re.search(wanted, str(refusal)):
            raise AssertionError(f"refused with '{refusal}', which does not say '{wanted}'") from refusal
        return str(refusal)[:100]
    raise AssertionError("it was not refused")


def check_limit(tool, assay, path, folder):
    """An export that takes too long with open dimensions is made with fewer, and the report says so."""
    said = io.StringIO()
    output = pathlib.Path(folder) / "limit.onnxtxt"
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        tool.run([str(path), "-o", str(output), "--assay", assay, "--no-lint", "--export-limit", "0.01"])
    for words in ("with the batch open, PyTorch's export takes more than 0.01 s of a processor", "open dimensions: none"):
        if words not in said.getvalue() and words not in output.read_text():
            raise AssertionError(f"nothing says '{words}': {said.getvalue()}")
    return "no dimensions, as it took too long"


def main():
    assay, names = sys.argv[1], sys.argv[4:]
    tool = importer()
    failures = done = 0
    with tempfile.TemporaryDirectory() as folder:
        limited = (check_limit, sys.argv[2], "swiglu.py")
        for act, place, which in ((check, sys.argv[2], "*.py"), (refuse, sys.argv[3], "*.py"), limited):
            for path in sorted(pathlib.Path(place).glob(which)):
                if names and path.stem not in names:
                    continue
                start = time.monotonic()
                try:
                    told = act(tool, assay, path, folder)
                except Exception as e:  # each is a failure of this file
                    failures, told = failures + 1, f"FAILED: {type(e).__name__}: {e}"
                done += 1
                print(f"{path.stem:20} {told} ({time.monotonic() - start:.0f} s)", flush=True)
    print(f"{done} modules, {failures} failures")
    return failures > 0 or done == 0


if __name__ == "__main__":
    sys.exit(main())
