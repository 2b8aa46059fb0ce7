#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# release.sh: whether this commit can be tagged as a release, and the commands that do it. It changes nothing.
set -uo pipefail
cd "$(git rev-parse --show-toplevel)" || exit 2
problems=0
problem() {
  echo "$*"
  problems=$((problems + 1))
}
version=$(sed -nE 's/^project\(assay VERSION ([0-9]+\.[0-9]+\.[0-9]+) .*/\1/p' CMakeLists.txt)
[ -n "$version" ] || problem "CMakeLists.txt has no version: project(assay VERSION 1.2.3 ...)"
says() { # says FILE PATTERN WHAT: the version, as the file writes it
  grep -qE "$2" "$1" || problem "$1 does not say $3"
}
dotted=${version//./\\.}
says CITATION.cff "^version: $dotted\$" "version: $version"
says python/assay/__init__.py "^__version__ = \"$dotted\"\$" "__version__ = \"$version\""
says CHANGELOG.md "^## $dotted\$" "what changed, under \"## $version\""
head -n 1 debian/changelog | grep -qE "^assay \($dotted\) [a-z]+;" ||
  problem "debian/changelog does not begin with \"assay ($version) unstable; ...\" (UNRELEASED is no release)"
! grep -qx '## Unreleased' CHANGELOG.md || problem 'CHANGELOG.md still has "## Unreleased": it is to be the version'
[ -z "$(git status --porcelain)" ] || problem "the working tree has changes that are in no commit"
! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || problem "there is a tag v$version already"
if [ $problems -gt 0 ]; then
  echo "not a release yet: $problems of the above (CONTRIBUTING.md, \"Releases\")"
  exit 1
fi
echo "ready, if .ci/run passed on $(git rev-parse HEAD):
  git tag -a v$version -m 'Assay $version' && git push origin v$version"
