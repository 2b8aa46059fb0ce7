#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The half-precision products compared with cuBLAS: bench/gpu/matmul_beside.py ASSAY OUT.json [--seconds N] [--also FILE]...

a  kernels/cuda/matmul_bf16.cu and matmul_fp16.cu, judged at the full sizes of their tasks (normal and positive numbers)
   and at 4096 cubed; torch.matmul before and after each, on numbers of the same distribution: TFLOP/s of both, their ratio
b  verdicts at ragged shapes that go through the copy engine (the tasks' own go to the plain kernel), and of the twins
c  forms of matmul_bf16.cu that its macros choose, at 8192 cubed; with --also other files too, such as one of its past

torch.matmul is timed as bench/gpu/eager.py does it: every sample flushes the L2 cache before it; the time between two
events, less that between two events with nothing between them. One process does so for all, and idles while the judge
works. What --seconds (28) leaves no time for is left out, and said. Without PyTorch there are no ratios.
"""
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import common

KERNELS = {"bf16": "kernels/cuda/matmul_bf16.cu", "fp16": "kernels/cuda/matmul_fp16.cu"}
CASES = [("bf16", "contracts/1/4", "normal", (8192, 8192, 8192)), ("fp16", "contracts/1/3", "normal", (8192, 8192, 8192)),
         ("bf16", "contracts/1/8", "uniform", (8192, 8192, 8192)), ("fp16", "contracts/1/7", "uniform", (8192, 8192, 8192)),
         ("bf16", "contracts/1/4", "normal", (4096, 4096, 4096)), ("fp16", "contracts/1/3", "normal", (4096, 4096, 4096))]
RAGGED = [(1, 8, 8), (130, 264, 72), (333, 648, 200), (2049, 520, 4104), (1000, 2568, 1000), (5000, 4104, 136)]
TWINS = ["FIRST_HALF", "NO_ROW_CHECK", "LAST_SLICE"]
# Macros, where a let of that name stands in small letters this too; `l2=` is what the maps of a and b say.
FORMS = ["", "STRAIGHT", "FORWARD", "STRAIGHT FORWARD", "DIRECT_STORE", "STAGES=3 SLOTS=4", "l2=128", "l2=none", "BAND=11",
         "BAND=4", "BLOCKS=1", "SLOTS=1"]


def torch_main():
    """Reads a case a line, and answers with a line."""
    import torch

    import eager

    flush = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    empty = statistics.median(eager.between_events(lambda: None) for _ in range(50))
    torch.manual_seed(1)
    made = {}

    def case(precision, numbers, m, n, k, seconds):
        dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
        key = (precision, numbers, m, n, k)
        if key not in made:
            draw = {"normal": torch.randn, "uniform": torch.rand}[numbers]
            made.clear()
            made[key] = [draw(rows, columns, device="cuda", dtype=torch.float32).to(dtype)
                         for rows, columns in ((m, k), (k, n))] + [torch.empty(m, n, device="cuda", dtype=dtype)]
        a, b, y = made[key]
        median, samples = eager.sampled(lambda: torch.matmul(a, b, out=y), flush, seconds)
        return {"ms": median - empty, "samples": samples}

    print(json.dumps({"torch": torch.__version__, "events_ms": empty}), flush=True)
    for line in sys.stdin:
        try:
            with torch.no_grad():
                found = case(**json.loads(line))
        except Exception as e:  # out of memory
            found = {"failed": f"{type(e).__name__}: {e}"[:300]}
        print(json.dumps(found), flush=True)


class Torch:
    def __init__(self):
        self.child = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--torch"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.facts = self.answer()

    def answer(self):
        line = self.child.stdout.readline()
        return json.loads(line) if line else {"failed": self.child.stderr.read().strip()[-300:]}

    def ms(self, precision, numbers, sizes):
        """None where there is no PyTorch."""
        if "failed" in self.facts or self.child.poll() is not None:
            return None
        m, n, k = sizes
        self.child.stdin.write(json.dumps({"precision": precision, "numbers": numbers, "m": m, "n": n, "k": k,
                                           "seconds": 0.15}) + "\n")
        self.child.stdin.flush()
        return self.answer().get("ms")

    def close(self):
        self.child.stdin.close()
        self.child.wait(timeout=20)


def judge(assay, task, path, sizes, *options):
    m, n, k = sizes
    return common.assay_json(assay, "judge", task, path, "--workload", f"M={m}, N={n}, K={k}", "--no-probes", "--no-store",
                             "--timeout", "4", *options, timeout=30)


def rate(sizes, ms):
    return 2e-9 * sizes[0] * sizes[1] * sizes[2] / ms if ms else None


def timed(assay, torch, precision, task, numbers, sizes, path, *options):
    """A row: the judge's time of a kernel between two of torch.matmul's."""
    before = torch.ms(precision, numbers, sizes)
    seconds, verdict = judge(assay, task, path, sizes, "--checks", "1", "--samples", "40", *options)
    after = torch.ms(precision, numbers, sizes)
    beside = [x for x in (before, after) if x]
    row = {"task": task, "precision": precision, "numbers": numbers, "sizes": sizes, "verdict": verdict["verdict"],
           "detail": verdict.get("detail", ""), "seed": verdict.get("seed"), "took_s": round(seconds, 2),
           "torch_ms": beside, "torch_tflops": rate(sizes, statistics.mean(beside)) if beside else None}
    t = verdict.get("timing") or {}
    if verdict["verdict"] == "pass" and t.get("median_ns"):
        ms = t["median_ns"] * 1e-6
        row.update(ms=ms, tflops=rate(sizes, ms), hot_ms=(t.get("hot_ns") or 0) * 1e-6,
                   samples=len(t.get("samples_ns") or []), **{x: t.get(x) for x in ("clock_mhz", "power_w", "throttle")})
        if beside:
            row["ratio"] = row["tflops"] / row["torch_tflops"]
    return row


def show(name, row):
    def text(x, form):
        return form % x if x else "-"

    print(f"{name:26} {'x'.join(map(str, row['sizes'])):15} {row['verdict']:12} {text(row.get('ms'), '%.4f'):>8} ms "
          f"{text(row.get('tflops'), '%.0f'):>5} TFLOP/s  torch {text(row.get('torch_tflops'), '%.0f'):>5}  ratio "
          f"{text(row.get('ratio'), '%.3f'):>6}  {text(row.get('clock_mhz'), '%s')} MHz  {row['detail'][:100]}", flush=True)


def each(items, end, name, function):
    """A row for each item while there is time."""
    rows = []
    for item in items:
        if time.monotonic() > end:
            rows.append({"name": name(item), "left_out": "no time left"})
            print(f"{name(item):26} left out: no time left", flush=True)
            continue
        try:
            rows.append({"name": name(item), **function(item)})
        except Exception as e:  # one that hangs or breaks must not cost the others
            rows.append({"name": name(item), "failed": str(e)[:400]})
            print(f"{name(item):26} FAILED {str(e)[:300]}", flush=True)
    return rows


def full_sizes(assay, torch, end):
    def one(case):
        precision, task, numbers, sizes = case
        row = timed(assay, torch, precision, task, numbers, sizes, KERNELS[precision])
        show(f"{precision} {numbers}", row)
        return row

    return each(CASES, end, lambda c: f"{c[0]} {c[2]} {c[3][0]}", one)


def shapes(assay, end):
    def one(item):
        precision, sizes, twin = item
        options = ["--define", twin] if twin else []
        _, verdict = judge(assay, {"bf16": "contracts/1/4", "fp16": "contracts/1/3"}[precision], KERNELS[precision], sizes,
                           "--checks", "2", "--no-timing", *options)
        row = {"sizes": sizes, "verdict": verdict["verdict"], "detail": verdict.get("detail", "")}
        if (row["verdict"] == "pass") == bool(twin):
            print(f"{precision} {twin or ''} {sizes}: {row['verdict']} {row['detail'][:200]}", flush=True)
        return row

    items = [(p, s, "") for p in KERNELS for s in RAGGED] + [(p, (96, 160, 128), t) for p in KERNELS for t in TWINS]
    rows = each(items, end, lambda i: f"{i[0]} {i[2] or 'x'.join(map(str, i[1]))}", one)
    print(f"ragged: {sum(r.get('verdict') == 'pass' for r in rows[:len(RAGGED) * 2])} of {len(RAGGED) * 2} pass, "
          f"{sum(r.get('verdict') not in (None, 'pass') for r in rows[len(RAGGED) * 2:])} of {len(TWINS) * 2} twins caught",
          flush=True)
    return rows


def formed(form, folder):
    """The file with the lets that a form asks for, and the macros as options."""
    with open(os.path.join(common.ROOT, KERNELS["bf16"])) as f:
        text = f.read()
    options = []
    for macro in form.split():
        name, _, value = macro.partition("=")
        if name == "l2":
            text = text.replace("l2=256", macro)
            continue
        text = re.sub(rf"^// assay: let {name.lower()} = .*$", f"// assay: let {name.lower()} = {value}", text, flags=re.M)
        options += ["--define", macro]
    path = os.path.join(folder, re.sub(r"\W", "_", form or "default") + ".cu")
    with open(path, "w") as f:
        f.write(text)
    return path, options


def forms(assay, torch, end, also):
    task, sizes = "contracts/1/4", (8192, 8192, 8192)
    with tempfile.TemporaryDirectory() as folder:
        def one(item):
            form, path = item
            path, options = (path, []) if path else formed(form, folder)
            row = timed(assay, torch, "bf16", task, "normal", sizes, path, *options)
            show(form or "as it is", row)
            return row

        return each([(os.path.basename(p), os.path.abspath(p)) for p in also] + [(form, None) for form in FORMS], end,
                    lambda i: i[0] or "as it is", one)


def main():
    arguments, also, seconds = sys.argv[1:], [], 28.0
    if arguments == ["--torch"]:
        return torch_main()
    while "--also" in arguments:
        also.append(arguments.pop(arguments.index("--also") + 1))
        arguments.remove("--also")
    if "--seconds" in arguments:
        seconds = float(arguments.pop(arguments.index("--seconds") + 1))
        arguments.remove("--seconds")
    if len(arguments) != 2:
        sys.exit(__doc__)
    assay, out = os.path.abspath(arguments[0]), arguments[1]
    end = time.monotonic() + seconds
    torch = Torch()
    if "failed" in torch.facts:
        print(f"no ratios: {torch.facts['failed']}", flush=True)
    common.report("bench/gpu/matmul_beside.py ASSAY OUT.json", out,
                  [("torch", lambda: torch.facts), ("full", lambda: full_sizes(assay, torch, end)),
                   ("shapes", lambda: shapes(assay, end)), ("forms", lambda: forms(assay, torch, end - 2, also))])
    torch.close()


if __name__ == "__main__":
    main()
