#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every file of strangers once more: what docs/evidence/strangers.md has in its columns "now".
#
#   bench/strangers.sh ASSAY FOLDER [TIMES]
#
# FOLDER has attacks/ and refused/, which are not part of this repository. Kernels whose verdict may differ from judgement
# to judgement are judged TIMES times (10). ASSAY_TORCH_PYTHON is an interpreter with PyTorch and the exporter's packages.
# A line for each file: its name, and its verdicts with their number, or what came of importing it. fp16_centred.cu needs
# a GPU and is left out.
set -eu
assay=$(realpath "$1") files=$(realpath "$2") times=${3:-10}
house=$(realpath "$(dirname "$0")/..")
export ASSAY_PYTHON="$ASSAY_TORCH_PYTHON"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# judged NAME TIMES TASK FILE OPTION...
judged() {
  label=$1 count=$2
  shift 2
  for _ in $(seq "$count"); do
    "$assay" judge "$@" --no-store --json 2>err | python3 -c 'import json, sys
try:
    v = json.load(sys.stdin)[0]
except ValueError:
    sys.exit(print("no verdict"))
time = (v.get("timing") or {}).get("median_ns")
print(v["verdict"] + (f", {time / 1e6:.2f} ms" if time else "") + (", not ranked" if v.get("foreknown") else ""))' || true
  done | sort | uniq -c | tr -s ' \n' ' ' >said
  echo "$label: $(cat said)"
}

# imported NAME FILE OPTION...
imported() {
  label=$1
  shift
  code=0
  begin=$(date +%s)
  "$ASSAY_TORCH_PYTHON" "$house/tools/importer/assay-import" --assay "$assay" "$@" -o "$label.onnxtxt" >said 2>&1 || code=$?
  took=$(($(date +%s) - begin))
  least=$(grep -o 'in double precision to [0-9.e+-]*' said | sort -g -k5 | tail -1 || true)
  why=$(grep '^assay-import:' said | tail -1 | cut -c1-150 | sed 's/^assay-import: //' || true)
  echo "$label: exit $code after $took s${least:+, agrees $least}${why:+, $why}"
}

attacks=$files/attacks refused=$files/refused
judged shape_table.c "$times" kernelbench/1/23 "$attacks/shape_table.c" --no-timing
judged fp16_centred.c "$times" kernelbench/1/2 "$attacks/fp16_centred.c" --workload "M=64, K=4096, N=64" --no-timing
judged known_seed_fast.c 1 kernelbench/1/1 "$attacks/known_seed_fast.c" --seed 7
for form in IMPOSTOR SLOW_NULL; do
  judged "hot_forged.c $form" 1 kernelbench/1/23 "$attacks/hot_forged.c" --define $form
done
for name in py_fill_disk py_out_large py_unlink; do
  judged $name.py 1 kernelbench/1/19 "$attacks/$name.py" --device cpu --no-timing
done
"$assay" show "$attacks/evil_title.onnxtxt" --pytorch >module.py
"$ASSAY_TORCH_PYTHON" module.py >/dev/null 2>&1 || true
if [ -e injected.txt ]; then echo "evil_title.onnxtxt: RAN"; else echo "evil_title.onnxtxt: nothing ran"; fi

judged gelu_erf_1ulp.c "$times" kernelbench/1/26 "$refused/gelu_erf_1ulp.c" --no-timing
judged gelu_xla_erf.c "$times" kernelbench/1/26 "$refused/gelu_xla_erf.c" --no-timing
judged gemm_gelu_bf16.py 3 "$refused/gemm_gelu_bf16.onnxtxt" "$refused/gemm_gelu_bf16.py" --device cpu --no-timing
judged kb95.py 1 kernelbench/1/95 "$refused/kb95.py" --device cpu --no-timing
# These two are judged against the task that is made of the same module, without what they import or compile.
for name in import_dynamo_socket compile_socket; do
  {
    sed 's/ModelNew/Model/; /torch._dynamo/d; s/self.f = .*$/pass/; s/self.f(x); //' "$refused/$name.py"
    printf '\ndef get_inputs(): return [torch.randn(8, 16)]\ndef get_init_inputs(): return []\n'
  } >module.py
  imported "$name.task" module.py
  judged $name.py 1 "./$name.task.onnxtxt" "$refused/$name.py" --device cpu --no-timing
done

for name in ce_smooth flow gru rnn_nnLSTM812projsize4 hardsigmoid in_named_y interp scatter_mean; do
  imported $name "$refused/$name.py"
done
"$ASSAY_TORCH_PYTHON" "$refused/const_nodes.py" 1024
imported const_nodes const_nodes_1024.onnx
for name in minus_one b_ctrl2 cast_out_of_range lstm_clip int_input; do
  imported $name "$refused/$name.onnx"
done
imported int_input.numbers "$refused/int_input.onnx" --input 'ids=integers(0, 5)'
"$assay" oracle "$refused/resize_scale.onnxtxt" --outputs answer >said
echo "resize_scale.onnxtxt: $(grep -o 'output_0.npy.*' said)"
