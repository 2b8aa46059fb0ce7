#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernelbenchx_files.sh ASSAY SOURCE BUILD: KernelBench-X's metrics.json, summary.json and reference timings, written and read.
set -eu
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_STORE="$work/store" ASSAY_PROC="$source/tests/support/quiet"
fail() {
  echo "FAILED: $*"
  exit 1
}
mkdir "$work/kernels" "$work/slower" "$work/golden"
cp "$source/tests/kernelbenchx/layernorm_w8a8.c" "$work/kernels"
cat >"$work/kernels/interpolate.c" <<'END'
// assay: task kernelbenchx/SpatialOps/interpolate
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  int64_t n = 1;
  for (int i = 0; i < args->outputs[0].rank; i++)
    n *= args->outputs[0].dims[i];
  for (int64_t i = 0; i < n; i++)
    y[i] = 0;
}
END
printf '// assay: task kernelbenchx/Reduce/sum\nthis is no C\n' >"$work/kernels/sum.c"
bench() { # bench RUN FOLDER WORKLOAD
  "$assay" bench kernelbenchx --from "$2" --workload "$3" --samples 10 --no-probes --run "$1" >"$work/bench" || true
}
bench mine "$work/kernels" 'size0[1-3]'
bench short "$work/kernels" size01
# Reference timings as the suite has them: the shapes of what is timed, with more than ours has, not in our order, and
# without the largest size, which had no memory.
cat >"$work/golden/layernorm_w8a8.json" <<'END'
[{"input_size": [[64, 4096], [4096], [4096], 1e-5], "ms": 4000.0, "GB/s": 1.0, "TFLOPS": 1.0},
 {"input_size": [[[32, 2048], [2048], [2048]], "eps"], "ms": 2000.0, "GB/s": 1.0, "TFLOPS": 1.0}]
END
"$assay" export mine --to "$work/out" --format kernelbenchx --baseline "$work/golden" >"$work/text" || fail "export"
grep -q "3 files, call 2, exe 1, perf 1" "$work/text" || fail "the stages: $(cat "$work/text")"
"$assay" export short --to "$work/out" --format kernelbenchx --baseline mine >"$work/text" || fail "export of one size"
grep -q "perf 0" "$work/text" && grep -q "1 files are right and not timed at every size" "$work/text" || fail "a missing row fails"
"$assay" export mine --to "$work/out" --format kernelbenchx --baseline mine --name self >"$work/text" || fail "export"
python3 - "$work/out" <<'END' || fail "what is in the files"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
metrics, summary, short, own = read("mine/metrics.json"), read("mine/summary.json"), read("short/metrics.json"), read("self/metrics.json")
norm = metrics["Quantization/layernorm_w8a8.py"]
assert (norm["call_ok"], norm["exe_ok"], norm["perf_ok"], norm["dtype"]) == (True, True, True, "float32"), norm
rows = norm["performance"]
assert [r["input_size"] for r in rows] == [[[32, 2048], [2048], [2048]], [[64, 4096], [4096], [4096]], [[32, 8192], [8192], [8192]]], rows
assert all(r["ms"] > 0 and r["GB/s"] > 0 for r in rows)
assert abs(norm["runtime_ms"] - sum(r["ms"] for r in rows)) < 1e-3
matched = sum(r["ms"] for r in rows[:2])
assert abs(norm["speedup"] / (6000 / matched) - 1) < 1e-3, "over the sizes that both have"
assert abs(summary["avg_speedup_per_task"] / norm["speedup"] - 1) < 1e-3
assert (summary["total"], summary["call_pass"], summary["exe_pass"], summary["perf_pass"]) == (3, 2, 1, 1), summary
assert summary["method"] == "mine" and summary["exe_rate"] == 33.3, summary
wrong, text = metrics["SpatialOps/interpolate.py"], metrics["Reduce/sum.py"]
assert wrong["call_ok"] and not wrong["exe_ok"] and wrong["runtime_ms"] == "N/A" and "wrong_value at size01" in wrong["error"], wrong
assert not text["call_ok"] and "build_failed" in text["error"], text
one = short["Quantization/layernorm_w8a8.py"]
assert one["exe_ok"] and not one["perf_ok"] and one["error"] == "timed at 1 of 3 sizes, and not at size02", one
assert own["Quantization/layernorm_w8a8.py"]["speedup"] == 1.0, "a run over itself"
# Another harness's word on the same files: it passes what is wrong, without the largest size, under a name without category.
wrong.update(exe_ok=True, perf_ok=True, runtime_ms=1.5, speedup=2.0, error="", performance=[
    {"input_size": [[2, 3, 32, 32], [64, 64]], "ms": 1.5, "GB/s": 1, "TFLOPS": 1}, {"input_size": [[9]], "ms": 1}])
theirs = {"interpolate.py": wrong, "Quantization/layernorm_w8a8.py": norm, "Math/sqrt.py": {**text, "file": "Math/sqrt.py"}}
json.dump(theirs, open(f"{sys.argv[1]}/theirs.json", "w"))
END
"$assay" score mine --compare "$work/out/theirs.json" >"$work/text" || fail "compare: $(cat "$work/text")"
grep -q "SpatialOps/interpolate *perf *1/4 .* call .*wrong_value" "$work/text" || fail "a difference: $(cat "$work/text")"
grep -q "2 files judged by both: 1 agree, 1 right only for KernelBench-X, 0 right only for Assay" "$work/text" || fail "counts"
grep -q "1 of its 2 timed files lack rows" "$work/text" || fail "missing rows: $(cat "$work/text")"
"$assay" score mine --compare "$work/out/theirs.json" --json | python3 -c '
import json, sys
pairs = {p["file"]: p for p in json.load(sys.stdin)}
assert len(pairs) == 4 and pairs["Reduce/sum.py"]["kernelbenchx"] is None and pairs["Math/sqrt.py"]["assay"] is None
assert pairs["SpatialOps/interpolate.py"]["differ"] and pairs["SpatialOps/interpolate.py"]["kernelbenchx"]["rows_of_sizes"] == 1
' || fail "the pairs as JSON"
# Names of another system, in other letters, without an ending; and one file under two keys.
python3 - "$work/out" <<'END'
import json, sys
norm = json.load(open(f"{sys.argv[1]}/mine/metrics.json"))["Quantization/layernorm_w8a8.py"]
json.dump({"Quantization\\layernorm_w8a8.py": norm, "layernorm_W8A8.PY": norm, "layernorm_w8a8": {**norm, "exe_ok": False}},
          open(f"{sys.argv[1]}/names.json", "w"))
END
"$assay" score mine --compare "$work/out/names.json" >"$work/text" || fail "compare: $(cat "$work/text")"
grep -q "KernelBench-X: 3 files, call 3, exe 2, perf 2; Assay: 3 files, call 2, exe 1, perf 1" "$work/text" || fail "one file twice: $(cat "$work/text")"
grep -q "3 files judged by both: 2 agree, 0 right only for KernelBench-X, 1 right only for Assay" "$work/text" || fail "names: $(cat "$work/text")"
"$assay" score mine --compare "$work/out/self/summary.json" | grep -q "^exe *1 *3 *1 *3" || fail "a summary"
printf '{"Math/abs.py": {"call_ok": 1, "exe_ok": true, "perf_ok": true}}' >"$work/odd.json"
"$assay" score mine --compare "$work/odd.json" 2>"$work/text" && fail "a file that is none"
grep -q 'Math/abs.py.*want' "$work/text" || fail "what it wants: $(cat "$work/text")"
# A file of results as a run: its stages are verdicts, a time is that of all sizes, and what the suite has not keeps its name.
"$assay" runs import "$work/out/mine/metrics.json" their >"$work/text" || fail "import: $(cat "$work/text")"
grep -q "metrics.json: 3 verdicts imported" "$work/text" || fail "import: $(cat "$work/text")"
"$assay" runs import "$work/out/short/metrics.json" theirshort >/dev/null || fail "import of one size"
"$assay" runs export their "$work/their.jsonl" >/dev/null && "$assay" runs export theirshort "$work/short.jsonl" >/dev/null
printf '{"sqrt.py": {"call_ok": true, "exe_ok": true, "perf_ok": true, "speedup": 2}, "Math\\\\ABS.py": {"call_ok": true, "exe_ok": true, "perf_ok": false}}' >"$work/names.json"
"$assay" runs import "$work/names.json" >/dev/null && "$assay" runs export names "$work/names.jsonl" >/dev/null || fail "import of other names"
python3 - "$work" <<'END' || fail "an imported run"
import json, sys
def rows(name):
    return {row["task"]: row for row in map(json.loads, list(open(f"{sys.argv[1]}/{name}.jsonl"))[1:])}
their, short, names = rows("their"), rows("short"), rows("names")
entry = json.load(open(f"{sys.argv[1]}/out/mine/metrics.json"))["Quantization/layernorm_w8a8.py"]
norm = their["kernelbenchx/Quantization/layernorm_w8a8"]
assert (norm["reason"], norm["form"], norm["workload"]) == ("pass", "published", "suite"), norm
assert abs(norm["time_ns"] / 1e6 / sum(row["ms"] for row in entry["performance"]) - 1) < 1e-9 and norm["evidence"]["foreknown"]
assert norm["evidence"]["kernelbenchx"]["entry"] == entry and norm["evidence"]["baselines"][0]["speedup"] == entry["speedup"]
assert their["kernelbenchx/SpatialOps/interpolate"]["reason"] == "wrong_value"
assert their["kernelbenchx/Reduce/sum"]["reason"] == "raised" and "build_failed" in their["kernelbenchx/Reduce/sum"]["detail"]
one = short["kernelbenchx/Quantization/layernorm_w8a8"]
assert one["reason"] == "pass" and one["time_ns"] is None and one["evidence"]["baselines"] == [], "one of three sizes is no time"
assert sorted(names) == ["kernelbenchx/Math/abs", "kernelbenchx/sqrt"] and names["kernelbenchx/sqrt"]["time_ns"] is None, names
END
# Written again, they are the same entries, with those of files that the suite has not; the summary counts what they say.
"$assay" export their --to "$work/again" --format kernelbenchx >"$work/text" || fail "export of an imported run"
grep -q "3 files, call 2, exe 1, perf 1" "$work/text" && ! grep -q "not timed" "$work/text" || fail "its stages: $(cat "$work/text")"
"$assay" export names --to "$work/again" --format kernelbenchx >"$work/text" || fail "export of other names"
python3 - "$work" <<'END' || fail "an imported run, written again"
import json, sys
read = lambda name: json.load(open(f"{sys.argv[1]}/{name}"))
assert read("again/their/metrics.json") == read("out/mine/metrics.json")
once, again = read("out/mine/summary.json"), read("again/their/summary.json")
for name, value in once.items():
    same = abs(again[name] - value) < 2e-3 if name.startswith("avg") else again[name] == {"method": "their"}.get(name, value)
    assert same, (name, value, again[name])
assert read("again/names/metrics.json") == read("names.json"), read("again/names/metrics.json")
END
"$assay" runs import "$work/out/mine/summary.json" some 2>"$work/text" && fail "a summary has no verdicts"
grep -q "summary.*import the metrics.json next to it" "$work/text" || fail "what a summary is: $(cat "$work/text")"
printf '{"Math/abs.py": {"call_ok": true, "exe_ok": true, "perf_ok": false}, "Math/cos.py": {"call_ok": 1}}' >"$work/half.json"
"$assay" runs import "$work/half.json" 2>"$work/text" && fail "half a file"
grep -q 'half.json: "Math/cos.py": want' "$work/text" || fail "what it wants: $(cat "$work/text")"
"$assay" runs | grep -q half && fail "all or none"
"$assay" runs import "$work/golden/layernorm_w8a8.json" some 2>"$work/text" && fail "timings are no results"
grep -q "no metrics.json of KernelBench-X" "$work/text" || fail "what it is: $(cat "$work/text")"
# Five methods' outcomes, as files of results: another program's figures of the deviance (test_success has them, too).
python3 - "$source/tests/unit/stats/deviance.csv" "$work" <<'END'
import csv, json, sys
methods = {}
for row in csv.DictReader(open(sys.argv[1])):
    right = row["y"] == "1"
    methods.setdefault(row["method"], {})[row["task"]] = {"call_ok": True, "exe_ok": right, "perf_ok": False, "speedup": "N/A"}
for method, entries in methods.items():
    json.dump(entries, open(f"{sys.argv[2]}/{method}.json", "w"))
END
for m in 0 1 2 3 4; do "$assay" runs import "$work/m$m.json" >/dev/null || fail "import of m$m"; done
"$assay" score m0 m1 m2 m3 m4 --deviance --json >"$work/text" || fail "deviance"
python3 - "$work/text" <<'END' || fail "the deviance: $(cat "$work/text")"
import json, sys
d = json.load(open(sys.argv[1]))
assert (d["outcomes"], d["runs"], d["kinds"]) == (880, 5, 15)
for name, want in (("null_deviance", 1205.6457574526617), ("explained_by_kind", 0.3057975388501645),
                   ("explained_by_run", 0.025866314441362892), ("explained_by_both", 0.34825562)):
    assert abs(d[name] - want) < 1e-7, (name, d[name])
END
# Files that are none of the suite's say where.
refused() { # refused TEXT WORDS
  printf '%s' "$1" >"$work/odd.json"
  "$assay" score mine --compare "$work/odd.json" 2>"$work/text" && fail "not refused: $1"
  grep -q "$2" "$work/text" || fail "$1: $(cat "$work/text")"
}
refused '' 'odd.json:1: '
refused '{"Math/abs.py": {"call_ok": NaN' "odd.json:1: invalid token near 'NaN'"
refused "$(python3 -c 'import json; print(json.dumps({f"f{k}.py": dict.fromkeys(("call_ok", "exe_ok", "perf_ok"), True) for k in range(5000)}))')" 'odd.json: it has 5000 files, at most 4096 are read'
refused '{}' 'odd.json is no metrics.json or summary.json'
refused '{"Math/abs.py": {"call_ok": true, "exe_ok": true, "perf_ok": true, "performance": {}}}' '"performance": want a list of rows'
refused '{"Math/abs.py": {"call_ok": true, "exe_ok": true, "perf_ok": true, "performance": [3]}}' '"performance": want a list of rows'
refused '{"total": 3, "call_pass": 4, "exe_pass": 0, "perf_pass": 0}' '"call_pass": want a whole number from 0 to "total"'
refused '{"total": 3, "call_pass": 2, "exe_pass": -1, "perf_pass": 0}' '"exe_pass": want'
refused '{"total": 3, "call_pass": 2, "exe_pass": 1, "perf_pass": "none"}' '"perf_pass": want'
printf '{"Math/abs.py": {"call_ok": true, "exe_ok": true, "perf_ok": true, "performance": []}}' >"$work/odd.json"
"$assay" score mine --compare "$work/odd.json" >"$work/text" || fail "a file without rows"
grep -q "1 of its 1 timed files lack rows" "$work/text" || fail "no row is no time: $(cat "$work/text")"
# Reference timings that are none are not taken for a baseline without times.
exported() { # exported CODE WORDS OPTION...
  code=$1 words=$2 is=0
  shift 2
  "$assay" export mine --to "$work/out" --format kernelbenchx "$@" >"$work/text" 2>&1 || is=$?
  [ $is -eq "$code" ] && grep -q "$words" "$work/text" || fail "export $*: $is: $(cat "$work/text")"
}
mkdir "$work/none"
exported 2 "none has no reference timings of the run's tasks, such as layernorm_w8a8.json" --baseline "$work/none"
echo '[' >"$work/none/sum.json"
exported 2 "none/sum.json:2: " --baseline "$work/none"
echo '{"ms": 3}' >"$work/none/sum.json"
exported 2 "none/sum.json: want a list of rows" --baseline "$work/none"
echo '[]' >"$work/none/sum.json"
exported 0 "3 files, call 2" --baseline "$work/none"
exported 2 'no run named "nobody"' --baseline nobody
"$assay" score mine mine --rounds 2>"$work/text" && fail "a run twice"
grep -q "take each run once, not mine twice" "$work/text" || fail "a run twice: $(cat "$work/text")"
"$assay" bench kernelbenchx --from "$work/none.jsonl" 2>"$work/text" && fail "no file"
grep -q "cannot read $work/none.jsonl: No such" "$work/text" || fail "no file: $(cat "$work/text")"
