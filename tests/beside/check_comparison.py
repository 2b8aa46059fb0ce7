#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/comparison.py without a GPU: its parts, with scripts and a judge that do what a test wants of them.

usage: check_comparison.py
"""
import contextlib
import io
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench/gpu"))
import common  # noqa: E402
import comparison  # noqa: E402
import fusedops_kernels  # noqa: E402
import makers  # noqa: E402
import published  # noqa: E402

# Stands for every script of a part: says how it was called, and does what its name in HOW says.
SCRIPT = '''#!%s
import json, os, sys, time
name = os.path.basename(sys.argv[0])
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps([name, sys.argv[1:], {n: os.environ.get(n) for n in ("PARTS", "GPUS", "EACH", "DEVICE")}]) + "\\n")
how = json.loads(os.environ["HOW"]).get(name, "ends")
if how == "hangs":
    time.sleep(300)
print("no time left for 3 judgements" if how == "goes on" else "all was judged")
sys.exit(3 if how == "fails" else 0)
''' % sys.executable

# `assay judge`, whose candidate is right without a macro: says what it was asked.
JUDGE = '''#!%s
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(arguments) + "\\n")
beside = [{"median_ns": 3000.0, "speedup": 1.5, "speedup_low": 1.4, "speedup_high": 1.6}]
print(json.dumps([{"verdict": "wrong_value" if "--define" in arguments else "pass", "timing": {"median_ns": 2000.0},
                   "baselines": beside if "--baseline" in arguments else []}]))
''' % sys.executable

# `assay` for fusedops.sh: comes to nothing at size02, and has a table for every other shape.
MAKERS = '''#!%s
import json, os, sys
arguments = sys.argv[1:]
with open(os.environ["CALLS"], "a") as file:
    file.write(json.dumps(arguments) + "\\n")
if "size02" in arguments:
    sys.exit("assay: --with names inductor twice")
print("[]" if "--json" in arguments else "a table")
''' % sys.executable


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, stat.S_IRWXU)


class Comparison(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.out, self.calls = os.path.join(self.folder.name, "out"), os.path.join(self.folder.name, "calls")
        self.programs, self.scripts = os.path.join(self.folder.name, "programs"), os.path.join(self.folder.name, "scripts")
        write(os.path.join(self.programs, "assay"), JUDGE)
        for name in ("fusedops_kernels.py", "forms.py", "fusedops.sh", "denominators.py", "tuners.sh", "published.py"):
            write(os.path.join(self.scripts, name), SCRIPT)
        os.makedirs(os.path.join(self.folder.name, "checkout/operators"))

    def main(self, module, *arguments, how=None):
        said = io.StringIO()
        environment = {"CALLS": self.calls, "HOW": json.dumps(how or {}), "ASSAY_PYTHON": sys.executable}
        with mock.patch.object(sys, "argv", [module.__name__ + ".py", *arguments]), mock.patch.dict(os.environ, environment), \
                contextlib.redirect_stdout(said):
            module.main()
        return said.getvalue()

    def called(self):
        with open(self.calls, encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def states(self):
        with open(os.path.join(self.out, "comparison.json"), encoding="utf-8") as file:
            return json.load(file)["parts"]

    def test_what_the_parts_read(self):
        said = self.main(comparison, self.programs, self.out, "--plan", "--gpus", "4")
        self.assertEqual(len(said.splitlines()), 8)
        self.assertIn("published: left out, as there is no --checkout", said)
        self.assertFalse(os.path.exists(os.path.join(self.out, "comparison.json")))
        for name, n in (("products", 16), ("families", 60), ("one", 38)):
            with open(os.path.join(self.out, name + ".parts"), encoding="utf-8") as file:
                parts = [tuple(line.split()) for line in file]
            self.assertEqual(len(set(parts)), n)
            for task, workload, *_ in parts:
                self.assertIn(workload, fusedops_kernels.read_workloads(task))
        with open(os.path.join(self.out, "families.parts"), encoding="utf-8") as file:
            first = [line.split()[0] for line in file][:len(comparison.FAMILIES)]
        self.assertEqual(sorted(first), sorted(f"fusedops/{family}" for family in comparison.FAMILIES))
        # The families whole, some of each first; the library where it has a kernel.
        self.assertEqual(len({task for task, *_ in parts[:14]}), 3)
        self.assertEqual({task for task, _, _, makers in parts if "library" in makers}, {"fusedops/matmul/bf16_matmul"})

    def test_parts_end_fail_and_go_on(self):
        how = {"forms.py": "fails", "fusedops.sh": "goes on", "denominators.py": "hangs"}
        arguments = [self.programs, self.out, "--gpus", "4", "--checkout", os.path.join(self.folder.name, "checkout")]
        limits = dict.fromkeys(comparison.LIMITS, 200) | {"denominators": 1}
        with mock.patch.object(common, "HERE", self.scripts), mock.patch.object(comparison, "LIMITS", limits), \
                mock.patch.object(comparison, "GRACE", 0), mock.patch.object(comparison, "SHORTEST", 0.5):
            self.main(comparison, *arguments, how=how)
            first, states = self.called(), self.states()
            said = self.main(comparison, *arguments, how=how)
        self.assertEqual([name for name, _, _ in first], ["fusedops.sh", "fusedops.sh", "fusedops_kernels.py", "forms.py",
                                                          "fusedops.sh", "denominators.py", "tuners.sh", "published.py"])
        self.assertEqual({part: s["done"] for part, s in states.items()},
                         {"one": False, "families": False, "probes": True, "cublas": False, "products": False,
                          "denominators": False, "tuners": True, "published": True})
        self.assertEqual(states["cublas"]["exit"], 3)
        self.assertGreaterEqual(states["denominators"]["seconds"], 1)
        self.assertLess(states["denominators"]["seconds"], 200)  # it was interrupted
        # What is done, and what has used its seconds, is not begun again.
        self.assertEqual([name for name, _, _ in self.called()[len(first):]],
                         ["fusedops.sh", "fusedops.sh", "forms.py", "fusedops.sh"])
        self.assertRegex(said, r"denominators +\d+ +1 +1 +-?\d+  its seconds are used")
        self.assertRegex(said, r"products +\d+ +200 +2 +0  goes on with the same command")
        self.assertEqual(first[2][1][first[2][1].index("--kinds") + 1], "odd,probes")
        self.assertEqual(first[0][2], {"PARTS": os.path.join(os.path.realpath(self.out), "one.parts"), "GPUS": "1", "EACH": "5",
                                       "DEVICE": "cuda"})
        self.assertEqual(first[4][2], {"PARTS": os.path.join(os.path.realpath(self.out), "products.parts"), "GPUS": "4", "EACH": "2",
                                    "DEVICE": "cuda"})

    def test_the_script_says_what_it_did_and_goes_on(self):
        """fusedops.sh, first without time, then with; what makers.py reads of it."""
        write(os.path.join(self.programs, "assay"), MAKERS)
        task, parts = "fusedops/layernorm/bf16_layernorm", os.path.join(self.folder.name, "parts")
        write(parts, "".join(f"{task} size0{n} fusedops eager\n" for n in (1, 2, 3)))
        environment = {**os.environ, "PARTS": parts, "CALLS": self.calls, "ASSAY_PYTHON": sys.executable}
        for seconds, kept in (("10", 1), ("600", 4)):
            subprocess.run([os.path.join(ROOT, "bench/gpu/fusedops.sh"), self.programs, self.out, seconds], check=True, env=environment,
                           capture_output=True)
            calls = self.called()
            os.remove(self.calls)
            # What there is no time for writes nothing anew.
            self.assertEqual(calls.count(["runs", "--json"]), kept)
        self.assertEqual(sorted(c[c.index("--workload") + 1] for c in calls if c[0] == "compare"), ["size01", "size02", "size03"])
        log = os.path.join(self.out, "log.txt")
        with open(log, encoding="utf-8") as file:
            said = file.read()
        self.assertEqual(said.count("no time left for part_"), 3)
        self.assertEqual(said.count("came to nothing: assay: --with names inductor twice"), 1)
        found = makers.parts(log)
        self.assertEqual([(name, size, gpu) for name, size, gpu, _, _ in found],
                         [("layernorm/bf16_layernorm", f"size0{n}", 0) for n in (1, 2, 3)])
        with open(log, "a", encoding="utf-8") as file:  # a third call, which does one of two
            file.write(f"makers: eager\n{task} size04 fusedops: 4 s on GPU 0, 7 s after the beginning\n"
                       f"no time left for part_{task.replace('/', '_')}_size03_fusedops\n"
                       f"{task} size03 fusedops: 0 s on GPU 0, 8 s after the beginning\n"
                       f"no time left for part_{task.replace('/', '_')}_size05_\n"
                       f"{task} size05 : 0 s on GPU 0, 8 s after the beginning\n")
        last = makers.parts(log)
        self.assertEqual(last[:3], found)
        self.assertEqual([row[2:4] for row in last[3:]], [[0, 4], [None, None]])
        self.assertEqual(last[3][4] - max(row[4] for row in found), 7)
        self.assertEqual(makers.gpu_of("NVIDIA H100 80GB HBM3, driver 580.159.04"), "H100")
        self.assertEqual(makers.gpu_of("NVIDIA H200, driver 580.159.04"), "H200")

    def test_tuners_do_a_seed_whole(self):
        write(os.path.join(self.programs, "assay"), MAKERS)
        environment = {**os.environ, "CALLS": self.calls, "ASSAY_PYTHON": sys.executable}
        environment.pop("PARTS", None)
        subprocess.run([os.path.join(ROOT, "bench/gpu/tuners.sh"), self.programs, self.out, "600"], check=True, env=environment,
                       capture_output=True)
        asked = [c for c in self.called() if c[0] == "compare"]
        value = lambda c, option: c[c.index(option) + 1] if option in c else None  # noqa: E731
        self.assertEqual([value(c, "--run") for c in asked],
                         [run for run in ("seed1", "seed2", "seed3", "again2", "again3") for _ in range(5)])
        self.assertEqual([value(c, "--seed") for c in asked], [s for s in ("1", "2", "3", None, None) for _ in range(5)])
        self.assertEqual(len({(c[1], value(c, "--workload")) for c in asked}), 5)
        for c in asked:  # what a seed means nothing to is asked first, and repeated last
            run, makers_asked = value(c, "--run"), value(c, "--with").split(",")
            self.assertEqual("tune:kernels/fusedops" in makers_asked, run.startswith("seed"))
            self.assertEqual("triton" in makers_asked and "max-autotune" in makers_asked, run not in ("seed2", "seed3"))
            self.assertIn(value(c, "--workload"), fusedops_kernels.read_workloads(c[1]))
            kernel = os.path.join(ROOT, "kernels/fusedops", os.path.basename(c[1]) + ".cu")
            with open(kernel, encoding="utf-8") as file:
                self.assertIn("// assay: tune", file.read())

    def test_what_is_wrong_is_said(self):
        for arguments, why in (([self.programs, self.out, "--only", "default"], "there is no part default"),
                               ([self.scripts, self.out], "build it first"),
                               ([self.programs, self.out, "--checkout", self.programs], "no checkout of KernelGeneration"),
                               ([self.programs], "usage: comparison.py")):
            with self.assertRaises(SystemExit) as caught:
                self.main(comparison, *arguments)
            self.assertIn(why, str(caught.exception))

    def test_other_kernels_are_asked_beside_the_old(self):
        folder = os.path.join(self.out, "others")
        os.makedirs(folder)
        shutil.copy(os.path.join(ROOT, "kernels/fusedops/bf16_swiglu.cu"), folder)
        found = os.path.join(self.out, "others.json")
        arguments = [os.path.join(self.programs, "assay"), found, "--folder", folder, "--before",
                     os.path.join(ROOT, "kernels/fusedops"), "--only", "swiglu,no_such", "--kinds", "twin,sizes"]
        said = self.main(fusedops_kernels, *arguments)
        self.assertIn("twin: 3 of 3 as expected", said)  # two twins, and the kernel itself
        self.assertIn("bf16_swiglu.cu: before / now 1.5000 in geometric mean over 5 shapes", said)
        for call in self.called():
            self.assertEqual(call[2], os.path.join(os.path.realpath(folder), "bf16_swiglu.cu"))
            self.assertEqual("--baseline" in call, "--no-probes" in call)  # twins are asked everything, sizes are timed
        n = len(self.called())
        self.main(fusedops_kernels, *arguments[:-1], "probes")
        probed = self.called()[n:]
        self.assertEqual(len(probed), 5)  # each size, asked everything
        for call in probed:
            self.assertIn("--no-timing", call)
            self.assertNotIn("--no-probes", call)
        n = len(self.called())
        self.main(fusedops_kernels, *arguments)
        self.assertEqual(len(self.called()), n)
        with self.assertRaisesRegex(SystemExit, "--kinds takes some of"):
            self.main(fusedops_kernels, *arguments[:-1], "size")

    def test_published_files_that_were_not_reached(self):
        checkout = os.path.join(self.folder.name, "checkout")
        for name, _, _ in published.CANDIDATES:
            write(os.path.join(checkout, "operators", name), "import torch\n")
        arguments = [os.path.join(self.programs, "assay"), checkout, os.path.join(self.out, "published.json"), "--only",
                     "gemm_gelu,layernorm_helion", "--device", "cpu", "--store", os.path.join(self.out, "store")]
        os.makedirs(self.out)
        said = self.main(published, *arguments)
        asked = {(os.path.basename(call[2]), call[4]) for call in self.called()}
        self.assertEqual(len(self.called()), 2 * (4 * 5 + 3))  # each form of the task
        self.assertEqual(len(asked), 4 * 5 + 3)
        self.assertIn("bf16_layernorm_layernorm_helion.py", {name for name, _ in asked})
        self.assertNotIn("no time left", said)
        self.assertIn("no time left for 46 judgements", self.main(published, *arguments[:2], os.path.join(self.out, "other.json"),
                                                                  *arguments[3:], "--seconds", "0"))


if __name__ == "__main__":
    unittest.main()
