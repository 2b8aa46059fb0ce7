#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/seeds.py, bench/gpu/level4.py and the script that calls them, with a judge that says what a test wants to hear.

usage: check_kernelbenchx.py
"""
import contextlib
import io
import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "bench" / "gpu"))
import denominators  # noqa: E402
import ladders  # noqa: E402
import level4  # noqa: E402
import seeds  # noqa: E402

# A bench passes every file and refuses its twin, but BROKEN, whose twin is passed, too; NOTHING and REFUSED are other
# verdicts. A judge passes 4/2; 4/16 never ends, and 4/4 has no memory, where HARD is set. Every question is noted.
JUDGE = '''#!%s
import json, os, pathlib, sys, time
arguments = sys.argv[1:]
def note(text):
    with open(sys.argv[0] + ".asked", "a") as file:
        file.write(text + "\\n")
def verdict(candidate, verdict):
    return {"candidate": candidate, "verdict": verdict, "detail": "why", "task": "t", "seed": 1, "secret": 2, "mode": "plan",
            "checks": None if verdict == "not_judged" else [{"z_max": 3.0, "z_limit": 12.0}],
            "durations_ns": {"total": 5e9, "oracle": 2e9, "bind": 1}}
if arguments[0] == "bench":
    found = []
    names = sorted(p.name for p in pathlib.Path(arguments[arguments.index("--from") + 1]).glob("*.cu"))
    note(" ".join(names))
    for name in names:
        passed = os.environ.get("NOTHING", "pass")
        refused = os.environ.get("REFUSED", "wrong_value")
        twin = "pass" if name == os.environ.get("BROKEN") else refused
        found += [verdict(name, passed)] + [verdict(name + " -DTWIN", twin)] * ("--twins" in arguments)
    print(json.dumps(found))
elif arguments[0] == "judge":
    number = arguments[1].rpartition("/")[2]
    note(number)
    print("\\r[....] 0/5 reading\\033[K", file=sys.stderr)
    if number == "16" and os.environ.get("HARD"):
        print("\\r[##..] 2/5 answers\\033[K", file=sys.stderr, end="", flush=True)
        time.sleep(100)
    print(json.dumps([verdict("x", "out_of_memory" if number == "4" and os.environ.get("HARD") else "pass")]))
''' % sys.executable


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.judge, self.out = self.folder / "assay", self.folder / "out.json"
        self.judge.write_text(JUDGE)
        self.judge.chmod(self.judge.stat().st_mode | stat.S_IXUSR)

    def call(self, module, *arguments, **environment):
        """(exit code, what was said, what the judge was asked, OUT.json)"""
        said, asked = io.StringIO(), pathlib.Path(f"{self.judge}.asked")
        given = [module.__name__, *map(str, arguments), "--device", "cpu"]
        with mock.patch.object(sys, "argv", given), mock.patch.dict(os.environ, environment), contextlib.redirect_stdout(said):
            code = module.main()
        questions = sorted(asked.read_text().split("\n")[:-1]) if asked.exists() else []
        asked.unlink(missing_ok=True)
        return code, said.getvalue(), questions, json.loads(self.out.read_text())

    def seeds(self, *arguments, **environment):
        kernels = self.folder / "kernels"
        kernels.mkdir(exist_ok=True)
        for name in "abcdef":
            (kernels / f"{name}.cu").write_text("// assay: task x/y\n// assay: twin TWIN expect wrong_value|low_precision -- wrong\n")
        return self.call(seeds, self.judge, self.out, kernels, "x", "--gpus", "2", "--each", "2", *arguments, **environment)

    def test_seeds_go_on(self):
        """Every kernel and twin once a round; what is not as expected is named; the next call judges what is missing alone."""
        code, said, asked, found = self.seeds("--seeds", "3", BROKEN="b.cu")
        self.assertEqual(len(asked), 6)  # six kernels are two benches
        self.assertEqual(found["sums"], {"honest": 18, "honest_passed": 18, "twins": 18, "twins_refused": 15})
        self.assertEqual([(s["kernel"], s["twin"], s["verdict"]) for s in found["surprises"]], [("b.cu", "TWIN", "pass")] * 3)
        self.assertEqual((code, found["rounds"], found["kernels"]["a.cu"]), (1, 3, [3, 3, 0.25, 3, 3]))
        self.assertIn("3 rounds: ", said)
        self.assertEqual(len(self.seeds("--seeds", "4")[2]), 2)
        self.assertEqual([call["rounds_before"] for call in self.seeds("--seeds", "4")[3]["calls"]], [0, 3, 4])

    def test_seeds_go_on_from_one_call(self):
        """A file of before there were calls is one call, and its verdicts count."""
        old = {"command": "c", "commit": "f00", "rounds": 1, "seconds": 9, "kernels": {"a.cu": [1, 1, 0.5, 1, 1]}}
        self.out.write_text(json.dumps(old))
        _, _, asked, found = self.seeds("--seeds", "2")
        self.assertEqual((len(asked), found["rounds"], found["kernels"]["a.cu"]), (2, 2, [2, 2, 0.5, 2, 2]))
        self.assertEqual((found["calls"][0], len(found["calls"])), ({"command": "c", "commit": "f00"}, 2))
        self.assertNotIn("commit", found)

    def test_seeds_give_up(self):
        """Nothing passes: no bench is begun once a round is whole, and so few of 40. No time: none at all."""
        _, _, asked, found = self.seeds("--seeds", "20", NOTHING="load_failed")
        self.assertLess(len(asked), 12)  # at most four at work, and their rounds' other halves
        self.assertEqual(found["sums"]["honest_passed"], 0)
        self.out.unlink()
        self.assertEqual(self.seeds("--seconds", "0")[2], [])

    def test_seeds_count_refusals_alone(self):
        """A twin that does not compile is a surprise, and what is not judged has no checks and counts as neither."""
        code, _, _, found = self.seeds("--seeds", "1", REFUSED="build_failed")
        self.assertEqual((code, found["sums"]["twins"], found["sums"]["twins_refused"], len(found["surprises"])), (1, 6, 0, 6))
        self.out.unlink()
        code, _, _, found = self.seeds("--seeds", "1", NOTHING="not_judged", REFUSED="not_judged")
        self.assertEqual((code, found["not_judged"], found["sums"]["honest"], found["sums"]["twins"]), (1, 12, 0, 0))

    def test_seeds_of_honest_kernels_alone(self):
        """Rounds without twins go on in the same file; what was counted of twins stays, and a false alarm is told."""
        self.seeds("--seeds", "1")
        code, _, asked, found = self.seeds("--honest", "--seeds", "3")
        self.assertEqual((code, len(asked), found["kernels"]["a.cu"]), (0, 4, [3, 3, 0.25, 1, 1]))
        self.assertEqual(found["sums"], {"honest": 18, "honest_passed": 18, "twins": 6, "twins_refused": 6})
        self.assertIn("--honest", found["calls"][1]["command"])
        code, _, _, found = self.seeds("--seeds", "4", "--honest", NOTHING="wrong_value")
        self.assertEqual((code, len(found["surprises"]), found["sums"]["honest_passed"]), (1, 6, 18))

    def test_level4_goes_on(self):
        """What has no verdict says where the judge stood. The next call asks for that alone, and first for what had no turn."""
        arguments = (self.folder / "models", "--judge", self.judge, self.out, "--only", "2,4,16", "--limit", "20")
        with mock.patch.object(level4, "SPARE", 0):
            _, _, asked, found = self.call(level4, *arguments, HARD="1")
        rows = {row["task"]: row for row in found["rows"]}
        self.assertEqual(asked, ["16", "2", "4"])
        self.assertEqual((rows["kernelbench/4/2"]["verdict"], rows["kernelbench/4/2"]["steps"]), ("pass", {"total": 5.0, "oracle": 2.0}))
        self.assertEqual(rows["kernelbench/4/16"]["verdict"], "no verdict")
        self.assertRegex(rows["kernelbench/4/16"]["detail"], r"^exit -15 after \S+ s, at: \[##\.\.\] 2/5 answers$")
        self.assertEqual(self.call(level4, *arguments)[2], ["16", "4"])
        _, said, asked, _ = self.call(level4, *arguments[:-4], "--only", "2,4,16,11", "--limit", "20")
        self.assertEqual((asked, "kernelbench/4/11 pass" in said), (["11"], True))
        other = self.folder / "other.json"
        other.write_text(self.out.read_text())
        self.out.unlink()
        _, said, _, _ = self.call(level4, *arguments[:-4], "--only", "2,4,7", "--after", other)
        self.assertEqual([line.split()[0].rpartition("/")[2] for line in said.splitlines()], ["7", "2", "4"])

    def test_gpus_that_are_seen(self):
        """A part of the GPUs, as CUDA_VISIBLE_DEVICES says, is all that there is."""
        with mock.patch.dict(os.environ, CUDA_VISIBLE_DEVICES="5,2"), mock.patch.object(ladders, "ladders_of", lambda *_: {}):
            self.assertEqual(seeds.Options(["assay", "out", "folder", "x"]).gpus, 2)
            self.assertEqual(level4.Options(["folder"]).gpus, 2)
            self.assertEqual(ladders.Options(["assay", "out"]).gpus, 2)
            self.assertEqual(denominators.Options(["assay", "out"]).gpus, 2)

    def test_script_says_what_is_missing(self):
        """No time is spent where nothing can work."""
        script = ROOT / "bench" / "gpu" / "kernelbenchx.sh"
        done = subprocess.run(["sh", script, self.folder, self.folder / "out", "ladders"], capture_output=True, text=True,
                              env={**os.environ, "ASSAY_PYTHON": "/no/python"})
        self.assertEqual(done.returncode, 2)
        self.assertIn("/no/python", done.stderr)
        done = subprocess.run(["sh", script, self.folder], capture_output=True, text=True)
        self.assertEqual((done.returncode, "level4" in done.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
