#!/usr/bin/env python3
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
        if not r["worst_over_scale"] < 1e-3 or not 0.5 < r["scale_over_cpus"] < 2:
            print(f"apart: {r['task']}: {r['worst_over_scale']} of the scale; scales differ by {r['scale_over_cpus']}")


if __name__ == "__main__":
    main()
