#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Error units of many arithmetics under every contract: bench/gpu/numerics.py ASSAY OUT.json [--only TEXT]

Judges the kernels of kernels/cuda/precision, and the fast products next to them, for every task of the suite `contracts`
whose element types they fit: at 256 x 256 with K = 64, 1024 and 8192 on the task's own inputs alone, and once at `small`
with all ragged shapes and probes. Sums and softmax in lower precision are judged for tasks of KernelBench. What comes of
it is in docs/evidence/numerics.md (bench/gpu/numerics_page.py).
"""
import contextlib
import json
import os
import re
import sqlite3
import sys
import tempfile

import common

PRECISION, FAST = "kernels/cuda/precision/", "kernels/cuda/"
SINGLE = ["contracts/1/1", "contracts/1/5", "contracts/1/2", "contracts/1/6"]
# name, file, macro; names stand in the page, in this order
PRODUCTS = [
    ("fp32, one sum in order", PRECISION + "matmul_fp32.cu", None, SINGLE),
    ("fp32, pairwise", PRECISION + "matmul_fp32.cu", "PAIRWISE", SINGLE),
    ("fp32, split in 8", PRECISION + "matmul_fp32.cu", "SPLIT_K", SINGLE),
    ("fp32, products rounded first", PRECISION + "matmul_fp32.cu", "NO_FMA", SINGLE),
    ("fp32, Kahan's sum", PRECISION + "matmul_fp32.cu", "COMPENSATED", SINGLE),
    ("fp64 sums", PRECISION + "matmul_fp32.cu", "DOUBLE", SINGLE),
    ("fp32, fast (kernels/cuda/matmul.cu)", FAST + "matmul.cu", None, SINGLE),
    ("3 x TF32, promoted every 32 terms", PRECISION + "matmul_parts.cu", None, SINGLE),
    ("3 x TF32, summed in the tensor core", PRECISION + "matmul_parts.cu", "IN_CORE", SINGLE),
    ("3 x TF32, fast (kernels/cuda/matmul_3xtf32.cu)", FAST + "matmul_3xtf32.cu", None, SINGLE),
    ("9 x bf16, promoted", PRECISION + "matmul_parts.cu", "BF16_9", SINGLE),
    ("6 x bf16, promoted", PRECISION + "matmul_parts.cu", "BF16_6", SINGLE),
    ("3 x bf16, promoted", PRECISION + "matmul_parts.cu", "BF16_3", SINGLE),
    ("fp32, sums kept to 17 bits", PRECISION + "matmul_fp32.cu", "ROUNDED_17", SINGLE),
    ("TF32, factors to nearest", PRECISION + "matmul_parts.cu", "TF32_NEAREST", SINGLE),
    ("TF32, fast (kernels/cuda/matmul_tf32.cu)", FAST + "matmul_tf32.cu", None, SINGLE),
    ("TF32, factors cut off", PRECISION + "matmul_parts.cu", "TF32_CUT", SINGLE),
    ("TF32, the last term left out", PRECISION + "matmul_parts.cu", "TF32_NEAREST SHORT", SINGLE),
    ("fp16 factors", PRECISION + "matmul_parts.cu", "FP16_1", SINGLE),
    ("bf16 factors", PRECISION + "matmul_parts.cu", "BF16_1", SINGLE),
    ("fp16, sums of fp32 on CUDA cores", PRECISION + "matmul_fp16.cu", "CUDA_CORES", ["contracts/1/3", "contracts/1/7"]),
    ("fp16, tensor cores (mma)", PRECISION + "matmul_fp16.cu", None, ["contracts/1/3", "contracts/1/7"]),
    ("fp16, fast (wgmma, kernels/cuda/matmul_fp16.cu)", FAST + "matmul_fp16.cu", None, ["contracts/1/3", "contracts/1/7"]),
    ("fp16, promoted every 32 terms", PRECISION + "matmul_fp16.cu", "PROMOTED", ["contracts/1/3", "contracts/1/7"]),
    ("fp16, sums rounded to fp16 every 32 terms", PRECISION + "matmul_fp16.cu", "ROUNDED", ["contracts/1/3", "contracts/1/7"]),
    ("fp16, sums of fp16 for 32 terms", PRECISION + "matmul_fp16.cu", "FP16_PARTS", ["contracts/1/3", "contracts/1/7"]),
    ("fp16, sums of fp16", PRECISION + "matmul_fp16.cu", "FP16_SUMS", ["contracts/1/3", "contracts/1/7"]),
    ("fp16, the last term left out", PRECISION + "matmul_fp16.cu", "SHORT", ["contracts/1/3", "contracts/1/7"]),
    ("bf16, sums of fp32 on CUDA cores", PRECISION + "matmul_bf16.cu", "CUDA_CORES", ["contracts/1/4", "contracts/1/8"]),
    ("bf16, tensor cores (mma)", PRECISION + "matmul_bf16.cu", None, ["contracts/1/4", "contracts/1/8"]),
    ("bf16, fast (wgmma, kernels/cuda/matmul_bf16.cu)", FAST + "matmul_bf16.cu", None, ["contracts/1/4", "contracts/1/8"]),
    ("bf16, promoted every 32 terms", PRECISION + "matmul_bf16.cu", "PROMOTED", ["contracts/1/4", "contracts/1/8"]),
    ("bf16, sums rounded to bf16 every 32 terms", PRECISION + "matmul_bf16.cu", "ROUNDED", ["contracts/1/4", "contracts/1/8"]),
    ("bf16, the last term left out", PRECISION + "matmul_bf16.cu", "SHORT", ["contracts/1/4", "contracts/1/8"]),
]
SOFTMAX = [(f"softmax, {n}", PRECISION + "softmax.cu", m, ["kernelbench/1/23"]) for n, m in [
    ("as it should be", None), ("approximate division", "FAST_DIVIDE"), ("approximate exponential", "FAST_EXP"),
    ("exponentials in fp16", "HALF_EXP"), ("sums in fp16", "HALF_SUM"), ("inputs rounded to bf16", "BF16_INPUTS")]]
SUMS = [(f"sum, {n}", PRECISION + "sum_middle.cu", m, ["kernelbench/1/47"]) for n, m in [
    ("in order", None), ("in eight parts", "PAIRWISE"), ("kept to 17 bits", "ROUNDED_17"),
    ("inputs rounded to TF32", "TF32_INPUTS"), ("inputs rounded to fp16", "HALF_INPUTS"),
    ("inputs rounded to bf16", "BF16_INPUTS"), ("kept in fp16", "HALF_SUM")]]
LADDER = {"contracts": [f"M=256, N=256, K={k}" for k in (64, 1024, 8192)],
          "kernelbench/1/23": ["M=64, N=64", "M=64, N=8192", "M=16, N=393216"],
          "kernelbench/1/47": ["B=4, M=64, N=255", "B=4, M=1024, N=255", "B=4, M=8192, N=255"]}
WITH_PROBES = "small"


def candidates(kernels, folder):
    """A file for each kernel and task it is judged for: macro defined, task named. {path: (name, file, macro, task)}"""
    files = {}
    for name, file, macro, tasks in kernels:
        with open(os.path.join(common.ROOT, file)) as f:
            lines = [line for line in f if not re.match(r"// assay: (task|twin) ", line)]
        for task in tasks:
            path = os.path.join(folder, f"{len(files):03}.cu")
            with open(path, "w") as f:
                f.write("".join(f"#define {m}\n" for m in (macro or "").split()) + f"// assay: task {task}\n" + "".join(lines))
            files[path] = (name, file, macro, task)
    return files


def facts(verdict):
    """What is kept of a verdict: the worst check, the largest errors, what allclose would have said."""
    checks = verdict["checks"]
    row = {"verdict": verdict["verdict"], "detail": verdict["detail"][:200], "checks": len(checks),
           "device": verdict["device"], "seed": verdict["seed"]}
    if checks:
        worst = checks[max(verdict.get("worst_check", 0), 0)]
        row.update(worst={key: worst.get(key) for key in ("probe", "workload", "reason", "z_max", "z_rms", "z_limit", "hint")},
                   z_max=max(numbers(c["z_max"]) for c in checks), z_rms=max(numbers(c["z_rms"]) for c in checks),
                   z_limit=max(c["z_limit"] for c in checks),
                   allclose_1e4=not any(c["allclose_bad"] for c in checks),
                   allclose_1e2=not any(c["allclose_1e-2_bad"] for c in checks))
    return row


def bench(assay, suite, folder, workload, files):
    """Judges a folder at one workload: on the ladder the task's own inputs alone, else everything. {path: row}"""
    store = os.path.join(folder, "store.sqlite")
    command = [assay, "bench", suite, "--from", folder, "--workload", workload, "--no-timing", "--store", store, "--run",
               workload] + ([] if workload == WITH_PROBES else ["--no-probes", "--checks", "1"])
    seconds, code, _, errors = common.run(command, 120)
    if code not in (0, 1):
        raise RuntimeError(f"assay bench {suite}: exit {code}: {errors[-400:]}")
    print(f"-- {suite}, {workload}: {seconds:.1f} s", flush=True)
    found = {}
    with contextlib.closing(sqlite3.connect(store)) as db:
        for path, evidence in db.execute("SELECT candidate, evidence FROM verdict WHERE run = ?", (workload,)):
            found[os.path.join(folder, os.path.basename(path))] = facts(json.loads(evidence))
    return {path: found.get(path, {"failed": "not judged"}) for path in files}


def numbers(x):
    return float(x) if isinstance(x, (int, float, str)) else float("nan")


def show(row):
    if "failed" in row:
        print(f"{row['name']:48} {row['task']:16} {row['workload']:22} FAILED {row['failed']}", flush=True)
        return
    probe = (row.get("worst") or {}).get("probe", "") if row["workload"] == WITH_PROBES else ""
    print(f"{row['name']:48} {row['task']:16} {row['workload']:22} {row['verdict']:14} z {numbers(row.get('z_max')):9.3g} of "
          f"{numbers(row.get('z_limit')):4.1f}  rms {numbers(row.get('z_rms')):9.3g}  "
          f"{'1e-4' if row.get('allclose_1e4') else '    '} {'1e-2' if row.get('allclose_1e2') else '    '} {probe} "
          f"{row['detail']}", flush=True)


def judge_all(assay, suite, kernels, only):
    kernels = [(name, file, macro, [t for t in tasks if only in t or only in name]) for name, file, macro, tasks in kernels]
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        files = candidates(kernels, folder)
        for workload in [*(LADDER[suite] if files else []), WITH_PROBES]:
            found = bench(assay, suite, folder, workload, files)
            rows += [{"name": name, "file": file, "macro": macro, "task": task, "workload": workload, **found[path]}
                     for path, (name, file, macro, task) in files.items()]
    order = {path: i for i, path in enumerate(files.values())}
    rows.sort(key=lambda r: order[(r["name"], r["file"], r["macro"], r["task"])])
    for row in rows:
        show(row)
    return rows


def main():
    arguments = sys.argv[1:]
    only = arguments.pop(arguments.index("--only") + 1) if "--only" in arguments else ""
    arguments = [a for a in arguments if a != "--only"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    assay, out = os.path.abspath(arguments[0]), arguments[1]
    common.report("bench/gpu/numerics.py ASSAY OUT.json", out,
                  [("products", lambda: judge_all(assay, "contracts", PRODUCTS, only)),
                   ("softmax", lambda: judge_all(assay, "kernelbench/1/23", SOFTMAX, only)),
                   ("sums", lambda: judge_all(assay, "kernelbench/1/47", SUMS, only))])


if __name__ == "__main__":
    main()
