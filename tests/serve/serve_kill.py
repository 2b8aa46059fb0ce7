#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kills a server at random moments while clients submit, and looks for what was lost or published twice.

usage: serve_kill.py ASSAY [--kills N] [--seed N]

Every answer 200 or 202 is noted. At the end, when the last server has finished its queue, each job that was accepted
must have its verdict, and each identity one: in the table of publications and among the verdicts of the run.
"""
import argparse
import collections
import http.client
import pathlib
import random
import sqlite3
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from server import Server, submission  # noqa: E402

CLIENTS = 4


class Load:
    """Clients that submit, some of it twice, and note what was accepted."""

    def __init__(self, seed):
        self.accepted, self.refused, self.lock, self.stop, self.number = {}, 0, threading.Lock(), False, 0
        self.random = random.Random(seed)
        self.server = None
        self.pause = 0.05
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(CLIENTS)]

    def next(self):
        with self.lock:
            self.number += self.random.random() < 0.8  # else: the one before, again
            return f"job {self.number}"

    def run(self):
        while not self.stop:
            mark = self.next()
            try:
                status, _, answer = self.server.ask("POST", "/v1/jobs", submission(mark), "me", timeout=10)
                if status in (200, 202):
                    with self.lock:
                        self.accepted[answer["jobs"][0]["id"]] = mark
                else:
                    self.refused += 1
            except (OSError, http.client.HTTPException, ValueError):
                self.refused += 1  # the server is being killed: nothing was promised
            time.sleep(self.pause)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("assay")
    arguments.add_argument("--kills", type=int, default=100)
    arguments.add_argument("--seed", type=int, default=1)
    arguments = arguments.parse_args()
    assay = str(pathlib.Path(arguments.assay).resolve())
    moments = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(assay, folder, "--rate", "100000", "--queue", str(max(20, arguments.kills * 3 // 2)),
                        "--run", "kills")
        load = Load(arguments.seed)
        load.server = server
        for t in load.threads:
            t.start()
        for _ in range(arguments.kills):
            time.sleep(moments.uniform(0.05, 1.5))
            server.kill()
            server.start()
        load.stop = True
        for t in load.threads:
            t.join()
        lost = [i for i in load.accepted if server.wait({"id": i}, 300)["state"] != "done"]
        server.end()
        with sqlite3.connect(f"{folder}/store.sqlite") as db:
            published = collections.Counter(i for (i,) in db.execute("SELECT identity FROM publication"))
            verdicts = collections.Counter(i for (i,) in db.execute("SELECT candidate_hash FROM verdict WHERE run = 'kills'"))
            attempts = db.execute("SELECT sum(attempt), count(*) FROM job").fetchone()
            faults, = db.execute("SELECT sum(faults) FROM job").fetchone()
        unpublished = [i for i in load.accepted if published[i] == 0]
        twice = [i for counts in (published, verdicts) for i, n in counts.items() if n > 1]
        print(f"{arguments.kills} kills, {len(load.accepted)} jobs accepted, {load.refused} requests refused or cut off, "
              f"{attempts[0]} attempts at {attempts[1]} jobs, {faults} faults: lost {len(lost)}, without a verdict "
              f"{len(unpublished)}, published twice {len(twice)}")
        enough = len(load.accepted) >= arguments.kills and sum(verdicts.values()) == sum(published.values())
        return 0 if enough and not lost and not unpublished and not twice and not faults else 1


if __name__ == "__main__":
    sys.exit(main())
