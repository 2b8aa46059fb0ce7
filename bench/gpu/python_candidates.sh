#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_candidates.sh BUILD [OUT]: Python candidates on a GPU. Judges the honest ones of tests/gpu/python and then their
# twins, and compares the verdicts with what is expected (PROBES=1: the honest ones at ragged shapes too); then saves,
# shows, exports, compiles and runs the plans of the honest ones. Needs a GPU, and in $ASSAY_PYTHON a Python with PyTorch
# and Triton; nvcc and ninja for extensions. SECONDS_EACH limits each of the three: what is judged by then is shown.
set -u
build=$(realpath "$1")
root=$(realpath "$(dirname "$0")/../..")
out=${2:-/tmp/python_candidates}
limit=${SECONDS_EACH:-590}
export ASSAY_TASKS="$root/tasks" ASSAY_INCLUDE="$root/include" ASSAY_STORE="$out/store.sqlite"
rm -rf "$out"
mkdir -p "$out"
# The first interrupt lets bench end after the candidate at hand, the second at once; both times it writes its results.
bench() { # bench NAME OPTION...
  name=$1
  shift
  timeout -s INT $((limit + 20)) timeout -s INT "$limit" "$build/assay" bench kernelbench/1 --from \
    "$root/tests/gpu/python" --device cuda --workload small --samples 60 --run "$name" "$@"
}
echo "== machine"
"$build/assay" doctor | grep -E "^(python|device cuda|nvcc|sandbox)"
echo "== verdicts, all files before all twins"
bench python --twins --no-probes | cut -c1-230
bench python --twins --no-probes --json >"$out/verdicts.json" # judged already: only printed
echo "== seconds, and whose kernels"
python3 "$root/bench/gpu/verdicts.py" "$out/verdicts.json"
if [ "${PROBES:-0}" = 1 ]; then
  echo "== the honest ones at every shape"
  bench probes --json >"$out/probes.json"
  python3 "$root/bench/gpu/verdicts.py" "$out/probes.json"
fi
[ "${PLANS:-1}" = 1 ] || exit 0
for file in "$root"/tests/gpu/python/*.py; do
  name=$(basename "$file" .py)
  task=$(sed -n 's/^# assay: task //p' "$file")
  echo "== plan of $name ($task)"
  if timeout "$limit" "$build/assay" plan save "$task" "$file" --out "$out/$name.plan" 2>"$out/$name.log"; then
    "$build/assay" plan show "$out/$name.plan" | grep -v "^      " | cut -c1-160 | head -n 30
    "$build/assay" plan export "$out/$name.plan" --to "$out/$name" --name "$name" &&
      cc -std=c17 -O2 "$out/$name/$name.c" -lcuda -o "$out/$name/run" && (cd "$out/$name" && ./run -n 20)
  else
    tail -n 12 "$out/$name.log"
  fi
done
