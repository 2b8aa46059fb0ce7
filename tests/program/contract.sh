#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# --contract tf32: what it lets pass and what not, in the table, in JSON, in scores, in the store; and where it is refused.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
products=$source/tests/program/contract/products.c
# Always the same draws, so that no rare one decides.
judge() { "$assay" judge "$@" --no-timing --seed 20261122 --secret 20261123; }

for task in "1/1 SQUARE" "1/67 CONV" "2/12 LINEAR"; do
  set -- $task
  under() { judge "kernelbench/$number" "$products" --define $form --no-store "$@"; }
  number=$1 form=$2
  expect 0 "pass " under
  expect 0 "pass \(tf32\)" under --contract tf32
  expect 1 "low_precision" under --define TF32
  expect 0 "pass \(tf32\)" under --define TF32 --contract tf32
  # Half precision has as many bits as TF32 and not its range, and is right where the range is not asked.
  for wrong in BF16 FP16 "TF32 --define LAST_TERM" "TF32 --define FP16_SUMS"; do
    expect 1 "(wrong_value|low_precision|wrong_class) " under --define $wrong
    expect 1 "(wrong_value|low_precision|wrong_class) \(tf32\)" under --define $wrong --contract tf32
  done
  expect 0 "pass \(tf32\)" under --define FP16 --contract tf32 --no-probes
done

# Cut off instead of rounded, where the errors are of one sign and add up.
expect 1 "wrong_value \(tf32\)" judge kernelbench/1/1 "$products" --define CUT --no-store --contract tf32

# Only tasks of fp32 have such a contract.
expect 2 "contracts/1/4 is a task of bf16: it is not judged under the contract tf32" \
  judge contracts/1/4 "$products" --contract tf32 --no-store
expect 0 "" judge contracts/1/2 "$products" --contract tf32 --no-store # its own
expect 2 "a contract that is not a task's own is tf32, not 'fp16'" \
  judge kernelbench/1/1 "$products" --contract fp16 --no-store

# float8: sums of 128 terms may be the tensor core's, longer ones may not.
eight=$source/tests/fusedops/fp8_matmul.c long="M=40, K=8192, N=48"
expect 0 "pass " judge fusedops/matmul/fp8_matmul "$eight" --workload "$long" --no-store
expect 1 "(wrong_value|low_precision) " judge fusedops/matmul/fp8_matmul "$eight" --define STEPS=256 --workload "$long" --no-store

# In JSON, in the command that repeats it, and in scores, apart from what holds under the tasks' own.
json 0 judge kernelbench/1/1 "$products" --define TF32 --contract tf32 --json
cp "$work/out" "$work/tf32.json"
expect 0 "^tf32 fp32 pass --contract tf32$" python3 -c 'import json, re, sys
v = json.load(open(sys.argv[1]))[0]
print(v["contract"], v["task_contract"], v["verdict"], re.search("--contract [a-z0-9]*", v["command"]).group())' "$work/tf32.json"
json 0 judge kernelbench/1/1 "$products" --json --no-store
cp "$work/out" "$work/fp32.json"
expect 0 "^fp32 fp32$" python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))[0]
print(v["contract"], v["task_contract"])' "$work/fp32.json"
mkdir "$work/kernels"
sed '1i // assay: task kernelbench/1/1' "$products" >"$work/kernels/product.c"
bench() { "$assay" bench kernelbench/1 --from "$work/kernels" --no-timing "$@"; }
expect 0 "1 judged now \(1 passed\)" bench
expect 0 "1 judged now \(1 passed\)" bench --contract tf32
expect 0 "0 judged now .* 1 done before" bench --contract tf32
expect 0 "from .*/kernels  +kernelbench/1  +1/1 " "$assay" score
expect 0 "from .*/kernels, tf32  +kernelbench/1 \(tf32\)  +1/1 " "$assay" score
# Under one name, too, where the newer verdict of a file is the one that stands.
expect 0 "1 judged now \(1 passed\)" bench --run one
expect 0 "1 judged now \(1 passed\)" bench --run one --contract tf32
expect 0 "^one  +kernelbench/1 \(tf32\)  +1/1 " "$assay" score one
report
