#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Everything that is measured on a GPU, one after the other, each part with a limit of its own: what was done when time
# ran out is kept.
#
#   bench/gpu/measure.sh PROGRAMS OUT [PART...]      parts: check cheats kernels numerics timing bench forms matmul beside
#                                                    beside30 eager baselines oracle full
#
# PROGRAMS: the folder with assay, its helpers, gpu_* and bench_oracle_device. OUT: a folder for texts and JSON; the JSON
# files go to bench/results/<gpu>/, and bench/gpu/figures_page.py and numerics_page.py write the pages. KERNELBENCH names a
# checkout of KernelBench, FULL_SECONDS limits the kernels at full (600), BESIDE_SECONDS the candidates of bench/beside (560;
# they need some 25 minutes in all, and the same OUT goes on where it stopped), EAGER_SECONDS the 250 tasks in PyTorch (560,
# likewise), BASELINES is a table of PyTorch's times.
set -eu
programs=$(cd "$1" && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
cd "$(dirname "$0")/../.."
assay=$programs/assay
export ASSAY_TASKS="$PWD/tasks" ASSAY_INCLUDE="$PWD/include" ASSAY_STORE="$out/store.sqlite"
cache=${XDG_CACHE_HOME:-$HOME/.cache}/assay
full=${FULL_SECONDS:-600}
beside=${BESIDE_SECONDS:-560}
eager=${EAGER_SECONDS:-560}

part() { # part NAME SECONDS COMMAND...: the command's words go to OUT/NAME.txt
  name=$1 limit=$2
  shift 2
  begin=$(date +%s)
  code=0
  timeout -s INT -k 20 "$limit" "$@" >"$out/$name.txt" 2>&1 || code=$?
  echo "$name: exit $code after $(($(date +%s) - begin)) s" | tee -a "$out/parts.txt"
}

wanted() {
  [ -z "$parts" ] || case " $parts " in *" $1 "*) ;; *) return 1 ;; esac
}

parts=$*
part calibrate 60 "$assay" doctor --calibrate
if wanted check; then
  part gpu_device 60 "$programs/gpu_device"
  part gpu_oracle 60 "$programs/gpu_oracle"
  part gpu_judged 120 "$programs/gpu_judged"
  part gpu_draw 120 "$programs/gpu_draw"
  part gpu_product 60 "$programs/gpu_product"
  for level in 1 2 3; do
    (SUITE=kernelbench/$level part "gpu_tasks_$level" 500 "$programs/gpu_tasks") &
  done
  wait
  part chance 240 "$assay" bench kernelbenchx --from tests/gpu/chance --twins --device cuda --workload full --no-timing
  part row_of_50 120 sh tests/gpu/row_of_50.sh "$assay"
  part forged_stamps 60 sh tests/gpu/forged_stamps.sh "$assay"
fi
if wanted bench; then
  part bench 90 python3 bench/gpu/figures.py "$assay" "$out/figures.json" --only b,d
fi
if wanted cheats; then
  part cheats 240 "$assay" bench kernelbench/1 --from tests/cheats/cuda --twins --device cuda --timeout 4
fi
if wanted kernels; then
  part kernels 240 "$assay" bench kernelbench/1 --from kernels/cuda --twins --device cuda --timeout 4
  part precision 60 "$assay" bench contracts --from kernels/cuda/precision --twins --no-timing
fi
if wanted numerics; then
  part numerics 120 python3 bench/gpu/numerics.py "$assay" "$out/numerics.json"
fi
if wanted timing; then
  part timing 130 python3 bench/gpu/timing.py "$assay" "$out/timing.json" --seconds 100
fi
if wanted forms; then
  part forms 60 python3 bench/gpu/memory_forms.py "$out/memory_forms.json"
fi
if wanted matmul; then
  part matmul 90 python3 bench/gpu/matmul_beside.py "$assay" "$out/matmul_beside.json" --seconds 75 ${ALSO:+--also "$ALSO"}
fi
if wanted beside && [ -n "${KERNELBENCH:-}" ]; then
  part beside 240 python3 bench/gpu/kernelbench_beside.py "$assay" "$KERNELBENCH" "$out/kernelbench_beside.json"
fi
if wanted beside30 && [ -n "${KERNELBENCH:-}" ]; then
  part beside30 $((beside + 30)) python3 bench/gpu/beside.py "$assay" "$KERNELBENCH" "$out/beside.json" --seconds "$beside"
fi
if wanted eager; then
  part eager $((eager + 90)) python3 bench/gpu/eager_candidates.py "$assay" torch.eager "$out/eager.json" --checks 1 \
    --samples 12 --seconds "$eager" --store "$out/eager.sqlite"
fi
if wanted baselines; then
  for pair in 1/2:matmul_3xtf32.cu 1/23:softmax.cu 1/40:layer_norm.cu 1/50:conv_2d.cu; do
    task=kernelbench/${pair%%:*} file=kernels/cuda/${pair#*:}
    [ -e "$file" ] && part "baselines_${pair#*:}" 150 "$assay" judge "$task" "$file" --workload full --no-probes \
      --baseline torch.eager --baseline torch.compile --baseline library
  done
fi
# The oracle's code is compiled before it is measured, by as many processes as there are processors.
if wanted oracle || wanted full; then
  part compile 60 sh -c "ls tasks/kernelbench/level1 | sed 's,0*\([0-9]*\)_.*,kernelbench/1/\1,' |
    xargs -P '$(nproc)' -n 7 '$programs/bench_oracle_device' --workload small --cache '$cache'"
fi
if wanted oracle; then
  part oracle 420 python3 bench/gpu/oracle.py "$programs/bench_oracle_device" "$out/oracle_device.json" --cache "$cache" \
    --seconds 400
fi
if wanted full; then
  part full $((full + 60)) python3 bench/gpu/figures.py "$assay" "$out/figures_full.json" --only c --seconds "$full" \
    --store "$out/full.sqlite" ${BASELINES:+--baselines "$BASELINES"}
fi
cat "$out/parts.txt"
