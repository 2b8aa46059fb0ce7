# SPDX-License-Identifier: Apache-2.0
"""Judge compute kernels: right or wrong, how fast, how far from the hardware's limit.

    import assay
    verdict = assay.judge("kernelbench/1/19", pathlib.Path("relu.c"))
    print(verdict.reason, verdict.detail, verdict.time_ns)

A wrong kernel is a verdict. What says nothing about the kernel is an exception: a subclass of `assay.Error`. See
docs/python.md in Assay's documentation.
"""
from .errors import (BusyError, CorruptError, EnvironmentFault, Error, InvalidError, JudgeFailed, LimitError,
                     MemoryFault, NotFoundError, UsageError)
from .judges import Judge, judge, judge_async, judge_many
from .library import version
from .tasks import Task, import_task
from .verdict import Check, Reason, Timing, Verdict

__version__ = "0.2.0"
__all__ = ["BusyError", "Check", "CorruptError", "EnvironmentFault", "Error", "InvalidError", "Judge", "JudgeFailed",
           "LimitError", "MemoryFault", "NotFoundError", "Reason", "Task", "Timing", "UsageError", "Verdict",
           "import_task", "judge", "judge_async", "judge_many", "version"]
