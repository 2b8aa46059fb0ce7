#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of docs/evidence/numerics.md from the measurements: bench/gpu/numerics_page.py [--check]

The measurements are bench/results/*/numerics.json and tensor_core_bits.json (bench/gpu/numerics.py and
tensor_core_bits.py make them), and numerics_without_cut.json, made before contracts had the term c. The page's text stays as it is; what stands between `<!-- table NAME -->` and
`<!-- end -->` is replaced. --check changes nothing and says whether the page is current.
"""
import glob
import json
import math
import os
import sys

import common

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "evidence", "numerics.md")
CONTRACTS = {"fp32": (1, 5), "tf32": (2, 6), "fp16": (3, 7), "bf16": (4, 8)}


def measurements(name):
    """{device folder: JSON}, in the order of the folders' names."""
    found = {}
    for path in sorted(glob.glob(os.path.join(ROOT, "bench", "results", "*", name))):
        with open(path) as f:
            found[os.path.basename(os.path.dirname(path))] = json.load(f)
    return found


def rows_of(part):
    return part if isinstance(part, list) else []


def digits(x):
    """Two significant digits, plainly."""
    x = float(x)
    if not math.isfinite(x):
        return "inf"
    if x == 0:
        return "0"
    if x >= 9.95:
        places = max(0, int(math.floor(math.log10(x))) - 1)
        return f"{round(x, -places):.0f}" if x < 1e6 else f"{x:.0e}".replace("e+0", "e")
    return f"{x:.2g}" if x >= 0.01 else f"{x:.0e}".replace("e-0", "e-")


def table(heads, rows):
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def cell(row):
    """Largest error / root mean square, in units of the scale; bold where a gate fails."""
    if row is None or "z_max" not in row:
        return "-"
    text = f"{digits(row['z_max'])} / {digits(row['z_rms'])}"
    return text if row["verdict"] == "pass" else f"**{text}**"


def verdict(row):
    if row is None or "verdict" not in row:
        return "-"
    probe = (row.get("worst") or {}).get("probe", "")
    return "pass" if row["verdict"] == "pass" else f"{row['verdict']}" + (f" ({probe})" if probe != "declared" else "")


def tolerance(rungs, key):
    """How many of the ladder's rungs a fixed tolerance would have let pass."""
    known = [r for r in rungs if r is not None and key in r]
    return f"{sum(r[key] for r in known)} of {len(known)}" if known else "-"


def error_table(part, tasks):
    """A row for each arithmetic; a column for each rung of each task, then what all questions together said."""
    rows = [r for r in rows_of(part) if r["task"] in tasks]
    rows = [r for r in rows if "z_worst" not in r]
    names = list(dict.fromkeys(r["name"] for r in rows))
    if not names:
        return None
    rungs = list(dict.fromkeys((r["task"], r["workload"]) for r in rows if r["workload"] != "small"))
    rungs.sort(key=lambda rung: tasks.index(rung[0]))
    at = {(r["name"], r["task"], r["workload"]): r for r in rows}
    several = len(tasks) > 1
    heads = ["arithmetic"] + [("positive, " if several and task == tasks[1] else "") + workload.split(", ")[-1].replace("=", " ")
                              if several else workload.replace("=", " ") for task, workload in rungs]
    heads += ["all questions" if not several or task == tasks[0] else "all questions, positive" for task in tasks]
    heads += ["allclose 1e-4", "1e-2"]
    body = []
    for name in names:
        found = [at.get((name, *rung)) for rung in rungs]
        body.append([name] + [cell(r) for r in found] + [verdict(at.get((name, task, "small"))) for task in tasks] +
                    [tolerance(found, "allclose_1e4"), tolerance(found, "allclose_1e2")])
    return table(heads, body)


def tensor_core_table(found):
    body = []
    for kind, f in found.items():
        if not isinstance(f, dict) or "bits" not in f:
            continue
        bias = {(b["inputs"], b["K"]): b for b in f["bias"]}
        longest = max(k for _, k in bias)
        groups = f["fused"]["groups"]
        body.append([kind, str(f["bits"]["products"]), str(f["bits"]["product_beside_accumulator"]), f["cut"]["as"],
                     f["rounding"]["as"], " + ".join(str(len(g)) for g in groups)] +
                    [f"{bias[(inputs, k)]['rms_per_term']:.3f}" for inputs in ("uniform(0,1)", "normal(0,1)")
                     for k in (1024, longest)])
    return table(["instruction", "bits kept", "next to the accumulator", "bits below them", "the sum", "terms added at once",
                  "error, positive, K 1024", "K 8192", "normal, K 1024", "K 8192"], body)


def verdict_table(part):
    """Kernels that were judged with all questions only: the largest error of the worst question."""
    body = [[r["name"], digits(r["z_worst"]), digits(r["z_limit"]), verdict(r), "pass" if r["allclose_1e4"] else "wrong",
             "pass" if r["allclose_1e2"] else "wrong"] for r in rows_of(part) if "z_worst" in r]
    return table(["arithmetic", "largest z", "allowed", "all questions", "allclose 1e-4", "1e-2"], body) if body else None


def contract_tables(device, found, suffix=""):
    """What there is of the tables of one file; the page says which it wants."""
    tables = {f"{device} {name}{suffix}": error_table(found["products"], [f"contracts/1/{n}" for n in numbers])
              for name, numbers in CONTRACTS.items()}
    tables[f"{device} softmax{suffix}"] = error_table(found.get("softmax"), ["kernelbench/1/23"])
    tables[f"{device} sums{suffix}"] = error_table(found.get("sums"), ["kernelbench/1/47"])
    tables[f"{device} verdicts{suffix}"] = verdict_table(found["products"])
    tables[f"{device} numerics{suffix} made"] = made(found)
    return {name: text for name, text in tables.items() if text}


def build():
    tables = {}
    for device, found in measurements("numerics.json").items():
        tables.update(contract_tables(device, found))
    for device, found in measurements("numerics_without_cut.json").items():
        tables.update(contract_tables(device, found, " without c"))
    for device, found in measurements("tensor_core_bits.json").items():
        tables[f"{device} tensor cores"] = tensor_core_table(found)
        tables[f"{device} tensor cores made"] = made(found)
    return tables


def made(found):
    m = found["machine"]
    return (f"`{found['command']}`: {m.get('device', 'a GPU')}, driver {m.get('driver', '?')}, CUDA {m.get('nvcc', '?')}, "
            f"{found['date']}, commit {found['commit']}{'; ' + found['note'] if found.get('note') else ''}.")


def main():
    common.write_tables(PAGE, build(), "--check" in sys.argv, "bench/gpu/numerics_page.py")


if __name__ == "__main__":
    main()
