#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Exit codes, help, JSON and messages of the command line.
set -uo pipefail
assay=$1 source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet
. "$source/tests/support/expect.sh"
cases=$source/tests/cases
expect 0 Commands "$assay" --help
commands=$(sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' "$work/out")
expect 0 "doctor.*judge.*score" echo $commands
for c in $commands; do expect 0 Usage "$assay" "$c" --help; done
expect 2 "no command" "$assay" frobnicate
expect 0 "^machine +ok +[^{]*; Linux [0-9.]+" "$assay" doctor
expect 2 "no command jugde; did you mean judge\?" "$assay" jugde
expect 2 "no command jugde; did you mean judge\?" "$assay" help jugde
expect 0 "^Usage: assay plan show " "$assay" help plan show
expect 2 "no action shwo; did you mean show" "$assay" help plan shwo
for help in "help judge" "judge -h" "-h" "help"; do expect 0 "Usage: assay" "$assay" $help; done
for version in "-V" "--version" "judge -V"; do expect 0 "^assay [0-9.]+$" "$assay" $version; done
expect 2 "no option --devise; did you mean --device\?" "$assay" judge kernelbench/1/19 "$cases/relu.c" --devise cpu
expect 2 "no option --acton; " "$assay" plan show x --acton
expect 0 "Usage" "$assay" judge --hel # an abbreviation
expect 2 Commands "$assay"
expect 2 "scorecard is of makers: assay compare SUITE --with" "$assay" compare a b --scorecard
expect 0 "calibrate|ok" "$assay" doctor
expect 0 "reads .*computes" "$assay" doctor --calibrate
json 0 "$assay" doctor --json
for what in runner "device runner" builder recorder; do expect 0 "^$what +ok" "$assay" doctor; done
expect 0 "^memory +ok .*GB available" "$assay" doctor
# What there is no memory for is refused before any work. (An input of 1 TB.)
expect 0 "\"cpu_memory_bytes\": [0-9.]+" "$assay" tasks kernelbench/1/19 --json
expect 3 "takes about .* GB of memory .* GB are available" \
  "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "M=1048576, N=262144"
# What fits when answers are held one after another is judged (16 of 101 MB, in 1.5 GB of address space; libraries and
# threads take up to 0.6 of these without using them).
if (ulimit -v 1500000 && "$assay" --help >"$work/out" 2>&1); then # not under a sanitizer
  expect 0 "^memory +ok .* GB of 1.5 GB available" sh -c 'ulimit -v 1500000 && exec "$@"' sh "$assay" doctor
  few=(kernelbench/1/9 "$cases/matmul_outer.c" --no-timing --no-probes --no-store --threads 2 --checks 16)
  expect 0 "matmul_outer.c +pass" sh -c 'ulimit -v 1500000 && exec "$@"' sh "$assay" judge "${few[@]}" \
    --workload "M=4096, K=1, N=2048"
  expect 3 "takes about [12].[0-9] GB of memory .*, its batch in parts, and .* of 1.5 GB are available" sh -c 'ulimit -v 1500000 && exec "$@"' sh \
    "$assay" judge "${few[@]}" --workload "M=4096, K=1, N=24576"
fi
for what in nvrtc nvcc libraries "device opencl" "device cuda"; do expect 0 "^$what +(ok|limited)" "$assay" doctor; done
expect 0 "^nvrtc +limited .*ASSAY_NVRTC" env ASSAY_NVRTC=/nowhere "$assay" doctor
expect 0 "kernelbench/1/19" "$assay" tasks kernelbench/1
json 0 "$assay" tasks kernelbench/1/19 --json
expect 2 "nosuch" "$assay" tasks nosuch
expect 0 "class Model" "$assay" show kernelbench/1/19
json 0 "$assay" show kernelbench/1/19 --json
expect 2 "999" "$assay" show kernelbench/1/999
# A task by its name alone; names that are near, or that several have.
expect 0 "^kernelbench/1/100  Mean hinge loss" "$assay" show hinge_loss
expect 2 "2 tasks are called 'softmax'; say which: kernelbench/1/23 .softmax., kernelbenchx/Math/softmax$" "$assay" show softmax
expect 0 "^kernelbenchx/Math/softmax  Softmax over rows" "$assay" show KernelBenchX/math/SoftMax
expect 0 "kernelbenchx/Reduce/sum" "$assay" tasks kernelbenchx/reduce
expect 2 "no task 'sofmax'; did you mean kernelbench/1/23 .softmax., kernelbenchx/Math/softmax\?" "$assay" show sofmax
expect 2 "no task 'kernelbench/1/sofmax'; did you mean .*/23 .softmax." "$assay" show kernelbench/1/sofmax
expect 2 "no task 'softm'; did you mean .*kernelbench/1/23 .softmax." "$assay" show softm
expect 2 "no task 'kernelbnch'; did you mean kernelbench\?" "$assay" bench kernelbnch --from "$cases"
expect 2 "no action shw; did you mean show\?" "$assay" plan shw x
expect 2 "no action renam; did you mean rename\?" "$assay" runs renam a b
expect 2 "no workload 'smal'; did you mean small\?" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload smal
expect 2 "the task comes first: assay judge kernelbench/1/19 .*relu.c" "$assay" judge "$cases/relu.c" kernelbench/1/19
expect 2 "not 'GPU'; did you mean cuda\?" "$assay" judge kernelbench/1/19 "$cases/relu.c" --device GPU
cp "$cases/relu.c" "$work/-relu.c"
in_work() { (cd "$work" && "$@"); }
expect 2 "a file whose name begins with a hyphen is given as ./-relu.c" in_work "$assay" judge kernelbench/1/19 -relu.c
expect 0 "pass" in_work "$assay" judge kernelbench/1/19 --no-store --no-timing -- -relu.c
small_files() { (ulimit -f 8 && "$@"); }
expect 3 "cannot write: disk I/O error" small_files "$assay" judge kernelbench/1/19 "$cases/relu.c" --store "$work/limited.sqlite"
expect 2 "a device is cpu, cuda or opencl, not 'cdua'; did you mean cuda\?" "$assay" judge kernelbench/1/19 "$cases/relu.c" --device cdua
expect 2 "no baseline 'torch.eagr'; did you mean torch.eager\?" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline torch.eagr
expect 2 "probe takes declared, .*, not 'zero_maen'; did you mean zero_mean\?" "$assay" oracle kernelbench/1/19 --outputs o --probe zero_maen
# Whatever takes a name from a list says what may be meant.
while IFS='|' read -r meant words; do
  expect 2 "did you mean $meant\?" "$assay" $words
done <<EOF
contract|judge kernelbench/1/19 x.c --rule contrat
judged|judge kernelbench/1/19 x.c --shapes judge
nvrtc|judge kernelbench/1/19 x.cu --toolchain nvrt
process|judge kernelbench/1/19 x.py --mode proces
tf32|judge kernelbench/1/19 x.c --contract tf23
tf32|show kernelbench/1/19 --baseline torch.eager --contract tf23
always|doctor --color alwas
never|score --color nevr
auto|plan show x --color aut
lines|bench kernelbench/1 --from $cases --progress lnes
kernelbenchx|export x --format kernelbench-x --to $work
category|score --by categry
fast_p|score --plot fas_p $work/x.svg
kernelbench|score --of kernelbnch
sample|make kernelbench/1/19 --endpoint exec:true --method sampel
cuda-host|make kernelbench/1/19 --endpoint exec:true --form cudahost
performance|make kernelbench/1/19 --endpoint exec:true --feedback perf
values|make kernelbench/1/19 --endpoint exec:true --feedback compile,valeus
chat|make kernelbench/1/19 --endpoint exec:true --api chatt
triton|trials --format tritn --read $source/README.md
cuda|trials --device cuad --read $source/README.md
cpu|serve --devices cpuu
eager|compare fusedops/matmul --with eagr
wrong_value|bench kernelbench/1 --from $cases --again=wrong_vale
EOF
expect 2 "the maker files is written files:DIR.FILE, not 'files'" "$assay" compare fusedops/matmul --with files
expect 2 "no trials of a maker 'inductr'" "$assay" trials --baseline inductr
expect 2 "cases is a folder: name files of it, or .* assay bench SUITE --from" "$assay" judge kernelbench/1/19 "$cases"
expect 2 "one SUITE only, not 'kernelbench/1' and 'kernelbench/2'" "$assay" bench kernelbench/1 kernelbench/2 --from "$cases"
for other in "--against other" "--compare $work/x.json" --rounds\ other --published --devices --deviance; do
  expect 2 'no run named "none"' "$assay" score none $other
done
expect 2 "no task 'kernelbnech/1'; did you mean kernelbench/1\?" "$assay" tasks kernelbnech/1
expect 2 "is a model; name a kernel .*assay-import" "$assay" judge model.onnx
expect 1 "relu.c says that it is for kernelbench/1/19; it was judged for kernelbench/1/20" "$assay" judge kernelbench/1/20 "$cases/relu.c" --no-timing --no-probes --no-store
expect 2 "with --no-timing there are none: one of them" "$assay" judge kernelbench/1/19 "$cases/relu.c" --no-timing --baseline torch.eager
expect 2 "no candidate in .* has a name that --only nothing matches" "$assay" bench kernelbench/1 --from "$cases" --only nothing
# Who only reads makes no store where the path is mistyped; a store of no run is another thing.
for words in runs score "score none" "compare a b" "report --html $work/none-site" "export none --format kernelbench --to $work/none-out" trials \
  "runs export none $work/none.jsonl" "runs rename a b" "runs delete none --yes" "runs merge a b"; do
  expect 2 "there is no store .*/nowhere/none.sqlite; .assay judge" "$assay" $words --store "$work/nowhere/none.sqlite"
done
for words in doctor "tasks kernelbench/1/19" "show kernelbench/1/19"; do
  expect 0 . "$assay" $words --store "$work/nowhere/none.sqlite"
done
expect 0 "^store +ok +.*/nowhere/none.sqlite, which the first verdict makes" "$assay" doctor --store "$work/nowhere/none.sqlite"
expect 0 "^made nothing" sh -c 'test ! -e "$1/nowhere" && test ! -e "$1/none-site" && echo made nothing' sh "$work"
: >"$work/none.sqlite"
expect 0 "no run is in .*/none.sqlite yet: .assay bench" "$assay" runs --store "$work/none.sqlite"
expect 0 "no run is in .*/none.sqlite yet: .assay bench" "$assay" score --store "$work/none.sqlite"
expect 2 "is a candidate; name its task first: assay judge kernelbench/1/23 $cases/softmax_online.c" "$assay" judge "$cases/softmax_online.c"
expect 2 "is a candidate; name its task first: assay judge kernelbench/1/23 $cases/softmax_online.c" "$assay" judge "$cases/softmax_online.c" "$cases/relu.c"

# A word that begins no directive is said, with its line; where it hides the task, a bench does not guess.
sed 's/^.. assay: task/\/\/ assay: tsk/' "$cases/relu.c" >"$work/tsk.c"
mkdir "$work/misspelt"
cp "$work/tsk.c" "$work/misspelt"
expect 0 "tsk.c: line [0-9]*: there is no directive 'tsk'; did you mean task\? .the line counts for nothing" \
  "$assay" judge kernelbench/1/19 "$work/tsk.c" --no-timing --no-probes --no-store
expect 2 "tsk.c: line [0-9]*: there is no directive 'tsk'; did you mean task\?" "$assay" bench kernelbench --from "$work/misspelt"
printf '# assay: lunch k\n' >"$work/lunch.py"
"$assay" judge kernelbench/1/19 "$work/lunch.py" --device cpu --no-timing --no-store >/dev/null 2>"$work/lunch.txt"
expect 0 "lunch.py: line 1: there is no directive 'lunch'; did you mean launch\?" cat "$work/lunch.txt"
expect 2 "a plan holds binary modules, .*--out FILE" python3 "$source/tests/program/terminal.py" 100 \
  "$assay" plan save kernelbench/1/19 "$source/tests/opencl/softmax.cl"
expect 0 "no run is in" "$assay" score --color never --store "$work/none.sqlite"
expect 2 "cannot read .*nothing.plan" "$assay" plan show --color always "$work/nothing.plan"
expect 2 "there is no option --nmae; did you mean --name\?" python3 "$source/tools/importer/assay-import" m.py --nmae x
expect 3 "Importing needs Python packages: .python3 -m venv V && V/bin/pip install numpy onnx torch onnxscript., then .V/bin/python $source/tools/importer/assay-import \.\.\." python3 -S "$source/tools/importer/assay-import" m.py

# With given draws a file and its twins are judged one after another, for the oracle's answers are kept; else twins come last.
mkdir "$work/ordered"
cp "$cases/relu.c" "$cases/sigmoid.c" "$work/ordered"
order() { # order OPTION...: first letters of what is judged, capitals but for twins
  { "$assay" bench kernelbench/1 --from "$work/ordered" --twins --no-timing --no-probes --store "$work/$#.sqlite" "$@" --json ||
    [ $? = 1 ]; } | # 1: a twin needs the probes
    python3 -c 'import json, sys
for v in json.load(sys.stdin):
    file, _, define = v["candidate"].rpartition("/")[2].partition(" -D")
    print(file[0] if define else file[0].upper(), end="")'
}
expect 0 "^RrrrrSs+$" order --seed 1 --secret 2
expect 0 "^RSrrrrs+$" order --seed 1

# Names and titles of strangers: they move no cursor, and are no code. The names are words of Python, too.
hostile=$source/tests/program/hostile/names.onnxtxt
expect 0 "^hostile/1  ReLU" "$assay" show "$hostile"
expect 1 "^0$" sh -c 'LC_ALL=C grep -c "[[:cntrl:]]" "$1"' sh "$work/out"
json 0 "$assay" show "$hostile" --json
expect 0 "hostile/1 .* ReLU" "$assay" tasks "$hostile"
expect 0 "^class Model" "$assay" show "$hostile" --pytorch
cp "$work/out" "$work/hostile.py"
expect 0 "^Import Import Import ClassDef FunctionDef FunctionDef, 5 names$" python3 -c 'import ast, sys
tree = ast.parse(open(sys.argv[1]).read())
names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
print(*(type(n).__name__ for n in tree.body), end=f", {len(names - {chr(95)})} names\n")' "$work/hostile.py"
expect 0 "ModelNew" "$assay" show "$hostile" --baseline torch.eager
# A file's name with a line's end in it adds no line that looks like a summary, and the command that repeats still finds it.
mkdir "$work/forging"
forging=$work/forging/$'said\n2 verdicts compared with the corpus: 2 as expected, 0 not.c'
printf '// assay: task kernelbench/1/19\n// assay: expect pass\nnothing\n' >"$forging"
expect 1 "forging/said 2 verdicts compared.*: expected pass, got build_failed" \
  "$assay" bench kernelbench/1 --from "$work/forging" --twins --no-timing --no-store
cp "$work/out" "$work/forged"
expect 0 "^1$" grep -cE "^[0-9]+ verdicts? compared with the corpus" "$work/forged"
expect 1 "build_failed" bash -c "\"$assay\" $(sed -n 's/^  assay//p' "$work/forged") --no-store"
sed 's/"hostile.1"/"hostile\/1 and more"/' "$hostile" >"$work/name.onnxtxt"
expect 2 "the name assay.task has letters" "$assay" show "$work/name.onnxtxt"
# A module that cannot run is not printed.
sed 's/= Relu (lambda)/= MeanVarianceNormalization<axes = [1]>(lambda)/' "$hostile" >"$work/untranslated.onnxtxt"
expect 1 "no PyTorch module: there is no translation of MeanVarianceNormalization" "$assay" show "$work/untranslated.onnxtxt" --pytorch
expect 0 "^none: there is no translation of MeanVarianceNormalization" "$assay" show "$work/untranslated.onnxtxt"
json 0 "$assay" show "$work/untranslated.onnxtxt" --json
expect 2 "no translation to PyTorch of MeanVarianceNormalization" "$assay" show "$work/untranslated.onnxtxt" --baseline torch.eager
[ ! -e injected ] || { failures=$((failures + 1)); echo "FAILED: a title was run"; }

# The oracle: a seed draws the same inputs again, and inputs that are given back get the same answer.
expect 0 "output_0.npy +y +double\[4096,64\]" "$assay" oracle kernelbench/1/19 --outputs "$work/drawn" --seed 5 --workload "M=4096, N=64"
json 0 "$assay" oracle kernelbench/1/19 --outputs "$work/again" --seed 5 --workload "M=4096, N=64" --json
expect 0 "^same$" sh -c 'cmp "$1/drawn/input_0.npy" "$1/again/input_0.npy" && cmp "$1/drawn/output_0.npy" "$1/again/output_0.npy" && echo same' sh "$work"
expect 0 "output_0.npy" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/given"
expect 0 "^same$" sh -c 'cmp "$1/drawn/output_0.npy" "$1/given/output_0.npy" && echo same' sh "$work"
expect 0 "drawn with --seed [0-9]+" "$assay" oracle kernelbench/1/19 --outputs "$work/fresh" --probe row_scales
expect 2 "say where to" "$assay" oracle kernelbench/1/19
expect 2 "name a task" "$assay" oracle --outputs "$work/fresh"
expect 2 "probe takes declared, .*, not 'sideways'" "$assay" oracle kernelbench/1/19 --outputs "$work/fresh" --probe sideways
expect 2 "are for drawn inputs" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/fresh" --seed 3
expect 2 "neither input_1.npy nor input_1.pb.*2 inputs, and this is b" "$assay" oracle kernelbench/1/1 --inputs "$work/drawn" \
  --outputs "$work/fresh"
printf '\223NUMPY\1\0nonsense' >"$work/drawn/input_0.npy"
expect 2 "input_0.npy: .*cannot be" "$assay" oracle kernelbench/1/19 --inputs "$work/drawn" --outputs "$work/fresh"

# Output that is no regular file stays what it is, and what could not be written is an error. /dev/full only by a link:
# a program at fault, run by root, would replace the device.
mkdir "$work/outputs" "$work/elsewhere"
ln -s ../elsewhere/answer.npy "$work/outputs/output_0.npy"
expect 0 "output_0.npy" "$assay" oracle kernelbench/1/19 --seed 5 --workload "M=4096, N=64" --outputs "$work/outputs"
expect 0 "^same$" sh -c 'test -L "$1/outputs/output_0.npy" && cmp "$1/drawn/output_0.npy" "$1/elsewhere/answer.npy" && echo same' sh "$work"
ln -sf /dev/full "$work/outputs/output_0.npy"
expect 3 "output_0.npy: No space left" "$assay" oracle kernelbench/1/19 --workload "M=3, N=5" --outputs "$work/outputs"
expect 0 "^/dev/full$" readlink "$work/outputs/output_0.npy"
full="cannot write to standard output: No space left"
expect 3 "$full" sh -c '"$1" --help >/dev/full' sh "$assay"
# Longer than what is buffered: an earlier write failed.
expect 3 "cannot write to standard output: (No space left|an earlier write failed)" \
  sh -c '"$1" judge --help >/dev/full' sh "$assay"
expect 3 "$full" sh -c '"$1" show kernelbench/1/19 >/dev/full' sh "$assay"
expect 3 "$full" sh -c '"$1" judge kernelbench/1/19 "$2" --no-timing --json >/dev/full' sh "$assay" "$cases/relu.c"
expect 3 "cannot write to standard output: " sh -c '"$1" score >&-' sh "$assay"

expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c"
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" --json
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" "$cases/relu.c" --json --no-timing
expect 1 "wrong_value|unwritten|wrong_class" "$assay" judge kernelbench/1/19 "$cases/sigmoid.c" --no-timing
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "M=3, N=5" --no-timing
expect 0 '"workload": "M=6, N=7"' "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload " N=7,M = 6" --no-timing --json

# A row in a log is one line without colours; on a terminal of 100 columns no line is longer, and why it failed, the worst
# element and what the reason means have lines of their own. Nothing of the candidate's reaches the terminal as it is.
two=("$cases/relu.c" "$cases/sigmoid.c" --no-timing --no-probes --no-store)
terminal() { # terminal COLUMNS COMMAND...: what it writes there
  python3 "$source/tests/program/terminal.py" "$@"
}
expect 1 "^kernelbench/1/19 +sigmoid.c +wrong_value .* declared inputs" "$assay" judge kernelbench/1/19 "${two[@]}"
for line in "^    declared inputs, workload small, output 0" "^    worst: .* got .* want" "^    allclose 1e-4/1e-2: wrong/wrong"; do
  expect 1 "$line" terminal 100 "$assay" judge kernelbench/1/19 "${two[@]}"
done
expect 0 "^(100|[1-9]?[0-9])$" sh -c 'tr -d "\r" <"$1" | sed "s/\x1b\[[0-9]*[mK]//g" | wc -L' sh "$work/out"
# No line of a bench is longer, the summary included, and names that differ at their end alone stay whole.
bench100=(bench kernelbench/1 --from "$cases" --only relu.c --only 'softmax_t*' --twins --no-timing --run columns)
expect 0 "^kernelbench/1/19 +relu.c -DIDENTITY +[^ ]*wrong_value" terminal 100 "$assay" "${bench100[@]}"
expect 0 "^(100|[1-9]?[0-9])$" sh -c 'sed "s/\x1b\[[0-9]*[mK]//g; s/.*\r//" <"$1" | wc -L' sh "$work/out"
expect 0 "^    the package transformers begins with" terminal 100 "$assay" show kernelbench/4/1
expect 0 "^(100|[1-9]?[0-9])$" sh -c 'sed "/^--- ONNX/,\$d" <"$1" | wc -L' sh "$work/out"
coloured=$(printf '\033\\[31mwrong_value')
expect 1 "$coloured" terminal 100 "$assay" judge kernelbench/1/19 "${two[@]}"
expect 1 "sigmoid.c +wrong_value" env NO_COLOR=1 python3 "$source/tests/program/terminal.py" 100 \
  "$assay" judge kernelbench/1/19 "${two[@]}"
expect 1 "sigmoid.c +wrong_value" terminal 100 "$assay" judge kernelbench/1/19 "${two[@]}" --color never
expect 1 "$coloured" "$assay" judge kernelbench/1/19 "${two[@]}" --color always
expect 2 "auto, always or never, not 'sometimes'" "$assay" judge kernelbench/1/19 "${two[@]}" --color sometimes
printf 'void assay_kernel(void) {\n#error "\033[31mred\007\n}\n' >"$work/$(printf 'esc\033[2J.c')"
expect 1 "esc\?\[2J.c" "$assay" judge kernelbench/1/19 "$work"/esc*.c --no-store
expect 1 "^0$" sh -c 'LC_ALL=C grep -c "[[:cntrl:]]" "$1"' sh "$work/out"
# Nor of a name that somebody gave to a run, a file or an option, whatever reads it.
hostile_run=$(printf 'e\033[31m\007 |"')
expect 0 "1 passed" "$assay" bench kernelbench/1 --from "$cases" --only relu.c --no-timing --no-probes --run "$hostile_run"
{ for c in $commands "plan show" "plan save"; do
  for words in "" --csv --json "--workload=$hostile_run" "--rule=$hostile_run" "--seed=$hostile_run" "--$hostile_run"; do
    "$assay" $c ${words:+"$words"} none "$hostile_run"
    "$assay" $c ${words:+"$words"} "$hostile_run" none
  done
done
"$assay" runs
"$assay" score
"$assay" score --csv
"$assay" trials
} >"$work/words" 2>&1 </dev/null
expect 1 "^0$" sh -c 'tr -d "\n\t" <"$1" | LC_ALL=C grep -c "[[:cntrl:]]"' sh "$work/words"
# Without colours, where nobody wants them, every command that has a table.
for words in "doctor" "tasks kernelbench/1/19" "runs" "trials" "score" "compare $hostile_run $hostile_run" "show kernelbench/1/19"; do
  NO_COLOR=1 terminal 100 "$assay" $words
done >"$work/words" 2>&1
expect 1 "^0$" sh -c 'grep -cE "$(printf "\033")\[[0-9;]+m" "$1"' sh "$work/words"
# A macro as compilers and our own tables write it.
for macro in -DIDENTITY "-D IDENTITY" --define=IDENTITY; do
  # shellcheck disable=SC2086
  expect 1 "wrong_value" "$assay" judge kernelbench/1/19 "$source/tests/cases/relu.c" $macro --no-timing --no-store
done
expect 0 "^ +-D MACRO" "$assay" judge --help
# Progress: a bar on a terminal, lines in the logs of continuous integration, elsewhere nothing.
of_two=(bench kernelbench/1 --from "$cases" --only "relu.c" --only "sigmoid.c" --no-timing --no-probes --again)
expect 0 "^assay: 0 of 2 done; .*/relu.c" env CI=true "$assay" "${of_two[@]}"
expect 0 "\[\.+\] 0/2 " terminal 100 "$assay" "${of_two[@]}"
expect 0 "^nothing$" sh -c '"$@" 2>&1 >/dev/null | grep . || echo nothing' sh env -u CI "$assay" "${of_two[@]}"
# ... and for the stages of one judgement.
one=(judge kernelbench/1/19 "$source/tests/cases/relu.c" --no-timing --no-store)
expect 0 "^assay: 0 of [0-9]+ done; reading$" env CI=true "$assay" "${one[@]}"
expect 0 "^nothing$" sh -c '"$@" 2>&1 >/dev/null | grep . || echo nothing' sh env -u CI "$assay" "${one[@]}"
expect 0 "^nothing$" sh -c '"$@" 2>&1 >/dev/null | grep . || echo nothing' sh env CI=true "$assay" "${one[@]}" --progress none
expect 0 "^nothing$" sh -c '"$@" 2>&1 >/dev/null | grep . || echo nothing' sh env CI=1 "$assay" "${of_two[@]}" --progress none

# No file of a folder ends a bench: what cannot be judged has a row, is judged later, and is not stored.
odd=$work/odd
mkdir -p "$odd/folder.c" "$work/apart"
cp "$cases/relu.c" "$odd/relu.c"
cp "$cases/relu.c" "$work/apart/outside.c"
ln -s nowhere.c "$odd/dangling.c"
ln -s ../apart/outside.c "$odd/outside.c"
ln -s relu.c "$odd/inside.c"
mkfifo "$odd/pipe.c"
printf '// assay: task\nint x;\n' >"$odd/no_name.c"
printf '// assay: task kernelbench/1/999\nint x;\n' >"$odd/unknown.c"
{ sed 's/^\/\/ assay: twin .*/\/\/ assay: twin BAD/' "$cases/sigmoid.c"; echo '// as sigmoid'; } >"$odd/twin.c"
{ cat "$cases/sigmoid.c"; head -c 5000000 /dev/zero | tr '\0' '\n'; } >"$odd/large.c"
cp "$cases/relu.c" "$odd/$(printf 'name\033[31m\nof lines.c')"; echo '// another' >>"$odd/$(printf 'name\033[31m\nof lines.c')"
cat >"$odd/module.py" <<<'# assay: task kernelbench/1/19'
odd_bench() { ASSAY_PYTHON=/nowhere/python "$assay" bench kernelbench/1 --from "$odd" --run odd --no-timing "$@"; }
expect 3 "4 judged now .*1 the same as others|4 done before.*1 the same as others" odd_bench --device cpu
for row in "dangling.c +judge_failed .*leads nowhere" "outside.c +judge_failed .*out of its folder" "pipe.c +judge_failed .*regular file" \
  "folder.c +judge_failed .*regular file" "no_name.c +judge_failed .*line 1: write .// assay: task SUITE" \
  "kernelbench/1/999 +unknown.c +judge_failed .*no task" "kernelbench/1/19 +module.py +judge_failed .*(no interpreter|must be there)" "twin.c +pass" \
  "large.c +build_limit .* the source has 500[0-9]* bytes; at most 4194304" "relu.c +pass|inside.c +pass" "name\?\[31m of lines.c +pass" \
  "7 could not be judged here"; do
  expect 3 "$row" odd_bench --device cpu
done
expect 0 "^0$" sqlite3 "$ASSAY_STORE" "SELECT count(*) FROM verdict WHERE run = 'odd' AND reason = 'judge_failed'"
json 3 odd_bench --device cpu --json
expect 2 "twin.c: line 4: write .// assay: twin MACRO" odd_bench --device cpu --only twin.c --twins
expect 2 "no task 'kernelbench/1/999'" odd_bench --only unknown.c --run none
# Neither does one of a list.
expect 2 "relu.c +pass" "$assay" judge kernelbench/1/19 "$odd/dangling.c" "$odd/relu.c" --no-timing
expect 2 "verified takes a whole number from 10" "$assay" judge kernelbench/1/19 "$cases/relu.c" --verified 3
# A kernel that takes far longer than a call without a kernel, however busy the machine is.
printf '// assay: task kernelbench/1/19\n#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {\n  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;\n  for (volatile int64_t i = 0; i < 10000000; i++)\n    ;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)\n    y[i] = x[i] < 0 ? 0 : x[i];\n}\n' >"$work/slow.c"
expect 0 "pass" "$assay" judge kernelbench/1/19 "$work/slow.c" --no-probes --checks 2 --samples 16 --verified 11 --store "$work/repeat.sqlite"
expect 0 "no-probes --checks 2 --samples 16 --verified 11.,.* [0-9]+ [0-8]$" python3 -c '
import json, sqlite3, sys
command, evidence = sqlite3.connect(sys.argv[1]).execute("SELECT command, evidence FROM verdict").fetchone()
found = json.loads(evidence)
timed = [c for c in found["checks"] if c["timed"]]
assert len(timed) >= 11 and len(found["checks"]) - len(timed) == 2, len(timed)
cold, hot = (len(found["timing"].get(k, [])) for k in ("samples_ns", "hot_samples_ns")) # none where no call was steady
assert cold <= 16, cold
print((command,), cold, hot)' "$work/repeat.sqlite"
# A task under another folder: the command that repeats its judgement finds it again.
mkdir -p "$work/my tasks/mine/level1" && cp "$source/tasks/kernelbench/level1/019_"*.onnxtxt "$work/my tasks/mine/level1/"
expect 0 "pass" "$assay" judge mine/1/19 "$cases/relu.c" --tasks "$work/my tasks" --no-timing --no-probes --store "$work/folder.sqlite"
expect 0 "pass" sh -c "$(python3 -c '
import sqlite3, sys
print(sqlite3.connect(sys.argv[1]).execute("SELECT command FROM verdict").fetchone()[0])' "$work/folder.sqlite" |
  sed "s|^assay |$assay |") --no-store"
expect 2 "no input has a dimension Q" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload "Q=3"
expect 2 "nosuch" "$assay" judge kernelbench/1/19 "$cases/relu.c" --workload nosuch
expect 2 "cannot read" "$assay" judge kernelbench/1/19 "$work/none.c"
# Where the first candidate cannot be judged, no table is printed, and a list that ends early is still JSON.
expect 0 "^nothing$" sh -c '"$@" 2>/dev/null | grep -q . || echo nothing' sh "$assay" judge kernelbench/1/19 "$work/none.c"
json 2 "$assay" judge kernelbench/1/19 "$cases/relu.c" "$work/none.c" --json --no-timing --no-probes
json 2 "$assay" judge kernelbench/1/19 "$work/none.c" "$cases/relu.c" --json --no-timing --no-probes
expect 2 "candidate" "$assay" judge kernelbench/1/19
expect 2 "device" "$assay" judge kernelbench/1/19 "$cases/relu.c" --device tpu
printf 'int broken(' >"$work/broken.c"
expect 1 "build_failed" "$assay" judge kernelbench/1/19 "$work/broken.c"
expect 1 "error:" "$assay" judge kernelbench/1/19 "$work/broken.c"
printf 'int x;\n' >"$work/empty.c"
expect 1 "load_failed .* no function assay_kernel .*void assay_kernel.const struct assay_args" "$assay" judge kernelbench/1/19 "$work/empty.c"
# An editor finds the place: the user's own path, the first error and not the warning before it.
printf '#include <assay/candidate.h>\nstatic int unused(void) { int a; }\nvoid assay_kernel(const struct assay_args *args) {\n  y = 1;\n}\n' >"$work/error.c"
expect 1 "build_failed .* $work/error.c:4:3: error: .*y" "$assay" judge kernelbench/1/19 "$work/error.c"
expect 1 "^$work/error.c:2:[0-9]*: warning" "$assay" judge kernelbench/1/19 "$work/error.c"
expect 1 "^  +error.c:4:3: error: .*y|  error.c:4:3: error" sh -c 'cd "$1" && shift && exec "$@"' sh "$work" "$assay" judge kernelbench/1/19 error.c
# worker.py alone: no PyTorch is needed to find that it is no Python.
printf 'x = 1\ndef f(:\n    pass\n' >"$work/error.py"
expect 1 "^error.py:2:[7-9]: error: [a-z]" python3 "$source/src/runner/worker.py" syntax "$work/error.py" "$work/none.so"
printf '// nothing is launched\n__kernel void f(__global float *x) {}\n' >"$work/none.cl"
expect 1 "$work/none.cl:1:1: error: nothing is launched: write .*// assay: launch KERNEL" "$assay" judge kernelbench/1/19 "$work/none.cl"
printf '__kernel void f(__global const float *x, __global float *y) { y[0] = z; }\n// assay: launch f grid=1 block=1 args=x,y\n' >"$work/error.cl"
expect 1 "build_failed .* $work/error.cl:1:[0-9]+: error: .*z" "$assay" judge kernelbench/1/19 "$work/error.cl"
printf '__kernel void f(__global const float *x, __global float *y) {}\n// assay: launch f grid=1 block=1 args=x,yy\n' >"$work/buffer.cl"
expect 1 "$work/buffer.cl:2:[0-9]+: no number is named .yy.; did you mean y\?" "$assay" judge kernelbench/1/19 "$work/buffer.cl"
printf '<ir_version: 10>\nnonsense' >"$work/bad.onnxtxt"
expect 2 "bad.onnxtxt.*line 2" "$assay" judge "$work/bad.onnxtxt" "$cases/relu.c"
expect 0 "judged now" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
expect 0 "1 done before" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli
# What is not to be stored is judged each time, and leaves no store.
for _ in 1 2; do
  expect 0 "1 judged now .*0 done before" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --no-timing --no-store \
    --store "$work/unkept.sqlite"
done
[ ! -e "$work/unkept.sqlite" ] || { failures=$((failures + 1)); echo "FAILED: bench --no-store made a store"; }
# In a store of its own, without roofs: the other's were measured next to other tests. Where they came out too low, an
# honest time is faster than the hardware, and such a pass is not counted.
unmeasured=$work/unmeasured.sqlite
expect 0 "judged now" "$assay" bench kernelbench/1 --from "$cases" --only 'relu.c' --run cli --store "$unmeasured"
expect 0 "1/1" "$assay" score cli --store "$unmeasured"
expect 0 "1/1" "$assay" score cli --stable --store "$unmeasured"
expect 0 "3 verdicts compared with the corpus: 3 as expected, 0 not" "$assay" bench kernelbench/2 --from "$cases" --twins --no-timing \
  --only 'linear_subtract_multiply_relu.c' --no-store
# Without RUN all runs of the store are there, however many.
expect 0 "^100 runs$" python3 -c '
import json, sqlite3, subprocess, sys
assay, source, path = sys.argv[1:]
store = sqlite3.connect(path)
sqlite3.connect(source).backup(store)
names = [row[1] for row in store.execute("PRAGMA table_info(verdict)") if row[1] not in ("id", "run")]
row = store.execute("SELECT %s FROM verdict WHERE run = \"cli\"" % ", ".join(names)).fetchone()
store.execute("DELETE FROM verdict")
for i in range(100):
    store.execute("INSERT INTO verdict (run, %s) VALUES (?%s)" % (", ".join(names), ", ?" * len(names)), ("run%d" % i, *row))
store.commit()
store.close()
runs = json.loads(subprocess.run([assay, "score", "--store", path, "--json"], check=True, capture_output=True).stdout)
print(len({r["run"] for r in runs}), "runs")' "$assay" "$ASSAY_STORE" "$work/many.sqlite"
json 0 "$assay" score cli --baseline cli --json
expect 2 "no run named" "$assay" score nosuch
expect 2 "cannot read .*none: No such file" "$assay" bench kernelbench/1 --from "$work/none"
head -c 100000 /dev/urandom >"$work/garbage.sqlite"
expect 3 "garbage.sqlite" "$assay" score cli --store "$work/garbage.sqlite"
expect 0 "level 1, [0-9]+ problems?" "$assay" export cli --to "$work/runs"
json 0 "$assay" export cli --to "$work/runs" --json
expect 0 '"compiled": true' cat "$work/runs/cli/eval_results.json"
expect 2 "no run named" "$assay" export nobody --to "$work/runs"
mkdir "$work/samples" && cp "$cases/relu.c" "$work/samples/level_1_problem_19_sample_0_kernel.c"
expect 0 "1 judged now .1 passed" "$assay" bench kernelbench/1 --from "$work/samples" --run samples --no-timing
echo '{"19": [{"sample_id": 0, "compiled": true, "correctness": false, "runtime": -1}]}' >"$work/eval_results.json"
expect 0 "1 samples judged by both: 0 agree, 0 correct only for KernelBench, 1 correct only for Assay" "$assay" score samples --compare "$work/eval_results.json"
expect 0 "kernelbench/1/19 .* wrong .* pass" "$assay" score samples --compare "$work/eval_results.json"
json 0 "$assay" score samples --compare "$work/eval_results.json" --json
expect 2 "no verdict on a file with a KernelBench name" "$assay" score cli --compare "$work/eval_results.json"
expect 2 "takes one run" "$assay" score --compare "$work/eval_results.json"
expect 2 "say where to" "$assay" export cli
"$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --secret 9 --no-timing --json >"$work/a" && \
  "$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --secret 9 --no-timing --json >"$work/b" && \
  "$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 7 --no-timing --json >"$work/c"
if python3 - "$work/a" "$work/b" "$work/c" <<'P'
import json, sys
a, b, c = (json.load(open(p))[0] for p in sys.argv[1:])
same = a["checks"] == b["checks"] and a["shapes"] == b["shapes"] and (a["seed"], a["secret"]) == (7, 9)
names = [shape["name"] for shape in a["shapes"]]
known = {"M=64, N=1024", "M=4096, N=393216", "M=1, N=1", "M=3, N=7"}
fresh = c["seed"] == 7 and c["secret"] not in (0, 9) and c["shapes"] != a["shapes"]
asked = {check["workload"] for check in c["checks"]} >= {shape["name"] for shape in c["shapes"]}
sys.exit(not (same and fresh and asked and names == ["neighbour", "multiples", "mixed", "reduced"]
              and not known & {shape["extents"] for shape in a["shapes"] + c["shapes"]}))
P
then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: seed and secret must give the same checks, a seed alone other shapes"; fi
# What ends in the middle of the questions says at which.
cat >"$work/ends.c" <<'C'
#include <assay/candidate.h>
#include <signal.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t n = assay_count(&args->inputs[0]);
  if (args->inputs[0].dims[1] % 2)
    raise(SIGFPE);
  for (int64_t i = 0; i < n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
}
C
expect 1 "crashed .*ended by SIGFPE.*; [a-z_ ]+ inputs, workload [a-z0-9]+.* .right at the judged shape" \
  "$assay" judge kernelbench/1/19 "$work/ends.c" --no-timing --no-store
# An output is no input: what a kernel did to its pages is said as that.
cat >"$work/protects.c" <<'C'
#include <assay/candidate.h>
#include <sys/mman.h>
void assay_kernel(const struct assay_args *args) {
  float *y = args->outputs[0].data;
  mprotect((void *)((uintptr_t)y & ~(uintptr_t)4095), 4096, PROT_NONE);
  y[0] = 1;
}
C
expect 1 "crashed .*touched output 0 at byte 0, which it has unmapped or protected" \
  "$assay" judge kernelbench/1/19 "$work/protects.c" --no-timing --no-store
# With a known seed a candidate knows the inputs of checked calls, and of no timed one: these come from the secret.
cat >"$work/tells.c" <<'C'
#include <assay/candidate.h>
#include <stdio.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  int64_t m = args->inputs[0].dims[0], n = args->inputs[0].dims[1];
  for (int64_t i = 0; i < m * n; i++)
    y[i] = x[i] > 0 ? x[i] : 0;
  if (m == 64 && n == 1024) {
    printf("call %a %a\n", x[0], x[1]);
    fflush(stdout);
  }
}
C
for way in "a --seed 7" "b --seed 7" "c --seed 7 --secret 9" "d --seed 7 --secret 9"; do
  set -- $way
  name=$1
  shift
  "$assay" judge kernelbench/1/19 "$work/tells.c" "$@" --samples 10 --json >"$work/$name"
done
if python3 - "$work/a" "$work/b" "$work/c" "$work/d" <<'P'
import json, sys
verdicts = [json.load(open(path))[0] for path in sys.argv[1:]]
calls = [[line for line in v["diagnostics"].splitlines() if line.startswith("call ")] for v in verdicts]
a, b, c, d = map(set, calls)
print([len(x) for x in calls], len(a & b), len(c & d))
checked = sum(1 for check in verdicts[0]["checks"] if check["workload"] == "small" and not check["timed"])
enough = all(len(x) >= checked + 10 for x in calls)
sys.exit(not (enough and checked == 5 and 1 <= len(a & b) <= checked and (c <= d or d <= c)))
P
then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: timed calls must not follow from the seed"; fi
# Ragged shapes for which there is no room are refused, not left out.
sed '/workload.ragged1"/{p;'"$(for i in 6 7 8 9 10 11 12 13; do printf 's/ragged[0-9]*/ragged%s/p;' "$i"; done)"'s/ragged13/ragged14/}' \
  "$source/tasks/kernelbench/level1/019_relu.onnxtxt" >"$work/ragged.onnxtxt"
expect 3 "kernelbench/1/19: workload ragged[0-9]+: a task has at most 11 ragged workloads" \
  "$assay" judge "$work/ragged.onnxtxt" "$source/tests/cases/relu.c" --no-timing --no-store
# How far a verdict holds: a kernel for one shape fails, is told so, and passes where that is asked.
table=$source/tests/cheats/shape_table.c
expect 1 "wrong_value .*right at the judged shape: --shapes judged" "$assay" judge kernelbench/1/23 "$table" --no-timing
expect 0 "pass \(judged shape\) .*judged shape only; elsewhere wrong_value: " "$assay" judge kernelbench/1/23 "$table" --no-timing --shapes judged
expect 1 "crashed .*right at the judged shape" "$assay" judge kernelbench/1/23 "$table" --define CRASHES --no-timing
expect 0 "judged shape only; elsewhere crashed: " "$assay" judge kernelbench/1/23 "$table" --define CRASHES --shapes judged --samples 10
expect 1 "wrong_value .*workload small" "$assay" judge kernelbench/1/23 "$table" --define CRASHES_WRONG --no-timing
expect 1 "wrong_value .*workload small" "$assay" judge kernelbench/1/23 "$table" --define CRASHES_WRONG --no-timing --shapes judged
json 0 "$assay" judge kernelbench/1/23 "$table" --define HONEST --no-timing --shapes judged --json
if grep -q '"scope": "general"' "$work/out"; then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: right everywhere is general"; fi
expect 0 "pass \(judged shape\)" "$assay" bench kernelbench/1/23 --from "$source/tests/cheats" --only shape_table.c --no-timing --shapes judged --run narrow
expect 0 "0/1 \+1 judged shape" "$assay" score narrow
# A time of draws that could be known beforehand is not ranked; the same time of fresh ones is.
"$assay" judge kernelbench/1/19 "$cases/relu.c" --seed 5 --no-timing --json >"$work/a"
if python3 - "$assay" "$work/a" "$ASSAY_STORE" "$work/ranks.sqlite" <<'P'
import json, sqlite3, subprocess, sys
assay, given, source, path = sys.argv[1:]
store = sqlite3.connect(path)
sqlite3.connect(source).backup(store)
store.execute("UPDATE verdict SET time_ns = 1000, suspicious = 0 WHERE run = 'cli'")
evidence = json.loads(store.execute("SELECT evidence FROM verdict WHERE run = 'cli'").fetchone()[0])
def ranked(foreknown):
    evidence["foreknown"] = foreknown
    store.execute("UPDATE verdict SET evidence = ? WHERE run = 'cli'", (json.dumps(evidence),))
    store.commit()
    out = subprocess.run([assay, "score", "cli", "--baseline", "cli", "--store", path, "--json"], stdout=subprocess.PIPE)
    return json.loads(out.stdout)[0]["baseline_tasks"]
fresh = evidence["foreknown"] is False and json.load(open(given))[0]["foreknown"] is True
sys.exit(not (fresh and ranked(False) == 1 and ranked(True) == 0))
P
then passes=$((passes + 1)); else failures=$((failures + 1)); echo "FAILED: a seed that was given gives no rank"; fi
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

# --mode is for Python candidates on a GPU and is ignored elsewhere.
expect 2 "a mode is plan or process, not 'fast'" "$assay" judge kernelbench/1/19 "$cases/relu.c" --mode fast
expect 0 "pass" "$assay" judge kernelbench/1/19 "$cases/relu.c" --mode plan --no-probes --no-timing

# A Fourier transform has the same error at the border as in the middle, where more terms are added.
expect 0 "pass" "$assay" judge kernelbench/1/65 "$cases/orders_conv_transpose.c" --define FOURIER --no-probes --no-timing

# Baselines: any candidate may be one; baselines.sh tests PyTorch's.
quick="--no-probes --checks 1 --samples 12"
expect 0 "pass .* [0-9.]+ slow.c" "$assay" judge kernelbench/1/19 "$work/slow.c" --baseline "$work/slow.c" $quick
printf '#include <assay/candidate.h>\nvoid assay_kernel(const struct assay_args *args) { (void)args; }\n' >"$work/idle.c"
expect 0 "baseline .*idle.c is not used, it is wrong itself: unwritten" "$assay" judge kernelbench/1/19 "$work/slow.c" --baseline "$work/idle.c" $quick
printf '#include <assay/candidate.h>\n#include <stdlib.h>\nvoid assay_kernel(const struct assay_args *args) {
  static int calls;\n  const float *x = args->inputs[0].data;\n  float *y = args->outputs[0].data;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)\n    y[i] = x[i] < 0 ? 0 : x[i];
  if (++calls > 10)\n    abort();\n}\n' >"$work/tires.c"
expect 0 "pass .* tires.c: crashed" "$assay" judge kernelbench/1/19 "$work/slow.c" --baseline "$work/tires.c" $quick
json 0 "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline "$cases/relu.c" --no-probes --json
expect 0 "1 judged now .1 passed" "$assay" bench kernelbench/1 --from "$work" --only slow.c --run paired --baseline "$work/slow.c" $quick
expect 0 "paired .* 1/1 .* [0-9.]+ [0-9.]+ [0-9.]+$" "$assay" score paired --baseline "$work/slow.c"
expect 2 "no candidate of .paired. was timed in turn" "$assay" score paired --baseline torch.eager
expect 2 "there is no baseline 'torch.lazy' .baselines: torch.eager, .*, or a candidate's file" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline torch.lazy
expect 2 "none.c" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline none.c --no-probes
expect 2 "does not run on device opencl" "$assay" judge kernelbench/1/19 "$source/tests/opencl/relu.cl" --baseline "$cases/relu.c"
expect 2 "torch.eager does not run on device opencl" "$assay" judge kernelbench/1/19 "$source/tests/opencl/relu.cl" --baseline torch.eager
expect 0 "return F.smooth_l1_loss\\(predictions, targets\\)" "$assay" show kernelbench/1/96 --baseline torch.eager
expect 0 "torch.compile\(self.compute, mode=.max-autotune" "$assay" show kernelbench/1/96 --baseline torch.compile.max-autotune
expect 0 "^any" "$assay" show kernelbench/1/1 --baseline library
expect 2 "library does not run on device cpu" "$assay" judge kernelbench/1/19 "$cases/relu.c" --baseline library --no-probes
expect 2 "there is no baseline 'fast'" "$assay" show kernelbench/1/96 --baseline fast

# OpenCL on the CPU: everything but the speed is tested.
opencl=$source/tests/opencl
expect 0 "^$" sh -c '"$1" plan save kernelbench/1/23 "$2" --out "$3" && echo' sh "$assay" "$opencl/softmax.cl" "$work/softmax.json"
expect 0 "softmax<<<32, 128>>>\(x, y, local\[512\], 2048\)" "$assay" plan show "$work/softmax.json"
expect 0 "1 step" "$assay" plan check "$work/softmax.json"
expect 0 "output 0: [0-9a-f]{16}" "$assay" plan replay "$work/softmax.json"
expect 0 "pass .*(not ranked: not a GPU's time|no time: |suspicious)" "$assay" judge kernelbench/1/19 "$opencl/relu.cl"
expect 1 "unwritten" "$assay" judge kernelbench/1/19 "$opencl/relu.cl" --define HALF --no-timing
sed 's/ = get_global_id(0) \* 4,/ = printf("hello\\n") * 0 + get_global_id(0) * 4,/' "$opencl/relu.cl" > "$work/says.cl"
expect 0 'printed by the kernel ---.nhello.nhello' "$assay" judge kernelbench/1/19 "$work/says.cl" --no-timing --json
expect 2 "is for device opencl, not for cuda" "$assay" judge kernelbench/1/19 "$opencl/relu.cl" --device cuda
printf '__kernel void f(' >"$work/broken.cl"
expect 1 "build_failed" "$assay" judge kernelbench/1/19 "$work/broken.cl"
# Without a GPU, libraries can only report that a task is not theirs.
echo any >"$work/any.library"
expect 1 "no plan: .*this task has Relu" "$assay" plan save kernelbench/1/19 "$work/any.library"
echo cublas >"$work/wrong.library"
expect 1 "line 1: .cublas.: a .library file has" "$assay" plan save kernelbench/1/1 "$work/wrong.library"
expect 3 "no /nowhere, which ASSAY_CUDNN names" env ASSAY_CUDNN=/nowhere "$assay" plan save kernelbench/1/50 "$work/any.library"
expect 2 "is for device cuda" "$assay" judge kernelbench/1/1 "$work/any.library" --device cpu
expect 2 ".c files do not become launch plans" "$assay" plan save kernelbench/1/19 "$cases/relu.c"

# CUDA: plans with NVRTC or nvcc, judging with a GPU; without them, messages about what is missing.
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
  # The header of the other form, of host code, is no obstacle.
  { printf '#include <assay/cuda.h>\n'; cat "$relu"; } >"$work/included.cu"
  expect 0 "relu<<<" sh -c '"$1" plan save kernelbench/1/19 "$2" --out "$3" && "$1" plan show "$3"' sh "$assay" "$work/included.cu" "$work/included.json"
  printf '// assay: launch f grid=1 block=1 args=x\n__global__ void f(' >"$work/broken.cu"
  expect 1 "^$work/broken.cu:2:1: error: " "$assay" plan save kernelbench/1/19 "$work/broken.cu"
  expect 1 "^yes$" sh -c 'grep -q "no __global__ function" "$1" || echo yes; exit 1' sh "$work/out"
  printf '// assay: launch g grid=1 block=1 args=x\n__global__ void f(const float *x) {}\n' >"$work/lacking.cu"
  expect 1 "^$work/lacking.cu:1:11: error: there is no __global__ function g, which this line launches" "$assay" plan save kernelbench/1/19 "$work/lacking.cu"
  printf '// assay: launch f grid=1 block=2048 args=x\n__global__ void f(const float *x) {}' >"$work/much.cu"
  expect 1 "no plan: .*2048" "$assay" plan save kernelbench/1/19 "$work/much.cu"
else
  echo "left out, as there is no NVRTC: $(cat "$work/err")"
fi
# The same of nvcc, for a file with host code; and one sentence for a file that nothing launches.
if command -v nvcc >/dev/null || [ -x /usr/local/cuda/bin/nvcc ]; then
  printf '#include <assay/cuda.h>\n__global__ void f(float *y) { y[0] = q; }\n' >"$work/host.cu"
  expect 1 "^$work/host.cu:2:38: error: .*q" "$assay" plan save kernelbench/1/19 "$work/host.cu"
  printf '__global__ void f(float *y) {}\n' >"$work/entry.cu"
  expect 1 "there is no extern .C. void assay_cuda_kernel.*: write it, or a line for each launch" "$assay" plan save kernelbench/1/19 "$work/entry.cu"
fi
if "$assay" plan save kernelbench/1/19 "$relu" --toolchain nvcc --out "$work/nvcc.json" 2>"$work/err"; then
  expect 0 "relu<<<128, 128>>>\(x, y, 65536\)" "$assay" plan show "$work/nvcc.json"
  # --compiler is another nvcc, for host code alone.
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  printf '#!/bin/sh\nexec %s -DOF_THE_WRAPPER=7 "$@"\n' "$nvcc" >"$work/wrapped-nvcc"
  chmod +x "$work/wrapped-nvcc"
  { printf '#ifndef OF_THE_WRAPPER\n#error not by the wrapper\n#endif\n'; cat "$relu"; } >"$work/wrapped.cu"
  expect 1 "^$work/wrapped.cu:2:2: error: .*not by the wrapper" "$assay" plan save kernelbench/1/19 "$work/wrapped.cu" --toolchain nvcc
  expect 0 "relu<<<128, 128>>>" sh -c '"$1" plan save kernelbench/1/19 "$2" --toolchain nvcc --compiler "$3" --out "$4" && "$1" plan show "$4"' sh \
    "$assay" "$work/wrapped.cu" "$work/wrapped-nvcc" "$work/wrapped.json"
  expect 3 "/nowhere/nvcc" "$assay" plan save kernelbench/1/19 "$relu" --toolchain nvcc --compiler /nowhere/nvcc
else
  echo "left out, as there is no nvcc: $(cat "$work/err")"
fi
if [ -e /dev/nvidiactl ]; then
  expect 0 "pass" "$assay" judge kernelbench/1/19 "$relu"
else
  expect 3 "NVIDIA driver.*install it" "$assay" judge kernelbench/1/19 "$relu"
  expect 3 "NVIDIA driver.*install it" "$assay" bench kernelbench/1 --from "$source/kernels/cuda" --only relu.cu --run cuda
  [ ! -e "$work/nvrtc.json" ] || expect 3 "NVIDIA driver.*install it" "$assay" plan replay "$work/nvrtc.json"
fi
# Started by a program that ignores the ends of its children, as some services do.
expect 0 "^kernelbench/1/19 .* pass " bash -c 'trap "" CHLD; exec "$@"' bash "$assay" judge kernelbench/1/19 "$cases/relu.c" --no-timing
# --color: each command that has it prints something else with it. `said` is what it says without a terminal, but for the
# memory that is free just now.
said() { TERM=xterm "$assay" "$@" 2>&1 </dev/null | sed 's/[0-9.]* GB of //'; }
while read -r words; do
  # shellcheck disable=SC2086
  expect 0 "^differs$" sh -c 'test "$1" != "$2" && test "$3" = "$2" && echo differs' sh \
    "$(said $words --color always)" "$(said $words --color never)" "$(said $words)"
done <<W
tasks nosuch
show nosuch
oracle nosuch --outputs $work/none
judge nosuch $cases/relu.c
bench nosuch --from $cases
make nosuch --endpoint exec:true
tune nosuch $cases/relu.c
trials nosuch --read /nowhere
score nosuch
runs delete nosuch --yes
compare nosuch other
report --html /dev/null/x
export nosuch --to $work/none
serve --store /dev/null/x
doctor --store /dev/null/x
plan show /nowhere
plan check /nowhere
plan export /nowhere --to $work/none
plan save nosuch x.cl
plan replay /nowhere
W
expect 0 "^every one$" sh -c 'for c in $2; do "$1" $c --help | grep -q -- --color && ! grep -q "^$c " "$3" && echo "$c is not asked" && exit 1; done
  echo every one' sh "$assay" "$commands" "$source/tests/program/cli.sh"
# No library has started a thread when main begins, and main may use the processors that its parent may. The page is longer
# than a pipe holds, so the process is still there.
expect 0 "^1 thread, as its parent$" sh -c 'mkfifo "$2/page" || exit 1
  "$1" operators >"$2/page" & exec 3<"$2/page" && head -c 1 <&3 >"$2/first" || exit 1
  alike=$(grep -h "^Cpus_allowed:" /proc/$!/status /proc/$$/status | sort -u | wc -l)
  [ -s "$2/first" ] && ! grep -q "^State:.*Z" /proc/$!/status || exit 1
  set -- /proc/$!/task/*
  echo $# thread$([ $# = 1 ] || echo s), $([ "$alike" = 1 ] || echo not) as its parent' sh "$assay" "$work"
report
