#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# libassay as others use it: headers that compile alone, the examples against an installed prefix by pkg-config and by CMake,
# shared and static, no symbol but those promised.
set -uo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/tests/support/expect.sh"
unset ASSAY_TASKS ASSAY_PROMPTS ASSAY_PRICES ASSAY_INCLUDE ASSAY_STORE
export TMPDIR=$work HOME=$work
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/installed" 2>&1 || cat "$work/installed"
pc=$(find "$prefix" -name assay.pc)
lib=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_PATH=${pc%/*} LD_LIBRARY_PATH=$lib
cd "$work" || exit 1
for header in "$prefix"/include/assay/*.h; do
  name=assay/$(basename "$header")
  [ "$name" = assay/cuda.h ] && continue # for nvcc
  printf "#include <%s>\ntypedef int not_empty;\n" "$name" >alone.c
  expect 0 "^$" sh -c 'cc -std=c17 -Wall -Wextra -Wpedantic -Werror -fsyntax-only "$@" && echo' sh -I"$prefix/include" alone.c
  [ "$name" = assay/candidate.h ] || expect 0 "^$" sh -c 'c++ -std=c++17 -Wall -Wextra -Werror -fsyntax-only -x c++ "$@" && echo' \
    sh -I"$prefix/include" alone.c
done
expect 0 "^none$" sh -c 'test ! -e "$1" && echo none' sh "$prefix/include/assay/judge.h"
# Exactly the promised symbols, of the version that is promised.
nm -D --defined-only "$lib/libassay.so" | awk '$2 != "A" {print $3}' | sort >shared
sed 's/$/@@ASSAY_0/' "$source/src/api/symbols.txt" | sort >promised
expect 0 "^same$" sh -c 'diff promised shared && echo same'
nm -g --defined-only "$lib/libassay.a" | awk 'NF == 3 {print $3}' | sort >static
expect 0 "^same$" sh -c 'sort "$1" | diff - static && echo same' sh "$source/src/api/symbols.txt"
sed -nE 's/^ASSAY_API .*\b(assay_[a-z_]+)\(.*/\1/p' "$prefix/include/assay/assay.h" | sort >declared
expect 0 "^declared$" sh -c 'comm -23 declared "$1" | grep . || echo declared' sh <(sort "$source/src/api/symbols.txt")

for example in judge plan ask; do
  expect 0 "^$" sh -c 'cc -std=c17 -Wall -Wextra -Wpedantic -Werror -o "$1" "$2" $(pkg-config --cflags --libs assay) && echo' \
    sh $example "$source/examples/library/$example.c"
done
expect 0 "^pass: " ./judge kernelbench/1/19 "$source/tests/cases/relu.c"
expect 1 "^0$" grep -c nan "$work/out" # a busy machine gives no time
# Static, by pkg-config alone; the program runs where no loader knows the library.
expect 0 "^$" sh -c 'cc -o static_ask "$1" $(pkg-config --cflags assay) "$2/libassay.a" $(pkg-config --static --libs assay | sed "s/-lassay//") && echo' \
  sh "$source/examples/library/ask.c" "$lib"
expect 0 "^y: float" env -u LD_LIBRARY_PATH ./static_ask kernelbench/1/19 "$prefix"
echo 'int broken(' >broken.c
expect 1 "^build_failed: broken.c|^build_failed: .*error" ./judge kernelbench/1/19 broken.c
expect 3 "stack has [0-9]+ KiB left, and judging takes up to 1024 KiB: .*ulimit -s" bash -c 'ulimit -s 192 && "$@"' sh \
  ./judge kernelbench/1/19 "$source/tests/cases/relu.c"
expect 3 "no task 'kernelbench/1/999'" ./judge kernelbench/1/999 broken.c
expect 3 "Assay is not installed under /nowhere" ./judge kernelbench/1/19 broken.c /nowhere
expect 0 '"steps"|"launches"|"modules"' ./plan kernelbench/1/23 "$source/tests/opencl/softmax.cl"
printf '__kernel void f(' >broken.cl
expect 1 "^no plan: " ./plan kernelbench/1/19 broken.cl
expect 3 "do not become launch plans" ./plan kernelbench/1/19 "$source/tests/cases/relu.c"
expect 0 "^x: float, 65536 elements, -?[0-9.]+" ./ask kernelbench/1/19
expect 0 "^y: float, 65536 elements, [0-9.]+" ./ask kernelbench/1/19
# By CMake, shared and static; the static program is elsewhere, so it is told the prefix.
mkdir project
cat >project/CMakeLists.txt <<P
cmake_minimum_required(VERSION 3.20)
project(user C)
find_package(assay 0.1 REQUIRED)
add_executable(shared $source/examples/library/ask.c)
target_link_libraries(shared PRIVATE assay::assay)
add_executable(static $source/examples/library/ask.c)
target_link_libraries(static PRIVATE assay::static)
P
expect 0 "Configuring done" cmake -S project -B cmake-build -DCMAKE_PREFIX_PATH="$prefix"
expect 0 "Built target static" cmake --build cmake-build
# What asked for an earlier version gets this one (docs/library.md, "What stays"); for a later one, nothing.
for wanted in 0.0 0.1 "$(pkg-config --modversion assay)" 0.999 1.0; do
  printf 'cmake_minimum_required(VERSION 3.20)\nproject(p C)\nfind_package(assay %s)\nmessage("wanted %s: ${assay_FOUND}")\n' \
    "$wanted" "$wanted" >CMakeLists.txt
  case $wanted in 0.999 | 1.0) found=0 ;; *) found=1 ;; esac
  expect 0 "^wanted $wanted: $found$" sh -c 'cmake -S . -B "found$1" -DCMAKE_PREFIX_PATH="$2" 2>&1' sh "$wanted" "$prefix"
done
expect 0 "^y: float" cmake-build/shared kernelbench/1/19
mv "$lib/libassay.so.0" "$lib/away"
expect 0 "^y: float" cmake-build/static kernelbench/1/19 "$prefix"
mv "$lib/away" "$lib/libassay.so.0"
# A caller of another version: a struct that knows more, a struct without its size.
cat >sized.c <<'C'
#include <assay/assay.h>
#include <stdio.h>
#include <string.h>
int main(void) {
  struct { struct assay_request r; long later; } newer = {.r = {.size = sizeof newer, .task = "kernelbench/1/19", .seed = 7}};
  struct assay_request none = {.task = "kernelbench/1/19"};
  struct assay_request older = {.size = offsetof(struct assay_request, threads), .task = "kernelbench/1/19", .seed = 7, .threads = -9};
  struct assay_session *s = NULL;
  struct assay_answered *a = NULL;
  struct assay_error err = {0};
  if (assay_session_open(NULL, &s, &err)) return puts(err.message), 3;
  printf("newer %d ", assay_session_ask(s, &newer.r, &a, &err));
  printf("%d ", a && assay_answered_seed(a) == 7 && !assay_answered_output(a, 1) && !assay_answered_input(a, -1));
  assay_answered_free(a);
  newer.later = 1;
  printf("unknown %d ", assay_session_ask(s, &newer.r, &a, &err));
  printf("none %d ", assay_session_ask(s, &none, &a, &err));
  printf("older %d\n", assay_session_ask(s, &older, &a, &err));
  assay_answered_free(a);
  assay_session_close(s);
  assay_session_close(NULL);
  return 0;
}
C
expect 0 "^$" sh -c 'cc -o sized sized.c $(pkg-config --cflags --libs assay) && echo'
expect 0 "^newer 0 1 unknown -6 none -3 older 0$" ./sized
# Numbers and texts that no judge could work with are the caller's error, not the machine's and not the kernel's.
cat >wrong.c <<'C'
#include <assay/assay.h>
#include <stdio.h>
#include <string.h>
static struct assay_session *s;
static struct assay_error err;
static void judge(int threads, int64_t budget_ns, size_t size) {
  struct assay_request r = {size, .task = "kernelbench/1/19", .candidate = "relu.c", .threads = threads, .budget_ns = budget_ns};
  struct assay_judged *v = NULL;
  enum assay_status status = assay_session_judge(s, &r, &v, &err);
  printf("%d %s\n", status, err.message);
  assay_judged_free(v);
}
static void plan(const char *target) {
  struct assay_request r = {sizeof r, .task = "kernelbench/1/23", .candidate = "relu.cu"};
  struct assay_planned *p = NULL;
  enum assay_status status = assay_session_plan(s, &r, target, &p, &err);
  printf("%d %s\n", status, err.message);
  assay_planned_free(p);
}
int main(void) {
  if (assay_session_open(NULL, &s, &err)) return puts(err.message), 3;
  const size_t size = sizeof(struct assay_request);
  judge(-1, 0, size), judge(257, 0, size), judge(0, -1, size), judge(0, 0, (size_t)-1), judge(0, 0, (size_t)1 << 40), judge(0, 0, 9);
  plan(""), plan("sm_9999"), plan("compute_90"), plan("sm_90a -G\n");
  assay_session_close(s);
  return 0;
}
C
cp "$source/tests/cases/relu.c" relu.c
echo '__global__ void f() {}' >relu.cu
expect 0 "^$" sh -c 'cc -o wrong wrong.c $(pkg-config --cflags --libs assay) && echo'
./wrong >answers
cat answers
row() { sed -n "$1p" answers; }
for i in 1 2; do expect 0 "^-3 assay_request.threads is 1 to 256, or 0 for all CPUs, not -?[0-9]+$" row $i; done
expect 0 "^-3 assay_request.budget_ns is a time in nanoseconds, .*, not -1$" row 3
for i in 4 5 6; do expect 0 "^-3 set the size of the struct" row $i; done
for i in 7 8 9 10; do expect 0 '^-3 a target is a GPU such as "sm_90a", not "' row $i; done
# The answer to given inputs, and what is said of inputs that are wrong.
cat >given.c <<'C'
#include <assay/assay.h>
#include <stdio.h>
static struct assay_session *s;
static struct assay_request r = {.size = sizeof r, .task = "kernelbench/1/1"};
static void ask(const struct assay_given *in, int n) {
  struct assay_answered *a = NULL;
  struct assay_error err = {0};
  if (assay_session_answer(s, &r, in, n, &a, &err))
    printf("%d %s\n", err.status, err.message);
  else
    for (int i = 0; i < 4; i++)
      printf("%.17g%c", assay_answered_output(a, 0)->f64[i], i < 3 ? ' ' : '\n');
  assay_answered_free(a);
}
int main(void) {
  struct assay_error err = {0};
  const int64_t dims[] = {2, 2}, wide[] = {2, 3}, huge[] = {INT64_MAX, 2};
  const double x[] = {1, 2, 3, 4}, y[] = {1e-20, 1, 1, 0.1, 0, 0};
  struct assay_given in[] = {{sizeof *in, 2, dims, x, NULL}, {sizeof *in, 2, dims, y, NULL}};
  if (assay_session_open(NULL, &s, &err)) return puts(err.message), 3;
  ask(in, 2);
  ask(in, 1);
  ask(NULL, 2);
  in[1].dims = wide; ask(in, 2);
  in[1].dims = huge; ask(in, 2);
  in[1].dims = NULL; ask(in, 2);
  in[1].dims = dims; in[1].f64 = NULL; ask(in, 2);
  in[1].f64 = y; in[1].i64 = dims; ask(in, 2);
  in[1].i64 = NULL; in[1].rank = 99; ask(in, 2);
  in[1].rank = 2; in[1].size = 8; ask(in, 2);
  in[1].size = sizeof *in; r.seed = 1; ask(in, 2);
  assay_session_close(s);
  return 0;
}
C
expect 0 "^$" sh -c 'cc -o given given.c $(pkg-config --cflags --libs assay) && echo'
./given >answers
cat answers
expect 0 "^2 1\\.2 4 3\\.39999" row 1
expect 0 "has 2 inputs, and 1 were given" row 2
expect 0 "assay_session_ask draws them" row 3
expect 0 "^-[0-9]+ .*(B|N|K)" row 4
expect 0 "^-[0-9]+ " row 5
expect 0 "2 dimensions; tensors have 0 to .*, in dims" row 6
expect 0 "give its elements as f64" row 7
expect 0 "give its elements as f64, and nothing else" row 8
expect 0 "99 dimensions" row 9
expect 0 "same size" row 10
expect 0 "workload and seed are for drawn ones" row 11
# The same sizes are one workload, however a caller writes them; other sizes are another.
cat >sizes.c <<'C'
#include <assay/assay.h>
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
  struct assay_session *s = NULL;
  struct assay_error err = {0};
  if (assay_session_open(NULL, &s, &err)) return puts(err.message), 3;
  for (int i = 2; i < argc; i++) {
    struct assay_request r = {.size = sizeof r, .task = "kernelbench/1/19", .candidate = argv[1], .workload = argv[i], .no_timing = 1, .no_probes = 1};
    struct assay_judged *v = NULL;
    if (assay_session_judge(s, &r, &v, &err)) return puts(err.message), 3;
    const char *const keys[] = {"\"settings_sha256\": ", "\"workload\": "};
    for (int k = 0; k < 2; k++) {
      const char *at = k ? assay_judged_json(v) : strstr(assay_judged_json(v), keys[0]);
      for (const char *next = at; k && (next = strstr(next, keys[1])); next++) at = next; // the verdict's own is the last
      printf("%.*s%c", (int)strcspn(at, "\n"), at, k ? '\n' : ' ');
    }
    assay_judged_free(v);
  }
  assay_session_close(s);
  return 0;
}
C
expect 0 "^$" sh -c 'cc -o sizes sizes.c $(pkg-config --cflags --libs assay) && echo'
sizes() { expect 0 "$1" sh -c './sizes "$@" | sort | uniq -c' sh "$source/tests/cases/relu.c" "${@:2}"; }
sizes '4 .*"workload": "ragged1"' ragged1 "M=3, N=5" "N=5,M=3" " N=5, M=3 " # which are its sizes
sizes '3 .*"workload": "M=5, N=3"' "M=5, N=3" "N=3,M=5" "M=5,N=3" "M=3, N=5"
# Hosts with habits of their own: what a habit breaks is said in one sentence and is no verdict.
for host in odd unload; do
  expect 0 "^$" sh -c 'cc -std=gnu17 -Wall -Wextra -Werror -o "$1" "$2" $(pkg-config --cflags --libs assay) -lpthread && echo' \
    sh $host "$source/tests/program/hosts/$host.c"
done
cc -std=gnu17 -o unload "$source/tests/program/hosts/unload.c" $(pkg-config --cflags assay) -ldl
relu=$source/tests/cases/relu.c
times() { # times N PATTERN COMMAND...: N lines match
  local n=$1 pattern=$2
  shift 2
  expect 0 "^$n$" sh -c 'pattern=$1; shift; "$@" | tee "$0" | grep -cE -- "$pattern"' "$work/lines" "$pattern" "$@"
}
nothing_else() { # nothing_else PATTERN: every line of the last `times` matches
  expect 1 "^$" sh -c 'grep -vE -- "$1" "$2" || { echo; exit 1; }' sh "$1" "$work/lines"
}
times 5 "^one pass $" ./odd threads "$relu"
nothing_else "^(one|two) pass $"
times 3 "^(parent|child|again) pass $" ./odd fork "$relu"
times 1 "^closed pass $" ./odd closed "$relu"
nothing_else "^closed pass $"
times 2 "^(ignored|uncollected) -9 this process ignores SIGCHLD, so that nobody learns how a child ends: leave it" ./odd ignored "$relu"
nothing_else "^(ignored|uncollected) -9 |^as it was$"
times 5 "^interrupted pass $" ./odd handlers "$relu"
nothing_else "^interrupted pass $|^heard$"
times 1 "^blocked pass $" ./odd blocked "$relu"
times 10 "^collected (pass |-9 .*something else in this process waits for its children)" ./odd collector "$relu"
echo '#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) { (void)args; __builtin_trap(); }' >crash.c
times 10 "^collected (crashed ended by SIGILL|-9 .*something else in this process waits for its children)" ./odd collector crash.c
times 1 "^64: few pass $" ./odd descriptors "$relu"
nothing_else "^[0-9]+: few (pass |-9 .*Too many open files)"
times 1 "^gone pass $" ./odd gone "$relu"
if localedef -i de_DE -f UTF-8 "$work/de_DE.UTF-8" >localedef.out 2>&1; then
  export LOCPATH=$work
  times 1 "^comma pass $" ./odd comma "$relu"
  nothing_else "^set 1,5$|^comma pass $|^after 1,5$"
  expect 0 '"gate_limit": [0-9]+\.[0-9]+|"seed"' sh -c 'JSON=1 ./odd comma "$1" | sed -n "/^{/,/^}/p" | python3 -m json.tool' sh "$relu"
  unset LOCPATH
else
  echo "left out: a host with decimal commas: no sources of locales (locales)"
fi
times 3 "^pass$" ./unload "$lib/libassay.so.0" "$relu"
nothing_else "^pass$|^left 0 0 0$"
report
