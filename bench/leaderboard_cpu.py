#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leaderboard_cpu.py ASSAY OUT [EXPORT]: the honest C kernels of tests/cases as lines for `assay runs import`.

Judges them at `small` without times (or takes what `assay runs export --compact` wrote of such a run) and writes OUT,
a line a kernel that is expected to pass: its verdict, the largest error of every check, seed and secret. Times are left
out on purpose: they mean something only on a machine with nothing else to do, and times of a CPU do not rank.
"""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CASES = "tests/cases"
RUN = "honest C kernels"
OF_EVIDENCE = ["build_command", "bytes", "compiler", "contract", "device", "flops", "form", "judge", "meaning", "mode", "rule",
               "sandbox", "scope", "secret", "seed", "shapes", "task_contract", "toolchain", "worst_check"]
OF_CHECK = ["gate", "gate_limit", "gate_z", "output", "probe", "reason", "timed", "workload"]


def judge(assay, folder):
    store, lines = os.path.join(folder, "store.sqlite"), os.path.join(folder, "lines")
    subprocess.run([assay, "bench", "kernelbench", "--from", CASES, "--no-timing", "--run", RUN, "--store", store], cwd=ROOT,
                   check=False, stdout=subprocess.DEVNULL)  # 1: not all are right
    subprocess.run([assay, "runs", "export", RUN, lines, "--compact", "--store", store], check=True,
                   stdout=subprocess.DEVNULL)
    return lines


def is_honest(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return "// assay: expect pass\n" in file.read()


def short(value):
    """Errors with four digits: what a page shows."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def shrink(line):
    name = line["candidate"].rsplit("/", 1)[-1]
    path = f"{CASES}/{name}"
    if not is_honest(path):
        return None
    evidence = {key: line["evidence"][key] for key in OF_EVIDENCE if key in line["evidence"]}
    evidence["checks"] = [{key: short(c[key]) for key in OF_CHECK if key in c} for c in line["evidence"]["checks"]]
    out = {key: short(value) for key, value in line.items() if value not in ("", None, [])}
    out.update(candidate=path, command=line["command"].replace(f"'.../{name}'", f"'{path}'"), evidence=evidence)
    return out


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    assay, out = os.path.abspath(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        export = sys.argv[3] if len(sys.argv) == 4 else judge(assay, folder)
        with open(export, encoding="utf-8") as file:
            head, *lines = [json.loads(text) for text in file]
    kept = sorted((line for line in map(shrink, lines) if line), key=lambda line: (line["task"], line["candidate"]))
    with open(out, "w", encoding="utf-8") as file:
        for line in [head, *kept]:
            file.write(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")
    right = sum(line["reason"] == "pass" for line in kept)
    print(f"{out}: {len(kept)} verdicts, {right} right, {os.path.getsize(out) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
