#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A recurrent network is asked for rows of very different sizes at every ragged shape, twice: a tanh that is 1 beyond 6
# shows in short runs of few numbers, and only where a row's factor is about right.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$assay" judge kernelbench/3/38 "$source/tests/cases/lstm_bidirectional.c" --no-timing --no-store --json >"$work/verdict.json" || exit 1
python3 - "$work/verdict.json" <<'END'
import collections, json, sys
checks = json.load(open(sys.argv[1]))[0]["checks"]
asked = collections.Counter(c["workload"] for c in checks if c["probe"] == "row_scales")
ragged = {c["workload"] for c in checks if c["workload"].startswith("ragged") and c["workload"] != "ragged0"}
print(dict(asked))
sys.exit("not asked at every ragged shape" if not ragged or any(asked[r] < 2 for r in ragged) else 0)
END
