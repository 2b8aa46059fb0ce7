#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# foreign_files.sh ASSAY SOURCE: files of other programs with a byte order mark, as editors write it, and with NaN, as Python
# writes it; and Traces with times that are none.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
. "$source/tests/support/expect.sh"
marked() { printf '\357\273\277'; cat "$@"; }

trace='{"definition": "d", "workload": {"axes": {"M": 7}, "inputs": {}, "uuid": "u"}, "solution": "s", "evaluation": {
  "status": "PASSED", "timestamp": "2026-01-01T00:00:00", "environment": {"hardware": "x", "libs": {}}, "log": "",
  "correctness": {"max_relative_error": 0.5, "max_absolute_error": 0.1},
  "performance": {"latency_ms": 1.5, "reference_latency_ms": 2.5, "speedup_factor": 1.6}}}'
trace=$(echo "$trace" | tr -d '\n')
echo "$trace" | marked >"$work/marked.jsonl"
expect 0 "1 verdicts imported" "$assay" runs import "$work/marked.jsonl"
expect 0 "^marked +1/1 " "$assay" runs
{ echo "$trace" | sed 's/0\.5,/NaN,/'; echo "$trace" | sed 's/"s"/"t"/; s/0\.5,/Infinity,/'; } >"$work/nan.jsonl"
expect 0 "2 verdicts imported" "$assay" runs import "$work/nan.jsonl"
expect 0 "2 Traces|2 traces" "$assay" export nan --format flashinfer-bench --to "$work/set"
expect 0 "^.NaN. .Infinity.$" python3 -c '
import json, pathlib, sys
lines = [json.loads(line) for p in pathlib.Path(sys.argv[1]).rglob("*.jsonl") for line in p.read_text().splitlines()]
print(*(repr(t["evaluation"]["correctness"]["max_relative_error"]) for t in sorted(lines, key=lambda t: t["solution"])))' "$work/set"
for time in -1.5 '"fast"' NaN true 1e9; do
  for of in latency_ms reference_latency_ms; do
    { echo "$trace"; echo "$trace" | sed "s/\"$of\": [0-9.]*/\"$of\": $time/"; } >"$work/bad.jsonl"
    expect 2 "bad.jsonl: line 2: evaluation.performance.$of is no time" "$assay" runs import "$work/bad.jsonl"
  done
done
"$assay" runs | grep -q "^bad" && echo "FAILED: a run of refused Traces" && exit 1
echo "$trace" | sed 's/"performance": {.*/"performance": null}}/' >"$work/untimed.jsonl"
expect 0 "1 verdicts imported" "$assay" runs import "$work/untimed.jsonl"

expect 0 "1 verdicts exported" "$assay" runs export marked "$work/own.jsonl"
expect 0 "1 verdicts deleted" "$assay" runs delete marked --yes
marked "$work/own.jsonl" >"$work/edited.jsonl"
expect 0 "1 verdicts imported" "$assay" runs import "$work/edited.jsonl"

printf '{"file": "Reduce/nothing.py", "predict": ""}\n' | marked >"$work/predictions.jsonl"
expect 2 "no task of the name Reduce/nothing" "$assay" bench kernelbenchx --from "$work/predictions.jsonl" --device cpu

mkdir "$work/kernels"
printf '// assay: task kernelbenchx/Reduce/sum\nthis is no C\n' >"$work/kernels/sum.c"
expect 1 "1 judged now .0 passed" "$assay" bench kernelbenchx --from "$work/kernels" --no-timing --run mine
row='"call_ok": true, "exe_ok": true, "perf_ok": true, "runtime_ms": NaN, "speedup": Infinity, "performance": []'
echo "{\"Reduce/sum.py\": {$row}}" | marked >"$work/metrics.json"
expect 0 "1 files judged by both: 0 agree, 1 right only for KernelBench-X" "$assay" score mine --compare "$work/metrics.json"
mkdir "$work/golden"
echo '[{"input_size": [[4096]], "ms": NaN}]' | marked >"$work/golden/sum.json"
expect 0 "1 files, call 0" "$assay" export mine --to "$work/results" --format kernelbenchx --baseline "$work/golden"
report
