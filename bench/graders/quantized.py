#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The six tasks of KernelBench-X's category Quantization, judged again and again, each time with another seed and secret:
an honest kernel in C, and a twin that does not do what the scheme asks. Prints a table, the published limits beside.

  bench/graders/quantized.py ASSAY [SEEDS]

All questions are asked, at `small` and the ragged workloads. Three kernels are tests' own, and three are written by
tools/tasks/honest_kernels.py. Exit code 1: an honest kernel was refused, or a twin passed.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

from graders import table

HOUSE = pathlib.Path(__file__).resolve().parents[2]
# The twin, what it does, and the suite's limits: least cosine, largest L1, largest root mean square (absolute).
TASKS = {"matmul_w8a8": ("DEQUANTIZED", "fp32 products of what the integers stand for", (0.95, 0.05, 0.1)),
         "bmm_w8a8": ("DEQUANTIZED", "the same", (0.95, 0.05, 0.1)),
         "conv2d_w8a8": ("DEQUANTIZED", "the same", (0.95, 0.05, 0.1)),
         "layernorm_w8a8": ("NO_SCALE", "the norm of the integers", (0.95, 0.05, 0.1)),
         "linear_w4a16": ("SWAPPED", "the high bits of a byte first", (0.9, 0.1, 0.15)),
         "attention_w8a8": ("ONE_SCALE", "one scale for all keys", (0.9, 0.1, 0.15))}


def verdict(assay, name, path, define):
    """(passed, the worst part of a limit that an answer took)."""
    words = [assay, "judge", f"kernelbenchx/Quantization/{name}", path, "--no-timing", "--no-store", "--json",
             *(["--define", define] if define else [])]
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr)
    v = json.loads(done.stdout)[0]
    if v["verdict"] not in ("pass", "wrong_value", "low_precision"):
        sys.exit(f"{name}: {v['verdict']}: {v['detail']}")
    return v["verdict"] == "pass", max((c["z_max"] / c["z_limit"] for c in v["checks"] if c["z_max"] and c["z_limit"]), default=0)


def rows(assay, seeds, folder, wrong):
    for name, (twin, what, limits) in TASKS.items():
        own = HOUSE / "tests" / "kernelbenchx" / f"{name}.c"
        path = own if own.exists() else folder / f"{name}.c"
        honest = [verdict(assay, name, path, None) for _ in range(seeds)]
        other = [verdict(assay, name, path, twin) for _ in range(seeds)]
        passed, refused = sum(p for p, _ in honest), sum(not p for p, _ in other)
        wrong += [name] * (passed < seeds or refused < seeds)
        yield [name, f"{passed} of {seeds}", f"{max(z for _, z in honest):.3f}", what, f"{refused} of {seeds}",
               f"{min(z for _, z in other):.3g}", " / ".join(map(str, limits))]


def main():
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        subprocess.run([HOUSE / "tools" / "tasks" / "honest_kernels.py", name], check=True, capture_output=True)
        table(["task", "honest: passes", "at most, of its limit", "the twin computes", "refused", "at least, of the limit",
               "published limits: cosine / L1 / RMSE"],
              rows(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 20, pathlib.Path(name), wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
