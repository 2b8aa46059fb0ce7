# SPDX-License-Identifier: Apache-2.0
"""package_rate.py ASSAY [N]: verdicts a second through the Python package, next to the command line's.

N different kernels (40) of kernelbench/1/19 in C, judged right or wrong (no times, no probes), so that most of the time
is not the compiler's alone: one command a kernel, one command for all, the package with one worker, with two.
"""
import os
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

HOUSE = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(HOUSE / "python"))
import assay  # noqa: E402

TASK = "kernelbench/1/19"


def kernels(folder, n):
    text = (HOUSE / "tests/cases/relu.c").read_text()
    for i in range(n):
        path = pathlib.Path(folder) / f"relu_{i}.c"
        path.write_text(f"{text}\nstatic const int number __attribute__((unused)) = {i};\n")
        yield path


def busy():
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


def measure(what, files, work):
    start, before = time.monotonic(), busy()
    passed = work(files)
    seconds, used = time.monotonic() - start, busy() - before
    print(f"{what:34} {len(files) / seconds:6.1f} verdicts a second, {used / len(files) * 1e3:6.1f} ms of processors each, "
          f"{passed} of {len(files)} passed", flush=True)


def main():
    program, n = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 40
    os.environ["ASSAY_PREFIX"] = str(pathlib.Path(program).resolve().parent)
    quick = [TASK, "--no-timing", "--no-probes", "--no-store"]

    def one_each(files):
        return sum(subprocess.run([program, "judge", *quick, f], capture_output=True).returncode == 0 for f in files)

    def together(files):
        done = subprocess.run([program, "judge", *quick, *files], capture_output=True, text=True)
        return sum(" pass " in line for line in done.stdout.splitlines())

    def package(workers):
        def work(files):
            with assay.Judge(workers=workers) as judge:
                return sum(v.passed for v in judge.judge_many(TASK, files, timing=False, probes=False))
        return work

    with tempfile.TemporaryDirectory() as folder:
        files = list(kernels(folder, n))
        measure("assay judge, a command each", files, one_each)
        measure("assay judge, one command", files, together)
        measure("package, one worker", files, package(1))
        measure("package, two workers", files, package(2))


if __name__ == "__main__":
    main()
