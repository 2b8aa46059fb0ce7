#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten of KernelBench's own modules as candidates for their own tasks: what its harness and Assay take for them.

usage: originals_beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json [--seconds S] [--only 1/1,2/40,...]

Needs a GPU and PyTorch, in the Python that runs this and in $ASSAY_PYTHON. Each module is a ModelNew that is the module
itself (eager_candidates.as_candidate). KernelBench's harness gets a process for each, as its scripts do: 5 correctness
trials and 100 performance trials at the published shapes. Assay judges all ten in one run (`assay bench --workload full`),
with what it does without options but for the ragged shapes, for which a module with its sizes written inside is not made.
OUT.json: both verdicts, both seconds, and what 250 tasks would take at the harness's mean.
"""
import json
import os
import statistics
import sys
import tempfile
import time

import beside
import common
import eager_candidates

TASKS = "1/1,1/23,1/50,1/63,2/1,2/40,2/99,3/1,3/9,3/43"


def main():
    arguments = sys.argv[1:]
    limit = float(common.option(arguments, "--seconds", 560))
    tasks = common.option(arguments, "--only", TASKS).split(",")
    if len(arguments) != 3:
        sys.exit(__doc__)
    assay, checkout, out = os.path.realpath(arguments[0]), arguments[1], arguments[2]
    end = time.monotonic() + limit
    result = {"command": "bench/gpu/originals_beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json",
              "date": time.strftime("%Y-%m-%d"), "machine": common.machine(), "rows": [],
              "commit": common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip()}
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "harness.txt")  # no candidate
        with open(script, "w", encoding="utf-8") as file:
            file.write(beside.HARNESS)
        candidates = []
        for task in tasks:
            level, number = task.split("/")
            path = os.path.join(folder, f"level_{level}_problem_{number}_sample_0_kernel.py")
            with open(beside.reference_of(checkout, f"kernelbench/{task}"), encoding="utf-8") as file:
                source = file.read()
            with open(path, "w", encoding="utf-8") as file:
                file.write(eager_candidates.as_candidate(source))
            candidates.append({"task": f"kernelbench/{task}", "file": path, "kind": "torch"})
        start = time.monotonic()
        seconds, found, errors = eager_candidates.bench(assay, "kernelbench", folder, [
            "--device", "cuda", "--workload", "full", "--no-probes", "--memory", "4096", "--store",
            os.path.join(folder, "store.sqlite"), "--run", "ten"], end - start)
        ours = {verdict["task"]: eager_candidates.row(verdict) for verdict in found}
        result["assay_seconds"] = round(seconds, 2)
        result["assay_errors"] = errors
        for candidate in candidates:
            theirs = beside.ask_in_time(lambda left, c=candidate: beside.ask_kernelbench(checkout, c, script, left),
                                        {"each": 180}, end)
            result["rows"].append({"task": candidate["task"], "kernelbench": theirs, "assay": ours.get(candidate["task"])})
            print(candidate["task"], theirs and (theirs["says"], theirs["seconds"]),
                  ours.get(candidate["task"], {}).get("verdict"), ours.get(candidate["task"], {}).get("seconds"), flush=True)
            said = [row["kernelbench"]["seconds"] for row in result["rows"] if row["kernelbench"]]
            if said:
                result["kernelbench_seconds"] = round(sum(said), 2)
                result["kernelbench_hours_for_250"] = round(statistics.mean(said) * 250 / 3600, 2)
                result["ratio"] = round(sum(said) / seconds, 2) if len(said) == len(candidates) else None
            with open(out, "w", encoding="utf-8") as file:
                json.dump(result, file, indent=1)
                file.write("\n")
    print(json.dumps({name: result.get(name) for name in ("assay_seconds", "kernelbench_seconds", "kernelbench_hours_for_250",
                                                          "ratio")}))


if __name__ == "__main__":
    main()
