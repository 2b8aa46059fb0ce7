#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""site_figures.py BUILD OUT.json [PART...]: the figures of the site and of the service, in one file.

sites    of 100, 1,000 and 10,000 verdicts (bench/site_store.py): seconds of `assay report --html` into a new folder, three
         times each, what a second go takes when nothing has changed, and how many files of what size
load     `assay serve` under build/bench_serve_load: 200 readers and 50 submitters on the same processors, with a pause
         between a client's requests and without
kills    tests/serve/serve_kill.py: 100 kills of a busy server; what was lost, what was published twice
paint    the overview of the committed results (`make site` first) in headless Chromium, from `assay serve --site` and from
         a file: bytes, requests, time to the first paint, five new browsers each

A PART alone is measured anew; the others stay in OUT.json as they are.
"""
import datetime
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "tests" / "browser"), str(ROOT / "tests" / "serve")]
import devtools  # noqa: E402
from server import Server  # noqa: E402

TIMES = 3


def timed(*command):
    """Seconds, processor seconds in the program and in the kernel."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return [round(x, 2) for x in (wall, after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime)]


def a_site(assay, folder, count):
    subprocess.run([sys.executable, ROOT / "bench" / "site_store.py", assay, folder, str(count)], check=True)
    store, rows = f"{folder}/store.sqlite", []
    for number in range(TIMES):
        site = pathlib.Path(folder) / f"site{number}"
        os.sync()
        rows.append(timed(assay, "report", "--html", str(site), "--store", store))
    again = timed(assay, "report", "--html", str(site), "--store", store)
    files = [p for p in site.rglob("*") if p.is_file()]
    pages = {p: p.stat().st_size for p in files if p.suffix == ".html"}
    largest = max(pages, key=pages.get)
    same = subprocess.run(["diff", "-rq", f"{folder}/site0", str(site)], check=False, stdout=subprocess.DEVNULL).returncode == 0
    return {"verdicts": count, "seconds": [r[0] for r in rows], "processor_s": [r[1:] for r in rows], "again_s": again[0],
            "files": len(files), "bytes": sum(p.stat().st_size for p in files), "largest_page": str(largest.relative_to(site)),
            "largest_page_bytes": pages[largest], "two_sites_have_the_same_bytes": same}


def sites(assay, _):
    found = []
    for count in (100, 1000, 10000):
        with tempfile.TemporaryDirectory(prefix="assay-sites-") as folder:
            found.append(a_site(assay, folder, count))
            print(found[-1], flush=True)
    return found


def load(assay, build):
    pattern = re.compile(r"(\d+) (\w+): (\d+) requests/s, p50 ([\d.]+) ms, p99 ([\d.]+) ms, worst ([\d.]+) ms, (\d+) of (\d+) errors")
    keys = ["clients", "what", "requests_per_s", "p50_ms", "p99_ms", "worst_ms", "errors", "requests"]
    found = []
    for pause in (0, 0, 0, 200, 200, 200):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(assay, folder, "--connections-per-address", "400", "--rate", "1000000", "--queue", "1000000")
            out = subprocess.run([f"{build}/bench_serve_load", str(server.port), server.tokens["me"], "--seconds", "8", "--pause",
                                  str(pause)], check=True, capture_output=True, text=True).stdout
            server.kill()
        for row in pattern.findall(out):
            found.append({"pause_ms": pause, **{k: v if k == "what" else float(v) for k, v in zip(keys, row)}})
            print(found[-1], flush=True)
    return found


def kills(assay, _):
    out = subprocess.run([sys.executable, ROOT / "tests" / "serve" / "serve_kill.py", assay, "--kills", "100"],
                         check=False, capture_output=True, text=True)
    print(out.stdout, flush=True)
    keys = ["kills", "accepted", "refused_or_cut_off", "attempts", "jobs", "faults", "lost", "without_a_verdict", "published_twice"]
    return {"seed": 1, **dict(zip(keys, map(int, re.findall(r"\d+", out.stdout)))), "exit": out.returncode}


def first_paint(url):
    """(requests, bytes, milliseconds) in a browser of its own."""
    b = devtools.Browser(devtools.find())
    try:
        b.look(1280)
        b.open(url)
        b.call("Page.captureScreenshot")  # without one, nothing is painted
        paint = b.do("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        loaded = b.do("[...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]"
                      ".map(e => [e.name, e.decodedBodySize])")
    finally:
        b.close()
    return {"requests": len(loaded), "bytes": sum(size for _, size in loaded), "first_paint_ms": round(paint, 1)}


def paint(assay, build):
    site = pathlib.Path(build) / "site"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(assay, folder, "--site", str(site))
        live = [first_paint(f"http://127.0.0.1:{server.port}/index.html") for _ in range(5)]
        server.kill()
    file = [first_paint((site / "index.html").as_uri()) for _ in range(5)]
    return {"served": live, "file": file}


PARTS = {"sites": sites, "load": load, "kills": kills, "paint": paint}


def main():
    if len(sys.argv) < 3 or any(part not in PARTS for part in sys.argv[3:]):
        sys.exit(__doc__)
    build, out = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
    found = json.loads(out.read_text(encoding="utf-8")) if out.exists() else {}
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"model name\s*: (.*)", file.read())
    for part in sys.argv[3:] or PARTS:
        found[part] = {"date": datetime.date.today().isoformat(), "machine": model[1] if model else "", "cpus": os.cpu_count(),
                       "commit": subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h", "--abbrev=12"], capture_output=True,
                                                text=True, check=False).stdout.strip(),
                       "load_before": os.getloadavg()[0], "found": PARTS[part](f"{build}/assay", build)}
        out.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
