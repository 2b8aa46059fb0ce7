#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""shipped.py ASSAY FOLDER [--all]: the leaderboard that ships, in a real browser.

Makes the site of the committed results as `make site` does and opens from files, of each kind of page, the smallest and
some more: at two widths in both themes page.js measures nothing and axe-core (ASSAY_AXE: axe.min.js) finds nothing, no
page says anything to the console or asks for what is not its own, and none has 1 MB. Every link of every page leads to a
page, and to a place on it that is there. --all does this with the largest pages, too, and measures all (some 1,000) at
two widths. Pictures go to FOLDER. Ends with 77 where there is no browser.
"""
import os
import pathlib
import re
import sys
import tempfile
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE)]
import devtools  # noqa: E402
import look  # noqa: E402
from look import MEASURE, check, look_at, quiet  # noqa: E402

RESULTS = HERE.parent.parent / "bench" / "results"


def run(*words):
    if os.spawnvp(os.P_WAIT, words[0], words):
        sys.exit(f"failed: {words}")


def make(assay, folder):
    """The site as the Makefile makes it."""
    store, site = str(folder / "store.sqlite"), folder / "site"
    for lines in sorted(path for name in ("leaderboard", "makers", "runs", "trials") for path in RESULTS.glob(f"*/{name}.jsonl")):
        run(assay, "runs", "import", str(lines), "--store", store)
    run(assay, "trials", "--read", str(HERE.parent / "tuning" / "logs" / "published_results.csv"), "--run", "published", "--store", store)
    run(sys.executable, str(HERE.parent.parent / "bench" / "leaderboard.py"), "--sources", str(folder / "sources"))
    run(assay, "report", "--html", str(site), "--sources", str(folder / "sources"), "--store", store)
    return site


def first(texts, place, *words):
    """The first page of a folder whose text has all words."""
    found = [page for page, text in texts.items() if page.startswith(place + "/") and all(w in text for w in words)]
    check(found, f"a page in {place} with {words}")
    return found[0]


def choose(texts, every):
    """Names of pictures and their pages."""
    pages = {p[:-5]: p for p in texts if "/" not in p}
    for place in "cdkmrst":
        there = sorted((p for p in texts if p.startswith(place + "/")), key=lambda p: len(texts[p]))
        pages["least-" + place] = there[0]
        if every:
            pages["largest-" + place] = there[-1]
    pages["task"] = first(texts, "t", "shipped kernels", "honest C kernels")
    pages["run"] = first(texts, "m", "<title>shipped kernels - ")
    pages["kernel-h200"] = first(texts, "k", "shipped kernels", "v-pass")
    pages["kernel-cpu"] = first(texts, "k", "honest C kernels", "v-pass")
    pages["kernel-original"] = first(texts, "k", "s originals", "v-pass")
    pages["kernel-failed"] = first(texts, "k", "v-fail")
    pages["kernel-in-turn"] = first(texts, "k", "baselines in turn")
    return pages


def check_links(texts, site):
    places = {page: set(re.findall(r' id="([^"]+)"', text)) for page, text in texts.items()}
    broken = []
    for page, text in texts.items():
        for link in set(re.findall(r' (?:href|src)="([^"]+)"', text)):
            link = link.replace("&amp;", "&")
            if re.match(r"[a-z]+:", link):
                continue
            path, _, place = link.partition("#")
            path = os.path.normpath(os.path.join(os.path.dirname(page), urllib.parse.unquote(path.split("?")[0]))) if path else page
            if not (site / path).is_file() or place and place not in places[path]:
                broken.append((page, link))
    check(not broken, "every link leads somewhere", broken)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    assay, pictures = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
    every, (program, axe) = sys.argv[3:] == ["--all"], look.begin(pictures)
    with tempfile.TemporaryDirectory(prefix="assay-site-") as name:
        site = make(assay, pathlib.Path(name))
        texts = {p.relative_to(site).as_posix(): p.read_text(encoding="utf-8") for p in sorted(site.rglob("*.html"))}
        largest = max(p.stat().st_size for p in site.rglob("*.html"))
        check(len(texts) > 900 and largest < 1e6, "the site", (len(texts), largest))
        check_links(texts, site)
        ours = site.as_uri() + "/"
        b = devtools.Browser(program)
        try:
            for title, page in choose(texts, every).items():
                look_at(b, ours, title, ours + page, pictures, axe, [one for one in look.LOOKS if one[0] in look.TAKEN])
            for page in texts if every else ():
                b.look(1280)
                b.open(ours + page)
                quiet(b, ours, page)
                for width in look.TAKEN:
                    b.look(width)
                    found = b.do(MEASURE)
                    check(found == [], f"{page} at {width}", found)
        finally:
            b.close()
    look.end(pictures)


if __name__ == "__main__":
    main()
