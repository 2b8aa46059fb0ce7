#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fifty candidates in a row on a GPU, every other one broken in another way: each must get its own verdict, and the
# candidate after a fault must be judged as if nothing had happened. usage: row_of_50.sh ASSAY
set -eu
assay=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
head='// assay: let n = x.count
// assay: launch relu grid=ceil_div(n, 256) block=256 args=x, y, n
extern "C" __global__ void relu(const float *x, float *y, long long n) {
  long long i = blockIdx.x * 256ll + threadIdx.x;'
write() { # write NUMBER EXPECT BODY [EXTRA LINE]
  {
    echo "// assay: task kernelbench/1/19"
    echo "// assay: expect $2"
    [ -z "${4:-}" ] || echo "$4"
    echo "// candidate $1"
    echo "$head"
    echo "  $3"
    echo "}"
  } >"$folder/$(printf %02d "$1").cu"
}
honest='if (i < n) y[i] = x[i] < 0 ? 0 : x[i];'
i=0
while [ $i -lt 50 ]; do
  case $i in
  1 | 17 | 33) write $i out_of_bounds\|unwritten 'if (i < n) y[i + (1ll << 24)] = x[i];' ;;
  3 | 19 | 35) write $i wrote_input 'if (i < n) { ((float *)x)[i] = 0; y[i] = x[i]; }' ;;
  5 | 21 | 37) write $i crashed 'if (i == 0) __trap(); if (i < n) y[i] = x[i];' ;;
  7 | 39) write $i timeout 'while (((volatile float *)y)[0] != 12345.0f) { }' ;;
  9 | 25 | 41) write $i crashed 'if (i < n) *(double *)((char *)y + 4 * (i / 2) + 1) = 1;' ;;
  11 | 27 | 43) write $i out_of_memory\|invalid_plan "$honest" '// assay: scratch s float[4398046511104]' ;;
  13 | 29 | 45) write $i launch_failed\|invalid_plan "$honest" '// assay: launch relu grid=1 block=1025 args=x, y, x.count' ;;
  15 | 31 | 47) write $i unwritten 'if (i < n - 1) y[i] = x[i] < 0 ? 0 : x[i];' ;;
  23) write $i out_of_bounds\|wrong_value\|wrong_class\|crashed 'if (i < n) y[i] = x[i + (1ll << 30)];' ;;
  49) write $i out_of_bounds\|crashed 'y[i] = ((const float *)1)[i];' ;;
  *) write $i pass "$honest" ;;
  esac
  i=$((i + 1))
done
"$assay" bench kernelbench/1 --from "$folder" --twins --device cuda --timeout 2 --store "$folder/store.sqlite"
