#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# weights.sh ASSAY SOURCE: a task's weights from a safetensors file. A kernel with the file's weights in its text is right with
# them and wrong without.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
cat >"$work/task.onnxtxt" <<'END'
<
  ir_version: 10, opset_import: ["" : 23],
  metadata_props: [
    "assay.task" : "weights/1/1", "assay.contract" : "fp32",
    "assay.workload.small" : "M=5, N=2", "assay.workload.full" : "M=64, N=2",
    "assay.workload.ragged0" : "M=1, N=3",
    "assay.input.x" : "normal(0, 1)", "assay.input.layer_w" : "normal(0, 1) static"
  ]
>
g (float[M, 3] x, float[3, N] layer_w) => (float[M, N] y) { y = MatMul(x, layer_w) }
END
cat >"$work/kernel.c" <<'END'
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0; i < args->inputs[0].dims[0]; i++)
    for (int j = 0; j < 2; j++)
      y[2 * i + j] = 2 * x[3 * i] - x[3 * i + 1] + 0.5f * x[3 * i + 2];
}
END
python3 - "$work" <<'END' || exit 1
import json, os, struct, sys
def write(name, tensors):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for tensor, shape, values in tensors:
        more = struct.pack(f"<{len(values)}f", *values)
        header[tensor] = {"dtype": "F32", "shape": shape, "data_offsets": [len(data), len(data) + len(more)]}
        data += more
    text = json.dumps(header).encode()
    open(f"{sys.argv[1]}/{name}", "wb").write(struct.pack("<Q", len(text)) + text + data)
rows = [2, 2, -1, -1, 0.5, 0.5]
write("given.safetensors", [("model.layer.w", [3, 2], rows), ("other", [1], [7])])
write("turned.safetensors", [("layer.w", [2, 3], rows)])
write("nothing.safetensors", [("other", [1], [7])])
os.makedirs(f"{sys.argv[1]}/model")
write("model/model-00001-of-00002.safetensors", [("other", [1], [7])])
write("model/model-00002-of-00002.safetensors", [("layer.w", [3, 2], rows)])
def index(name, number):
    places = {"other": "model-00001-of-00002.safetensors", "layer.w": f"model-0000{number}-of-00002.safetensors"}
    json.dump({"metadata": {"total_size": 28}, "weight_map": places}, open(f"{sys.argv[1]}/model/{name}", "w"))
index("model.safetensors.index.json", 2)
index("wrong.json", 1)
index("lost.json", 3)
END
judge=("$assay" judge "$work/task.onnxtxt" "$work/kernel.c" --no-timing --no-probes)
expect 0 " pass " "${judge[@]}" --weights "$work/given.safetensors"
expect 0 " pass " "${judge[@]}" --weights "$work/given.safetensors" --workload full
expect 1 " wrong_value " "${judge[@]}"
json 0 "${judge[@]}" --weights "$work/given.safetensors" --json
cp "$work/out" "$work/json"
expect 0 "weights.*given\.safetensors" cat "$work/json" # the command that repeats it
expect 2 "has the shape \[2, 3\], the input layer_w has \[3, 2\] at the workload small" \
  "${judge[@]}" --weights "$work/turned.safetensors"
expect 0 " pass " "${judge[@]}" --weights "$work/model" # several files with an index, by the folder or by the index
expect 0 " pass " "${judge[@]}" --weights "$work/model/model.safetensors.index.json"
expect 2 "'layer.w' is not in model-00001-of-00002.safetensors" "${judge[@]}" --weights "$work/model/wrong.json"
expect 2 "model-00003-of-00002.safetensors, which .*lost.json names, is not there" \
  "${judge[@]}" --weights "$work/model/lost.json"
expect 2 "has no model.safetensors and no model.safetensors.index.json" "${judge[@]}" --weights "$work"
expect 2 "1 of the task's 1 weights have no tensor there: layer_w" "${judge[@]}" --weights "$work/nothing.safetensors"
expect 2 "no safetensors file" "${judge[@]}" --weights "$work/kernel.c"
expect 2 "No such file" "${judge[@]}" --weights "$work/none.safetensors"
report
