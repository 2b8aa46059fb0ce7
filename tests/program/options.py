#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py ASSAY SOURCE: every option of every command, as `--describe` lists them (what help, manuals and completions
are made of). One that takes a value refuses a wrong one with a sentence that names the option or the value; each of
tasks, show, oracle, judge, trials, score and doctor, and each option of a judgement in bench, changes what comes out.
An option without a row here fails.
"""
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

assay, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
failures, passed = [], 0
work = tempfile.TemporaryDirectory()
here = pathlib.Path(work.name)
os.environ.update(ASSAY_STORE=str(here / "store.sqlite"), XDG_CONFIG_HOME=str(here), TMPDIR=str(here), TERM="xterm")
os.environ.pop("CI", None)
os.chdir(here)
TASK, RELU, SIGMOID = "kernelbench/1/19", str(source / "tests/cases/relu.c"), str(source / "tests/cases/sigmoid.c")
NOWHERE = "/dev/null/x"


def run(*words):
    try:
        done = subprocess.run([assay, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=60)
    except subprocess.TimeoutExpired:
        return 124, ""  # a server that went to work
    return done.returncode, done.stdout + done.stderr + drawn(words)


def drawn(words):
    """What `assay oracle` wrote, in few letters."""
    file = here / "o/input_0.npy"
    return hashlib.sha256(file.read_bytes()).hexdigest() if words[0] == "oracle" and file.exists() else ""


def describe(*words):
    return json.loads(subprocess.run([assay, *words, "--describe"], check=True, capture_output=True, text=True).stdout)


def commands():
    """(words, description) of every command and action."""
    for command in describe()["commands"]:
        found = describe(command["name"])
        if "actions" in found:
            for action in found["actions"]:
                yield (command["name"], action["name"]), describe(command["name"], action["name"])
        else:
            yield (command["name"],), found


def expect(right, what):
    global passed
    passed += bool(right)
    if not right:
        failures.append(what)
        print("FAILED:", what, flush=True)


# ---- wrong values ---------------------------------------------------------------------------------------------------

# Words with which a command has all that it needs, for values that only the work itself can refuse.
WHOLE = {
    "tasks": [TASK], "show": [TASK], "oracle": [TASK, "--outputs", "o"], "judge": [TASK, RELU, "--no-timing"],
    "bench": ["kernelbench/1", "--from", str(source / "tests/cases"), "--only", "relu.c", "--no-timing",
              "--run", "r"],
    "make": [TASK, "--endpoint", "exec:true", "--dry-run"], "tune": [TASK, RELU], "score": ["none"], "runs": [],
    "trials": ["--read", str(source / "README.md")], "compare": ["a", "b"], "report": ["--html", "h"],
    "export": ["r", "--to", "o"], "serve": ["--port", "0"], "doctor": [],
    "plan save": [TASK, str(source / "kernels/cuda/relu.cu"), "--out", "p"], "plan export": [NOWHERE]}
EXTRA = {"export tasks": ["--format", "flashinfer-bench", "--task", TASK]}  # where the option means something
# Any text is a value, or the compiler says what it thinks of it, or the judgements that come of it refuse it as judge does.
ANY = {"bench run", "make model", "make run", "tune run", "export name", "trials run", "trials task", "trials workload",
       "judge define", "bench define", "make define", "tune define", "plan save define", "plan export name",
       "bench only", "make field", "make key-env", "make out", "make compiler", "make weights", "tune workload", "tune compiler",
       "tune weights", "trials device", "serve run", "serve host", "plan check target",
       "plan save compiler"}  # of host code alone
WARNED = {"tasks store", "show store", "judge store", "bench store", "make store", "tune store", "doctor tasks",
          "doctor store"}  # goes on without


def wrong_values(words, description):
    name = " ".join(words)
    for option in description["options"]:
        flag, which = "--" + option["name"], f"{name} {option['name']}"
        if not option["argument"] or which in ANY:
            continue
        text = "x%"
        code, out = run(*words, f"{flag}={text}")
        said = any(text in line or flag in line for line in out.splitlines() if "--help" not in line)
        if code == 2 and said:
            if option["argument"] in ("N", "S", "X", "SECONDS", "MIB"):
                code, out = run(*words, f"{flag}=1x")
                expect(code == 2 and ("1x" in out or flag in out), f"{which}=1x is not refused: {code} {out.strip()[:300]}")
            expect(True, which)
            continue
        # Nothing refused the word; the work does.
        if re.search("DIR|FILE|FOLDER|CHECKOUT", option["argument"]):
            text = NOWHERE
        code, out = run(*words, *WHOLE.get(name, []), *EXTRA.get(which, []), f"{flag}={text}")
        expect((code in (2, 3) or which in WARNED) and (text in out or flag in out), f"{which}={text} is not refused: {code} {out.strip()[:300]}")


# ---- what each does -------------------------------------------------------------------------------------------------

QUIET = ["--no-timing", "--no-probes", "--no-store", "--seed=1", "--secret=2", "--workload=M=3, N=5"]
DRAWN = ["--no-timing", "--no-store", "--seed=1", "--secret=2", "--workload=M=3, N=5"]
TIMED = ["--no-probes", "--no-store", "--seed=1", "--secret=2", "--workload=M=3, N=5", "--samples=20"]
J = [TASK, RELU]
# COMMAND: {option: (words without it, words that are it)}; the two print different things once times and paths are out.
EFFECTS = {
    "tasks": {"lint": ([TASK], ["--lint"]), "as-published": (["kernelbench/1/100"], ["--as-published", "--json"]),
              "workload": ([TASK], ["--workload=M=3, N=5"]), "tasks": ([TASK], ["--tasks", NOWHERE]),
              "store": ([TASK], ["--store", NOWHERE]), "json": ([TASK], ["--json"]),
              "color": (["nosuch"], ["--color=always"]), "progress": ([TASK, "--lint"], ["--progress=lines"])},
    "show": {"as-published": (["kernelbench/1/100"], ["--as-published"]), "workload": ([TASK], ["--workload=M=3, N=5"]),
             "pytorch": ([TASK], ["--pytorch"]), "baseline": ([TASK], ["--baseline=torch.eager"]),
             "contract": ([TASK, "--baseline=torch.eager"], ["--contract=tf32"]),
             "tasks": ([TASK], ["--tasks", NOWHERE]), "store": ([TASK], ["--store", NOWHERE]),
             "json": ([TASK], ["--json"]), "color": (["nosuch"], ["--color=always"])},
    "oracle": {"inputs": ([TASK, "--outputs=o"], ["--inputs", NOWHERE]), "outputs": ([TASK], ["--outputs=o"]),
               "workload": ([TASK, "--outputs=o", "--seed=5"], ["--workload=M=3, N=5"]),
               "probe": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--probe=zero_mean"]),
               "seed": ([TASK, "--outputs=o", "--workload=M=3, N=5"], ["--seed=5"]),
               "as-published": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--as-published"]),
               "tasks": ([TASK, "--outputs=o"], ["--tasks", NOWHERE]),
               "json": ([TASK, "--outputs=o", "--seed=5", "--workload=M=3, N=5"], ["--json"]),
               "color": (["nosuch", "--outputs=o"], ["--color=always"])},
    "judge": {"histogram": (J + TIMED, ["--histogram"]), "workload": (J + QUIET, ["--workload=M=4, N=5"]),
              "seed": (J + QUIET + ["--json"], ["--seed=3"]), "secret": (J + DRAWN + ["--json"], ["--secret=3"]),
              "threads": (J + QUIET + ["--json"], ["--threads=1"]), "device": (J + QUIET, ["--device=opencl"]),
              "toolchain": (J + QUIET + ["--json"], ["--toolchain=nvcc"]), "device-index": (J + QUIET + ["--json"], ["--device-index=1"]),
              "mode": (J + QUIET + ["--json"], ["--mode=process"]), "compiler": (J + QUIET, ["--compiler", "/nowhere/cc"]),
              "as-published": (J + QUIET + ["--json"], ["--as-published"]),
              "weights": (J + QUIET, ["--weights", NOWHERE]), "contract": (J + QUIET + ["--json"], ["--contract=tf32"]),
              "rule": (J + QUIET + ["--json"], ["--rule=allclose"]), "shapes": (J + DRAWN + ["--json"], ["--shapes=judged"]),
              "no-probes": (J + DRAWN + ["--json"], ["--no-probes"]), "hold-out": (J + DRAWN + ["--json"], ["--hold-out=3"]),
              "no-timing": (J + TIMED, ["--no-timing"]), "checks": (J + DRAWN + ["--json"], ["--checks=9"]),
              "samples": (J + TIMED + ["--json"], ["--samples=11"]), "verified": (J + TIMED + ["--json"], ["--verified=12"]),
              "timeout": (J + QUIET + ["--json"], ["--timeout=9"]),
              "budget": (J + QUIET + ["--json"], ["--budget=77"]), "memory": (J + QUIET + ["--json"], ["--memory=99"]),
              "define": (J + QUIET, ["--define=IDENTITY"]),
              "baseline": (J + TIMED, ["--baseline", SIGMOID]), "no-store": (J + ["--no-timing", "--no-probes", "--store", NOWHERE], ["--no-store"]),
              "tasks": (J + QUIET, ["--tasks", NOWHERE]), "store": (J + ["--no-timing", "--no-probes"], ["--store", NOWHERE]),
              "json": (J + QUIET, ["--json"]), "color": (J + QUIET, ["--color=always"]),
              "progress": (J + QUIET, ["--progress=lines"]), "csv": (J + QUIET, ["--csv"]),
              "markdown": (J + QUIET, ["--markdown"]), "junit": (J + QUIET, ["--junit"])},
}
# Shown elsewhere: judge --watch by formats.sh.
ELSEWHERE = {"judge watch"}
VOLATILE = re.compile(r'[0-9.]+ (ns|us|ms|s|GB)\b|"(began|ended|judged|time|date|elapsed)[a-z_]*": [^,\n]*|assay-[A-Za-z0-9]{6}')


def plain(out):
    return VOLATILE.sub("-", out)


def effects(name, description):
    rows = EFFECTS[name]
    for option in description["options"]:
        which = f"{name} {option['name']}"
        if which in ELSEWHERE:
            continue
        if option["name"] not in rows:
            expect(False, f"{which} has no row")
            continue
        without, it = rows[option["name"]]
        a, b = run(*name.split(), *without), run(*name.split(), *without, *it)
        expect((a[0], plain(a[1])) != (b[0], plain(b[1])), f"{which} changes nothing: {a[0]} {a[1][:200]}")


wanted = sys.argv[3:]
seen = set()
expect(run("bench", *WHOLE["bench"])[0] == 0, "a bench fails")
for words, description in commands():
    name = " ".join(words)
    seen.add(name)
    if wanted and name not in wanted:
        continue
    wrong_values(words, description)
    if name in EFFECTS:
        effects(name, description)
expect(set(EFFECTS) <= seen and {which.rsplit(" ", 1)[0] for which in ANY} <= seen, "a row of no command")
# What would do nothing is no option.
for words in ("doctor --progress none", "runs --tasks x", "compare a b --progress none", "oracle x --store y", "serve --json",
              f"plan save {TASK} x.cu --no-timing", "plan replay x --samples 20"):
    code, out = run(*words.split())
    expect(code == 2 and "there is no option --" in out, f"{words} is taken: {code} {out[:200]}")
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
