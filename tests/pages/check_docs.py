#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the documentation of the repository: check_docs.py ROOT

* Every relative link leads to a file, and to a heading where it names one.
* Every path in backticks that looks like one of the repository exists.
* Every page of docs/ can be reached from docs/README.md.
* Every `function()` that the architecture page names is in src/ or include/.
* Every promise of the security page names a test, and what it names of a test is in that file.
* The page of settings has every variable that the program and the Python package read, and none that nothing reads.
* The table of modules in the architecture page has the lists of the test `layers`.
"""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
FOLDERS = ("bench", "cmake", "docs", "include", "kernels", "src", "tasks", "tests", "tools")
PLACEHOLDERS = {"NAME", "FILE", "SUITE", "DIR", "NNN", "ROOM"}
BUILT = ("build/", "build-")  # what a build makes is not in the repository
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^()]+)\)")
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^ *(```|~~~).*?^ *\1 *$", re.MULTILINE | re.DOTALL)
PATH = re.compile(rf"(?:{'|'.join(FOLDERS)})/[\w.*/@+-]+")
faults = []


def fault(page, text):
    faults.append(f"{page.relative_to(ROOT)}: {text}")


def slug(heading):
    """A heading's anchor, as GitHub makes it."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.strip()).replace("`", "").lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def prose(page):
    """A page without its code blocks."""
    return FENCE.sub("", page.read_text())


def anchors(page):
    text = prose(page)
    return ({slug(line.lstrip("#")) for line in text.splitlines() if line.startswith("#")} |
            set(re.findall(r'<a (?:id|name)="([^"]+)"', text)))


def links(page):
    """The files that a page links to; complains about those that are not there."""
    found = set()
    for target in LINK.findall(prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        if re.search(r"\s", target):
            fault(page, f"link to {target!r}: a space or a line's end in it")
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        if not file.exists():
            fault(page, f"link to {target}, which is not there")
            continue
        if anchor and file.suffix == ".md" and anchor not in anchors(file):
            fault(page, f"link to {target}: there is no such heading")
        found.add(file)
    return found


def check_paths(page):
    for code in CODE.findall(prose(page)):
        for match in PATH.finditer(code):
            before = code[:match.start()][-1:]
            if before and (before.isalnum() or before in "/._-$"):
                continue  # the end of another path
            path = match.group().rstrip(".,:")
            if "..." in path or PLACEHOLDERS & set(re.split(r"[/_.]", path)):
                continue
            held = list(ROOT.glob(path.rstrip("/"))) if "*" in path else [ROOT / path]
            if not any(p.exists() for p in held):
                fault(page, f"`{path}` is not there")


def check_functions(page, functions):
    for code in CODE.findall(prose(page)):
        for name in re.findall(r"\b([a-z][a-z0-9_]+)\(\)", code):
            if name not in functions:
                fault(page, f"there is no function `{name}()`")


def check_modules(page):
    """The architecture's table next to the lines `allow MODULE other...` of the test of includes."""
    layers = next(iter(sorted((ROOT / "tests").glob("**/layers.sh"))))
    allowed = {}
    for line in layers.read_text().splitlines():
        words = line.split()
        if len(words) > 1 and words[0] == "allow" and words[1].isalpha():
            allowed[words[1]] = {w for w in words[2:] if w != "assay"}  # the public headers
    told = {}
    for row in re.findall(r"^\| `(\w+)` \|[^|]*\|([^|]*)\|$", page.read_text(), re.MULTILINE):
        if row[0] in allowed:
            told.setdefault(row[0], set(re.findall(r"\w+", row[1])))  # later tables say other things
    for module in sorted(allowed):
        if told.get(module) != allowed[module]:
            fault(page, f"{module} may include {', '.join(sorted(allowed[module])) or 'nothing'}: correct the table")


def check_promises(page):
    """Rows `| promise | how | tests |`: tests are paths, with `: WORD` after one where a part of the file is meant."""
    rows = re.findall(r"^\|([^|]*)\|([^|]*)\|([^|]*)\|$", page.read_text().partition("## What is promised")[2], re.M)
    rows = [row for row in rows if row[0].strip() not in ("promise", "---")]
    if not rows:
        fault(page, "no promises are left")
    for promise, _, tests in rows:
        named = re.findall(r"`(tests/[^`]+)`(?:: ([\w.]+))?", tests)
        if not named:
            fault(page, f"no test holds this: {promise.strip()}")
        for path, word in named:
            if word and (ROOT / path).is_file() and word not in (ROOT / path).read_text(errors="replace"):
                fault(page, f"{path} has no {word}")


OWN_USE = {"HOME", "USER",  # of the system and the sandbox
           "ASSAY_CARRIED", "ASSAY_CARRIED_MAIN",  # from the package to its child
           "HELION_AUTOTUNE_LOG"}  # written and read by the maker helion


def check_settings(page):
    text = page.read_text()
    said = set(re.findall(r"`\$?([A-Z][A-Z0-9_]+)[`/]", text))
    sources = [p for folder in ("src", "python") for p in sorted((ROOT / folder).glob("**/*")) if p.suffix in (".c", ".h", ".py")]
    sources.append(ROOT / "tools" / "importer" / "assay-import")
    code = "\n".join(p.read_text(errors="replace") for p in sources if p.is_file())
    read = set(re.findall(r'getenv\("(\w+)"\)|environ(?:\.get\(|\[)"(\w+)"', code))
    for name in sorted({a or b for a, b in read} - said - OWN_USE):
        fault(page, f"{name} is read, and not on this page")
    for name in sorted(n for n in said if n.startswith("ASSAY_") and not re.search(rf"\b{n}\b", code)):
        fault(page, f"nothing reads {name}")


def tracked():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard", "*.md"], capture_output=True,
                            text=True)
    if listed.returncode == 0:
        names = listed.stdout.split()
    else:
        names = [str(p.relative_to(ROOT)) for p in ROOT.glob("**/*.md")]
    return [ROOT / n for n in names if (ROOT / n).exists() and not n.startswith(BUILT)]


pages = tracked()
leads_to = {page: links(page) for page in pages}
for page in pages:
    check_paths(page)
index = ROOT / "docs" / "README.md"
reached, wave = {index}, [index]
while wave:
    for page in leads_to.get(wave.pop(), ()):
        if page not in reached:
            reached.add(page)
            wave.append(page)
for page in pages:
    if page.parent.is_relative_to(ROOT / "docs") and page not in reached:
        fault(page, "docs/README.md does not lead here")
architecture = ROOT / "docs" / "architecture.md"
functions = {name for folder in ("src", "include") for p in sorted((ROOT / folder).glob("**/*.[ch]"))
             for name in re.findall(r"\b([a-z][a-z0-9_]+)\(", p.read_text(errors="replace"))}
for page in (architecture, ROOT / "CONTRIBUTING.md", ROOT / "docs" / "glossary.md"):
    check_functions(page, functions)
check_modules(architecture)
check_settings(ROOT / "docs" / "environment.md")
check_promises(ROOT / "docs" / "security.md")
for line in faults:
    print(line)
print(f"{len(pages)} pages: " + (f"{len(faults)} faults" if faults else "all links and paths lead somewhere"))
sys.exit(1 if faults else 0)
