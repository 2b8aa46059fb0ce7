#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# strangers.sh ASSAY [WORKLOAD [AT_ONCE]]: forms in which people and models write Python candidates (tests/gpu/strangers), each
# judged on the GPU and compared with what is expected of it. Needs a Python with PyTorch and Triton in ASSAY_PYTHON, CuPy
# for one of them; nvcc and ninja. A line for each; ends with 1 if one is not as expected.
set -u
assay=$(realpath "$1") workload=${2:-small} at_once=${3:-4}
folder=$(realpath "$(dirname "$0")/strangers")
export assay workload
judge_one() {
  file=$1
  task=$(sed -n 's/^# assay: task //p' "$file") expected=$(sed -n 's/^# assay: expect //p' "$file")
  said=$(timeout 300 "$assay" judge "$task" "$file" --device cuda --workload "$workload" --no-store --no-timing --json 2>/dev/null |
    python3 -c 'import json, sys
v = json.load(sys.stdin)[0]
print(v["verdict"], v["mode"], v["detail"][:160])' 2>/dev/null)
  reason=${said%% *}
  case "|$expected|" in
    *"|$reason|"*) echo "as expected: $(basename "$file") $said" ;;
    *) echo "NOT: $(basename "$file") expected $expected, got ${said:-no verdict}" ;;
  esac
}
[ "${ONE:-}" = "" ] || { judge_one "$ONE"; exit 0; }
find "$folder" -name '*.py' | sort | xargs -P "$at_once" -I{} env ONE={} sh "$0" "$assay" "$workload" | tee "${TMPDIR:-/tmp}/strangers.$$"
wrong=$(grep -c '^NOT' "${TMPDIR:-/tmp}/strangers.$$")
rm -f "${TMPDIR:-/tmp}/strangers.$$"
echo "$wrong not as expected"
[ "$wrong" = 0 ]
