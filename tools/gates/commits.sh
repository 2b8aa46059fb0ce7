#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# commits.sh: every commit since the rule was made has a subject of at most 72 characters, and a body that says why.
# Merges are skipped. Without history nothing is checked.
set -eu
since=b706389
most=72
if ! git rev-parse --verify --quiet "$since^{commit}" >/dev/null 2>&1; then
  echo "skipped: no commit $since here, so there is no history to check"
  exit 0
fi
status=0
n=0
for commit in $(git rev-list --no-merges "$since..HEAD"); do
  n=$((n + 1))
  subject=$(git log -1 --format=%s "$commit")
  body=$(git log -1 --format=%b "$commit")
  short=$(git rev-parse --short=7 "$commit")
  if [ "$(printf %s "$subject" | wc -m)" -gt $most ]; then
    echo "$short: more than $most characters: $subject"
    status=1
  fi
  if [ -z "$body" ]; then
    echo "$short: no body: $subject"
    status=1
  fi
done
echo "commits: $n since $since"
exit $status
