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

# `assay` as the script uses it: a suite of four tasks, or of those in TASKS; 1/2 has no module; 2/1 is wrong; 1/3 does not end
# with HANGS; 1/1 finds no memory beside others with LACKS, 2/1 never with ALWAYS. BUSY: 1/3 has no time beside others, or
# always. CUT: what is judged again ends so. SHOW: what ends `assay show`, a signal or a full disk.
JUDGE = '''#!%s -IS
import json, os, signal, sys, time
arguments = sys.argv[1:]
def after(name, default=None):
    return arguments[arguments.index(name) + 1] if name in arguments else default
def verdict(module):
    reason = "wrong_value" if "2/1" in module else "pass"
    detail = "z"
    lacks = os.environ.get("LACKS") == "PyTorch" and "--again" not in arguments
    if "1/1 " in module and lacks or "2/1 " in module and os.environ.get("ALWAYS"):
        reason, detail = "runtime_error", "CUDA out of memory"
    text = "x\\nassay: torch.compile: 3.25 s, in a first call of 4.5 s\\n" if "torch.compile" in module else ""
    timing = {"median_ns": 2000.04, "low_ns": 1900, "high_ns": 2100, "hot_ns": 1000, "called_ns": 9000,
              "floor_ns": 1000, "unstable": "tf32" in module, "suspicious": False}
    busy = os.environ.get("BUSY", "")
    if "1/3 " in module and (busy == "always" or busy and "--again" not in arguments):
        timing = {}
    return {"task": module.split()[0], "candidate": after("--from"), "reason": reason, "detail": detail,
            "evidence": {"mode": "plan", "timing": timing, "diagnostics": text, "durations_ns": {"plan": 5e9, "total": 7e9},
                         "kernels": {"own": {"launches": 2, "part": 0.75}, "pytorch": {"launches": 1, "part": 0.25}}}}
if arguments[0] == "tasks":
    print(json.dumps([{"task": "kernelbench/" + t, "cpu_memory_bytes": 2**30 * size} for t, size in
                      (("1/1", 10), ("1/2", 90), ("1/3", 60), ("2/1", 30)) if t in os.environ.get("TASKS", t)]))
elif arguments[0] == "show":
    end = os.environ.get("SHOW", "")
    if end.startswith("SIG"):
        if end != "SIGKILL":
            signal.signal(getattr(signal, end), signal.SIG_DFL)
        os.kill(os.getpid(), getattr(signal, end))
    if end:
        print("assay: cannot write to standard output: No space left on device", file=sys.stderr)
        sys.exit(3)
    if arguments[1].endswith("1/2"):
        print("assay: 1/2 has no baseline torch.eager: there is no translation to PyTorch of Loop", file=sys.stderr)
        sys.exit(2)
    print(arguments[1], after("--baseline"), after("--workload"), after("--contract", "fp32"))
elif arguments[0] == "bench":
    module = open(after("--from")).read()
    log = after("--store") + ".log"
    with open(log, "a") as file:
        file.write(f"{module.split()[0]} {os.getpid()} begins\\n")
    if os.environ.get("CUT") and "--again" in arguments:
        sys.exit(int(os.environ["CUT"]))
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
        out.write("{}\\n" + "".join(line for line in file if json.loads(line)["run"] == arguments[2])
                  + json.dumps({"peaks": "peaks.cuda", "machine": "a"}) + "\\n")
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
            _, _, rows = self.call("--stages", "eager:fp32", "--each", "3", "--memory", "70", "--every", "2",
                                   "--store", self.store, gpus="1")
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
                never = rows["kernelbench/2/1", "eager", "fp32"]
                self.assertEqual((never["verdict"], never["detail"]), ("runtime_error", "CUDA out of memory"))
                self.assertEqual([(s["stage"], s["judged"]) for s in calls[0]["stages"]], [("eager:fp32", 4)])

    def test_no_time_beside_others(self):
        with mock.patch.dict(os.environ, {"BUSY": "beside"}):
            _, _, rows = self.call("--stages", "eager:fp32:1")
        self.assertEqual(rows["kernelbench/1/3", "eager", "fp32"]["median_ns"], 2000.04)

    def test_alone_but_cut_off(self):
        """The verdict from before, which found no memory, does not become its row, and the next call judges it."""
        given = "--stages", "eager:fp32:2", "--store", self.store
        with mock.patch.dict(os.environ, {"ALWAYS": "1", "CUT": "130", "TASKS": "2/1"}):
            text, _, rows = self.call(*given)
        self.assertEqual(rows, {})
        self.assertIn("no time left for 1 judgements", text)
        self.assertEqual(len(self.begun()), 2)  # beside others, and alone
        with mock.patch.dict(os.environ, {"TASKS": "2/1"}):
            _, _, rows = self.call(*given)
        self.assertEqual(rows["kernelbench/2/1", "eager", "fp32"]["verdict"], "wrong_value")

    def test_a_module_that_was_not_written(self):
        """What ends `assay show` says nothing of the task, so it has no row; only show's own answer does."""
        judging = denominators.Judging(mock.Mock(assay=self.judge, workload="full", call=0), self.folder.name)
        for task, end, why, final in (("2/1", "SIGINT", "ended with -2", False), ("2/1", "SIGKILL", "ended with -9", False),
                                      ("1/2", "SIGTERM", "ended with -15", False), ("2/1", "full", "No space left", False),
                                      ("1/2", "", "there is no translation", True)):
            with self.subTest(end), mock.patch.dict(os.environ, {"SHOW": end}):
                job = denominators.Job("kernelbench/" + task, ("eager", "fp32", 1), 0)
                self.assertIsNone(judging.write_module(job))
                self.assertIn(why, job.why)
                job.ended, results = True, denominators.Results(self.out)
                with mock.patch.object(denominators, "verdicts_of", return_value=[]):
                    results.take([job], judging)
                self.assertEqual([row["verdict"] for row in results.rows.values()], ["no module"] if final else [])

    def test_no_time_and_no_seconds_left(self):
        """A row without a time is judged alone by the next call if this one did not come to that, and then by none."""
        of, given = ("kernelbench/1/3", "eager", "fp32"), ("--stages", "eager:fp32:1", "--store", self.store)
        run = denominators.Judging.run

        def first_only(judging, *its):
            run(judging, *its)
            judging.interrupted = True

        with mock.patch.dict(os.environ, {"TASKS": "1/3", "BUSY": "always"}):
            with mock.patch.object(denominators.Judging, "run", first_only):
                text, _, rows = self.call(*given)
            self.assertEqual((rows[of]["verdict"], rows[of]["median_ns"], rows[of]["alone"]), ("pass", None, None))
            self.assertIn("no time left for 1 judgements", text)
            with mock.patch.dict(os.environ, {"CUT": "130"}):
                text, _, rows = self.call(*given)
            self.assertEqual((rows[of]["alone"], rows[of]["call"]), (None, 0))
            self.assertIn("no time left for 1 judgements", text)
            text, _, rows = self.call(*given)
            self.assertEqual((rows[of]["median_ns"], rows[of]["alone"], rows[of]["call"]), (None, True, 2))
            self.assertNotIn("no time left", text)
            _, calls, _ = self.call(*given)
        self.assertEqual((len(calls), len(self.begun())), (3, 3))  # only the first one beside others

    def test_reasons_that_are_no_memory(self):
        for verdict, detail, lacks in (("runtime_error", "CUDA error: an illegal memory access was encountered", False),
                                       ("out_of_bounds", "touched memory 4 bytes after the end of output 0", False),
                                       ("runtime_error", "CUDA out of memory. Tried to allocate 2.00 GiB", True),
                                       ("runtime_error", "DefaultCPUAllocator: not enough memory", True),
                                       ("unrecordable", "the device has no memory for two sets of the task's tensors", True),
                                       ("runtime_error", "cuDNN: CUDNN_STATUS_ALLOC_FAILED", True),
                                       ("out_of_memory", None, True), ("pass", "out of memory", False)):
            self.assertEqual(denominators.for_want_of_memory({"verdict": verdict, "detail": detail}), lacks, detail)

    def test_stages_that_overlap(self):
        options = mock.Mock(every=1, stages=denominators.stages_of("eager:fp32,eager:fp32:1,compile:fp32:2", 1))
        rows = [{"task": f"kernelbench/{name}"} for name in ("1/1", "1/2", "2/1")]
        jobs = denominators.jobs_of(options, denominators.Results(self.out), rows)
        self.assertEqual([(job.task[-3:], job.stage) for job in jobs],
                         [("1/1", ("eager", "fp32", 1)), ("1/2", ("eager", "fp32", 1)), ("2/1", ("eager", "fp32", 2)),
                          ("2/1", ("compile", "fp32", 2))])

    def test_the_memory_of_gpus(self):
        machine = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        said = b"0, GPU-aa11, 1000\n1, GPU-bb22, [N/A]\n2, GPU-cc33, 3000\n"
        for seen, gpus, listed, mib in (("", 3, said, 1000), ("2", 1, said, 3000), ("1, 2", 2, said, 3000),
                                        ("GPU-cc", 1, said, 3000), ("1", 1, said, None),
                                        ("", 1, b"0, GPU-aa11, [N/A]\n", None), ("", 1, b"", None)):
            with self.subTest(seen=seen, listed=listed), mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": seen}), \
                    mock.patch.object(denominators.common, "run", return_value=(0, 0, listed, "")):
                self.assertEqual(denominators.memory_of("cuda", gpus), mib * 2**20 if mib else machine)

    def test_an_interrupt_keeps_what_is_judged(self):
        script = os.path.join(ROOT, "bench/gpu/denominators.py")
        command = [sys.executable, "-B", script, self.judge, self.out, "--device", "cpu", "--gpus", "2",
                   "--stages", "compile:fp32:1", "--store", self.store]
        with subprocess.Popen(command, env={**os.environ, "HANGS": "1"}, stdout=subprocess.DEVNULL,
                              start_new_session=True) as child:
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
