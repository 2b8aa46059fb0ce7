#!/bin/sh
# python_candidates.sh BUILD [OUT]: Python candidates on a GPU. Saves, shows, exports, compiles and runs the plans of the
# honest ones of tests/gpu/python; then judges all with their twins and compares the verdicts with what is expected
# (PROBES=1: the honest ones at ragged shapes too). Needs a GPU, and in $ASSAY_PYTHON a Python with PyTorch and Triton;
# nvcc and ninja for extensions.
set -u
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
out=${2:-/tmp/python_candidates}
export ASSAY_TASKS="$root/tasks" ASSAY_INCLUDE="$root/include" ASSAY_STORE="$out/store.sqlite"
rm -rf "$out"
mkdir -p "$out"
echo "== machine"
"$build/assay" doctor | grep -E "^(python|device cuda|nvcc|sandbox)"
for file in "$root"/tests/gpu/python/*.py; do
  name=$(basename "$file" .py)
  task=$(sed -n 's/^# assay: task //p' "$file")
  echo "== plan of $name ($task)"
  if timeout 300 "$build/assay" plan save "$task" "$file" --out "$out/$name.plan" 2>"$out/$name.log"; then
    "$build/assay" plan show "$out/$name.plan" | cut -c1-160 | head -n 30
    "$build/assay" plan export "$out/$name.plan" --to "$out/$name" --name "$name" &&
      cc -std=c17 -O2 "$out/$name/$name.c" -lcuda -o "$out/$name/run" && (cd "$out/$name" && ./run -n 20)
  else
    tail -n 12 "$out/$name.log"
  fi
done
echo "== verdicts, with all twins"
timeout 590 "$build/assay" bench kernelbench/1 --from "$root/tests/gpu/python" --twins --device cuda --workload small \
  --no-probes --samples 60 --run python | cut -c1-230
if [ "${PROBES:-0}" = 1 ]; then
  echo "== the honest ones at every shape"
  timeout 590 "$build/assay" bench kernelbench/1 --from "$root/tests/gpu/python" --device cuda --workload small \
    --samples 60 --run probes | cut -c1-230
fi
echo "== whose kernels"
for file in plain triton_relu inline_relu matmul conv_1d; do
  task=$(sed -n 's/^# assay: task //p' "$root/tests/gpu/python/$file.py")
  echo "$file: $("$build/assay" judge "$task" "$root/tests/gpu/python/$file.py" --device cuda --no-probes --json |
    grep -A 14 '"kernels":' | tr -d '\n ' | cut -c1-300)"
done
