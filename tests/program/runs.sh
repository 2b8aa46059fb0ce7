#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs: listed, renamed, merged, deleted, compared. Verdicts are made once; what is compared is written into the store.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
. "$source/tests/support/expect.sh"
mkdir "$work/kernels"
cp "$source/tests/cases/relu.c" "$source/tests/cases/sigmoid.c" "$work/kernels/"
bench() { "$assay" bench kernelbench/1 --from "$work/kernels" --no-timing --no-probes --checks 1 "$@"; }
runs() { "$assay" runs "$@" </dev/null; }

expect 0 "2 judged now .2 passed" bench --run old
expect 0 "1 judged now .1 passed" bench --run new --only relu.c
expect 0 "^old +2/2 +2 +small +cpu +20[0-9-]+ [0-9:]+$" runs
json 0 runs --json
expect 0 "verdicts renamed" runs rename new newer
expect 0 "^newer +1/1 +1 " runs
expect 2 "there is a run named .newer. already; .assay runs merge" runs rename old newer
expect 2 "the store has no run named .none." runs rename none other
expect 2 "say assay runs rename RUN NAME" runs rename old
expect 2 "there is no action list" runs list

# Times as they could be: sigmoid 20 us in both, relu 20 and 10 us.
python3 - "$ASSAY_STORE" <<'E'
import random, sqlite3, struct, sys
store = sqlite3.connect(sys.argv[1])
columns = [row[1] for row in store.execute("PRAGMA table_info(verdict)") if row[1] not in ("id", "run")]
names = ", ".join(columns)
store.execute(f"INSERT INTO verdict (run, {names}) SELECT 'newer', {names} FROM verdict WHERE run = 'old' AND task LIKE '%/21'")
draw = random.Random(1)
for number, run, task in store.execute("SELECT id, run, task FROM verdict").fetchall():
    time = 10000 if run == "newer" and task.endswith("/19") else 20000
    samples = [time * draw.uniform(0.99, 1.01) for _ in range(30)]
    store.execute("UPDATE verdict SET time_ns = ?, time_low_ns = ?, time_high_ns = ?, samples = ? WHERE id = ?",
                  (time, time, time, struct.pack("<30d", *samples), number))
store.commit()
E
expect 0 "^kernelbench/1/19 +pass 20.00 us +pass 10.00 us +2 .[0-9.]+ to 2[0-9.]*. +B is faster" "$assay" compare old newer
expect 0 "^kernelbench/1/21 +pass 20.00 us +pass 20.00 us +1 .*no difference shown" "$assay" compare old newer
expect 0 "^right: A 2, B 2; only A 0, only B 0: no difference shown .p = 1.$" "$assay" compare old newer
expect 0 "^times of 2 tasks: B/A 1.41: too few for a verdict" "$assay" compare old newer
json 0 "$assay" compare old newer --json
expect 2 "name two runs" "$assay" compare old

# Scores and charts of the same: relu is twice as fast, sigmoid as fast; the other tasks of the level are missing.
expect 0 "^newer +kernelbench/1 +2/2 +1 .* 1.41 +1.00 1.00 1.00 0.50 0.50 0.00$" "$assay" score newer --baseline old
expect 0 "^newer +kernelbench/1 +2/100 .98 missing. +0.02 .* 0.02 0.02 0.02 0.01 0.01 0.00$" \
  "$assay" score newer --baseline old --of kernelbench/1
expect 2 "nosuch" "$assay" score newer --of nosuch
svg() { python3 -c 'import sys, xml.etree.ElementTree as t; print(t.parse(sys.argv[1]).getroot().findtext("{http://www.w3.org/2000/svg}desc"))' "$1"; }
expect 0 "plot.svg: fast_p of 2 tasks, small on cpu" "$assay" score newer --baseline old --plot fast_p "$work/plot.svg"
expect 0 "^Share of all 2 tasks .* as fast as old. newer: 50 % of the tasks are faster than the baseline" svg "$work/plot.svg"
expect 0 "plot.svg: distribution of 2 tasks" "$assay" score newer --plot distribution "$work/plot.svg"
expect 0 "^2 entries, 2 with a time, .* Fastest: kernelbench/1/19, 10" svg "$work/plot.svg"
expect 0 "plot.svg: roofline of 2 tasks" "$assay" score newer --plot roofline "$work/plot.svg"
expect 0 "No roof of this device was measured.*doctor --calibrate" svg "$work/plot.svg"
if [ -x "$(dirname "$assay")/assay-png" ]; then
  expect 0 "plot.png: roofline" "$assay" score newer --plot roofline "$work/plot.png"
  expect 0 "^b'.x89PNG" python3 -c 'import sys; print(open(sys.argv[1], "rb").read(4))' "$work/plot.png"
else
  expect 2 "install librsvg2-dev" "$assay" score newer --plot roofline "$work/plot.png"
fi
expect 2 "distribution, fast_p or roofline, not .pie." "$assay" score newer --plot pie "$work/plot.svg"
expect 2 "ends with .svg or .png, not .plot.gif." "$assay" score newer --plot roofline plot.gif
expect 2 "name it with --baseline" "$assay" score newer --plot fast_p "$work/plot.svg"
expect 2 "takes one run" "$assay" score newer old --plot roofline "$work/plot.svg"
expect 0 "relu.c: no samples" "$assay" judge kernelbench/1/19 "$work/kernels/relu.c" --no-timing --no-probes --checks 1 \
  --no-store --histogram
expect 2 "no run named .none." "$assay" compare old none
expect 2 "no run named .odl.; did you mean old\?" "$assay" compare odl none

expect 0 "run .old.: 2 verdicts merged into it" runs merge old newer
expect 0 "^old +2/2 +2 " runs
expect 1 "newer" sh -c '"$1" runs | grep -o newer || { echo no newer; exit 1; }' sh "$assay"
expect 2 "cannot be undone; say --yes" runs delete old
json 0 runs delete old --yes --json
expect 2 "no run named .old." runs delete old --yes
report
