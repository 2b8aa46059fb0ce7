#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What a candidate in the runner's place gains on the way to the start line: its time next to that of the honest kernel with
# the same work, by one judge or several. On processors that nobody else uses; elsewhere it says what a busy machine gives.
#
#   bench/slack.sh TIMES ASSAY...
#
# A line for each judgement: rows (16 of 255 numbers, four times, are some 11 us of work), form, judge, cold and hot time in ns,
# the least and the middle of the times that the impostor's work took of a processor.
set -eu
times=$1
shift
house=$(realpath "$(dirname "$0")/..")
export ASSAY_PROC="$house/tests/support/quiet" # times are given however busy the machine is
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for _ in $(seq "$times"); do
  for rows in 8 16 64; do
    for form in HONEST IMPOSTOR; do
      for assay in "$@"; do
        "$assay" judge kernelbench/1/47 "$house/tests/cheats/before_the_clock.c" --define $form --define ROWS=$rows \
          --define TIMES=1 --workload "B=4, M=$rows, N=255" --no-probes --no-store --samples 60 --json >"$work/verdict.json"
        python3 - "$work/verdict.json" $rows $form "$assay" <<'END'
import json, re, sys
v = json.load(open(sys.argv[1]))[0]
spent = sorted(int(ns) for ns in re.findall(r"^work (\d+)$", v["diagnostics"], re.M))
t = v["timing"]
print(*sys.argv[2:], v["verdict"], t["median_ns"], t["hot_ns"], *(spent[:1] + spent[len(spent) // 2:len(spent) // 2 + 1]))
END
      done
    done
  done
done
