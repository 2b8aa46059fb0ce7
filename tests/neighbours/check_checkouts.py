#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The importer on public sets, as far as the environment names checkouts of them: a table of what becomes a task, and why
the rest does not.

    FLASHINFER_TRACE=DIR SOL_EXECBENCH=DIR REFERENCE_KERNELS=DIR check_checkouts.py ASSAY [PATTERN]

FLASHINFER_TRACE: a folder with definitions/OP/NAME.json; SOL_EXECBENCH: one with definition.json files below it;
REFERENCE_KERNELS: one with task.yml files below it. PATTERN: part of a path. FLASHINFER_BENCH: a checkout of
flashinfer-bench, whose classes then read what `assay export` writes (they need pydantic, safetensors and docstring_parser).
"""
import fnmatch
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
IMPORT = HERE.parents[1] / "tools" / "importer" / "assay-import"
LIMIT_S = 600
NUMBERS = ["sm_scale=0.1", "scale=0.1", "eps=1e-6", "routed_scaling_factor=2.5", "local_expert_offset=0"]
READ = """
import pathlib, sys, types
package = types.ModuleType("flashinfer_bench")  # its own __init__ wants a GPU's libraries; the classes do not
package.__path__ = [sys.argv[1] + "/flashinfer_bench"]
sys.modules["flashinfer_bench"] = package
from flashinfer_bench.data import Definition, Trace, load_json_file, load_jsonl_file
root = pathlib.Path(sys.argv[2])
definitions = [load_json_file(Definition, p) for p in root.rglob("definitions/**/*.json")]
traces = [t for p in root.rglob("*.jsonl") for t in load_jsonl_file(Trace, p)]
print(f"flashinfer-bench reads {len(definitions)} definitions and {len(traces)} workloads and traces")
assert definitions and traces
"""


def targets():
    found = []
    for variable, pattern in (("FLASHINFER_TRACE", "definitions/*/*.json"), ("SOL_EXECBENCH", "**/definition.json"),
                              ("REFERENCE_KERNELS", "**/task.yml")):
        if os.environ.get(variable):
            found += sorted(pathlib.Path(os.environ[variable]).glob(pattern))
    return found


def tried(assay, path, folder):
    """Whether it became a task, and what was said."""
    words = [sys.executable, str(IMPORT), str(path), "-o", str(pathlib.Path(folder) / "task.onnxtxt"), "--no-lint",
             "--assay", assay]
    for n in NUMBERS:
        words += ["--number", n]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False, f"not done after {LIMIT_S} s"
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    said = next((s for s in lines if "assay-import: " in s), lines[0] if lines else "")
    return done.returncode == 0, said.split(str(path) + ": ")[-1].split(".onnxtxt: ")[-1]


def read_back(assay, checkout):
    """Their classes on definitions of ours."""
    with tempfile.TemporaryDirectory() as folder:
        words = [assay, "export", "--format", "flashinfer-bench", "--to", folder]
        for task in ("kernelbench/1/19", "kernelbench/2/76", "kernelbench/1/23"):
            words += ["--task", task]
        subprocess.run(words, check=True, capture_output=True)
        subprocess.run([sys.executable, "-c", READ, checkout, folder], check=True)


def main():
    assay, pattern = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "*"
    paths = [p for p in targets() if fnmatch.fnmatch(str(p), f"*{pattern}*")]
    checkout = os.environ.get("FLASHINFER_BENCH")
    if not paths and not checkout:
        print("skipped: FLASHINFER_TRACE, SOL_EXECBENCH, REFERENCE_KERNELS and FLASHINFER_BENCH name no checkouts")
        return 77
    if checkout:
        read_back(assay, checkout)
    good = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            fine, said = tried(assay, path, folder)
            good += fine
            name = path.parent.name if path.name in ("definition.json", "task.yml") else path.stem
            print(f"{name:60} {'task   ' if fine else 'refused'} {said[:300]}", flush=True)
    print(f"{good} of {len(paths)} became tasks")
    return 0


if __name__ == "__main__":
    sys.exit(main())
