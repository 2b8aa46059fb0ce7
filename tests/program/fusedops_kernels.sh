#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The CUDA kernels of kernels/fusedops and their twins compile, and give a plan at the small and a ragged workload, without a
# GPU. Left out where there is no NVRTC.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
"$assay" doctor | grep -q '^nvrtc *ok' || { echo "no NVRTC here"; exit 77; }
made=0 failed=0
make() { # make TASK FILE WORKLOAD [MACRO]
  if "$assay" plan save "$1" "$2" --workload "$3" ${4:+--define "$4"} >"$work/plan" 2>"$work/err"; then
    made=$((made + 1))
  else
    failed=$((failed + 1))
    echo "FAILED: $(basename "$2") ${4:-} at $3"
    head -n 4 "$work/err"
  fi
}
for file in "$source"/kernels/fusedops/*.cu; do
  task=$(sed -n 's,^// assay: task ,,p' "$file")
  for workload in small ragged0; do make "$task" "$file" $workload; done
  for twin in $(sed -n 's,^// assay: twin \([A-Z_]*\) .*,\1,p' "$file"); do make "$task" "$file" small "$twin"; done
done
echo "$made plans, $failed failed"
[ $failed = 0 ] && [ $made -ge 60 ]
