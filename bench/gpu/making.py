#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels a minute of `assay make`: bench/gpu/making.py ASSAY OUT.json [--device cuda] [--workload W] [--tasks 20]
                                                       [--seconds 480] [--store FILE] [--commit HASH]

`sample` with eight prepared replies a task: nothing is waited for but Assay itself. The replies are made from the shipped
kernels (kernels/cuda; with --device cpu those of tests/cases) and are given by `cat`, as --endpoint exec:. Every task has
the same eight:

right     the kernel                                     none    prose without code
wrong     the kernel with one slip (its own twin)        python  code in another language
slow      the kernel's launches, all of them twice       same    the kernel again, in another layout
broken    the kernel, and a line that does not compile   slower  the kernel's launches three times

"Kernels a minute" are verdicts of their own (right, wrong, slow, broken, slower) over the time of judging and of Assay's
own work, as the store has them: the model's time is not in it. --seconds ends a run, and the next call with the same
--store goes on.
"""
import collections
import json
import os
import re
import sqlite3
import sys
import tempfile
import time

import common

KINDS = ("right", "wrong", "slow", "broken", "none", "python", "same", "slower")
EXPECTED = {"right": {"pass"}, "slow": {"pass"}, "slower": {"pass"}, "broken": {"build_failed"}, "none": {"no_code"},
            "python": {"wrong_language"}, "same": {"pass"}}
RUN = "prepared replies"


# --- kernels and what is made of them ---------------------------------------------------------------------------------

def read_kernels(device):
    """(task, file, source, twin, what the twin's verdict may be) of level 1, one kernel a task, the shortest."""
    folder = os.path.join(common.ROOT, *(("tests", "cases") if device == "cpu" else ("kernels", "cuda")))
    found = {}
    for name in sorted(os.listdir(folder)):
        if not name.endswith(".c" if device == "cpu" else ".cu"):
            continue
        with open(os.path.join(folder, name)) as f:
            source = f.read()
        task = re.search(r"^// assay: task (kernelbench/1/(\d+))$", source, re.M)
        twins = [t for t in re.findall(r"^// assay: twin (\w+) expect (\S+)", source, re.M) if "wrong_value" in t[1]]
        launches = device == "cpu" or "// assay: launch" in source
        asks = re.search(r"^// assay: expect (?!pass)", source, re.M)  # a wrong file, or one for another contract
        if not task or not twins or not launches or asks:
            continue
        kernel = (task[1], name, source, twins[0][0], set(twins[0][1].split("|")))
        if task[2] not in found or len(source) < len(found[task[2]][2]):
            found[task[2]] = kernel
    return [found[n] for n in sorted(found, key=int)]


def without_tests(source):
    """The kernel without the lines that are for the tests."""
    return re.sub(r"^// assay: (task|expect|twin) .*\n", "", source, flags=re.M)


def repeated(source, times, device):
    """All that the kernel does, done so often: right, and slower."""
    if device == "cpu":
        calls = " ".join(["once(args);"] * times)
        body = source.replace("void assay_kernel(", "static void once(")
        return f"{body}\nvoid assay_kernel(const struct assay_args *args) {{\n  {calls}\n}}\n"
    lines, work, last = source.splitlines(), [], 0
    inside = False
    for i, line in enumerate(lines):
        inside = bool(re.match(r"// assay: (launch|fill) ", line)) or (inside and lines[i - 1].endswith("\\"))
        if inside:
            work.append(line)
            last = i
    return "\n".join(lines[:last + 1] + work * (times - 1) + lines[last + 1:]) + "\n"


def replies_of(kernel, device):
    """The eight replies, by kind."""
    _, _, source, twin, _ = kernel
    source = without_tests(source)
    tag = "c" if device == "cpu" else "cuda"
    bad = "int broken(void) { return no_such_name; }\n"
    code = {"right": source, "wrong": f"#define {twin} 1\n{source}", "slow": repeated(source, 2, device),
            "slower": repeated(source, 3, device), "broken": source + ("" if device == "cpu" else "__device__ ") + bad,
            "same": source.replace("\n\n", "\n\n\n")}
    replies = {kind: f"This should be fast.\n\n```{tag}\n{text}```\n" for kind, text in code.items()}
    replies["none"] = "A kernel for this would load vectors of 16 bytes and keep the sums in registers.\n"
    replies["python"] = "```python\nimport torch\n\nclass ModelNew(torch.nn.Module):\n    pass\n```\n"
    return replies


def prepare(kernels, device, folder):
    for kernel in kernels:
        place = os.path.join(folder, kernel[0])
        os.makedirs(place, exist_ok=True)
        replies = replies_of(kernel, device)
        for step, kind in enumerate(KINDS):
            with open(os.path.join(place, str(step)), "w") as f:
                f.write(replies[kind])


# --- the run ----------------------------------------------------------------------------------------------------------

def environment_of(store):
    """It finds what is in this repository."""
    return {**os.environ, "ASSAY_STORE": store, "ASSAY_TASKS": os.path.join(common.ROOT, "tasks"),
            "ASSAY_INCLUDE": os.path.join(common.ROOT, "include")}


def make(assay, kernels, settings, folder):
    """One call of `assay make`; (seconds, what it printed, its scores)."""
    environment = environment_of(settings["store"])
    workload = ["--workload", settings["workload"]] if settings["workload"] else []
    command = [assay, "make", *[k[0] for k in kernels], "--method", "sample", "--attempts", str(len(KINDS)),
               "--device", settings["device"], *workload, "--run", RUN, "--prompts",
               os.path.join(common.ROOT, "prompts"), "--prices", os.path.join(common.ROOT, "prices.txt"),
               "--budget-seconds", str(settings["seconds"]),
               "--endpoint", f"exec:cat '{folder}'/$ASSAY_TASK/$ASSAY_STEP", "--json"]
    seconds, code, out, errors = common.run(command, settings["seconds"] + 300, env=environment)
    if code not in (0, 1) or not out:
        raise RuntimeError(f"{' '.join(command)}: exit {code}: {errors.strip()[-1500:]}")
    _, code, score, errors = common.run([assay, "score", RUN, "--json"], env=environment)
    if code != 0:
        raise RuntimeError(f"assay score: exit {code}: {errors.strip()[-400:]}")
    return seconds, json.loads(out), next(s for s in json.loads(score) if s["schema"] == "assay/attempts/1")


STEPS = """SELECT task, number, outcome, (SELECT reason FROM verdict WHERE id = step.verdict),
  (SELECT detail FROM verdict WHERE id = step.verdict), own_ns, judge_ns, build_ns, gpu_ns, cpu_ns, model_ns FROM step
  WHERE run = ? AND number >= 0 ORDER BY task, number"""


def look_at(store, kernels):
    """What came of every reply by kind, and the times of the run in seconds."""
    expected = {(k[0], kind): k[4] if kind == "wrong" else EXPECTED[kind] for k in kernels for kind in KINDS}
    came, unexpected = {kind: collections.Counter() for kind in KINDS}, []
    names = ("own", "judge", "build", "gpu", "cpu", "model")
    totals, per_kind = dict.fromkeys(names, 0.0), {kind: [] for kind in KINDS}
    judged = 0
    with sqlite3.connect(store) as db:
        for task, number, outcome, reason, detail, *times in db.execute(STEPS, (RUN,)):
            kind, what = KINDS[number], reason or outcome
            came[kind][what if outcome in ("judged", reason) or not reason else f"{outcome}, {what}"] += 1
            judged += outcome == "judged"
            if what not in expected[task, kind]:
                unexpected.append({"task": task, "kind": kind, "verdict": what, "detail": (detail or "")[:200]})
            for name, ns in zip(names, times):
                totals[name] += ns / 1e9
            if outcome == "judged":
                per_kind[kind].append({name: ns / 1e6 for name, ns in zip(names, times)})
    middle = {kind: {f"{name}_ms": round(common.spread([r[name] for r in rows])["median"], 3)
                     for name in ("judge", "build", "own")} for kind, rows in per_kind.items() if rows}
    return {kind: dict(c) for kind, c in came.items()}, unexpected, totals, judged, middle


def measure(assay, kernels, settings):
    with tempfile.TemporaryDirectory() as folder:
        prepare(kernels, settings["device"], folder)
        wall, summary, score = make(assay, kernels, settings, folder)
    came, unexpected, totals, judged, middle = look_at(settings["store"], kernels)
    working = totals["judge"] + totals["own"]
    replies = sum(sum(c.values()) for c in came.values())
    return {"tasks": len(kernels), "kernels": {k[0]: k[1] for k in kernels}, "replies": replies, "judged": judged,
            "kernels_a_minute": round(60 * judged / working, 2), "replies_a_minute": round(60 * replies / working, 2),
            "seconds": {**{name: round(s, 3) for name, s in totals.items()}, "wall_of_this_call": round(wall, 3)},
            "funnel": {name: score[name] for name in ("asked", "code", "builds", "right", "tasks_right")},
            "pass_at": score["pass_at"], "calls": score["calls"], "tokens": score["tokens"], "usd": score["usd"],
            "median_ms_of_judged": middle, "came": came, "unexpected": unexpected,
            "best": {t["task"]: {"step": KINDS[t["best_step"]] if t["best_step"] is not None else None,
                                 "time_ns": t["time_ns"], "floor_ns": t["floor_ns"], "final_right": t["final_right"],
                                 "final_ns": t["final_ns"], "blocked": t.get("blocked")} for t in summary["tasks"]},
            "ended": summary["ended"]}


def main():
    command = "bench/gpu/making.py " + " ".join(sys.argv[1:])
    arguments = sys.argv[1:]
    settings = {"device": common.option(arguments, "--device", "cuda"),
                "workload": common.option(arguments, "--workload", ""),
                "seconds": int(common.option(arguments, "--seconds", "480")),
                "store": common.option(arguments, "--store", "")}
    count, commit = int(common.option(arguments, "--tasks", "20")), common.option(arguments, "--commit", "")
    if len(arguments) != 2 or count < 1:
        sys.exit(__doc__)
    assay, out = os.path.abspath(arguments[0]), arguments[1]
    kernels = read_kernels(settings["device"])
    kernels = [kernels[i * len(kernels) // count] for i in range(min(count, len(kernels)))]
    own_store = tempfile.TemporaryDirectory()
    settings["store"] = os.path.abspath(settings["store"] or os.path.join(own_store.name, "store.sqlite"))
    start = time.monotonic()
    result = common.report(command, out, [("sample", lambda: measure(assay, kernels, settings))])
    if commit:
        result["commit"] = commit
        with open(out, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    own_store.cleanup()
    s = result["sample"]
    if "failed" in s:
        sys.exit(s["failed"])
    print(f"{s['tasks']} tasks, {s['replies']} replies, {s['judged']} judged: {s['kernels_a_minute']} kernels a minute, "
          f"{s['replies_a_minute']} replies a minute; {time.monotonic() - start:.1f} s in all")
    print("funnel:", s["funnel"], "seconds:", s["seconds"])
    for u in s["unexpected"]:
        print(f"not as expected: {u['task']} {u['kind']}: {u['verdict']} {u['detail']}")


if __name__ == "__main__":
    main()
