#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The verdicts of `assay bench --json`, one line each: seconds, verdict, whose kernels took the time, what it says.

usage: verdicts.py FILE
"""
import json
import sys


def kernels(verdict):
    """Each one's part of the device's time, in percent: "own 100", "PyTorch 70, library 30"."""
    found = verdict.get("kernels") or {}
    parts = sorted(((row["part"] or 0, name) for name, row in found.items() if row["launches"]), reverse=True)
    return ", ".join(f"{name} {100 * part:.0f}" for part, name in parts) or "-"


def seconds(verdict, part="total"):
    """0 where nothing was judged, as for want of an interpreter."""
    return (verdict["durations_ns"] or {}).get(part, 0) / 1e9


def line(verdict):
    worker = seconds(verdict, "plan")
    return (f"{verdict['task']:22} {seconds(verdict):7.2f} s ({worker:5.2f} recording)  {verdict['verdict']:16} "
            f"{kernels(verdict):28} {verdict['detail'][:90]}")


def main():
    with open(sys.argv[1]) as file:
        verdicts = [v for v in json.load(file) if v["durations_ns"]]  # others were not judged
    for verdict in verdicts:
        print(line(verdict))
    passed = sum(v["verdict"] == "pass" for v in verdicts)
    print(f"{len(verdicts)} verdicts, {passed} passed, {sum(map(seconds, verdicts)):.1f} s")


if __name__ == "__main__":
    main()
