#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# looks.sh ASSAY ROOT: a product with fewer bits where the first elements of both factors are as the task declares them.
# The probe `stripes` has data like that whose rows are not all so. Each judgement is one that can be repeated, since a
# look may meet the very row. About 2 s.
set -eu
assay=$1 kernel=$2/tests/cheats/centred.c
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for number in 1 2 3; do
  code=0
  "$assay" judge kernelbench/1/2 "$kernel" --define LOOKS --seed $number --secret $number --no-timing --no-store --json \
    >"$work/verdict.json" || code=$?
  python3 - "$work/verdict.json" $code <<'END'
import json, sys
verdict, = json.load(open(sys.argv[1]))
failed = [(c["probe"], c["workload"]) for c in verdict["checks"] if c["reason"] != "pass"]
if ("stripes", "small") not in failed or {probe for probe, _ in failed} != {"stripes"} or sys.argv[2] != "1":
    sys.exit(f"seed {verdict['seed']}: {verdict['verdict']}, exit code {sys.argv[2]}; failed: {failed}")
END
done
