#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site_store.py ASSAY FOLDER COUNT: a store of COUNT verdicts to build a site of, in FOLDER/store.sqlite.

One kernel is judged in earnest; its verdict, with all evidence, is the pattern of the others: tasks of KernelBench's
levels 1 to 3, 20 runs, times that scatter over three decades, one in four failed, one in a hundred caught cheating.
Every verdict has a source of its own in FOLDER/sources. The same arguments make the same store but for the pattern's
times. Measured with it: the size of a site and how long it takes (docs/reports.md).
"""
import hashlib
import json
import math
import os
import random
import sqlite3
import struct
import subprocess
import sys

KERNEL = "tests/cases/relu.c"
FAILED = ["wrong_value", "wrong_value", "build_failed", "crashed", "timeout", "wrong_class", "low_precision"]


def judge(assay, root, store):
    """The verdict that is the pattern, as a row of the store."""
    subprocess.run([assay, "judge", "kernelbench/1/19", os.path.join(root, KERNEL), "--store", store],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with sqlite3.connect(store) as db:
        db.row_factory = sqlite3.Row
        return dict(db.execute("SELECT * FROM verdict ORDER BY id LIMIT 1").fetchone())


def task_name(number):
    return f"kernelbench/{1 + number // 100}/{1 + number % 100}"


def make_times(rng, row, evidence):
    """Median, interval and samples of a kernel of its own."""
    median = math.exp(rng.uniform(math.log(3e3), math.log(3e6)))
    spread = rng.choice([0.001, 0.003, 0.01, 0.04])
    samples = [median * (1 + rng.gauss(0, spread)) for _ in range(200)]
    row["time_ns"], row["hot_ns"] = median, median * 0.8
    row["time_low_ns"], row["time_high_ns"] = median * (1 - spread / 3), median * (1 + spread / 3)
    row["floor_ns"] = median * rng.uniform(0.05, 0.95)
    row["unstable"], row["samples"] = int(spread > 0.03), struct.pack("<200d", *samples)
    evidence["timing"].update(median_ns=median, low_ns=row["time_low_ns"], high_ns=row["time_high_ns"],
                              hot_ns=row["hot_ns"], floor_ns=row["floor_ns"], samples_ns=samples, overhead_ns=0.0)


def make_failure(rng, row, evidence, reason):
    row.update(reason=reason, time_ns=None, time_low_ns=None, time_high_ns=None, hot_ns=None, unstable=0, samples=b"",
               detail="declared inputs, workload small, output 0: every element is zero")
    evidence["timing"] = {"measured": False, "suspicious": False, "stopped": "", "dropped": 0, "floor_ns": None}
    evidence["checks"][0].update(reason=reason, wrong=7, worst="[3,4]: 1.5 in place of 2.5")
    if reason == "build_failed":
        evidence["checks"] = []
        evidence["diagnostics"] = "candidate.c:3:1: error: expected ';'\n" * rng.randint(1, 40)


def make_row(rng, pattern, source, folder, number):
    row = dict(pattern)
    del row["id"]
    evidence = json.loads(pattern["evidence"])
    name = f"kernel_{number}.c"
    text = f"// kernel {number}\n{source}"
    with open(os.path.join(folder, "sources", name), "w", encoding="utf-8") as file:
        file.write(text)
    row["task"] = task_name(rng.randrange(250))
    row["run"] = f"run {rng.randrange(20)}"
    row["candidate"] = os.path.join(folder, "sources", name)
    row["candidate_hash"] = hashlib.sha256(text.encode()).hexdigest()
    draw = rng.random()
    make_times(rng, row, evidence)
    if draw < 0.01:
        make_failure(rng, row, evidence, "changed_behaviour")
    elif draw < 0.25:
        make_failure(rng, row, evidence, rng.choice(FAILED))
    row["evidence"] = json.dumps(evidence, indent=2, sort_keys=True)
    return row


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    assay, folder, count = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    os.makedirs(os.path.join(folder, "sources"), exist_ok=True)
    store = os.path.join(folder, "store.sqlite")
    if os.path.exists(store):
        sys.exit(f"{store} is there already")
    pattern = judge(assay, root, store)
    rng = random.Random(count)
    with open(os.path.join(root, KERNEL), encoding="utf-8") as file:
        source = file.read()
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM verdict")
        for number in range(count):
            row = make_row(rng, pattern, source, folder, number)
            names = ", ".join(row)
            db.execute(f"INSERT INTO verdict ({names}) VALUES ({', '.join('?' * len(row))})", list(row.values()))
    print(f"{store}: {count} verdicts")


if __name__ == "__main__":
    main()
