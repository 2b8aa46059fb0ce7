#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay compare SUITE --with MAKER,...: makers side by side, on the CPU; what is done is not done again.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
value() { python3 -c "import json, sys; o = json.load(open(sys.argv[1])); print($2)" "$1" "${@:3}"; }
expect 2 "there is no maker 'nobody' .makers: cublaslt, cudnn, eager, files:DIR.FILE, helion.:none.*, inductor, library, max-autotune, run:RUN, triton.:DIR., tune:DIR.FILE, or a folder or file" \
  "$assay" compare fusedops/matmul --with nobody
expect 2 "no task" "$assay" compare fusedops/matmull --with "$source/tests/tuning"
expect 2 "name two runs" "$assay" compare fusedops/matmul
# Two files' folders and the tuner, at two shapes.
sed '/^\/\/ assay: tune/d; /^\/\/ assay: constraint/d; s/#define BROKEN 0/#define BROKEN 1/' "$source/tests/tuning/matmul.c" >"$work/wrong.c"
side=("$assay" compare fusedops/matmul/fp32_matmul --workload 'ragged[01]' --samples 12 --threads 2 --device cpu
  --with "$source/tests/tuning,tune:$source/tests/tuning,files:$work/wrong.c,$source/tests/fusedops" --run side)
json 0 "${side[@]}" --json --scorecard
cp "$work/out" "$work/one.json"
expect 0 "^2 \['ragged0', 'ragged1'\]$" value "$work/one.json" "len(o['shapes']), [s['workload'] for s in o['shapes']]"
expect 0 "^\[2, 2, 0, 0\]$" value "$work/one.json" "[m['right'] for m in o['makers']]"
expect 0 "^\['pass', 'pass', 'wrong_value', None\]$" value "$work/one.json" "[r['verdict'] for r in o['shapes'][1]['results']]"
expect 0 "no file of it is for this task" value "$work/one.json" "o['shapes'][0]['results'][3]['refusal']"
expect 0 "^True$" value "$work/one.json" "o['shapes'][1]['results'][1]['making_seconds'] > 0"
expect 0 "ROWS=.*LANES=" value "$work/one.json" "o['shapes'][1]['results'][1]['candidate']"
expect 0 "^True$" value "$work/one.json" "all(s['winner'] is None or s['winner'].endswith('tests/tuning') for s in o['shapes'])"
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" "compare --with" "$work/one.json"
# The tuner's best was judged in full, and is not judged again: one judgement, in both runs, which outlives the tuner's.
twice() { python3 -c "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*), count(DISTINCT t.seed) FROM verdict t JOIN verdict c ON c.seed = t.seed AND c.evidence = t.evidence AND c.time_ns = t.time_ns WHERE t.run LIKE 'side, tune%, tuning' AND c.run LIKE 'side, tune%' AND c.id > t.id AND c.candidate LIKE '%matmul.c (ROWS=%'\").fetchone())" "$ASSAY_STORE"; }
expect 0 "^2 2$" twice
# Letters follow from numbers and rules.
expect 0 "^A 1.0 E 0.0$" value "$work/one.json" \
  "*[x for c in o['scorecard'] if c['criterion'] == 'correctness' and (c['maker'].endswith('wrong.c') or c['maker'].startswith('tune')) for x in (c['letter'], c['number'])]"
# What ease is made of: two knobs and a third that breaks a kernel; a file that is wrong at one shape of two at least.
expect 0 "^3 0 0 True True$" value "$work/one.json" \
  "*[x for e in o['ease'] if e['maker'].startswith('tune') for x in (e['knobs'], e['no_kernel'], e['not_right'], e['trials'] > 5, 0 < e['failed_trials'] < e['trials'])]"
expect 0 "^0 0 2 0 0 2 0 0$" value "$work/one.json" \
  "*[x for e in o['ease'] if e['maker'].endswith('wrong.c') or e['maker'].endswith('tests/fusedops') for x in (e['knobs'], e['no_kernel'], e['not_right'], e['trials'])]"
# Again: the verdicts are there; what the tuner tried is there. As text.
verdicts() { python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*) FROM verdict WHERE run LIKE 'side%' AND run NOT LIKE '%tuning'\").fetchone()[0])" "$ASSAY_STORE"; }
before=$(verdicts)
expect 0 "^side, tune.*fusedops.matmul.fp32_matmul" python3 -c "import sqlite3, sys; [print(*r) for r in sqlite3.connect(sys.argv[1]).execute('SELECT run, task FROM verdict')]" "$ASSAY_STORE"
expect 0 "correctness: part of the shapes that are right" "${side[@]/,tune:$source\/tests\/tuning/}" --scorecard
expect 0 "^$before$" verdicts
expect 0 "tune: fusedops/matmul/fp32_matmul ragged1" "$assay" trials "side, tune:$source/tests/tuning, tuning"
# The same from the store alone, which judges nothing, and needs neither the makers' files nor their machine.
json 0 env ASSAY_PYTHON="$work/no_python" "${side[@]}" --json --scorecard --stored
cp "$work/out" "$work/stored.json"
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" "compare --with" "$work/stored.json"
letters() { value "$work/$1.json" "[(c['criterion'], c['letter'], c['number']) for c in o['scorecard'] if not c['maker'].endswith('fusedops')], [[r['time_ns'] for r in s['results']] for s in o['shapes']]"; }
expect 0 "^True True$" value "$work/stored.json" "sys.argv[2] == sys.argv[3], 'correctness' in sys.argv[2]" "$(letters one)" "$(letters stored)"
expect 0 "^2 the store has no verdict of it$" value "$work/stored.json" \
  "*{r['refusal'] for s in o['shapes'] for r in s['results'][3:]} and (len(o['shapes']), o['shapes'][0]['results'][3]['refusal'])"
expect 0 "^$before$" verdicts
# A trial whose time nobody knows is no failed one, and one that did not build is.
more_trials() {
  python3 -c "import sqlite3, sys
c = sqlite3.connect(sys.argv[1])
names = [r[1] for r in c.execute('PRAGMA table_info(trial)') if r[1] not in ('id', 'number', 'status')]
for number, status in enumerate(('failed', 'failed', 'compile_error'), 900):
    c.execute(f'INSERT INTO trial (number, status, {\", \".join(names)}) SELECT ?, ?, {\", \".join(names)} FROM trial WHERE workload = \'ragged1\' LIMIT 1', (number, status))
c.commit()
print('added')" "$work/more.sqlite"
}
cp "$ASSAY_STORE" "$work/more.sqlite"
expect 0 "added" more_trials
json 0 env ASSAY_STORE="$work/more.sqlite" "${side[@]}" --json --scorecard --stored
cp "$work/out" "$work/more.json"
ease() { value "$work/$1.json" "*[x for e in o['ease'] if e['maker'].startswith('tune') for x in (e['trials'], e['failed_trials'], e['untimed_trials'])]"; }
read -r trials failed untimed <<<"$(ease stored)"
expect 0 "^$((trials + 3)) $((failed + 1)) $((untimed + 2))$" ease more
# At one of both shapes: its trials alone are counted.
json 0 "${side[@]/ragged\[01\]/ragged0}" --json --scorecard
cp "$work/out" "$work/half.json"
# What tuning took is what it took then; a trial that had no time may have been tried once more.
making() { value "$work/$1.json" "o['shapes'][0]['results'][1]['making_seconds']"; }
expect 0 "^True$" python3 -c "print($(making half) >= $(making one) > 0.01)"
tried() { python3 -c "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*) FROM trial WHERE run LIKE 'side, tune%' AND workload = 'ragged0'\").fetchone()[0])" "$ASSAY_STORE"; }
expect 0 "^1 $(tried) True$" python3 -c "import json, sys; half, one = ([e['trials'] for e in json.load(open(f))['ease'] if e['maker'].startswith('tune')][0] for f in sys.argv[1:])
print(len(json.load(open(sys.argv[1]))['shapes']), half, 0 < half < one)" "$work/half.json" "$work/one.json"
# Published times of a task that is compared stand on its page; those of others do not.
sed -n '1p; /bf16_matmul,helion,256x384x512/p' "$source/tests/tuning/logs/published_results.csv" | sed 's/bf16_matmul/fp32_matmul/' >"$work/published.csv"
expect 0 "" "$assay" trials --read "$work/published.csv" --run results
# The page of the comparison: both shapes, each maker's verdict at each, the curve, and the data; made again when trials come.
expect 0 "written" "$assay" report --html "$work/site"
expect 0 "0 written, 0 removed" "$assay" report --html "$work/site"
expect 0 "c/side.html" cat "$work/site/index.html"
page=$work/site/c/side.html
expect 0 "4 makers of kernels at 2 shapes|3 makers of kernels at 2 shapes" cat "$page"
expect 0 "Best time so far" cat "$page"
# What tells a search from others stands first, as a narrow page cuts the rest; long names have places to break.
expect 0 ">ragged1 fp32_matmul, tune:" cat "$page"
expect 0 "<h2 id=\"task-1\">fusedops/<wbr>matmul/<wbr>fp32_<wbr>matmul on " cat "$page"
expect 0 "wrong_value" cat "$page"
expect 0 "correctness: part of the shapes that are right: A all" cat "$page"
expect 0 "MI300X" cat "$page"
expect 0 "No file was right and timed at one workload on two devices" cat "$page"
expect 0 "^2 2$" python3 -c "import csv, sys; rows = [r for r in csv.DictReader(open(sys.argv[1])) if r['verdict'] == 'pass' and r['maker'] == '.../tuning']; print(len(rows), len({r['workload'] for r in rows}))" \
  "$work/site/data/c/side.csv"
expect 0 "" "$assay" trials --read "$source/tests/tuning/logs/published_results.csv" --run more
expect 0 "[1-9][0-9]* written, 0 removed" "$assay" report --html "$work/site"
# What the published comparison says of a task that is compared, from its own tables.
json 0 "$assay" compare fusedops/layernorm/bf16_layernorm --with "files:$source/tests/fusedops" --workload ragged1 --device cpu --run said --json
cp "$work/out" "$work/said.json"
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" "compare --with" "$work/said.json"
expect 0 "^\[1949, 1216, 982\] \[None, None, None\]$" value "$work/said.json" "[round(c['tables']) for c in o['published']], [c['here'] for c in o['published']]"
expect 0 "^\[\]$" value "$work/one.json" "o['published']"
expect 2 "there is no folder or file .*/nowhere/../kernels/fusedops/triton" env ASSAY_TASKS= "$assay" compare fusedops/layernorm/bf16_layernorm \
  --with triton:$work/nowhere/../kernels/fusedops/triton --workload ragged1 --device cpu --run nowhere
# A maker that means nothing ends the comparison before it begins: it was a column without a kernel, and an E.
for with in "files:$work/nowhere=there is no folder or file $work/nowhere" "files:=the maker files is written files:DIR.FILE" \
  "helion:fast=helion:fast: the effort is none, quick, full" "run:nothing=run:nothing: the store has no verdict of such a run" \
  "files:$source/tests/fusedops,files:$source/tests/fusedops=--with names files:.*/tests/fusedops twice"; do
  expect 2 "${with#*=}" "$assay" compare fusedops/softmax/fp32_softmax --with "${with%%=*}" --workload ragged1 --device cpu --run nothing
done
# One reason at several shapes is said once, though it names the workload.
printf '%s\n' "// assay: task fusedops/softmax/fp32_softmax" "#include <assay/candidate.h>" \
  "void assay_kernel(const struct assay_args *args) { (void)args; __builtin_trap(); }" >"$work/trap.c"
expect 0 "^files:.*/trap.c, fusedops/softmax/fp32_softmax ragged0 and 1 more: .*workload ragged0$" "$assay" compare fusedops/softmax/fp32_softmax --with "files:$work/trap.c" \
  --workload 'ragged[01]' --device cpu --no-probes --threads 2 --run trap
# Portability is of what the maker has now: a file that was wrong and was mended counts as mended, on the device that it is of.
if "$assay" doctor | grep -q '^device opencl *ok'; then
  mkdir "$work/both"
  sed 's/^\(.*assay:\) tune \([A-Z]*\) \([0-9]*\).*/\1 let \2 = \3/; /constraint/d' "$source/tests/tuning/swiglu.cl" >"$work/both/swiglu.cl"
  printf '%s\n' "// assay: task fusedops/swiglu/fp32_swiglu" "#include <assay/candidate.h>" "#include <math.h>" \
    "void assay_kernel(const struct assay_args *args) { const float *g = args->inputs[0].data, *u = args->inputs[1].data; float *y = args->outputs[0].data;" \
    "for (int64_t i = 0; i < args->outputs[0].dims[0] * args->outputs[0].dims[1] - MISSING; i++) y[i] = g[i] / (1 + expf(-g[i])) * u[i]; }" >"$work/swiglu.in"
  portable() { # portable DEVICE: the letter when it was judged there, too
    "$assay" compare fusedops/swiglu/fp32_swiglu --with "$work/both" --workload 'ragged[01]' --device "$1" --threads 2 --no-probes --checks 1 \
      --samples 12 --run both --json >"$work/letters.json"
    value "$work/letters.json" "*[x for c in o['scorecard'] if c['criterion'] == 'portability' for x in (c['letter'], c['number'])]"
  }
  sed 's/MISSING/1/' "$work/swiglu.in" >"$work/both/swiglu.c"
  expect 0 "^None None$" portable cpu
  expect 0 "^E 0.0$" portable opencl
  sed 's/MISSING/0/' "$work/swiglu.in" >"$work/both/swiglu.c"
  expect 0 "^A 1.0$" portable cpu
fi
# On the page, too, a maker has what it came to last, and not a right file that it no longer offers.
mkdir "$work/moved"
printf '%s\n' "// assay: task fusedops/swiglu/fp32_swiglu" "#include <assay/candidate.h>" "#include <math.h>" \
  "void assay_kernel(const struct assay_args *args) { const float *g = args->inputs[0].data, *u = args->inputs[1].data; float *y = args->outputs[0].data;" \
  "for (int64_t i = 0; i < args->outputs[0].dims[0] * args->outputs[0].dims[1]; i++) y[i] = g[i] / (1 + expf(-g[i])) * u[i]; }" >"$work/moved/right.c"
cp "$work/moved/right.c" "$work/twin.c"
moved=("$assay" compare fusedops/swiglu/fp32_swiglu --with "$work/moved,$work/twin.c" --workload ragged1 --device cpu --threads 2 --no-probes
  --checks 1 --samples 12 --run moved)
expect 0 "moved +1 of 1 " "${moved[@]}"
sed 's/i = 0/i = 1/' "$work/moved/right.c" >"$work/moved/a_wrong.c"
expect 0 "moved +0 of 1 " "${moved[@]}"
expect 0 "written" "$assay" report --html "$work/site"
expect 0 "/<wbr>moved</bdi></th><td class=\"r\">0</td><td class=\"r\">1</td>" cat "$work/site/c/moved.html"
rm -r "$work/moved"
expect 0 "moved +0 of 1 " "${moved[@]}" --stored --scorecard
expect 0 "moved +- +E \(0\)" "${moved[@]}" --stored --scorecard
expect 2 "the store has no verdict of a run .nothing, .*moved. there" "${moved[@]}" --stored --run nothing
# A small shape's rate has digits: some hundred bytes in a microsecond or a millisecond are not 0.0 GB/s.
expect 0 "^0$" sh -c 'grep -c "\">0.0</td>" "$1" || true' sh "$work/site/c/moved.html"
# A run of the store as a maker.
expect 0 "pass" "$assay" bench fusedops/softmax/fp32_softmax --from "$source/tests/fusedops" --run mine --no-timing --no-probes --threads 2 --workload ragged1
expect 0 "run:mine +1 of 1" "$assay" compare fusedops/softmax/fp32_softmax --with run:mine --workload ragged1 --samples 12 --threads 2
expect 0 "swiglu.cl, fusedops/swiglu/fp32_swiglu ragged1: no file of it is for this task on --device cpu: swiglu.cl is for another" "$assay" compare \
  fusedops/swiglu/fp32_swiglu --with "files:$source/tests/tuning/swiglu.cl" --workload ragged1 --device cpu --run elsewhere
# Files that say nothing of a task go by their names; one that is named by itself is for the one task that is compared. A
# line that names a task goes before any name.
mkdir -p "$work/named/a" "$work/named/b"
sed '/assay: task/d' "$work/twin.c" >"$work/named/a/FP32_swiglu.v2.c"
sed '/assay: task/d; s/i = 0/i = 1/' "$work/twin.c" >"$work/named/b/fp32_swiglu.c"
cp "$work/twin.c" "$work/named/b/zz.c"
cp "$work/named/a/FP32_swiglu.v2.c" "$work/named/mine.c"
named=(--workload ragged1 --device cpu --threads 2 --no-probes --checks 1 --samples 12)
expect 0 "/a +1 of 1(.|\n)*/b +1 of 1(.|\n)*mine.c +1 of 1" sh -c '"$@" | tr "\n" " "' sh "$assay" compare fusedops/swiglu/fp32_swiglu \
  --with "$work/named/a,$work/named/b,$work/named/mine.c" "${named[@]}" --run named
expect 0 "/a +1 of 2(.|\n)*mine.c +0 of 2" sh -c '"$@" | tr "\n" " "' sh "$assay" compare fusedops/swiglu \
  --with "$work/named/a,$work/named/mine.c" "${named[@]}" --run named_two
expect 0 "fp32_swiglu ragged1: no file of it is for this task: a line .// assay: task fusedops/swiglu/fp32_swiglu. says so" \
  "$assay" compare fusedops/swiglu --with "$work/named/mine.c" "${named[@]}" --run named_two
cp "$work/named/mine.c" "$work/named/level_1_problem_19_sample_0_kernel.c"
expect 0 "fp32_swiglu ragged1: no file of it" "$assay" compare fusedops/swiglu --with "$work/named" "${named[@]}" --run named_other
echo '{"task": "fusedops/swiglu/fp32_swiglu", "predict": "x"}' >"$work/replies.jsonl"
expect 2 "replies.jsonl has a candidate a line: judge them by assay bench SUITE --from .*, and compare run:NAME" \
  "$assay" compare fusedops/swiglu --with "$work/replies.jsonl"
# A search of more than anybody waits for ends after its seconds, with what is the best until then.
mkdir "$work/many"
{ echo "// assay: tune EXTRA $(seq -s, 0 60)" && echo "// assay: tune MORE 0,1,2,3" && cat "$source/tests/tuning/matmul.c"; } >"$work/many/matmul.c"
expect 0 "^tune.* +1 of 1" "$assay" compare fusedops/matmul/fp32_matmul --with "tune:$work/many" --workload ragged1 --samples 12 --threads 2 --run many \
  --tuning-seconds 2
expect 0 "^True$" sh -c '"$1" trials "$2" --json | python3 -c "import json, sys; c = json.load(sys.stdin)[\"curves\"][0]; print(1 <= c[\"tried\"] < 3172)"' \
  sh "$assay" "many, tune:$work/many, tuning"
# A search that the user cuts off has no letter and is no missing kernel; the same command goes on.
cut=("$assay" compare fusedops/matmul/fp32_matmul --with "tune:$work/many,files:$source/tests/tuning" --workload ragged1 --samples 12 --threads 2 --run cut --scorecard)
expect 130 "^ragged1 +not judged +-" timeout --foreground --preserve-status -s INT 3 "${cut[@]}"
cp "$work/out" "$work/cut.txt"
expect 0 "cut off after [1-9][0-9]* of [0-9]+ configurations, before the best was judged in full; the same command goes on" cat "$work/cut.txt"
expect 0 "^tune.* +- +- +- +- +-$" cat "$work/cut.txt"
# Nor has who was not asked any more a time of 0.
json 130 timeout --foreground --preserve-status -s INT 3 "${cut[@]}" --run again --json
cp "$work/out" "$work/cut.json"
expect 0 "^\[None, None\]$" value "$work/cut.json" "[r['time_ns'] for r in o['shapes'][0]['results']]"
expect 0 "^tune.* 0 +0 +[1-9][0-9]* +[0-9]+ +[0-9]+$" cat "$work/cut.txt"
sed 's/EXTRA 0,/EXTRA 0,,/' "$work/many/matmul.c" >"$work/odd_line.c"
expect 0 "odd_line.c:1: .*a value is missing" "$assay" compare fusedops/matmul/fp32_matmul --with "tune:$work/odd_line.c" --workload ragged1 --run odd
# What cannot be judged on this machine is no kernel that is wrong, and counts for no letter.
unjudged=(env ASSAY_PYTHON="$work/no_python" "$assay" compare fusedops/softmax/fp32_softmax --with "eager,files:$source/tests/fusedops" --workload ragged1
  --samples 12 --threads 2 --device cpu --run unjudged --scorecard)
expect 0 "^ragged1 +not judged +\*" "${unjudged[@]}"
cp "$work/out" "$work/unjudged.txt"
expect 0 "^eager +0 of 0" cat "$work/unjudged.txt"
json 0 "${unjudged[@]}" --json
cp "$work/out" "$work/unjudged.json"
expect 0 "^None None 0 0$" value "$work/unjudged.json" \
  "*[x for c in o['scorecard'] if c['criterion'] == 'correctness' and c['maker'] == 'eager' for x in (c['letter'], c['number'])], *[x for e in o['ease'] if e['maker'] == 'eager' for x in (e['no_kernel'], e['not_right'])]"
# PyTorch, where there is one.
if [ -n "${ASSAY_TORCH_PYTHON:-}" ]; then
  export ASSAY_PYTHON=$ASSAY_TORCH_PYTHON
  expect 0 "^eager +1 of 1" "$assay" compare fusedops/softmax/fp32_softmax --with eager --workload ragged1 --samples 12 --device cpu
fi
report
