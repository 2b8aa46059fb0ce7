#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures in what units of the error scale honest forms of a computation err, on the processor.

    bench/orders.py ASSAY OUT.json       judges tests/cases/orders_*.c with all their twins, three seeds each
    bench/orders.py --page OUT.json      writes the table into docs/evidence/numerics.md, between its marks

Kernels are C in single precision, without -ffast-math; every question of an exam is asked at `small`.
"""
import json
import pathlib
import re
import subprocess
import sys

HOUSE = pathlib.Path(__file__).resolve().parent.parent
SEEDS = (1, 2, 3)
LINE = re.compile(r"// assay: (?:(expect) (\S+)|twin (\w+) expect (\S+))(?: -- (.*))?$")
BEGIN, END = "<!-- orders -->\n", "<!-- end of orders -->\n"


def forms(path):
    """(form or None, what it is) of a file, as its directives say; a comment may go on in the next line."""
    text = path.read_text()
    task = re.search(r"// assay: task (\S+)", text).group(1)
    lines = []
    for line in text.splitlines():
        if line.startswith("// assay:"):
            lines.append(line)
        elif line.startswith("//") and lines:
            lines[-1] += " " + line[2:].strip()
        elif lines:
            break
    found = [LINE.match(l) for l in lines]
    return task, [(m.group(3), m.group(5)) for m in found if m]


def judge(assay, task, path, form, seed):
    command = [assay, "judge", task, str(path), "--no-timing", "--no-store", "--json", f"--seed={seed}"]
    out = subprocess.run(command + ([f"--define={form}"] if form else []), capture_output=True, text=True)
    if not out.stdout:
        sys.exit(f"{' '.join(command)}: {out.stderr}")
    return json.loads(out.stdout)[0]


def measure(assay, path):
    task, found = forms(path)
    rows = []
    for form, what in found:
        verdicts = [judge(assay, task, path, form, s) for s in SEEDS]
        checks = [c for v in verdicts for c in v["checks"]]
        worst = max(checks, key=lambda c: (c["z_max"] or 0) / c["z_limit"])
        rows.append({"task": task, "kernel": path.stem, "form": form or "", "what": what,
                     "verdicts": sorted({v["verdict"] for v in verdicts}), "z": worst["z_max"],
                     "limit": worst["z_limit"], "rms": max(c["z_rms"] or 0 for c in checks), "probe": worst["probe"],
                     "fails": sorted({c["probe"] for c in checks if c["reason"] != "pass"})})
        print(f"{path.stem} {form or '-'}: {', '.join(rows[-1]['verdicts'])}, {worst['z_max']:.3g} of "
              f"{worst['z_limit']:.3g}", flush=True)
    return rows


def number(x):
    return f"{x:.2g}" if x < 100 else f"{x:.0f}" if x < 1e4 else f"{x:.0e}".replace("e+0", "e")


def table(rows):
    lines = ["| task | form | largest z of allowed | at | rms | fails at |", "|---|---|---|---|---|---|"]
    for r in rows:
        cell, fails = f"{number(r['z'])} of {r['limit']:.3g}", ", ".join(r["fails"])
        cells = (r["task"].removeprefix("kernelbench/"), r["what"], f"**{cell}**" if fails else cell, r["probe"],
                 number(r["rms"]), fails)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    if sys.argv[1] == "--page":
        rows = json.loads(pathlib.Path(sys.argv[2]).read_text())
        page = HOUSE / "docs" / "evidence" / "numerics.md"
        text = page.read_text()
        begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
        page.write_text(text[:begin] + table(rows) + text[end:])
        return
    rows = []
    for path in sorted((HOUSE / "tests" / "cases").glob("orders_*.c")):
        rows += measure(sys.argv[1], path)
    pathlib.Path(sys.argv[2]).write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
