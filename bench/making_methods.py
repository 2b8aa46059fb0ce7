#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every method of `assay make` over level 1 at `small` on the CPU, with a scripted model of stated skill.

    bench/making_methods.py ASSAY OUT.json [--store FILE] [--seconds N] [--tasks N] [--only METHOD,...] [--jobs N]
                             [--commit HASH]

The script is the server of two models, which know the C kernels of tests/cases. What a reply is follows from the task, the
request's seed and what was asked alone, by the table SKILL: no code, a reply that is cut off, another language, a line that
does not compile, the kernel with one slip, or the kernel, done once, twice or three times over (the slower ones can be
improved). "scripted-b" answers right half as often as "scripted-a". --seconds ends a call, and the next one with the same
--store goes on; OUT.json is written after every method, from everything that the store has. --jobs has so many methods at
work at once, each on two processors of its own that no other of them uses. --commit names the tree where git is not there to
ask, or is at another one by the end.
"""
import argparse
import concurrent.futures
import hashlib
import http.server
import json
import math
import os
import pathlib
import queue
import re
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "gpu"))
import common  # noqa: E402
import making  # noqa: E402

# What a reply is, in percent, by what was asked. "up": the kernel, one level faster than the one shown; "level": as it is.
SKILL = {
    "first": {"none": 5, "cut": 5, "python": 5, "broken": 25, "wrong": 25, "level1": 15, "level2": 10, "level3": 10},
    "repair": {"none": 5, "cut": 5, "broken": 20, "wrong": 20, "level1": 25, "level2": 15, "level3": 10},
    "improve": {"none": 5, "broken": 15, "wrong": 20, "level": 20, "up": 40},
}
RIGHT = ("level1", "level2", "level3", "level", "up")
METHODS = {
    "greedy": ["--method", "greedy"],
    "sample": ["--method", "sample", "--attempts", "4"],
    "refine": ["--method", "refine", "--turns", "4"],
    "reflect": ["--method", "reflect", "--turns", "3"],
    "evolve": ["--method", "evolve", "--attempts", "2", "--turns", "2"],
    "swarm": ["--method", "swarm", "--attempts", "1", "--turns", "3", "--feed-best"],
}
PRICES = "scripted-a 2026-01-01 1 0.1 5 - -\nscripted-b 2026-01-01 0.25 0.025 2 - -\n"
SHOWN = (("Fix this first.", "repair"), ("Rewrite it to be as fast", "improve"), ("Rewrite the kernel by this", "improve"),
         ("what is the cause of what the judge found", "prose"), ("Name one idea", "prose"))


# --- the model --------------------------------------------------------------------------------------------------------

class Model:
    def __init__(self, kernels):
        self.kernels = {k[0]: k for k in kernels}

    def choose(self, name, task, kind, seed):
        """What the reply is."""
        bits = hashlib.sha256(f"{task} {kind} {seed}".encode()).digest()
        at, weak = int.from_bytes(bits[:8], "big") / 2**64 * 100, name == "scripted-b"
        for what, part in SKILL[kind].items():
            if at < part:
                # Half of what would be right is wrong.
                return "wrong" if weak and what in RIGHT and bits[8] & 1 else what
            at -= part
        return "wrong"

    def write(self, name, prompt, seed):
        """(the whole reply, whether it is cut off)."""
        task = re.search(r"^# The task: ([^\s,]+)", prompt, re.M)[1]
        kind = next((kind for words, kind in SHOWN if words in prompt), "first")
        if kind == "prose":
            return "The loop goes over its data more than once: do it in one pass, and mind the bounds.", False
        what = self.choose(name, task, kind, seed)
        level = max(map(int, re.findall(r"^// level (\d)", prompt, re.M)), default=1)
        level = int(what[5]) if what[:5] == "level" and what[5:] else min(3, level + (what == "up"))
        return self.text(task, what, level), what == "cut"

    def text(self, task, what, level):
        _, _, source, twin, _ = self.kernels[task]
        source = making.without_tests(source)
        if what == "none":
            return "A loop over all elements is what this needs; the compiler will take care of the rest."
        if what == "python":
            return "```python\nclass ModelNew(torch.nn.Module):\n    pass\n```\n"
        if what == "broken":
            source += "int broken(void) { return no_such_name; }\n"
        elif what == "wrong":
            source = f"#define {twin} 1\n{source}"
        elif level < 3:
            source = making.repeated(source, 4 - level, "cpu")
        return f"Here it is.\n\n```c\n// level {level}\n{source}```\n"


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        asked = [m["content"] for m in body["messages"] if m["role"] == "user"]
        partial = "".join(m["content"] for m in body["messages"] if m["role"] == "assistant")
        text, cut = self.model.write(body["model"], asked[0], body.get("seed", 0))
        if partial:  # the rest of what was cut off
            text, cut = text[len(partial):], False
        elif cut:
            text = text[:len(text) * 2 // 3]
        tokens = sum(len(m["content"]) for m in body["messages"]) // 3
        events = [{"choices": [{"delta": {"content": line}}]} for line in text.splitlines(True)]
        events += [{"choices": [{"delta": {}, "finish_reason": "length" if cut else "stop"}]},
                   {"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": len(text) // 3}}]
        stream = ("".join(f"data: {json.dumps(e)}\n\n" for e in events) + "data: [DONE]\n\n").encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(stream)))
        self.end_headers()
        self.wfile.write(stream)


def serve(kernels):
    Handler.model = Model(kernels)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


# --- what came of it --------------------------------------------------------------------------------------------------

STEPS = """SELECT step.task, step.number, step.outcome, coalesce(verdict.reason, ''), own_ns, judge_ns, build_ns, model_ns,
  step.calls FROM step LEFT JOIN verdict ON verdict.id = step.verdict WHERE step.run = ? AND step.number >= 0"""


def spread_ms(values):
    values = sorted(v / 1e6 for v in values)
    if not values:
        return None
    return {"median": round(statistics.median(values), 3), "p95": round(values[int(0.95 * (len(values) - 1))], 3),
            "max": round(values[-1], 3), "n": len(values)}


def curve(by_task, first_right):
    """After so many requests of each task: the part of tasks with a right kernel, and the mean of best known / time."""
    most = max((task["requests"] for task in by_task), default=0)
    points = []
    for b in range(1, most + 1):
        found = [[p for p in task["curve"] if p["requests"] <= b] for task in by_task]
        near = [task["best_known_ns"] / found[i][-1]["time_ns"] if found[i] and found[i][-1]["time_ns"] else 0
                for i, task in enumerate(by_task)]
        points.append({"requests": b, "right": sum(n <= b for n in first_right.values()) / len(by_task),
                       "part_of_best": round(sum(near) / len(by_task), 4)})
    return points


def wall_seconds(store, run, pause=300):
    """From the steps' times, so that it is known however many calls the run took and however they ended. A longer pause was
    one between calls."""
    with sqlite3.connect(store) as db:
        times = [at for at, in db.execute("SELECT at_ns FROM step WHERE run = ? AND at_ns > 0 ORDER BY at_ns", (run,))]
    gaps = [(b - a) / 1e9 for a, b in zip(times, times[1:])]
    return round(sum(gap for gap in gaps if gap < pause), 1)


def look_at(store, assay, environment, run):
    _, code, out, errors = common.run([assay, "score", run, "--json"], env=environment)
    if code != 0:
        raise RuntimeError(f"assay score: {errors.strip()[-400:]}")
    score = next(s for s in json.loads(out) if s["schema"] == "assay/attempts/1")
    first_right = {}
    outcomes, times = {}, {"own": [], "judge": [], "build": [], "own_judged": []}
    with sqlite3.connect(store) as db:
        for task, number, outcome, reason, own, judge, build, _, _ in db.execute(STEPS, (run,)):
            if reason == "pass":
                first_right[task] = min(number + 1, first_right.get(task, number + 1))
            what = f"{outcome}, {reason}" if reason else outcome
            outcomes[what] = outcomes.get(what, 0) + 1
            times["own"].append(own)
            if outcome == "judged":
                times["judge"].append(judge)
                times["build"].append(build)
                times["own_judged"].append(own)
    kept = ("tasks", "asked", "code", "builds", "right", "tasks_right", "pass_at", "right_within", "best_of", "near_best",
            "calls", "tokens", "usd", "model_s", "judge_s", "own_s")
    return {**{name: score[name] for name in kept}, "came": dict(sorted(outcomes.items())),
            "wall_s": wall_seconds(store, run), "ms_of_a_step": {name: spread_ms(values) for name, values in times.items()},
            "curve": curve(score["by_task"], first_right)}


def stated(kernels):
    """What the table says must come of scripted-a: the chances that a request is right, and the tasks that are. refine is a
    chain of three states: no code yet, code that is wrong, right."""
    p = sum(SKILL["first"][what] for what in RIGHT if what in SKILL["first"]) / 100
    q = sum(SKILL["repair"][what] for what in RIGHT if what in SKILL["repair"]) / 100
    wrong = (SKILL["first"]["wrong"] + SKILL["first"]["broken"]) / 100
    nothing, code = 1.0, 0.0
    for _ in range(4):
        nothing, code = nothing * (1 - p - wrong), nothing * wrong + code * (1 - q)
    return {"right_at_first": p, "right_after_repair": q, "greedy_tasks_right": p * len(kernels),
            "sample_of_4_tasks_right": (1 - (1 - p)**4) * len(kernels),
            "refine_of_4_tasks_right": (1 - nothing - code) * len(kernels)}


# --- the runs ---------------------------------------------------------------------------------------------------------

def pairs_of_processors(jobs):
    """Two for each job, and the script itself with its server keeps the rest; None: all jobs share what there is."""
    cpus = sorted(os.sched_getaffinity(0))
    if jobs < 2 or len(cpus) <= 2 * jobs:
        return None
    pairs = [cpus[2 * i:2 * i + 2] for i in range(jobs)]
    os.sched_setaffinity(0, cpus[2 * jobs:])
    return pairs


def make(assay, name, kernels, url, prices, environment, left, cpus=None):
    """One method; (exit code, what is not done yet, seconds)."""
    models = ["--model", "scripted-a"] + (["--model", "scripted-b"] if name == "swarm" else [])
    command = [assay, "make", *[k[0] for k in kernels], *METHODS[name], *models, "--endpoint", url, "--device", "cpu",
               "--workload", "small", "--prompts", os.path.join(common.ROOT, "prompts"), "--run", name, "--prices", prices,
               "--method-seed", "1", "--budget-seconds", str(max(1, int(left))), "--json"]
    if cpus:
        command = ["taskset", "-c", ",".join(map(str, cpus)), *command]
    seconds, code, out, errors = common.run(command, left + 600, env=environment)
    if code not in (0, 1) or not out:
        raise RuntimeError(f"assay make, {name}: exit {code}: {errors.strip()[-1500:]}")
    summary = json.loads(out)
    blocked = [t["task"] for t in summary["tasks"] if t.get("blocked")]
    return {"complete": all(t["complete"] for t in summary["tasks"]), "blocked": blocked, "seconds": round(seconds, 1),
            "finals_wrong": [t["task"] for t in summary["tasks"] if t["final_right"] is False],
            "finals": sum(t["final_right"] is not None for t in summary["tasks"])}


def write_out(result, a, kernels):
    _, _, commit, _ = common.run(["git", "rev-parse", "--short=12", a.commit or "HEAD"])
    _, _, processor, _ = common.run(["sh", "-c", "sed -n 's/^model name.*: //p' /proc/cpuinfo | head -n 1"])
    some = (f" --tasks {a.tasks}" if a.tasks != 100 else "") + (f" --jobs {a.jobs}" if a.jobs != 1 else "")
    result.update({"command": "bench/making_methods.py ASSAY OUT.json" + some, "date": time.strftime("%Y-%m-%d"),
                   "commit": commit.decode().strip() or a.commit, "processor": processor.decode().strip(), "cpus": os.cpu_count(),
                   "tasks": len(kernels), "skill": SKILL, "stated": stated(kernels)})
    pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


def main():
    arguments = argparse.ArgumentParser(usage=__doc__)
    arguments.add_argument("assay")
    arguments.add_argument("out")
    arguments.add_argument("--store")
    arguments.add_argument("--seconds", type=float, default=math.inf)
    arguments.add_argument("--tasks", type=int, default=100)
    arguments.add_argument("--only", default=",".join(METHODS))
    arguments.add_argument("--jobs", type=int, default=1)
    arguments.add_argument("--commit", default="")
    a = arguments.parse_args()
    start, assay, folder = time.monotonic(), os.path.abspath(a.assay), tempfile.TemporaryDirectory()
    kernels = making.read_kernels("cpu")
    kernels = [kernels[i * len(kernels) // a.tasks] for i in range(min(a.tasks, len(kernels)))]
    store = os.path.abspath(a.store or os.path.join(folder.name, "store.sqlite"))
    environment = making.environment_of(store)
    prices = os.path.join(folder.name, "prices.txt")
    pathlib.Path(prices).write_text(PRICES)
    pathlib.Path(a.out).parent.mkdir(parents=True, exist_ok=True)
    pairs = pairs_of_processors(a.jobs)
    calibrate = [assay, "doctor", "--calibrate"]
    if pairs:
        calibrate = ["taskset", "-c", ",".join(map(str, pairs[0])), *calibrate]
    subprocess.run(calibrate, env=environment, stdout=subprocess.DEVNULL, check=False)
    result = json.loads(pathlib.Path(a.out).read_text()) if a.store and os.path.exists(a.out) else {"methods": {}}
    url, one_writes = serve(kernels), threading.Lock()
    free = queue.SimpleQueue()
    for i in range(max(1, a.jobs)):
        free.put(pairs[i] if pairs else None)

    def one_method(name):
        cpus, done = free.get(), result["methods"].get(name, {})
        left = a.seconds - (time.monotonic() - start)
        if left <= 0 or done.get("complete"):
            free.put(cpus)
            return
        made = make(assay, name, kernels, url, prices, environment, min(left, 10**6), cpus)
        free.put(cpus)
        made["seconds"] = round(made["seconds"] + done.get("seconds", 0), 1)
        looked = look_at(store, assay, environment, name)
        with one_writes:
            result["methods"][name] = {"command": " ".join(METHODS[name]), **made, **looked}
            write_out(result, a, kernels)
            m = result["methods"][name]
            print(f"{name}: {m['asked']} asked > {m['code']} code > {m['builds']} build > {m['right']} right, "
                  f"{m['tasks_right']} of {m['tasks']} tasks; {m['seconds']} s"
                  f"{'' if m['complete'] else ', not complete'}", flush=True)

    with concurrent.futures.ThreadPoolExecutor(max(1, a.jobs)) as pool:
        for one in [pool.submit(one_method, name) for name in a.only.split(",")]:
            one.result()
    for name, m in result["methods"].items():  # the best known times are those of all methods
        m.update(look_at(store, assay, environment, name))
    pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
    folder.cleanup()


if __name__ == "__main__":
    main()
