#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds charts against what charts promise.

usage: check_svg.py COUNT FILE...

Each is well-formed, has a role, a title and a description that it names, unique ids, numbers where numbers belong, no
label that leaves the picture, and no script.
"""
import math
import re
import sys
import xml.etree.ElementTree as tree

SVG = "{http://www.w3.org/2000/svg}"
NUMBERS = {"x", "y", "x1", "y1", "x2", "y2", "width", "height"}
ALLOWED = {"svg", "title", "desc", "style", "text", "line", "rect", "path"}
CHARACTER = 7.5  # px at 12 px


def faults(root):
    width, height = float(root.get("width")), float(root.get("height"))
    ids = [e.get("id") for e in root.iter() if e.get("id")]
    if len(ids) != len(set(ids)):
        yield "an id twice"
    if root.get("role") != "img" or not set(root.get("aria-labelledby").split()) <= set(ids):
        yield "no role or no name"
    if root.get("viewBox") != f"0 0 {int(width)} {int(height)}":
        yield "the picture is scaled"
    for name in ("title", "desc"):
        if not (root.find(SVG + name).text or "").strip():
            yield f"no {name}"
    if hidden := sorted({f"U+{ord(c):04X}" for c in "".join(root.itertext()) if c in "\u202e\u200d\ufe0f"}):
        yield f"characters that nobody sees: {hidden}"
    for e in root.iter():
        tag = e.tag.removeprefix(SVG)
        if tag not in ALLOWED:
            yield f"<{tag}>"
        for key, value in e.attrib.items():
            if key in NUMBERS and not math.isfinite(float(value)):
                yield f"{key}={value}"
        if tag == "path" and not re.fullmatch(r"(?:[MLHVhvalmz]|-?\d+(?:\.\d)?|-?\.\d|[ ])+", e.get("d")):
            yield f"path {e.get('d'):.60}"
        if tag == "text":
            kind, text = e.get("class"), e.text or ""
            size = CHARACTER * len(text) * (14 / 12 if "c-title" in kind else 1)
            start = float(e.get("x")) - (size if "c-end" in kind else size / 2 if "c-middle" in kind else 0)
            if start < -1 or start + size > width + 1 or not 0 <= float(e.get("y")) <= height:
                yield f"text leaves the picture: {text!r} from {start:.0f} to {start + size:.0f} of {width:.0f}"


def main():
    wrong = 0
    for path in sys.argv[2:]:
        for fault in faults(tree.parse(path).getroot()):
            print(f"{path}: {fault}")
            wrong += 1
    if len(sys.argv) - 2 != int(sys.argv[1]):
        print(f"{len(sys.argv) - 2} files, not {sys.argv[1]}")
        wrong += 1
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
