# SPDX-License-Identifier: Apache-2.0
"""package.py SOURCE BUILD: the wheel of the package `assay`, installed by pip, over the libassay that was built."""
import asyncio
import concurrent.futures
import copy
import ctypes
import dataclasses
import functools
import importlib.util
import math
import os
import pathlib
import pickle
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import zipfile

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
os.environ["PYTHONWARNINGS"] = "ignore:This process:DeprecationWarning"  # 3.12 warns of every fork beside threads
for variable in [v for v in os.environ if v.startswith("ASSAY_") and v != "ASSAY_TORCH_PYTHON"]:
    del os.environ[variable]
WORK = tempfile.TemporaryDirectory()
PLACE = pathlib.Path(WORK.name) / "installed"
RELU = SOURCE / "tests/cases/relu.c"
TASK = "kernelbench/1/19"
QUICK = {"timing": False, "probes": False}


def interpreter_with_pip():
    for python in (sys.executable, "/usr/bin/python3", os.environ.get("ASSAY_TORCH_PYTHON")):
        if python and not subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode:
            return python
    subprocess.run([sys.executable, "-m", "venv", WORK.name + "/venv"], check=True)
    return WORK.name + "/venv/bin/python"


def install():
    """As a user does, without the network."""
    done = subprocess.run([interpreter_with_pip(), "-m", "pip", "install", "--quiet", "--no-index", "--no-deps",
                           "--disable-pip-version-check", "--target", str(PLACE), str(SOURCE / "python")],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"pip install ./python failed:\n{done.stdout}{done.stderr}")
    sys.path.insert(0, str(PLACE))


install()
os.environ["ASSAY_PREFIX"] = str(BUILD)
import assay  # noqa: E402
import assay.library  # noqa: E402


class Wheel(unittest.TestCase):
    def test_same_wheel_from_same_files(self):
        sys.path.insert(0, str(SOURCE / "python"))
        import wheel_of_assay
        made = []
        for name in "ab":
            folder = pathlib.Path(WORK.name) / name
            folder.mkdir()
            made.append((folder / wheel_of_assay.build_wheel(folder)).read_bytes())
        self.assertEqual(*made)
        with zipfile.ZipFile(folder / f"assay-{assay.__version__}-py3-none-any.whl") as wheel:
            self.assertIn("assay/py.typed", wheel.namelist())
            self.assertIn("Provides-Extra: torch", wheel.read(f"assay-{assay.__version__}.dist-info/METADATA").decode())

    def test_version_is_assays(self):
        version = re.search(r"project\(assay VERSION (\S+)", (SOURCE / "CMakeLists.txt").read_text())[1]
        self.assertEqual((version, version), (assay.__version__, assay.version()))
        self.assertTrue((PLACE / f"assay-{version}.dist-info").is_dir())

    def test_reasons_are_the_headers(self):
        told = re.findall(r'^  X\((\w+), "(\w+)",', (SOURCE / "include/assay/verdict.h").read_text(), re.MULTILINE)
        self.assertEqual(told, [(r.name, r.value) for r in assay.Reason])

    def test_structs_are_the_headers(self):
        program = pathlib.Path(WORK.name) / "offsets"
        lines, expected = [], []
        for name, struct in (("settings", assay.library.Settings), ("request", assay.library.Request)):
            lines.append(f"printf(\"%zu\\n\", sizeof(struct assay_{name}));")
            expected.append(ctypes.sizeof(struct))
            for field, _ in struct._fields_:
                lines.append(f"printf(\"%zu\\n\", offsetof(struct assay_{name}, {field}));")
                expected.append(getattr(struct, field).offset)
        program.with_suffix(".c").write_text("#include <assay/assay.h>\n#include <stdio.h>\nint main(void) {"
                                             + "\n".join(lines) + "}\n")
        subprocess.run(["cc", "-I", str(SOURCE / "include"), "-o", str(program), f"{program}.c"], check=True)
        printed = subprocess.run([program], capture_output=True, text=True).stdout.split()
        self.assertEqual(expected, [int(n) for n in printed])


class Types(unittest.TestCase):
    def test_type_checker(self):
        """mypy --strict on the package, and on a program that uses it: verdicts have types, wrong arguments are found."""
        mypy = os.environ.get("ASSAY_MYPY") or shutil.which("mypy")
        if not mypy:
            self.skipTest("there is no mypy on the PATH and none in $ASSAY_MYPY")
        program = pathlib.Path(WORK.name) / "typed.py"
        program.write_text("import pathlib\n"
                           "import assay\n"
                           "v = assay.judge('kernelbench/1/19', pathlib.Path('relu.c'), timing=False)\n"
                           "reveal_type(v)\n"
                           "reveal_type(v.time_ns)\n"
                           "reveal_type(assay.judge_many('a', ['b'], language='c'))\n"
                           "reveal_type(assay.judge_many('a', ['b'], language='c', return_errors=True))\n"
                           "assay.judge('a', 'b', nosuch=1)\n"
                           "assay.judge('a', 'b', timing='no')\n")
        done = subprocess.run([mypy, "--strict", "--cache-dir", WORK.name + "/mypy", str(program)], capture_output=True,
                              text=True, env={**os.environ, "MYPYPATH": str(PLACE)})
        for line, words in enumerate(('"assay.verdict.Verdict"', "float | None", '"list[assay.verdict.Verdict]"',
                                      '"list[assay.verdict.Verdict | assay.errors.Error]"',
                                      'error: Unexpected keyword argument "nosuch"', 'error: Argument "timing"'), 4):
            self.assertRegex(done.stdout, f"typed.py:{line}: .*{re.escape(words)}")
        done = subprocess.run([mypy, "--strict", "--cache-dir", WORK.name + "/mypy", "-p", "assay"], capture_output=True,
                              text=True, cwd=PLACE)
        self.assertEqual((0, ""), (done.returncode, done.stdout if done.returncode else ""))


class Verdicts(unittest.TestCase):
    def test_pass_with_its_time(self):
        v = assay.judge("kernelbench/1/19", RELU, probes=False, seed=7, secret=9)
        self.assertIs(v.reason, assay.Reason.PASS)
        self.assertTrue(v.passed and v.error <= v.allowed and v.worst in v.checks)
        if v.timing is None and "busy" in v.evidence["timing"]["stopped"]:
            self.skipTest(v.evidence["timing"]["stopped"])
        self.assertTrue(v.timing.low_ns <= v.time_ns <= v.timing.high_ns and len(v.timing.samples_ns) > 2)
        self.assertEqual((7, 9, "kernelbench/1/19", "small"), (v.seed, v.secret, v.task, v.workload))
        self.assertEqual(("contract", 7), (v.evidence["rule"], v.evidence["seed"]))
        with self.assertRaises(AttributeError):
            v.reason = assay.Reason.CRASHED

    def test_texts_and_wrong_kernels(self):
        text = RELU.read_text()
        v = assay.judge(TASK, text, language="c", **QUICK)
        self.assertTrue(v.passed and v.time_ns is None and v.timing is None)
        v = assay.judge(TASK, "int broken(\n", language="c", **QUICK)
        self.assertIs(v.reason, assay.Reason.BUILD_FAILED)
        self.assertIn("candidate.c:1:", v.detail + v.diagnostics)
        nothing = "#include <assay/candidate.h>\nvoid assay_kernel(const struct assay_args *args) { (void)args; }\n"
        v = assay.judge(TASK, nothing, language="c", **QUICK)
        self.assertIs(v.reason, assay.Reason.UNWRITTEN)
        self.assertTrue(v.worst.wrong > 0 and v.worst.worst)

    def test_macros_reach_the_compiler(self):
        guarded = "#ifndef GIVEN\n#error not given\n#endif\n" + RELU.read_text()
        self.assertFalse(assay.judge(TASK, guarded, language="c", **QUICK).passed)
        self.assertTrue(assay.judge(TASK, guarded, language="c", defines=["GIVEN"], **QUICK).passed)

    def test_wrong_requests_are_errors_with_a_sentence(self):
        for kind, words, task, source, asked in (
                (assay.NotFoundError, "no task 'kernelbench/1/999'", "kernelbench/1/999", RELU, {}),
                (assay.UsageError, "language=", TASK, "x = 1\n", {}),
                (assay.UsageError, "pathlib.Path", TASK, str(RELU), {}),
                (assay.UsageError, "pathlib.Path", TASK, str(RELU), {"language": "c"}),
                (assay.UsageError, "zero byte", TASK + "\0", RELU, {}),
                (assay.UsageError, "torch.nn.Module", 3, RELU, {}),
                (assay.UsageError, "not bytes", TASK, b"x", {"language": "c"}),
                (assay.UsageError, "not NoneType", TASK, None, {}),
                (assay.UsageError, "seed= is a whole number", TASK, RELU, {"seed": -1}),
                (assay.UsageError, "secret= is a whole number", TASK, RELU, {"secret": 2**63}),
                (assay.UsageError, "threads= is a whole number", TASK, RELU, {"threads": 1.5}),
                (assay.UsageError, "budget_s= is a number", TASK, RELU, {"budget_s": math.nan}),
                (assay.UsageError, "list of macros", TASK, RELU, {"defines": "DROP_LAST"}),
                (assay.UsageError, "workload= is a text", TASK, RELU, {"workload": 3}),
                (assay.Error, "metal", TASK, RELU, {"device": "metal"}),
                (assay.Error, "M=3", TASK, RELU, {"workload": "nosuch"}),
                (assay.Error, "nosuch.c", TASK, pathlib.Path("nosuch.c"), {})):
            with self.subTest(words), self.assertRaises(kind) as raised:
                assay.judge(task, source, **asked)
            if words != "M=3":
                self.assertIn(words, str(raised.exception))
        with self.assertRaisesRegex(assay.NotFoundError, "make install PREFIX=/nowhere"):
            assay.Judge(prefix="/nowhere")
        with self.assertRaisesRegex(assay.NotFoundError, "^there is no store /nowhere; [^\n]*$"):
            assay.Judge(store="/nowhere")
        with self.assertRaisesRegex(assay.UsageError, "no colour"):
            assay.Judge(colour="red")


    def test_whatever_a_model_wrote_is_a_kernel(self):
        for text in (".", "", "\ud800 x\n", "a\0b\n", str(SOURCE), "x" * (5 << 20)):
            with self.subTest(text[:20]):
                self.assertFalse(assay.judge(TASK, text, language="c", **QUICK).passed)
        for name in (str(RELU), str(SOURCE / "kernels/cuda/relu.cu")):  # a path that was forgotten to be one
            with self.assertRaisesRegex(assay.UsageError, "pathlib.Path"):
                assay.judge(TASK, name, language="c" if name.endswith(".c") else "cuda", **QUICK)

    def test_verdicts_are_values(self):
        v = assay.judge(TASK, RELU, **QUICK)
        for other in (pickle.loads(pickle.dumps(v)), copy.copy(v), copy.deepcopy(v)):
            self.assertEqual((v, v.evidence), (other, other.evidence))
        self.assertEqual(1, len({v, copy.deepcopy(v)}))
        self.assertEqual("pass", dataclasses.asdict(v)["reason"])


class Machines(unittest.TestCase):
    """What the machine did wrong is never a verdict on the kernel."""

    def test_no_compiler(self):
        with assay.Judge(path="/nowhere") as judge, self.assertRaisesRegex(assay.EnvironmentFault, "no compiler"):
            judge.judge(TASK, RELU)

    def broken_compiler(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir=WORK.name))
        (folder / "gcc").write_text('#!/bin/sh\necho "cc1: No space left on device"\nexit 1\n')
        (folder / "gcc").chmod(0o755)
        return f"{folder}:{os.environ['PATH']}"

    def test_broken_compiler(self):
        with assay.Judge(path=self.broken_compiler()) as judge:
            with self.assertRaises(assay.EnvironmentFault) as raised:
                judge.judge(TASK, RELU)
        self.assertIn("No space left", str(raised.exception))

    def test_rewards(self):
        spec = importlib.util.spec_from_file_location("reward", SOURCE / "examples/python/reward.py")
        reward = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(reward)
        samples = [RELU.read_text(), "int broken(\n"]
        with assay.Judge() as judge:
            found = reward.rewards(judge, TASK, samples, language="c", **QUICK)
        self.assertEqual([1.0, 0.0], found)
        with assay.Judge(path=self.broken_compiler()) as judge, open(os.devnull, "w") as nothing:
            told, sys.stderr = sys.stderr, nothing
            try:
                found = reward.rewards(judge, TASK, samples, language="c", **QUICK)
            finally:
                sys.stderr = told
        self.assertTrue(all(map(math.isnan, found)), found)
        with assay.Judge() as judge, self.assertRaises(assay.NotFoundError):
            reward.rewards(judge, "kernelbench/1/999", samples, language="c", **QUICK)

    def test_rewards_as_a_program(self):
        program = [sys.executable, "-B", str(SOURCE / "examples/python/reward.py")]
        run = functools.partial(subprocess.run, capture_output=True, text=True,
                                env={**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name})
        done = run([*program, TASK])
        self.assertEqual((1, ""), (done.returncode, done.stdout))
        self.assertRegex(done.stderr, r"^usage: reward.py TASK FILE\.\.\. .*\n$")
        done = run([*program, TASK, str(RELU), "nosuch.c"])
        self.assertIn("nosuch.c", done.stderr)
        done = run([*program, TASK, str(RELU)])
        self.assertRegex(done.stdout, r"^relu\.c: [12]\.\d\d\n$", done.stderr)


class Many(unittest.TestCase):
    def test_list_with_what_is_no_kernel(self):
        """It is the caller's error, of that one kernel; one kernel instead of a list is not taken apart."""
        with assay.Judge(prefix=BUILD) as judge:
            with self.assertRaisesRegex(assay.UsageError, "text of a kernel or the path"):
                judge.judge_many(TASK, [RELU, None], **QUICK)
            found = judge.judge_many(TASK, [RELU, None], return_errors=True, **QUICK)
            for one in (RELU.read_text(), RELU):
                with self.assertRaisesRegex(assay.UsageError, "a list of kernels"):
                    judge.judge_many(TASK, one, language="c", **QUICK)
        self.assertEqual([found[0].reason, type(found[1])], [assay.Reason.PASS, assay.UsageError])

    def test_batch_keeps_its_order(self):
        with assay.Judge(workers=2) as judge:
            found = judge.judge_many(TASK, [RELU, "int broken(\n", RELU, pathlib.Path("nosuch.c")], language="c",
                                     return_errors=True, **QUICK)
            self.assertEqual(["pass", "build_failed", "pass"], [str(v.reason) for v in found[:3]])
            self.assertIsInstance(found[3], assay.Error)
            with self.assertRaises(assay.Error):
                judge.judge_many(TASK, [pathlib.Path("nosuch.c"), RELU], **QUICK)

    def test_coroutines_run_meanwhile(self):
        async def ticks(stop):
            n = 0
            while not stop.is_set():
                await asyncio.sleep(0.001)
                n += 1
            return n

        async def both():
            stop = asyncio.Event()
            counted = asyncio.ensure_future(ticks(stop))
            verdict = await assay.judge_async(TASK, RELU, **QUICK)
            stop.set()
            return verdict, await counted

        verdict, n = asyncio.run(both())
        self.assertTrue(verdict.passed and n > 2, n)

    def test_closing_cancels_what_has_not_begun(self):
        judge = assay.Judge()
        futures = [judge.submit(TASK, RELU, **QUICK) for _ in range(4)]
        while not (futures[0].running() or futures[0].done()):
            time.sleep(0.001)
        judge.close()
        self.assertTrue(futures[0].result().passed)
        self.assertTrue(futures[3].cancelled())
        with self.assertRaisesRegex(assay.UsageError, "closed"):
            judge.submit(TASK, RELU)

    def python(self, program, *words, **more):
        """Another interpreter, with the package, in a group of processes of its own."""
        return subprocess.run([sys.executable, *program, str(RELU), *words], capture_output=True, text=True, timeout=240,
                              env={**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name}, start_new_session=True, **more)

    def test_pools_of_processes(self):
        """Verdicts and exceptions come out of processes, however they were started, also where the parent judges, too."""
        file = pathlib.Path(WORK.name) / "pools.py"
        file.write_text("""\
import concurrent.futures, multiprocessing, pathlib, sys
import assay
QUICK = dict(timing=False, probes=False)
def one(what):
    if what == "failed":
        raise assay.JudgeFailed(assay.judge("kernelbench/1/19", pathlib.Path(sys.argv[1]), **QUICK))
    with assay.Judge(path="/nowhere" if what == "fault" else None) as judge:
        task = "kernelbench/1/999" if what == "task" else "kernelbench/1/19"
        source = "int broken(\\n" if what == "wrong" else pathlib.Path(sys.argv[1])
        return (assay if what == "pass" else judge).judge(task, source, language="c", **QUICK)
if __name__ == "__main__":
    assert one("pass").passed
    for method in multiprocessing.get_all_start_methods():
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=multiprocessing.get_context(method)) as pool:
            for future in [pool.submit(one, what) for what in ("pass", "wrong", "task", "fault", "failed")]:
                e = future.exception()
                print(type(e).__name__ if e else future.result().reason, end=" ")
                if isinstance(e, assay.JudgeFailed):
                    print(e.verdict.reason)
""")
        done = self.python([str(file)])
        row = "pass build_failed NotFoundError EnvironmentFault JudgeFailed pass\n"
        self.assertEqual((0, row * 3, ""), (done.returncode, done.stdout, done.stderr))

    def test_threads(self):
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: assay.judge(TASK, RELU, **QUICK).reason, range(16)))
        self.assertEqual({assay.Reason.PASS}, set(found))

    def test_coroutines_that_wait_no_longer(self):
        async def some():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(assay.judge_async(TASK, RELU, **QUICK), 0.01)
            return (await asyncio.gather(*[assay.judge_async(TASK, RELU, **QUICK) for _ in range(3)]))[2].reason

        self.assertEqual([assay.Reason.PASS] * 2, [asyncio.run(some()) for _ in range(2)])  # two loops, one after the other

    def test_ctrl_c_is_no_verdict(self):
        """A terminal interrupts all processes of a group: who waits hears of it; what others wait for is judged on."""
        program = ("import assay, os, pathlib, signal, sys, threading\n"
                   "quick, relu, seen = dict(timing=False, probes=False), pathlib.Path(sys.argv[1]), []\n"
                   "def others():\n"
                   "    with assay.Judge() as judge:\n"
                   "        for _ in range(6): seen.append(judge.judge('kernelbench/1/19', relu, **quick).reason.value)\n"
                   "thread = threading.Thread(target=others)\n"
                   "thread.start()\n"
                   "threading.Timer(float(sys.argv[2]), lambda: os.killpg(0, signal.SIGINT)).start()\n"
                   "try:\n"
                   "    while True: assay.judge('kernelbench/1/19', relu, **quick)\n"
                   "except KeyboardInterrupt:\n"
                   "    print(assay.judge('kernelbench/1/19', relu, **quick).reason.value)\n"
                   "thread.join()\n"
                   "print(*seen)\n")
        for after in ("0.15", "0.3", "0.5"):
            done = self.python(["-c", program], after)
            self.assertEqual((0, "pass\n" + " ".join(["pass"] * 6) + "\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_ctrl_c_ends_a_program(self):
        program = ("import assay, os, pathlib, signal, sys, threading\n"
                   "threading.Timer(0.5, lambda: os.killpg(0, signal.SIGINT)).start()\n"
                   "while True: assay.judge('kernelbench/1/19', pathlib.Path(sys.argv[1]), probes=False, timing=False)\n")
        start = time.monotonic()
        done = self.python(["-c", program])
        self.assertEqual(-2, done.returncode)
        self.assertTrue(done.stderr.rstrip().endswith("KeyboardInterrupt"), done.stderr)
        self.assertLess(time.monotonic() - start, 30)

    def test_the_child_of_a_fork_has_a_judge_of_its_own(self):
        program = ("import assay, os, pathlib, sys\n"
                   "ask = dict(timing=False, probes=False)\n"
                   "mine, relu = assay.Judge(), pathlib.Path(sys.argv[1])\n"
                   "assert assay.judge('kernelbench/1/19', relu, **ask) and mine.judge('kernelbench/1/19', relu, **ask)\n"
                   "child = os.fork()\n"
                   "if child == 0:\n"
                   "    try:\n"
                   "        mine.judge('kernelbench/1/19', relu, **ask)\n"
                   "    except assay.UsageError as e:\n"
                   "        print('after a fork' in str(e), assay.judge('kernelbench/1/19', relu, **ask).reason.value)\n"
                   "else:\n"
                   "    os.waitpid(child, 0)\n"
                   "    print(mine.judge('kernelbench/1/19', relu, **ask).reason.value)\n")
        done = subprocess.run([sys.executable, "-c", program, str(RELU)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name})
        self.assertEqual((0, "True pass\npass\n", ""), (done.returncode, done.stdout, done.stderr))

    def test_two_interpreters_of_one_process(self):
        program = ("import sys, threading\n"
                   "import _xxsubinterpreters as interpreters\n"
                   "code = '''import assay, pathlib\n"
                   "print(assay.judge('kernelbench/1/19', pathlib.Path(%r), timing=False, probes=False).reason.value)\n"
                   "assay.judges._default.close()''' % sys.argv[1]\n"
                   "exec(code)\n"
                   "two = [interpreters.create(isolated=False) for _ in range(2)]\n"
                   "sys.stdout.flush()\n"
                   "for i in two: interpreters.run_string(i, code + '; import sys; sys.stdout.flush()')\n"
                   "for i in two: interpreters.destroy(i)\n")
        if importlib.util.find_spec("_xxsubinterpreters") is None:
            self.skipTest("this Python has no subinterpreters by that name")
        done = subprocess.run([sys.executable, "-c", program, str(RELU)], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name})
        self.assertEqual((0, "pass\n" * 3, ""), (done.returncode, done.stdout, done.stderr))

    def test_the_child_of_a_fork_leaves_its_parents_tasks(self):
        program = ("import os, sys, threading\n"
                   "from assay import tasks\n"
                   "mine = tasks._own_folder()\n"
                   "held, go = threading.Event(), threading.Event()\n"
                   "def importing():\n"
                   "    with tasks._lock: held.set(); go.wait()\n"
                   "thread = threading.Thread(target=importing)\n"
                   "thread.start(); held.wait()\n"
                   "child = os.fork()\n"
                   "if child == 0:\n"
                   "    import signal; signal.alarm(30)\n"
                   "    sys.exit(tasks._own_folder() == mine)\n"
                   "print(os.waitpid(child, 0)[1], mine.is_dir(), mine)\n"
                   "go.set()\n")
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name})
        ended, there, folder = done.stdout.split()
        self.assertEqual(("0", "True", "", False), (ended, there, done.stderr, os.path.exists(folder)))

    def test_cancelled_coroutines_take_nothing_with_them(self):
        async def some():
            waiting = [asyncio.ensure_future(assay.judge_async(TASK, RELU, **QUICK)) for _ in range(6)]
            await asyncio.sleep(0.05)
            for future in waiting[::2]:
                future.cancel()
            return await asyncio.gather(*waiting, return_exceptions=True)

        found = asyncio.run(some())
        self.assertTrue(all(isinstance(f, asyncio.CancelledError) for f in found[::2]))
        self.assertTrue(all(f.passed for f in found[1::2]))

    def test_no_thread_is_the_machines_fault(self):
        with assay.Judge() as judge, unittest.mock.patch("threading.Thread.start", side_effect=RuntimeError("can't start")):
            with self.assertRaisesRegex(assay.EnvironmentFault, "^a judge works in a thread .*: can't start$"):
                judge.submit(TASK, RELU, **QUICK)
            self.assertTrue(judge._jobs.empty())

    def test_a_program_that_ends_leaves_no_process(self):
        program = ("import assay, pathlib, sys\n"
                   "assay.judge('kernelbench/1/19', pathlib.Path(sys.argv[1]), timing=False, probes=False)\n"
                   "assay.judges._default.submit('kernelbench/1/19', pathlib.Path(sys.argv[1]))\n")
        environment = {**os.environ, "PYTHONPATH": str(PLACE), "TMPDIR": WORK.name}
        done = subprocess.run([sys.executable, "-c", program, str(RELU)], env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((0, ""), (done.returncode, done.stderr))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
