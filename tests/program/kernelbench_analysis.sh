#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernelbench_analysis.sh ASSAY SOURCE: KernelBench's own analysis script reads what `assay export` writes, and counts what
# we did. 77: KERNELBENCH names no checkout, or python3 ($KERNELBENCH_PYTHON) has not what the script imports.
set -eu
assay=$1 source=$2 python=${KERNELBENCH_PYTHON:-python3}
if [ -z "${KERNELBENCH:-}" ]; then
  echo "skipped: KERNELBENCH names no checkout of KernelBench"
  exit 77
fi
"$python" -c 'import pydra, tabulate, numpy' 2>/dev/null || {
  echo "skipped: $python has no pydra, tabulate or numpy, which KernelBench's script imports"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export ASSAY_STORE="$folder/store.sqlite"
mkdir "$folder/kernels"
cp "$source/tests/cases/relu.c" "$folder/kernels/level_1_problem_19_sample_0_kernel.c"
sed '/assay: /d' "$source/tests/cases/sigmoid.c" >"$folder/kernels/level_1_problem_22_sample_0_kernel.c" # for tanh: wrong
"$assay" bench kernelbench/1 --from "$folder/kernels" --run ours >/dev/null || [ $? = 1 ]
"$assay" export ours --to "$folder/runs" >/dev/null
cd "$KERNELBENCH"
PYTHONPATH=src "$python" scripts/benchmark_eval_analysis.py run_name=ours level=1 hardware=H100_PCIe_LambdaLabs \
  baseline=baseline_time_torch eval_results_dir="$folder/runs" >"$folder/out" 2>&1 || {
  cat "$folder/out"
  exit 1
}
cat "$folder/out"
grep -q 'Successfully compiled: 2$' "$folder/out" && grep -q 'Functionally correct: 1$' "$folder/out"
