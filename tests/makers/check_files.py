#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels in Triton and Helion, read and not run: each is Python, names a task that there is, has a twin that its
source knows, and one class ModelNew; what interpreted.py makes of it is Python, too, and names the same task.

usage: check_files.py ASSAY SOURCE
"""
import ast
import contextlib
import csv
import glob
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import types
from unittest import mock

assay, root = sys.argv[1:]
tasks = {row["task"] for row in json.loads(subprocess.run([assay, "tasks", "fusedops", "--json"], check=True,
                                                          capture_output=True).stdout)}
wrong = 0


def check(good, path, what):
    global wrong
    wrong += not good
    if not good:
        print(f"{path}: {what}")


def task_of(text):
    return re.findall(r"^# assay: task (\S+)$", text, re.M)


def look_at(path, tool):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    tree = ast.parse(text, path)
    named = task_of(text)
    check(len(named) == 1 and named[0] in tasks, path, f"names the task {named}")
    check(named and named[0].rpartition("/")[2] + ".py" == os.path.basename(path), path, "its name is the task's")
    twins = re.findall(r"^# assay: twin (\w+) expect ", text, re.M)
    check(twins, path, "has no twin")
    for twin in twins:
        check(f'globals().get("{twin}"' in text, path, f"never asks whether it is the twin {twin}")
    classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
    check(classes == ["ModelNew"], path, f"has the classes {classes}")
    imports = {alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    check(tool in imports, path, f"does not import {tool}")
    return named


def printed_log(log, picked=None, seconds=0.0):
    """What the text below a Helion kernel prints once its call has returned, whose search wrote this log, took so many seconds
    and picked this configuration."""
    with open(os.path.join(root, "src/cli/helion_log.py"), encoding="utf-8") as file:
        text = file.read()

    class ModelNew:
        def forward(self, x):
            clock[0] += seconds
            return 2 * x
    clock = [100.0]
    kernel = types.SimpleNamespace(_bound_kernels={0: types.SimpleNamespace(_config=picked)})
    out = io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out):
        exec(compile(text, "helion_log.py", "exec"), {"ModelNew": ModelNew, "kernel": kernel})
        os.environ["HELION_AUTOTUNE_LOG"] = os.path.join(folder, "search")
        with open(os.path.join(folder, "search.csv"), "w", encoding="utf-8") as file:
            file.write(log)
        with mock.patch("time.monotonic", lambda: clock[0]):
            check([ModelNew().forward(x) for x in (3, 4)] == [6, 8], "helion_log.py", "changes what a call returns")
        check(os.listdir(folder) == [], "helion_log.py", "leaves the log, which the next call would print again")
    return out.getvalue()


def look_at_logs():
    """Of two searches, and of a long one."""
    with open(os.path.join(root, "tests/tuning/logs/helion_two.csv"), encoding="utf-8") as file:
        lines = printed_log(file.read().rpartition("r2,5.00")[0]).splitlines()
    told = [(row["run_id"], row["timestamp_s"], row["status"], row["config"][:26]) for row in csv.DictReader(lines)]
    expected = [("r1", "2.00", "ok", "Config(block_sizes=[32], n"), ("r1", "9.00", "peer_compilation_fail", "ab"),
                ("r1", "10.00", "ok", "Config(block_sizes=[64], n"), ("r1", "10.00", "deduplicated", "ad"),
                ("r1", "10.00", "chosen", "Config(block_sizes=[64], n"), ("r2", "1.50", "ok", "Config(block_sizes=[32], n"),
                ("r2", "4.00", "ok", "Config(block_sizes=[128], "),
                ("r2", "4.00", "chosen", "Config(block_sizes=[128], ")]
    check(told == expected, "helion_two.csv", f"is told as {told}")
    # What the search picked in the end, whatever its rows say, and when that was.
    head, slower = "run_id,timestamp_s,config_id,generation,status,perf_ms,compile_time_s,config\n", "Config(block_sizes=[32])"
    one = head + f'r,1.00,a,0,ok,0.5,0.1,Config(block_sizes=[16])\nr,2.00,b,0,ok,0.6,0.1,{slower}\n'
    for picked, seconds, last in ((slower, 40.25, ["r", "40.25", "chosen", "0.6", "0.1", slower]),
                                  (None, 0.5, ["r", "2.00", "chosen", "0.5", "0.1", "Config(block_sizes=[16])"]),
                                  ("Config()", 3, ["r", "3.00", "chosen", "0.5", "0.1", "Config(block_sizes=[16])"])):
        told = list(csv.reader(printed_log(one, picked, seconds).splitlines()))
        check([row for row in told if row][-1] == last, "a search", f"ends with {told[-1]}")
    config = "x" * 400
    rows = [f'{"c" * 64},{i}.50,{i:016x},1,{status},{time},0.25,"Config({config})"\n' for i in range(1500)
            for status, time in (("started", ""), ("ok", f"{2 - (i % 50 == 0) * i / 1000:.6f}"))]
    text = printed_log(head + "".join(rows))
    told = list(csv.DictReader(text.splitlines()))
    check(len(text) < 42000, "a long log", f"is {len(text)} characters")
    check(len([row for row in told if row["config"] == f"Config({config})"]) == 30 + 1 and told[-1]["status"] == "chosen" and
          told[-1]["perf_ms"] == "0.550000", "a long log", "lacks configurations that were faster than all before")
    check(len(told) > 500, "a long log", f"has {len(told)} rows of 1500")
    falling = [f'r,{i}.50,{i:016x},1,ok,{9 - i / 1000:.6f},0.25,"Config({config})"\n' for i in range(1000)]
    told = list(csv.DictReader(printed_log(head + "".join(falling)).splitlines()))
    check(len(told) > 500 and told[-1]["status"] == "chosen" and told[-1]["perf_ms"] == "8.001000", "a log that gets better and better",
          f"has {len(told)} rows, and ends with {told[-1]['status']}")
    other = "run_id,moment,state\nr,1,ok\n"
    check(printed_log(other).strip() == other.strip(), "a log of another version", "is not told as it is")


def main():
    files = 0
    look_at_logs()
    for tool in "triton", "helion":
        folder = os.path.join(root, "kernels/fusedops", tool)
        with tempfile.TemporaryDirectory() as out:
            subprocess.run([sys.executable, "-B", os.path.join(root, "tests/makers/interpreted.py"), folder, out], check=True)
            for path in sorted(glob.glob(os.path.join(folder, "*.py"))):
                named = look_at(path, tool)
                with open(os.path.join(out, os.path.basename(path)), encoding="utf-8") as file:
                    copy = file.read()
                ast.parse(copy, path)
                check(task_of(copy) == named, path, "its copy for the interpreter names another task")
                files += 1
    print(f"{files} files, {wrong} wrong")
    sys.exit(wrong != 0 or files < 22)


main()
