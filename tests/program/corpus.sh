#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# corpus.sh ASSAY FOLDER STORE [OPTION...]: judges a corpus with all its twins and compares every verdict with the
# expected one. Its tasks are KernelBench's, or those of the suite that ASSAY_SUITE names. Afterwards nothing may be
# left: no process, no temporary folder.
#
# Two benches judge the corpus where there are two CPUs, each half of the files first and then what the other has not come
# to, so that the oracle answers for a file and its twins in one process. They share it out by their claims in the store,
# as any two benches of one run do; no verdict here is about a time, and most of the time goes into compilers of one thread and
# into waiting for candidates that never end. A last bench, which finds everything done, prints and compares. The time
# limit is what some candidates need to fill their gigabyte on a busy machine; the endless ones wait for it.
#
# Seed and secret are always the same, unless ASSAY_SEED and ASSAY_SECRET name others: among a thousand verdicts on
# draws that are fresh, one is as rare as one in a thousand (a wrong kernel whose errors happen to be small), and a test must not fail for that.
set -eu
seed=${ASSAY_SEED:-20261122}
secret=${ASSAY_SECRET:-20261123}
assay=$1 corpus=$2 store=$3
shift 3
temporary=$(mktemp -d)
benches=""
trap 'kill $benches 2>/dev/null || true; rm -rf "$temporary" "$store".bench.*' EXIT
trap 'exit 130' INT TERM
rm -f "$store" "$store-wal" "$store-shm"
status=0
bench() {
  TMPDIR=$temporary exec "$assay" bench "${ASSAY_SUITE:-kernelbench}" --from "$corpus" --twins --workload small --samples 60 \
    --timeout 6 --seed "$seed" --secret "$secret" --store "$store" --run corpus "$@"
}
half() { # half GLOB OPTION...: those files, then all
  (cd "$corpus" && find . -name "$1" -type f | grep -q .) && { (bench --only "$@") || [ $? -le 1 ] || return 2; }
  shift
  bench "$@"
}
if [ "$(nproc)" -gt 1 ]; then
  half '[m-z]*' "$@" >"$store.bench.1" &
  benches="$benches $!"
  half '[!m-z]*' "$@" >"$store.bench.2" &
  benches="$benches $!"
fi
for one in $benches; do
  code=0
  wait "$one" || code=$?
  if [ $code -gt 1 ]; then # 1: an unexpected verdict, which the last bench will find too
    echo "a bench ended with $code"
    cat "$store".bench.*
    status=1
  fi
done
benches=""
(bench "$@") || status=$?
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
