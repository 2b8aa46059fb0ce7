#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tuning costs: Triton's autotuner, Inductor's max-autotune, Helion's search and Assay's, each with three seeds, cold caches.
#
#   bench/gpu/tuners.sh PROGRAMS OUT [SECONDS]
#
# As fusedops.sh, whose variables it takes (GPUS, EACH, ASSAY_PYTHON). OUT/trials.txt has the seconds and configurations until 10,
# 5 and 2 % from the best that was found of a shape, whoever found it. Assay's tuner has its three orders in one run, and its
# curve's points judged in full; the others' orders are their own, and their runs are called seed1 to seed3. HELION_QUICK is
# Helion's effort (quick). Without Helion it is left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
python=${ASSAY_PYTHON:-python3}
others=triton,max-autotune
if "$python" -I -c "import torch, helion" 2>/dev/null; then others=$others,helion:${HELION_QUICK:-quick}; fi
shapes="layernorm/bf16_layernorm size03
swiglu/bf16_swiglu size03
attention/bf16_attention_causal size02
gemm_gelu/bf16_gemm_gelu size05
matmul/bf16_matmul size15"
{
  echo "$shapes" | while read -r task size; do
    if grep -q '^// assay: tune' "$here/../../kernels/fusedops/${task##*/}.cu"; then
      echo "fusedops/$task $size seed1 tune:kernels/fusedops"
    else
      echo "fusedops/$task $size seed1 kernels/fusedops" # what the tuners' best is held to
    fi
  done
  for seed in 1 2 3; do echo "$shapes" | while read -r task size; do echo "fusedops/$task $size seed$seed $others"; done; done
} >"$out/tuners.parts"
PARTS="$out/tuners.parts" MORE="${MORE:---no-probes --checks 1 --samples 60 --tuning-seeds 3 --retime}" "$here/fusedops.sh" "$@"
cat "$out/trials.txt"
