#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Work before the clock gains nothing: a kernel that has its answer when a call begins, cold or hot, still gets the time of
# the work. And work that is left for after the clock counts. It says itself what that takes of a processor, which does not depend on what else the machine does.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_PROC=$source/tests/support/quiet
judged() { # judged TWIN FILE TASK OPTION...
  local twin=$1
  "$assay" judge "$3" "$source/tests/cheats/$2" --define "$twin" "${@:4}" --no-probes --no-store --samples 10 --json \
    >"$work/verdict.json"
  [ $? -le 1 ] || exit 1
  python3 - "$work/verdict.json" "$twin" <<'END' || exit 1
import json, re, sys
verdict = json.load(open(sys.argv[1]))[0]
if verdict["verdict"] != "pass":  # a second thread that did not get its processor in time is seen at work
    sys.exit(0 if (sys.argv[2], verdict["verdict"]) == ("SECOND", "late_work") else f"{sys.argv[2]}: {verdict['verdict']}")
least = min(int(ns) for ns in re.findall(r"^work (\d+)$", verdict["diagnostics"], re.M))
t = verdict["timing"]
print(sys.argv[2], "works for", least, "ns; cold", t.get("median_ns"), "hot", t.get("hot_ns"))
for name in ("median_ns", "hot_ns"):
    if t["measured"] and t[name] is not None and t[name] < least / 2:
        sys.exit("work before or after the clock paid")
END
}
for twin in IMPOSTOR SLOW_NULL SECOND BY_ROWS; do
  times=8
  [ $twin = BY_ROWS ] && times=1
  judged $twin before_the_clock.c kernelbench/1/47 --define ROWS=2048 --define TIMES=$times --workload "B=4, M=2048, N=255"
done
# A tenth of a millisecond, which a machine that makes the runner wait for its turn would leave room for.
judged IMPOSTOR before_the_clock.c kernelbench/1/47 --define ROWS=256 --define TIMES=1 --workload "B=4, M=256, N=255"
for twin in LATE IN_PARTS; do
  judged $twin after_the_clock.c kernelbench/1/19 --define BYTES=8388608 --workload "M=16, N=255"
done
