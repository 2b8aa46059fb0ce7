#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suite fusedops on one GPU, makers side by side, published shapes first: PyTorch in three modes, the library, and
# kernels of ours in CUDA and in Triton; Helion's at its default configuration, where it is installed.
#
#   bench/gpu/fusedops.sh PROGRAMS OUT [SECONDS]
#
# PROGRAMS: the folder with assay and its helpers. OUT: a folder for the store, texts and JSON. SECONDS (540) limits the
# whole; the same OUT goes on where it stopped. ASSAY_PYTHON names a Python with PyTorch; without it only kernels are
# judged. HELION is Helion's effort (none). OUT/site/c/fusedops.html is the page of the comparison.
set -u
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
end=$(($(date +%s) + ${3:-540}))
cd "$(dirname "$0")/../.."
export ASSAY_TASKS="$PWD/tasks" ASSAY_INCLUDE="$PWD/include" ASSAY_STORE="$out/store.sqlite"
with=kernels/fusedops
python=${ASSAY_PYTHON:-python3}
if "$python" -c 'import torch' 2>/dev/null; then with=eager,inductor,max-autotune,library,kernels/fusedops; fi
if "$python" -c 'import torch, triton' 2>/dev/null; then with=$with,triton; fi
if "$python" -c 'import torch, helion' 2>/dev/null; then with=$with,helion:${HELION:-none}; fi
"$programs/assay" doctor --calibrate >"$out/doctor.txt" 2>&1
side() { # side NAME TASK WORKLOADS
  left=$((end - $(date +%s)))
  [ $left -gt 10 ] || { echo "no time left for $1"; return; }
  timeout -s INT $left "$programs/assay" compare "$2" --with $with --workload "$3" --device cuda --run fusedops --scorecard \
    >"$out/$1.txt" 2>"$out/$1.err"
  tail -n 40 "$out/$1.txt"
}
timeout -s INT 120 "$programs/assay" bench fusedops --from kernels/fusedops --twins --workload small --device cuda --no-timing \
  >"$out/twins.txt" 2>"$out/twins.err"
tail -n 12 "$out/twins.txt"
side layernorm fusedops/layernorm/bf16_layernorm 'size*'
side gemm_gelu fusedops/gemm_gelu/bf16_gemm_gelu 'size*'
side matmul fusedops/matmul/bf16_matmul 'size*'
for family in softmax rms_norm swiglu rotary cross_entropy moe_gate attention grouped_gemm; do side $family fusedops/$family 'size0[1-3]'; done
"$programs/assay" trials --read tests/tuning/logs/published_results.csv --run published >/dev/null 2>&1
"$programs/assay" report --html "$out/site" >"$out/site.txt" 2>&1
