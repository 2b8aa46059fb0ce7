#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several workloads of one task: --workload each, and patterns.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
task=fusedops/softmax/fp32_softmax
cheap=(--no-timing --no-probes --threads 2)
json 0 "$assay" judge $task "$source/tests/fusedops/softmax.c" --workload 'odd0[12]' "${cheap[@]}" --json
cp "$work/out" "$work/two.json"
expect 0 '^odd01 odd02$' python3 -c "import json; print(*[v['workload'] for v in json.load(open('$work/two.json'))])"
expect 0 "$task odd02 +softmax.c +pass" "$assay" judge $task "$source/tests/fusedops/softmax.c" --workload 'odd0[12]' "${cheap[@]}"
expect 2 "has no workload 'zz\*'" "$assay" judge $task "$source/tests/fusedops/softmax.c" --workload 'zz*' "${cheap[@]}"
# A bench has a verdict at each; what is there is not judged again when the sweep grows.
expect 0 '1 judged now \(1 passed\), 0 done before' \
  "$assay" bench fusedops --from "$source/tests/fusedops" --only softmax.c --run s --workload odd01 "${cheap[@]}"
expect 0 '1 judged now \(1 passed\), 1 done before' \
  "$assay" bench fusedops --from "$source/tests/fusedops" --only softmax.c --run s --workload 'odd0[12]' "${cheap[@]}"
expect 0 '^s .*odd01,odd02' "$assay" runs
expect 2 "has no workload 'zz\*'" \
  "$assay" bench fusedops --from "$source/tests/fusedops" --only softmax.c --run s --workload 'zz*' "${cheap[@]}"
report
