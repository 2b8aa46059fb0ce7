# SPDX-License-Identifier: Apache-2.0
"""reward.py TASK FILE...: the reward of each kernel, as a training loop would take it.

A kernel that is wrong earns nothing, one that is right earns something, one that is nearer to the floor more. What the
machine did wrong is no reward of 0: the sample is judged again, and left out if that does not help. Otherwise a full
disk teaches the model that its kernels are bad.
"""
from __future__ import annotations

import math
import pathlib
import sys
import typing

import assay

ATTEMPTS = 2


def reward(verdict: assay.Verdict) -> float:
    if not verdict.passed:
        return 0.1 if verdict.reason in (assay.Reason.WRONG_VALUE, assay.Reason.LOW_PRECISION) else 0.0
    timing = verdict.timing
    if timing is None or timing.floor_ns is None or timing.suspicious:
        return 1.0  # right; its time says nothing
    return 1.0 + min(1.0, timing.floor_ns / timing.median_ns)


def rewards(judge: assay.Judge, task: str, samples: typing.Sequence[assay.judges.Source],
            **asked: typing.Any) -> list[float]:
    """One a sample; NaN: it could not be judged here, leave it out of the batch."""
    found = [math.nan] * len(samples)
    open_ = list(range(len(samples)))
    for _ in range(ATTEMPTS):
        verdicts = judge.judge_many(task, [samples[i] for i in open_], return_errors=True, **asked)
        again = []
        for i, verdict in zip(open_, verdicts):
            if isinstance(verdict, assay.EnvironmentFault):  # JudgeFailed is one
                print(f"left out unless it can be judged again: {verdict}", file=sys.stderr)
                again.append(i)
            elif isinstance(verdict, assay.Error):  # the task's name, an argument: a bug of this program
                raise verdict
            else:
                found[i] = reward(verdict)
        open_ = again
    return found


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: reward.py TASK FILE... (for example: reward.py kernelbench/1/19 relu.c)")
    with assay.Judge() as judge:
        files = [pathlib.Path(name) for name in sys.argv[2:]]
        for file, value in zip(files, rewards(judge, sys.argv[1], files)):
            print(f"{file.name}: {'left out' if math.isnan(value) else format(value, '.2f')}")
