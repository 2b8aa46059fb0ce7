#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# baselines.sh ASSAY TESTS STORE: PyTorch as a baseline of a C kernel, and as a candidate for tasks of all levels, on the
# CPU. 77: PyTorch is not there (tests/support/torch.sh).
set -eu
. "$2/support/torch.sh"
assay=$1
cases=$2/cases
store=$3
export ASSAY_PROC="$2/support/quiet" # whatever the machine does
rm -f "$store"
fail() {
  echo "FAILED: $*"
  exit 1
}

"$assay" judge kernelbench/1/1 "$cases/matmul_naive.c" --baseline torch.eager --baseline "$cases/matmul_naive.c" \
  --no-probes --json --store "$store" >"$store.json" || fail "a naive product compared with PyTorch's"
"$ASSAY_PYTHON" - "$store.json" <<'END' || fail "what the verdict says of baselines"
import json, statistics, sys
eager, own = json.load(open(sys.argv[1]))[0]["baselines"]
assert eager["name"] == "torch.eager" and eager["verdict"] == "pass", eager
assert "PyTorch" in eager["made_with"] and eager["mode"] == "process"
assert eager["pairs"] == len(eager["samples_ns"]) == len(eager["candidate_samples_ns"]) >= 10
assert eager["speedup_low"] <= eager["speedup"] <= eager["speedup_high"]
assert eager["speedup"] < 1, "PyTorch multiplies matrices faster than three loops"
assert 0.5 < own["speedup"] < 2, "a kernel is as fast as itself"
END

judged() { # judged TASK...: every task's own PyTorch passes
  for task; do
    "$assay" bench "$task" --from torch.eager --device cpu --no-timing --run "$task" --store "$store" >"$store.txt" ||
      fail "$task"
    grep -q "torch.eager *pass" "$store.txt" || fail "$task: $(cat "$store.txt")"
  done
}
judged kernelbench/1/34 kernelbench/1/99 kernelbench/2/28 kernelbench/3/36 kernelbench/3/43 contracts/1/2
"$assay" bench kernelbench/1/34 --from torch.eager --device cpu --no-timing --run kernelbench/1/34 --store "$store" |
  grep -q "0 judged now.*1 done before" || fail "what is finished is not judged again"
"$ASSAY_PYTHON" - "$store" <<'END' || fail "the command that repeats a baseline's verdict"
import sqlite3, sys
commands = [row[0] for row in sqlite3.connect(sys.argv[1]).execute("SELECT command FROM verdict WHERE candidate = 'torch.eager'")]
assert commands and all("'torch.eager'" in c and "--device cpu" in c and ".py" not in c for c in commands), commands
END
echo passed
