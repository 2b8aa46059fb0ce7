#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make install and make uninstall: a program that finds its own files where it is, manual pages and completions of every
# command, and nothing left at the end.
set -uo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/tests/support/expect.sh"
unset ASSAY_TASKS ASSAY_PROMPTS ASSAY_PRICES ASSAY_INCLUDE ASSAY
export TMPDIR=$work ASSAY_STORE=$work/store.sqlite ASSAY_PROC=$source/tests/support/quiet HOME=$work
prefix="/opt/some where" # with a blank in it
root="$work/dest dir" bin="$work/dest dir$prefix/bin"
mkdir -p "$root$prefix/share/others"
touch "$root$prefix/share/others/file"
expect 0 "Installing: .*/bin/assay$" env DESTDIR="$root" cmake --install "$build" --prefix "$prefix"

# make install as root tells the loader about a new library, but not about one that is for a package.
mkdir "$work/fake"
printf '#!/bin/sh\necho told\n' >"$work/fake/ldconfig" && printf '#!/bin/sh\n[ "$1" != -u ] || echo 0\n' >"$work/fake/id"
printf '#!/bin/sh\n' >"$work/fake/cmake" && chmod +x "$work/fake"/*
installs() { PATH=$work/fake:$PATH make -s -C "$source" -o programs install BUILD="$build" PREFIX="$work/nowhere" DESTDIR="$1" && echo done; }
expect 0 "^told$" installs ""
expect 0 "^only done$" sh -c '[ "$1" = done ] && echo only done' sh "$(installs "$work/nowhere")"

# Away from the sources, and without them in the environment.
cd "$work" || exit 1
cp "$source/tests/cases/relu.c" relu.c
assay=$bin/assay
for part in runner "device runner" builder recorder; do expect 0 "^$part +ok" "$assay" doctor; done
expect 0 "relu.c +pass" "$assay" judge kernelbench/1/19 relu.c --no-timing
expect 0 "kernelbench/1/19" "$assay" tasks kernelbench/1
expect 0 "usage: assay-import" "$bin/assay-import" --help
# What is named in a message is there.
[ -f "$root$prefix/share/doc/assay/docs/importing.md" ] || { failures=$((failures + 1)); echo "FAILED: no docs"; }

# A page for every command, with every option that its help has; none that man complains of.
man=$root$prefix/share/man/man1
for c in $("$assay" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'); do
  "$assay" "$c" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--[a-z-]+' | grep -vxE -- '--(usage|version)' |
    sed 's/-/\\\\-/g' >"$work/options"
  while IFS= read -r option; do expect 0 "$option" cat "$man/assay-$c.1"; done <"$work/options"
done
expect 0 "^.fBassay judge" cat "$man/assay-judge.1"
if command -v man >/dev/null; then
  expect 0 "^nothing$" sh -c 'for f in "$1"/*.1; do man --warnings -E UTF-8 -l -Tutf8 -Z "$f" 2>&1 >/dev/null; done | grep . || echo nothing' sh "$man"
fi
# Completions, asked as a shell asks: words of the line, and which of them is completed.
completion=$root$prefix/share/bash-completion/completions/assay
complete_it() { # complete_it WORD...: what may stand in place of the last
  bash -c 'shopt -s progcomp; compopt() { :; }; . "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _assay
    printf "%s\n" "${COMPREPLY[@]}"' bash "$completion" "$@"
}
expect 0 "^judge$" complete_it assay ju
expect 0 "^--baseline$" complete_it assay judge kernelbench/1/19 relu.c --bas
expect 0 "^export$" complete_it assay plan ex
expect 0 "^--target$" complete_it assay plan check x.json --t
expect 0 "^--scorecard$" complete_it assay compare fusedops --sco
expect 0 "Also, of assay compare SUITE .*with MAKER" cat "$man/assay-compare.1"
expect 0 "^doctor$" complete_it assay help doc
expect 0 "^always$" complete_it assay doctor --color al
expect 0 "^allclose$" complete_it assay judge kernelbench/1/19 relu.c --rule a
expect 0 "^cuda-host$" complete_it assay make kernelbench/1/19 --form cuda-
expect 0 "^refine$" complete_it assay make kernelbench/1/19 --method ref
expect 0 "^kernelbench/1/19$" complete_it "$root$prefix/bin/assay" judge kernelbench/1/19
for shell in zsh fish; do
  file=$root$prefix/share/zsh/site-functions/_assay
  [ $shell = fish ] && file=$root$prefix/share/fish/vendor_completions.d/assay.fish
  expect 0 "baseline" cat "$file"
  if command -v $shell >/dev/null; then expect 0 "^fine$" sh -c '"$1" -n "$2" && echo fine' sh $shell "$file"; fi
done

# What zsh makes of a line and a tab, asked of a zsh on a terminal.
if command -v zsh >/dev/null; then
  zsh_makes() { PATH=$root$prefix/bin:$PATH python3 -B "$source/tests/program/zsh_completes.py" "$root$prefix/share/zsh/site-functions" "$1"; }
  expect 0 "assay judge #end" zsh_makes "assay ju"
  expect 0 "assay plan export #end" zsh_makes "assay plan ex"
  expect 0 "assay help doctor #end" zsh_makes "assay help doc"
  expect 0 "^allclose +contract" zsh_makes "assay judge kernelbench/1/19 x.c --rule "
  expect 0 "judge kernelbench/1/98 #end" zsh_makes "assay judge kernelbench/1/98"
  expect 0 "kernelbench/1/20 +kernelbench/1/21 " zsh_makes "assay judge kernelbench/1/2"
  expect 0 "assay judge x relu.c #end" zsh_makes "assay judge x rel"
fi

# What fish offers, asked of fish. A word that is a command in one place is an action in another.
if command -v fish >/dev/null; then
  fishes() { # fishes LINE: what may follow
    PATH=$root$prefix/bin:$PATH fish --no-config -c 'source $argv[1]; complete -C $argv[2]' \
      "$root$prefix/share/fish/vendor_completions.d/assay.fish" "$1" | cut -f 1 | tr '\n' ' '
  }
  expect 0 "^judge $" fishes "assay ju"
  expect 0 "^--color --help --json $" fishes "assay plan show --"
  expect 0 "^allclose contract $" fishes "assay judge kernelbench/1/19 x.c --rule "
  expect 0 "^kernelbench/1/19 $" fishes "assay judge kernelbench/1/19"
  expect 0 "^doctor $" fishes "assay help doc"
fi

expect 2 "nothing to uninstall: there is no .*nowhere" make -s -C "$source" uninstall DESTDIR="$root" PREFIX=/nowhere
expect 0 "^$" sh -c '"$@"; echo' sh make -s -C "$source" uninstall DESTDIR="$root" PREFIX="$prefix"
expect 0 "^share/others/file$" sh -c 'cd "$1$2" && find . -type f -o -type l | sed "s,^./,,"' sh "$root" "$prefix"
expect 0 "^2$" sh -c 'find "$1$2" -mindepth 1 -type d | wc -l' sh "$root" "$prefix"

# In the system's own prefix only what is Assay's goes: bin, lib and others were there before, and are for all programs.
mkdir -p "$work/system/usr/local/bin"
expect 0 "Installing: .*/usr/local/bin/assay$" env DESTDIR="$work/system" cmake --install "$build" --prefix /usr/local
expect 0 "^$" sh -c '"$@"; echo' sh make -s -C "$source" uninstall DESTDIR="$work/system" PREFIX=/usr/local
expect 0 "^bin$" ls "$work/system/usr/local"
expect 0 "^nothing$" sh -c 'find "$1" -name "*assay*" -o -type f | grep . || echo nothing' sh "$work/system"

# The programs are built without tests, and ONNX's schema is looked for.
expect 1 "^$" sh -c 'ninja -C "$1" -t inputs programs | grep -E "^(tests|bench)/" || { echo; exit 1; }' sh "$build"
mkdir -p "$work/headers/onnx"
expect 1 "onnx/onnx.proto is missing" cmake -S "$source" -B "$work/built" -G Ninja -DONNX_PROTO=/nowhere/onnx.proto
proto=$(sed -n 's/^ONNX_PROTO:[A-Z]*=//p' "$build/CMakeCache.txt")
cp "$proto" "$work/headers/onnx/onnx.proto" && rm -rf "$work/built"
expect 0 "Configuring done" cmake -S "$source" -B "$work/built" -G Ninja -DCMAKE_INCLUDE_PATH="$work/headers"
expect 0 "^ONNX_PROTO:[A-Z]*=$work/headers/onnx/onnx.proto$" cat "$work/built/CMakeCache.txt"
report
