#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# predictions.sh ASSAY SOURCE BUILD: candidates of KernelBench-X's form, functions in a folder and in a file of
# predictions, on the CPU. 77: PyTorch is not there (tests/support/torch.sh).
set -eu
. "$2/tests/support/torch.sh"
assay=$1 folder=$2/tests/predictions
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache" ASSAY_STORE="$work/store"
fail() {
  echo "FAILED: $*"
  cat "$work/text"
  exit 1
}
bench() { # bench SUITE FROM OPTION...
  suite=$1 from=$2
  shift 2
  "$assay" bench "$suite" --from "$from" --device cpu --workload small --no-timing --no-probes "$@" >"$work/text" 2>&1
}
row() { # row CANDIDATE WORDS: the table's row of this candidate has them
  grep -F "$1 " "$work/text" | grep -q "$2" || fail "the row of $1 says $2"
}

code=0
bench kernelbenchx "$folder" --run all || code=$?
[ $code -eq 3 ] || fail "lines that are no candidates are the code of what could not be judged: $code"
row fused_hstack_div.py " pass .*parts = tensors (by place), by = divisor (by place)"
row matmul_w8a8.py " pass "
row predictions.jsonl:1 " pass "
row predictions.jsonl:2 "Activation/gelu .*wrong_value.*zero"
row predictions.jsonl:3 "judge_failed"
row predictions.jsonl:4 "judge_failed .*has no task of the name Math/sqrt.py"
row predictions.jsonl:5 "Math/abs .*raised.*no function abs or kernel_function"
row predictions.jsonl:6 'judge_failed .*has no code: "predict" must be a text'
row predictions.jsonl:7 "judge_failed .*no JSON object"
row predictions.jsonl:8 "Activation/sigmoid .* pass "
row predictions.jsonl:9 " pass "
row predictions.jsonl:10 "judge_failed .*names no task"
row "predictions.jsonl:11 before" "Math/abs .*wrong_value"
row "predictions.jsonl:11 after" "Math/abs .* pass "
grep -q "8 judged now (5 passed), 0 done before, 1 the same as others, 5 could not be judged" "$work/text" || fail "the summary"

# The same again, as the one file: labels are those of the file, and the cache has the code that commands name.
bench kernelbenchx/Activation "$folder/predictions.jsonl" --run all || true
grep -q "0 judged now (0 passed), 3 done before, 1 the same as others" "$work/text" || fail "what is done is not judged again"
# Blocks of another language or none, with and without an end; code that a fence ends; a path of another system.
python3 - >"$work/fences.jsonl" <<'END'
import json
code = "import torch\n\ndef relu(input, inplace=False):\n    return torch.relu(input)\n"
for k, reply in enumerate((f"```\n{code}```", f"Here it is:\n```py\n{code}```\nUse it:\n```\nrelu(x)\n```\n", f"```Python\n{code}",
                           f"{code}```\nIt is\n```\nfast\n```", f"We import torch.\n```\n{code}```", "There is none.\n```\n```")):
    print(json.dumps({"file": "C:\\data\\Activation\\relu.py" if k % 2 else "relu.py", "predict": f"{reply}\n# {k}"}))
END
bench kernelbenchx "$work/fences.jsonl" --run fences || true
for k in 1 2 3 4 5; do row "fences.jsonl:$k" "Activation/relu .* pass \|the same" ; done
row fences.jsonl:6 "Activation/relu .*raised.*no function relu or kernel_function"
# A file without a prediction is an error. A line that is broken says what one is; a byte order mark is none of its text.
printf '\n \r\n' >"$work/empty.jsonl"
code=0
bench kernelbenchx "$work/empty.jsonl" || code=$?
[ $code -eq 2 ] && grep -q "empty.jsonl has no prediction" "$work/text" || fail "a file without a prediction: $code"
printf '\357\273\277{"file": "relu.py", "predict": ""}\r\n{"file": "relu.py", "predict": "a\\u0000"}\r\n{"file": \n' >"$work/broken.jsonl"
bench kernelbenchx "$work/broken.jsonl" --run broken || true
row broken.jsonl:1 "Activation/relu .*raised"
row broken.jsonl:2 'no JSON object: a text has .u0000; one is {"file": "Activation/gelu.py", "predict": "code"}'
row broken.jsonl:3 "no JSON object: .*; one is"
"$assay" runs export all "$work/out.jsonl" >/dev/null
grep -q "$work/cache/assay/predictions/[0-9a-f]*_gelu.py" "$work/out.jsonl" || fail "commands name the code's file"
