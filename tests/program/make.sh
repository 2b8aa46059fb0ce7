#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `assay make` with a scripted model: outcomes, resuming after kills, wrong use. Kernels are judged for real; none of it
# depends on how long anything takes.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
failures=0
passes=0
check() { # check WHAT EXPECTED GOT
  if [ "$2" = "$3" ]; then passes=$((passes + 1)); else
    failures=$((failures + 1)); printf 'FAILED: %s: expected\n%s\ngot\n%s\n' "$1" "$2" "$3"; head -n 5 "$work/out" 2>/dev/null; fi
}
expect() { # expect CODE PATTERN COMMAND...
  local code=$1 pattern=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" = "$code" ] && grep -qE -- "$pattern" "$work/out"; then passes=$((passes + 1)); else
    failures=$((failures + 1)); echo "FAILED: $* (exit code $status, expected $code; output must match: $pattern)"; head -n 20 "$work/out"; fi
}
sql() { sqlite3 "$ASSAY_STORE" "$1"; }
fenced() { echo "Here it is:"; echo '```c'; cat; echo '```'; }
kernel() { sed "s/BODY/$1/" <<'END'
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)
    BODY
}
END
}
start() { # in the background: $pid is the program's own
  "$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" --endpoint "$model" "$@" >"$work/out" 2>&1 & pid=$!
}
replies=$work/replies
mkdir "$replies" "$work/model"
echo "Think of a loop." >"$replies/0"
kernel 'y[i] = x[i].missing;' | fenced >"$replies/1"
kernel 'y[i] = x[i];' | fenced >"$replies/2"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$replies/3"
{ echo '```python'; echo 'class ModelNew: pass'; echo '```'; } >"$replies/4"
{ echo '```c'; echo 'void assay_kernel() {'; } >"$replies/5"
kernel 'y[i]  =  x[i]; \/* the same *\/' | fenced >"$replies/6"
printf 'I am \033[31mred\033[0m ../../../evil \0\xff' >"$replies/7"
kernel 'y[i] = x[i] > 0 ? x[i] : 0;' | fenced >"$replies/last"
model="exec:$source/tests/program/make_model.sh $replies $work/model"
ask() { "$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" "$@"; }
make() { ask --endpoint "$model" "$@"; }

expect 0 "kernelbench/1/19 +9 +5 +4 +2 +3" make --attempts 9 --run sample
expected="0 no_code - -
1 judged build_failed -
2 judged wrong_value -
3 judged pass -
4 wrong_language - -
5 cut_off - -
6 duplicate wrong_value 2
7 no_code - -
8 judged pass -"
rows="SELECT number || ' ' || outcome || ' ' || coalesce((SELECT reason FROM verdict WHERE id = step.verdict), '-') || ' ' ||
  iif(same_as < 0, '-', same_as) FROM step WHERE run = 'sample' AND number >= 0 ORDER BY number"
check "a line for each step" "9 kernelbench/1/19 step 3: pass, best -; 1 of 1 tasks right, 4 calls, " "$(grep -c "^kernelbench/1/19 step [0-8]: " "$work/out") $(grep -oE "^kernelbench/1/19 step 3: .*calls, " "$work/out")"
check "outcomes" "$expected" "$(sql "$rows")"
check "verdicts of the run, a duplicate's own too" "5" "$(sql "SELECT count(*) FROM verdict WHERE run = 'sample'")"
check "a duplicate is a sample: its file, its verdict" "wrong_value 1 1" "$(sql "SELECT reason || ' ' || (candidate LIKE '%sample_6_kernel.c') || ' ' ||
  (evidence = (SELECT '@' || s.verdict FROM step s WHERE s.run = 'sample' AND s.number = 2)) FROM verdict WHERE id =
  (SELECT verdict FROM step WHERE run = 'sample' AND number = 6)")"
check "files of all kernels" "5" "$(find "$work/made" -name '*_kernel.c' | wc -l)"
check "the reply is kept byte for byte" "$(od -c "$replies/7")" "$(sql "SELECT hex(reply) FROM step WHERE run = 'sample' AND number = 7" | python3 -c 'import sys; sys.stdout.buffer.write(bytes.fromhex(sys.stdin.read()))' | od -c)"
check "no escape reaches the terminal" "0" "$(LC_ALL=C grep -c "$(printf '\033')" "$work/out")"
expect 0 "sample\": 0 asked now, 0 judged now; in all 9 calls" make --attempts 9 --run sample
check "asked once each" "9" "$(wc -l <"$work/model/asked")"
expect 2 "was begun with other settings: attempts was 9 and is 10" make --attempts 10 --run sample
expect 0 "pass" "$assay" judge kernelbench/1/19 "$work"/made/*/level_1_problem_19_sample_3_kernel.c --no-timing

check "the winner is judged afresh, once" "pass" "$(sql "SELECT reason FROM verdict WHERE run = 'sample, final'")"
expect 0 "9 steps came out as they are stored" make --attempts 9 --run sample --replay
expect 2 "was begun with other settings" make --attempts 8 --run sample --replay
sql "UPDATE step SET feedback = 'Well done.' WHERE run = 'sample' AND number = 3"
expect 3 "step 3: the feedback is not the one that is stored" make --attempts 9 --run sample --replay
expect 0 "^Write C for the CPU.*" make --attempts 4 --run dry --dry-run
expect 0 "1 task, up to 4 requests each: .*cost not known" make --attempts 4 --run dry --dry-run
expect 0 "1 task, up to 7 requests each" make --method reflect --turns 4 --run dry --dry-run
expect 0 "1 task, up to 8 requests each: .* at most about 0.11 USD" make --method swarm --turns 4 --model gpt-4.1 --model gpt-4.1@mini --max-tokens 1500 --run dry --dry-run
# Texts that a later turn needs are looked at before anything is asked: a mended text is another run.
mkdir "$work/texts"
texts() { cp "$source"/prompts/*.txt "$work/texts"; }
texts; rm "$work/texts/repair.txt"
expect 2 "cannot read .*texts/repair.txt" make --method refine --run texts --prompts "$work/texts"
expect 0 "up to 4 requests" make --attempts 4 --run dry --dry-run --prompts "$work/texts"
texts; echo '{{idaea}}' >>"$work/texts/improve.txt"
expect 2 "improve.txt, line [0-9]*: there is no value \{\{idaea\}\}" make --method refine --run texts --prompts "$work/texts"
texts; printf 'Gr\xfc\xdfe\n' >>"$work/texts/rules.txt"
expect 2 "rules.txt, line [0-9]*: the text is not UTF-8" make --attempts 4 --run texts --prompts "$work/texts" --dry-run
texts; echo ' ' >"$work/texts/first.txt"
expect 2 "first.txt says nothing" make --attempts 4 --run texts --prompts "$work/texts"
expect 2 "^assay: greedy asks one model once, not 2: use --method sample or swarm$" make --method greedy --model a --model b --run texts
expect 2 "^assay: of 2 models 1 would be asked: give --attempts 2 or more" make --method refine --model a --model b --run texts
expect 2 "^assay: a --model has no name$" make --model '' --run texts
expect 2 "^assay: the endpoint  is not one; write https" ask --endpoint '' --run texts
check "a dry run asks nothing" "0" "$(sql "SELECT count(*) FROM step WHERE run = 'dry'")"

# Hold-outs: a kernel that is wrong at a probe that no verdict of the run asked, with this seed, is found out at the end.
# Both numbers are in the result. A run that was begun without a last judgement has none of it held out, also later.
mkdir "$work/blind"
kernel 'y[i] = x[i] > 1e7f ? 1e7f : x[i] < 0 ? 0 : x[i];' | fenced >"$work/blind/reply"
held() { ask --method greedy --method-seed 1 --endpoint "exec:cat '$work/blind/reply'" "$@"; }
probes() { sql "SELECT count(*) FROM verdict, json_each(evidence, '\$.checks') AS c WHERE run = '$1' AND json_extract(c.value, '\$.probe') = 'near_overflow'"; }
expect 1 "kernelbench/1/19 +1 +1 +1 +1 +0 .* wrong" held --run held
check "right, but for what was held out" "pass wrong_value" "$(sql "SELECT group_concat(reason, ' ') FROM (SELECT reason FROM verdict WHERE run LIKE 'held%' ORDER BY run)")"
check "the probe was held out" "0" "$(probes held)"
check "it was asked at the end" "1" "$(($(probes 'held, final') > 0))"
check "no feedback speaks of it" "0" "$(sql "SELECT count(*) FROM step WHERE feedback LIKE '%near_overflow%' AND run = 'held'")"
expect 1 "kernelbench/1/19 +1 +1 +1 +0 " held --run whole --no-final
check "nothing is held out" "1" "$(($(probes whole) > 0))"
expect 1 "0 asked now" held --run whole
for run in held whole; do
  command=$(sql "SELECT command FROM verdict WHERE run = '$run'")
  check "the repeat command says so, $run" "$([ $run = held ] && echo 1 || echo 0)" "$(grep -c -- "--hold-out" <<<"$command")"
done

# Refining: the errors go back, and what is correct stays.
rm -f "$work"/model/*
expect 0 "kernelbench/1/19 +9 +5 +4 +2 +3" make --method refine --turns 9 --run refine --feedback execution
check "what was asked" "first first repair repair improve improve improve improve improve" "$(sql "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM step WHERE run = 'refine' AND number >= 0 ORDER BY number)")"
check "the compiler's error" "1" "$(grep -c "error: request for member 'missing'" "$work/model/prompt.2")"
check "its code" "1" "$(grep -c "^    y\[i\] = x\[i\].missing" "$work/model/prompt.2")"
check "wrong elements" "1" "$(grep -c "worst: .* got .* want 0" "$work/model/prompt.3")"
check "the correct kernel goes on" "1" "$(grep -c "y\[i\] = x\[i\] < 0" "$work/model/prompt.8")"
check "no code is said" "1" "$(grep -c "had no code block" "$work/model/prompt.1")"
check "the same again is said" "1" "$(grep -c "code that you had given before" "$work/model/prompt.7")"
expect 0 "9 steps came out as they are stored" make --method refine --turns 9 --run refine --feedback execution --replay
expect 0 "kernelbench/1/19 +4 +3" make --method refine --turns 4 --run blind --feedback code
check "without feedback" "0" "$(grep -c "What the judge found" "$work/model/prompt.3")"

# Another source that is built to the same program is a repetition too, which is known before anything is asked of it.
names=$work/names
mkdir "$names"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$names/0"
kernel 'y[i] = (x[i] < 0) ? 0.0f : x[i];' | fenced | tee "$names/1" >"$names/2"
kernel 'y[i] = x[i];' | fenced >"$names/last"
names_model="exec:$source/tests/program/make_model.sh $names $work/model"
expect 0 "4 asked now, 2 judged now" ask --method refine --turns 4 --run names --endpoint "$names_model"
check "built to the same" "0 judged pass -1 1 duplicate pass 0 2 duplicate pass 0 3 judged wrong_value -1" "$(sql "SELECT group_concat(number || ' ' || outcome || ' ' ||
  (SELECT reason FROM verdict WHERE id = step.verdict) || ' ' || same_as, ' ') FROM (SELECT * FROM step WHERE run = 'names' AND number >= 0 ORDER BY number) AS step")"
check "it is said" "1" "$(grep -c "is built to the same program" "$work/model/prompt.2")"
expect 0 "4 steps came out as they are stored" ask --method refine --turns 4 --run names --endpoint "$names_model" --replay

# On a terminal: a table of the tasks, drawn in its place and taken off at the end. On a narrow and low one what fits.
two=(kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --attempts 2 --no-final)
on_terminal() { python3 "$source/tests/program/make_terminal.py" "$@" --endpoint "exec:cat '$source/tests/cases/relu.c'" >"$work/screen" 2>&1; }
on_terminal 100 30 "$assay" make "${two[@]}" --run terminal
check "exit code on a terminal" "1" "$?"
screen() { sed -n "$1" "$work/screen" | grep -cE -- "$2"; }
check "the head of the table" "1" "$(screen '1p' '^task +step +last verdict +best +cost so far now$')"
check "both tasks at once" "2" "$(screen '1,/^=====/p' '^kernelbench/1/(19 +[12]  pass|20 +[12]  wrong_value) +- +[12] calls? ')"
check "the whole run" "1" "$(screen '1,/^=====/p' '^\[#{10}\.{10}\] 1/2 right, [0-9]+:[0-9]{2}; sample, [34] calls, [0-9]+ tokens, [01] under way$')"
check "nothing of it stays" "0" "$(screen '/^=====/,$p' 'cost so far|right[,;]')"
check "the result is there" "1" "$(screen '/^=====/,$p' '^kernelbench/1/19 +2 +2 +2 +2 ')"
cat >"$work/patient.sh" <<END
cat >/dev/null
for _ in \$(seq 300); do grep -q '0/1 right, [0-9:]*; sample, 0 calls, 0 tokens, 1 under way' "$work/raw" && break; sleep 0.1; done
cat "$source/tests/cases/relu.c"
END
TERM=xterm python3 -c 'import pty, sys; pty.spawn(sys.argv[1:])' "$assay" make kernelbench/1/19 --device cpu --no-timing --workload small \
  --attempts 1 --no-final --run waits --endpoint "exec:sh '$work/patient.sh'" >"$work/raw" </dev/null
check "that it waits is seen before the first reply" "1" "$(grep -q '0/1 right, 0:[0-9]*; sample, 0 calls, 0 tokens, 1 under way' "$work/raw" && echo 1)"
on_terminal 40 4 "$assay" make "${two[@]}" --run narrow
check "nothing wraps" "0" "$(grep -c '^wrong' "$work/screen")"
check "one task is shown where one fits" "1" "$(screen '1,/^=====/p' '^kernelbench/1/')"

# The other methods; each is done again byte for byte.
for method in "reflect --turns 4" "evolve --attempts 2 --turns 3" "swarm --turns 5 --feed-best" greedy; do
  # shellcheck disable=SC2086
  make --run "$method" --method $method >"$work/out" 2>&1
  # shellcheck disable=SC2086
  expect 0 "steps came out as they are stored" make --run "$method" --method $method --replay
done
check "a reflection after each attempt" "first first reflect repair reflect improve" "$(sql "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM step WHERE run LIKE 'reflect%' AND number >= 0 ORDER BY number LIMIT 6)")"

# A suite; what cannot be asked for is said, and the others are done.
expect 0 "kernelbench/1/20 +1 +1 +1 +1" "$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --attempts 1 --run suite \
  --endpoint "exec:cat '$source'/tests/cases/\$(case \$ASSAY_TASK in */19) echo relu;; *) echo leaky_relu_vector;; esac).c"

# Killed at ten random instants, the run goes on where it was, and ends as one that nobody disturbed: the same prompts,
# outcomes, code and findings (with seeds given, as drawn inputs are quoted). At most the request that was under way is
# asked again, and nothing is judged twice.
seed=${ASSAY_KILL_SEED:-$RANDOM}
RANDOM=$seed
same=(--method refine --turns 9 --feedback execution --no-final --seed 7 --secret 8)
rm -f "$work"/model/*
make "${same[@]}" --run calm >"$work/out" 2>&1
rm -f "$work"/model/*
echo 0.1 >"$work/model/slow"
instants=
for _ in $(seq 10); do
  ms=$((RANDOM % 900 + 10))
  start "${same[@]}" --run killed
  sleep "$(printf '%d.%03d' $((ms / 1000)) $((ms % 1000)))"
  kill -9 $pid 2>/dev/null
  wait $pid 2>/dev/null
  instants="$instants $ms ($(sql "SELECT count(*) FROM step WHERE run = 'killed' AND outcome <> 'replied'"))"
done
echo "make: killed after so many ms, with so many steps done:$instants; ASSAY_KILL_SEED=$seed"
rm "$work/model/slow"
make "${same[@]}" --run killed >"$work/out" 2>&1
everything() { sql "SELECT number, kind, outcome, parent, same_as, lane, finish, detail, code_hash, hex(code), hex(prompt), feedback,
  (SELECT reason FROM verdict WHERE id = step.verdict) FROM step WHERE run = '$1' AND number >= 0 ORDER BY number"; }
same_steps() { everything "$1" >"$work/all.1"; everything "$2" >"$work/all.2"; cmp -s "$work/all.1" "$work/all.2" && echo "the same" || diff "$work/all.1" "$work/all.2" | cut -c -200; }
check "nine steps" "9" "$(sql "SELECT count(*) FROM step WHERE run = 'killed' AND number >= 0")"
check "killed at random, and as if nothing had been" "the same" "$(same_steps calm killed)"
# What was under way then is in the books, at most as much as it may have been: no request is missing there.
asked=$(wc -l <"$work/model/asked") lost=$(sql "SELECT count(*) FROM step WHERE run = 'killed' AND finish = 'under_way'")
calls=$(sql "SELECT sum(calls) FROM step WHERE run = 'killed'")
check "calls are 9 and what was lost, all that were made among them" "1 1" "$((calls == 9 + lost)) $((asked <= calls && lost <= 10))"
expect 0 "9 steps came out as they are stored" make "${same[@]}" --run killed --replay
expect 0 "^killed +9 > 5 > 4 > 2 " "$assay" score killed
check "verdicts after kills" "$(sql "SELECT count(*) FROM verdict WHERE run = 'calm'")" "$(sql "SELECT count(*) FROM verdict WHERE run = 'killed'")"
check "at most what was under way is asked again" "1" "$(($(wc -l <"$work/model/asked") <= 9 + 10))"
check "sound" "ok" "$(sql "PRAGMA integrity_check")"

# A request that was under way when its process was killed may have been paid for: it stays in the books, as large as it
# may be, and a budget holds.
echo 30 >"$work/model/slow"
rm -f "$work/model/asked"
start --attempts 9 --run lost --no-final
for _ in $(seq 300); do [ -e "$work/model/asked" ] && break; sleep 0.1; done
kill -9 $pid
wait $pid 2>/dev/null
rm "$work/model/slow" "$work/model/asked"
expect 1 "the budget of 16000 tokens is used up: 0 are left" make --attempts 9 --run lost --no-final --budget-tokens 16000
expect 1 "the budget of 1 calls is used up" make --attempts 9 --run lost --no-final --budget-calls 1
expect 0 "in all 10 calls, [0-9]{4} tokens, .*1 of these calls was under way when the run was ended; what came of it is not known: at most 17[0-9]{3} *tokens more" \
  eval 'make --attempts 9 --run lost --no-final | tr "\n" " "'
check "the lost one is no attempt" "9 1" "$(sql "SELECT sum(number >= 0) || ' ' || sum(finish = 'under_way' AND output_tokens = 16384) FROM step WHERE run = 'lost'")"

# The order in which replies come does not matter: the first asked answers last.
order=(--method evolve --attempts 3 --turns 2 --feedback execution --no-final --seed 7 --secret 8)
echo 'sleep 0.$(((8 - ASSAY_STEP % 3 * 3)))
exec "$@"' >"$work/late.sh"
for parallel in 1 8; do
  ask "${order[@]}" --run "order $parallel" --parallel $parallel --endpoint "exec:sh $work/late.sh $source/tests/program/make_model.sh $replies $work/model" >"$work/out" 2>&1
done
check "six kernels, and ideas" "1" "$(($(sql "SELECT count(*) FROM step WHERE run = 'order 1'") >= 6))"
check "arrival does not matter" "the same" "$(same_steps "order 1" "order 8")"

# Scores: the funnel, pass@k of independent attempts, two runs compared.
expect 0 "^sample +9 > 5 > 4 > 2 +0.222 0.833 - +- - - +0 1 1 +9 " "$assay" score sample
expect 0 "^refine +9 > 5 > 4 > 2 +- - - +- - - +0 1 1 +9 " "$assay" score refine
expect 0 '"asked": 9' "$assay" score sample --json
expect 0 "2 tasks, 1 requests each: right on \+0.0 %.*no difference shown" "$assay" score suite --against suite
expect 2 "1 task in common; two are needed" "$assay" score sample --against refine
expect 2 "no run named \"nothing\"" "$assay" score sample --against nothing

# Methods with prose in them are compared by requests, not by kernels: both of these were asked three times.
thinking=$work/thinking
mkdir "$thinking"
kernel 'y[i] = x[i];' | fenced >"$thinking/0"
echo "Mind the sign." >"$thinking/1"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$thinking/last"
for method in "reflect --turns 2" "sample --attempts 3"; do
  # shellcheck disable=SC2086
  "$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --no-final --run "even ${method%% *}" --method $method \
    --endpoint "exec:$source/tests/program/make_model.sh $thinking $work/model" >"$work/out" 2>&1
done
check "prose between" "first reflect repair" "$(sql "SELECT group_concat(kind, ' ') FROM (SELECT kind FROM step WHERE run = 'even reflect' AND task LIKE '%19' ORDER BY number)")"
expect 0 "2 tasks, 3 requests each: right on \+0.0 %.*no difference shown" "$assay" score "even reflect" --against "even sample"
expect 0 '"requests": 3' "$assay" score "even reflect" --against "even sample" --json
expect 0 "^even reflect +4 > " "$assay" score "even reflect"

# Cost next to quality, worked by hand: five attempts take 200 ns, wrong, 100 ns, no code, 125 ns; the floor is 50 ns, and
# another run has taken 96 ns. Speeds are 0.25, 0, 0.5, 0, 0.4: the mean is 0.23, the best of five 0.5. 100 ns are within
# 10 % and 5 % of the best known, after three requests of 100 tokens, and not within 2 %.
timed=$work/timed
mkdir "$timed"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$timed/0"
kernel 'y[i] = x[i];' | fenced >"$timed/1"
kernel 'y[i] = x[i] > 0 ? x[i] : 0;' | fenced >"$timed/2"
echo "I cannot." >"$timed/3"
kernel 'if (1) y[i] = x[i] > 0 ? x[i] : 0;' | fenced >"$timed/4"
timed_model="exec:$source/tests/program/make_model.sh $timed $work/model"
ask --attempts 5 --run timed --no-final --endpoint "$timed_model" >"$work/out" 2>&1
ask --attempts 1 --run best --no-final --endpoint "$timed_model" >"$work/out" 2>&1
sql "UPDATE verdict SET floor_ns = 50, time_ns = (SELECT CASE number WHEN 0 THEN 200 WHEN 2 THEN 100 ELSE 125 END FROM step
       WHERE step.verdict = verdict.id AND step.run = 'timed') WHERE run = 'timed' AND reason = 'pass';
     UPDATE verdict SET time_ns = 96 WHERE run = 'best';
     UPDATE step SET input_tokens = 60, output_tokens = 40, usd = 0.25, model_ns = 2000000000, judge_ns = 500000000, own_ns = 0,
       cpu_ns = 1000000000 WHERE run = 'timed'"
expect 0 "^timed .* 0.23 0.5 - +1/1 1/1 0/1, 3 3 -$" "$assay" score timed
"$assay" score timed --json >"$work/json"
check "the curve and what it costs" "[[200, 1, 100, 0.25, 2.5, 1], [100, 3, 300, 0.75, 7.5, 3]] 96 3 300 None" "$(python3 -c '
import json, sys
row = next(r for r in json.load(open(sys.argv[1])) if r["schema"] == "assay/attempts/1")
task, near = row["by_task"][0], row["near_best"]
points = [[round(p[k], 9) for k in ("time_ns", "requests", "tokens", "usd", "wall_s", "cpu_s")] for p in task["curve"]]
points = [[int(x) if x == int(x) else x for x in p] for p in points]
print(points, int(task["best_known_ns"]), int(near["5"]["requests"]), int(near["10"]["tokens"]), near["2"]["requests"])' "$work/json")"

# Right: in run "one" task 19 of two, in "both" both: three of four; by the run 1 - 2 ln 2 / (-2 ln terms of 3/4).
relu=$source/tests/cases/relu.c
"$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --attempts 1 --run one --endpoint "exec:cat '$relu'" >"$work/out" 2>&1
expect 0 "^4 outcomes of 2 runs and 1 kinds of task, null deviance 4.499: the kind of task explains 0.0 %, the run 38.4 %, both 38.4 %" \
  "$assay" score one suite --deviance
expect 2 "nothing to explain" "$assay" score suite --deviance

# The ladder's rungs on real verdicts; each can be left out.
rungs=$work/rungs
mkdir "$rungs"
kernel '*(volatile float *)8 = y[i] = x[i];' | fenced >"$rungs/0"
kernel 'if (i % 2) y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$rungs/1"
{ echo '```c'; echo '#include <unistd.h>'; kernel 'y[i] = (float)fork();'; echo '```'; } >"$rungs/2"
kernel 'y[i] = x[i] < 1e-3f ? 0 : x[i];' | fenced >"$rungs/3"
{ echo '```c'; echo 'int assay_kernel_of_another_name;'; echo '```'; } >"$rungs/4"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$rungs/last"
ladder() { # ladder RUN FEEDBACK
  ask --attempts 6 --run "$1" --feedback "$2" --no-final --endpoint "exec:$source/tests/program/make_model.sh $rungs $work/model" >"$work/out" 2>&1
}
said() { sql "SELECT feedback FROM step WHERE run = '$1' AND number = $2" >"$work/out"; grep -cE -- "$3" "$work/out"; }
ladder full performance
check "fault" 1 "$(said full 0 '^(crashed|out_of_bounds): ')"
check "values" 1 "$(said full 1 '^It runs, but its results are wrong: ')"
check "cheat" 1 "$(said full 2 '^forbidden_call: ')"
check "elements" 1 "$(said full 3 'got .* want' | sed 's/[1-9]/1/')"
check "a compiler's warning is not what the kernel printed" "1 0" "$(said full 0 '^The compiler and it said:$') $(said full 0 'It printed')"
check "probe" 1 "$(said full 3 '^The inputs were ".*at ')"
check "loading" 1 "$(said full 4 '^load_failed: ')"
check "right" 1 "$(said full 5 '^It is right.$')"
check "nothing of registers on the CPU" 0 "$(said full 5 'registers')"
check "no time is said so" 1 "$(said full 5 'not timed')"
ladder part compile,probe
for i in 0 2 4; do check "rung left out, step $i" 1 "$(said part $i '^It is not right.$')"; done
check "elements left out" 0 "$(said part 3 'got .* want')"
check "the probe is there" 1 "$(said part 3 '^The inputs were')"
ladder none code
check "nothing is said" "" "$(sql "SELECT group_concat(feedback, '') FROM step WHERE run = 'none'")"

# Two at once do not do the same work.
echo 2 >"$work/model/slow"
start --attempts 9 --run two
for _ in $(seq 100); do [ "$(sql "SELECT count(*) FROM step WHERE run = 'two'")" = 0 ] || break; sleep 0.1; done
expect 3 "another process works on kernelbench/1/19" make --attempts 9 --run two
kill -9 $pid
wait $pid 2>/dev/null || true
rm "$work/model/slow"

# Ctrl-C: the reply that is under way is kept.
echo 0.2 >"$work/model/slow"
start --attempts 9 --run interrupted
sleep 0.5
kill -INT $pid
wait $pid
code=$?
rm "$work/model/slow"
[ $code = 130 ] || [ $code = 0 ] || check "Ctrl-C" 130 $code
expect 0 "in all 9 calls" make --attempts 9 --run interrupted
check "interrupted and resumed" "$expected" "$(sql "${rows/\'sample\'/\'interrupted\'}")"

# Budgets end a run, and a larger one goes on.
expect 1 "the budget of 2 calls is used up" make --attempts 9 --run budget --budget-calls 2
check "no more than the budget" "2" "$(sql "SELECT sum(calls) FROM step WHERE run = 'budget'")"
expect 1 "the budget of 20 tokens is used up: 20 are left, and a request may take 17[0-9]{3} with this --max-tokens" make --attempts 9 --run tokens --budget-tokens 20
expect 0 "in all 9 calls" make --attempts 9 --run budget --budget-calls 9
expect 1 "the budget of 0.001 s of processors is used up" make --attempts 9 --run processors --budget-cpu-seconds 0.001
check "one step is more than that" "1" "$(sql "SELECT count(*) FROM step WHERE run = 'processors'")"
expect 0 "in all 9 calls" make --attempts 9 --run processors --budget-cpu-seconds 1000 --budget-gpu-seconds 1
expect 2 "no price is known of exec:cat, so that --budget-usd cannot hold; name its model" ask --run priceless --budget-usd 1 --endpoint exec:cat
# A program knows no cap on tokens: where a budget counts on it, its output ends there, is cut off, and nobody is asked for the rest.
expect 1 "the budget of 9000 tokens is used up: [0-9]+ are left, and a request may take 1[0-9]{3} with" ask --attempts 20 --run bound --no-final --max-tokens 100 --budget-tokens 9000 --endpoint 'exec:echo "\`\`\`c"; yes "// void assay_kernel("'
check "within the budget, all of it cut off" "1 cut_off length 100" "$(sql "SELECT DISTINCT (SELECT sum(input_tokens + output_tokens) <= 9000 AND sum(calls) > 4 FROM step WHERE run = 'bound'), outcome, finish, output_tokens FROM step WHERE run = 'bound'" | tr '|' ' ')"
expect 0 "in all 1 calls" ask --attempts 1 --run unbound --no-final --max-tokens 100 --endpoint "exec:cat $replies/3; head -c 3000 /dev/zero"
check "without one it prints what it likes" "judged pass" "$(sql "SELECT outcome || ' ' || (SELECT reason FROM verdict WHERE id = step.verdict) FROM step WHERE run = 'unbound'")"
# A second request of at least a second would end after the two that there are: it is not sent.
expect 1 "the budget of 2 s (is used up|has no room for one more request)" ask --attempts 9 --run seconds --no-final --budget-seconds 2 --endpoint 'exec:sleep 1; echo A loop.'
check "a request's time is reserved" "1" "$(sql "SELECT count(*) FROM step WHERE run = 'seconds'")"
# Over a suite it goes where no kernel is right: after a request for each task, all of it.
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$work/same"
expect 1 "the budget of 6 calls is used up" "$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --no-final --method refine \
  --turns 9 --run where --budget-calls 6 --endpoint "exec:cat $work/same"
check "where it is needed" "kernelbench/1/19 1 kernelbench/1/20 5" "$(sql "SELECT group_concat(task || ' ' || n, ' ') FROM (SELECT task, count(*) AS n FROM step WHERE run = 'where' GROUP BY task ORDER BY task)")"
# So it does where the run is made in slices, and of a round of many attempts too.
numbered="exec:cat '$source/tests/cases/relu.c'; echo 'int x'\$ASSAY_STEP';'"
suite() { "$assay" make kernelbench/1/19 kernelbench/1/20 kernelbench/1/21 --device cpu --no-timing --workload small --no-final --endpoint "$numbered" "$@" >"$work/out" 2>&1; }
requests_of() { sql "SELECT group_concat(task || ' ' || n, ' ') FROM (SELECT substr(task, 15) AS task, count(*) AS n FROM step WHERE run = '$1' GROUP BY task ORDER BY task)"; }
for calls in 1 2 4 5 7; do suite --method refine --turns 9 --run slices --budget-calls $calls; done
check "in slices" "19 1 20 3 21 3" "$(requests_of slices)"
suite --attempts 9 --run rounds --budget-calls 7
check "within rounds" "19 1 20 3 21 3" "$(requests_of rounds)"
# A task without progress is given up, and goes on with more patience.
expect 1 "kernelbench/1/19 +3 .*no progress in 3 requests" make --attempts 9 --run patient --patience 3 --no-final
check "no more is asked" "3" "$(sql "SELECT count(*) FROM step WHERE run = 'patient'")"
expect 1 "0 asked now" make --attempts 9 --run patient --patience 3 --no-final
expect 0 "kernelbench/1/19 +8 .*no progress in 4 requests" make --attempts 9 --run patient --patience 4 --no-final
expect 0 "kernelbench/1/19 +9 " make --attempts 9 --run patient --patience 9 --no-final

# A task that is named twice is made once; settings count from the first request on.
expect 1 "1 asked now, 0 judged now; in all 1 calls" "$assay" make kernelbench/1/19 "$source"/tasks/kernelbench/level1/019_relu.onnxtxt --device cpu --no-timing \
  --attempts 1 --run twice --endpoint 'exec:echo A loop.'
expect 1 "1 asked now" ask --attempts 1 --run settled --endpoint 'exec:echo A loop.'
expect 2 "begun with other settings" ask --attempts 2 --run settled --endpoint 'exec:echo A loop.'
sql "DELETE FROM step WHERE run = 'settled'"
expect 1 "2 asked now" ask --attempts 2 --run settled --endpoint 'exec:echo A loop.'
# Nothing is asked, and paid for, where no reply could be judged.
if ! ldconfig -p | grep -q 'libcuda\.so\.1'; then
  expect 3 "no NVIDIA driver" "$assay" make kernelbench/1/19 --device cuda --attempts 1 --run elsewhere --endpoint "exec:touch '$work/was-asked'"
  check "nothing was asked" "no" "$([ -e "$work/was-asked" ] && echo yes || echo no)"
fi
mkdir "$work/broken"
rm -f "$work"/assay-make-* # of the processes that were killed above
printf '#!/bin/sh\necho no such module >&2; exit 1\n' >"$work/broken/python3"
chmod +x "$work/broken/python3"
for form in pytorch triton; do
  PATH=$work/broken:$PATH expect 3 "^assay: nothing was asked: .*python3" ask --form $form --attempts 2 --run "no python" --endpoint "exec:touch '$work/was-asked'"
done
check "nothing was asked without Python" "no" "$([ -e "$work/was-asked" ] && echo yes || echo no)"
check "no example is left" "" "$(find "$work" -maxdepth 1 -name 'assay-make-*')"

# A model that fails: what was paid for is kept, and is asked again where there was no reply.
expect 3 "exit code 5: no credit" ask --attempts 9 --run failing --endpoint 'exec:echo no credit >&2; exit 5'
expect 3 "exit code 5: no credit" ask --method greedy --run failing-once --endpoint 'exec:echo no credit >&2; exit 5'
expect 1 "1 request got no whole reply; the last: .*exit code 5" ask --attempts 2 --run failing-half --no-final --endpoint 'exec:[ $ASSAY_STEP = 0 ] && exit 5; echo A loop.'
expect 3 "^2 tasks have no finished step yet$" "$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --attempts 1 --run unreached \
  --endpoint http://127.0.0.1:1/v1 --model m
check "no table of nothing" "0" "$(grep -c '^kernelbench/1/' "$work/out")"
expect 2 "exit code 127" ask --attempts 9 --run missing --endpoint exec:/no/such/program
for use in "--enough 1.5" "--enough 0" "--patience 0" "--budget-gpu-seconds 0" "--field top_k=4" "--field top_k" "--field stream=true" "--endpoint nowhere" "--endpoint exec:" "--method magic" "--form cobol" "--feedback praise" "--device opencl --form c" \
  "--temperature 3" "--attempts 0" "--prompts /no/such/folder" "--method refine --attempts 65" "--budget-calls 0" "--budget-tokens 99999999999999999999"; do
  # shellcheck disable=SC2086
  expect 2 "." make --run wrong $use
done
expect 2 "^assay: the form triton is Triton kernels in a PyTorch module, which cannot be judged on the device opencl: use --form opencl \\(OpenCL C with launch lines\\), or --device cuda$" ask --run wrong --device opencl --form triton --endpoint exec:cat
expect 2 "^assay: the form cuda is .*: use --form c \\(C for the CPU\\), or --device cuda$" ask --run wrong --form cuda --endpoint exec:cat
expect 2 "name a task and an endpoint" "$assay" make kernelbench/1/19
expect 2 "nosuch" "$assay" make nosuch --endpoint exec:cat

# The same over HTTP, with a key that nobody but the server sees.
mkdir "$work/log"
python3 "$source/tests/program/make_server.py" "$replies" "$work/log" & server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do [ -e "$work/log/port" ] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$work/log/port")/v1
key=sk-test-$RANDOM-never-to-be-seen
echo "$key" >"$work/key"
chmod 600 "$work/key"
"$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" --endpoint "$url" --key-file "$work/key" --model gpt-4.1@mini --method refine \
  --turns 9 --run http --feedback execution >"$work/out" 2>&1 & pid=$!
while kill -0 $pid 2>/dev/null; do # what the processes of the run let see
  for p in $pid $(pgrep -P $pid); do tr '\0' '\n' <"/proc/$p/environ" >>"$work/seen"; tr '\0' '\n' <"/proc/$p/cmdline" >>"$work/seen"; done 2>/dev/null
  sleep 0.05
done
wait $pid
check "over HTTP" "0" "$?"
check "the key arrives" "Bearer $key" "$(cat "$work/log/key")"
check "it was looked for" "1" "$(grep -c "^http$" "$work/seen" | sed 's/[1-9][0-9]*/1/')"
check "no prompt and no code is in what others see" "0" "$(grep -cE "candidate.h|Write C for|What the judge found" "$work/seen")"
check "the key is nowhere else" "" "$(grep -rl "$key" "$work" --exclude-dir=log --exclude=key)"
check "outcomes over HTTP" "$(sql "${rows/\'sample\'/\'refine\'}")" "$(sql "${rows/\'sample\'/\'http\'}" | sed 's/^\(.*\)$/\1/')"
check "tokens as the server counts" "1000 100 0" "$(sql "SELECT DISTINCT input_tokens || ' ' || output_tokens || ' ' || estimated FROM step WHERE run = 'http' AND number >= 0")"
check "the table of prices is known by its hash" "$(sha256sum "$source/prices.txt" | cut -d' ' -f1)" "$(sql "SELECT json_extract(settings, '\$.prices') FROM making WHERE run = 'http'")"
check "cost" "0.0252" "$(sql "SELECT round(sum(usd), 6) FROM step WHERE run = 'http'")"
# A process with a key leaves no core: aborted while it waits for a server that says nothing. Another process does, here.
check "no core with a key in it" "no core" "$(cd "$work" && python3 -c '
import os, resource, signal, socket, subprocess, sys, time
silent = socket.socket()
silent.bind(("127.0.0.1", 0))
silent.listen()
def cores(command):
    limit = lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
    p = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, preexec_fn=limit)
    if command[0] != "sleep":
        silent.accept()
    else:
        time.sleep(0.3)
    p.send_signal(signal.SIGABRT)
    status = os.waitpid(p.pid, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGABRT, status
    return os.WCOREDUMP(status)
if not cores(["sleep", "9"]):
    print("left out: this machine makes no cores", file=sys.stderr)
url = "http://127.0.0.1:%d/v1" % silent.getsockname()[1]
print("core" if cores([sys.argv[1], "make", "kernelbench/1/19", "--device", "cpu", "--no-timing", "--attempts", "1", "--run", "core",
  "--model", "m", "--endpoint", url, "--key-file", sys.argv[2]]) else "no core")' "$assay" "$work/key"; rm -f "$work"/core*)"
http() { ask --endpoint "$url" "$@"; }
# A key in the environment is neither in the compiler's nor in the kernel's.
curious=$work/curious
mkdir "$curious" "$work/curious-log"
{ echo '#include "/proc/self/environ"'; kernel 'y[i] = x[i] < 0 ? 0 : x[i];'; } | fenced >"$curious/0"
{ echo '#include <stdlib.h>'; kernel 'y[i] = getenv("KEY_OF_TEST") ? 1 : x[i] < 0 ? 0 : x[i];'; } | fenced >"$curious/last"
python3 "$source/tests/program/make_server.py" "$curious" "$work/curious-log" & second=$!
for _ in $(seq 200); do [ -e "$work/curious-log/port" ] && break; sleep 0.05; done
KEY_OF_TEST=$key expect 0 "kernelbench/1/19 +2 +2 +1 +1 " ask --endpoint "http://127.0.0.1:$(cat "$work/curious-log/port")/v1" --model m --key-env KEY_OF_TEST \
  --attempts 2 --run curious --no-final
check "the key arrives from the environment" "Bearer $key" "$(cat "$work/curious-log/key")"
check "no candidate sees it" "" "$(grep -rl "$key" "$work" --exclude-dir=log --exclude-dir=curious-log --exclude=key)"
kill $second
wait $second 2>/dev/null
expect 1 "0.0028 USD" http --attempts 1 --run http-whole --model gpt-4.1 --no-stream --method sample
check "not streamed" "0" "$(grep -c '"stream"' "$work/log/gpt-4.1.0")"
# What a model refuses is learned of it alone, and kept for the runs after.
prose=$work/prose
mkdir "$prose" "$work/prose-log"
echo "A loop." >"$prose/last"
python3 "$source/tests/program/make_server.py" "$prose" "$work/prose-log" & second=$!
for _ in $(seq 200); do [ -e "$work/prose-log/port" ] && break; sleep 0.05; done
profile() { ask --endpoint "http://127.0.0.1:$(cat "$work/prose-log/port")/v1" --temperature 0.5 --model picky --model gpt-4.1 --no-final "$@"; }
expect 1 "4 asked now, 0 judged now; in all 5 calls" profile --attempts 4 --run picky --parallel 1
check "the other model still has it" "2" "$(grep -l '"temperature": 0.5' "$work"/prose-log/gpt-4.1.* | wc -l)"
expect 1 "4 asked now, 0 judged now; in all 4 calls" profile --attempts 4 --run picky2
check "it is kept" "temperature" "$(sql "SELECT value FROM machine_fact WHERE machine = 'endpoint' AND key LIKE '% picky'")"
kill $second
wait $second 2>/dev/null
expect 2 "the key is missing or wrong" http --run http2 --model wrong-key --key-file "$work/key"
check "an echoed key is hidden" "0" "$(grep -c "$key" "$work/out")"
expect 2 "no such model" http --run http3 --model missing
# A retry is a call. What a request may cost at most is reserved until it is known: nine of 1,100 tokens and a cap of 16,384
# fit into 50,000 though two of them are all that may be under way.
expect 3 "status 500" http --attempts 9 --run busy --model busy --budget-calls 2
check "retries are calls" "2" "$(sql "SELECT sum(calls) FROM step WHERE run = 'busy'")"
expect 0 "in all 9 calls, 9900 tokens" http --attempts 9 --run reserved --model gpt-4.1@r --budget-tokens 50000 --parallel 8 --no-final
expect 2 "the prompt is too long for the model; use shorter --prompts" http --run short --model narrow --method greedy
expect 2 "say which one with --model" http --run http4
chmod 644 "$work/key"
expect 2 "others can read the key.*chmod 600" http --run http5 --model m --key-file "$work/key"
# A key alone, whatever is around it; not two, a line of .env, a file of another kind.
kept() { printf "$1" >"$work/kept"; chmod 600 "$work/kept"; }
refused_key() { expect 2 "$1" http --run http5 --model m --key-file "$work/kept"; }
kept 'OPENAI_API_KEY=sk-test\n'; refused_key "holds NAME=KEY; leave the key alone in it"
kept 's\0k\0-\0001\0'; refused_key "more than one key, or something else"
kept 'sk-one\nsk-two\n'; refused_key "more than one key, or something else"
kept "$(head -c 5000 /dev/zero | tr '\0' k)"; refused_key "holds more than a key"
kept ' \r\n\n'; refused_key "holds no key"
kept "\\n \\t$key \\r\\n\\n"
expect 1 "1 asked now" http --run http-kept --model spare --method sample --attempts 1 --key-file "$work/kept" --no-final
check "the key without what is around it" "Bearer $key" "$(cat "$work/log/key")"
rm "$work/kept"
expect 2 "the environment has no NO_SUCH_KEY" http --run http6 --model m --key-env NO_SUCH_KEY
expect 2 "no price is known of the model" http --run http7 --model m --budget-usd 5
# What is paid for counts when it is asked again, and a cost that is not known as much as it may be.
broken() { http --attempts 9 --run broken --model gpt-4.1@broken --parallel 1 --max-tokens 3000 --budget-usd 0.04; }
expect 3 "in all 3 calls, 3300 tokens, 0.0084 USD" broken
expect 3 "in all 6 calls, 6600 tokens, 0.0168 USD" broken
expect 1 "0 asked now.*in all 6 calls, 6600 tokens, 0.0168 USD" broken
check "all that was sent is in the books" "6" "$(find "$work/log" -name 'gpt-4.1@broken.*' | wc -l)"
uncounted() { http --attempts 9 --run uncounted --model gpt-4.1@uncounted --parallel 1 --no-final --max-tokens 3000 --budget-usd 0.08; }
expect 1 "3 asked now.*cost not known" uncounted
expect 1 "the budget of 0.08 USD may be used up, as some replies. cost is not known" uncounted
expect 1 "0 asked now.*cost not known" uncounted
# refine asks with twice the tokens after a reply that was cut off, but not with more than the model allows.
expect 1 "4 asked now, 0 judged now; in all 5 calls" http --method refine --turns 4 --run capped --model capped --max-tokens 2000
check "no turn is lost" "cut_off" "$(sql "SELECT DISTINCT outcome FROM step WHERE run = 'capped'")"
expect 1 "the budget of 0.03 USD is used up" http --attempts 9 --run http8 --model gpt-4.1 --max-tokens 3000 --budget-usd 0.03
# An endpoint without money does not end what others do; the same command asks it again, and the run is done again byte for byte.
parted() { http --method swarm --turns 3 --run parted --model gpt-4.1@parted --model gone --no-final "$@"; }
parts() { sql "SELECT group_concat(model || ' ' || n, ' ') FROM (SELECT model, count(*) AS n FROM step WHERE run = 'parted' AND finish NOT IN ('unserved', 'under_way') GROUP BY model ORDER BY model)"; }
expect 3 "gone was not asked any more: .*there is no money or quota left.*the same command asks it again" parted
check "the other one goes on" "gpt-4.1@parted 3" "$(parts)"
expect 3 "kernelbench/1/19 +3 +2 +1 +0 .*waits for its model" parted
expect 0 "steps came out as they are stored" parted --replay
touch "$work/log/paid"
expect 1 "3 asked now" parted
check "both have had their tries" "gone 3 gpt-4.1@parted 3" "$(parts)"
expect 0 "steps came out as they are stored" parted --replay
expect 0 "^parted +6 > " "$assay" score parted
# What a busy server did not do is no failure of the model's: the same attempts are made by the same command.
rm "$work/log/paid"
storm() { http --attempts 3 --run storm2 --model busy-until-paid --server-wait 0 --no-final --parallel 1; }
expect 3 "status 503, .*--server-wait" storm
check "nothing was counted against it" "0" "$(sql "SELECT count(*) FROM step WHERE run = 'storm2' AND NOT (finish = 'unserved' AND usd = 0)")"
touch "$work/log/paid"
expect 1 "3 asked now" storm
check "the attempts are there" "0 no_code 1 judged 2 judged" "$(sql "SELECT group_concat(number || ' ' || outcome, ' ') FROM (SELECT * FROM step WHERE run = 'storm2' AND number >= 0 ORDER BY number)")"
kill $server
wait $server 2>/dev/null
expect 3 "cannot be reached" http --run http9 --model m
expect 2 "would send the key where others can read it" ask --run http10 --endpoint http://example.com/v1 --model m --key-env HOME

# Replies that their cap cut off: the rest is asked for, once. Of 0 it says the line again, after a new fence; of 1 it is cut
# off as well; 2 has no code yet, and nothing is asked. A run that ended when a half was stored asks for the rest alone.
cuts=$work/cuts log=$work/cut-log
mkdir "$cuts" "$log"
kernel 'y[i] = x[i] < 0 ? 0 : x[i];' | fenced >"$cuts/whole"
at=$(($(grep -bo 'y\[i\] = ' "$cuts/whole" | cut -d: -f1) + 7))
{ echo "cut $at"; cat "$cuts/whole"; } | tee "$cuts/0" >"$cuts/1"
{ echo 'cut 9'; cat "$cuts/whole"; } >"$cuts/2"
{ echo '```c'; sed -n '/y\[i\] =/,$p' "$cuts/whole"; } >"$cuts/rest.0"
{ echo 'cut 5'; echo 'x[i] < 0 ? 0 : x[i];'; } >"$cuts/rest.1"
python3 "$source/tests/program/make_server.py" "$cuts" "$log" & server=$!
for _ in $(seq 200); do [ -e "$log/port" ] && break; sleep 0.05; done
cut_run() { ask --endpoint "http://127.0.0.1:$(cat "$log/port")/v1" --parallel 1 --no-final --attempts 3 "$@"; }
cut_steps() { sql "SELECT group_concat(number || ' ' || outcome || ' ' || calls || ' ' || finish, ', ') FROM (SELECT * FROM step WHERE run = '$1' ORDER BY number)"; }
expect 0 "3 asked now, 1 judged now; in all 5 calls, 5500 tokens, 0.0140 USD" cut_run --run cut --model gpt-4.1
check "cut off, and joined" "0 judged 2 stop, 1 cut_off 2 length, 2 cut_off 1 length" "$(cut_steps cut)"
check "joined without a seam" "$(sed -n '/^#include/,/^}/p' "$cuts/whole")" "$(sql "SELECT code FROM step WHERE run = 'cut' AND number = 0")"
check "what is said" "assistant user True" "$(python3 -c 'import json, sys
m = json.load(open(sys.argv[1]))["messages"]
print(m[-2]["role"], m[-1]["role"], "cut off" in m[-1]["content"] and m[-2]["content"].endswith("y[i] = "))' "$log/gpt-4.1.rest.0")"
expect 0 "3 steps came out as they are stored" cut_run --run cut --model gpt-4.1 --replay
expect 1 "the budget of 1 calls is used up" cut_run --run half --model gpt-4.1@half --budget-calls 1
check "no rest without a budget for it" "0 cut_off 1 length" "$(cut_steps half)"
sql "UPDATE step SET outcome = 'replied' WHERE run = 'half'"
expect 0 "2 asked now, 1 judged now; in all 5 calls" cut_run --run half --model gpt-4.1@half
check "a half is gone on with" "$(cut_steps cut)" "$(cut_steps half)"
# Money that ends between a reply and its rest: the next process asks for the rest alone.
expect 3 "2 asked now, 0 judged now; in all 4 calls, 2200 tokens" cut_run --run poor --model gpt-4.1@poor
touch "$log/paid"
expect 0 "1 asked now, 1 judged now; in all 7 calls, 5500 tokens, 0.0140 USD" cut_run --run poor --model gpt-4.1@poor
check "the rest alone" "0 judged 3 stop, 1 cut_off 3 length, 2 cut_off 1 length" "$(cut_steps poor)"
# A folder of texts of before there was one for this.
cp -r "$source/prompts" "$work/older"
rm "$work/older/continue.txt"
expect 1 "3 asked now, 0 judged now; in all 3 calls" cut_run --run older --model gpt-4.1@older --prompts "$work/older"
check "no rest without a text for it" "0 cut_off 1 length, 1 cut_off 1 length, 2 cut_off 1 length" "$(cut_steps older)"
kill $server
wait $server 2>/dev/null

# Texts that a user copied and changed.
cp -r "$source/prompts" "$work/prompts"
echo 'Be brief. {{unknown}}' >"$work/prompts/first.txt"
expect 2 "first.txt, line 1: there is no value \{\{unknown\}\}" make --attempts 1 --run own --prompts "$work/prompts"
echo 'Be brief: {{task}}.' >"$work/prompts/first.txt"
expect 1 "own" make --attempts 1 --run own2 --prompts "$work/prompts"
check "its own words" "1" "$(grep -c "^Be brief: kernelbench/1/19.$" "$work/model/prompt.0")"
expect 0 "^{" make --attempts 9 --run sample --json

echo "make: $passes checks passed, $failures failed"
[ $failures = 0 ]
