#!/usr/bin/env python3
"""Makes wrong variants of the shipped kernels, judges them, and says what became of each kind.

    bench/kernel_mutants/run.py ASSAY OUT.json [--device cpu|opencl|cuda] [--count N] [--seed N] [--only GLOB]
                                [--work DIR] [--chunk N] [--jobs N] [--gpus N] [--seconds S] [--strict] [--no-proofs]
    bench/kernel_mutants/run.py ASSAY OUT.json --device cuda --count 2000       on a machine with a GPU
    bench/kernel_mutants/run.py ASSAY OUT.json --device cuda --proofs           afterwards, anywhere with nvcc
    bench/kernel_mutants/run.py ASSAY OUT.json --device D --again [--state S]... what passed, by a judge that asks more
    bench/kernel_mutants/run.py ASSAY OUT.json --device D --again --workload full --quick   and at another workload
    bench/kernel_mutants/run.py --settle OUT.json        what became of open ones by the arguments, without judging
    bench/kernel_mutants/run.py --list FILE                                     all mutants of one file
    bench/kernel_mutants/run.py --page [--check]       the tables of docs/evidence/mutants.md, from bench/results

cpu: tests/cases, opencl: tests/opencl, cuda: kernels/cuda. Which of all mutants are taken depends on the seed alone: as
many of each kind as there are, up to an equal share, in turn from each file. They are judged many at a time by `assay
bench` with a seed and a secret that are the same for all, so that the oracle answers each question once. --jobs benches
run at once, on --gpus GPUs in turn. --seconds: then no bench is begun, and what is judged is counted. What has
passed and does not compile to the same code as the kernel is judged by two other seeds. The rest is looked up in
equivalent.tsv. Finished chunks are kept in the working folder (default: OUT.json.work): run it again to go on.

A mutant is
    killed       not passed by the contract, in the first judgement or a later one (`late`)
    same_code    compiled to the same instructions as the kernel by one of several compilers and levels
    argued       equivalent by an argument that stands in equivalent.tsv
    elsewhere    wrong, but only at other shapes or on another device than it was judged at, as that table says
    race         wrong by the programming model; the run happened not to lose, and values do not show it
    unasked      wrong by reading, at a shape that was not asked; nobody has judged it there
    hole         wrong by reading, for values or memory that the judge does not ask about and should
    open         none of these
--again judges mutants of a result that passed once more, and counts those that do not pass now as killed (`late`); of
kernels that were changed since, the same change at the nearest line. --state hole: only those in that state.
Those that no compiler takes are no mutants. `allclose` is what the published rule would have said of the first
judgement's draw of the task's own inputs at the judged shape, at 1e-4 and at 1e-2. --strict: exit 1 if one is open.
"""
import argparse
import collections
import concurrent.futures
import datetime
import fnmatch
import hashlib
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "gpu")]
import common  # noqa: E402
import engine  # noqa: E402

HOUSE = HERE.parent.parent
CORPORA = {"cpu": ("tests/cases", "*.c"), "opencl": ("tests/opencl", "*.cl"), "cuda": ("kernels/cuda", "*.cu")}
NOT_MUTANTS = {"build_failed", "build_limit"}  # no compiler takes them
LOOKS = 3
ELSEWHERE = "only "  # how classes of equivalent.tsv begin that are no proof
WRONG = {"race": "race", "not asked": "unasked", "hole": "hole"}  # classes of what is wrong and was not killed
STATES = ("same_code", "argued", "elsewhere", "race", "unasked", "hole", "open")  # of what passed the first look


def task_of(path):
    found = re.search(r"^// assay: task (\S+)", path.read_text(), re.M)
    return found.group(1) if found else None


def corpus(device, only):
    folder, ending = CORPORA[device]
    paths = sorted((HOUSE / folder).glob(ending))
    return [p for p in paths if task_of(p) and (not only or any(fnmatch.fnmatch(p.stem, o) for o in only))]


def chosen(paths, count, seed):
    """So many mutants: of each kind an equal share, as far as there are so many, in turn from each file."""
    by_kind = {k: collections.defaultdict(list) for k in engine.KINDS}
    for path in paths:
        for m in engine.mutants(path):
            by_kind[m.kind][path.name].append(m)
    picked, left = [], count
    order = sorted(engine.KINDS, key=lambda k: sum(map(len, by_kind[k].values())))
    for n, kind in enumerate(order):
        dice = random.Random(f"{seed} {kind}")
        files = [by_kind[kind][name] for name in sorted(by_kind[kind])]
        dice.shuffle(files)
        for f in files:
            dice.shuffle(f)
        share = min(left // (len(order) - n), sum(map(len, files)))
        turn = 0
        while share > 0:
            taken = [f[turn] for f in files if turn < len(f)][:share]
            picked += taken
            share -= len(taken)
            left -= len(taken)
            turn += 1
    return sorted(picked, key=lambda m: (task_of(m.path), m.name))


def judge(a, files, suite, look, number=0):
    """Verdicts of (name, text), by name."""
    gpu = {"CUDA_VISIBLE_DEVICES": common.visible(number % a.gpus)} if a.gpus > 1 else {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        by_hash = {}
        for name, text in files:
            pathlib.Path(folder, name).write_text(text)
            by_hash.setdefault(hashlib.sha256(text.encode()).hexdigest(), []).append(name)
        command = [a.assay, "bench", suite, "--from", folder, "--device", a.device, "--no-timing", "--json",
                   "--workload", a.workload,
                   "--no-store", "--store", str(pathlib.Path(folder, "none.sqlite")), "--timeout", "3",
                   "--seed", str(1000 + look), "--secret", str(a.seed + 7919 * look),
                   *(["--threads", "1"] if a.jobs > 1 else [])]
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env={**os.environ, **gpu})
        try:
            verdicts = json.loads(done.stdout)
        except ValueError:
            sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
        verdicts = verdicts["verdicts"] if isinstance(verdicts, dict) else verdicts
        out = {}
        for v in verdicts:
            for name in by_hash.get(v.get("candidate_sha256"), []):
                out[name] = v
        if not out:
            sys.exit(f"{' '.join(command)}: no verdict\n{done.stderr[-2000:]}")
        return out


def facts(v):
    declared = [c for c in v["checks"]
                if c["probe"] == "declared" and c["workload"] == v["workload"] and not c["timed"]]
    return {"verdict": v["verdict"], "detail": v.get("detail", "")[:200],
            "close": [bool(declared) and not any(c[key] for c in declared) for key in
                      ("allclose_bad", "allclose_1e-2_bad")],
            "asked": bool(declared)}


class Work:
    """What is finished, a line each, in a folder."""

    def __init__(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "judged.jsonl"
        self.rows = {}
        if self.path.exists():
            for line in self.path.read_text().splitlines():
                try:
                    row = json.loads(line)
                except ValueError:
                    continue  # the last line of a run that was killed
                self.rows[row["id"], row["look"]] = row

    def add(self, rows):
        with self.path.open("a") as f:
            for row in rows:
                self.rows[row["id"], row["look"]] = row
                f.write(json.dumps(row) + "\n")


def look_at(a, work, wanted, look):
    """Judges mutants that have no row of this look. What the machine failed at is judged once more."""
    for attempt in range(2):
        todo = [m for m in wanted if (m.id, look) not in work.rows]
        suites = collections.defaultdict(list)
        for m in todo:
            suites[task_of(m.path).split("/")[0]].append(m)
        parts = [(suite, members[at:at + a.chunk]) for suite, members in sorted(suites.items())
                 for at in range(0, len(members), a.chunk)]
        lock, n = threading.Lock(), [0]

        def one(numbered):
            number, (suite, part) = numbered
            if time.monotonic() >= a.end:
                return
            verdicts = judge(a, [(m.name, m.text) for m in part], suite, look, number)
            with lock:
                work.add([{"id": m.id, "look": look, **facts(verdicts[m.name])} for m in part
                          if m.name in verdicts and verdicts[m.name]["verdict"] != "judge_failed"])
                n[0] += len(part)
                print(f"look {look}: {n[0]} of {len(todo)}", file=sys.stderr, flush=True)

        with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
            list(pool.map(one, enumerate(parts)))


# ---- the same code

LEVELS = {".c": [["gcc", "-O3", "-march=native"], ["gcc", "-O2"], ["gcc", "-O1"], ["clang", "-O3", "-march=native"],
                 ["clang", "-O2"]],
          ".cl": [["clang", "-O3"], ["clang", "-O2"], ["clang", "-O1"]],
          ".cu": [["nvcc", "-O3"]]}


def compiled(text, suffix, how):
    """The assembly text of a source; None: it does not compile, or there is no such compiler."""
    include = ["-I", str(HOUSE / "include")]
    if suffix == ".c":
        rest = ["-std=gnu17", "-fopenmp", "-fPIC", "-w", "-x", "c", "-S", "-o", "-", "-"] + include
    elif suffix == ".cl":
        rest = ["-x", "cl", "-cl-std=CL1.2", "-Xclang", "-finclude-default-header", "--target=x86_64", "-w", "-S",
                "-emit-llvm", "-o", "-", "-"]
    else:
        rest = ["-arch=sm_90a", "-ptx", "-w"] + include
    program = shutil.which(how[0]) or shutil.which(f"/usr/local/cuda/bin/{how[0]}")
    if not program:
        return None
    if suffix == ".cu":  # nvcc has no pipes
        with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
            source = pathlib.Path(folder, "kernel.cu")
            source.write_text(text)
            done = subprocess.run([program, *how[1:], *rest, "-o", f"{folder}/ptx", str(source)], capture_output=True,
                                  text=True)
            done.stdout = "" if done.returncode else pathlib.Path(folder, "ptx").read_text()
    else:
        done = subprocess.run([program, *how[1:], *rest], input=text, capture_output=True, text=True)
    if done.returncode:
        return None
    return "\n".join(l for l in done.stdout.splitlines() if not re.match(r"\s*(\.file|\.ident|//|;)", l))


def launches(text):
    return [l for l in text.splitlines() if l.startswith("// assay: ")]


def same_code(m, originals={}):
    """By what command the mutant and its kernel are the same instructions; None: by none of ours."""
    text = m.path.read_text()
    if launches(text) != launches(m.text):
        return None
    for how in LEVELS[m.path.suffix]:
        key = (m.path, tuple(how))
        if key not in originals:
            originals[key] = compiled(text, m.path.suffix, how)
        if originals[key] and compiled(m.text, m.path.suffix, how) == originals[key]:
            return " ".join(how)
    return None


# ---- arguments

def arguments(path):
    """(file, kind, change, class, argument) of each line; file and kind are patterns, change a regular expression or
    the mutant's id."""
    rows = []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        cells = line.split("\t")
        if len(cells) != 5:
            sys.exit(f"{path}:{n}: five cells, separated by tabs, not {len(cells)}")
        rows.append(cells)
    return rows


def argued(m, rows):
    for file, kind, change, group, text in rows:
        if fnmatch.fnmatch(m.path.name, file) and fnmatch.fnmatch(m.kind, kind) and (change == m.id or
                                                                                     re.search(change, m.change)):
            return group, text
    return None


def state_of(group):
    """What a mutant is whose argument is of this class."""
    return WRONG.get(group) or ("elsewhere" if group.startswith(ELSEWHERE) else "argued")


# ---- all of it

def settle(a, work, mutants):
    """What became of each mutant: (mutant, state, row of the first look, why)."""
    first = {m.id: work.rows[m.id, 0] for m in mutants if (m.id, 0) in work.rows}
    passed = [m for m in mutants if m.id in first and first[m.id]["verdict"] == "pass"]
    same = {}
    if a.prove:
        todo = [m for m in passed if (m.id, "same") not in work.rows]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for m, how in zip(todo, pool.map(same_code, todo)):
                work.add([{"id": m.id, "look": "same", "how": how}])
        same = {m.id: work.rows[m.id, "same"]["how"] for m in passed}
    rest = [m for m in passed if not same.get(m.id)]
    table = arguments(a.table)
    if not a.proofs:
        for look in range(1, LOOKS):
            rest = [m for m in rest if work.rows.get((m.id, look - 1), {"verdict": "pass"})["verdict"] == "pass"]
            look_at(a, work, rest, look)
    out = []
    for m in mutants:
        if m.id not in first:
            out.append((m, "unjudged", None, ""))
            continue
        row, later = first[m.id], [work.rows.get((m.id, l)) for l in range(1, LOOKS)]
        late = next((r for r in later if r and r["verdict"] != "pass"), None)
        why = argued(m, table)
        if row["verdict"] in NOT_MUTANTS:
            out.append((m, "stillborn", row, ""))
        elif row["verdict"] != "pass":
            out.append((m, "killed", row, row["verdict"]))
        elif same.get(m.id):
            out.append((m, "same_code", row, same[m.id]))
        elif late:
            out.append((m, "late", row, late["verdict"]))
        elif why:
            out.append((m, state_of(why[0]), row, ": ".join(why)))
        else:
            out.append((m, "open", row, ""))
    return out


def score(rows):
    table = {}
    for kind in engine.KINDS:
        of = [r for r in rows if r[0].kind == kind and r[1] not in ("stillborn", "unjudged")]
        count = collections.Counter(state for _, state, _, _ in of)
        wrong = [r for r in of if r[1] not in ("same_code", "argued")]  # what is not equivalent
        table[kind] = {"mutants": len(of), "killed": count["killed"] + count["late"], "late": count["late"],
                       **{state: count[state] for state in STATES},
                       "allclose_1e-4": sum(not r[2]["close"][0] for r in wrong),
                       "allclose_1e-2": sum(not r[2]["close"][1] for r in wrong)}
    table["all"] = {key: sum(t[key] for t in table.values()) for key in next(iter(table.values()))}
    return table


def said(*command):
    """What a program prints; nothing where there is no such program."""
    try:
        return subprocess.run(command, capture_output=True, text=True, cwd=HOUSE).stdout.strip()
    except OSError:
        return ""


def report(a, rows, honest):
    table = score(rows)
    width = max(map(len, table))
    print(f"{'kind':{width}}  mutants  killed  (late)  same code  argued  elsewhere  open  allclose 1e-4  1e-2")
    for kind, t in table.items():
        print(f"{kind:{width}}  {t['mutants']:7}  {t['killed']:6}  {t['late']:6}  {t['same_code']:9}  {t['argued']:6}  "
              f"{t['elsewhere']:9}  {t['open']:4}  {t['allclose_1e-4']:13}  {t['allclose_1e-2']:4}")
    states = collections.Counter(state for _, state, _, _ in rows)
    print(f"{states['stillborn']} that do not compile, {states['unjudged']} not judged; {len(honest)} kernels pass as "
          f"they are")
    shown = [{"file": m.path.name, "line": m.line, "kind": m.kind, "id": m.id, "change": m.change, "state": state,
              "why": why} for m, state, _, why in rows if state in (*STATES, "late")]
    for s in shown:
        if s["state"] == "open":
            print(f"open: {s['file']}:{s['line']} {s['kind']} {s['id']}: {s['change']}")
    verdicts = collections.Counter(row["verdict"] for _, state, row, _ in rows if state == "killed")
    pathlib.Path(a.out).write_text(json.dumps({
        "command": " ".join(["bench/kernel_mutants/run.py", *sys.argv[1:]]), "date": str(datetime.date.today()),
        "commit": said("git", "rev-parse", "HEAD"), "seed": a.seed, "device": a.device,
        "machine": said("sh", "-c", "grep -m1 'model name' /proc/cpuinfo; nvidia-smi -L 2>/dev/null"),
        "kernels": len(honest), "by_kind": table, "verdicts": dict(verdicts.most_common()),
        "stillborn": states["stillborn"], "unjudged": states["unjudged"], "passed": shown}, indent=1) + "\n")
    return table["all"]["open"] + states["unjudged"]


class Kept:
    """A mutant of a result that is kept: what equivalent.tsv asks about."""

    def __init__(self, row):
        self.path, self.kind, self.id, self.change = pathlib.Path(row["file"]), row["kind"], row["id"], row["change"]


def settle_kept(path, table):
    """Looks the open mutants of a result up in the table again, and those that were looked up. Judges nothing: numbers
    of allclose stay as they were counted, over all that the judge's questions had not shown to be equivalent."""
    found, rows = json.loads(path.read_text()), arguments(table)
    for state in STATES:
        for t in found["by_kind"].values():
            t.setdefault(state, 0)
    for row in found["passed"]:
        if row["state"] in ("same_code", "late"):
            continue
        why = argued(Kept(row), rows)
        state = state_of(why[0]) if why else "open"
        for kind in (row["kind"], "all"):
            found["by_kind"][kind][row["state"]] -= 1
            found["by_kind"][kind][state] += 1
        row["state"], row["why"] = state, ": ".join(why) if why else ""
    found["settled"] = str(datetime.date.today())
    path.write_text(json.dumps(found, indent=1) + "\n")
    count = found["by_kind"]["all"]
    print(", ".join(f"{state} {count[state]}" for state in STATES))
    return count["open"]


def mutant_of(row, folder, made={}):
    """The mutant of a row of a result, in the kernel as it is now; None: there is none."""
    path = HOUSE / folder / row["file"]
    if path not in made:
        made[path] = engine.mutants(path) if path.exists() else []
    like = [m for m in made[path] if m.kind == row["kind"] and m.change == row["change"]]
    return min(like, key=lambda m: (m.id != row["id"], abs(m.line - row["line"])), default=None)


def judge_again(a, work):
    """Judges what passed by today's judge; by its answer alone something becomes killed."""
    path = pathlib.Path(a.out)
    found = json.loads(path.read_text())
    rows = [r for r in found["passed"] if r["state"] not in ("same_code", "late") and r["state"] in a.state]
    rows = [r for r in rows if not a.only or any(fnmatch.fnmatch(pathlib.Path(r["file"]).stem, o) for o in a.only)]
    pairs = [(r, mutant_of(r, CORPORA[a.device][0])) for r in rows]
    for r, _ in (pair for pair in pairs if not pair[1]):
        print(f"{r['file']}:{r['line']}: no longer a mutant: {r['change']}", file=sys.stderr)
    pairs = [(r, m) for r, m in pairs if m]
    honest = set(check_honest(a, work, sorted({m.path for _, m in pairs})))
    pairs = [(r, m) for r, m in pairs if m.path in honest]
    rest = list({m.id: m for _, m in pairs}.values())
    for look in range(1 if a.quick else LOOKS):
        look_at(a, work, rest, look)
        rest = [m for m in rest if work.rows.get((m.id, look), {"verdict": "pass"})["verdict"] == "pass"]
    killed = collections.Counter()
    for r, m in pairs:
        verdicts = [work.rows[m.id, look] for look in range(LOOKS) if (m.id, look) in work.rows]
        wrong = next((v for v in verdicts if v["verdict"] not in {"pass"} | NOT_MUTANTS), None)
        if not wrong:
            continue
        killed[r["state"]] += 1
        print(f"{r['file']}:{r['line']} was {r['state']}, now {wrong['verdict']} ({wrong['detail']}): {r['change']}")
        for kind in (r["kind"], "all"):
            t = found["by_kind"][kind]
            if r["state"] == "argued" and "settled" not in found:  # it was not counted among the wrong ones
                t["allclose_1e-4"] += not verdicts[0]["close"][0]
                t["allclose_1e-2"] += not verdicts[0]["close"][1]
            t[r["state"]] -= 1
            t["late"] += 1
            t["killed"] += 1
        at = "" if a.workload == "small" else f" at {a.workload}"
        r["state"], r["why"] = "late", f"{wrong['verdict']}{at}; {r['state']} before"
    found["again"] = agains(found) + [{
        "date": str(datetime.date.today()), "commit": said("git", "rev-parse", "HEAD"), "workload": a.workload,
        "looks": 1 if a.quick else LOOKS, "judged": len(pairs), "killed": dict(killed)}]
    path.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(pairs)} judged again, {sum(killed.values())} of them killed: "
          + ", ".join(f"{n} that were {state}" for state, n in killed.items()))
    return 0


PAGE = HOUSE / "docs/evidence/mutants.md"
BEGIN, END = "<!-- mutants -->\n", "<!-- end of mutants -->\n"


def agains(found):
    """How what passed was judged again, each time."""
    again = found.get("again", [])
    return [again] if isinstance(again, dict) else again


def of_again(found):
    return "".join(f"; what passed was judged again {a['date']}, commit {a['commit'][:7]}"
                   f"{'' if a.get('workload', 'small') == 'small' else ', at `' + a['workload'] + '`'}: {a['judged']} "
                   f"mutants, {sum(a['killed'].values())} killed" for a in agains(found))


def tables():
    """The results that are kept, a table each."""
    out = ""
    for path in sorted((HOUSE / "bench/results").glob("*/kernel_mutants_*.json")):
        found = json.loads(path.read_text())
        out += (f"\n**{found['device']}**: {found['kernels']} kernels of `{CORPORA[found['device']][0]}`, "
                f"{found['by_kind']['all']['mutants']} mutants, {found['date']}, commit {found['commit'][:7]}, "
                f"`{path.relative_to(HOUSE)}`{of_again(found)}\n\n"
                "| kind | mutants | equivalent: same code, argued | wrong | killed | wrong elsewhere only | race "
                "| not asked | hole | open | allclose kills, 1e-4 | 1e-2 |\n"
                "|---|---|---|---|---|---|---|---|---|---|---|---|\n")
        for kind, t in found["by_kind"].items():
            if t["mutants"]:
                out += (f"| {kind} | {t['mutants']} | {t['same_code']}, {t['argued']} | "
                        f"{t['mutants'] - t['same_code'] - t['argued']} | {t['killed']} | {t['elsewhere']} | "
                        f"{t.get('race', 0)} | {t.get('unasked', 0)} | {t.get('hole', 0)} | {t['open']} | "
                        f"{t['allclose_1e-4']} | {t['allclose_1e-2']} |\n")
    return out + "\n"


def write_page(check):
    text = PAGE.read_text()
    head, rest = text.split(BEGIN)
    new = head + BEGIN + tables() + END + rest.split(END)[1]
    if check and new != text:
        sys.exit(f"{PAGE} is not current: bench/kernel_mutants/run.py --page")
    PAGE.write_text(new)
    return 0


def check_honest(a, work, paths):
    """The kernels themselves must pass all looks: otherwise a mutant would be killed by what is no mistake of its."""
    originals = [engine.Mutant(p, "honest", p.read_text(), 0, "") for p in paths]
    for look in range(LOOKS if not a.quick else 1):
        if not a.proofs:
            look_at(a, work, originals, look)
    wrong = [(m.path.name, work.rows[m.id, l]["verdict"]) for m in originals for l in range(LOOKS)
             if (m.id, l) in work.rows and work.rows[m.id, l]["verdict"] != "pass"]
    for name, verdict in wrong:
        print(f"left out, {name} itself is judged {verdict}", file=sys.stderr)
    judged = {m.path for m in originals if (m.id, 0) in work.rows}
    return [p for p in paths if p in judged and p.name not in dict(wrong)]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("assay", nargs="?")
    p.add_argument("out", nargs="?")
    p.add_argument("--device", choices=CORPORA, default="cpu")
    p.add_argument("--count", type=int, default=2400)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", action="append", help="only kernels of this name (a pattern); may be repeated")
    p.add_argument("--work", type=pathlib.Path)
    p.add_argument("--chunk", type=int, default=100, help="how many a bench judges")
    p.add_argument("--jobs", type=int, default=1, help="benches at once")
    p.add_argument("--gpus", type=int, default=1, help="that they use in turn")
    p.add_argument("--seconds", type=float, default=float("inf"), help="begin no bench after so many")
    p.add_argument("--proofs", action="store_true", help="judge nothing, only settle what was judged")
    p.add_argument("--no-proofs", dest="prove", action="store_false", help="do not compare compiled code")
    p.add_argument("--quick", action="store_true", help="look once at the kernels themselves")
    p.add_argument("--strict", action="store_true", help="exit 1 if a mutant is open")
    p.add_argument("--workload", default="small", help="of each kernel's task")
    p.add_argument("--again", action="store_true", help="only what passed, as OUT.json has it")
    p.add_argument("--state", action="append", choices=STATES, help="--again: those of this state; may be repeated")
    p.add_argument("--settle", type=pathlib.Path, metavar="OUT.json")
    p.add_argument("--page", action="store_true")
    p.add_argument("--check", action="store_true")
    p.add_argument("--table", type=pathlib.Path, default=HERE / "equivalent.tsv", help="the arguments")
    p.add_argument("--list", type=pathlib.Path, metavar="FILE")
    a = p.parse_args()
    a.end = time.monotonic() + a.seconds
    if a.list:
        for m in engine.mutants(a.list.resolve()):
            print(f"{m.id} {m.kind} {m.line}: {m.change}")
        return 0
    if a.settle:
        left = settle_kept(a.settle, a.table)
        return 1 if a.strict and left else 0
    if a.page:
        return write_page(a.check)
    if not a.out or a.seed < 1:
        p.error("ASSAY and OUT.json are needed, and a seed above 0")
    a.assay = str(pathlib.Path(a.assay).resolve())
    a.state = a.state or list(STATES)
    work = Work(a.work or pathlib.Path(a.out + (".again" if a.again else ".work")))
    if a.again:
        return judge_again(a, work)
    paths = corpus(a.device, a.only)
    if not paths:
        sys.exit(f"no kernel in {CORPORA[a.device][0]} has such a name")
    mutants = chosen(paths, a.count, a.seed)
    used = sorted({m.path for m in mutants})
    honest = check_honest(a, work, used)
    mutants = [m for m in mutants if m.path in set(honest)]
    if not a.proofs:
        look_at(a, work, mutants, 0)
    left = report(a, settle(a, work, mutants), honest)
    return 1 if a.strict and left else 0


if __name__ == "__main__":
    sys.exit(main())
