#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The clock that a product really runs at: whether energy or scheduling is its wall. bench/gpu/clocks.py OUT.json [SECONDS]

Every multiprocessor's cycle counter and the time in ns are read before and after, by a kernel of their own on the same
stream: their quotient is the true clock between them. Work per cycle follows: an SM of Hopper has 4096 operations in bf16
a cycle, 8192 in fp8. Two ways of running each form of kernels/fusedops and each library, as in forms.py:

  warm   back to back for SECONDS (0.7): where the power's limit lowers the clock, only fewer joules help, not better
         scheduling
  cold   one call at a time, each after 256 MB were written, as the judge does: median of fifteen

"use" is the part of the tensor cores' cycles that did work. Wants nvcc and PyTorch on a GPU with compute capability 9.0.
"""
import ctypes
import json
import statistics
import sys
import tempfile
import time

import torch

import common
import forms

SHAPES = [(1024, 1152, 1280), (2048, 2176, 2304), (3072, 3200, 3328), (4096, 4224, 4352), (8192, 8192, 8192)]
SMS, PER_CYCLE = 132, {"matmul": 4096, "fp8": 8192}


class Clock:
    def __init__(self, library):
        self.library, self.stamps = library, torch.zeros(2, SMS, 2, dtype=torch.int64, device="cuda")

    def stamp(self, which):
        error = self.library.stamp_clocks(ctypes.c_void_p(self.stamps[which].data_ptr()),
                                          ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if error:
            sys.exit(f"CUDA error {error}")

    def read(self):
        """MHz and ns between the two stamps, medians over the multiprocessors."""
        torch.cuda.synchronize()
        passed = [(b[0] - a[0], b[1] - a[1]) for a, b in zip(*self.stamps.cpu().tolist()) if a[1] and b[1]]
        return statistics.median(1000 * c / t for c, t in passed if t), statistics.median(t for _, t in passed)


def warm(clock, run, seconds):
    for _ in range(3):
        run()
    torch.cuda.synchronize()
    begin = time.monotonic()
    run()
    torch.cuda.synchronize()
    n = max(5, int(seconds / max(1e-5, time.monotonic() - begin)))
    clock.stamp(0)
    for _ in range(n):
        run()
    clock.stamp(1)
    mhz, ns = clock.read()
    return {"calls": n, "us": ns / n / 1000, "mhz": mhz}


def cold(clock, run, flush, empty):
    found = []
    for _ in range(15):
        flush.zero_()
        clock.stamp(0)
        run()
        clock.stamp(1)
        found.append(clock.read())
    return {"us": (statistics.median(ns for _, ns in found) - empty) / 1000, "mhz": statistics.median(mhz for mhz, _ in found)}


def main():
    out, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.7
    result = {"command": " ".join(["bench/gpu/clocks.py", *sys.argv[1:]]), "date": time.strftime("%Y-%m-%d"),
              "machine": common.machine(), "torch": torch.__version__,
              "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(), "rows": []}
    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("matmul", "fp8"):
            library = forms.build(kind, folder)
            clock = Clock(library)
            empty = statistics.median(cold(clock, lambda: None, flush, 0)["us"] * 1000 for _ in range(5))
            for dims in SHAPES:
                found = forms.fp8_case(library, dims) if kind == "fp8" else forms.matmul_case(library, dims, False)
                m, k, n = dims
                for name, run in found.items():
                    row = {"kind": kind, "dims": dims, "form": name, "cold": cold(clock, run, flush, empty), "warm": warm(clock, run, seconds)}
                    for way in ("cold", "warm"):
                        r = row[way]
                        r["tflops"] = 2e-6 * m * k * n / r["us"]
                        r["use"] = r["tflops"] * 1e6 / (SMS * PER_CYCLE[kind] * r["mhz"])
                    result["rows"].append(row)
                best = sorted((r for r in result["rows"] if (r["kind"], r["dims"]) == (kind, dims)), key=lambda r: r["warm"]["us"])[:4]
                for r in best:
                    print(kind, "x".join(map(str, dims)), r["form"], " ".join(
                        f"{way}: {r[way]['us']:.1f} us {r[way]['tflops']:.0f} TFLOP/s {r[way]['mhz']:.0f} MHz use {r[way]['use']:.3f}"
                        for way in ("cold", "warm")), flush=True)
                with open(out, "w", encoding="utf-8") as file:
                    json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
