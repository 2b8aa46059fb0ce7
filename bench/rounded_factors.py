#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tensor cores make of a task, on a CPU: PyTorch's own module with the factors of its products rounded by hand.

usage: rounded_factors.py ASSAY OUT.json TASK... [--workload NAME] [--rounds N]     (ASSAY_PYTHON: a Python with PyTorch)

Each task is judged under the contract tf32 with factors of 11 bits, rounded to nearest and cut off towards zero, and of
bfloat16 (8), --rounds times (2) each with fresh seeds, without probes and times. The module is the baseline torch.eager's;
its calls of linear, conv2d and matmul round what they multiply. OUT.json has a row a judgement: of its declared draws the
largest root mean square of the error and the largest error, both in units of the scale, and what is allowed of the latter.
"""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu"))
import common  # noqa: E402

ROUNDINGS = {
    "nearest": "(x.view(torch.int32) + 0xfff + (x.view(torch.int32) >> 13 & 1)).bitwise_and(-8192).view(torch.float32)",
    "cut": "x.view(torch.int32).bitwise_and(-8192).view(torch.float32)",
    "bfloat16": "x.bfloat16().float()"}
CALLS = {"F.linear(": "multiply(F.linear, ", "F.conv2d(": "multiply(F.conv2d, ", "torch.matmul(": "multiply(torch.matmul, "}
HELPER = '''def rounded(x):
    x = x.contiguous()
    return {rounding}


def multiply(op, x, w, *more, **named):
    return op(rounded(x), rounded(w), *more, **named)


class ModelNew'''


def module_of(assay, task, workload, rounding):
    text = subprocess.run([assay, "show", task, "--baseline", "torch.eager", "--workload", workload], check=True,
                          capture_output=True, text=True).stdout
    head, body = text.split("class ModelNew", 1)
    if not any(call in body for call in CALLS):
        sys.exit(f"{task} has none of {', '.join(CALLS)})")
    for call, other in CALLS.items():
        body = body.replace(call, other)
    return head + HELPER.format(rounding=ROUNDINGS[rounding]) + body


def judge(assay, task, workload, path):
    done = subprocess.run([assay, "judge", task, path, "--workload", workload, "--contract", "tf32", "--device", "cpu",
                           "--no-timing", "--no-probes", "--no-store", "--budget", "900", "--json"],
                          capture_output=True, text=True)
    verdict = json.loads(done.stdout)[0]
    checks = verdict["checks"]
    worst = max(checks, key=lambda check: check["z_max"] / check["z_limit"])
    numbers = max(check["z_rms"] for check in checks), worst["z_max"], worst["z_limit"]
    return [verdict["verdict"], *(float(f"{x:.3g}") for x in numbers)]


def main():
    arguments = sys.argv[1:]
    workload, rounds = common.option(arguments, "--workload", "small"), int(common.option(arguments, "--rounds", "2"))
    if len(arguments) < 3:
        sys.exit(__doc__)
    assay, out, *tasks = arguments
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            for rounding in ROUNDINGS:
                path = os.path.join(folder, "module.py")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(module_of(assay, task, workload, rounding))
                for _ in range(rounds):
                    rows.append([task, workload, rounding, *judge(assay, task, workload, path)])
                    print(*rows[-1])
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], capture_output=True, text=True, check=False).stdout.strip()
    head = {"what": "factors of products rounded by hand, under tf32", "commit": commit,
            "command": " ".join(["bench/rounded_factors.py", "ASSAY", "OUT.json", *sys.argv[3:]]),
            "columns": ["task", "workload", "factors", "verdict", "rms", "largest", "of"]}
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    with open(out, "w", encoding="utf-8") as file:
        file.write(json.dumps(head, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
