#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tutorial.py ASSAY PAGE: does what the tutorial's part for a laptop says, in a folder of its own.

A block of C is saved under the name that the text before it gives. Blocks marked `sh` are run, all in one folder and with
one store. Each line of an unmarked block has to be in what the block before it printed, in this order; "..." is anything.
"""
import os
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(script, folder, environment):
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=folder, env=environment, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        sys.exit(f"exit code {done.returncode} of:\n{script}\n{done.stdout}")
    return done.stdout


def check(wanted, output):
    at = 0
    for line in wanted.splitlines():
        if line.strip() in ("", "..."):
            continue
        at = output.find(line.strip(), at)
        if at < 0:
            sys.exit(f"the tutorial promises {line!r}; it printed\n{output}")


def main():
    assay, page = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    part = text[text.index("## On a laptop"):text.index("## On a GPU")]
    output, counts = "", {"c": 0, "sh": 0, "": 0}
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PATH": f"{os.path.dirname(assay)}:{os.environ['PATH']}",
                       "ASSAY_STORE": os.path.join(folder, "store.sqlite"), "TMPDIR": folder}
        for block in BLOCK.finditer(part):
            kind, body = block.groups()
            counts[kind] += 1
            if kind == "c":
                name = re.findall(r"Save this as `(\w+\.c)`", part[:block.start()])[-1]
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(body)
            elif kind == "sh":
                output = run(body, folder, environment)
            else:
                check(body, output)
        if not os.path.exists(os.path.join(folder, "site", "index.html")):
            sys.exit("there is no site")
    print(f"{counts['c']} kernels, {counts['sh']} commands, {counts['']} outputs as promised")
    if min(counts.values()) < 2:
        sys.exit("the page has fewer blocks than a tutorial")


if __name__ == "__main__":
    main()
