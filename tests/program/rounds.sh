#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# rounds.sh ASSAY SOURCE BUILD: what became of tasks from run to run, one kernel on several devices, and KernelBench-X's
# published corpus (a small one of the same form; the whole with KERNELBENCHX=CHECKOUT).
set -eu
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_STORE="$work/store" ASSAY_PROC="$source/tests/support/quiet"
fail() {
  echo "FAILED: $*"
  cat "$work/text"
  exit 1
}
says() { grep -q "$1" "$work/text" || fail "$1"; }

kernel() { # kernel FILE TASK EXPRESSION OF x[i]
  cat >"$1" <<END
// assay: task kernelbenchx/$2
#include <assay/candidate.h>
#include <math.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < args->inputs[0].dims[0]; i++)
    y[i] = $3;
}
END
}
mkdir "$work/base" "$work/first" "$work/second"
kernel "$work/base/abs.c" Math/abs 'fabsf(x[i])'
kernel "$work/base/relu.c" Activation/relu 'x[i] > 0 ? x[i] : 0'
kernel "$work/base/floor.c" Math/floor 'floorf(x[i])'
kernel "$work/base/trunc.c" Math/trunc 'truncf(x[i])'
cp "$work/base/relu.c" "$work/base/floor.c" "$work/first"
kernel "$work/first/abs.c" Math/abs 'x[i]'
kernel "$work/first/trunc.c" Math/trunc 'floorf(x[i])'
cp "$work/base/abs.c" "$work/base/relu.c" "$work/first/trunc.c" "$work/second"
kernel "$work/second/floor.c" Math/floor 'truncf(x[i])'
for run in base first second; do
  "$assay" bench kernelbenchx --from "$work/$run" --workload small --samples 10 --no-probes --checks 1 --run "$run" >"$work/text" || true
done
"$assay" score first second --rounds >"$work/text" || fail "rounds"
says "^first to second: of 4 tasks 1 rescued, 1 persistent, 1 lost, 1 failing$"
"$assay" score base first second --rounds --baseline base --json >"$work/json" 2>"$work/text" || fail "rounds as JSON"
python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" "score --rounds" "$work/json" >"$work/text" || fail "schema"
python3 - "$work/json" <<'END' || fail "rounds with a baseline"
import json, sys
one, two = json.load(open(sys.argv[1]))
assert (one["persistent"], one["lost"], one["rescued"]) == (2, 2, 0), one
assert one["speed"]["persistent_before"]["mean"] == 1.0, "a run over itself"
assert two["speed"]["rescued"]["n"] == two["speed"]["lost"]["n"] == 1 and two["speed"]["after"]["n"] == 2, two
assert two["speed"]["after"]["geomean"] > 0 and two["speed"]["after"]["mean_interval"] is None, "two values have no interval"
END

# The suite's own tolerance next to the verdicts: fp32 kernels that are right within 1e-5, and a wrong one.
"$assay" score second --published >"$work/text" || fail "the published rule"
says "^all  *4  *2  *2  *0  *0  *0$"
"$assay" score second --published --json >"$work/json" && python3 "$source/tests/support/check_json.py" \
  "$source/docs/assay.schema.json" "score --published" "$work/json" >"$work/text" || fail "schema of the published rule"

# The same kernels on another device, twice as fast there.
"$assay" runs export base "$work/out.jsonl" >/dev/null
python3 - "$work/out.jsonl" <<'END'
import json, sys
first, *rows = open(sys.argv[1])
with open(sys.argv[1], "w") as file:
    file.write(first)
    for row in map(json.loads, rows):
        row["run"] = "other"
        row["evidence"]["device_name"] = "another card"
        row["evidence"]["device"] = "another card"
        for name in "time_ns", "time_low_ns", "time_high_ns":
            row[name] = row[name] and row[name] / 2
        file.write(json.dumps(row) + "\n")
END
"$assay" runs import "$work/out.jsonl" >"$work/text" || fail "import"
"$assay" score base other --devices >"$work/text" || fail "devices"
says "^kernelbenchx/Math/abs .* 2.000$"
says "across devices, by kernel: 4: mean 2.0000, median 2, geometric mean 2 \[2, 2\], 0 below 1"
"$assay" score base other --devices --json >"$work/json" && python3 "$source/tests/support/check_json.py" \
  "$source/docs/assay.schema.json" "score --devices" "$work/json" >"$work/text" || fail "schema of devices"

# A time at another workload is no time of another device.
sed -e 's/"another card"/"a third"/g' -e 's/"run": "other"/"run": "sizes"/' -e 's/"workload": "[^"]*"/"workload": "ragged0"/g' \
  "$work/out.jsonl" >"$work/sizes.jsonl"
"$assay" runs import "$work/sizes.jsonl" >"$work/text" || fail "import of another workload"
"$assay" score base sizes --devices >"$work/text" || fail "devices at two workloads"
says "across devices, by kernel: none"

# A corpus, and timings of three machines of which one is a copy.
mkdir -p "$work/x/data/kbx_corpus" "$work/x/metrics/golden_results"
python3 - "$work/x" <<'END'
import json, os, sys
root = sys.argv[1]
json.dump([{"file": f"Math/{n}.py"} for n in ("abs", "sin", "cos", "exp")], open(f"{root}/data/kernelbenchx_v1.json", "w"))
def side(exe, ms=None, speed=None, gbs=None):
    return {"call_ok": exe, "exe_ok": exe, "perf_ok": ms is not None, "runtime_ms": ms, "speedup": speed, "gbs": gbs}
rows = [("Math/abs.py", 0, "exe_fail_to_pass,call_fail_to_pass,perf_ok_newly", side(False), side(True, 4.0, 0.5, 100), "a", "b"),
        ("Math/sin.py", 0, "exe_fail_to_pass,perf_ok_newly", side(False), side(True, 1.0, 2.0, 5000), "a", "b"),
        ("Math/cos.py", 0, "speedup_increase", side(True, 2.0, 1.0, 1), side(True, 1.9047, 1.05, 1), "same\n", "same"),
        ("Math/exp.py", 1, "speedup_increase", side(True, 2.0, 1.0, 1), side(True, 1.0, 2.0, 9000), "a", "b"),
        ("Math/sin.py", 1, "regression_exe,regression_perf", side(True, 1.0, 2.0, 5000), side(False), "a", "b"),
        ("Old/sqrt.py", 1, "call_fail_to_pass", side(False), side(False), "a", "b")]
with open(f"{root}/data/kbx_corpus/all_records.jsonl", "w") as file:
    for task, r, kind, before, after, a, b in rows:
        file.write(json.dumps({"task_id": task, "transition": f"round_{r}_to_round_{r + 1}", "kind": kind, "before": before,
                               "after": after, "before_code": a, "after_code": b}) + "\n")
times = {"5090": (1.0, 1.0), "a100": (3.0, 1.0), "l20": (1.0, 1.0)}
for machine, (first, rate) in times.items():
    os.mkdir(f"{root}/metrics/golden_results/{machine}")
    for task in "abs", "sin", "cos", "exp":
        rows = [{"input_size": [[n]], "ms": first, "GB/s": 1000.0 if n == 2 else 1.0, "TFLOPS": 1.0} for n in (1, 2)]
        if machine == "a100" and task == "exp":
            rows.pop()
        json.dump(rows, open(f"{root}/metrics/golden_results/{machine}/{task}.json", "w"), sort_keys=machine == "l20",
                  indent=2 if machine == "l20" else None)  # a copy may be written otherwise
END
ASSAY_STORE="$work/nowhere/store" "$assay" score --corpus "$work/x" >"$work/text" || fail "a corpus needs no store"
says "^records  *6: 2 transitions of correctness, 2 gains of speed, 1 regressions, 1 of call alone"
says "^tasks  *5, 4 of them in the suite's list of 4"
says "^round_0_to_round_1, tasks of the suite: rescued, persistent, lost  *2, 1, 0$"
says "speed of rescued  *2: mean 1.2500, median 1.25, geometric mean 1, 1 below 1  *1.16"
says "^gains of speed with identical code  *1 of 2"
says "reference's total  *of 5090, in 7 of 7 timed outcomes"
says "^rates above the memory's peak .* 2 of more than 1792 GB/s; the most is 9000, Math/exp.py"
says "^reference times of l20  *4 tasks, 8 rows, 4 above 864 GB/s, 0 tasks lack rows; a copy of 5090: 4 of 4 files"
says "^reference times of a100  *4 tasks, 7 rows, 0 above 2039 GB/s, 1 tasks lack rows"
says "slowest machine over its fastest, by task  *4: mean 3.0000"
"$assay" score --corpus "$work/x" --json >"$work/json" && python3 "$source/tests/support/check_json.py" \
  "$source/docs/assay.schema.json" "score --corpus" "$work/json" >"$work/text" || fail "schema of the corpus"
printf '{"task_id": "a"}\n' >"$work/x/data/kbx_corpus/all_records.jsonl"
"$assay" score --corpus "$work/x" >"$work/text" 2>&1 && fail "a record without sides"
says 'all_records.jsonl:1: want'
"$assay" score --corpus "$work/none" >"$work/text" 2>&1 && fail "no checkout"
[ -n "${KERNELBENCHX:-}" ] || exit 0
"$assay" score --corpus "$KERNELBENCHX" >"$work/text" || fail "the published corpus"
says "speed of rescued  *15: mean 1.1582 .* median 1, geometric mean 0.89 .* 7 below 1  *1.16"
says "^gains of speed with identical code  *37 of 57"
says "a copy of 5090: 187 of 189 files"
