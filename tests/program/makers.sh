#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The comparison that ships, as somebody has it who imports its lines: letters and times on any machine, the same on the page and
# as text; where lines are without what a maker printed, its cost is what its trials took, or not known.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
. "$source/tests/support/expect.sh"
cd "$source" || exit 1
lines=bench/results/nvidia-h200/makers.jsonl
stored=("$assay" compare fusedops --with eager,inductor,max-autotune,triton,kernels/fusedops,library --workload 'size*' --run "published families" --scorecard --stored)
expect 0 "220 verdicts imported" "$assay" runs import "$lines"
expect 0 "written" "$assay" report --html "$work/site"
expect 0 "" "${stored[@]}"
cp "$work/out" "$work/text.txt"
cat >"$work/letters.py" <<'PYTHON'
import glob, html, re, sys
wanted = {"eager": "A (0)", "inductor": "B (3.69)", "max-autotune": "C (12.8)", "triton": "C (10.3)", "library": "A (0)"}
page = open(glob.glob(sys.argv[1] + "/c/published*.html")[0]).read()
makers = page[page.index('id="makers"'):page.index('id="task-1"')]
rows = [[html.unescape(re.sub("<[^>]*>", "", cell)) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in re.findall(r"<tr>(.*?)</tr>", makers, re.S)]
on_page = {row[0]: row[5:] for row in rows if len(row) == 9 and row[1].isdigit()}
said = {}
for line in open(sys.argv[2]).read().split("maker             ease")[1].split("\n\n")[0].split("\n")[1:]:
    words = re.split(r" {2,}", line.strip())
    said[words[0]] = words[2:]
print(len(on_page), on_page == said, sum(on_page[maker][3] == cost for maker, cost in wanted.items()), {m: r[3] for m, r in on_page.items()})
PYTHON
expect 0 "^6 True 5 " python3 "$work/letters.py" "$work/site" "$work/text.txt"
expect 0 "^size05 +28.18 us +22.14 us +26.35 us +19.55 us +.16.74 us" cat "$work/text.txt"
# Without what was printed, a compiler's cost is not known; that of a tuner is what its trials took.
python3 - "$lines" "$work/cut.jsonl" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file, open(sys.argv[2], "w") as out:
    for line in map(json.loads, file):
        line.get("evidence", {}).pop("diagnostics", None)
        out.write(json.dumps(line) + "\n")
PYTHON
export ASSAY_STORE=$work/cut.sqlite
expect 0 "220 verdicts imported" "$assay" runs import "$work/cut.jsonl"
expect 0 "written" "$assay" report --html "$work/cut"
expect 0 "" "${stored[@]}"
cp "$work/out" "$work/cut.txt"
expect 0 "^6 True 3 .*'inductor': '-'.* 'max-autotune': '-'" python3 "$work/letters.py" "$work/cut" "$work/cut.txt"
# What a tuner took of processors, as the worker said it; nobody says what it took of the GPU.
python3 - "$lines" "$work/first.jsonl" <<'PYTHON'
import json, sys
with open(sys.argv[1]) as file, open(sys.argv[2], "w") as out:
    for line in map(json.loads, file):
        text = line.get("evidence", {}).get("diagnostics")
        if text and "Triton autotuning" in text:
            line["evidence"]["diagnostics"] = text + "\nassay: first call: 9.500 s, 33.250 s of processors\n"
        if "trial" not in line:
            out.write(json.dumps(line) + "\n")
PYTHON
seconds() { "$assay" trials --json | python3 -c "import json, sys; print(*sorted({(c['maker'], c['cpu_seconds'], c['gpu_seconds']) for c in json.load(sys.stdin)['curves']}))"; }
export ASSAY_STORE=$work/first.sqlite
expect 0 "220 verdicts imported" "$assay" runs import "$work/first.jsonl"
expect 0 "" "${stored[@]}"
expect 0 "^..triton., 33.25, None.$" seconds
export ASSAY_STORE=$work/cut.sqlite
# The curves of searches with steps come before those of one time.
expect 0 "944 trials|imported" "$assay" runs import bench/results/nvidia-h100/trials.jsonl
expect 0 "imported" "$assay" runs import bench/results/nvidia-h100/makers.jsonl
expect 0 "written" "$assay" report --html "$work/cut"
curves() { python3 -c "import re, sys; t = open(sys.argv[1]).read(); t = t[t.index('id=\"curves\"'):]; print(*sorted(set(re.findall(r'>size\d+ \w+, (\w+):kernels/fusedops<', t))))" "$work/cut/c/fusedops.html"; }
expect 0 "^tune$" curves
expect 0 "The 10 searches with most steps are drawn, of 114" cat "$work/cut/c/fusedops.html"
report
