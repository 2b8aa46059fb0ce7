#!/bin/sh
# corpus.sh ASSAY FOLDER STORE [OPTION...]: judges a corpus with all its twins and compares every verdict with the
# expected one. Afterwards nothing may be left: no process, no temporary folder.
set -eu
assay=$1 corpus=$2 store=$3
shift 3
temporary=$(mktemp -d)
trap 'rm -rf "$temporary"' EXIT
rm -f "$store" "$store-wal" "$store-shm"
status=0
TMPDIR=$temporary "$assay" bench kernelbench/1 --from "$corpus" --twins --workload small --samples 60 \
  --timeout 4 --store "$store" --run corpus "$@" || status=$?
if [ -n "$(ls -A "$temporary")" ]; then
  echo "left behind in the temporary folder:"
  ls -la "$temporary"
  status=1
fi
if pgrep -f "assay-.*$temporary" >/dev/null; then
  echo "left behind:"
  pgrep -af "assay-.*$temporary"
  status=1
fi
exit $status
