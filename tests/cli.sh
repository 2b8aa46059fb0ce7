#!/bin/bash
# Exit codes, help, JSON and messages of the command line.
set -uo pipefail
assay=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite
failures=0
passes=0
expect() { # expect CODE PATTERN COMMAND...: the exit code, and a line of the output that matches
  local code=$1 pattern=$2 status=0
  shift 2
  "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" = "$code" ] && grep -qE -- "$pattern" "$work/out"; then
    passes=$((passes + 1))
  else
    failures=$((failures + 1))
    echo "FAILED: $* (exit code $status, expected $code; output must match: $pattern)"
    head -n 20 "$work/out"
  fi
}
json() { # json CODE COMMAND...: prints valid JSON
  local code=$1 status=0
  shift
  "$@" >"$work/out" 2>"$work/err" || status=$?
  if [ "$status" = "$code" ] && python3 -c 'import json, sys; json.load(open(sys.argv[1]))' "$work/out"; then
    passes=$((passes + 1))
  else
    failures=$((failures + 1))
    echo "FAILED: $* (exit code $status, expected $code, or no JSON)"
    head -n 5 "$work/out" "$work/err"
  fi
}
cases=$source/tests/cases
for c in doctor tasks show oracle judge bench score export; do expect 0 Usage "$assay" $c --help; done
expect 0 Commands "$assay" --help
expect 2 "no command" "$assay" frobnicate
expect 2 Commands "$assay"
expect 0 "calibrate|ok" "$assay" doctor
expect 0 "reads .*computes" "$assay" doctor --calibrate
json 0 "$assay" doctor --json
for what in runner "device runner" builder recorder; do expect 0 "^$what +ok" "$assay" doctor; done
for what in nvrtc nvcc libraries "device opencl" "device cuda"; do expect 0 "^$what +(ok|limited)" "$assay" doctor; done
expect 0 "^nvrtc +limited .*ASSAY_NVRTC" env ASSAY_NVRTC=/nowhere "$assay" doctor
expect 0 "kernelbench/1/19" "$assay" tasks kernelbench/1
json 0 "$assay" tasks kernelbench/1/19 --json
expect 2 "nosuch" "$assay" tasks nosuch
expect 0 "class Model" "$assay" show kernelbench/1/19
json 0 "$assay" show kernelbench/1/19 --json
expect 2 "999" "$assay" show kernelbench/1/999

# The oracle's answers: drawn inputs come again with their seed and give the same answer when they are handed in.
expect 0 "output_0.npy +y +double\[4096,64\]" "$assay" oracle kernelbench/1/19 --outputs "$work/drawn" --seed 5 --workload "M=4096, N=64"
json 0 "$assay" oracle kernelbench/1/19 --outputs "$work/again" --seed 5 --workload "M=4096, N=64" --json
expect 0 "^same$" sh -c 'cmp "$1/drawn/input_0.npy" "$1/again/input_0.npy" && cmp "$1/drawn/output_0.npy" "$1/again/output_0.npy" && echo same' sh "$work"
expect 0 "output_0.npy" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/given"
expect 0 "^same$" sh -c 'cmp "$1/drawn/output_0.npy" "$1/given/output_0.npy" && echo same' sh "$work"
expect 0 "drawn with --seed [0-9]+" "$assay" oracle kernelbench/1/19 --outputs "$work/fresh" --probe row_scales
expect 2 "say where to" "$assay" oracle kernelbench/1/19
expect 2 "name a task" "$assay" oracle --outputs "$work/fresh"
expect 2 "no probe sideways" "$assay" oracle kernelbench/1/19 --outputs "$work/fresh" --probe sideways
expect 2 "are for drawn ones" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/fresh" --seed 3
expect 2 "neither input_1.npy nor input_1.pb.*2 inputs, and this is b" "$assay" oracle kernelbench/1/1 --inputs "$work/drawn" \
  --outputs "$work/fresh"
printf '\223NUMPY\1\0nonsense' >"$work/drawn/input_0.npy"
expect 2 "input_0.npy: .*cannot be" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/fresh"

expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c"
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" --json
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" "$cases/relu.c" --json --no-timing
expect 1 "wrong_value|unwritten|wrong_class" "$assay" judge kernelbench/1/19 "$cases/sigmoid.c" --no-timing
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "M=3, N=5" --no-timing
expect 2 "verified takes a whole number from 10" "$assay" judge kernelbench/1/19 "$cases/relu.c" --verified 3
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --no-probes --checks 2 --samples 16 --verified 11 --store "$work/repeat.sqlite"
expect 0 "no-probes --checks 2 --samples 16 --verified 11.,.* 16 [0-8]$" python3 -c '
import json, sqlite3, sys
command, evidence = sqlite3.connect(sys.argv[1]).execute("SELECT command, evidence FROM verdict").fetchone()
found = json.loads(evidence)
timed = [c for c in found["checks"] if c["timed"]]
assert len(timed) >= 11 and len(found["checks"]) - len(timed) == 2, len(timed)
print((command,), len(found["timing"]["samples_ns"]), len(found["timing"]["hot_samples_ns"]))' "$work/repeat.sqlite"
expect 2 "no input has a dimension Q" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "Q=3"
expect 2 "nosuch" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload nosuch
expect 2 "cannot read" "$assay" judge kernelbench/1/19 "$work/none.c"
expect 2 "candidate" "$assay" judge kernelbench/1/19
expect 2 "device" "$assay" judge kernelbench/1/19 "$cases/relu.c" --device tpu
printf 'int broken(' >"$work/broken.c"
expect 1 "build_failed" "$assay" judge kernelbench/1/19 "$work/broken.c"
expect 1 "error:" "$assay" judge kernelbench/1/19 "$work/broken.c"
printf 'int x;\n' >"$work/empty.c"
expect 1 "load_failed" "$assay" judge kernelbench/1/19 "$work/empty.c"
printf '<ir_version: 10>\nnonsense' >"$work/bad.onnxtxt"
expect 2 "bad.onnxtxt.*line 2" "$assay" judge "$work/bad.onnxtxt" "$cases/relu.c"
expect 0 "judged now" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
expect 0 "1 done before" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
expect 0 "1/1" "$assay" score cli
expect 0 "3 verdicts held against the corpus: 3 passed" "$assay" bench kernelbench/2 --from "$cases" --twins --no-timing \
  --only 'linear_subtract_multiply_relu.c' --no-store
json 0 "$assay" score cli --baseline cli --json
expect 2 "no run named" "$assay" score nosuch
expect 2 "cannot read the folder" "$assay" bench kernelbench/1 --from "$work/none"
head -c 100000 /dev/urandom >"$work/garbage.sqlite"
expect 3 "garbage.sqlite" "$assay" score cli --store "$work/garbage.sqlite"
expect 0 "level 1, [0-9]+ problems" "$assay" export cli --to "$work/runs"
json 0 "$assay" export cli --to "$work/runs" --json
expect 0 '"compiled": true' cat "$work/runs/cli/eval_results.json"
expect 2 "no run named" "$assay" export nobody --to "$work/runs"
mkdir "$work/samples" && cp "$cases/relu.c" "$work/samples/level_1_problem_19_sample_0_kernel.c"
expect 0 "1 judged now .1 passed" "$assay" bench kernelbench/1 --from "$work/samples" --run samples --no-timing
echo '{"19": [{"sample_id": 0, "compiled": true, "correctness": false, "runtime": -1}]}' >"$work/eval_results.json"
expect 0 "1 samples that both judged: 0 alike, 0 correct there and not here, 1 correct here" "$assay" score samples --beside "$work/eval_results.json"
expect 0 "kernelbench/1/19 .* wrong .* pass" "$assay" score samples --beside "$work/eval_results.json"
json 0 "$assay" score samples --beside "$work/eval_results.json" --json
expect 2 "no verdict on a file that KernelBench names" "$assay" score cli --beside "$work/eval_results.json"
expect 2 "wants one run" "$assay" score --beside "$work/eval_results.json"
expect 2 "say where to" "$assay" export cli
"$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --no-timing --json >"$work/a" && \
  "$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --no-timing --json >"$work/b"
if python3 - "$work/a" "$work/b" <<'P'
import json, sys
a, b = (json.load(open(p)) for p in sys.argv[1:])
sys.exit(a["checks"] != b["checks"] or a["seed"] != 7)
P
then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: the same seed must give the same checks"; fi
plan=$source/tests/fuzz/corpus/plan/sample.json
expect 0 "export" "$assay" plan --help
expect 2 "no action" "$assay" plan frobnicate
expect 0 "scale<<<1, 128>>>\(x, partial\+512, 32\)" "$assay" plan show "$plan"
json 0 "$assay" plan show "$plan" --json
if cmp -s "$work/out" "$plan"; then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: a plan is written as it was read"; fi
expect 0 "6 steps" "$assay" plan check "$plan" --target sm_90
expect 1 "the plan is for sm_90a, the device is sm_80" "$assay" plan check "$plan" --target sm_80
expect 2 "say sm_90" "$assay" plan check "$plan" --target hopper
expect 1 "line 1" "$assay" plan check "$source/tests/fuzz/corpus/plan/empty"
expect 2 "none.json" "$assay" plan show "$work/none.json"
expect 2 "--to DIR" "$assay" plan export "$plan"
expect 0 "softmax.c" "$assay" plan export "$plan" --to "$work/exported" --name softmax
expect 0 "^$" sh -c 'cc -std=c17 -Wall -Wextra -Werror -c -o "$1/softmax.o" "$1/softmax.c"; echo' sh "$work/exported"

# How a Python candidate is judged on a GPU; for others, and on the CPU, it means nothing.
expect 2 "takes plan or process" "$assay" judge kernelbench/1/19 "$cases/relu.c" --mode fast
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --mode plan --no-probes --no-timing

# A transform's errors are the same at the border as in the middle, where more terms meet.
expect 0 "pass" "$assay" judge kernelbench/1/65 "$cases/orders_conv_transpose.c" --define FOURIER --no-probes --no-timing

# Baselines: any candidate may be one; those of PyTorch are tests/baselines.sh's.
expect 0 "pass .* [0-9.]+ relu.c" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline "$cases/relu.c" --no-probes
printf '#include <assay/candidate.h>\nvoid assay_kernel(const struct assay_args *args) { (void)args; }\n' >"$work/idle.c"
expect 0 "idle.c is not right itself and says nothing: unwritten" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline "$work/idle.c" --no-probes
printf '#include <assay/candidate.h>\n#include <stdlib.h>\nvoid assay_kernel(const struct assay_args *args) {
  static int calls;\n  const float *x = args->inputs[0].data;\n  float *y = args->outputs[0].data;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)\n    y[i] = x[i] < 0 ? 0 : x[i];
  if (++calls > 10)\n    abort();\n}\n' >"$work/tires.c"
expect 0 "pass .* tires.c: crashed" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline "$work/tires.c" --no-probes
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline "$cases/relu.c" --no-probes --json
expect 0 "1 judged now .1 passed" "$assay" bench kernelbench/1 --from "$cases" --only matmul_naive.c --run paired --baseline "$cases/matmul_naive.c" --no-probes
expect 0 "paired .* 1 .*[01]\.[0-9]+" "$assay" score paired --baseline "$cases/matmul_naive.c"
expect 2 "no candidate of .paired. was timed in turn" "$assay" score paired --baseline torch.eager
expect 2 "there is no baseline 'torch.lazy'; baselines: torch.eager, .*, or a candidate's file" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline torch.lazy
expect 2 "none.c" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline none.c --no-probes
expect 2 "does not run on device opencl" "$assay" judge kernelbench/1/19 "$source/tests/opencl/relu.cl" --baseline "$cases/relu.c"
expect 2 "torch.eager does not run on device opencl" "$assay" judge kernelbench/1/19 "$source/tests/opencl/relu.cl" --baseline torch.eager
expect 0 "return F.smooth_l1_loss\\(predictions, targets\\)" "$assay" show kernelbench/1/96 --baseline torch.eager
expect 0 "torch.compile\(self.compute, mode=.max-autotune" "$assay" show kernelbench/1/96 --baseline torch.compile.max-autotune
expect 0 "^any" "$assay" show kernelbench/1/1 --baseline library
expect 2 "library does not run on device cpu" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline library --no-probes
expect 2 "there is no baseline 'fast'" "$assay" show kernelbench/1/96 --baseline fast

# OpenCL on a processor: everything but times that mean something.
opencl=$source/tests/opencl
expect 0 "^$" sh -c '"$1" plan save kernelbench/1/23 "$2" --out "$3" && echo' sh "$assay" "$opencl/softmax.cl" "$work/softmax.json"
expect 0 "softmax<<<32, 128>>>\(x, y, local\[512\], 2048\)" "$assay" plan show "$work/softmax.json"
expect 0 "1 step" "$assay" plan check "$work/softmax.json"
expect 0 "output 0: [0-9a-f]{16}" "$assay" plan replay "$work/softmax.json"
expect 0 "pass .*not on a GPU: this time ranks nothing" "$assay" judge kernelbench/1/19 "$opencl/relu.cl"
expect 1 "unwritten" "$assay" judge kernelbench/1/19 "$opencl/relu.cl" --define HALF --no-timing
sed 's/ = get_global_id(0) \* 4,/ = printf("hello\\n") * 0 + get_global_id(0) * 4,/' "$opencl/relu.cl" > "$work/says.cl"
expect 0 'printed by the kernel ---.nhello.nhello' "$assay" judge kernelbench/1/19 "$work/says.cl" --no-timing --json
expect 2 "is for device opencl, not for cuda" "$assay" judge kernelbench/1/19 "$opencl/relu.cl" --device cuda
printf '__kernel void f(' >"$work/broken.cl"
expect 1 "build_failed" "$assay" judge kernelbench/1/19 "$work/broken.cl"
# Libraries need a GPU for everything but to say that a task is not theirs.
echo any >"$work/any.library"
expect 1 "no plan: .*this task has Relu" "$assay" plan save kernelbench/1/19 "$work/any.library"
echo cublas >"$work/wrong.library"
expect 1 "line 1: .cublas.: a .library file has" "$assay" plan save kernelbench/1/1 "$work/wrong.library"
expect 2 "no /nowhere, which ASSAY_CUDNN names" env ASSAY_CUDNN=/nowhere "$assay" plan save kernelbench/1/50 "$work/any.library"
expect 2 "is for device cuda" "$assay" judge kernelbench/1/1 "$work/any.library" --device cpu
expect 2 "only .cu, .cl, .py and .library files" "$assay" plan save kernelbench/1/19 "$cases/relu.c"

# CUDA: plans where there is NVRTC or nvcc, judging where there is a GPU; without, it is said what is missing.
relu=$source/kernels/cuda/relu.cu
expect 3 "NVRTC.*/nowhere.*pip install nvidia-cuda-nvrtc" env ASSAY_NVRTC=/nowhere "$assay" plan save kernelbench/1/19 "$relu"
if "$assay" plan save kernelbench/1/19 "$relu" --out "$work/nvrtc.json" 2>"$work/err"; then
  expect 0 "relu<<<128, 128>>>\(x, y, 65536\)" "$assay" plan show "$work/nvrtc.json"
  expect 0 "1 step" "$assay" plan check "$work/nvrtc.json" --target sm_90a
  expect 1 "sm_80" "$assay" plan check "$work/nvrtc.json" --target sm_80
  expect 0 "relu<<<1, 128>>>\(x, y, 15\)" sh -c '"$1" plan save kernelbench/1/19 "$2" --workload "M=3, N=5" --out "$3" && "$1" plan show "$3"' \
    sh "$assay" "$relu" "$work/small.json"
  expect 0 "relu<<<" sh -c '"$1" plan save kernelbench/1/19 "$2" --target sm_80 --out "$3" && "$1" plan check "$3" --target sm_80 && "$1" plan show "$3"' \
    sh "$assay" "$relu" "$work/ampere.json"
  expect 0 "nvrtc.cu|nvrtc.c" "$assay" plan export "$work/nvrtc.json" --to "$work/exported" --name nvrtc
  printf '// assay: launch f grid=1 block=1 args=x\n__global__ void f(' >"$work/broken.cu"
  expect 1 "error" "$assay" plan save kernelbench/1/19 "$work/broken.cu"
  printf '// assay: launch f grid=1 block=2048 args=x\n__global__ void f(const float *x) {}' >"$work/much.cu"
  expect 1 "no plan: .*2048" "$assay" plan save kernelbench/1/19 "$work/much.cu"
else
  echo "left out, for there is no NVRTC: $(cat "$work/err")"
fi
if "$assay" plan save kernelbench/1/19 "$relu" --toolchain nvcc --out "$work/nvcc.json" 2>"$work/err"; then
  expect 0 "relu<<<128, 128>>>\(x, y, 65536\)" "$assay" plan show "$work/nvcc.json"
else
  echo "left out, for there is no nvcc: $(cat "$work/err")"
fi
if [ -e /dev/nvidiactl ]; then
  expect 0 "pass" "$assay" judge kernelbench/1/19 "$relu"
else
  expect 3 "NVIDIA driver.*install it" "$assay" judge kernelbench/1/19 "$relu"
  expect 3 "NVIDIA driver.*install it" "$assay" bench kernelbench/1 --from "$source/kernels/cuda" --only relu.cu --run cuda
  [ ! -e "$work/nvrtc.json" ] || expect 3 "NVIDIA driver.*install it" "$assay" plan replay "$work/nvrtc.json"
fi
echo "$passes passed, $failures failed"
[ $failures = 0 ]
