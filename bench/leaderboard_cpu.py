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

import leaderboard_runs

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CASES = "tests/cases"
RUN = "honest C kernels"


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


def shrink(line):
    path = f"{CASES}/{line['candidate'].rsplit('/', 1)[-1]}"
    if not is_honest(path):
        return None
    out = leaderboard_runs.shrink(line, {line["candidate_hash"]: [path]}, "")
    out["evidence"].pop("timing", None)
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
