#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Attention in fp16 with a mask, at the size of a model: eager PyTorch under it must pass every time, and one that leaves
# the mask out must not. usage: masked_attention.sh ASSAY [WORKLOAD] [TIMES] [DEVICE]
set -eu
assay=$1 workload=${2:-full} times=${3:-5} device=${4:-cuda}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# task FILE INPUT TYPE LINE: a task whose mask is an input, or made by the operator
task() {
  cat >"$1" <<END
<
  ir_version: 10,
  opset_import: ["" : 23],
  metadata_props: [
    "assay.task" : "masked/attention/$(basename "$1" .onnxtxt)",
    "assay.title" : "Attention with a mask, in fp16",
    "assay.origin" : "Assay",
    "assay.contract" : "fp16",
    "assay.workload.small" : "B=2, H=4, S=96, D=64",
    "assay.workload.full" : "B=8, H=16, S=2048, D=64",
    "assay.workload.ragged0" : "B=1, H=1, S=1, D=1",
    "assay.workload.ragged1" : "B=2, H=3, S=5, D=7",
    "assay.workload.ragged2" : "B=1, H=2, S=33, D=17",
    $2"assay.input.q" : "normal(0, 1)",
    "assay.input.k" : "normal(0, 1)",
    "assay.input.v" : "normal(0, 1)"
  ]
>
attention (float16[B, H, S, D] q, float16[B, H, S, D] k, float16[B, H, S, D] v$3) => (float16[B, H, S, D] y)
{
  y = $4
}
END
}
task "$folder/added.onnxtxt" '"assay.input.m" : "normal(0, 1)",
    ' ', float16[S, S] m' 'Attention(q, k, v, m)'
task "$folder/causal.onnxtxt" '' '' 'Attention<is_causal = 1>(q, k, v)'
cat >"$folder/added.py" <<'END'
import torch
LEFT_OUT = "LEFT_OUT" in globals()
class ModelNew(torch.nn.Module):
    def forward(self, q, k, v, m):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, None if LEFT_OUT else m)
END
cat >"$folder/causal.py" <<'END'
import torch
LEFT_OUT = "LEFT_OUT" in globals()
class ModelNew(torch.nn.Module):
    def forward(self, q, k, v):
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=not LEFT_OUT)
END
for name in added causal; do
  for turn in $(seq "$times"); do
    for expect in pass wrong; do
      left_out= # the form without a mask
      [ $expect = pass ] || left_out="--define LEFT_OUT"
      # shellcheck disable=SC2086
      found=$("$assay" judge "$folder/$name.onnxtxt" "$folder/$name.py" --device "$device" --workload "$workload" \
        --no-timing --no-store --json $left_out | python3 -c 'import json, sys
v = json.load(sys.stdin)[0]
print(v["verdict"], max((c["z_max"] or 0 for c in v["checks"]), default=0), v["detail"])') || true
      case "$expect $found" in
      "pass pass "* | "wrong wrong_"* | "wrong low_precision "*) echo "$name $turn: $found" ;;
      *) echo "FAILED: $name $turn: $found, not $expect" && failed=1 ;;
      esac
    done
  done
done
exit $failed
