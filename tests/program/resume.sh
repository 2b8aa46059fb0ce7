#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bench that is killed at random moments, two benches at once, and Ctrl-C: every candidate gets exactly one verdict.
set -euo pipefail
assay=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
candidates=(relu sigmoid tanh scale elu selu softplus softsign hardtanh gelu_erf sum_middle_rows cumsum)
mkdir "$work/candidates"
for c in "${candidates[@]}"; do cp "$source/tests/cases/$c.c" "$work/candidates/"; done
count=${#candidates[@]}

bench() { "$assay" bench kernelbench/1 --from "$work/candidates" --samples 20 --store "$1" --run resume; }
check() { # check STORE: complete, single, sound
  local rows distinct
  rows=$(sqlite3 "$1" "SELECT count(*) FROM verdict WHERE run = 'resume'")
  distinct=$(sqlite3 "$1" "SELECT count(DISTINCT candidate) FROM verdict WHERE run = 'resume'")
  [ "$(sqlite3 "$1" 'PRAGMA integrity_check')" = ok ] || { echo "the store is damaged"; exit 1; }
  [ "$rows" = "$count" ] && [ "$distinct" = "$count" ] || { echo "$rows verdicts of $distinct candidates, not $count"; exit 1; }
}

kills=0
store=$work/killed.sqlite
for attempt in $(seq 1 60); do
  bench "$store" >"$work/out" 2>&1 &
  pid=$!
  sleep "0.$((RANDOM % 900 + 100))"
  if kill -9 $pid 2>/dev/null; then kills=$((kills + 1)); fi
  wait $pid 2>/dev/null || true
  [ -f "$store" ] || continue
  done_now=$(sqlite3 "$store" "SELECT count(*) FROM verdict" 2>/dev/null || echo 0)
  [ "$done_now" = "$count" ] && break
done
bench "$store" >"$work/out"
check "$store"
echo "killed $kills times: $count candidates, $count verdicts"

store=$work/two.sqlite
bench "$store" >"$work/first" & first=$!
bench "$store" >"$work/second" & second=$!
wait $first
wait $second
check "$store"
judged=$(cat "$work/first" "$work/second" | sed -n 's/.*: \([0-9]*\) judged now.*/\1/p' | paste -sd+ | bc)
[ "$judged" = "$count" ] || { echo "two benches at once judged $judged, not $count"; cat "$work/first" "$work/second"; exit 1; }
echo "two at once: $count candidates, $judged judgements"

store=$work/interrupted.sqlite
bench "$store" >"$work/out" 2>&1 & pid=$!
sleep 1
kill -INT $pid
status=0
wait $pid || status=$?
[ "$status" = 130 ] || [ "$status" = 0 ] || { echo "Ctrl-C ended with $status"; cat "$work/out"; exit 1; }
bench "$store" >"$work/out"
check "$store"
echo "interrupted: nothing lost"

# A second Ctrl-C ends at once, in the middle of a call that would never end, and what is printed has the time so far.
store=$work/at_once.sqlite
mkdir "$work/endless"
cp "$source/tests/cases/relu.c" "$work/endless/a.c"
cat >"$work/endless/b.c" <<'C'
// assay: task kernelbench/1/19
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  for (volatile int i = 0; args; i = 0)
    (void)i;
}
C
at_once() { # 1: the first Ctrl-C came between two candidates, and so ended it
  rm -f "$store"
  "$assay" bench kernelbench --from "$work/endless" --no-timing --timeout 600 --run resume --store "$store" >"$work/out" 2>&1 & pid=$!
  until [ "$(sqlite3 "$store" "SELECT count(*) FROM verdict" 2>/dev/null || echo 0)" = 1 ]; do sleep 0.1; done
  sleep 1
  kill -INT $pid
  until grep -q "press Ctrl-C again" "$work/out"; do sleep 0.1; done
  sleep 0.5
  kill -INT $pid 2>/dev/null || return 1
  status=0
  wait $pid || status=$?
}
tries=0
until at_once; do
  tries=$((tries + 1))
  [ $tries -lt 20 ] || { echo "the first Ctrl-C ended it 20 times"; cat "$work/out"; exit 1; }
done
if [ "$status" != 130 ] || ! grep -q "1 judged now (1 passed).* kernels/s" "$work/out" || grep -q "inf kernels" "$work/out"; then
  echo "a second Ctrl-C ended with $status"
  cat "$work/out"
  exit 1
fi
echo "interrupted twice: the time so far"
