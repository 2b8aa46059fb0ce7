#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What other programs read of bench and score (CSV, Markdown, JUnit), and judge --watch.
set -uo pipefail
assay=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
# A pass, a failure with hostile letters in its name and messages, a file that cannot be judged, one of another device.
mkdir "$work/kernels"
cp "$source/tests/cases/relu.c" "$source/tests/opencl/relu.cl" "$work/kernels/"
odd=$'=a,"b" <&>|\001.c'
printf '// assay: task kernelbench/1/19\n#error "<&> \001, \\"quoted\\" ]]>"\n' >"$work/kernels/$odd"
ln -s nowhere.c "$work/kernels/level_1_problem_19_sample_0_kernel.c"
bench() {
  "$assay" bench kernelbench/1/19 --from "$work/kernels" --run one --no-timing --no-probes --device cpu "$@"
}
bench --csv >"$work/csv" 2>/dev/null
bench --junit >"$work/junit.xml" 2>/dev/null
bench --markdown >"$work/markdown" 2>/dev/null
"$assay" score one --junit >"$work/score.xml"
"$assay" score one --csv >"$work/score.csv"
expect 0 "^run,level,device,.*pass_at_1" cat "$work/score.csv"
expect 0 "^one,kernelbench/1,cpu" cat "$work/score.csv"
expect 0 "^\| run \| level \| correct" "$assay" score one --markdown
expect 0 "^fine$" python3 - "$work" <<'P'
import csv, sys, xml.etree.ElementTree as tree
work = sys.argv[1]
rows = list(csv.DictReader(open(work + "/csv", newline="")))
by = {row["verdict"]: row for row in rows}
assert len(rows) == 4 and set(by) == {"pass", "build_failed", "judge_failed", "not_judged"}, by
assert by["pass"]["candidate"] == work + "/kernels/relu.c" and float(by["pass"]["error_allowed"]) > 1
assert by["build_failed"]["candidate"].endswith(',"b" <&>|?.c'), by
assert not any(ord(c) < 32 and c not in "\r\n\t" for row in rows for cell in row.values() for c in cell)
assert by["pass"]["command"].startswith("assay judge") and by["pass"]["time_ns"] == ""
suite = tree.parse(work + "/junit.xml").getroot().find("testsuite")
counts = [suite.get(k) for k in ("name", "tests", "failures", "errors", "skipped")]
assert counts == ["one", "4", "1", "1", "1"], counts
failure = suite.find(".//failure")
assert failure.get("type") == "build_failed" and "<&>" in failure.text and "\x01" not in failure.text, failure.text
stored = tree.parse(work + "/score.xml").getroot().find("testsuite")
assert [stored.get(k) for k in ("tests", "failures", "errors")] == ["2", "1", "0"]
lines = open(work + "/markdown").read().splitlines()
bars = {line.replace("\\|", "").count("|") for line in lines}
assert len(lines) == 6 and bars == {10}, (lines, bars)
print("fine")
P
# `judge` has them, too; what cannot be judged here is a row, an error.
judge() { "$assay" judge kernelbench/1/19 "$source/tests/cases/relu.c" "$work/nosuch.c" --no-timing --no-probes --no-store "$@"; }
expect 2 "^,kernelbench/1/19,.*/relu.c,small,pass,|,kernelbench/1/19,.*relu.c,small,pass," judge --csv
expect 2 "nosuch.c,small,judge_failed," judge --csv
expect 2 "^run,task,candidate,workload,verdict" judge --csv
expect 2 '<testsuite name="kernelbench/1/19" tests="2" failures="0" errors="1"' judge --junit
expect 2 "^\| kernelbench/1/19 \| relu.c \| pass" judge --markdown
sed 's/assay_args \*args) {/&\n  for (volatile int64_t i = 0; i < 10000000; i++)\n    ;/' "$source/tests/cases/relu.c" >"$work/slow.c" # a wait for a processor is little beside it
"$assay" judge kernelbench/1/19 "$work/slow.c" --no-probes --no-store --baseline "$work/slow.c" --samples 12 --csv >"$work/beside.csv"
expect 0 "^fine$" python3 - "$work/beside.csv" <<'P'
import csv, sys
row, = csv.DictReader(open(sys.argv[1], newline=""))
assert row["baseline"].endswith("slow.c") and 0.1 < float(row["speedup"]) < 10, row
print("fine")
P
expect 2 "for verdicts alone" judge --csv --json
expect 2 "for verdicts alone" judge --junit --watch
expect 2 "one of --csv, --markdown and --junit" judge --csv --junit
expect 2 "one of --csv, --markdown and --junit" bench --csv --junit
expect 2 "one of them" "$assay" bench kernelbench --from . --csv --json
expect 2 "takes one run" "$assay" score --junit
expect 2 "for scores alone" "$assay" score one --csv --json

# Saved in place and by renaming, as editors do; the exit code is the last verdict's, and Ctrl-C leaves nothing behind.
cp "$source/tests/cases/relu.c" "$work/live.c"
mkdir "$work/tmp"
TMPDIR=$work/tmp "$assay" judge kernelbench/1/19 "$work/live.c" --watch --no-timing --no-probes >"$work/watch" 2>"$work/told" &
watcher=$!
reached() { # reached COUNT: so many judgements are printed and it waits again
  for ((i = 0; i < 600; i++)); do
    [ "$(grep -c watching "$work/told")" = "$1" ] && return
    kill -0 $watcher 2>/dev/null || return
    sleep 0.1
  done
}
reached 1
echo 'int broken(' >"$work/live.c"
reached 2
sed 's/< 0/> 0/' "$source/tests/cases/relu.c" >"$work/new.c" && touch "$work/other.c" && mv "$work/new.c" "$work/live.c"
reached 3
kill -TERM $watcher # a shell without job control has its children ignore Ctrl-C
wait $watcher
ended=$?
expect 0 "^[01]$" echo $ended
expect 0 "^pass build_failed (pass|wrong_value)$" sh -c 'sed -nE "s/^kernelbench.1.19 +live.c +([a-z_]+) .*/\1/p" "$1" | xargs' sh "$work/watch"
expect 0 "^0$" sh -c 'ls "$1" | wc -l' sh "$work/tmp"
expect 2 "cannot watch the folder" "$assay" judge kernelbench/1/19 "$work/nowhere/x.c" --watch

# Settings that stay: the environment before a project's file, that before one's own; a project names no program.
mkdir -p "$work/config/assay" "$work/project/deep" "$work/project/mine/1"
cd "$work/project/deep" || exit 1
settings() { env -u ASSAY_STORE -u ASSAY_PYTHON XDG_CONFIG_HOME="$work/config" "$@"; }
echo 'store = own.sqlite' >"$work/config/assay/assay.conf"
settings "$assay" judge kernelbench/1/19 "$source/tests/cases/relu.c" --no-timing --no-probes >/dev/null
expect 0 "own.sqlite" ls "$work/config/assay"
printf '# ours\n\n  store = data/here.sqlite\n' >"$work/project/assay.conf"
settings "$assay" judge kernelbench/1/19 "$source/tests/cases/relu.c" --no-timing --no-probes >/dev/null
expect 0 "here.sqlite" ls "$work/project/data"
expect 0 "^one " settings env ASSAY_STORE="$work/store.sqlite" "$assay" score one
expect 0 "^one " settings "$assay" score one --store "$work/store.sqlite"
echo 'pyton = x' >"$work/config/assay/assay.conf"
expect 2 "config/assay/assay.conf:1: there is no setting pyton; did you mean python\?" settings "$assay" score
echo 'python = /opt/python' >"$work/config/assay/assay.conf"
expect 0 "/opt/python" settings "$assay" doctor
echo 'python = ./evil' >>"$work/project/assay.conf"
expect 2 "project/assay.conf:4: a project's file may not set python" settings "$assay" score
echo 'nonsense' >"$work/project/assay.conf"
expect 2 "project/assay.conf:1: write .key = path" settings "$assay" score
report
