#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges honest kernels again and again, each time with other seeds and secrets: how often is a right kernel refused?

    bench/honest.py ASSAY OUT.json [--verdicts N] [--seconds N] [--jobs N] [--only GLOB] [--own] [FILE...]
    bench/honest.py ASSAY OUT.json --device cuda [--gpus N] [...] [FILE...]    with as many jobs as the GPUs have memory for

The kernels are those of tests/cases, tests/kernelbenchx and tests/fusedops that must pass, in every form that must
pass, and FILEs; and, without --own, each of them that calls exp, log, tanh, erf or the like once more with the
functions of other libraries (bench/honest_functions.h). On a GPU they are kernels/cuda, kernels/fusedops and FILEs, with
the functions of the GPU. Each is judged at `small`, with all questions and without
times, N benches at once (as many as there are CPUs, if not said). OUT.json has the counts and every false alarm with
its seed and secret. It is written after every few kernels, so that a run that is ended loses little. Runs go on where
the last one ended (its counts are added to, and what was judged least often is first) until there are N verdicts, 10000
if not said, or the seconds have passed: then each bench finishes its kernel. Exit code 1: false alarms.
"""
import argparse
import concurrent.futures
import datetime
import fnmatch
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

HOUSE = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(HOUSE / "bench" / "gpu"))
import common  # noqa: E402

DIRECTIVE = re.compile(r"^// assay: (?:(expect) (\S+)|twin (\w+)( at \S+)? expect (\S+))")
LIBRARIES = {"CEPHES": "exp log tanh", "XLA": "tanh erf expm1 log1p", "FAST": "exp",
             "STATED": "exp exp2 log log2 tanh erf erfc expm1 log1p"}
MACHINE = ("judge_failed",)
REFUSED = {("kernelbenchx.erf", "XLA")}  # on purpose: docs/numerics.md
FOLDERS = {"cpu": ("tests/cases", "tests/kernelbenchx", "tests/fusedops"), "cuda": ("kernels/cuda", "kernels/fusedops")}
ENDINGS = {"cpu": ".c", "cuda": ".cu"}
CHUNK = 4  # kernels that one bench judges: few, since a bench that is ended loses them


def honest_forms(text):
    """The macros under which a file must pass; None: as it is, where it does not say otherwise."""
    found = [DIRECTIVE.match(line) for line in text.splitlines()]
    found = [m for m in found if m]
    forms = [None] if all(m.group(2) == "pass" for m in found if m.group(1)) else []
    return forms + [m.group(3) for m in found if m.group(5) == "pass" and not m.group(4)]


def sources(paths, libraries):
    """{name: (suite, source)}: every form of every file, and with every one of the libraries whose functions it calls."""
    functions = (HOUSE / "bench" / "honest_functions.h").read_text()
    found = {}
    for path in paths:
        text = path.read_text(errors="replace")
        task = re.search(r"^// assay: task (\S+)", text, re.M)
        if not task:
            continue
        suite = task.group(1).split("/")[0]
        body = "\n".join("//" if line.startswith("// assay:") else line for line in text.splitlines()) + "\n"
        for form in honest_forms(text):
            head = f"// assay: task {task.group(1)}\n" + (f"#define {form}\n" if form else "")
            name = ("" if suite == "kernelbench" else f"{suite}.") + path.stem + (f".{form}" if form else "")
            if path.suffix == ".cu":  # its directives say how it is launched
                define = f"#define {form}\n" if form else ""
                found[f"{name}.cu"] = suite, define + "\n".join(
                    line for line in text.splitlines() if not DIRECTIVE.match(line)) + "\n"
                continue
            found[f"{name}.c"] = suite, head + body
            for library, names in libraries.items():
                if (name, library) not in REFUSED and any(re.search(rf"\b{f}f\(", text) for f in names.split()):
                    found[f"{name}.{library}.c"] = suite, head + f"#define FUNCTIONS_{library}\n" + functions + body
    return found


def judge_chunk(o, number, suite, chunk, end, enough):
    """What a bench of {name: source} printed, verdicts, and "" or why it is none; nothing where the time is over."""
    left = None if end == float("inf") else end - time.monotonic()
    if enough.is_set() or (left is not None and left <= 0):
        return [], ""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in chunk.items():
            (pathlib.Path(folder) / name).write_text(text)
        gpu = {"CUDA_VISIBLE_DEVICES": common.visible(number % o.gpus)} if o.gpus > 1 else {}
        bench = subprocess.Popen([o.assay, "bench", suite, "--from", folder, "--json", "--no-store", "--threads", "1",
                                  "--no-timing", "--again", "--store", f"{folder}/store", "--device", o.device],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **gpu})
        try:
            text, words = bench.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            bench.terminate()  # it finishes the kernel that it judges, and prints what it has
            text = bench.communicate()[0]
            return json.loads(text or "[]"), ""
        if bench.returncode not in (0, 1):
            why = next((v["detail"] for v in json.loads(text or "[]") if v["verdict"] in MACHINE), words[-500:])
            return [], f"a bench of {', '.join(chunk)} ended with {bench.returncode}: {why}"
        return json.loads(text), ""


def chunks(kernels, judged):
    """One round: (suite, {name: source}), the kernels that were judged least often first."""
    names = sorted(kernels, key=lambda name: judged.get(name, 0))
    for suite in sorted({suite for suite, _ in kernels.values()}):
        mine = [name for name in names if kernels[name][0] == suite]
        for i in range(0, len(mine), CHUNK):
            yield suite, {name: kernels[name][1] for name in mine[i:i + CHUNK]}


def library_of(name):
    return next((library for library in LIBRARIES if name.endswith(f".{library}.c")), "its own")


def count(result, verdicts):
    for v in verdicts:
        name = pathlib.Path(v["candidate"]).name
        result["judged"][name] = result["judged"].get(name, 0) + 1
        if v["verdict"] in MACHINE:
            result["not_judged"] += 1
            continue
        result["verdicts"] += 1
        result["questions"] += len(v["checks"])
        row = result["by_library"].setdefault(library_of(name), {"verdicts": 0, "false_alarms": 0})
        row["verdicts"] += 1
        worst = max((c["z_max"] / c["z_limit"] for c in v["checks"] if c["z_max"] and c["z_limit"]), default=0)
        most = result["largest"].get(name, 0)
        result["largest"][name] = max(most, round(worst, 3))
        if v["verdict"] != "pass":
            row["false_alarms"] += 1
            result["false_alarms"].append({key: v[key] for key in ("task", "verdict", "detail", "seed", "secret")} |
                                          {"kernel": name})
            print(f"{name}: {v['verdict']}: {v['detail']} --seed={v['seed']} --secret={v['secret']}", flush=True)


def empty_result():
    return {"verdicts": 0, "questions": 0, "not_judged": 0, "kernels": 0, "seconds": 0, "by_library": {}, "largest": {},
            "judged": {}, "failures": [], "false_alarms": []}


def save(out, result, seconds):
    """Whole or not at all: a run may be ended here."""
    result["date"] = datetime.date.today().isoformat()
    beside = out.with_suffix(".part")
    beside.write_text(json.dumps(result | {"seconds": round(result["seconds"] + seconds)}, indent=1) + "\n")
    beside.replace(out)


def judge_round(o, kernels, result, begin, seen):
    """All kernels once, unless there are verdicts enough or the time is over before."""
    before, enough = result["verdicts"] + result["not_judged"], threading.Event()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        running = [pool.submit(judge_chunk, o, number, suite, chunk, begin + o.seconds, enough)
                   for number, (suite, chunk) in enumerate(chunks(kernels, result["judged"]))]
        for i, done in enumerate(concurrent.futures.as_completed(running)):
            verdicts, failure = done.result()
            keys = [(v["seed"], v["secret"]) for v in verdicts]
            if seen & set(keys) or len(set(keys)) < len(keys):
                failure, verdicts = "a verdict was not judged anew", []
            if failure:
                result["failures"].append(failure)
                print(failure, flush=True)
            seen |= set(keys)
            count(result, verdicts)
            save(o.out, result, time.monotonic() - begin)
            if result["verdicts"] >= o.verdicts:
                enough.set()
            if verdicts and (i % 16 == 0 or i + 1 == len(running)):
                print(f"{result['verdicts']} verdicts of {len(kernels)} kernels, {len(result['false_alarms'])} false "
                      f"alarms, {round(time.monotonic() - begin)} s", flush=True)
    return result["verdicts"] + result["not_judged"] > before


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--verdicts", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--gpus", type=int, default=1)
    parser.add_argument("--only", default="*")
    parser.add_argument("--own", action="store_true")
    parser.add_argument("--device", choices=FOLDERS, default="cpu")
    o = parser.parse_intermixed_args()
    files = [path for folder in FOLDERS[o.device]
             for path in sorted((HOUSE / folder).glob("*" + ENDINGS[o.device]))] + o.files
    kernels = {name: source for name, source in sources(files, {} if o.own else LIBRARIES).items()
               if fnmatch.fnmatch(name, o.only)}
    result = json.loads(o.out.read_text()) if o.out.exists() else {}
    result = empty_result() | result | {"kernels": len(kernels)}
    begin, seen, going = time.monotonic(), set(), True
    while going and result["verdicts"] < o.verdicts and time.monotonic() - begin < o.seconds:
        going = judge_round(o, kernels, result, begin, seen)
    return 1 if result["false_alarms"] or result["failures"] or not going else 0


if __name__ == "__main__":
    sys.exit(main())
