#!/bin/bash
# Exit codes, help, JSON and messages of the command line.
set -uo pipefail
assay=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
failures=0
passes=0
expect() { # expect CODE PATTERN COMMAND...: the exit code, and a line of the output that matches
  local code=$1 pattern=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" = "$code" ] && grep -qE -- "$pattern" "$work/out"; then
    passes=$((passes + 1))
  else
    failures=$((failures + 1))
    echo "FAILED: $* (exit code $status, expected $code; output must match: $pattern)"
    head -n 20 "$work/out"
  fi
}
json() { # json CODE COMMAND...: prints valid JSON
  local code=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ "$status" = "$code" ] && python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/out"; then
    passes=$((passes + 1))
  else
    failures=$((failures + 1))
    echo "FAILED: $* (exit code $status, expected $code, or no JSON)"
    head -n 5 "$work/out" "$work/err"
  fi
}
cases=$source/tests/cases
for c in doctor tasks show judge bench score; do expect 0 Usage "$assay" $c --help; done
expect 0 Commands "$assay" --help
expect 2 "no command" "$assay" frobnicate
expect 2 Commands "$assay"
expect 0 "calibrate|ok" "$assay" doctor
expect 0 "reads .*computes" "$assay" doctor --calibrate
json 0 "$assay" doctor --json
expect 0 "kernelbench/1/19" "$assay" tasks kernelbench/1
json 0 "$assay" tasks kernelbench/1/19 --json
expect 2 "nosuch" "$assay" tasks nosuch
expect 0 "class Model" "$assay" show kernelbench/1/19
json 0 "$assay" show kernelbench/1/19 --json
expect 2 "999" "$assay" show kernelbench/1/999
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c"
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" --json
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" "$cases/relu.c" --json --no-timing
expect 1 "wrong_value|unwritten|wrong_class" "$assay" judge kernelbench/1/19 "$cases/sigmoid.c" --no-timing
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "M=3, N=5" --no-timing
expect 2 "no input has a dimension Q" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "Q=3"
expect 2 "nosuch" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload nosuch
expect 2 "cannot read" "$assay" judge kernelbench/1/19 "$work/none.c"
expect 2 "candidate" "$assay" judge kernelbench/1/19
expect 2 "device" "$assay" judge kernelbench/1/19 "$cases/relu.c" --device tpu
printf 'int broken(' >"$work/broken.c"
expect 1 "build_failed" "$assay" judge kernelbench/1/19 "$work/broken.c"
expect 1 "error:" "$assay" judge kernelbench/1/19 "$work/broken.c"
printf 'int x;\n' >"$work/empty.c"
expect 1 "load_failed" "$assay" judge kernelbench/1/19 "$work/empty.c"
printf '<ir_version: 10>\nnonsense' >"$work/bad.onnxtxt"
expect 2 "bad.onnxtxt.*line 2" "$assay" judge "$work/bad.onnxtxt" "$cases/relu.c"
expect 0 "judged now" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
expect 0 "1 done before" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
expect 0 "1/1" "$assay" score cli
json 0 "$assay" score cli --baseline cli --json
expect 2 "no run named" "$assay" score nosuch
expect 2 "cannot read the folder" "$assay" bench kernelbench/1 --from "$work/none"
head -c 100000 /dev/urandom >"$work/garbage.sqlite"
expect 3 "garbage.sqlite" "$assay" score cli --store "$work/garbage.sqlite"
"$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --no-timing --json >"$work/a" && \
  "$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --no-timing --json >"$work/b"
if python3 - "$work/a" "$work/b" <<'P'
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
sys.exit(a["checks"] != b["checks"] or a["seed"] != 7)
P
then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: the same seed must give the same checks"; fi
plan=$source/tests/fuzz/corpus/plan/sample.json
expect 0 "export" "$assay" plan --help
expect 2 "no action" "$assay" plan frobnicate
expect 0 "scale<<<1, 128>>>\(x, partial\+512, 32\)" "$assay" plan show "$plan"
json 0 "$assay" plan show "$plan" --json
if cmp -s "$work/out" "$plan"; then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: a plan is written as it was read"; fi
expect 0 "6 steps" "$assay" plan check "$plan" --target sm_90
expect 1 "the plan is for sm_90a, the device is sm_80" "$assay" plan check "$plan" --target sm_80
expect 2 "say sm_90" "$assay" plan check "$plan" --target hopper
expect 1 "line 1" "$assay" plan check "$source/tests/fuzz/corpus/plan/empty"
expect 2 "none.json" "$assay" plan show "$work/none.json"
expect 2 "--to DIR" "$assay" plan export "$plan"
expect 0 "softmax.c" "$assay" plan export "$plan" --to "$work/exported" --name softmax
expect 0 "^$" sh -c 'cc -std=c17 -Wall -Wextra -Werror -c -o "$1/softmax.o" "$1/softmax.c"; echo' sh "$work/exported"
echo "$passes passed, $failures failed"
[ $failures = 0 ]
