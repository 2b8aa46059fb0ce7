# SPDX-License-Identifier: Apache-2.0
"""What says nothing about a kernel: the request is wrong, or the machine failed. The sentence is the library's own."""
from __future__ import annotations

import typing

if typing.TYPE_CHECKING:
    from .verdict import Verdict


class Error(Exception):
    """Everything that this package raises. `status` is libassay's number (assay/status.h)."""

    status = 0

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        if status is not None:
            self.status = status


class UsageError(Error, ValueError):
    """The request is wrong."""
    status = -3


class NotFoundError(Error, LookupError):
    """There is no such task, file or installation."""
    status = -8


class InvalidError(Error, ValueError):
    """A file that was given is not what it should be."""
    status = -5


class LimitError(Error):
    """A limit of Assay's was exceeded."""
    status = -7


class EnvironmentFault(Error):
    """The machine lacks something, or failed."""
    status = -9


class MemoryFault(EnvironmentFault, MemoryError):
    """The machine has no more memory."""
    status = -1


class BusyError(EnvironmentFault):
    """Another process uses it."""
    status = -11


class CorruptError(EnvironmentFault):
    """A stored file is damaged."""
    status = -12


class JudgeFailed(EnvironmentFault):
    """The verdict `judge_failed`: the machine failed while a kernel was judged. `verdict` has the evidence."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.detail or verdict.meaning)
        self.verdict = verdict

    def __reduce__(self) -> tuple[type[JudgeFailed], tuple[Verdict]]:
        """So that it comes out of another process: an exception is made anew of its text otherwise."""
        return type(self), (self.verdict,)


_BY_STATUS = {-1: MemoryFault, -3: UsageError, -4: InvalidError, -5: InvalidError, -6: UsageError, -7: LimitError,
              -8: NotFoundError, -11: BusyError, -12: CorruptError}


def of_status(status: int, message: str) -> Error:
    return _BY_STATUS.get(status, EnvironmentFault)(message, status)
