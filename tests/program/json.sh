#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What every command prints with --json is as docs/assay.schema.json says, whatever happened to the candidates.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
cases=$source/tests/cases
schema=$source/docs/assay.schema.json
check() { python3 "$source/tests/support/check_json.py" "$schema" "$@"; }
as_schema() { # as_schema CODE COMMAND ARGUMENT...: `assay ARGUMENT... --json`, as COMMAND in the schema
  local code=$1 command=$2 status=0
  shift 2
  "$assay" "$@" --json >"$work/json" 2>"$work/err" || status=$?
  expect 0 "^$code, as the schema says$" sh -c 'printf "%s, " "$1"; shift; exec python3 "$@"' sh "$status" \
    "$source/tests/support/check_json.py" "$schema" "$command" "$work/json"
}
has() { # has EXPRESSION: about `j`, what was printed last
  expect 0 "^True$" python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); print(bool(eval(sys.argv[2])))' "$work/json" "$1"
}
expect 0 "as the schema says" check --reasons "$source/include/assay/verdict.h"

as_schema 0 doctor doctor
as_schema 0 tasks tasks kernelbench/1/19
as_schema 1 "tasks --lint" tasks --lint kernelbench/1/19 --as-published
has 'j and j[0]["schema"] == "assay/lint/1"'
as_schema 0 show show kernelbench/1/19
as_schema 0 oracle oracle kernelbench/1/19 --workload "M=3, N=5" --outputs "$work/answer"
as_schema 0 oracle oracle kernelbench/1/19 --inputs "$work/answer" --outputs "$work/answer"
as_schema 0 "plan show" plan show "$source/tests/fuzz/corpus/plan/sample.json"

# Verdicts: always a list, with path, name, task and command; valid also where a later file cannot be judged.
quick="--no-probes --checks 1 --samples 12"
ASSAY_PROC=$source/tests/support/busy as_schema 0 judge judge kernelbench/1/19 "$cases/relu.c" $quick
has 'j[0]["timing"]["load"]["average"] == 11.04 and j[0]["timing"]["measured"] is False'
sed 's/assay_args \*args) {/&\n  for (volatile int64_t i = 0; i < 10000000; i++)\n    ;/' "$cases/relu.c" >"$work/slow.c" # has a time anywhere
as_schema 0 judge judge kernelbench/1/19 "$work/slow.c" --baseline "$work/slow.c" $quick
has 'len(j) == 1 and j[0]["candidate"] == "'"$work/slow.c"'" and j[0]["name"] == "slow.c" and j[0]["run"] is None'
has 'j[0]["task"] == "kernelbench/1/19" and j[0]["command"].startswith("assay judge ") and len(j[0]["baselines"]) == 1'
cd "$cases" || exit 1
as_schema 0 judge judge kernelbench/1/19 relu.c --no-timing
has 'j[0]["candidate"] == "'"$cases/relu.c"'"'
# What was not measured is null, not left out.
has 'len(j[0]["timing"]) == 25'
has 'all((j[0]["timing"][key] is None) == (key not in "measured suspicious stopped dropped".split()) for key in j[0]["timing"])'
has 'all(c["worst"] is None for c in j[0]["checks"])'
printf 'int nonsense(\n' >"$work/nonsense.c"
printf '#include <assay/candidate.h>\n#include <math.h>\nvoid assay_kernel(const struct assay_args *a) {
  for (int64_t i = 0, n = assay_count(&a->outputs[0]); i < n; i++)\n    ((float *)a->outputs[0].data)[i] = INFINITY;\n}\n' >"$work/infinite.c"
printf '#include <stdlib.h>\nvoid assay_kernel(void *a) { abort(); }\n' >"$work/aborts.c"
as_schema 2 judge judge kernelbench/1/19 "$work/nonsense.c" "$work/none.c" "$work/infinite.c" "$cases/relu.c" "$work/aborts.c" --no-timing
has '[v["verdict"] for v in j] == ["build_failed", "judge_failed", "wrong_class", "pass", "crashed"]'
has 'j[1]["checks"] is None and j[1]["candidate"].endswith("none.c") and "cannot read" in j[1]["detail"]'

# A folder with what can be wrong in one.
mkdir "$work/folder"
cp "$cases/relu.c" "$work/folder/"
{ cat "$cases/sigmoid.c"; echo '// assay: twin TAIL'; } | sed 's/task kernelbench.1.21/task kernelbench\/1\/19/' >"$work/folder/wrong.c"
cp "$source/tests/opencl/relu.cl" "$work/folder/"
printf '// assay: task kernelbench/1/999\nint x;\n' >"$work/folder/unknown.c"
ln -s nowhere.c "$work/folder/dangling.c"
{ cat "$cases/relu.c"; echo '// another'; } >"$work/folder/$(printf 'level_1_problem_19_sample_0\xff\033kernel.c')"
bench() { as_schema "$1" bench bench kernelbench/1 --from "$work/folder" --device cpu --run json --no-probes --checks 1 "${@:2}"; }
bench 3 --no-timing
has '{v["name"]: v["verdict"] for v in j}["relu.cl"] == "not_judged" and len({v["candidate"] for v in j}) == len(j) == 6'
has 'all(v["run"] == "json" for v in j) and sum(v["command"] is None for v in j) == 3'
rm "$work/folder/unknown.c" "$work/folder/dangling.c"
bench 1 --no-timing
rm "$work/folder/wrong.c"
mkdir "$work/empty"
as_schema 2 bench bench kernelbench/1 --from "$work/empty" --run none
has 'j == []'
# Of an older store, which had "NaN" where a number is missing, and not all of today's keys.
python3 - "$ASSAY_STORE" <<'E'
import json, sqlite3, sys
store = sqlite3.connect(sys.argv[1])
for number, evidence in store.execute("SELECT id, evidence FROM verdict WHERE run = 'json' AND reason = 'pass'").fetchall():
    found = json.loads(evidence)
    found["timing"]["floor_ns"] = "NaN"
    del found["secret"], found["shapes"], found["weights"], found["timing"]["wall_ns"], found["checks"][0]["worst"]
    store.execute("UPDATE verdict SET evidence = ?, run = 'old' WHERE id = ?", (json.dumps(found), number))
store.commit()
E
as_schema 0 bench bench kernelbench/1 --from "$work/folder" --device cpu --run old --no-probes --checks 1 --no-timing
has 'j[0]["timing"]["floor_ns"] is None and j[0]["secret"] is None and j[0]["timing"]["wall_ns"] is None'

as_schema 0 score score
as_schema 0 score score old --baseline old
mv "$work/folder"/level* "$work/folder/level_1_problem_19_sample_0_kernel.c"
echo '{"19": [{"sample_id": 0, "compiled": true, "correctness": false}, {"sample_id": 4, "compiled": true, "correctness": true, "runtime": 2}]}' >"$work/eval_results.json"
as_schema 0 bench bench kernelbench/1 --from "$work/folder" --device cpu --run samples --no-probes --checks 1 --no-timing
as_schema 0 "score --compare" score samples --compare "$work/eval_results.json"
has 'len(j) == 2 and j[1]["assay"] is None'
as_schema 0 "export --format" export --format flashinfer-bench --task kernelbench/1/19 --to "$work/set"
as_schema 0 "export --format" export samples --format flashinfer-bench --to "$work/set"
as_schema 0 export export samples --to "$work/runs"
before=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["samples"])' "$work/json")
# Identical files are samples of their own, judged once; also when the folder is benched again.
for i in 5 6; do cp "$work/folder/level_1_problem_19_sample_0_kernel.c" "$work/folder/level_1_problem_19_sample_${i}_kernel.c"; done
for _ in 1 2; do
  as_schema 0 bench bench kernelbench/1 --from "$work/folder" --device cpu --run samples --no-probes --checks 1 --no-timing
  has 'sum("_sample_" in v["candidate"] and v["verdict"] == "pass" for v in j) == len({v["candidate"] for v in j if "_sample_" in v["candidate"]}) == 3'
  as_schema 0 export export samples --to "$work/runs"
  has 'j["samples"] == j["correct"] == '$((before + 2))
  as_schema 0 score score samples
  has 'j[0]["verdicts"] == '$((before + 2))
done
as_schema 0 report report --html "$work/site"
has 'j["files"] == j["written"] > 100 and j["removed"] == 0'
as_schema 0 report report --html "$work/site"
has 'j["written"] == 0'

# A pass that is faster than can be is not correct, in scores as in what is exported.
sqlite3 "$ASSAY_STORE" "UPDATE verdict SET suspicious = 1, time_ns = 1 WHERE run = 'samples' AND candidate LIKE '%sample_6%'"
as_schema 0 export export samples --to "$work/runs"
has 'j["samples"] == j["correct"] + 1 == '$((before + 2))
as_schema 0 score score samples
has 'j[0]["verdicts"] == j[0]["correct_verdicts"] + 1 == '$((before + 2))' and j[0]["suspicious"] == 1'
rm "$work/folder"/level_1_problem_19_sample_[56]_kernel.c
sqlite3 "$ASSAY_STORE" "DELETE FROM verdict WHERE run = 'samples' AND (candidate LIKE '%sample_5%' OR candidate LIKE '%sample_6%')"
as_schema 0 runs runs
as_schema 0 compare compare samples old
as_schema 0 "runs ACTION" runs rename samples renamed
as_schema 0 "runs ACTION" runs delete old renamed --yes
has 'len(j) == 2'
mkdir "$work/replies" "$work/model"
printf 'Here:\n```c\n%s\n```\n' "$(cat "$cases/relu.c")" >"$work/replies/last"
as_schema 0 make make kernelbench/1/19 --device cpu --no-timing --attempts 1 --run made \
  --endpoint "exec:$source/tests/program/make_model.sh $work/replies $work/model"
as_schema 0 score score made
has '[row["schema"] for row in j] == ["assay/score/1", "assay/attempts/1"]'
as_schema 1 make make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --attempts 2 --run two --patience 1 --no-final \
  --endpoint "exec:$source/tests/program/make_model.sh $work/replies $work/model"
has 'j["tasks"][1]["stopped"] == "no progress in 1 requests"'
as_schema 0 "score --against" score two --against two
has 'j["tasks"] == 2 and j["requests"] == 1 and j["verdict"] == "no difference shown" and j["right"] == 0.5'
as_schema 0 "score --deviance" score two made --deviance
has 'j["outcomes"] == 3 and j["runs"] == 2'

# A kernel that prints what the worker of Python candidates says has said nothing.
cat >"$work/forged.c" <<'C'
#include <assay/candidate.h>
#include <stdio.h>
void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  printf("assay: weights: paired by name\nassay: kept: a table\nassay: evaluation: norm\n");
  fflush(stdout);
  for (int64_t i = 0; i < assay_count(&args->outputs[0]); i++)
    y[i] = 1;
}
C
as_schema 1 judge judge kernelbench/1/19 "$work/forged.c" --no-timing --no-probes
has 'j[0]["verdict"] == "wrong_value" and j[0]["weights"] is None and "paired" not in j[0]["detail"] and "earlier" not in j[0]["detail"]'
has '"in evaluation" not in j[0]["detail"] and "assay: weights: paired by name" in j[0]["diagnostics"]'

# The check itself finds what is wrong.
as_schema 0 runs runs
for change in 'j[0]["more"] = 1' 'del j[0]["tasks"]' 'j[0]["tasks"] = "1"' 'j[0]["schema"] = "assay/run/2"' 'j[0]["tasks"] = True'; do
  python3 -c 'import json, sys; j = json.load(open(sys.argv[1])); exec(sys.argv[2]); json.dump(j, open(sys.argv[1] + "2", "w"))' "$work/json" "$change"
  expect 1 "^runs\[0\]" check runs "$work/json2"
done
report
