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
        with open(path, encoding="utf-8-sig") as file:
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


# Each begins where a name can begin, so that a long line without a blank is looked at once.
GNU = re.compile(r"(?:\A|(?<=[/\s:]))([^/\s:]+):(\d+):(\d+): (fatal )?error: .*\n *\2 \| (.*)$", re.MULTILINE)
NVIDIA = re.compile(r"(?:\A|(?<=[/\s(]))([^/\s(]+)\((\d+)\)(): error: (.*)\n(?:[ \t]*\n)*([^\n]+)$", re.MULTILINE)
FIRST = re.compile(r"(?:\A|(?<=[/\s:]))([^/\s:]+:\d+:\d+: (fatal )?error: .*)$", re.MULTILINE)


def text_of(error):
    """What the exception says. Its class may be the candidate's own, and fail at that."""
    try:
        return str(error)
    except BaseException as why:  # sys.exit() in it is none of class Exception
        return f"an exception that does not say what it is: its __str__ raises {type(why).__name__}"


def is_of_a_compiler(error):
    return "Error building extension" in text_of(error)


def place_in_text(error, path):
    """(line, column) where an extension's source, a text of the candidate's file, has the first error: compilers print
    that line, and it stands in the file once. None: it is not known."""
    text = text_of(error)
    found = is_of_a_compiler(error) and (GNU.search(text) or NVIDIA.search(text))
    wrong = found[5].strip() if found else ""
    try:
        with open(path, encoding="utf-8-sig") as file:
            lines = [(i, line) for i, line in enumerate(file, 1) if wrong and line.strip().endswith(wrong)]
    except (OSError, ValueError):
        return None
    if len(lines) != 1:
        return None
    line, text = lines[0]
    indent = len(found[5]) - len(found[5].lstrip())
    within = max(int(found[3] or 0) - 1 - indent, 0)  # columns of the line without what it is indented by
    return line, text.rindex(wrong) + min(within, len(wrong) - 1) + 1


def is_complaint(error):
    """Whether it is the worker's own."""
    return isinstance(getattr(error, "about", 0), (str, type(None)))


def place(error, path):
    """(line, column) of the candidate's file: the innermost line that was running, or what a complaint is about."""
    of_text = place_in_text(error, path)
    if of_text:
        return of_text
    own = os.path.abspath(path)
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if os.path.abspath(frame.filename) == own]
    if isinstance(error, SyntaxError) and error.filename in (path, own):
        return error.lineno or 1, error.offset or 1
    if frames:
        return frames[-1].lineno or 1, (getattr(frames[-1], "colno", None) or 0) + 1  # columns since Python 3.11
    return definition(path, error.about if is_complaint(error) else "ModelNew")


def said(error):
    """The exception in one line; of an extension's compiler the first error."""
    text = text_of(error)
    if is_complaint(error):
        return " ".join(text.split())
    found = FIRST.search(text)
    nvidia = None if found else NVIDIA.search(text)
    if (found or nvidia) and "\n" in text:
        first = found[1] if found else f"{nvidia[1]}:{nvidia[2]}: error: {nvidia[4]}"
        text = re.sub(r": \[\d+/\d+\] .*", "", text.splitlines()[0]) + ": " + first
    text = " ".join(text.split()) + without_a_gpu(error)
    return f"{type(error).__name__}{': ' if text else ''}{text}"


def without_a_gpu(error):
    """What PyTorch fails to say where an extension with CUDA is compiled on a machine without a GPU: it takes the last of
    the GPUs' architectures."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, IndexError) and frames and frames[-1].name == "_get_cuda_arch_flags":
        return ": an extension with CUDA is compiled for the GPU that is there, and there is none"
    return ""


def told(error, path, how=""):
    """All of it, in one line. `how`: what stands before the exception."""
    line, column = place(error, path)
    return f"{os.path.basename(path)}:{line}:{column}: error: {how}{said(error)}"
