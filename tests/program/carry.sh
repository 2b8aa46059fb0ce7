#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs carried from store to store, and the leaderboard that ships: whole or not at all, the same bytes each time.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work
. "$source/tests/support/expect.sh"
cd "$source" || exit 1 # candidates of the lines are paths of the repository
lines=bench/results/nvidia-h200/leaderboard.jsonl
ship=$work/ship.sqlite
runs() { "$assay" runs "$@" </dev/null; }

expect 0 "verdicts imported" runs import "$lines" --store "$ship"
expect 0 "120 verdicts imported" runs import bench/results/cpu-epyc-2c/leaderboard.jsonl --store "$ship"
expect 0 "^honest C kernels +120/120 +[0-9]+ +small +cpu " runs --store "$ship"
expect 0 "^shipped kernels +144/144 +117 +full +cuda +2026-11-21 " env TZ=UTC "$assay" runs --store "$ship"
expect 0 "^KernelBench.s originals +246/250 +250 +full +cuda " runs --store "$ship"
expect 2 "has a run named .* already" runs import "$lines" --store "$ship"
json 0 runs --store "$ship" --json
# By kind of operator, where every task of the level is in one kind: 35 of 100 are convolutions.
expect 0 "^shipped kernels +kernelbench/1, convolution +34/35 \(1 missing\) " "$assay" score "shipped kernels" \
  --by operator_kind --of kernelbench/1 --store "$ship"
expect 0 "^100 of 11$" sh -c '"$1" score "shipped kernels" --by operator_kind --of kernelbench/1 --json --store "$2" |
  jq -r "\"\(map(.tasks) | add) of \(length)\""' sh "$assay" "$ship"
# What was not asked for is not listed: not the run's other levels either.
expect 0 "^1 kernelbench/2$" sh -c '"$1" score "shipped kernels" --of kernelbench/2 --json --store "$2" |
  jq -r "\"\(length) \(.[0].level)\""' sh "$assay" "$ship"
expect 0 "^shipped kernels +kernelbench/2, fusion +15/100 " "$assay" score "shipped kernels" --by category \
  --of kernelbench/2 --store "$ship"
expect 2 "level, category or operator_kind, not 'colour'" "$assay" score --by colour --store "$ship"

# The site: every page below 1 MB, twice the same bytes, and the second time into the same folder nothing to do.
expect 0 "index.html: [0-9]+ files" "$assay" report --html "$work/a" --store "$ship"
expect 0 "0 written, 0 removed" "$assay" report --html "$work/a" --store "$ship"
expect 0 "index.html: [0-9]+ files" "$assay" report --html "$work/b" --store "$ship" --threads 1
expect 0 "^same$" sh -c 'diff -r "$1/a" "$1/b" && echo same' sh "$work"
expect 0 "^0 large$" sh -c 'echo "$(find "$1/a" -size +976k | wc -l) large"' sh "$work"
expect 0 "shipped kernels" cat "$work/a/index.html"
expect 0 "honest C kernels" cat "$work/a/index.html"
# A CPU has no times here, and its kernels have every check of theirs.
expect 0 "outputs compared, 0 wrong" sh -c 'grep -l "tests/cases/matmul_blocked.c" "$1"/k/*.html | xargs cat' sh "$work/a"
expect 0 "By kind of operator" cat "$work/a/s/kernelbench-1.html"
expect 0 '"kernelbench/1/63","single operator","convolution"' cat "$work/a/data/s/kernelbench-1.csv"
expect 0 "They were not kept" sh -c 'cat "$1"/k/*.html | grep -m 1 "They were not kept"' sh "$work/a"
# Sources of kernels that are as they were judged are on their pages.
expect 0 "[1-9]" sh -c 'cat "$1"/k/*.html | grep -c __global__' sh "$work/a"

# Peaks travel with the runs: a device has its own roofs wherever its verdicts are, and none of another's.
head=$(head -n 1 "$lines")
h200='{"peaks":"peaks.cuda","device":"NVIDIA H200","bytes_per_s":4.3e12,"flops_per_s":6e13,"half_flops_per_s":8e14}'
h100='{"peaks":"peaks.cuda","device":"NVIDIA H100 80GB HBM3","bytes_per_s":2.9e12,"flops_per_s":5.5e13}'
samples=$(seq -s, 2185501 2185560)
two=$work/two.jsonl
{
  echo "$head"
  sed -n '2,40{/"run":"shipped kernels"/p}' "$lines" |
    sed "s/\"run\":\"shipped kernels\"/\"samples_ns\":[$samples],\"run\":\"shipped on an H100\"/
      s/\"device\":\"NVIDIA H200, /\"device\":\"NVIDIA H100 80GB HBM3, /"
  echo "$h200"
  echo "$h100"
} >"$two"
cp "$ship" "$work/two.sqlite"
expect 0 "[0-9]+ verdicts imported" runs import "$two" --store "$work/two.sqlite"
expect 0 "index.html: [0-9]+ files" "$assay" report --html "$work/two" --store "$work/two.sqlite"
page() { ls "$work/two/d" | sed -n "/$1/{s,^,$work/two/d/,p;q}"; }
expect 0 "NVIDIA H200, [^:]*: 4300 GB/s measured" cat "$(page h200)"
expect 0 "NVIDIA H100 80GB HBM3, [^:]*: 2900 GB/s measured" cat "$(page h100)"
expect 0 "No roof of this device" cat "$(page amd)"
expect 0 "60 cold samples" sh -c 'cat "$1"/k/*.html' sh "$work/two"
expect 0 "exported" runs export "shipped on an H100" "$work/h100.jsonl" --compact --store "$work/two.sqlite"
expect 0 "^1 NVIDIA H100 80GB HBM3$" sh -c 'jq -rs "map(select(.peaks)) | \"\(length) \(.[0].device)\"" "$1"' sh \
  "$work/h100.jsonl"
expect 0 "^60 2185500 2185600$" sh -c 'jq -rs ".[1].samples_ns | \"\(length) \(min) \(max)\"" "$1"' sh "$work/h100.jsonl"
# The greater of two measurements of one device is its peak; roofs of a plot in a file are the same.
printf '%s\n{"peaks":"peaks.cuda","device":"NVIDIA H200","bytes_per_s":5e12,"flops_per_s":6e13}\n' "$head" >"$work/more.jsonl"
expect 0 "0 verdicts imported" runs import "$work/more.jsonl" --store "$work/two.sqlite"
expect 0 "roof.svg" "$assay" score "shipped kernels" --plot roofline "$work/roof.svg" --store "$work/two.sqlite"
expect 0 "NVIDIA H200, [^:]*: 5000 GB/s measured" cat "$work/roof.svg"
printf '%s\n{"peaks":"peaks.cuda","device":"NVIDIA H200","bytes_per_s":"much"}\n' "$head" >"$work/odd_peaks.jsonl"
expect 2 "line 2: bytes_per_s of peaks is to be a number" runs import "$work/odd_peaks.jsonl" --store "$work/two.sqlite"
printf '%s\n{"peaks":"peaks.moon","device":"NVIDIA H200","bytes_per_s":1}\n' "$head" >"$work/odd_peaks.jsonl"
expect 2 "line 2: peaks is to be" runs import "$work/odd_peaks.jsonl" --store "$work/two.sqlite"

# There and back: the same lines, but for the paths that a compact file cuts.
mkdir "$work/kernels"
cp tests/cases/relu.c tests/cases/sigmoid.c "$work/kernels/"
mine=$work/mine.sqlite
expect 0 "2 judged now" "$assay" bench kernelbench/1 --from "$work/kernels" --run mine --no-probes --checks 1 --no-timing \
  --store "$mine"
expect 0 "run .mine.: 2 verdicts exported" runs export mine "$work/mine.jsonl" --store "$mine"
expect 0 "2 verdicts imported" runs import "$work/mine.jsonl" --store "$work/other.sqlite"
expect 0 "2 verdicts exported" runs export mine "$work/back.jsonl" --store "$work/other.sqlite"
expect 0 "^same$" sh -c 'cmp "$1/mine.jsonl" "$1/back.jsonl" && echo same' sh "$work"
expect 0 "2 verdicts exported" runs export mine "$work/small.jsonl" --compact --store "$mine"
expect 1 "none" sh -c 'grep -F "$1" "$2" || { echo none; exit 1; }' sh "$work" "$work/small.jsonl"
expect 0 "2 verdicts imported" runs import "$work/small.jsonl" --store "$work/third.sqlite"

# Sizes of equal rank all stand: a compact file has the verdicts at each of them.
expect 0 "2 judged now" "$assay" bench kernelbench/1 --from "$work/kernels" --run mine --no-probes --checks 1 --no-timing \
  --workload ragged0 --store "$mine"
expect 0 "4 verdicts exported" runs export mine "$work/sweep.jsonl" --compact --store "$mine"

# What is no such file, and what is half of one: nothing is stored.
expect 2 "there is no run|no run named" runs export none "$work/none.jsonl" --store "$mine"
head -c 3000 "$work/mine.jsonl" >"$work/cut.jsonl"
expect 2 "cut.jsonl: line [23]: it is not a JSON object" runs import "$work/cut.jsonl" --store "$work/empty.sqlite"
expect 2 "relu.c: it does not begin|relu.c: line 1" runs import tests/cases/relu.c --store "$work/empty.sqlite"
sed '3s/"reason":"pass","run"/"reason":"great","run"/' "$work/mine.jsonl" >"$work/odd.jsonl"
expect 2 "odd.jsonl: line 3: reason is to be one of" runs import "$work/odd.jsonl" --store "$work/empty.sqlite"
sed '2s/\(.*\)"unstable"/\1"instable"/' "$work/mine.jsonl" >"$work/name.jsonl" # the verdict's own, after the evidence's
expect 2 "line 2: instable: no verdict has" runs import "$work/name.jsonl" --store "$work/empty.sqlite"
expect 0 "^no run is in .*empty.sqlite yet" runs --store "$work/empty.sqlite"
report
