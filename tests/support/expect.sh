# SPDX-License-Identifier: Apache-2.0
# To be read by tests of the command line, which have made the folder $work.
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
report() {
  echo "$passes passed, $failures failed"
  [ $failures = 0 ]
}
