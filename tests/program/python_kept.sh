#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python_kept.sh ASSAY TESTS: extensions that a Python candidate compiles are compiled once. 77: PyTorch is not there.
set -eu
. "$2/support/torch.sh"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="$work/cache"
assay=$1 failed=0

# judged FILE EXPECTED OPTION...: the verdict, and "kept" or "made" for its extensions
judged() {
  file=$1 expected=$2
  shift 2
  "$assay" judge kernelbench/1/19 "$file" --workload small --device cpu --no-timing --no-store --no-probes --checks 1 \
    --json "$@" >"$work/json" 2>"$work/err" || true
  found=$("$ASSAY_PYTHON" -c 'import json, sys
v = json.load(open(sys.argv[1]))[0]
print(v["verdict"], "kept" if "as they were compiled before" in (v["compiler"] or "") else "made")' "$work/json")
  if [ "$found" != "$expected" ]; then
    echo "FAILED: $file $*: $found, not $expected"
    cat "$work/json" "$work/err"
    failed=1
  fi
}

cp "$2/python/same_name.py" "$work/candidate.py"
judged "$work/candidate.py" "pass made"
judged "$work/candidate.py" "pass kept"

# Another file with the very same extension puts something else where that is compiled. It spoils its own entry alone.
{
  cat "$work/candidate.py"
  echo '
import glob
if building:
    for library in glob.glob(os.path.join(here, "extensions", "*", "*.so")):
        os.remove(library)  # it is loaded
        open(library, "wb").write(b"nothing that can be loaded")'
} >"$work/spoiler.py"
judged "$work/spoiler.py" "load_failed made"
judged "$work/candidate.py" "pass kept"
[ $failed -eq 0 ] && echo "4 as expected"
exit $failed
