#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The example of KernelBench's prompts (a + b of 1 x 128), judged by its own harness and by Assay, in the same call.

usage: kernelbench_beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json

Both start cold from the shell: source to verdict with 5 correctness inputs and 100 timed calls. KernelBench's harness runs
twice: with an empty build folder, and again with the extension's build cached. Assay runs ten times, its own device code
compiled before (by a first run, whose time is reported separately: assay_first_on_machine_s).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import common

HARNESS = common.KERNELBENCH_STAND_INS + r'''
checkout = sys.argv[1]
harness = import_harness(checkout)
prompts = checkout + "/src/kernelbench/prompts/"
result = harness.eval_kernel_against_ref(
    open(prompts + "model_ex_add.py").read(), open(prompts + "model_new_ex_add.py").read(),
    num_correct_trials=5, num_perf_trials=100, measure_performance=True, build_dir=sys.argv[2])
print("RESULT", json.dumps({"compiled": result.compiled, "correct": result.correctness, "runtime_ms": result.runtime}))
'''


def harness(checkout, folder, script):
    environment = dict(os.environ, TORCH_EXTENSIONS_DIR=folder, TORCH_CUDA_ARCH_LIST="9.0")
    start = time.monotonic()
    done = subprocess.run([sys.executable, script, checkout, folder], capture_output=True, text=True, timeout=300,
                          env=environment)
    seconds = time.monotonic() - start
    found = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not found:
        raise RuntimeError("KernelBench's harness: " + (done.stdout + done.stderr)[-1500:])
    return seconds, json.loads(found[-1][len("RESULT "):])


def judge(assay, cache):
    environment = dict(os.environ, XDG_CACHE_HOME=cache)
    command = [assay, "judge", "examples/1/1", os.path.join(common.ROOT, "kernels/cuda/examples/vector_add.cu"),
               "--checks", "5", "--samples", "100", "--no-store", "--json"]
    start = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, env=environment)
    seconds = time.monotonic() - start
    if done.returncode != 0:
        raise RuntimeError("assay: " + done.stderr[-1000:] + done.stdout[-1000:])
    return seconds, json.loads(done.stdout)[0], " ".join(command)


def main():
    assay, checkout, out = sys.argv[1:4]
    folder = tempfile.mkdtemp()
    script = os.path.join(folder, "harness.py")
    with open(script, "w") as f:
        f.write(HARNESS)
    cache = os.path.join(folder, "cache")
    first, _, command = judge(assay, cache)
    runs = [judge(assay, cache)[:2] for _ in range(10)]
    seconds = sorted(r[0] for r in runs)
    last = runs[-1][1]
    cold, verdict = harness(checkout, os.path.join(folder, "extensions"), script)
    cached, _ = harness(checkout, os.path.join(folder, "extensions"), script)
    median = (seconds[4] + seconds[5]) / 2
    result = {
        "what": "source to verdict of a vector addition, wall clock of one command, seconds",
        "command": "bench/gpu/kernelbench_beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json",
        "date": time.strftime("%Y-%m-%d"), "machine": common.machine(),
        "assay_command": command.replace(assay, "assay").replace(common.ROOT + "/", ""),
        "assay_s": {"median": median, "min": seconds[0], "max": seconds[-1], "n": len(seconds)},
        "assay_first_on_machine_s": first, "assay_verdict": last["verdict"],
        "assay_median_ns": last["timing"]["median_ns"], "assay_durations_ns": last["durations_ns"],
        "kernelbench_cold_s": cold, "kernelbench_cached_s": cached, "kernelbench_verdict": verdict,
        "ratio_cold": cold / median, "ratio_cached": cached / median,
    }
    with open(out, "w") as f:
        json.dump(result, f, indent=2, sort_keys=True)
        f.write("\n")
    print(json.dumps(result, indent=2, sort_keys=True))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
