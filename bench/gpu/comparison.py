#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the comparison of makers still lacks, on the GPUs of one machine, the most telling part first.

usage: comparison.py PROGRAMS OUT [--seconds S] [--only PART,...] [--gpus N] [--checkout DIR] [--device D] [--scale X]
                     [--plan] [--table]

PROGRAMS: the folder with assay and its helpers. OUT: a folder for all that the parts write, while they run. Parts:

  one           the published families whole, in one run on one GPU: thirty products, three layer normalisations, five products with
                GELU, by PyTorch in three modes, the library, Triton and ours (fusedops.sh); makers.py makes one file of it
  families      the other families, likewise: attention, batched, grouped and routed products, softmax, RMS normalisation, rotary
                embedding, cross-entropy, SwiGLU, the gate of experts
  probes        kernels whose defaults a search chose, which asked no probes: at odd shapes, then under all probes at every size
                (fusedops_kernels.py)
  cublas        forms of the bf16 product beside cuBLAS over the thirty published shapes (forms.py), which begins anew each time
  products      the 16 published products that no run of all makers has reached (fusedops.sh)
  denominators  PyTorch over KernelBench, every eighth task first (denominators.py)
  tuners        what tuning costs, with three seeds (tuners.sh)
  published     the published candidates that were not reached: products with GELU, Helion's layer normalisation (published.py);
                --checkout is LironKesem/KernelGeneration, and without it the part is left out

Each part has seconds of its own, 2520 in all; --scale multiplies them. --seconds (540) ends a call, and the same command goes on
with the part, and within it, where it was: OUT/comparison.json has what was used. --only takes parts in the order given. --plan
prints what would be called, after it has written what the parts read. --table prints what there is, and calls nothing.

  comparison.py build OUT --seconds 540       four times, in 35 minutes of a machine with four GPUs
  comparison.py build OUT --only one          the published families alone, in nine minutes of one GPU and 16 processors
"""
import json
import os
import signal
import subprocess
import sys
import time

import common
import fusedops_kernels

LIMITS = {"one": 500, "families": 700, "probes": 120, "cublas": 60, "products": 330, "denominators": 390, "tuners": 300,
          "published": 120}
SHORTEST = 20  # seconds; a part is not begun with less
GRACE = 45  # what is at work when a part's seconds are over may end
REACHED = (5, 10, 15, 20, *range(21, 31))  # of the thirty products, in bench/results/nvidia-*/makers_one_run.json
FAMILIES = ("attention/bf16_attention", "softmax/bf16_softmax", "grouped_gemm/bf16_grouped_gemm", "rms_norm/bf16_rms_norm",
            "attention/bf16_attention_causal", "swiglu/bf16_swiglu", "cross_entropy/bf16_cross_entropy", "rotary/bf16_rotary",
            "attention/bf16_attention_gqa", "grouped_gemm/bf16_batched_gemm", "grouped_gemm/bf16_routed_gemm",
            "moe_gate/fp32_moe_gate")
ONE = "eager,inductor,max-autotune,triton,kernels/fusedops"  # makers of the part one; for products the library, too
CHOSEN = "attention,layernorm,swiglu,batched_gemm"  # kernels whose defaults a search chose


def write_products(path):
    with open(path, "w", encoding="utf-8") as file:
        for n in range(30, 0, -1):
            if n not in REACHED:
                file.write(f"fusedops/matmul/bf16_matmul size{n:02}\n")


def write_one(path):
    """Some of each family first, so that a run that is cut off has all three; then products large and small in turn, so that what
    it lacks is not all of one kind."""
    products = [f"matmul/bf16_matmul size{n:02}" for n in sorted(range(30, 0, -1), key=lambda n: (n % 5 != 0, 7 * n % 30))]
    others = [f"gemm_gelu/bf16_gemm_gelu size{n:02}" for n in range(5, 0, -1)] + \
        [f"layernorm/bf16_layernorm size{n:02}" for n in range(3, 0, -1)]
    with open(path, "w", encoding="utf-8") as file:
        for part in products[:6] + others + products[6:]:
            file.write(f"fusedops/{part} fusedops {ONE}{',library' if part in products else ''}\n")


def write_families(path):
    """A shape of each family in turn, the last ones first: so a run that is cut off has all families."""
    sizes = {family: [name for name in fusedops_kernels.read_workloads(f"fusedops/{family}") if name.startswith("size")][::-1]
             for family in FAMILIES}
    with open(path, "w", encoding="utf-8") as file:
        for n in range(max(map(len, sizes.values()))):
            for family in FAMILIES:
                if n < len(sizes[family]):
                    file.write(f"fusedops/{family} {sizes[family][n]} fusedops {ONE}\n")


class Options:
    def __init__(self, arguments):
        self.seconds = float(common.option(arguments, "--seconds", 540))
        self.scale = float(common.option(arguments, "--scale", 1))
        self.only = common.option(arguments, "--only", ",".join(LIMITS)).split(",")
        self.gpus = int(common.option(arguments, "--gpus", 0)) or common.gpus_here()
        self.device = common.option(arguments, "--device", "cuda")
        self.checkout = common.option(arguments, "--checkout", "")
        self.checkout = os.path.realpath(self.checkout) if self.checkout else ""
        self.plan, self.table = "--plan" in arguments, "--table" in arguments
        arguments[:] = [a for a in arguments if a not in ("--plan", "--table")]
        if len(arguments) != 2:
            sys.exit(__doc__)
        wrong = [part for part in self.only if part not in LIMITS]
        if wrong:
            sys.exit(f"comparison.py: there is no part {wrong[0]}: {', '.join(LIMITS)}")
        self.programs, self.out = map(os.path.realpath, arguments)
        self.assay = os.path.join(self.programs, "assay")
        if not os.access(self.assay, os.X_OK):
            sys.exit(f"comparison.py: there is no program {self.assay}: build it first")
        if self.checkout and not os.path.isdir(os.path.join(self.checkout, "operators")):
            sys.exit(f"comparison.py: {self.checkout} has no folder operators: it is no checkout of KernelGeneration")


def command_of(part, options, seconds):
    """(command, environment); None where the part cannot be done here."""
    script, seconds = (lambda name: os.path.join(common.HERE, name)), str(int(seconds))
    python = os.environ.get("ASSAY_PYTHON", sys.executable)
    out, gpus = (lambda name: os.path.join(options.out, name)), str(options.gpus)
    shared = ["--seconds", seconds, "--gpus", gpus, "--device", options.device]
    if part in ("one", "families"):
        return [script("fusedops.sh"), options.programs, out(part), seconds], \
            {"PARTS": out(part + ".parts"), "GPUS": "1", "EACH": "5", "DEVICE": options.device}
    if part == "probes":
        return [sys.executable, script("fusedops_kernels.py"), options.assay, out("probes.json"), "--only", CHOSEN, "--kinds",
                "odd,probes", *shared], {}
    if part == "cublas":
        return [python, script("forms.py"), out("forms.json"), "matmul"], {}
    if part == "products":
        return [script("fusedops.sh"), options.programs, out("products"), seconds], \
            {"PARTS": out("products.parts"), "GPUS": gpus, "EACH": "2", "DEVICE": options.device}
    if part == "denominators":
        return [sys.executable, script("denominators.py"), options.assay, out("denominators.json"), "--every", "8", *shared], {}
    if part == "tuners":
        return [script("tuners.sh"), options.programs, out("tuners"), seconds], {"GPUS": gpus, "DEVICE": options.device}
    if not options.checkout:
        return None
    return [sys.executable, script("published.py"), options.assay, options.checkout, out("published.json"), "--only",
            "gemm_gelu,layernorm_helion", "--store", out("published.sqlite"), *shared], {}


def run_part(command, environment, log, seconds):
    """(seconds, exit code, whether it says that there was no time left). What outlives its seconds is interrupted, then ended."""
    begun = time.monotonic()
    with open(log, "a", encoding="utf-8") as file:
        file.write("$ " + " ".join(command) + "\n")
        file.flush()
        before = file.tell()
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT, start_new_session=True,
                                 env={**os.environ, **environment}, cwd=common.ROOT)
        cut_off = False
        for sign, patience in ((signal.SIGINT, seconds + GRACE), (signal.SIGTERM, 10), (signal.SIGKILL, 5)):
            try:
                child.wait(patience)
                break
            except subprocess.TimeoutExpired:
                cut_off = True
                os.killpg(child.pid, sign)
        code = child.wait()
    with open(log, encoding="utf-8", errors="replace") as file:
        file.seek(before)
        said = file.read()
    return time.monotonic() - begun, code, cut_off or "no time left" in said


def state_of(result, part):
    return result["parts"].setdefault(part, {"seconds": 0.0, "done": False, "exit": None, "calls": 0})


def print_table(result, options):
    print(f"{'part':13} {'seconds':>7} {'of':>5} {'calls':>5} {'exit':>4}  state")
    for part in LIMITS:
        s = state_of(result, part)
        limit = LIMITS[part] * options.scale
        state = "done" if s["done"] else "not begun" if s["calls"] == 0 else "its seconds are used (--scale gives more)" if limit - s["seconds"] < SHORTEST \
            else "goes on with the same command"
        print(f"{part:13} {s['seconds']:7.0f} {limit:5.0f} {s['calls']:5} {'-' if s['exit'] is None else s['exit']:>4}  {state}")


def main():
    options = Options(sys.argv[1:])
    path = os.path.join(options.out, "comparison.json")
    result = {"what": "what the comparison of makers lacked: bench/gpu/comparison.py", "calls": [], "parts": {}}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
    if options.table:
        print_table(result, options)
        return
    os.makedirs(options.out, exist_ok=True)
    write_products(os.path.join(options.out, "products.parts"))
    write_one(os.path.join(options.out, "one.parts"))
    write_families(os.path.join(options.out, "families.parts"))
    if not options.plan:
        result["calls"].append(common.call_of("bench/gpu/comparison.py", ["PROGRAMS", "OUT", *sys.argv[3:]], gpus=options.gpus))

    def write():
        common.write_whole(path, json.dumps(result, indent=1))

    end = time.monotonic() + options.seconds
    for part in options.only:
        state = state_of(result, part)
        left = min(LIMITS[part] * options.scale - state["seconds"], end - time.monotonic())
        if state["done"] or left < SHORTEST * min(1, options.scale):
            continue
        found = command_of(part, options, left)
        if not found:
            print(f"{part}: left out, as there is no --checkout")
            continue
        command, environment = found
        if options.plan:
            print(" ".join([*(f"{name}={value}" for name, value in environment.items()), *command]))
            continue
        print(f"{part}: {left:.0f} s", flush=True)
        took, code, more = run_part(command, environment, os.path.join(options.out, part + ".txt"), left)
        state.update(seconds=state["seconds"] + took, exit=code, calls=state["calls"] + 1, done=code == 0 and not more)
        write()
    if not options.plan:
        print_table(result, options)


if __name__ == "__main__":
    main()
