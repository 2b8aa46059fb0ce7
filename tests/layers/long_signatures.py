#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lists the function definitions in src/ that have more than seven parameters; fails when they are more than --most.

usage: long_signatures.py ROOT [--most N]

What belongs together goes into a struct. The number may only go down: lower --most in CMakeLists.txt with it.
EXPORT(...) is not counted: it defines functions of CUDA, whose parameters are CUDA's. Neither is the handler of requests,
whose parameters are libmicrohttpd's.
"""
import argparse
import pathlib
import re
import sys

LIMIT = 7
FOREIGN = {"EXPORT", "on_request"}
TOKEN = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\w+|\.\.\.|[^\s\w]|\n", re.S)


def tokens(text):
    """(token, line) of a C file, without comments and preprocessor lines."""
    text = re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", lambda m: "\n" * m[0].count("\n"), text, flags=re.M | re.S)
    line = 1
    for m in TOKEN.finditer(text):
        if not m[0].isspace() and not m[0].startswith(("//", "/*")):
            yield m[0], line
        line += m[0].count("\n")


def definitions(text):
    """(name, number of parameters, line) of every function definition: NAME ( ... ) { outside of all braces."""
    depth = 0
    previous = None
    stream = list(tokens(text))
    i = 0
    while i < len(stream):
        token, line = stream[i]
        if token == "(" and depth == 0 and previous and re.fullmatch(r"[A-Za-z_]\w*", previous):
            level, commas, j = 1, 0, i + 1
            while level and j < len(stream):
                t = stream[j][0]
                level += t in "([{"
                level -= t in ")]}"
                commas += t == "," and level == 1
                j += 1
            inside = [t for t, _ in stream[i + 1 : j - 1]]
            if j < len(stream) and stream[j][0] == "{" and previous not in FOREIGN:
                yield previous, 0 if inside in ([], ["void"]) else commas + 1, line
            i = j
            previous = ")"
            continue
        depth += token == "{"
        depth -= token == "}"
        previous = token
        i += 1


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("root", type=pathlib.Path)
    arguments.add_argument("--most", type=int, default=0)
    arguments = arguments.parse_args()
    n = total = 0
    for path in sorted((arguments.root / "src").rglob("*.[ch]")):
        for name, parameters, line in definitions(path.read_text(encoding="utf-8")):
            total += 1
            if parameters > LIMIT:
                n += 1
                print(f"{path.relative_to(arguments.root)}:{line}: {name} has {parameters} parameters")
    print(f"{n} of {total} functions have more than {LIMIT} parameters; at most {arguments.most} may")
    return n > arguments.most


if __name__ == "__main__":
    sys.exit(main())
