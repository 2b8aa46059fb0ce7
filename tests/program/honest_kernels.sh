#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# honest_kernels.sh ASSAY ROOT: every task of KernelBench-X has an honest kernel, in tests/kernelbenchx or written by
# tools/tasks/honest_kernels.py; some of the latter are judged with their wrong twins.
set -eu
assay=$1 root=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 "$root/tools/tasks/honest_kernels.py" "$work/all" >"$work/said"
sed -n 's,^// assay: task ,,p' "$work"/all/*.c "$root"/tests/kernelbenchx/*.c | sort -u >"$work/have"
sed -n 's,^ *"assay.task" : "\(.*\)"\,$,\1,p' "$root"/tasks/kernelbenchx/*/*.onnxtxt | sort -u >"$work/tasks"
if ! [ "$(wc -l <"$work/tasks")" = 184 ] || [ -n "$(comm -13 "$work/have" "$work/tasks")" ]; then
  echo "tasks without an honest kernel:"
  comm -13 "$work/have" "$work/tasks"
  exit 1
fi
python3 "$root/tools/tasks/honest_kernels.py" "$work/c" Math/mul_fp16 Pooling/ Reduce/std LinearAlgebra/cholesky_solve \
  SpatialOps/interpolate Quantization/bmm fused_elu_linear fused_gelu_conv2d
# What reads an input without elements has a plan too, where there is a compiler for it.
if "$assay" doctor --json | grep -B1 '"what": "nvrtc"' | grep -q '"ok"'; then
  python3 "$root/tools/tasks/honest_kernels.py" "$work/cuda" --cuda Random/ grid_sample_with_affine
  for kernel in "$work"/cuda/*.cu; do
    "$assay" plan save "$(sed -n 's,^// assay: task ,,p' "$kernel")" "$kernel" --workload small >"$work/plan.json"
    "$assay" plan check "$work/plan.json"
    "$assay" plan show "$work/plan.json" | grep -q ' 0 bytes, aligned'
  done
fi
# As published the suite's numbers are drawn, where single precision makes 6 of a GELU of 5.99999999 before it is cut.
mkdir "$work/published"
cp "$root/tests/kernelbenchx/gelu_int8.c" "$work/published"
"$assay" bench kernelbenchx --from "$work/published" --twins --as-published --workload small --no-timing --no-store \
  --seed 20261126 --secret 20261127
exec "$assay" bench kernelbenchx --from "$work/c" --twins --workload small --no-timing --no-probes --no-store \
  --seed 20261126 --secret 20261127
