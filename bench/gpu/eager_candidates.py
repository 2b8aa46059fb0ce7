#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's eager execution of whole levels, judged as candidates in one run.

usage: eager_candidates.py ASSAY CHECKOUT|BASELINE OUT.json [--level N] [--workload NAME] [--device D] [--only GLOB]
                           [--seconds S] [--checks N] [--samples N] [--verified N] [--probes] [--no-timing]
                           [--store FILE]

CHECKOUT is one of KernelBench: every problem (KernelBench/levelN/*.py, N 1 to 3 without --level) becomes a candidate that
is the module itself, under the name ModelNew, with tf32 off; the copies live in a temporary folder. BASELINE is a name that
Assay knows, torch.eager or torch.compile: its own modules of all tasks. --workload is full, --device cuda. Without --probes
only the timed workload is asked at. --no-timing: right or wrong only. --seconds ends the run after the candidate at hand:
what is judged is written, and with --store the same command goes on there.

OUT.json: for every task the verdict, its seconds (of which recording), the largest error and how much of what is allowed it
is, the parts of own, library and PyTorch kernels, the median in ns and what marks it; and the sums.
"""
import collections
import glob
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

import common
import verdicts


def write_candidates(checkout, level, folder):
    """Copies of a level's modules, by KernelBench's names for candidates, from which the task is known."""
    count = 0
    for path in sorted(glob.glob(os.path.join(checkout, "KernelBench", f"level{level}", "*.py"))):
        number = re.match(r"(\d+)_", os.path.basename(path))
        if not number:
            continue
        with open(path, encoding="utf-8") as file:
            source = file.read()
        name = f"level_{level}_problem_{number.group(1)}_sample_0_kernel.py"
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(as_candidate(source))
        count += 1
    return count


def as_candidate(source):
    """A module of the suite's as a ModelNew: the same class. The suite's own arguments go to it where get_init_inputs takes
    none. PyTorch's default computes convolutions in tf32, which the contract fp32 of all these tasks does not allow."""
    return f"{source}\n\ntorch.backends.cudnn.allow_tf32 = False\nModelNew = Model\n"


def tasks_of(assay, suite):
    return len(json.loads(subprocess.run([assay, "tasks", suite, "--json"], check=True, capture_output=True).stdout))


def bench(assay, suite, folder, arguments, limit):
    """(seconds, verdicts, the end of its output); an interrupt after `limit` seconds lets it end properly."""
    command = [assay, "bench", suite, "--from", folder, "--json", *arguments]
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        for patience in (limit, 60, 30):
            try:
                out, errors = child.communicate(timeout=patience)
                break
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGINT)
        else:
            child.kill()
            out, errors = child.communicate()
    try:
        found = json.loads(out)
    except ValueError:
        found = []
    return time.monotonic() - start, found, errors.strip()[-1000:]


def row(verdict):
    found = verdict.get("kernels") or {}
    timing = verdict.get("timing") or {}
    index = verdict.get("worst_check", -1)
    worst = verdict["checks"][index] if index is not None and index >= 0 else {}
    return {"task": verdict["task"], "verdict": verdict["verdict"], "detail": verdict["detail"],
            "seconds": round(verdicts.seconds(verdict), 3), "recording_s": round(verdicts.seconds(verdict, "plan"), 3),
            "mode": verdict.get("mode"), "no_plan": verdict.get("no_plan"), "checks": len(verdict["checks"]),
            "max_abs_error": worst.get("max_abs_error"),
            "z": worst.get("z_max"), "z_limit": worst.get("z_limit"),
            "kernels": {name: part["part"] for name, part in found.items()},
            "launches": {name: part["launches"] for name, part in found.items()},
            "unsettled_arguments": verdict.get("unsettled_arguments"), "median_ns": timing.get("median_ns"),
            "wall_ns": timing.get("wall_ns"), "unstable": timing.get("unstable"), "suspicious": timing.get("suspicious")}


def main():
    arguments = sys.argv[1:]
    probes, timing = "--probes" in arguments, "--no-timing" not in arguments
    arguments = [a for a in arguments if a not in ("--probes", "--no-timing")]
    level = common.option(arguments, "--level", None)
    workload = common.option(arguments, "--workload", "full")
    device = common.option(arguments, "--device", "cuda")
    only = common.option(arguments, "--only", None)
    limit = float(common.option(arguments, "--seconds", 7200))
    store = common.option(arguments, "--store", None)
    passed_on = [text for name in ("--checks", "--samples", "--verified") if (value := common.option(arguments, name, None))
                 for text in (name, value)]
    if len(arguments) != 3:
        sys.exit(__doc__)
    assay, checkout, out = os.path.realpath(arguments[0]), arguments[1], arguments[2]
    levels = [int(level)] if level else [1, 2, 3]
    result = {"command": " ".join(["bench/gpu/eager_candidates.py", "ASSAY", "CHECKOUT", *sys.argv[3:]]),
              "machine": common.machine(), "workload": workload, "device": device, "probes": probes, "levels": {}}
    left = limit
    with tempfile.TemporaryDirectory() as folder:
        for number in levels:
            inside = os.path.join(folder, str(number))
            if os.path.isdir(checkout):
                os.mkdir(inside)
                count = write_candidates(checkout, number, inside)
            else:
                inside, count = checkout, tasks_of(assay, f"kernelbench/{number}")
            extra = ["--device", device, "--workload", workload, "--store", store or os.path.join(folder, "store.sqlite"),
                     "--run", f"eager {number}", *([] if probes else ["--no-probes"]),
                     *([] if timing else ["--no-timing"]), *(["--only", only] if only else []), *passed_on]
            took, found, errors = bench(assay, f"kernelbench/{number}", inside, extra, max(left, 1))
            left -= took
            counts = collections.Counter(v["verdict"] for v in found)
            result["levels"][number] = {
                "problems": count, "judged": len(found), "seconds": round(took, 2), "verdicts": dict(counts),
                "seconds_each": round(took / len(found), 3) if found else None, "errors": errors,
                "tasks": [row(v) for v in sorted(found, key=lambda v: int(v["task"].rpartition("/")[2]))]}
            with open(out, "w") as file:
                json.dump(result, file, indent=1)
                file.write("\n")
            for verdict in found:
                print(verdicts.line(verdict), flush=True)
            print(f"level {number}: {len(found)} of {count} judged in {took:.1f} s: {dict(counts)} {errors}", flush=True)


if __name__ == "__main__":
    main()
