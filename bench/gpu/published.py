#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The published candidates of Red Hat's comparison (KernelGeneration), judged as they stand.

usage: published.py ASSAY CHECKOUT OUT.json [--seconds S] [--gpus N] [--each N] [--every N] [--only TEXT,...]
                    [--device D] [--store FILE] [--table]

CHECKOUT is LironKesem/KernelGeneration (4c6e8f0): twelve files, of Triton by hand, KernelLLM, Makora and Helion, for a matrix
product, layer normalisation, and a product with bias and GELU. Each file gets a ModelNew below it that calls it as its
operator.py does, and is judged at every --every'th published shape of the products (10; the first and the last too) and at
all of the others: the task's default form first, then as it was published. Helion's files run in its default
configuration. What a kernel does at shapes it was not made for is told (`scope`), and does not fail it (--shapes judged).

--gpus (1) and --each (1): so many processes at once. --seconds (540) ends the call; the same command goes on where OUT.json
ends. --only takes files whose path contains one of the texts. --table prints what OUT.json holds, and judges nothing.
"""
import json
import os
import sys
import tempfile
import threading
import time

import common

PRODUCT = ("fusedops/matmul/bf16_matmul", "", "a, b", "")
NORM = ("fusedops/layernorm/bf16_layernorm", "D", "x", "w=(D,) b=(D,)")
GELU = ("fusedops/gemm_gelu/bf16_gemm_gelu", "K, N", "x", "w=(K,N) b=(N,)")
LAUNCH = """M, K = x.shape
        N = self.w.shape[1]
        y = torch.empty((M, N), device=x.device, dtype=torch.bfloat16)
        grid = lambda tile: (triton.cdiv(M, tile["BLOCK_SIZE_M"]) * triton.cdiv(N, tile["BLOCK_SIZE_N"]),)
        triton_gemm_gelu_kernel[grid](a_ptr=x, b_ptr=self.w, c_ptr=y, bias_ptr=self.b, M=M, N=N, K=K,
                                      stride_am=x.stride(0), stride_ak=x.stride(1), stride_bk=self.w.stride(0),
                                      stride_bn=self.w.stride(1), stride_cm=y.stride(0), stride_cn=y.stride(1))
        return y"""
CANDIDATES = [  # file, form, what operator.py calls
    ("bf16_matmul/triton_kernel.py", PRODUCT, "return triton_matmul_kernel(a, b)"),
    ("bf16_matmul/kernelllm.py", PRODUCT, "return KMatmul().forward(a, b)"),
    ("bf16_matmul/mako_kernel.py", PRODUCT, "return mako_kernel(a, b)"),
    ("bf16_matmul/matmul_helion.py", PRODUCT, "return matmul(a, b)"),
    ("bf16_layernorm/triton_kernel.py", NORM, "return layer_norm(x, x.shape[-1:], self.w, self.b, 1e-5)"),
    ("bf16_layernorm/kernelllm.py", NORM, "return KLayerNorm()(x, self.w, self.b)"),
    ("bf16_layernorm/mako_kernel.py", NORM, "return mako_layernorm(x, self.w, self.b, 1e-5)"),
    ("bf16_layernorm/layernorm_helion.py", NORM, "return layer_norm(x, [x.shape[-1]], 1e-5)"),
    ("bf16_gemm_gelu/triton_kernel.py", GELU, LAUNCH),
    ("bf16_gemm_gelu/kernelllm.py", GELU, "return KGemmGelu().forward(x, self.w, self.b)"),
    ("bf16_gemm_gelu/mako_kernel.py", GELU, "return MakoFusGelu().forward(x, self.w, self.b)"),
    ("bf16_gemm_gelu/gemm_gelu_helion.py", GELU, "return gemm_gelu(x, self.w, self.b)"),
]
FORMS = ("default", "published")


def module(source, form, call):
    """The file with a ModelNew below it."""
    _, sizes, inputs, weights = form
    future = "from __future__ import annotations\n"  # has to be first
    lines = [future if future in source else "", "import os", 'os.environ["HELION_AUTOTUNE_EFFORT"] = "none"',
             source.replace(future, ""), "", "import torch", "", "class ModelNew(torch.nn.Module):",
             f"    def __init__(self{', ' + sizes if sizes else ''}):", "        super().__init__()"]
    for weight in weights.split():
        name, _, shape = weight.partition("=")
        lines.append(f"        self.{name} = torch.nn.Parameter(torch.empty({shape}, dtype=torch.bfloat16), requires_grad=False)")
    lines += ["", f"    def forward(self, {inputs}):", f"        {call}", ""]
    if sizes:
        lines += ["", f"def get_init_inputs({sizes}):", f"    return [{sizes}]", ""]
    return "\n".join(lines)


def shapes_of(form, every):
    if form is PRODUCT:
        return sorted({1, 30, *range(every, 31, every)})
    return range(1, 4) if form is NORM else range(1, 6)


def judge(options, path, task, workload, published, gpu):
    command = ["judge", task, path, "--workload", workload, "--device", options.device, "--shapes", "judged", "--samples", "50",
               "--store", options.store, *(["--as-published"] if published else [])]
    environment = dict(os.environ, CUDA_VISIBLE_DEVICES=common.visible(gpu))
    _, code, out, errors = common.run([options.assay, *command, "--json"], 240, env=environment)
    try:
        return json.loads(out)[0]
    except (ValueError, IndexError):
        return {"verdict": "judge_failed", "detail": f"exit {code}: {errors.strip()[-300:]}"}


def row_of(name, task, workload, form, verdict):
    timing, checks, worst = verdict.get("timing") or {}, verdict.get("checks") or [], verdict.get("worst_check")
    check = checks[worst] if isinstance(worst, int) and 0 <= worst < len(checks) else {}
    return {"file": name, "task": task, "workload": workload, "form": form, "verdict": verdict["verdict"],
            "scope": verdict.get("scope"), "elsewhere": verdict.get("elsewhere"), "mode": verdict.get("mode"),
            "median_ns": timing.get("median_ns"), "floor_ns": timing.get("floor_ns"), "unstable": timing.get("unstable"),
            "worst": {name: check.get(name) for name in ("name", "gate", "gate_z", "gate_limit", "hint", "allclose_1e-2_bad",
                                                         "elements")},
            "kernels": verdict.get("kernels"), "detail": (verdict.get("detail") or "")[:300]}


class Options:
    def __init__(self, arguments):
        self.seconds = float(common.option(arguments, "--seconds", 540))
        self.gpus = int(common.option(arguments, "--gpus", 1))
        self.each = int(common.option(arguments, "--each", 1))
        self.device = common.option(arguments, "--device", "cuda")
        self.only = common.option(arguments, "--only", "").split(",")
        self.every = int(common.option(arguments, "--every", 10))
        self.store = os.path.realpath(common.option(arguments, "--store", "published.sqlite"))
        self.table = "--table" in arguments
        arguments[:] = [a for a in arguments if a != "--table"]
        if len(arguments) != 3:
            sys.exit(__doc__)
        self.assay, self.checkout, self.out = os.path.realpath(arguments[0]), arguments[1], arguments[2]


def print_table(rows):
    print(f"{'file':36} {'workload':8} {'form':10} {'verdict':14} {'scope':20} {'us':>8}  why")
    for r in sorted(rows, key=lambda r: (r["file"], r["form"], r["workload"])):
        us = f"{r['median_ns'] / 1e3:8.2f}" if r["median_ns"] else f"{'-':>8}"
        print(f"{r['file']:36} {r['workload']:8} {r['form']:10} {r['verdict']:14} {r['scope'] or '-':20} {us}  "
              f"{(r['detail'] or r['elsewhere'] or '')[:100]}")


def main():
    options = Options(sys.argv[1:])
    result = {"what": "the published candidates of KernelGeneration: bench/gpu/published.py", "calls": [], "rows": []}
    if os.path.exists(options.out):
        with open(options.out, encoding="utf-8") as file:
            result = json.load(file)
    if options.table:
        print_table(result["rows"])
        return
    result["calls"].append({"command": " ".join(["bench/gpu/published.py", "ASSAY", "CHECKOUT", *sys.argv[3:]]),
                            "date": time.strftime("%Y-%m-%d"), "machine": common.machine(),
                            "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip()})
    result["rows"] = [r for r in result["rows"] if r["verdict"] != "judge_failed"]
    done = {(r["file"], r["workload"], r["form"]) for r in result["rows"]}
    lock = threading.Lock()
    jobs = [(name, form, call, f"size{shape:02}", form_name) for form_name in FORMS for name, form, call in CANDIDATES
            for shape in shapes_of(form, options.every)
            if any(text in name for text in options.only) and (name, f"size{shape:02}", form_name) not in done]

    def act(job, gpu, _):
        name, form, call, workload, form_name = job
        with open(os.path.join(options.checkout, "operators", name), encoding="utf-8") as file:
            source = module(file.read(), form, call)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, name.replace("/", "_"))
            with open(path, "w", encoding="utf-8") as file:
                file.write(source)
            row = row_of(name, form[0], workload, form_name, judge(options, path, form[0], workload, form_name == "published", gpu))
        with lock:
            result["rows"].append(row)
            common.write_whole(options.out, json.dumps(result, indent=1))

    begun = common.share(jobs, options.gpus, options.each, options.seconds, act)
    print_table(result["rows"])
    if begun < len(jobs):
        print(f"no time left for {len(jobs) - begun} judgements; the same command goes on")


if __name__ == "__main__":
    main()
