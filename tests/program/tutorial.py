#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tutorial.py ASSAY PAGE [--gpu]: does what the tutorial's part for a laptop says, in a folder of its own; with --gpu its part
for a GPU, and prints what each command printed.

A block of C, CUDA or Python is saved under the name that the text before it gives. Blocks marked `sh` are run, all in one folder and with
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
    on_gpu = "--gpu" in sys.argv
    parts = ("## On a GPU", "## Where to go on") if on_gpu else ("## On a laptop", "## On a GPU")
    part = text[text.index(parts[0]):text.index(parts[1])]
    output, counts = "", {"cuda": 0, "python": 0, "sh": 0} if on_gpu else {"c": 0, "sh": 0, "": 0}
    with tempfile.TemporaryDirectory() as above:
        folder = os.path.join(above, "work")
        os.mkdir(folder)
        os.symlink(os.path.join(os.path.dirname(os.path.abspath(page)), "..", "kernels"), os.path.join(above, "kernels"))
        environment = {**os.environ, "PATH": f"{os.path.dirname(assay)}:{os.environ['PATH']}",
                       "ASSAY_STORE": os.path.join(folder, "store.sqlite"), "TMPDIR": folder}
        for block in BLOCK.finditer(part):
            kind, body = block.groups()
            counts[kind] += 1
            if kind in ("c", "cuda", "python"):
                name = re.findall(r"Save\s+this as `(\w+\.\w+)`", part[:block.start()])[-1]
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(body)
            elif kind == "sh":
                output = run(body, folder, environment)
                if on_gpu:
                    print(f"{body}{output}", flush=True)
            else:
                check(body, output)
        if not on_gpu and not os.path.exists(os.path.join(folder, "site", "index.html")):
            sys.exit("there is no site")
    print(", ".join(f"{count} blocks of {kind or 'output'}" for kind, count in counts.items()) + " as promised")
    if min(counts.values()) < (1 if on_gpu else 2):
        sys.exit("the page has fewer blocks than a tutorial")


if __name__ == "__main__":
    main()
