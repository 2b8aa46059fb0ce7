#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/gpu/beside.py and the candidates of bench/beside, without a GPU, PyTorch or KernelBench.

usage: check_beside.py

The files: their first lines, their syntax, and that they are what an extension or a Triton kernel needs. The script: with
a harness and a judge that say what a test wants to hear.
"""
import ast
import contextlib
import io
import json
import os
import re
import stat
import sys
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "bench/gpu"))
import beside  # noqa: E402

# What KernelBench's module has in the harness's place: the first line of the reference says what it answers.
HARNESS = '''
import json, time
class Result:
    pass
def eval_kernel_against_ref(reference, candidate, num_correct_trials, num_perf_trials, measure_performance, build_dir,
                            backend):
    assert (num_correct_trials, num_perf_trials, measure_performance) == (5, 100, True)
    assert backend == ("triton" if "import triton" in candidate else "cuda"), backend
    says = json.loads(reference.splitlines()[0][2:])
    if says.get("sleep"):
        time.sleep(120)
    if says.get("none"):
        return None
    print('RESULT {"compiled": true, "forged": true}')
    result = Result()
    result.compiled, result.correctness = says.get("compiled", True), says.get("correct", True)
    result.runtime, result.ref_runtime = says.get("runtime", 1.0), 3.0
    result.metadata = {"hardware": "a GPU", "max_difference": ["0.5"]}
    if says.get("excessive"):
        result.metadata["excessive_speedup"] = True
    return result
'''

# What Assay says: the expected verdict, or what SAYS holds for the file. Every call leaves a line in the log.
ASSAY = '''#!{python}
import json, os, re, sys
assert sys.argv[1] == "judge" and sys.argv[4:] == ["--device", "cuda", "--workload", "full", "--memory", "4096",
                                                   "--no-store", "--json"], sys.argv
source = open(sys.argv[3]).read()
assert re.search("^# assay: task (.*)$", source, re.M).group(1) == sys.argv[2]
name = os.path.basename(sys.argv[3])
with open({log!r}, "a") as log:
    log.write(name + "\\n")
expected = re.search("^# assay: expect (.*)$", source, re.M).group(1).split("|")[0]
verdict = {says!r}.get(name, expected)
if not verdict:
    sys.exit("assay: there is no device")
kernels = {{"own": {{"launches": 2, "part": 0.75}}, "PyTorch": {{"launches": 1, "part": 0.25}},
            "library": {{"launches": 0, "part": None}}}}
print(json.dumps([{{"verdict": verdict, "detail": "told | so", "mode": "plan", "kernels": kernels,
                  "timing": {{"median_ns": 2000000.0 if verdict == "pass" else None}}}}]))
sys.exit(verdict != "pass")
'''


class Candidates(unittest.TestCase):
    def setUp(self):
        self.candidates = beside.read_candidates()

    def source(self, candidate):
        with open(os.path.join(beside.CANDIDATES, candidate["file"]), encoding="utf-8") as file:
            return file.read()

    def test_ten_of_each_kind_half_of_them_honest(self):
        for kind in beside.KINDS:
            of_kind = [c for c in self.candidates if c["kind"] == kind]
            self.assertEqual([c["file"][len(kind) + 1:][:2] for c in of_kind], [f"{i:02}" for i in range(1, 11)])
            self.assertEqual(sum(c["honest"] for c in of_kind), 5)
        self.assertEqual([c["kind"] for c in self.candidates[:3]], list(beside.KINDS))

    def test_they_say_what_they_are(self):
        for c in self.candidates:
            with self.subTest(c["file"]):
                self.assertGreater(len(c["what"]), 20)
                if c["honest"]:
                    self.assertEqual(c["expect"], "pass")
                else:
                    self.assertTrue(1 <= c["cheat"] <= 96)
                    self.assertEqual(c["defused"], c["expect"] == "pass")

    def test_syntax_and_a_model(self):
        for c in self.candidates:
            with self.subTest(c["file"]):
                source = self.source(c)
                self.assertTrue(all(len(line) <= 120 for line in source.splitlines()))
                classes = {n.name: n for n in ast.parse(source).body if isinstance(n, ast.ClassDef)}
                functions = [n.name for n in classes["ModelNew"].body if isinstance(n, ast.FunctionDef)]
                self.assertIn("forward", functions)
                self.assertEqual("load_inline" in source, c["kind"] == "inline")
                self.assertEqual("@triton.jit" in source, c["kind"] == "triton")

    def test_extensions_have_names_of_their_own_and_what_they_declare(self):
        names = []
        for c in self.candidates:
            if c["kind"] != "inline":
                continue
            with self.subTest(c["file"]):
                source = self.source(c)
                names += re.findall(r'name="(\w+)"', source)
                declared = re.search(r'"(torch::Tensor forward\(.*?\));"', source).group(1)
                self.assertIn(declared + " {", source)
                self.assertIn("__global__", source)
        self.assertEqual(len(set(names)), 10)

    def test_tasks_are_there(self):
        for c in self.candidates:
            _, level, number = c["task"].split("/")
            folder = os.path.join(ROOT, f"tasks/kernelbench/level{level}")
            self.assertTrue([f for f in os.listdir(folder) if f.startswith(f"{int(number):03}_")], c["file"])

    def test_what_lacks_its_first_lines_is_refused(self):
        for text in "import torch\n", "# beside: cheat\n# assay: task kernelbench/1/1\n# assay: expect pass\n":
            with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
                file.write(text)
                file.flush()
                self.assertRaises(ValueError, beside.read_candidate, file.name)


class Script(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp()
        self.out = os.path.join(self.folder, "out", "beside.json")
        self.log = os.path.join(self.folder, "log")
        self.addCleanup(beside.shutil.rmtree, self.folder)
        package = os.path.join(self.folder, "checkout/src/kernelbench")
        os.makedirs(package)
        with open(os.path.join(package, "__init__.py"), "w"):
            pass
        with open(os.path.join(package, "eval.py"), "w") as file:
            file.write(HARNESS)

    def call(self, *options, kernelbench=None, assay=None):
        """The result of a call on fakes: what the harness says to a task and Assay to a file, where it is not the usual."""
        for c in beside.read_candidates():
            _, level, number = c["task"].split("/")
            path = os.path.join(self.folder, f"checkout/KernelBench/level{level}/{number}_of_the_suite.py")
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write("# " + json.dumps((kernelbench or {}).get(c["task"], {})) + "\n")
        program = os.path.join(self.folder, "assay")
        with open(program, "w") as file:
            file.write(ASSAY.format(python=sys.executable, log=self.log, says=assay or {}))
        os.chmod(program, os.stat(program).st_mode | stat.S_IXUSR)
        arguments, sys.argv = sys.argv, ["beside.py", program, os.path.join(self.folder, "checkout"), self.out, *options]
        self.shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(self.shown):
                beside.main()
        finally:
            sys.argv = arguments
        with open(self.out) as file:
            return json.load(file)

    def asked(self):
        if not os.path.exists(self.log):
            return []
        with open(self.log) as file:
            return file.read().split()

    def test_all(self):
        result = self.call(kernelbench={"kernelbench/2/18": {"correct": False, "runtime": -1.0},
                                        "kernelbench/2/9": {"excessive": True, "runtime": 0.01}})
        self.assertEqual(len(result["rows"]), 30)
        self.assertEqual(result["not_reached"], [])
        s = result["summary"]
        self.assertEqual((s["honest"], s["cheats"]), (15, 15))
        self.assertEqual((s["cheats_accepted_by_kernelbench"], s["of_these_flagged_as_too_fast"]), (15, 1))
        self.assertEqual(s["cheats_passed_by_assay"], s["of_these_with_nothing_left_of_the_cheat"])
        self.assertEqual((s["honest_refused_by_kernelbench"], s["honest_refused_by_assay"]), (1, 0))
        self.assertEqual(s["unexpected"], [])
        rows = {row["file"]: row for row in result["rows"]}
        wrong, zeros = rows["torch/03_linear_row_sum.py"], rows["torch/06_zeros.py"]
        self.assertEqual((wrong["kernelbench"]["says"], wrong["kernelbench"]["speedup"]), ("wrong", None))
        self.assertEqual(wrong["kernelbench"]["notes"], {"max_difference": "['0.5']"})
        self.assertAlmostEqual(zeros["kernelbench"]["speedup"], 300)
        self.assertTrue(zeros["kernelbench"]["excessive"])
        self.assertEqual((zeros["assay"]["verdict"], zeros["assay"]["median_ms"]), ("wrong_value", None))
        self.assertEqual(wrong["assay"]["median_ms"], 2.0)
        with open(os.path.splitext(self.out)[0] + ".md") as file:
            page = file.read()
        self.assertRegex(page, r"\| torch/06_zeros.py \| 2/9 \| cheat 4 \| correct, flagged \| 0.01 \| 300 \|")
        self.assertIn("own 75, PyTorch 25", page)
        self.assertIn("Of 15 cheats KernelBench's harness accepts 15 (1 of them flagged as too fast)", page)
        self.assertTrue(self.shown.getvalue().endswith(page))

    def test_it_goes_on_where_it_stopped(self):
        first = self.call("--only", "torch/0")
        self.assertEqual(len(self.asked()), 9)
        self.assertEqual(first["not_reached"], [])
        whole = self.call("--seconds", "0")
        self.assertEqual((len(whole["rows"]), len(whole["not_reached"])), (9, 21))
        self.assertIn("inline/01_gelu_tanh.py", whole["not_reached"])
        self.assertIn("not reached", self.shown.getvalue())
        self.call("--only", "torch/")
        self.assertEqual(self.asked()[9:], ["10_lazy_tensor.py"])

    def test_nothing_reached(self):
        result = self.call("--seconds", "0")
        self.assertEqual((result["rows"], len(result["not_reached"])), ([], 30))
        self.assertIn("nothing judged, 30 not reached", self.shown.getvalue())

    def test_what_comes_to_nothing(self):
        result = self.call("--only", "torch/0", "--each", "15",
                           kernelbench={"kernelbench/1/1": {"sleep": True}, "kernelbench/1/40": {"none": True},
                                        "kernelbench/2/76": {"compiled": False, "correct": False}},
                           assay={"04_conv_2d.py": None, "05_linear_gelu.py": "low_precision"})
        rows = {row["file"][6:8]: row for row in result["rows"]}
        self.assertEqual([rows[n]["kernelbench"]["says"] for n in ("01", "02", "09", "03")],
                         ["timeout", "nothing", "does not compile", "correct"])
        self.assertIsNone(rows["04"]["assay"]["verdict"])
        self.assertIn("no device", rows["04"]["assay"]["detail"])
        self.assertEqual(result["summary"]["unexpected"], ["torch/04_conv_2d.py", "torch/05_linear_gelu.py"])
        self.assertIn("low_precision (expected pass)", self.shown.getvalue())
        # A timeout is a refusal; nothing is nothing.
        self.assertEqual(result["summary"]["honest_refused_by_kernelbench"], 1)
        self.assertEqual(result["summary"]["honest_refused_by_assay"], 1)
        self.assertEqual(result["summary"]["kernelbench_said_nothing"], ["torch/02_layer_norm.py"])
        self.assertEqual(result["summary"]["assay_said_nothing"], ["torch/04_conv_2d.py"])
        self.assertIn("Assay said nothing about torch/04_conv_2d.py.", self.shown.getvalue())
        self.call("--only", "torch/04")
        self.assertEqual(self.asked().count("04_conv_2d.py"), 2)

    def test_the_end_of_the_whole_run_is_no_timeout(self):
        result = self.call("--only", "torch/01", "--seconds", "3", kernelbench={"kernelbench/1/1": {"sleep": True}})
        self.assertEqual((result["rows"], result["not_reached"]), ([], ["torch/01_matmul.py"]))


class Parsing(unittest.TestCase):
    def test_no_result(self):
        found = beside.parse_harness(1.5, "words\n", "Segmentation fault", True)
        self.assertEqual((found["says"], found["correct"]), ("nothing", False))
        self.assertIn("Segmentation fault", found["notes"]["last_words"])

    def test_a_run_that_was_cut_off(self):
        self.assertEqual(beside.parse_harness(9.0, "", "", False)["says"], "timeout")
        self.assertEqual(beside.parse_verdict(9.0, "", "", False)["detail"], "timeout")

    def test_a_verdict_without_a_time(self):
        text = json.dumps([{"verdict": "unrecordable", "detail": "it reads", "mode": "plan", "kernels": None,
                            "timing": None}])
        found = beside.parse_verdict(2.0, text, "", True)
        self.assertEqual((found["verdict"], found["median_ms"], found["kernels"]), ("unrecordable", None, None))

    def test_a_file_of_the_suite_that_is_not_there(self):
        with tempfile.TemporaryDirectory() as folder:
            self.assertRaises(ValueError, beside.reference_of, folder, "kernelbench/1/19")


if __name__ == "__main__":
    unittest.main()
