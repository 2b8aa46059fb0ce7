#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""browse.py ASSAY TEST_DRAW FOLDER: the site and the server in a real browser.

Writes a site of a small store with hostile texts, opens its pages from files in headless Chromium and does what a reader
does: sorts, filters, searches, opens a kernel, goes back; without a mouse, without JavaScript, on paper. No page may ask
for anything but its own files, open a dialog or say anything to the console. axe-core (ASSAY_AXE: axe.min.js) finds
nothing at three widths in both themes, and page.js measures what meets, is cut or cannot be read: on these pages, on
those of hard content (long and right-to-left names, ratios of 1e12, more than 1,000 rows, one row, none), and on every
chart that TEST_DRAW draws. Pictures go to FOLDER. Ends with 77 where there is no browser.
"""
import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "serve")]
import devtools  # noqa: E402
import hostile_store  # noqa: E402
import look  # noqa: E402
from look import MEASURE, check, click, look_at, quiet, rows, write  # noqa: E402
from server import Server, relu  # noqa: E402


def look_at_charts(b, test_draw, folder):
    """Every chart of the unit test, at its own width, in both themes."""
    charts = folder / "charts"
    charts.mkdir()
    subprocess.run([test_draw, charts], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for width in (720, 320):
        drawn = sorted(charts.glob(f"*-{width}.svg"))
        check(len(drawn) > 50, f"charts of {width} px", len(drawn))
        page = charts / f"all-{width}.html"
        page.write_text("<!doctype html><html lang=en><meta charset=utf-8><title>Charts</title><style>@media (prefers-color-scheme:"
                        "dark){body{background:#0f1318}}</style><h1>Charts</h1>"
                        + "\n".join(c.read_text(encoding="utf-8") for c in drawn), encoding="utf-8")
        b.open(page.as_uri())
        for dark in (False, True):
            b.look(width + 40, dark)
            check(b.do(MEASURE) == [], f"charts of {width} px{' dark' if dark else ''}", b.do(MEASURE))


def make_site(assay, store, site):
    if os.system(f"'{assay}' report --html '{site}' --store '{store}' >/dev/null"):
        sys.exit("the site cannot be written")
    return site.as_uri() + "/"


def look_at_hard(b, assay, folder, pictures, axe):
    """Content that is hard on a page, and hardly any."""
    for kind, rows in (("hard", 1100), ("one", 1), ("none", 0)):
        where = folder / kind
        site = where / "site"
        ours = make_site(assay, hostile_store.make_hard(assay, where, rows), site)
        pages = {"overview": "index.html", "search": "search.html", "cheats": "cheats.html"}
        pages.update((name, only(site, f"{name}/*.html")) for name in "cdkmst" if any((site / name).glob("*.html")))
        if kind == "hard":
            long = max((site / "k").glob("*.html"), key=lambda p: len(p.read_text(encoding="utf-8").split("</h1>")[0]))
            pages.update(long=f"k/{long.name}", pair=only(site, "r/*.html"), rows=sorted(site.glob("m/many*.html"))[-1].relative_to(site).as_posix())
            count = (site / pages["rows"]).read_text(encoding="utf-8").count("<tr")
            pages.update((f"name-{what[0]}", named(site, what)) for what in hostile_store.LONG)
            pages["t"] = max((site / "t").glob("*.html"), key=lambda p: p.stat().st_size).relative_to(site).as_posix()
            check(1000 < count < 1100, "a page has at most 1,000 rows", count)
            check(list((site / "m").glob("many*2.html")), "the others have the next page", list((site / "m").iterdir()))
        check((kind == "none") == (len(pages) == 3), f"pages of {kind}", pages)
        b.open(ours + "search.html")
        count = b.do("document.querySelector('#count').innerText")
        check(("There is no verdict yet." in count) == (kind == "none"), f"the search of {kind}", count)
        for name, page in pages.items():
            look_at(b, ours, f"{kind}-{name}", ours + page, pictures, axe if kind != "hard" else None)


def use_tables(b, ours, page):
    b.look(1280)
    b.open(ours + page)
    head = "table[data-table=main] th:nth-child(2) button"
    before = rows(b, "table[data-table=main]")
    click(b, head)
    check(b.do(f"document.querySelector({json.dumps(head)}).parentNode.getAttribute('aria-sort')") == "ascending", "sorted")
    up = rows(b, "table[data-table=main]")
    click(b, head)
    down = rows(b, "table[data-table=main]")
    check(sorted(up) == sorted(before) == sorted(down) and up != down, "sorting loses no row")
    check("sort=-1" in b.do("location.search"), "the order is in the address", b.do("location.search"))
    write(b, ".tools input", "wrong_value")
    some = rows(b, "table[data-table=main]")
    check(0 < len(some) < len(before) and all("wrong_value" in r for r in some), "a filter", some[:2])
    address = b.do("location.href")
    b.go(lambda: click(b, "table[data-table=main] tbody tr:not([hidden]) a[href*='k/']"))
    check("/k/" in b.do("location.pathname") and "wrong_value" in b.do("document.body.innerText"), "a kernel's page")
    b.go(lambda: b.do("history.back()"))
    check(b.do("location.href") == address and rows(b, "table[data-table=main]") == some, "back to what was filtered",
          b.do("location.href"))
    write(b, ".tools input", "nothing has this")
    check(not rows(b, "table[data-table=main]") and "nothing has all" in b.do("document.body.innerText"), "none: said so")
    quiet(b, ours, "a run's page")


def use_search(b, ours):
    b.open(ours + "search.html")
    write(b, "#search", "kernel_7.c")
    found = b.do("[...document.querySelectorAll('#hits tr')].map(r => r.innerText)")
    check(len(found) == 1 and "kernel_7.c" in found[0], "a search", found)
    b.go(lambda: click(b, "#hits a"))
    check("kernel_7.c" in b.do("document.querySelector('h1').innerText"), "what was found")
    b.go(lambda: b.do("history.back()"))
    check(b.do("document.querySelector('#search').value") == "kernel_7.c", "what was searched for is still there")
    write(b, "#search", "onerror")
    check(b.do("document.querySelectorAll('#hits tr').length") == 3 and not b.do("!!document.querySelector('#hits img')"),
          "hostile names are found as text")
    quiet(b, ours, "the search")


def check_sheets(site):
    """No cell of a CSV file is a formula to a spreadsheet, and each row has all cells."""
    formulas, ragged, tame, files = [], [], 0, sorted((site / "data").rglob("*.csv"))
    for path in files:
        with open(path, encoding="utf-8", newline="") as file:
            table = list(csv.reader(file))
        ragged += [path.name for row in table if len(row) != len(table[0])]
        for cell in (c for row in table for c in row):
            tame += cell.startswith("'") and cell[1:] in hostile_store.FORMULAS
            if cell[:1] in tuple("=+-@\t\r\n") and not re.fullmatch(r"-?[0-9.]+(e[+-]?[0-9]+)?", cell):
                formulas.append((path.name, cell))
    check(len(files) > 100 and tame > 20 and not formulas and not ragged, "cells of CSV files", (tame, formulas[:5], ragged[:5]))


def use_keys(b, url):
    """Tab goes through the page in its order, and where it is can be seen."""
    b.look(1280)
    b.open(url)
    seen = []
    for i in range(40):
        b.key("Tab", 9)
        at = b.do("""(() => { const e = document.activeElement, s = getComputedStyle(e), r = e.getBoundingClientRect();
          if (e === document.body) return null;
          const before = window.assayLast; window.assayLast = e;
          return {text: e.innerText || e.tagName, first: e.className, ring: s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0,
                  after: !before || !!(before.compareDocumentPosition(e) & 4), seen: r.width > 0 && r.right > 0}; })()""")
        if at is None:
            break
        seen.append(at)
    check(len(seen) > 5 and seen[0]["first"] == "skip", "the first stop skips to the content", seen[:1])
    for at in seen:
        check(at["after"] and at["ring"] and at["seen"], "a stop of Tab", at)


def use_no_script(b, ours, pages):
    b.call("Emulation.setScriptExecutionDisabled", value=True)
    for page in pages:
        b.open(ours + page)
        root = b.call("DOM.getDocument")["root"]["nodeId"]
        count = lambda s: len(b.call("DOM.querySelectorAll", nodeId=root, selector=s)["nodeIds"])  # noqa: E731
        check(count("tbody tr, dl.facts dt, .cards li, h2, thead th") > 0 and count("thead button") == 0, f"{page} without JavaScript")
    b.call("Emulation.setScriptExecutionDisabled", value=False)


def use_paper(b, url):
    b.open(url)
    b.look(800, dark=True, media="print")
    white = b.do("getComputedStyle(document.body).backgroundColor")
    check(white == "rgb(255, 255, 255)", "paper is white, whatever the theme", white)
    check(b.do(MEASURE) == [], "paper", b.do(MEASURE))
    check(b.do("[...document.querySelectorAll('.tools, button')].every(e => e.closest('th') || !e.getClientRects().length)"),
          "no controls")
    heads = b.do("[...document.querySelectorAll('thead th')].map(e => e.innerText.trim())")
    check(heads and all(heads), "columns keep their heads", heads)
    check(b.do("getComputedStyle(document.querySelector('thead')).display") == "table-header-group", "headers repeat")
    b.look(1280)


def use_server(b, assay, folder, site):
    server = Server(assay, folder, "--site", site)
    ours = f"http://127.0.0.1:{server.port}/"
    b.look(1280)
    b.open(ours)
    quiet(b, ours, "the overview from the server")
    loaded = b.do("""(() => { const all = performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'));
      return [all.length, all.reduce((n, r) => n + r.transferSize, 0)]; })()""")
    b.call("Page.captureScreenshot")  # without one, nothing is painted
    paint = b.do("(performance.getEntriesByName('first-contentful-paint')[0] || {}).startTime")
    print("the overview from the server: %d requests, %d bytes, first paint after %.0f ms" % (*loaded, paint or -1))
    check(loaded[0] == 3 and loaded[1] < 100000, "the overview is light", loaded)
    b.go(lambda: click(b, ".cards a"))
    b.go(lambda: click(b, "tbody a[href*='t/']"))
    check("/t/" in b.do("location.pathname"), "a task from the server")
    # A page of the server's own asks for the judgement, as a program in a browser would.
    body = {"task": "kernelbench/1/19", "settings": {"timing": False, "probes": False, "checks": 1},
            "candidates": [{"name": "relu.c",
                            "source": relu("from a browser")}]}
    b.open(ours + "queue")
    sent = b.do("fetch('/v1/jobs', {method: 'POST', headers: {'Content-Type': 'application/json', "
                f"Authorization: 'Bearer {server.tokens['me']}'}}, body: {json.dumps(json.dumps(body))}}})"
                ".then(r => r.json().then(j => [r.status, j]))")
    check(sent[0] == 202, "a kernel submitted", sent)
    done = b.do(f"fetch('/v1/jobs/{sent[1]['jobs'][0]['id']}?wait=50').then(r => r.json())")
    check(done["state"] == "done", "a kernel judged", done)
    b.open(ours + "queue")
    line = b.do("[...document.querySelectorAll('tbody tr')].map(r => r.innerText).join()")
    check("done" in line and "relu.c" in line, "the job is on a page", line)
    b.go(lambda: click(b, "tbody a"))
    check(re.search(r'"verdict": ?"pass"', b.do("document.body.innerText")), "its verdict", b.do("document.body.innerText"))
    # What a stranger submits is text on the server's own pages, too: its name, and what the compiler said of it.
    attack = hostile_store.ATTACK.replace("/", "")
    body["candidates"] = [{"name": attack + ".c", "source": '#error "</script></pre>' + attack + '\x1b[31m"\n'}]
    status, _, answer = server.ask("POST", "/v1/jobs", body, "me")
    check(status in (202, 422), "a hostile name", (status, answer))
    body["candidates"][0]["name"] = "hostile.c"
    status, _, answer = server.ask("POST", "/v1/jobs", body, "me")
    check(status == 202, "hostile diagnostics", (status, answer))
    job = server.wait(answer["jobs"][0])["id"]
    for page in ("queue", f"v1/verdicts/{job}", "queue?<script>alert(1)</script>"):
        b.open(ours + page)
        quiet(b, ours, f"{page} of a hostile submission")
        check(not b.do("!!document.querySelector('img, script:not([src])')"), f"{page}: nothing of it is an element")
    server.end()


def only(site, pattern):
    """The page of that name, whatever its number."""
    return sorted(site.glob(pattern))[0].relative_to(site).as_posix()


def named(site, what):
    """The page whose heading has the name of 200 letters: of a task, a device, a run, makers."""
    place = {"task": "t", "device": "d", "run": "m", "maker": "c"}[what]
    name = hostile_store.LONG["run" if what == "maker" else what]
    found = [p for p in sorted((site / place).glob("*.html")) if name in p.read_text(encoding="utf-8").split("</h1>")[0]]
    check(found, f"there is a page of a long name: {what}")
    return found[0].relative_to(site).as_posix()


def find_pages(site):
    """One page of each kind, and those whose texts are hostile."""
    pages = {"overview": "index.html", "level": only(site, "s/kernelbench-1*.html"),
             "task": only(site, "t/kernelbench-1-19*.html"),
             "run": only(site, "m/run-0*.html"), "cheats": "cheats.html", "read": "read.html", "search": "search.html"}
    for path in sorted((site / "k").glob("*.html")):
        text = path.read_text(encoding="utf-8")
        kind = "hostile" if "onerror" in text and "<svg" in text else "hostile-failed" if "onerror" in text else \
            "cheat" if "v-cheat" in text else "kernel" if "<svg" in text else "failed"
        pages.setdefault(kind, f"k/{path.name}")
    pages["pair"] = only(site, "r/run-0*..run-1*.html")
    pages["device"] = max((site / "d").glob("*.html"), key=lambda p: p.stat().st_size).relative_to(site).as_posix()
    for kind, place in (("hostile-task", "t"), ("hostile-run", "m")):
        found = [p for p in sorted((site / place).glob("*.html")) if "onerror" in p.read_text(encoding="utf-8").split("</h1>")[0]]
        check(found, f"there is a page {kind}")
        pages.update({kind: f"{place}/{p.name}" for p in found[:1]})
    return pages


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    assay, test_draw, pictures = *map(os.path.abspath, sys.argv[1:3]), pathlib.Path(sys.argv[3]).absolute()
    program, axe = look.begin(pictures)
    with tempfile.TemporaryDirectory(prefix="assay-site-") as name:
        folder = pathlib.Path(name)
        store, site = hostile_store.make(assay, folder, 60), folder / "site"
        ours = make_site(assay, store, site)
        b = devtools.Browser(program)
        try:
            pages = find_pages(site)
            for kind, page in pages.items():
                look_at(b, ours, kind, ours + page, pictures, axe)
            use_tables(b, ours, pages["run"])
            use_search(b, ours)
            check_sheets(site)
            use_keys(b, ours + pages["task"])
            use_keys(b, ours + pages["kernel"])
            use_no_script(b, ours, pages.values())
            use_paper(b, ours + pages["kernel"])
            use_paper(b, ours + pages["run"])
            use_paper(b, ours + pages["level"])
            look_at_charts(b, test_draw, folder)
            look_at_hard(b, assay, folder, pictures, axe)
            use_server(b, assay, tempfile.mkdtemp(dir=folder), site)
        finally:
            b.close()
    look.end(pictures)


if __name__ == "__main__":
    main()
