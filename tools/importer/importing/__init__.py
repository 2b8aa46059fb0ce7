# SPDX-License-Identifier: Apache-2.0
"""What tools/importer/assay-import is made of.

    source.py         a user's module file: loading it, its parameters, its inputs, running it in double precision
    substitutes.py    functions of PyTorch that are exchanged while a module is exported, measured or run
    functions.py      those that cannot be exported, in terms of others
    decompositions.py operators that cannot be translated, in terms of others
    selection.py      rows that data choose, and conditions in Python
    watch.py          how get_inputs draws its tensors
    measure.py        what a module costs at other sizes, or whether it takes them at all
    module_task.py    all of this in its order
    export.py         a module to an ONNX graph with symbolic dimensions, by torch.export and torch.onnx

    reading.py        files of others as texts, within limits
    flashinfer.py     the files of flashinfer-bench and SOL-ExecBench: Definition, Workload, Solution
    flashinfer_task.py  a Definition with its workloads to a task
    gpu_mode.py       a problem of GPU MODE: task.yml and its files
    gpu_mode_task.py  its reference, on what it generates, to a task
    source_names.py   names that stand in a task and in Python
    called.py         somebody else's function as the module that is imported
    candidates.py     solutions and submissions as candidates

    onnx_file.py      an .onnx file to a task
    control.py        If, Loop and Scan taken out of a model

    distributions.py  a task's distributions: known forms, and those that fit drawn values
    graph.py          an ONNX graph made plain: functions expanded, shape arithmetic folded, what is unused dropped
    sizes.py          the workloads: which dimensions can be small or odd
    text.py           the task file
    check.py          Assay's commands on it, and its answers compared with the original's
    stub.py           a candidate to begin with
    supervise.py      all of it in a child process with limits
    task.py           the order of things, for both; nothing from distributions.py on needs PyTorch
"""


# What Python calls printable though fonts may show nothing of it: the rest of Unicode's Default_Ignorable_Code_Point.
UNSEEN = {*map(chr, (0x34f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x180b, 0x180c, 0x180d, 0x180f, 0x3164, 0xffa0)),
          *map(chr, range(0xfe00, 0xfe10)), *map(chr, range(0xe0100, 0xe01f0))}


def printable(text):
    """The text with what would steer a terminal, and what it would not show, escaped: names in a model may hold anything."""
    return "".join(c if c == "\n" or (c.isprintable() and c not in UNSEEN) else c.encode("unicode_escape").decode()
                   for c in str(text))


class Refused(Exception):
    """What cannot be imported, and why; the message says what to do."""

    def __init__(self, text):
        super().__init__(printable(text))


NOTES = []  # what was assumed; goes into the task file and to standard error


def note(text):
    text = printable(text)
    if text not in NOTES:
        NOTES.append(text)
