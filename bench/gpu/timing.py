#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Assay's device times compared with a profiler's: bench/gpu/timing.py ASSAY OUT.json [--seconds N]

A ladder of kernels, some that wait for a given time and some that move a given amount of memory, each judged by Assay and
profiled from its exported plan: by ncu (cold caches, clocks as they are) and by CUPTI's activity records (warm caches,
as PyTorch's profiler and nsys take them). For every rung: the raw time between the events, the cost of the protocol that Assay takes off, what it reports,
the profiler's time, and how far apart they are; then how far apart they would be with other corrections. Ten judgements
of some rungs say how far medians spread.
"""
import concurrent.futures
import csv
import glob
import io
import math
import os
import shutil
import statistics
import sys
import tempfile
import time

import common

KERNEL = os.path.join(common.HERE, "ladder.cu")
CUPTI = os.path.join(common.HERE, "cupti_times.c")
TASK = "kernelbench/1/19"
# name, ns to wait, workload, judgements
# The first ones are the most telling: when time runs out (--seconds, 55), the rest is left out and said to be.
RUNGS = [
    ("smallest", 0, "M=1, N=128", 3),
    ("wait 50 us", 50000, "M=1, N=128", 10),
    ("wait 5 us", 5000, "M=1, N=128", 2),
    ("wait 20 us", 20000, "M=1, N=128", 2),
    ("move 67 MB", 0, "M=8192, N=1024", 10),
    ("wait 500 us", 500000, "M=1, N=128", 2),
    ("wait 2 us", 2000, "M=1, N=128", 2),
    ("wait 10 us", 10000, "M=1, N=128", 2),
    ("move 1 GB", 0, "M=131072, N=1024", 2),
    ("move 4 MB", 0, "M=512, N=1024", 2),
    ("wait 100 us", 100000, "M=1, N=128", 2),
    ("wait 2 ms", 2000000, "M=1, N=128", 2),
    ("move 0.5 MB", 0, "M=64, N=1024", 2),
    ("move 17 MB", 0, "M=2048, N=1024", 2),
    ("move 268 MB", 0, "M=32768, N=1024", 2),
    ("move 4 GB", 0, "M=524288, N=1024", 2),
]


def tool(name):
    places = [shutil.which(name)] + [os.path.join(folder, name) for folder in
                                     ("/usr/local/cuda/bin", "/usr/local/cuda/nsight-compute",
                                      "/opt/nvidia/nsight-compute")]
    return next((p for p in places if p and os.path.exists(p)), None)


def judged(assay, wait, workload, times):
    rows = []
    for _ in range(times):
        _, verdict = common.assay_json(assay, "judge", TASK, KERNEL, "--define", f"NANOSECONDS={wait}", "--workload",
                                       workload, "--no-probes", "--checks", "1", "--no-store")
        if verdict["verdict"] != "pass":
            raise RuntimeError(f"{verdict['verdict']}: {verdict['detail']}")
        t = verdict["timing"]
        rows.append({"reported_ns": t["median_ns"], "taken_off_ns": t["overhead_ns"], "hot_ns": t["hot_ns"],
                     "raw_ns": statistics.median(t["samples_ns"]), "samples": len(t["samples_ns"]),
                     "stopped": t["stopped"], "clock_mhz": t["clock_mhz"]})
    return rows


def exported(assay, wait, workload, folder):
    """A program that runs the plan; needs libcuda and the C compiler only."""
    plan = os.path.join(folder, "plan.json")
    for command in ([assay, "plan", "save", TASK, KERNEL, "--define", f"NANOSECONDS={wait}", "--workload", workload,
                     "--out", plan],
                    [assay, "plan", "export", plan, "--to", folder, "--name", "rung"],
                    ["gcc", "-std=gnu17", "-O2", os.path.join(folder, "rung.c"), "-o", os.path.join(folder, "rung"),
                     "-L/usr/local/cuda/lib64/stubs", "-lcuda"]):
        _, code, _, errors = common.run(command)
        if code != 0:
            raise RuntimeError(f"{' '.join(command[:3])}: {errors[-400:]}")
    return os.path.join(folder, "rung")


def column(text, wanted):
    """The column `wanted` (a test on the header) of the CSV that begins somewhere in a tool's output."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if any(wanted(h) for h in next(csv.reader([line]), []))), None)
    if first is None:
        raise RuntimeError(f"no table in: {text[-300:]}")
    return list(csv.DictReader(io.StringIO("\n".join(lines[first:]))))


def by_ncu(program, runs):
    ncu = tool("ncu")
    if not ncu:
        return None
    _, code, out, errors = common.run([ncu, "--clock-control", "none", "--cache-control", "all", "--metrics",
                                       "gpu__time_duration.sum", "--csv", "--print-units", "base", program, "-n",
                                       str(runs)], 90, cwd=os.path.dirname(program))
    text = out.decode(errors="replace")
    if code != 0:
        raise RuntimeError(f"ncu: exit {code}: {(text + errors)[-400:]}")
    values = [float(row["Metric Value"].replace(",", "")) for row in column(text, lambda h: h == "Metric Value")
              if (row.get("Metric Name") or "").startswith("gpu__time_duration")]
    return common.spread(values)


def cupti_library(folder):
    """The library that reports a program's times by CUPTI; built where CUDA's headers are, else a reason."""
    library = os.path.join(folder, "cupti_times.so")
    roots = sorted(glob.glob("/usr/local/cuda*/targets/*-linux")) + sorted(glob.glob("/usr/local/cuda*/extras/CUPTI"))
    errors = "no cupti.h below /usr/local/cuda"
    for root in roots:
        for record in ("CUpti_ActivityKernel10", "CUpti_ActivityKernel9"):
            libraries = next((os.path.join(root, l) for l in ("lib", "lib64") if glob.glob(f"{root}/{l}/libcupti.so*")), root)
            _, code, _, errors = common.run(["gcc", "-shared", "-fPIC", "-O1", f"-DRECORD={record}", f"-I{root}/include",
                                             "-I/usr/local/cuda/include", CUPTI, "-o", library, f"-L{libraries}", "-lcupti",
                                             f"-Wl,-rpath,{libraries}"])
            if code == 0:
                return library
    return {"failed": f"cupti_times.c: {errors[-300:]}"}


def by_cupti(program, runs, library):
    """Caches are warm in these runs."""
    if isinstance(library, dict):
        return library
    _, code, out, errors = common.run([program, "-n", str(runs)], 60, cwd=os.path.dirname(program),
                                      env=dict(os.environ, CUDA_INJECTION64_PATH=library))
    values = [float(line.split()[1]) for line in errors.splitlines() if line.startswith("CUPTI ") and "relu" in line]
    if code != 0 or not values:
        raise RuntimeError(f"CUPTI: exit {code}: {errors[-400:]}")
    return common.spread(values)


def attempt(function, *arguments):
    try:
        return function(*arguments)
    except Exception as e:
        return {"failed": str(e)}


def rung(assay, name, wait, workload, times, program, library):
    row = {"name": name, "wait_ns": wait, "workload": workload, "judged": judged(assay, wait, workload, times)}
    if isinstance(program, dict):
        row["profilers"] = program
    else:
        row["ncu"] = attempt(by_ncu, program, 10)
        row["cupti"] = attempt(by_cupti, program, 50, library)
    row["reported_ns"] = statistics.median(j["reported_ns"] for j in row["judged"])
    row["raw_ns"] = statistics.median(j["raw_ns"] for j in row["judged"])
    row["hot_ns"] = statistics.median(j["hot_ns"] for j in row["judged"])
    row["reported"] = common.spread([j["reported_ns"] for j in row["judged"]])
    return row


def profiler_ns(row, which):
    return (row.get(which) or {}).get("median")


def show(row):
    def text(x, scale=1e-3):
        return f"{x * scale:9.2f}" if isinstance(x, (int, float)) else "        -"

    ncu, failed = profiler_ns(row, "ncu"), (row.get("ncu") or row.get("profilers") or {}).get("failed", "")
    apart = f"{(row['reported_ns'] - ncu) / 1e3:+8.2f} us {(row['reported_ns'] / ncu - 1) * 100:+6.2f} %" if ncu else ""
    print(f"{row['name']:12} raw {text(row['raw_ns'])}  cold {text(row['reported_ns'])}  hot {text(row['hot_ns'])}  ncu "
          f"{text(ncu)}  cupti {text(profiler_ns(row, 'cupti'))} us  {apart}  spread "
          f"{(row['reported']['range_over_median'] or 0) * 100:.2f} % of {len(row['judged'])}  {failed}", flush=True)


def ladder(assay, seconds):
    start, rows = time.monotonic(), []
    with tempfile.TemporaryDirectory() as folder:
        folders = [os.path.join(folder, str(i)) for i in range(len(RUNGS))]
        for f in folders:
            os.mkdir(f)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            programs = list(pool.map(lambda r, f: attempt(exported, assay, r[1], r[2], f), RUNGS, folders))
        print(f"exported after {time.monotonic() - start:.1f} s", flush=True)
        library = attempt(cupti_library, folder)
        for i, r in enumerate(RUNGS):
            if time.monotonic() - start > seconds:
                rows.append({"name": r[0], "failed": f"left out after {seconds} s"})
                continue
            try:
                rows.append(rung(assay, *r, programs[i], library))
                show(rows[-1])
            except Exception as e:
                rows.append({"name": r[0], "failed": str(e)})
                print(f"{r[0]:12} FAILED {e}", flush=True)
    order = sorted(rows, key=lambda r: (not r["name"].startswith(("smallest", "wait")), r.get("raw_ns", math.inf)))
    return order


def corrections(rows):
    """How far the raw times are from ncu's when a constant is taken off: which constant each rung asks for."""
    good = [r for r in rows if profiler_ns(r, "ncu") and "raw_ns" in r]
    asked = [{"name": r["name"], "asks_ns": r["raw_ns"] - profiler_ns(r, "ncu")} for r in good]
    if not asked:
        return {"failed": "no rung has a profiler's time"}
    best = statistics.median(a["asks_ns"] for a in asked)
    off = [{"name": r["name"], "apart_ns": r["raw_ns"] - best - profiler_ns(r, "ncu"),
            "apart_percent": 100 * ((r["raw_ns"] - best) / profiler_ns(r, "ncu") - 1)} for r in good]
    print(f"constants that rungs ask for: {[round(a['asks_ns']) for a in asked]}; with their median {best:.0f} ns: "
          f"{[(o['name'], round(o['apart_ns']), round(o['apart_percent'], 2)) for o in off]}", flush=True)
    return {"asked": asked, "median_ns": best, "with_it": off}


def main():
    arguments = sys.argv[1:]
    seconds = float(arguments.pop(arguments.index("--seconds") + 1)) if "--seconds" in arguments else 55
    arguments = [a for a in arguments if a != "--seconds"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    rows = []
    common.report("bench/gpu/timing.py ASSAY OUT.json", arguments[1],
                  [("ladder", lambda: rows.extend(ladder(os.path.abspath(arguments[0]), seconds)) or rows),
                   ("corrections", lambda: corrections(rows))])


if __name__ == "__main__":
    main()
