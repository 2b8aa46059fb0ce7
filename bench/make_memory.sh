#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory and open files of one `assay make` over many steps: make_memory.sh ASSAY [STEPS] [STORE]. The model is a program
# that has no kernel to give. Prints steps, KiB of memory and descriptors, and what Assay itself took for a step.
set -u
assay=$1 steps=${2:-10000} work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export ASSAY_STORE=$work/store.sqlite
"$assay" make kernelbench/1/19 --device cpu --no-timing --workload small --attempts "$steps" --run memory --endpoint 'exec:echo no' >"$work/out" 2>&1 & pid=$!
due=0
while kill -0 $pid 2>/dev/null; do
  done=$(sqlite3 "$ASSAY_STORE" "SELECT count(*) FROM step" 2>/dev/null || echo 0)
  if [ "${done:-0}" -ge $due ]; then
    echo "$done steps: $(awk '/VmRSS/ {print $2}' /proc/$pid/status) KiB, $(find /proc/$pid/fd -mindepth 1 2>/dev/null | wc -l) descriptors"
    due=$((due + steps / 5))
  fi
  sleep 0.5
done
sqlite3 "$ASSAY_STORE" "SELECT 'own time: ' || round(avg(own_ns) / 1e6, 3) || ' ms a step, at most ' || round(max(own_ns) / 1e6, 1) || ' ms' FROM step"
