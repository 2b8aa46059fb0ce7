#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/denominators.py without a GPU and PyTorch: a judge that says what a test wants to hear.

usage: check_denominators.py
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
import denominators  # noqa: E402

# `assay` as the script uses it: a suite of four tasks; 1/2 has no module; 2/1 is wrong; 1/3 does not end.
JUDGE = '''#!%s
import json, os, sys, time
arguments = sys.argv[1:]
def after(name, default=None):
    return arguments[arguments.index(name) + 1] if name in arguments else default
def verdict(task):
    module = open(os.path.join(after("--from"), task)).read()
    reason = "wrong_value" if "2/1" in module else "pass"
    text = "x\\nassay: torch.compile: 3.25 s, in a first call of 4.5 s\\n" if "torch.compile" in module else ""
    timing = {"median_ns": 2000.04, "low_ns": 1900, "high_ns": 2100, "hot_ns": 1000, "called_ns": 9000,
              "floor_ns": 1000, "unstable": "tf32" in module, "suspicious": False}
    return {"task": module.split()[0], "candidate": os.path.join(after("--from"), task), "reason": reason, "detail": "z",
            "evidence": {"mode": "plan", "timing": timing, "diagnostics": text, "durations_ns": {"plan": 5e9, "total": 7e9},
                         "kernels": {"own": {"launches": 2, "part": 0.75}, "pytorch": {"launches": 1, "part": 0.25}}}}
if arguments[0] == "tasks":
    print(json.dumps([{"task": "kernelbench/" + t} for t in ("1/1", "1/2", "1/3", "2/1")]))
elif arguments[0] == "show":
    if arguments[1].endswith("1/2"):
        sys.exit("assay: there is no translation")
    print(arguments[1], after("--baseline"), after("--workload"), after("--contract", "fp32"))
elif arguments[0] == "bench":
    lines = []
    try:
        for name in sorted(n for n in os.listdir(after("--from")) if n.endswith(".py")):
            claim = os.path.join(after("--from"), name + ".claimed")
            try:
                os.close(os.open(claim, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            if name.endswith("003.py") and os.environ.get("HANGS"):
                time.sleep(100)
            with open(after("--store") + ".verdicts", "a") as file:
                file.write(json.dumps({"run": after("--run"), **verdict(name)}) + "\\n")
    except KeyboardInterrupt:
        pass
    print("[]")
elif arguments[:2] == ["runs", "export"]:
    with open(arguments[3], "w") as out, open(after("--store") + ".verdicts") as file:
        out.write("{}\\n" + "".join(line for line in file if json.loads(line)["run"] == arguments[2]))
else:
    sys.exit("what is " + arguments[0])
''' % sys.executable


class Denominators(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.judge = os.path.join(self.folder.name, "assay")
        self.out = os.path.join(self.folder.name, "out.json")
        with open(self.judge, "w", encoding="utf-8") as file:
            file.write(JUDGE)
        os.chmod(self.judge, stat.S_IRWXU)

    def call(self, *arguments):
        text = io.StringIO()
        given = ["denominators.py", self.judge, self.out, "--device", "cpu", "--gpus", "2", *arguments]
        with mock.patch.object(sys, "argv", given), contextlib.redirect_stdout(text):
            denominators.main()
        with open(self.out, encoding="utf-8") as file:
            found = json.load(file)
        return text.getvalue(), found["calls"], {tuple(row[:3]): dict(zip(found["columns"], row)) for row in found["rows"]}

    def test_rows(self):
        text, calls, rows = self.call("--stages", "compile:fp32,eager:tf32:1")
        self.assertEqual(len(rows), 7)
        row = rows["kernelbench/1/1", "compile", "fp32"]
        self.assertEqual([row[name] for name in ("verdict", "median_ns", "floor_part", "compile_s", "first_call_s",
                                                 "recording_s", "judged_s", "own_part", "launches", "marks", "called_ns")],
                         ["pass", 2000.04, 0.5, 3.25, 4.5, 5, 7, 0.75, 3, "", 9000])
        self.assertEqual(rows["kernelbench/1/1", "eager", "tf32"]["marks"], "u")
        self.assertIsNone(rows["kernelbench/1/1", "eager", "tf32"]["compile_s"])
        wrong = rows["kernelbench/2/1", "compile", "fp32"]
        self.assertEqual((wrong["verdict"], wrong["detail"]), ("wrong_value", "z"))
        self.assertEqual(rows["kernelbench/1/2", "compile", "fp32"]["verdict"], "no module")
        self.assertIn("compile fp32: 1 wrong_value: 2/1", text)
        self.assertEqual([s["stage"] for s in calls[0]["stages"]], ["compile:fp32:1", "compile:fp32:2", "eager:tf32:1"])

    def test_goes_on(self):
        """A call whose time is over keeps what is judged, and the next one judges the rest and nothing else."""
        with mock.patch.dict(os.environ, {"HANGS": "1"}), mock.patch.object(denominators, "SHORTEST", 0):
            _, _, rows = self.call("--stages", "compile:fp32:1", "--seconds", "3")
        self.assertNotIn(("kernelbench/1/3", "compile", "fp32"), rows)
        self.assertIn(("kernelbench/1/1", "compile", "fp32"), rows)
        text, calls, rows = self.call("--stages", "compile:fp32")
        self.assertEqual([row["call"] for row in rows.values()], [0, 0, 1, 1])
        self.assertIn("compile:fp32:1: 1 of 1", text)
        self.assertEqual(len(calls), 2)

    def test_stages(self):
        self.assertEqual(denominators.stages_of("max-autotune:tf32:2", 1), [("max-autotune", "tf32", 2)])
        self.assertEqual(len(denominators.stages_of(None, 1)), 18)
        self.assertEqual(denominators.stages_of("eager:fp32", 8), [("eager", "fp32", 0)])
        for wrong in "compile", "compile:fp16", "nobody:fp32", "eager:fp32:4":
            with self.assertRaises(SystemExit):
                denominators.stages_of(wrong, 1)


if __name__ == "__main__":
    unittest.main()
