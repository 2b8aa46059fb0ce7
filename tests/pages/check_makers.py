#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lines of the comparison on one GPU, and the trials of the one on four, say what the committed results of the same
runs say: check_makers.py SOURCE. Every verdict with its times, every tuner's best, its seconds and how much it tried."""
import json
import os
import sys

results = os.path.join(sys.argv[1], "bench", "results")
wrong = 0


def check(good, what):
    global wrong
    wrong += not good
    if not good:
        print(what)


def read_result(name):
    with open(os.path.join(results, name), encoding="utf-8") as file:
        return json.load(file)


def read_lines(name):
    with open(os.path.join(results, name), encoding="utf-8") as file:
        head, *lines = map(json.loads, file)
    check(head == {"format": "assay verdicts", "version": 1}, f"{name}: its head is {head}")
    return lines


def is_near(a, b):
    return a is b is None or (a is not None and b is not None and abs(a - b) <= 1e-4 * abs(b))


def check_verdicts(name, of, lines, prefix):
    found = {(line["run"][len(prefix):], line["task"], line["workload"]): line for line in lines if "reason" in line}
    rows = [dict(zip(of["columns"], row)) for row in of["rows"]]
    check(len(found) == len(rows) > 0, f"{name}: {len(found)} verdicts of {len(rows)}")
    for row in rows:
        key = row["maker"], "fusedops/" + row["task"], row["workload"]
        line = found.get(key, {})
        check(line.get("reason") == row["verdict"], f"{name}: {key} is {line.get('reason')}, not {row['verdict']}")
        for column, member in {"us": "time_ns", "low_us": "time_low_ns", "high_us": "time_high_ns", "floor_us": "floor_ns"}.items():
            ns = line.get(member)
            check(is_near(ns and ns / 1e3, row[column]), f"{name}: {key} has {member} {ns}, the results {row[column]}")
        check(bool(line.get("unstable")) == (row["mark"] == "unstable"), f"{name}: {key} is unstable in one of both")
        check(len(line.get("samples_ns", [])) >= 30, f"{name}: {key} has {len(line.get('samples_ns', []))} samples")


def check_searches(name, of, lines):
    found = {}
    for line in lines:
        if "trial" in line:
            found.setdefault((line["task"], line["workload"], line["maker"]), []).append(line)
    check(len(found) == len(of["tuners"]) > 0, f"{name}: {len(found)} searches of {len(of['tuners'])}")
    for task, workload, tuner, tried, seconds, best_us, *_ in of["tuners"]:
        key = "fusedops/" + task, workload, tuner
        trials = found.get(key, [])
        counted = max((line["number"] for line in trials), default=-1) + 1
        end = max((line["start_ns"] + line["compile_ns"] + line["bench_ns"] for line in trials), default=0) / 1e9
        times = [line["tuner_ns"] if line["time_ns"] is None else line["time_ns"] for line in trials
                 if line["trial"] in ("ok", "summary")]
        best = min((ns for ns in times if ns is not None), default=None)
        check(counted == tried, f"{name}: {key} tried {counted}, the results say {tried}")
        check(abs(end - seconds) <= max(0.01 * seconds, 0.06), f"{name}: {key} took {end} s, the results say {seconds}")
        check(is_near(best and best / 1e3, best_us), f"{name}: the best of {key} is {best} ns, the results say {best_us} us")


def main():
    one, four = read_lines("nvidia-h200/makers.jsonl"), read_lines("nvidia-h100/trials.jsonl")
    check_verdicts("nvidia-h200/makers.jsonl", read_result("nvidia-h200/makers_one_gpu.json"), one, "published families, ")
    check_searches("nvidia-h200/makers.jsonl", read_result("nvidia-h200/makers_one_gpu.json"), one)
    check_searches("nvidia-h100/trials.jsonl", read_result("nvidia-h100/makers_one_run.json"), four)
    print(f"{wrong} problems")
    sys.exit(wrong > 0)


main()
