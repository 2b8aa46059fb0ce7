#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports lines of C and CUDA that stand in more than one place.

usage: duplicates.py [--most N] FOLDER...

Two places are the same when at least LEAST lines in a row are, without comments, blank lines, #include lines, lines of
nothing but brackets, and indentation. Prints the places, the longest first, and how many lines could go: those of
every place but the first. Ends with 1 when these are more than N.
"""
import argparse
import os
import re
import sys

LEAST = 6
ENDINGS = (".c", ".h", ".cu", ".cuh")
COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.S)


def without_comments(text):
    """The text with the same lines, and nothing where a comment was."""
    def replace(match):
        found = match.group(0)
        return re.sub(r"[^\n]", "", found) if found.startswith("/") else found
    return COMMENTS.sub(replace, text)


def lines_of(path):
    """[(number, text)] of the lines that count."""
    with open(path, encoding="utf-8") as file:
        text = without_comments(file.read())
    lines = ((number, " ".join(line.split())) for number, line in enumerate(text.split("\n"), 1))
    return [(number, line) for number, line in lines
            if re.search(r"\w", line) and not line.startswith("#include")]


def find_files(folders):
    return sorted(os.path.join(folder, name) for top in folders for folder, _, names in os.walk(top) for name in names
                  if name.endswith(ENDINGS))


def find_duplicates(files):
    """[(length, path, line, path of the first, its line)]: every place that is as an earlier one, as long as it can be."""
    found, seen = [], {}  # LEAST lines: where they were first
    texts = {path: lines_of(path) for path in files}
    for path in files:
        lines, i = texts[path], 0
        while i + LEAST <= len(lines):
            key = tuple(line for _, line in lines[i:i + LEAST])
            first = seen.get(key)
            if first is None or (first[0] == path and first[1] + LEAST > i):
                seen.setdefault(key, (path, i))
                i += 1
                continue
            other, j = texts[first[0]], first[1]
            n = LEAST
            most = min(len(lines) - i, (i if first[0] == path else len(other)) - j)
            while n < most and lines[i + n][1] == other[j + n][1]:
                n += 1
            found.append((n, path, lines[i][0], first[0], other[j][0]))
            i += n
    return sorted(found, key=lambda place: (-place[0], place[1:]))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--most", type=int, help="more duplicate lines than this are an error")
    parser.add_argument("folders", nargs="+")
    arguments = parser.parse_args()
    found = find_duplicates(find_files(arguments.folders))
    for n, path, line, first, first_line in found:
        print(f"{n:4} lines  {path}:{line}  as  {first}:{first_line}")
    total = sum(place[0] for place in found)
    most = arguments.most
    print(f"duplicates: {total} lines in {len(found)} places" + ("" if most is None else f", at most {most}"))
    if most is not None and total > most:
        sys.exit("more than there were: give what is the same a name and a place of its own")
    if most is not None and total < most:
        print(f"fewer than there were: lower the limit to {total}")


if __name__ == "__main__":
    main()
