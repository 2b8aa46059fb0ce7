#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What only a GPU shows of times: honest kernels are not suspicious, also with two baselines next to them and with many
# small launches; TF32 in convolutions passes under the contract that allows it; work of another process is not blamed on
# the candidate. usage: timing.sh ASSAY [ROUNDS]    with ASSAY_PYTHON naming a Python with PyTorch for CUDA
set -uo pipefail
assay=$1 rounds=${2:-20}
source=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
other=
trap 'kill $other 2>/dev/null; rm -rf "$folder"' EXIT
failures=0
check() { # check WHAT CONDITION: of the verdict v in Python
  if python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))[0]
t = v["timing"] or {}
print(sys.argv[3] + ":", v["verdict"], t.get("median_ns"), "ns, suspicious", t.get("suspicious"), "excess",
      t.get("stamps_excess_ns"), "wall", t.get("wall_ns"), v["detail"] or "")
sys.exit(not eval(sys.argv[2]))' "$folder/verdict.json" "$2" "$1"; then return; fi
  failures=$((failures + 1))
  echo "FAILED: $1"
}
judge() { "$assay" judge "$@" --device cuda --no-store --json >"$folder/verdict.json" 2>"$folder/error"; }

# LayerNorm at full size with two baselines.
for _ in $(seq "$rounds"); do
  judge kernelbench/1/40 torch.eager --workload full --no-probes --baseline torch.eager --baseline torch.compile
  check "1/40, two baselines" 'v["verdict"] == "pass" and not t["suspicious"]'
done

# Hundreds of small launches.
cat >"$folder/many.py" <<'END'
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        y = torch.empty_like(x)
        for i in range(64):
            a, b = i * n // 64, (i + 1) * n // 64
            if a < b:
                y[a:b].copy_(torch.relu(x[a:b]))
        return y
END
for _ in $(seq "$rounds"); do
  judge kernelbench/1/19 "$folder/many.py" --workload "M=4096, N=64" --no-probes
  check "many launches" 'v["verdict"] == "pass" and not t["suspicious"]'
done

# cuDNN in TF32, PyTorch's default.
sed 's/allow_tf32 = False/allow_tf32 = True/' "$source/tests/gpu/python/conv_1d.py" >"$folder/conv.py"
judge kernelbench/1/67 "$folder/conv.py" --no-probes
check "TF32 under fp32" '"TF32" not in v["detail"] or "--contract tf32" in v["detail"]'
judge kernelbench/1/67 "$folder/conv.py" --contract tf32
check "TF32 under tf32" 'v["verdict"] == "pass" and v["contract"] == "tf32"'

# Another process keeps the GPU busy while a candidate is judged as a process.
cat >"$folder/relu.py" <<'END'
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
END
"${ASSAY_PYTHON:-python3}" -c 'import time, torch
time.sleep(8)  # until the candidate is being judged
a = torch.rand(16384, 16384, device="cuda")
end = time.time() + 90
while time.time() < end:
    for _ in range(4):
        b = a @ a
    torch.cuda.synchronize()' &
other=$!
blamed=0 said=0
for _ in $(seq 12); do
  judge kernelbench/1/19 "$folder/relu.py" --mode process --workload "M=16384, N=4096" --samples 200
  grep -q "another process uses the GPU" "$folder/error" "$folder/verdict.json" && said=$((said + 1))
  grep -q '"late_work"' "$folder/verdict.json" && blamed=$((blamed + 1))
  kill -0 $other 2>/dev/null || break
done
echo "another process: said $said times, blamed on the candidate $blamed times"
[ "$blamed" = 0 ] || failures=$((failures + 1))
kill $other 2>/dev/null
wait $other 2>/dev/null
judge kernelbench/1/19 "$folder/relu.py" --mode process
check "alone again" 'v["verdict"] == "pass"'
echo "$failures failed"
[ $failures = 0 ]
