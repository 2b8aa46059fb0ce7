#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast a kernel is beside itself: judges one with itself as its baseline, again and again, by one judge or several in turn.

    bench/beside_itself.py TIMES ASSAY...

The kernel is tests/cases/relu.c at `small`, some 12 us: what the protocol costs counts there. Prints for each judge how many
ratios there were, the least, the quartiles and the greatest. 1 is right. Times are given however busy the machine is.
"""
import json
import os
import pathlib
import statistics
import subprocess
import sys

HOUSE = pathlib.Path(__file__).resolve().parent.parent


def ratio(assay):
    kernel = str(HOUSE / "tests/cases/relu.c")
    done = subprocess.run([assay, "judge", "kernelbench/1/19", kernel, "--baseline", kernel, "--no-probes", "--no-store", "--json"],
                          stdout=subprocess.PIPE, text=True, check=True,
                          env=os.environ | {"ASSAY_PROC": str(HOUSE / "tests/support/quiet")})
    return json.loads(done.stdout)[0]["baselines"][0]["speedup"]


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or int(sys.argv[1]) < 2:
        sys.exit(__doc__)
    found = {assay: [] for assay in sys.argv[2:]}
    for _ in range(int(sys.argv[1])):
        for assay, ratios in found.items():
            ratios.append(ratio(assay))
    for assay, ratios in found.items():
        known = [r for r in ratios if r is not None]
        if len(known) < 2:
            print(f"{assay}: {len(known)} of {len(ratios)} ratios")
            continue
        low, median, high = statistics.quantiles(known, n=4)
        print(f"{assay}: {len(known)} of {len(ratios)} ratios, {min(known):.2f}, {low:.2f} {median:.2f} {high:.2f}, {max(known):.2f}")


main()
