#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# assay trials: the logs of other tuners, and the figures that come of the published tuning runs.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
. "$source/tests/support/expect.sh"
logs=$source/tests/tuning/logs
about=(--task fusedops/matmul/bf16_matmul --workload size01)
curve() { # curve RUN EXPRESSION: of its first curve `c`
  "$assay" trials "$1" --json | python3 -c "import json, sys; c = json.load(sys.stdin)['curves'][0]; print($2)"
}
expect 0 "6 trials read" "$assay" trials --read "$logs/helion.csv" --run helion "${about[@]}" helion
expect 0 "^6 3 38.0 100000.0$" curve helion "c['tried'], c['timed'], c['seconds'], c['best_ns']"
expect 0 "^\[\[4.0, 2\], \[4.0, 2\], \[38.0, 6\]\]$" curve helion "[[w['seconds'], w['tried']] for w in c['within']]"
expect 0 "38 trials read" "$assay" trials --read "$logs/inductor.log" --run inductor --task a --workload b inductor
expect 0 "^38 3.007 7200.0 2.007$" curve inductor "c['tried'], round(c['seconds'], 3), c['best_ns'], round(c['within'][2]['seconds'], 3)"
expect 0 "3 trials read" "$assay" trials --read "$logs/triton.json" --run triton "${about[@]}" triton
expect 0 "^3 2 BLOCK_M=128,BLOCK_N=256,num_warps=8,num_stages=3,num_ctas=1$" curve triton "c['tried'], c['timed'], c['curve'][0]['configuration']"
expect 0 "2 trials read" "$assay" trials --read "$logs/triton.log" --run text "${about[@]}" text
expect 0 "^14.34 None$" curve text "round(c['seconds'], 2), c['best_ns']"
# As they stand in terminals: Helion's search, with a generation of several lines, a wrong configuration and ten that only the last
# line counts; Inductor's block behind TORCH_LOGS' prefix; Triton's line of before 3.4.
expect 0 "30 trials read" "$assay" trials --read "$logs/helion.log" --run said --task c --workload d said
expect 0 "30 tried, .*; 70.50 s, processors -, GPU -;" "$assay" trials said
expect 0 "40.00 .*block_sizes.: .128, 32., .num_warps.: 8" "$assay" trials said
expect 0 "^30 3 70.5 100000.0 \[\[40.0, 110000.0\], \[60.0, 100000.0\], \[60.0, 100000.0\]\]$" curve said \
  "c['tried'], c['timed'], c['seconds'], c['best_ns'], [[w['seconds'], next(p['time_ns'] for p in c['curve'] if p['seconds'] == w['seconds'])] for w in c['within']]"
expect 0 "^failed 25 ok 3 summary 1 wrong 1 $" python3 - "$ASSAY_STORE" <<'END'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT status, count(*) FROM trial WHERE run = 'said' GROUP BY status ORDER BY status")
print(*(f"{status} {count} " for status, count in rows), sep="")
END
expect 0 "3 trials read" "$assay" trials --read "$logs/inductor_prefixed.log" --run prefixed --task e --workload f prefixed
expect 0 "^3 2 2.0 16600.0 bias_addmm$" curve prefixed "c['tried'], c['timed'], c['seconds'], c['best_ns'], c['curve'][0]['configuration']"
expect 0 "1 trials read" "$assay" trials --read "$logs/triton_line.log" --run line --task g --workload h line
expect 0 "^_attn_fwd BLOCK_M: 256, .*maxnreg: None$" python3 -c "import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT detail, configuration FROM trial WHERE run = 'line'\").fetchone())" "$ASSAY_STORE"
# As the tools print since: Helion's generations over several lines, which count their parents, wrong ones and searches that are cut off; its CSV of two
# searches; each of Triton's configurations; blocks of two ranks, interleaved; and several tuners in one log, with colours and progress bars.
statuses() { # statuses RUN
  python3 - "$ASSAY_STORE" "$1" <<'END'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("SELECT maker, status, count(*) FROM trial WHERE run = ? GROUP BY maker, status ORDER BY maker, status", sys.argv[2:])
print(*(" ".join(map(str, row)) for row in rows), sep=", ")
END
}
expect 0 "21 trials read" "$assay" trials --read "$logs/helion_generations.log" --run generations --task i --workload j generations
expect 0 "^helion failed 14, helion ok 4, helion summary 1, helion wrong 2$" statuses generations
expect 0 "^75.5 \[\[20.0, 200000.0, 'block_sizes=\[64, 32\], num_warps=4'\], \[40.0, 110000.0, .*\], \[60.0, 100000.0, .*\], \[75.5, 50000.0, 'block_sizes=\[32\]'\]\]$" \
  curve generations "c['seconds'], [[p['seconds'], p['time_ns'], p['configuration']] for p in c['curve']]"
expect 0 "6 trials read" "$assay" trials --read "$logs/helion_two.csv" --run two --task i --workload k two
expect 0 "^helion compile_error 1, helion duplicate 1, helion ok 4$" statuses two
expect 0 "^14.0 \[\[2.0, 1\], \[10.0, 3\], \[14.0, 6\]\]$" curve two "c['seconds'], [[p['seconds'], p['tried']] for p in c['curve']]"
# What a kernel of the maker helion prints of its search: the configurations that were no faster than one before by their numbers.
expect 0 "4 trials read" "$assay" trials --read "$logs/helion_told.csv" --run told --task i --workload m told
expect 0 "^helion compile_error 1, helion ok 2, helion summary 1$" statuses told
# Inductor's coordinate descent: what its heuristics list, then what the descent tries, by the prefix's clock past midnight; what was tried before is
# no trial, what is no better has no time. Without the prefix there are no moments, and a line that is cut off is nothing.
expect 0 "5 trials read" "$assay" trials --read "$logs/inductor_descent.log" --run descent --task i --workload l descent
expect 0 "^inductor_descent failed 2, inductor_descent ok 3$" statuses descent
expect 0 "^4.6 \[\[0.1, 12288.0\], \[2.5, 10240.0\]\] XBLOCK: 2, R0_BLOCK: 2048, num_warps: 16, num_ctas: 1, num_stages: 1, maxnreg: None$" \
  curve descent "round(c['seconds'], 3), [[round(p['seconds'], 3), p['time_ns']] for p in c['curve']], c['curve'][-1]['configuration']"
expect 0 "^triton_red_fused_softmax_0: out of resource" python3 -c "import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute(\"SELECT detail FROM trial WHERE run = 'descent' AND detail LIKE '%resource%'\").fetchone()[0])" "$ASSAY_STORE"
expect 0 "3 trials read" "$assay" trials --read "$logs/inductor_descent_plain.log" --run plain --task i --workload m plain
expect 0 "^3 2 0.0 3072.0 XBLOCK: 512, num_warps: 4, num_ctas: 1, num_stages: 1$" curve plain "c['tried'], c['timed'], c['seconds'], c['best_ns'], c['curve'][-1]['configuration']"
# A fork of Triton prints the time of what it chose, which is no part of the configuration.
expect 0 "1 trials read" "$assay" trials --read "$logs/triton_timed.log" --run timed --task i --workload n timed
expect 0 "^3.5 12300.0 BLOCK_M: 64, BLOCK_N: 32, num_warps: 4, num_ctas: 1, num_stages: 2, maxnreg: None$" curve timed "c['seconds'], c['best_ns'], c['curve'][0]['configuration']"
expect 0 "5 trials read" "$assay" trials --read "$logs/triton_each.log" --run each --task l --workload m each
expect 0 "^triton compile_error 1, triton failed 1, triton launch_error 1, triton summary 2$" statuses each
expect 0 "^5 14.0$" curve each "c['tried'], c['seconds']"
expect 0 "4 trials read" "$assay" trials --read "$logs/inductor_ranks.log" --run ranks --task n --workload o ranks
expect 0 "^inductor_max failed 1, inductor_max ok 1, inductor_max summary 2$" statuses ranks
expect 0 "^3.0 6000.0 2.25$" curve ranks "c['seconds'], c['best_ns'], c['curve'][-1]['seconds']"
expect 0 "8 trials read" "$assay" trials --read "$logs/mixed.log" --run mixed --task p --workload q mixed
expect 0 "^helion failed 3, helion ok 1, inductor_max ok 1, inductor_max summary 2, triton summary 1$" statuses mixed
expect 0 "^\[\['helion', 3.0, 300000.0\], \['inductor_max', 9.6155, 2100.0\], \['triton', 161.22, None\]\]$" python3 -c "import json, subprocess, sys
print([[c['maker'], round(c['seconds'], 4), c['best_ns']] for c in json.loads(subprocess.run([sys.argv[1], 'trials', 'mixed', '--json'], stdout=-1).stdout)['curves']])" "$assay"
# Other versions: Helion's CSV names its columns, and has had more and fewer; what evolution replaces is no configuration more;
# the first Inductor wrote "s" behind milliseconds, and all digits of its seconds.
for version in first wide; do
  python3 - "$logs/helion.csv" $version >"$work/$version.csv" <<'END'
import csv, sys
rows = [r for r in csv.reader(open(sys.argv[1])) if len(r) == 8]
out = csv.writer(sys.stdout)
for n, (run, at, config_id, generation, status, perf, compile_s, config) in enumerate(rows):
    head = n == 0
    index = "config_index" if head else str(n)
    end = [at, index, generation, status, perf, compile_s]
    out.writerow(end + [config] if sys.argv[2] == "first" else
                 [run, "kernel_id" if head else "k1", "sample_id" if head else "s", *end, "decorator" if head else f"@helion.kernel({config}, \"x\")", config])
END
  expect 0 "6 trials read" "$assay" trials --read "$work/$version.csv" --run helion_$version --task "$version" --workload size01 helion_$version
  expect 0 "^6 3 38.0 100000.0$" curve helion_$version "c['tried'], c['timed'], c['seconds'], c['best_ns']"
done
cat >"$work/evolution.log" <<'END'
[0s] Starting DifferentialEvolutionSearch with population=4, generations=2, crossover_rate=0.8
[8s] Initial population (initial_population=FROM_RANDOM):
error=1 ok=7 | min=0.2000 mid=0.3548 max=3.5272
best:
  block_sizes = [64, 32]
[20s] Generation 1 complete: replaced=3
ok=4 | min=0.1500 mid=0.1800 max=0.2000
best:
  block_sizes = [128, 32]
END
expect 0 "12 trials read" "$assay" trials --read "$work/evolution.log" --run evolution --task r --workload s evolution
expect 0 "^helion failed 10, helion ok 2$" statuses evolution
# Helion's generations as it printed them before 0.1.8 (0.0.4 with an s behind milliseconds), and the line of 0.3.3 to 1.4 that says how
# many configurations there will be, which is no generation.
cat >"$work/early.log" <<'END'
[0s] Starting DifferentialEvolutionSearch with population=4, generations=3, crossover_rate=0.8
[10s] Initial population: failed=1 min=0.5000s mid=0.6000s max=0.9000s best=Config(block_sizes=[[16, 32], [8]], num_warps=2)
[20s] Generation 2: replaced=2 min=0.4000s mid=0.5000s max=0.6000s best=Config(block_sizes=[[32, 32], [8]], num_warps=4)
[30s] Autotuning complete in 30.5s after searching 12 configs.
[0s] Starting PatternSearch with initial_population=4, copies=1
[5s] Initial random population of 4, 1 starting points: min=0.3000 mid=0.4000 max=0.5000 best=Config(block_sizes=[64], num_warps=4)
[9s] Generation 1, 6 neighbors, 1 active: failed=1 min=0.2000 mid=0.4000 max=0.5000 best=Config(block_sizes=[128], num_warps=8)
[12s] Autotuning complete in 12.0s after searching 10 configs.
END
expect 0 "22 trials read" "$assay" trials --read "$work/early.log" --run early --task r --workload early early
expect 0 "^\[\[10.0, 500000.0\], \[20.0, 400000.0\], \[35.5, 300000.0\], \[39.5, 200000.0\]\]$" curve early "[[p['seconds'], p['time_ns']] for p in c['curve']]"
cat >"$work/total.log" <<'END'
[0s] Initial population: 1 default + 5 unique cached = 6 total
[8s] Initial random population of 6, 2 starting points: 
error=1 ok=5 | min=0.2000 mid=0.3000 max=0.5000
best:
  block_sizes = [64]
[9s] Generation 1 starting: 3 neighbors, 2 active search path(s)
[20s] Generation 1 complete: 
ok=5 | min=0.1500 mid=0.1800 max=0.2000
best:
  block_sizes = [128]
[20s] Autotuning complete in 20.5s after searching 9 configs.
END
expect 0 "9 trials read" "$assay" trials --read "$work/total.log" --run total --task r --workload total total
expect 0 "^\[\[8.0, 6\], \[20.0, 8\]\]$" curve total "[[p['seconds'], p['tried']] for p in c['curve']]"
# A tuning of Triton's that was killed leaves what it began; what failed before that is known to have.
cat >"$work/killed.log" <<'END'
Autotuning kernel k with config BLOCK: 64, num_warps: 4
Autotuning kernel k with config BLOCK: 512, num_warps: 8
Autotuning failed with out of resource: shared memory, Required: 294912, Hardware limit: 232448.
Autotuning kernel k with config BLOCK: 128, num_warps: 4
END
expect 0 "3 trials read" "$assay" trials --read "$work/killed.log" --run killed --task r --workload killed killed
expect 0 "^triton failed 2, triton launch_error 1$" statuses killed
expect 0 "^\(2,\)$" python3 -c "import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT count(*) FROM trial WHERE run = 'killed' AND status = 'failed' AND detail LIKE 'begun; the log ends before%'\").fetchall())" "$ASSAY_STORE"
# Inductor's choices with what describes them, for which operator; one without a time failed.
cat >"$work/described.log" <<'END'
Autotune Choices Stats:
{"num_choices": 3, "num_triton_choices": 2, "best_kernel": "triton_mm_7", "best_time": 0.0051}
AUTOTUNE mm(96x64, 64x32)
strides: [64, 1], [32, 1]
dtypes: torch.bfloat16, torch.bfloat16
  triton_mm_7 0.0051 ms 100.0% ACC_TYPE='tl.float32', BLOCK_K=32, num_warps=4 
  mm 0.0060 ms 85.0% 
  triton_mm_9 inf ms 0.0% ACC_TYPE='tl.float32', BLOCK_K=64, num_warps=8
SingleProcess AUTOTUNE benchmarking takes 0.2500 seconds and 0.7500 seconds precompiling for 3 choices
END
expect 0 "3 trials read" "$assay" trials --read "$work/described.log" --run described --task r --workload described described
expect 0 "^inductor_max failed 1, inductor_max ok 1, inductor_max summary 1$" statuses described
expect 0 "^triton_mm_7 ACC_TYPE='tl.float32', BLOCK_K=32, num_warps=4 / mm\(96x64, 64x32\)$" python3 -c "import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT configuration, detail FROM trial WHERE run = 'described' AND number = 0\").fetchone(), sep=' / ')" "$ASSAY_STORE"
expect 0 "^triton_mm_9 ACC_TYPE='tl.float32', BLOCK_K=64, num_warps=8 / a choice that failed$" python3 -c "import sqlite3, sys
print(*sqlite3.connect(sys.argv[1]).execute(\"SELECT configuration, detail FROM trial WHERE run = 'described' AND status = 'failed'\").fetchone(), sep=' / ')" "$ASSAY_STORE"
cat >"$work/old.log" <<'END'
AUTOTUNE ref_mm_plus_mm(2048x64, 64x1536, 2048x64, 64x1536)
  triton_mm_plus_mm_0 0.0276s 100.0%
  triton_mm_plus_mm_6 0.0287s 96.4%
  ref_mm_plus_mm 0.0389s 71.1%
SingleProcess AUTOTUNE takes 9.04686689376831 seconds
END
expect 0 "3 trials read" "$assay" trials --read "$work/old.log" --run old --task t --workload u old
expect 0 "^9.04687 27600.0 triton_mm_plus_mm_0$" curve old "round(c['seconds'], 5), c['best_ns'], c['curve'][0]['configuration']"
sed 's/0.0276s/9e30s/' "$work/old.log" >"$work/long.log" # no kernel takes so long
expect 0 "3 trials read" "$assay" trials --read "$work/long.log" --run long --task t --workload u long
expect 0 "^3 2 28700.0$" curve long "c['tried'], c['timed'], c['best_ns']"
iconv -f UTF-8 -t UTF-16LE "$logs/triton.log" | sed '1s/^/\xff\xfe/' >"$work/wide.log" # as PowerShell redirects
expect 0 "2 trials read" "$assay" trials --read "$work/wide.log" --run wide "${about[@]}" wide
# Helion's best is slower than what Triton's autotuner found: another's time is not reached.
expect 0 "within 2 %: not reached" "$assay" trials helion
expect 2 "no trials of a run .helio.; did you mean helion" "$assay" trials helio
expect 2 "is no log of a tuner" "$assay" trials --read "$source/README.md"
printf 'run_id,timestamp_s,config_id,generation,status,perf_ms,compile_time_s,config\n' >"$work/empty.csv"
expect 2 "is no log of Helion: its first line does not name" "$assay" trials --read "$source/README.md" --format helion
expect 2 "is no table of published runs" "$assay" trials --read "$source/README.md" --format published
expect 2 "nothing in it is a trial of helion" "$assay" trials --read "$work/empty.csv"
# What has trials alone is a run, too.
expect 0 "" "$assay" runs rename text other
expect 2 "cannot be put into another" "$assay" runs merge other inductor --yes
expect 0 "" "$assay" runs delete other --yes
expect 2 "no run named" "$assay" runs delete other --yes
# The 112 published runs.
expect 0 "1038 trials read" "$assay" trials --read "$logs/published_results.csv" --run results --summary results
expect 0 "352 trials read" "$assay" trials --read "$logs/published_tuning.csv" --run published --summary published
"$assay" trials published --baseline inductor_max --json >"$work/published.json"
figures() { # figures MAKER DEVICE TASK EXPRESSION: of that row `r`
  python3 - "$work/published.json" "$@" <<'END'
import json, sys
path, maker, device, task, expression = sys.argv[1:]
rows = json.load(open(path))["summary"]
r, = [r for r in rows if r["maker"] == maker and device in (r["device"] or "all") and task in (r["task"] or "all")
      and (device == "all") == (r["device"] is None) and (task == "all") == (r["task"] is None)]
print(eval(expression))
END
}
bill="'{} {:.0f} {:.0f} {:.1f}'.format(r['runs'], r['median_seconds'], r['median_tried'], r['seconds'] / 3600)"
expect 0 "^30 810 2845 7.6$" figures helion MI300X bf16_matmul "$bill"
expect 0 "^6 409 2162 0.6$" figures helion MI300X bf16_layernorm "$bill"
expect 0 "^6 576 2620 1.0$" figures helion MI300X bf16_gemm_gelu "$bill"
expect 0 "^10 3875 1922 9.8$" figures helion gfx1200 bf16_matmul "$bill"
expect 0 "^3 2144 2217 1.7$" figures helion gfx1200 bf16_layernorm "$bill"
expect 0 "^5 2531 2752 3.5$" figures helion gfx1200 bf16_gemm_gelu "$bill"
expect 0 "^1.7 36$" figures inductor_max MI300X bf16_matmul "'{:.1f} {:.0f}'.format(r['median_seconds'], r['median_tried'])"
expect 0 "^3.3 36$" figures inductor_max gfx1200 bf16_matmul "'{:.1f} {:.0f}'.format(r['median_seconds'], r['median_tried'])"
expect 0 "^0.29$" figures helion MI300X all "'{:.2f}'.format(r['seconds'] / r['tried'])"
expect 0 "^1.30$" figures helion gfx1200 all "'{:.2f}'.format(r['seconds'] / r['tried'])"
expect 0 "^60 33 51 63$" figures helion all all "'{} {:.0f} {:.0f} {:.0f}'.format(r['runs'], *[100 * w for w in r['own_within']])"
expect 0 "^14 30 4.2e.07$" figures helion MI300X bf16_matmul "'{} {} {:.1e}'.format(r['faster'], r['pairs'], r['break_even_launches'])"
expect 0 "^10 10 1.1e.07$" figures helion gfx1200 bf16_matmul "'{} {} {:.1e}'.format(r['faster'], r['pairs'], r['break_even_launches'])"
# Speeds of the published results next to eager PyTorch.
"$assay" trials results --baseline torch_eager --json >"$work/results.json"
speeds() { # speeds DEVICE MAKER...: of the product
  python3 - "$work/results.json" "$@" <<'END'
import json, sys
path, device, *makers = sys.argv[1:]
rows = {r["maker"]: r for r in json.load(open(path))["speeds"] if device in r["device"] and "matmul" in r["task"]}
print(*["{:.2f}".format(rows[m]["speed"]) for m in makers])
END
}
makers="inductor_default inductor_max helion triton mako kernelllm"
expect 0 "^1.00 0.88 0.93 0.85 0.33 0.37$" speeds H100 $makers
expect 0 "^0.51 0.56 0.56 0.59 0.44 0.36$" speeds MI300X $makers
expect 0 "^1.00 1.03 1.01 1.02 0.64 0.70$" speeds 5090 $makers
expect 0 "^0.96 1.43 2.24 1.65 1.71 0.84$" speeds gfx1200 $makers
expect 0 "^helion +AMD_Radeon_Graphics_gfx1200 +fusedops/matmul/bf16_matmul +30 +2.24 +30$" "$assay" trials results --baseline torch_eager
expect 0 "as the schema says" python3 "$source/tests/support/check_json.py" "$source/docs/assay.schema.json" trials "$work/published.json"
report
