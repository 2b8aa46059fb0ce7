#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/denominators.py without a GPU and PyTorch: a judge that says what a test wants to hear.

usage: check_denominators.py
"""
import contextlib
import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench/gpu"))
import denominators  # noqa: E402

# `assay` as the script uses it: a suite of four tasks; 1/2 has no module; 2/1 is wrong; 1/3 does not end with HANGS; 1/1 finds no
# memory beside others with LACKS, 2/1 never with ALWAYS.
JUDGE = '''#!%s
import json, os, sys, time
arguments = sys.argv[1:]
def after(name, default=None):
    return arguments[arguments.index(name) + 1] if name in arguments else default
def verdict(module):
    reason = "wrong_value" if "2/1" in module else "pass"
    detail = "z"
    if "1/1 " in module and os.environ.get("LACKS") == "PyTorch" and "--again" not in arguments or "2/1 " in module and os.environ.get("ALWAYS"):
        reason, detail = "runtime_error", "CUDA out of memory"
    text = "x\\nassay: torch.compile: 3.25 s, in a first call of 4.5 s\\n" if "torch.compile" in module else ""
    timing = {"median_ns": 2000.04, "low_ns": 1900, "high_ns": 2100, "hot_ns": 1000, "called_ns": 9000,
              "floor_ns": 1000, "unstable": "tf32" in module, "suspicious": False}
    if "1/3 " in module and os.environ.get("BUSY") and "--again" not in arguments:
        timing = {}
    return {"task": module.split()[0], "candidate": after("--from"), "reason": reason, "detail": detail,
            "evidence": {"mode": "plan", "timing": timing, "diagnostics": text, "durations_ns": {"plan": 5e9, "total": 7e9},
                         "kernels": {"own": {"launches": 2, "part": 0.75}, "pytorch": {"launches": 1, "part": 0.25}}}}
if arguments[0] == "tasks":
    print(json.dumps([{"task": "kernelbench/" + t, "cpu_memory_bytes": 2**30 * size} for t, size in
                      (("1/1", 10), ("1/2", 90), ("1/3", 60), ("2/1", 30))]))
elif arguments[0] == "show":
    if arguments[1].endswith("1/2"):
        sys.exit("assay: there is no translation")
    print(arguments[1], after("--baseline"), after("--workload"), after("--contract", "fp32"))
elif arguments[0] == "bench":
    module = open(after("--from")).read()
    log = after("--store") + ".log"
    with open(log, "a") as file:
        file.write(f"{module.split()[0]} {os.getpid()} begins\\n")
    try:
        if "1/3 " in module and os.environ.get("HANGS"):
            time.sleep(100)
        if os.environ.get("SLOW"):
            time.sleep(float(os.environ["SLOW"]))
    except KeyboardInterrupt:
        sys.exit(130)
    with open(log, "a") as file:
        file.write(f"{module.split()[0]} {os.getpid()} ends\\n")
    if "1/1 " in module and os.environ.get("LACKS") == "judge" and "--again" not in arguments:
        print("1/1 judge_failed: not enough memory on the device")
        sys.exit(3)
    with open(after("--store") + ".verdicts", "a") as file:
        file.write(json.dumps({"run": after("--run"), **verdict(module)}) + "\\n")
elif arguments[:2] == ["runs", "export"]:
    path = after("--store") + ".verdicts"
    if not os.path.exists(path):
        sys.exit("there is no run")
    with open(arguments[3], "w") as out, open(path) as file:
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
        self.store = os.path.join(self.folder.name, "store")
        with open(self.judge, "w", encoding="utf-8") as file:
            file.write(JUDGE)
        os.chmod(self.judge, stat.S_IRWXU)

    def call(self, *arguments, gpus="2"):
        text = io.StringIO()
        given = ["denominators.py", self.judge, self.out, "--device", "cpu", "--gpus", gpus, *arguments]
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
        with mock.patch.dict(os.environ, {"HANGS": "1"}):
            text, _, rows = self.call("--stages", "compile:fp32:1", "--seconds", "10")
        self.assertIn("no time left for 1 judgements", text)
        self.assertNotIn(("kernelbench/1/3", "compile", "fp32"), rows)
        self.assertIn(("kernelbench/1/1", "compile", "fp32"), rows)
        text, calls, rows = self.call("--stages", "compile:fp32")
        self.assertEqual([row["call"] for row in rows.values()], [0, 0, 1, 1])
        self.assertIn("compile:fp32:1: 1 of 1", text)
        self.assertEqual(len(calls), 2)

    def begun(self):
        """(task, those that were at work when it began), in order."""
        order, running = [], []
        with open(self.store + ".log", encoding="utf-8") as file:
            for task, number, what in (line.split() for line in file):
                if what == "begins":
                    order.append((task.split("/", 1)[1], [other for _, other in running]))
                    running.append((number, task.split("/", 1)[1]))
                else:
                    running = [(n, other) for n, other in running if n != number]
        return order

    def test_memory(self):
        """What does not fit beside others waits for them, the largest come first, and all are judged."""
        with mock.patch.dict(os.environ, {"SLOW": "0.3"}):
            _, _, rows = self.call("--stages", "eager:fp32", "--each", "3", "--memory", "70", "--every", "2", "--store", self.store, gpus="1")
        self.assertEqual(len(rows), 4)
        begun = self.begun()
        self.assertEqual(sorted(task for task, _ in begun), ["1/1", "1/3", "2/1"])
        for task, beside in begun:  # 63 GiB beside 13 or 33 would be more than 70
            self.assertFalse(beside and "1/3" in (task, *beside), begun)
        jobs = [denominators.Job(str(n), ("eager", "fp32", 0), size) for n, size in enumerate((9, 9, 2, 2, 2))]
        memory = denominators.Memory(jobs, 1, 10)
        first = memory.take(0)
        self.assertEqual(first, jobs[0])
        self.assertIsNone(memory.fitting(0))
        memory.give_back(first, 0)
        self.assertEqual(memory.take(0), jobs[1])

    def test_who_waits_is_not_passed_without_end(self):
        large, *small = (denominators.Job(str(n), ("eager", "fp32", 0), 5 if n else 10) for n in range(100))
        memory = denominators.Memory([large, *small], 1, 10)
        memory.free[0] = 5  # another is at work
        self.assertEqual(list(iter(lambda: memory.fitting(0), None)), small[:denominators.PASSED_BY])
        memory.free[0] = 10
        self.assertEqual([memory.fitting(0), memory.fitting(0)], [large, small[denominators.PASSED_BY]])

    def test_no_memory_beside_others(self):
        """It is judged again alone, and has no row until then."""
        for who in "judge", "PyTorch":
            with self.subTest(who), mock.patch.dict(os.environ, {"LACKS": who, "ALWAYS": "1"}):
                self.out = os.path.join(self.folder.name, f"out_{who}.json")
                _, calls, rows = self.call("--stages", "eager:fp32", "--every", "2", "--each", "2", "--store", self.store + who)
                self.assertEqual(rows["kernelbench/1/1", "eager", "fp32"]["verdict"], "pass")
                self.assertEqual((rows["kernelbench/2/1", "eager", "fp32"]["verdict"], rows["kernelbench/2/1", "eager", "fp32"]["detail"]),
                                 ("runtime_error", "CUDA out of memory"))
                self.assertEqual([(s["stage"], s["judged"]) for s in calls[0]["stages"]], [("eager:fp32", 4)])

    def test_no_time_beside_others(self):
        with mock.patch.dict(os.environ, {"BUSY": "1"}):
            _, _, rows = self.call("--stages", "eager:fp32:1")
        self.assertEqual(rows["kernelbench/1/3", "eager", "fp32"]["median_ns"], 2000.04)

    def test_an_interrupt_keeps_what_is_judged(self):
        script = os.path.join(ROOT, "bench/gpu/denominators.py")
        command = [sys.executable, "-B", script, self.judge, self.out, "--device", "cpu", "--gpus", "2", "--stages", "compile:fp32:1",
                   "--store", self.store]
        with subprocess.Popen(command, env={**os.environ, "HANGS": "1"}, stdout=subprocess.DEVNULL, start_new_session=True) as child:
            end = time.monotonic() + 60
            verdicts = self.store + ".verdicts"  # there, and then written at once
            while not (os.path.exists(verdicts) and os.path.getsize(verdicts)) and time.monotonic() < end:
                time.sleep(0.05)
            os.killpg(child.pid, signal.SIGINT)
            self.assertEqual(child.wait(60), 0)
        with open(self.out, encoding="utf-8") as file:
            rows = {row[0] for row in json.load(file)["rows"]}
        self.assertEqual(rows, {"kernelbench/1/1", "kernelbench/1/2"})

    def test_stages(self):
        self.assertEqual(denominators.stages_of("max-autotune:tf32:2", 1), [("max-autotune", "tf32", 2)])
        self.assertEqual(len(denominators.stages_of(None, 1)), 18)
        self.assertEqual(denominators.stages_of("eager:fp32", 8), [("eager", "fp32", 0)])
        for wrong in "compile", "compile:fp16", "nobody:fp32", "eager:fp32:4":
            with self.assertRaises(SystemExit):
                denominators.stages_of(wrong, 1)


if __name__ == "__main__":
    unittest.main()
