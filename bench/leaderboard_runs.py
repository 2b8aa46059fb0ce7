#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""leaderboard_runs.py ASSAY STORE OUT RUN... [--commit C] [--trials]: runs of a store as the lines that ship.

Writes what `assay runs export --compact` writes of each run (`assay runs import` reads it), once more shortened: errors
and counts with four digits, what no page shows left out. Candidates whose text is a file of the repository are named by
its path there, so pages find their sources; the commit is the repository's, or C. Devices' peaks are written once, the
greatest of several files' last. --trials: those of tuners alone, no verdicts.
"""
import argparse
import hashlib
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDERS = ["kernels", "tests/cases", "tests/cheats", "tests/kernels", "tests/fusedops", "tests/kernelbenchx", "examples"]
OF_EVIDENCE = ["baselines", "build_command", "bytes", "compiler", "contract", "device", "diagnostics", "elsewhere", "flops",
               "form", "judge", "kernels", "meaning", "mode", "no_plan", "resources", "rule", "sandbox", "scope", "secret",
               "seed", "shapes", "task_contract", "timing", "toolchain", "unsettled_arguments", "worst_check"]
OF_CHECK = ["gate", "gate_limit", "gate_z", "output", "probe", "reason", "timed", "workload"]
MOST_DIAGNOSTICS = 2000


def repository_files():
    """Paths of the candidates in the repository, by the hash of their text."""
    found = {}
    for folder in FOLDERS:
        for place, _, names in sorted(os.walk(os.path.join(ROOT, folder))):
            for name in sorted(names):
                path = os.path.join(place, name)
                with open(path, "rb") as file:
                    found.setdefault(hashlib.sha256(file.read()).hexdigest(), []).append(os.path.relpath(path, ROOT))
    return found


def short(value):
    """Errors with four digits: what a page shows."""
    return float(f"{value:.4g}") if isinstance(value, float) else value


def at_home(line, files):
    """The candidate's path in the repository, with its twin's macro; None where it is none of it."""
    name, space, twin = line["candidate"].partition(" -D")
    name = name.rsplit("/", 1)[-1]
    paths = [path for path in files.get(line["candidate_hash"], []) if path.rsplit("/", 1)[-1] == name]
    return (paths[0], paths[0] + space + twin) if paths else None


def shrink(line, files, commit):
    evidence = {key: short(line["evidence"][key]) for key in OF_EVIDENCE if key in line["evidence"]}
    if "checks" in line["evidence"]:
        evidence["checks"] = [{key: short(c[key]) for key in OF_CHECK if key in c} for c in line["evidence"]["checks"]]
    if len(evidence.get("diagnostics") or "") > MOST_DIAGNOSTICS:
        # What the worker itself says, such as what torch.compile took, stands after what a compiler printed.
        said = [text for text in evidence["diagnostics"][MOST_DIAGNOSTICS:].split("\n") if text.startswith("assay: ")]
        evidence["diagnostics"] = "\n".join([evidence["diagnostics"][:MOST_DIAGNOSTICS], "...", *said])
    out = {key: value for key, value in line.items() if value not in ("", None, [])}
    out.update({key: short(out[key]) for key in ("error_z", "error_limit") if key in out})
    path = at_home(line, files)
    if path:
        evidence["commit"] = commit
        name = path[0].rsplit("/", 1)[-1]
        out.update(candidate=path[1], command=line["command"].replace(f".../{name}", path[0]))
    return {**out, "evidence": {key: value for key, value in evidence.items() if value not in ("", None, [])}}


def export(assay, store, run):
    with tempfile.TemporaryDirectory() as folder:
        lines = os.path.join(folder, "lines")
        subprocess.run([assay, "runs", "export", run, lines, "--compact", "--store", store], check=True,
                       stdout=subprocess.DEVNULL)
        with open(lines, encoding="utf-8") as file:
            return [json.loads(text) for text in file]


def shortened(lines, commit=None):
    """The verdicts, shortened; the lines that are none (of trials, of peaks) as they are."""
    commit = commit or subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True,
                                      check=False).stdout.strip()
    files = repository_files()
    verdicts = [shrink(line, files, commit) for line in lines if "reason" in line]
    return (sorted(verdicts, key=lambda line: (line["run"], line["task"], line["candidate"], line["workload"])),
            [line for line in lines if "trial" in line or "peaks" in line])


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("assay", "store", "out"):
        options.add_argument(name)
    options.add_argument("runs", nargs="+")
    options.add_argument("--commit")
    options.add_argument("--trials", action="store_true")
    given = options.parse_args()
    out = given.out
    runs = [export(os.path.abspath(given.assay), given.store, run) for run in given.runs]
    head = runs[0][0]
    verdicts, others = shortened([line for lines in runs for line in lines[1:]
                                   if "trial" in line or not given.trials], given.commit)
    others = {json.dumps(line, sort_keys=True): line for line in others}.values()
    with open(out, "w", encoding="utf-8") as file:
        for line in [head, *verdicts, *others]:
            file.write(json.dumps(line, sort_keys=True, separators=(",", ":")) + "\n")
    timed = sum(len(line.get("samples_ns", [])) > 0 for line in verdicts)
    sources = sum("commit" in line["evidence"] for line in verdicts)
    print(f"{out}: {len(verdicts)} verdicts, {timed} with samples, {sources} of files of the repository, "
          f"{sum('trial' in line for line in others)} trials, {sum('peaks' in line for line in others)} devices with peaks, {os.path.getsize(out) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
