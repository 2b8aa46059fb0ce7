#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks bench/kernel_mutants: which mutants it makes of a text, and what becomes of some of a kernel's."""
import json
import pathlib
import subprocess
import sys
import tempfile

HOUSE = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(HOUSE / "bench" / "kernel_mutants"))
import engine  # noqa: E402

TEXT = """// assay: task kernelbench/1/19
#include <assay/candidate.h>
enum { TILE = 16 };
#ifdef WRONG
static int hidden = 1 + 2;
#endif
static float total(const float *x, int64_t n) {
  float sum = 0; // n + 1 < 2
  for (int64_t i = 0; i < n; i++)
    sum += x[i] * 0.5f;
  return fmaxf(sum, -x[0]);
}
"""
EXPECTED = {
    ("index", 10, "x[i + 1]"), ("index", 10, "x[i - 1]"), ("index", 11, "x[0 + 1]"), ("bound", 9, "i <= n"),
    ("bound", 9, "i + 1 < n"), ("bound", 9, "int64_t i = 1;"), ("term", 10, "sum += x[i];"),
    ("term", 10, "sum += 0.5f;"), ("term", 8, "float sum = 1;"), ("term", 10, "    ;\n"),
    ("operator", 10, "sum -= x[i]"), ("operator", 10, "x[i] / 0.5f"),
    ("operator", 11, "fminf(sum"), ("operator", 11, "sum, x[0]"), ("tile", 3, "TILE = 32"), ("tile", 3, "TILE = 15"),
    ("stride", 9, "i += 2"), ("constant", 10, "0.505f"),
    ("accumulator", 10, "sum = mutant_round((float)(sum + (x[i] * 0.5f)), 16);")}
BARRIERS = """// assay: launch f grid=ceil_div(n, 64) block=64 args=x
__kernel void f(__global float *x) {
  __local float t[64];
  int i = (int)get_local_id(0);
  t[i] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  x[i] = t[63 - i];
}
"""
BARRIERS_EXPECTED = {("barrier", 6, "x[i];\n  ;\n"), ("index", 4, "(get_local_id(0) + 1)"), ("tile", 1, "block=32"),
                     ("bound", 1, "ceil_div(n - 1, 64)"), ("index", 7, "t[63 - i + 1]")}


def made(folder, name, text):
    path = pathlib.Path(folder, name)
    path.write_text(text)
    found = engine.mutants(path)
    assert len({m.text for m in found}) == len(found), "two mutants are the same text"
    assert text not in {m.text for m in found}, "a mutant is the kernel itself"
    assert [m.id for m in found] == [m.id for m in engine.mutants(path)], "the order changes"
    return found


def check_engine(folder):
    for name, text, expected in (("sum.c", TEXT, EXPECTED), ("turn.cl", BARRIERS, BARRIERS_EXPECTED)):
        found = made(folder, name, text)
        for kind, line, part in sorted(expected):
            assert any(m.kind == kind and m.line == line and part in m.text for m in found), f"no {kind} with {part!r}"
        for m in found:
            assert "hidden = 1 + 2" in m.text or "hidden" not in text, f"a twin's line is changed: {m.change}"
            assert "// n + 1 < 2" in m.text or "// n + 1" not in text, f"a comment is changed: {m.change}"
    assert engine.is_true("defined(A) || !defined(B)") is True and engine.is_true("defined(A)") is False
    assert engine.is_true("defined(__AVX512F__)") is None


def run(assay, out, *more):
    command = [sys.executable, "-B", str(HOUSE / "bench/kernel_mutants/run.py"), assay, str(out), "--only",
               "layer_norm_two_pass", "--count", "14", "--quick", "--strict", *more]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout + done.stderr)
    return done.returncode, json.loads(out.read_text())


def check_again(assay, out):
    """A judge that asks more kills what passed, and the counts follow: here a killed one that is called argued."""
    kept = json.loads(out.read_text())
    mutants = engine.mutants(HOUSE / "tests/cases/layer_norm_two_pass.c")
    wrong = next(m for m in mutants if m.kind == "term" and "mean) * scale" in m.change.split(" | ")[0])
    kept["passed"] = [{"file": wrong.path.name, "line": wrong.line + 1, "kind": "term", "id": "0123456789ab",
                       "change": wrong.change, "state": "argued", "why": "nobody looked"}]
    before = kept["by_kind"]["all"].copy()
    path = out.with_name("again.json")
    path.write_text(json.dumps(kept))
    command = [sys.executable, "-B", str(HOUSE / "bench/kernel_mutants/run.py"), assay, str(path), "--again", "--quick"]
    done = subprocess.run(command + ["--state", "hole"], capture_output=True, text=True)
    assert done.returncode == 0 and "0 judged again, 0 of them killed" in done.stdout, done.stdout + done.stderr
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "1 judged again, 1 of them killed" in done.stdout, done.stdout + done.stderr
    found = json.loads(path.read_text())
    after = found["by_kind"]["all"]
    assert found["passed"][0]["state"] == "late" and found["again"][-1]["killed"] == {"argued": 1}
    assert (after["killed"], after["late"], after["argued"]) == (before["killed"] + 1, before["late"] + 1,
                                                                 before["argued"] - 1)
    assert after["allclose_1e-2"] == before["allclose_1e-2"] + 1, "it is far off and is counted among the wrong ones now"


def check_judging(assay, folder):
    out = pathlib.Path(folder, "out.json")
    code, found = run(assay, out)
    all_of = found["by_kind"]["all"]
    assert code == 0 and all_of["open"] == 0 and found["unjudged"] == 0, "a mutant is open"
    assert all_of["mutants"] >= 12 and all_of["killed"] >= 8, "hardly anything is killed"
    assert all_of["killed"] + all_of["same_code"] + all_of["argued"] == all_of["mutants"], "the counts do not add up"
    assert all_of["argued"] > 0, "none needs an argument; the next check needs one that does"
    check_again(assay, out)
    empty = pathlib.Path(folder, "empty.tsv")
    empty.write_text("# nothing\n")
    lines = pathlib.Path(f"{out}.work", "judged.jsonl").read_text().count("\n")
    code, found = run(assay, out, "--table", str(empty))
    assert code == 1 and found["by_kind"]["all"]["open"] == all_of["argued"], "without an argument it is not open"
    assert pathlib.Path(f"{out}.work", "judged.jsonl").read_text().count("\n") == lines, "judged again"


def check_settling(folder):
    """What is kept of a run is looked up in a table without judging again; the counts follow."""
    def row(id, state, change):
        return {"file": "sum.cu", "line": 1, "kind": "barrier", "id": id, "change": change, "state": state, "why": ""}

    rows = [row("0123456789ab", "open", "a; | 'a' => 'b'"), row("1123456789ab", "open", "a; | 'a' => 'b'"),
            row("2123456789ab", "argued", "c; | 'c' => 'd'"), row("3123456789ab", "same_code", "a; | 'a' => 'b'"),
            row("4123456789ab", "open", "e; | 'e' => 'f'"), row("5123456789ab", "open", "g; | 'g' => 'h'")]
    counts = {"mutants": 6, "killed": 0, "late": 0, "same_code": 1, "argued": 1, "elsewhere": 0, "open": 4,
              "allclose_1e-4": 0, "allclose_1e-2": 0}
    out, table = pathlib.Path(folder, "kept.json"), pathlib.Path(folder, "table.tsv")
    out.write_text(json.dumps({"by_kind": {"barrier": counts, "all": counts}, "passed": rows}))
    table.write_text("*.cu\tbarrier\t0123456789ab\trace\tnobody waits\n*.cu\t*\t'e'\tnot asked\tK above 8\n"
                     "sum.cu\tbarrier\t'g'\tsame value\tg is h\n*.c\t*\t.\thole\tof another file\n")
    command = [sys.executable, "-B", str(HOUSE / "bench/kernel_mutants/run.py"), "--settle", str(out), "--table",
               str(table), "--strict"]
    for again in range(2):
        assert subprocess.run(command, capture_output=True).returncode == 1, "two are open"
        found = json.loads(out.read_text())
        assert [r["state"] for r in found["passed"]] == ["race", "open", "open", "same_code", "unasked", "argued"]
        for kind in ("barrier", "all"):
            assert {k: v for k, v in found["by_kind"][kind].items() if v} == {
                "mutants": 6, "same_code": 1, "argued": 1, "race": 1, "unasked": 1, "open": 2}


TOOL = """#!/bin/sh
# The kernel's program is the first one, and has no hazards.
for word; do case $word in */1/kernel) n=0 ;; */2/kernel) n=3 ;; esac; done
echo "========= Error: Race reported between Write access and Read access"
echo "========= RACECHECK SUMMARY: ${n:-9} hazards displayed (${n:-9} errors, 0 warnings)"
"""


def check_sanitized(assay, folder):
    """sanitized.py by a tool that is not the real one; programs are exported and compiled, and not run."""
    kept = json.loads((HOUSE / "bench/results/nvidia-h200/kernel_mutants_cuda.json").read_text())["passed"]
    rows = [row for row in kept if row["file"] == "softmax.cu" and row["kind"] == "barrier"][:1]
    mutants, out, tool = (pathlib.Path(folder, name) for name in ("one.json", "seen.json", "tool"))
    mutants.write_text(json.dumps({"passed": [dict(rows[0], state="race"), dict(rows[0], state="hole", id="another")]}))
    tool.write_text(TOOL)
    tool.chmod(0o755)
    plan = subprocess.run([assay, "plan", "save", "kernelbench/1/23", str(HOUSE / "kernels/cuda/softmax.cu"), "--out",
                           str(pathlib.Path(folder, "plan"))], capture_output=True)
    if plan.returncode == 3:
        print("no NVRTC here: sanitized.py is not tried")
        return
    command = [sys.executable, "-B", str(HOUSE / "bench/kernel_mutants/sanitized.py"), assay, str(mutants), str(out),
               "--jobs", "1", "--sanitizer", str(tool), "--library=-Wl,--unresolved-symbols=ignore-all"]
    for again in range(2):  # what has a row is not looked at again
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0 and "racecheck at small: 1 of 1 seen; of 0 the kernel" in done.stdout, done
        found = json.loads(out.read_text())
        (row,) = found["rows"]
        assert row["seen"] and row["mutant"]["errors"] == 3 and row["kernel"]["errors"] == 0, row
        assert row["mutant"]["first"].startswith("Error: Race"), row
    found["rows"][0]["tool"] = "memcheck"
    out.write_text(json.dumps(found))
    tool.write_text("#!/bin/sh\nexit 1\n")  # ends without a summary: nothing is said to be seen
    done = subprocess.run(command, capture_output=True, text=True)
    assert "racecheck at small: 0 of 1 seen; of 1 the kernel" in done.stdout, done
    assert [row["tool"] for row in json.loads(out.read_text())["rows"]] == ["memcheck", "racecheck"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_engine(folder)
        check_settling(folder)
        check_judging(sys.argv[1], folder)
        check_sanitized(sys.argv[1], folder)
    script = HOUSE / "bench/kernel_mutants/run.py"
    assert subprocess.run([sys.executable, "-B", str(script), "--page", "--check"]).returncode == 0


main()
