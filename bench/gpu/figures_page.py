#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/evidence/figures.md from the measurements: bench/gpu/figures_page.py [--check]

The measurements are bench/results/*/figures.json and figures_full.json, kernelbench_beside.json, oracle_device.json and
timing.json (made by bench/gpu/figures.py, kernelbench_beside.py, oracle.py and timing.py; measure.sh runs them all). --check changes nothing and says whether
the page is current.
"""
import glob
import json
import os
import sys

import common

PAGE = os.path.join(common.ROOT, "docs", "evidence", "figures.md")


def made(found):
    m = found["machine"]
    return f"{m['device']}, driver {m['driver']}, CUDA {m['nvcc']}, {found['date']}, commit {found.get('commit', '?')}"


def number(task):
    return int(task.rsplit("/", 1)[1])


def place(task):
    """Suite, level and number, to sort by."""
    suite, level, n = task.split("/")
    return suite != "kernelbench", suite, int(level), int(n)


def ratio(x):
    return "-" if x is None else f"{x:.2f}"


def kernels(found):
    lines = ["| task | kernel | verdict | ms | floor / time | eager, strict fp32 | eager, torch's defaults | torch.compile |",
             "|---|---|---|---|---|---|---|---|"]
    for row in sorted(found["c"]["rows"], key=lambda r: (place(r["task"]), r["candidate"])):
        e, here = row.get("elsewhere", {}), row.get("eager", {})
        strict = here.get("strict_over_ours", e.get("eager_fp32_over_ours"))
        default = here.get("default_over_ours", e.get("eager_over_ours"))
        ms = f"{row['ms']:.3f}" if "ms" in row else "-"
        lines.append(f"| {row['task'].removeprefix('kernelbench/')} | {row['candidate']} | {row['verdict']} | {ms} | "
                     f"{ratio(row.get('floor_over_time'))} | {ratio(strict)} | {ratio(default)} | "
                     f"{ratio(e.get('compile_over_ours'))} |")
    return "\n".join(lines) + f"\n\n`{found['c']['command']}`: {made(found)}."


def parts(found):
    names = ["open", "build", "oracle", "load", "bind", "checks", "timing", "verify", "close", "total"]
    kernels_ = list(found["d"])
    lines = ["| ms | " + " | ".join(kernels_) + " |", "|---|" + "---|" * len(kernels_)]
    for name in names:
        lines.append(f"| {name} | " + " | ".join(f"{found['d'][k]['median_ms'][name]:.1f}" for k in kernels_) + " |")
    lines.append("| the command, from the shell | " + " | ".join(f"{found['d'][k]['wall_s']['median'] * 1e3:.0f}" for k in kernels_)
                 + " |")
    return "\n".join(lines) + f"\n\nMedians of ten; {made(found)}."


def beside(found):
    a = found["assay_s"]
    return "\n".join([
        "| | seconds | |", "|---|---|---|",
        f"| `assay judge`, cold | {a['median']:.2f} | median of {a['n']}: {a['min']:.2f} to {a['max']:.2f} |",
        f"| KernelBench's harness, cold | {found['kernelbench_cold_s']:.1f} | {found['ratio_cold']:.0f} times as long |",
        f"| KernelBench's harness, its build cached | {found['kernelbench_cached_s']:.1f} | {found['ratio_cached']:.1f} times as long |",
        "", f"`{found['command']}`: {made(found)}."])


def bench(found):
    b = found["b"]
    return (f"{b['judged']} different kernels in {b['wall_s']:.1f} s: **{b['verdicts_per_s']:.1f} verdicts a second**, "
            f"{b['passed']} passed; {b['compiling_s']:.1f} s of compiling in all, at the same time. {made(found)}.")


def oracle(found):
    held = [r for r in found["rows"] if "worst_over_scale" in r]
    lines = ["| task | inputs, GB | outputs, GB | most memory, GB | inputs drawn, ms | answered, ms |", "|---|---|---|---|---|---|"]
    rows = sorted(found["rows"], key=lambda r: number(r["task"]))
    for r in rows:
        lines.append(f"| {number(r['task'])} | {r['input_bytes'] / 1e9:.2f} | {r['output_bytes'] / 1e9:.2f} | "
                     f"{r['peak_bytes'] / 1e9:.1f} | {r['draw_s'] * 1e3:.1f} | {r['again_s'] * 1e3:.0f} |")
    total, worst = sum(r["again_s"] for r in rows), max(rows, key=lambda r: r["again_s"])
    most = max(rows, key=lambda r: r["peak_bytes"] + r["output_bytes"])
    lines += ["", f"Together {total:.1f} s for {len(rows)} tasks; the longest is task {number(worst['task'])} with {worst['again_s']:.2f} s. "
              f"With the candidate's outputs too, at most {(most['peak_bytes'] + most['output_bytes']) / 1e9:.1f} GB are in use "
              f"(task {number(most['task'])}). "
              + (f"{len(held)} tasks were compared with the CPU's oracle, {sum(r['compared'] for r in held):.3g} elements: the truths "
                 f"are at most {max(r['worst_over_scale'] for r in held):.1g} of the error scale apart. " if held else "")
              + f"`{found['command']}`: {made(found)}"
              + (f"; {found['note']}" if found.get("note") else "") + "."]
    return "\n".join(lines)


def clock(found):
    lines = ["| kernel | Assay, us | ncu, us | apart | spread of medians |", "|---|---|---|---|---|"]
    for r in found["ladder"]:
        ncu = (r.get("ncu") or {}).get("median")
        if "reported_ns" not in r or not ncu:
            continue
        spread = (r["reported"]["range_over_median"] or 0) * 100
        lines.append(f"| {r['name']} | {r['reported_ns'] / 1e3:.2f} | {ncu / 1e3:.2f} | {(r['reported_ns'] - ncu) / 1e3:+.2f} us, "
                     f"{(r['reported_ns'] / ncu - 1) * 100:+.2f} % | {spread:.2f} % of {len(r['judged'])} |")
    return "\n".join(lines) + f"\n\n`{found['command']}`: {made(found)}."


WRITERS = {"figures.json": [("parts", parts), ("bench", bench)], "figures_full.json": [("kernels", kernels)],
           "kernelbench_beside.json": [("beside", beside)], "oracle_device.json": [("oracle", oracle)],
           "timing.json": [("clock", clock)]}


def main():
    tables = {}
    for name, writers in WRITERS.items():
        for path in sorted(glob.glob(os.path.join(common.ROOT, "bench", "results", "*", name))):
            with open(path) as f:
                found = json.load(f)
            for what, write in writers:
                tables[f"{os.path.basename(os.path.dirname(path))} {what}"] = write(found)
    common.write_tables(PAGE, tables, "--check" in sys.argv, "bench/gpu/figures_page.py")


if __name__ == "__main__":
    main()
