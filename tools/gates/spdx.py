#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every source file names its licence in its first lines, as reuse.software has it (LINE), and LICENSES/ has the licence. What is
no text has no such line, and no place here: archives and programs that somebody left in the folder.

usage: spdx.py [--write] [ROOT]

Without --write: lists the files that do not, and ends with 1. With it: writes the line where it is missing, as the first,
or after `#!`. Looked at is what git tracks or would track.
"""
import pathlib
import subprocess
import sys

LINE = "SPDX-License-" "Identifier: Apache-2.0"  # in two parts: `reuse lint` reads this file, too
SLASHES = {".c", ".h", ".cu", ".cuh", ".cl", ".js", ".def"}
HASHES = {".py", ".sh", ".cmake"}
NAMES = {"CMakeLists.txt", "Makefile", "Containerfile"}
# Candidates and what tests feed to programs: their bytes are data (hashes in stored results, lines in expected messages).
# REUSE.toml states their licence.
DATA = ("bench/beside/", "bench/results/", "bench/kernel_mutants/", "kernels/", "tasks/", "tests/cases/", "tests/cheats/",
        "tests/kernelbenchx/", "tests/opencl/", "tests/python/", "tests/import/modules/", "tests/import/refused/",
        "tests/record/", "tests/tuning/", "tests/gpu/python/", "tests/kernels/disagree/",
        "tests/program/hostile/", "tests/program/contract/", "tests/program/linalg/", "tests/fuzz/corpus")


def tracked(root):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-coz", "--exclude-standard"], capture_output=True, check=True)
    return [n for n in listed.stdout.decode().split("\0") if n and (root / n).is_file() and not n.startswith(DATA)]


def comment(path, head):
    """How a line of comment begins in this file; None: it is no source."""
    if path.suffix in SLASHES:
        return "// "
    if path.suffix == ".css":
        return "/* "
    return "# " if path.suffix in HASHES or path.name in NAMES or head.startswith(b"#!") else None


def main():
    arguments = sys.argv[1:]
    write = "--write" in arguments
    root = pathlib.Path(next((a for a in arguments if not a.startswith("-")), ".")).resolve()
    missing = looked_at = 0
    for name in tracked(root):
        path = root / name
        with open(path, "rb") as file:
            head = file.read(512)
        if b"\0" in head:
            missing += 1
            print(f"{name}: is no text")
            continue
        begin = comment(path, head)
        if begin is None or not head:
            continue
        looked_at += 1
        if LINE.encode() in b"\n".join(head.split(b"\n")[:4]):
            continue
        missing += 1
        if not write:
            print(f"{name}: its first lines lack `{begin}{LINE}`")
            continue
        content = path.read_bytes()
        first, rest = content.split(b"\n", 1) if content.startswith(b"#!") else (None, content)
        line = (begin + LINE + (" */" if begin == "/* " else "") + "\n").encode()
        path.write_bytes((first + b"\n" if first else b"") + line + rest)
    if (root / "LICENSES/Apache-2.0.txt").read_bytes() != (root / "LICENSE").read_bytes():
        missing += 1
        print("LICENSES/Apache-2.0.txt is not what LICENSE is: `reuse lint` reads the one, people the other")
    if write:
        print(f"{missing} of {looked_at} files now have the line")
    else:
        print(f"{looked_at} files, {missing} without a licence line" +
              (" (tools/gates/spdx.py --write adds it)" if missing else ""))
    sys.exit(1 if missing and not write else 0)


if __name__ == "__main__":
    main()
