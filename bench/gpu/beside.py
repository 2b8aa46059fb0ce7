#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The candidates of bench/beside, judged by KernelBench's own harness and by Assay, in one call: who says what.

usage: beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json [--seconds S] [--each S] [--only TEXT] [--workload full] [--jobs N]
       beside.py --table OUT.json

Needs a GPU, PyTorch and Triton in the Python that runs this (and in $ASSAY_PYTHON), nvcc and ninja. Every candidate gets
two processes, one after the other: KernelBench's eval_kernel_against_ref with its reference at the published shapes (5
correctness trials, 100 performance trials, build folders empty), and `assay judge` with its probes. --each limits each of
them, --seconds all of it: what is not reached then is listed, and a second call with the same OUT.json goes on there. With
--jobs N the harness judges N candidates at a time, all of them before Assay's turn: its verdicts are what they are, its times
and speedups are rough then. What changed since is judged again. --only takes candidates whose path contains TEXT.
OUT.json is written after each candidate, and OUT.md next to it; --table prints that from a file.
"""
import concurrent.futures
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import common
import verdicts

CANDIDATES = os.path.join(common.ROOT, "bench/beside")
KINDS = "inline", "triton", "torch"

# Arguments: checkout, reference, candidate, backend, build folder.
HARNESS = common.KERNELBENCH_STAND_INS + r'''
checkout, reference, candidate, backend, folder = sys.argv[1:]
harness = import_harness(checkout)
result = harness.eval_kernel_against_ref(
    open(reference).read(), open(candidate).read(), num_correct_trials=5, num_perf_trials=100, measure_performance=True,
    build_dir=folder, backend=backend)
facts = None
if result is not None:
    facts = {"compiled": result.compiled, "correct": result.correctness, "runtime_ms": result.runtime,
             "reference_ms": result.ref_runtime, "excessive": bool(result.metadata.get("excessive_speedup")),
             "notes": {name: str(value)[:300] for name, value in result.metadata.items()
                       if name not in ("hardware", "device", "excessive_speedup", "runtime_error_traceback")}}
print("RESULT", json.dumps(facts), flush=True)  # before what the candidate left for the end of the process
'''


# ---- the candidates

def read_candidate(path):
    """What its first lines say: `# beside: honest`, or `# beside: cheat N` with the catalogue's number. `defused` after
    it: its plan has nothing of the cheat any more, so it is right to pass it with the time that it takes."""
    with open(path, encoding="utf-8") as file:
        source = file.read()
    lines = source.splitlines()
    found = {"file": os.path.relpath(path, CANDIDATES), "kind": os.path.basename(os.path.dirname(path)),
             "sha256": hashlib.sha256(source.encode()).hexdigest()}
    words = []
    for line in lines:
        if not line.startswith("#"):
            break
        told = re.fullmatch(r"# (beside|assay): (\S+) ?(.*)", line)
        if not told:
            words.append(line.lstrip("# "))
        elif told.group(1) == "assay":
            found[told.group(2)] = told.group(3)
        elif told.group(2) in ("honest", "cheat"):
            number, _, defused = told.group(3).partition(" ")
            found.update(honest=told.group(2) == "honest", cheat=int(number) if number else None,
                         defused=defused == "defused")
        elif told.group(2) == "expect-cpu":
            found["expect_cpu"] = told.group(3)
    missing = [name for name in ("task", "expect", "honest") if name not in found]
    if missing or found["honest"] != (found["cheat"] is None):
        raise ValueError(f"{path}: its first lines lack {', '.join(missing) or 'what kind of candidate it is'}")
    found["what"] = " ".join(words)
    return found


def read_candidates(only=""):
    """One of each kind, then the next of each kind: whatever ends early has seen something of all."""
    paths = [path for kind in KINDS for path in glob.glob(os.path.join(CANDIDATES, kind, "*.py"))]
    paths.sort(key=lambda path: (os.path.basename(path)[:2], KINDS.index(os.path.basename(os.path.dirname(path)))))
    return [c for c in map(read_candidate, paths) if only in c["file"]]


def reference_of(checkout, task):
    """The suite's file of kernelbench/LEVEL/NUMBER."""
    _, level, number = task.split("/")
    found = glob.glob(os.path.join(checkout, "KernelBench", f"level{level}", f"{number}_*.py"))
    if len(found) != 1:
        raise ValueError(f"{checkout} has {len(found)} files for {task}")
    return found[0]


# ---- the two judges

def run_limited(command, limit, environment):
    """(seconds, output, errors, whether it ended by itself); at its limit it ends with all its children."""
    start = time.monotonic()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          env=environment, start_new_session=True) as child:
        try:
            out, errors = child.communicate(timeout=limit)
            ended = True
        except BaseException as why:  # an interrupt, too, must leave nothing
            os.killpg(child.pid, signal.SIGKILL)
            out, errors = child.communicate()
            ended = False
            if not isinstance(why, subprocess.TimeoutExpired):
                raise
    return time.monotonic() - start, out, errors, ended


def parse_harness(seconds, out, errors, ended):
    """What KernelBench says: {"says", "correct", "runtime_ms", "speedup", ...}. The last RESULT line counts, as a
    candidate may print too."""
    found = {"seconds": round(seconds, 2), "says": "nothing", "compiled": None, "correct": False, "runtime_ms": None,
             "reference_ms": None, "speedup": None, "excessive": False, "notes": {}}
    lines = [line for line in out.splitlines() if line.startswith("RESULT ")]
    facts = json.loads(lines[-1][len("RESULT "):]) if lines else None
    if not ended:
        found["says"] = "timeout"
    elif facts:
        runtime, reference = (facts[name] if facts[name] and facts[name] > 0 else None
                              for name in ("runtime_ms", "reference_ms"))
        found.update(facts, runtime_ms=runtime, reference_ms=reference)
        found["says"] = "correct" if facts["correct"] else "wrong" if facts["compiled"] else "does not compile"
        if facts["correct"] and runtime and reference:
            found["speedup"] = reference / runtime
    else:  # no result, or None: the harness takes some errors for a lock that somebody else holds
        found["notes"] = {"last_words": (out + errors).strip()[-400:]}
    return found


def parse_verdict(seconds, out, errors, ended):
    """What Assay says: {"verdict", "detail", "median_ms", "mode", "kernels"}."""
    found = {"seconds": round(seconds, 2), "verdict": None, "detail": "", "median_ms": None, "mode": None,
             "kernels": None, "suspicious": False}
    try:
        facts = json.loads(out)[0]
    except ValueError:
        facts = {"verdict": "judge_failed"}
    if facts["verdict"] == "judge_failed":
        found["detail"] = "timeout" if not ended else errors.strip()[-400:]
        return found
    timing = facts.get("timing") or {}
    median = timing.get("median_ns")
    found.update(verdict=facts["verdict"], detail=facts["detail"], mode=facts.get("mode"), kernels=facts.get("kernels"),
                 suspicious=bool(timing.get("suspicious")))
    if isinstance(median, (int, float)):
        found["median_ms"] = median / 1e6
    return found


def ask_kernelbench(checkout, candidate, script, limit):
    folder = tempfile.mkdtemp()
    environment = dict(os.environ, TORCH_EXTENSIONS_DIR=folder)
    environment.setdefault("TORCH_CUDA_ARCH_LIST", "9.0")
    backend = "triton" if candidate["kind"] == "triton" else "cuda"
    try:
        return parse_harness(*run_limited([sys.executable, script, checkout, reference_of(checkout, candidate["task"]),
                                           os.path.join(CANDIDATES, candidate["file"]), backend, folder], limit,
                                          environment))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ask_assay(assay, candidate, workload, limit):
    command = [assay, "judge", candidate["task"], os.path.join(CANDIDATES, candidate["file"]), "--device", "cuda",
               "--workload", workload, "--memory", "4096", "--no-store", "--json"]
    environment = dict(os.environ)
    environment.setdefault("ASSAY_PYTHON", sys.executable)
    return parse_verdict(*run_limited(command, limit, environment))


# ---- what it comes to

def as_expected(row):
    return row["assay"]["verdict"] in row["expect"].split("|")


def count(rows, test):
    return sum(1 for row in rows if test(row))


def correct(row):
    return row["kernelbench"]["correct"]


def refused(row):
    return not correct(row) and row["kernelbench"]["says"] != "nothing"


def passed(row):
    return row["assay"]["verdict"] == "pass"


def failed(row):
    return row["assay"]["verdict"] not in ("pass", None)


def summary(rows):
    """Numbers over the rows that both judged. A judge without an answer (no device, an error that is not the
    candidate's, a crash) has neither accepted nor refused."""
    honest, cheats = [r for r in rows if r["honest"]], [r for r in rows if not r["honest"]]
    return {
        "judged": len(rows), "honest": len(honest), "cheats": len(cheats),
        "cheats_accepted_by_kernelbench": count(cheats, correct),
        "of_these_flagged_as_too_fast": count(cheats, lambda r: correct(r) and r["kernelbench"]["excessive"]),
        "cheats_passed_by_assay": count(cheats, passed),
        "of_these_with_nothing_left_of_the_cheat": count(cheats, lambda r: passed(r) and r["defused"]),
        "honest_refused_by_kernelbench": count(honest, refused),
        "honest_flagged_as_too_fast": count(honest, lambda r: correct(r) and r["kernelbench"]["excessive"]),
        "honest_refused_by_assay": count(honest, failed),
        "kernelbench_said_nothing": [r["file"] for r in rows if not correct(r) and not refused(r)],
        "assay_said_nothing": [r["file"] for r in rows if not passed(r) and not failed(r)],
        "kernelbench_seconds_median": statistics.median(r["kernelbench"]["seconds"] for r in rows) if rows else None,
        "assay_seconds_median": statistics.median(r["assay"]["seconds"] for r in rows) if rows else None,
        "unexpected": [r["file"] for r in rows if not as_expected(r)],
    }


def line_of(s, missing):
    if not s["judged"]:
        return f"nothing judged, {len(missing)} not reached"
    silent = [f"{name} said nothing about {', '.join(files)}." for name, files in (
        ("KernelBench's harness", s["kernelbench_said_nothing"]), ("Assay", s["assay_said_nothing"])) if files]
    return " ".join([
        f"{s['judged']} judged, {len(missing)} not reached. Of {s['cheats']} cheats KernelBench's harness accepts",
        f"{s['cheats_accepted_by_kernelbench']} ({s['of_these_flagged_as_too_fast']} of them flagged as too fast), Assay",
        f"passes {s['cheats_passed_by_assay']} ({s['of_these_with_nothing_left_of_the_cheat']} of them with nothing left",
        f"of the cheat). Of {s['honest']} honest ones KernelBench's harness refuses",
        f"{s['honest_refused_by_kernelbench']} (and flags {s['honest_flagged_as_too_fast']}), Assay",
        f"{s['honest_refused_by_assay']}. Seconds a candidate: {s['kernelbench_seconds_median']:.1f} and",
        f"{s['assay_seconds_median']:.1f}. Verdicts of Assay's that were not expected:",
        f"{', '.join(s['unexpected']) or 'none'}.", *silent])


def number(value, form):
    return format(value, form) if value is not None else "-"


def table(result):
    lines = ["| candidate | task | | KernelBench | ms | speedup | s | Assay | ms | kernels | s |",
             "|---|---|---|---|---|---|---|---|---|---|---|"]
    for row in result["rows"]:
        theirs, ours = row["kernelbench"], row["assay"]
        what = "honest" if row["honest"] else f"cheat {row['cheat']}"
        verdict = (ours["verdict"] or "nothing") + ("" if as_expected(row) else f" (expected {row['expect']})")
        cells = (row["file"], row["task"].removeprefix("kernelbench/"), what,
                 theirs["says"] + (", flagged" if theirs["excessive"] else ""), number(theirs["runtime_ms"], ".3g"),
                 number(theirs["speedup"], ".3g"), number(theirs["seconds"], ".1f"), verdict,
                 number(ours["median_ms"], ".3g"), verdicts.kernels(ours), number(ours["seconds"], ".1f"))
        lines.append("| " + " | ".join(cell.replace("|", " or ") for cell in cells) + " |")
    for file in result["not_reached"]:
        lines.append(f"| {file} | | | not reached |" + " |" * 7)
    return "\n".join(lines) + "\n\n" + line_of(result["summary"], result["not_reached"]) + "\n"


def write(out, result, candidates, judged):
    order = [c["file"] for c in candidates]
    result["rows"] = sorted(judged.values(), key=lambda r: (KINDS.index(r["kind"]), r["file"]))
    result["not_reached"] = [file for file in order if file not in judged]
    result["summary"] = summary(result["rows"])
    os.makedirs(os.path.dirname(os.path.abspath(out)), exist_ok=True)
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(os.path.splitext(out)[0] + ".md", "w", encoding="utf-8") as file:
        file.write(table(result))


def earlier(out, candidates):
    """What an earlier call has judged of the same files, unless one of the two said nothing."""
    if not os.path.exists(out):
        return {}
    with open(out, encoding="utf-8") as file:
        rows = {row["file"]: row for row in json.load(file)["rows"]}
    return {c["file"]: rows[c["file"]] for c in candidates
            if c["file"] in rows and rows[c["file"]]["sha256"] == c["sha256"]
            and rows[c["file"]]["assay"]["verdict"] and rows[c["file"]]["kernelbench"]["says"] != "nothing"}


def ask_in_time(ask, options, end):
    """What `ask`, given a limit, finds; None when the time of the whole run cut it off."""
    left = end - time.monotonic()
    if left <= 0:
        return None
    found = ask(min(options["each"], left))
    return None if left < options["each"] and found["seconds"] >= left else found


def judge_one(assay, checkout, script, candidate, options, end, theirs=None):
    """The row of a candidate; None when there was no time for one of the two. `theirs` is what the harness said before."""
    row = dict(candidate)
    row["harness_processes_at_a_time"] = options["jobs"]
    row["kernelbench"] = theirs or ask_in_time(
        lambda limit: ask_kernelbench(checkout, candidate, script, limit), options, end)
    row["assay"] = row["kernelbench"] and ask_in_time(
        lambda limit: ask_assay(assay, candidate, options["workload"], limit), options, end)
    return row if row["assay"] else None


def ask_kernelbench_all(checkout, script, candidates, options, end):
    """{file: what the harness says}, so many at a time as --jobs has. A third of the time is left to Assay."""
    end -= (end - time.monotonic()) / 3
    with concurrent.futures.ThreadPoolExecutor(options["jobs"]) as pool:
        asked = {c["file"]: pool.submit(ask_in_time, lambda limit, c=c: ask_kernelbench(checkout, c, script, limit), options,
                                        end) for c in candidates}
        return {file: future.result() for file, future in asked.items()}


def judge_all(assay, checkout, out, candidates, options):
    commit = common.run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip()
    result = {"command": f"bench/gpu/beside.py ASSAY KERNELBENCH_CHECKOUT OUT.json --jobs {options['jobs']}",
              "date": time.strftime("%Y-%m-%d"),
              "commit": commit, "machine": common.machine(), "workload": options["workload"]}
    judged = earlier(out, candidates)
    end = time.monotonic() + options["seconds"]
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "harness.py")
        with open(script, "w", encoding="utf-8") as file:
            file.write(HARNESS)
        left = [c for c in candidates if c["file"] not in judged]
        said = ask_kernelbench_all(checkout, script, left, options, end) if options["jobs"] > 1 else {}
        for candidate in left:
            if said and not said[candidate["file"]]:
                continue
            row = judge_one(assay, checkout, script, candidate, options, end, said.get(candidate["file"]))
            if not row:
                break
            judged[candidate["file"]] = row
            write(out, result, candidates, judged)
            print(f"{row['file']:28} {row['kernelbench']['says']:16} {row['assay']['verdict'] or 'nothing':16} "
                  f"{row['kernelbench']['seconds']:6.1f} s {row['assay']['seconds']:6.1f} s  "
                  f"{row['assay']['detail'][:80]}", flush=True)
    write(out, result, candidates, judged)
    return result


def main():
    arguments = sys.argv[1:]
    shown = common.option(arguments, "--table", None)
    if shown:
        with open(shown, encoding="utf-8") as file:
            print(table(json.load(file)), end="")
        return
    options = {"seconds": float(common.option(arguments, "--seconds", 3600)),
               "each": float(common.option(arguments, "--each", 180)),
               "workload": common.option(arguments, "--workload", "full"),
               "jobs": int(common.option(arguments, "--jobs", 1))}
    candidates = read_candidates(common.option(arguments, "--only", ""))
    if len(arguments) != 3:
        sys.exit(__doc__)
    result = judge_all(*arguments, candidates, options)
    print("\n" + table(result), end="")


if __name__ == "__main__":
    main()
