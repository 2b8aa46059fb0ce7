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

# For a GPU they are compiled where the GPU is, by a worker that knows of no workload; only what records needs the GPU.
export XDG_CACHE_HOME="$work/gpu"
planned() { # planned FILE WORDS: what came of its plan
  "$assay" plan save kernelbench/1/19 "$1" --workload small --out "$work/plan.json" >"$work/out" 2>&1 || true
  if [ ! -e "$work/plan.json" ] && ! grep -q "$2" "$work/out"; then
    echo "FAILED: $1: no \"$2\":"
    cat "$work/out"
    failed=1
  fi
}
entry() { # of so many entries the last: its number as a file, and whether there is a library in it
  find "$work/gpu/assay" -type f -printf '%T@ %i ' -exec sh -c 'grep -aq "\.so " "$1" && echo library || echo none' _ {} \; | sort -n |
    tail -n 1 | cut -d " " -f 2-
}
planned "$work/candidate.py" "NVIDIA driver"
first=$(entry)
planned "$work/candidate.py" "NVIDIA driver"
second=$(entry)
case $first in *library) ;; *) echo "FAILED: nothing was kept for a GPU: $first" && failed=1 ;; esac
[ "$first" = "$second" ] || { echo "FAILED: compiled again for a GPU: $first, $second" && failed=1; }
sed 's/return PyModule_Create/return no_such_function/' "$work/candidate.py" >"$work/broken.py"
planned "$work/broken.py" "error: .no_such_function. was not declared"
[ "$(entry)" = "$first" ] || { echo "FAILED: what does not compile was kept" && failed=1; }
{ echo 'FILES = True' && cat "$work/candidate.py"; } >"$work/files.py"
planned "$work/files.py" "NVIDIA driver"
case $(entry) in *none) ;; *) echo "FAILED: what is made of files was kept: $(entry)" && failed=1 ;; esac
[ $failed -eq 0 ] && echo "8 as expected"
exit $failed
