#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# KernelBench-X and level 4 on a machine with GPUs and many processors, part by part, unattended.
#
#   bench/gpu/kernelbenchx.sh PROGRAMS OUT PART...
#
# PROGRAMS: the folder with assay, its helpers and, for equivalence, the tests' program `answers`. OUT: a folder for texts
# and JSON. ASSAY_PYTHON: a Python with PyTorch (for level 4 with transformers, for equivalence with mpmath). The same
# command goes on where OUT ends. SECONDS_EACH (520) limits each part, EACH (5) says how many benches a GPU has.
#
#   ladders      eager PyTorch at every size of the ladders: OUT/kernelbenchx_eager.json. It goes on from the file of this
#                model of GPU in bench/results, and first takes what no other model's file has
#   honest       every CUDA kernel of tools/tasks/honest_kernels.py and its twins, 20 seeds: OUT/kernelbenchx_seeds.json, which
#                goes on in the same way
#   honest_c     (processors only) likewise every C kernel of that tool, a bench for each two processors:
#                OUT/kernelbenchx_seeds_c.json
#   kernels      the CUDA kernels timed beside eager PyTorch at size05, for `assay score A B --devices`: OUT/kernels.jsonl
#   level4       the models of transformers at full: OUT/level4_full.json, which goes on in the same way; last those models
#                that passed on another model of GPU
#   devices      functions in single operations of PyTorch (bench/devices) at size10 on the CPU and on the GPU, eager beside,
#                and the ratio of both speeds: OUT/devices.txt, OUT/devices.json
#   graders      (processors only) the ten cheats and the quantized tasks given to both graders: OUT/graders.md
#   equivalence  (processors only) all tasks against the published references, level 4 against transformers:
#                OUT/equivalence/*.csv, OUT/equivalence.txt
#
# KERNELBENCHX names a checkout of github.com/BonnieW05/KernelBenchX at fd41922, which graders and equivalence read.
set -u
[ $# -ge 3 ] || { sed -n 's/^# \{0,1\}//; 3,26p' "$0" >&2; exit 2; }
programs=$(cd "$1" && pwd) || exit 2
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
cd "$(dirname "$0")/../.."
assay=$programs/assay
python=${ASSAY_PYTHON:-python3}
export ASSAY_PYTHON="$python" ASSAY_TASKS="$PWD/tasks" ASSAY_INCLUDE="$PWD/include" PYTHONDONTWRITEBYTECODE=1
limit=${SECONDS_EACH:-520}
each=${EACH:-5}

# What cannot work here is said in the first seconds, before any time is spent.
"$assay" --version || { echo "$assay does not start here" >&2; exit 2; }
"$python" -I -c 'import torch; print("torch", torch.__version__, torch.cuda.device_count(), "GPUs")' || exit 2
"$assay" tasks kernelbenchx/Reduce >/dev/null || exit 2

part() { # part NAME COMMAND...: the command's words go to OUT/NAME.txt
  name=$1
  shift
  begin=$(date +%s)
  code=0
  timeout -s INT -k 20 $((limit + 90)) "$@" >"$out/$name.txt" 2>&1 || code=$?
  echo "$name: exit $code after $(($(date +%s) - begin)) s"
  tail -n 6 "$out/$name.txt"
}

checkout() {
  [ -d "${KERNELBENCHX:-}/data/kernelbenchx" ] && return
  echo "$1: KERNELBENCHX must name a checkout of KernelBench-X (it has data/kernelbenchx); '${KERNELBENCHX:-}' is none" >&2
  return 1
}

model=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)
case $model in *H200*) own=nvidia-h200 other=nvidia-h100 ;; *) own=nvidia-h100 other=nvidia-h200 ;; esac

begin_with() { # begin_with NAME: where OUT has none yet, what this model of GPU has said before
  [ -e "$out/$1" ] || [ ! -e "bench/results/$own/$1" ] || cp "bench/results/$own/$1" "$out/$1"
}

ladders() {
  file=$out/kernelbenchx_eager.json
  begin_with kernelbenchx_eager.json
  part ladders "$python" bench/gpu/ladders.py "$assay" "$file" --seconds "$limit" --each "$each" \
    --after "bench/results/$other/kernelbenchx_eager.json"
}

honest() {
  begin_with kernelbenchx_seeds.json
  "$python" tools/tasks/honest_kernels.py "$out/honest" --cuda
  part honest "$python" bench/gpu/seeds.py "$assay" "$out/kernelbenchx_seeds.json" "$out/honest" kernelbenchx \
    --seconds "$limit" --each "$each"
}

honest_c() {
  "$python" tools/tasks/honest_kernels.py "$out/honest_c"
  part honest_c "$python" bench/gpu/seeds.py "$assay" "$out/kernelbenchx_seeds_c.json" "$out/honest_c" kernelbenchx \
    --seconds "$limit" --device cpu --each $((($(nproc) + 1) / 2))
}

kernels() { # benches of one run and store share the kernels between them
  "$python" tools/tasks/honest_kernels.py "$out/honest" --cuda
  "$assay" doctor --calibrate --store "$out/kernels.sqlite" >/dev/null 2>&1
  visible=${CUDA_VISIBLE_DEVICES:-$(nvidia-smi --query-gpu=index --format=csv,noheader | paste -sd, -)}
  gpus=$(echo "$visible" | tr , '\n' | wc -l)
  for i in $(seq 0 $((gpus * each - 1))); do
    CUDA_VISIBLE_DEVICES=$(echo "$visible" | cut -d, -f$((i % gpus + 1))) timeout -s INT -k 60 "$limit" "$assay" bench kernelbenchx --from "$out/honest" \
      --workload size05 --device cuda --no-probes --checks 1 --samples 30 --budget 60 --baseline torch.eager \
      --run kernels --store "$out/kernels.sqlite" >"$out/kernels_$i.txt" 2>&1 &
  done
  wait
  "$assay" runs export kernels "$out/kernels.jsonl" --compact --store "$out/kernels.sqlite"
  "$assay" score kernels --baseline torch.eager --store "$out/kernels.sqlite" >"$out/kernels.txt" 2>&1
  head -n 30 "$out/kernels.txt"
}

devices() {
  for device in cpu cuda; do
    part "devices_$device" "$assay" bench kernelbenchx --from bench/devices --workload size10 --device $device \
      --no-probes --checks 1 --samples 30 --budget 120 --baseline torch.eager --run "on $device" --store "$out/devices.sqlite"
  done
  for form in "" --json; do
    "$assay" score "on cpu" "on cuda" --devices --baseline torch.eager $form --store "$out/devices.sqlite" \
      >"$out/devices${form:+.json}" 2>&1
  done
  mv "$out/devices" "$out/devices.txt"
  cat "$out/devices.txt"
}

level4() {
  begin_with level4_full.json
  part level4 "$python" bench/gpu/level4.py "$out/level4" --judge "$assay" "$out/level4_full.json" --seconds "$limit" \
    --after "bench/results/$other/level4_full.json"
}

graders() {
  checkout graders || return
  part graders "$python" bench/graders/graders.py "$assay" "$KERNELBENCHX" 20
  cp "$out/graders.txt" "$out/graders.md"
}

equivalence() {
  checkout equivalence || return
  mkdir -p "$out/equivalence"
  jobs=$(($(nproc) / 2))
  begin=$(date +%s)
  {
    for path in tasks/kernelbenchx/*/*.onnxtxt; do
      name=${path#tasks/kernelbenchx/}
      echo "x ${name%.onnxtxt}"
    done
    for number in $(seq 20); do echo "4 4/$number"; done
  } | OUT="$out/equivalence" PYTHON="$python" ANSWERS="$programs/answers" OMP_NUM_THREADS=2 \
    timeout -k 20 "$limit" xargs -P "$jobs" -L 1 sh -c '
      file=$OUT/$(echo "$1" | tr / _)
      [ ! -s "$file.done" ] || exit 0
      case $0 in
        x) set -- tools/tasks/compare_kernelbenchx.py "$ANSWERS" "$KERNELBENCHX" --csv="$file.csv" "$1" ;;
        *) set -- tools/tasks/compare_originals.py "$ANSWERS" - --csv="$file.csv" "$1" ;;
      esac
      if "$PYTHON" "$@" >"$file.txt" 2>&1; then cp "$file.txt" "$file.done"; fi'
  cat "$out"/equivalence/*.txt >"$out/equivalence.txt"
  echo "equivalence: $(ls "$out"/equivalence/*.done 2>/dev/null | wc -l) of 204 tasks agree, $(($(date +%s) - begin)) s"
  for file in "$out"/equivalence/*.txt; do [ -e "${file%.txt}.done" ] || tail -n 2 "$file"; done | cut -c 1-300 | head -n 40
}

for wanted; do
  case $wanted in
    ladders | honest | honest_c | kernels | devices | level4 | graders | equivalence) "$wanted" ;;
    *) echo "$0: no part is named $wanted" >&2 && exit 2 ;;
  esac
done
