#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/before_after.py, bench/gpu/repeat.py and bench/general.py with judges that are not real, and with the tasks.

usage: check_repeat.py ASSAY
"""
import contextlib
import io
import json
import os
import pathlib
import stat
import sys
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench" / "gpu"), str(ROOT / "bench")]
import before_after  # noqa: E402
import common  # noqa: E402
import general  # noqa: E402
import repeat  # noqa: E402

# SPEED s a verdict by its own clock; LIST: whether one verdict is a list; 2/9 is refused, 3/9 does not end where HANGS is set.
JUDGE = '''#!%s
import json, os, sys, time
arguments = sys.argv[1:]
if arguments[0] == "tasks":
    level = arguments[1].split("/")[1]
    print(json.dumps([{"task": f"kernelbench/{level}/{n}"} for n in (1, 9)]))
    sys.exit()
task = arguments[1]
with open(sys.argv[0] + ".asked", "a") as file:
    file.write(f"{task} {os.environ.get('CUDA_VISIBLE_DEVICES')}\\n")
if task == "kernelbench/3/9" and os.environ.get("HANGS"):
    time.sleep(60)
found = {"verdict": "wrong_value" if task == "kernelbench/2/9" else "pass", "detail": "why", "mode": "plan", "seed": 5,
         "secret": 6, "worst_check": 0, "durations_ns": {"total": SPEED, "plan": 5e8}, "timing": {"median_ns": 1000.0},
         "checks": [{"gate_z": 3.0, "gate_limit": 12.0, "gate": "element", "looked_again": True}]}
print(json.dumps([found] if LIST else found))
''' % sys.executable


class Scripts(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, speed, is_list in (("before", "2e9", "False"), ("now", "3e9", "True")):
            path = self.folder / name / "assay"
            path.parent.mkdir()
            path.write_text(JUDGE.replace("SPEED", speed).replace("LIST", is_list))
            path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.out = self.folder / "out.json"

    def script(self, module, *arguments):
        said = io.StringIO()
        with mock.patch.object(sys, "argv", [module.__name__, *map(str, arguments)]), contextlib.redirect_stdout(said):
            code = module.main()
        return code, said.getvalue()

    def before_after(self, *more):
        return self.script(before_after, self.folder / "before", self.folder / "now", self.out, "--gpus", "2", *more)

    def test_both_judge_every_task(self):
        _, said = self.before_after()
        head, rows = common.read_rows(self.out)
        self.assertEqual([r["task"] for r in rows], [f"kernelbench/{level}/{n}" for level in (1, 2, 3) for n in (1, 9)])
        self.assertEqual((head["sum"]["before"]["s"], head["sum"]["now"]["s"], head["sum"]["ratio"]), (12.0, 18.0, 1.5))
        self.assertEqual(head["sum"]["now"]["verdicts"], {"pass": 5, "wrong_value": 1})
        self.assertEqual({r["first"] for r in rows}, {"before", "now"})
        self.assertIn("kernelbench/2/9: wrong_value then, wrong_value now", said)
        asked = (self.folder / "now" / "assay.asked").read_text()
        self.assertEqual({line.split()[1] for line in asked.splitlines()}, {"0", "1"})
        self.before_after()  # goes on where it ended: nothing is left
        self.assertEqual((self.folder / "now" / "assay.asked").read_text(), asked)

    def test_what_does_not_end_has_no_row(self):
        with mock.patch.dict(os.environ, {"HANGS": "1"}), mock.patch.object(before_after, "GRACE", 0):
            self.before_after("--seconds", "12")
        tasks = {r["task"] for r in common.read_rows(self.out)[1]}
        self.assertEqual(len(tasks), 5)
        self.assertNotIn("kernelbench/3/9", tasks)
        self.before_after()
        self.assertEqual(len(common.read_rows(self.out)[1]), 6)

    def test_repeat(self):
        refused = self.folder / "refused.c"
        refused.write_text("// assay: task kernelbench/2/9\n// assay: expect wrong_value\n")
        pairs = ["kernelbench/1/1=torch.eager", f"kernelbench/2/9={refused}"]
        code, said = self.script(repeat, self.folder / "now" / "assay", self.out, "--gpus", "2", "--times", "3", *pairs)
        head, rows = common.read_rows(self.out)
        self.assertEqual(code, 0, said)
        self.assertEqual(head["counts"], {"kernelbench/1/1 torch.eager small": {"pass": 3},
                                          "kernelbench/2/9 refused.c small": {"wrong_value": 3}})
        self.assertEqual((rows[0]["error"], rows[0]["allowed"], rows[0]["looked_again"], rows[0]["questions"]), (3, 12, 1, 1))
        code, said = self.script(repeat, self.folder / "now" / "assay", self.out, "--gpus", "2", "--times", "4", *pairs,
                                 "kernelbench/2/9=torch.eager")
        self.assertEqual(len(common.read_rows(self.out)[1]), 2 + 6 + 4)  # one more of each, and four of the new one
        self.assertEqual(code, 1)
        self.assertIn("NOT: kernelbench/2/9 torch.eager small wrong_value --seed=5 --secret=6", said)

    def test_sets(self):
        with tempfile.TemporaryDirectory() as folder:
            three = repeat.of_set(ASSAY, "3xtf32", folder, ["full"])
            self.assertGreaterEqual(len(three), 13)
            self.assertTrue(all(os.path.exists(path) and task.startswith("kernelbench/1/") for task, path in three))
            self.assertEqual(len(repeat.of_set(ASSAY, "level4", folder, ["full"])), 20)
            self.assertEqual(len(repeat.of_set(ASSAY, "level4", folder, ["small"])), 17)
            self.assertEqual([task for task, _ in repeat.of_set(ASSAY, "extents", folder, ["small"])], list(repeat.EXTENTS))
            self.assertEqual(len(repeat.of_set(ASSAY, "extension", folder, ["small"])), 2)

    def test_general(self):
        for task in (*repeat.EXTENTS, "kernelbench/1/35", "kernelbench/2/1"):
            text = general.candidate(ASSAY, task)
            compile(text, task, "exec")
            self.assertIn("class ModelNew(", text)
        self.assertIn("torch.empty((1, TOKENS, C512,))", general.candidate(ASSAY, "kernelbench/3/28"))


if __name__ == "__main__":
    ASSAY = os.path.realpath(sys.argv.pop(1))
    unittest.main()
