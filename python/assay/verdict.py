# SPDX-License-Identifier: Apache-2.0
"""What the judge found, as values with types. All evidence is in `Verdict.evidence`."""
from __future__ import annotations

import dataclasses
import enum
import json
import typing


class Reason(str, enum.Enum):
    """assay/verdict.h, word for word."""

    PASS = "pass"
    BUILD_FAILED = "build_failed"
    BUILD_TIMEOUT = "build_timeout"
    BUILD_LIMIT = "build_limit"
    LOAD_FAILED = "load_failed"
    CRASHED = "crashed"
    EXITED = "exited"
    UNRECORDABLE = "unrecordable"
    INVALID_PLAN = "invalid_plan"
    LAUNCH_FAILED = "launch_failed"
    TIMEOUT = "timeout"
    OUT_OF_MEMORY = "out_of_memory"
    FORBIDDEN_CALL = "forbidden_call"
    OUT_OF_BOUNDS = "out_of_bounds"
    WROTE_INPUT = "wrote_input"
    LATE_WORK = "late_work"
    UNWRITTEN = "unwritten"
    WRONG_CLASS = "wrong_class"
    WRONG_VALUE = "wrong_value"
    LOW_PRECISION = "low_precision"
    RAISED = "raised"
    CHANGED_BEHAVIOUR = "changed_behaviour"
    JUDGE_FAILED = "judge_failed"

    def __str__(self) -> str:
        return self.value


def _number(value: typing.Any) -> float | None:
    """JSON has no infinity: there it is a text."""
    return None if value is None else float(value)


@dataclasses.dataclass(frozen=True)
class Check:
    """One output next to the answer. Errors are in units of what a straightforward implementation errs."""

    workload: str
    probe: str
    output: int
    timed: bool
    reason: Reason
    elements: int
    wrong: int
    error: float | None
    allowed: float | None
    hint: str
    worst: str  # the worst elements, several lines; "": the check passed

    @classmethod
    def of(cls, c: dict[str, typing.Any]) -> Check:
        return cls(c["workload"], c["probe"], c["output"], c["timed"], Reason(c["reason"]), c["elements"], c["wrong"],
                   _number(c["gate_z"]), _number(c["gate_limit"]), c["hint"], c.get("worst", ""))


@dataclasses.dataclass(frozen=True)
class Timing:
    """Nanoseconds. None: unknown."""

    median_ns: float
    low_ns: float | None  # the 95 % interval of the median
    high_ns: float | None
    hot_ns: float | None
    floor_ns: float | None
    unstable: bool
    suspicious: bool  # docs/timing.md: not to be believed
    samples_ns: tuple[float, ...] = dataclasses.field(repr=False)

    @classmethod
    def of(cls, t: dict[str, typing.Any]) -> Timing | None:
        if not t or not t.get("measured"):
            return None
        return cls(float(t["median_ns"]), _number(t["low_ns"]), _number(t["high_ns"]), _number(t["hot_ns"]),
                   _number(t["floor_ns"]), t["unstable"], t["suspicious"], tuple(map(float, t["samples_ns"])))


@dataclasses.dataclass(frozen=True)
class Verdict:
    reason: Reason
    detail: str  # one line
    meaning: str  # what the reason means for the author of the kernel
    task: str
    workload: str
    checks: tuple[Check, ...] = dataclasses.field(repr=False)
    worst: Check | None  # the check that decided, or the closest call
    timing: Timing | None
    diagnostics: str  # what the compiler printed
    seed: int  # both repeat the judgement bit for bit
    secret: int
    source_sha256: str | None
    json: str = dataclasses.field(repr=False, compare=False)

    @property
    def passed(self) -> bool:
        return self.reason is Reason.PASS

    @property
    def error(self) -> float | None:
        """The worst element's, in units of what a straightforward implementation errs."""
        return self.worst.error if self.worst else None

    @property
    def allowed(self) -> float | None:
        return self.worst.allowed if self.worst else None

    @property
    def time_ns(self) -> float | None:
        """The median with cold caches. None: it was not timed."""
        return self.timing.median_ns if self.timing else None

    @property
    def floor_ns(self) -> float | None:
        return self.timing.floor_ns if self.timing else None

    @property
    def evidence(self) -> dict[str, typing.Any]:
        """All of it: docs/json.md, but for what the caller knows (candidate, name, run, command)."""
        return typing.cast("dict[str, typing.Any]", json.loads(self.json))

    @classmethod
    def of(cls, text: str) -> Verdict:
        v = json.loads(text)
        checks = tuple(Check.of(c) for c in v["checks"] or ())
        worst = v["worst_check"]
        return cls(Reason(v["verdict"]), v["detail"] or "", v["meaning"], v["task"], v["workload"] or "", checks,
                   checks[worst] if worst is not None and 0 <= worst < len(checks) else None, Timing.of(v["timing"]),
                   v["diagnostics"] or "", v["seed"] or 0, v["secret"] or 0, v["candidate_sha256"], text)
