#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A kernel that forges the stamp of its own start must get the time of one that takes as long and does not.
# usage: forged_stamps.sh ASSAY [MACRO]    MACRO: STAMPS=ADDRESS, where the driver keeps stamps
set -eu
assay=$1
folder=$(dirname "$0")/../cheats/cuda
time_of() {
  "$assay" judge kernelbench/1/19 "$folder/stamps.cu" --workload small --no-store --json --define "$1" |
    python3 -c 'import json, sys
v = json.load(sys.stdin)[0]
t = v["timing"]
print(v["verdict"], t.get("median_ns"), t.get("stamps_apart"), t.get("suspicious"), t.get("stamps_excess_ns"), v.get("detail", ""))'
}
honest=$(time_of HONEST) || true
echo "honest: $honest"
for form in "${2:-FORGED}" LITTLE; do
  forged=$(time_of "$form") || true
  echo "forged: $forged"
  python3 - "$honest" "$forged" <<'END'
import sys
honest, forged = (line.split() for line in sys.argv[1:])
if forged[0] in ("crashed", "out_of_bounds"):
    sys.exit("the stamps lie elsewhere: nothing was shown")
if honest[0] != "pass" or float(forged[1]) < float(honest[1]) - 350:
    sys.exit("the forgery paid")
seen = forged[3] == "True" or float(forged[4]) > 0 # by little: added, and no suspicion
print("the forgery did not pay" + (", and was seen" if seen else ": no stamp was found"))
END
done
