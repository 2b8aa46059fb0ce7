# SPDX-License-Identifier: Apache-2.0
"""What the scripts of this folder share: running programs, describing the machine, JSON. Python's own library only."""
import datetime
import json
import os
import queue
import re
import statistics
import subprocess
import sys
import threading
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# The beginning of a program that uses KernelBench's own harness. Packages that the harness imports for other things than
# evaluating (clients of models) are replaced by empty ones where they are missing.
KERNELBENCH_STAND_INS = r'''
import importlib, json, sys, types

def stand_in(name):
    try:
        importlib.import_module(name)
    except ImportError:
        module = types.ModuleType(name)
        class Anything:
            def __init__(self, *positional, **named):
                self.__dict__.update(named)
            def __class_getitem__(cls, item):
                return cls
        class Record:  # of pydantic: fields with defaults
            def __init__(self, **named):
                for field in getattr(type(self), "__annotations__", {}):
                    value = getattr(type(self), field, None)
                    setattr(self, field, dict(value) if isinstance(value, dict) else value)
                self.__dict__.update(named)
        module.BaseModel = Record
        def attribute(called):
            if called.startswith("__"):
                raise AttributeError(called)
            return Anything
        module.__getattr__ = attribute
        sys.modules[name] = module

for name in ("pydantic", "dotenv", "openai", "litellm", "tqdm", "requests", "datasets", "together", "anthropic"):
    stand_in(name)

def import_harness(checkout):
    sys.path.insert(0, checkout + "/src")
    from kernelbench import eval
    return eval
'''


def run(command, timeout=60, **options):
    """(seconds, exit code, output, errors); never raises on what a program does."""
    start = time.monotonic()
    try:
        done = subprocess.run(command, capture_output=True, timeout=timeout, cwd=options.pop("cwd", ROOT), **options)
        code, out, errors = done.returncode, done.stdout, done.stderr
    except subprocess.TimeoutExpired:
        code, out, errors = -1, b"", b"no end within %d s" % timeout
    except OSError as e:
        code, out, errors = -1, b"", str(e).encode()
    if not options.get("text"):
        errors = errors.decode(errors="replace") if isinstance(errors, bytes) else errors
    return time.monotonic() - start, code, out, errors


def assay_json(assay, *arguments, timeout=120):
    """What `assay ... --json` prints, of `judge` the only verdict; a candidate that fails is an answer, anything else an
    error."""
    seconds, code, out, errors = run([assay, *arguments, "--json"], timeout)
    if code not in (0, 1) or not out:
        raise RuntimeError(f"assay {' '.join(arguments)}: exit {code}: {errors.strip()[-400:]}")
    found = json.loads(out)
    return seconds, found[0] if arguments[0] == "judge" else found


def nvcc(source, output, *options):
    compiler = next((p for p in ("nvcc", "/usr/local/cuda/bin/nvcc") if run([p, "--version"])[1] == 0), None)
    if not compiler:
        raise RuntimeError("nvcc is needed: put the CUDA toolkit's bin folder into PATH")
    _, code, _, errors = run([compiler, "-O2", "-std=c++17", "-gencode", "arch=compute_90a,code=sm_90a", "-o", output,
                              source, *options], 120)
    if code != 0:
        raise RuntimeError(f"nvcc: {errors[-2000:]}")


def machine():
    """Driver, device and toolkit, as nvidia-smi and nvcc name them."""
    smi = run(["nvidia-smi", "--query-gpu=name,driver_version,clocks.max.sm,power.limit", "--format=csv,noheader"])
    version = run(["nvcc", "--version"])[2].decode(errors="replace").strip().splitlines()
    fields = [f.strip() for f in smi[2].decode(errors="replace").strip().split("\n")[0].split(",")] if smi[1] == 0 else []
    facts = dict(zip(("device", "driver", "max_sm_clock", "power_limit"), fields))
    facts["nvcc"] = next((line.split("release ")[1] for line in version if "release " in line), "")
    return facts


def option(arguments, name, default):
    """Takes `name VALUE` out of the arguments."""
    if name not in arguments:
        return default
    value = arguments.pop(arguments.index(name) + 1)
    arguments.remove(name)
    return value


def flag(arguments, name):
    """Takes `name` out of the arguments: whether it was there."""
    given = name in arguments
    arguments[:] = [a for a in arguments if a != name]
    return given


def gpus_here():
    """As many as CUDA_VISIBLE_DEVICES or nvidia-smi lists; 1 where there is none, so that a script can be tried on a CPU."""
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        return len(os.environ["CUDA_VISIBLE_DEVICES"].split(","))
    _, code, out, _ = run(["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"])
    return len(out.split()) if code == 0 and out.split() else 1


def visible(gpu):
    """What CUDA_VISIBLE_DEVICES is for a program that has this one of the GPUs that are to be used."""
    own = os.environ.get("CUDA_VISIBLE_DEVICES")
    return own.split(",")[gpu] if own else str(gpu)


def place(gpu, gpus, **more):
    """Options for run(): this GPU alone is seen, and a part of the processors is used."""
    cpus = sorted(os.sched_getaffinity(0))
    own = cpus[gpu * len(cpus) // gpus:(gpu + 1) * len(cpus) // gpus] or cpus
    return {"env": {**os.environ, "CUDA_VISIBLE_DEVICES": visible(gpu), **more},
            "preexec_fn": lambda: os.sched_setaffinity(0, own)}


def share(jobs, gpus, each, seconds, act):
    """act(job, gpu, left) for each job, `each` at once on each GPU, until there is none or the seconds have passed;
    `left` is what is left of them then. Returns how many were begun. An exception of one ends the script, at the end."""
    todo, end, begun, failed = queue.Queue(), time.monotonic() + seconds, [], []
    for job in jobs:
        todo.put(job)

    def work(gpu):
        while time.monotonic() < end:
            try:
                job = todo.get_nowait()
            except queue.Empty:
                return
            begun.append(job)
            try:
                act(job, gpu, end - time.monotonic())
            except Exception as e:
                traceback.print_exc(file=sys.stdout)
                failed.append(e)

    threads = [threading.Thread(target=work, args=(i % gpus,)) for i in range(gpus * each)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failed:
        raise failed[0]
    return len(begun)


def write_whole(path, text):
    """Whole or not at all, since a run may be ended here."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def write_rows(path, head, columns, rows):
    """{head..., "columns": [...], "rows": [...]}, a row a line."""
    lines = ",\n".join(json.dumps([row.get(name) for name in columns]) for row in rows)
    text = json.dumps(head, indent=1)[:-2] + f',\n "columns": {json.dumps(columns)},\n "rows": [\n{lines}\n]}}\n'
    write_whole(path, text)


def read_rows(path):
    """(head, rows) of write_rows(), rows as dictionaries; nothing where there is no such file."""
    if not os.path.exists(path):
        return {}, []
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    columns, rows = found.pop("columns"), found.pop("rows")
    return found, [dict(zip(columns, row)) for row in rows]


def call_of(script, arguments, **more):
    """What a result says of the call that made it."""
    return {"command": " ".join([script, *arguments]), "date": datetime.date.today().isoformat(),
            "commit": run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip(), "machine": machine(),
            "cpus": len(os.sched_getaffinity(0)), **more}


def spread(values):
    middle = statistics.median(values)
    return {"median": middle, "min": min(values), "max": max(values), "n": len(values),
            "range_over_median": (max(values) - min(values)) / middle if middle else None}


def report(command, path, parts, timed=True):
    """Runs parts (name, function) one after another; what fails is noted and the rest goes on. Writes after each."""
    commit = run(["git", "rev-parse", "--short=12", "HEAD"])[2].decode().strip()
    result = {"command": command, "date": datetime.date.today().isoformat(), "commit": commit, "machine": machine()}
    for name, part in parts:
        start = time.monotonic()
        try:
            result[name] = part()
        except Exception as e:  # a broken part must not cost the others
            traceback.print_exc(file=sys.stdout)
            result[name] = {"failed": str(e)}
        if timed:
            result[name + "_took_s"] = round(time.monotonic() - start, 2)
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as f:
            json.dump(result, f, indent=1)
            f.write("\n")
    return result


def write_tables(page, tables, check, command):
    """Replaces what stands in the page between `<!-- table NAME -->` and `<!-- end -->`; with `check` it only compares."""
    with open(page) as f:
        text = f.read()
    missing = []

    def replace(match):
        name = match.group(1)
        if name not in tables:
            missing.append(name)
            return match.group(0)
        return f"<!-- table {name} -->\n{tables[name]}\n<!-- end -->"

    made = re.sub(r"<!-- table ([^>]*?) -->\n.*?<!-- end -->", replace, text, flags=re.S)
    shown = os.path.relpath(page, ROOT)
    if missing:
        sys.exit(f"{shown}: no measurements for the tables {', '.join(missing)}: see bench/gpu and bench/results")
    if check:
        if made != text:
            sys.exit(f"{shown} is not what the measurements say: run {command}")
        return
    with open(page, "w") as f:
        f.write(made)
