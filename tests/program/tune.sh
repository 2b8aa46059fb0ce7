#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay tune: every configuration is tried once, wrong and broken ones cost and do not win, the winner is a whole file that
# passes by itself; a killed run goes on; assay trials shows what it came to.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
task=fusedops/matmul/fp32_matmul
tune=("$assay" tune $task "$source/tests/tuning/matmul.c" --workload ragged1 --threads 2 --give-up 1 --finalists 1)
field() { # field FILE EXPRESSION: of an object `o`
  python3 -c "import json, sys; o = json.load(open(sys.argv[1])); print($2)" "$1"
}
expect 2 "declares nothing to tune" "$assay" tune $task "$source/tests/fusedops/softmax.c"
sed 's/constraint BROKEN == 0/constraint BROKNE == 0/' "$source/tests/tuning/matmul.c" >"$work/wrong.c"
expect 2 "wrong.c:7: the constraint .BROKNE == 0.*no number is named" "$assay" tune $task "$work/wrong.c"
expect 2 "takes a number from 1" "${tune[@]}" --trials 0
# A line with the mark of another language's comments would become code; one that is nearly right would be left out.
for wrong in '3: a comment begins with // here: write `// assay: tune ROWS \.\.\.`|s,^// assay: tune ROWS,# assay: tune ROWS,' \
  '4: this looks like a line for the tuner, and is none|s,^// assay: tune LANES,#define X // assay: tune LANES,'; do
  sed "${wrong#*|}" "$source/tests/tuning/matmul.c" >"$work/near.c"
  expect 2 "near.c:${wrong%%|*}" "$assay" tune $task "$work/near.c"
done
# Why a configuration has no time is said where it is tried, within the width of a terminal, and at the end.
sed 's/assay_kernel/assay_krnel/' "$source/tests/tuning/matmul.c" >"$work/nameless.c"
nameless=(python3 "$source/tests/program/terminal.py" 100 "$assay" tune $task "$work/nameless.c" --workload ragged1 --trials 1)
for line in "^    the file has no function assay_kernel" "^    ROWS=4,LANES=8,BROKEN=0, launch_error: the file has no"; do
  expect 1 "$line" "${nameless[@]}"
done
expect 0 "^(100|[1-9]?[0-9])$" sh -c 'sed "s/\x1b\[[0-9]*[mK]//g; s/.*\r//" <"$1" | wc -L' sh "$work/out"
# A header's macro of the same name would take the parameter's place.
sed '/constraint/d; /#define BROKEN/d; s/BROKEN/EDOM/g; s/#include <assay/#include <errno.h>\n&/' "$source/tests/tuning/matmul.c" >"$work/clash.c"
expect 1 "compile_error: candidate.c:[0-9]+:2: error: #error .a parameter of the tuner's has another value here: a header or another line defines its name" \
  "$assay" tune $task "$work/clash.c" --workload ragged1 --trials 1
# The compiler's messages name the author's lines, though parameters take more.
{ cat "$source/tests/tuning/matmul.c" && echo "int x = ;"; } >"$work/broken.c"
expect 1 "candidate.c:$(grep -n 'int x = ;' "$work/broken.c" | cut -d: -f1):" "$assay" tune $task "$work/broken.c" --workload ragged1 --trials 1
# What has no time for a busy machine is tried once more in the same search: the machine is quiet after three configurations.
ln -s "$source/tests/support/busy" "$work/proc"
ASSAY_PROC=$work/proc "${tune[@]}" --run busy --parallel 1 >"$work/busy" 2>"$work/progress" &
tuner=$!
for _ in $(seq 600); do
  [ "$(grep -c '^[0-9]*/13' "$work/progress")" -ge 3 ] && break
  sleep 0.02
done
ln -sfn "$source/tests/support/quiet" "$work/proc"
wait $tuner
expect 0 "^0$" echo $?
expect 0 "^best: ROWS=" cat "$work/busy"
expect 0 "machine too busy" cat "$work/progress"
json 0 "$assay" trials busy --json
cp "$work/out" "$work/busy.json"
expect 0 "^True 13$" field "$work/busy.json" "o['curves'][0]['timed'] >= 9, o['curves'][0]['tried']"
# What has no time was tried, and is to be tried again: its seconds count, and it is not said that nothing is left.
json 1 env ASSAY_PROC="$source/tests/support/busy" "${tune[@]}" --run tired --trials 2 --json
cp "$work/out" "$work/tired.json"
expect 0 "^2 0 True$" field "$work/tired.json" "o['tried'], o['tried_before'], o['complete']"
json 1 "${tune[@]}" --run tired --trials 2 --budget-seconds 0.001 --json
cp "$work/out" "$work/tired.json"
expect 0 "^2 2 False$" field "$work/tired.json" "o['tried'], o['tried_before'], o['complete']"
expect 1 "2 of 2 configurations are right and have no time; with more --budget-seconds, as these are spent, the same command tries them again" \
  "${tune[@]}" --run tired --trials 2 --budget-seconds 0.001
# A best without a time, as the machine was busy when it was judged in full: that is said, not why another is wrong.
"${tune[@]}" --run late --trials 2 >/dev/null 2>&1
expect 1 "ROWS=.* is right, and judged in full it has no time: machine too busy" \
  env ASSAY_PROC="$source/tests/support/busy" "${tune[@]}" --run late --trials 2 --checks 2
# Killed in the middle: what was finished stays, and is not done again.
"${tune[@]}" --run killed --parallel 1 >"$work/killed" 2>"$work/progress" &
tuner=$!
for _ in $(seq 600); do
  [ "$(grep -c '^[0-9]*/13' "$work/progress")" -ge 3 ] && break
  sleep 0.05
done
kill -9 $tuner
wait $tuner 2>/dev/null
json 0 "$assay" trials killed --json
cp "$work/out" "$work/before.json"
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" trials "$work/before.json"
expect 0 "^True$" field "$work/before.json" "3 <= o['curves'][0]['tried'] <= 12"
json 0 "${tune[@]}" --run killed --json
cp "$work/out" "$work/after.json"
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" tune "$work/after.json"
expect 0 "^13 13 True$" field "$work/after.json" "o['configurations'], o['tried'], o['complete']"
expect 0 "^True$" field "$work/after.json" "o['tried_before'] >= $(field "$work/before.json" "o['curves'][0]['tried']")"
# The winner is right, and a file of its own.
expect 0 "BROKEN=0" field "$work/after.json" "o['configuration']"
expect 0 "pass" "$assay" judge $task "$(field "$work/after.json" "o['file']")" --workload ragged1 --threads 2 --no-timing --no-store
# Statuses of the others; the order follows from the seed.
expect 0 "^compile_error 2 wrong 2 $" python3 - "$ASSAY_STORE" <<'END'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT status, count(*) FROM trial WHERE run = 'killed' AND status IN ('wrong', 'compile_error') GROUP BY status ORDER BY status")
print(*(f"{status} {count} " for status, count in rows), sep="")
END
order() { grep -o '^[0-9]*/[0-9]* *[^ ]*' "$1" | awk '!seen[$0]++'; } # what had no time is tried twice
for run in one two; do "${tune[@]}" --trials 4 --run $run --parallel 2 >/dev/null 2>"$work/$run"; done
"${tune[@]}" --trials 4 --run three --seed 5 >/dev/null 2>"$work/three"
for run in one two three; do order "$work/$run" >"$work/$run.order"; done
expect 0 "are identical" diff -sq "$work/one.order" "$work/two.order"
expect 1 "differ" diff -sq "$work/one.order" "$work/three.order"
expect 3 "has tried .* where this file and seed come to" "${tune[@]}" --trials 4 --run one --seed 5
expect 0 "4 of 13|within 10 %" "$assay" trials one
# The points of the curve judged in full: each has both times, the new one is that of a stored verdict, and a second call
# judges nothing anew.
points() { # of the run: how many are timed anew, whether each is right and its verdict's, and whether the best is one
  python3 - "$ASSAY_STORE" "$1" <<'END'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
rows = store.execute("SELECT status, time_ns, tuner_ns, verdict FROM trial WHERE run = ? ORDER BY number", sys.argv[2:]).fetchall()
anew = [r for r in rows if r[2] is not None and r[2] == r[2]]
times = dict(store.execute("SELECT id, time_ns FROM verdict"))
best = min((r for r in rows if r[0] == "ok" and r[1] is not None), key=lambda r: r[1])
print(len(anew), all(r[0] == "ok" and times[r[3]] == r[1] for r in anew), best in anew, [r[3] for r in anew])
END
}
expect 0 "4 of 13|within 10 %" "${tune[@]}" --trials 4 --run one --parallel 2 --retime
expect 0 "^[1-4] True True" points one
points one >"$work/points.one"
expect 0 "4 of 13|within 10 %" "${tune[@]}" --trials 4 --run one --parallel 2 --retime
expect 0 "^$(sed 's/[][]/./g' "$work/points.one")$" points one
# Neither does a finalist that has a time: no source has two in the run.
expect 0 "^0$" python3 -c "import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*) - count(DISTINCT candidate_hash) FROM verdict WHERE run = 'one' AND reason = 'pass' AND time_ns IS NOT NULL\").fetchone())" "$ASSAY_STORE"
# The inputs of the trials follow from the seed, too: this is wrong by a factor that follows from the first of them.
sed 's/y\[i \* n + j\] = /y[i * n + j] = (2 + ((const unsigned char *)a)[0] % 101) * /' "$source/tests/tuning/matmul.c" >"$work/by_input.c"
factor() { # of the run NAME with what options follow
  "$assay" tune $task "$work/by_input.c" --workload ragged1 --threads 2 --trials 1 --run "$@" >/dev/null 2>&1
  sqlite "$ASSAY_STORE" "SELECT detail FROM trial WHERE run = ?" "$1"
}
sqlite() { python3 -c 'import sqlite3, sys; print(*sqlite3.connect(sys.argv[1]).execute(sys.argv[2], sys.argv[3:]).fetchall())' "$@"; }
for run in 1 2; do factor "by_input$run" --seed 7 >"$work/factor$run"; done
factor by_input3 --seed 9 >"$work/factor3"
expect 0 "constant factor" cat "$work/factor1"
expect 0 "are identical" diff -sq "$work/factor1" "$work/factor2"
expect 1 "differ" diff -sq "$work/factor1" "$work/factor3"
# A fast configuration that is wrong at other shapes alone cuts off the right ones: when it was found wrong they are tried again.
cat >"$work/tempting.c" <<'END'
// assay: tune HOW 0,1,2
#include <assay/candidate.h>
#include <math.h>
#ifndef HOW
#define HOW 0
#endif
void assay_kernel(const struct assay_args *args) {
  const float *g = args->inputs[0].data, *u = args->inputs[1].data;
  float *y = args->outputs[0].data;
  int64_t n = args->outputs[0].dims[0] * args->outputs[0].dims[1];
  for (volatile int64_t i = HOW == 0 ? 60000000 : HOW == 1 ? 6000000 : 0; i > 0; i--)
    ;
  for (int64_t i = 0; i < n - (HOW == 2 && n != 64 * 384); i++)
    y[i] = g[i] / (1 + expf(-g[i])) * u[i];
}
END
tempted=("$assay" tune fusedops/swiglu/fp32_swiglu "$work/tempting.c" --threads 1 --finalists 1 --parallel 1 --run tempted)
expect 0 "^best: HOW=1 " "${tempted[@]}"
expect 0 "^best: HOW=1 " "${tempted[@]}"
# In a comparison of makers the search's points are timed anew if that is asked, too.
sed 's/ROWS 4,1,8/ROWS 4,1/; s/LANES 8,1,4/LANES 8/' "$source/tests/tuning/matmul.c" >"$work/few.c"
compared() { # compared RUN [OPTION]: whether a trial was
  "$assay" compare $task --with "tune:$work/few.c" --workload ragged1 --threads 2 --no-probes --checks 1 --run "$@" >/dev/null 2>&1
  sqlite "$ASSAY_STORE" "SELECT sum(tuner_ns IS NOT NULL) > 0 FROM trial WHERE run LIKE ? || ',%'" "$1"
}
expect 0 "^\(0,\)$" compared beside
expect 0 "^\(1,\)$" compared anew --retime
# A comparison's seed is its tuner's, too, and further orders are those of the seeds after it.
order() { # order RUN [OPTION...]: the configurations as they were tried
  "$assay" compare $task --with "tune:$source/tests/tuning/matmul.c" --workload ragged1 --threads 2 --no-probes --checks 1 --run "$@" >/dev/null 2>&1
  sqlite "$ASSAY_STORE" "SELECT configuration FROM trial WHERE run LIKE ? || ',%' ORDER BY run, number" "$1" >"$work/order.$1"
}
order unseeded
order first --seed 1
order second --seed 2
order both --tuning-seeds 2
expect 0 "are identical" diff -sq "$work/order.unseeded" "$work/order.first"
expect 1 "differ" diff -sq "$work/order.first" "$work/order.second"
echo "$(cat "$work/order.first") $(cat "$work/order.second")" >"$work/order.expected"
expect 0 "are identical" diff -sq "$work/order.expected" "$work/order.both"
# Two seeds under one name, as the default is one: each search is a run of its own.
for seed in 1 2 1; do
  "$assay" compare $task --with "tune:$work/few.c" --workload ragged1 --threads 2 --no-probes --checks 1 --seed $seed --run seeds >"$work/seeds.$seed" 2>&1
  expect 0 "few.c +1 of 1 .* [0-9.]+$" cat "$work/seeds.$seed"
done
expect 0 "^\('seeds, .*, tuning', 6\) \('seeds, .*, tuning, seed 2', 6\)$" \
  sqlite "$ASSAY_STORE" "SELECT run, count(*) FROM trial WHERE run LIKE 'seeds,%' GROUP BY run ORDER BY run"
# The finalists' inputs do not, or a kernel could be made for them: their seeds are never the search's.
for run in one three; do sqlite "$ASSAY_STORE" "SELECT seed FROM verdict WHERE run = ? LIMIT 1" $run >"$work/seed.$run"; done
"${tune[@]}" --trials 4 --run again --parallel 2 >/dev/null 2>&1
sqlite "$ASSAY_STORE" "SELECT seed FROM verdict WHERE run = ? LIMIT 1" again >"$work/seed.again"
expect 1 "differ" diff -sq "$work/seed.one" "$work/seed.again"
for option in "--secret 3" --no-timing; do
  # shellcheck disable=SC2086
  expect 2 "there is no option ${option%% *}" "${tune[@]}" $option
done
# Its progress: a line for each trial, on a terminal a bar below them, or nothing.
"${tune[@]}" --trials 4 --run quiet --progress none >/dev/null 2>"$work/quiet"
expect 0 "^0 " wc -c "$work/quiet"
"${tune[@]}" --trials 4 --run lines --progress lines >/dev/null 2>"$work/lines"
expect 0 "^4$" grep -c '^[1-4]/4  ' "$work/lines"
expect 1 "^0$" grep -c '\[#' "$work/lines"
for form in auto bar; do
  expect 0 "\[######[.]{18}\] 1/4 best .*\[#{24}\] 4/4 the fastest" sh -c '"$@" | tr "\r\n" "  "' sh \
    python3 "$source/tests/program/terminal.py" 100 "${tune[@]}" --trials 4 --run $form --progress $form
done
# Trials travel with their run, whole or not at all.
trials() { # STORE RUN: all but the verdict's number, which is a store's own
  python3 - "$1" "$2" <<'END'
import sqlite3, sys
store = sqlite3.connect(sys.argv[1])
names = [r[1] for r in store.execute("PRAGMA table_info(trial)") if r[1] not in ("id", "verdict")]
for row in store.execute(f"SELECT {', '.join(names)} FROM trial WHERE run = ? ORDER BY number", sys.argv[2:]):
    print(*row)
END
}
trials "$ASSAY_STORE" one >"$work/trials.one"
expect 0 "exported" "$assay" runs export one "$work/one.jsonl"
expect 0 "^4$" grep -c '"trial":"' "$work/one.jsonl"
expect 0 "imported" "$assay" runs import "$work/one.jsonl" --store "$work/other.sqlite"
trials "$work/other.sqlite" one >"$work/trials.other"
expect 0 "are identical" diff -sq "$work/trials.one" "$work/trials.other"
grep -v '"reason":' "$work/one.jsonl" | sed '$s/"trial":"[a-z_]*"/"trial":"lucky"/' >"$work/lucky.jsonl"
expect 2 "line 5: trial is to be one of a trial's statuses" "$assay" runs import "$work/lucky.jsonl" --store "$work/third.sqlite"
trials "$work/third.sqlite" one >"$work/none"
expect 0 "^0 " wc -c "$work/none"
grep -v '"reason":' "$work/one.jsonl" >"$work/bare.jsonl"
expect 2 "the store has trials of a run named .one." "$assay" runs import "$work/bare.jsonl" --store "$work/other.sqlite"
# A budget ends the search, in the middle of what was compiled at once; the finalists are judged all the same.
expect 0 "^1 of 13 configurations were tried; with more --budget-seconds, as these are spent, the same command goes on" "${tune[@]}" --run short --budget-seconds 0.001 --parallel 4
# What else was compiled and is dropped did cost its seconds: all of them are in the last trial.
mkdir "$work/slow"
for compiler in cc gcc clang; do
  printf '#!/bin/sh\nsleep 1\nPATH=%s exec %s "$@"\n' "$PATH" "$(command -v $compiler || command -v cc)" >"$work/slow/$compiler"
  chmod +x "$work/slow/$compiler"
done
expect 0 "^1 of 13 configurations were tried" env PATH="$work/slow:$PATH" "${tune[@]}" --run dropped --budget-seconds 0.001 --parallel 4
expect 0 "^\(1, 1\)$" sqlite "$ASSAY_STORE" "SELECT count(*), min(compile_ns) >= 1000000000 FROM trial WHERE run = 'dropped'"
# An interrupt says that nothing was judged in full, not that nothing is right.
cat >"$work/many.c" <<END
// assay: tune A $(seq -s, 1 60)
// assay: tune B $(seq -s, 1 60)
#include <assay/candidate.h>
#include <math.h>
void assay_kernel(const struct assay_args *args) {
  const float *g = args->inputs[0].data, *u = args->inputs[1].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < assay_count(&args->inputs[0]); i++)
    y[i] = g[i] / (1 + expf(-g[i])) * u[i];
}
END
"$assay" tune fusedops/swiglu/fp32_swiglu "$work/many.c" --workload ragged1 --device cpu --run many --parallel 16 >"$work/many" 2>&1 &
interrupted=$!
while ! grep -q "^2/3600" "$work/many" && kill -0 "$interrupted" 2>/dev/null; do sleep 0.1; done
# A second search of the run would take away the first one's sources, and the best one's file.
expect 3 "another process is tuning in .*: wait for it, or give this search another --run" \
  "$assay" tune fusedops/swiglu/fp32_swiglu "$work/many.c" --workload ragged1 --device cpu --run many
# Nor may one in another folder write the same run; another run may be tuned there.
expect 3 "another process is tuning into the run .many. of this store .fusedops/swiglu/fp32_swiglu, ragged1, cpu.: wait for it" \
  "$assay" tune fusedops/swiglu/fp32_swiglu "$work/many.c" --workload ragged1 --device cpu --run many --out "$work/many_out"
expect 0 "^best: A=[0-9]+,B=[0-9]+ " "$assay" tune fusedops/swiglu/fp32_swiglu "$work/many.c" --workload ragged1 \
  --device cpu --run many_more --out "$work/many_out" --trials 1
kill -INT "$interrupted"
wait "$interrupted"
expect 0 "^130$" echo $?
expect 0 "^\(0,\)$" sqlite "$ASSAY_STORE" "SELECT count(*) FROM claim WHERE run LIKE 'many%'"
expect 0 "interrupted before the fastest were judged in full; the same command goes on" cat "$work/many"
expect 1 "^0$" grep -c "no configuration is right" "$work/many"
expect 0 "press Ctrl-C again" cat "$work/many"
# What is under way is finished; one whose time is already booked as not the last is followed by one more.
expect 0 "^[012]$" sh -c "sed '1,/press Ctrl-C again/d' $work/many | awk '/^[0-9]+\/3600/ { n++ } END { print n + 0 }'"
# OpenCL, where there is an implementation: launch lines follow the parameters.
if "$assay" doctor | grep -q '^device opencl *ok'; then
  json 0 "$assay" tune fusedops/swiglu/fp32_swiglu "$source/tests/tuning/swiglu.cl" --threads 2 --finalists 1 --run cl --json
  cp "$work/out" "$work/cl.json"
  expect 0 "^5 5$" field "$work/cl.json" "o['configurations'], o['tried']"
fi
# Python: parameters are global variables.
if [ -n "${ASSAY_TORCH_PYTHON:-}" ]; then
  export ASSAY_PYTHON=$ASSAY_TORCH_PYTHON
  json 0 "$assay" tune fusedops/softmax/fp32_softmax "$source/tests/tuning/softmax.py" --workload ragged1 --device cpu --trials 2 \
    --finalists 1 --run py --json
  cp "$work/out" "$work/py.json"
  expect 0 "^2 .*/softmax.[0-9]*.py$" field "$work/py.json" "o['tried'], o['file']"
fi
report
