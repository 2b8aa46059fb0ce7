#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What tuning costs: Triton's autotuner, Inductor's max-autotune, Helion's search and Assay's, with three seeds, cold caches.
#
#   bench/gpu/tuners.sh PROGRAMS OUT [SECONDS]
#
# As fusedops.sh, whose variables it takes (GPUS, EACH, ASSAY_PYTHON). OUT/trials.txt has the seconds and configurations until 10,
# 5 and 2 % from the best that was found of a shape, whoever found it. What is done is not done again: the same command goes on
# where the seconds ended.
#
# A seed is done by all tuners at all shapes before the next one begins (runs seed1 to seed3); of Assay's the curve's points are
# judged in full. Triton's autotuner and max-autotune try all that they have, whatever the seed: their first search counts, and
# its repetitions (again2, again3), which show how much the machine changes, come last. HELION_QUICK is Helion's effort (quick).
# Without Helion it is left out.
set -u
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
python=${ASSAY_PYTHON:-python3}
seedless=triton,max-autotune
helion=
if "$python" -I -c "import torch, helion" 2>/dev/null; then helion=,helion:${HELION_QUICK:-quick}; fi
shapes="layernorm/bf16_layernorm size03
swiglu/bf16_swiglu size03
attention/bf16_attention_causal size02
gemm_gelu/bf16_gemm_gelu size05
matmul/bf16_matmul size15"
{
  for seed in 1 2 3; do
    others=
    [ $seed -gt 1 ] || others=,$seedless
    echo "$shapes" | while read -r task size; do echo "fusedops/$task $size seed$seed tune:kernels/fusedops$others$helion"; done
  done
  for time in 2 3; do echo "$shapes" | while read -r task size; do echo "fusedops/$task $size again$time $seedless"; done; done
} >"$out/tuners.parts"
PARTS="$out/tuners.parts" MORE="${MORE:---no-probes --checks 1 --samples 60 --retime}" "$here/fusedops.sh" "$@"
cat "$out/trials.txt"
