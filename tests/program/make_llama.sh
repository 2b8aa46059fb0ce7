#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `assay make` with a server that nobody here wrote: llama.cpp's, over HTTP and streaming. The model is made on the spot; a
# grammar has it say one of three kernels (one does not build, one is wrong, one is right), by the request's seed. Nothing
# depends on how long anything takes.
set -uo pipefail
assay=$1 source=$2
python=${ASSAY_LLAMA_PYTHON:-python3}
"$python" -c 'import xllamacpp, gguf, numpy' 2>/dev/null || {
  echo "skipped: $python has no llama.cpp (tools/install/install-llama DIR installs it)"
  exit 77
}
work=$(mktemp -d)
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
. "$source/tests/support/expect.sh"
"$python" "$source/tests/program/llama_server.py" "$work" >"$work/log" 2>&1 & server=$!
trap 'kill $server 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 1200); do [ -e "$work/port" ] || ! kill -0 $server 2>/dev/null || { sleep 0.05; continue; }; break; done
[ -e "$work/port" ] || { echo "FAILED: the server does not start"; tail -n 5 "$work/log"; exit 1; }
url=http://127.0.0.1:$(cat "$work/port")/v1
sql() { sqlite3 "$ASSAY_STORE" "$1"; }
grammar='root ::= "```c\n#include <assay/candidate.h>\nvoid assay_kernel(const struct assay_args *a) {\n  const float *x = a->inputs[0].data;\n  float *y = a->outputs[0].data;\n  for (int64_t i = 0; i < assay_count(&a->inputs[0]); i++)\n    y[i] = " ("1" | "x[i] > 0 ? x[i] : 0" | "z[i]") ";\n}\n```\n"'
ask() {
  "$assay" make kernelbench/1/19 --device cpu --no-timing --workload "M=16, N=32" --model random --endpoint "$url" --no-final "$@"
}

# Each trajectory begins with one of the three; with half of the seeds a failure is repaired within four turns.
repaired="SELECT count(*) FROM step s JOIN verdict v ON v.id = s.verdict WHERE s.run = 'refine' AND s.kind = 'repair' AND v.reason = 'pass'"
for seed in $(seq 30); do
  sql "DELETE FROM step WHERE run = 'refine'; DELETE FROM making WHERE run = 'refine'" 2>/dev/null
  ask --method refine --turns 4 --method-seed "$seed" --max-tokens 600 --run refine --field "grammar=$grammar" >"$work/out" 2>&1
  [ "$(sql "$repaired")" -gt 0 ] && break
done
expect 0 "^[1-4]$" sql "$repaired"
expect 0 "kernelbench/1/19 +4 +4 +[1-4] +[1-4] " ask --method refine --turns 4 --method-seed "$seed" --max-tokens 600 --run refine --field "grammar=$grammar"
expect 0 "^build_failed|^wrong_value" sql "SELECT reason FROM step s JOIN verdict v ON v.id = s.verdict WHERE s.run = 'refine' AND s.number = 0" # what was repaired
expect 0 "^4$" sql "SELECT count(*) FROM step WHERE run = 'refine' AND finish = 'stop' AND estimated = 0 AND input_tokens > 1000 AND output_tokens > 100"
expect 0 "^1$" sql "SELECT count(*) > 0 FROM step WHERE run = 'refine' AND kind = 'repair' AND (instr(prompt, 'error:') OR instr(prompt, 'its results are wrong'))"
expect 0 "4 steps came out as they are stored" ask --method refine --turns 4 --method-seed "$seed" --max-tokens 600 --run refine --field "grammar=$grammar" --replay
expect 2 "was begun with other settings: fields was" ask --method refine --turns 4 --method-seed "$seed" --max-tokens 600 --run refine

# Babble until the cap, and left alone: no code, and nothing is lost. Whole replies, and the other interface.
expect 1 "kernelbench/1/19 +1 +0 +0 +0 " ask --attempts 1 --max-tokens 40 --run babble --field 'grammar=root ::= [a-z]{200}'
expect 0 "^length (no_code|cut_off) 40$" sql "SELECT finish || ' ' || outcome || ' ' || output_tokens FROM step WHERE run = 'babble'"
expect 1 "kernelbench/1/19 +1 +0 +0 +0 " ask --attempts 1 --max-tokens 40 --run alone
right="root ::= $(sed 's/^root ::= //; s/("1" | \(.*\) | "z\[i\]")/\1/' <<<"$grammar")"
expect 0 "kernelbench/1/19 +1 +1 +1 +1 " ask --attempts 1 --max-tokens 600 --run whole --no-stream --field "grammar=$right"
expect 0 "kernelbench/1/19 +1 +1 +1 +1 " ask --attempts 1 --max-tokens 600 --run responses --api responses --field "grammar=$right"
report
