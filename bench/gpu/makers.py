#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What one run of bench/gpu/fusedops.sh came to, in one file.

usage: makers.py ASSAY RESULTS LOG OUT.json --commit C --date D --driver V --command TEXT --remark TEXT [--no-floor TASK,...]

RESULTS is what results.tar holds (the store, part_*.txt, versions.txt), LOG its log.txt. Of every verdict a row:
times in microseconds with the interval of the median, the seconds of making, what the tuner chose; of every tuner and shape
the seconds until 10, 5 and 2 % from the best that anybody found of the shape (`assay trials --json`); of every part how long
it took, or that there was no time left. --no-floor: tasks whose floors are not kept.
"""
import argparse
import glob
import json
import os
import re
import sqlite3
import subprocess

COLUMNS = ["task", "workload", "maker", "configuration", "gpu", "verdict", "us", "low_us", "high_us", "hot_us", "called_us",
           "floor_us", "making_s", "mark", "detail"]
RUN = "fusedops, "


def micro(ns):
    return None if ns is None else float(f"{ns / 1e3:.5g}")


def gpu_of(device):
    """H200 of "NVIDIA H200, driver 580.159.04"; another device whole."""
    found = re.match(r"NVIDIA ([A-Z]+\d+)", device)
    return found[1] if found else device


def making_seconds(folder):
    """(task, workload, maker): seconds, of the texts of the parts."""
    found = {}
    for path in glob.glob(os.path.join(folder, "part_*.txt")):
        with open(path, encoding="utf-8") as file:
            lines = file.read().split("\n")
        if len(lines) < 3:
            continue  # a part that was cut off
        task, workload = lines[0].strip(), lines[2].split()[0]
        for text in lines[4:]:
            row = re.match(r"(\S+) +\d+ of \d+ .* (\d[\d.e+]*|-)$", text)
            if row and row[2] != "-":
                found[task, workload, row[1]] = float(row[2])
    return found


def verdicts(db, making, without_floor):
    rows = []
    for row in db.execute("SELECT * FROM verdict WHERE run LIKE 'fusedops, %' AND run NOT LIKE '%, tuning' ORDER BY task, workload, run"):
        evidence = json.loads(row["evidence"])
        maker, timing = row["run"].removeprefix(RUN), evidence["timing"]
        chosen = re.search(r"\((.*)\)$", row["candidate"])
        called = timing.get("called_ns")
        rows.append(dict(
            task=row["task"].removeprefix("fusedops/"), workload=row["workload"], maker=maker,
            configuration=chosen[1] if chosen else "", gpu=gpu_of(evidence["device"]), verdict=row["reason"],
            us=micro(row["time_ns"]), low_us=micro(row["time_low_ns"]), high_us=micro(row["time_high_ns"]),
            hot_us=micro(row["hot_ns"]), called_us=micro(called), floor_us=None if row["task"] in without_floor else micro(row["floor_ns"]),
            making_s=making.get((row["task"], row["workload"], maker)), mark="unstable" if row["unstable"] else "suspicious" if row["suspicious"] else "",
            detail=row["detail"]))
    return rows


def versions(folder):
    """{package: version} of the Python that the makers ran in."""
    path = os.path.join(folder, "versions.txt")
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return dict(line.split() for line in file)


def tuners(assay, store):
    text = subprocess.run([assay, "trials", "--json", "--store", store], check=True, capture_output=True, text=True).stdout
    rows = []
    for curve in json.loads(text)["curves"]:
        within = {f"t{round(100 * w['part'])}_s": w["seconds"] and round(w["seconds"], 2) for w in curve["within"]}
        rows.append(dict(task=curve["task"].removeprefix("fusedops/"), workload=curve["workload"], maker=curve["maker"],
                         tried=curve["tried"], seconds=round(curve["seconds"], 2), best_us=micro(curve["best_ns"]),
                         known_us=micro(curve["known_ns"]), **within))
    return sorted(rows, key=lambda r: (r["maker"], r["task"], r["workload"]))


def parts(log):
    """[task, workload, GPU, seconds, seconds after the beginning]; GPU and seconds are null where there was no time left. A log of
    several calls has a part once, as its last call left it, and its seconds go on from call to call."""
    rows, left, before, latest = {}, set(), 0, 0
    with open(log, encoding="utf-8") as file:
        for text in file:
            if text.startswith("makers: "):
                before, left = latest, set()
            if text.startswith("no time left for part_"):
                left.add(text.split()[-1])
            row = re.match(r"(\S+) (\S+) *(\S*): (\d+) s on GPU (\d+), (\d+) s after", text)
            if row:
                name = re.sub(r"[^a-zA-Z0-9]", "_", f"part_{row[1]} {row[2]} {row[3]}")
                done, latest = name not in left, max(latest, before + int(row[6]))
                key = row[1].removeprefix("fusedops/"), row[2], row[3]
                if done or key not in rows:
                    rows[key] = [*key[:2], int(row[5]) if done else None, int(row[4]) if done else None, before + int(row[6])]
    return list(rows.values())


def write_rows(rows):
    return "[\n" + ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + "\n]"


def main():
    p = argparse.ArgumentParser(usage=__doc__)
    for name in "assay", "results", "log", "out":
        p.add_argument(name)
    for name in "commit", "date", "driver", "command", "remark":
        p.add_argument("--" + name, required=True)
    p.add_argument("--no-floor", default="")
    a = p.parse_args()
    store = os.path.join(a.results, "store.sqlite")
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    db.row_factory = sqlite3.Row
    rows = verdicts(db, making_seconds(a.results), a.no_floor.split(","))
    curves, done = tuners(a.assay, store), parts(a.log)
    if not done:
        raise SystemExit(f"makers.py: {a.log} tells of no part")
    head = {"what": "The suite fusedops, makers side by side in one run: bench/gpu/fusedops.sh, written by bench/gpu/makers.py",
            "command": a.command, "date": a.date, "commit": a.commit, "driver": a.driver, **versions(a.results),
            "seconds": max(row[4] for row in done), "remark": a.remark}
    columns = list(curves[0]) if curves else []
    text = json.dumps(head, indent=1)[:-2] + f',\n "columns": {json.dumps(COLUMNS)},\n "rows": '
    text += write_rows([[row[name] for name in COLUMNS] for row in rows])
    text += f',\n "tuner_columns": {json.dumps(columns)},\n "tuners": ' + write_rows([[row[c] for c in columns] for row in curves])
    text += ',\n "part_columns": ["task", "workload", "gpu", "seconds", "ended_s"],\n "parts": ' + write_rows(done) + "}\n"
    json.loads(text)
    with open(a.out, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{a.out}: {len(rows)} verdicts, {len(curves)} searches, {sum(row[2] is not None for row in done)} of {len(done)} parts")


if __name__ == "__main__":
    main()
