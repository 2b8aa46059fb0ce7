#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# short_memory.sh ASSAY ROOT: layers of LSTM and GRU that look at the last 32 of 64 steps alone are refused at each task of
# the kind, as its weights are such that states last. With the published weights they pass, and with the whole history,
# too. About 40 s.
set -eu
assay=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed '/^\/\/ assay:/d' "$2/tests/cheats/short_memory_layers.c" >"$work/layers.c"
verdict() { # TASK SIZES MACRO MACRO [--as-published]
  task=$1 sizes=$2 returns=$3 memory=$4
  shift 4
  "$assay" judge "kernelbench/3/$task" "$work/layers.c" --workload "M=1, S=64, K=8, H=128, $sizes" --define "$returns" \
    --define "$memory" "$@" --checks 1 --no-probes --no-timing --no-store --json >"$work/verdict.json" || [ $? = 1 ]
  python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[0]["verdict"])' "$work/verdict.json"
}
while read -r task returns sizes; do
  whole=$(verdict "$task" "$sizes" "$returns" HONEST) short=$(verdict "$task" "$sizes" "$returns" LOOK=32)
  published=$(verdict "$task" "$sizes" "$returns" LOOK=32 --as-published)
  case $whole,$short,$published in
  pass,low_precision,pass | pass,wrong_value,pass) ;;
  *)
    echo "3/$task: $whole with the whole history, $short with 32 steps, $published as published" >&2
    exit 1
    ;;
  esac
done <<END
35 LINEAR G=512, P=10
36 STATES G=512
37 CELLS G=512
38 LINEAR G=512, H2=256, P=10
39 STEPS G=384
40 STATES G=384
41 STEPS G=384, H2=256
42 STATES G=384, H2=256
END
