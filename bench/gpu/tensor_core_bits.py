#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How tensor cores round: bench/gpu/tensor_core_bits.py OUT.json

Builds tensor_core_bits.cu with nvcc and asks each kind of instruction (mma.sync and wgmma; TF32, fp16 and bf16 factors;
sums in fp32, for fp16 also in fp16) crafted sums:

bits        1 - 1 + 2^-j: the largest j that is not lost says how many fraction bits below the largest term survive
cut         what becomes of bits below those, for both signs
rounding    how the exact sum of the aligned terms becomes a float
fused       which terms are aligned with each other: a small term is lost next to 1 - 1 where they are added at once
inputs      what becomes of the 13 bits of a float that TF32 lacks; subnormal numbers
bias        long sums in one accumulator: their mean error, per term, over the sum of absolute partial sums
library     what PyTorch's products in TF32 (cuBLAS) do to factors, where PyTorch is installed
"""
import concurrent.futures
import json
import math
import os
import random
import struct
import sys
import tempfile

import common

KINDS = ["mma-tf32", "mma-fp16", "mma-bf16", "mma-fp16-fp16", "wgmma-tf32", "wgmma-fp16", "wgmma-bf16",
         "wgmma-fp16-fp16"]
PROGRAM = os.path.join(tempfile.mkdtemp(), "tensor_core_bits")


def step(kind):
    return 8 if "tf32" in kind else 16


def sums(kind, cases):
    """cases: (list of (a, b), c), shorter lists filled up with zeros."""
    k = step(kind) * max(-(-len(terms) // step(kind)) for terms, _ in cases)
    data = []
    for terms, c in cases:
        terms = terms + [(0.0, 0.0)] * (k - len(terms))
        data += [a for a, _ in terms] + [b for _, b in terms] + [c]
    _, code, out, errors = common.run([PROGRAM, kind, str(k), str(len(cases))], input=struct.pack(f"<{len(data)}f", *data))
    if code != 0:
        raise RuntimeError(f"{kind}: {errors}")
    return struct.unpack(f"<{len(cases)}f", out)


def at(places, n):
    """A list of n products with some at given places: value v = m * 2^-e as (m * 2^-(e/2)) * 2^-(e - e/2)."""
    terms = [(0.0, 0.0)] * n
    for place, (m, e) in places.items():
        terms[place] = (m * 2.0 ** -(e // 2), 2.0 ** -(e - e // 2))
    return terms


def bits(kind):
    n, js = step(kind), list(range(4, 29))
    asked = {"products": lambda j: (at({0: (1, 0), 1: (-1, 0), 2: (1, j)}, n), 0.0),
             "product_beside_accumulator": lambda j: (at({0: (-1, 0), 2: (1, j)}, n), 1.0),
             "accumulator_beside_products": lambda j: (at({0: (1, 0), 1: (-1, 0)}, n), 2.0 ** -j)}
    got = iter(sums(kind, [make(j) for make in asked.values() for j in js]))
    return {name: max((j for j in js if next(got) != 0), default=None) for name in asked}


def cut(kind, kept):
    n, parts = step(kind), [0.5, 0.75, 1.25, 1.5, 1.75]
    ms = parts + [-p for p in parts]
    got = sums(kind, [(at({0: (1, 0), 1: (-1, 0), 2: (m, kept)}, n), 0.0) for m in ms])
    steps = [y * 2.0 ** kept for y in got]
    return {"sent": ms, "came": steps, "as": name_rounding(ms, steps)}


def rounding(kind, kept):
    """Sums just beyond a float's bits: 1 + 2^-23 (n + f); only those that survive alignment are asked."""
    n, fraction = step(kind), 10 if kind.endswith("fp16-fp16") else 23
    fs = [f for f in (0.25, 0.5, 0.75, 1.25, 1.5, 1.75) if fraction + (1 if f * 2 % 1 == 0 else 2) <= kept]
    ms = fs + [-f for f in fs]
    if not ms:
        return {"as": "nothing below a float's bits survives alignment"}
    cases = [(at({0: (math.copysign(1, m), 0), 1: (m, fraction)}, n), 0.0) for m in ms]
    steps = [(y - math.copysign(1, m)) * 2.0 ** fraction for y, m in zip(sums(kind, cases), ms)]
    return {"sent": ms, "came": steps, "as": name_rounding(ms, steps)}


def name_rounding(sent, came):
    rules = {"cut off (towards zero)": [math.trunc(m) for m in sent], "rounded down": [math.floor(m) for m in sent],
             "rounded to nearest, ties to even": [round(m) for m in sent],
             "rounded to nearest, ties away": [math.copysign(math.floor(abs(m) + 0.5), m) for m in sent],
             "cut off one bit further down, the result to nearest even": [round(math.trunc(2 * m) / 2) for m in sent],
             "kept exactly": sent}
    return next((name for name, want in rules.items() if list(came) == [float(w) for w in want]), "otherwise")


def fused(kind, kept):
    """Which places lose a small term when 1 and -1 stand at places i and i + 1."""
    n, rows = step(kind), []
    asked = [(i, j) for i in range(0, n, 2) for j in range(n) if j not in (i, i + 1)]
    got = sums(kind, [(at({i: (1, 0), i + 1: (-1, 0), j: (1, kept + 1)}, n), 0.0) for i, j in asked])
    for i in range(0, n, 2):
        rows.append({"large_at": [i, i + 1], "lost_at": [j for (at_i, j), y in zip(asked, got) if at_i == i and y == 0]})
    groups = {tuple(sorted(r["large_at"] + r["lost_at"])) for r in rows}
    return {"rows": rows, "groups": sorted(groups)}


def inputs(kind):
    n, result = step(kind), {}
    if "tf32" in kind:
        half, quarter = 2.0 ** -11, 2.0 ** -12
        ms = [1 + half, 1 + half + quarter, 1 + quarter, -1 - half - quarter]
        got = sums(kind, [(at({0: (m, 0)}, n), 0.0) for m in ms])
        result = {"sent": [(abs(m) - 1) * 1024 for m in ms], "came": [(abs(y) - 1) * 1024 for y in got]}
    small = 2.0 ** (-20 if "fp16" in kind else -130)
    factor, accumulator = sums(kind, [([(small, 1.0)], 0.0), ([(0.0, 0.0)], 2.0 ** (-20 if kind.endswith("fp16-fp16") else -140))])
    return {**result, "subnormal_factor_kept": factor != 0, "subnormal_accumulator_kept": accumulator != 0}


def to_format(kind, x):
    if "fp16" in kind and "bf16" not in kind:
        return struct.unpack("<e", struct.pack("<e", x))[0]
    m, e = math.frexp(x)
    width = 8 if "bf16" in kind else 11
    return math.ldexp(round(math.ldexp(m, width)), e - width)


def chain(kind, terms):
    """Exact sum, sum of |partial sums| and of their squares (of one order), for terms of a long sum."""
    s = p1 = p2 = 0.0
    for a, b in terms:
        s += a * b
        p1 += abs(s)
        p2 += s * s
    return math.fsum(a * b for a, b in terms), p1, p2


def bias(kind):
    rows, rng = [], random.Random(kind)
    for name, draw in [("uniform(0,1)", rng.random), ("normal(0,1)", lambda: rng.gauss(0, 1))]:
        for k, n in [(64, 256), (1024, 64), (8192, 24)]:
            cases = [([(to_format(kind, draw()), to_format(kind, draw())) for _ in range(k)], 0.0) for _ in range(n)]
            got, exact = sums(kind, cases), [chain(kind, terms) for terms, _ in cases]
            inward = [(y - g) * math.copysign(1, y) for g, (y, _, _) in zip(got, exact)]
            p1 = sum(p for _, p, _ in exact)
            scale = [math.sqrt(k * p) for _, _, p in exact]
            rows.append({"inputs": name, "K": k, "sums": n,
                         # error towards zero over the sum of |partial sums|, in units of 2^-24
                         "mean_per_term": sum(inward) / p1 * 2.0 ** 24,
                         # error over sqrt(K * sum of squared partial sums): what a contract's cut must cover
                         "rms_per_term": math.sqrt(sum((e / s) ** 2 for e, s in zip(inward, scale)) / n) * 2.0 ** 24,
                         "max_per_term": max(abs(e / s) for e, s in zip(inward, scale)) * 2.0 ** 24,
                         "relative_rms": math.sqrt(sum((e / y) ** 2 for e, (y, _, _) in zip(inward, exact)) / n)})
    return rows


def examine(kind):
    found = {"bits": bits(kind)}
    kept = found["bits"]["products"]
    found.update(cut=cut(kind, kept), rounding=rounding(kind, kept), fused=fused(kind, kept), inputs=inputs(kind),
                 bias=bias(kind))
    lines = [f"{kind:16} fraction bits kept {found['bits']}",
             f"{'':16} below them: {found['cut']['as']}; the sum: {found['rounding']['as']}",
             f"{'':16} added at once: {found['fused']['groups']}", f"{'':16} inputs: {found['inputs']}"]
    lines += [f"{'':16} {row['inputs']:13} K {row['K']:5}  error per term, in 2^-24 of partial sums: mean "
              f"{row['mean_per_term']:8.4f}  rms {row['rms_per_term']:7.4f}  max {row['max_per_term']:7.4f}  "
              f"relative {row['relative_rms']:.2e}" for row in found["bias"]]
    print("\n".join(lines), flush=True)
    return found


LIBRARY = """
import json, torch
torch.backends.cuda.matmul.allow_tf32 = True
factors = [1 + 2.0 ** -11 + 2.0 ** -12, 1 + 2.0 ** -11 + 2.0 ** -23, 1 + 2.0 ** -11, 1 + 3 * 2.0 ** -11, 1 + 2.0 ** -12]
found = []
for n in (256, 1024, 4096):
    one = torch.eye(n, device="cuda")
    for side in ("left", "right"):
        for layout in ("nn", "nt"):
            came = []
            for f in factors:
                x = torch.full((n, n), f, device="cuda")
                a, b = (x, one) if side == "left" else (one, x)
                y = a @ (b.t().contiguous().t() if layout == "nt" else b)
                came.append((y[3, 5].item() - 1) * 1024)
            found.append({"n": n, "side": side, "layout": layout, "came": came})
print(json.dumps({"sent": [(f - 1) * 1024 for f in factors], "torch": torch.__version__, "found": found}))
"""


def library():
    _, code, out, errors = common.run([sys.executable, "-c", LIBRARY], 60)
    if code != 0:
        raise RuntimeError(errors[-300:])
    found = json.loads(out)
    print(f"{'cuBLAS, TF32':16} factors, in steps of TF32 beyond 1: sent {found['sent']}, came "
          f"{sorted({str(f['came']) for f in found['found']})}", flush=True)
    return found


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    common.nvcc(os.path.join(common.HERE, "tensor_core_bits.cu"), PROGRAM)
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        parts = [(kind, pool.submit(examine, kind).result) for kind in KINDS] + [("library", pool.submit(library).result)]
        common.report("bench/gpu/tensor_core_bits.py OUT.json", sys.argv[1], parts, timed=False)


if __name__ == "__main__":
    main()
