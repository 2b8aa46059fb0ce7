#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suite fusedops on one GPU or several, makers side by side, published shapes first: PyTorch in three modes, the library, and
# kernels of ours in CUDA and in Triton; Helion's at its default configuration, where it is installed.
#
#   bench/gpu/fusedops.sh PROGRAMS OUT [SECONDS]
#
# PROGRAMS: the folder with assay and its helpers. OUT: a folder for the store, texts and JSON. SECONDS (540) limits the
# whole; the same OUT goes on where it stopped. PARTS names a file with what there is to do in place of all, a line each:
# TASK WORKLOADS. ASSAY_PYTHON names a Python with PyTorch; without it only kernels are
# judged. HELION is Helion's effort (none). GPUS (1): so many of the machine's GPUs share the work, a part of a sweep at a
# time, all makers of a shape on the same GPU. EACH (1): so many parts at once on a GPU; nothing else runs there while the
# judge takes a time, but tuners, which take their own, may disturb each other. OUT/results.tar has what was judged so far,
# OUT/log.txt when each part ended, and OUT/site/c/fusedops.html is the page of the comparison.
set -u
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
start=$(date +%s)
end=$((start + ${3:-540}))
cd "$(dirname "$0")/../.."
export ASSAY_TASKS="$PWD/tasks" ASSAY_INCLUDE="$PWD/include" ASSAY_STORE="$out/store.sqlite"
with=kernels/fusedops
python=${ASSAY_PYTHON:-python3}
has() { "$python" -I -c "import $1" 2>/dev/null; } # as the worker does: PYTHONPATH is not looked at
if has torch; then with=eager,inductor,max-autotune,library,kernels/fusedops; fi
if has torch,triton; then with=$with,triton; fi
if has torch,helion; then with=$with,helion:${HELION:-none}; fi
echo "makers: $with"
"$programs/assay" doctor --calibrate >"$out/doctor.txt" 2>&1
compare() { # compare NAME TASK WORKLOADS: says in NAME.txt what makers side by side came to
  left=$((end - $(date +%s)))
  [ $left -gt 10 ] || { echo "no time left for $1"; return; }
  timeout -s INT $left "$programs/assay" compare "$2" --with $with --workload "$3" --device cuda --run fusedops --scorecard \
    >"$out/$1.txt" 2>"$out/$1.err"
}
whole() { # whole NAME TASK WORKLOADS: the table of a sweep; what the parts judged is not judged again
  compare "$1" "$2" "$3"
  tail -n 40 "$out/$1.txt"
}
parts() { # what there is to do, the longest first
  if [ -n "${PARTS:-}" ]; then cat "$PARTS" && return; fi
  for n in 1 2 3 4 5; do echo "fusedops/gemm_gelu/bf16_gemm_gelu size0$n"; done
  for n in 30 $(seq -w 1 29); do echo "fusedops/matmul/bf16_matmul size$n"; done
  for n in 1 2 3; do echo "fusedops/layernorm/bf16_layernorm size0$n"; done
  for size in 05 10 15 20 25 30; do echo "fusedops/matmul/fp8_matmul size$size"; done
  for family in attention grouped_gemm softmax rms_norm swiglu rotary cross_entropy moe_gate; do
    for size in 1 2 3; do echo "fusedops/$family size0$size"; done
  done
  echo "fusedops/matmul/fp8_matmul large01"
  for family in attention softmax rms_norm layernorm swiglu rotary cross_entropy; do echo "fusedops/$family size0[4-8]"; done
}
keep() { # all that has been judged, in one file: OUT/results.tar, with the store and runs for `assay runs import`
  mkdir -p "$out/results"
  "$programs/assay" runs --json | "$python" -c 'import json, sys
for run in json.load(sys.stdin): print(run["run"])' | while IFS= read -r run; do
    "$programs/assay" runs export "$run" "$out/results/$(echo "$run" | tr -c 'a-zA-Z0-9\n' _).jsonl" --compact
  done >/dev/null 2>&1
  "$python" -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))' "$ASSAY_STORE" "$out/results/store.sqlite" # with trials and samples
  cp "$out"/*.txt "$out/results/" 2>/dev/null
  tar czf "$out/results.new" -C "$out" results && mv "$out/results.new" "$out/results.tar"
}
next() { # takes a line off the list; several workers do
  flock "$out/parts" sh -c 'head -n 1 "$1" && sed -i 1d "$1"' sh "$out/parts.left"
}
worker() { # worker GPU
  while line=$(next) && [ -n "$line" ]; do
    set -f
    set -- "$1" $line
    set +f
    begun=$(date +%s)
    CUDA_VISIBLE_DEVICES=$1 compare "part_$(echo "$2 $3" | tr -c 'a-zA-Z0-9\n' _)" "$2" "$3"
    echo "$2 $3: $(($(date +%s) - begun)) s on GPU $1, $(($(date +%s) - start)) s after the beginning" | tee -a "$out/log.txt"
    (flock 9 && keep) 9>"$out/keeping"
  done
}
: >"$out/parts"
parts >"$out/parts.left"
gpu=0
while [ $gpu -lt $((${GPUS:-1} * ${EACH:-1})) ]; do
  worker $((gpu % ${GPUS:-1})) &
  gpu=$((gpu + 1))
done
wait
CUDA_VISIBLE_DEVICES=0 timeout -s INT 120 "$programs/assay" bench fusedops --from kernels/fusedops --twins --workload small \
  --device cuda --no-timing >"$out/twins.txt" 2>"$out/twins.err"
tail -n 12 "$out/twins.txt"
keep
whole layernorm fusedops/layernorm/bf16_layernorm 'size*'
whole gemm_gelu fusedops/gemm_gelu/bf16_gemm_gelu 'size*'
whole matmul fusedops/matmul/bf16_matmul 'size*'
for family in softmax rms_norm swiglu rotary cross_entropy moe_gate attention grouped_gemm; do whole $family fusedops/$family 'size0[1-3]'; done
"$programs/assay" trials --read tests/tuning/logs/published_results.csv --run published >/dev/null 2>&1
"$programs/assay" report --html "$out/site" >"$out/site.txt" 2>&1
