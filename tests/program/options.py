#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""options.py ASSAY SOURCE [COMMAND...]: every option of every command, as `--describe` lists them (what help, manuals and completions
are made of). One that takes a value refuses a wrong one with a sentence that names the option or the value; each
changes what comes out: the text, the files written, the store, or what a model is asked (option_effects.py).
An option without a row there fails.
"""
import concurrent.futures
import contextlib
import difflib
import hashlib
import http.server
import itertools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading

from option_effects import CL, EFFECTS, ELSEWHERE, LATER, NOWHERE, RELU, SAME, SIGMOID, TASK, TIMED_SIZES

assay, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
COMMANDS = sys.argv[3:]
failures, passed = [], 0
work = tempfile.TemporaryDirectory()
here = pathlib.Path(work.name)
os.environ.update(ASSAY_STORE=str(here / "store.sqlite"), XDG_CONFIG_HOME=str(here), TMPDIR=str(here), TERM="xterm",
                  ASSAY_PROC=str(source / "tests/support/quiet"))
os.environ.pop("CI", None)
os.chdir(here)


def run(*words):
    limit = 10 if words[0] == "serve" else 60
    try:
        done = subprocess.run([assay, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return 124, ""  # a server that went to work
    return done.returncode, done.stdout + done.stderr


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

# Times, and everything else that two runs of one command differ in.
VOLATILE = re.compile(r'"durations_ns": {[^}]*}|\b[0-9]{15,20}\b|'
                      r'[0-9.]+(e-?[0-9]+)? ?(ns|us|ms|s|GB|%)\b|[0-9.]+ ?%|"(began|ended|judged|time|date|elapsed)[a-z_]*": [^,\n]*|'
                      r'assay-(?:[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-)?[A-Za-z0-9]{6}|-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?')
PREPARED = here / "prepared.sqlite"
COLUMNS = {"verdict": "run, task, form, workload, device, reason, seed, settings_hash, toolchain, command",
           "step": "run, task, number, kind, model, outcome, verdict > 0, prompt", "trial": "run, task, workload, device"}


class Server(http.server.BaseHTTPRequestHandler):
    """A model: it replies with the kernel, and what was asked is an effect."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = (here / "reply").read_text()
        answer = {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                  "usage": {"prompt_tokens": 10, "completion_tokens": 10}}
        ASKED.setdefault(self.path.split("/")[1], []).append((self.path.split("/", 2)[2], json.dumps(body, sort_keys=True)))
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


ASKED = {}
OF_TIMES = {"unstable", "suspicious", "busy", "time", "load", "cpus", "machine", "too", "clock", "not", "reached", "null", "precise"}
NUMBERS = itertools.count()


def outcome(words):
    """All that can be seen of a command, in a folder and with a store of its own: code, text, files, rows, requests."""
    number = str(next(NUMBERS))
    folder = here / f"run{number}"
    folder.mkdir()
    shutil.copy(PREPARED, folder / "store.sqlite")
    for old, new in (("REPLY", here / "reply"), ("WRONG", here / "wrong"), ("PLAN", here / "plan"), ("TUNED", here / "tuned.c"), ("TWO", here / "two"), ("SERVER", f"http://127.0.0.1:{SERVER.server_port}/{number}")):
        words = [re.sub(rf"\b{old}\b", str(new), w) for w in words]
    done = subprocess.run([assay, *words], stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=300, cwd=folder,
                          env=os.environ | {"ASSAY_STORE": str(folder / "store.sqlite"), "XDG_DATA_HOME": str(folder)})
    rows = []
    with contextlib.closing(sqlite3.connect(folder / "store.sqlite")) as store:
        for table, columns in COLUMNS.items():
            rows += [plain(repr(row), folder, number) for row in store.execute(f"SELECT {columns} FROM {table} ORDER BY id")]
    files = sorted(str(f.relative_to(folder)) for f in folder.rglob("*") if f.is_file() and "sqlite" not in f.name)
    content = [hashlib.sha256(plain((folder / f).read_text("latin-1"), folder, number).encode()).hexdigest() for f in files]
    shutil.rmtree(folder)
    text = plain((done.stdout + done.stderr).decode("latin-1"), folder, number)
    if any(w.startswith("--samples=") for w in words):
        text = re.sub(r' unstable|"unstable": (true|false)', "", text)  # a time's mark is as volatile as its digits
    if "--samples=20" in words and done.returncode <= 1:  # with times, of which some are unstable, and others the best
        text, content = sorted(set(re.findall(r"[a-z]{3,}", text)) - OF_TIMES), []
        files = [re.sub(r"[.][0-9]+[.]", ".N.", f) for f in files]
    return done.returncode, text, files, content, rows, sorted(ASKED.get(number, []))


def plain(text, folder, number):
    text = VOLATILE.sub("-", text.replace(str(folder), "FOLDER").replace(f":{SERVER.server_port}/{number}", ":PORT"))
    text = re.sub(r"\btuned[.][0-9]+[.]", "tuned.N.", text)  # the fastest is another at times
    return re.sub("  +", "  ", text)  # columns are as wide as the times in them


def prepare():
    """A store with runs r and s (two kernels), t and u (timed, those of u unstable), a reply, a wrong one, and a plan."""
    os.environ["ASSAY_STORE"] = str(PREPARED)
    for name, kernel, define in (("reply", RELU, ""), ("wrong", RELU, "#define IDENTITY\n")):
        (here / name).write_text(f"Here:\n```c\n{define}{pathlib.Path(kernel).read_text()}```\n")
    text = (source / "tests/tuning/matmul.c").read_text()
    text = re.sub(r"// assay: (tune BROKEN|constraint).*\n", "", text).replace("ROWS 4,1,8", "ROWS 4,1").replace("LANES 8,1,4", "LANES 8")
    (here / "tuned.c").write_text(text.replace("#define LANES 8", "#define LANES 8\n#endif\n#ifndef BROKEN", 1))
    (here / "two").mkdir()
    for kernel in (RELU, SIGMOID):
        shutil.copy(kernel, here / "two")
    cases, timed = ["kernelbench/1", "--from", str(source / "tests/cases"), "--no-probes"], ["--samples=20", TIMED_SIZES]
    for run_name, only, more in (("r", "relu.c", ["--no-timing"]), ("s", "sigmoid.c", ["--no-timing"]), ("t", "relu.c", timed),
                                 ("u", "relu.c", timed)):
        code, out = run("bench", *cases, f"--only={only}", f"--run={run_name}", *more)
        expect(code == 0, f"a bench fails: {out}")
    with contextlib.closing(sqlite3.connect(PREPARED)) as store, store:
        store.execute("UPDATE verdict SET unstable = (run = 'u')")
    code, out = run("plan", "save", TASK, CL, "--out", str(here / "plan"))
    expect(code == 0, f"a plan fails: {out}")


def difference(a, b):
    """The first lines in which two outcomes differ."""
    lines = [[line for part in side for line in ("\n".join(map(str, part)) if isinstance(part, list) else str(part)).splitlines()] for side in (a, b)]
    return [line for line in difflib.unified_diff(*lines, n=0, lineterm="") if line[:3] not in ("---", "+++")][:6]


def effects(name, description, pool):
    rows, words = EFFECTS[name], name.replace(" --with", "").split()
    wanted = []
    for option in description["options"]:
        which = f"{name} {option['name']}"
        if which in SAME:
            without, it = SAME[which]
            expect(outcome(words + without) == outcome(words + without + it), f"{which} changes more than the pace")
        elif which in LATER and not COMMANDS:
            continue
        elif which in ELSEWHERE:
            file, pattern = ELSEWHERE[which]
            expect(re.search(pattern, (source / file).read_text()), f"{which} is not in {file}")
        elif option["name"] not in rows:
            expect(False, f"{which} has no row")
        else:
            wanted.append((which, *(tuple(words + part) for part in (rows[option["name"]][0], sum(rows[option["name"]], [])))))
    found = dict(zip(*(lambda all_words: (all_words, pool.map(lambda w: outcome(list(w)), all_words)))(
        sorted({w for _, without, it in wanted for w in (without, it)}))))
    for which, without, it in wanted:
        expect(found[without] != found[it], f"{which} changes nothing: {found[it][:2]}")
    # An effect is one only where the same words do the same twice.
    for without in sorted({without for _, without, _ in wanted}):
        again = outcome(list(without))
        if again != found[without]:
            expect(False, f"{' '.join(without)} is not the same twice: {difference(again, found[without])}")


seen = set()
expect(run("bench", *WHOLE["bench"])[0] == 0, "a bench fails")
prepare()
SERVER = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=SERVER.serve_forever, daemon=True).start()
pool = concurrent.futures.ThreadPoolExecutor(2)
for words, description in commands():
    name = " ".join(words)
    seen.add(name)
    if COMMANDS and name not in COMMANDS:
        continue
    wrong_values(words, description)
    if name not in EFFECTS:
        continue
    effects(name, description | {"options": [o for o in description["options"] if "form" not in o]}, pool)
    if any("form" in o for o in description["options"]):
        effects(f"{name} --with", description | {"options": [o for o in description["options"] if "form" in o]}, pool)
expect({name.replace(" --with", "") for name in EFFECTS} == seen - {"operators"} and {which.rsplit(" ", 1)[0] for which in ANY} <= seen, "a row of no command")


def serves():
    """serve --address: where it listens."""
    with subprocess.Popen([assay, "serve", "--port=0", "--address=127.0.0.2"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        try:
            found = next(filter(None, (re.search(r"127\.0\.0\.2:([0-9]+)", line) for line in server.stdout)), None)
            expect(found, "serve --address: it does not listen there")
        finally:
            server.terminate()


if not COMMANDS or "serve" in COMMANDS:
    serves()
# What would do nothing is no option.
for words in ("doctor --progress none", "runs --tasks x", "compare a b --progress none", "oracle x --store y", "serve --json",
              f"make {TASK} --no-store", f"tune {TASK} {RELU} --no-store",
              f"tune {TASK} {RELU} --secret 2", f"tune {TASK} {RELU} --no-timing",
              "compare x --with y --no-store", f"plan save {TASK} x.cu --no-timing", "plan replay x --samples 20"):
    code, out = run(*words.split())
    expect(code == 2 and "there is no option --" in out, f"{words} is taken: {code} {out[:200]}")
print(f"{passed} passed, {len(failures)} failed")
sys.exit(bool(failures))
