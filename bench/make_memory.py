#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and open files of one `assay make` over many steps: bench/make_memory.py ASSAY [--steps 10000] [--parallel 8]
[--json FILE]

The script is a server of replies: of eight in a row five are kernels that were there before, one has no code, one is in
another language, one does not compile. So every step is a whole one (prompt, extraction, verdict, books), and only the first
of each kernel is built and judged: what 10,000 judgements need is what bench/endurance.py measures. Printed are the resident
memory and the open files after so many steps, and how much was added for a step between the first and the last of them.
"""
import argparse
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

import make_steps
import make_streams

OTHER = ["A loop over all elements is what this needs.", "```python\nclass ModelNew(torch.nn.Module):\n    pass\n```\n"]


class Server(make_steps.Server):
    def write(self, number):
        at = number % 8
        if at < 2:
            return OTHER[at]
        return make_steps.code(f"int variant_{at};\n" + ("int broken(void) { return no_such_name; }\n" if at == 2 else ""))


def look(pid):
    lines = pathlib.Path(f"/proc/{pid}/status").read_text().splitlines()
    return {"kib": int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))),
            "files": len(os.listdir(f"/proc/{pid}/fd"))}


def measure(assay, steps, parallel):
    server, seen = Server(), []
    with tempfile.TemporaryDirectory() as folder:
        store, start = f"{folder}/store.sqlite", time.monotonic()
        p = subprocess.Popen(
            [assay, "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--workload", "small", "--attempts", str(steps),
             "--parallel", str(parallel), "--model", "m", "--run", "memory", "--no-final", "--no-stream",
             *make_streams.FILES, "--endpoint", f"http://127.0.0.1:{server.port}/v1"],
            env=make_streams.environment_of(store), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        due = steps // 10
        while p.poll() is None:
            if server.asked >= due:
                try:
                    seen.append({"steps": server.asked, **look(p.pid)})
                except (OSError, StopIteration):
                    break
                due += steps // 10
            time.sleep(0.005)
        p.wait()
        wall = time.monotonic() - start
        with sqlite3.connect(store) as db:
            came = dict(db.execute("SELECT outcome, count(*) FROM step WHERE number >= 0 GROUP BY 1").fetchall())
    if sum(came.values()) != steps or len(seen) < 2:
        sys.exit(f"{sum(came.values())} steps, not {steps}; looked at {len(seen)} times")
    grown = (seen[-1]["kib"] - seen[0]["kib"]) * 1024 / (seen[-1]["steps"] - seen[0]["steps"])
    return {"seen": seen, "bytes_a_step": round(grown, 1), "came": came, "wall_s": round(wall, 1)}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("--steps", type=int, default=10000)
    arguments.add_argument("--parallel", type=int, default=8)
    arguments.add_argument("--json")
    a = arguments.parse_args()
    r = measure(os.path.abspath(a.assay), a.steps, a.parallel)
    for s in r["seen"]:
        print(f"{s['steps']} steps: {s['kib']} KiB, {s['files']} files")
    print(f"{r['bytes_a_step']} bytes a step; {r['came']}; {r['wall_s']} s")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(
            {"command": f"bench/make_memory.py ASSAY --steps {a.steps}", "date": time.strftime("%Y-%m-%d"), **r}, indent=1) + "\n")


if __name__ == "__main__":
    main()
