# SPDX-License-Identifier: Apache-2.0
"""A store for the browser's test: kernels that pass, fail and cheat, and one whose every text is hostile."""
import hashlib
import json
import os
import random
import sqlite3
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import site_store  # noqa: E402

ATTACK = "<script>alert(1)</script>\"'><img src=x onerror=alert(1)>"
HOSTILE = ATTACK + "<svg onload=alert(1)>\u202e</title></style>javascript:alert(1)//${alert(1)}{{1}}\x01"


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
    rows += [hostile_row(rng, pattern, folder, count + k, k == 0) for k in range(2)]
    with sqlite3.connect(store) as db:
        db.execute("DELETE FROM verdict")
        for row in rows:
            db.execute(f"INSERT INTO verdict ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                       list(row.values()))
    return store
