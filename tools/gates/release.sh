#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release.sh [--prepare VERSION | --tag]: a release, in two commands and the commit between them.
#   without an option   whether this commit can be tagged, and what is missing; changes nothing
#   --prepare VERSION   writes the version into every file that names it; what is unreleased in CHANGELOG.md is its
#   --tag               tags this commit, where nothing is missing; pushes nothing
set -uo pipefail
cd "$(git rev-parse --show-toplevel)" || exit 2
problems=0
problem() {
  echo "$*"
  problems=$((problems + 1))
}
is_tagged() { git rev-parse -q --verify "refs/tags/v$1" >/dev/null; }

write() { # write FILE SCRIPT: by sed -E, which must find something to change or the version that is there already
  sed -i -E "$2" "$1" && grep -qF "$version" "$1" || problem "$1: there is no place for $version"
}
files_version() { sed -nE 's/^project\(assay VERSION ([0-9]+\.[0-9]+\.[0-9]+) .*/\1/p' CMakeLists.txt; }
prepare() {
  [[ $version =~ ^(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)$ ]] || { echo "a version is three numbers, such as 0.1.0, not '$version'"; exit 2; }
  ! is_tagged "$version" || { echo "there is a tag v$version already: a release has another version"; exit 1; }
  local now=$(files_version)
  [ "$(printf '%s\n' "$now" "$version" | sort -V | tail -n 1)" = "$version" ] ||
    { echo "the files say $now: a release is not older ($version)"; exit 1; }
  grep -qx '## Unreleased' CHANGELOG.md || { echo 'CHANGELOG.md has no "## Unreleased": nothing to release, or prepared already:
  git restore CHANGELOG.md CITATION.cff CMakeLists.txt debian/changelog python/assay/__init__.py    undoes what is not committed'; exit 1; }
  # A section of that version that was never tagged goes on under the same heading.
  awk -v heading="## $version" '$0 == heading { blank = 1; next } blank && $0 == "" { blank = 0; next } { blank = 0 }
    $0 == "## Unreleased" { $0 = heading } { print }' CHANGELOG.md >CHANGELOG.md.new && mv CHANGELOG.md.new CHANGELOG.md
  write CMakeLists.txt "s/^(project\(assay VERSION )[0-9.]+/\1$version/"
  write CITATION.cff "s/^version: .*/version: $version/"
  write python/assay/__init__.py "s/^__version__ = .*/__version__ = \"$version\"/"
  local dotted=${version//./\\.} by
  by=$(sed -nE 's/^ -- (.*>)  .*/\1/p' debian/changelog | head -n 1)
  if head -n 1 debian/changelog | grep -qE "^assay \($dotted\) "; then
    sed -i "1s/.*/assay ($version) unstable; urgency=medium/" debian/changelog
    sed -i "0,/^ -- /s/^ -- .*/ -- $by  $(LC_ALL=C date -R)/" debian/changelog
  else
    printf 'assay (%s) unstable; urgency=medium\n\n  * CHANGELOG.md has what users notice.\n\n -- %s  %s\n\n' "$version" "$by" \
      "$(LC_ALL=C date -R)" | cat - debian/changelog >debian/changelog.new && mv debian/changelog.new debian/changelog
  fi
  [ $problems = 0 ] || exit 1
  echo "the files say $version. Read the difference, commit it, let .ci/run pass, and then: make tag"
}
says() { # says FILE PATTERN WHAT: the version, as the file writes it
  grep -qE "$2" "$1" || problem "$1 does not say $3"
}
check() {
  version=$(files_version)
  [ -n "$version" ] || problem "CMakeLists.txt has no version: project(assay VERSION 1.2.3 ...)"
  local dotted=${version//./\\.}
  says CITATION.cff "^version: $dotted\$" "version: $version"
  says python/assay/__init__.py "^__version__ = \"$dotted\"\$" "__version__ = \"$version\""
  says CHANGELOG.md "^## $dotted\$" "what changed, under \"## $version\""
  head -n 1 debian/changelog | grep -qE "^assay \($dotted\) [a-z]+;" ||
    problem "debian/changelog does not begin with \"assay ($version) unstable; ...\" (UNRELEASED is no release)"
  ! grep -qx '## Unreleased' CHANGELOG.md || problem 'CHANGELOG.md still has "## Unreleased": it is to be the version'
  [ -z "$(git status --porcelain)" ] || problem "the working tree has changes that are in no commit"
  ! is_tagged "$version" || problem "there is a tag v$version already"
  if [ $problems -gt 0 ]; then
    echo "not a release yet: $problems of the above (make prepare VERSION=X.Y.Z writes the files; CONTRIBUTING.md, \"Releases\")"
    exit 1
  fi
}

case "$*" in
  "") check
    echo "ready, if .ci/run passed on $(git rev-parse HEAD):
  git tag -a v$version -m 'Assay $version' && git push origin v$version" ;;
  --tag) check
    git tag -a "v$version" -m "Assay $version" && echo "tagged v$version. It is public after: git push origin v$version" ;;
  "--prepare "*) version=$2 && prepare ;;
  *) echo "usage: release.sh [--prepare VERSION | --tag]"; exit 2 ;;
esac
