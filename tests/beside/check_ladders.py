#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/ladders.py without a GPU and PyTorch: a judge that says what a test wants to hear.

usage: check_ladders.py
"""
import contextlib
import io
import json
import os
import stat
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench/gpu"))
import ladders  # noqa: E402

# Two tasks of three sizes each, beside other workloads. b's largest finds no memory while others are at work, and is wrong at
# its second size; a's largest does not end, and a's first gets no time beside others. Every question is noted.
JUDGE = '''#!%s
import fnmatch, json, os, sys, time
arguments = sys.argv[1:]
def after(name):
    return arguments[arguments.index(name) + 1]
if arguments[0] == "tasks":
    print(json.dumps([{"task": "x/a"}, {"task": "x/b"}]))
elif arguments[0] == "show":
    print(json.dumps({"workloads": [{"workload": w} for w in ("small", "size01", "size02", "size03", "ragged0")]}))
elif arguments[0] == "bench":
    task, alone, found = arguments[1], after("--run").endswith("True"), []
    try:
        for size in fnmatch.filter(["size01", "size02", "size03"], after("--workload")):
            with open(sys.argv[0] + ".asked", "a") as file:
                file.write(f"{task} {size}\\n")
            if (task, size) == ("x/a", "size03") and os.environ.get("HANGS"):
                time.sleep(100)
            verdict = "wrong_value" if (task, size) == ("x/b", "size02") else "pass"
            if (task, size) == ("x/b", "size03") and not alone:
                verdict = "judge_failed"
            untimed = (task, size) == ("x/a", "size01") and not alone and os.environ.get("BUSY")
            found.append({"task": task, "workload": size, "verdict": verdict, "detail": "" if verdict == "pass" else "why",
                          "mode": "plan", "timing": {} if untimed else {
                              "median_ns": 2000.04, "low_ns": 1, "high_ns": 3, "hot_ns": 1000, "called_ns": 9000, "floor_ns": 500, "unstable": True, "suspicious": False}})
    except KeyboardInterrupt:
        pass
    print(json.dumps(found))
''' % sys.executable
OLD = {"what": "of before", "date": "2026-11-27", "columns": ["task", "workload", "median_ns", "marks", "mode"],
       "rows": [["x/b", "size01", 7.0, "", "plan"]]}


class Ladders(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.judge = os.path.join(self.folder.name, "assay")
        self.out = os.path.join(self.folder.name, "out.json")
        with open(self.judge, "w", encoding="utf-8") as file:
            file.write(JUDGE)
        with open(self.out, "w", encoding="utf-8") as file:
            json.dump(OLD, file)
        os.chmod(self.judge, stat.S_IRWXU)

    def call(self, *arguments, gpus="2"):
        text, asked = io.StringIO(), self.judge + ".asked"
        given = ["ladders.py", self.judge, self.out, "--device", "cpu", "--gpus", gpus, "--suite", "x", *arguments]
        with mock.patch.object(sys, "argv", given), contextlib.redirect_stdout(text):
            ladders.main()
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        questions = []
        if os.path.exists(asked):
            with open(asked, encoding="utf-8") as file:
                self.order = file.read().split("\n")[:-1]
            questions = sorted(self.order)
            os.remove(asked)
        return text.getvalue(), questions, {tuple(row[:2]): dict(zip(found["columns"], row)) for row in found["rows"]}, found["calls"]

    def test_goes_on(self):
        """What an older file has is kept; what fails beside others is judged alone; then nothing is asked again."""
        text, asked, rows, calls = self.call()
        self.assertEqual(asked, ["x/a size01", "x/a size02", "x/a size03", "x/b size02", "x/b size02", "x/b size03", "x/b size03"])
        self.assertEqual([rows["x/b", "size01"][name] for name in ("median_ns", "call", "verdict")], [7.0, 0, "pass"])
        self.assertEqual([rows["x/a", "size02"][name] for name in ("median_ns", "floor_ns", "marks", "call", "mode")],
                         [2000.04, 500, "u", 1, "plan"])
        self.assertEqual((rows["x/b", "size02"]["verdict"], rows["x/b", "size02"]["detail"]), ("wrong_value", "alone: why"))
        self.assertEqual(rows["x/b", "size03"]["verdict"], "pass")
        self.assertIn("6 of 6 sizes, 2 of 2 tasks whole; 5 pass", text)
        self.assertIn("x/b size02: wrong_value: alone: why", text)
        self.assertEqual((calls[0]["date"], calls[1]["passed"]), ("2026-11-27", 4))
        self.assertEqual(self.call()[1], [])

    def test_order(self):
        """What was refused before is judged again at the end and alone, what another file has after what none has."""
        with open(self.out, "w", encoding="utf-8") as file:
            columns = ["task", "workload", "verdict", "detail", "median_ns"]
            json.dump({"columns": columns, "rows": [["x/b", "size02", "wrong_value", "why", None]]}, file)
        other = os.path.join(self.folder.name, "other.json")
        with open(other, "w", encoding="utf-8") as file:
            json.dump({"columns": columns, "rows": [["x/a", f"size0{i}", "pass", "", 5.0] for i in (1, 2, 3)]}, file)
        self.call("--after", other, "--each", "1", gpus="1")
        self.assertEqual(self.order, ["x/b size01", "x/b size03", "x/a size01", "x/a size02", "x/a size03",
                                      "x/b size03", "x/b size02", "x/b size03"])

    def test_cheap_sizes_first(self):
        """The large sizes of one task do not come before the small ones of another."""
        ladders_ = {"a": {"size01": 1, "size02": 1 << 30}, "b": {"size01": 1, "size02": 2, "size03": 1 << 28}, "c": {"size01": 1 << 29}}
        missing = {"a": ["size01", "size02"], "b": ["size02", "size03", "size01"], "c": ["size01"]}
        self.assertEqual(ladders.jobs_of(missing, ladders_), [("b", ["size02", "size01"]), ("a", ["size01"]), ("b", ["size03"]),
                                                              ("c", ["size01"]), ("a", ["size02"])])

    def test_no_time(self):
        """What passed without a time beside others is timed alone."""
        with mock.patch.dict(os.environ, {"BUSY": "1"}):
            _, asked, rows, _ = self.call("--only", "x/a")
        self.assertEqual(asked, ["x/a size01", "x/a size01", "x/a size02", "x/a size03"])
        self.assertEqual((rows["x/a", "size01"]["median_ns"], rows["x/a", "size01"]["detail"]), (2000.04, ""))

    def test_ends(self):
        """When the time is over, what a bench at hand has judged counts; the next call asks for the rest alone."""
        with mock.patch.dict(os.environ, {"HANGS": "1"}):
            _, _, rows, _ = self.call("--seconds", "6")
        self.assertIn(("x/a", "size02"), rows)
        self.assertNotIn(("x/a", "size03"), rows)
        _, asked, rows, _ = self.call("--only", "x/a")
        self.assertEqual(asked, ["x/a size03"])
        self.assertEqual(rows["x/a", "size03"]["call"], 2)


if __name__ == "__main__":
    unittest.main()
