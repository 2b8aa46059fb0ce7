#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Forms of the products and of attention in kernels/fusedops beside PyTorch's libraries: bench/gpu/forms.py OUT.json [KIND]...

KIND: matmul (the thirty published shapes and 8192 cubed, beside cuBLAS), fp8 (these and four of DeepGEMM's, beside
cuBLASLt where b lies column by column or is turned in each call, and beside a product in bf16 of what is cast), gelu (the five, beside addmm and
GELU), attention (beside cuDNN's and FlashAttention's, as PyTorch has them). Each form is checked once against single precision. Times are
medians of fifteen, in turn over all forms and libraries, each after 256 MB were written, less that between two events
with nothing between them: microseconds. For matmul the times of a form are fitted, as a launch, a time for each slice of
64 terms (fp8: 128) and one for each round of tiles: these are the numbers in the kernel's directive lines.

Wants nvcc and PyTorch on a GPU with compute capability 9.0. The judge's own times are `assay compare`'s.
"""
import ctypes
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

HERE = os.path.dirname(os.path.abspath(__file__))
MATMUL = [(m, m + 128, m + 256) for m in range(256, 4097, 128) if m != 1920] + [(8192, 8192, 8192)]
FP8 = MATMUL + [(4096, 16384, 7168), (4096, 7168, 4096), (4096, 1536, 24576), (4096, 512, 32768)]
GELU = [(32, 64, 16), (128, 256, 64), (512, 1024, 128), (1024, 2048, 256), (512, 2048, 4096), (4096, 4096, 4096)]
ATTENTION = [(16, 32, 32, 512, 512, 64), (8, 32, 32, 1024, 1024, 64), (4, 32, 32, 2048, 2048, 64), (2, 32, 32, 4096, 4096, 64),
             (16, 16, 16, 512, 512, 128), (8, 16, 16, 1024, 1024, 128), (4, 16, 16, 2048, 2048, 128),
             (2, 16, 16, 4096, 4096, 128), (1, 16, 16, 16384, 16384, 128), (2, 16, 16, 1023, 1025, 128), (3, 5, 5, 777, 999, 80),
             (16, 32, 32, 1, 8192, 128), (4, 32, 8, 4096, 4096, 128)]
ROUNDS, EACH = 3, 5


class Request(ctypes.Structure):
    _fields_ = [("inputs", ctypes.c_void_p * 3), ("out", ctypes.c_void_p), ("dims", ctypes.c_int * 6),
                ("stream", ctypes.c_void_p), ("prepare", ctypes.c_int)]


def build(kind, folder):
    out = os.path.join(folder, kind + ".so")
    subprocess.run(["nvcc", "-O3", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-shared", "-Xcompiler", "-fPIC",
                    "-D" + kind.upper(), os.path.join(HERE, "forms.cu"), "-o", out], check=True, stderr=subprocess.DEVNULL)
    library = ctypes.CDLL(out)
    library.name_of_form.restype = ctypes.c_char_p
    return library


def between_events(fn, n, flush):
    pairs = []
    for _ in range(n):
        flush.zero_()
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        first.record()
        fn()
        last.record()
        pairs.append((first, last))
    torch.cuda.synchronize()
    return [a.elapsed_time(b) * 1000 for a, b in pairs]


def forms_of(library, inputs, out, dims, right):
    """Name to function, of the forms that do this shape; one that is wrong is said and left out."""
    found = {}
    for i in range(library.count_forms()):
        name = library.name_of_form(i).decode()
        request = Request((ctypes.c_void_p * 3)(*[t.data_ptr() for t in inputs]), out.data_ptr(),
                          (ctypes.c_int * 6)(*dims), torch.cuda.current_stream().cuda_stream, 1)
        state = library.run_form(i, ctypes.byref(request))
        if state == -1:
            continue
        request.prepare = 0
        out.fill_(float("nan"))
        state = state or library.run_form(i, ctypes.byref(request))
        torch.cuda.synchronize()
        if state or not right(name):
            print(f"form {name} at {dims}: " + (f"CUDA error {state}" if state else "a wrong answer"), flush=True)
            continue
        found[name] = lambda i=i, request=request: library.run_form(i, ctypes.byref(request))
    return found


def matmul_case(library, dims, gelu):
    m, k, n = dims
    a, b = (torch.randn(rows, columns, device="cuda").mul_(s).bfloat16() for rows, columns, s in ((m, k, 1), (k, n, 0.1 if gelu else 1)))
    bias, y = torch.randn(n, device="cuda").mul_(0.5).bfloat16(), torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    z = torch.empty_like(y)
    reference = a.float() @ b.float()
    if gelu:
        reference = torch.nn.functional.gelu(reference + bias.float())

    def right(_):
        return bool(((y.float() - reference).abs() <= reference.abs() / 128 + math.sqrt(k) * 1e-3).all())

    found = forms_of(library, [a, b, bias], y, (m, k, n, 0, 0, 0), right)
    if gelu:
        found["torch"] = lambda: torch.nn.functional.gelu(torch.addmm(bias, a, b))
    else:
        found["torch"] = lambda: torch.matmul(a, b, out=z)
    return found


def fp8_case(library, dims):
    m, k, n = dims
    a, b = (torch.randn(rows, columns, device="cuda").to(torch.float8_e4m3fn) for rows, columns in ((m, k), (k, n)))
    y = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    reference = torch.mm(a.bfloat16(), b.bfloat16(), out_dtype=torch.float32)

    def right(_):
        return bool(((y.float() - reference).abs() <= reference.abs() / 128 + math.sqrt(k) * 4e-3).all())

    found = forms_of(library, [a, b, a], y, (m, k, n, 0, 0, 0), right)
    columns, one = b.t().contiguous().t(), torch.ones(1, device="cuda")
    for fast in (False, True):
        found["cublaslt, fast sums" if fast else "cublaslt"] = lambda fast=fast: torch._scaled_mm(
            a, columns, one, one, out_dtype=torch.bfloat16, use_fast_accum=fast)
    found["cublaslt, b turned in each call"] = lambda: torch._scaled_mm(a, b.t().contiguous().t(), one, one, out_dtype=torch.bfloat16, use_fast_accum=False)
    found["torch, cast"] = lambda: torch.matmul(a.bfloat16(), b.bfloat16())
    return found


def attention_case(library, dims, causal):
    batch, heads, shared, queries, keys, width = dims
    q, k, v = (torch.randn(batch, h, rows, width, device="cuda").bfloat16() for h, rows in ((heads, queries), (shared, keys), (shared, keys)))
    y = torch.empty_like(q)
    all_k, all_v = (t.repeat_interleave(heads // shared, 1) for t in (k, v))
    last = slice(max(0, queries - 300), queries)
    scores = q[-1:, -2:, last].float() @ all_k[-1:, -2:].float().transpose(-1, -2) / math.sqrt(width)
    if causal:
        position = torch.arange(keys, device="cuda")
        scores = scores.masked_fill(position[None, :] > position[last, None], -math.inf)
    reference = torch.softmax(scores, -1) @ all_v[-1:, -2:].float()

    def right(name):
        if int(name.split(",")[-1]) != causal:
            return True
        return not y.isnan().any() and bool(((y[-1:, -2:, last].float() - reference).abs().max() <= reference.abs().max() / 50))

    found = forms_of(library, [q, k, v], y, dims, right)
    found = {n: f for n, f in found.items() if int(n.split(",")[-1]) == causal}
    for backend in (SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION):
        def run(backend=backend):
            with sdpa_kernel(backend):
                return torch.nn.functional.scaled_dot_product_attention(q, all_k, all_v, is_causal=bool(causal))
        found[backend.name.split("_")[0].lower()] = run
    return found


def fit(rows, form, terms):
    """Nanoseconds of a launch, of a slice in a round and of a round, by least squares of relative errors."""
    height, groups, share, split, _ = map(int, form.split(","))
    system = [[0.0] * 4 for _ in range(3)]
    for (m, k, n), times in rows:
        tiles = math.ceil(m / height) * math.ceil(n / (64 * groups * share))
        rounds = math.ceil(tiles / (132 // (share * split)))
        row = [x / times[form] for x in (1, rounds * math.ceil(k / terms / split), rounds, times[form])]
        for i in range(3):
            for j in range(4):
                system[i][j] += row[i] * row[j]
    for i in range(3):
        for other in range(3):
            if other != i:
                factor = system[other][i] / system[i][i]
                system[other] = [a - factor * b for a, b in zip(system[other], system[i])]
    return [round(1000 * system[i][3] / system[i][i]) for i in range(3)]


def main():
    out, kinds = sys.argv[1], sys.argv[2:] or ["matmul", "fp8", "gelu", "attention"]
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    empty = statistics.median(between_events(lambda: None, 50, flush))
    result = {"command": " ".join(["bench/gpu/forms.py", *sys.argv[1:]]), "gpu": torch.cuda.get_device_name(),
              "torch": torch.__version__, "events_us": empty}
    with tempfile.TemporaryDirectory() as folder:
        with ThreadPoolExecutor() as pool:
            libraries = dict(zip(kinds, pool.map(lambda k: build(k, folder), kinds)))
        for kind in kinds:
            cases = [(d, c) for c in (0, 1) for d in ATTENTION if not c or d[3] == d[4]] if kind == "attention" else \
                [(d, None) for d in {"matmul": MATMUL, "fp8": FP8, "gelu": GELU}[kind]]
            rows = []
            for dims, causal in cases:
                found = attention_case(libraries[kind], dims, causal) if kind == "attention" else \
                    fp8_case(libraries[kind], dims) if kind == "fp8" else matmul_case(libraries[kind], dims, kind == "gelu")
                for f in found.values():
                    f()
                samples = {name: [] for name in found}
                for _ in range(ROUNDS):
                    for name, f in found.items():
                        samples[name] += between_events(f, EACH, flush)
                times = {name: round(statistics.median(s) - empty, 2) for name, s in samples.items()}
                rows.append((dims, times))
                best = sorted(times, key=times.get)[:4]
                print(kind, "x".join(map(str, dims)), "causal" if causal else "", ", ".join(f"{n}: {times[n]}" for n in best), flush=True)
                result.setdefault(kind, []).append({"dims": dims, "causal": causal, "us": times})
                with open(out, "w") as f:
                    json.dump(result, f, indent=1)
            if kind in ("matmul", "fp8"):
                result[f"fit_{kind}_ns"] = {f: fit(rows[:30], f, 64 if kind == "matmul" else 128) for f in rows[0][1] if f[0].isdigit() and all(f in times for _, times in rows[:30])}
    with open(out, "w") as f:
        json.dump(result, f, indent=1)


if __name__ == "__main__":
    main()
