# SPDX-License-Identifier: Apache-2.0
"""containerfile.py SOURCE [ASSAY]: faults of the Containerfile that show without an engine.

* Instructions that are known; every stage begins with FROM; what is copied is there.
* It builds with the packages that debian/control names; so do the instructions for other distributions (docs/installing.md).
* With ASSAY, a program built here: each library that it is linked to comes with a package that the last stage installs
  (asked of dpkg, where there is one).
"""
import pathlib
import re
import shutil
import subprocess
import sys

SOURCE = pathlib.Path(sys.argv[1])
KNOWN = {"FROM", "RUN", "COPY", "USER", "WORKDIR", "ENTRYPOINT"}
faults = []


def instructions(text):
    lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)).splitlines()
    return [line.split(None, 1) for line in lines if line.strip()]


def installed(stage):
    found = set()
    for name, words in stage:
        for listed in re.findall(r"apt-get install -y --no-install-recommends (.*?)(?:&&|$)", words):
            found |= set(listed.split())
    return found


stages = []
for name, words in instructions((SOURCE / "Containerfile").read_text()):
    if name not in KNOWN:
        faults.append(f"{name}: an instruction that this check does not know")
    if name == "FROM":
        stages.append([])
    if not stages:
        faults.append(f"{name} before FROM")
        continue
    stages[-1].append((name, words))
    if name == "RUN" and subprocess.run(["sh", "-n", "-c", words]).returncode:
        faults.append(f"RUN {words}: the shell does not take it")
    if name == "RUN" and "apt-get install" in words and "rm -rf /var/lib/apt/lists" not in words:
        faults.append("package lists stay in the image")
    if name == "COPY" and not words.startswith("--from=") and not (SOURCE / words.split()[0]).exists():
        faults.append(f"COPY {words}: there is no such file")

control = (SOURCE / "debian/control").read_text()
needed = set(re.findall(r"[\w.+-]+-dev|protobuf-c-compiler|ninja-build|cmake",
                        re.search(r"^Build-Depends:(.*?)^\S", control, re.MULTILINE | re.DOTALL)[1]))
for package in sorted(needed - installed(stages[0])):
    faults.append(f"it does not install {package}, which debian/control builds with")
dependencies = (SOURCE / "tools/install/install-dependencies").read_text()
for package in sorted(needed - set(re.search(r'^packages="(.*?)"', dependencies, re.MULTILINE | re.DOTALL)[1].split())):
    faults.append(f"install-dependencies --programs does not install {package}, which debian/control builds with")
if len(sys.argv) > 2 and shutil.which("dpkg-query"):
    needs = subprocess.run(["objdump", "-p", sys.argv[2]], capture_output=True, text=True).stdout
    resolved = dict(re.findall(r"(\S+) => (\S+)", subprocess.run(["ldd", sys.argv[2]], capture_output=True, text=True).stdout))
    for library in re.findall(r"NEEDED +(\S+)", needs):
        path = str(pathlib.Path(resolved.get(library, library)).resolve())
        owner = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True).stdout
        package = owner.partition(":")[0]
        if package and package not in installed(stages[-1]) | {"libc6"}:
            faults.append(f"the last stage does not install {package}, which has {library}")
for fault in faults:
    print(f"Containerfile: {fault}")
print(f"container: {len(stages)} stages, {len(faults)} faults")
sys.exit(1 if faults else 0)
