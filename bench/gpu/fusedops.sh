#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The suite fusedops on one GPU or several, makers side by side, published shapes first: PyTorch in three modes, the library, and
# kernels of ours in CUDA and in Triton; Helion's at its default configuration, where it is installed.
#
#   bench/gpu/fusedops.sh PROGRAMS OUT [SECONDS]
#
# PROGRAMS: the folder with assay and its helpers. OUT: a folder for the store, texts and JSON. SECONDS (540) limits the
# whole; the same OUT goes on where it stopped. ASSAY_PYTHON names a Python with PyTorch; without it only kernels are judged.
#
#   PARTS   a file with what there is to do in place of all, a line each: TASK WORKLOADS [RUN [MAKERS]]. A RUN that is called
#           seedN has the seed N
#   MAKERS  in place of all that this Python has; HELION is Helion's effort (none). Where our kernel declares parameters,
#           tune:kernels/fusedops is one more
#   MORE    options of `assay compare` (--no-probes --checks 2 --samples 100): every shape of a sweep is judged as it is, since
#           tuners would tune for every probe's shape too. What a kernel does elsewhere, fusedops_kernels.py and `assay bench`
#           at small ask
#   GPUS    (1) so many of the machine's GPUs share the work, those of CUDA_VISIBLE_DEVICES if it is set: a part of a sweep at
#           a time, all makers of a shape on the same GPU
#   DEVICE  (cuda) cpu tries the script without a GPU, with MAKERS such as eager,tests/fusedops
#   EACH    (1) so many parts at once on a GPU; nothing else runs there while the judge takes a time, but tuners, which take
#           their own, may disturb each other
#
# OUT/results.tar has what was judged so far, OUT/log.txt when each part ended, OUT/trials.txt and .json what tuning cost, and
# OUT/site/c/fusedops.html is the page of the comparison.
set -u
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
start=$(date +%s)
end=$((start + ${3:-540}))
[ -z "${PARTS:-}" ] || PARTS=$(realpath "$PARTS")
cd "$(dirname "$0")/../.." || exit
export ASSAY_TASKS="$PWD/tasks" ASSAY_INCLUDE="$PWD/include" ASSAY_STORE="$out/store.sqlite"
more=${MORE---no-probes --checks 2 --samples 100}
python=${ASSAY_PYTHON:-python3}
# As the worker does: PYTHONPATH is not looked at. Of Helion it takes an import: some versions have none under some PyTorch.
has() { "$python" -I -c "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))" "$@"; }
with=kernels/fusedops
library=
if has torch; then with=eager,inductor,max-autotune,$with library=,library; fi
if has torch triton; then with=$with,triton; fi
if has torch helion && "$python" -I -c 'import helion' 2>/dev/null; then with=$with,helion:${HELION:-none}; fi
with=${MAKERS:-$with}
echo "makers: $with" | tee -a "$out/log.txt"
"$python" -I -c 'import importlib.metadata as m
for p in ("torch", "triton", "helion"):
    try: print(p, m.version(p))
    except m.PackageNotFoundError: pass' >"$out/versions.txt" 2>/dev/null
"$programs/assay" doctor --calibrate >"$out/doctor.txt" 2>&1
with_of() { # with_of TASK: the makers that have anything for it
  with_all=$with
  case $1 in *_matmul) [ -n "${MAKERS:-}" ] || with_all=$with_all$library ;; esac
  if [ -z "${MAKERS:-}" ] && grep -qs '^// assay: tune' "kernels/fusedops/${1##*/}.cu"; then with_all=$with_all,tune:kernels/fusedops; fi
  echo "$with_all"
}
# --foreground: else timeout interrupts its group, too, so that `compare` has two and ends without its table. -k: what does not
# end when it is asked to must not cost the results of the others.
compare() { # compare NAME TASK WORKLOADS [RUN [MAKERS]]: says in NAME.txt what makers side by side came to
  left=$((end - $(date +%s)))
  [ $left -gt 10 ] || { echo "no time left for $1" | tee -a "$out/log.txt"; return 3; }
  case ${4:-} in seed*) seed="--seed ${4#seed}" ;; *) seed= ;; esac
  timeout --foreground -k 25 -s INT $left "$programs/assay" compare "$2" --with "${5:-$(with_of "$2")}" --workload "$3" --device "${DEVICE:-cuda}" --run "${4:-fusedops}" \
    --scorecard $more $seed >"$out/$1.txt" 2>"$out/$1.err"
  [ -s "$out/$1.txt" ] || tail -n 1 "$out/$1.err" | sed "s/^/$1 came to nothing: /" | tee -a "$out/log.txt"
  return 0
}
whole() { # whole TASK WORKLOADS: the table of a sweep; what the parts judged is not judged again
  compare "$(basename "$1")" "$1" "$2"
  tail -n 40 "$out/$(basename "$1").txt"
}
parts() { # what there is to do, the most telling first
  if [ -n "${PARTS:-}" ]; then cat "$PARTS" && return; fi
  for n in 5 4 3 2 1; do echo "fusedops/gemm_gelu/bf16_gemm_gelu size0$n"; done
  for n in 3 1 2; do echo "fusedops/layernorm/bf16_layernorm size0$n"; done
  for n in 1 2 5 6 3 7 4 8; do echo "fusedops/attention/bf16_attention_causal size0$n"; done
  for n in 3 2 1 4 5; do echo "fusedops/swiglu/bf16_swiglu size0$n"; done
  for n in 30 05 10 15 20 25; do echo "fusedops/matmul/bf16_matmul size$n"; done
  for n in 1 2 3 4; do echo "fusedops/attention/bf16_attention_gqa size0$n"; done
  for n in 30 15 05 20; do echo "fusedops/matmul/fp8_matmul size$n"; done
  for n in 1 2 3; do
    for task in rms_norm/bf16_rms_norm softmax/bf16_softmax rotary/bf16_rotary cross_entropy/bf16_cross_entropy moe_gate/fp32_moe_gate \
      attention/bf16_attention grouped_gemm/bf16_routed_gemm grouped_gemm/bf16_batched_gemm grouped_gemm/bf16_grouped_gemm; do
      echo "fusedops/$task size0$n"
    done
  done
  for task in layernorm/bf16_layernorm rms_norm/bf16_rms_norm softmax/bf16_softmax cross_entropy/bf16_cross_entropy rotary/bf16_rotary \
    swiglu/bf16_swiglu matmul/bf16_matmul matmul/fp8_matmul; do
    echo "fusedops/$task large01"
  done
  for task in bf16_attention_causal bf16_attention bf16_attention_gqa; do echo "fusedops/attention/$task long01"; done
  for n in $(seq -w 1 29); do case $n in 05 | 10 | 15 | 20 | 25) ;; *) echo "fusedops/matmul/bf16_matmul size$n" ;; esac; done
  for n in 4 5 6 7 8; do
    for task in attention/bf16_attention softmax/bf16_softmax rotary/bf16_rotary cross_entropy/bf16_cross_entropy moe_gate/fp32_moe_gate \
      grouped_gemm/bf16_routed_gemm grouped_gemm/bf16_batched_gemm; do
      ! grep -q "assay.workload.size0$n" "tasks/fusedops/$task.onnxtxt" || echo "fusedops/$task size0$n"
    done
  done
  for n in 1 2 3; do echo "fusedops/layernorm/fp16_layernorm size0$n"; done
  for n in 05 15 30; do echo "fusedops/matmul/fp16_matmul size$n" && echo "fusedops/matmul/fp32_matmul size$n"; done
  for n in 1 2 3 4 5; do echo "fusedops/gemm_gelu/fp16_gemm_gelu size0$n"; done
  for n in 2 3 4; do
    for task in layernorm/bf16_layernorm rms_norm/bf16_rms_norm softmax/bf16_softmax cross_entropy/bf16_cross_entropy; do
      ! grep -q "assay.workload.large0$n" "tasks/fusedops/$task.onnxtxt" || echo "fusedops/$task large0$n"
    done
  done
}
copy() { # copy FILE: the store as it is
  rm -f "$1"
  "$python" -c 'import sqlite3, sys
sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))' "$ASSAY_STORE" "$1"
}
keep() { # all that has been judged, in one file: OUT/results.tar, with the store and runs for `assay runs import`
  mkdir -p "$out/results"
  "$programs/assay" runs --json | "$python" -c 'import json, sys
for run in json.load(sys.stdin): print(run["run"])' | while IFS= read -r run; do
    "$programs/assay" runs export "$run" "$out/results/$(echo "$run" | tr -c 'a-zA-Z0-9\n' _).jsonl" --compact
  done >/dev/null 2>&1
  copy "$out/results/store.sqlite" # with trials and samples
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
    begun=$(date +%s) judged=true
    CUDA_VISIBLE_DEVICES=$1 compare "part_$(echo "$2 $3 ${4:-}" | tr -c 'a-zA-Z0-9\n' _)" "$2" "$3" "${4:-}" "${5:-}" || judged=false
    echo "$2 $3 ${4:-}: $(($(date +%s) - begun)) s on GPU $1, $(($(date +%s) - start)) s after the beginning" | tee -a "$out/log.txt"
    ! $judged || (flock 9 && keep) 9>"$out/keeping"
  done
}
: >"$out/parts"
parts >"$out/parts.left"
cp "$out/parts.left" "$out/parts.all"
n=0
while [ $n -lt $((${GPUS:-1} * ${EACH:-1})) ]; do
  gpu=$((n % ${GPUS:-1}))
  [ -z "${CUDA_VISIBLE_DEVICES:-}" ] || gpu=$(echo "$CUDA_VISIBLE_DEVICES" | cut -d, -f$((gpu + 1)))
  worker "$gpu" &
  n=$((n + 1))
done
wait
keep
end=$((end + 25)) # for tables of what there is
if [ -z "${PARTS:-}" ]; then
  for task in $(cut -d' ' -f1 "$out/parts.all" | sort -u); do whole "$task" 'size*'; done
fi
"$programs/assay" trials >"$out/trials.txt" 2>&1
"$programs/assay" trials --json >"$out/trials.json" 2>>"$out/trials.txt"
copy "$out/page.sqlite" # published trials are in the page, and not among this run's
ASSAY_STORE="$out/page.sqlite" "$programs/assay" trials --read tests/tuning/logs/published_results.csv --run published >/dev/null 2>&1
ASSAY_STORE="$out/page.sqlite" "$programs/assay" report --html "$out/site" >"$out/site.txt" 2>&1
