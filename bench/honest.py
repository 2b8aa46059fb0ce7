#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Judges honest kernels again and again, each time with other seeds and secrets: how often is a right kernel refused?

    bench/honest.py ASSAY OUT.json [--verdicts N] [--seconds N] [--benches N] [--only GLOB] [FILE...]

The kernels are those of tests/cases that must pass, in every form that must pass, and FILEs; and each of them that
calls exp, log, tanh, erf or the like once more with the functions of other libraries (bench/honest_functions.h). Each
is judged at `small`, with all questions and without times. OUT.json has the counts and every
false alarm with its seed, secret and command. Runs go on where the last one ended (its counts are added to) until there
are N verdicts, 10000 if not said, or the seconds have passed: then the round is finished. Exit code 1: false alarms.
"""
import argparse
import collections
import datetime
import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HOUSE = pathlib.Path(__file__).resolve().parent.parent
DIRECTIVE = re.compile(r"^// assay: (?:(expect) (\S+)|twin (\w+)( at \S+)? expect (\S+))")
LIBRARIES = {"CEPHES": "exp log tanh", "XLA": "tanh erf expm1 log1p", "FAST": "exp",
             "STATED": "exp exp2 log log2 tanh erf erfc expm1 log1p"}
MACHINE = ("judge_failed",)


def honest_forms(text):
    """The macros under which a file must pass; None: as it is, where it does not say otherwise."""
    found = [DIRECTIVE.match(line) for line in text.splitlines()]
    found = [m for m in found if m]
    forms = [None] if all(m.group(2) == "pass" for m in found if m.group(1)) else []
    return forms + [m.group(3) for m in found if m.group(5) == "pass" and not m.group(4)]


def sources(paths):
    """{name: source}: every form of every file, with every library whose functions it calls."""
    functions = (HOUSE / "bench" / "honest_functions.h").read_text()
    found = {}
    for path in paths:
        text = path.read_text(errors="replace")
        task = re.search(r"^// assay: task (\S+)", text, re.M)
        if not task:
            continue
        body = "\n".join("//" if line.startswith("// assay:") else line for line in text.splitlines()) + "\n"
        for form in honest_forms(text):
            head = f"// assay: task {task.group(1)}\n" + (f"#define {form}\n" if form else "")
            name = path.stem + (f".{form}" if form else "")
            found[f"{name}.c"] = head + body
            for library, names in LIBRARIES.items():
                if any(re.search(rf"\b{f}f\(", text) for f in names.split()):
                    found[f"{name}.{library}.c"] = head + f"#define FUNCTIONS_{library}\n" + functions + body
    return found


def judge_all(assay, folder, benches, seen):
    """One round: the files of each subfolder by a bench of its own. Returns the verdicts."""
    running = [subprocess.Popen([assay, "bench", "kernelbench", "--from", str(folder / str(i)), "--json", "--no-store",
                                 "--threads", "1", "--no-timing", "--again", "--store", str(folder / "store")],
                                stdout=subprocess.PIPE, text=True)
               for i in range(benches)]
    verdicts = []
    for bench in running:
        text = bench.communicate()[0]
        if bench.returncode not in (0, 1):
            sys.exit(f"a bench ended with {bench.returncode}")
        verdicts += json.loads(text)
    if seen & (new := {(v["seed"], v["secret"]) for v in verdicts}):
        sys.exit("a verdict was not judged anew")
    seen |= new
    return verdicts


def library_of(name):
    return next((library for library in LIBRARIES if name.endswith(f".{library}.c")), "its own")


def count(result, verdicts):
    for v in verdicts:
        name = pathlib.Path(v["candidate"]).name
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
            "false_alarms": []}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("assay")
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    parser.add_argument("--verdicts", type=int, default=10000)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--benches", type=int, default=2)
    parser.add_argument("--only", default="*")
    o = parser.parse_intermixed_args()
    kernels = {name: text for name, text in sources(sorted((HOUSE / "tests" / "cases").glob("*.c")) + o.files).items()
               if fnmatch.fnmatch(name, o.only)}
    result = json.loads(o.out.read_text()) if o.out.exists() else empty_result()
    begin, seen = time.monotonic(), set()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for i, (name, text) in enumerate(kernels.items()):
            part = folder / str(i % o.benches)
            part.mkdir(exist_ok=True)
            (part / name).write_text(text)
        while result["verdicts"] < o.verdicts and time.monotonic() - begin < o.seconds:
            started = time.monotonic()
            count(result, judge_all(o.assay, folder, min(o.benches, len(kernels)), seen))
            result["kernels"] = len(kernels)
            result["seconds"] = round(result["seconds"] + time.monotonic() - started)
            result["date"] = datetime.date.today().isoformat()
            o.out.write_text(json.dumps(result, indent=1) + "\n")
            print(f"{result['verdicts']} verdicts of {len(kernels)} kernels, {len(result['false_alarms'])} false alarms, "
                  f"{result['seconds']} s", flush=True)
    return 1 if result["false_alarms"] else 0


if __name__ == "__main__":
    sys.exit(main())
