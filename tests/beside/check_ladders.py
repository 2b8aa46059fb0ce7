#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/ladders.py without a GPU and PyTorch: a judge that says what a test wants to hear.

usage: check_ladders.py
"""
import contextlib
import io
import json
import os
import re
import signal
import stat
import sys
import tempfile
import threading
import time
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
                          "mode": "plan", "durations_ns": {"total": 9.1e9, "open": 2.54e9, "verify": 1e6}, "timing": {} if untimed else {
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
        self.assertEqual((rows["x/a", "size02"]["seconds"], rows["x/b", "size01"]["seconds"]), ({"judged": 9.1, "waited": 2.5}, None))
        self.assertNotIn("without_verdict", calls[1])  # x/b size03, which got a row in the same call
        self.assertNotIn("without_verdict", calls[0])
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

    def jobs(self, missing, sizes, bytes_of=lambda task, name: 0, memory=80 * 2**30):
        found = ladders.jobs_of(missing, {task: ladders.Sizes(*two) for task, two in sizes.items()}, bytes_of, memory)
        return found, [(job.task, job.workloads) for job in found]

    def test_cheap_sizes_first(self):
        """The large sizes of one task do not come before the small ones of another."""
        sizes = {"a": ({"size01": 1, "size02": 1 << 30}, {}), "b": ({"size01": 1, "size02": 2, "size03": 1 << 28}, {}),
                 "c": ({"size01": 1 << 29}, {})}
        missing = {"a": ["size01", "size02"], "b": ["size02", "size03", "size01"], "c": ["size01"]}
        self.assertEqual(self.jobs(missing, sizes)[1], [("b", ["size02", "size01"]), ("a", ["size01"]), ("b", ["size03"]),
                                                        ("c", ["size01"]), ("a", ["size02"])])

    def test_work_on_the_host_first(self):
        """Of the dear sizes; small ones of a task share a bench, and one that may take all memory has room left beside it."""
        large = 1 << 30
        names = ["size01", "size02", "size03"]
        sizes = {"qr": (dict.fromkeys(names, large), {"size01": 1e10, "size02": 2e10, "size03": 3e13}),
                 "conv": (dict.fromkeys(names, 2 * large), {})}
        memory = {"size01": 5, "size02": 9, "size03": 80}
        jobs, found = self.jobs({"conv": names, "qr": names}, sizes,
                                lambda task, name: (memory[name] if task == "conv" else 5) * 2**30)
        self.assertEqual(found, [("qr", ["size01", "size02"]), ("qr", ["size03"]),
                                 ("conv", ["size03"]), ("conv", ["size01", "size02"])])
        self.assertEqual([(job.work, job.bytes / 2**30) for job in jobs], [(3e10, 5), (3e13, 5), (0, 64), (0, 9)])

    def room(self, works, each=6, gpus=1, cpus=16):
        """A room with jobs of so much work, or of (work, bytes), and 100 bytes of memory."""
        jobs = [ladders.Job("t", ["size01"], *reversed(one if isinstance(one, tuple) else (one, 1))) for one in works]
        with mock.patch.object(os, "sched_getaffinity", lambda pid: set(range(cpus))):
            return ladders.Room(jobs, mock.Mock(gpus=gpus, memory=100.0), each)

    def begin_all(self, room, most=6):
        taken = []
        while len(taken) < most and (job := room.fitting(0)):
            room.begin(job, 0)
            taken.append(job)
        return taken

    def test_one_bench_has_all_processors(self):
        self.assertEqual([len(job.cpus) for job in self.begin_all(self.room([3e13], each=1))], [16])

    def test_processors(self):
        """Half of them, a quarter and an eighth; what is left is shared by what needs the host little, as long as such is there."""
        room = self.room([3e13, 2e12, 2e12, 0, 0, 0, (0, 200)])
        taken = self.begin_all(room)
        self.assertEqual([(j.work, len(j.cpus)) for j in taken], [(3e13, 8), (2e12, 4), (0, 4), (0, 4), (0, 4)])
        self.assertEqual(len({cpu for j in taken for cpu in j.cpus}), 16)
        self.assertEqual(taken[2].cpus, taken[3].cpus)
        self.assertEqual(room.most_at_once, 5)
        for j in (taken[2], taken[3], taken[1]):
            room.give_back(j, 0)
        room.todo.pop()
        self.assertEqual([(j.work, len(j.cpus)) for j in self.begin_all(room)], [(2e12, 4)])
        last = ladders.Job("t", ["size01"], 1, 3e13, alone=True)
        room.todo.append(last)
        self.assertIsNone(room.fitting(0))
        for j in list(taken[:1]) + taken[4:]:
            room.give_back(j, 0)
        self.assertIsNone(room.fitting(0))

    def test_alone(self):
        """With all processors and the memory."""
        room = self.room([3e13, 0])
        for job in room.todo:
            job.alone = True
        first, = self.begin_all(room)
        self.assertEqual((len(first.cpus), room.free), (16, [0]))
        room.give_back(first, 0)
        self.assertEqual([(j.work, len(j.cpus)) for j in self.begin_all(room)], [(0, 16)])

    def test_all_processors_at_the_end(self):
        """Where nothing else is left, work on the host may have all of them."""
        self.assertEqual([len(j.cpus) for j in self.begin_all(self.room([3e13, 3e13, 3e13]))], [8, 8])
        self.assertEqual([len(j.cpus) for j in self.begin_all(self.room([3e13, 3e13, 0]))], [8, 8])

    def test_few_processors(self):
        """16 of them and 8 GPUs: six benches on each all the same, which have two to share at least."""
        room = self.room([0] * 8, gpus=8)
        self.assertEqual([j.cpus for j in self.begin_all(room)], [[0, 1]] * 6)
        room = self.room([1e9, 1e9] + [0] * 8, gpus=8)
        self.assertEqual([(j.work, len(j.cpus)) for j in self.begin_all(room)], [(1e9, 2)] + [(0, 2)] * 5)
        self.assertEqual(room.most_at_once, 6)

    def test_benches_for_others(self):
        """Small work on the host leaves a third of the benches to what has none, one at least, as long as there is such."""
        for each, with_work in ((6, 4), (3, 2), (2, 1), (1, 1)):
            works = [j.work for j in self.begin_all(self.room([1e9] * 8 + [0] * 8, each, cpus=64), each)]
            self.assertEqual(works, [1e9] * with_work + [0] * (each - with_work))
        self.assertEqual([j.work for j in self.begin_all(self.room([1e9] * 8, cpus=64))], [1e9] * 6)

    def test_waits_for_processors(self):
        """Work that wants half of the processors is overtaken by what wants few only so often; by what wants none always."""
        room = self.room([2e12, 2e12, 3e13] + [1e9] * 20 + [0] * 60)
        small = self.begin_all(room, 2)
        self.assertEqual([j.work for j in small], [2e12, 2e12])
        overtaken = 0
        while (job := room.fitting(0)) and job.work == 1e9:
            room.begin(job, 0)
            room.give_back(job, 0)
            overtaken += 1
        self.assertEqual((overtaken, job.work), (ladders.WORK_PASSED_BY, 0))
        for i in range(40):
            self.assertEqual(room.fitting(0).work, 0)
        room.give_back(small[0], 0)
        self.assertEqual(room.fitting(0).work, 3e13)

    def test_passed_for_want_of_memory(self):
        """A bench that waits for memory is passed only so often, be there work on the host or not."""
        most = ladders.denominators.PASSED_BY
        for work in 0, 1e9:
            room = self.room([(3e13, 20), (3e13, 20), (work, 90), *((0, 1) for i in range(most + 3))])
            room.todo.sort(key=lambda job: not job.work)
            room.begin(room.fitting(0), 0)
            if work:
                room.todo.pop(0)  # which waits for processors
            for i in range(most):
                self.assertEqual((room.fitting(0).bytes, i), (1, i))
            self.assertIsNone(room.fitting(0))
            room.todo.insert(0, ladders.Job("t", ["size01"], 5, 1e9))
            self.assertEqual(room.fitting(0).bytes, 5)
            self.assertEqual([j.bytes for j in room.todo][-4:], [90, 1, 1, 1])

    def test_work_of_a_size(self):
        """Operators that the host has, and checks, whose answers have passes of their own."""
        workloads = [{"workload": "size01", "bytes": 10.0, "flops": 1e12}, {"workload": "full", "bytes": 1.0, "flops": 1.0}]
        shown = {"workloads": workloads, "onnx": ""}
        for operators, onnx, expected in ((["Conv"], "", 0), (["MatMul", "Solve"], "", 28e12 + 3000),
                                          (["DFT"], "", 280e12 + 9000), (["SeededBinomial"], "", 0),
                                          (["QR"], '"assay.check" : "factors"', 200e12 + 3000)):
            sizes = ladders.sizes_of({**shown, "onnx": onnx}, operators, "size*")
            self.assertEqual((list(sizes), sizes.work["size01"]), (["size01"], expected))

    def test_host_operators(self):
        """Those that the table of the device leaves to the host."""
        with open(os.path.join(ROOT, "src/oracle/cuda/gpu_table.h"), encoding="utf-8") as file:
            found = re.findall(r'X\("([\w.]+)", gpu_host_eval\)', file.read())
        self.assertEqual({name.rpartition(".")[2] for name in found}, set(ladders.HOST_OPERATORS))

    def test_no_such_file(self):
        for name in "--after", "--but":
            with self.assertRaisesRegex(SystemExit, f"{name} nowhere.json: there is no such file"):
                self.call(name, "nowhere.json")

    def test_table_of_some(self):
        """--only counts what it asks for."""
        self.call()
        self.assertIn("3 of 3 sizes, 1 of 1 tasks whole; 3 pass", self.call("--only", "x/a", "--table")[0])
        self.assertIn("2 of 2 sizes, 2 of 2 tasks whole; 2 pass", self.call("--workload", "size01", "--table")[0])

    def test_interrupt(self):
        """Ctrl-C: what benches at hand have judged is written, and nothing is begun."""
        timer = threading.Timer(2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        self.addCleanup(signal.signal, signal.SIGINT, signal.getsignal(signal.SIGINT))
        begin = time.monotonic()
        with mock.patch.dict(os.environ, {"HANGS": "1"}):
            _, asked, rows, calls = self.call("--each", "1", "--only", "x/a", "--seconds", "60")
        self.assertLess(time.monotonic() - begin, 30)
        self.assertEqual(asked, ["x/a size01", "x/a size02", "x/a size03"])
        self.assertIn(("x/a", "size02"), rows)
        self.assertEqual([one["why"] for one in calls[1]["without_verdict"]], [{"size03": "cut off"}])

    def test_at_once(self):
        """A call says how many benches were at once where there were never --each."""
        self.assertEqual(self.call("--each", "5", gpus="1")[3][1]["at_once"], 2)
        os.remove(self.out)
        self.assertNotIn("at_once", self.call("--each", "1", gpus="1")[3][0])

    def test_but(self):
        """What another file has is not asked for."""
        other = os.path.join(self.folder.name, "other.json")
        with open(other, "w", encoding="utf-8") as file:
            json.dump({"columns": ["task", "workload", "verdict", "detail", "median_ns"],
                       "rows": [["x/a", f"size0{i}", "pass", "", 5.0] for i in (1, 2, 3)]}, file)
        self.assertEqual(sorted(set(self.call("--but", other)[1])), ["x/b size02", "x/b size03"])

    def test_no_time(self):
        """What passed without a time beside others is timed alone."""
        with mock.patch.dict(os.environ, {"BUSY": "1"}):
            _, asked, rows, _ = self.call("--only", "x/a")
        self.assertEqual(asked, ["x/a size01", "x/a size01", "x/a size02", "x/a size03"])
        self.assertEqual((rows["x/a", "size01"]["median_ns"], rows["x/a", "size01"]["detail"]), (2000.04, ""))

    def test_ends(self):
        """When the time is over, what a bench at hand has judged counts; the next call asks for the rest alone."""
        with mock.patch.dict(os.environ, {"HANGS": "1"}):
            _, _, rows, calls = self.call("--seconds", "6")
        without, = [one for one in calls[1]["without_verdict"] if one["task"] == "x/a"]
        self.assertEqual(without["why"], {"size03": "cut off"})
        self.assertGreater(without["seconds"], 1)
        self.assertIn(("x/a", "size02"), rows)
        self.assertNotIn(("x/a", "size03"), rows)
        _, asked, rows, _ = self.call("--only", "x/a")
        self.assertEqual(asked, ["x/a size03"])
        self.assertEqual(rows["x/a", "size03"]["call"], 2)


if __name__ == "__main__":
    unittest.main()
