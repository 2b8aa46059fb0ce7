#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the table of the comparison with KernelBench's originals has all that is there to compare.

usage: check_originals.py TOOLS TABLE

Every small and ragged workload of every task has a row, twice where the default form has another graph; every row is of
one of them or of sizes of the tool's own; and one without numbers says why. (tools/tasks/compare_originals.py writes it.)
"""
import collections
import csv
import sys


def main():
    sys.path.insert(0, sys.argv[1])
    from originals.task import tasks_of
    with open(sys.argv[2], newline="") as file:
        rows = list(csv.DictReader(file))
    found = collections.Counter((row["task"], row["workload"]) for row in rows)
    wanted = {(t.name, w): 1 + t.other_graph() for level in (1, 2, 3, 4) for t in tasks_of(level) for w in t.workloads()}
    wrong = [f"{task} {workload}: {found[task, workload]} rows, not {n}"
             for (task, workload), n in wanted.items() if found[task, workload] != n]
    wrong += [f"{task} {workload}: no such workload" for task, workload in found
              if (task, workload) not in wanted and workload != "own"]
    wrong += [f"{row['task']} {row['workload']}: neither numbers nor a reason" for row in rows
              if not (row["double_error"] and row["z"]) and not row["reason"]]
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{len({task for task, _ in wanted})} tasks, {len(rows)} rows")


if __name__ == "__main__":
    main()
