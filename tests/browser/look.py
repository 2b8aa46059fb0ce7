# SPDX-License-Identifier: Apache-2.0
"""What the browser's tests share: checks that are counted, and a page in all its looks."""
import json
import os
import pathlib
import shutil
import sys

import devtools

HERE = pathlib.Path(__file__).resolve().parent
MEASURE = (HERE / "page.js").read_text(encoding="utf-8")
LOOKS = [(width, dark) for width in (1280, 768, 320) for dark in (False, True)]
TAKEN = (1280, 320)  # widths of pictures, and where axe is asked
checked, wrong = 0, 0


def begin(pictures):
    """An empty folder of pictures; (the browser, axe's text or None). Ends where there is no browser."""
    program = devtools.find()
    if not program:
        print("skipped: there is no Chromium (Debian's package is chromium-headless-shell)")
        sys.exit(77)
    path = os.environ.get("ASSAY_AXE")
    if not path:
        print("left out: axe-core is not there (tools/install/install-axe gets it)")
    shutil.rmtree(pictures, ignore_errors=True)
    pictures.mkdir(parents=True)
    return program, pathlib.Path(path).read_text(encoding="utf-8") if path else None


def end(pictures):
    print(f"{checked} checks, {wrong} wrong; pictures in {pictures}")
    sys.exit(wrong != 0)


def check(good, what, seen=""):
    global checked, wrong
    checked += 1
    wrong += not good
    if not good:
        print(f"WRONG: {what}: {str(seen)[:600]}", flush=True)


def quiet(b, ours, what):
    found = list(b.faults(ours))
    check(not found, f"{what} does nothing of its own", found)


def rows(b, table="table"):
    return b.do(f"[...document.querySelector('{table}').tBodies[0].rows].filter(r => !r.hidden).map(r => r.innerText)")


def click(b, selector):
    b.do(f"document.querySelector({json.dumps(selector)}).click()")


def write(b, selector, text):
    b.do(f"{{const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(text)};"
         "e.dispatchEvent(new Event('input', {bubbles: true}));}")


def look_at(b, ours, name, url, folder, axe, looks=tuple(LOOKS)):
    """Looks of a page: measured, asked of axe, and a picture of it."""
    b.look(1280)
    b.open(url)
    quiet(b, ours, name)
    if axe:
        b.call("Runtime.evaluate", expression=axe)
    for width, dark in looks:
        b.look(width, dark)
        where = f"{name} at {width}{' dark' if dark else ''}"
        found = [f for f in b.do(MEASURE) if not (name.startswith("hard") and f.startswith("a table is "))]  # it scrolls
        check(found == [], where, found)
        if axe and width in TAKEN:
            found = b.do("axe.run({resultTypes: ['violations']})"
                         ".then(r => r.violations.map(v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html)))")
            check(found == [], f"axe: {where}", found)
        if width in TAKEN:
            b.picture(folder / f"{name}-{width}{'-dark' if dark else ''}.png")
