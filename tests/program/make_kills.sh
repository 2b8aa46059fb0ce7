#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every method of `assay make` over two tasks, four requests at once, killed with kill -9 at ten random instants and then
# finished: every step is that of a run that nobody disturbed, nothing is judged twice, the books miss no call, and
# --replay does it again byte for byte.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
# shellcheck source=tests/support/expect.sh
. "$source/tests/support/expect.sh"
check() { # check WHAT EXPECTED GOT
  if [ "$2" = "$3" ]; then passes=$((passes + 1)); else
    failures=$((failures + 1)); printf 'FAILED: %s: expected\n%s\ngot\n%s\n' "$1" "$2" "$3"; head -n 5 "$work/out"
  fi
}
sql() { sqlite3 "$ASSAY_STORE" "$1"; }

# A model: of five steps one has no code, one is wrong, one does not compile, and two are right, each another program.
cat >"$work/model.sh" <<END
cat >/dev/null
echo "\$ASSAY_TASK \$ASSAY_STEP" >>"$work/asked"
[ ! -e "$work/slow" ] || sleep 0.0\$((ASSAY_STEP * 7 % 9))
[ \$((ASSAY_STEP % 5)) != 1 ] || { echo "A loop over all elements."; exit; }
echo '\`\`\`c'
case \$((ASSAY_STEP % 5)) in
0) sed 's/return v > 0 ? v : 0/return v/;s/x\[i\] < 0 ? 0 : //' "$source/tests/cases/relu.c"; echo "int w\$ASSAY_STEP = no_such_name;";;
2) echo '#include <assay/candidate.h>'; echo "int w\$ASSAY_STEP; void assay_kernel(const struct assay_args *args) { (void)args; }";;
*) cat "$source/tests/cases/relu.c"; echo "int x\$ASSAY_STEP;";;
esac
echo '\`\`\`'
END
command=("$assay" make kernelbench/1/19 kernelbench/1/20 --device cpu --no-timing --workload small --no-final --parallel 4 --seed 7
  --feedback execution --secret 8 --method-seed 5 --endpoint "exec:sh $work/model.sh")
make() { "${command[@]}" --run "$1" --method "${@:2}"; } # make RUN METHOD...
everything() { sql "SELECT task, number, kind, model, outcome, parent, same_as, lane, finish, detail, code_hash, hex(code), hex(prompt), feedback,
  (SELECT reason FROM verdict WHERE id = step.verdict) FROM step WHERE run = '$1' AND number >= 0 ORDER BY task, number"; }
seed=${ASSAY_KILL_SEED:-$RANDOM}
RANDOM=$seed
echo "make_kills: ASSAY_KILL_SEED=$seed"
for method in "greedy" "sample --attempts 6" "refine --turns 6" "reflect --turns 4" "evolve --attempts 2 --turns 3" \
  "swarm --turns 4 --feed-best --model a --model b"; do
  name=${method%% *} instants=
  read -ra words <<<"$method"
  rm -f "$work/asked" "$work/slow"
  make "$name calm" "${words[@]}" >"$work/out" 2>&1
  calm=$(wc -l <"$work/asked")
  touch "$work/slow"
  rm -f "$work/asked"
  for _ in $(seq 10); do
    ms=$((RANDOM % 600 + 20))
    "${command[@]}" --run "$name killed" --method "${words[@]}" >"$work/out" 2>&1 & pid=$! # the program's own
    sleep "0.$(printf '%03d' $ms)"
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
    instants="$instants $ms ($(sql "SELECT count(*) FROM step WHERE run = '$name killed' AND number >= 0 AND outcome <> 'replied'"))"
  done
  echo "make_kills: $name, killed after so many ms, with so many steps done:$instants"
  rm "$work/slow"
  make "$name killed" "${words[@]}" >"$work/out" 2>&1
  everything "$name calm" >"$work/calm"
  everything "$name killed" >"$work/killed"
  check "$name: as if nothing had been" "" "$(diff "$work/calm" "$work/killed" | cut -c -300)"
  steps=$(sql "SELECT count(*) FROM step WHERE run = '$name calm' AND number >= 0") lost=$(sql "SELECT coalesce(sum(calls), 0) FROM step WHERE run = '$name killed' AND finish = 'under_way'")
  check "$name: a call for each step" "$calm $calm" "$steps $(sql "SELECT sum(calls) FROM step WHERE run = '$name calm'")"
  check "$name: no call is missing in the books" "$((steps + lost)) 1" \
    "$(sql "SELECT sum(calls) FROM step WHERE run = '$name killed'") $(($(wc -l <"$work/asked") <= steps + lost))"
  check "$name: nothing is judged twice" "$(sql "SELECT count(*) FROM verdict WHERE run = '$name calm'")" "$(sql "SELECT count(*) FROM verdict WHERE run = '$name killed'")"
  for run in calm killed; do
    expect 0 "\b$steps steps came out as they are stored" make "$name $run" "${words[@]}" --replay
  done
done
check "sound" "ok" "$(sql "PRAGMA integrity_check")"
echo "make_kills: $passes checks passed, $failures failed"
[ $failures = 0 ]
