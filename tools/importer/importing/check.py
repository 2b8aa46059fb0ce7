# SPDX-License-Identifier: Apache-2.0
"""Assay's own commands on a task file, and its answers compared with the original's."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import numpy

from . import Refused

SMALLEST_SCALE = (
    1e-6  # below, differences count as if the outputs were of this size: what cancels to nothing has no digits
)
HOUSE = pathlib.Path(__file__).resolve().parents[3]


class Assay:
    def __init__(self, program=None):
        # HOUSE is the repository; of an installed importer it is PREFIX/libexec.
        near = [str(HOUSE / "build" / "assay"), str(HOUSE.parent / "bin" / "assay")]
        places = [program] if program else [os.environ.get("ASSAY"), *near, shutil.which("assay")]
        self.program = next((p for p in places if p and os.access(p, os.X_OK)), None)
        if not self.program:
            raise Refused("the program assay is not found: build it (make) or say where it is (--assay FILE)")
        self.folder = tempfile.TemporaryDirectory()
        self.said = ""  # by the last command, to standard error

    def run(self, *arguments):
        environment = {**os.environ, "ASSAY_STORE": os.path.join(self.folder.name, "store")}  # nothing is judged
        done = subprocess.run([self.program, *map(str, arguments)], capture_output=True, text=True, env=environment)
        self.said = said = done.stderr.strip().removeprefix("assay: ")
        if done.returncode not in (0, 1):
            for a in arguments:  # the draft's path means nothing to anybody
                said = said.replace(f"{a}: ", "") if str(a).endswith("/task.onnxtxt") else said
            raise Refused(f"assay says: {said}")
        return done.stdout

    def show(self, path):
        return json.loads(self.run("show", path, "--json"))

    def answer(self, path, workload=None, feeds=None, seed=1):
        """(inputs, outputs) as lists of arrays: drawn for a workload, or for the given inputs."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder) / "in"
            source.mkdir()
            if feeds is None:
                options = ["--workload", workload, "--seed", seed]
            else:
                options = ["--inputs", source]
                for k, value in enumerate(feeds):
                    numpy.save(source / f"input_{k}.npy", numpy.ascontiguousarray(value).reshape(value.shape))
            listed = json.loads(self.run("oracle", path, "--outputs", folder, "--json", *options))
            inputs = feeds or [numpy.load(pathlib.Path(folder) / i["file"]) for i in listed["inputs"]]
            return inputs, [numpy.load(pathlib.Path(folder) / o["file"]) for o in listed["outputs"]]

    def judge(self, path, candidate):
        """(exit code, why it is not 0) of a judgement on the CPU, without times; nothing is stored."""
        environment = {**os.environ, "ASSAY_PYTHON": os.environ.get("ASSAY_PYTHON", sys.executable)}
        done = subprocess.run([self.program, "judge", str(path), str(candidate), "--device", "cpu", "--no-timing",
                               "--no-store"], capture_output=True, text=True, env=environment)
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        return done.returncode, "it does not pass: " + " ".join(" ".join(lines[1:2] or lines).split())

    def lint(self, path):
        """The findings that are open: (code, rules, text)."""
        return [(f["finding"], f["rules"], f["text"]) for f in json.loads(self.run("tasks", "--lint", path, "--json"))
                if not f["allowed"]]


def difference(ours, theirs):
    """The largest difference over the largest magnitude; infinite where shapes, NaNs, infinities or whole numbers
    differ."""
    if ours.shape != theirs.shape:
        return float("inf"), f"shape {list(ours.shape)} here, {list(theirs.shape)} there"
    if not numpy.issubdtype(theirs.dtype, numpy.floating):
        wrong = int((ours.astype(numpy.int64) != theirs.astype(numpy.int64)).sum())
        return (float("inf") if wrong else 0.0), f"{wrong} of {ours.size} whole numbers differ"
    a, b = ours.astype(numpy.float64), theirs.astype(numpy.float64)
    finite = numpy.isfinite(b)
    same = numpy.array_equal(a[~finite], b[~finite], equal_nan=True)
    if not same or not numpy.isfinite(a[finite]).all():
        return float("inf"), "NaNs or infinities differ"
    if not finite.any():
        return 0.0, "nothing is finite"
    scale = max(numpy.abs(b[finite]).max(), SMALLEST_SCALE)
    return float(numpy.abs(a[finite] - b[finite]).max() / scale), ""
