#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which launch form moves memory fastest: bench/gpu/memory_forms.py OUT.json [--seconds N]

Builds memory_forms.cu with nvcc and times y = f(x) for 1.6 G floats (a ReLU, and an exponential linear unit) in some 160
forms: blocks that end after their chunk, with 1 to 8 vectors a thread, or that stay; cache hints of loads and stores;
tiles by the copy engine; for comparison copies by the driver, reading and writing alone, and other distances
between x and y. Prints a table, the fastest form of each kind first, and writes it as JSON. The device is busy for at
most --seconds (16).
"""
import json
import os
import statistics
import sys
import tempfile

import common

FLOATS = 1610612736  # as KernelBench's activations have


def measured(floats, seconds):
    program = os.path.join(tempfile.mkdtemp(), "memory_forms")
    common.nvcc(os.path.join(common.HERE, "memory_forms.cu"), program)
    _, code, out, errors = common.run([program, str(floats), str(seconds)], 120)
    if code != 0:
        raise RuntimeError(f"memory_forms: {errors[-400:]}")
    rows = []
    for line in out.decode().splitlines():
        row = json.loads(line)
        ms = row.pop("ms")
        row.update(ms=statistics.median(ms), ms_low=min(ms), ms_high=max(ms), rounds=len(ms),
                   gb_per_s=row["bytes"] / statistics.median(ms) / 1e6)
        rows.append(row)
    return rows


def show(rows):
    best = {f: min((r["ms"] for r in rows if r["function"] == f), default=None) for f in ("relu", "elu", "")}
    kinds = sorted({(r["kind"], r["function"]) for r in rows},
                   key=lambda k: min(r["ms"] for r in rows if (r["kind"], r["function"]) == k))
    for kind in kinds:
        print(f"\n{kind[0]} {kind[1]}\n{'form':72} {'ms':>8} {'low':>8} {'high':>8} {'GB/s':>7} over the best")
        for r in sorted((r for r in rows if (r["kind"], r["function"]) == kind), key=lambda r: r["ms"]):
            over = f"{r['ms'] / best[r['function']]:6.3f}" if r["function"] else ""
            print(f"{r['form']:72} {r['ms']:8.4f} {r['ms_low']:8.4f} {r['ms_high']:8.4f} {r['gb_per_s']:7.0f} {over}"
                  + (f"  WRONG in {r['wrong']} vectors" if r["wrong"] else ""))
    sys.stdout.flush()


def main():
    arguments = sys.argv[1:]
    seconds = float(common.option(arguments, "--seconds", 16))
    if len(arguments) != 1:
        sys.exit(__doc__)

    def forms():
        rows = measured(FLOATS, seconds)
        show(rows)
        return {"floats": FLOATS, "rows": rows}

    common.report("bench/gpu/memory_forms.py OUT.json", arguments[0], [("forms", forms)])


if __name__ == "__main__":
    main()
