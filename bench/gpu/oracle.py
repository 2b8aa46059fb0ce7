#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time and memory of the oracle at full, and a sample of it against the CPU: bench/gpu/oracle.py BENCH_ORACLE_DEVICE OUT.json
                                                                              [--cache DIR] [--seconds N] [TASK...]
"""
import json
import subprocess
import sys

import common


def measure(command, seconds):
    """The lines that were there when time ran out count."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=common.ROOT) as child:
        try:
            text, _ = child.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            child.kill()
            text, _ = child.communicate()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


def differences(row):
    """What the check of a row found, as sentences: none where both oracles agree. Integers have no scale."""
    found = []
    if row["apart"]:
        worst = row["worst_over_scale"]
        size = "" if worst >= 1e300 else f", by up to {worst:.3g} of the scale"
        found.append(f"{row['apart']} of {row['compared']} elements along {row['sample']} are apart{size}; "
                     f"the first is element {row['first_apart']} of output {row['first_output']}")
    ratio = row.get("scale_over_cpus")
    if ratio is not None and not 0.5 < ratio < 2:
        found.append(f"the scale is {ratio} of the CPU's")
    return found


def main():
    arguments = sys.argv[1:]
    cache, seconds = common.option(arguments, "--cache", None), float(common.option(arguments, "--seconds", "600"))
    if len(arguments) < 2:
        sys.exit(__doc__)
    program, out, *tasks = arguments
    command = [program, "--json", "--check"] + (["--cache", cache] if cache else []) + tasks
    result = common.report("bench_oracle_device --json --check --cache DIR", out, [("rows", lambda: measure(command, seconds))])
    rows = result["rows"] if isinstance(result["rows"], list) else []
    held = [r for r in rows if "worst_over_scale" in r]
    print(f"{len(rows)} tasks, {sum(r['again_s'] for r in rows):.1f} s; {len(held)} held against the CPU, "
          f"{sum(r['compared'] for r in held):.3g} elements")
    for r in held:
        for found in differences(r):
            print(f"{r['task']}: {found}")
    for r in rows:
        if r.get("sample") == "none":
            print(f"{r['task']}: not held: {r['why']}")


if __name__ == "__main__":
    main()
