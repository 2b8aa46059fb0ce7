#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `assay make` itself takes for a step, next to building and judging: bench/make_steps.py ASSAY [--steps 60]
[--json FILE]

The script is a server that answers at once with a correct kernel, another one each time, and `refine` asks for one after the
other. From the moment that a reply is there to the moment that the next one is, less judging (compiler included) and less the
model's time, is all that the step took: extraction, prompts, planning, the store's writes and syncs, books. That is printed,
and beside it `own_ns`, the part of it that is in the store and in `assay score` (prompts, extraction, the candidate's file).
"""
import argparse
import json
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

import make_streams

KERNEL = (pathlib.Path(__file__).resolve().parent.parent / "tests" / "cases" / "relu.c").read_text()


def code(more):
    return f"```c\n{KERNEL}\n{more}```\n"


class Server(make_streams.Listener):
    """Each reply is the kernel with another function, so that each is built and judged."""
    asked = 0

    def write(self, number):
        return code(f"int step_{number}(void);\nint step_{number}(void) {{ return {number}; }}\n")

    async def answer(self, reader, writer):
        await self.read_request(reader)
        self.asked += 1
        body = json.dumps({"choices": [{"message": {"content": self.write(self.asked)}, "finish_reason": "stop"}],
                           "usage": {"prompt_tokens": 1000, "completion_tokens": 300}}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
                     b"Content-Length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()


def spread(values):
    values = sorted(values)
    return {"median": round(statistics.median(values), 3), "p95": round(values[int(0.95 * (len(values) - 1))], 3),
            "max": round(values[-1], 3), "n": len(values)}


def measure(assay, steps):
    server = Server()
    with tempfile.TemporaryDirectory() as folder:
        store, start = f"{folder}/store.sqlite", time.monotonic()
        done = subprocess.run(
            [assay, "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--workload", "small", "--method", "refine",
             "--turns", str(steps), "--model", "m", "--run", "steps", "--no-final", "--json", "--patience", str(steps + 1),
             "--no-stream", *make_streams.FILES, "--endpoint", f"http://127.0.0.1:{server.port}/v1"],
            env=make_streams.environment_of(store), capture_output=True, check=False)
        wall = time.monotonic() - start
        with sqlite3.connect(store) as db:
            rows = db.execute("SELECT at_ns, model_ns, judge_ns, own_ns, build_ns FROM step WHERE number >= 0 AND "
                              "outcome = 'judged' ORDER BY number").fetchall()
    if len(rows) != steps:
        sys.exit(f"{len(rows)} kernels were judged, not {steps}: {done.stderr.decode()[-500:]}")
    rest = [(b[0] - a[0] - a[2] - b[1]) / 1e6 for a, b in zip(rows, rows[1:])]
    return {"rest_ms": spread(rest), "own_ms": spread([r[3] / 1e6 for r in rows]),
            "judge_ms": spread([r[2] / 1e6 for r in rows]), "build_ms": spread([r[4] / 1e6 for r in rows]),
            "above_50_ms": sum(r > 50 for r in rest), "wall_s": round(wall, 1)}


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("--steps", type=int, default=60)
    arguments.add_argument("--json")
    a = arguments.parse_args()
    r = measure(os.path.abspath(a.assay), a.steps)
    print(f"{a.steps} steps: all but model, building and judging {r['rest_ms']['median']} ms in the middle, 95 % within "
          f"{r['rest_ms']['p95']}, at most {r['rest_ms']['max']}, {r['above_50_ms']} above 50; of it own_ns "
          f"{r['own_ms']['median']}, at most {r['own_ms']['max']}; judging {r['judge_ms']['median']}, of it building "
          f"{r['build_ms']['median']}")
    if a.json:
        pathlib.Path(a.json).write_text(json.dumps(
            {"command": f"bench/make_steps.py ASSAY --steps {a.steps}", "date": time.strftime("%Y-%m-%d"),
             "cpus": os.cpu_count(), **r}, indent=1) + "\n")


if __name__ == "__main__":
    main()
