# SPDX-License-Identifier: Apache-2.0
"""The grader of KernelBench-X as its scripts and pages describe it, written anew, for a machine without a GPU: stage call
(a program of implementation and tests ends with 0), exe (the candidate and the reference run in one process from the same
seed, and what the tests leave is compared), perf (the sum of the reference's times over the candidate's, of the sizes at
which the candidate raised nothing; outputs are not looked at). The suite's tests and references are those of a checkout,
with "cpu" in place of "cuda".

  published.py exe FOLDER RESULTS SEEDS FILE...    FILE: a program in FOLDER/programs; one process for all, as there.
                                                   SEEDS: 0,1,2; there it is one, 0
  published.py perf FOLDER FILE NAME SIZE...       prints the speedup of function NAME of one vector
"""
import json
import pathlib
import random
import runpy
import statistics
import subprocess
import sys
import time

SEPARATOR = "#" * 146
TOLERANCES = {"float16": 5e-3, "bfloat16": 5e-3, "float32": 1e-5, "float64": 1e-5}


def for_the_cpu(text):
    return text.replace("'cuda'", "'cpu'").replace('"cuda"', '"cpu"')


class Checkout:
    """What the grader needs of a checkout, in a folder of its own."""

    def __init__(self, checkout, folder):
        self.folder = pathlib.Path(folder)
        (self.folder / "programs").mkdir()
        for path in [*pathlib.Path(checkout).glob("utils/*.py"), *pathlib.Path(checkout).glob("data/kernelbenchx/*/*.py")]:
            copy = self.folder / path.relative_to(checkout)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(for_the_cpu(path.read_text()))
        listed = json.loads((pathlib.Path(checkout) / "data" / "kernelbenchx_v1.json").read_text())
        limits = {item["file"].rpartition("/")[2]: item["precision_thresholds"] for item in listed
                  if "precision_thresholds" in item}
        (self.folder / "limits.json").write_text(json.dumps(limits))

    def reference(self, stem):
        return next(self.folder.glob(f"data/kernelbenchx/*/{stem}.py"))

    def program(self, stem, source):
        """The implementation with the task's tests: what is run."""
        tests = self.reference(stem).read_text().split(SEPARATOR)[-1]
        path = self.folder / "programs" / f"{stem}.py"
        path.write_text(for_the_cpu(source) + "\n" + SEPARATOR + "\n" + tests)
        return path

    def call(self, path):
        return subprocess.run([sys.executable, path], cwd=self.folder, capture_output=True).returncode == 0

    def exe(self, *stems, seeds=(0,)):
        """{stem: [(passed, measures) for each seed]}, or None where the process left no results."""
        results = self.folder / "results.json"
        results.unlink(missing_ok=True)
        subprocess.run([sys.executable, __file__, "exe", self.folder, results, ",".join(map(str, seeds)), *stems],
                       cwd=self.folder, capture_output=True)
        return json.loads(results.read_text()) if results.exists() else None

    def perf(self, stem, sizes):
        done = subprocess.run([sys.executable, __file__, "perf", self.folder, stem, stem, *map(str, sizes)],
                              cwd=self.folder, capture_output=True, text=True)
        return float(done.stdout.split()[-1]) if done.returncode == 0 and done.stdout.split() else None


def measure(a, b):
    """What the quantized tasks are compared by."""
    import torch
    a, b = a.float().flatten(), b.float().flatten()
    norms = a.norm().item(), b.norm().item()
    cosine = torch.nn.functional.cosine_similarity(a, b, 0).item() if min(norms) >= 1e-12 else float(max(norms) < 1e-12)
    l1 = ((a - b).abs().sum() / b.abs().sum().clamp(min=1e-12)).item()
    return {"cosine_sim": cosine, "l1_relative": l1, "rmse": (a - b).square().mean().sqrt().item()}


def compared(a, b, limits, seen):
    """Whether two results of tests are alike; every tensor's measures go to `seen`."""
    import torch
    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if limits:
            m = measure(a, b)
            seen.append(m)
            return (m["cosine_sim"] >= limits["cosine_sim"] and m["l1_relative"] <= limits["l1_relative"] and
                    m["rmse"] <= limits["rmse"])
        tolerance = TOLERANCES.get(str(a.dtype).rpartition(".")[2], 0)
        try:
            torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance, equal_nan=True)
            return True
        except AssertionError:
            return False
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all([compared(x, y, limits, seen) for x, y in zip(a, b)])
    if isinstance(a, dict) and isinstance(b, dict):
        return set(a) == set(b) and all([compared(a[key], b[key], limits, seen) for key in a])
    return a == b


def results_of(path, seed):
    import torch
    random.seed(seed)
    torch.manual_seed(seed)
    return runpy.run_path(str(path), run_name="__main__").get("test_results")


def passed(folder, stem, seed, limits, seen):
    try:
        mine = results_of(folder / "programs" / f"{stem}.py", seed)
        theirs = results_of(next(folder.glob(f"data/kernelbenchx/*/{stem}.py")), seed)
        return mine is not None and compared(mine, theirs, limits, seen)
    except Exception:  # SystemExit is none, there as here
        return False


def exe(folder, results, seeds, *stems):
    folder = pathlib.Path(folder)
    limits, found = json.loads((folder / "limits.json").read_text()), {}
    for stem in stems:
        for seed in map(int, seeds.split(",")):
            seen = []
            found.setdefault(stem, []).append((passed(folder, stem, seed, limits.get(f"{stem}.py"), seen), seen))
    pathlib.Path(results).write_text(json.dumps(found))


def timed(function, x):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        function(x)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def perf(folder, stem, name, *sizes):
    import torch
    torch.set_num_threads(1)
    folder = pathlib.Path(folder)
    reference = runpy.run_path(str(next(folder.glob(f"data/kernelbenchx/*/{stem}.py"))))[name]
    candidate = runpy.run_path(str(folder / "programs" / f"{stem}.py"))[name]
    inputs, own = [torch.rand(int(n)) for n in sizes], 0
    theirs = sum(timed(reference, x) for x in inputs)
    for x in inputs:
        try:
            own += timed(candidate, x)
        except Exception as error:
            print(f"size {x.numel()}: {error}")  # and the row is left out
    print(theirs / own)


if __name__ == "__main__":
    {"exe": exe, "perf": perf}[sys.argv[1]](*sys.argv[2:])
