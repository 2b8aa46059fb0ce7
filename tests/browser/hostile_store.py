# SPDX-License-Identifier: Apache-2.0
"""A store for the browser's test: kernels that pass, fail and cheat, and one whose every text is hostile."""
import hashlib
import json
import os
import random
import sqlite3
import struct
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import site_store  # noqa: E402

ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
HOSTILE = ATTACK + ("<svg onload=alert(1)>\u202e</title></style></textarea></noscript><!--javascript:alert(1)//${alert(1)}{{1}}\x01"
                    "\x1b[31mred\x1b[0m\x1b]0;title\x07\u2028\u2066]]>")
FORMULAS = ("=1+1", '=HYPERLINK("x")', "+1", "-1+2", "@SUM(A1)", "\t=1", "\r=1")  # to a spreadsheet


def hostile_row(rng, pattern, folder, number, timed):
    text = f"/* {HOSTILE} {number} */\n// </pre></code>{HOSTILE}\nint x = '</script>';\n"
    row = site_store.make_row(rng, pattern, text, folder, number)
    evidence = json.loads(pattern["evidence"])
    file = f"<img src=x onerror=alert({number})>\"'&.c".replace("/", "")
    with open(os.path.join(folder, "sources", file), "w", encoding="utf-8") as out:
        out.write(text)
    site_store.make_times(rng, row, evidence)
    if not timed:
        site_store.make_failure(rng, row, evidence, "build_failed")
    evidence.update(diagnostics=HOSTILE * 3, compiler=HOSTILE, build_command=HOSTILE, device=HOSTILE, sandbox=HOSTILE,
                    toolchain=HOSTILE, no_plan=HOSTILE)
    for check in evidence["checks"]:
        check["worst"] = HOSTILE
    row.update(task="mine/1/" + ATTACK.replace("/", ""), run=HOSTILE, detail=HOSTILE, command=HOSTILE,
               candidate=os.path.join(folder, "sources", file), evidence=json.dumps(evidence),
               candidate_hash=hashlib.sha256(text.encode()).hexdigest())
    return row


NAMES = ["kernel_" + "with_a_name_without_a_space_" * 7 + ".cu", "\u0646\u0648\u0627\u0629 \u0627\u0644\u0645\u0635\u0641\u0648\u0641\u0629 \u0627\u0644\u0633\u0631\u064a\u0639\u0629 " * 3 + ".cu",
         "\u6838\u5fc3\u7a0b\u5e8f" * 20 + ".cu", "WWWWMMMM@@@@" * 4 + ".cu", "a.c"]
LONG = {what: (f"{what}_of_two_hundred_letters_" * 8)[:200] for what in ("task", "device", "run", "maker")}


def hard_row(rng, pattern, source, folder, number, names):
    """names: (of the file, of the run)."""
    row = site_store.make_row(rng, pattern, f"// {number}\n{source}", folder, number)
    evidence = json.loads(row["evidence"])
    row.update(task=f"kernelbench/1/{19 + number % 12}", candidate=names[0], run=names[1], reason="pass")
    if number % 3 == 0:  # times from a nanosecond to an hour
        time = 10.0 ** (number // 3 % 13)
        samples = [time * (1 + 1e-4 * k) for k in range(30)]
        row.update(time_ns=time, time_low_ns=time * (0.5 if number % 2 else 1), time_high_ns=time * (9 if number % 2 else 1),
                   hot_ns=None, floor_ns=time / 10.0 ** (number % 14), samples=struct.pack("<30d", *samples))
    elif number % 3 == 1:  # nothing is known of its time
        row.update(time_ns=None, time_low_ns=None, time_high_ns=None, hot_ns=None, floor_ns=None, samples=b"")
    evidence["baselines"] = [{"name": names[0], "median_ns": 1e9, "speedup": 10.0 ** (number % 25 - 12), "verdict": "faster"}]
    if number < 48 and number % 4 == 1:  # names of 200 letters, which nothing breaks
        row.update(task=f"mine/1/{LONG['task']}{number % 3}", device="cpu",
                   run=f"{LONG['run']}, {LONG['maker']}{number % 8}")
        evidence["device"] = LONG["device"]
    row["evidence"] = json.dumps(evidence)
    return row


def make_hard(assay, folder, count):
    """A store of `count` verdicts that are hard to lay out: names, times and ratios; 0: the store of nobody."""
    os.makedirs(os.path.join(folder, "sources"))
    store = os.path.join(folder, "store.sqlite")
    pattern, rng = site_store.judge(assay, ROOT, store), random.Random(count)
    with open(os.path.join(ROOT, site_store.KERNEL), encoding="utf-8") as file:
        source = file.read()
    rows = []
    for number in range(count):
        own = number < 48
        names = (NAMES[number % len(NAMES)], f"run {NAMES[number // 24]}") if own else (f"k{number}.c", "many")
        rows.append(hard_row(rng, pattern, source, folder, number, names))
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM verdict")
        insert(db, rows)
    return store


def formula_row(rng, pattern, folder, number, text):
    """Every text that a reader chooses is a formula."""
    row = site_store.make_row(rng, pattern, f"// {text}\n", folder, number)
    evidence = json.loads(row["evidence"])
    evidence.update(device=text, diagnostics=text, baselines=[{"name": text, "median_ns": 1e5, "speedup": 2.0, "verdict": text}])
    row.update(task="kernelbench/1/19", run=text, detail=text, candidate=text, evidence=json.dumps(evidence), workload=text)
    return row


def insert(db, rows):
    for row in rows:
        db.execute(f"INSERT INTO verdict ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", list(row.values()))


def make(assay, folder, count):
    """A store of `count` verdicts in 12 tasks and 2 runs, and two hostile ones; its path."""
    os.makedirs(os.path.join(folder, "sources"), exist_ok=True)
    store = os.path.join(folder, "store.sqlite")
    pattern = site_store.judge(assay, ROOT, store)
    rng = random.Random(1)
    with open(os.path.join(ROOT, site_store.KERNEL), encoding="utf-8") as file:
        source = file.read()
    rows = []
    for number in range(count):
        rows.append(site_store.make_row(rng, pattern, source, folder, number))
        rows[-1].update(task=f"kernelbench/1/{19 + number % 12}", run=f"run {number // 12 % 2}")
    rows[0]["reason"] = "changed_behaviour"
    hostile = [hostile_row(rng, pattern, folder, count + k, k == 0) for k in range(3)]
    hostile[-1]["reason"] = "changed_behaviour"
    hostile += [formula_row(rng, pattern, folder, count + 3 + k, text) for k, text in enumerate(FORMULAS)]
    rows = hostile + rows  # of many runs the two newest are compared
    making = [(run, json.dumps({"method": run, "models": [HOSTILE, *FORMULAS]}), 0) for run in (HOSTILE, *FORMULAS)]
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM verdict")
        insert(db, rows)
        db.executemany("INSERT INTO making (run, settings, at_ns) VALUES (?, ?, ?)", making)
    return store
