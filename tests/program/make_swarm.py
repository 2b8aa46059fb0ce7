#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a swarm's bandit learns of its models carries from task to task: make_swarm.py ASSAY SOURCE.

A server plays two models: "sure" is right in 80 % of its replies and costs ten times as much as "cheap", which is right in
40 %. Which replies are right follows from task, model and seed alone. Every choice is worked out again here, from the steps
in the store; it does not depend on how many requests are under way, on the order in which replies come, or on how often the
process was killed; --replay does it again.
"""
import hashlib
import http.server
import json
import math
import os
import pathlib
import random
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

ASSAY, SOURCE = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
KERNELS = {"kernelbench/1/19": "relu", "kernelbench/1/28": "hardsigmoid", "kernelbench/1/30": "softsign",
           "kernelbench/1/22": "tanh", "kernelbench/1/29": "softplus", "kernelbench/1/32": "hardtanh"}
MODELS, RIGHT, TURNS = ("sure", "cheap"), {"sure": 0.8, "cheap": 0.4}, 5
PRICES = "sure 2026-01-01 10 1 10 - -\ncheap 2026-01-01 1 0.1 1 - -\n"
failures = 0


def check(what, expected, got):
    global failures
    if expected != got:
        failures += 1
        print(f"FAILED: {what}: expected\n{expected}\ngot\n{got}")


# --- the models -------------------------------------------------------------------------------------------------------

def is_right(task, model, seed):
    bits = hashlib.sha256(f"{task} {model} {seed}".encode()).digest()
    return int.from_bytes(bits[:8], "big") / 2**64 < RIGHT.get(model, 0)


class Handler(http.server.BaseHTTPRequestHandler):
    most_delay, unpaid = 0.0, False

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        task = re.search(r"^# The task: ([^\s,]+)", body["messages"][-1]["content"], re.M)[1]
        model, seed = body["model"], body.get("seed", 0)
        time.sleep(random.random() * Handler.most_delay)
        status, reply = 200, None
        if Handler.unpaid and model == "sure":
            status, reply = 402, {"error": {"message": "pay"}}
        else:
            source = (SOURCE / "tests/cases" / f"{KERNELS[task]}.c").read_text()
            source += f"int w{seed}_{model};\n" if is_right(task, model, seed) else f"int w{seed} = no_such_name;\n"
            reply = {"choices": [{"message": {"content": f"```c\n{source}```\n"}, "finish_reason": "stop"}],
                     "usage": {"prompt_tokens": 1000, "completion_tokens": 1000}}
        text = json.dumps(reply).encode()
        try:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)
        except OSError:
            pass  # it was killed


# --- what must come of it ---------------------------------------------------------------------------------------------

def worth(known, model):
    """As docs/making.md has it."""
    asked, right, timed, gain, priced, usd = known[model]
    total = [sum(k[i] for k in known.values()) for i in range(6)]
    if asked == 0:
        return math.inf
    usual = (total[3] + 0.5) / (total[2] + 1)
    cost = max(usd / priced / (total[5] / total[4]), 0.1) if total[5] > 0 and priced > 0 else 1
    return (right + 1) / (asked + 2) * ((gain + usual) / (timed + 1)) / cost + math.sqrt(2 * math.log(total[0]) / asked)


def count(known, steps, choices):
    """Adds what a task's steps teach, up to so many choices. Nothing is timed here."""
    n = 0
    for _, model, lane, right, usd in steps:
        choice = lane >= len(MODELS)
        if choice and n == choices:
            return
        k = known[model]
        known[model] = [k[0] + 1, k[1] + right, 0, 0.0, k[4] + 1, k[5] + usd]
        n += choice
        if choice and n == choices:
            return


def expected_choices(steps_of):
    """(task, number) -> (model, what the other tasks taught)."""
    found, tasks = {}, list(steps_of)
    for at, task in enumerate(tasks):
        steps = steps_of[task]
        choices = 0
        for i, (number, _, lane, _, _) in enumerate(steps):
            if lane < len(MODELS):
                continue
            others = {m: [0, 0, 0, 0.0, 0, 0.0] for m in MODELS}
            for earlier in tasks[:at]:
                count(others, steps_of[earlier], min(choices, len(MODELS)))
            known = {m: list(k) for m, k in others.items()}
            count(known, steps[:i], math.inf)
            found[task, number] = max(MODELS, key=lambda m: worth(known, m)), others
            choices += 1
    return found


def read_lesson(text):
    numbers = [[float(n) for n in part.split()] for part in text.split(";")[:-1]]
    return dict(zip(MODELS, numbers))


class Runs:
    def __init__(self, folder, url):
        self.folder, self.store = folder, os.path.join(folder, "store.sqlite")
        pathlib.Path(folder, "prices.txt").write_text(PRICES)
        self.environment = {**os.environ, "ASSAY_STORE": self.store, "TMPDIR": folder}
        self.options = ["--device", "cpu", "--no-timing", "--no-probes", "--checks", "1", "--workload", "small", "--no-final",
                        "--seed", "7", "--secret", "8", "--method", "swarm", "--feed-best", "--turns", str(TURNS),
                        "--model", "sure", "--model", "cheap", "--endpoint", url, "--no-stream", "--prices",
                        os.path.join(folder, "prices.txt")]

    def command(self, run, tasks, *more):
        return [ASSAY, "make", *tasks, *self.options, "--run", run, *more]

    def make(self, run, tasks, *more):
        done = subprocess.run(self.command(run, tasks, *more), env=self.environment, capture_output=True, text=True, timeout=600)
        return done.returncode, done.stdout + done.stderr

    def sql(self, query, *values):
        with sqlite3.connect(self.store) as db:
            return db.execute(query, values).fetchall()

    def everything(self, run):
        return self.sql("SELECT task, s.number, kind, model, outcome, parent, lane, code_hash, text FROM step s LEFT JOIN lesson l "
                        "USING (run, task, number) WHERE run = ? AND s.number >= 0 ORDER BY task, s.number", run)

    def steps(self, run, tasks):
        query = ("SELECT number, model, lane, coalesce((SELECT reason = 'pass' FROM verdict WHERE id = step.verdict), 0), usd "
                 "FROM step WHERE run = ? AND task = ? AND number >= 0 ORDER BY number")
        return {task: self.sql(query, run, task) for task in tasks}


def check_choices(runs, run, tasks):
    steps_of = runs.steps(run, tasks)
    lessons = {(t, n): text for t, n, text in runs.sql("SELECT task, number, text FROM lesson WHERE run = ?", run)}
    expected = expected_choices(steps_of)
    check(f"{run}: what has a lesson", sorted(expected), sorted(lessons))
    for (task, number), (model, others) in expected.items():
        got = next(s[1] for s in steps_of[task] if s[0] == number)
        check(f"{run}, {task}, step {number}: the model", model, got)
        check(f"{run}, {task}, step {number}: what was taught", others, read_lesson(lessons[task, number]))
    return {task: [s[1] for s in steps_of[task] if s[2] >= len(MODELS)] for task in tasks}


def main():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tasks = list(KERNELS)
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(folder, f"http://127.0.0.1:{server.server_address[1]}/v1")
        code, said = runs.make("one", tasks, "--parallel", "1")
        check("one at a time", (0, ""), (code, said if code else ""))
        chosen = check_choices(runs, "one", tasks)
        print("chosen:", *("".join(m[0] for m in models) for models in chosen.values()))
        last = chosen[tasks[-1]]
        Handler.most_delay = 0.3
        runs.make("six", tasks, "--parallel", "6")
        check("whatever comes first", runs.everything("one"), runs.everything("six"))
        for _ in range(6):
            process = subprocess.Popen(runs.command("killed", tasks, "--parallel", "6"), env=runs.environment,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            time.sleep(0.4 + random.random() * 2)
            process.send_signal(signal.SIGKILL)
            process.wait()
        Handler.most_delay = 0
        runs.make("killed", tasks, "--parallel", "3")
        check("killed", runs.everything("one"), runs.everything("killed"))
        # Alone, the last task knows nothing of the others, and chooses otherwise.
        runs.make("alone", tasks[-1:])
        alone = check_choices(runs, "alone", tasks[-1:])[tasks[-1]]
        print("the last task:", *last, "and alone:", *alone)
        check("what others taught counts", True, alone != last)
        for run in ("one", "six", "killed"):
            code, said = runs.make(run, tasks, "--replay")
            check(f"{run}: again", (0, True), (code, "steps came out as they are stored" in said))
        with sqlite3.connect(runs.store) as db:
            db.execute("UPDATE lesson SET text = '900 899 0 0 900 0.9;90 1 0 0 90 9;' WHERE run = 'six' AND task = ? AND "
                       "number = (SELECT max(number) FROM step WHERE run = 'six' AND task = ? AND model = 'cheap')", (tasks[-1],) * 2)
            db.execute("UPDATE lesson SET text = 'nothing' WHERE run = 'killed'")
        code, said = runs.make("six", tasks, "--replay")
        check("another lesson", (3, True), (code, "the model is not the one that is stored" in said))
        code, said = runs.make("killed", tasks, "--replay")
        check("no lesson", (3, True), (code, "was chosen by is no lesson" in said))
        # A model that is not there holds up nobody, and is asked when it is.
        Handler.unpaid = True
        code, said = runs.make("unpaid", tasks, "--parallel", "6")
        check("a model that is away", 3, code)
        Handler.unpaid = False
        runs.make("unpaid", tasks, "--parallel", "2")
        code, said = runs.make("unpaid", tasks, "--replay")
        check("a model that was away, again", (0, True), (code, "steps came out as they are stored" in said))
    print(f"make_swarm: {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
