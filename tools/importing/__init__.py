"""What tools/assay-import is made of.

    source.py         a user's module file: loading it, its parameters, its inputs, running it in double precision
    substitutes.py    functions of PyTorch that are exchanged while a module is exported, measured or run
    distributions.py  from drawn values, and from how get_inputs draws them, to a task's distributions
    export.py         a module to an ONNX graph with symbolic dimensions, by torch.export and torch.onnx
    onnx_file.py      the same for .onnx files
    graph.py          an ONNX graph made plain: functions expanded, shape arithmetic folded, what is unused dropped
    sizes.py          the workloads: which dimensions can be small or odd
    text.py           the task file
    check.py          the task's answers beside the original's
"""


class Refused(Exception):
    """What cannot be imported, and why; the message says what to do."""


NOTES = []  # what was assumed; goes into the task file and to standard error


def note(text):
    if text not in NOTES:
        NOTES.append(text)
