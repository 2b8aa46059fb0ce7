#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Thousands of judgements in one bench, honest, wrong, crashing and hanging ones mixed; and faults of the machine.

    bench/endurance.py ASSAY [--count N] [--faults N] [--out OUT.json] [--seed N] [--work DIR] [--timed]
                             [--timeout SECONDS]

While one `assay bench` judges --count files (default 10000), its memory, descriptors, threads, processes and temporary
files are sampled. At the end each must be flat: the second half of the run needs no more than the first, but for what a
finished verdict takes (MOST_BYTES_A_VERDICT: its row is printed at the end). Every file must have its verdict, once.

Then with --faults files (default 60) each, of which it must be said what came of it, and nothing finished may be lost:

    disk_full        the store's file system is full: an error that says so; with room again the same command goes on
    temporary_full   the folder for temporary files is full: no verdict blames a candidate; judged again afterwards
    locked           another process holds the store's lock for a moment: the bench waits
    locked_long      it holds the lock for too long: an error that says so; afterwards the same command goes on
    clock            the machine's clock steps by a day, forth and back, again and again
    children         children (compilers, runners) are killed at random moments
    killed           the bench itself is killed at random moments, and begun again

disk_full and temporary_full need a user namespace of their own, as the sandbox does; where there is none they are
reported as not run. Exit code 1 where anything differs from what is said here.
"""
import argparse
import collections
import datetime
import json
import os
import pathlib
import platform
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

HOUSE = pathlib.Path(__file__).resolve().parent.parent
MOST_BYTES_A_VERDICT = 4096
SLACK_BYTES = 8 << 20  # what an allocator keeps differs from moment to moment
MACHINE = {"judge_failed"}
KILLED = {"crashed", "out_of_memory", "build_failed", "build_limit", "load_failed"}  # when somebody kills its process
DONE = (0, 1)  # all were judged; 1: some of them failed

HEAD = "// assay: task kernelbench/1/19\n#include <assay/candidate.h>\n"
RELU = ("  const float *x = args->inputs[0].data;\n  float *y = args->outputs[0].data;\n"
        "  int64_t n = args->inputs[0].dims[0] * args->inputs[0].dims[1];\n")
KERNEL = (HEAD + "#include <stdlib.h>\n#include <unistd.h>\n"
          "void assay_kernel(const struct assay_args *args) {{\n{}}}\n")
# name, how many of a hundred, the source, the verdicts that it may get
KINDS = (
    ("honest", 52, KERNEL.format(RELU + "  for (int64_t i = 0; i < n; i++)\n    y[i] = x[i] > 0 ? x[i] : 0;\n"),
     {"pass"}),
    ("wrong", 15, KERNEL.format(RELU + "  for (int64_t i = 0; i < n; i++)\n    y[i] = x[i] > 0 ? x[i] : x[i] / 8;\n"),
     {"wrong_value"}),
    ("short", 6, KERNEL.format(RELU + "  for (int64_t i = 1; i < n; i++)\n    y[i] = x[i] > 0 ? x[i] : 0;\n"),
     {"unwritten"}),
    ("beyond", 5, KERNEL.format(RELU + "  for (int64_t i = 0; i <= n; i++)\n"
                                "    y[i] = i < n && x[i] > 0 ? x[i] : 0;\n"),
     {"out_of_bounds"}),
    ("crash", 6, KERNEL.format("  *(volatile int *)(args->n_inputs - 1) = 1;\n"), {"crashed"}),
    ("abort", 4, KERNEL.format("  (void)args, abort();\n"), {"crashed"}),
    ("exit", 3, KERNEL.format("  (void)args, _exit(0);\n"), {"exited", "crashed"}),
    ("call", 3, KERNEL.format("  (void)args, fork();\n"), {"forbidden_call"}),
    ("syntax", 4, HEAD + "void assay_kernel(const struct assay_args *args) { this is no C }\n", {"build_failed"}),
    ("hang", 2, KERNEL.format("  (void)args;\n  for (;;)\n    sleep(1000);\n"), {"timeout"}),
)

SHIM = r"""
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long ahead(void) { // by a day in every other fifth of a second
  struct timespec t;
  syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &t);
  return (t.tv_sec * 5 + t.tv_nsec / 200000000) % 2 ? 86400 : -86400;
}
int clock_gettime(clockid_t id, struct timespec *t) {
  int r = (int)syscall(SYS_clock_gettime, id, t);
  if (r == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
    t->tv_sec += ahead();
  return r;
}
int gettimeofday(struct timeval *restrict t, void *restrict zone) {
  (void)zone;
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  t->tv_sec = now.tv_sec, t->tv_usec = now.tv_nsec / 1000;
  return 0;
}
time_t time(time_t *to) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (to)
    *to = now.tv_sec;
  return now.tv_sec;
}
"""


class Failed(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failed(text)


def make_files(folder, count, seed):
    """So many candidates; no two are the same text. Returns kind by name."""
    folder.mkdir()
    dice = random.Random(seed)
    names = [k[0] for k in KINDS]
    kinds = dice.choices(names, [k[1] for k in KINDS], k=count)
    kinds[:len(names)] = names[:count]
    sources = {k[0]: k[2] for k in KINDS}
    out = {}
    for i, kind in enumerate(kinds):
        out[f"{i:05}_{kind}.c"] = kind
        (folder / f"{i:05}_{kind}.c").write_text(f"{sources[kind]}// {i}\n")
    return out


def command(a, files, store):
    timing = ["--samples", "10"] if a.timed else ["--no-timing"]
    return [a.assay, "bench", "kernelbench/1", "--from", str(files), "--device", "cpu", *timing, "--timeout", str(a.timeout),
            "--seed", "7", "--secret", "8", "--store", str(store), "--run", "endurance"]


def children(pid):
    """All processes under one, however deep."""
    out, todo = [], [pid]
    while todo:
        at = todo.pop()
        try:
            tasks = os.listdir(f"/proc/{at}/task")
        except OSError:
            continue
        for t in tasks:
            try:
                text = pathlib.Path(f"/proc/{at}/task/{t}/children").read_text()
            except OSError:
                continue
            found = [int(c) for c in text.split()]
            out += found
            todo += found
    return out


def sample(pid, temporary):
    status = dict(l.split(":", 1) for l in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in l)
    return {"rss": int(status["VmRSS"].split()[0]) << 10, "peak": int(status["VmHWM"].split()[0]) << 10,
            "threads": int(status["Threads"]), "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
            "processes": len(children(pid)), "temporary": sum(1 for _ in temporary.iterdir())}


def judged(store):
    """{file name: verdict} of a store, and the number of its rows."""
    if not store.exists():
        return {}, 0
    with sqlite3.connect(f"file:{store}?mode=ro", uri=True, timeout=60) as db:
        try:
            rows = db.execute("SELECT candidate, reason FROM verdict WHERE run = 'endurance'").fetchall()
        except sqlite3.OperationalError:  # no table yet
            return {}, 0
    return {os.path.basename(c): r for c, r in rows}, len(rows)


def check_verdicts(kinds, store, also=()):
    """Every file once, and as its kind is to be judged; `also`: verdicts that the fault may have caused."""
    verdicts, rows = judged(store)
    allowed = {k[0]: k[3] for k in KINDS}
    require(rows == len(kinds), f"{rows} rows in the store, {len(kinds)} files")
    require(len(verdicts) == len(kinds), f"{len(verdicts)} files have a verdict, of {len(kinds)}")
    wrong = [(n, v) for n, v in verdicts.items() if v not in allowed[kinds[n]] and v not in also]
    require(not wrong, f"verdicts other than expected: {wrong[:5]} ({len(wrong)} in all)")
    with sqlite3.connect(store) as db:
        require(db.execute("PRAGMA integrity_check").fetchone()[0] == "ok", "the store is damaged")
    return dict(collections.Counter(verdicts.values()).most_common())


def environment(temporary, more=None):
    temporary.mkdir(exist_ok=True)
    return {**os.environ, "TMPDIR": str(temporary), **(more or {})}


def start(a, files, store, temporary, more=None):
    return subprocess.Popen(command(a, files, store), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env=environment(temporary, more))


def finish(process, codes, what):
    out, said = process.communicate()
    require(process.returncode in codes, f"{what}: exit code {process.returncode}, not {codes}: {said[-600:]}")
    return out, said


def no_leftovers(temporary):
    left = [p.name for p in temporary.iterdir()]
    require(not left, f"temporary files are left: {left[:5]}")


def long_run(a, folder):
    kinds = make_files(folder / "many", a.count, a.seed)
    store, temporary = folder / "many.sqlite", folder / "temporary"
    begin = time.monotonic()
    process = start(a, folder / "many", store, temporary)
    out = threading.Thread(target=lambda: box.append(process.communicate()))
    box, samples = [], []
    out.start()
    while process.poll() is None:
        try:
            s = sample(process.pid, temporary)
        except (OSError, KeyError):
            break
        s["at"] = round(time.monotonic() - begin, 2)
        s["done"] = judged(store)[1]
        samples.append(s)
        time.sleep(0.05 if a.count < 1000 else 2)
    out.join()
    wall = time.monotonic() - begin
    failed = [l.strip()[:200] for l in box[0][0].splitlines() if " judge_failed " in l]
    require(process.returncode in DONE or failed, f"exit code {process.returncode}: {box[0][1][-600:]}")
    if failed:  # by the machine, which had other work: the same command judges those again
        finish(start(a, folder / "many", store, temporary), DONE, f"again, after {len(failed)} like {failed[0]}")
    verdicts = check_verdicts(kinds, store)
    no_leftovers(temporary)
    require(not [c for c in children(os.getpid())], "processes are left")
    return {"judgements": a.count, "wall_s": round(wall, 1), "verdicts": verdicts, "judged_again": len(failed),
            "because": failed[:5], **flat(samples)}


def flat(samples):
    """The largest of each quantity in the second and in the last quarter of the judgements, which must not differ."""
    working = [s for s in samples if s["done"] > 0]
    require(len(working) >= 8, f"only {len(working)} samples")
    most = working[-1]["done"]
    early = [s for s in working if most / 4 <= s["done"] < most / 2] or working[:len(working) // 2]
    late = [s for s in working if s["done"] >= 3 * most / 4]
    out = {"peak_bytes": max(s["peak"] for s in samples)}
    for key in ("rss", "threads", "descriptors", "processes", "temporary"):
        # The middle one of the larger half: one odd moment decides nothing.
        before, after = (sorted(s[key] for s in part)[len(part) * 3 // 4] for part in (early, late))
        out[key] = {"early": before, "late": after, "most": max(s[key] for s in working)}
        grown = after - before
        most_grown = SLACK_BYTES + MOST_BYTES_A_VERDICT * (late[-1]["done"] - early[0]["done"]) if key == "rss" else 6
        require(grown <= most_grown, f"{key} grows from {before} to {after} in {late[-1]['done']} judgements")
    return out


# ---- faults

def tiny_disk(a, folder, kinds, store_full):
    """Runs the bench where the store's or the temporary folder's file system has little room, then with room."""
    name = "disk_full" if store_full else "temporary_full"
    here = folder / name
    here.mkdir()
    (here / "small").mkdir()
    files, store = folder / "few", here / ("small/s.sqlite" if store_full else "s.sqlite")
    temporary = here / ("temporary" if store_full else "small")
    temporary.mkdir(exist_ok=True)
    # In the namespace: little room, a run, what is stored (copied out), room again, another run.
    first, second = (" ".join(f"'{c}'" for c in command(a, files, store)) for _ in range(2))
    size = "192k" if store_full else "16k"
    script = (f"mount -t tmpfs -o size={size} none '{here}/small' || exit 77\n"
              f"{first} >'{here}/out' 2>'{here}/said'; echo $? >'{here}/code'\n"
              f"cp '{store}'* '{here}/' 2>/dev/null; mkdir '{here}/kept'; cp '{store}'* '{here}/kept/' 2>/dev/null\n"
              f"mount -o remount,size=256m '{here}/small' || exit 77\n"
              f"{second} >'{here}/out2' 2>'{here}/said2'; echo $? >'{here}/code2'\n"
              f"ls '{temporary}' >'{here}/left'\n"
              f"mkdir '{here}/last'; cp '{store}'* '{here}/last/'\n")
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", script], capture_output=True, text=True,
                          env=environment(temporary))
    if not (here / "code2").exists():
        return f"not run here: {done.stderr.strip()[-200:]}"
    code, said = int((here / "code").read_text()), (here / "said").read_text() + (here / "out").read_text()
    before, rows = judged(here / "kept" / "s.sqlite")
    if store_full:
        require(code == 3 and "disk is full" in said, f"{name}: exit code {code}: {said[-600:]}")
        require(rows < len(kinds), f"{name}: nothing was full: {rows} rows")
    else:
        require(code == 3, f"{name}: exit code {code}, not 3: {said[-600:]}")
        blamed = [(n, v) for n, v in before.items() if v not in MACHINE and v not in
                  {k[0]: k[3] for k in KINDS}[kinds[n]]]
        require(not blamed, f"{name}: candidates are blamed: {blamed[:5]}")
    code2 = int((here / "code2").read_text())
    require(code2 in DONE, f"{name}: then exit code {code2}: {(here / 'said2').read_text()[-600:]}")
    verdicts = check_verdicts(kinds, here / "last" / "s.sqlite")
    after, _ = judged(here / "last" / "s.sqlite")
    lost = [n for n, v in before.items() if v not in MACHINE and after.get(n) != v]
    require(not lost, f"{name}: finished verdicts are lost: {lost[:5]}")
    require(not (here / "left").read_text().strip(), f"{name}: temporary files are left")
    return {"first_code": code, "finished_before": sum(v not in MACHINE for v in before.values()), "said":
            next((l for l in said.splitlines() if "full" in l or "room" in l), "")[:300], "then": verdicts}


def disk_full(a, folder, kinds):
    return tiny_disk(a, folder, kinds, True)


def temporary_full(a, folder, kinds):
    return tiny_disk(a, folder, kinds, False)


def locked(a, folder, kinds):
    store, temporary = folder / "locked.sqlite", folder / "temporary"
    process = start(a, folder / "few", store, temporary)
    while judged(store)[1] < 2 and process.poll() is None:
        time.sleep(0.02)
    holder = sqlite3.connect(store, timeout=30, isolation_level=None)
    for _ in range(2):
        holder.execute("BEGIN EXCLUSIVE")
        time.sleep(0.7)
        holder.execute("COMMIT")
        time.sleep(0.3)
    finish(process, DONE, "locked for a moment")
    no_leftovers(temporary)
    return {"verdicts": check_verdicts(kinds, store)}


def locked_long(a, folder, kinds):
    temporary, second, begin = folder / "temporary", folder / "locked2.sqlite", time.monotonic()
    process = start(a, folder / "few", second, temporary)
    while judged(second)[1] < 2 and process.poll() is None:
        time.sleep(0.02)
    holder = sqlite3.connect(second, timeout=30, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    _, said = finish(process, (3,), "locked for too long")
    waited = time.monotonic() - begin
    require("lock" in said, f"locked for too long: {said[-600:]}")
    holder.execute("ROLLBACK")
    kept, _ = judged(second)
    finish(start(a, folder / "few", second, temporary), DONE, "unlocked")
    check_verdicts(kinds, second)
    after, _ = judged(second)
    require(all(after[n] == v for n, v in kept.items()), "finished verdicts are lost")
    no_leftovers(temporary)
    return {"ended_after_s": round(waited, 1), "said": said.strip().splitlines()[-1][:300],
            "finished_before": len(kept)}


def clock(a, folder, kinds):
    store, temporary, shim = folder / "clock.sqlite", folder / "temporary", folder / "clock.so"
    subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", str(shim)], input=SHIM, text=True,
                   check=True)
    seen = subprocess.run(["date", "+%s"], env={**os.environ, "LD_PRELOAD": str(shim)}, capture_output=True, text=True)
    require(abs(int(seen.stdout) - time.time()) > 80000, "the clock does not step")
    finish(start(a, folder / "few", store, temporary, {"LD_PRELOAD": str(shim)}), DONE, "a clock that steps")
    verdicts = check_verdicts(kinds, store)
    finish(start(a, folder / "few", store, temporary), DONE, "after the steps")
    check_verdicts(kinds, store)
    no_leftovers(temporary)
    return {"verdicts": verdicts}


def kill_children(a, folder, kinds):
    store, temporary, dice = folder / "children.sqlite", folder / "temporary", random.Random(a.seed)
    kills, runs = 0, 0
    for runs in range(1, 9):
        process = start(a, folder / "few", store, temporary)
        box = []
        reader = threading.Thread(target=lambda: box.append(process.communicate()))
        reader.start()
        while process.poll() is None:
            found = children(process.pid)
            if found and runs < 3:
                try:
                    os.kill(dice.choice(found), signal.SIGKILL)
                    kills += 1
                except OSError:
                    pass
            time.sleep(0.1 + dice.random() * 0.6)
        reader.join()
        require(process.returncode in (*DONE, 3),
                f"children killed: exit code {process.returncode}: {box[0][1][-600:]}")
        if process.returncode in DONE:
            break
    # Whoever kills it, a kernel's process that ends by a signal has crashed, and a compiler's has failed.
    verdicts = check_verdicts(kinds, store, KILLED)
    no_leftovers(temporary)
    require(kills > 0, "nothing was killed")
    return {"kills": kills, "runs": runs, "verdicts": verdicts}


def killed(a, folder, kinds):
    store, temporary, dice = folder / "killed.sqlite", folder / "temporary-killed", random.Random(a.seed)
    kills, before = 0, {}
    for _ in range(100):
        process = start(a, folder / "few", store, temporary)
        try:
            process.communicate(timeout=0.4 + 1.6 * dice.random())
        except subprocess.TimeoutExpired:
            process.kill()
            kills += 1
            process.communicate()
        now, rows = judged(store)
        require(all(now.get(n) == v for n, v in before.items()) and rows == len(now), "finished verdicts are lost")
        before = now
        if process.returncode in DONE:
            break
        if kills >= a.kills:
            finish(start(a, folder / "few", store, temporary), DONE, "after the kills")
            break
    return {"kills": kills, "verdicts": check_verdicts(kinds, store)}


FAULTS = {"disk_full": disk_full, "temporary_full": temporary_full, "locked": locked, "locked_long": locked_long,
          "clock": clock, "children": kill_children, "killed": killed}


def write(path, found):
    """After each step, since a run may be ended from outside."""
    try:
        commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=HOUSE, capture_output=True, text=True).stdout.strip()
    except OSError:
        commit = ""
    path.write_text(json.dumps({"command": " ".join(["bench/endurance.py", *sys.argv[1:]]), "commit": commit,
                                "date": str(datetime.date.today()), "machine": platform.processor() or
                                platform.machine(), "cpus": os.cpu_count(), "found": found}, indent=1) + "\n")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("assay")
    p.add_argument("--count", type=int, default=10000)
    p.add_argument("--faults", type=int, default=60, help="files of each fault's run; 0: none")
    p.add_argument("--only", action="append", choices=FAULTS, help="only these faults; may be repeated")
    p.add_argument("--kills", type=int, default=6, help="how often the bench is killed")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--timeout", type=int, default=3, help="of a call, in seconds: what a hanging candidate takes")
    p.add_argument("--timed", action="store_true", help="take times, too")
    p.add_argument("--out", type=pathlib.Path)
    p.add_argument("--work", type=pathlib.Path, help="an empty folder, kept; default: a temporary one")
    a = p.parse_args()
    a.assay = str(pathlib.Path(a.assay).resolve())
    folder = a.work or pathlib.Path(tempfile.mkdtemp(prefix="endurance-"))
    folder.mkdir(parents=True, exist_ok=True)
    found, failed = {}, 0
    steps = {"long": lambda: long_run(a, folder)} if a.count else {}
    if a.faults:
        kinds = make_files(folder / "few", a.faults, a.seed)
        steps.update({n: (lambda f=f: f(a, folder, kinds)) for n, f in FAULTS.items() if not a.only or n in a.only})
    for name, step in steps.items():
        begin = time.monotonic()
        try:
            found[name] = step()
        except Failed as e:
            found[name], failed = f"FAILED: {e}", failed + 1
        print(f"{name} ({time.monotonic() - begin:.1f} s): {json.dumps(found[name])}", flush=True)
        if a.out:
            write(a.out, found)
    if not a.work and not failed:
        shutil.rmtree(folder)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
