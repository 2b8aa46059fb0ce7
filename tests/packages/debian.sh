#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# debian.sh SOURCE: dpkg-buildpackage from the files of the repository; lintian has nothing to say; what is in the packages
# works. Compiled without optimisation and debug information, which takes half as long, and packed by gzip. Skipped without
# debhelper and lintian.
set -uo pipefail
source=$1
for program in dh lintian dpkg-buildpackage dh_python3; do
  command -v $program >/dev/null || {
    echo "skipped: no $program (apt-get install debhelper dh-python lintian)"
    exit 77
  }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
. "$source/tests/support/expect.sh"
unset ASSAY_TASKS ASSAY_PROMPTS ASSAY_PRICES ASSAY_INCLUDE ASSAY_STORE ASSAY_PREFIX CFLAGS LDFLAGS
export TMPDIR=$work HOME=$work
mkdir "$work/assay" "$work/root"
(cd "$source" && git ls-files -co --exclude-standard | while IFS= read -r f; do [ ! -e "$f" ] || echo "$f"; done |
  tar -cf - -T -) | tar -xf - -C "$work/assay"
cd "$work/assay" || exit 1
export DEB_BUILD_OPTIONS="noopt noautodbgsym terse parallel=$(nproc)" DEB_CFLAGS_STRIP=-g
export DPKG_DEB_COMPRESSOR_TYPE=gzip DPKG_DEB_COMPRESSOR_LEVEL=1 # xz takes far longer
dpkg-buildpackage -us -uc -b >"$work/log" 2>&1 || tail -n 40 "$work/log"
version=$(sed -nE 's/^project\(assay VERSION ([0-9.]+).*/\1/p' "$source/CMakeLists.txt")
expect 0 "^assay_${version}_.*deb$" sh -c 'cd "$1" && ls *.deb' sh "$work"
expect 1 "^$" sh -c 'grep "[a-z]: warning: .*\[-W" "$1" || { echo; exit 1; }' sh "$work/log"
expect 0 "^nothing$" sh -c 'lintian --allow-root --fail-on error,warning "$1"/*.changes 2>&1 | grep -v "root privileges" || echo nothing' \
  sh "$work"
for package in assay libassay0 libassay-dev python3-assay; do
  dpkg-deb -x "$work/$package"_*.deb "$work/root"
done
cd "$work" || exit 1
expect 0 "libassay.so.0 \(ASSAY_0\)|ASSAY_0" sh -c 'dpkg-deb --ctrl-tarfile libassay0_*.deb | tar -xO ./symbols'
expect 0 "relu.c +pass" root/usr/bin/assay judge kernelbench/1/19 "$source/tests/cases/relu.c" --no-timing --no-store
expect 0 "usage: assay-import" root/usr/bin/assay-import --help
expect 0 "^pass$" env ASSAY_PREFIX=root/usr PYTHONPATH=root/usr/lib/python3/dist-packages /usr/bin/python3 -B -c \
  'import assay, pathlib, sys; print(assay.judge("kernelbench/1/19", pathlib.Path(sys.argv[1]), timing=False, probes=False).reason)' \
  "$source/tests/cases/relu.c"
expect 0 "^-L.* -lassay" env PKG_CONFIG_PATH="$(dirname "$(find root -name assay.pc)")" pkg-config --libs assay
report
