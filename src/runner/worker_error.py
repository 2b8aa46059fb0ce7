# SPDX-License-Identifier: Apache-2.0
"""What is said of an exception: "FILE:LINE:COLUMN: error: ...", as compilers put it, so that an editor finds the place.
Part of worker.py."""
import ast
import os
import re
import traceback


class Complaint(Exception):
    """The candidate does not fit the task; the text is for its author. `about` names the class, function or method of
    the file that it is about: "ModelNew.forward"."""

    def __init__(self, text, about="ModelNew"):
        super().__init__(text)
        self.about = about


DEFINITIONS = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


def definition(path, name):
    """(line, column) of the last definition of a name; that of its class where a method is missing, else the file's
    beginning."""
    found = 1, 1
    try:
        with open(path, encoding="utf-8") as file:
            body = ast.parse(file.read()).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return found
    for part in (name or "").split("."):
        nodes = [node for top in body for node in ast.walk(top)
                 if isinstance(node, DEFINITIONS) and node.name == part]
        if not nodes:
            break
        found, body = (nodes[-1].lineno, nodes[-1].col_offset + 1), nodes[-1].body
    return found


def place(error, path):
    """(line, column) of the candidate's file: the innermost line that was running, or what a complaint is about."""
    own = os.path.abspath(path)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == own]
    if isinstance(error, SyntaxError) and error.filename in (path, own):
        return error.lineno or 1, error.offset or 1
    if frames:
        return frames[-1].lineno or 1, (getattr(frames[-1], "colno", None) or 0) + 1  # columns since Python 3.11
    return definition(path, getattr(error, "about", "ModelNew"))


def said(error):
    """The exception in one line; of an extension's compiler the first error."""
    text = str(error)
    if hasattr(error, "about"):
        return " ".join(text.split())
    found = re.search(r"^.*?([^/\s:]+:\d+:\d+: (fatal )?error: .*)$", text, re.MULTILINE)
    if found and "\n" in text:
        text = re.sub(r": \[\d+/\d+\] .*", "", text.splitlines()[0]) + ": " + found[1]
    text = " ".join(text.split())
    return f"{type(error).__name__}{': ' if text else ''}{text}"


def told(error, path, how=""):
    """All of it, in one line. `how`: what stands before the exception."""
    line, column = place(error, path)
    return f"{os.path.basename(path)}:{line}:{column}: error: {how}{said(error)}"
