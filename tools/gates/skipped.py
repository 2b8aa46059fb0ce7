#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a run of ctest left out and why, one line a test, and how many tests passed and failed.

usage: skipped.py [--summary] JUNIT...

JUNIT is what `ctest --output-junit` wrote. A test that ended with 77 was left out; its reason is its last line that begins
with "skipped:" or "left out:". Tests that passed without some of their parts are listed too.
--summary: the numbers alone, of all files together.
"""
import re
import sys
import xml.etree.ElementTree as ElementTree

REASON = re.compile(r"(?:skipped|left out)\b[:,]?\s*(.*)", re.I)
PART = re.compile(r"\[  SKIPPED \] (\w+)$")


def reasons(output):
    """What the lines of the output give as reasons, each once, in their order."""
    found = [match.group(1).strip() for match in map(REASON.match, output.splitlines()) if match]
    return list(dict.fromkeys(reason for reason in found if reason))


def parts(output):
    return list(dict.fromkeys(match.group(1) for match in map(PART.search, output.splitlines()) if match))


def line_of(case):
    """The line on a test that was left out, or of which something was; None for others."""
    name, output = case.get("name"), case.findtext("system-out") or ""
    said = reasons(output)
    if case.find("skipped") is not None:
        return f"skipped: {name}: {said[-1] if said else 'it gives no reason'}"
    left_out = parts(output)
    if case.get("status") == "run" and (left_out or said):
        what = f"{', '.join(left_out)} ({len(left_out)})" if left_out else "a part"
        return f"left out of {name}: {what}" + (f": {'; '.join(said)}" if said else "")
    return None


def main():
    files = [argument for argument in sys.argv[1:] if argument != "--summary"]
    if not files:
        sys.exit(__doc__)
    cases = [case for file in files for case in ElementTree.parse(file).getroot().iter("testcase")]
    if "--summary" not in sys.argv:
        for line in filter(None, map(line_of, cases)):
            print(line)
    skipped = sum(case.find("skipped") is not None for case in cases)
    passed = sum(case.get("status") == "run" for case in cases)
    print(f"{passed} passed, {len(cases) - passed - skipped} failed, {skipped} skipped")


if __name__ == "__main__":
    main()
