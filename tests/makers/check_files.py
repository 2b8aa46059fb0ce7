#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The kernels in Triton and Helion, read and not run: each is Python, names a task that there is, has a twin that its
source knows, and one class ModelNew; what interpreted.py makes of it is Python, too, and names the same task.

usage: check_files.py ASSAY SOURCE
"""
import ast
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

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


def main():
    files = 0
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
