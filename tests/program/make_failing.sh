#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `assay make` with servers that fail: retries in the books of a killed run, steps that no server answers, models that
# hang next to others that answer.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
# shellcheck source=tests/support/expect.sh
. "$source/tests/support/expect.sh"
check() { # check WHAT EXPECTED GOT
  if [ "$2" = "$3" ]; then passes=$((passes + 1)); else
    failures=$((failures + 1)); printf 'FAILED: %s: expected\n%s\ngot\n%s\n' "$1" "$2" "$3"; head -n 20 "$work/out"
  fi
}
sql() { sqlite3 "$ASSAY_STORE" "$1"; }
mkdir "$work/replies" "$work/log"
echo "A loop." >"$work/replies/last"
python3 "$source/tests/program/make_server.py" "$work/replies" "$work/log" & server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 200); do [ -e "$work/log/port" ] && break; sleep 0.05; done
url=http://127.0.0.1:$(cat "$work/log/port")/v1
make=("$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" --no-final --endpoint "$url")
steps() { sql "SELECT group_concat(number || ' ' || outcome || ' ' || finish, ', ') FROM (SELECT * FROM step WHERE run = '$1' AND number >= 0 ORDER BY number)"; }

# The third try is under way when the process is killed: three calls are in the books, and the tokens of two, as the
# second was refused.
"${make[@]}" --run stuck --model stuck --method greedy >"$work/out" 2>&1 & pid=$!
for _ in $(seq 200); do [ -e "$work/log/stuck.2" ] && break; sleep 0.05; done
kill -9 $pid
wait $pid 2>/dev/null
check "retries of a killed request" "3 2 1" "$(sql "SELECT calls || ' ' || (output_tokens / 16384) || ' ' || (usd IS NULL) FROM step WHERE run = 'stuck' AND calls > 1")"
expect 1 "3 of these calls were under way when the run was ended; what came of them is not known: at most 3[0-9]{4}" "${make[@]}" --run stuck --model stuck --method greedy

# A step that its server fails at, while it answers others: given up after three tries of three calls, and an attempt.
poison() { "${make[@]}" --run "$1" --model poison --attempts 4 --parallel 1 "${@:2}"; }
expect 1 "^1 attempts were given up" poison poison
check "given up, and an attempt" "0 no_code stop, 1 no_reply server_failed, 2 no_code stop, 3 no_code stop" "$(steps poison)"
check "three tries of three calls" "9" "$(sql "SELECT sum(calls) FROM step WHERE run = 'poison' AND outcome = 'no_reply'")"
expect 1 "0 asked now" poison poison
expect 0 "4 steps came out as they are stored" poison poison --replay
expect 0 "^poison +4 > 0 > 0 > 0 " "$assay" score poison
check "in JSON" "1 4" "$(poison poison --json | python3 -c 'import json, sys; t = json.load(sys.stdin)["tasks"][0]; print(t["given_up"], t["asked"])')"
touch "$work/log/cured"
expect 1 "1 asked now" poison poison --ask-again
check "asked again on purpose, as a step of its own" "0 no_code stop, 1 no_reply unserved, 2 no_code stop, 3 no_code stop, 4 no_code stop" "$(steps poison)"
expect 0 "5 steps came out as they are stored" poison poison --replay
rm "$work/log/cured"
# Later turns go on after it, and are not made again with it.
expect 1 "^1 attempts were given up" "${make[@]}" --run turns --method refine --turns 3 --model poison --parallel 1
check "the turns after it" "0 no_code stop, 1 no_reply server_failed, 2 no_code stop" "$(steps turns)"
expect 1 "0 asked now" "${make[@]}" --run turns --method refine --turns 3 --model poison --parallel 1 --ask-again

# A server that fails at all there is: each process ends, and the third gives the step up.
never() { "${make[@]}" --run never --model never --method greedy; }
for i in 1 2 3; do expect 3 "status 500" never; done
check "nine tries" "0 no_reply server_failed" "$(steps never)"
check "27 calls" "27" "$(sql "SELECT sum(calls) FROM step WHERE run = 'never'")"
expect 1 "1 attempts were given up" never

# Of two models one says nothing, is not there, or is busy: the other is asked all that it is to be asked, in seconds.
others() { sql "SELECT count(*) FROM step WHERE run = '$1' AND model = 'fine' AND outcome = 'no_code' AND number >= 0"; }
for method in "sample --attempts 12" "refine --attempts 2 --turns 3" "evolve --attempts 2 --turns 3" "swarm --turns 3"; do
  name="${method%% *}"
  # shellcheck disable=SC2086
  expect 3 "busy-until-paid was not asked any more: .*--server-wait" "${make[@]}" --method $method --model busy-until-paid --model fine --run "busy $name" --server-wait 1
  # shellcheck disable=SC2086
  expect 3 "absent was not asked any more: .*cannot be reached" "${make[@]}" --endpoint http://127.0.0.1:1/v1 --method $method --model fine --model absent --run "absent $name"
  check "the other one, $name" "$(case $name in sample) echo 6 6;; evolve) echo 6 6;; *) echo 3 3;; esac)" "$(others "busy $name") $(others "absent $name")"
done
# One that hangs holds its own part of the places: the other's replies are there long before it is given up.
"${make[@]}" --method sample --attempts 40 --model silent --model fine --run hangs --parallel 4 >"$work/out" 2>&1 & pid=$!
for _ in $(seq 100); do [ "$(sql "SELECT count(*) FROM step WHERE run = 'hangs' AND model = 'fine' AND outcome = 'replied'")" = 20 ] && break; sleep 0.1; done
check "the other one's replies" "20" "$(sql "SELECT count(*) FROM step WHERE run = 'hangs' AND model = 'fine' AND outcome = 'replied'")"
check "no more of it than its part" "2" "$(find "$work/log" -name 'silent.*' | wc -l)"
kill -9 $pid
wait $pid 2>/dev/null

# A server that reads the first part of a prompt alone, without a word, counts fewer tokens than were sent.
expect 1 "^forgetful: the server seems to have cut 3 prompts: it counted 300 tokens of one with [0-9]{4} bytes" \
  "${make[@]}" --model forgetful --model fine --method sample --run forgetful --attempts 6
check "said at once" "1" "$(grep -c "step 5: .*tokens, 3 prompts cut by their server" "$work/out")"
check "not of the other one" "0" "$(grep -c "^fine: " "$work/out")"
check "in JSON" "0" "$("${make[@]}" --model forgetful --model fine --method sample --run forgetful --attempts 6 --json | python3 -c 'import json, sys; print(len(json.load(sys.stdin)["cut_prompts"]))')"

# A process that is ended before it gets to a task says what others have made of it.
two=("$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --no-final --method sample --run later)
expect 1 "the budget of 2 calls" "${two[@]}" --attempts 2 --budget-calls 2 --endpoint "exec:cat '$source/tests/cases/relu.c'"
expect 1 "^kernelbench/1/20 +1 +1 +1 +0 .*not complete" "${two[@]}" --attempts 2 --budget-calls 2 --endpoint "exec:cat '$source/tests/cases/relu.c'"

report
