#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# files.sh SOURCE BUILD: the GitHub Action, the pre-commit hook and the Containerfile do what they say, as far as a machine
# without GitHub and without a container engine can show.
set -uo pipefail
source=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/tests/support/expect.sh"
export TMPDIR=$work HOME=$work ASSAY=$build/assay
cd "$work" || exit 1
mkdir kernels
cp "$source/tests/cases/relu.c" kernels/
cat >wrong.c <<'C'
// assay: task kernelbench/1/19
#include <assay/candidate.h>
void assay_kernel(const struct assay_args *args) {
  const float *x = args->inputs[0].data;
  float *y = args->outputs[0].data;
  for (int64_t i = 0, n = assay_count(&args->inputs[0]); i < n; i++)
    y[i] = x[i] < 1 ? 0 : x[i];
}
C

# The action: what action.yml hands over is what tools/action reads, and nothing else.
sed -nE 's/^ +(ASSAY_[A-Z]+): \$\{\{ inputs.*/\1/p' "$source/action.yml" | sort >handed
grep -oE 'ASSAY_[A-Z]+' "$source/tools/action" | sort -u >read
expect 0 "^same$" sh -c 'diff handed read && echo same'
expect 0 "^2$" grep -c 'tools/action" ' "$source/action.yml"
expect 0 "^assay [0-9.]+" "$source/tools/action" build
act() { env ASSAY_SUITE=kernelbench/1 ASSAY_FROM=kernels "ASSAY_OPTIONS=--no-timing --no-probes" GITHUB_STEP_SUMMARY=summary \
  GITHUB_OUTPUT=output "$source/tools/action" judge; }
acted() { act; local code=$?; echo ended; return $code; }
expect 0 "^ended$" acted
expect 0 "^junit=assay.xml$" cat output
expect 0 '\| relu.c \| pass \|' cat summary
expect 0 '<testsuites?[^>]* tests="1"' cat assay.xml
cp wrong.c kernels/
expect 1 "^ended$" acted
expect 0 "<failure .*wrong_value|wrong_value" cat assay.xml
expect 1 "say which tasks: suite:" env -u ASSAY_SUITE ASSAY_FROM=kernels "$source/tools/action" judge
expect 2 "usage: action build.judge" "$source/tools/action" other

# The hook.
expect 0 "^tools/hook$" sh -c 'sed -n "s/^  entry: //p" "$1"' sh "$source/.pre-commit-hooks.yaml"
# A colon and a blank in a value without quotes are no YAML.
expect 0 "^none$" sh -c 'grep -nE "^ *(- )?[a-z_]+: [^\"'"'"'|>#].*: " "$1" || echo none' sh "$source/.pre-commit-hooks.yaml"
echo 'int unrelated;' >unrelated.c
expect 0 "^quiet$" sh -c 'said=$("$@") && test -z "$said" && echo quiet' sh "$source/tools/hook" kernels/relu.c unrelated.c
expect 1 "wrong_value" "$source/tools/hook" kernels/relu.c wrong.c
expect 3 "nosuch is not on the PATH|is not on the PATH" env ASSAY=nosuch "$source/tools/hook" wrong.c
sed 's,kernelbench/1/19,kernelbench/1/999,' wrong.c >lost.c
expect 2 "no task 'kernelbench/1/999'" "$source/tools/hook" lost.c

# The Containerfile builds with what the Debian package builds with, and runs with libraries of these.
expect 0 "^container: " python3 -B "$source/tests/packages/containerfile.py" "$source" "$build/assay"

# onnx.proto is found, in the Python package onnx, too, or it is said what to do.
printf '#!/bin/sh\necho "%s/onnx.proto"\n' "$work" >python_with_onnx
chmod +x python_with_onnx
touch onnx.proto
expect 0 "Configuring done" cmake -S "$source" -B found -G Ninja -DASSAY_TESTS=OFF -DCMAKE_IGNORE_PATH=/usr/include "-DASSAY_PYTHON3=$work/python_with_onnx"
expect 0 "^ONNX_PROTO:FILEPATH=$work/onnx.proto$" cat found/CMakeCache.txt
expect 1 "pip install onnx" cmake -S "$source" -B missing -G Ninja -DASSAY_TESTS=OFF -DCMAKE_IGNORE_PATH=/usr/include -DASSAY_PYTHON3=/bin/false
# One version everywhere: that which a release's tag will name.
version=$(sed -nE 's/^project\(assay VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")
expect 0 "^[0-9]+\.[0-9]+\.[0-9]+$" echo "$version"
expect 0 "^version: $version$" cat "$source/CITATION.cff"
expect 0 "^assay \($version\) " head -n 1 "$source/debian/changelog"
expect 0 "^__version__ = .$version.$" cat "$source/python/assay/__init__.py"
expect 0 "^## $version$" cat "$source/CHANGELOG.md"
# make release: what is missing is listed, the tag is named when nothing is, and nothing is tagged twice. No page names a
# tag that is not there.
mkdir -p release/python/assay release/debian
for file in CMakeLists.txt CITATION.cff CHANGELOG.md debian/changelog python/assay/__init__.py; do cp "$source/$file" "release/$file"; done
committed() { git -C release -c user.name=a -c user.email=a@b -c commit.gpgsign=false "$@" >/dev/null; }
git init -q release
committed add -A && committed commit -m first
released() { (cd release && "$source/tools/gates/release.sh" "$@"); }
sed -i "1s/.*/assay ($version) UNRELEASED; urgency=medium/; " release/debian/changelog
sed -i 's/^version: .*/version: 9.9.9/' release/CITATION.cff
for missing in "debian/changelog does not begin" "CITATION.cff does not say version: $version" "changes that are in no commit" "^not a release yet: [3-9]"; do
  expect 1 "$missing" released
done
sed -i "1s/UNRELEASED/unstable/" release/debian/changelog
sed -i "s/^version: .*/version: $version/" release/CITATION.cff
sed -i "/^## Unreleased$/d" release/CHANGELOG.md
committed commit -am second
expect 0 "^  git tag -a v$version " released
git -C release config user.name a
git -C release config user.email a@b
expect 0 "^tagged v$version\\. .*git push origin v$version" released --tag
expect 0 "^tag$" git -C release cat-file -t "v$version"
for again in "" --tag; do
  expect 1 "there is a tag v$version already" released $again
done
# make prepare: the next version, and one that has a section but no tag; what is unreleased is said to be its changes.
expect 2 "three numbers" released --prepare 1.2
expect 2 "three numbers" released --prepare 99.01.0
expect 1 "a release is not older" released --prepare 0.0.1
expect 1 "there is a tag v$version already" released --prepare "$version"
expect 1 "nothing to release" released --prepare 99.1.0
sed -i "0,/^## /s/^## /## Unreleased\n\n* A change.\n\n## /" release/CHANGELOG.md
for turn in first again; do
  expect 0 "^the files say 99\\.1\\.0" released --prepare 99.1.0
  expect 1 "changes that are in no commit" released
  committed commit -am "$turn"
  expect 0 "^  git tag -a v99\\.1\\.0 " released
  sed -i "0,/^## 99/s/^## 99/## Unreleased\n\n* Another.\n\n## 99/" release/CHANGELOG.md
done
expect 0 "^the files say 99\\.1\\.0" released --prepare 99.1.0
expect 0 "^1$" grep -c "^## 99.1.0$" release/CHANGELOG.md
expect 0 "^1 2 1 $" sh -c 'for what in "## " "\* Another" "\* A change"; do
  sed -n "/^## 99/,/^\* A change/p" "$1" | grep -c "^$what" | tr "\n" " "; done' sh release/CHANGELOG.md
expect 0 "^assay \\(99\\.1\\.0\\) unstable; urgency=medium$" head -n 1 release/debian/changelog
expect 0 "^1$" grep -c "^assay (99" release/debian/changelog
if command -v dpkg-parsechangelog >/dev/null; then
  expect 0 "^99\\.1\\.0$" dpkg-parsechangelog -l release/debian/changelog -S Version
  expect 0 "^0$" sh -c 'dpkg-parsechangelog -l "$1" 2>&1 | grep -c warning || true' sh release/debian/changelog
fi
tags=$(git -C "$source" tag 2>/dev/null)
for file in README.md CONTRIBUTING.md action.yml docs/installing.md; do
  for tag in $(grep -oE '(@|rev: )v[0-9]+\.[0-9]+\.[0-9]+' "$source/$file" | sed 's/^.*v/v/'); do
    grep -qx "$tag" <<<"$tags" || { failures=$((failures + 1)); echo "FAILED: $file names the tag $tag, which is not there"; }
  done
done
report
