#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What is wrong with the machine, or with one file, is never the candidate's failure: it has a row, is not stored, and the
# same command judges the file later. And what is judged again on purpose.
set -uo pipefail
assay=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary"
export TMPDIR=$work/temporary ASSAY_STORE=$work/store.sqlite
unset CC CXX CUDA_HOME TORCH_CUDA_ARCH_LIST MAX_JOBS
. "$source/tests/support/expect.sh"
cases=$source/tests/cases
bench() { "$assay" bench kernelbench/1 --no-timing --no-probes --checks 1 "$@"; }
stored() { sqlite3 "$ASSAY_STORE" "SELECT count(*) FROM verdict WHERE run = '$1'"; }
program() { # program PATH: makes it of the text on standard input
  mkdir -p "$(dirname "$1")"
  cat >"$1"
  chmod +x "$1"
}

# A compiler that fails for everything: the machine's failure, said with its words; then it works, and judges.
mkdir "$work/two"
cp "$cases/relu.c" "$work/two/"
printf '// assay: task kernelbench/1/19\nint nonsense(\n' >"$work/two/nonsense.c"
printf '#!/bin/sh\necho "cc1: No space left on device"\nexit 1\n' | program "$work/broken/bin/gcc"
expect 3 "relu.c +judge_failed .*fails for a source of Assay's own, too.*No space left" env PATH="$work/broken/bin:$PATH" \
  "$assay" bench kernelbench/1 --from "$work/two" --run two --no-timing
expect 0 "^0$" stored two
expect 1 "2 judged now .1 passed" bench --from "$work/two" --run two
expect 1 "nonsense.c +build_failed" bench --from "$work/two" --run two
expect 3 "relu.c +judge_failed .*no compiler .gcc. on the PATH" env PATH=/nowhere "$assay" bench kernelbench/1 --from "$work/two" --run none
expect 3 "no compiler .gcc. on the PATH" env PATH=/nowhere "$assay" judge kernelbench/1/19 "$cases/relu.c"
expect 3 "no compiler .nosuch." "$assay" judge kernelbench/1/19 "$cases/relu.c" --compiler nosuch
mkdir "$work/near"
ln -s "$source/include" "$work/include"
expect 0 "relu.c +pass" sh -c 'cd "$1" && TMPDIR=near ASSAY_INCLUDE=include "$2" judge kernelbench/1/19 "$3" --no-timing --no-probes' \
  sh "$work" "$assay" "$cases/relu.c"
expect 3 "cannot make a temporary folder here" env TMPDIR="$work/none" "$assay" judge kernelbench/1/19 "$cases/relu.c"

# A file system that is nearly full, where the candidate alone does not fit: mounted where users may do so.
cat >"$work/small_disk.sh" <<'E'
mount -t tmpfs -o size=10m none "$1" || exit 77
TMPDIR=$1 exec "$2" judge kernelbench/1/19 "$3" --no-timing --compiler "$4"
E
printf '#!/bin/sh\ngrep -q assay: candidate.c && echo "cc1: No space left on device" && exit 1\nexec gcc "$@"\n' | program "$work/picky/bin/gcc"
mkdir "$work/small"
# Where the temporary folder is mounted noexec, no candidate can be loaded, right or wrong.
cat >"$work/noexec.sh" <<'S'
mount -t tmpfs -o noexec none "$1" || exit 77
TMPDIR=$1 "$2" doctor
TMPDIR=$1 "$2" judge kernelbench/1/19 "$3" --no-timing --no-store --checks 1 --no-probes
S
if unshare -Urm mount -t tmpfs none "$work/small" 2>/dev/null; then
  expect 3 "not judged here: $work/small is mounted noexec.*another folder with TMPDIR" \
    unshare -Urm sh "$work/noexec.sh" "$work/small" "$assay" "$cases/relu.c"
  expect 3 "temporary folder +missing +mounted noexec" unshare -Urm sh "$work/noexec.sh" "$work/small" "$assay" "$cases/relu.c"
  expect 3 "less than 64 MiB" unshare -Urm sh "$work/small_disk.sh" "$work/small" "$assay" "$cases/relu.c" "$work/picky/bin/gcc"
fi
expect 1 "build_limit .*No space left" "$assay" judge kernelbench/1/19 "$cases/relu.c" --no-timing --compiler "$work/picky/bin/gcc"

# A limit of whoever started this process (ulimit) that is narrower than a candidate's own.
mkdir "$work/limits"
{ cat "$cases/relu.c"; echo 'const unsigned char table[1 << 20] = {1};'; } >"$work/limits/table.c"
sed 's/  float \*y = args->outputs\[0\].data;/&\n  volatile float *room = malloc(500 << 20);\n  room[0] = 1;\n  free((void *)room);/' \
  "$cases/relu.c" | sed 's/#include <math.h>/&\n#include <stdlib.h>/' >"$work/limits/room.c"
limited() { # limited FILE LIMIT...: judged under ulimit LIMIT
  (
    ulimit "${@:2}"
    "$assay" judge kernelbench/1/19 "$work/limits/$1" --no-timing --no-store
  )
}
expect 0 "table.c +pass" limited table.c -c 0
expect 3 "not judged here: .*narrower limit than builds may have .ulimit -f is 512 KiB, where 65536 are allowed.*File size limit" \
  limited table.c -f 512
expect 0 "room.c +pass" limited room.c -c 0
if (ulimit -v 1500000 && "$assay" --help >/dev/null 2>&1); then # not under a sanitizer
  expect 3 "narrower limit than kernels may have .ulimit -v is 450000 KiB, .*ended as crashed" limited room.c -v 450000
  expect 3 "narrower limit than kernels may have .ulimit -d is 300000 KiB, .*ended as crashed" limited room.c -d 300000
  expect 0 "room.c +pass" limited room.c -v 4000000
fi

piped() { "$@" 2>&1 | cat; } # the limit is not for what collects the output
expect 3 "cannot write .*candidate.c: File too large; raise the limit of files' sizes, ulimit -f" piped limited room.c -f 0
expect 3 "cannot arrange its descriptors: Too many open files .*; raise the limit of open files, ulimit -n" limited room.c -n 16

# A stack limit. The usual 8 MiB are a kernel's and the judge's own whatever the soft limit is, or none ("unlimited" lets
# threads have 2 MiB); a hard limit that is lower is said before any work.
sed 's/  float \*y = args->outputs\[0\].data;/&\n  volatile char room[4 << 20];\n  for (int i = 0; i < (4 << 20); i += 4096)\n    room[i] = 1;/' \
  "$cases/relu.c" >"$work/limits/deep.c"
sed 's/void assay_kernel(/static void honest(/' "$work/limits/deep.c" >"$work/limits/deep_thread.c"
cat >>"$work/limits/deep_thread.c" <<'E'
#include <pthread.h>
static void *part(void *a) { return honest(a), (void *)0; }
void assay_kernel(const struct assay_args *args) {
  pthread_t t;
  if (pthread_create(&t, 0, part, (void *)args) == 0)
    pthread_join(t, 0);
}
E
expect 0 "deep.c +pass" limited deep.c -S -s 128
expect 0 "deep_thread.c +pass" limited deep_thread.c -S -s 128
expect 0 "deep_thread.c +pass" limited deep_thread.c -s unlimited
expect 3 "stack limit .ulimit -Hs. is 2048 KiB, where compilers and kernels have 8192: start it with ulimit -s 8192" \
  limited deep.c -s 2048
expect 3 "stack limit +missing +too low" bash -c 'ulimit -s 2048 && "$1" doctor' sh "$assay"
expect 3 "stack has [0-9]+ KiB left, and judging takes up to 1024 KiB: the stack limit .ulimit -s. is too low" \
  limited deep.c -s 128

# Too few processes for the threads of judge and kernel together. They are not counted for root: as another user, who must
# be able to come here.
sed 's/void assay_kernel(/static void honest(/' "$cases/relu.c" >"$work/limits/threads.c"
cat >>"$work/limits/threads.c" <<'E'
#include <pthread.h>
#include <stdio.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>
static atomic_int all; // are there: what ends before the next one begins is not counted together with it
static void *part(void *a) {
  while (!all)
    usleep(200);
  return a;
}
void assay_kernel(const struct assay_args *args) {
  pthread_t t[N];
  all = 0;
  for (int i = 0; i < N; i++)
    if (pthread_create(&t[i], 0, part, 0)) {
#ifndef SILENT
      fputs("cannot start a thread\n", stderr);
#endif
      exit(1);
    }
  all = 1;
  for (int i = 0; i < N; i++)
    pthread_join(t[i], 0);
  honest(args);
}
E
mkdir -m 777 "$work/other_user"
chmod 755 "$work"
few() { # few PROCESSES THREADS: judged by a user who may have so many processes
  local user=(env)
  [ "$(id -u)" = 0 ] && user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  "${user[@]}" bash -c 'ulimit -u "$1" && HOME=$3 TMPDIR=$3 exec "$4" judge kernelbench/1/19 "$5" --threads 8 --define "N=$2" \
    "${@:6}" --no-timing --no-store' few "$1" "$2" "$work/other_user" "$assay" "$work/limits/threads.c" "${@:3}"
}
if few 4000 18 >/dev/null 2>&1; then
  expect 0 "threads.c.* pass" few 4000 18
  expect 1 "exited" few 4000 600
  [ "$(id -u)" != 0 ] || expect 3 "not judged here: 20 threads cannot be started.*it ended as exited" few 16 18
  # What says nothing of threads stands where the kernel's own can be started.
  [ "$(id -u)" != 0 ] || expect 1 "exited" few 16 18 --define SILENT
else
  echo "left out: no other user can judge here"
fi

# Files that are for another device have rows, and are no failure.
mkdir "$work/devices"
cp "$cases/relu.c" "$source/tests/opencl/relu.cl" "$work/devices/"
expect 0 "relu.cl +not_judged .*for the device opencl, and --device cpu asks for others" bench --from "$work/devices" --device cpu --run devices
expect 0 "1 done before, 1 for other devices" bench --from "$work/devices" --device cpu --run devices
expect 2 "relu.cl +not_judged" bench --from "$work/devices" --device cpu --run other --only '*.cl'

# A file that is replaced while an earlier one is built: nothing is stored under the wrong hash.
mkdir "$work/swapped" "$work/slow"
sed '1i // the first' "$cases/relu.c" >"$work/swapped/a.c"
cp "$cases/relu.c" "$work/swapped/b.c"
printf '#!/bin/sh\nuntil [ -e %s/share/go ]; do sleep 0.02; done\nexec gcc "$@"\n' "$work/slow" | program "$work/slow/bin/gcc"
mkdir "$work/slow/share"
bench --from "$work/swapped" --run swapped --compiler "$work/slow/bin/gcc" >"$work/swapped.txt" 2>&1 &
until ls "$TMPDIR"/assay-*/candidate.c >/dev/null 2>&1; do sleep 0.02; done # listed, and the first is being built
echo '// another now' >>"$work/swapped/b.c"
touch "$work/slow/share/go"
status=0
wait $! || status=$?
expect 0 "^3$" echo $status
expect 0 "b.c +judge_failed .*changed while it was benched" cat "$work/swapped.txt"
expect 0 "^1$" stored swapped
expect 0 "1 judged now .*1 done before" bench --from "$work/swapped" --run swapped --compiler "$work/slow/bin/gcc"

# A candidate that never fails a call's time limit does not keep a bench for hours: there is a budget for all of it.
mkdir "$work/slow"
cp "$cases/relu.c" "$work/slow/"
sed 's/assay_kernel/honest/' "$cases/relu.c" >"$work/slow/naps.c"
cat >>"$work/slow/naps.c" <<'E'
#include <time.h>
void assay_kernel(const struct assay_args *args) {
  nanosleep(&(struct timespec){.tv_nsec = 400000000}, 0);
  honest(args);
}
E
expect 1 "2 judged now .1 passed" "$assay" bench kernelbench/1 --from "$work/slow" --run slow --budget 2
expect 1 "naps.c +timeout .*budget of 2 s .--budget" "$assay" bench kernelbench/1 --from "$work/slow" --run slow --budget 2

# Again, on purpose: all, or what has a verdict; the newest verdict stands. A changed file supersedes what it was.
expect 0 "1 judged now" bench --from "$work/devices" --only '*.c' --run again
expect 0 "0 judged now .*1 done before" bench --from "$work/devices" --only '*.c' --run again
expect 0 "1 judged now" bench --from "$work/devices" --only '*.c' --run again --again
expect 0 "0 judged now" bench --from "$work/devices" --only '*.c' --run again --again timeout
expect 0 "1 judged now" bench --from "$work/devices" --only '*.c' --run again --again pass
expect 0 "1 judged now" bench --from "$work/devices" --only '*.c' --run again --again=untimed
expect 2 "takes a reason's code .* or untimed, not 'sideways'" bench --from "$work/devices" --run again --again=sideways
expect 0 "^4$" stored again
mkdir "$work/changing"
cp "$cases/sigmoid.c" "$work/changing/level_1_problem_19_sample_0_kernel.c"
sed -i 's/kernelbench.1.21/kernelbench\/1\/19/' "$work/changing"/*.c
expect 1 "wrong_value|wrong_class|unwritten" bench --from "$work/changing" --run changing
cp "$cases/relu.c" "$work/changing/level_1_problem_19_sample_0_kernel.c"
expect 0 "1 judged now .1 passed" bench --from "$work/changing" --run changing
expect 0 "changing .* 1/1 +1 " "$assay" score changing
expect 0 "1 sample, 1 correct" "$assay" export changing --to "$work/runs"
expect 0 "^2$" stored changing
# The run's own name has no path that means another folder elsewhere.
cd "$work" || exit 1
expect 0 "run .kernelbench/1 from $work/devices.: 1 judged now" bench --from ./devices --device cpu
cd devices || exit 1
expect 0 "run .kernelbench/1 from $work/devices.: 0 judged now .*1 done before" bench --from . --device cpu

# A busy machine gives no time, and says so; the kernel is right all the same, and judged again when that is asked for.
busy=$source/tests/support/busy quiet=$source/tests/support/quiet
mkdir "$work/timed"
cat >"$work/timed/level_1_problem_19_sample_0_kernel.c" <<'E'
// assay: task kernelbench/1/19
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) { // takes far longer than a call without a kernel
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (volatile int64_t i = 0; i < 10000000; i++)
    ;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)
    y[i] = x[i] < 0 ? 0 : x[i];
}
E
timed() { "$assay" bench kernelbench/1 --from "$work/timed" --run timed --no-probes --checks 1 --samples 10 "$@"; }
export ASSAY_PROC=$busy
expect 0 "pass .* -  no time: machine too busy .load 11 on 2 CPUs." timed
expect 0 "^0.1$" sqlite3 "$ASSAY_STORE" "SELECT suspicious, time_ns IS NULL FROM verdict WHERE run = 'timed'"
expect 0 "1 sample, 1 correct" "$assay" export timed --to "$work/runs"
export ASSAY_PROC=$quiet
expect 0 "0 judged now .*1 done before" timed
expect 0 "1 judged now" timed --again untimed
expect 0 "pass .* [0-9.]+ m?s [+]-[0-9.]+%" timed # unstable or not, as the machine is
expect 0 "0 judged now .*1 done before" timed --again untimed
# Peaks: none of a busy machine, and none that are far from those before, unless somebody wants them.
expect 3 "too busy to be measured .load 11 on 2 CPUs.: nothing was stored" env ASSAY_PROC="$busy" "$assay" doctor --calibrate
expect 0 "^0$" sqlite3 "$ASSAY_STORE" "SELECT count(*) FROM machine_fact"
expect 0 "^peaks +ok +reads " "$assay" doctor --calibrate
sqlite3 "$ASSAY_STORE" "UPDATE machine_fact SET value = '{\"read_bytes_per_s\": 9e15, \"flops_per_s\": 1e9}'"
expect 3 "it reads .*B/s where 9.00 PB/s are stored: .*store it with --yes" sh -c '"$1" doctor --calibrate </dev/null' sh "$assay"
expect 0 "9.00 PB/s" "$assay" doctor
expect 0 "^peaks +ok +reads [0-9.]+ [MGT]B/s" "$assay" doctor --calibrate --yes

# Python: an interpreter that does not work, one without PyTorch, and one whose PyTorch (a stand-in) lacks what a source
# asks for. A source that is wrong stays wrong.
mkdir "$work/modules"
printf '# assay: task kernelbench/1/19\nclass ModelNew(:\n' >"$work/modules/syntax.py"
printf '# assay: task kernelbench/1/19\nimport torch\nclass ModelNew(torch.nn.Module):\n    pass\n' >"$work/modules/plain.py"
cat >"$work/modules/extension.py" <<'E'
# assay: task kernelbench/1/19
from torch.utils.cpp_extension import load_inline
made = load_inline(name="made", cpp_sources="int one() { return 1; }", functions=["one"])
class ModelNew: pass
E
sed 's/functions=/cuda_sources="int two;", functions=/' "$work/modules/extension.py" >"$work/modules/cuda.py"
printf '#!/bin/sh\necho "python: broken" >&2\nexit 1\n' | program "$work/no_python/bin/python"
modules() { ASSAY_PYTHON=$1 "$assay" bench kernelbench/1 --from "$work/modules" --device cpu --run modules --no-timing; }
for file in syntax plain extension cuda; do
  expect 3 "$file.py +judge_failed .*no_python/bin/python does not work here" modules "$work/no_python/bin/python"
done
expect 0 "^0$" stored modules
if python3 -m venv --without-pip "$work/venv" 2>/dev/null; then
  python=$work/venv/bin/python
  if ! "$python" -c 'import torch' 2>/dev/null; then
    expect 3 "plain.py +judge_failed .*No module named 'torch'.*name it in ASSAY_PYTHON" modules "$python"
    expect 3 "syntax.py +build_failed" modules "$python"
    site=$(echo "$work"/venv/lib/python3*/site-packages)
    mkdir -p "$site/torch/utils"
    echo 'class version: cuda = None' >"$site/torch/__init__.py"
    : >"$site/torch/utils/__init__.py"
    cat >"$site/torch/utils/cpp_extension.py" <<'E'
CUDA_HOME = None
class JIT_EXTENSION_VERSIONER: entries = {}
def is_ninja_available(): return False
def get_cxx_compiler(): return "no-such-compiler"
def _jit_compile(name): raise RuntimeError("Ninja is required to load C++ extensions")
def load(name, sources): return _jit_compile(name)
def load_inline(name, cpp_sources, cuda_sources=None, functions=None): return _jit_compile(name)
E
    expect 3 "extension.py +judge_failed .*it needs ninja .*, a C.. compiler that works .no-such-compiler.*Ninja is required" modules "$python"
    expect 3 "cuda.py +judge_failed .*a PyTorch with CUDA, the CUDA toolkit's nvcc .*, a GPU" modules "$python"
    sed -i 's/return False/return True/; s/no-such-compiler/c++/' "$site/torch/utils/cpp_extension.py"
    expect 3 "extension.py +build_failed .*Ninja is required" modules "$python"
    # PyTorch writes no rules for ninja where a folder's name has ninja's own signs.
    sed -i 's/Ninja is required to load.*extensions/ninja: error: expected newline/' "$site/torch/utils/cpp_extension.py"
    mkdir "$work/a:b"
    in_odd_folder() { TMPDIR=$work/a:b modules "$python"; }
    echo '# another' >>"$work/modules/extension.py"
    expect 3 "extension.py +judge_failed .*a dollar or a colon in its name, as $work/a:b: name another one with TMPDIR" in_odd_folder
    expect 3 "extension.py +build_failed .*ninja: error" modules "$python"
  fi
  # The user's compilers are part of the settings: another one is another judgement.
  settings() { env ASSAY_PYTHON="$python" "$@" "$assay" judge kernelbench/1/19 "$work/modules/syntax.py" --device cpu --json | grep settings_sha256; }
  a=$(settings) b=$(settings CXX=clang++) c=$(settings CXX=clang++) d=$(settings CXX=)
  expect 0 "^different$" sh -c '[ -n "$1" ] && [ "$1" != "$2" ] && [ "$2" = "$3" ] && [ "$1" = "$4" ] && echo different' sh "$a" "$b" "$c" "$d"
  expect 0 "^CXX='clang..' assay judge" sqlite3 "$ASSAY_STORE" "SELECT command FROM verdict WHERE command LIKE 'CXX=%'"
fi
report
