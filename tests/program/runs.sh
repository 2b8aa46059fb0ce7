#!/bin/bash
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
expect 2 "no run named .none." "$assay" compare old none

expect 0 "run .old.: 2 verdicts merged into it" runs merge old newer
expect 0 "^old +2/2 +2 " runs
expect 1 "newer" sh -c '"$1" runs | grep -o newer || { echo no newer; exit 1; }' sh "$assay"
expect 2 "cannot be undone; say --yes" runs delete old
json 0 runs delete old --yes --json
expect 2 "no run named .old." runs delete old --yes
report
